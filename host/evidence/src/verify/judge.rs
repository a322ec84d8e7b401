//! The rules over many sessions, each of them once: what chains of sessions, tickets, notes of witnesses and the public
//! log say together. `verify-series`, the statement about a period and the audit of a fleet use them.
//!
//! The judge reads nothing but facts, and has no clock. Its cost is linear in the number of facts, apart from sorting.
//! There are two groups of rules, so that an engine can divide the work: those over all facts of a card
//! ([`ChainJudge::of_cards`]), and those over all bundles and tickets with one ticket digest
//! ([`ChainJudge::of_tickets`]).

mod chain;
mod conflicts;
mod facts;
mod fault;

pub use facts::{
    ChainFact, ChainFacts, LoggedFacts, NoteFacts, PublicLogHead, SeenCheckpoint, SessionFacts, ShownCheckpoint,
    TicketFacts,
};
pub use fault::{ChainFault, ChainFinding, ConflictingBundles, SerialGap};

use chain::ChainEvidence;
use portcullis_core::hex::HexBytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The session with which each chain has to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChainStart {
    /// The card's first session.
    First,
    /// Any session: earlier ones are in bundles that are not given.
    Any,
}

/// Judges facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChainJudge {
    pub start: ChainStart,
    /// The head of the public log; absent if no log is given.
    pub log: Option<PublicLogHead>,
}

/// The facts of one card, each in their order.
#[derive(Clone, Copy, Default)]
struct CardFacts<'a> {
    sessions: &'a [SessionFacts],
    tickets: &'a [TicketFacts],
    notes: &'a [NoteFacts],
    logged: &'a [LoggedFacts],
}

impl ChainJudge {
    /// All findings.
    #[must_use]
    pub fn judge(&self, mut facts: ChainFacts) -> Vec<ChainFinding> {
        facts.sort();
        let mut found = self.cards(&facts);
        found.extend(tickets(&facts));
        found
    }

    /// The findings of the rules over the facts of one card, for each card. Its facts must be together.
    #[must_use]
    pub fn of_cards(&self, mut facts: ChainFacts) -> Vec<ChainFinding> {
        facts.sort();
        self.cards(&facts)
    }

    /// The findings of the rules over the sessions and tickets with one ticket digest, for each digest. Those of one
    /// digest must be together.
    #[must_use]
    pub fn of_tickets(mut facts: ChainFacts) -> Vec<ChainFinding> {
        facts.sort();
        tickets(&facts)
    }

    fn cards(&self, facts: &ChainFacts) -> Vec<ChainFinding> {
        let mut cards: BTreeMap<Option<HexBytes<32>>, CardFacts<'_>> = BTreeMap::new();
        for sessions in facts.sessions.chunk_by(|a, b| a.key == b.key) {
            cards.entry(sessions.first().and_then(|session| session.key)).or_default().sessions = sessions;
        }
        for tickets in facts.tickets.chunk_by(|a, b| a.key == b.key) {
            cards.entry(tickets.first().and_then(|ticket| ticket.key)).or_default().tickets = tickets;
        }
        for notes in facts.notes.chunk_by(|a, b| a.key == b.key) {
            cards.entry(notes.first().and_then(|note| note.key)).or_default().notes = notes;
        }
        for logged in facts.logged.chunk_by(|a, b| a.key == b.key) {
            cards.entry(logged.first().map(|logged| logged.key)).or_default().logged = logged;
        }
        cards.into_iter().flat_map(|(key, card)| self.card(key, &card)).collect()
    }

    fn card(&self, key: Option<HexBytes<32>>, card: &CardFacts<'_>) -> Vec<ChainFinding> {
        let mut found: Vec<ChainFinding> = card.sessions.iter().filter_map(outside).collect();
        let untrusted = card.tickets.iter().filter(|ticket| !ticket.is_trusted);
        found.extend(untrusted.map(|ticket| of_ticket(ticket, ChainFault::TicketUntrusted)));
        found.extend(card.notes.iter().filter(|note| note.seen.is_none()).map(|note| ChainFinding {
            fault: ChainFault::NoteUntrusted,
            key: note.key,
            seat: note.seat,
            serial: note.serial,
            name: Some(note.name.clone()),
        }));
        let Some(key) = key else { return found };
        let mut chains: BTreeMap<u16, ChainEvidence<'_>> = BTreeMap::new();
        let new = |seat| move || ChainEvidence::new(*self, key, seat);
        for session in card.sessions {
            if let Some((of, serial)) = session.link() {
                chains.entry(of.seat).or_insert_with(new(of.seat)).sessions.entry(serial).or_default().push(session);
            }
        }
        for ticket in card.tickets.iter().filter(|ticket| ticket.is_trusted) {
            if let Some((seat, serial)) = ticket.seat.zip(ticket.serial) {
                chains.entry(seat).or_insert_with(new(seat)).tickets.entry(serial).or_default().push(ticket);
            }
        }
        for note in card.notes {
            if let (Some(seat), Some(serial), Some(seen)) = (note.seat, note.serial, &note.seen) {
                chains.entry(seat).or_insert_with(new(seat)).notes.entry(serial).or_default().push((note, seen));
            }
        }
        for logged in card.logged {
            chains.entry(logged.seat).or_insert_with(new(logged.seat)).logged.insert(logged.serial, logged);
        }
        found.extend(chains.values().flat_map(ChainEvidence::findings));
        found.extend(conflicts::conflicts(card.sessions, card.notes));
        found
    }
}

