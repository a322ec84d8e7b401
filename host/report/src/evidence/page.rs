//! The verifier's report as one HTML page that can be archived.

use super::words::{assurance, false_descriptions, meaning, prevention};
use crate::escape::HtmlLine;
use crate::page::{PageOrigin, marked, table, trust_files};
use crate::time::utc;
use maud::{Markup, html};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::verify::{
    BundleProperty, Code, EvidenceStatus, EvidenceSummary, RuleCount, StatusReason, TrustFile, VerifyReport,
};

/// The inputs of the check: bundle, trust folder and options.
#[derive(Clone, Debug, Default)]
pub struct EvidencePageInputs {
    /// The bundle's name.
    pub name: String,
    pub origin: PageOrigin,
    /// The trust folder.
    pub trust: String,
    pub trusted: Vec<TrustFile>,
    /// Unix second at which certificates had to be valid; `None` if the caller gave no time.
    pub at: Option<u64>,
    /// Whether simulated evidence was accepted.
    pub allow_sim: bool,
    /// Whether streams in which nothing was prevented were accepted without a finding.
    pub allow_not_enforced: bool,
}

#[must_use]
pub fn page(report: &VerifyReport, making: &EvidencePageInputs) -> String {
    let session = &report.session;
    let content = html! {
        h1 { "Evidence report" }
        p.name { (HtmlLine(&making.name)) }
        (banner(report))
        (about(report, making))
        (properties(report))
        (period(session))
        (policy(session))
        (profiles(session))
        (counts(session))
        (device(report))
        (not_shown(report))
        (replay())
        p.signature { "Checked by: ______________________________ Date: ______________ Signature: ______________________________" }
    };
    crate::page::page(&format!("Evidence report: {}", making.name), &content)
}

/// The section about the check itself: all data that another person needs to repeat the check.
fn about(report: &VerifyReport, making: &EvidencePageInputs) -> Markup {
    let code = match report.exit_code {
        0 => "0: affirmed",
        3 => "3: contradicted",
        5 => "5: warned",
        10 if report.simulated => "10: simulated",
        10 => "10: not enforced",
        _ => "1: an error",
    };
    let simulated = if making.allow_sim { "checked like any other, and marked" } else { "not believed" };
    let not_enforced = if making.allow_not_enforced { "accepted" } else { "a warning" };
    let rows = [
        ("Bundle", Some(making.name.clone())),
        ("Bundle digest (SHA-256 of its manifest)", hex(report.session.bundle_digest)),
        ("Policy package digest", hex(report.session.package_digest)),
        ("Exit code of verify", Some(code.to_owned())),
        ("Page made", making.origin.time()),
        ("Program", Some(making.origin.program.clone())),
        ("Trust folder", Some(making.trust.clone())),
        ("Simulated evidence", Some(simulated.to_owned())),
        ("Streams in which nothing was prevented", Some(not_enforced.to_owned())),
        ("Time given for certificates", Some(making.at.map_or_else(|| "none".to_owned(), utc))),
    ];
    html! {
        h2 { "About this check" }
        (table("What was checked, when and with what", &rows))
        (trust_files(&making.trusted))
    }
}

const fn mark(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Affirmed => "\u{2713}",
        EvidenceStatus::Warned => "!",
        EvidenceStatus::Contradicted => "\u{2717}",
    }
}

fn banner(report: &VerifyReport) -> Markup {
    let words = meaning(report.status);
    let class = report.status.name();
    html! {
        @if report.simulated {
            p.banner.contradicted {
                strong { "Simulated." }
                " The key of this card is public: anybody can make evidence like this. It shows how evidence looks and nothing else."
            }
        }
        p class={ "banner " (class) } {
            span.mark { (mark(report.status)) } " " strong { (class) "." } " " (words)
            @if report.session.lanes > 0 && report.status != EvidenceStatus::Contradicted {
                " " (prevention(&report.session.modes, report.session.counts.streams))
            }
        }
    }
}

fn properties(report: &VerifyReport) -> Markup {
    html! {
        h2 { "The five properties" }
        @for property in BundleProperty::ALL {
            @let conclusion = report.properties.of(property);
            @let class = conclusion.status.name();
            section class={ "property " (class) } aria-label={ (property.name().replace('_', " ")) ": " (class) } {
                h3 {
                    span.mark aria-hidden="true" { (mark(conclusion.status)) } " " (property.name().replace('_', " "))
                    ": " (class)
                }
                p { "Claim: " (property.claim()) "." }
                @if !conclusion.reasons.is_empty() {
                    ul { @for found in &conclusion.reasons { li { (reason(found)) } } }
                }
            }
        }
    }
}

/// One reason: the finding, the general meaning of its code, and the advice.
fn reason(reason: &StatusReason<Code>) -> Markup {
    html! {
        code { (reason.code.id()) } " (" (reason.status.name())
        @if reason.count > 1 { ", " (reason.count) " times" }
        "): " (HtmlLine(&reason.detail))
        dl.code {
            dt { "Meaning" } dd { (marked(reason.code.meaning())) "." }
            dt { "What to do" } dd { (marked(reason.code.remedy())) "." }
        }
    }
}

fn hex<const N: usize>(digest: Option<HexBytes<N>>) -> Option<String> {
    digest.map(|digest| digest.to_string())
}

