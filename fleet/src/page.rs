//! The answer of an audit as one self-contained HTML page: contradictions first.

use maud::{Markup, html};
use portcullis_evidence::verify::EvidenceStatus;
use portcullis_fleet_core::{AuditAnswer, AuditFinding, AuditedChain, AuditedSession, SessionTotals};
use portcullis_report::PageOrigin;
use portcullis_report::escape::HtmlLine;
use portcullis_report::evidence::LogText;
use portcullis_report::page::{marked, table};

/// Writes the page.
#[must_use]
pub fn page(answer: &AuditAnswer, origin: &PageOrigin) -> String {
    let content = html! {
        h1 { "Audit of a fleet" }
        (banner(answer))
        (findings(&answer.findings))
        (chains(&answer.chains))
        (sessions(&answer.sessions))
        (about(answer, origin))
        (not_shown(answer))
    };
    portcullis_report::page::page("Audit of a fleet", &content)
}

const fn meaning(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Affirmed => "Every bundle is affirmed, and no session of the chains below is missing.",
        EvidenceStatus::Warned => {
            "Nothing is contradicted, but something is missing or could not be checked. It is listed below."
        }
        EvidenceStatus::Contradicted => "Something is proved wrong. It is listed first.",
    }
}

fn banner(answer: &AuditAnswer) -> Markup {
    let class = answer.status.name();
    html! {
        @if answer.sessions.iter().any(|session| session.simulated) {
            p.banner.contradicted {
                strong { "Simulated." }
                " At least one card has a key that is public: anybody can make evidence like this."
            }
        }
        p class={ "banner " (class) } { strong { (class) "." } " " (meaning(answer.status)) }
    }
}

fn findings(findings: &[AuditFinding]) -> Markup {
    let group = |status: EvidenceStatus| findings.iter().filter(move |finding| finding.status == status);
    html! {
        h2 { "What is not affirmed" }
        @if findings.is_empty() { p { "Nothing." } }
        @for status in [EvidenceStatus::Contradicted, EvidenceStatus::Warned] {
            @if group(status).next().is_some() {
                section class={ "property " (status.name()) } aria-label=(status.name()) {
                    h3 { (status.name()) }
                    ul { @for found in group(status) { li { (finding(found)) } } }
                }
            }
        }
    }
}

fn finding(finding: &AuditFinding) -> Markup {
    let place = place(finding.key.as_deref(), finding.seat, finding.serial);
    html! {
        @if let Some(bundle) = &finding.bundle { strong { (HtmlLine(bundle)) } " " }
        code { (HtmlLine(&finding.code)) }
        @if finding.count > 1 { " (" (finding.count) " times)" }
        ": " (HtmlLine(&finding.detail))
        dl.code {
            @if let Some(place) = place { dt { "Where" } dd { (HtmlLine(&place)) } }
            dt { "What to do" } dd { (marked(&finding.remedy)) "." }
        }
    }
}

/// Card, seat and serial in words.
fn place(key: Option<&str>, seat: Option<u16>, serial: Option<u64>) -> Option<String> {
    let key = key?;
    let seat = seat.map(|seat| format!(", seat {seat}")).unwrap_or_default();
    let serial = serial.map(|serial| format!(", session {serial}")).unwrap_or_default();
    Some(format!("card {key}{seat}{serial}"))
}

/// A table with a head, which can be scrolled if it is wide. Empty if `rows` is empty.
fn wide(caption: &str, head: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.wide role="region" aria-label=(caption) tabindex="0" {
                table {
                    caption { (HtmlLine(caption)) }
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody { @for row in rows { tr { @for cell in row { td { (HtmlLine(cell)) } } } } }
                }
            }
        }
    }
}

fn totals(totals: &SessionTotals) -> Vec<String> {
    let SessionTotals { sessions, affirmed, warned, contradicted, streams, records, admits, rejects, .. } = totals;
    [sessions, affirmed, warned, contradicted, streams, records, admits, rejects].map(ToString::to_string).to_vec()
}

fn chains(chains: &[AuditedChain]) -> Markup {
    let head = ["Day", "Sessions", "Affirmed", "Warned", "Contradicted", "Streams", "Records", "Admits", "Rejects"];
    html! {
        h2 { "Cards, seats and days" }
        @if chains.is_empty() { p { "No bundle has a place in a chain." } }
        @for chain in chains {
            @let caption =
                format!("Card {}, seat {}: sessions {} to {}", chain.key, chain.seat, chain.first, chain.last);
            @let rows: Vec<Vec<String>> = chain.days.iter().map(|day| {
                let name = day.day.clone().unwrap_or_else(|| "not witnessed".to_owned());
                [vec![name], totals(&day.totals)].concat()
            }).collect();
            (wide(&caption, &head, &rows))
        }
    }
}

fn sessions(sessions: &[AuditedSession]) -> Markup {
    let row = |session: &AuditedSession| {
        let text = |value: Option<String>| value.unwrap_or_else(|| "not known".to_owned());
        let tables = match session.tables {
            Some(true) => "equal what the card signed",
            Some(false) => "differ",
            None => "not compared",
        };
        vec![
            session.name.clone(),
            session.status.name().to_owned(),
            text(session.key.clone()),
            text(session.seat.map(|seat| seat.to_string())),
            text(session.serial.map(|serial| serial.to_string())),
            text(session.day()),
            session.records.to_string(),
            tables.to_owned(),
            session.replay.map_or_else(|| "none".to_owned(), |streams| format!("{streams} streams")),
        ]
    };
    let rows: Vec<Vec<String>> = sessions.iter().map(row).collect();
    let head = ["Bundle", "Status", "Card", "Seat", "Session", "Day", "Records", "Tables", "Replay"];
    html! { h2 { "Sessions" } (wide("One row per bundle", &head, &rows)) }
}

/// The public log that the bundles were compared with, in words.
fn public_log(answer: &AuditAnswer) -> String {
    answer.public_log.as_ref().map_or_else(|| "not compared with one".to_owned(), |log| LogText(log).to_string())
}

fn about(answer: &AuditAnswer, origin: &PageOrigin) -> Markup {
    let trust: Vec<Vec<String>> =
        answer.trust.iter().map(|(name, digest)| vec![name.clone(), digest.clone()]).collect();
    let rows = [
        ("Bundles", Some(answer.totals.sessions.to_string())),
        ("Records", Some(answer.totals.records.to_string())),
        ("Records that a checkpoint covers", Some(answer.totals.signed_records.to_string())),
        ("Public log of the issuer", Some(public_log(answer))),
        ("Exit code of the audit", Some(answer.exit_code.to_string())),
        ("Program", Some(origin.program.clone())),
        ("Page made", origin.time()),
    ];
    html! {
        h2 { "About this audit" }
        (table("What was audited, and with what", &rows))
        (wide("Files of the trust folder: whose signatures were accepted", &["File", "SHA-256"], &trust))
    }
}

fn not_shown(answer: &AuditAnswer) -> Markup {
    html! {
        h2 { "What this page does not show" }
        ul {
            li {
                "It shows nothing about sessions after the last bundle of a chain, unless their tickets or notes were "
                "given."
            }
            @if answer.sample == 0 { li { "No text was replayed: run the audit with " code { "--replay" } "." } }
            @else { li { "At most " (answer.sample) " streams of each session were replayed, drawn at random." } }
            li { "The times are those of witnesses. A session without a witness has no day." }
        }
    }
}
