//! The content of an anchor store: entities with their aliases, facts with their sources, and sources that may be
//! cited. Also its canonical form and digest.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorEntity {
    /// Id; one entity has the same id in every store.
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The kind of the entity, such as `person` or `place`. Only people who read the store use the kind.
    #[serde(default)]
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorFact {
    /// Id of the entity that the fact is about.
    pub entity: String,
    /// The fact as a sentence.
    pub text: String,
    pub source: String,
}

/// A source that may be cited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorCitation {
    /// The citation as it appears in texts: a DOI, `PMID 123`, a statute, a URL. If it ends with `*`, it allows every
    /// citation that begins with the text before the `*`.
    pub id: String,
    /// Who or what permits the citation.
    pub source: String,
}

/// The content of a store, in canonical order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnchorContents {
    pub entities: Vec<AnchorEntity>,
    pub facts: Vec<AnchorFact>,
    pub citations: Vec<AnchorCitation>,
}

/// One line of a store in JSON Lines.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnchorLine {
    Entity(AnchorEntity),
    Fact(AnchorFact),
    Citation(AnchorCitation),
}

impl AnchorContents {
    /// Sorts the content into canonical order and checks it: ids are unique, names are not empty, and every fact's
    /// entity exists. Errors: the violation, in words.
    pub fn canonical(mut self) -> Result<Self, String> {
        for entity in &mut self.entities {
            entity.aliases.sort_unstable();
            entity.aliases.dedup();
        }
        self.entities.sort_unstable();
        self.facts.sort_unstable();
        self.facts.dedup();
        self.citations.sort_unstable();
        self.citations.dedup();
        if let Some(pair) = self.entities.windows(2).find(|w| w.first().map(|e| &e.id) == w.last().map(|e| &e.id)) {
            return Err(format!("entity `{}` stands there twice", pair.first().map_or("", |e| e.id.as_str())));
        }
        let blank = |e: &&AnchorEntity| std::iter::once(&e.name).chain(&e.aliases).any(|n| n.trim().is_empty());
        if let Some(entity) = self.entities.iter().find(blank) {
            return Err(format!("entity `{}` has an empty name", entity.id));
        }
        let known = |id: &str| self.entities.binary_search_by(|e| e.id.as_str().cmp(id)).is_ok();
        if let Some(fact) = self.facts.iter().find(|f| !known(&f.entity)) {
            return Err(format!("a fact is of `{}`, which no entity of the store is", fact.entity));
        }
        Ok(self)
    }

    /// Canonical JSON Lines: entities, facts and citations, each sorted.
    #[must_use]
    pub fn json_lines(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let entities = self.entities.iter().cloned().map(AnchorLine::Entity);
        let facts = self.facts.iter().cloned().map(AnchorLine::Fact);
        let citations = self.citations.iter().cloned().map(AnchorLine::Citation);
        for line in entities.chain(facts).chain(citations) {
            // Plain strings always serialise.
            all.extend(serde_json::to_vec(&line).unwrap_or_default());
            all.push(b'\n');
        }
        all
    }

    /// SHA-256 over the canonical JSON Lines; equal for all forms of the same content.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.json_lines()).into()
    }
}
