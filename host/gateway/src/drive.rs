//! The engine of a driven stream: a model server that proposes one sentence at a time, after admitted text only.
//!
//! The server's response is read further as long as all of it was admitted, because the next words then follow admitted
//! text. After a refusal, the response is dropped. The server is asked again, with the admitted text as the beginning
//! of its answer and with another seed.

use crate::calls::CallAssembler;
use crate::output::{AnswerChannel, FinishReason, TokenUsage};
use crate::request::ClientRequest;
use crate::token_track::TokenTrack;
use crate::upstream::{DeltaStream, UpstreamClient, UpstreamDelta, UpstreamError};
use portcullis_gate::AnswerCandidate;
use portcullis_gate::engine::{EngineProposal, EngineView, ProposalRequest, span_end};
use portcullis_mapping::EngineToolCall;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Distance between the first seeds of two choices.
const CHOICE_SEEDS: i64 = 1 << 20;
/// The proposal for a driven stream.
pub(crate) struct DrivenProposal {
    pub(crate) proposal: EngineProposal,
    /// End reason, if the answer ends.
    pub(crate) finish: Option<FinishReason>,
    /// The answer ends at a call of a tool that the client did not offer.
    pub(crate) is_refused: bool,
}

/// Why a proposal failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DriveError {
    Upstream(UpstreamError),
    /// The model's text cannot be judged.
    Unfit(&'static str),
}

impl From<UpstreamError> for DriveError {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

/// Proposes the text of one choice.
pub(crate) struct UpstreamEngine {
    upstream: UpstreamClient,
    request: ClientRequest,
    /// Longest span of the policy, in bytes. A longer text without the end of a sentence is cut into parts of this
    /// length.
    most: usize,
    running: Option<UpstreamResponse>,
    /// Seed of the first request; each further request uses the next seed.
    seed: i64,
    asked: bool,
    /// The last proposal was a tool call.
    calls: bool,
    /// A tool call was admitted. The server cannot continue after a call.
    called: bool,
    /// Number of tokens of all proposals except refused ones.
    tokens: u64,
    /// Number of tokens of the last proposal.
    last: u64,
    /// Number of tokens of the prompt, as the server counts them.
    prompt: u64,
}

/// A response of the server that is being read.
struct UpstreamResponse {
    deltas: DeltaStream,
    /// Largest candidate, in bytes.
    most: usize,
    /// The admitted text that the next words follow.
    before: String,
    /// Spaces at the end of the admitted text that were not sent to the server. The server may write these spaces
    /// itself.
    unseen: String,
    /// Text that was received but not proposed yet.
    text: String,
    /// Length in bytes of each received piece of `text`; the server counts a piece as a token.
    pieces: VecDeque<usize>,
    /// The tokens of `text`, if log-probabilities were requested.
    track: Option<TokenTrack>,
    /// The calls whose fragments were received.
    assembler: CallAssembler,
    /// The complete calls.
    calls: VecDeque<EngineToolCall>,
    finish: Option<FinishReason>,
    /// The text reached one of the client's stop texts.
    stopped: bool,
}

impl UpstreamEngine {
    /// A writer for one choice of the answer to `request`, with candidates of at most `most` bytes.
    pub(crate) fn new(upstream: UpstreamClient, request: &ClientRequest, choice: u32, most: usize) -> Self {
        let first = request.sampling.seed.unwrap_or(0);
        let mut request = ClientRequest { choices: 1, ..request.clone() };
        request.sampling.logprobs = upstream.gives_logprobs(&request);
        Self {
            upstream,
            request,
            most,
            running: None,
            seed: first.wrapping_add(i64::from(choice) * CHOICE_SEEDS),
            asked: false,
            calls: false,
            called: false,
            tokens: 0,
            last: 0,
            prompt: 0,
        }
    }

    /// Tokens of the prompt and of the answer.
    pub(crate) const fn usage(&self) -> TokenUsage {
        TokenUsage { prompt: self.prompt, completion: self.tokens }
    }

