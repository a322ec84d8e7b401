//! Texts of shapes that a reader could read again and again cost work in proportion to their length, as wholes and in
//! chunks. Work is counted in allocated bytes: a reader that copies or builds everything anew allocates it again. No
//! clock is read, so the load of the machine does not matter.
#![cfg(test)]
#![allow(unsafe_code, reason = "an allocator that counts must implement an unsafe trait")]

use portcullis_core::manifest::Manifest;
use portcullis_core::wire::Granularity;
use portcullis_mapping::{Mapper, Segmenter, Text};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

thread_local! {
    /// Bytes that this thread has allocated.
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|all| all.set(all.get() + layout.size() as u64));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `place` comes from the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Length in bytes of the short text, and how many times as long the other one is. Searches reach back 2 kB, so shorter
/// texts cost less per byte.
const SHORT: usize = 3_000;
const TIMES: usize = 4;
/// Largest accepted ratio of the work, in tenths. A quadratic reader has 160.
const MOST: u64 = 80;

fn mapper(policy: &str) -> Mapper {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(policy);
    let manifest: Manifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let vocabulary = std::fs::read_dir(dir.join("vocabulary")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| format!("vocabulary/{}", path.file_name().unwrap().to_str().unwrap());
    let files: BTreeMap<String, Vec<u8>> = vocabulary.map(|path| (name(&path), std::fs::read(path).unwrap())).collect();
    Mapper::new(&manifest, &files).unwrap()
}

/// A text of a shape: the unit repeated, with a number in place of `{n}`.
fn text(unit: &str, bytes: usize) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&unit.replace("{n}", &number.to_string()));
    }
    text
}

/// Bytes that this thread allocates for some work.
fn allocated(work: impl FnOnce()) -> u64 {
    let before = ALLOCATED.get();
    work();
    ALLOCATED.get() - before
}

/// Everything that the gate asks about each span of a text that it splits.
fn judge(mapper: &Mapper, text: &Text) {
    for piece in text.pieces().iter().filter(|piece| !piece.inert) {
        for part in std::iter::once(piece).chain(&text.split(&piece.range, &[])) {
            let shown = text.slice(&part.range);
            let _ = (text.split(&part.range, &[]), text.around(&part.range), text.citations(&part.range));
            let _ = mapper.propositions(text.earlier(&part.range), shown);
        }
    }
}

fn whole(mapper: &Mapper, text: &str) {
    judge(mapper, &mapper.read(text.to_owned(), Granularity::Span));
}

fn chunks(mapper: &Mapper, text: &str, size: usize) {
    let mut segmenter = Segmenter::new(Granularity::Span);
    for chunk in text.as_bytes().chunks(size) {
        segmenter.push(mapper, chunk).unwrap();
    }
    segmenter.finish(mapper).unwrap();
}

/// The shapes whose work grows faster than their length.
fn grow(mapper: &Mapper, units: &[&str], read: impl Fn(&Mapper, &str)) -> Vec<String> {
    let ratio = |unit: &&str| {
        let (short, long) = (text(unit, SHORT), text(unit, SHORT * TIMES));
        // What a thread sets up once does not count.
        read(mapper, &short);
        let [short, long] = [short, long].map(|text| allocated(|| read(mapper, &text)));
        (long * 10 > MOST * short.max(1)).then(|| format!("{unit:?}: {short} bytes, then {long}"))
    };
    units.iter().filter_map(ratio).collect()
}

const UNITS: &[&str] = &[
    "The northern line of ships carried grain to the old harbour in spring. ",
    "we sail north and then we sail south ",
    "we sail north, and then we sail south, ",
    "a; a; a; ",
    "a: b: ",
    "; ; ",
    ", , ",
    "and then; the and: ",
    "which was built, who met, that sold, ",
    "Ana Silva was born in 1950 and Bo Lind was born in 1960 and ",
    "in May, in June, she went, ",
    "Capacity: 40 seats, 50 seats and 60 seats, ",
    "user{n}@roe.example, ",
    "10.0.0.{n}, ",
    "4111 1111 1111 1111, ",
    "1.1.1.",
    "2001:db8:85a3::8a2e:370:7334, ",
    "5 mg of salt, ",
    "take 5 mg/kg at noon, ",
    "5 thousand x thousand ",
    "1a",
    "| 5 mg | 10 ml |\n|-|-|\n",
    "[1][2](3)",
    "http://a.bc/))))) ",
    "{\"a\": ",
    "{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n",
    "{\"name\": \"f\", ",
    "\u{ff5b}\"name\": \"f\", \"args\": {}\u{ff5d} ",
    "\n",
    ">",
    "`",
    "\u{1}",
    " ",
    "* ",
    "<b ",
    "[",
    "a-",
    "caf\u{e9}. na\u{ef}ve. ",
    "\u{6771}\u{4eac}\u{3002}",
    "e\u{301}",
];

#[test]
fn a_whole_text_costs_linear_work() {
    let found = grow(&mapper("pii"), UNITS, whole);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_text_in_small_chunks_costs_linear_work() {
    let pii = mapper("pii");
    let found = grow(&pii, UNITS, |mapper, text| chunks(mapper, text, 7));
    assert!(found.is_empty(), "{found:#?}");
}
