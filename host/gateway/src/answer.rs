//! One answer: feeds the upstream's text into governed streams, and sends to the client what the streams release.

use crate::calls::CallAssembler;
use crate::config::AnswerMode;
use crate::continuations::{ChoiceContentDigest, ConversationPosition, TurnDigest};
use crate::drive::{DriveError, DrivenProposal, UpstreamEngine};
use crate::error::ApiError;
use crate::observe::SectionInput;
use crate::output::{AnswerChannel, AnswerProvenance, FinishReason, GatedAnswerPart, TokenUsage};
use crate::receipts::{CheckpointNotifier, MissingProofReason};
use crate::request::ClientRequest;
use crate::section::{
    AnswerSection, BeginState, JsonGaps, ReleaseTerms, SectionEnd, SectionMode, UnfitText, on_refuse, placeholder,
};
use crate::session_state::OpenSession;
use crate::upstream::{UpstreamClient, UpstreamDelta, UpstreamError};
use portcullis_core::context::{OnRefuse, StreamMode};
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::state::StreamTask;
use portcullis_evidence::stream_proof::StreamProof;
use portcullis_gate::{EndState, StreamGovernor};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Largest part of a text that may wait for the text after it, in bytes.
const PENDING_BYTES: usize = 512 << 10;
/// Largest JSON answer, in bytes. It is judged when it is complete.
const DOCUMENT_BYTES: usize = 4 << 20;
/// Id of the refusal of a call whose tool the client did not offer.
const NOT_OFFERED: &str = "TOOL-NOT-OFFERED";
/// Outputs that are buffered for a client.
pub(crate) const OUTPUTS: usize = 32;

/// A request, with everything that its answer needs.
#[derive(Clone)]
pub(crate) struct AnswerJob {
    /// Id of the answer.
    pub(crate) id: String,
    pub(crate) request: ClientRequest,
    pub(crate) session: Arc<OpenSession>,
    /// The model's governor in that session, with the request's sources.
    pub(crate) governor: Arc<StreamGovernor>,
    pub(crate) task: StreamTask,
    /// Digest of the pre-execution filter's report.
    pub(crate) note: [u8; 32],
    /// Longest wait for the client.
    pub(crate) client: Duration,
    /// Longest time for the whole answer. Ending the streams afterwards may take the same time again.
    pub(crate) limit: Duration,
    /// The gate's mode for the answer.
    pub(crate) mode: AnswerMode,
    /// Rules of the pre-execution filter that refused the input of an observed answer.
    pub(crate) input_rules: Vec<String>,
    /// Whether text is released only after its record is signed.
    pub(crate) signed: bool,
    /// Longest wait for the proofs.
    pub(crate) proof: Duration,
    /// The place of the request in its conversation.
    pub(crate) conversation: ConversationPosition,
    /// Among whom the process shares its workers.
    pub(crate) owner: u64,
}

#[derive(Debug)]
pub(crate) struct AnswerEnd {
    pub(crate) usage: TokenUsage,
    pub(crate) provenance: AnswerProvenance,
    /// Why the answer was cut off; `None` if it was complete.
    pub(crate) failure: Option<ApiError>,
    /// The end states of the answer's choices, for the next turn.
    pub(crate) states: Vec<(TurnDigest, Arc<EndState>)>,
    /// When the first output was sent.
    pub(crate) first: Option<Instant>,
    /// Why the answer's choices ended; a choice without an end has no entry.
    pub(crate) finishes: Vec<FinishReason>,
}

#[derive(Default)]
struct GatedChoice {
    /// One section for each channel, in the order in which the model first wrote to the channels.
    sections: Vec<AnswerSection>,
    /// Index of the first section whose outputs have not all been sent.
    leaving: usize,
    /// The calls whose fragments were received.
    assembler: CallAssembler,
    /// Number of calls that were sent.
    calls: u32,
    /// Digest of the content that was sent.
    said: ChoiceContentDigest,
    /// End reason from the upstream.
    finish: Option<FinishReason>,
    /// The end was sent.
    over: bool,
}

