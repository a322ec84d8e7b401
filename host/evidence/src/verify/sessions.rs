//! Rules over many sessions: what the times, the cards' keys and the notes of the witnesses say together.
//! `verify-series`, the statement about a period and the audit of a fleet share them.

use super::code::SeriesCode;
use crate::format::note::{CLOCK_SKEW, LogView};
use crate::format::ticket::Chain;
use crate::format::tree::Hash;
use std::collections::{BTreeMap, BTreeSet};

/// What the rules compare of a session that has a place in a chain.
#[derive(Clone, Debug)]
pub struct SessionFacts<'a> {
    pub name: &'a str,
    pub chain: Chain,
    pub serial: u64,
    /// Digests of the ticket and of the last checkpoint: bundles with equal ones show one session.
    pub history: (Option<Hash>, Option<Hash>),
    /// Whether the key is that of one card, and not of all cards of a design.
    pub is_own_key: bool,
    /// Unix seconds of the first and the last checkpoint that a witness saw.
    pub witnessed: Option<(u64, u64)>,
    /// Notes about the session, in their order.
    pub notes: &'a [LogView],
    /// Whether this is a note that was given by itself, and not a bundle.
    pub is_note: bool,
}

/// A contradiction between sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Number of the session that the finding names.
    pub session: usize,
    pub code: SeriesCode,
    pub detail: String,
}

type Numbered<'a> = (usize, &'a SessionFacts<'a>);

