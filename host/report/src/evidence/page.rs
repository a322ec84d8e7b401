//! The verifier's report as one HTML page, for whoever files it.

use crate::escape::Line;
use der::DateTime;
use maud::{Markup, html};
use portcullis_core::hex::Hex;
use portcullis_evidence::verify::{Assurance, Property, Report, Status, Summary};
use std::time::Duration;

/// The page. `name` is what the bundle is called.
#[must_use]
pub fn page(report: &Report, name: &str) -> String {
    let session = &report.session;
    let content = html! {
        h1 { "Evidence report" }
        p.name { (Line(name)) }
        (banner(report))
        (properties(report))
        (period(session))
        (policy(session))
        (profiles(session))
        (counts(session))
        (device(report))
        (not_shown(report))
    };
    crate::page::page(&format!("Evidence report: {name}"), &content)
}

const fn mark(status: Status) -> &'static str {
    match status {
        Status::Affirmed => "\u{2713}",
        Status::Warned => "!",
        Status::Contradicted => "\u{2717}",
    }
}

fn banner(report: &Report) -> Markup {
    let words = match report.status {
        Status::Affirmed => "Everything that was checked holds.",
        Status::Warned => "What was checked holds. Something is missing or could not be checked.",
        Status::Contradicted => "Something in this evidence is false, or it is not believed.",
    };
    let class = report.status.name();
    html! {
        @if report.simulated {
            p.banner.contradicted {
                strong { "Simulated." }
                " The key of this card is public: anybody can make evidence like this. It shows how evidence looks and nothing else."
            }
        }
        p class={ "banner " (class) } { span.mark { (mark(report.status)) } " " strong { (class) "." } " " (words) }
    }
}