/// An answer in progress.
pub(crate) struct GatedAnswer {
    question: AnswerJob,
    governor: Arc<StreamGovernor>,
    /// If the content continues an earlier answer: the governor, the turn, and the END leaf of that answer.
    continuing: Option<(Arc<StreamGovernor>, TurnDigest, HexBytes<32>)>,
    choices: BTreeMap<u32, GatedChoice>,
    changed: Arc<Notify>,
    outputs: mpsc::Sender<GatedAnswerPart>,
    usage: TokenUsage,
    /// When the first output was sent.
    first: Option<Instant>,
    finishes: Vec<FinishReason>,
    /// Wakes the answer at each checkpoint.
    _wakes: Option<CheckpointNotifier>,
}

/// Why an answer is cut off.
enum AnswerAbortCause {
    /// The client disconnected or does not read.
    Client(&'static str),
    Upstream(UpstreamError),
    /// The model's text cannot be judged.
    Unfit(&'static str),
    /// As `Unfit`, found while the text was read.
    UnfitText(UnfitText),
    /// The time limit of the answer has passed.
    Late,
    /// The gate or its session failed.
    Gate,
}

/// Why a stream could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamOpenError {
    /// The queue of waiting streams is full.
    Full,
    /// The session accepts no more streams; the next session does.
    Closed,
}

impl From<UnfitText> for AnswerAbortCause {
    fn from(why: UnfitText) -> Self {
        Self::UnfitText(why)
    }
}

impl AnswerAbortCause {
    /// The reason, as records give it.
    fn words(&self) -> String {
        match self {
            Self::Client(why) | Self::Unfit(why) => (*why).into(),
            Self::Upstream(error) => error.to_string(),
            Self::UnfitText(why) => why.to_string(),
            Self::Late => "the whole time is over".into(),
            Self::Gate => "the gate failed".into(),
        }
    }

    fn failure(&self) -> ApiError {
        match self {
            Self::Upstream(error @ UpstreamError::Late(_)) => ApiError::upstream_late(&error.to_string()),
            Self::Upstream(error) => ApiError::upstream(&error.to_string()),
            Self::Unfit(why) => ApiError::upstream(why),
            Self::UnfitText(why) => ApiError::upstream(&why.to_string()),
            Self::Client(why) => ApiError::gate(why),
            Self::Late => ApiError::upstream_late("the answer was not whole in time"),
            Self::Gate => ApiError::gate("the gate failed, and releases nothing more of this answer"),
        }
    }
}

impl GatedAnswer {
    pub(crate) fn new(question: AnswerJob, outputs: mpsc::Sender<GatedAnswerPart>) -> Self {
        let governor = &question.governor;
        let on_refuse = match question.mode {
            // Refused parts are sent too, so the whole text must be judged.
            AnswerMode::Observed => OnRefuse::Skip,
            // The model proposes another sentence in place of a refused one.
            AnswerMode::Driven => OnRefuse::Stop,
            // A JSON value needs something in place of each missing part.
            AnswerMode::Held if question.request.is_json() && placeholder(governor).is_none() => OnRefuse::Stop,
            AnswerMode::Held => on_refuse(governor),
        };
        let governor = Arc::new(StreamGovernor::clone(governor).with_on_refuse(on_refuse));
        let continuing = question.conversation.last.as_ref().and_then(|(turn, end)| {
            let governor = StreamGovernor::clone(&governor).continuing(end)?;
            Some((Arc::new(governor), *turn, end.leaf()))
        });
        let choices = (0..question.request.choices).map(|choice| (choice, GatedChoice::default())).collect();
        let changed = Arc::new(Notify::new());
        let proofs = question.session.proofs.as_ref().filter(|_| question.signed);
        let wakes = proofs.map(|proofs| proofs.wake(&changed));
        let usage = TokenUsage::default();
        let (first, finishes) = (None, Vec::new());
        Self { question, governor, continuing, choices, changed, outputs, usage, first, finishes, _wakes: wakes }
    }

    /// Records the refusal of the input by the pre-execution filter: BEGIN, a NOTE with the report, and END.
    ///
    /// # Errors
    /// [`StreamOpenError`].
    pub(crate) async fn refuse(mut self, why: String) -> Result<AnswerEnd, StreamOpenError> {
        let section = self.open(0, AnswerChannel::Content, Some(why))?;
        self.choices.entry(0).or_default().sections.push(section);
        let settled = self.settle().await;
        Ok(self.end(settled.err()))
    }

