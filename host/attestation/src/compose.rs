//! Makes a statement from bundles.

use crate::clause;
use crate::period::{AttestationPeriod, PeriodPosition, UtcDay};
use crate::policy;
use crate::statement::{
    AttestationFinding, AttestationFindingSource, AttestedChain, AttestedPackage, AttestedReplay, AttestedSession,
    AttestedTotals, AttestedWithholding, KIND, PeriodStatement, PolicyChange, PolicyUse, RuleRefusalCount,
};
use portcullis_audit::{AuditError, EarlierBundles, ReplayReport, StreamSample, replay};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{Bundle, BundleError, BundleFiles, SnapshotFiles};
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::public_log::TrustedPublicLog;
use portcullis_evidence::ticket;
use portcullis_evidence::verify::judge::{ChainStart, SessionFacts};
use portcullis_evidence::verify::series::{self, CheckedPublicLog, GivenLog, SeriesFinding};
use portcullis_evidence::verify::{
    BundleProperty, EvidenceStatus, PeriodCode, RuleCount, SignerIdentity, StatusReason, StreamModeCounts,
    TrustedParties, VerifyOptions, VerifyReport, verify_snapshot,
};
use portcullis_report::time::utc;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What a statement is made about.
#[derive(Clone, Debug)]
pub struct AttestationRequest {
    /// Name of whoever makes the statement.
    pub by: String,
    /// Name and version of the program.
    pub program: String,
    pub period: AttestationPeriod,
    /// The day of the statement.
    pub dated: UtcDay,
    /// The largest number of streams to replay per session; 0 means that nothing is replayed.
    pub sample: u64,
    /// Seed of the sample; without it, the digest of the bundles' digests.
    pub seed: Option<String>,
}

/// Progress of [`attest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttestationProgress {
    /// A bundle was verified.
    Verified,
    /// A stream was replayed.
    Replayed,
}

/// Why no statement could be made. This is not a result about the evidence.
#[derive(Debug, thiserror::Error)]
pub enum AttestationError {
    #[error("bundle `{name}`: {why}")]
    Open { name: String, why: String },
    #[error("bundle `{name}`: {source}")]
    Replay { name: String, source: AuditError },
    /// Two bundles have one name, so findings would not say which of them they concern.
    #[error("two bundles are named `{0}`; give their folders different names")]
    Name(String),
}

/// A bundle to examine.
pub struct NamedBundle {
    /// Name, for findings.
    pub name: String,
    /// Its files, or why they cannot be opened.
    pub files: Result<Box<dyn BundleFiles>, BundleError>,
}

/// A bundle that could be read.
struct Read<'a> {
    name: &'a str,
    files: SnapshotFiles<'a>,
    report: VerifyReport,
    facts: SessionFacts,
    place: PeriodPosition,
}

impl Read<'_> {
    fn is_of_period(&self) -> bool {
        matches!(self.place, PeriodPosition::Within | PeriodPosition::Undated)
    }

    fn chain(&self) -> Option<ticket::ChainId> {
        self.facts.link().map(|(chain, _)| chain)
    }

    fn serial(&self) -> Option<u64> {
        self.facts.link().map(|(_, serial)| serial)
    }

    fn is_approved(&self) -> bool {
        let properties = &self.report.properties;
        let is_sound = properties.policy.status.max(properties.genuine.status) != EvidenceStatus::Contradicted;
        is_sound && !self.report.session.approvals.is_empty()
    }

    fn witnessed(&self) -> Option<(String, String)> {
        self.report.session.witnessed.map(|(first, last)| (utc(first), utc(last)))
    }
}