/// Compares the sessions with each other. The cost is linear in their number, apart from sorting.
#[must_use]
pub fn conflicts(sessions: &[SessionFacts<'_>]) -> Vec<Conflict> {
    let mut found = forks(sessions);
    let forked: BTreeSet<usize> = found.iter().map(|conflict| conflict.session).collect();
    let placed = placed(sessions);
    for chain in placed.chunk_by(|(_, a), (_, b)| a.chain == b.chain) {
        found.extend(order(chain).into_iter().filter(|conflict| !forked.contains(&conflict.session)));
        found.extend(times(chain));
    }
    found.extend(seats(&placed));
    found.sort_by_key(|conflict| (conflict.session, conflict.code));
    found
}

/// The sessions by chain and serial, each once. A serial with two histories is left out: other findings report it.
fn placed<'a>(sessions: &'a [SessionFacts<'a>]) -> Vec<Numbered<'a>> {
    let mut all: Vec<Numbered<'_>> = sessions.iter().enumerate().filter(|(_, session)| !session.is_note).collect();
    all.sort_by_key(|(at, session)| (session.chain, session.serial, *at));
    let of_serial = all.chunk_by(|(_, a), (_, b)| (a.chain, a.serial) == (b.chain, b.serial));
    let single = |same: &[Numbered<'a>]| {
        let first = same.first()?;
        same.iter().all(|(_, other)| other.history == first.1.history).then_some(*first)
    };
    of_serial.filter_map(single).collect()
}

/// A witness keeps one log of a chain, which only grows: no range of its entries has two hashes.
fn forks(sessions: &[SessionFacts<'_>]) -> Vec<Conflict> {
    // The smallest serial first, so that a later session is named.
    let mut all: Vec<Numbered<'_>> = sessions.iter().enumerate().collect();
    all.sort_by_key(|(at, session)| (session.chain, session.serial, !session.is_note, *at));
    let mut found = Vec::new();
    for chain in all.chunk_by(|(_, a), (_, b)| a.chain == b.chain) {
        let mut known: BTreeMap<(&str, u64, u64), (Hash, &str)> = BTreeMap::new();
        for (at, session) in chain {
            let mut conflict = None;
            for note in session.notes.iter().filter(|note| note.chain() == session.chain) {
                for (range, hash) in note.ranges() {
                    let (before, name) =
                        *known.entry((&note.witness, range.start, range.end)).or_insert((hash, session.name));
                    if before != hash {
                        let what = format!(
                            "the witness `{}` signed two histories of its log: entries {} to {} are others in a note \
                             of `{name}`",
                            witness_name(&note.witness),
                            range.start,
                            range.end.saturating_sub(1)
                        );
                        conflict.get_or_insert(what);
                    }
                }
            }
            found.extend(conflict.map(|detail| Conflict { session: *at, code: SeriesCode::WitnessFork, detail }));
        }
    }
    found
}

/// The name in a verifier key.
fn witness_name(key: &str) -> &str {
    key.split('+').next().unwrap_or(key)
}

/// In the log of one witness, a session's entries are behind those of the sessions before it.
fn order(chain: &[Numbered<'_>]) -> Vec<Conflict> {
    let mut last: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, session) in chain {
        let mut conflict = None;
        for note in session.notes.iter().filter(|note| note.chain() == session.chain) {
            let (index, serial) = last.insert(&note.witness, (note.index, session.serial)).unwrap_or_default();
            if serial != 0 && serial != session.serial && note.index <= index {
                let what = format!(
                    "its note is entry {} of the log of the witness `{}`, and session {serial} has entry {index}",
                    note.index,
                    witness_name(&note.witness)
                );
                conflict.get_or_insert(what);
            }
        }
        found.extend(conflict.map(|detail| Conflict { session: *at, code: SeriesCode::WitnessOrder, detail }));
    }
    found
}

/// A seat is one card, and a card has one session at a time. Witnesses can have different clocks; one witness refuses
/// such a session itself.
fn times(chain: &[Numbered<'_>]) -> Vec<Conflict> {
    let mut before: Option<(u64, (u64, u64))> = None;
    let mut found = Vec::new();
    for (at, session) in chain {
        let Some((began, ended)) = session.witnessed else { continue };
        if let Some((serial, (first, last))) = before {
            let conflict = if ended.saturating_add(CLOCK_SKEW) < first {
                let what = format!("a witness saw it end before session {serial} began");
                Some((SeriesCode::TimesReversed, what))
            } else if began.saturating_add(CLOCK_SKEW) < last {
                let what = format!("a witness saw it begin while session {serial} of this seat ran");
                Some((SeriesCode::SeatOverlap, what))
            } else {
                None
            };
            let is_earlier = conflict.is_none() && ended < last;
            found.extend(conflict.map(|(code, detail)| Conflict { session: *at, code, detail }));
            if is_earlier {
                continue;
            }
        }
        before = Some((session.serial, (began, ended)));
    }
    found
}

/// When a session of a card's own key ran.
#[derive(Clone, Copy)]
struct Run {
    seat: u16,
    serial: u64,
    began: u64,
    ended: u64,
}

/// A key of one card has one session at a time, whatever seats its tickets name. The notes of one witness have one
/// clock.
fn seats(placed: &[Numbered<'_>]) -> Vec<Conflict> {
    let mut found = Vec::new();
    for of_key in placed.chunk_by(|(_, a), (_, b)| a.chain.key == b.chain.key) {
        let mut runs: Vec<_> = of_key
            .iter()
            .filter(|(_, session)| session.is_own_key)
            .filter_map(|(at, session)| {
                let (began, ended) = session.witnessed?;
                let run = Run { seat: session.chain.seat, serial: session.serial, began, ended };
                Some((run, session.notes.first().map(|note| &*note.witness), *at))
            })
            .collect();
        runs.sort_by_key(|(run, _, at)| (run.began, run.ended, *at));
        // For each witness, the two runs of different seats that ended last.
        let mut latest: BTreeMap<Option<&str>, [Option<Run>; 2]> = BTreeMap::new();
        for (run, witness, at) in runs {
            let mut others = latest.iter().flat_map(|(other, runs)| {
                let skew = if witness.is_some() && *other == witness { 0 } else { CLOCK_SKEW };
                runs.iter().flatten().map(move |other| (skew, other))
            });
            let overlaps = |(skew, other): &(u64, &Run)| {
                other.seat != run.seat
                    && run.began.saturating_add(*skew) < other.ended
                    && other.began.saturating_add(*skew) < run.ended
            };
            if let Some((_, other)) = others.find(overlaps) {
                let detail = format!(
                    "a witness saw it run while session {} of seat {} ran under the same key, which is that of one card",
                    other.serial, other.seat
                );
                found.push(Conflict { session: at, code: SeriesCode::KeyTwice, detail });
            }
            let [first, second] = latest.entry(witness).or_default();
            let is_later = |than: &Option<Run>| than.is_none_or(|than| run.ended > than.ended);
            if first.is_some_and(|first| first.seat == run.seat) {
                if is_later(first) {
                    *first = Some(run);
                }
            } else if is_later(first) {
                *second = first.replace(run);
            } else if is_later(second) {
                *second = Some(run);
            }
        }
    }
    found
}
