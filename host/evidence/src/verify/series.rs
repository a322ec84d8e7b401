//! A series: the sessions of a card, one bundle each, as a chain without gaps. Cards that share a key have seats, and
//! each seat has its own chain.
//!
//! Bundles alone show a gap before a session. They do not show that later sessions are missing. The issuer's public log
//! shows which sessions there are.

use super::code::{Code, SeriesCode};
use super::property::Status;
use super::report::{Assurance, ProfileUse, Report};
use super::sessions::{SessionFacts, conflicts};
use super::trust::{Signer, Trust};
use crate::format::note::CLOCK_SKEW;
use crate::format::public_log::{CosignedHead, LogPolicy, LoggedSession, PublicLog, ReadError, SessionState};
use crate::format::ticket::{self, SELF_ISSUER};
use crate::format::tree::Hash;
use portcullis_core::hex::Hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

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
    /// Name of the bundle that the finding concerns; absent if it concerns the public log itself.
    pub name: Option<String>,
    /// Serial of a ticket of which no bundle is given, behind the last bundle of its chain.
    pub ticket: Option<u64>,
    pub detail: String,
}

/// The public log of the issuer, as far as it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogUse {
    /// Name of the log.
    pub name: String,
    pub entries: u64,
    /// Root of the tree over the entries.
    pub root: Hex<32>,
    /// The witnesses that cosigned, in the order of the policy.
    pub witnesses: Vec<String>,
    /// The latest Unix second from which on a quorum had seen the log; absent if the policy demands no witness.
    pub seen: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The worst status of the sessions and of the chain.
    pub status: Status,
    /// As for `verify`: 3 contradicted, else 10 simulated or not enforced, else 5 warned, else 0.
    pub exit_code: u8,
    /// Sessions, by card and serial.
    pub sessions: Vec<SeriesSession>,
    pub findings: Vec<SeriesFinding>,
    /// The public log that the sessions were compared with.
    pub public_log: Option<LogUse>,
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

/// What is given of the public logs that the trust folder names.
#[derive(Debug, Default)]
pub struct GivenLog {
    /// The log, or why it cannot be used; `None` if none was given.
    read: Option<Result<PublicLog, ReadError>>,
    /// The logs of the policy that were not given: the digest of each one's key, and its name.
    missing: Vec<(Hash, String)>,
}

impl GivenLog {
    /// A log that was read under `policy`, or none.
    #[must_use]
    pub fn new(read: Option<Result<PublicLog, ReadError>>, policy: &LogPolicy) -> Self {
        let given = match &read {
            // Which log it is cannot be known.
            Some(Err(_)) => return Self { read, missing: Vec::new() },
            Some(Ok(log)) => Some(log.head.key),
            None => None,
        };
        let keys =
            policy.logs().iter().map(|log| (Sha256::digest(log.key.public_key()).into(), log.key.name().to_owned()));
        let missing = keys.filter(|(key, _)| Some(*key) != given).collect();
        Self { read, missing }
    }

    /// The log, if it can be used.
    #[must_use]
    pub fn log(&self) -> Option<&PublicLog> {
        self.read.as_ref()?.as_ref().ok()
    }

    /// What is wrong with the log, and which logs are missing for these sessions: each one's chain, and SHA-256 of its
    /// issuer's key. A session whose chain is in the log is compared with it, because an issuer's key can change.
    #[must_use]
    pub fn findings(&self, sessions: impl Iterator<Item = (ticket::Chain, Hash)> + Clone) -> Vec<(SeriesCode, String)> {
        let unusable = self.read.as_ref().and_then(|read| read.as_ref().err());
        let unusable = unusable.map(|error| (SeriesCode::PublicLog, error.to_string()));
        let missing = self.missing.iter().filter_map(|(key, name)| {
            let is_compared = |chain: &ticket::Chain| self.log().is_some_and(|log| log.sessions(chain).is_some());
            let of_issuer = sessions.clone().filter(|(chain, issuer)| issuer == key && !is_compared(chain));
            let sessions = of_issuer.count();
            let what = "of the trust folder's policy was not given, and its issuer signed the tickets of";
            (sessions > 0).then(|| (SeriesCode::LogMissing, format!("the log `{name}` {what} {sessions} sessions")))
        });
        unusable.into_iter().chain(missing).collect()
    }
}

/// Why a public log was not read. This says nothing about the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("a public log needs `log-policy.txt` in the trust folder")]
    NoPolicy,
    #[error("the public log: {0}")]
    Read(ReadError),
}