    /// Opens a stream for each choice. BEGIN is recorded before the upstream is asked.
    ///
    /// # Errors
    /// [`StreamOpenError`].
    pub(crate) async fn begin(&mut self) -> Result<(), StreamOpenError> {
        let (changed, limit) = (Arc::clone(&self.changed), self.question.client);
        for choice in 0..self.question.request.choices {
            let section = self.open(choice, AnswerChannel::Content, None)?;
            self.choices.entry(choice).or_default().sections.push(section);
        }
        let recorded = async {
            loop {
                let begun: Vec<BeginState> = self.sections().map(AnswerSection::poll_begin).collect();
                if begun.contains(&BeginState::Never) {
                    return Err(StreamOpenError::Closed);
                }
                if begun.iter().all(|begun| *begun == BeginState::Recorded) {
                    return Ok(());
                }
                changed.notified().await;
            }
        };
        timeout(limit, recorded).await.unwrap_or(Err(StreamOpenError::Full))
    }

    /// Asks the upstream, and sends the answer until its end.
    pub(crate) async fn write(mut self, upstream: &UpstreamClient) -> AnswerEnd {
        let limit = self.question.limit;
        let written = match self.question.mode {
            AnswerMode::Driven => timeout(limit, self.drive(upstream)).await,
            AnswerMode::Held | AnswerMode::Observed => timeout(limit, self.pump(upstream)).await,
        };
        let written = written.unwrap_or(Err(AnswerAbortCause::Late));
        if let Err(broken) = &written {
            if let AnswerAbortCause::Upstream(error) = broken {
                self.question.session.metrics.upstream_failed(error);
                tracing::warn!(answer = self.question.id, kind = error.kind(), "the model's server failed");
            }
            let words = broken.words();
            self.sections().for_each(|section| section.abort(&words));
        }
        // After a failure, admitted text is still sent, and every stream gets its END.
        let settled = timeout(limit, self.settle()).await.unwrap_or(Err(AnswerAbortCause::Late));
        let failed = written.err().or(settled.err());
        let proven = self.prove().await;
        let mut end = self.end(failed);
        match proven {
            Some(Ok(proofs)) => end.provenance.proofs = Some(proofs),
            Some(Err(why)) => end.provenance.unproven = Some(why),
            None => {}
        }
        end
    }

    /// The proofs of the streams, if the client asked for them.
    async fn prove(&mut self) -> Option<Result<Vec<StreamProof>, MissingProofReason>> {
        if !self.question.request.receipt {
            return None;
        }
        let streams: Vec<u64> = self.sections().map(|section| section.report().stream).collect();
        match &self.question.session.proofs {
            Some(proofs) => Some(proofs.prove(&streams, self.question.proof).await),
            None => Some(Err(MissingProofReason::Never)),
        }
    }

    fn sections(&mut self) -> impl Iterator<Item = &mut AnswerSection> {
        self.choices.values_mut().flat_map(|choice| choice.sections.iter_mut())
    }

    async fn pump(&mut self, upstream: &UpstreamClient) -> Result<(), AnswerAbortCause> {
        let (outputs, changed) = (self.outputs.clone(), Arc::clone(&self.changed));
        let asked = tokio::select! {
            asked = upstream.ask(&self.question.request, "") => asked,
            () = outputs.closed() => return Err(AnswerAbortCause::Client("the client has gone")),
        };
        let mut deltas = asked.map_err(AnswerAbortCause::Upstream)?;
        while !self.choices.values().all(|choice| choice.over) {
            let full = self.sections().any(|section| section.is_full());
            tokio::select! {
                biased;
                () = outputs.closed() => return Err(AnswerAbortCause::Client("the client has gone")),
                () = changed.notified() => {
                    self.advance().await?;
                    if self.is_broken() {
                        return Err(AnswerAbortCause::Gate);
                    }
                    deltas.resume();
                }
                delta = deltas.next(), if !full => match delta.map_err(AnswerAbortCause::Upstream)? {
                    Some(delta) => {
                        self.take(delta)?;
                        self.choices.values_mut().for_each(GatedChoice::go);
                    }
                    None => return Ok(()),
                },
            }
        }
        if self.choices.values().any(|choice| !choice.is_stopped()) {
            deltas
                .usages(|usage| {
                    self.usage = usage;
                    ControlFlow::Continue(())
                })
                .await;
        }
        Ok(())
    }

