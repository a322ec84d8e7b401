//! A text that arrives in chunks gives the same pieces, mutations, citations, sentences and parts as the whole text.
#![cfg(test)]

use portcullis_core::manifest::PackageManifest;
use portcullis_core::state::{AgentProfile, SemanticState, StreamIntent};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{NotUtf8, ScannedText, Segmenter, SpanInput, SpanMapping, TextMapper};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A policy, and an empty state for it.
struct Reader {
    mapper: TextMapper,
    state: SemanticState,
}

fn reader(policy: &str) -> Reader {
    let dir = root().join("policies").join(policy);
    let manifest: PackageManifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let vocabulary = std::fs::read_dir(dir.join("vocabulary")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| format!("vocabulary/{}", path.file_name().unwrap().to_str().unwrap());
    let files: BTreeMap<String, Vec<u8>> = vocabulary.map(|path| (name(&path), std::fs::read(path).unwrap())).collect();
    let context = AgentProfile::default().context(&manifest).unwrap();
    let state = SemanticState::new(&manifest, [0; 32], [0; 32], StreamIntent::default(), context);
    Reader { mapper: TextMapper::new(&manifest, &files).unwrap(), state }
}

const CORPUS: &[&str] = &[
    "Pay 4111 1111 1111 1111 now. Or call +1 (555) 010-9999 x12; thanks!",
    "Ask Ana Beispiel, or mail j.doe@x.co.uk, about DE89 3704 0044 0532 0130 00.",
    "Größe: 5 cm… «Ja», sagte sie. 東京は広い。そうです。 From 192.0.2.1, e.g. here.\r\nNext line\n\n  - item",
    "",
    " \t\n",
];

const GRANULARITIES: [Granularity; 3] = [Granularity::Token, Granularity::Span, Granularity::Step];

/// A piece of a text with its reading: mutation, citations, sentence and parts.
#[derive(Debug, PartialEq)]
struct Read {
    range: Range<usize>,
    inert: bool,
    proposes: Option<(SpanMapping, Option<Vec<String>>, Range<usize>)>,
    parts: Vec<(Range<usize>, bool)>,
}

fn reads(Reader { mapper, state }: &Reader, text: &ScannedText, granularity: Granularity) -> Vec<Read> {
    let global = |range: &Range<usize>| range.start + text.offset()..range.end + text.offset();
    let read = |piece: &portcullis_mapping::TextPiece| {
        let span = &piece.range;
        let input = SpanInput {
            text,
            span,
            granularity,
            inert_prefix: false,
            depth: 0,
            alternatives: 0,
            choice: None,
            uncertainty: None,
        };
        let cites = || text.citations(span).map(|all| all.into_iter().map(str::to_owned).collect());
        let proposes = || (mapper.map(state, input), cites(), global(&text.sentence(span)));
        let parts = if piece.inert { Vec::new() } else { text.split(span, &[]) };
        let parts = parts.iter().map(|part| (global(&part.range), part.inert)).collect();
        Read { range: global(span), inert: piece.inert, proposes: (!piece.inert).then(proposes), parts }
    };
    text.pieces().iter().map(read).collect()
}

/// The readings of a text that arrives in chunks, and the largest number of waiting bytes.
fn streamed<'c>(
    reader: &Reader,
    chunks: impl IntoIterator<Item = &'c [u8]>,
    granularity: Granularity,
) -> (Vec<Read>, usize) {
    let mut segmenter = Segmenter::new(granularity);
    let mut all = Vec::new();
    let mut waited = 0;
    for chunk in chunks {
        if let Some(part) = segmenter.push(&reader.mapper, chunk).unwrap() {
            all.extend(reads(reader, &part, granularity));
        }
        waited = waited.max(segmenter.pending());
    }
    all.extend(reads(reader, &segmenter.finish(&reader.mapper).unwrap(), granularity));
    (all, waited)
}

fn whole(reader: &Reader, text: &str, granularity: Granularity) -> Vec<Read> {
    reads(reader, &reader.mapper.read(text.to_owned(), granularity), granularity)
}

