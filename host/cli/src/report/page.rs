//! The page around the streams.

use super::escape::escape;
use super::model::Model;
use super::stream::section;
use portcullis_gate::Mode;

const STYLE: &str = include_str!("style.css");

/// Streams that are opened at first; the rest wait behind the index.
pub(crate) fn page(model: &Model) -> String {
    let header = &model.header;
    let recorded = model.streams.values().any(|s| s.mode == Some(Mode::Recorded));
    let total = |of: fn(&portcullis_gate::Summary) -> u64| -> u64 {
        model.streams.values().filter_map(|s| s.summary.as_ref()).map(of).sum()
    };
    let cards = [
        ("streams", model.streams.len() as u64),
        ("admitted", total(|s| s.admitted)),
        ("rejected", total(|s| s.rejected)),
        ("split", total(|s| s.decomposed)),
        ("faults", total(|s| s.faults)),
    ];
    let cards: String = cards.iter().map(|(name, n)| format!("<li><b>{n}</b> {name}</li>")).collect();
    let rules: String = model
        .rules
        .iter()
        .map(|((stage, rule), n)| format!("<tr><td>{}</td><td>{}</td><td>{n}</td></tr>", escape(stage), escape(rule)))
        .collect();
    let index: String = model
        .streams
        .iter()
        .map(|(number, s)| {
            let state = match &s.summary {
                Some(summary) if summary.stopped.is_some() => " \u{2014} ended early",
                Some(summary) if summary.rejected > 0 => " \u{2014} with refusals",
                Some(_) => "",
                None => " \u{2014} no end",
            };
            format!("<li><a href=\"#s{number}\">{}</a>{state}</li>", escape(&s.id))
        })
        .collect();
    let sections: String = model.streams.iter().map(|(n, s)| section(*n, s, header.thresholds)).collect();
    let judged = if recorded {
        "<p><b>Recorded streams were judged after the fact: nothing of them was prevented.</b></p>"
    } else {
        ""
    };
    let torn = if model.torn {
        "<p class=\"end\">The last write of the ledger was cut short; what it held is not shown.</p>"
    } else {
        ""
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Portcullis report: {policy}</title><style>{STYLE}</style></head><body><main>\
         <header><h1>Governed text</h1><p class=\"lead\">Policy <b>{policy}</b>, card <b>{card}</b></p><ul class=\"cards\">{cards}</ul></header>\
         {judged}{torn}\
         <details><summary>Policy in force and what this page does not prove</summary><dl>\
         <dt>Package digest (SHA-256)</dt><dd>{package}</dd><dt>Policy digest (SHA-256 of the table image)</dt><dd>{image}</dd>\
         <dt>Period, host time in ms since 1970, unverified</dt><dd>{first} to {last}</dd></dl>\
         <p>This page is made from the host's ledger. The host is not trusted: the page shows what the host says that the card answered. It \
         does not prove that no other text reached a reader, nor that the ledger is complete.</p></details>\
         <h2>Refusals by stage and rule</h2><div class=\"wide\"><table><thead><tr><th>Stage</th><th>Rule or reason</th><th>Count</th></tr></thead>\
         <tbody>{rules}</tbody></table></div>\
         <p class=\"legend\"><span class=\"admit\">admitted</span> <span class=\"reject\">rejected</span> <span class=\"fault\">fault</span> <span class=\"admit part\">part of a split span</span> \
         \u{2014} point at, tap or tab to a span for its reason.</p>\
         <nav><h2>Streams</h2><ol>{index}</ol></nav>{sections}</main></body></html>\n",
        policy = escape(&header.policy),
        card = escape(&header.card),
        package = escape(&header.package_digest),
        image = escape(&header.image_digest),
        first = model.first_time.unwrap_or(0),
        last = model.last_time,
    )
}
