//! The statement as one HTML page that can be printed and archived.

use crate::statement::{
    AttestationFinding, AttestedClause, AttestedPackage, PeriodStatement, PolicyUse, RuleRefusalCount,
};
use maud::{Markup, html};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::verify::EvidenceStatus;
use portcullis_report::escape::HtmlLine;
use portcullis_report::evidence::{LogText, prevention};
use portcullis_report::page::{marked, table, trust_files};
use portcullis_report::time::utc;

/// Writes the statement as a page. `signed` is the SHA-256 of the signed file.
#[must_use]
pub fn page(statement: &PeriodStatement, signed: &HexBytes<32>) -> String {
    let title = format!("Attestation: {}", statement.period);
    let content = html! {
        h1 { "Attestation" }
        p.name { (HtmlLine(&statement.period.to_string())) }
        (banner(statement))
        (about(statement, signed))
        (findings(&statement.findings))
        (clauses(&statement.clauses))
        (chains(statement))
        (policies(statement))
        (changes(statement))
        (counts(statement))
        (withheld(statement))
        (replay(statement))
        (sessions(statement))
        (not_shown())
        p.signature { "Attested by: ______________________________ Date: ______________ Signature: ______________________________" }
    };
    portcullis_report::page::page(&title, &content)
}

const fn meaning(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Affirmed => {
            "Every bundle of the period is affirmed, and no session of the chains below is missing."
        }
        EvidenceStatus::Warned => {
            "Nothing is contradicted, but something is missing or could not be checked. It is listed below."
        }
        EvidenceStatus::Contradicted => "Something is proved wrong. It is listed first.",
    }
}

fn banner(statement: &PeriodStatement) -> Markup {
    let class = statement.status.name();
    html! {
        @if statement.simulated {
            p.banner.contradicted {
                strong { "Simulated." }
                " At least one card has a key that is public: anybody can make evidence like this."
            }
        }
        p class={ "banner " (class) } {
            strong { (class) "." } " " (meaning(statement.status))
            @if statement.status != EvidenceStatus::Contradicted && !statement.sessions.is_empty() {
                " " (prevention(&statement.modes, statement.totals.streams))
            }
        }
    }
}

fn about(statement: &PeriodStatement, signed: &HexBytes<32>) -> Markup {
    let simulated = if statement.allow_sim { "checked like any other, and marked" } else { "refused" };
    let not_enforced = if statement.allow_not_enforced { "accepted" } else { "a warning" };
    let rows = [
        ("Attested by, as the statement says", Some(statement.by.clone())),
        ("Period, both days included, in UTC", Some(statement.period.to_string())),
        ("Sessions of the period", Some(statement.sessions.len().to_string())),
        ("Bundles before and after the period", Some(statement.outside.to_string())),
        ("Exit code of attest", Some(statement.exit_code.to_string())),
        ("SHA-256 of attestation.json", Some(signed.to_string())),
        ("Program", Some(statement.program.clone())),
        ("Dated, as the statement says", Some(statement.dated.to_string())),
        ("Simulated evidence", Some(simulated.to_owned())),
        ("Streams in which nothing was prevented", Some(not_enforced.to_owned())),
        ("Public log of the issuer", Some(public_log(statement))),
        ("Time given for certificates", Some(statement.at.map_or_else(|| "none".to_owned(), utc))),
    ];
    html! {
        h2 { "About this statement" }
        (table("What was attested, by whom and with what", &rows))
        p {
            "The signature is over the file " code { "attestation.json" } ". Whoever has the bundles can make the "
            "statement and this page again: " code { "portcullis attest --check FOLDER" } " compares both."
        }
        (trust_files(&statement.trust))
    }
}

/// A table with a head, which can be scrolled if it is wide. Empty if `rows` is empty.
fn wide(caption: &str, head: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.wide role="region" aria-label=(caption) tabindex="0" {
                table {
                    caption { (caption) }
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody { @for row in rows { tr { @for cell in row { td { (HtmlLine(cell)) } } } } }
                }
            }
        }
    }
}