    /// Gets the proposals that the driven streams ask for, independently for each choice.
    async fn drive(&mut self, upstream: &UpstreamClient) -> Result<(), AnswerAbortCause> {
        let (outputs, changed) = (self.outputs.clone(), Arc::clone(&self.changed));
        let most = usize::from(self.governor.policy().package.manifest().limits.span_bytes);
        let request = &self.question.request;
        let writer = |choice: &u32| (*choice, UpstreamEngine::new(upstream.clone(), request, *choice, most));
        let mut resting: BTreeMap<u32, UpstreamEngine> = self.choices.keys().map(writer).collect();
        let mut writing = JoinSet::new();
        let mut usage = BTreeMap::new();
        loop {
            self.advance().await?;
            if self.is_broken() {
                return Err(AnswerAbortCause::Gate);
            }
            for (number, choice) in &mut self.choices {
                let ask = choice.sections.iter_mut().find_map(AnswerSection::take_ask);
                if let Some((ask, mut writer)) = ask.and_then(|ask| Some((ask, resting.remove(number)?))) {
                    let number = *number;
                    writing.spawn(async move {
                        let proposed = writer.propose(&ask).await;
                        (number, writer, proposed)
                    });
                }
            }
            if self.choices.values().all(|choice| choice.over) {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = outputs.closed() => return Err(AnswerAbortCause::Client("the client has gone")),
                () = changed.notified() => {}
                Some(written) = writing.join_next() => {
                    let (number, writer, proposed) = written.map_err(|_| AnswerAbortCause::Gate)?;
                    let DrivenProposal { proposal, finish, is_refused } = proposed.map_err(|error| match error {
                        DriveError::Upstream(error) => AnswerAbortCause::Upstream(error),
                        DriveError::Unfit(why) => AnswerAbortCause::Unfit(why),
                    })?;
                    usage.insert(number, writer.usage());
                    let prompt = usage.values().map(|usage: &TokenUsage| usage.prompt).max().unwrap_or(0);
                    self.usage = TokenUsage { prompt, completion: usage.values().map(|usage| usage.completion).sum() };
                    resting.insert(number, writer);
                    let found = self.choices.entry(number).or_default();
                    found.finish = finish;
                    found.sections.iter().for_each(|section| section.stream().answer(Ok(proposal.clone())));
                    if is_refused {
                        self.refuse_call(number)?;
                    }
                }
            }
        }
    }

    /// Passes a delta of the upstream to its section.
    fn take(&mut self, delta: UpstreamDelta) -> Result<(), AnswerAbortCause> {
        match delta {
            UpstreamDelta::Usage(usage) => self.usage = usage,
            UpstreamDelta::Tokens { .. } => {}
            UpstreamDelta::Text { choice, channel, text } => {
                self.end_calls(choice)?;
                if channel == AnswerChannel::Content {
                    self.choices.entry(choice).or_default().assembler.check_text().map_err(AnswerAbortCause::Unfit)?;
                }
                if let Some(section) = self.section(choice, channel)? {
                    section.give(&SectionInput::Text(&text))?;
                    if section.pending() > PENDING_BYTES {
                        return Err(AnswerAbortCause::Unfit("a text of which no part is a sentence or a value"));
                    }
                    if section.document_bytes() > DOCUMENT_BYTES {
                        return Err(AnswerAbortCause::Unfit("a JSON answer that is longer than the bound"));
                    }
                }
            }
            UpstreamDelta::Call { choice, fragment } => {
                self.choices.entry(choice).or_default().assembler.push(fragment).map_err(AnswerAbortCause::Unfit)?;
            }
            UpstreamDelta::Finish { choice, finish } => {
                self.end_calls(choice)?;
                let found = self.choices.entry(choice).or_default();
                found.finish.get_or_insert(finish);
                found.sections.iter_mut().try_for_each(AnswerSection::finish)?;
            }
        }
        Ok(())
    }