fn properties(report: &Report) -> Markup {
    html! {
        h2 { "What is affirmed" }
        @for property in Property::ALL {
            @let conclusion = report.properties.of(property);
            @let class = conclusion.status.name();
            section class={ "property " (class) } {
                h3 { span.mark { (mark(conclusion.status)) } " " (property.name().replace('_', " ")) ": " (class) }
                p { "Claim: " (property.claim()) "." }
                @if !conclusion.reasons.is_empty() {
                    ul {
                        @for reason in &conclusion.reasons {
                            li {
                                code { (reason.code.id()) } " (" (reason.status.name())
                                @if reason.count > 1 { ", " (reason.count) " times" }
                                "): " (Line(&reason.detail))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A two-column table of what is known.
fn table(rows: &[(&str, Option<String>)]) -> Markup {
    html! {
        table {
            @for (name, value) in rows {
                tr {
                    th scope="row" { (name) }
                    td { @if let Some(value) = value { (Line(value)) } @else { em { "not known" } } }
                }
            }
        }
    }
}

fn hex<const N: usize>(digest: Option<Hex<N>>) -> Option<String> {
    digest.map(|digest| digest.to_string())
}

fn period(session: &Summary) -> Markup {
    let times = session
        .witnessed
        .map(|(from, to)| format!("between second {from} and second {to} since 1970 ({}, {})", utc(from), utc(to)));
    let ticks = session.ticks.map(|(from, to)| format!("{from} to {to}, {} clocks", to.saturating_sub(from)));
    let rows = [
        ("Session", session.ticket_serial.map(|serial| serial.to_string())),
        ("Seat: which of several cards with this key", session.seat.map(|seat| seat.to_string())),
        ("Ticket issued by", session.issuer.as_ref().map(ToString::to_string)),
        ("First and last checkpoint seen by a witness", times),
        ("Clocks of the card at the first and last record", ticks),
        ("Checkpoints", Some(session.checkpoints.to_string())),
    ];
    html! {
        h2 { "Period of use" }
        (table(&rows))
        p {
            "The card has no clock of its own. A record was made between the times at which the witness saw the checkpoints around it; "
            "times of the host are not used."
        }
    }
}

fn policy(session: &Summary) -> Markup {
    let rows = [
        ("Policy digest (SHA-256 of the tables)", hex(session.policy_digest)),
        ("Package digest", hex(session.package_digest)),
        ("Version of the mapping", session.mapping_version.map(|version| version.to_string())),
    ];
    html! {
        h2 { "Policy in force" }
        (table(&rows))
        h3 { "Approvals" }
        ul {
            @for approval in &session.approvals { li { (Line(&approval.to_string())) } }
            @if session.approvals.is_empty() { li { "no approval is in the bundle, or none that is trusted" } }
        }
        @if !session.withholdings.is_empty() {
            h3 { "Withheld texts" }
            ul {
                @for used in &session.withholdings {
                    li {
                        "the texts of " (used.streams) " streams, by " (Line(&used.signer.to_string())) ": "
                        (Line(&used.reason))
                    }
                }
            }
        }
    }
}

fn profiles(session: &Summary) -> Markup {
    let pinned = match session.profiles_pinned {
        Some(true) => "The ticket permits certain profiles only.",
        Some(false) => "The ticket permits any profile.",
        None => "The ticket could not be read.",
    };
    html! {
        h2 { "Profiles" }
        p {
            "A profile says what the operator claims of the agent: its domain, its audience, its register. Rules can depend on it. The operator "
            "chose it, unless the ticket permits certain profiles only. A value that is not given is the first that the policy declares."
        }
        table {
            tr { th scope="col" { "Profile (SHA-256)" } th scope="col" { "Streams" } th scope="col" { "Says" } }
            @for (digest, profile) in &session.profiles {
                tr { td { (digest.to_string()) } td { (profile.streams) } td { (Line(&profile.to_string())) } }
            }
            @if session.profile_unknown > 0 {
                tr { td { em { "not known" } } td { (session.profile_unknown) } td {} }
            }
        }
        p { (pinned) }
    }
}

fn counts(session: &Summary) -> Markup {
    let counts = &session.counts;
    let number = |n: u64| Some(n.to_string());
    let rows = [
        ("Lanes of the card, each with a log", number(session.lanes.into())),
        ("Records", number(session.records)),
        ("Records that follow the rules of a log, and are counted here", number(counts.records)),
        ("Records that a checkpoint covers", number(session.signed_records)),
        ("Streams", number(counts.streams)),
        ("Streams that were driven", number(session.modes.driven)),
        ("Streams driven in a client's own conversation", number(session.modes.driven_conversation)),
        ("Streams held: refused text was kept from readers, not from the engine", number(session.modes.held)),
        ("Streams recorded before they were judged: nothing was prevented in them", number(session.modes.recorded)),
        ("Streams observed: readers got the text whatever the verdict was", number(session.modes.observed)),
        ("Streams that continue another one", number(session.continued)),
        ("Admitted", number(counts.admits)),
        ("Rejected", number(counts.rejects)),
        ("To be decomposed", number(counts.decomposes)),
        ("Digests noted", number(counts.notes)),
        ("Heartbeats", number(counts.heartbeats)),
        ("Alarms", number(counts.alarms)),
        ("Texts disclosed here", number(session.disclosed)),
    ];
    html! {
        h2 { "Counts" }
        p { "As the card recorded them, refused candidates included." }
        (table(&rows))
        @if !session.refusals.is_empty() { (refusals(session)) }
        @if !counts.refused.is_empty() {
            h3 { "Entries that the card refused, by fault" }
            table {
                @for (refused, count) in &counts.refused {
                    tr { th scope="row" { (refused.fault) } td { (count) } }
                }
            }
        }
    }
}

fn refusals(session: &Summary) -> Markup {
    let number = |n: Option<u16>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
    html! {
        h3 { "Rejected and decomposed, by what decided" }
        p {
            "Rules and their reasons are those of the package in the bundle; without it, their numbers in the order of their ids. No row: "
            "nothing permitted the span, or a check of the host decided."
        }
        table {
            tr {
                @for head in ["Stage", "Rule", "Reason", "Row", "Count"] { th scope="col" { (head) } }
            }
            @for refusal in &session.refusals {
                tr {
                    td { (refusal.stage.name()) }
                    td { (Line(&refusal.id.clone().unwrap_or_else(|| number(refusal.rule)))) }
                    td { (Line(refusal.reason.as_deref().unwrap_or_default())) }
                    td { (number(refusal.row)) }
                    td { (refusal.count) }
                }
            }
        }
    }
}

fn device(report: &Report) -> Markup {
    let level = report.assurance.map(|level| match level {
        Assurance::L0 => "L0: simulated; the key is public",
        Assurance::L1 => "L1: one key for every card of the design; whoever made the bitstream could sign too",
        Assurance::L2 => "L2: the key of one card",
        Assurance::L3 => "L3: the key of one card, placed under supervision",
    });
    let rows = [
        ("Subject of the certificate", report.session.device.clone()),
        ("Key (SHA-256)", hex(report.session.key_id)),
        ("Design", hex(report.session.design_id)),
        ("Assurance", level.map(str::to_owned)),
    ];
    html! {
        h2 { "Card and assurance" }
        (table(&rows))
    }
}

fn not_shown(report: &Report) -> Markup {
    html! {
        h2 { "What is not proved" }
        ul {
            li { "That the reader got text through the gate only. Whoever reads can demand a receipt for each span and check it." }
            li {
                "That texts were turned into descriptors as the policy says. That runs on the operator's host; a replay of the disclosed texts "
                "detects a lie, this report does not replay."
            }
            li { "That the policy is a good one. It is the one that was approved, or the one that was loaded." }
            li { "That no refused text was tried elsewhere first. Refusals counted here are a lower bound." }
            li { "That the card's key did not leak at its manufacturer, at the cloud provider, or in a laboratory." }
            @if report.session.modes.recorded > 0 {
                li { "That anything was prevented in recorded streams: their text existed before it was judged." }
            }
        }
    }
}

/// A Unix second as a date and time in UTC.
fn utc(second: u64) -> String {
    let Ok(time) = DateTime::from_unix_duration(Duration::from_secs(second)) else {
        return "after the year 9999".to_owned();
    };
    let (year, month, day) = (time.year(), time.month(), time.day());
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", time.hour(), time.minutes(), time.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (second, date) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(second), date);
        }
        // Whatever a note says.
        assert_eq!(utc(u64::MAX / 2), "after the year 9999");
    }
}
