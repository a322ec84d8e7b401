//! A report as one HTML page: no scripts, nothing from elsewhere.

use super::text::is_invisible;
use crate::verify::{Assurance, Property, Report, Status, Summary, WithholdingUse};
use portcullis_core::hex::Hex;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// The page. `name` is what the bundle is called.
#[must_use]
pub fn html(report: &Report, name: &str) -> String {
    let mut page = String::new();
    let name = escape(name);
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>Evidence report: {name}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Evidence report</h1>\n<p class=\"name\">{name}</p>\n"
    );
    banner(&mut page, report);
    properties(&mut page, report);
    period(&mut page, &report.session);
    policy(&mut page, &report.session);
    profiles(&mut page, &report.session);
    counts(&mut page, &report.session);
    device(&mut page, report);
    not_shown(&mut page, report);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// Text for HTML. Characters that reorder or hide text are shown as their code points.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(out, "[U+{:04X}]", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

const fn mark(status: Status) -> &'static str {
    match status {
        Status::Affirmed => "\u{2713}",
        Status::Warned => "!",
        Status::Contradicted => "\u{2717}",
    }
}

fn banner(page: &mut String, report: &Report) {
    if report.simulated {
        page.push_str(
            "<p class=\"banner contradicted\"><strong>Simulated.</strong> The key of this card is public: anybody can make evidence \
             like this. It shows how evidence looks and nothing else.</p>\n",
        );
    }
    let words = match report.status {
        Status::Affirmed => "Everything that was checked holds.",
        Status::Warned => "What was checked holds. Something is missing or could not be checked.",
        Status::Contradicted => "Something in this evidence is false, or it is not believed.",
    };
    let (class, mark) = (report.status.name(), mark(report.status));
    let _ = writeln!(
        page,
        "<p class=\"banner {class}\"><span class=\"mark\">{mark}</span> <strong>{class}.</strong> {words}</p>"
    );
}

fn properties(page: &mut String, report: &Report) {
    page.push_str("<h2>What is affirmed</h2>\n");
    for property in Property::ALL {
        let conclusion = report.properties.of(property);
        let (class, mark) = (conclusion.status.name(), mark(conclusion.status));
        let (title, claim) = (property.name().replace('_', " "), property.claim());
        let _ = write!(
            page,
            "<section class=\"property {class}\">\n<h3><span class=\"mark\">{mark}</span> {title}: {class}</h3>\n<p>Claim: {claim}.</p>\n"
        );
        if !conclusion.reasons.is_empty() {
            page.push_str("<ul>\n");
            for reason in &conclusion.reasons {
                let times = if reason.count > 1 { format!(", {} times", reason.count) } else { String::new() };
                let (detail, status) = (escape(&reason.detail), reason.status.name());
                let _ = writeln!(page, "<li><code>{}</code> ({status}{times}): {detail}</li>", reason.code);
            }
            page.push_str("</ul>\n");
        }
        page.push_str("</section>\n");
    }
}

