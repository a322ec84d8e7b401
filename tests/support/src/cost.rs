//! Counts the work of a program in bytes that it asks of its allocator. The count depends neither on the machine nor on
//! its load, so a test can compare it between sizes of an input. A program that copies a list for each of its entries
//! shows here; one that only walks the list does not.
//!
//! A test program uses it with `#[global_allocator] static ALLOCATOR: Counting = Counting;`.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::float_arithmetic, reason = "rates of a measurement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts the bytes that a thread asks for.
#[derive(Debug)]
pub struct Counting;

// SAFETY: every call goes to the system's allocator unchanged. The counter is a constant-initialised cell of the
// thread: it allocates nothing and needs no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size() as u64));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer is of `System`, which made all of them.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The bytes that `work` asks for in this thread.
fn bytes_of(work: impl FnOnce()) -> u64 {
    let before = BYTES.get();
    work();
    BYTES.get() - before
}

/// Runs `work` on inputs of three sizes, each twice the one before, and asserts that its cost grows with the size and
/// not faster. The fixed part of the cost falls out of the differences. The limit is 2.5, and not 2, because a vector
/// grows in steps; a cost that grows with the square gives 4.
#[track_caller]
pub fn assert_linear<T>(what: &str, inputs: &[T; 3], work: impl Fn(&T)) {
    let [one, two, four] = inputs.each_ref().map(|input| bytes_of(|| work(input)));
    let (first, second) = (two.saturating_sub(one), four.saturating_sub(two));
    println!("{what}: {one} {two} {four} bytes");
    assert!(first > 0 && second * 2 <= first * 5, "{what} at n, 2n and 4n asks for {one}, {two} and {four} bytes");
}

/// Processor time of this program so far, in seconds (proc(5), fields 14 and 15).
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u32 = [11, 12].iter().map(|at: &usize| fields[*at].parse::<u32>().unwrap()).sum();
    f64::from(ticks) / 100.0
}

/// The mean processor time of a run, in seconds, over as many runs as fit into a second. The clock has steps of 10 ms.
pub fn measured(work: impl Fn()) -> f64 {
    let (mut runs, begun) = (0_u32, processor());
    loop {
        work();
        runs += 1;
        let used = processor() - begun;
        if used >= 1.0 {
            return used / f64::from(runs);
        }
    }
}

/// The numbers of streams in the sessions of a bench, if its arguments give no others.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The name of a program that reads a session of this type, and the program.
pub type Reader<'a, T> = (&'static str, &'a dyn Fn(&T));

/// A bench of programs that read sessions. Measures each on sessions of the sizes that the arguments of this
/// program give, and prints its streams per second. Whether the rates are steady: the rate of the largest size must be
/// at least half of the best rate, because the cost of a stream does not depend on how many there are.
pub fn measure_streams<T>(readers: &[Reader<'_, T>], session: impl Fn(usize) -> T) -> bool {
    let given: Vec<usize> = std::env::args().filter_map(|size| size.parse().ok()).collect();
    let sizes = if given.is_empty() { SIZES.to_vec() } else { given };
    let mut rates = vec![Vec::new(); readers.len()];
    for streams in sizes {
        let session = session(streams);
        println!("{streams} streams");
        for ((name, read), rates) in readers.iter().zip(&mut rates) {
            let seconds = measured(|| read(&session));
            let rate = streams as f64 / seconds;
            println!("  {name}: {seconds:.3} s, {rate:.0} streams/s");
            rates.push(rate);
        }
    }
    are_steady(readers.iter().zip(&rates).map(|((name, _), rates)| (*name, &**rates)))
}

/// Whether the last of the rates of each name is at least half of the best one. Prints those that are not.
fn are_steady<'a>(rates: impl IntoIterator<Item = (&'a str, &'a [f64])>) -> bool {
    let mut steady = true;
    for (name, rates) in rates {
        let (best, last) = (rates.iter().copied().fold(0.0, f64::max), rates.last().copied().unwrap_or_default());
        if 2.0 * last < best {
            println!("{name}: {last:.0} per second at the largest size, {best:.0} at the best one");
            steady = false;
        }
    }
    steady
}
