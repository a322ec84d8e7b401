//! Which card gets a stream.

use crate::session_state::{OpenSession, SessionState};
use portcullis_gate::SessionCapacity;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The states of the sessions of a gateway's cards, in the order of the cards.
#[derive(Clone)]
pub struct SessionStates(Vec<SessionState>);

impl SessionStates {
    /// The states before the first session of each card.
    pub(crate) fn between(cards: usize) -> Self {
        Self(vec![SessionState::Between; cards])
    }

    pub(crate) fn of_mut(&mut self, card: usize) -> Option<&mut SessionState> {
        self.0.get_mut(card)
    }

    /// The state of each card's sessions.
    pub fn iter(&self) -> impl Iterator<Item = &SessionState> {
        self.0.iter()
    }

    /// The open sessions, with the indices of their cards.
    pub(crate) fn open(&self) -> impl Iterator<Item = (usize, &Arc<OpenSession>)> {
        self.0.iter().enumerate().filter_map(|(card, state)| match state {
            SessionState::Open(session) => Some((card, session)),
            SessionState::Between | SessionState::Over => None,
        })
    }

    /// Whether no card will have a session again.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.iter().all(|state| matches!(state, SessionState::Over))
    }

    /// Whether a session is open that has room for a stream.
    pub(crate) fn has_room(&self) -> bool {
        self.open().any(|(_, session)| has_room(session.handle.credit()))
    }

    /// Whether this session is open and has a free slot.
    pub(crate) fn takes(&self, session: &Arc<OpenSession>) -> bool {
        let mut open = self.open();
        open.any(|(_, open)| Arc::ptr_eq(open, session)) && has_free_slot(session.handle.credit())
    }

    /// The session for the stream of this id: the first in the id's order of the cards that has a free slot. If none
    /// has one, the one for which the fewest streams wait. Sessions for which `is_left_out` is true are never chosen.
    /// `None` if no other session is open.
    pub(crate) fn place(&self, id: &str, is_left_out: impl Fn(&Arc<OpenSession>) -> bool) -> Option<&Arc<OpenSession>> {
        let mut open: Vec<_> = self.open().filter(|(_, session)| !is_left_out(session)).collect();
        open.sort_by_cached_key(|(card, _)| rank(*card, id));
        let free = open.iter().find(|(_, session)| has_free_slot(session.handle.credit()));
        let shortest = || open.iter().min_by_key(|(_, session)| session.handle.credit().waiting);
        free.or_else(shortest).map(|(_, session)| *session)
    }
}

/// Whether another stream gets a slot at once.
const fn has_free_slot(credit: SessionCapacity) -> bool {
    credit.slots > credit.waiting
}

/// Whether another stream gets a slot at once, or is the first that waits.
const fn has_room(credit: SessionCapacity) -> bool {
    has_free_slot(credit) || credit.waiting == 0
}

/// The place of a card in the order that an id gives the cards (rendezvous hashing). If a card is lost, only its own
/// streams get another card.
fn rank(card: usize, id: &str) -> [u8; 32] {
    let card = u64::try_from(card).unwrap_or(u64::MAX);
    Sha256::new().chain_update(card.to_le_bytes()).chain_update(id).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each card is first for about its share of the ids. Without one card, the order of the others is unchanged.
    #[test]
    fn ids_spread_over_the_cards() {
        let mut first = [0; 8];
        for id in 0..8_000 {
            let id = format!("chatcmpl-{id}");
            let mut cards: Vec<usize> = (0..8).collect();
            cards.sort_by_key(|card| rank(*card, &id));
            first[cards[0]] += 1;
            let mut fewer: Vec<usize> = (0..8).filter(|card| *card != 3).collect();
            fewer.sort_by_key(|card| rank(*card, &id));
            cards.retain(|card| *card != 3);
            assert_eq!(fewer, cards);
        }
        assert!(first.iter().all(|count| (900..1_100).contains(count)), "{first:?}");
    }

    #[test]
    fn room_ends_when_streams_wait() {
        let credit = |slots, waiting| SessionCapacity { slots, waiting, entries: 0 };
        assert!(has_room(credit(1, 0)) && has_room(credit(0, 0)) && has_room(credit(5, 4)));
        assert!(!has_room(credit(0, 1)) && !has_room(credit(4, 4)));
        assert!(has_free_slot(credit(1, 0)) && !has_free_slot(credit(0, 0)) && !has_free_slot(credit(4, 4)));
    }
}
