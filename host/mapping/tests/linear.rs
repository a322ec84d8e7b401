//! Texts of shapes that a reader could read again and again cost work in proportion to their length, as wholes and in
//! chunks. Work is counted in allocated bytes: a reader that copies or builds everything anew allocates it again. No
//! clock is read, so the load of the machine does not matter.
#![cfg(test)]
#![allow(unsafe_code, reason = "an allocator that counts must implement an unsafe trait")]

#[path = "support/shapes.rs"]
mod shapes;

use portcullis_core::manifest::PackageManifest;
use portcullis_core::wire::Granularity;
use portcullis_mapping::{ScannedText, Segmenter, TextMapper};
use shapes::{SHAPES, Shape};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

thread_local! {
    /// Bytes that this thread has allocated.
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread has allocated and not freed, and the largest number of them so far.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

fn hold(change: i64) {
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + change, most.max(now + change)));
    });
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|all| all.set(all.get() + layout.size() as u64));
        hold(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract of `dealloc`, and `place` comes from the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Length in bytes of the short text, and how many times as long the other one is. Searches reach back 2 kB, so shorter
/// texts cost less per byte.
const SHORT: usize = 5_000;
const TIMES: usize = 4;
/// Largest accepted ratio of the work, in tenths. A quadratic reader has 160.
const MOST: u64 = 80;

fn mapper(policy: &str) -> TextMapper {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(policy);
    let manifest: PackageManifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let vocabulary = std::fs::read_dir(dir.join("vocabulary")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| format!("vocabulary/{}", path.file_name().unwrap().to_str().unwrap());
    let files: BTreeMap<String, Vec<u8>> = vocabulary.map(|path| (name(&path), std::fs::read(path).unwrap())).collect();
    TextMapper::new(&manifest, &files).unwrap()
}

/// Bytes that this thread allocates for some work.
fn allocated(work: impl FnOnce()) -> u64 {
    let before = ALLOCATED.get();
    work();
    ALLOCATED.get() - before
}

/// Everything that the gate asks about each span of a text that it splits.
fn judge(mapper: &TextMapper, text: &ScannedText) {
    for piece in text.pieces().iter().filter(|piece| !piece.inert) {
        for part in std::iter::once(piece).chain(&text.split(&piece.range, &[])) {
            let shown = text.slice(&part.range);
            let _ = (text.split(&part.range, &[]), text.around(&part.range), text.citations(&part.range));
            let _ = mapper.propositions(text.earlier(&part.range), shown);
        }
    }
}

fn whole(mapper: &TextMapper, text: &str) {
    judge(mapper, &mapper.read(text.to_owned(), Granularity::Span));
}

fn chunks(mapper: &TextMapper, text: &str, size: usize) {
    let mut segmenter = Segmenter::new(Granularity::Span);
    for chunk in text.as_bytes().chunks(size) {
        segmenter.push(mapper, chunk).unwrap();
    }
    segmenter.finish(mapper).unwrap();
}

/// The shapes whose work grows faster than their length.
fn grow(mapper: &TextMapper, read: impl Fn(&TextMapper, &str)) -> Vec<String> {
    let ratio = |shape: &Shape| {
        let (short, long) = (shape.text(SHORT), shape.text(SHORT * TIMES));
        // What a thread sets up once does not count.
        read(mapper, &short);
        let [short, long] = [short, long].map(|text| allocated(|| read(mapper, &text)));
        (long * 10 > MOST * short.max(1)).then(|| format!("{}: {short} bytes, then {long}", shape.name))
    };
    let all = std::env::var_os("PORTCULLIS_LONG").is_some();
    SHAPES.iter().filter(|shape| all || shape.often).filter_map(ratio).collect()
}

#[test]
fn a_whole_text_costs_linear_work() {
    let found = grow(&mapper("pii"), whole);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_text_in_small_chunks_costs_linear_work() {
    let pii = mapper("pii");
    let found = grow(&pii, |mapper, text| chunks(mapper, text, 7));
    assert!(found.is_empty(), "{found:#?}");
}

/// The calls whose instructions `cargo xtask bench shapes` counts; valgrind finds them by this name.
#[inline(never)]
fn one_reading(mapper: &TextMapper, text: &str, in_chunks: bool) {
    if in_chunks {
        chunks(mapper, text, 16);
    } else {
        whole(mapper, text);
    }
}

/// Prints one line before each counted call: the shape, the bytes of its text, and how the text is read.
#[test]
#[ignore = "prints the calls whose instructions `cargo xtask bench shapes` counts"]
fn counted_calls() {
    let names = std::env::var("PORTCULLIS_SHAPES").unwrap_or_default();
    let bytes: usize = std::env::var("PORTCULLIS_SHAPE_BYTES").map_or(1 << 16, |bytes| bytes.parse().unwrap());
    let is_wanted = |shape: &&Shape| names.is_empty() || names.split(',').any(|name| name == shape.name);
    let pii = mapper("pii");
    // The harness has begun a line with the name of the test.
    println!();
    for shape in SHAPES.iter().filter(is_wanted) {
        for in_chunks in [false, true] {
            // What a thread sets up once does not count.
            if in_chunks {
                chunks(&pii, &shape.text(200), 16);
            } else {
                whole(&pii, &shape.text(200));
            }
            for bytes in [0, bytes, 2 * bytes] {
                let text = shape.text(bytes);
                println!("{} {} {}", shape.name, text.len(), if in_chunks { "chunks" } else { "whole" });
                one_reading(&pii, &text, in_chunks);
            }
        }
    }
}

/// Largest number of bytes of memory per byte of text, while a whole text is read and in its result.
const MOST_HELD: [usize; 2] = [100, 34];

#[test]
fn a_whole_text_takes_bounded_memory() {
    let pii = mapper("pii");
    let held = |shape: &Shape| {
        let text = shape.text(1 << 14);
        // What a thread sets up once does not count.
        drop(pii.read(text.clone(), Granularity::Span));
        let before = HELD.get().0;
        HELD.set((before, before));
        let _read = pii.read(text.clone(), Granularity::Span);
        let (now, most) = HELD.get();
        let per_byte = [most, now].map(|bytes| usize::try_from(bytes - before).unwrap() / text.len());
        let is_more = per_byte.iter().zip(MOST_HELD).any(|(bytes, most)| *bytes > most);
        is_more.then(|| format!("{}: {per_byte:?} bytes per byte", shape.name))
    };
    let found: Vec<String> = SHAPES.iter().filter_map(held).collect();
    assert!(found.is_empty(), "{found:#?}");
}
