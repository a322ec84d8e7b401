//! A series: the sessions of a card, one bundle each, as a chain without gaps. Cards that share a key have seats, and
//! each seat has its own chain.
//!
//! Bundles alone show a gap before a session. They do not show that later sessions are missing. The issuer's public log
//! shows which sessions there are.

pub use super::judge::ChainStart;

use super::code::SeriesCode;
use super::judge::{ChainFacts, ChainFault, ChainFinding, ChainJudge, PublicLogHead, SerialGap, SessionFacts};
use super::property::EvidenceStatus;
use super::report::{AssuranceLevel, ProfileUse, VerifyReport};
use super::trust::{SignerIdentity, TrustedParties};
use crate::format::public_log::{CosignedHead, LogPolicy, ReadError, TrustedPublicLog};
use crate::format::ticket::ChainId;
use crate::format::tree::Hash;
use portcullis_core::hex::HexBytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Clone, Debug, Serialize)]
pub struct SeriesSession {
    pub name: String,
    pub key_id: Option<HexBytes<32>>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    pub status: EvidenceStatus,
    pub assurance: Option<AssuranceLevel>,
}

/// A finding about the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesFinding {
    pub code: SeriesCode,
    pub status: EvidenceStatus,
    /// Name of the bundle that the finding concerns; absent if it concerns the public log itself.
    pub name: Option<String>,
    /// Serial of a ticket of which no bundle is given, behind the last bundle of its chain.
    pub ticket: Option<u64>,
    pub detail: String,
}

/// The public log of the issuer, as far as it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedPublicLog {
    /// Name of the log.
    pub name: String,
    pub entries: u64,
    /// Root of the tree over the entries.
    pub root: HexBytes<32>,
    /// The witnesses that cosigned, in the order of the policy.
    pub witnesses: Vec<String>,
    /// The latest Unix second from which on a quorum had seen the log; absent if the policy demands no witness.
    pub seen: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SeriesReport {
    /// The worst status of the sessions and of the chain.
    pub status: EvidenceStatus,
    /// As for `verify`: 3 contradicted, else 10 simulated or not enforced, else 5 warned, else 0.
    pub exit_code: u8,
    /// Sessions, by card and serial.
    pub sessions: Vec<SeriesSession>,
    pub findings: Vec<SeriesFinding>,
    /// The public log that the sessions were compared with.
    pub public_log: Option<CheckedPublicLog>,
    /// The profiles of all sessions, with the number of streams of each.
    pub profiles: BTreeMap<HexBytes<32>, ProfileUse>,
    /// Number of streams of unknown profile.
    pub profile_unknown: u64,
    /// Approvers of the policies, with their number of sessions.
    pub approvals: Vec<ApprovalCount>,
}

/// An approver and the sessions whose policy they approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalCount {
    pub by: SignerIdentity,
    pub policy: Option<HexBytes<32>>,
    pub sessions: u64,
}

/// What is given of the public logs that the trust folder names.
#[derive(Debug, Default)]
pub struct GivenLog {
    /// The log, or why it cannot be used; `None` if none was given.
    read: Option<Result<TrustedPublicLog, ReadError>>,
    /// The logs of the policy that were not given: the digest of each one's key, and its name.
    missing: Vec<(Hash, String)>,
}

