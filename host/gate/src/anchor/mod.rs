//! Anchored resolution: every span goes past the anchor stores before the gate, whatever its category is. A reference
//! to something outside the text resolves, does not resolve, or is ambiguous. In a closed world a sentence that the
//! facts do not support cannot be asserted.

mod citation;
mod contents;
mod facts;
mod jsonl;
mod known;
mod passage;
mod query;
mod roles;
mod sqlite;
mod store;

pub use contents::{Citation, Contents, Entity, Fact};
pub use passage::{Passage, PassageFacts, read_passages};
pub use query::{Evidence, Grounding, Query, Resolver};
pub use sqlite::write as write_sqlite;
pub use store::{Store, StoreError};

use facts::Facts;
use portcullis_mapping::Mapper;
use std::sync::Arc;

/// Anchor stores, combined and made ready for look-ups.
#[derive(Clone)]
pub struct Anchors {
    stores: Arc<[Store]>,
    facts: Arc<Facts>,
}

impl Anchors {
    /// No store at all: nothing is looked up, and nothing of a closed world is supported.
    #[must_use]
    pub fn none(mapper: &Mapper) -> Self {
        Self::new(Vec::new(), mapper)
    }

    /// Stores in the order in which they were given. Entries of several stores about one entity (by its id) are joined.
    #[must_use]
    pub fn new(stores: Vec<Store>, mapper: &Mapper) -> Self {
        let facts = Facts::new(stores.iter().map(Store::contents), mapper);
        Self { stores: stores.into(), facts: Arc::new(facts) }
    }

    /// Canonical JSON Lines of each store, in the order in which they were given: their SHA-256 is the store's digest.
    #[must_use]
    pub fn json_lines(&self) -> Vec<Vec<u8>> {
        self.stores.iter().map(|store| store.contents().json_lines()).collect()
    }

    /// Whether there is any store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// SHA-256 of each store's content, in order; the context document carries them.
    #[must_use]
    pub fn digests(&self) -> Vec<[u8; 32]> {
        self.stores.iter().map(Store::digest).collect()
    }

    /// The first store whose file has changed since the store was opened.
    #[must_use]
    pub fn changed(&self) -> Option<&Store> {
        self.stores.iter().find(|s| s.changed())
    }

    /// The entity that a text names first, by its id; `None` when it names none or the name is of several.
    #[must_use]
    pub fn subject_of(&self, text: &str) -> Option<String> {
        self.facts.mentions(text).into_iter().find_map(|m| match m.entities.as_slice() {
            [one] => self.facts.id(*one).map(str::to_owned),
            _ => None,
        })
    }

    /// The entity that is called just this, by its id.
    #[must_use]
    pub fn entity_called(&self, name: &str) -> Option<&str> {
        self.facts.called(name).and_then(|e| self.facts.id(e))
    }
}

impl Resolver for Anchors {
    fn resolve(&self, query: &Query<'_>) -> Grounding {
        self.facts.resolve(query)
    }
}
