//! The release side of a section: what the client gets, and the report about it.

use super::withheld::{PlacedMark, WithheldMark, WithheldParts};
use crate::calls::IdentifiedCall;
use crate::metrics::GatewayMetrics;
use crate::observe::{ObservedPiece, OwnedSectionInput};
use crate::output::{AnswerChannel, GatedAnswerPart, MOST_REFUSALS, StreamRefusal, StreamReport};
use portcullis_core::hex;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::{EndState, SpanDetermination};
use portcullis_mapping::EngineToolCall;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// What stands in place of a refused JSON number or name.
const NULL: &str = "null";

/// How a section ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionEnd {
    /// Everything was judged.
    Whole,
    /// The gate ended the stream, because no admissible candidate was left.
    Refused,
    /// An error of the card, the session or the input ended the stream.
    Broken,
}

/// A determination and the log index of its record.
#[derive(Clone, Debug)]
pub(crate) struct LoggedDetermination {
    pub(crate) determination: SpanDetermination,
    pub(crate) log_index: Option<u64>,
}

/// Measures the time from a byte's arrival to its release.
struct ReleaseTiming {
    metrics: Arc<GatewayMetrics>,
    /// The waiting pieces: their end offsets in bytes of the text, and their arrival times.
    arrivals: VecDeque<(usize, Instant)>,
}

/// A released tool call: canonical JSON of its name and its arguments. The client gets the arguments in this form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleasedCall {
    name: String,
    arguments: Box<RawValue>,
}

impl From<ReleasedCall> for EngineToolCall {
    fn from(ReleasedCall { name, arguments }: ReleasedCall) -> Self {
        Self { name, arguments: arguments.get().to_owned() }
    }
}

/// What left a section, and how it ended.
pub(super) struct TextRelease {
    pub(super) report: StreamReport,
    /// Text that replaces a refused part; `None` if a refusal ends the stream.
    placeholder: Option<Arc<str>>,
    /// Whether the report has the reasons of refusing rules.
    describes: bool,
    /// The refused parts that are not yet replaced by the placeholder.
    pub(super) withheld: WithheldParts,
    /// Length of the released text in bytes.
    released: usize,
    /// Length of the outputs in bytes.
    written: usize,
    /// Lane of the card, once BEGIN was read.
    pub(super) begun_on: Option<u8>,
    pub(super) end: Option<SectionEnd>,
    /// The end state, from which a successor can start.
    pub(super) state: Option<Arc<EndState>>,
    /// Why the gateway refused the stream at its BEGIN.
    pub(super) refusal: Option<&'static str>,
    /// The determinations since they were last taken, if a caller asked for them.
    pub(super) judged: Option<Vec<LoggedDetermination>>,
    timing: Option<ReleaseTiming>,
}

/// Where the outputs of one step go.
pub(super) struct OutputWriter<'a> {
    /// Number of calls of the choice so far.
    pub(super) call_index: &'a mut u32,
    pub(super) outputs: Vec<GatedAnswerPart>,
}

impl TextRelease {
    pub(super) const fn new(report: StreamReport, placeholder: Option<Arc<str>>, describes: bool) -> Self {
        Self {
            report,
            placeholder,
            describes,
            withheld: WithheldParts::new(),
            released: 0,
            written: 0,
            begun_on: None,
            end: None,
            state: None,
            refusal: None,
            judged: None,
            timing: None,
        }
    }

    /// Measures the time from a byte's arrival to its release.
    pub(super) fn measure(&mut self, metrics: Arc<GatewayMetrics>) {
        self.timing = Some(ReleaseTiming { metrics, arrivals: VecDeque::new() });
    }

    /// Notes that text up to this offset has arrived.
    pub(super) fn note_arrival(&mut self, end: usize) {
        if let Some(timing) = &mut self.timing {
            timing.arrivals.push_back((end, Instant::now()));
        }
    }

    /// Length of the released text in bytes.
    pub(super) const fn released(&self) -> usize {
        self.released
    }

    const fn place(&self) -> (u32, AnswerChannel) {
        (self.report.choice, self.report.channel)
    }

    /// Adds the id of a refusal to the report.
    pub(super) fn add_rule(&mut self, rule: &str) {
        if !self.report.rules.iter().any(|known| known == rule) {
            self.report.rules.push(rule.to_owned());
        }
    }

    /// Adds a refusal to the report, without its text.
    fn add_refusal(&mut self, SpanDetermination { stream, seq, start, end, rule, reason, .. }: &SpanDetermination) {
        if self.report.refusals.len() < MOST_REFUSALS {
            self.report.refusals.push(StreamRefusal {
                code: rule.clone().unwrap_or_else(|| "FAULT".to_owned()),
                description: reason.clone().filter(|_| self.describes),
                id: format!("{stream}/{seq}"),
                place: (*start, end - start),
            });
        }
    }

