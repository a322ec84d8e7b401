//! The engine of a driven stream: a model server that writes one sentence at a time and continues from admitted text.
//!
//! An answer of the server is read on as long as everything that it wrote was admitted: its next words follow admitted
//! text and nothing else. Once something was refused, that answer is given up. The server is asked again, with the
//! admitted text as the beginning of its answer and with another seed.

use crate::output::{Channel, Finish, Usage};
use crate::request::Request;
use crate::token_track::TokenTrack;
use crate::upstream::{Delta, DeltaStream, Upstream, UpstreamError};
use portcullis_gate::Candidate;
use portcullis_gate::engine::{Proposal, ProposalRequest, View, span_end};
use portcullis_mapping::Call;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::timeout;

/// Bytes of one tool call at most.
const CALL_BYTES: usize = 1 << 20;
/// Between the seeds of two choices.
const CHOICE_SEEDS: i64 = 1 << 20;
/// Longest wait for the usage of an answer that is whole.
const USAGE: Duration = Duration::from_secs(1);
/// The answer to a driven stream.
pub(crate) struct Proposed {
    pub(crate) proposal: Proposal,
    /// Why the answer ends, where it does.
    pub(crate) finish: Option<Finish>,
}

/// Why nothing is proposed.
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

/// Writes one choice of an answer.
pub(crate) struct Writer {
    upstream: Upstream,
    request: Request,
    /// The policy's longest span, in bytes: a text without the end of a sentence is proposed in parts of it.
    most: usize,
    running: Option<Running>,
    /// Seed of the first request; each further one has the next.
    seed: i64,
    asked: bool,
    /// A tool call was proposed last.
    calls: bool,
    /// A tool call was admitted: the server cannot be asked to continue from it.
    called: bool,
    /// Tokens of the proposals, without refused alternatives.
    tokens: u64,
    /// Tokens of the last proposal.
    last: u64,
    /// Tokens of the prompt, as the server counts them.
    prompt: u64,
}

/// An answer of the server while it is read.
struct Running {
    deltas: DeltaStream,
    /// Bytes of a candidate at most.
    most: usize,
    /// The text before its next words, from the place at which the server was asked.
    before: String,
    /// Spaces at the end of the admitted text that the server was not shown: it may write them again.
    unseen: String,
    /// Text that the server wrote and that was not proposed yet.
    text: String,
    /// Bytes of each piece of that text: of each token, as the server counts.
    pieces: VecDeque<usize>,
    /// The tokens of that text, where the server was asked for them.
    track: Option<TokenTrack>,
    /// Calls; the last one may be open.
    calls: VecDeque<(u64, Call)>,
    finish: Option<Finish>,
    /// It came to a text at which the client wants it to end.
    stopped: bool,
}

