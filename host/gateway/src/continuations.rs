//! The states that answers ended in, for the next turn of their conversations.
//!
//! A conversation comes back with every request. Where an assistant's message in it is, byte for byte, an answer that
//! this gate released to the same key, the next answer begins with the state that this one ended in. Such a state holds
//! what the answers before it established, too. So an answer is known by its own text and by those of the answers that
//! it continued: its state comes back only to a conversation that shows all of them, in order.

use crate::output::{Channel, Output};
use crate::request::{Input, Message, Request, Role};
use portcullis_gate::EndState;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Memory that a state takes for each byte of its JSON form, at most: keys, pointers and the room in trees.
const FACTOR: usize = 4;

/// An answer with those that it continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn([u8; 32]);

impl Turn {
    /// The beginning of a key's conversations; `None` where no key is configured.
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

    /// The turn after it, in which this was said.
    pub(crate) fn then(self, said: [u8; 32]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(said).finalize().into())
    }
}

/// The content of a choice of an answer: its text, and its calls.
#[derive(Clone, Default)]
pub(crate) struct Said {
    text: Sha256,
    calls: Sha256,
    is_something: bool,
}

impl Said {
    /// Takes what leaves.
    pub(crate) fn push(&mut self, output: &Output) {
        match output {
            Output::Text { channel: Channel::Content, text, .. }
            | Output::Constant { channel: Channel::Content, text, .. } => self.text(text),
            Output::Call { name, arguments, .. } => self.call(name, arguments),
            Output::Text { .. } | Output::Constant { .. } | Output::End { .. } => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.is_something |= !text.is_empty();
        self.text.update(text);
    }

    fn call(&mut self, name: &str, arguments: &str) {
        self.is_something = true;
        for part in [name, arguments] {
            self.calls.update((part.len() as u64).to_le_bytes());
            self.calls.update(part);
        }
    }

    fn of(message: &Message) -> Self {
        let mut said = Self::default();
        said.text(&message.text);
        message.calls.iter().for_each(|call| said.call(&call.name, &call.arguments));
        said
    }

    /// Digest of it; `None` where nothing was said.
    pub(crate) fn digest(self) -> Option<[u8; 32]> {
        let Self { text, calls, is_something } = self;
        let both = Sha256::new().chain_update(text.finalize()).chain_update(calls.finalize());
        is_something.then(|| both.finalize().into())
    }
}

/// Where a request's conversation is.
#[derive(Clone)]
pub(crate) struct Conversation {
    /// Its beginning.
    pub(crate) first: Turn,
    /// Its last answer with a kept state.
    pub(crate) last: Option<(Turn, Arc<EndState>)>,
}

/// The states that are kept: the oldest are dropped for new ones.
pub(crate) struct Continuations {
    /// Most states.
    most: usize,
    /// Most bytes of memory.
    most_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    states: BTreeMap<Turn, KeptState>,
    /// By age.
    order: BTreeMap<u64, Turn>,
    next: u64,
    bytes: usize,
}

struct KeptState {
    age: u64,
    bytes: usize,
    state: Arc<EndState>,
}

impl Continuations {
    /// Nothing is kept yet; `most` states, and `most_bytes` of memory.
    pub(crate) const fn new(most: usize, most_bytes: usize) -> Self {
        let kept = Kept { states: BTreeMap::new(), order: BTreeMap::new(), next: 0, bytes: 0 };
        Self { most, most_bytes, kept: Mutex::new(kept) }
    }

    /// Looks for the last message of a request's conversation that is an answer to this caller.
    pub(crate) fn conversation(&self, caller: Option<usize>, request: &Request) -> Conversation {
        let first = Turn::first(caller);
        let Input::Messages(messages) = &request.input else { return Conversation { first, last: None } };
        let mut last: Option<(Turn, Arc<EndState>)> = None;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.states.is_empty() {
            return Conversation { first, last };
        }
        // Every message is tried as an answer: the states of those before may have been dropped.
        let mut all = first;
        for message in messages.iter().filter(|message| message.role == Role::Assistant) {
            let Some(said) = Said::of(message).digest() else { continue };
            let before = [Some(all), last.as_ref().map(|(turn, _)| *turn), Some(first)];
            let mut turns = before.into_iter().flatten().map(|turn| turn.then(said));
            let found = turns.find_map(|turn| kept.states.get(&turn).map(|kept| (turn, Arc::clone(&kept.state))));
            all = all.then(said);
            last = found.or(last);
        }
        Conversation { first, last }
    }

    /// Keeps the state of an answer, unless it alone is larger than all may be.
    pub(crate) fn keep(&self, turn: Turn, state: Arc<EndState>) {
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
        kept.states.insert(turn, KeptState { age, bytes, state });
    }
}

impl Kept {
    fn drop_state(&mut self, turn: Turn) {
        if let Some(KeptState { age, bytes, .. }) = self.states.remove(&turn) {
            self.order.remove(&age);
            self.bytes -= bytes;
        }
    }
}