/// Reads the public log in `folder` under the trust folder's policy. `None` if there is neither a log nor a policy.
pub fn read_log(folder: Option<&Path>, trust: &Trust) -> Result<Option<GivenLog>, LogError> {
    let Some(folder) = folder else {
        return Ok(trust.log_policy.as_ref().map(|policy| GivenLog::new(None, policy)));
    };
    let policy = trust.log_policy.as_ref().ok_or(LogError::NoPolicy)?;
    match PublicLog::read(folder, policy) {
        Err(error) if error.is_operational() => Err(LogError::Read(error)),
        read => Ok(Some(GivenLog::new(Some(read), policy))),
    }
}

/// Joins the reports of several bundles; each has a name. With the issuer's public log, the sessions are also compared
/// with those in the log.
#[must_use]
pub fn join(mut reports: Vec<(String, Report)>, start: Start, log: Option<&GivenLog>) -> Series {
    reports.sort_by(|(a, x), (b, y)| place(x).cmp(&place(y)).then(a.cmp(b)));
    let mut findings = Vec::new();
    let mut last = BTreeMap::new();
    let issued = reports.iter().filter_map(|(_, Report { session, .. })| {
        let chain = ticket::Chain { key: session.key_id?.0, seat: session.seat.unwrap_or_default() };
        Some((chain, session.issuer.as_ref()?.key?.0))
    });
    for (code, detail) in log.map(|log| log.findings(issued)).unwrap_or_default() {
        findings.push(SeriesFinding::new(code, None, detail));
    }
    let log = log.and_then(GivenLog::log);
    for (name, report) in &reports {
        let mut add = |code, detail: String| findings.push(SeriesFinding::new(code, Some(name), detail));
        let session = &report.session;
        let (Some(key), Some(serial)) = (session.key_id, session.ticket_serial) else {
            add(SeriesCode::Unplaced, "its card or ticket is not known: it has no place in a series".to_owned());
            continue;
        };
        if is_self_issued(report) {
            add(SeriesCode::SelfIssued, "the operator issued its ticket: it is in no chain".to_owned());
            continue;
        }
        let chain = ticket::Chain { key: key.0, seat: session.seat.unwrap_or_default() };
        let logged = Logged::of(log, chain, report);
        let previous: Option<(u64, &Report)> = last.insert(chain, (serial, report));
        if let Some((_, same)) = previous.filter(|(last, _)| *last == serial) {
            if history(same) != history(report) {
                add(SeriesCode::SerialTwice, format!("serial {serial} is there twice: one ticket, two histories"));
            }
            continue;
        }
        logged.check(serial, report, &mut add);
        logged.check_previous(serial, report, &mut add);
        let first = if start == Start::First { 1 } else { serial };
        let expected = previous.map_or(first, |(serial, _)| serial.saturating_add(1));
        if serial > expected {
            logged.check_gap(expected, serial, &mut add);
        } else if let Some((_, previous)) = previous {
            check_close(previous, report, &mut add);
        }
    }
    for (chain, (serial, report)) in &last {
        let name = reports.iter().find(|(_, r)| std::ptr::eq(r, *report)).map(|(name, _)| name.as_str());
        if !is_closed(report) {
            let what = format!("session {serial} is the card's last and is not closed");
            findings.push(SeriesFinding::new(SeriesCode::Open, name, what));
        }
        for (serial, code, detail) in Logged::of(log, *chain, report).after(*serial) {
            // From any session on, later ones need not be given either.
            if start == Start::First || code.status() == Status::Warned {
                findings.push(SeriesFinding { ticket: Some(serial), ..SeriesFinding::new(code, name, detail) });
            }
        }
    }
    findings.extend(doubled(&reports));
    findings.extend(between(&reports));
    let mut series = conclude(&reports, findings);
    series.public_log = log.map(LogUse::of);
    series
}

impl SeriesFinding {
    fn new(code: SeriesCode, name: Option<&str>, detail: String) -> Self {
        Self { code, status: code.status(), name: name.map(str::to_owned), ticket: None, detail }
    }
}

impl Series {
    /// This series beside bundles that are not finished, by their names.
    #[must_use]
    pub fn with_unfinished(mut self, names: impl IntoIterator<Item = String>) -> Self {
        let code = SeriesCode::Unfinished;
        for name in names {
            self.add(SeriesFinding::new(code, Some(&name), "its session still runs, or it died".to_owned()));
        }
        self
    }