/// A two-column table of what is known.
fn table(page: &mut String, rows: &[(&str, Option<String>)]) {
    page.push_str("<table>\n");
    for (name, value) in rows {
        let value = value.as_deref().map_or_else(|| "<em>not known</em>".to_owned(), escape);
        let _ = writeln!(page, "<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
    }
    page.push_str("</table>\n");
}

fn hex<const N: usize>(digest: Option<Hex<N>>) -> Option<String> {
    digest.map(|digest| digest.to_string())
}

fn period(page: &mut String, session: &Summary) {
    page.push_str("<h2>Period of use</h2>\n");
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
    table(page, &rows);
    page.push_str("<p>The card has no clock of its own. A record was made between the times at which the witness saw the checkpoints around it; \
                   times of the host are not used.</p>\n");
}

fn policy(page: &mut String, session: &Summary) {
    page.push_str("<h2>Policy in force</h2>\n");
    let rows = [
        ("Policy digest (SHA-256 of the tables)", hex(session.policy_digest)),
        ("Package digest", hex(session.package_digest)),
        ("Version of the mapping", session.mapping_version.map(|version| version.to_string())),
    ];
    table(page, &rows);
    page.push_str("<h3>Approvals</h3>\n<ul>\n");
    for approval in &session.approvals {
        let _ = writeln!(page, "<li>{}</li>", escape(&approval.to_string()));
    }
    if session.approvals.is_empty() {
        page.push_str("<li>no approval is in the bundle, or none that is trusted</li>\n");
    }
    page.push_str("</ul>\n");
    if !session.withholdings.is_empty() {
        page.push_str("<h3>Withheld texts</h3>\n<ul>\n");
    }
    for WithholdingUse { signer, reason, streams, .. } in &session.withholdings {
        let (signer, reason) = (escape(&signer.to_string()), escape(reason));
        let _ = writeln!(page, "<li>the texts of {streams} streams, by {signer}: {reason}</li>");
    }
    if !session.withholdings.is_empty() {
        page.push_str("</ul>\n");
    }
}

fn profiles(page: &mut String, session: &Summary) {
    page.push_str(
        "<h2>Profiles</h2>\n<p>A profile says what the operator claims of the agent: its domain, its audience, its register. Rules can depend \
         on it. The operator chose it, unless the ticket permits certain profiles only. A value that is not given is the first that the \
         policy declares.</p>\n<table>\n<tr><th scope=\"col\">Profile (SHA-256)</th><th scope=\"col\">Streams</th><th scope=\"col\">Says</th></tr>\n",
    );
    for (digest, profile) in &session.profiles {
        let (streams, says) = (profile.streams, escape(&profile.to_string()));
        let _ = writeln!(page, "<tr><td>{digest}</td><td>{streams}</td><td>{says}</td></tr>");
    }
    if session.profile_unknown > 0 {
        let _ = writeln!(page, "<tr><td><em>not known</em></td><td>{}</td><td></td></tr>", session.profile_unknown);
    }
    page.push_str("</table>\n");
    let pinned = match session.profiles_pinned {
        Some(true) => "The ticket permits certain profiles only.",
        Some(false) => "The ticket permits any profile.",
        None => "The ticket could not be read.",
    };
    let _ = writeln!(page, "<p>{pinned}</p>");
}

fn counts(page: &mut String, session: &Summary) {
    let counts = &session.counts;
    page.push_str("<h2>Counts</h2>\n<p>As the card recorded them, refused candidates included.</p>\n");
    let number = |n: u64| Some(n.to_string());
    let rows = [
        ("Lanes of the card, each with a log", number(session.lanes.into())),
        ("Records", number(session.records)),
        ("Records that follow the rules of a log, and are counted here", number(counts.records)),
        ("Records that a checkpoint covers", number(session.signed_records)),
        ("Streams", number(counts.streams)),
        ("Streams that were driven", number(session.modes.driven)),
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
    table(page, &rows);
    if !session.refusals.is_empty() {
        page.push_str(
            "<h3>Rejected and decomposed, by what decided</h3>\n<p>Rules and their reasons are those of the package in the bundle; \
             without it, their numbers in the order of their ids. No row: nothing permitted the span, or a check of the host decided.</p>\n\
             <table>\n<tr><th scope=\"col\">Stage</th><th scope=\"col\">Rule</th><th scope=\"col\">Reason</th>\
             <th scope=\"col\">Row</th><th scope=\"col\">Count</th></tr>\n",
        );
        for refusal in &session.refusals {
            let number = |n: Option<u16>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let (stage, row, count) = (refusal.stage.name(), number(refusal.row), refusal.count);
            let rule = refusal.id.as_deref().map_or_else(|| number(refusal.rule), escape);
            let reason = escape(refusal.reason.as_deref().unwrap_or_default());
            let _ = writeln!(
                page,
                "<tr><td>{stage}</td><td>{rule}</td><td>{reason}</td><td>{row}</td><td>{count}</td></tr>"
            );
        }
        page.push_str("</table>\n");
    }
    if !counts.refused.is_empty() {
        page.push_str("<h3>Entries that the card refused, by fault</h3>\n<table>\n");
        for (refused, count) in &counts.refused {
            let _ = writeln!(page, "<tr><th scope=\"row\">{}</th><td>{count}</td></tr>", refused.fault);
        }
        page.push_str("</table>\n");
    }
}

fn device(page: &mut String, report: &Report) {
    page.push_str("<h2>Card and assurance</h2>\n");
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
    table(page, &rows);
}

fn not_shown(page: &mut String, report: &Report) {
    page.push_str("<h2>What is not proved</h2>\n<ul>\n");
    for text in [
        "That the reader got text through the gate only. Whoever reads can demand a receipt for each span and check it.",
        "That texts were turned into descriptors as the policy says. That runs on the operator's host; a replay of the disclosed texts \
         detects a lie, this report does not replay.",
        "That the policy is a good one. It is the one that was approved, or the one that was loaded.",
        "That no refused text was tried elsewhere first. Refusals counted here are a lower bound.",
        "That the card's key did not leak at its manufacturer, at the cloud provider, or in a laboratory.",
    ] {
        let _ = writeln!(page, "<li>{text}</li>");
    }
    if report.session.modes.recorded > 0 {
        page.push_str(
            "<li>That anything was prevented in recorded streams: their text existed before it was judged.</li>\n",
        );
    }
    page.push_str("</ul>\n");
}

/// A Unix second as a date and time in UTC (ISO 8601).
fn utc(second: u64) -> String {
    let (days, rest) = (second / 86_400, second % 86_400);
    // Days since 0000-03-01 in 400-year eras of 146,097 days, years beginning in March, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + carry;
    format!("{year:04}-{month:02}-{of_month:02} {:02}:{:02}:{:02} UTC", rest / 3600, rest / 60 % 60, rest % 60)
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
        utc(u64::MAX / 2);
    }

    #[test]
    fn hostile_text_is_shown() {
        assert_eq!(escape("<b onx='1'>&\"\u{202e}\n"), "&lt;b onx=&#39;1&#39;&gt;&amp;&quot;[U+202E][U+000A]");
    }
}
