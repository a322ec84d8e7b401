//! A report as text.

use crate::verify::series::{ApprovalCount, Series};
use crate::verify::{ProfileUse, Property, Report, Status, Summary, WithholdingUse};
use portcullis_core::hex::Hex;
use portcullis_core::hex::encode;
use std::collections::BTreeMap;
use std::fmt;

/// Printable in a terminal: characters of hostile text that control it, or reorder or hide what it shows, are replaced.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c }).collect()
}

/// Characters that reorder or hide text.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A report up to its verdict, for those who find more than it says.
#[derive(Debug)]
pub struct WithoutVerdict<'a>(&'a Report);

impl Report {
    /// The report up to its verdict.
    #[must_use]
    pub const fn without_verdict(&self) -> WithoutVerdict<'_> {
        WithoutVerdict(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nverdict      {}", self.without_verdict(), self.status.name())
    }
}

impl fmt::Display for WithoutVerdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        if report.simulated {
            writeln!(f, "SIMULATED: the key of this card is public; none of this is evidence\n")?;
        }
        for property in Property::ALL {
            let conclusion = report.properties.of(property);
            writeln!(f, "{:<12} {:<12} {}", conclusion.status.name(), property.name(), property.claim())?;
            for reason in &conclusion.reasons {
                let times = if reason.count > 1 { format!(" ({} times)", reason.count) } else { String::new() };
                writeln!(f, "             - {}: {}{times}", reason.code, plain(&reason.detail))?;
            }
        }
        writeln!(f)?;
        session(f, &report.session)?;
        let assurance = report.assurance.map_or_else(|| "none".to_owned(), |level| format!("{level:?}"));
        write!(f, "assurance    {assurance}")
    }
}

/// Profiles that a text report lists.
const PROFILES_SHOWN: usize = 20;

fn profiles(f: &mut fmt::Formatter<'_>, all: &BTreeMap<Hex<32>, ProfileUse>, unknown: u64) -> fmt::Result {
    for (digest, profile) in all.iter().take(PROFILES_SHOWN) {
        writeln!(f, "profile      {digest}: {} streams, {}", profile.streams, plain(&profile.to_string()))?;
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
        writeln!(f, "card         {}", plain(device))?;
    }
    if let (Some(serial), Some(issuer)) = (session.ticket_serial, &session.issuer) {
        let seat = session.seat.filter(|seat| *seat != 0).map_or_else(String::new, |seat| format!(" of seat {seat}"));
        writeln!(f, "session      {serial}{seat}, ticket by {}", plain(&issuer.to_string()))?;
    }
    if let Some(digest) = session.policy_digest {
        writeln!(f, "policy       {digest}")?;
    }
    for approval in &session.approvals {
        writeln!(f, "approved by  {}", plain(&approval.to_string()))?;
    }
    if session.approvals.is_empty() {
        writeln!(f, "approved by  nobody: no approval that is trusted is in the bundle")?;
    }
    for WithholdingUse { signer, reason, streams, .. } in &session.withholdings {
        let (signer, reason) = (plain(&signer.to_string()), plain(reason));
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
        "streams      {} driven, {} held, {} recorded, {} observed; {} continue another",
        modes.driven, modes.held, modes.recorded, modes.observed, session.continued
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

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for session in &self.sessions {
            let serial = session.serial.map_or_else(|| "?".to_owned(), |serial| serial.to_string());
            let key = session
                .key_id
                .map_or_else(|| "unknown card".to_owned(), |key| encode(key.0.get(..8).unwrap_or_default()));
            let seat = session.seat.filter(|seat| *seat != 0).map_or_else(String::new, |seat| format!(" seat {seat}"));
            writeln!(
                f,
                "{:<12} card {key}{seat} session {serial:>6}  {}",
                session.status.name(),
                plain(&session.name)
            )?;
        }
        profiles(f, &self.profiles, self.profile_unknown)?;
        for ApprovalCount { by, policy, sessions } in &self.approvals {
            let policy = policy.map_or_else(|| "unknown".to_owned(), |digest| digest.to_string());
            writeln!(f, "approved by  {}: policy {policy}, {sessions} sessions", plain(&by.to_string()))?;
        }
        for finding in &self.findings {
            writeln!(
                f,
                "- {} {}: {}: {}",
                finding.status.name(),
                finding.code,
                plain(&finding.name),
                plain(&finding.detail)
            )?;
        }
        write!(f, "verdict      {}", self.status.name())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