    /// This series beside files that are not bundles: their names, and what is wrong with them.
    #[must_use]
    pub fn with_broken(mut self, broken: impl IntoIterator<Item = (String, String)>) -> Self {
        for (name, what) in broken {
            self.add(SeriesFinding::new(SeriesCode::NoBundle, Some(&name), what));
        }
        self
    }

    fn add(&mut self, finding: SeriesFinding) {
        self.status = self.status.max(finding.status);
        let is_simulated = self.exit_code == Status::Affirmed.exit_code(true);
        self.exit_code = self.status.exit_code(is_simulated);
        self.findings.push(finding);
    }
}

impl LogUse {
    /// What is said of a log that was used.
    #[must_use]
    pub fn of(log: &PublicLog) -> Self {
        let CosignedHead { head, seen, witnesses, .. } = &log.head;
        Self {
            name: head.origin.clone(),
            entries: head.size,
            root: Hex(head.root),
            witnesses: witnesses.clone(),
            seen: *seen,
        }
    }
}

/// The sessions of a chain in the public log.
struct Logged<'a> {
    /// The log, if it has sessions of the chain, or is that of the session's issuer. Logs of others say nothing.
    log: Option<&'a PublicLog>,
    sessions: Option<&'a BTreeMap<u64, LoggedSession>>,
}

impl<'a> Logged<'a> {
    fn of(log: Option<&'a PublicLog>, chain: ticket::Chain, report: &Report) -> Self {
        let sessions = log.and_then(|log| log.sessions(&chain));
        let issuer = report.session.issuer.as_ref().and_then(|issuer| issuer.key);
        Self { log: log.filter(|log| sessions.is_some() || issuer == Some(Hex(log.head.key))), sessions }
    }

    /// Compares a session with the log.
    fn check(&self, serial: u64, report: &Report, add: &mut impl FnMut(SeriesCode, String)) {
        let Some(log) = self.log else { return };
        let Some(session) = self.sessions.and_then(|sessions| sessions.get(&serial)) else {
            let last = self.sessions.and_then(BTreeMap::last_key_value).map_or(0, |(last, _)| *last);
            let began = report.session.witnessed.map(|(first, _)| first);
            return match log.head.seen.zip(began) {
                Some((seen, began)) if seen > began.saturating_add(CLOCK_SKEW) => {
                    let what = "witnesses saw the public log after this session began, and its ticket was not in it";
                    add(SeriesCode::LogTicket, what.to_owned());
                }
                _ => add(SeriesCode::LogBehind, format!("the public log has sessions up to {last} of its card")),
            };
        };
        let is_known = report.properties.complete.reasons.iter().all(|reason| reason.code != Code::UnknownVersion);
        if report.session.ticket_digest != Some(Hex(session.ticket)) {
            add(SeriesCode::LogTicket, "the public log has another ticket of this serial".to_owned());
        } else if session.state == SessionState::Closed && !is_closed(report) {
            add(SeriesCode::LogClosed, "the public log says that the session was closed".to_owned());
        } else if session.state == SessionState::Abandoned && is_known && is_closed(report) {
            let what = format!("the public log says that session {serial} was abandoned, and its bundle is closed");
            add(SeriesCode::LogAbandoned, what);
        }
    }

    /// Compares the previous close in a ticket with the log.
    fn check_previous(&self, serial: u64, report: &Report, add: &mut impl FnMut(SeriesCode, String)) {
        let before = self.sessions.and_then(|sessions| sessions.get(&serial.checked_sub(1)?));
        let is_abandoned = before.is_some_and(|session| session.state == SessionState::Abandoned);
        if is_abandoned && named_close(report).is_some() {
            let what = "its ticket names an end of the session before, and the public log says that it was abandoned";
            add(SeriesCode::PreviousClose, what.to_owned());
        }
    }

