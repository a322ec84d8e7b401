//! Throughput of the pattern scan and of the whole mapping with the PII policy, in bytes of text on one core. Measures
//! ASCII prose, the same prose with single line breaks, and text with markup and non-ASCII characters.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark stops at its first surprise")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use portcullis_core::manifest::PackageManifest;
use portcullis_core::state::{AgentProfile, SemanticState, StreamIntent};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{ScannedText, Segmenter, SpanInput, TextMapper};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

/// The layout of a text's sentences.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No line breaks; ASCII only.
    Plain,
    /// ASCII, with a line break after one sentence in six, and with a line break in place of one space in ten.
    Lines,
    /// Line breaks after sentences, Markdown, and non-ASCII characters.
    Marked,
}

/// About 256 KiB of sentences; one in ten contains a hit of the policy.
fn corpus(kind: Kind) -> String {
    let words = "the station opened again after a long winter and people came back to read their papers while the trains left on time \
                 for towns along the coast where markets sell bread fish and flowers every morning before the heat of day";
    let words: Vec<&str> = words.split_whitespace().collect();
    let hits = ["4111 1111 1111 1111", "ana@example.org", "+1 (555) 010-9999", "DE89370400440532013000", "192.0.2.7"];
    let mut state = 1u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut text = String::new();
    let mut sentence = 0;
    while text.len() < 256 << 10 {
        sentence += 1;
        for i in 0..8 + next(10) {
            let wraps = kind == Kind::Lines && next(10) == 0;
            text += match i {
                0 => "",
                _ if wraps => "\n",
                _ => " ",
            };
            let word = words[next(words.len())];
            // Sentences begin with a capital letter.
            let word = if i == 0 { word[..1].to_uppercase() + &word[1..] } else { word.to_owned() };
            match if kind == Kind::Marked { next(6) } else { 6 } {
                0 => text += &format!("**{word}**"),
                1 => text += &format!("\u{201c}{word}\u{e9}\u{201d}"),
                2 => text += &format!("\u{436}\u{438}\u{437}\u{43d}\u{44c}\u{a0}{word}"),
                _ => text += &word,
            }
        }
        if sentence % 10 == 0 {
            text += " ";
            text += hits[next(hits.len())];
        }
        text += if kind != Kind::Plain && sentence % 6 == 0 { ".\n" } else { ". " };
    }
    text
}

/// Maps every span of a text; returns the sum of their lengths.
fn map(mapper: &TextMapper, state: &SemanticState, text: &ScannedText, granularity: Granularity) -> usize {
    let of = |span| SpanInput {
        text,
        span,
        granularity,
        inert_prefix: false,
        depth: 0,
        alternatives: 0,
        choice: None,
        uncertainty: None,
    };
    let pieces = text.pieces().iter().filter(|p| !p.inert);
    pieces.map(|p| usize::from(mapper.map(state, of(&p.range)).mutation.length)).sum()
}

/// Measures bytes per second of the pattern scan and of the whole mapping.
fn throughput(c: &mut Criterion, name: &str, text: &str, mapper: &TextMapper, state: &SemanticState) {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("pattern scan", |b| b.iter(|| mapper.scan(black_box(text))));
    group.bench_function("whole mapping", |b| {
        b.iter(|| {
            let read = mapper.read(black_box(text.to_owned()), Granularity::Span);
            map(mapper, state, &read, Granularity::Span)
        });
    });
    group.sample_size(10);
    group.bench_function("whole mapping in chunks of 5 bytes", |b| {
        b.iter(|| {
            let mut segmenter = Segmenter::new(Granularity::Span);
            let parts = text.as_bytes().chunks(5).filter_map(|chunk| segmenter.push(mapper, chunk).unwrap());
            let parts: Vec<_> = parts.collect();
            let last = segmenter.finish(mapper).unwrap();
            parts.iter().chain([&last]).map(|part| map(mapper, state, part, Granularity::Span)).sum::<usize>()
        });
    });
    group.finish();
}

fn mapping(c: &mut Criterion) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/pii");
    let manifest: PackageManifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let persons = std::fs::read(dir.join("vocabulary/persons.txt")).unwrap();
    let mapper = TextMapper::new(&manifest, &BTreeMap::from([("vocabulary/persons.txt".to_owned(), persons)])).unwrap();
    let text = corpus(Kind::Plain);
    let state = SemanticState::new(
        &manifest,
        [0; 32],
        [0; 32],
        StreamIntent::default(),
        AgentProfile::default().context(&manifest).unwrap(),
    );
    let (lines, marked) = (corpus(Kind::Lines), corpus(Kind::Marked));
    for (name, text) in [("mapping", &text), ("mapping, lines", &lines), ("mapping, marked up", &marked)] {
        throughput(c, name, text, &mapper, &state);
    }

    // One criterion element is one token or one span, so the time shown per element is its amortised cost.
    for (name, granularity) in [("per token", Granularity::Token), ("per span", Granularity::Span)] {
        let read = mapper.read(text.clone(), granularity);
        let pieces = read.pieces().iter().filter(|p| !p.inert).count();
        let mut group = c.benchmark_group("amortised");
        group.throughput(Throughput::Elements(pieces as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let read = mapper.read(black_box(text.clone()), granularity);
                map(&mapper, &state, &read, granularity)
            });
        });
        group.finish();
    }
}

criterion_group!(benches, mapping);
criterion_main!(benches);
