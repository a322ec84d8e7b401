//! The verifier's reports as text.

use super::words::{assurance, false_descriptions, meaning, prevention};
use crate::escape::printable;
use crate::terminal::{TerminalLayout, TerminalTone};
use crate::time::utc;
use portcullis_core::hex::{HexBytes, encode};
use portcullis_evidence::verify::series::{ApprovalCount, CheckedPublicLog, SeriesReport};
use portcullis_evidence::verify::{
    BundleProperty, Code, EvidenceStatus, EvidenceSummary, ProfileUse, PropertyConclusion, VerifyReport, WithholdingUse,
};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A report as text; the verdict comes first.
#[derive(Clone, Copy, Debug)]
pub struct ReportText<'a> {
    report: &'a VerifyReport,
    verdict: EvidenceStatus,
    terminal: TerminalLayout,
}

impl<'a> ReportText<'a> {
    /// The whole report, for a file or a pipe.
    #[must_use]
    pub fn new(report: &'a VerifyReport) -> Self {
        Self { report, verdict: report.status, terminal: TerminalLayout::default() }
    }

    /// Adapts the report to a terminal.
    #[must_use]
    pub const fn on(mut self, terminal: TerminalLayout) -> Self {
        self.terminal = terminal;
        self
    }

    /// Replaces the verdict, for a program that has more findings than this report shows.
    #[must_use]
    pub const fn concluding(mut self, verdict: EvidenceStatus) -> Self {
        self.verdict = verdict;
        self
    }
}

/// Width of the column of names.
const INDENT: usize = 13;

impl fmt::Display for ReportText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, verdict, terminal } = *self;
        writeln!(f, "{}", VerdictText { status: verdict, terminal })?;
        // Of another version, no record was read; of false evidence, no mode counts.
        if report.session.lanes > 0 && verdict != EvidenceStatus::Contradicted {
            let line = prevention(&report.session.modes, report.session.counts.streams);
            writeln!(f, "{}", terminal.wrap(INDENT, &format!("prevented    {line}")))?;
        }
        if report.simulated {
            let line = format!(
                "{}    the key of this card is public; none of this is evidence",
                terminal.paint(TerminalTone::Bad, "SIMULATED")
            );
            writeln!(f, "{}", terminal.wrap(INDENT, &line))?;
        }
        writeln!(f)?;
        for property in BundleProperty::ALL {
            let conclusion = report.properties.of(property);
            let status = terminal.paint(tone(conclusion.status), format_args!("{:<12}", conclusion.status.name()));
            let line = format!("{status} {:<12} claim: {}", property.name(), property.claim());
            writeln!(f, "{}", terminal.wrap(2 * INDENT, &line))?;
            for line in lines(conclusion) {
                writeln!(f, "{}", terminal.wrap(INDENT + 2, &line))?;
            }
        }
        writeln!(f)?;
        let mut about = String::new();
        session(&mut about, &report.session)?;
        for line in about.lines() {
            writeln!(f, "{}", terminal.wrap(INDENT, line))?;
        }
        match report.assurance {
            Some(level) => {
                write!(f, "{}", terminal.wrap(INDENT, &format!("assurance    {level:?}: {}", assurance(level))))
            }
            None => write!(f, "assurance    none"),
        }
    }
}

/// The reasons of a property, with advice for each. All reasons that only show that the card is simulated share a line.
fn lines(conclusion: &PropertyConclusion) -> Vec<String> {
    let (simulated, others): (Vec<_>, Vec<_>) =
        conclusion.reasons.iter().partition(|reason| is_of_simulation(reason.code));
    let mut lines = Vec::new();
    for reason in others {
        let times = if reason.count > 1 { format!(" ({} times)", reason.count) } else { String::new() };
        lines.push(format!("{:INDENT$}- {}: {}{times}", "", reason.code, printable(&reason.detail)));
        lines.push(format!("{:INDENT$}  to do: {}", "", reason.code.remedy()));
    }
    if let Some(first) = simulated.first() {
        let codes: Vec<&str> = simulated.iter().map(|reason| reason.code.id()).collect();
        lines.push(format!("{:INDENT$}- {}: the card is a simulated one", "", codes.join(", ")));
        lines.push(format!("{:INDENT$}  to do: {}", "", first.code.remedy()));
    }
    lines
}

const fn is_of_simulation(code: Code) -> bool {
    matches!(code, Code::SimFlag | Code::SimKey | Code::SimRoot | Code::SimDesign)
}

/// A program's verdict, and its meaning in words.
#[derive(Clone, Copy, Debug)]
pub struct VerdictText {
    pub status: EvidenceStatus,
    pub terminal: TerminalLayout,
}

impl fmt::Display for VerdictText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, terminal } = *self;
        writeln!(f, "verdict      {}", terminal.paint(tone(status), status.name()))?;
        write!(f, "{}", terminal.wrap(INDENT, &format!("{:INDENT$}{}", "", meaning(status))))
    }
}

const fn tone(status: EvidenceStatus) -> TerminalTone {
    match status {
        EvidenceStatus::Affirmed => TerminalTone::Good,
        EvidenceStatus::Warned => TerminalTone::Warning,
        EvidenceStatus::Contradicted => TerminalTone::Bad,
    }
}

const PROFILES_SHOWN: usize = 20;

fn profiles(f: &mut String, all: &BTreeMap<HexBytes<32>, ProfileUse>, unknown: u64) -> fmt::Result {
    for (digest, profile) in all.iter().take(PROFILES_SHOWN) {
        writeln!(f, "profile      {digest}: {} streams, {}", profile.streams, printable(&profile.to_string()))?;
    }
    if let Some(more) = all.len().checked_sub(PROFILES_SHOWN).filter(|more| *more > 0) {
        writeln!(f, "             and {more} more profiles: `--json` lists them")?;
    }
    if unknown > 0 {
        writeln!(f, "             {unknown} streams whose profile is not known")?;
    }
    Ok(())
}