impl GivenLog {
    /// A log that was read under `policy`, or none.
    #[must_use]
    pub fn new(read: Option<Result<TrustedPublicLog, ReadError>>, policy: &LogPolicy) -> Self {
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
    pub fn log(&self) -> Option<&TrustedPublicLog> {
        self.read.as_ref()?.as_ref().ok()
    }

    /// What is wrong with the log, and which logs are missing for these sessions. A session whose chain is in the log
    /// is compared with it, because an issuer's key can change.
    #[must_use]
    pub fn findings<'a>(&self, sessions: impl Iterator<Item = &'a SessionFacts> + Clone) -> Vec<(SeriesCode, String)> {
        let unusable = self.read.as_ref().and_then(|read| read.as_ref().err());
        let unusable = unusable.map(|error| (SeriesCode::PublicLog, error.to_string()));
        let missing = self.missing.iter().filter_map(|(key, name)| {
            let is_missing = |session: &&SessionFacts| {
                let chain = session.key.map(|key| ChainId { key: key.0, seat: session.seat.unwrap_or_default() });
                let is_compared = |chain: &ChainId| self.log().is_some_and(|log| log.sessions(chain).is_some());
                session.issuer == Some(HexBytes(*key)) && chain.is_some_and(|chain| !is_compared(&chain))
            };
            let sessions = sessions.clone().filter(is_missing).count();
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
pub fn read_log(folder: Option<&Path>, trust: &TrustedParties) -> Result<Option<GivenLog>, LogError> {
    let Some(folder) = folder else {
        return Ok(trust.log_policy.as_ref().map(|policy| GivenLog::new(None, policy)));
    };
    let policy = trust.log_policy.as_ref().ok_or(LogError::NoPolicy)?;
    match TrustedPublicLog::read(folder, policy) {
        Err(error) if error.is_operational() => Err(LogError::Read(error)),
        read => Ok(Some(GivenLog::new(Some(read), policy))),
    }
}

/// Joins the reports of several bundles; each has a name. With the issuer's public log, the sessions are also compared
/// with those in the log.
#[must_use]
pub fn join(mut reports: Vec<(String, VerifyReport)>, start: ChainStart, log: Option<&GivenLog>) -> SeriesReport {
    reports.sort_by(|(a, x), (b, y)| place(x).cmp(&place(y)).then(a.cmp(b)));
    let sessions = reports.iter().map(|(name, report)| SessionFacts::new(name, report)).collect();
    let mut series = conclude(&reports, findings(sessions, start, log));
    series.public_log = log.and_then(GivenLog::log).map(CheckedPublicLog::of);
    series
}

/// The findings about the chains of these sessions, by place in them: first those about the public log, then those
/// about each session, about the ends of chains, about copies, and about times, keys and notes.
#[must_use]
pub fn findings(sessions: Vec<SessionFacts>, start: ChainStart, log: Option<&GivenLog>) -> Vec<SeriesFinding> {
    let of_log = log.map(|log| log.findings(sessions.iter())).unwrap_or_default();
    let log = log.and_then(GivenLog::log);
    let chains: BTreeSet<ChainId> = sessions.iter().filter_map(|session| Some(session.link()?.0)).collect();
    let mut facts = ChainFacts { sessions, ..ChainFacts::default() };
    if let Some(log) = log {
        chains.into_iter().for_each(|chain| facts.add_logged(chain, log));
    }
    let found = ChainJudge { start, log: log.map(PublicLogHead::new) }.judge(facts);
    let mut placed: Vec<_> =
        found.iter().flat_map(|finding| of_chain(finding).into_iter().map(move |of| (finding, of))).collect();
    placed.sort_by(|(a, x), (b, y)| {
        let place = |finding: &ChainFinding| (stage(&finding.fault), finding.key, finding.seat, finding.serial);
        place(a).cmp(&place(b)).then_with(|| x.name.cmp(&y.name))
    });
    let of_log = of_log.into_iter().map(|(code, detail)| SeriesFinding::new(code, None, detail));
    of_log.chain(placed.into_iter().map(|(_, finding)| finding)).collect()
}

/// The place of a finding among those of a series.
const fn stage(fault: &ChainFault) -> u8 {
    match fault {
        ChainFault::Open | ChainFault::GivenUp | ChainFault::Pending | ChainFault::OpenInLog | ChainFault::Unshown => 1,
        ChainFault::Doubled(_) => 2,
        ChainFault::Conflict(..) => 3,
        _ => 0,
    }
}

/// A finding of the judge as those of a series: each names one bundle. Some are in other words than in an audit of many
/// cards.
fn of_chain(finding: &ChainFinding) -> Vec<SeriesFinding> {
    let Some(code) = finding.fault.code() else { return Vec::new() };
    let (name, serial) = (finding.name.as_deref(), finding.serial.unwrap_or_default());
    let one = |detail| vec![SeriesFinding::new(code, name, detail)];
    let behind = |detail| {
        let named = name.map(|name| SeriesFinding::new(code, Some(name), format!("session {serial} {detail}")));
        named.map(|finding| SeriesFinding { ticket: Some(serial), ..finding }).into_iter().collect()
    };
    match &finding.fault {
        ChainFault::Unplaced => one("its card or ticket is not known: it has no place in a series".to_owned()),
        ChainFault::SerialTwice(several) | ChainFault::Fork { several, .. } => {
            let what = format!("serial {serial} is there twice: one ticket, two histories");
            several.later.iter().map(|name| SeriesFinding::new(code, Some(name), what.clone())).collect()
        }
        ChainFault::Doubled(names) => {
            let pairs = names.iter().zip(names.iter().skip(1));
            let copy = |(first, name): (&String, &String)| {
                SeriesFinding::new(code, Some(name), format!("`{first}` is the same session"))
            };
            pairs.map(copy).collect()
        }
        ChainFault::Gap(gap) => name.map(|name| of_gap(gap, name)).unwrap_or_default(),
        ChainFault::Open => one(format!("session {serial} is the card's last and is not closed")),
        ChainFault::LogBehind(last) => one(format!("the public log has sessions up to {last} of its card")),
        ChainFault::LogAbandoned => {
            one(format!("the public log says that session {serial} was abandoned, and its bundle is closed"))
        }
        ChainFault::GivenUp => behind(GIVEN_UP),
        ChainFault::Pending => behind(UNREPORTED),
        ChainFault::OpenInLog => behind("is not given; it is open in the public log"),
        ChainFault::Unshown => behind("is missing: the public log says that it was opened"),
        _ => one(finding.to_string()),
    }
}

/// The findings about a gap before the bundle with this name.
fn of_gap(gap: &SerialGap, name: &str) -> Vec<SeriesFinding> {
    let SerialGap { first, last, given_up, .. } = *gap;
    let (mut found, missing) = (Vec::new(), gap.missing());
    if given_up > 0 {
        let what = "the public log says that the issuer gave up tickets before a session was reported";
        let what = format!("{what}: {given_up} of serials {first} to {last}");
        found.push(SeriesFinding::new(SeriesCode::Abandoned, Some(name), what));
    }
    if missing > 0 {
        let which = if given_up == 0 { "sessions".to_owned() } else { format!("{missing} others of serials") };
        let what = format!("{which} {first} to {last} are missing");
        found.push(SeriesFinding::new(SeriesCode::SerialMissing, Some(name), what));
    }
    found
}

/// The state of a ticket that was issued, and nothing else.
const UNREPORTED: &str = "is not given: the public log says that its ticket was issued, and that no session was \
                          reported";
/// The state of a ticket whose session was not reported before it was given up.
const GIVEN_UP: &str = "is not given: the public log says that the issuer gave up its ticket before a session was \
                        reported";

impl SeriesFinding {
    fn new(code: SeriesCode, name: Option<&str>, detail: String) -> Self {
        Self { code, status: code.status(), name: name.map(str::to_owned), ticket: None, detail }
    }
}

impl SeriesReport {
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
        let is_simulated = self.exit_code == EvidenceStatus::Affirmed.exit_code(true);
        self.exit_code = self.status.exit_code(is_simulated);
        self.findings.push(finding);
    }
}

impl CheckedPublicLog {
    /// What is said of a log that was used.
    #[must_use]
    pub fn of(log: &TrustedPublicLog) -> Self {
        let CosignedHead { head, seen, witnesses, .. } = &log.head;
        Self {
            name: head.origin.clone(),
            entries: head.size,
            root: HexBytes(head.root),
            witnesses: witnesses.clone(),
            seen: *seen,
        }
    }
}

const fn place(report: &VerifyReport) -> (Option<HexBytes<32>>, Option<u16>, Option<u64>) {
    (report.session.key_id, report.session.seat, report.session.ticket_serial)
}

fn conclude(reports: &[(String, VerifyReport)], findings: Vec<SeriesFinding>) -> SeriesReport {
    let bundles = reports.iter().map(|(_, report)| report.status);
    // An empty series shows nothing.
    let least = if reports.is_empty() { EvidenceStatus::Warned } else { EvidenceStatus::Affirmed };
    let status = bundles.chain(findings.iter().map(|finding| finding.status)).fold(least, EvidenceStatus::max);
    let exit_code = status.exit_code(reports.iter().any(|(_, report)| report.is_marked()));
    let session = |(name, report): &(String, VerifyReport)| SeriesSession {
        name: name.clone(),
        key_id: report.session.key_id,
        seat: report.session.seat,
        serial: report.session.ticket_serial,
        status: report.status,
        assurance: report.assurance,
    };
    let sessions = reports.iter().map(session).collect();
    let profile_unknown = reports.iter().map(|(_, report)| report.session.profile_unknown).sum();
    SeriesReport {
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

fn profiles(reports: &[(String, VerifyReport)]) -> BTreeMap<HexBytes<32>, ProfileUse> {
    let mut all: BTreeMap<HexBytes<32>, ProfileUse> = BTreeMap::new();
    for (digest, used) in reports.iter().flat_map(|(_, report)| &report.session.profiles) {
        all.entry(*digest).and_modify(|sum| sum.streams += used.streams).or_insert_with(|| used.clone());
    }
    all
}

fn approvals(reports: &[(String, VerifyReport)]) -> Vec<ApprovalCount> {
    let mut all: BTreeMap<(&SignerIdentity, Option<HexBytes<32>>), u64> = BTreeMap::new();
    for (_, VerifyReport { session, .. }) in reports {
        session.approvals.iter().for_each(|by| *all.entry((by, session.policy_digest)).or_default() += 1);
    }
    all.into_iter().map(|((by, policy), sessions)| ApprovalCount { by: by.clone(), policy, sessions }).collect()
}
