//! The rules over one chain: the sessions of a card and seat, and what tickets, notes and the public log say of them.

use super::facts::{LoggedFacts, NoteFacts, SeenCheckpoint, SessionFacts, TicketFacts};
use super::fault::{ChainFault, ChainFinding, ConflictingBundles, SerialGap};
use super::{ChainJudge, ChainStart};
use crate::format::public_log::LoggedSessionState;
use portcullis_core::hex::HexBytes;
use std::collections::{BTreeMap, BTreeSet};

/// A chain with everything that is known of it, by serial.
pub(super) struct ChainEvidence<'a> {
    judge: ChainJudge,
    key: HexBytes<32>,
    seat: u16,
    /// The bundles of each session, by name.
    pub(super) sessions: BTreeMap<u64, Vec<&'a SessionFacts>>,
    /// Trusted tickets that were given by themselves.
    pub(super) tickets: BTreeMap<u64, Vec<&'a TicketFacts>>,
    /// Trusted notes that were given by themselves.
    pub(super) notes: BTreeMap<u64, Vec<(&'a NoteFacts, &'a SeenCheckpoint)>>,
    pub(super) logged: BTreeMap<u64, &'a LoggedFacts>,
}

/// What ends a range of serials of which nothing is known.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SerialGapEnd {
    GivenUp,
    Ticket,
    Session,
}

impl<'a> ChainEvidence<'a> {
    pub(super) const fn new(judge: ChainJudge, key: HexBytes<32>, seat: u16) -> Self {
        Self {
            judge,
            key,
            seat,
            sessions: BTreeMap::new(),
            tickets: BTreeMap::new(),
            notes: BTreeMap::new(),
            logged: BTreeMap::new(),
        }
    }

