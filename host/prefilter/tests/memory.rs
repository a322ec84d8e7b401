//! The memory of the filters of all shipped profiles, as a gateway holds them. This test is a separate program, because
//! it measures the whole process.
#![cfg(all(test, target_os = "linux"))]

use portcullis_prefilter::{FilterPolicy, InputPrefilter};

/// Largest memory of the process, in KiB, that making the filters may need.
const MOST: u64 = 64 << 10;

/// The largest amount of memory that the process has used so far, in KiB.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn the_filters_of_all_profiles_take_little_memory() {
    let before = most_memory().unwrap();
    let profiles = FilterPolicy::profiles().unwrap();
    let filter = |name: &String| InputPrefilter::new(FilterPolicy::profile(name).unwrap()).unwrap();
    let filters: Vec<InputPrefilter> = profiles.iter().map(filter).collect();
    let taken = most_memory().unwrap() - before;
    println!("{} filters: {taken} KiB", filters.len());
    assert!(filters.len() >= 3 && taken < MOST, "{} filters: {taken} KiB", filters.len());
}