fn period(session: &EvidenceSummary) -> Markup {
    let times = session.witnessed.map(|(from, to)| format!("between {} and {}", utc(from), utc(to)));
    let ticks = session.ticks.map(|(from, to)| format!("{from} to {to}: {} ticks", to.saturating_sub(from)));
    let rows = [
        ("Session", session.ticket_serial.map(|serial| serial.to_string())),
        ("Seat: which of several cards with this key", session.seat.map(|seat| seat.to_string())),
        ("Ticket issued by", session.issuer.as_ref().map(ToString::to_string)),
        ("First and last checkpoint seen by a witness", times),
        ("Ticks of the card's counter at the first and last record", ticks),
        ("Checkpoints", Some(session.checkpoints.to_string())),
    ];
    html! {
        h2 { "Period of use" }
        (table("The session", &rows))
        p {
            "The card counts ticks and does not know the time. A record was made between the times at which the witness saw the checkpoints around it; "
            "times of the host are not used."
        }
    }
}

fn policy(session: &EvidenceSummary) -> Markup {
    let rows = [
        ("Policy digest (SHA-256 of the tables)", hex(session.policy_digest)),
        ("Package digest", hex(session.package_digest)),
        ("Version of the mapping", session.mapping_version.map(|version| version.to_string())),
        ("False descriptions of texts", session.text_lane.map(|lane| false_descriptions(lane).to_owned())),
    ];
    html! {
        h2 { "Policy in force" }
        (table("Policy in force", &rows))
        h3 { "Approvals" }
        ul {
            @for approval in &session.approvals { li { (HtmlLine(&approval.to_string())) } }
            @if session.approvals.is_empty() { li { "no approval is in the bundle, or none that is trusted" } }
        }
        @if !session.withholdings.is_empty() {
            h3 { "Withheld texts" }
            ul {
                @for used in &session.withholdings {
                    li {
                        "the texts of " (used.streams) " streams, by " (HtmlLine(&used.signer.to_string())) ": "
                        (HtmlLine(&used.reason))
                    }
                }
            }
        }
    }
}

fn profiles(session: &EvidenceSummary) -> Markup {
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
            thead { tr { @for head in ["Profile (SHA-256)", "Streams", "Content"] { th scope="col" { (head) } } } }
            tbody {
                @for (digest, profile) in &session.profiles {
                    tr { td { (digest.to_string()) } td { (profile.streams) } td { (HtmlLine(&profile.to_string())) } }
                }
                @if session.profile_unknown > 0 {
                    tr { td { em { "not known" } } td { (session.profile_unknown) } td {} }
                }
            }
        }
        p { (pinned) }
    }
}

fn counts(session: &EvidenceSummary) -> Markup {
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
        ("Split, to be judged in parts", number(counts.decomposes)),
        ("Digests noted", number(counts.notes)),
        ("Heartbeats", number(counts.heartbeats)),
        ("Alarms", number(counts.alarms)),
        ("Texts disclosed here", number(session.disclosed)),
    ];
    html! {
        h2 { "Counts" }
        p { "As the card recorded them, refused candidates included." }
        (table("Counts", &rows))
        (decided("Rejected, by what decided", &session.refusals))
        (decided("Split, by what decided", &session.splits))
        @if !(session.refusals.is_empty() && session.splits.is_empty()) {
            p {
                "Rules and their reasons are those of the package in the bundle; without it, their numbers in the order of their ids. "
                "No row: nothing permitted the span, or a check of the host decided. Of a split span nothing is refused until its "
                "parts are judged."
            }
        }
        @if !counts.refused.is_empty() {
            h3 { "Entries that the card refused, by fault" }
            table {
                thead { tr { th scope="col" { "Fault" } th scope="col" { "Entries" } } }
                tbody {
                    @for (refused, count) in &counts.refused {
                        tr { th scope="row" { (refused.fault) } td { (count) } }
                    }
                }
            }
        }
    }
}

/// A table of how often each rule, or each stage without a rule, decided; empty if `rules` is empty.
fn decided(heading: &str, rules: &[RuleCount]) -> Markup {
    let number = |n: Option<u16>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
    html! {
        @if !rules.is_empty() {
            h3 { (heading) }
            div.wide role="region" aria-label=(heading) tabindex="0" {
                table {
                    thead { tr { @for head in ["Stage", "Rule", "Reason", "Row", "Count"] { th scope="col" { (head) } } } }
                    tbody {
                        @for rule in rules {
                            tr {
                                td { (rule.stage.name()) }
                                td { (HtmlLine(&rule.id.clone().unwrap_or_else(|| number(rule.rule)))) }
                                td { (HtmlLine(rule.reason.as_deref().unwrap_or_default())) }
                                td { (number(rule.row)) }
                                td { (rule.count) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn device(report: &VerifyReport) -> Markup {
    let level = report.assurance.map(|level| format!("{level:?}: {}", assurance(level)));
    let rows = [
        ("Subject of the certificate", report.session.device.clone()),
        ("Key (SHA-256)", hex(report.session.key_id)),
        ("Design", hex(report.session.design_id)),
        ("Assurance", level),
    ];
    html! {
        h2 { "Card and assurance" }
        (table("The card and whose key it has", &rows))
    }
}

fn not_shown(report: &VerifyReport) -> Markup {
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

fn replay() -> Markup {
    html! {
        h2 { "How to replay" }
        p {
            "A replay makes every descriptor and verdict again from the texts in the bundle, and so finds a host that lied about a text. "
            code { "portcullis check BUNDLE --trust TRUST" } " verifies and replays in one. It needs the operator's program "
            code { "portcullis" } ", which is built from the same sources as this verifier."
        }
    }
}
