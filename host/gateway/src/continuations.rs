//! The end states of answers, for the next turn of their conversations.
//!
//! Each request contains the whole conversation. If an assistant message in it equals, byte for byte, an answer that
//! this gateway released under the same client key, the next answer starts with the end state of that answer. An end
//! state also contains what the answers before it established. So a state is found only through a digest over its own
//! answer and all answers that it continued: a conversation must contain all of them, in order.

use crate::output::{AnswerChannel, GatedAnswerPart};
use crate::request::{ClientRequest, ConversationMessage, MessageRole, RequestInput};
use crate::session_state::OpenSession;
use portcullis_gate::EndState;
use portcullis_mapping::EngineToolCall;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Upper bound of a state's memory per byte of its JSON form, for keys, pointers and spare room in trees.
const FACTOR: usize = 4;

/// Identifies an answer together with the answers that it continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TurnDigest([u8; 32]);

impl TurnDigest {
    /// The start of all conversations under a client key; `None` if no key is configured.
    pub(crate) fn first(caller: Option<usize>) -> Self {
        let caller = caller.map_or(0, |place| place as u64 + 1);
        Self(
            Sha256::new()
                .chain_update(b"portcullis/gateway/turn/1\0")
                .chain_update(caller.to_le_bytes())
                .finalize()
                .into(),
        )
    }

    /// The next turn, in which the answer with digest `said` was given.
    pub(crate) fn then(self, said: [u8; 32]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(said).finalize().into())
    }
}

/// Digest of the content of one choice: its text and its calls.
#[derive(Clone, Default)]
pub(crate) struct ChoiceContentDigest {
    text: Sha256,
    calls: Sha256,
    is_something: bool,
}

impl ChoiceContentDigest {
    /// Adds an output that is sent.
    pub(crate) fn push(&mut self, output: &GatedAnswerPart) {
        match output {
            GatedAnswerPart::Text { channel: AnswerChannel::Content, text, .. }
            | GatedAnswerPart::Constant { channel: AnswerChannel::Content, text, .. } => self.text(text),
            GatedAnswerPart::Call { call, .. } => self.call(&call.call),
            GatedAnswerPart::Text { .. } | GatedAnswerPart::Constant { .. } | GatedAnswerPart::End { .. } => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.is_something |= !text.is_empty();
        self.text.update(text);
    }

    fn call(&mut self, EngineToolCall { name, arguments }: &EngineToolCall) {
        self.is_something = true;
        for part in [name, arguments] {
            self.calls.update((part.len() as u64).to_le_bytes());
            self.calls.update(part);
        }
    }

    fn of(message: &ConversationMessage) -> Self {
        let mut said = Self::default();
        said.text(&message.text);
        message.calls.iter().for_each(|call| said.call(&call.call));
        said
    }

    /// The digest; `None` if there was no content.
    pub(crate) fn digest(self) -> Option<[u8; 32]> {
        let Self { text, calls, is_something } = self;
        let both = Sha256::new().chain_update(text.finalize()).chain_update(calls.finalize());
        is_something.then(|| both.finalize().into())
    }
}

/// The place of a request in its conversation.
#[derive(Clone)]
pub(crate) struct ConversationPosition {
    /// The start of the conversation.
    pub(crate) first: TurnDigest,
    /// The last answer in the conversation whose state is kept.
    pub(crate) last: Option<(TurnDigest, Arc<EndState>)>,
    /// The session of that answer. On the same card, all streams of a conversation are in one chain of bundles.
    pub(crate) session: Weak<OpenSession>,
}

/// The kept states. New states replace the oldest ones.
pub(crate) struct ContinuationStore {
    /// Largest number of states.
    most: usize,
    /// Largest memory in bytes.
    most_bytes: usize,
    kept: Mutex<ContinuationTable>,
}

#[derive(Default)]
struct ContinuationTable {
    states: BTreeMap<TurnDigest, KeptState>,
    /// Turns by age.
    order: BTreeMap<u64, TurnDigest>,
    next: u64,
    bytes: usize,
}

struct KeptState {
    age: u64,
    bytes: usize,
    state: Arc<EndState>,
    session: Weak<OpenSession>,
}

impl ContinuationStore {
    /// Empty, with room for `most` states and `most_bytes` of memory.
    pub(crate) const fn new(most: usize, most_bytes: usize) -> Self {
        let kept = ContinuationTable { states: BTreeMap::new(), order: BTreeMap::new(), next: 0, bytes: 0 };
        Self { most, most_bytes, kept: Mutex::new(kept) }
    }

    /// Finds the last assistant message of a request that is an answer to this caller.
    pub(crate) fn conversation(&self, caller: Option<usize>, request: &ClientRequest) -> ConversationPosition {
        let first = TurnDigest::first(caller);
        let RequestInput::Messages(messages) = &request.input else {
            return ConversationPosition { first, last: None, session: Weak::new() };
        };
        let mut last: Option<(TurnDigest, &KeptState)> = None;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Earlier answers may have lost their states, so each message is also looked up as the first answer of a
        // conversation.
        let mut all = first;
        for message in messages.iter().filter(|message| message.role == MessageRole::Assistant) {
            let Some(said) = ChoiceContentDigest::of(message).digest() else { continue };
            let before = [Some(all), last.as_ref().map(|(turn, _)| *turn), Some(first)];
            let mut turns = before.into_iter().flatten().map(|turn| turn.then(said));
            let found = turns.find_map(|turn| kept.states.get(&turn).map(|kept| (turn, kept)));
            all = all.then(said);
            last = found.or(last);
        }
        let session = last.map(|(_, kept)| Weak::clone(&kept.session)).unwrap_or_default();
        ConversationPosition { first, last: last.map(|(turn, kept)| (turn, Arc::clone(&kept.state))), session }
    }

    /// Keeps the state of an answer of this session, unless it exceeds the whole memory limit.
    pub(crate) fn keep(&self, turn: TurnDigest, state: Arc<EndState>, session: &Arc<OpenSession>) {
        let bytes = state.bytes().saturating_mul(FACTOR);
        if bytes > self.most_bytes || self.most == 0 {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_state(turn);
        while kept.states.len() >= self.most || kept.bytes.saturating_add(bytes) > self.most_bytes {
            let Some((_, oldest)) = kept.order.first_key_value() else { break };
            let oldest = *oldest;
            kept.drop_state(oldest);
        }
        let age = kept.next;
        kept.next += 1;
        kept.bytes += bytes;
        kept.order.insert(age, turn);
        kept.states.insert(turn, KeptState { age, bytes, state, session: Arc::downgrade(session) });
    }
}

impl ContinuationTable {
    fn drop_state(&mut self, turn: TurnDigest) {
        if let Some(KeptState { age, bytes, .. }) = self.states.remove(&turn) {
            self.order.remove(&age);
            self.bytes -= bytes;
        }
    }
}