fn session(f: &mut String, session: &EvidenceSummary) -> fmt::Result {
    let counts = &session.counts;
    if let Some(digest) = session.bundle_digest {
        writeln!(f, "bundle       {digest}")?;
    }
    if let Some(device) = &session.device {
        writeln!(f, "card         {}", printable(device))?;
    }
    if let (Some(serial), Some(issuer)) = (session.ticket_serial, &session.issuer) {
        let seat = session.seat.filter(|seat| *seat != 0).map_or_else(String::new, |seat| format!(" of seat {seat}"));
        writeln!(f, "session      {serial}{seat}, ticket by {}", printable(&issuer.to_string()))?;
    }
    if let Some(digest) = session.policy_digest {
        writeln!(f, "policy       {digest}")?;
    }
    if let Some(text_lane) = session.text_lane {
        writeln!(f, "mapping      {}", false_descriptions(text_lane))?;
    }
    for approval in &session.approvals {
        writeln!(f, "approved by  {}", printable(&approval.to_string()))?;
    }
    if session.approvals.is_empty() {
        writeln!(f, "approved by  nobody: no approval that is trusted is in the bundle")?;
    }
    for WithholdingUse { signer, reason, streams, .. } in &session.withholdings {
        let (signer, reason) = (printable(&signer.to_string()), printable(reason));
        writeln!(f, "withheld     the texts of {streams} streams, by {signer}: {reason}")?;
    }
    if let Some((from, to)) = session.witnessed {
        writeln!(f, "witnessed    {} to {}", utc(from), utc(to))?;
    }
    profiles(f, &session.profiles, session.profile_unknown)?;
    match session.profiles_pinned {
        Some(true) => writeln!(f, "             the ticket permits certain profiles only")?,
        _ => writeln!(f, "             the operator chose: the ticket permits any profile")?,
    }
    let modes = session.modes;
    writeln!(
        f,
        "streams      {} driven, {} driven in a conversation, {} held, {} recorded, {} observed; {} continue another",
        modes.driven, modes.driven_conversation, modes.held, modes.recorded, modes.observed, session.continued
    )?;
    let refused: u64 = counts.refused.values().sum();
    let lanes = if session.lanes > 1 { format!(" in {} lanes", session.lanes) } else { String::new() };
    writeln!(
        f,
        "records      {} ({} signed){lanes}: {} streams, {} admitted, {} rejected, {} decomposed, {refused} refused, {} alarms",
        session.records,
        session.signed_records,
        counts.streams,
        counts.admits,
        counts.rejects,
        counts.decomposes,
        counts.alarms
    )
}

/// A public log that sessions were compared with, in words.
#[derive(Clone, Copy, Debug)]
pub struct LogText<'a>(pub &'a CheckedPublicLog);

impl fmt::Display for LogText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckedPublicLog { name, entries, root, witnesses, seen } = self.0;
        let witnesses = if witnesses.is_empty() { "no witness".to_owned() } else { witnesses.join(", ") };
        write!(f, "{}: {entries} entries, cosigned by {}", printable(name), printable(&witnesses))?;
        seen.map_or(Ok(()), |seen| write!(f, " as of {}", utc(seen)))?;
        write!(f, ", root {root}")
    }
}

/// The report on a series as text; the verdict comes first.
#[derive(Clone, Copy, Debug)]
pub struct SeriesText<'a> {
    pub series: &'a SeriesReport,
    pub terminal: TerminalLayout,
}

impl fmt::Display for SeriesText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { series, terminal } = *self;
        write!(f, "{}", VerdictText { status: series.status, terminal })?;
        for session in &series.sessions {
            let serial = session.serial.map_or_else(|| "?".to_owned(), |serial| serial.to_string());
            let key = session
                .key_id
                .map_or_else(|| "unknown card".to_owned(), |key| encode(key.0.get(..8).unwrap_or_default()));
            let seat = session.seat.filter(|seat| *seat != 0).map_or_else(String::new, |seat| format!(" seat {seat}"));
            let status = terminal.paint(tone(session.status), format_args!("{:<12}", session.status.name()));
            let line = format!("{status} card {key}{seat} session {serial:>6}  {}", printable(&session.name));
            write!(f, "\n{}", terminal.wrap(INDENT, &line))?;
        }
        let mut about = String::new();
        profiles(&mut about, &series.profiles, series.profile_unknown)?;
        if let Some(log) = &series.public_log {
            writeln!(about, "public log   {}", LogText(log))?;
        }
        for ApprovalCount { by, policy, sessions } in &series.approvals {
            let policy = policy.map_or_else(|| "unknown".to_owned(), |digest| digest.to_string());
            writeln!(about, "approved by  {}: policy {policy}, {sessions} sessions", printable(&by.to_string()))?;
        }
        for line in about.lines() {
            write!(f, "\n{}", terminal.wrap(INDENT, line))?;
        }
        for finding in &series.findings {
            let status = terminal.paint(tone(finding.status), finding.status.name());
            let name = finding.name.as_deref().unwrap_or("the public log");
            let (name, detail) = (printable(name), printable(&finding.detail));
            write!(f, "\n{}", terminal.wrap(2, &format!("- {status} {}: {name}: {detail}", finding.code)))?;
            write!(f, "\n{}", terminal.wrap(2, &format!("  to do: {}", finding.code.remedy())))?;
        }
        Ok(())
    }
}
