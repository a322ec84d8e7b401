//! One governed stream of an answer: the model's text in one channel of one choice.

mod gaps;
mod intake;
mod mode;
mod release;
mod signed;
mod withheld;

use crate::metrics::GatewayMetrics;
use crate::observe::{ObservedInputBuffer, SectionInput};
use crate::output::{AnswerChannel, GatedAnswerPart, StreamReport};
use intake::TextIntake;
use portcullis_core::context::OnRefuse;
use portcullis_core::manifest::AfterRefusal;
use portcullis_gate::engine::ProposalRequest;
use portcullis_gate::{
    EndState, JudgedStreamHandle, PartReader, StreamEventKind, StreamGovernor, StreamMessage, TerminationTrigger,
};
use portcullis_mapping::json_document;
use portcullis_recorder::ProofBook;
use release::{OutputWriter, TextRelease};
use signed::SignedRelease;
use std::sync::Arc;
use tokio::sync::Notify;

pub(crate) use gaps::JsonGaps;
pub(crate) use intake::UnfitText;
pub(crate) use mode::SectionMode;
pub(crate) use release::{LoggedDetermination, SectionEnd};

pub(crate) struct AnswerSection {
    stream: JudgedStreamHandle,
    mode: SectionMode,
    intake: TextIntake,
    release: TextRelease,
    /// Set if text is sent only after its record is signed.
    signed: Option<SignedRelease>,
    /// The section is discarded, because an earlier section of its choice was refused or broken.
    is_given_up: bool,
}

/// How the outputs of a section are sent.
pub(crate) struct ReleaseTerms {
    /// Text that replaces refused text; `None` if a refusal ends the stream.
    pub(crate) placeholder: Option<Arc<str>>,
    /// Set if text is sent only after its record is signed.
    pub(crate) signed: Option<Arc<ProofBook>>,
    pub(crate) mode: SectionMode,
}

/// Whether the BEGIN of a stream is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BeginState {
    Waiting,
    Recorded,
    /// The stream ended before.
    Never,
}

/// What a stream does after a refusal, if its text may have gaps.
pub(crate) fn on_refuse(governor: &StreamGovernor) -> OnRefuse {
    match governor.policy().package.manifest().refusal.on_refuse {
        AfterRefusal::Redact => OnRefuse::Skip,
        AfterRefusal::Stop => OnRefuse::Stop,
    }
}

/// Text that replaces a refused part, if the stream continues after a refusal.
pub(crate) fn placeholder(governor: &StreamGovernor) -> Option<Arc<str>> {
    let constant = || Arc::from(governor.policy().package.manifest().refusal.placeholder.as_str());
    (on_refuse(governor) == OnRefuse::Skip).then(constant)
}

impl AnswerSection {
    /// A section over a stream of the session. `changed` is notified after each change.
    pub(crate) fn new(
        (choice, channel): (u32, AnswerChannel),
        id: String,
        stream: JudgedStreamHandle,
        governor: Arc<StreamGovernor>,
        ReleaseTerms { placeholder, signed, mode }: ReleaseTerms,
        changed: &Arc<Notify>,
    ) -> Self {
        let notify = Arc::clone(changed);
        stream.on_change(move || notify.notify_one());
        let report = StreamReport {
            stream: stream.number(),
            id,
            choice,
            channel,
            admitted: 0,
            rejected: 0,
            rules: Vec::new(),
            refusals: Vec::new(),
            constants: Vec::new(),
            refused: Vec::new(),
            refused_calls: Vec::new(),
            stopped: None,
        };
        let is_driven = matches!(mode, SectionMode::Driven { .. });
        let describes = governor.policy().package.manifest().refusal.describe;
        Self {
            stream,
            mode,
            intake: TextIntake::new((!is_driven).then(|| PartReader::new(governor))),
            release: TextRelease::new(report, placeholder, describes),
            signed: signed.map(SignedRelease::new),
            is_given_up: false,
        }
    }

