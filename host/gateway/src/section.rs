//! One governed stream of an answer: the model's text in one channel of one choice.

use crate::calls::IdentifiedCall;
use crate::config::AnswerMode;
use crate::metrics::Metrics;
use crate::observe::{Given, Observer, Passed, Passing};
use crate::output::{Channel, Output, StreamReport};
use crate::reading::{ReadingFailed, reading};
use portcullis_core::context::OnRefuse;
use portcullis_core::hex;
use portcullis_core::manifest::AfterRefusal;
use portcullis_gate::engine::ProposalRequest;
use portcullis_gate::{Determination, EndState, EventKind, Governor, Part, PartReader, SessionClosed, StreamHandle};
use portcullis_gate::{StreamMessage, SubmitError, Trigger};
use portcullis_mapping::{Call, NotUtf8, RepeatedKey, json_document};
use portcullis_recorder::ProofBook;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

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

/// Why a text cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnfitText {
    #[error("a text that is not UTF-8, or that ends inside a character")]
    NotUtf8(#[from] NotUtf8),
    #[error(transparent)]
    RepeatedKey(#[from] RepeatedKey),
    #[error(transparent)]
    ReadingFailed(#[from] ReadingFailed),
}

pub(crate) struct Section {
    choice: u32,
    channel: Channel,
    id: String,
    stream: StreamHandle,
    /// `None` once the text is complete.
    reader: Option<PartReader>,
    /// Whether the section's parts are submitted: all earlier sections of its choice have been sent.
    live: bool,
    /// Parts that are not submitted yet, because the session is full or the section is not live.
    waiting: VecDeque<Part>,
    /// Text that replaces a refused part; `None` if a refusal ends the stream.
    placeholder: Option<Arc<str>>,
    /// A part was refused and not yet replaced by the placeholder.
    unmarked: bool,
    /// Outputs that are sent only at the end, for a section that must be complete.
    held: Option<Vec<Output>>,
    /// The JSON document that has arrived so far, for a section whose text must be one. It is judged when it is
    /// complete, in the gate's own encoding.
    document: Option<String>,
    /// The section is discarded, because an earlier section of its choice was refused or broken.
    given_up: bool,
    /// Why the gateway refused the stream at its BEGIN.
    refused: Option<&'static str>,
    /// The pending request of a driven stream.
    ask: Option<ProposalRequest>,
    /// Start offsets, in bytes of the text, of the pieces that the upstream sent; the upstream counts a piece as a
    /// token.
    pieces: Vec<usize>,
    given: usize,
    released: usize,
    /// Length of the outputs in bytes.
    written: usize,
    report: StreamReport,
    end: Option<SectionEnd>,
    /// The end state, from which a successor can start.
    state: Option<Arc<EndState>>,
    /// Whether BEGIN is recorded.
    recorded: bool,
    /// Lane of the card, known from BEGIN.
    lane: u8,
    /// The determinations since they were last taken, if a caller asked for them.
    judged: Option<Vec<Judged>>,
    timing: Option<Timing>,
    signed: Option<SignedRelease>,
    /// For an observed stream: keeps its text until it is judged.
    observer: Option<Observer>,
}

/// Events that wait until a checkpoint covers their records.
struct SignedRelease {
    book: Arc<ProofBook>,
    lane: u8,
    /// Sequence of the last determination.
    last: u32,
    /// Events, each with the number of signed records that it needs in its lane. `None` means that it needs END's
    /// record, which does not exist yet.
    waiting: VecDeque<(Option<u64>, EventKind)>,
}

impl SignedRelease {
    /// Adds an event.
    fn push(&mut self, event: EventKind) {
        let covering = |index: Option<u64>| index.map_or(0, |index| index + 1);
        let needed = match &event {
            EventKind::Begun { lane, log_index, .. } => {
                self.lane = *lane;
                Some(covering(*log_index))
            }
            EventKind::Determined(judged) => {
                self.last = judged.determination.seq;
                Some(covering(judged.log_index))
            }
            // Bytes after the last span belong to the END record.
            EventKind::Released { seqs, .. } if seqs.iter().any(|seq| *seq > self.last) => None,
            EventKind::Ended { closing, .. } => {
                let needed = covering(closing.as_ref().and_then(|closing| closing.log_index));
                self.waiting.iter_mut().for_each(|(of_end, _)| *of_end = of_end.or(Some(needed)));
                Some(needed)
            }
            _ => Some(0),
        };
        self.waiting.push_back((needed, event));
    }

    /// Whether the first event waits for a checkpoint. For an event that needs END's record, the result is false until
    /// END is recorded.
    fn is_waiting(&self) -> bool {
        self.waiting.front().is_some_and(|(needed, _)| needed.is_some()) && !self.book.is_over()
    }

    /// The next event, if its record is signed.
    fn pop(&mut self) -> Option<EventKind> {
        let signed = self.book.signed().get(usize::from(self.lane)).copied().unwrap_or(0);
        let next = self.waiting.pop_front_if(|(needed, _)| needed.is_some_and(|needed| needed <= signed));
        next.map(|(_, event)| event)
    }
}

/// Measures the time from a byte's arrival to its release.
struct Timing {
    metrics: Arc<Metrics>,
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

/// How the outputs of a section are sent.
pub(crate) struct Manner {
    /// Text that replaces refused text; `None` if a refusal ends the stream.
    pub(crate) placeholder: Option<Arc<str>>,
    /// Outputs are sent only at the end, and only if nothing was refused.
    pub(crate) whole: bool,
    /// Set if text is sent only after its record is signed.
    pub(crate) signed: Option<Arc<ProofBook>>,
    /// A driven stream asks for proposals and accepts no other text. An observed stream sends refused text too.
    pub(crate) mode: AnswerMode,
}

/// A determination and the log index of its record.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) determination: Determination,
    pub(crate) log_index: Option<u64>,
}

/// What a stream does after a refusal, if its text may have gaps.
pub(crate) fn on_refuse(governor: &Governor) -> OnRefuse {
    match governor.policy().package.manifest().refusal.on_refuse {
        AfterRefusal::Redact => OnRefuse::Skip,
        AfterRefusal::Stop => OnRefuse::Stop,
    }
}

/// Text that replaces a refused part, if the stream continues after a refusal.
pub(crate) fn placeholder(governor: &Governor) -> Option<Arc<str>> {
    let constant = || Arc::from(governor.policy().package.manifest().refusal.placeholder.as_str());
    (on_refuse(governor) == OnRefuse::Skip).then(constant)
}

impl Section {
    /// A section over a stream of the session. `changed` is notified after each change.
    pub(crate) fn new(
        (choice, channel): (u32, Channel),
        id: String,
        stream: StreamHandle,
        governor: Arc<Governor>,
        Manner { placeholder, whole, signed, mode }: Manner,
        changed: &Arc<Notify>,
    ) -> Self {
        let notify = Arc::clone(changed);
        stream.on_change(move || notify.notify_one());
        let report = StreamReport {
            stream: stream.number(),
            id: id.clone(),
            choice,
            channel,
            admitted: 0,
            rejected: 0,
            rules: Vec::new(),
            constants: Vec::new(),
            refused: Vec::new(),
            refused_calls: Vec::new(),
            stopped: None,
        };
        Self {
            choice,
            channel,
            id,
            stream,
            reader: (mode != AnswerMode::Driven).then(|| PartReader::new(governor)),
            observer: (mode == AnswerMode::Observed).then(Observer::default),
            ask: None,
            live: false,
            waiting: VecDeque::new(),
            placeholder,
            unmarked: false,
            held: whole.then(Vec::new),
            document: whole.then(String::new),
            given_up: false,
            refused: None,
            pieces: Vec::new(),
            given: 0,
            released: 0,
            written: 0,
            report,
            end: None,
            state: None,
            recorded: false,
            lane: 0,
            judged: None,
            timing: None,
            signed: signed.map(|book| SignedRelease { book, lane: 0, last: 0, waiting: VecDeque::new() }),
        }
    }

    /// Makes the section measure the time from a byte's arrival to its release.
    #[must_use]
    pub(crate) fn timed(mut self, metrics: Arc<Metrics>) -> Self {
        self.timing = Some(Timing { metrics, arrivals: VecDeque::new() });
        self
    }

    /// Makes the section keep its determinations for [`Section::take_judged`].
    #[must_use]
    pub(crate) fn with_determinations(mut self) -> Self {
        self.judged = Some(Vec::new());
        self
    }

    /// The determinations since the last call, in order.
    pub(crate) fn take_judged(&mut self) -> Vec<Judged> {
        self.judged.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) const fn lane(&self) -> u8 {
        self.lane
    }

    pub(crate) const fn channel(&self) -> Channel {
        self.channel
    }

    pub(crate) const fn end(&self) -> Option<SectionEnd> {
        self.end
    }

    /// The end state, if the client got exactly the admitted text of the stream.
    pub(crate) fn left_in(&self) -> Option<&Arc<EndState>> {
        let has_left = match self.end? {
            SectionEnd::Whole => true,
            SectionEnd::Refused => !self.given_up && self.held.is_none(),
            SectionEnd::Broken => false,
        };
        let is_all = self.observer.is_none() || self.report.rejected == 0;
        self.state.as_ref().filter(|_| has_left && is_all)
    }

    pub(crate) const fn report(&self) -> &StreamReport {
        &self.report
    }

    /// Adds the id of a refusal by the gateway to the report.
    pub(crate) fn add_rule(&mut self, rule: &str) {
        if !self.report.rules.iter().any(|known| known == rule) {
            self.report.rules.push(rule.to_owned());
        }
    }

    /// Number of pieces of which at least a part was released; an upstream usually sends one token per piece.
    pub(crate) fn tokens(&self) -> u64 {
        if self.held.is_some() && self.end != Some(SectionEnd::Whole) {
            return 0;
        }
        self.pieces.iter().filter(|begin| **begin < self.released).count() as u64
    }

    /// Adds the model's next output.
    ///
    /// # Errors
    /// [`UnfitText`]: the text cannot be judged.
    pub(crate) fn give(&mut self, given: &Given<'_>) -> Result<(), UnfitText> {
        if self.reader.is_none() {
            return Ok(());
        }
        self.pieces.push(self.given);
        match (&mut self.document, given) {
            (Some(document), Given::Text(text)) => {
                document.push_str(text);
                return Ok(());
            }
            (Some(_), Given::Call(_)) => self.give_document()?,
            (None, _) => {}
        }
        self.read(given)
    }

    /// Adds the complete JSON document, in the gate's own encoding. A text that is not JSON is judged as it is.
    fn give_document(&mut self) -> Result<(), UnfitText> {
        let Some(document) = self.document.as_mut().map(std::mem::take) else { return Ok(()) };
        let document = json_document(&document)?.unwrap_or(document);
        self.read(&Given::Text(&document))
    }

    /// Reads the next text or call into parts.
    fn read(&mut self, given: &Given<'_>) -> Result<(), UnfitText> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        if let Some(observer) = &mut self.observer {
            observer.give(given);
        }
        let given = given.passed();
        let bytes = given.bytes();
        self.given += bytes;
        // The reader is gone for good if its reading fails, so nothing more of this text can leave.
        let (reader, part) = reading(self.stream.owner(), bytes + reader.pending(), move || {
            let part = match &given {
                Passed::Text(text) => reader.text(text, None),
                Passed::Call(call) => reader.call(call, None).map(Some),
            };
            (reader, part)
        })?;
        self.reader = Some(reader);
        let part = part?;
        if let Some(timing) = &mut self.timing {
            timing.arrivals.push_back((self.given, Instant::now()));
        }
        self.waiting.extend(part);
        self.submit();
        Ok(())
    }

    pub(crate) const fn is_begun(&self) -> bool {
        !self.pieces.is_empty()
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether BEGIN is recorded; `None` if it never will be.
    pub(crate) fn is_recorded(&mut self) -> Option<bool> {
        self.outputs(&mut 0);
        (self.recorded || self.end.is_none()).then_some(self.recorded)
    }

    /// Whether BEGIN is among the messages that were read.
    pub(crate) const fn has_begun(&self) -> bool {
        self.recorded
    }

    pub(crate) const fn stream(&self) -> &StreamHandle {
        &self.stream
    }

    /// Number of bytes that wait for later text.
    pub(crate) fn pending(&self) -> usize {
        self.reader.as_ref().map_or(0, PartReader::pending)
    }

    /// Number of bytes of the JSON document that have arrived.
    pub(crate) fn document_bytes(&self) -> usize {
        self.document.as_ref().map_or(0, String::len)
    }

    /// A constant at the end of the section's text.
    pub(crate) fn close_with(&mut self, text: &str) -> Output {
        self.report.constants.push((self.written, text.len()));
        self.written += text.len();
        Output::Constant { choice: self.choice, channel: self.channel, text: text.to_owned() }
    }

    /// Ends the input.
    ///
    /// # Errors
    /// [`UnfitText`]: the text cannot be judged.
    pub(crate) fn finish(&mut self) -> Result<(), UnfitText> {
        self.give_document()?;
        let Some(reader) = self.reader.take() else { return Ok(()) };
        self.waiting.push_back(reading(self.stream.owner(), reader.pending(), move || reader.finish())??);
        self.submit();
        self.end_observed();
        Ok(())
    }

    /// Makes a section without input, for a stream that the gateway refuses at its BEGIN for this reason.
    pub(crate) fn refuse(&mut self, rule: &'static str) {
        (self.reader, self.document, self.refused) = (None, None, Some(rule));
        self.add_rule(rule);
    }

    /// Aborts the input.
    pub(crate) fn abort(&mut self, why: &str) {
        self.reader = None;
        self.waiting.clear();
        self.stream.abort(why);
    }

    /// Discards the section, because an earlier section of its choice was refused or broken.
    pub(crate) fn give_up(&mut self) {
        if !std::mem::replace(&mut self.given_up, true) {
            self.abort("the choice has ended");
        }
        self.outputs(&mut 0);
    }

    /// Takes the pending request of a driven stream.
    pub(crate) const fn take_ask(&mut self) -> Option<ProposalRequest> {
        self.ask.take()
    }

    /// Whether an event waits for a checkpoint.
    pub(crate) fn is_unsigned(&self) -> bool {
        self.signed.as_ref().is_some_and(SignedRelease::is_waiting)
    }

    /// Whether parts wait for room in the session.
    pub(crate) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Starts to submit parts to the session.
    pub(crate) fn go(&mut self) {
        self.live = true;
        self.submit();
    }

    /// Stops submitting parts, because another section comes first.
    pub(crate) fn rest(&mut self) {
        self.live = false;
    }

    /// Submits parts, as many as the session has room for.
    fn submit(&mut self) {
        if !self.live {
            return;
        }
        while let Some(part) = self.waiting.pop_front() {
            match self.stream.try_submit(part) {
                Ok(()) => {}
                Err(SubmitError::Full(part)) => {
                    self.waiting.push_front(*part);
                    return;
                }
                Err(SubmitError::TooLong { .. }) => self.abort("a part is longer than the session takes"),
                // The stream's messages contain the reason why the stream is over.
                Err(SubmitError::Over | SubmitError::Closed(SessionClosed(_))) => self.waiting.clear(),
            }
        }
    }

    /// The outputs that can be sent now. `call_index` is the number of calls of the choice so far.
    pub(crate) fn outputs(&mut self, call_index: &mut u32) -> Vec<Output> {
        let mut outputs = Vec::new();
        // This is checked before the messages are read: if the stream ends during the reading, the next call reports
        // the end.
        let is_over = self.stream.end().is_some();
        while let Some(message) = self.stream.try_receive() {
            match (message, &mut self.signed) {
                (StreamMessage::Event(event), Some(signed)) => {
                    self.recorded |= matches!(event.what, EventKind::Begun { .. });
                    signed.push(event.what);
                }
                (StreamMessage::Event(event), None) => self.event(event.what, call_index, &mut outputs),
                (StreamMessage::Propose(request), _) => self.ask = Some(request),
                // This message is not needed: the next proposal request contains the admitted text.
                (StreamMessage::Move(_), _) => {}
            }
        }
        while let Some(event) = self.signed.as_mut().and_then(SignedRelease::pop) {
            self.event(event, call_index, &mut outputs);
        }
        let rest = self.observer.as_mut().map(Observer::rest).unwrap_or_default();
        self.pass(rest, call_index, &mut outputs);
        let is_waiting =
            self.signed.as_ref().is_some_and(|signed| !signed.waiting.is_empty() && !signed.book.is_over());
        // The session ended before the stream did, so no more messages follow.
        if self.end.is_none() && is_over && !is_waiting {
            self.report.stopped.get_or_insert_with(|| "the session has ended".into());
            self.end = Some(SectionEnd::Broken);
        }
        if self.given_up {
            self.end = self.end.map(|_| SectionEnd::Refused);
        }
        let Some(held) = &mut self.held else { return outputs };
        held.append(&mut outputs);
        match self.end {
            Some(SectionEnd::Whole) => std::mem::take(held),
            Some(SectionEnd::Refused | SectionEnd::Broken) | None => Vec::new(),
        }
    }

    fn event(&mut self, event: EventKind, call_index: &mut u32, outputs: &mut Vec<Output>) {
        match event {
            EventKind::Determined(judged) => {
                self.determined(&judged.determination, outputs);
                let passing = self.observer.as_mut().map(|observer| observer.judged(&judged.determination));
                self.pass(passing.unwrap_or_default(), call_index, outputs);
                if let Some(kept) = &mut self.judged {
                    kept.push(Judged { determination: judged.determination, log_index: judged.log_index });
                }
            }
            EventKind::Deferred { .. } => self.unmarked = false,
            EventKind::Released { .. } if self.observer.is_some() => {}
            EventKind::Released { text, calls, .. } => {
                self.mark(outputs);
                self.released += text.len();
                let mut from = 0;
                for call in calls {
                    self.text(text.get(from..call.start).unwrap_or_default(), outputs);
                    self.call(text.get(call.clone()).unwrap_or_default(), call_index, outputs);
                    from = call.end;
                }
                self.text(text.get(from..).unwrap_or_default(), outputs);
            }
            // A mutation that waited for information in vain counts as refused.
            EventKind::Expired { .. } => self.unmarked = true,
            EventKind::Ended { summary, state, .. } => {
                self.state = state;
                self.mark(outputs);
                let is_cut = self.held.is_some() && self.report.rejected > 0;
                self.report.stopped = self.refused.map(str::to_owned).or(summary.stopped);
                if let Some(observer) = &mut self.observer {
                    observer.over = Some(summary.faults == 0);
                    self.end_observed();
                    return;
                }
                self.end = Some(match summary.termination.map(|termination| termination.trigger) {
                    None if summary.faults == 0 && !is_cut => SectionEnd::Whole,
                    None if summary.faults == 0 => SectionEnd::Refused,
                    Some(Trigger::NoAdmissibleCandidate | Trigger::DriftHalt | Trigger::Prefilter) => {
                        SectionEnd::Refused
                    }
                    _ => SectionEnd::Broken,
                });
            }
            EventKind::Begun { lane, .. } => (self.recorded, self.lane) = (true, lane),
            EventKind::Proposed(_) | EventKind::RolledBack { .. } | EventKind::Drift { .. } => {}
        }
    }

    fn determined(&mut self, determination: &Determination, outputs: &mut Vec<Output>) {
        use portcullis_core::wire::Determination as Answer;
        let is_judged = determination.determination != Some(Answer::Decompose);
        if let Some(Timing { metrics, arrivals }) = self.timing.as_mut().filter(|_| is_judged) {
            while let Some((_, arrived)) = arrivals.pop_front_if(|(end, _)| *end <= determination.end) {
                if determination.determination == Some(Answer::Admit) {
                    metrics.held(arrived.elapsed());
                }
            }
        }
        match determination.determination {
            Some(Answer::Admit) => {
                self.mark(outputs);
                self.report.admitted += 1;
            }
            Some(Answer::Decompose) => {}
            _ => {
                self.report.rejected += 1;
                self.unmarked = true;
                if let Some(rule) = &determination.rule {
                    self.add_rule(rule);
                }
            }
        }
    }

    /// Ends an observed stream. The gate may have stopped judging it, but the rest of its text is still sent, so the
    /// section ends only when the input is complete, or after a fault.
    fn end_observed(&mut self) {
        if let Some(whole) = self.observer.as_ref().and_then(|observer| observer.over)
            && (self.reader.is_none() || !whole)
        {
            self.end = Some(if whole { SectionEnd::Whole } else { SectionEnd::Broken });
        }
    }

    /// Sends text of an observed stream.
    fn pass(&mut self, passing: Vec<Passing>, call_index: &mut u32, outputs: &mut Vec<Output>) {
        for Passing { given, is_refused } in passing {
            match given {
                Passed::Text(text) => {
                    if is_refused {
                        self.report.refused.push((self.written, text.len()));
                    }
                    self.text(&text, outputs);
                }
                Passed::Call(call) => {
                    if is_refused {
                        self.report.refused_calls.push(*call_index);
                    }
                    self.show_call(call, call_index, outputs);
                }
            }
        }
    }

    /// Puts the placeholder at the place of a refusal.
    fn mark(&mut self, outputs: &mut Vec<Output>) {
        if std::mem::take(&mut self.unmarked)
            && let Some(placeholder) = &self.placeholder
        {
            self.report.constants.push((self.written, placeholder.len()));
            self.written += placeholder.len();
            let (choice, channel) = (self.choice, self.channel);
            outputs.push(Output::Constant { choice, channel, text: placeholder.to_string() });
        }
    }

    fn text(&mut self, text: &str, outputs: &mut Vec<Output>) {
        if !text.is_empty() {
            self.written += text.len();
            outputs.push(Output::Text { choice: self.choice, channel: self.channel, text: text.to_owned() });
        }
    }

    /// Sends a call in the form to which its record commits.
    fn call(&mut self, text: &str, call_index: &mut u32, outputs: &mut Vec<Output>) {
        // The gate writes this text, so it always parses. If it did not, the stream would break, so that the client
        // notices the incomplete answer.
        let Ok(ReleasedCall { name, arguments }) = serde_json::from_str(text) else {
            self.end = Some(SectionEnd::Broken);
            return;
        };
        self.show_call(Call { name, arguments: arguments.get().to_owned() }, call_index, outputs);
    }

    fn show_call(&mut self, call: Call, call_index: &mut u32, outputs: &mut Vec<Output>) {
        let index = *call_index;
        *call_index += 1;
        // Some servers accept ids of at most 40 characters in later requests.
        let digest: [u8; 32] = Sha256::digest(format!("{}/{index}", self.id)).into();
        let id = format!("call_{}", hex::encode(digest.first_chunk::<12>().unwrap_or(&[0; 12])));
        outputs.push(Output::Call { choice: self.choice, index, call: IdentifiedCall { id, call } });
    }
}
