//! The HTML page of a ledger, except the parts about single streams.

use super::model::{LedgerModel, RuleCounts, StreamModel};
use super::stream::section;
use crate::escape::HtmlLine;
use crate::page::{PageOrigin, table};
use crate::time::utc;
use maud::{Markup, html};
use portcullis_gate::{JudgementSummary, StreamMode};

/// Smallest number of streams for which the page has a search.
const SEARCHED_FROM: usize = 5;
/// Smallest number of streams for which the list of streams is folded.
const FOLDED_FROM: usize = 40;

/// The page: texts with admitted, rejected and split spans marked, the reasons, the trust slope with its thresholds,
/// and counts by stage and rule.
#[must_use]
pub fn page(model: &LedgerModel, origin: &PageOrigin) -> String {
    let header = &model.header;
    let recorded = model.streams.values().any(|s| s.mode == Some(StreamMode::Recorded));
    let total = |of: fn(&JudgementSummary) -> u64| -> u64 {
        model.streams.values().filter_map(|s| s.summary.as_ref()).map(of).sum()
    };
    let cards = [
        ("streams", model.streams.len() as u64),
        ("admitted", total(|s| s.admitted)),
        ("rejected", total(|s| s.rejected)),
        ("split", total(|s| s.decomposed)),
        ("faults", total(|s| s.faults)),
    ];
    let content = html! {
        header {
            h1 { "Governed text" }
            p.lead { "Policy " b { (HtmlLine(&header.policy)) } ", card " b { (HtmlLine(&header.card)) } }
            ul.cards { @for (name, n) in cards { li { b { (n) } " " (name) } } }
        }
        @if recorded { p { b { "Recorded streams were judged after the fact: nothing of them was prevented." } } }
        @if model.torn { p.end { "The last write of the ledger was cut short; what it held is not shown." } }
        (about(model, origin))
        h2 { "Refusals by stage and rule" }
        (counts("Rejected spans", &model.rejects))
        @if !model.splits.is_empty() {
            (counts("Split spans, whose parts were judged again", &model.splits))
        }
        @if !model.faults.is_empty() { (counts("Faults", &model.faults)) }
        p.legend {
            span.admit { "admitted" } " " span.reject { "rejected" } " " span.fault { "fault" } " "
            span.admit.part { "part of a split span" } " \u{2014} point at, tap or tab to a span for its reason."
        }
        (index(model))
        @for (number, stream) in &model.streams { (section(*number, stream, header.thresholds)) }
    };
    crate::page::page(&format!("Portcullis report: {}", header.policy), &content)
}

fn about(model: &LedgerModel, origin: &PageOrigin) -> Markup {
    let header = &model.header;
    let host = |milliseconds: u64| utc(milliseconds / 1000);
    let period = model.first_time.map(|first| format!("{} to {}", host(first), host(model.last_time)));
    let rows = [
        ("Package digest (SHA-256)", Some(header.package_digest.clone())),
        ("Policy digest (SHA-256 of the table image)", Some(header.image_digest.clone())),
        ("Period by the host's clock, unverified", period),
        ("Page made", origin.time()),
        ("Program", Some(origin.program.clone())),
    ];
    html! {
        details {
            summary { "Policy in force and what this page does not prove" }
            (table("Policy, period and origin of this page", &rows))
            p {
                "This page is made from the host's ledger. The host is not trusted: the page shows what the host says that the card answered. "
                "It does not prove that no other text reached a reader, nor that the ledger is complete."
            }
        }
    }
}

fn counts(caption: &str, counts: &RuleCounts) -> Markup {
    html! {
        div.wide role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for head in ["Stage", "Rule or reason", "Count"] { th scope="col" { (head) } } } }
                tbody {
                    @for ((stage, rule), n) in counts { tr { td { (HtmlLine(stage)) } td { (HtmlLine(rule)) } td { (n) } } }
                    @if counts.is_empty() { tr { td colspan="3" { "none" } } }
                }
            }
        }
    }
}

/// The list of streams, with a search.
fn index(model: &LedgerModel) -> Markup {
    let list = html! {
        ol {
            @for (number, stream) in &model.streams {
                li id={ "to-s" (number) } { a href={ "#s" (number) } { (HtmlLine(&stream.id)) } (end(stream)) }
            }
        }
    };
    html! {
        nav aria-label="Streams" {
            h2 { "Streams" }
            @if model.streams.len() >= SEARCHED_FROM {
                // The script shows this element, because the search only works with the script.
                div #filter hidden role="search" {
                    label for="words" { "Search" } " " input #words type="search" autocomplete="off"; " "
                    label { input #refused type="checkbox"; " refusals only" } " "
                    output #count for="words refused" {}
                }
            }
            @if model.streams.len() >= FOLDED_FROM {
                details { summary { (model.streams.len()) " streams" } (list) }
            } @else { (list) }
        }
    }
}

/// How a stream ended, in words for the list.
fn end(stream: &StreamModel) -> &'static str {
    match &stream.summary {
        Some(summary) if summary.stopped.is_some() => " \u{2014} ended early",
        Some(summary) if summary.rejected > 0 => " \u{2014} with refusals",
        Some(_) => "",
        None => " \u{2014} no end",
    }
}
