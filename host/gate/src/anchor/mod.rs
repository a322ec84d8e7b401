//! Anchored resolution: every span is compared with the anchor stores before it is submitted, whatever its category. A
//! reference to something outside the text is resolved, unresolvable or ambiguous. In a closed world, sentences that no
//! fact supports are refused.

mod citation;
mod contents;
mod facts;
mod jsonl;
mod known;
mod passage;
mod query;
mod roles;
#[cfg(feature = "sqlite-store")]
mod sqlite;
mod store;

pub use contents::{AnchorCitation, AnchorContents, AnchorEntity, AnchorFact};
pub use passage::{AnchorPassage, PassageFacts, read_passages};
pub use query::{AnchorLookup, AnchorQuery, FailedLookup, SpanGrounding};
#[cfg(feature = "sqlite-store")]
pub use sqlite::write as write_sqlite;
pub use store::{AnchorStore, AnchorStoreError};

use facts::AnchorIndex;
use portcullis_mapping::TextMapper;
use std::sync::Arc;

/// Anchor stores, combined and indexed.
#[derive(Clone)]
pub struct AnchorSet {
    stores: Arc<[AnchorStore]>,
    facts: Arc<AnchorIndex>,
}

impl AnchorSet {
    /// Anchors without a store: no reference resolves, and a closed world has no supporting facts.
    #[must_use]
    pub fn none(mapper: &TextMapper) -> Self {
        Self::new(Vec::new(), mapper)
    }

    /// Combines stores in the order given. Entries with the same entity id in several stores are joined.
    #[must_use]
    pub fn new(stores: Vec<AnchorStore>, mapper: &TextMapper) -> Self {
        let facts = AnchorIndex::new(stores.iter().map(AnchorStore::contents), mapper);
        Self { stores: stores.into(), facts: Arc::new(facts) }
    }

    /// Canonical JSON Lines of each store, in the order given. The SHA-256 of a store's lines is its digest.
    #[must_use]
    pub fn json_lines(&self) -> Vec<Vec<u8>> {
        self.stores.iter().map(|store| store.contents().json_lines()).collect()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// SHA-256 of each store's content, in the order given; the context document contains these digests.
    #[must_use]
    pub fn digests(&self) -> Vec<[u8; 32]> {
        self.stores.iter().map(AnchorStore::digest).collect()
    }

    /// The first store whose file has changed since the store was opened.
    #[must_use]
    pub fn changed(&self) -> Option<&AnchorStore> {
        self.stores.iter().find(|s| s.changed())
    }

    /// The id of the first entity that a text names unambiguously; `None` if there is none.
    #[must_use]
    pub fn subject_of(&self, text: &str) -> Option<String> {
        self.facts.mentions(text).into_iter().find_map(|m| match m.entities.as_slice() {
            [one] => self.facts.id(*one).map(str::to_owned),
            _ => None,
        })
    }

    /// The id of the entity with exactly this name.
    #[must_use]
    pub fn entity_called(&self, name: &str) -> Option<&str> {
        self.facts.called(name).and_then(|e| self.facts.id(e))
    }
}

impl AnchorLookup for AnchorSet {
    fn resolve(&self, query: &AnchorQuery<'_>) -> SpanGrounding {
        self.facts.resolve(query)
    }
}