    /// Makes the section measure the time from a byte's arrival to its release.
    #[must_use]
    pub(crate) fn timed(mut self, metrics: Arc<GatewayMetrics>) -> Self {
        self.release.measure(metrics);
        self
    }

    /// Makes the section keep its determinations for [`AnswerSection::take_judged`].
    #[must_use]
    pub(crate) fn with_determinations(mut self) -> Self {
        self.release.judged = Some(Vec::new());
        self
    }

    /// The determinations since the last call, in order.
    pub(crate) fn take_judged(&mut self) -> Vec<LoggedDetermination> {
        self.release.judged.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Lane of the card; 0 before BEGIN was read.
    pub(crate) fn lane(&self) -> u8 {
        self.release.begun_on.unwrap_or(0)
    }

    pub(crate) const fn channel(&self) -> AnswerChannel {
        self.release.report.channel
    }

    pub(crate) const fn end(&self) -> Option<SectionEnd> {
        self.release.end
    }

    /// The end state, if the client got exactly the admitted text of the stream.
    pub(crate) fn left_in(&self) -> Option<&Arc<EndState>> {
        let has_left = match self.end()? {
            SectionEnd::Whole => true,
            SectionEnd::Refused => !self.is_given_up && !self.mode.is_whole(),
            SectionEnd::Broken => false,
        };
        let is_all = !matches!(self.mode, SectionMode::Observed(_)) || self.release.report.rejected == 0;
        self.release.state.as_ref().filter(|_| has_left && is_all)
    }

    pub(crate) const fn report(&self) -> &StreamReport {
        &self.release.report
    }

    /// Adds the id of a refusal by the gateway to the report.
    pub(crate) fn add_rule(&mut self, rule: &str) {
        self.release.add_rule(rule);
    }

    /// Number of pieces of which at least a part was released; an upstream usually sends one token per piece.
    pub(crate) fn tokens(&self) -> u64 {
        if self.mode.is_whole() && self.end() != Some(SectionEnd::Whole) {
            return 0;
        }
        self.intake.pieces_before(self.release.released())
    }

    /// Adds the model's next output.
    ///
    /// # Errors
    /// [`UnfitText`]: the text cannot be judged.
    pub(crate) fn give(&mut self, given: &SectionInput<'_>) -> Result<(), UnfitText> {
        if !self.intake.is_open() {
            return Ok(());
        }
        self.intake.begin_piece();
        match (&mut self.mode, given) {
            (SectionMode::Whole(whole), SectionInput::Text(text)) => {
                whole.document.push_str(text);
                return Ok(());
            }
            (SectionMode::Whole(_), SectionInput::Call(_)) => self.give_document()?,
            _ => {}
        }
        self.read(given)
    }

    /// Adds the complete JSON document, in the gate's own encoding. A text that is not JSON is judged as it is.
    fn give_document(&mut self) -> Result<(), UnfitText> {
        let SectionMode::Whole(whole) = &mut self.mode else { return Ok(()) };
        let document = std::mem::take(&mut whole.document);
        let document = json_document(&document)?.unwrap_or(document);
        whole.judged.clone_from(&document);
        self.read(&SectionInput::Text(&document))
    }

    /// Reads the next text or call into parts.
    fn read(&mut self, given: &SectionInput<'_>) -> Result<(), UnfitText> {
        if !self.intake.is_open() {
            return Ok(());
        }
        if let Some(observer) = self.mode.observer() {
            observer.give(given);
        }
        self.intake.read(self.stream.owner(), given.passed())?;
        self.release.note_arrival(self.intake.given());
        self.intake.submit(&self.stream);
        Ok(())
    }

    /// Whether the model wrote to the section.
    pub(crate) const fn has_input(&self) -> bool {
        self.intake.has_input()
    }

    /// Whether the section accepts more text.
    pub(crate) const fn is_open(&self) -> bool {
        self.intake.is_open()
    }

    /// Reads the messages of the stream, whose outputs are dropped, for its BEGIN.
    pub(crate) fn poll_begin(&mut self) -> BeginState {
        self.outputs(&mut 0);
        match (self.has_read_begin(), self.end()) {
            (true, _) => BeginState::Recorded,
            (false, None) => BeginState::Waiting,
            (false, Some(_)) => BeginState::Never,
        }
    }

    /// Whether BEGIN is among the messages that were read.
    pub(crate) const fn has_read_begin(&self) -> bool {
        self.release.begun_on.is_some()
    }

    pub(crate) const fn stream(&self) -> &JudgedStreamHandle {
        &self.stream
    }

    /// Number of bytes that wait for later text.
    pub(crate) fn pending(&self) -> usize {
        self.intake.pending()
    }

    /// Number of bytes of the JSON document that have arrived.
    pub(crate) fn document_bytes(&self) -> usize {
        match &self.mode {
            SectionMode::Whole(whole) => whole.document.len(),
            _ => 0,
        }
    }

    /// A constant at the end of the section's text.
    pub(crate) fn close_with(&mut self, text: &str) -> GatedAnswerPart {
        self.release.constant(text)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// [`UnfitText`]: the text cannot be judged.
    pub(crate) fn finish(&mut self) -> Result<(), UnfitText> {
        self.give_document()?;
        if self.intake.finish(self.stream.owner())? {
            self.intake.submit(&self.stream);
            self.end_observed();
        }
        Ok(())
    }

    /// Makes a section without input, for a stream that the gateway refuses at its BEGIN for this reason.
    pub(crate) fn refuse(&mut self, rule: &'static str) {
        self.intake.close();
        if let SectionMode::Whole(whole) = &mut self.mode {
            whole.document.clear();
        }
        self.release.refusal = Some(rule);
        self.add_rule(rule);
    }

    /// Aborts the input.
    pub(crate) fn abort(&mut self, why: &str) {
        self.intake.abort(&self.stream, why);
    }

    /// Discards the section, because an earlier section of its choice was refused or broken.
    pub(crate) fn give_up(&mut self) {
        if !std::mem::replace(&mut self.is_given_up, true) {
            self.abort("the choice has ended");
        }
        self.outputs(&mut 0);
    }

    /// Takes the pending request of a driven stream.
    pub(crate) const fn take_ask(&mut self) -> Option<ProposalRequest> {
        match &mut self.mode {
            SectionMode::Driven { ask } => ask.take(),
            _ => None,
        }
    }

    /// Whether an event waits for a checkpoint.
    pub(crate) fn is_unsigned(&self) -> bool {
        self.signed.as_ref().is_some_and(SignedRelease::is_waiting)
    }

    /// Whether parts wait for room in the session.
    pub(crate) fn is_full(&self) -> bool {
        self.intake.is_full()
    }

    /// Starts to submit parts to the session.
    pub(crate) fn go(&mut self) {
        self.intake.go(&self.stream);
    }

    /// Stops submitting parts, because another section comes first.
    pub(crate) fn rest(&mut self) {
        self.intake.rest();
    }

    /// The outputs that can be sent now. `call_index` is the number of calls of the choice so far.
    pub(crate) fn outputs(&mut self, call_index: &mut u32) -> Vec<GatedAnswerPart> {
        let mut writer = OutputWriter { call_index, outputs: Vec::new() };
        // This is checked before the messages are read: if the stream ends during the reading, the next call reports
        // the end.
        let is_over = self.stream.end().is_some();
        while let Some(message) = self.stream.try_receive() {
            match (message, &mut self.signed) {
                (StreamMessage::Event(event), Some(signed)) => {
                    if let StreamEventKind::Begun { lane, .. } = &event.what {
                        self.release.begun_on = Some(*lane);
                    }
                    signed.push(event.what);
                }
                (StreamMessage::Event(event), None) => self.event(event.what, &mut writer),
                (StreamMessage::Propose(request), _) => {
                    if let SectionMode::Driven { ask } = &mut self.mode {
                        *ask = Some(request);
                    }
                }
                // This message is not needed: the next proposal request contains the admitted text.
                (StreamMessage::Move(_), _) => {}
            }
        }
        while let Some(event) = self.signed.as_mut().and_then(SignedRelease::pop) {
            self.event(event, &mut writer);
        }
        let rest = self.mode.observer().map(ObservedInputBuffer::rest).unwrap_or_default();
        self.release.pass(rest, &mut writer);
        let is_waiting = self.signed.as_ref().is_some_and(SignedRelease::has_waiting);
        // The session ended before the stream did, so no more messages follow.
        if self.end().is_none() && is_over && !is_waiting {
            self.release.report.stopped.get_or_insert_with(|| "the session has ended".into());
            self.release.end = Some(SectionEnd::Broken);
        }
        if self.is_given_up {
            self.release.end = self.release.end.map(|_| SectionEnd::Refused);
        }
        let mut outputs = writer.outputs;
        let SectionMode::Whole(whole) = &mut self.mode else { return outputs };
        if whole.is_over {
            return Vec::new();
        }
        whole.outputs.append(&mut outputs);
        if self.release.end == Some(SectionEnd::Whole) && self.release.report.rejected > 0 && !whole.is_complete() {
            self.release.end = Some(SectionEnd::Refused);
        }
        match self.release.end {
            Some(SectionEnd::Whole) => {
                whole.is_over = true;
                std::mem::take(&mut whole.outputs)
            }
            Some(SectionEnd::Refused | SectionEnd::Broken) => {
                whole.is_over = true;
                whole.outputs.clear();
                self.release.take_back();
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn event(&mut self, event: StreamEventKind, writer: &mut OutputWriter<'_>) {
        match event {
            StreamEventKind::Determined(judged) => {
                self.release.determined(&judged.determination);
                let passing = self.mode.observer().map(|observer| observer.judged(&judged.determination));
                self.release.pass(passing.unwrap_or_default(), writer);
                if let Some(kept) = &mut self.release.judged {
                    kept.push(LoggedDetermination { determination: judged.determination, log_index: judged.log_index });
                }
            }
            StreamEventKind::Deferred { .. } => self.release.withheld.defer(),
            StreamEventKind::Released { text, calls, .. } => {
                if !matches!(self.mode, SectionMode::Observed(_)) {
                    self.release.release(&text, calls, writer);
                }
            }
            // A mutation that waited for information in vain counts as refused.
            StreamEventKind::Expired { .. } => self.release.withheld.expire(),
            StreamEventKind::Ended { summary, state, .. } => {
                self.release.state = state;
                self.release.mark_end(writer);
                self.release.report.stopped = self.release.refusal.map(str::to_owned).or(summary.stopped);
                if let Some(observer) = self.mode.observer() {
                    observer.over = Some(summary.faults == 0);
                    self.end_observed();
                    return;
                }
                self.release.end = Some(match summary.termination.map(|termination| termination.trigger) {
                    None if summary.faults == 0 => SectionEnd::Whole,
                    Some(
                        TerminationTrigger::NoAdmissibleCandidate
                        | TerminationTrigger::DriftHalt
                        | TerminationTrigger::Prefilter,
                    ) => SectionEnd::Refused,
                    _ => SectionEnd::Broken,
                });
            }
            StreamEventKind::Begun { lane, .. } => self.release.begun_on = Some(lane),
            StreamEventKind::Proposed(_) | StreamEventKind::RolledBack { .. } | StreamEventKind::Drift { .. } => {}
        }
    }

    /// Ends an observed stream. The gate may have stopped judging it, but the rest of its text is still sent, so the
    /// section ends only when the input is complete, or after a fault.
    fn end_observed(&mut self) {
        if let Some(whole) = self.mode.observer().and_then(|observer| observer.over)
            && (!self.intake.is_open() || !whole)
        {
            self.release.end = Some(if whole { SectionEnd::Whole } else { SectionEnd::Broken });
        }
    }
}
