//! The results of finished units, so that an interrupted audit goes on where it was.
//!
//! A result is kept under a key, which is a digest of everything that it depends on: the input's content, the trust
//! folder, the options and the program. A change of any of them gives another key, so an old result is never used for
//! a new question. The folder belongs to the auditor: whoever can write to it can write results.

use portcullis_core::hex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The key of a result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResultKey(String);

impl ResultKey {
    /// The key of a result of this kind over these inputs. `kind` consists of lower-case letters.
    #[must_use]
    pub fn new(kind: &str, inputs: &[&[u8]]) -> Self {
        let mut all = Sha256::new();
        for input in [kind.as_bytes()].iter().chain(inputs) {
            all.update((input.len() as u64).to_le_bytes());
            all.update(input);
        }
        Self(format!("{kind}-{}", hex::encode(&all.finalize())))
    }
}

/// The folder could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the folder of results `{path}`: {source}")]
pub struct WorkError {
    path: PathBuf,
    source: io::Error,
}

/// The folder of results. Without a folder, nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct WorkFolder(Option<PathBuf>);

/// A result with its key, so that a file under a wrong name is not used.
#[derive(Serialize, Deserialize)]
struct KeyedResult<T> {
    key: String,
    result: T,
}

impl WorkFolder {
    /// Opens the folder, and creates it if it does not exist. Errors: [`WorkError`].
    pub fn open(folder: &Path) -> Result<Self, WorkError> {
        fs::create_dir_all(folder).map_err(|source| WorkError { path: folder.to_owned(), source })?;
        Ok(Self(Some(folder.to_owned())))
    }

    /// The kept result; `None` if there is none, or if the file is not whole.
    #[must_use]
    pub fn get<T: DeserializeOwned>(&self, key: &ResultKey) -> Option<T> {
        let text = fs::read(self.path(key)?).ok()?;
        let kept: KeyedResult<T> = serde_json::from_slice(&text).ok()?;
        (kept.key == key.0).then_some(kept.result)
    }

    /// Keeps a result. A crash leaves either the whole file or none. Errors: [`WorkError`].
    pub fn put<T: Serialize>(&self, key: &ResultKey, result: &T) -> Result<(), WorkError> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let json = serde_json::to_vec(&KeyedResult { key: key.0.clone(), result });
        let written = json.map_err(io::Error::from).and_then(|json| write(&path, &json));
        written.map_err(|source| WorkError { path, source })
    }

    fn path(&self, key: &ResultKey) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.join(format!("{}.json", key.0)))
    }
}

/// Writes a file so that it is either whole or absent.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(content)?;
    file.sync_data()?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_under_their_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkFolder::open(&folder.path().join("new")).unwrap();
        let key = ResultKey::new("verify", &[b"a", b"b"]);
        assert_eq!(work.get::<u32>(&key), None);
        work.put(&key, &7u32).unwrap();
        assert_eq!(work.get(&key), Some(7u32));
        for other in [
            ResultKey::new("verify", &[b"ab"]),
            ResultKey::new("verify", &[b"b", b"a"]),
            ResultKey::new("tree", &[b"a", b"b"]),
        ] {
            assert_eq!(work.get::<u32>(&other), None);
            // A file under the name of another key.
            fs::copy(work.path(&key).unwrap(), work.path(&other).unwrap()).unwrap();
            assert_eq!(work.get::<u32>(&other), None);
        }
        let path = work.path(&key).unwrap();
        fs::write(&path, &fs::read(&path).unwrap()[..10]).unwrap();
        assert_eq!(work.get::<u32>(&key), None);
        WorkFolder::default().put(&key, &7u32).unwrap();
        assert_eq!(WorkFolder::default().get::<u32>(&key), None);
    }
}
