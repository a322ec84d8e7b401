//! Reports of the verifier as text.

use crate::escape::printable;
use portcullis_core::hex::{Hex, encode};
use portcullis_evidence::verify::series::{ApprovalCount, Series};
use portcullis_evidence::verify::{ProfileUse, Property, Report, Summary, WithholdingUse};
use std::collections::BTreeMap;
use std::fmt;

/// A report as text.
#[derive(Clone, Copy, Debug)]
pub struct ReportText<'a> {
    report: &'a Report,
    verdict: bool,
}

impl<'a> ReportText<'a> {
    /// The whole report.
    #[must_use]
    pub const fn new(report: &'a Report) -> Self {
        Self { report, verdict: true }
    }

    /// The report up to its verdict, for a program that finds more than it says.
    #[must_use]
    pub const fn without_verdict(report: &'a Report) -> Self {
        Self { report, verdict: false }
    }
}

impl fmt::Display for ReportText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, verdict } = self;
        if report.simulated {
            writeln!(f, "SIMULATED: the key of this card is public; none of this is evidence\n")?;
        }
        for property in Property::ALL {
            let conclusion = report.properties.of(property);
            writeln!(f, "{:<12} {:<12} {}", conclusion.status.name(), property.name(), property.claim())?;
            for reason in &conclusion.reasons {
                let times = if reason.count > 1 { format!(" ({} times)", reason.count) } else { String::new() };
                writeln!(f, "             - {}: {}{times}", reason.code, printable(&reason.detail))?;
            }
        }
        writeln!(f)?;
        session(f, &report.session)?;
        let assurance = report.assurance.map_or_else(|| "none".to_owned(), |level| format!("{level:?}"));
        write!(f, "assurance    {assurance}")?;
        if *verdict { write!(f, "\nverdict      {}", report.status.name()) } else { Ok(()) }
    }
}

/// Profiles that a text report lists.
const PROFILES_SHOWN: usize = 20;

fn profiles(f: &mut fmt::Formatter<'_>, all: &BTreeMap<Hex<32>, ProfileUse>, unknown: u64) -> fmt::Result {
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

fn session(f: &mut fmt::Formatter<'_>, session: &Summary) -> fmt::Result {
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
        writeln!(f, "witnessed    seconds {from} to {to} since 1970")?;
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

/// A series as text.
#[derive(Clone, Copy, Debug)]
pub struct SeriesText<'a>(pub &'a Series);

impl fmt::Display for SeriesText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(series) = self;
        for session in &series.sessions {
            let serial = session.serial.map_or_else(|| "?".to_owned(), |serial| serial.to_string());
            let key = session
                .key_id
                .map_or_else(|| "unknown card".to_owned(), |key| encode(key.0.get(..8).unwrap_or_default()));
            let seat = session.seat.filter(|seat| *seat != 0).map_or_else(String::new, |seat| format!(" seat {seat}"));
            writeln!(
                f,
                "{:<12} card {key}{seat} session {serial:>6}  {}",
                session.status.name(),
                printable(&session.name)
            )?;
        }
        profiles(f, &series.profiles, series.profile_unknown)?;
        for ApprovalCount { by, policy, sessions } in &series.approvals {
            let policy = policy.map_or_else(|| "unknown".to_owned(), |digest| digest.to_string());
            writeln!(f, "approved by  {}: policy {policy}, {sessions} sessions", printable(&by.to_string()))?;
        }
        for finding in &series.findings {
            writeln!(
                f,
                "- {} {}: {}: {}",
                finding.status.name(),
                finding.code,
                printable(&finding.name),
                printable(&finding.detail)
            )?;
        }
        write!(f, "verdict      {}", series.status.name())
    }
}
