//! What the page shows, gathered from the entries.

use portcullis_gate::ledger::{Entry, Header};
use portcullis_gate::{Judgement, Mode, Summary, What};
use std::collections::BTreeMap;

/// Everything that the page shows.
pub(crate) struct Model {
    pub(crate) header: Header,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) torn: bool,
    /// Refusals by stage and rule.
    pub(crate) rules: BTreeMap<(String, String), u64>,
    pub(crate) first_time: Option<u64>,
    pub(crate) last_time: u64,
}

/// One stream.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) id: String,
    pub(crate) mode: Option<Mode>,
    pub(crate) intent: String,
    pub(crate) text: Option<String>,
    pub(crate) judged: Vec<Judgement>,
    /// Other events in words, each after so many determinations.
    pub(crate) notes: Vec<(usize, String)>,
    pub(crate) released: String,
    pub(crate) summary: Option<Summary>,
}

impl Model {
    pub(crate) fn new(header: Header) -> Self {
        Self { header, streams: BTreeMap::new(), torn: false, rules: BTreeMap::new(), first_time: None, last_time: 0 }
    }

    pub(crate) fn take(&mut self, entry: Entry) {
        self.first_time.get_or_insert(entry.host_time_unverified);
        self.last_time = entry.host_time_unverified;
        let stream = self.streams.entry(entry.event.stream).or_default();
        let after = stream.judged.len();
        match entry.event.what {
            What::Begun { id, context, text, .. } => {
                // A ledger that is gone on with numbers its streams anew; the last of a number is shown.
                *stream =
                    Stream { id, mode: Some(context.mode), intent: context.task.intent, text, ..Stream::default() };
            }
            What::Determined(judged) => {
                if let Some(rule) = &judged.determination.rule {
                    let stage = judged.determination.stage.map_or("fault", |s| s.name()).to_owned();
                    *self.rules.entry((stage, rule.clone())).or_default() += 1;
                }
                stream.judged.push(*judged);
            }
            What::Deferred { seq, rule, expiry } => {
                stream.notes.push((after, format!("{seq} waits for information ({rule}), {expiry} steps at most")));
            }
            What::Expired { seq } => stream.notes.push((after, format!("{seq} was given up"))),
            What::RolledBack { to, transitions } => {
                stream.notes.push((after, format!("rolled back to {to}: {transitions:?} were taken back")));
            }
            What::Drift { seq, level, slope } => {
                stream.notes.push((after, format!("drift {} at {seq}, slope {slope}", level.name())));
            }
            What::Proposed(_) => {}
            What::Released { text, .. } => stream.released.push_str(&text),
            What::Ended { summary, .. } => stream.summary = Some(summary),
        }
    }
}
