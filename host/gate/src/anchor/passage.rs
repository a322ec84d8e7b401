//! Passages: source texts whose sentences become facts.

use super::contents::{AnchorContents, AnchorFact};
use super::facts::AnchorIndex;
use portcullis_core::wire::Granularity;
use portcullis_mapping::TextMapper;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A source text about an entity.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorPassage {
    /// Id of the entity.
    pub entity: String,
    pub text: String,
    pub source: String,
}

/// The facts of passages, and the sentences that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageFacts {
    /// One fact per sentence and entity: the passage's entity, and every other entity that the sentence names.
    pub facts: Vec<AnchorFact>,
    /// Sentences that begin with a pronoun after a sentence about another entity. The pronoun's meaning is not certain.
    pub uncertain: Vec<String>,
}

/// Reads passages. A sentence also becomes a fact of each entity of `contents` that it names.
#[must_use]
pub fn read_passages(passages: &[AnchorPassage], contents: &AnchorContents, mapper: &TextMapper) -> PassageFacts {
    let entities = AnchorContents { entities: contents.entities.clone(), ..AnchorContents::default() };
    let names = AnchorIndex::new(std::iter::once(&entities), mapper);
    let mut read = PassageFacts::default();
    for passage in passages {
        let text = mapper.read(passage.text.clone(), Granularity::Span);
        let mut sentences: Vec<&str> =
            text.pieces().iter().map(|p| text.slice(&text.sentence(&p.range)).trim()).collect();
        sentences.dedup();
        let mut other = false;
        for (number, sentence) in sentences.into_iter().filter(|s| !s.is_empty() && !s.ends_with('?')).enumerate() {
            let named: BTreeSet<&str> = names
                .mentions(sentence)
                .iter()
                .filter_map(|mention| match mention.entities.as_slice() {
                    [one] => names.id(*one),
                    _ => None,
                })
                .collect();
            let clauses = mapper.clauses(sentence);
            let subjects = || clauses.iter().flat_map(|clause| &clause.subjects);
            let pronoun = subjects().next().is_some_and(|subject| subject.stem.is_empty());
            if pronoun && other {
                read.uncertain.push(sentence.to_owned());
                continue;
            }
            other =
                if pronoun { other } else { subjects().any(|s| s.name) && !named.contains(passage.entity.as_str()) };
            let source = format!("{}, sentence {}", passage.source, number + 1);
            let of = named.into_iter().chain(std::iter::once(passage.entity.as_str())).collect::<BTreeSet<_>>();
            let fact =
                |entity: &str| AnchorFact { entity: entity.into(), text: sentence.into(), source: source.clone() };
            read.facts.extend(of.into_iter().map(fact));
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn read(text: &str) -> PassageFacts {
        let manifest = r#"{"package":{"name":"p","version":"1.0.0","description":""},
            "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]}}"#;
        let mapper = TextMapper::new(&serde_json::from_str(manifest).unwrap(), &BTreeMap::new()).unwrap();
        let entity = |id: &str, name: &str| super::super::AnchorEntity {
            id: id.into(),
            name: name.into(),
            aliases: Vec::new(),
            kind: String::new(),
        };
        let entities = vec![entity("ana", "Ana Silva"), entity("bo", "Bo Lind")];
        let contents = AnchorContents { entities, ..AnchorContents::default() };
        let passage = AnchorPassage { entity: "ana".into(), text: text.into(), source: "Lives".into() };
        read_passages(&[passage], &contents, &mapper)
    }

    #[test]
    fn a_sentence_is_a_fact_of_whom_it_names() {
        let read = read("Ana Silva was born in Porto. She married Bo Lind. Was she happy?");
        let facts: Vec<_> =
            read.facts.iter().map(|f| (f.entity.as_str(), f.text.as_str(), f.source.as_str())).collect();
        assert_eq!(
            facts,
            [
                ("ana", "Ana Silva was born in Porto.", "Lives, sentence 1"),
                ("ana", "She married Bo Lind.", "Lives, sentence 2"),
                ("bo", "She married Bo Lind.", "Lives, sentence 2"),
            ]
        );
        assert!(read.uncertain.is_empty());
    }

    #[test]
    fn a_pronoun_behind_another_subject_is_left_out() {
        let read = read("Ana Silva founded a school. Carl Moe taught there. He died in 1950. Ana Silva left in 1951.");
        assert_eq!(read.uncertain, ["He died in 1950."]);
        assert_eq!(read.facts.len(), 3);
    }
}