/// Verifies the bundles, replays a sample of their streams, and says what they show about the period, also beside the
/// issuer's public log if it is given. `step` is called as the work goes on.
///
/// # Errors
/// [`AttestationError`]: reading or this program failed, or two bundles have one name. A bundle that is broken is a
/// finding.
pub fn attest(
    question: &AttestationRequest,
    bundles: &[NamedBundle],
    trust: &TrustedParties,
    log: Option<&GivenLog>,
    options: VerifyOptions,
    step: &mut dyn FnMut(AttestationProgress),
) -> Result<PeriodStatement, AttestationError> {
    let mut names = BTreeSet::new();
    if let Some(given) = bundles.iter().find(|given| !names.insert(&given.name)) {
        return Err(AttestationError::Name(given.name.clone()));
    }
    let (mut read, mut findings) = (Vec::new(), Vec::new());
    for NamedBundle { name, files } in bundles {
        let broken = |error: &BundleError| {
            let code = if error.is_unfinished() { PeriodCode::Unfinished } else { PeriodCode::NoBundle };
            of_period(code, Some(name), error.to_string())
        };
        let failed = |source: &BundleError| AttestationError::Open { name: name.clone(), why: source.to_string() };
        let given = match files {
            Ok(files) => &**files,
            Err(error) if error.is_no_bundle() => {
                findings.push(broken(error));
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        let files = SnapshotFiles::new(given);
        match verify_snapshot(&files, trust, options, &mut |_| {}) {
            Ok(report) => {
                let place = place(question.period, &report);
                let facts = SessionFacts::new(name, &report);
                read.push(Read { name, files, report, facts, place });
            }
            Err(error) if error.is_no_bundle() => findings.push(broken(&error)),
            Err(error) => return Err(failed(&error)),
        }
        step(AttestationProgress::Verified);
    }
    read.sort_by(|a, b| a.facts.link().cmp(&b.facts.link()).then(a.name.cmp(b.name)));
    let trusted = log.and_then(GivenLog::log);
    let chains = chains(&mut read, question.period, trusted, &mut findings);
    let replay = replay_sample(question, &read, &mut findings, step)?;
    let mut statement = compose(question, &read, chains, log, replay, findings)?;
    statement.trust.clone_from(&trust.files);
    (statement.allow_sim, statement.at) = (options.allow_sim, options.at);
    statement.allow_not_enforced = options.allow_not_enforced;
    Ok(statement)
}

/// Where a session lies. It can lie outside the period only if a trusted witness saw its first and its last checkpoint,
/// a trusted issuer permitted it, and nothing in it is contradicted: the operator could choose the time of any other.
fn place(period: AttestationPeriod, report: &VerifyReport) -> PeriodPosition {
    let dated =
        report.status != EvidenceStatus::Contradicted && report.properties.no_gaps.status == EvidenceStatus::Affirmed;
    period.place(report.session.witnessed.filter(|_| dated))
}

fn of_period(code: PeriodCode, session: Option<&str>, detail: String) -> AttestationFinding {
    let (status, code, remedy) = (code.status(), code.id(), code.remedy());
    let session = session.map(str::to_owned);
    AttestationFinding {
        status,
        source: AttestationFindingSource::Period,
        property: None,
        session,
        code,
        detail,
        count: 1,
        remedy,
    }
}

/// The seed that the bundles themselves give: SHA-256 over the digests of all manifests in bytewise order, in
/// hexadecimal.
fn seed(read: &[Read<'_>]) -> String {
    let digests: BTreeSet<_> = read.iter().filter_map(|bundle| bundle.report.session.bundle_digest).collect();
    let all = digests.iter().fold(Sha256::new(), |all, digest| all.chain_update(digest.0));
    HexBytes::<32>(all.finalize().into()).to_string()
}

/// The replays of one chain. A bundle is replayed whole at most once, for the streams that later bundles continue.
#[derive(Default)]
struct ChainReplay<'a> {
    /// All bundles of the chain, in its order.
    bundles: Vec<&'a Read<'a>>,
    /// End states of the first bundles; absent until a bundle continues streams.
    before: Option<EarlierBundles>,
    /// How many of the first bundles are in `before`.
    added: usize,
}

impl ChainReplay<'_> {
    fn replay(
        &mut self,
        bundle: &Read<'_>,
        sample: StreamSample<'_>,
        progress: &mut dyn FnMut(),
    ) -> Result<ReplayReport, AuditError> {
        if bundle.report.session.continued == 0 {
            return replay(&bundle.files, Some(sample), progress);
        }
        let mut before = match self.before.take() {
            Some(before) => before,
            None => self.wanted()?,
        };
        while let Some(earlier) = self.bundles.get(self.added).filter(|earlier| earlier.name != bundle.name) {
            before.add(&earlier.files, progress)?;
            self.added += 1;
        }
        let replayed = before.replay(&bundle.files, Some(sample), progress);
        self.before = Some(before);
        replayed
    }

    fn wanted(&self) -> Result<EarlierBundles, AuditError> {
        let mut before = EarlierBundles::default();
        let continuing = self.bundles.iter().filter(|bundle| bundle.report.session.continued > 0);
        continuing.map(|bundle| &bundle.files).try_for_each(|files| before.want(files))?;
        Ok(before)
    }
}

fn replay_sample(
    question: &AttestationRequest,
    read: &[Read<'_>],
    findings: &mut Vec<AttestationFinding>,
    step: &mut dyn FnMut(AttestationProgress),
) -> Result<Option<AttestedReplay>, AttestationError> {
    if question.sample == 0 {
        findings.push(of_period(PeriodCode::NotReplayed, None, "no sample was asked for".to_owned()));
        return Ok(None);
    }
    let seed = question.seed.clone().unwrap_or_else(|| seed(read));
    let status = EvidenceStatus::Affirmed;
    let mut all = AttestedReplay {
        sample: question.sample,
        seed: seed.clone(),
        status,
        sessions: 0,
        streams: 0,
        replayed: 0,
        records: 0,
    };
    let mut chains: BTreeMap<_, ChainReplay<'_>> = BTreeMap::new();
    for bundle in read {
        chains.entry(bundle.chain()).or_default().bundles.push(bundle);
    }
    for bundle in read.iter().filter(|bundle| bundle.is_of_period()) {
        let sample = StreamSample { streams: question.sample, seed: &seed };
        let progress = &mut || step(AttestationProgress::Replayed);
        let chain = chains.entry(bundle.chain()).or_default();
        let replayed = chain.replay(bundle, sample, progress);
        let replayed = replayed.map_err(|source| AttestationError::Replay { name: bundle.name.to_owned(), source })?;
        all.status = all.status.max(replayed.status);
        all.sessions += u64::from(replayed.replayed > 0);
        all.streams += replayed.streams;
        all.replayed += replayed.replayed;
        all.records += replayed.records;
        findings.extend(replayed.reasons.into_iter().map(|StatusReason { code, status, detail, count }| {
            let (session, code, remedy) = (Some(bundle.name.to_owned()), code.id(), code.remedy());
            AttestationFinding {
                status,
                source: AttestationFindingSource::Replay,
                property: None,
                session,
                code,
                detail,
                count,
                remedy,
            }
        }));
    }
    Ok(Some(all))
}

fn compose(
    question: &AttestationRequest,
    read: &[Read<'_>],
    chains: Vec<AttestedChain>,
    log: Option<&GivenLog>,
    replay: Option<AttestedReplay>,
    mut findings: Vec<AttestationFinding>,
) -> Result<PeriodStatement, AttestationError> {
    let within: Vec<&Read<'_>> = read.iter().filter(|bundle| bundle.is_of_period()).collect();
    for bundle in &within {
        findings.extend(of_bundle(bundle));
        if bundle.place == PeriodPosition::Undated {
            let what = "when this session ran is not shown".to_owned();
            findings.push(of_period(PeriodCode::Undated, Some(bundle.name), what));
        }
    }
    if within.is_empty() {
        findings.push(of_period(PeriodCode::NoSession, None, "no bundle is of the period".to_owned()));
    }
    findings.extend(of_series(read, &chains, log));
    findings.sort_by(|a, b| {
        let key = |finding: &AttestationFinding| (finding.session.clone(), finding.source, finding.code);
        b.status.cmp(&a.status).then_with(|| key(a).cmp(&key(b)))
    });
    let status = findings.iter().map(|finding| finding.status).fold(EvidenceStatus::Affirmed, EvidenceStatus::max);
    let simulated = within.iter().any(|bundle| bundle.report.simulated);
    let mut statement = PeriodStatement {
        kind: KIND,
        by: question.by.clone(),
        program: question.program.clone(),
        period: question.period,
        dated: question.dated,
        trust: Vec::new(),
        public_log: log.and_then(GivenLog::log).map(CheckedPublicLog::of),
        allow_sim: false,
        allow_not_enforced: false,
        at: None,
        status,
        simulated,
        exit_code: status.exit_code(within.iter().any(|bundle| bundle.report.is_marked())),
        findings,
        chains,
        sessions: within.iter().map(|bundle| session(bundle)).collect(),
        outside: (read.len() - within.len()) as u64,
        policies: policies(&within)?,
        changes: changes(read),
        modes: modes(&within),
        totals: totals(&within),
        refusals: rules(&within, |report| &report.session.refusals),
        splits: rules(&within, |report| &report.session.splits),
        withheld: within.iter().flat_map(|bundle| withheld(bundle)).collect(),
        replay,
        clauses: Vec::new(),
    };
    statement.clauses = clause::shown(&statement);
    Ok(statement)
}

/// The findings of a bundle's verification.
fn of_bundle(bundle: &Read<'_>) -> Vec<AttestationFinding> {
    let reasons = BundleProperty::ALL.into_iter().flat_map(|property| {
        bundle.report.properties.of(property).reasons.iter().map(move |reason| (property, reason))
    });
    let finding = |(property, reason): (BundleProperty, &StatusReason)| AttestationFinding {
        status: reason.status,
        source: AttestationFindingSource::Bundle,
        property: Some(property),
        session: Some(bundle.name.to_owned()),
        code: reason.code.id(),
        detail: reason.detail.clone(),
        count: reason.count,
        remedy: reason.code.remedy(),
    };
    reasons.map(finding).collect()
}

/// The findings about the order of the sessions. In each chain those count that are about a session of the period, or
/// about the first session after it: this one's ticket and serial show which sessions were before it.
fn of_series(read: &[Read<'_>], chains: &[AttestedChain], log: Option<&GivenLog>) -> Vec<AttestationFinding> {
    let names: BTreeMap<&str, &Read<'_>> = read.iter().map(|bundle| (bundle.name, bundle)).collect();
    let shown: BTreeMap<ticket::ChainId, &AttestedChain> =
        chains.iter().map(|chain| (ticket::ChainId { key: chain.key.0, seat: chain.seat }, chain)).collect();
    // The first session of each chain after the period.
    let after = read.iter().rev().filter(|bundle| bundle.place == PeriodPosition::After);
    let after: BTreeMap<ticket::ChainId, u64> = after.filter_map(|bundle| bundle.facts.link()).collect();
    let counts = |finding: &SeriesFinding| {
        let Some(name) = &finding.name else { return true };
        let Some(bundle) = names.get(&**name) else { return false };
        let Some((chain, serial)) = bundle.facts.link() else { return bundle.is_of_period() };
        // A session after the period shows that the tickets behind it are not of the period.
        if finding.ticket.is_some() {
            return !after.contains_key(&chain);
        }
        let of_chain = match shown.get(&chain) {
            Some(chain) => chain.first <= serial && serial <= chain.next.unwrap_or(chain.last),
            // Of no session of the chain it is shown that it was in the period; some may be missing.
            None => after.get(&chain) == Some(&serial),
        };
        bundle.is_of_period() || of_chain
    };
    let sessions = read.iter().map(|bundle| bundle.facts.clone()).collect();
    let finding = |SeriesFinding { code, status, name, detail, .. }| AttestationFinding {
        status,
        source: AttestationFindingSource::Series,
        property: None,
        session: name,
        code: code.id(),
        detail,
        count: 1,
        remedy: code.remedy(),
    };
    series::findings(sessions, ChainStart::Any, log).into_iter().filter(counts).map(finding).collect()
}

/// The serials of the sessions in this place, in their order.
fn serials<'a>(sessions: &'a [Read<'_>], place: PeriodPosition) -> impl DoubleEndedIterator<Item = u64> + use<'a> {
    sessions.iter().filter(move |session| session.place == place).filter_map(Read::serial)
}

/// The session of a chain with this serial.
fn named<'a, 'b>(sessions: &'a [Read<'b>], serial: u64) -> Option<&'a Read<'b>> {
    sessions.iter().find(|session| session.serial() == Some(serial))
}

/// The chains with a session in the period. All sessions between the first and the last one of the period belong to it.
/// A chain of which the session before or after the period is not shown is open there: sessions of the period may be
/// missing. It is not open at its end if witnesses saw the public log after the period, and no later ticket is in it.
/// `read` is in the order of chains and serials.
fn chains(
    read: &mut [Read<'_>],
    period: AttestationPeriod,
    log: Option<&TrustedPublicLog>,
    findings: &mut Vec<AttestationFinding>,
) -> Vec<AttestedChain> {
    // The witnesses of the log and those of the sessions can have different clocks.
    let log = log.filter(|log| log.head.seen.is_some_and(|seen| period.is_over(seen.saturating_sub(CLOCK_SKEW))));
    let mut chains = Vec::new();
    for sessions in read.chunk_by_mut(|a, b| a.chain() == b.chain()) {
        let Some(ticket::ChainId { key, seat }) = sessions.first().and_then(Read::chain) else { continue };
        let dated: Vec<_> = serials(sessions, PeriodPosition::Within).collect();
        let counted = if dated.is_empty() { serials(sessions, PeriodPosition::Undated).collect() } else { dated };
        let (Some(first), Some(last)) = (counted.first().copied(), counted.last().copied()) else {
            findings.extend(open_end(sessions, log));
            continue;
        };
        for session in sessions.iter_mut() {
            let is_between = session.serial().is_some_and(|serial| first <= serial && serial <= last);
            if session.place != PeriodPosition::Undated && is_between {
                session.place = PeriodPosition::Within;
            }
        }
        let begins = first == 1 || serials(sessions, PeriodPosition::Before).any(|serial| serial < first);
        let next = serials(sessions, PeriodPosition::After).find(|serial| *serial > last);
        if !begins {
            let what = format!("session {first} of seat {seat} is the first that is shown");
            findings.push(of_period(
                PeriodCode::BeginningOpen,
                named(sessions, first).map(|session| session.name),
                what,
            ));
        }
        let ends = next.is_some() || is_last_ticket(sessions, last, log);
        if !ends {
            let what = format!("session {last} of seat {seat} is the last that is shown");
            findings.push(of_period(PeriodCode::EndOpen, named(sessions, last).map(|session| session.name), what));
        }
        let sessions = sessions.iter().filter(|session| session.is_of_period()).count() as u64;
        chains.push(AttestedChain { key: HexBytes(key), seat, first, last, sessions, begins, next, ends });
    }
    chains
}

/// What is open in a chain of which no session of the period is given. If sessions on both sides of the period are
/// given, their serials show whether one between them is missing.
fn open_end(sessions: &[Read<'_>], log: Option<&TrustedPublicLog>) -> Option<AttestationFinding> {
    let before = serials(sessions, PeriodPosition::Before).next_back();
    let after = serials(sessions, PeriodPosition::After).next();
    let (code, serial, what) = match (before, after) {
        (Some(last), None) if !is_last_ticket(sessions, last, log) => (PeriodCode::EndOpen, last, "last"),
        (None, Some(first)) if first > 1 => (PeriodCode::BeginningOpen, first, "first"),
        _ => return None,
    };
    let session = named(sessions, serial)?;
    let seat = session.chain()?.seat;
    let what = format!("session {serial} of seat {seat} is the {what} that is shown, and it is not of the period");
    Some(of_period(code, Some(session.name), what))
}

/// Whether the ticket of this session is its chain's last one in the public log. A log with another ticket of this
/// serial is that of another issuer, and says nothing.
fn is_last_ticket(sessions: &[Read<'_>], serial: u64, log: Option<&TrustedPublicLog>) -> bool {
    let of_log = named(sessions, serial).and_then(|session| {
        let (newest, logged) = log?.sessions(&session.chain()?)?.last_key_value()?;
        Some(*newest == serial && session.facts.ticket == Some(HexBytes(logged.ticket)))
    });
    of_log == Some(true)
}

fn session(bundle: &Read<'_>) -> AttestedSession {
    let VerifyReport { status, simulated, assurance, ref session, .. } = bundle.report;
    AttestedSession {
        name: bundle.name.to_owned(),
        bundle: session.bundle_digest,
        key: session.key_id,
        seat: session.seat,
        serial: session.ticket_serial,
        issuer: session.issuer.clone(),
        device: session.device.clone(),
        witnessed: bundle.witnessed(),
        status,
        simulated,
        assurance,
        policy: session.policy_digest,
        approved: bundle.is_approved(),
        text_lane: session.text_lane,
        records: session.records,
        streams: session.counts.streams,
    }
}

fn policies(within: &[&Read<'_>]) -> Result<Vec<PolicyUse>, AttestationError> {
    let mut all: BTreeMap<HexBytes<32>, (Vec<AttestedPackage>, BTreeSet<SignerIdentity>, u64)> = BTreeMap::new();
    for bundle in within {
        let Some(digest) = bundle.report.session.policy_digest else { continue };
        let (packages, approvers, sessions) = all.entry(digest).or_default();
        *sessions += 1;
        if bundle.is_approved() {
            approvers.extend(bundle.report.session.approvals.iter().cloned());
        }
        if packages.is_empty() {
            // Words of other files than the image was built from would mislead.
            let listed = bundle.report.session.package_digest;
            let words = Bundle::open(&bundle.files).and_then(|opened| policy::packages(&opened, listed));
            *packages = match words {
                Err(error) if error.is_operational() => {
                    return Err(AttestationError::Open { name: bundle.name.to_owned(), why: error.to_string() });
                }
                words => words.unwrap_or_default(),
            };
        }
    }
    let policies = all.into_iter().map(|(policy, (packages, approvers, sessions))| {
        let approvers = approvers.into_iter().collect();
        PolicyUse { policy, packages, approvers, sessions }
    });
    Ok(policies.collect())
}

/// The changes of policy in each chain, from the session before the period on.
fn changes(read: &[Read<'_>]) -> Vec<PolicyChange> {
    let pairs = read.iter().zip(read.iter().skip(1));
    let change = |(before, after): (&Read<'_>, &Read<'_>)| {
        let ((before_chain, _), (chain, serial)) = (before.facts.link()?, after.facts.link()?);
        let (was, is) = (before.report.session.policy_digest, after.report.session.policy_digest);
        let changed = before_chain == chain && after.is_of_period() && was != is;
        changed.then(|| PolicyChange {
            key: HexBytes(chain.key),
            seat: chain.seat,
            serial,
            before: was,
            after: is,
            witnessed: after.witnessed().map(|(first, _)| first),
            approved: after.is_approved(),
        })
    };
    pairs.filter_map(change).collect()
}

fn modes(within: &[&Read<'_>]) -> StreamModeCounts {
    within.iter().map(|bundle| bundle.report.session.modes).fold(StreamModeCounts::default(), |sum, modes| {
        StreamModeCounts {
            driven: sum.driven + modes.driven,
            driven_conversation: sum.driven_conversation + modes.driven_conversation,
            held: sum.held + modes.held,
            recorded: sum.recorded + modes.recorded,
            observed: sum.observed + modes.observed,
        }
    })
}

fn totals(within: &[&Read<'_>]) -> AttestedTotals {
    within.iter().map(|bundle| &bundle.report.session).fold(AttestedTotals::default(), |sum, session| AttestedTotals {
        records: sum.records + session.records,
        signed_records: sum.signed_records + session.signed_records,
        streams: sum.streams + session.counts.streams,
        admitted: sum.admitted + session.counts.admits,
        rejected: sum.rejected + session.counts.rejects,
        decomposed: sum.decomposed + session.counts.decomposes,
        refused_entries: sum.refused_entries + session.counts.refused.values().sum::<u64>(),
        alarms: sum.alarms + session.counts.alarms,
    })
}

/// Policy, stage, and name of a rule; `None` if no rule decided.
type DecidingRule = (Option<HexBytes<32>>, &'static str, Option<String>);

fn rules(within: &[&Read<'_>], counted: impl Fn(&VerifyReport) -> &[RuleCount]) -> Vec<RuleRefusalCount> {
    let mut all: BTreeMap<DecidingRule, (Option<String>, u64)> = BTreeMap::new();
    for bundle in within {
        for rule in counted(&bundle.report) {
            let name = rule.id.clone().or_else(|| rule.rule.map(|number| number.to_string()));
            let key = (bundle.report.session.policy_digest, rule.stage.name(), name);
            let (reason, count) = all.entry(key).or_default();
            *count += rule.count;
            if reason.is_none() {
                reason.clone_from(&rule.reason);
            }
        }
    }
    let used = all.into_iter().map(|((policy, stage, rule), (reason, count))| RuleRefusalCount {
        policy,
        stage,
        rule,
        reason,
        count,
    });
    used.collect()
}

fn withheld(bundle: &Read<'_>) -> Vec<AttestedWithholding> {
    let uses = bundle.report.session.withholdings.iter();
    let withheld = uses.map(|used| AttestedWithholding {
        session: bundle.name.to_owned(),
        signer: used.signer.clone(),
        reason: used.reason.clone(),
        streams: used.streams,
    });
    withheld.collect()
}
