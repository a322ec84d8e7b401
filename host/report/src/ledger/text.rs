//! A ledger as text: events as lines, determinations as CSV.

use crate::escape::printable;
use portcullis_gate::StreamEventKind;
use portcullis_gate::engine::EngineProposal;
use portcullis_gate::ledger::LedgerEntry;

/// An event as one line. The caller must escape names and texts in it, with [`printable`].
#[must_use]
pub fn line(what: &StreamEventKind) -> String {
    match what {
        StreamEventKind::Begun { context, .. } => format!("begun, {}: {:?}", context.mode.name(), context.task.intent),
        StreamEventKind::Proposed(answer) => match answer.as_ref() {
            Ok(EngineProposal::Candidate(candidate)) => {
                let absent = candidate.logprobs_absent.as_ref();
                let absent = absent.map_or_else(String::new, |why| format!(", uncertainty unknown: {why}"));
                match &candidate.call {
                    Some(call) => format!("proposed a call of {:?} with {:?}{absent}", call.name, call.arguments),
                    None => format!("proposed {:?}{absent}", candidate.text),
                }
            }
            Ok(EngineProposal::Exhausted) => "nothing more was proposed".into(),
            Ok(EngineProposal::End) => "the engine ended the text".into(),
            Err(error) => format!("no proposal: {error}"),
        },
        StreamEventKind::Determined(judged) => {
            let d = &judged.determination;
            let outcome = d.determination.map_or("fault", |d| d.name());
            let parent = d.parent.map_or_else(String::new, |p| format!(" (part of {p})"));
            let why = match (&d.rule, &d.reason) {
                (Some(rule), Some(reason)) => format!("  [{rule}: {reason}]"),
                _ => String::new(),
            };
            let fields: Vec<String> =
                judged.fields.iter().map(|f| format!("{} is {}, wanted {}", f.field, f.value, f.condition)).collect();
            let fields = if fields.is_empty() { String::new() } else { format!(" {}", fields.join("; ")) };
            format!("{:>4} {outcome:<9}{parent} {:?}{why}{fields} slope {}", d.seq, judged.text, judged.slope)
        }
        StreamEventKind::Deferred { seq, rule, expiry } => {
            format!("{seq:>4} deferred for {rule}, {expiry} steps at most")
        }
        StreamEventKind::Expired { seq } => format!("{seq:>4} expired"),
        StreamEventKind::RolledBack { to, transitions } => {
            format!("rolled back to {to}: {transitions:?} were taken back")
        }
        StreamEventKind::Drift { seq, level, slope } => format!("{seq:>4} drift: {} at {slope}", level.name()),
        StreamEventKind::Released { seqs, text, calls } if calls.is_empty() => format!("released {seqs:?}: {text:?}"),
        StreamEventKind::Released { seqs, text, calls } => format!("released {seqs:?}: {text:?}, calls at {calls:?}"),
        StreamEventKind::Ended { summary, .. } => match &summary.stopped {
            Some(why) => format!("ended early: {why}"),
            None => "ended".to_owned(),
        },
    }
}

/// Column names of [`csv_record`].
pub const CSV_HEAD: [&str; 17] = [
    "id",
    "stream",
    "seq",
    "parent",
    "depth",
    "start",
    "end",
    "category",
    "determination",
    "stage",
    "rule",
    "reason",
    "slope",
    "tick",
    "log_index",
    "host_time_unverified",
    "text",
];

/// The determination in an entry as CSV fields; `None` for other entries.
#[must_use]
pub fn csv_record(entry: &LedgerEntry) -> Option<[String; 17]> {
    let StreamEventKind::Determined(judged) = &entry.event.what else { return None };
    let d = &judged.determination;
    let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    Some([
        printable(&d.id),
        d.stream.to_string(),
        d.seq.to_string(),
        number(d.parent.map(u64::from)),
        d.depth.to_string(),
        d.start.to_string(),
        d.end.to_string(),
        d.category.name().to_owned(),
        d.determination.map_or("fault", |d| d.name()).to_owned(),
        d.stage.map_or("", |s| s.name()).to_owned(),
        d.rule.clone().unwrap_or_default(),
        d.reason.clone().unwrap_or_default(),
        judged.slope.to_string(),
        number(judged.tick),
        number(judged.log_index),
        entry.host_time_unverified.to_string(),
        judged.text.clone(),
    ])
}
