//! The part of the page about one stream: its text with marks, its determinations, its end.

use super::model::StreamModel;
use super::plot::plot;
use crate::escape::{HtmlLine, HtmlText};
use maud::{Markup, html};
use portcullis_core::wire::Determination;
use portcullis_gate::{JudgementSummary, SpanJudgement, StreamMode};

fn mark(judged: &SpanJudgement) -> (&'static str, &'static str) {
    match judged.determination.determination {
        Some(Determination::Admit) => ("admit", "admitted"),
        Some(Determination::Reject) => ("reject", "rejected"),
        Some(Determination::Decompose) => ("split", "split"),
        _ => ("fault", "fault"),
    }
}

fn why(judged: &SpanJudgement) -> String {
    let d = &judged.determination;
    let (_, outcome) = mark(judged);
    let mut text = format!("{} {outcome}", d.seq);
    if let (Some(rule), Some(reason)) = (&d.rule, &d.reason) {
        let stage = d.stage.map_or("", |s| s.name());
        text.push_str(&format!(" by {rule} ({stage}): {reason}"));
    }
    for field in &judged.fields {
        text.push_str(&format!("; {} is {}, wanted {}", field.field, field.value, field.condition));
    }
    text
}

pub(super) fn section(number: u64, stream: &StreamModel, thresholds: [u16; 3]) -> Markup {
    let mode = match stream.mode {
        Some(StreamMode::Recorded) => "recorded: the text was there before; it was judged, nothing was prevented",
        Some(StreamMode::Held) => "held: refused text was kept from readers, not from what the engine wrote next",
        Some(StreamMode::Observed) => "observed: the reader got the text whatever the verdict was",
        Some(StreamMode::Driven) => "driven: nothing was released before its admit was recorded",
        Some(StreamMode::DrivenConversation) => {
            "driven in a client's own conversation: nothing was released before its admit was recorded"
        }
        None => "mode unknown: the ledger does not hold its beginning",
    };
    html! {
        section id={ "s" (number) } data-refused=(if stream.is_refused() { "yes" } else { "no" }) {
            h2 { (HtmlLine(&stream.id)) }
            p.mode { (mode) }
            @if !stream.intent.is_empty() { p.intent { b { "Intent" } " " (HtmlText(&stream.intent)) } }
            @match &stream.summary {
                Some(summary) => (totals(summary)),
                None => { p.end { b { "No end" } " the ledger stops before this stream does." } },
            }
            @match &stream.text {
                Some(text) => (recorded(number, text, &stream.judged)),
                None => (candidates(number, &stream.judged)),
            }
            (plot(stream, thresholds))
            (table(stream))
            details { summary { "Released text" } blockquote { (HtmlText(&stream.released)) } }
        }
    }
}

fn totals(summary: &JudgementSummary) -> Markup {
    let counts = [
        ("admitted", summary.admitted),
        ("rejected", summary.rejected),
        ("split", summary.decomposed),
        ("deferred", summary.deferred),
        ("taken back", summary.rolled_back),
        ("faults", summary.faults),
    ];
    html! {
        p.counts { @for (name, n) in counts.into_iter().filter(|(_, n)| *n > 0) { span { (n) " " (name) } " " } }
        @if let Some(end) = &summary.termination {
            p.end {
                b { "Ended early" } " " (HtmlLine(summary.stopped.as_deref().unwrap_or_default()))
                " \u{2014} safe non-execution: what had been admitted stands, nothing else went out. Last sequence " (end.seq) ", slope "
                (end.slope) "."
            }
        }
    }
}

/// A whole text in which the judged spans are marked.
fn recorded(number: u64, text: &str, judged: &[SpanJudgement]) -> Markup {
    let mut leaves: Vec<&SpanJudgement> =
        judged.iter().filter(|j| j.determination.determination != Some(Determination::Decompose)).collect();
    leaves.sort_by_key(|j| (j.determination.start, j.determination.seq));
    let mut parts = Vec::new();
    let mut at = 0;
    for judged in leaves {
        let range = judged.determination.range();
        // If a span waited and was judged again, the page shows the last judgement.
        if range.start < at {
            continue;
        }
        parts.push((
            text.get(at..range.start).unwrap_or_default(),
            judged,
            text.get(range.clone()).unwrap_or_default(),
        ));
        at = range.end;
    }
    html! {
        div.text {
            @for (at, (before, judged, text)) in parts.into_iter().enumerate() { (HtmlText(before)) (span(number, at, judged, text)) }
            (HtmlText(text.get(at..).unwrap_or_default()))
        }
    }
}

/// Candidates in the order in which they were judged.
fn candidates(number: u64, judged: &[SpanJudgement]) -> Markup {
    let leaves = judged.iter().filter(|j| j.determination.determination != Some(Determination::Decompose));
    html! {
        div.text {
            @for (at, judged) in leaves.enumerate() {
                (span(number, at, judged, &format!("{}{}", judged.inert, judged.text)))
            }
        }
    }
}

/// One span of a stream. Assistive tools present the outcome as the span's name, and the reason as its description.
fn span(number: u64, at: usize, judged: &SpanJudgement, text: &str) -> Markup {
    let (class, outcome) = mark(judged);
    let id = format!("s{number}-{at}");
    let part = if judged.determination.parent.is_some() { " part" } else { "" };
    let why = why(judged);
    html! {
        span class={ (class) (part) } tabindex="0" role="group" aria-label={ (outcome) ": " (HtmlText(text)) }
            aria-describedby=(id) title=(HtmlText(&why)) {
            (HtmlText(text)) i.why #(id) { (HtmlText(&why)) }
        }
    }
}

fn table(stream: &StreamModel) -> Markup {
    let mut notes = stream.notes.iter().peekable();
    let note = |text: &str| html! { tr.note { td colspan="4" { (HtmlText(text)) } } };
    let mut rows = Vec::new();
    for (at, judged) in stream.judged.iter().enumerate() {
        while let Some((_, text)) = notes.next_if(|(after, _)| *after <= at) {
            rows.push(note(text));
        }
        let d = &judged.determination;
        let (class, outcome) = mark(judged);
        rows.push(html! {
            tr {
                td { (d.seq) }
                td { span class=(class) { (outcome) } }
                td { @if d.parent.is_some() { "\u{2514} " } (HtmlText(&judged.text)) }
                td { (HtmlText(&why(judged))) }
            }
        });
    }
    rows.extend(notes.map(|(_, text)| note(text)));
    html! {
        details {
            summary { (stream.judged.len()) @if stream.judged.len() == 1 { " determination" } @else { " determinations" } }
            div.wide role="region" aria-label={ "Determinations of " (HtmlLine(&stream.id)) } tabindex="0" {
                table {
                    thead { tr { @for head in ["Seq", "Outcome", "Span", "Why"] { th scope="col" { (head) } } } }
                    tbody { @for row in rows { (row) } }
                }
            }
        }
    }
}
