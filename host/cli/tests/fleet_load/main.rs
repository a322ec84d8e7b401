//! A small fleet under load. Eight simulated cards with one key stand on two hosts. Each host has an issuer and a
//! witness; both issuers use one PostgreSQL and one public log, which a witness must have cosigned. HAProxy is in front
//! of the gateways. While clients ask, processes are killed at random and started again. At the end, every bundle
//! verifies.
//!
//! `PORTCULLIS_FLEET_MINUTES` is the length of the load, 10 by default. `PORTCULLIS_FLEET_FOLDER` is a folder in which
//! the bundles stay, for an audit.
#![cfg(test)]
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod fleet;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../gateway/process.rs"]
mod process;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../../../authority/tests/authority/stores.rs"]
mod stores;
#[path = "../../../gateway/tests/support/mod.rs"]
mod support;

use fleet::{CARDS, Fleet, HOSTS};
use portcullis_test_support::random::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Upstream, chat, text};

/// Clients that ask at the same time. Each has a key of its own, so HAProxy spreads them over the gateways.
const CLIENTS: usize = 8;
/// `cargo xtask long fleet` plants contradictions into the second session of the first four of these seats. It removes
/// the newest session of the fifth, and the first one of the last, and the audit then misses them.
const SECOND_SESSIONS: [usize; 6] = [0, 1, 2, 3, 4, 6];
/// What the model server answers: two admitted texts, and one with a refused sentence.
const ANSWERS: [&str; 3] = [
    "The northern line is closed. Use the southern line.",
    "Trains run again from six. Nothing else is known.",
    "Write to ana.silva@example.org about it. The desk is open until nine.",
];

/// Ends the clients when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn minutes() -> u64 {
    std::env::var("PORTCULLIS_FLEET_MINUTES").map_or(10, |text| text.parse().expect("a number of minutes"))
}

#[test]
#[ignore = "cargo xtask long fleet"]
fn every_bundle_of_a_fleet_under_load_verifies() {
    let folder = std::env::var_os("PORTCULLIS_FLEET_FOLDER").map(PathBuf::from);
    let kept = tempfile::tempdir().unwrap();
    let folder = folder.unwrap_or_else(|| kept.path().to_owned());
    let upstream = Upstream::new(std::sync::Arc::new(|_: &str, asked: &Value| {
        let question = asked["messages"][0]["content"].as_str().unwrap_or_default();
        let number: usize = question.bytes().filter(u8::is_ascii_digit).map(usize::from).sum();
        chat(ANSWERS[number % ANSWERS.len()].split_inclusive(' ').map(text), "stop")
    }));
    let Some(mut fleet) = Fleet::start(&folder, &upstream) else { return };
    let (over, answered) = (AtomicBool::new(false), Mutex::new(BTreeMap::<u16, u64>::new()));
    let mut random = Random::new(2211);
    let mut kills = BTreeMap::<&str, u32>::new();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (url, over, answered) = (fleet.url(), &over, &answered);
            scope.spawn(move || {
                for number in client.. {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    let said = [json!({"role": "user", "content": format!("News {number}?")})];
                    let body = json!({"model": "m", "user": number.to_string(), "messages": said});
                    let status = fleet::ask(&url, client, &body);
                    *answered.lock().unwrap().entry(status).or_default() += 1;
                }
            });
        }
        // If a kill fails, the clients end too.
        let _over = Over(&over);
        // These seats have several sessions.
        for seat in SECOND_SESSIONS {
            // The first session is to have records.
            std::thread::sleep(Duration::from_secs(5));
            fleet.kill_card(seat);
        }
        let end = Instant::now() + Duration::from_secs(60 * minutes());
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(4_000 + random.bits() % 4_000));
            let what = match random.below(8) {
                0..4 => fleet.kill_card(random.below(CARDS)),
                4 | 5 => fleet.kill_issuer(random.below(HOSTS)),
                6 => fleet.kill_witness(random.below(HOSTS)),
                _ => fleet.crash_database(),
            };
            *kills.entry(what).or_default() += 1;
        }
    });
    let answered = answered.into_inner().unwrap();
    println!("killed: {kills:?}; answers by status, 0 for a lost connection: {answered:?}");
    assert!(answered.get(&200).is_some_and(|count| *count > 20 * minutes()), "too few answers");
    fleet.end();
    let checked = fleet.check();
    println!("{checked:?}");
    assert_eq!(checked.contradicted, 0);
    assert!(checked.affirmed >= CARDS && checked.records > answered[&200], "the run is too small");
}
