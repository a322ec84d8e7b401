//! A series: the sessions of a card, one bundle each, as a chain without gaps. Cards that share a key have seats, and
//! each seat has its own chain.

use super::code::{Code, SeriesCode};
use super::property::Status;
use super::report::{Assurance, ProfileUse, Report};
use super::trust::Signer;
use crate::format::ticket::SELF_ISSUER;
use portcullis_core::hex::Hex;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize)]
pub struct SeriesSession {
    pub name: String,
    pub key_id: Option<Hex<32>>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    pub status: Status,
    pub assurance: Option<Assurance>,
}

/// A finding about the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesFinding {
    pub code: SeriesCode,
    pub status: Status,
    /// Name of the bundle that the finding concerns.
    pub name: String,
    pub detail: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The worst status of the sessions and of the chain.
    pub status: Status,
    /// As for `verify`: 3 contradicted, else 10 simulated, else 5 warned, else 0.
    pub exit_code: u8,
    /// Sessions, by card and serial.
    pub sessions: Vec<SeriesSession>,
    pub findings: Vec<SeriesFinding>,
    /// The profiles of all sessions, with the number of streams of each.
    pub profiles: BTreeMap<Hex<32>, ProfileUse>,
    /// Number of streams of unknown profile.
    pub profile_unknown: u64,
    /// Approvers of the policies, with their number of sessions.
    pub approvals: Vec<ApprovalCount>,
}

/// An approver and the sessions whose policy they approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalCount {
    pub by: Signer,
    pub policy: Option<Hex<32>>,
    pub sessions: u64,
}

/// The session with which each chain has to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The card's first session.
    First,
    /// Any session: earlier ones are in bundles that are not given.
    Any,
}

/// Joins the reports of several bundles; each has a name.
#[must_use]
pub fn join(mut reports: Vec<(String, Report)>, start: Start) -> Series {
    reports.sort_by(|(a, x), (b, y)| place(x).cmp(&place(y)).then(a.cmp(b)));
    let mut findings = Vec::new();
    let mut last = BTreeMap::new();
    for (name, report) in &reports {
        let mut add = |code, detail: String| {
            findings.push(SeriesFinding { code, status: code.status(), name: name.clone(), detail })
        };
        let session = &report.session;
        let (Some(key), Some(serial)) = (session.key_id, session.ticket_serial) else {
            add(SeriesCode::Unplaced, "its card or ticket is not known: it has no place in a series".to_owned());
            continue;
        };
        // The operator numbers its own tickets freely, so such a session is not part of a chain.
        if session.issuer.as_ref().is_some_and(|issuer| issuer.claimed == SELF_ISSUER) {
            add(SeriesCode::SelfIssued, "the operator issued its ticket: it is in no chain".to_owned());
            continue;
        }
        let previous: Option<(u64, &Report)> = last.insert((key, session.seat), (serial, report));
        let first = if start == Start::First { 1 } else { serial };
        let expected = previous.map_or(first, |(serial, _)| serial.saturating_add(1));
        if previous.is_some_and(|(last, _)| last == serial) {
            add(SeriesCode::SerialTwice, format!("serial {serial} is there twice: one ticket, two histories"));
        } else if serial != expected {
            add(SeriesCode::SerialMissing, format!("sessions {expected} to {} are missing", serial - 1));
        } else if let Some((_, previous)) = previous {
            check_close(previous, report, &mut add);
        }
    }
    for (serial, report) in last.values() {
        if !is_closed(report) {
            let name = reports.iter().find(|(_, r)| std::ptr::eq(r, *report)).map(|(name, _)| name.clone());
            findings.push(SeriesFinding {
                code: SeriesCode::Open,
                status: SeriesCode::Open.status(),
                name: name.unwrap_or_default(),
                detail: format!("session {serial} is the card's last and is not closed"),
            });
        }
    }
    conclude(&reports, findings)
}

/// Compares the previous close in a ticket with the last checkpoint in the previous bundle.
fn check_close(previous: &Report, report: &Report, add: &mut impl FnMut(SeriesCode, String)) {
    let named = report.session.previous_close.map(|digest| digest.0).filter(|digest| *digest != [0; 32]);
    let shown = previous.session.last_checkpoint.map(|digest| digest.0);
    if previous.properties.complete.reasons.iter().any(|reason| reason.code == Code::UnknownVersion) {
        let what = "the session before it is of a version that this program does not know: how it ended cannot be read";
        return add(SeriesCode::UnknownVersion, what.to_owned());
    }
    match (named, is_closed(previous)) {
        (None, true) => {
            add(
                SeriesCode::PreviousClose,
                "its ticket says that the session before was abandoned, but that was closed".to_owned(),
            );
        }
        (None, false) => add(SeriesCode::Abandoned, "the session before it was abandoned".to_owned()),
        (named, _) if named == shown => {}
        _ => add(
            SeriesCode::PreviousClose,
            "its ticket names another end of the session before than that bundle shows".to_owned(),
        ),
    }
}

fn is_closed(report: &Report) -> bool {
    report.properties.complete.reasons.iter().all(|reason| reason.code != Code::NotClosed)
}

const fn place(report: &Report) -> (Option<Hex<32>>, Option<u16>, Option<u64>) {
    (report.session.key_id, report.session.seat, report.session.ticket_serial)
}

fn conclude(reports: &[(String, Report)], findings: Vec<SeriesFinding>) -> Series {
    let bundles = reports.iter().map(|(_, report)| report.status);
    // An empty series shows nothing.
    let least = if reports.is_empty() { Status::Warned } else { Status::Affirmed };
    let status = bundles.chain(findings.iter().map(|finding| finding.status)).fold(least, Status::max);
    let exit_code = match status {
        Status::Contradicted => 3,
        _ if reports.iter().any(|(_, report)| report.simulated) => 10,
        Status::Warned => 5,
        Status::Affirmed => 0,
    };
    let session = |(name, report): &(String, Report)| SeriesSession {
        name: name.clone(),
        key_id: report.session.key_id,
        seat: report.session.seat,
        serial: report.session.ticket_serial,
        status: report.status,
        assurance: report.assurance,
    };
    let sessions = reports.iter().map(session).collect();
    let profile_unknown = reports.iter().map(|(_, report)| report.session.profile_unknown).sum();
    Series {
        status,
        exit_code,
        sessions,
        findings,
        profiles: profiles(reports),
        profile_unknown,
        approvals: approvals(reports),
    }
}

fn profiles(reports: &[(String, Report)]) -> BTreeMap<Hex<32>, ProfileUse> {
    let mut all: BTreeMap<Hex<32>, ProfileUse> = BTreeMap::new();
    for (digest, used) in reports.iter().flat_map(|(_, report)| &report.session.profiles) {
        all.entry(*digest).and_modify(|sum| sum.streams += used.streams).or_insert_with(|| used.clone());
    }
    all
}

fn approvals(reports: &[(String, Report)]) -> Vec<ApprovalCount> {
    let mut all: BTreeMap<(&Signer, Option<Hex<32>>), u64> = BTreeMap::new();
    for (_, Report { session, .. }) in reports {
        session.approvals.iter().for_each(|by| *all.entry((by, session.policy_digest)).or_default() += 1);
    }
    all.into_iter().map(|((by, policy), sessions)| ApprovalCount { by: by.clone(), policy, sessions }).collect()
}
