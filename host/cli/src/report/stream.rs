//! One stream of the page: its text with marks, its determinations, its end.

use super::escape::escape;
use super::model::Stream;
use super::plot::plot;
use portcullis_core::wire::Determination;
use portcullis_gate::{Judgement, Mode};

/// What a span is marked as.
fn mark(judged: &Judgement) -> (&'static str, &'static str) {
    match judged.determination.determination {
        Some(Determination::Admit) => ("admit", "admitted"),
        Some(Determination::Reject) => ("reject", "rejected"),
        Some(Determination::Decompose) => ("split", "split"),
        _ => ("fault", "fault"),
    }
}

/// Why, in a line.
fn why(judged: &Judgement) -> String {
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

/// The section of one stream.
pub(crate) fn section(number: u64, stream: &Stream, thresholds: [u16; 3]) -> String {
    let id = escape(&stream.id);
    let mode = match stream.mode {
        Some(Mode::Recorded) => "recorded: the text was there before; it was judged, nothing was prevented",
        Some(Mode::Held) => "held: refused text was kept from readers, not from what the engine wrote next",
        Some(Mode::Observed) => "observed: the reader got the text whatever the verdict was",
        Some(Mode::Driven) => "driven: nothing was released before its admit was recorded",
        None => "mode unknown: the ledger does not hold its beginning",
    };
    let mut out = format!("<section id=\"s{number}\"><h2>{id}</h2><p class=\"mode\">{mode}</p>");
    if !stream.intent.is_empty() {
        out.push_str(&format!("<p class=\"intent\"><b>Intent</b> {}</p>", escape(&stream.intent)));
    }
    if let Some(summary) = &stream.summary {
        let counts = [
            ("admitted", summary.admitted),
            ("rejected", summary.rejected),
            ("split", summary.decomposed),
            ("deferred", summary.deferred),
            ("taken back", summary.rolled_back),
            ("faults", summary.faults),
        ];
        let shown: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("<span>{n} {name}</span>")).collect();
        out.push_str(&format!("<p class=\"counts\">{}</p>", shown.join(" ")));
        if let Some(end) = &summary.termination {
            out.push_str(&format!(
                "<p class=\"end\"><b>Ended early</b> {} \u{2014} safe non-execution: what had been admitted stands, nothing else \
                 went out. Last sequence {}, slope {}.</p>",
                escape(summary.stopped.as_deref().unwrap_or("")),
                end.seq,
                end.slope
            ));
        }
    } else {
        out.push_str("<p class=\"end\"><b>No end</b> the ledger stops before this stream does.</p>");
    }
    out.push_str(&match &stream.text {
        Some(text) => marked(text, &stream.judged),
        None => told(&stream.judged),
    });
    out.push_str(&plot(stream, thresholds));
    out.push_str(&table(stream));
    out.push_str(&format!(
        "<details><summary>Released text</summary><blockquote>{}</blockquote></details></section>",
        escape(&stream.released)
    ));
    out
}

/// A whole text with its leaves marked in place.
fn marked(text: &str, judged: &[Judgement]) -> String {
    let mut leaves: Vec<&Judgement> =
        judged.iter().filter(|j| j.determination.determination != Some(Determination::Decompose)).collect();
    leaves.sort_by_key(|j| (j.determination.start, j.determination.seq));
    let mut out = String::from("<div class=\"text\">");
    let mut at = 0;
    for judged in leaves {
        let range = judged.determination.range();
        // A span that was judged again, after it had waited, is shown where it was judged last.
        if range.start < at {
            continue;
        }
        out.push_str(&escape(text.get(at..range.start).unwrap_or_default()));
        out.push_str(&span(judged, text.get(range.clone()).unwrap_or_default()));
        at = range.end;
    }
    out.push_str(&escape(text.get(at..).unwrap_or_default()));
    out.push_str("</div>");
    out
}

/// Candidates in the order in which they were judged.
fn told(judged: &[Judgement]) -> String {
    let leaves = judged.iter().filter(|j| j.determination.determination != Some(Determination::Decompose));
    let spans: Vec<String> = leaves.map(|j| span(j, &format!("{}{}", j.inert, j.text))).collect();
    format!("<div class=\"text\">{}</div>", spans.join(""))
}

fn span(judged: &Judgement, text: &str) -> String {
    let (class, _) = mark(judged);
    let part = if judged.determination.parent.is_some() { " part" } else { "" };
    let why = escape(&why(judged));
    let text = escape(text);
    format!("<span class=\"{class}{part}\" tabindex=\"0\" title=\"{why}\">{text}<i class=\"why\">{why}</i></span>")
}

fn table(stream: &Stream) -> String {
    let mut rows = String::new();
    let mut notes = stream.notes.iter().peekable();
    for (at, judged) in stream.judged.iter().enumerate() {
        while let Some((_, note)) = notes.next_if(|(after, _)| *after <= at) {
            rows.push_str(&format!("<tr class=\"note\"><td colspan=\"4\">{}</td></tr>", escape(note)));
        }
        let d = &judged.determination;
        let (class, outcome) = mark(judged);
        let indent = if d.parent.is_some() { "\u{2514} " } else { "" };
        rows.push_str(&format!(
            "<tr><td>{}</td><td><span class=\"{class}\">{outcome}</span></td><td>{indent}{}</td><td>{}</td></tr>",
            d.seq,
            escape(&judged.text),
            escape(&why(judged))
        ));
    }
    for (_, note) in notes {
        rows.push_str(&format!("<tr class=\"note\"><td colspan=\"4\">{}</td></tr>", escape(note)));
    }
    format!(
        "<details><summary>{} determinations</summary><div class=\"wide\"><table><thead><tr><th>Seq</th><th>Outcome</th>\
         <th>Span</th><th>Why</th></tr></thead><tbody>{rows}</tbody></table></div></details>",
        stream.judged.len()
    )
}
