//! The trust folder of an audit, in a form that other processes can be given.

use portcullis_evidence::verify::{TrustError, TrustTexts, TrustedParties};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The texts of a trust folder, and the trust that they give.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "TrustFolderContent", into = "TrustFolderContent")]
pub struct TrustFolder {
    content: TrustFolderContent,
    trust: Arc<TrustedParties>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct TrustFolderContent {
    texts: TrustTexts,
    allow_sim: bool,
}

impl TrustFolder {
    /// Reads a trust folder. Errors: as [`TrustedParties::load`].
    pub fn load(folder: &Path, allow_sim: bool) -> Result<Self, TrustError> {
        let content = TrustFolderContent { texts: TrustTexts::read(folder)?, allow_sim };
        let trust = TrustedParties::from_texts(folder, &content.texts, allow_sim)?;
        Ok(Self { content, trust: Arc::new(trust) })
    }

    #[must_use]
    pub const fn trust(&self) -> &Arc<TrustedParties> {
        &self.trust
    }
}

impl TryFrom<TrustFolderContent> for TrustFolder {
    type Error = TrustError;

    fn try_from(content: TrustFolderContent) -> Result<Self, TrustError> {
        let trust = TrustedParties::from_texts(Path::new("trust"), &content.texts, content.allow_sim)?;
        Ok(Self { content, trust: Arc::new(trust) })
    }
}

impl From<TrustFolder> for TrustFolderContent {
    fn from(folder: TrustFolder) -> Self {
        folder.content
    }
}

// The trust is a function of the content.
impl PartialEq for TrustFolder {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for TrustFolder {}

impl Hash for TrustFolder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_evidence::bundle::MemoryFiles;
    use portcullis_test_support::world::{self, World};

    #[test]
    fn a_sent_trust_folder_is_the_same_trust() {
        let (folder, world) = (tempfile::tempdir().unwrap(), World::new());
        world::write(folder.path(), &world.trust(false), &world, &MemoryFiles::default());
        let sent = TrustFolder::load(&folder.path().join("trust"), false).unwrap();
        let json = serde_json::to_string(&sent).unwrap();
        let received: TrustFolder = serde_json::from_str(&json).unwrap();
        assert_eq!(received, sent);
        assert!(!sent.trust().files.is_empty());
        assert_eq!(format!("{:?}", received.trust()), format!("{:?}", sent.trust()));
        // A file under a name that a trust folder does not have is refused.
        let wrong = json.replacen("roots/", "rots/", 1);
        assert_ne!(wrong, json);
        assert!(serde_json::from_str::<TrustFolder>(&wrong).is_err());
    }
}