#[test]
fn every_chunking_gives_the_same_spans() {
    let reader = reader("pii");
    for text in CORPUS {
        for granularity in GRANULARITIES {
            let expected = whole(&reader, text, granularity);
            let bytes = text.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let chunks = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let (chunked, _) = streamed(&reader, chunks, granularity);
                    assert_eq!(chunked, expected, "{text:?} cut at {first} and {second}");
                }
            }
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let (Reader { mapper, .. }, mut segmenter) = (reader("pii"), Segmenter::new(Granularity::Span));
    assert_eq!(segmenter.push(&mapper, b"ab\xff").unwrap_err(), NotUtf8 { at: 2 });
    let mut segmenter = Segmenter::new(Granularity::Span);
    assert!(segmenter.push(&mapper, b"One. Two. \xe6\x9d").unwrap().is_some());
    assert_eq!(segmenter.finish(&mapper).unwrap_err(), NotUtf8 { at: 10 });
}

/// Five hundred texts of words, marks, numbers, hits and characters of all widths, each cut at every byte.
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
    let reader = reader("pii");
    let mut random = 1u64;
    for number in 0..500 {
        let mut text = String::new();
        for _ in 0..3 + number % 9 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += PARTS[usize::try_from(random >> 33).unwrap() % PARTS.len()];
        }
        for granularity in GRANULARITIES {
            let expected = whole(&reader, &text, granularity);
            for cut in 0..=text.len() {
                let (head, tail) = text.as_bytes().split_at(cut);
                assert_eq!(streamed(&reader, [head, tail], granularity).0, expected, "{text:?} cut at {cut}");
            }
            let each = text.as_bytes().chunks(1);
            assert_eq!(streamed(&reader, each, granularity).0, expected, "{text:?} byte by byte");
        }
    }
}

