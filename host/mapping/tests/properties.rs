//! Properties that hold for every text: pieces cover it, reading it is pure, no cut divides a hit, repeated splitting
//! comes to an end.
#![cfg(test)]

use portcullis_core::manifest::PackageManifest;
use portcullis_core::state::{AgentProfile, SemanticState, StreamIntent};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{ScannedText, SpanInput, TextMapper};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

fn package() -> (PackageManifest, BTreeMap<String, Vec<u8>>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/pii");
    let manifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let persons = std::fs::read(dir.join("vocabulary/persons.txt")).unwrap();
    (manifest, BTreeMap::from([("vocabulary/persons.txt".to_owned(), persons)]))
}

fn mapper() -> TextMapper {
    let (manifest, files) = package();
    TextMapper::new(&manifest, &files).unwrap()
}

const GRANULARITIES: [Granularity; 3] = [Granularity::Token, Granularity::Span, Granularity::Step];

fn assert_covers(text: &ScannedText, whole: &Range<usize>, pieces: &[portcullis_mapping::TextPiece]) {
    let mut at = whole.start;
    for piece in pieces {
        assert_eq!(piece.range.start, at);
        assert!(piece.range.end > at && text.as_str().is_char_boundary(piece.range.end));
        at = piece.range.end;
    }
    assert_eq!(at, whole.end);
}

#[test]
fn hits_are_never_cut() {
    let mapper = mapper();
    for hit in [
        "4111 1111 1111 1111",
        "+1 (555) 010-9999",
        "j.doe@x.co.uk",
        "DE89 3704 0044 0532 0130 00",
        "192.0.2.1",
        "Ana Beispiel",
        "219-09-9999",
    ] {
        for granularity in GRANULARITIES {
            let text = mapper.read(format!("One; two, and {hit}, so it goes. Three."), granularity);
            let at = text.as_str().find(hit).unwrap();
            let holds = |r: &Range<usize>| r.start <= at && at + hit.len() <= r.end;
            assert!(text.pieces().iter().any(|p| holds(&p.range) && !p.inert), "{hit} is cut: {:?}", text.pieces());
        }
        let text = mapper.read(format!("before {hit} after"), Granularity::Step);
        let parts = text.split(&(0..text.as_str().len()), &[]);
        assert!(parts.iter().any(|p| text.slice(&p.range) == hit), "{hit} is not set apart: {parts:?}");
    }
}

#[test]
fn an_unbounded_pattern_is_an_error_that_says_where() {
    let (mut manifest, files) = package();
    manifest.classes[0].patterns[0].regex = r"\d+".into();
    let Err(error) = TextMapper::new(&manifest, &files) else { panic!("accepted") };
    let shown = error.to_string();
    assert!(shown.contains(r"`\d+`") && shown.contains("credit_card") && shown.contains("upper bound"), "{shown}");
}

#[test]
fn a_missing_vocabulary_is_an_error_that_says_which() {
    let (manifest, _) = package();
    let Err(error) = TextMapper::new(&manifest, &BTreeMap::new()) else { panic!("accepted") };
    assert!(error.to_string().contains("vocabulary/persons.txt"), "{error}");
}

/// The sum of the words' scaled weights does not fit into 32 bits; the topic must still be right.
#[test]
fn a_sentence_of_many_words_has_a_topic() {
    let (manifest, files) = package();
    let mapper = TextMapper::new(&manifest, &files).unwrap();
    let context = AgentProfile::default().context(&manifest).unwrap();
    let mut state = SemanticState::new(&manifest, [0; 32], [0; 32], StreamIntent::default(), context);
    state.memory.topic_words.insert("mill".to_owned());
    let unknown: Vec<String> = (0..2000).map(|at| format!("zq{at}x")).collect();
    let (topic, words) = mapper.topic(&state, &format!("Then {}.", unknown.join(" "))).unwrap();
    assert_eq!(words.len(), unknown.len());
    // All content is new: the mean is three tenths of the full distance.
    assert_eq!(topic.mean.get(), 3000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn pieces_cover_and_splits_end(text in "([a-z]{1,8}|[0-9]{1,4}|[ .,;:!?@+()-]|\n|é|東|4111 1111 1111 1111|a@b\\.org|and|not){0,40}") {
        let (manifest, files) = package();
        let mapper = TextMapper::new(&manifest, &files).unwrap();
        let context = AgentProfile::default().context(&manifest).unwrap();
        let state = SemanticState::new(&manifest, [0; 32], [0; 32], StreamIntent::default(), context);
        for granularity in GRANULARITIES {
            let read = mapper.read(text.clone(), granularity);
            let again = mapper.read(text.clone(), granularity);
            prop_assert_eq!(&read, &again);
            assert_covers(&read, &(0..text.len()), read.pieces());
            let mut work: Vec<Range<usize>> = read.pieces().iter().filter(|p| !p.inert).map(|p| p.range.clone()).collect();
            let mut steps = 0;
            while let Some(span) = work.pop() {
                steps += 1;
                prop_assert!(steps < 10_000, "splitting does not end");
                let candidate = SpanInput {
                    text: &read, span: &span, granularity, inert_prefix: false, depth: 0, alternatives: 0, choice: None, uncertainty: None,
                };
                prop_assert_eq!(mapper.map(&state, candidate), mapper.map(&state, candidate));
                let parts = read.split(&span, &[]);
                if parts.is_empty() { continue; }
                assert_covers(&read, &span, &parts);
                for part in parts.iter().filter(|p| !p.inert) {
                    prop_assert!(part.range.len() < span.len());
                    work.push(part.range.clone());
                }
            }
        }
    }
}
