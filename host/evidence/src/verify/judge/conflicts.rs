//! What the times, the card's key and the notes of the witnesses say together about the sessions of one card.

use super::facts::{NoteFacts, SessionFacts};
use super::fault::{ChainFault, ChainFinding};
use crate::format::note::{CLOCK_SKEW, LogView};
use crate::format::ticket::ChainId;
use crate::format::tree::Hash;
use crate::verify::code::SeriesCode;
use portcullis_core::hex::HexBytes;
use std::collections::{BTreeMap, BTreeSet};

/// What is compared of a session in a chain, or of a note that was given by itself.
#[derive(Clone, Debug)]
struct ComparedSession<'a> {
    name: &'a str,
    chain: ChainId,
    serial: u64,
    /// Digests of the ticket and of the last checkpoint: bundles with equal ones show one session.
    history: (Option<HexBytes<32>>, Option<HexBytes<32>>),
    is_own_key: bool,
    witnessed: Option<(u64, u64)>,
    notes: &'a [LogView],
    is_note: bool,
}

/// A contradiction, and the number of the session or note that the finding names.
struct SeriesConflict {
    session: usize,
    code: SeriesCode,
    detail: String,
}

type Numbered<'a> = (usize, &'a ComparedSession<'a>);

/// Compares the sessions and notes of one card, each in the order of chains and serials. The cost is linear in their
/// number, apart from sorting.
pub(super) fn conflicts(sessions: &[SessionFacts], notes: &[NoteFacts]) -> Vec<ChainFinding> {
    let of_sessions = sessions.iter().filter_map(|session| {
        let (chain, serial) = session.link()?;
        Some(ComparedSession {
            name: &session.name,
            chain,
            serial,
            history: (session.ticket, session.last_checkpoint),
            is_own_key: session.is_own_key,
            witnessed: session.witnessed,
            notes: &session.notes,
            is_note: false,
        })
    });
    let of_notes = notes.iter().filter_map(|note| {
        let seen = note.seen.as_ref()?;
        Some(ComparedSession {
            name: &note.name,
            chain: seen.view.chain(),
            serial: note.serial?,
            history: (None, None),
            is_own_key: false,
            witnessed: None,
            notes: std::slice::from_ref(&seen.view),
            is_note: true,
        })
    });
    let all: Vec<_> = of_sessions.chain(of_notes).collect();
    let mut found = forks(&all);
    let forked: BTreeSet<usize> = found.iter().map(|conflict| conflict.session).collect();
    let placed = placed(&all);
    for chain in placed.chunk_by(|(_, a), (_, b)| a.chain == b.chain) {
        found.extend(order(chain).into_iter().filter(|conflict| !forked.contains(&conflict.session)));
        found.extend(times(chain));
    }
    found.extend(seats(&placed));
    found.sort_by_key(|conflict| (conflict.session, conflict.code));
    let found = found.into_iter().filter_map(|SeriesConflict { session, code, detail }| {
        let session = all.get(session)?;
        Some(ChainFinding {
            fault: ChainFault::Conflict(code, detail),
            key: Some(HexBytes(session.chain.key)),
            seat: Some(session.chain.seat),
            serial: Some(session.serial),
            name: Some(session.name.to_owned()),
        })
    });
    found.collect()
}

/// The sessions by chain and serial, each once. A serial with two histories is left out: other findings report it.
fn placed<'a>(sessions: &'a [ComparedSession<'a>]) -> Vec<Numbered<'a>> {
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
fn forks(sessions: &[ComparedSession<'_>]) -> Vec<SeriesConflict> {
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
            found.extend(conflict.map(|detail| SeriesConflict { session: *at, code: SeriesCode::WitnessFork, detail }));
        }
    }
    found
}

/// The name in a verifier key.
fn witness_name(key: &str) -> &str {
    key.split('+').next().unwrap_or(key)
}

/// In the log of one witness, a session's entries are behind those of the sessions before it.
fn order(chain: &[Numbered<'_>]) -> Vec<SeriesConflict> {
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
        found.extend(conflict.map(|detail| SeriesConflict { session: *at, code: SeriesCode::WitnessOrder, detail }));
    }
    found
}

/// A seat is one card, and a card has one session at a time. Witnesses can have different clocks; one witness refuses
/// such a session itself.
fn times(chain: &[Numbered<'_>]) -> Vec<SeriesConflict> {
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
            found.extend(conflict.map(|(code, detail)| SeriesConflict { session: *at, code, detail }));
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
struct SessionInterval {
    seat: u16,
    serial: u64,
    began: u64,
    ended: u64,
}

/// A key of one card has one session at a time, whatever seats its tickets name. The notes of one witness have one
/// clock.
fn seats(placed: &[Numbered<'_>]) -> Vec<SeriesConflict> {
    let mut found = Vec::new();
    for of_key in placed.chunk_by(|(_, a), (_, b)| a.chain.key == b.chain.key) {
        let mut runs: Vec<_> = of_key
            .iter()
            .filter(|(_, session)| session.is_own_key)
            .filter_map(|(at, session)| {
                let (began, ended) = session.witnessed?;
                let run = SessionInterval { seat: session.chain.seat, serial: session.serial, began, ended };
                Some((run, session.notes.first().map(|note| &*note.witness), *at))
            })
            .collect();
        runs.sort_by_key(|(run, _, at)| (run.began, run.ended, *at));
        // For each witness, the two runs of different seats that ended last.
        let mut latest: BTreeMap<Option<&str>, [Option<SessionInterval>; 2]> = BTreeMap::new();
        for (run, witness, at) in runs {
            let mut others = latest.iter().flat_map(|(other, runs)| {
                let skew = if witness.is_some() && *other == witness { 0 } else { CLOCK_SKEW };
                runs.iter().flatten().map(move |other| (skew, other))
            });
            let overlaps = |(skew, other): &(u64, &SessionInterval)| {
                other.seat != run.seat
                    && run.began.saturating_add(*skew) < other.ended
                    && other.began.saturating_add(*skew) < run.ended
            };
            if let Some((_, other)) = others.find(overlaps) {
                let detail = format!(
                    "a witness saw it run while session {} of seat {} ran under the same key, which is that of one card",
                    other.serial, other.seat
                );
                found.push(SeriesConflict { session: at, code: SeriesCode::KeyTwice, detail });
            }
            let [first, second] = latest.entry(witness).or_default();
            let is_later = |than: &Option<SessionInterval>| than.is_none_or(|than| run.ended > than.ended);
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