proptest! {
    #![proptest_config(config(100))]
    #[test]
    fn many_chunks_give_the_same_text(which in 0..CORPUS.len(), sizes in prop::collection::vec(0_usize..6, 0..60)) {
        let reader = reader("pii");
        let text = CORPUS[which];
        let mut rest = text.as_bytes();
        let mut chunks = Vec::new();
        for size in &sizes {
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        chunks.push(rest);
        for granularity in GRANULARITIES {
            let (read, _) = streamed(&reader, chunks.iter().copied(), granularity);
            prop_assert_eq!(read, whole(&reader, text, granularity));
        }
    }
}

/// Pieces of text in which a wrong segmenter would let a chunk border change the spans.
const NASTY: &[&str] = &[
    "The dose",
    " is 500 mg",
    ". ",
    "!",
    "? ",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "However, ",
    " na\u{ef}ve",
    "\u{6771}\u{3002}",
    "; ",
    ", (",
    " a@b.org",
    " 4111 1111 1111 1111",
    "4111 ",
    "1111 ",
    "-",
    " and ",
    " not",
    " Dr.",
    "10\u{202f}000 mg",
    "\u{1f600}",
    "Step 2:",
    "2. ",
    "200\u{2013}900 mg",
    " x 10",
    " tablets of ",
    " 5",
    " to ",
    "per kg",
    "{",
    "}",
    "{\"a\": ",
    "\"name\": \"x\", ",
    "\"arguments\": {}}",
    "[",
    "](",
    ")",
    "![a](https://e.example/1",
    "![a][b]",
    "[b]: https://e.example/2\n",
    "<img src='//e.example/3",
    "<style>",
    " url(",
    "@import \"https://e.example/4",
    "<b",
    ">",
    "<a href=\"",
    "</td>",
    "<!--",
    "-->",
    "&nbs",
    "&#52;",
    "$",
    "$x$",
    "\\",
    "\\,",
    "\\text{",
    "**",
    "_",
    "`",
    "```\n",
    "| ",
    "|---|\n",
    "| mg |\n",
    "\tmg\t",
    "\t7\n",
    "https://x.y/",
    "410 U.S. 113",
    "Article 6 ",
    "GDPR",
    "[2017] ",
    "UKSC 5",
    "Call ",
    "555 0143",
    "(b) ",
    "iv. ",
    "\u{ff5b}",
    "\u{301}",
    "\u{ad}",
    "A",
    "b",
    " ",
    "  ",
    "\u{1b}[31m",
    "Ana ",
    "Beispiel",
    "you should ",
    "buy",
    "Dr. ",
    "Beta Inc. ",
    "No. ",
    "5 p.m. ",
    "e. g. ",
    "J. ",
    "Bank ",
];

/// Runs a test with `cases` random texts, or forty times as many in a long run (`PORTCULLIS_LONG`).
fn config(cases: u32) -> ProptestConfig {
    let times = if std::env::var_os("PORTCULLIS_LONG").is_some() { 40 } else { 1 };
    ProptestConfig::with_cases(cases * times)
}

fn chunks<'t>(text: &'t str, sizes: &[usize]) -> Vec<&'t [u8]> {
    let mut rest = text.as_bytes();
    let mut chunks = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).clamp(1, rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

const POLICIES: &[&str] = &["pii", "clinical", "finance-suitability", "privilege", "residency", "biography"];

thread_local! {
    static READERS: Vec<Reader> = POLICIES.iter().map(|policy| reader(policy)).collect();
}

fn assert_same(reader: &Reader, policy: &str, text: &str, sizes: &[usize]) {
    for granularity in GRANULARITIES {
        let (read, _) = streamed(reader, chunks(text, sizes), granularity);
        let expected = whole(reader, text, granularity);
        let first = read.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(read.len().min(expected.len()));
        assert!(
            read == expected,
            "{policy}, {granularity:?}, chunks of {sizes:?}: {text:?}\nin chunks {:?}\nwhole     {:?}",
            read.get(first),
            expected.get(first)
        );
    }
}

#[test]
fn a_row_is_known_at_the_end_of_its_line() {
    let reader = reader("clinical");
    for text in ["| mg |\n|---|\n[2017] . 410 U.S. 113However, | ", "a\tmg\nb. 600. Then it. Go\t7\n"] {
        assert_same(&reader, "clinical", text, &[1]);
    }
}

/// The first escape has two readings, and the second one has one. A quantity that only readings show counts once, so
/// that it does not depend on how far back the text is read.
#[test]
fn a_quantity_of_several_readings_counts_once() {
    let reader = reader("clinical");
    let value = "not[2017] [2017]  4111 1111 1111 1111 4111 1111 1111 1111&#52;| mg |";
    let parts = |before: &str| {
        let text = format!("{before}{value}");
        let span = before.len()..text.len();
        let read = reader.mapper.read(text, Granularity::Span);
        let quantities: Vec<String> = read.quantities_of(&span).map(str::to_owned).collect();
        (quantities, read.split(&span, &[]).into_iter().map(|part| part.range.len()).collect::<Vec<_>>())
    };
    assert_eq!(parts("Here is &#x26;lt; of it. "), parts("Here is &lt; of it. "));
}

/// An unclosed comment after a value may join the value to the text after the comment.
#[test]
fn a_value_broken_by_a_comment_is_the_same_in_every_chunking() {
    let reader = reader("pii");
    assert_same(&reader, "pii", "\n\\My card is 4012.\n<!--. > 99 -->8888 8888 1881 if you need it.", &[7, 6, 8]);
}

/// The end of the sentence decides whether its hit counts as affirmed.
#[test]
fn a_sentence_that_ends_where_nothing_is_looked_at_is_the_same_in_every_chunking() {
    let reader = reader("clinical");
    for length in 500..516 {
        for end in ["\n", ". ", "\u{2028}", ".\n"] {
            let rest: String = " a".chars().cycle().take(length).collect();
            let text = format!("This is not medical advice{rest}{end}It was not so. \u{e4}h.\n");
            assert_same(&reader, "clinical", &text, &[300, 5]);
        }
    }
}

/// The texts of the case files.
fn cases(files: &[&str]) -> Vec<String> {
    let rows = |file| std::fs::read_to_string(root().join(format!("tests/cases/bytes/{file}.jsonl"))).unwrap();
    let text = |row: &str| serde_json::from_str::<serde_json::Value>(row).unwrap()["text"].as_str().map(str::to_owned);
    files.iter().flat_map(|file| rows(file).lines().filter_map(text).collect::<Vec<_>>()).collect()
}

const VALUES: &[&str] = &["bypass", "lookalikes", "quantities", "citations", "enumerations", "measured"];
/// Texts that end a sentence in the middle of a value, or leave markup open in a value.
const BREAKS: &[&str] = &[
    "\n",
    ". ",
    "! ",
    "\r\n",
    ".\n",
    "? <b ",
    "\n[",
    "! $",
    ". {\"",
    "\n\\",
    "! &",
    "\n|",
    "\n- ",
    "\n<!-- > ",
    " --> ",
    "<a b=\"> ",
];

proptest! {
    #![proptest_config(config(4000))]
    #[test]
    fn broken_values_are_the_same_in_every_chunking(
        which in any::<prop::sample::Index>(),
        breaks in prop::collection::vec((any::<prop::sample::Index>(), 0..BREAKS.len(), any::<bool>()), 1..4),
        sizes in prop::collection::vec(1_usize..9, 1..4),
        policy in 0..POLICIES.len(),
    ) {
        thread_local!(static TEXTS: Vec<String> = cases(VALUES));
        let mut text = TEXTS.with(|texts| which.get(texts).clone());
        for (place, kind, instead) in breaks {
            let places: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
            if instead && !places.is_empty() {
                let at = *place.get(&places);
                text.replace_range(at..=at, BREAKS[kind]);
            } else {
                let at = text.floor_char_boundary(place.index(text.len() + 1));
                text.insert_str(at, BREAKS[kind]);
            }
        }
        READERS.with(|readers| assert_same(&readers[policy], POLICIES[policy], &text, &sizes));
    }
}

proptest! {
    #![proptest_config(config(1500))]
    #[test]
    fn nasty_texts_are_the_same_in_every_chunking(
        parts in prop::collection::vec((0..NASTY.len(), 1_usize..4), 1..40),
        sizes in prop::collection::vec(1_usize..24, 1..6),
        policy in 0..POLICIES.len(),
    ) {
        let text: String = parts.iter().map(|(part, times)| NASTY[*part].repeat(*times)).collect();
        READERS.with(|readers| assert_same(&readers[policy], POLICIES[policy], &text, &sizes));
    }

}

proptest! {
    #![proptest_config(config(100))]
    #[test]
    fn long_nasty_texts_are_the_same_in_every_chunking(
        parts in prop::collection::vec((0..NASTY.len(), prop_oneof![9 => 1_usize..3, 1 => 40_usize..200]), 60..200),
        sizes in prop::collection::vec(1_usize..400, 1..6),
        policy in 0..POLICIES.len(),
    ) {
        let text: String = parts.iter().map(|(part, times)| NASTY[*part].repeat(*times)).collect();
        READERS.with(|readers| assert_same(&readers[policy], POLICIES[policy], &text, &sizes));
    }
}

/// A sentence ends after 65,536 bytes at the latest. What is kept of it as context then begins inside it.
#[test]
fn sentences_that_have_no_end_are_the_same_in_every_chunking() {
    let mut state = 17_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    READERS.with(|readers| {
        for kind in 0..9 {
            let mut text = String::new();
            while text.len() < 150_000 {
                let part = NASTY[below(NASTY.len())];
                match kind {
                    0 => text.push_str("the harbour, and "),
                    1 => text.push_str(part.trim_matches(|c: char| !c.is_ascii_alphanumeric())),
                    2 if !part.contains(['\n', '.', '!', '?']) => text.push_str(part),
                    2 => text.push_str(" 4111 1111"),
                    4 => text.push_str(&" ".repeat(below(30_000))),
                    5 => text.push_str(&"<!-- \n".repeat(below(9_000))),
                    6 => text.push_str(&"\n".repeat(below(9_000))),
                    7 => text.push_str(&"and so, ".repeat(below(9_000))),
                    8 => text.push_str(&"_*{".repeat(below(9_000))),
                    _ => text.push_str(["[harbour ", "a@b.org ", "{\"a\": 5} ", "<!-- "][below(4)]),
                }
                text.push(if below(8) == 0 { ',' } else { ' ' });
                if kind > 3 && below(3) == 0 {
                    text.push_str(["Then and so. ", "and ", "4111 1111 1111 1111", "Ships"][below(4)]);
                }
            }
            let (read, _) = streamed(&readers[0], chunks(&text, &[4_000, 700]), Granularity::Span);
            let expected = whole(&readers[0], &text, Granularity::Span);
            let first = read.iter().zip(&expected).position(|(a, b)| a != b);
            assert!(read == expected, "kind {kind}, at {first:?} of {} and {}", read.len(), expected.len());
        }
    });
}

#[test]
fn every_case_is_the_same_in_every_chunking() {
    let readers: Vec<Reader> = POLICIES.iter().map(|policy| reader(policy)).collect();
    for (number, text) in cases(VALUES).iter().enumerate() {
        let at = number % POLICIES.len();
        assert_same(&readers[at], POLICIES[at], text, &[1]);
    }
    let rows = std::fs::read_to_string(root().join("tests/cases/bytes/streaming.jsonl")).unwrap();
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let text = row["text"].as_str().unwrap();
        let watches = row["watch"].as_array().unwrap().iter().filter_map(|watch| watch.as_u64());
        let watches = watches.map(|watch| usize::try_from(watch).unwrap().max(1));
        for first in watches.chain([if text.len() < 2000 { 1 } else { 512 }]) {
            let rest = if first < 2000 && text.len() < 2000 { 1 } else { text.len().max(1) };
            assert_same(&readers[1], POLICIES[1], text, &[first, rest]);
        }
    }
}
