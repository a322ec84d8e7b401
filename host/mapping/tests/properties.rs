//! What holds for every text: coverage, chunking, purity, hits that are never cut, splits that end.
#![cfg(test)]

use portcullis_core::manifest::Manifest;
use portcullis_core::state::{Intent, Profile, SemanticState};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{Mapper, Segmenter, SpanInput, Text};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

fn package() -> (Manifest, BTreeMap<String, Vec<u8>>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/pii");
    let manifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let persons = std::fs::read(dir.join("vocabulary/persons.txt")).unwrap();
    (manifest, BTreeMap::from([("vocabulary/persons.txt".to_owned(), persons)]))
}

fn mapper() -> Mapper {
    let (manifest, files) = package();
    Mapper::new(&manifest, &files).unwrap()
}

const CORPUS: &[&str] = &[
    "Pay 4111 1111 1111 1111 now. Or call +1 (555) 010-9999 x12; thanks!",
    "Ask Ana Beispiel, or mail j.doe@x.co.uk, about DE89 3704 0044 0532 0130 00.",
    "Größe: 5 cm… «Ja», sagte sie. 東京は広い。そうです。 From 192.0.2.1, e.g. here.\r\nNext line\n\n  - item",
    "",
    " \t\n",
];

const GRANULARITIES: [Granularity; 3] = [Granularity::Token, Granularity::Span, Granularity::Step];

fn assert_covers(text: &Text, whole: &Range<usize>, pieces: &[portcullis_mapping::Piece]) {
    let mut at = whole.start;
    for piece in pieces {
        assert_eq!(piece.range.start, at);
        assert!(piece.range.end > at && text.as_str().is_char_boundary(piece.range.end));
        at = piece.range.end;
    }
    assert_eq!(at, whole.end);
}

#[test]
fn every_chunking_gives_the_same_spans() {
    let mapper = mapper();
    for text in CORPUS {
        for granularity in GRANULARITIES {
            let whole = mapper.read((*text).to_owned(), granularity);
            let bytes = text.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let mut segmenter = Segmenter::default();
                    for chunk in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                        segmenter.push(chunk);
                    }
                    let chunked = segmenter.finish(&mapper, granularity).unwrap();
                    assert_eq!(chunked, whole, "{text:?} cut at {first} and {second}");
                }
            }
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let mut segmenter = Segmenter::default();
    segmenter.push(b"ab\xff");
    assert_eq!(segmenter.finish(&mapper(), Granularity::Span).unwrap_err().valid_up_to(), 2);
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

/// Five hundred texts of words, marks, numbers, hits and characters of every width, each cut at every byte.
#[test]
fn every_split_of_five_hundred_texts_gives_the_same_spans() {
    const PARTS: &[&str] = &[
        "The dose",
        " is 500 mg",
        ". ",
        "However,",
        " naïve",
        " 東京",
        "; ",
        " a@b.org",
        " 4111 1111 1111 1111",
        "\n",
        " and",
        " not",
        " Dr.",
        " 10\u{202f}000 mg",
        "😀",
        " Step 2:",
        " 200–900 mg",
        "!",
        "\r\n",
        " It's",
    ];
    let mapper = mapper();
    let mut state = 1u64;
    for number in 0..500 {
        let mut text = String::new();
        for _ in 0..3 + number % 9 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += PARTS[usize::try_from(state >> 33).unwrap() % PARTS.len()];
        }
        for granularity in GRANULARITIES {
            let whole = mapper.read(text.clone(), granularity);
            for cut in 0..=text.len() {
                let mut segmenter = Segmenter::default();
                let (head, tail) = text.as_bytes().split_at(cut);
                segmenter.push(head);
                segmenter.push(tail);
                assert_eq!(segmenter.finish(&mapper, granularity).unwrap(), whole, "{text:?} cut at {cut}");
            }
        }
    }
}

#[test]
fn an_unbounded_pattern_is_an_error_that_says_where() {
    let (mut manifest, files) = package();
    manifest.classes[0].patterns[0].regex = r"\d+".into();
    let Err(error) = Mapper::new(&manifest, &files) else { panic!("accepted") };
    let shown = error.to_string();
    assert!(shown.contains(r"`\d+`") && shown.contains("credit_card") && shown.contains("upper bound"), "{shown}");
}

#[test]
fn a_missing_vocabulary_is_an_error_that_says_which() {
    let (manifest, _) = package();
    let Err(error) = Mapper::new(&manifest, &BTreeMap::new()) else { panic!("accepted") };
    assert!(error.to_string().contains("vocabulary/persons.txt"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn pieces_cover_and_splits_end(text in "([a-z]{1,8}|[0-9]{1,4}|[ .,;:!?@+()-]|\n|é|東|4111 1111 1111 1111|a@b\\.org|and|not){0,40}") {
        let (manifest, files) = package();
        let mapper = Mapper::new(&manifest, &files).unwrap();
        let state = SemanticState::new(&manifest, [0; 32], [0; 32], Intent::default(), Profile::default().context(&manifest).unwrap());
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
                    text: &read, span: &span, granularity, inert_prefix: false, depth: 0, alternatives: 0, uncertainty: None,
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

    #[test]
    fn many_chunks_give_the_same_text(which in 0..CORPUS.len(), sizes in prop::collection::vec(0_usize..6, 0..60)) {
        let mapper = mapper();
        let text = CORPUS[which];
        for granularity in GRANULARITIES {
            let mut segmenter = Segmenter::default();
            let mut rest = text.as_bytes();
            for size in &sizes {
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                segmenter.push(chunk);
                rest = after;
            }
            segmenter.push(rest);
            prop_assert_eq!(segmenter.finish(&mapper, granularity).unwrap(), mapper.read(text.to_owned(), granularity));
        }
    }
}
