//! Checks the lanes against each other: all logs must describe the same session.

use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::lane_state::LaneState;

/// Checks that every lane records the same facts about the session.
pub(crate) fn check(lanes: &[&LaneState]) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    // A log that breaks a rule is contradicted already, so its content is not compared.
    let Some((first, others)) = lanes.split_first().filter(|_| !lanes.iter().any(|lane| lane.broken)) else {
        return findings;
    };
    let mut require = |holds: bool, lane: usize, what: &str| {
        findings.require(holds, Code::LaneSession, || format!("lane {lane} and another one {what}"));
    };
    let opened = |lane: &LaneState| {
        lane.log.open().map(|open| {
            let digests = (open.policy_digest, open.package_digest, open.ticket_digest);
            (lane.log.identity(), digests, (open.heartbeat_records, open.heartbeat_ticks))
        })
    };
    for (number, lane) in (1..).zip(others) {
        require(opened(lane) == opened(first), number, "opened different sessions");
    }
    // Not every lane has an end to compare: a lane that closed before a fault has no ALARM, and a truncated log has no
    // end.
    let mut tables = None;
    let mut cause = None;
    for (number, lane) in lanes.iter().enumerate() {
        if let Some(close) = &lane.close {
            let found = *tables.get_or_insert(close.policy_digest);
            require(found == close.policy_digest, number, "closed over different tables");
        }
        let causes = [lane.cause, lane.close.as_ref().map(|close| close.cause.get())];
        for found in causes.into_iter().flatten().filter(|cause| *cause != 0) {
            let known = *cause.get_or_insert(found);
            require(known == found, number, "ended for different causes");
        }
    }
    findings.append(heartbeats(lanes));
    findings
}

/// Checks that every lane records the same nonces in the same order. Only the last nonce may be missing from a lane,
/// since the session can end before every lane has recorded it.
fn heartbeats(lanes: &[&LaneState]) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let Some(longest) = lanes.iter().map(|lane| &lane.heartbeats).max_by_key(|digest| digest.count) else {
        return findings;
    };
    for (number, lane) in lanes.iter().enumerate() {
        let heartbeats = &lane.heartbeats;
        let same = match longest.count - heartbeats.count {
            0 => heartbeats.all == longest.all,
            1 => heartbeats.all == longest.before,
            _ => false,
        };
        findings.require(same, Code::LaneHeartbeats, || format!("lane {number} has other heartbeats than another one"));
    }
    findings
}