    /// Proposes the text after the admitted text.
    ///
    /// # Errors
    /// [`DriveError`] ends the answer.
    pub(crate) async fn propose(&mut self, ask: &ProposalRequest) -> Result<DrivenProposal, DriveError> {
        let over =
            |finish| Ok(DrivenProposal { proposal: EngineProposal::End, finish: Some(finish), is_refused: false });
        let none = || Ok(DrivenProposal { proposal: EngineProposal::Exhausted, finish: None, is_refused: false });
        if ask.attempt > 0 {
            self.tokens -= std::mem::take(&mut self.last);
        }
        self.called |= std::mem::take(&mut self.calls) && ask.attempt == 0;
        // After an admitted call, only further calls of the same response can follow.
        let follows = |running: &UpstreamResponse| self.called || running.follows(&ask.admitted);
        if ask.attempt > 0 || !self.running.as_ref().is_some_and(follows) {
            if self.called {
                return none();
            }
            if self.left() == Some(0) {
                return over(FinishReason::Length);
            }
            self.running = None;
            self.running = Some(self.ask(&ask.admitted).await?);
        }
        let Some(running) = &mut self.running else { return none() };
        running.deltas.resume();
        while !running.is_ready() {
            let Some(delta) = running.deltas.next().await? else {
                return Err(DriveError::Upstream(UpstreamError::Cut));
            };
            running.take(delta)?;
        }
        let (candidate, tokens) = running.propose(&self.request.sampling.stop);
        self.last = tokens;
        self.tokens += tokens;
        if let Some(candidate) = candidate {
            self.calls = candidate.call.is_some();
            if candidate.call.as_ref().is_some_and(|call| !self.request.offers(&call.name)) {
                return Ok(DrivenProposal { proposal: EngineProposal::End, finish: None, is_refused: true });
            }
            return Ok(DrivenProposal {
                proposal: EngineProposal::Candidate(candidate),
                finish: None,
                is_refused: false,
            });
        }
        // An empty alternative does not end the answer; an alternative that reaches a stop text does.
        if ask.attempt > 0 && !running.stopped {
            return none();
        }
        let finish = running.finish.unwrap_or(FinishReason::Stop);
        if self.prompt == 0 {
            let prompt = &mut self.prompt;
            let first = |usage: TokenUsage| {
                *prompt = usage.prompt;
                ControlFlow::Break(())
            };
            running.deltas.usages(first).await;
        }
        over(finish)
    }

    /// Number of tokens that the client's limit still allows.
    fn left(&self) -> Option<u64> {
        self.request.sampling.max_tokens.map(|most| most.saturating_sub(self.tokens))
    }

    async fn ask(&mut self, admitted: &str) -> Result<UpstreamResponse, UpstreamError> {
        let mut request = self.request.clone();
        request.sampling.max_tokens = self.left();
        // The first request keeps the client's settings, without a seed if the client set none.
        if self.asked {
            self.seed = self.seed.wrapping_add(1);
        }
        if self.asked || self.request.sampling.seed.is_some() {
            request.sampling.seed = Some(self.seed);
        }
        self.asked = true;
        // Models write a space as the start of a word, and are not trained on text that ends with a space.
        let (shown, unseen) = admitted.split_at(admitted.trim_end_matches(' ').len());
        let deltas = self.upstream.ask(&request, shown).await?;
        Ok(UpstreamResponse {
            deltas,
            most: self.most,
            before: admitted.to_owned(),
            unseen: unseen.to_owned(),
            text: String::new(),
            pieces: VecDeque::new(),
            track: request.sampling.logprobs.then(TokenTrack::default),
            assembler: CallAssembler::default(),
            calls: VecDeque::new(),
            finish: None,
            stopped: false,
        })
    }
}

impl UpstreamResponse {
    /// Whether the response continues right after the admitted text, which ends with `admitted`.
    fn follows(&self, admitted: &str) -> bool {
        // `admitted` starts at a character boundary. If it was cut, it can be up to three bytes shorter than the limit.
        let is_whole = admitted.len() == self.before.len() || admitted.len() + 3 >= EngineView::ADMITTED_MAX;
        is_whole && self.before.ends_with(admitted)
    }

    /// Whether a candidate or the end of the answer is available.
    fn is_ready(&self) -> bool {
        self.finish.is_some()
            || (self.assembler.has_open() && !self.text.is_empty())
            || self.text.len() > self.most
            || span_end(&self.text).is_some()
    }