fn of_session(session: &SessionFacts, fault: ChainFault) -> ChainFinding {
    let SessionFacts { key, seat, serial, .. } = *session;
    ChainFinding { fault, key, seat, serial, name: Some(session.name.clone()) }
}

fn of_ticket(ticket: &TicketFacts, fault: ChainFault) -> ChainFinding {
    let TicketFacts { key, seat, serial, .. } = *ticket;
    ChainFinding { fault, key, seat, serial, name: Some(ticket.name.clone()) }
}

/// Why a session is in no chain.
fn outside(session: &SessionFacts) -> Option<ChainFinding> {
    let is_placed = session.key.is_some() && session.serial.is_some();
    let fault = if is_placed { ChainFault::SelfIssued } else { ChainFault::Unplaced };
    session.link().is_none().then(|| of_session(session, fault))
}

/// One ticket permits one session, and each session is given once.
fn tickets(facts: &ChainFacts) -> Vec<ChainFinding> {
    let mut of_tickets: BTreeMap<Option<HexBytes<32>>, (Vec<&SessionFacts>, Vec<&TicketFacts>)> = BTreeMap::new();
    for session in &facts.sessions {
        of_tickets.entry(session.ticket).or_default().0.push(session);
    }
    for ticket in facts.tickets.iter().filter(|ticket| ticket.is_trusted) {
        of_tickets.entry(ticket.ticket).or_default().1.push(ticket);
    }
    let mut found = Vec::new();
    for (sessions, tickets) in of_tickets.into_values() {
        if sessions.iter().all(|session| session.link().is_none()) {
            found.extend(tickets.into_iter().map(|ticket| of_ticket(ticket, ChainFault::TicketUnused)));
        }
        found.extend(histories(&sessions));
    }
    found
}

/// What distinguishes the histories of one ticket: the last checkpoint; the link of a bundle without any.
type History = (Option<HexBytes<32>>, Option<HexBytes<32>>);

/// The histories that the bundles of one ticket show, and copies of one history, which would count twice.
fn histories(sessions: &[&SessionFacts]) -> Vec<ChainFinding> {
    let (mut found, mut copies) = (Vec::new(), BTreeMap::<History, Vec<&SessionFacts>>::new());
    for same in sessions.chunk_by(|a, b| a.link() == b.link()) {
        let fork = fork(same);
        let is_forked = fork.is_some();
        found.extend(fork);
        let joined = same.iter().find_map(|session| session.last_checkpoint);
        for session in same {
            // Bundles of one ticket without a fork are one session, although one of them can end before another.
            let history = match session.link() {
                Some((chain, _)) if !is_forked => (joined, joined.is_none().then_some(HexBytes(chain.key))),
                _ => (session.last_checkpoint, None),
            };
            if history != (None, None) {
                copies.entry(history).or_default().push(session);
            }
        }
    }
    let doubled = copies.into_values().filter(|copies| copies.len() > 1);
    found.extend(doubled.filter_map(|copies| {
        let names = copies.iter().map(|session| session.name.clone()).collect();
        Some(of_session(copies.first()?, ChainFault::Doubled(names)))
    }));
    found
}

/// Two histories of one ticket. A bundle whose signatures are wrong shows no history of the card, so it makes no fork,
/// unless only the last checkpoints can be compared.
fn fork(same: &[&SessionFacts]) -> Option<ChainFinding> {
    let first = same.first()?;
    first.link()?;
    let is_other = |a: &SessionFacts, b: &SessionFacts| a.last_checkpoint != b.last_checkpoint;
    let (shown, place) = if same.iter().all(|session| session.digests.is_some()) {
        let genuine: Vec<&SessionFacts> = same.iter().copied().filter(|session| session.is_genuine).collect();
        let (mut known, mut place) = (BTreeMap::new(), None::<u64>);
        for one in genuine.iter().filter_map(|session| session.digests.as_ref()).flatten() {
            if known.insert(one.serial, one.digest).is_some_and(|before| before != one.digest) {
                place = Some(place.map_or(one.serial, |place| place.min(one.serial)));
            }
        }
        place?;
        (genuine, place)
    } else if same.windows(2).any(|pair| matches!(pair, [a, b] if is_other(a, b))) {
        (same.to_vec(), None)
    } else {
        return None;
    };
    let later = shown.windows(2).filter_map(|pair| match pair {
        [before, session] if is_other(before, session) => Some(session.name.clone()),
        _ => None,
    });
    let several = ConflictingBundles {
        names: shown.iter().map(|session| session.name.clone()).collect(),
        later: later.collect(),
    };
    Some(of_session(shown.first()?, ChainFault::Fork { several, place }))
}
