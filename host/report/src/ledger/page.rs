//! The page around the streams of a ledger.

use super::model::{LedgerModel, StreamModel};
use super::stream::section;
use crate::escape::Line;
use maud::html;
use portcullis_gate::{Mode, Summary};

/// The page: the texts with admitted, rejected and split spans marked, the reasons, the trust slope with its
/// thresholds, and counts by stage and rule.
#[must_use]
pub fn page(model: &LedgerModel) -> String {
    let header = &model.header;
    let recorded = model.streams.values().any(|s| s.mode == Some(Mode::Recorded));
    let total =
        |of: fn(&Summary) -> u64| -> u64 { model.streams.values().filter_map(|s| s.summary.as_ref()).map(of).sum() };
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
            p.lead { "Policy " b { (Line(&header.policy)) } ", card " b { (Line(&header.card)) } }
            ul.cards { @for (name, n) in cards { li { b { (n) } " " (name) } } }
        }
        @if recorded { p { b { "Recorded streams were judged after the fact: nothing of them was prevented." } } }
        @if model.torn { p.end { "The last write of the ledger was cut short; what it held is not shown." } }
        details {
            summary { "Policy in force and what this page does not prove" }
            dl {
                dt { "Package digest (SHA-256)" } dd { (Line(&header.package_digest)) }
                dt { "Policy digest (SHA-256 of the table image)" } dd { (Line(&header.image_digest)) }
                dt { "Period, host time in ms since 1970, unverified" }
                dd { (model.first_time.unwrap_or(0)) " to " (model.last_time) }
            }
            p {
                "This page is made from the host's ledger. The host is not trusted: the page shows what the host says that the card answered. "
                "It does not prove that no other text reached a reader, nor that the ledger is complete."
            }
        }
        h2 { "Refusals by stage and rule" }
        div.wide {
            table {
                thead { tr { th { "Stage" } th { "Rule or reason" } th { "Count" } } }
                tbody {
                    @for ((stage, rule), n) in &model.rules { tr { td { (Line(stage)) } td { (Line(rule)) } td { (n) } } }
                }
            }
        }
        p.legend {
            span.admit { "admitted" } " " span.reject { "rejected" } " " span.fault { "fault" } " "
            span.admit.part { "part of a split span" } " \u{2014} point at, tap or tab to a span for its reason."
        }
        nav {
            h2 { "Streams" }
            ol {
                @for (number, stream) in &model.streams {
                    li { a href={ "#s" (number) } { (Line(&stream.id)) } (end(stream)) }
                }
            }
        }
        @for (number, stream) in &model.streams { (section(*number, stream, header.thresholds)) }
    };
    crate::page::page(&format!("Portcullis report: {}", header.policy), &content)
}

/// How a stream ended, as the index says it.
fn end(stream: &StreamModel) -> &'static str {
    match &stream.summary {
        Some(summary) if summary.stopped.is_some() => " \u{2014} ended early",
        Some(summary) if summary.rejected > 0 => " \u{2014} with refusals",
        Some(_) => "",
        None => " \u{2014} no end",
    }
}