    /// Submits the calls for judgement, because no further fragment belongs to them.
    fn end_calls(&mut self, choice: u32) -> Result<(), AnswerAbortCause> {
        for call in self.choices.entry(choice).or_default().assembler.take() {
            let is_refused = !self.question.request.offers(&call.name);
            if is_refused && self.question.mode != AnswerMode::Observed {
                return self.refuse_call(choice);
            }
            if let Some(section) = self.section(choice, AnswerChannel::Content)? {
                if is_refused {
                    section.add_rule(NOT_OFFERED);
                }
                section.give(&SectionInput::Call(&call))?;
            }
        }
        Ok(())
    }

    /// Ends a choice at a call whose tool the client did not offer. The refusal is recorded as a stream of its own,
    /// which has only a BEGIN, a NOTE and an END. The stream's id, which BEGIN binds, contains the reason.
    fn refuse_call(&mut self, choice: u32) -> Result<(), AnswerAbortCause> {
        let found = self.choices.entry(choice).or_default();
        if found.over || found.finish.is_some() || found.is_stopped() {
            return Ok(());
        }
        found.sections.iter_mut().try_for_each(AnswerSection::finish)?;
        let mut section = self
            .open_as(NOT_OFFERED, choice, AnswerChannel::Content, Some(NOT_OFFERED.into()))
            .map_err(|_| AnswerAbortCause::Gate)?;
        section.refuse(NOT_OFFERED);
        let found = self.choices.entry(choice).or_default();
        found.finish = Some(FinishReason::Refused);
        found.sections.push(section);
        Ok(())
    }

    /// The section for text in a channel of a choice; `None` if the choice accepts no more text.
    fn section(&mut self, choice: u32, channel: AnswerChannel) -> Result<Option<&mut AnswerSection>, AnswerAbortCause> {
        let at = self.place(choice, channel)?;
        let found = self.choices.entry(choice).or_default();
        Ok(at.and_then(|at| found.sections.get_mut(at)))
    }

    /// As [`Self::section`], but returns the index of the section in its choice.
    fn place(&mut self, choice: u32, channel: AnswerChannel) -> Result<Option<usize>, AnswerAbortCause> {
        let found = self.choices.entry(choice).or_default();
        if found.over || found.finish.is_some() || found.is_stopped() {
            return Ok(None);
        }
        if let Some(at) = found.sections.iter().position(|section| section.channel() == channel) {
            let known = |section: &AnswerSection| (section.is_open(), section.has_input());
            // Clients join a channel into one text, so a channel is one stream and cannot be resumed after it was left.
            match found.sections.get(at).map(known) {
                Some((false, _)) => {
                    return Err(AnswerAbortCause::Unfit("an answer that goes back to a channel that it had left"));
                }
                Some((true, true)) => return Ok(Some(at)),
                Some((true, false)) | None => {}
            }
            found.leave_others(channel)?;
            let section = found.sections.remove(at);
            let at = found.begun();
            found.sections.insert(at, section);
            return Ok(Some(at));
        }
        found.leave_others(channel)?;
        let section = self.open(choice, channel, None).map_err(|_| AnswerAbortCause::Gate)?;
        let found = self.choices.entry(choice).or_default();
        let at = found.begun();
        found.sections.insert(at, section);
        Ok(Some(at))
    }

    /// Opens a governed stream for a channel.
    fn open(
        &mut self,
        choice: u32,
        channel: AnswerChannel,
        refusal: Option<String>,
    ) -> Result<AnswerSection, StreamOpenError> {
        self.open_as(channel.name(), choice, channel, refusal)
    }