    pub(super) fn determined(&mut self, determination: &SpanDetermination) {
        let is_judged = determination.determination != Some(Answer::Decompose);
        if let Some(ReleaseTiming { metrics, arrivals }) = self.timing.as_mut().filter(|_| is_judged) {
            while let Some((_, arrived)) = arrivals.pop_front_if(|(end, _)| *end <= determination.end) {
                if determination.determination == Some(Answer::Admit) {
                    metrics.held(arrived.elapsed());
                }
            }
        }
        match determination.determination {
            Some(Answer::Admit) => self.report.admitted += 1,
            Some(Answer::Decompose) => {}
            _ => {
                self.report.rejected += 1;
                let mark = if determination.bare_value { WithheldMark::Null } else { WithheldMark::Placeholder };
                self.withheld.add(determination.range(), mark);
                if let Some(rule) = &determination.rule {
                    self.add_rule(rule);
                }
                self.add_refusal(determination);
            }
        }
    }

    /// Sends released text, with calls at these ranges.
    pub(super) fn release(&mut self, text: &str, calls: Vec<Range<usize>>, writer: &mut OutputWriter<'_>) {
        self.released += text.len();
        let mut places = self.withheld.places(text);
        let mut from = 0;
        for call in calls {
            let before = places.iter().filter(|(place, _)| *place <= call.start).count();
            self.marked_text(text, from..call.start, places.drain(..before), writer);
            self.call(text.get(call.clone()).unwrap_or_default(), writer);
            from = call.end;
        }
        self.marked_text(text, from..text.len(), places.into_iter(), writer);
    }

    /// Sends a part of a text, with placeholders at these places.
    fn marked_text(
        &mut self,
        text: &str,
        part: Range<usize>,
        places: impl Iterator<Item = PlacedMark>,
        writer: &mut OutputWriter<'_>,
    ) {
        let mut from = part.start;
        for (place, mark) in places {
            self.text(text.get(from..place).unwrap_or_default(), writer);
            self.mark(mark, writer);
            from = place.max(from);
        }
        self.text(text.get(from..part.end).unwrap_or_default(), writer);
    }

    /// Sends text of an observed stream.
    pub(super) fn pass(&mut self, passing: Vec<ObservedPiece>, writer: &mut OutputWriter<'_>) {
        for ObservedPiece { given, is_refused } in passing {
            match given {
                OwnedSectionInput::Text(text) => {
                    if is_refused {
                        self.report.refused.push((self.written, text.len()));
                    }
                    self.text(&text, writer);
                }
                OwnedSectionInput::Call(call) => {
                    if is_refused {
                        self.report.refused_calls.push(*writer.call_index);
                    }
                    self.show_call(call, writer);
                }
            }
        }
    }

    /// Puts the placeholder at the place of a refusal.
    fn mark(&mut self, mark: WithheldMark, writer: &mut OutputWriter<'_>) {
        if let Some(placeholder) = self.placeholder.clone() {
            let shown = if mark == WithheldMark::Null { NULL } else { &*placeholder };
            writer.outputs.push(self.constant(shown));
        }
    }

    /// Puts the placeholder at the end of the text if its last part was refused.
    pub(super) fn mark_end(&mut self, writer: &mut OutputWriter<'_>) {
        if self.withheld.end() {
            self.mark(WithheldMark::Placeholder, writer);
        }
    }

    /// Forgets the places of outputs that the client does not get.
    pub(super) fn take_back(&mut self) {
        self.report.constants.clear();
        self.written = 0;
    }

    /// A constant at the end of the section's text.
    pub(super) fn constant(&mut self, text: &str) -> GatedAnswerPart {
        self.report.constants.push((self.written, text.len()));
        self.written += text.len();
        let (choice, channel) = self.place();
        GatedAnswerPart::Constant { choice, channel, text: text.to_owned() }
    }

    fn text(&mut self, text: &str, writer: &mut OutputWriter<'_>) {
        if !text.is_empty() {
            self.written += text.len();
            let (choice, channel) = self.place();
            writer.outputs.push(GatedAnswerPart::Text { choice, channel, text: text.to_owned() });
        }
    }

    /// Sends a call in the form to which its record commits.
    fn call(&mut self, text: &str, writer: &mut OutputWriter<'_>) {
        // The gate writes this text, so it always parses. If it did not, the stream would break, so that the client
        // notices the incomplete answer.
        match serde_json::from_str::<ReleasedCall>(text) {
            Ok(call) => self.show_call(call.into(), writer),
            Err(_) => self.end = Some(SectionEnd::Broken),
        }
    }

    fn show_call(&self, call: EngineToolCall, writer: &mut OutputWriter<'_>) {
        let index = *writer.call_index;
        *writer.call_index += 1;
        // Some servers accept ids of at most 40 characters in later requests.
        let digest: [u8; 32] = Sha256::digest(format!("{}/{index}", self.report.id)).into();
        let id = format!("call_{}", hex::encode(digest.first_chunk::<12>().unwrap_or(&[0; 12])));
        let call = IdentifiedCall { id, call };
        writer.outputs.push(GatedAnswerPart::Call { choice: self.report.choice, index, call });
    }
}