    /// No session from `first` on, before `end`, is given. The issuer can have given up tickets before their sessions
    /// were reported; the other sessions are missing.
    fn check_gap(&self, first: u64, end: u64, add: &mut impl FnMut(SeriesCode, String)) {
        let between = self.sessions.into_iter().flat_map(|sessions| sessions.range(first..end));
        let is_given_up = |session: &LoggedSession| session.state == SessionState::Abandoned && !session.is_opened;
        let given_up = between.filter(|(_, session)| is_given_up(session)).count() as u64;
        let last = end.saturating_sub(1);
        if given_up > 0 {
            let what = "the public log says that the issuer gave up tickets before a session was reported";
            add(SeriesCode::Abandoned, format!("{what}: {given_up} of serials {first} to {last}"));
        }
        let missing = end.saturating_sub(first).saturating_sub(given_up);
        if missing > 0 {
            let which = if given_up == 0 { "sessions".to_owned() } else { format!("{missing} others of serials") };
            add(SeriesCode::SerialMissing, format!("{which} {first} to {last} are missing"));
        }
    }

    /// What the log says of each ticket behind this serial, of which no bundle is given.
    fn after(&self, serial: u64) -> impl Iterator<Item = (u64, SeriesCode, String)> + use<'a> {
        let after = (Bound::Excluded(serial), Bound::Unbounded);
        let sessions = self.sessions.into_iter().flat_map(move |sessions| sessions.range(after));
        sessions.map(|(serial, session)| {
            let (code, what) = match session.state {
                SessionState::Issued => (SeriesCode::Pending, UNREPORTED),
                SessionState::Abandoned if !session.is_opened => (SeriesCode::Abandoned, GIVEN_UP),
                SessionState::Opened => (SeriesCode::Open, "is not given; it is open in the public log"),
                SessionState::Closed | SessionState::Abandoned => {
                    (SeriesCode::SerialMissing, "is missing: the public log says that it was opened")
                }
            };
            (*serial, code, format!("session {serial} {what}"))
        })
    }
}

/// The state of a ticket that was issued, and nothing else.
const UNREPORTED: &str = "is not given: the public log says that its ticket was issued, and that no session was \
                          reported";
/// The state of a ticket whose session was not reported before it was given up.
const GIVEN_UP: &str = "is not given: the public log says that the issuer gave up its ticket before a session was \
                        reported";

/// Ticket and last checkpoint: bundles with equal ones show one session.
fn history(report: &Report) -> (Option<Hash>, Option<Hash>) {
    let digest = |digest: Option<Hex<32>>| digest.map(|digest| digest.0);
    (digest(report.session.ticket_digest), digest(report.session.last_checkpoint))
}

/// The operator numbers its own tickets freely, so such a session is not part of a chain.
fn is_self_issued(report: &Report) -> bool {
    report.session.issuer.as_ref().is_some_and(|issuer| issuer.claimed == SELF_ISSUER)
}

/// Copies of one session would count twice.
fn doubled(reports: &[(String, Report)]) -> Vec<SeriesFinding> {
    let (mut seen, mut findings) = (BTreeMap::new(), Vec::new());
    for (name, report) in reports {
        let history = history(report);
        if history.1.is_some()
            && let Some(first) = seen.insert(history, name)
        {
            let what = format!("`{first}` is the same session");
            findings.push(SeriesFinding::new(SeriesCode::Doubled, Some(name), what));
        }
    }
    findings
}

/// What the times, keys and notes of the sessions say together.
fn between(reports: &[(String, Report)]) -> Vec<SeriesFinding> {
    let facts = reports.iter().filter(|(_, report)| !is_self_issued(report)).filter_map(|(name, report)| {
        let session = &report.session;
        Some(SessionFacts {
            name,
            chain: ticket::Chain { key: session.key_id?.0, seat: session.seat.unwrap_or_default() },
            serial: session.ticket_serial?,
            history: history(report),
            is_own_key: report.assurance >= Some(Assurance::L2),
            witnessed: session.witnessed,
            notes: &session.notes,
            is_note: false,
        })
    });
    let facts: Vec<_> = facts.collect();
    let found = conflicts(&facts).into_iter().map(|conflict| {
        let name = facts.get(conflict.session).map(|session| session.name);
        SeriesFinding::new(conflict.code, name, conflict.detail)
    });
    found.collect()
}

/// Compares the previous close in a ticket with the last checkpoint in the previous bundle.
fn check_close(previous: &Report, report: &Report, add: &mut impl FnMut(SeriesCode, String)) {
    let named = named_close(report);
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

/// The last checkpoint of the session before, as the ticket names it.
fn named_close(report: &Report) -> Option<[u8; 32]> {
    report.session.previous_close.map(|digest| digest.0).filter(|digest| *digest != [0; 32])
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
    let exit_code = status.exit_code(reports.iter().any(|(_, report)| report.is_marked()));
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
        public_log: None,
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