    /// Opens a governed stream. Its id contains this name, the digest of the request and the client's nonce.
    fn open_as(
        &mut self,
        name: &str,
        choice: u32,
        channel: AnswerChannel,
        refusal: Option<String>,
    ) -> Result<AnswerSection, StreamOpenError> {
        let AnswerJob { id, request, session, task, note, .. } = &self.question;
        // Only the content continues the conversation; the model's reasoning does not.
        let continuing = self.continuing.as_ref().filter(|_| channel == AnswerChannel::Content);
        let governor = continuing.map_or(&self.governor, |(governor, ..)| governor);
        let number = self.choices.get(&choice).map_or(0, |choice| choice.sections.len());
        let nonce = request.nonce.as_ref().map(|nonce| format!(" nonce={nonce}")).unwrap_or_default();
        let digest = hex::encode(&request.digest);
        let id = format!("{id}/{choice}/{number}/{name} request={digest}{nonce}");
        let asked = match self.question.mode {
            AnswerMode::Driven => governor.conversation_request(id.clone(), task.clone()),
            AnswerMode::Held => governor.held_request(id.clone(), task.clone()),
            AnswerMode::Observed => governor.observed_request(id.clone(), task.clone()),
        };
        let mut asked = asked.noted(*note).owned(self.question.owner);
        if let Some(why) = refusal {
            asked = asked.refused(why);
        }
        let sibling = self.choices.values().flat_map(|choice| &choice.sections).map(AnswerSection::stream);
        let opened = match sibling.into_iter().find(|stream| stream.end().is_none()) {
            Some(sibling) => session.handle.try_open_further(sibling, asked),
            None => session.handle.try_open(asked),
        };
        let stream = match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(_)) => return Err(StreamOpenError::Full),
            Err(_) => return Err(StreamOpenError::Closed),
        };
        let signed = session.proofs.as_ref().filter(|_| self.question.signed).map(|proofs| Arc::clone(&proofs.book));
        let mode = match self.question.mode {
            AnswerMode::Driven => SectionMode::driven(),
            AnswerMode::Observed => SectionMode::observed(),
            AnswerMode::Held if request.is_json() && channel == AnswerChannel::Content => {
                SectionMode::whole(JsonGaps::of(request.response_format.as_ref()))
            }
            AnswerMode::Held => SectionMode::Held,
        };
        let terms = ReleaseTerms { placeholder: self.placeholder(), signed, mode };
        let section = AnswerSection::new((choice, channel), id, stream, Arc::clone(governor), terms, &self.changed);
        Ok(section.timed(Arc::clone(&session.metrics)))
    }

    /// The placeholder for refused text, if the answer continues after a refusal.
    fn placeholder(&self) -> Option<Arc<str>> {
        if self.question.mode == AnswerMode::Held { placeholder(&self.governor) } else { None }
    }

    /// Waits until every stream has ended and all releasable text was sent.
    async fn settle(&mut self) -> Result<(), AnswerAbortCause> {
        loop {
            self.advance().await?;
            if self.sections().all(|section| section.end().is_some()) {
                return if self.is_broken() { Err(AnswerAbortCause::Gate) } else { Ok(()) };
            }
            self.changed.notified().await;
        }
    }

    /// Sends the outputs that may leave. Sections of a choice are sent in order.
    async fn advance(&mut self) -> Result<(), AnswerAbortCause> {
        let numbers: Vec<u32> = self.choices.keys().copied().collect();
        let broken = self.is_broken();
        for number in numbers {
            let Some(choice) = self.choices.get_mut(&number) else { continue };
            let mut leaving = Vec::new();
            while let Some(section) = choice.sections.get_mut(choice.leaving) {
                section.go();
                leaving.extend(section.outputs(&mut choice.calls));
                match section.end() {
                    Some(SectionEnd::Whole) => choice.leaving += 1,
                    Some(SectionEnd::Refused | SectionEnd::Broken) | None => break,
                }
            }
            let is_done = choice.leaving == choice.sections.len();
            let stopped = choice.is_stopped();
            let is_broken = choice.sections.iter().any(|section| section.end() == Some(SectionEnd::Broken));
            if stopped || is_broken {
                // Sections after a refused or broken section are discarded.
                choice.sections.iter_mut().skip(choice.leaving + 1).for_each(AnswerSection::give_up);
            }
            let finish = match (stopped, choice.finish) {
                (true, _) => Some(FinishReason::Refused),
                (false, Some(FinishReason::ToolCalls)) if choice.calls == 0 => Some(FinishReason::Refused),
                (false, finish) => finish,
            };
            if let Some(finish) = finish.filter(|_| !choice.over && !broken && (is_done || stopped)) {
                choice.over = true;
                let content = choice.sections.iter_mut().find(|s| s.channel() == AnswerChannel::Content);
                if let Some(section) = content.filter(|_| stopped) {
                    leaving.push(section.close_with(&self.governor.policy().package.manifest().refusal.text));
                }
                leaving.push(GatedAnswerPart::End { choice: number, finish });
            }
            leaving.iter().for_each(|output| choice.said.push(output));
            for output in leaving {
                self.send(output).await?;
            }
        }
        Ok(())
    }

    /// Whether a stream ended with an error.
    fn is_broken(&mut self) -> bool {
        self.sections().any(|section| section.end() == Some(SectionEnd::Broken))
    }

    async fn send(&mut self, output: GatedAnswerPart) -> Result<(), AnswerAbortCause> {
        match &output {
            GatedAnswerPart::End { finish, .. } => self.finishes.push(*finish),
            GatedAnswerPart::Text { .. } | GatedAnswerPart::Call { .. } | GatedAnswerPart::Constant { .. } => {
                self.first.get_or_insert_with(Instant::now);
            }
        }
        match timeout(self.question.client, self.outputs.send(output)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(AnswerAbortCause::Client("the client has gone")),
            Err(_) => Err(AnswerAbortCause::Client("the client does not read")),
        }
    }

    fn end(mut self, broken: Option<AnswerAbortCause>) -> AnswerEnd {
        let tokens: u64 = self.sections().map(|section| section.tokens()).sum();
        let is_whole =
            |section: &mut AnswerSection| section.end() == Some(SectionEnd::Whole) && section.report().rejected == 0;
        let whole = broken.is_none() && self.sections().all(is_whole);
        let asked = self.question.mode;
        let completion = if whole || asked != AnswerMode::Held { self.usage.completion } else { tokens };
        let usage = TokenUsage { prompt: self.usage.prompt, completion };
        let streams = self.sections().map(|section| section.report().clone()).collect();
        let before = self.continuing.as_ref().map_or(self.question.conversation.first, |(_, turn, _)| *turn);
        let states = if broken.is_none() { self.states(before) } else { Vec::new() };
        let continues = self.continuing.map(|(_, _, leaf)| leaf.to_string());
        let AnswerJob { id, request, session, input_rules, .. } = self.question;
        let mode = match asked {
            AnswerMode::Held => StreamMode::Held,
            AnswerMode::Driven => StreamMode::DrivenConversation,
            AnswerMode::Observed => StreamMode::Observed,
        };
        let provenance = AnswerProvenance {
            nonce: request.nonce,
            input_rules,
            continues,
            sources: self.governor.supplied_digest().map(|digest| hex::encode(&digest)),
            streams,
            ..AnswerProvenance::new(id, mode, self.governor.policy(), &session.name, &request.digest)
        };
        let (first, finishes) = (self.first, self.finishes);
        AnswerEnd { usage, provenance, failure: broken.map(|broken| broken.failure()), states, first, finishes }
    }

    /// The end states of the finished choices, each under the turn that follows `before`.
    fn states(&self, before: TurnDigest) -> Vec<(TurnDigest, Arc<EndState>)> {
        let state = |choice: &GatedChoice| {
            let content = choice.sections.iter().find(|section| section.channel() == AnswerChannel::Content)?;
            Some((before.then(choice.said.clone().digest()?), Arc::clone(content.left_in()?)))
        };
        self.choices.values().filter(|choice| choice.over).filter_map(state).collect()
    }
}

impl GatedChoice {
    /// Finishes the text in the other channels, because the model now writes in `channel`.
    fn leave_others(&mut self, channel: AnswerChannel) -> Result<(), AnswerAbortCause> {
        let mut begun = self.sections.iter_mut().filter(|s| s.has_input() && s.channel() != channel);
        Ok(begun.try_for_each(AnswerSection::finish)?)
    }

    /// Lets the current section submit its parts, and pauses the later sections.
    fn go(&mut self) {
        self.sections.iter_mut().skip(self.leaving + 1).for_each(AnswerSection::rest);
        self.sections.get_mut(self.leaving).into_iter().for_each(AnswerSection::go);
    }

    /// Number of sections with text, which come first; sections without text come after them.
    fn begun(&self) -> usize {
        self.sections.iter().take_while(|section| section.has_input()).count()
    }

    /// Whether the gate ended one of the choice's streams.
    fn is_stopped(&self) -> bool {
        self.sections.iter().any(|section| section.end() == Some(SectionEnd::Refused))
    }
}