fn findings(findings: &[AttestationFinding]) -> Markup {
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

fn finding(finding: &AttestationFinding) -> Markup {
    html! {
        @if let Some(session) = &finding.session { strong { (HtmlLine(session)) } " " }
        code { (finding.code) }
        @if finding.count > 1 { " (" (finding.count) " times)" }
        ": " (HtmlLine(&finding.detail))
        dl.code { dt { "What to do" } dd { (marked(finding.remedy)) "." } }
    }
}

fn clauses(clauses: &[AttestedClause]) -> Markup {
    html! {
        h2 { "What regulations ask for" }
        p { "This table is not legal advice. It says what the evidence of this period shows, and what it cannot show." }
        @for clause in clauses {
            h3 { (clause.clause) }
            ul {
                @for shown in &clause.shown {
                    li { strong { (shown.topic) ", " (shown.status.name()) } ": " (HtmlLine(&shown.text)) }
                }
            }
            p { strong { "Not shown; the operator must add: " } (marked(&clause.not_shown)) }
        }
    }
}

/// The public log that the sessions were compared with, in words.
fn public_log(statement: &PeriodStatement) -> String {
    statement.public_log.as_ref().map_or_else(|| "not compared with one".to_owned(), |log| LogText(log).to_string())
}

fn chains(statement: &PeriodStatement) -> Markup {
    let open = || "open: sessions may be missing".to_owned();
    let row = |chain: &crate::AttestedChain| {
        vec![
            chain.key.to_string(),
            chain.seat.to_string(),
            format!("{} to {}", chain.first, chain.last),
            chain.sessions.to_string(),
            if chain.begins { "shown".to_owned() } else { open() },
            match chain.next {
                Some(next) => format!("session {next} follows"),
                None if chain.ends => "the last ticket in the public log".to_owned(),
                None => open(),
            },
        ]
    };
    let rows: Vec<_> = statement.chains.iter().map(row).collect();
    html! {
        h2 { "Cards" }
        (wide("One row per card key and seat", &["Key (SHA-256)", "Seat", "Serials", "Sessions", "Beginning", "End"], &rows))
        @if rows.is_empty() { p { "No session of the period has a place in a chain." } }
    }
}

fn digest(digest: Option<HexBytes<32>>) -> String {
    digest.map_or_else(|| "not known".to_owned(), |digest| digest.to_string())
}

fn policies(statement: &PeriodStatement) -> Markup {
    html! {
        h2 { "Policies in force" }
        @for policy in &statement.policies { (policy_use(policy)) }
    }
}

fn policy_use(policy: &PolicyUse) -> Markup {
    html! {
        h3 { @for package in &policy.packages { (HtmlLine(&package.name)) " " (HtmlLine(&package.version)) " " } }
        p { code { (policy.policy.to_string()) } ", " (policy.sessions) " sessions" }
        ul {
            @for approver in &policy.approvers { li { "approved by " (HtmlLine(&approver.to_string())) } }
            @if policy.approvers.is_empty() { li { "no approval of a trusted key" } }
        }
        @for package in &policy.packages { (words(package)) }
        @if policy.packages.is_empty() { p { "No bundle has the package of these tables." } }
    }
}

fn words(package: &AttestedPackage) -> Markup {
    let row = |rule: &crate::AttestedRule| {
        vec![rule.effect.to_owned(), rule.reason.clone().unwrap_or_default(), rule.id.clone()]
    };
    let rows: Vec<_> = package.rules.iter().map(row).collect();
    html! {
        p { (HtmlLine(&package.description)) }
        @if !package.checks_off.is_empty() { p { "Checks that are off: " (package.checks_off.join("; ")) "." } }
        (wide("Rules", &["Effect", "Reason", "Rule"], &rows))
    }
}

fn changes(statement: &PeriodStatement) -> Markup {
    let row = |change: &crate::PolicyChange| {
        vec![
            change.witnessed.clone().unwrap_or_else(|| "not known".to_owned()),
            format!("{}, seat {}, session {}", change.key, change.seat, change.serial),
            digest(change.before),
            digest(change.after),
            if change.approved { "yes" } else { "no" }.to_owned(),
        ]
    };
    let rows: Vec<_> = statement.changes.iter().map(row).collect();
    html! {
        h2 { "Changes of policy" }
        (wide("Sessions with another policy than the one before", &["Seen at", "Card", "Before", "After", "Approved"], &rows))
        @if rows.is_empty() { p { "None." } }
    }
}

fn counts(statement: &PeriodStatement) -> Markup {
    let number = |n: u64| Some(n.to_string());
    let (totals, modes) = (&statement.totals, &statement.modes);
    let rows = [
        ("Records", number(totals.records)),
        ("Records that a checkpoint covers", number(totals.signed_records)),
        ("Streams", number(totals.streams)),
        ("Streams that were driven", number(modes.driven)),
        ("Streams driven in a client's own conversation", number(modes.driven_conversation)),
        ("Streams held: refused text was kept from readers, not from the engine", number(modes.held)),
        ("Streams recorded before they were judged: nothing was prevented in them", number(modes.recorded)),
        ("Streams observed: readers got the text whatever the verdict was", number(modes.observed)),
        ("Admitted", number(totals.admitted)),
        ("Rejected", number(totals.rejected)),
        ("Split, to be judged in parts", number(totals.decomposed)),
        ("Entries that cards refused because of a fault", number(totals.refused_entries)),
        ("Alarms", number(totals.alarms)),
    ];
    html! {
        h2 { "Counts" }
        (table("Sums over the sessions of the period", &rows))
        (rules("Rejected, by policy and rule", &statement.refusals))
        (rules("Split, by policy and rule", &statement.splits))
    }
}

fn rules(caption: &str, rules: &[RuleRefusalCount]) -> Markup {
    let row = |used: &RuleRefusalCount| {
        vec![
            used.rule.clone().unwrap_or_else(|| "no rule".to_owned()),
            used.reason.clone().unwrap_or_default(),
            used.count.to_string(),
            used.stage.to_owned(),
            digest(used.policy),
        ]
    };
    wide(caption, &["Rule", "Reason", "Count", "Stage", "Policy"], &rules.iter().map(row).collect::<Vec<_>>())
}

fn withheld(statement: &PeriodStatement) -> Markup {
    let row = |withheld: &crate::AttestedWithholding| {
        vec![
            withheld.session.clone(),
            withheld.streams.to_string(),
            withheld.signer.to_string(),
            withheld.reason.clone(),
        ]
    };
    let rows: Vec<_> = statement.withheld.iter().map(row).collect();
    html! {
        h2 { "Removed texts" }
        (wide("Texts that were removed from bundles", &["Session", "Streams", "Signer", "Reason"], &rows))
        @if rows.is_empty() { p { "None." } }
    }
}

fn replay(statement: &PeriodStatement) -> Markup {
    html! {
        h2 { "Replay" }
        @match &statement.replay {
            None => p { "No text was replayed, so this statement does not show that texts were described truly." }
            Some(replay) => {
                @let rows = [
                    ("Result", Some(replay.status.to_string())),
                    ("Largest number of streams per session", Some(replay.sample.to_string())),
                    ("Streams of these sessions", Some(replay.streams.to_string())),
                    ("Streams of the sample that replay", Some(replay.replayed.to_string())),
                    ("Records that equal those of the replay, byte by byte", Some(replay.records.to_string())),
                    ("Sessions with such a stream", Some(replay.sessions.to_string())),
                    ("Seed of the sample", Some(replay.seed.clone())),
                ];
                (table("Every descriptor and verdict of a sample was made again from its text", &rows))
            }
        }
    }
}

fn sessions(statement: &PeriodStatement) -> Markup {
    let row = |session: &crate::AttestedSession| {
        vec![
            session.name.clone(),
            session.status.to_string(),
            session.assurance.map_or_else(|| "none".to_owned(), |level| format!("{level:?}")),
            session.serial.map_or_else(|| "not known".to_owned(), |serial| serial.to_string()),
            session.issuer.as_ref().map_or_else(|| "not known".to_owned(), ToString::to_string),
            session.witnessed.as_ref().map_or_else(|| "not known".to_owned(), |(from, to)| format!("{from} to {to}")),
            session.streams.to_string(),
            session.records.to_string(),
            digest(session.bundle),
        ]
    };
    let head = [
        "Session",
        "Status",
        "Assurance",
        "Serial",
        "Ticket issued by",
        "Seen by a witness",
        "Streams",
        "Records",
        "Bundle digest",
    ];
    html! {
        h2 { "Sessions" }
        (wide("The sessions of the period", &head, &statement.sessions.iter().map(row).collect::<Vec<_>>()))
    }
}

fn not_shown() -> Markup {
    html! {
        h2 { "What is not shown" }
        ul {
            li { "That the reader got text through the gate only. Whoever reads can demand a receipt for each span and check it." }
            li { "That streams outside the sample were described truly. Whoever has the texts can replay them all." }
            li { "That other cards, or other seats of these cards, were not used. Ask the issuer for its list of tickets, and the witness for its logs." }
            li { "That the policies are good ones. They are those that were approved, or those that were loaded." }
            li { "That the cards' keys did not leak." }
        }
    }
}