    fn take(&mut self, delta: UpstreamDelta) -> Result<(), DriveError> {
        match delta {
            UpstreamDelta::Text { channel: AnswerChannel::Content, text, .. } => {
                self.assembler.check_text().map_err(DriveError::Unfit)?;
                let known = text.bytes().zip(self.unseen.bytes()).take_while(|(new, known)| new == known).count();
                // The server can repeat the unseen spaces only at the beginning of its text.
                let is_all = known == text.len();
                self.unseen = self.unseen.get(known..).filter(|_| is_all).unwrap_or_default().to_owned();
                if let Some(track) = &mut self.track {
                    track.text(&text, known);
                }
                let text = text.get(known..).unwrap_or_default();
                self.pieces.push_back(text.len());
                self.text.push_str(text);
            }
            UpstreamDelta::Text { .. } => {
                return Err(DriveError::Unfit(
                    "text that is not the answer's own: a model that thinks aloud cannot be driven",
                ));
            }
            UpstreamDelta::Call { fragment, .. } => self.assembler.push(fragment).map_err(DriveError::Unfit)?,
            UpstreamDelta::Finish { finish, .. } => {
                self.finish = Some(finish);
                self.calls.extend(self.assembler.take());
            }
            UpstreamDelta::Tokens { tokens, .. } => {
                if let Some(track) = &mut self.track {
                    track.tokens(tokens);
                }
            }
            UpstreamDelta::Usage(_) => {}
        }
        Ok(())
    }

    /// The next candidate and its number of tokens; no candidate if the answer has ended.
    fn propose(&mut self, stops: &[String]) -> (Option<AnswerCandidate>, u64) {
        let fits = |end: &usize| self.text.get(..*end).is_some_and(|text| text.trim().len() <= self.most);
        let sentence = span_end(&self.text).filter(fits);
        let end = sentence.or_else(|| self.long_span());
        let rest = self.text.split_off(end.unwrap_or(self.text.len()));
        let text = std::mem::replace(&mut self.text, rest);
        let tokens = self.tokens(text.len());
        if !text.trim().is_empty() {
            if self.is_stopped(&text, stops) {
                (self.text, self.finish, self.stopped) = (String::new(), Some(FinishReason::Stop), true);
                self.calls.clear();
                return (None, 0);
            }
            self.before.push_str(&text);
            let candidate = match &mut self.track {
                Some(track) => track.candidate(text),
                None => AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None },
            };
            return (Some(candidate), tokens);
        }
        let Some(call) = self.calls.pop_front() else { return (None, 0) };
        let candidate =
            AnswerCandidate { text: String::new(), logprobs: None, logprobs_absent: None, call: Some(call) };
        (Some(candidate), tokens)
    }

    /// Where to cut a text that is too long for a candidate: after the last white space that fits, otherwise at the
    /// limit.
    fn long_span(&self) -> Option<usize> {
        let begin = self.text.len() - self.text.trim_start().len();
        let room = self.text.get(..self.text.floor_char_boundary(begin + self.most))?;
        let mut spaces = room.char_indices().filter(|(at, c)| *at > begin && c.is_whitespace());
        let last = spaces.next_back().map(|(at, c)| at + c.len_utf8());
        (self.text.len() > room.len()).then(|| last.unwrap_or(room.len()))
    }

    /// Number of tokens that end in the next `bytes` bytes of the text.
    fn tokens(&mut self, mut bytes: usize) -> u64 {
        let mut tokens = 0;
        while let Some(piece) = self.pieces.pop_front_if(|piece| *piece <= bytes) {
            tokens += 1;
            bytes -= piece;
        }
        // A token that spans the cut belongs to the following text.
        self.pieces.front_mut().into_iter().for_each(|piece| *piece -= bytes);
        tokens
    }

    /// Whether a stop text spans the border between the admitted text and `text`. The server itself ends the answer at
    /// a stop text inside `text`.
    fn is_stopped(&self, text: &str, stops: &[String]) -> bool {
        stops.iter().any(|stop| {
            let most = self.before.len().min(stop.len().saturating_sub(1));
            let from = self.before.ceil_char_boundary(self.before.len() - most);
            let tail = self.before.get(from..).unwrap_or_default();
            let found = [tail, text].concat().find(stop.as_str());
            found.is_some_and(|at| at < tail.len())
        })
    }
}