impl Writer {
    /// Writes a choice of the answer to `request`, in candidates of `most` bytes.
    pub(crate) fn new(upstream: Upstream, request: &Request, choice: u32, most: usize) -> Self {
        let first = request.sampling.seed.unwrap_or(0);
        let mut request = Request { choices: 1, ..request.clone() };
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

    /// Tokens of the answer.
    pub(crate) const fn usage(&self) -> Usage {
        Usage { prompt: self.prompt, completion: self.tokens }
    }

    /// Proposes what follows the admitted text.
    ///
    /// # Errors
    /// [`DriveError`] ends the answer.
    pub(crate) async fn propose(&mut self, ask: &ProposalRequest) -> Result<Proposed, DriveError> {
        let over = |finish| Ok(Proposed { proposal: Proposal::End, finish: Some(finish) });
        let none = || Ok(Proposed { proposal: Proposal::Exhausted, finish: None });
        if ask.attempt > 0 {
            self.tokens -= std::mem::take(&mut self.last);
        }
        self.called |= std::mem::take(&mut self.calls) && ask.attempt == 0;
        // After an admitted call there are further calls of the same answer, and nothing else.
        let follows = |running: &Running| self.called || running.follows(&ask.admitted);
        if ask.attempt > 0 || !self.running.as_ref().is_some_and(follows) {
            if self.called {
                return none();
            }
            if self.left() == Some(0) {
                return over(Finish::Length);
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
            return Ok(Proposed { proposal: Proposal::Candidate(candidate), finish: None });
        }
        // An empty alternative does not count; an alternative that reaches the client's stop text is the end.
        if ask.attempt > 0 && !running.stopped {
            return none();
        }
        let finish = running.finish.unwrap_or(Finish::Stop);
        let usage = async {
            while let Ok(Some(delta)) = running.deltas.next().await {
                if let Delta::Usage(usage) = delta {
                    return usage.prompt;
                }
            }
            0
        };
        if self.prompt == 0 {
            self.prompt = timeout(USAGE, usage).await.unwrap_or(0);
        }
        over(finish)
    }

    /// Tokens that the client still allows for the answer.
    fn left(&self) -> Option<u64> {
        self.request.sampling.max_tokens.map(|most| most.saturating_sub(self.tokens))
    }

    async fn ask(&mut self, admitted: &str) -> Result<Running, UpstreamError> {
        let mut request = self.request.clone();
        request.sampling.max_tokens = self.left();
        // The first request is the client's own: without a seed where the client gave none.
        if self.asked {
            self.seed = self.seed.wrapping_add(1);
        }
        if self.asked || self.request.sampling.seed.is_some() {
            request.sampling.seed = Some(self.seed);
        }
        self.asked = true;
        // Models begin a word with its space: a text that ends with one is a text that they never saw.
        let (shown, unseen) = admitted.split_at(admitted.trim_end_matches(' ').len());
        let deltas = self.upstream.ask(&request, shown).await?;
        Ok(Running {
            deltas,
            most: self.most,
            before: admitted.to_owned(),
            unseen: unseen.to_owned(),
            text: String::new(),
            pieces: VecDeque::new(),
            track: request.sampling.logprobs.then(TokenTrack::default),
            calls: VecDeque::new(),
            finish: None,
            stopped: false,
        })
    }
}

impl Running {
    /// Whether its next words follow this text; `admitted` is the end of that text.
    fn follows(&self, admitted: &str) -> bool {
        // The end begins at a character: up to three bytes may be missing.
        let is_whole = admitted.len() == self.before.len() || admitted.len() + 3 >= View::ADMITTED_MAX;
        is_whole && self.before.ends_with(admitted)
    }

    /// Whether a candidate is there, or the end.
    fn is_ready(&self) -> bool {
        self.finish.is_some()
            || self.calls.len() > 1
            || (!self.calls.is_empty() && !self.text.is_empty())
            || self.text.len() > self.most
            || span_end(&self.text).is_some()
    }

    fn take(&mut self, delta: Delta) -> Result<(), DriveError> {
        match delta {
            Delta::Text { channel: Channel::Content, text, .. } => {
                if !self.calls.is_empty() {
                    return Err(DriveError::Unfit("an answer that goes on after its tool calls"));
                }
                let known = text.bytes().zip(self.unseen.bytes()).take_while(|(new, known)| new == known).count();
                // They can only be at the beginning.
                let is_all = known == text.len();
                self.unseen = self.unseen.get(known..).filter(|_| is_all).unwrap_or_default().to_owned();
                if let Some(track) = &mut self.track {
                    track.text(&text, known);
                }
                let text = text.get(known..).unwrap_or_default();
                self.pieces.push_back(text.len());
                self.text.push_str(text);
            }
            Delta::Text { .. } => {
                return Err(DriveError::Unfit(
                    "text that is not the answer's own: a model that thinks aloud cannot be driven",
                ));
            }
            Delta::Call { index, name, arguments, .. } => {
                let is_next = |(last, call): &(u64, Call)| *last != index || (name.is_some() && !call.name.is_empty());
                if self.calls.back().is_none_or(is_next) {
                    self.calls.push_back((index, Call { name: String::new(), arguments: String::new() }));
                }
                let Some((_, call)) = self.calls.back_mut() else { return Ok(()) };
                call.name.push_str(&name.unwrap_or_default());
                call.arguments.push_str(&arguments);
                if call.name.len() + call.arguments.len() > CALL_BYTES {
                    return Err(DriveError::Unfit("a tool call that is longer than the bound"));
                }
            }
            Delta::Finish { finish, .. } => self.finish = Some(finish),
            Delta::Tokens { tokens, .. } => {
                if let Some(track) = &mut self.track {
                    track.tokens(tokens);
                }
            }
            Delta::Usage(_) => {}
        }
        Ok(())
    }

    /// The next candidate, with its tokens; `None` when the answer has come to its end.
    fn propose(&mut self, stops: &[String]) -> (Option<Candidate>, u64) {
        let fits = |end: &usize| self.text.get(..*end).is_some_and(|text| text.trim().len() <= self.most);
        let sentence = span_end(&self.text).filter(fits);
        let end = sentence.or_else(|| self.long_span());
        let rest = self.text.split_off(end.unwrap_or(self.text.len()));
        let text = std::mem::replace(&mut self.text, rest);
        let tokens = self.tokens(text.len());
        if !text.trim().is_empty() {
            if self.is_stopped(&text, stops) {
                (self.text, self.finish, self.stopped) = (String::new(), Some(Finish::Stop), true);
                self.calls.clear();
                return (None, 0);
            }
            self.before.push_str(&text);
            let candidate = match &mut self.track {
                Some(track) => track.candidate(text),
                None => Candidate { text, logprobs: None, logprobs_absent: None, call: None },
            };
            return (Some(candidate), tokens);
        }
        let Some((_, mut call)) = self.calls.pop_front() else { return (None, 0) };
        if call.arguments.trim().is_empty() {
            "{}".clone_into(&mut call.arguments);
        }
        let candidate = Candidate { text: String::new(), logprobs: None, logprobs_absent: None, call: Some(call) };
        (Some(candidate), tokens)
    }

    /// The place at which a text that is too long for a candidate is cut: after the last white space that fits,
    /// otherwise at the limit.
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
        // A token that crosses the end counts with the next bytes.
        self.pieces.front_mut().into_iter().for_each(|piece| *piece -= bytes);
        tokens
    }

    /// Whether a stop text spans the border between the admitted text and this text. If a stop text is in this text
    /// alone, the server has ended the answer already.
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