    pub(super) fn findings(&self) -> Vec<ChainFinding> {
        let mut found = self.serials();
        for (serial, sessions) in &self.sessions {
            let faults = |session: &&'a SessionFacts| {
                let faults = [self.logged(*serial, session), self.abandoned(*serial, session)];
                faults.into_iter().flatten().map(|fault| self.of(*serial, session, fault)).collect::<Vec<_>>()
            };
            found.extend(sessions.iter().flat_map(faults));
        }
        found.extend(self.gaps());
        found.extend(self.closes());
        found.extend(self.end());
        found.extend(self.seen());
        found.extend(self.policies());
        found
    }

    fn at(&self, serial: u64, name: Option<&str>, fault: ChainFault) -> ChainFinding {
        let (key, seat) = (Some(self.key), Some(self.seat));
        ChainFinding { fault, key, seat, serial: Some(serial), name: name.map(str::to_owned) }
    }

    fn of(&self, serial: u64, session: &SessionFacts, fault: ChainFault) -> ChainFinding {
        self.at(serial, Some(&session.name), fault)
    }

    /// An issuer gives each serial once. Tickets count whether or not their sessions are in a bundle.
    fn serials(&self) -> Vec<ChainFinding> {
        let mut tickets: BTreeMap<u64, BTreeSet<(&str, HexBytes<32>)>> = BTreeMap::new();
        let of_sessions = self.sessions.iter().flat_map(|(serial, all)| all.iter().map(move |one| (serial, one)));
        let of_sessions = of_sessions.map(|(serial, session)| (*serial, &*session.name, session.ticket));
        let by_themselves = self.tickets.iter().flat_map(|(serial, all)| all.iter().map(move |one| (serial, one)));
        let by_themselves = by_themselves.map(|(serial, ticket)| (*serial, &*ticket.name, ticket.ticket));
        for (serial, name, ticket) in of_sessions.chain(by_themselves) {
            tickets.entry(serial).or_default().extend(ticket.map(|ticket| (name, ticket)));
        }
        let twice = |(serial, given): (u64, BTreeSet<(&str, HexBytes<32>)>)| {
            let (name, ticket) = given.first()?;
            if given.iter().all(|(_, other)| other == ticket) {
                return None;
            }
            let sessions = self.sessions.get(&serial).map(Vec::as_slice).unwrap_or_default();
            let later = sessions.windows(2).filter_map(|pair| match pair {
                [before, session] if before.ticket != session.ticket => Some(session.name.clone()),
                _ => None,
            });
            let names = given.iter().map(|(name, _)| (*name).to_owned()).collect();
            let several = ConflictingBundles { names, later: later.collect() };
            Some(self.at(serial, Some(name), ChainFault::SerialTwice(several)))
        };
        tickets.into_iter().filter_map(twice).collect()
    }

    /// Compares a session with the log. A log of another issuer, without sessions of the chain, says nothing.
    fn logged(&self, serial: u64, session: &SessionFacts) -> Option<ChainFault> {
        let log = self.judge.log?;
        if self.logged.is_empty() && session.issuer != Some(log.issuer) {
            return None;
        }
        let Some(logged) = self.logged.get(&serial) else {
            let is_late = session.witnessed.is_some_and(|(began, _)| log.is_after(began));
            let last = self.logged.last_key_value().map_or(0, |(last, _)| *last);
            return Some(if is_late { ChainFault::NoTicket } else { ChainFault::LogBehind(last) });
        };
        if session.ticket != Some(logged.ticket) {
            return Some(ChainFault::OtherTicket);
        }
        match logged.state {
            LoggedSessionState::Closed if !session.is_closed => Some(ChainFault::LogClosed),
            LoggedSessionState::Abandoned if session.is_known && session.is_closed => Some(ChainFault::LogAbandoned),
            _ => None,
        }
    }

    /// Compares the end of the session before, as a ticket names it, with the log.
    fn abandoned(&self, serial: u64, session: &SessionFacts) -> Option<ChainFault> {
        let before = self.logged.get(&serial.checked_sub(1)?)?;
        let names_end = before.state == LoggedSessionState::Abandoned && session.previous_close.is_some();
        names_end.then_some(ChainFault::AbandonedClose)
    }

    /// Compares the end of the session before, as a ticket names it, with the bundles of that session.
    fn closes(&self) -> Vec<ChainFinding> {
        let mut found = Vec::new();
        for (serial, sessions) in &self.sessions {
            let Some(before) = serial.checked_sub(1).and_then(|before| self.sessions.get(&before)) else { continue };
            let known: Vec<_> = before.iter().filter(|session| session.is_known).collect();
            let ends: BTreeSet<HexBytes<32>> = known.iter().filter_map(|session| session.last_checkpoint).collect();
            let is_closed = known.iter().any(|session| session.is_closed);
            for session in sessions {
                let fault = match session.previous_close {
                    _ if known.is_empty() => ChainFault::UnknownVersion,
                    Some(named) if ends.contains(&named) => continue,
                    Some(_) => ChainFault::OtherClose,
                    None if is_closed => ChainFault::DeniedClose,
                    None => ChainFault::Abandoned,
                };
                found.push(self.of(*serial, session, fault));
            }
        }
        found
    }

    /// Serials of which no session is given. The issuer can have given up tickets before their sessions were reported.
    fn gaps(&self) -> Vec<ChainFinding> {
        let start = match self.judge.start {
            ChainStart::First => 0,
            ChainStart::Any => self.sessions.keys().next().map_or(0, |first| first.saturating_sub(1)),
        };
        let given_up = self.unshown().filter(|(serial, session)| *serial > start && session.is_given_up());
        let mut known: Vec<(u64, SerialGapEnd)> = given_up.map(|(serial, _)| (serial, SerialGapEnd::GivenUp)).collect();
        known.extend(self.tickets.keys().map(|serial| (*serial, SerialGapEnd::Ticket)));
        known.extend(self.sessions.keys().map(|serial| (*serial, SerialGapEnd::Session)));
        known.sort_unstable();
        let (mut found, mut gap, mut before) = (Vec::new(), SerialGap::default(), start);
        let mut add = |gap: SerialGap, name| {
            if !gap.missing.is_empty() || gap.given_up > 0 {
                found.push(self.at(gap.last.saturating_add(1), name, ChainFault::Gap(gap)));
            }
        };
        let mut first = start.saturating_add(1);
        for (serial, known) in known {
            if serial.saturating_sub(before) > 1 {
                gap.missing.push((before.saturating_add(1), serial.saturating_sub(1)));
            }
            before = before.max(serial);
            match known {
                SerialGapEnd::GivenUp => gap.given_up += 1,
                SerialGapEnd::Ticket => {}
                SerialGapEnd::Session => {
                    let name = self.sessions.get(&serial).and_then(|sessions| sessions.first());
                    let last = serial.saturating_sub(1);
                    let gap = SerialGap { first, last, ..std::mem::take(&mut gap) };
                    add(gap, name.map(|session| &*session.name));
                    first = serial.saturating_add(1);
                }
            }
        }
        add(SerialGap { first, last: before, ..gap }, None);
        found
    }

    /// The sessions of the log that are in no bundle. A chain without any bundle is a finding of its own.
    fn unshown(&self) -> impl Iterator<Item = (u64, &LoggedFacts)> {
        let is_given = !self.sessions.is_empty();
        let unshown = self.logged.iter().filter(move |(serial, _)| is_given && !self.sessions.contains_key(serial));
        unshown.map(|(serial, session)| (*serial, *session))
    }

    /// What follows the last session.
    fn end(&self) -> Vec<ChainFinding> {
        let Some((last, sessions)) = self.sessions.last_key_value() else {
            let opened = self.logged.values().filter(|session| session.is_opened).count() as u64;
            let missing = opened > 0 && self.tickets.is_empty();
            let missing =
                missing.then(|| ChainFinding { serial: None, ..self.at(0, None, ChainFault::ChainMissing(opened)) });
            return missing.into_iter().collect();
        };
        let open = sessions.iter().filter(|session| !session.is_closed);
        let mut found: Vec<_> = open.map(|session| self.of(*last, session, ChainFault::Open)).collect();
        let name = sessions.last().map(|session| &*session.name);
        for (serial, session) in self.unshown() {
            let fault = match session.state {
                // Before the last session, it is in a gap.
                LoggedSessionState::Issued if serial > *last => ChainFault::Pending,
                LoggedSessionState::Abandoned if session.is_given_up() => ChainFault::GivenUp,
                LoggedSessionState::Opened if serial > *last => ChainFault::OpenInLog,
                // From any session on, later ones need not be given either.
                LoggedSessionState::Closed | LoggedSessionState::Abandoned if self.judge.start == ChainStart::First => {
                    ChainFault::Unshown
                }
                _ => continue,
            };
            found.push(self.at(serial, name.filter(|_| serial > *last), fault));
        }
        found
    }

    /// Compares notes that were given by themselves with the bundles of their sessions.
    fn seen(&self) -> Vec<ChainFinding> {
        let mut found = Vec::new();
        for (serial, notes) in &self.notes {
            let Some(sessions) = self.sessions.get(serial) else {
                let name = notes.first().map(|(note, _)| &*note.name);
                found.push(self.at(*serial, name, ChainFault::SeenNowhere));
                continue;
            };
            let name = sessions.first().map(|session| &*session.name);
            let checkpoints = sessions.iter().map(|session| session.checkpoints).max().unwrap_or_default();
            if let Some(last) = notes.iter().map(|(_, seen)| seen.serial).max().filter(|last| *last >= checkpoints) {
                found.push(self.at(*serial, name, ChainFault::SeenLater(last)));
            }
            // The digests of each checkpoint, and the first bundle that shows it.
            let mut shown: BTreeMap<u64, (&str, BTreeSet<HexBytes<32>>)> = BTreeMap::new();
            for session in sessions {
                for one in session.digests.iter().flatten() {
                    let (_, digests) = shown.entry(one.serial).or_insert_with(|| (&session.name, BTreeSet::new()));
                    digests.insert(one.digest);
                }
            }
            let seen: BTreeSet<_> = notes.iter().map(|(_, seen)| (seen.serial, seen.digest)).collect();
            for (place, digest) in seen {
                if let Some((name, _)) = shown.get(&place).filter(|(_, digests)| !digests.contains(&digest)) {
                    found.push(self.at(*serial, Some(name), ChainFault::SeenOther(place)));
                }
            }
        }
        found
    }

    /// A policy that another one had replaced is in force again.
    fn policies(&self) -> Vec<ChainFinding> {
        let (mut first, mut before, mut found) = (BTreeMap::new(), None, Vec::new());
        for (serial, session) in
            self.sessions.iter().flat_map(|(serial, all)| all.iter().map(move |one| (*serial, one)))
        {
            let Some(policy) = session.policy else { continue };
            let earliest = *first.entry(policy).or_insert(serial);
            if before.is_some_and(|before| before != policy) && earliest < serial {
                found.push(self.of(serial, session, ChainFault::PolicyReverted(earliest)));
            }
            before = Some(policy);
        }
        found
    }
}
