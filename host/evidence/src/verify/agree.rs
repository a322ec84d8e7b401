//! The lanes of one session: each log is complete by itself, and all of them tell of the same session.

use super::lane::Lane;
use super::{Findings, Property::Complete};

/// What every lane records of the session is the same in all of them.
pub(super) fn lanes(lanes: &[Lane<'_>], findings: &mut Findings) {
    // A log that breaks a rule is contradicted already, and what it says means nothing.
    let Some((first, others)) = lanes.split_first().filter(|_| !lanes.iter().any(Lane::is_broken)) else { return };
    let mut require = |holds: bool, lane: usize, what: &str| {
        findings.require(holds, Complete, "lane-session", format!("lane {lane} and another one {what}"));
    };
    let opened = |lane: &Lane<'_>| {
        lane.rules().open().map(|open| {
            let digests = (open.policy_digest, open.package_digest, open.ticket_digest);
            (lane.rules().identity(), digests, (open.heartbeat_records, open.heartbeat_ticks))
        })
    };
    for (number, lane) in (1..).zip(others) {
        require(opened(lane) == opened(first), number, "opened different sessions");
    }
    // A lane that was closed before a fault has none on record; a cut log has no end. What is there is alike.
    let mut tables = None;
    let mut cause = None;
    for (number, lane) in lanes.iter().enumerate() {
        if let Some(close) = lane.close() {
            let found = *tables.get_or_insert(close.policy_digest);
            require(found == close.policy_digest, number, "closed over different tables");
        }
        for found in
            [lane.cause(), lane.close().map(|close| close.cause.get())].into_iter().flatten().filter(|c| *c != 0)
        {
            let known = *cause.get_or_insert(found);
            require(known == found, number, "ended for different causes");
        }
    }
    heartbeats(lanes, findings);
}

/// A nonce that is presented is recorded once in each lane, and the next one after that: only the last may be missing where the end cut it.
fn heartbeats(lanes: &[Lane<'_>], findings: &mut Findings) {
    let Some(longest) = lanes.iter().map(Lane::beats).max_by_key(|beats| beats.count) else { return };
    for (number, lane) in lanes.iter().enumerate() {
        let beats = lane.beats();
        let same = match longest.count - beats.count {
            0 => beats.all == longest.all,
            1 => beats.all == longest.before,
            _ => false,
        };
        findings.require(
            same,
            Complete,
            "lane-heartbeats",
            format!("lane {number} has other heartbeats than another one"),
        );
    }
}
