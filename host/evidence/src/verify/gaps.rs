//! No gaps: an issuer opened the session by a ticket of its own, a witness saw its checkpoints, and the heartbeats came from there.

use super::lane::At;
use super::{Findings, Property::NoGaps, Signer, Summary, Trust};
use crate::bundle::{self, Bundle, BundleError};
use crate::certificate::{DeviceCertificate, key_id};
use crate::checkpoint::Checkpoint;
use crate::hex::{self, Hex};
use crate::note::{self, Cosigned, WitnessKey};
use crate::ticket::{SELF_ISSUER, Signed, Ticket};
use portcullis_core::wire::{RecordType, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Reads the ticket and asks who issued it.
pub(super) fn ticket(
    bundle: &Bundle<'_>,
    trust: &Trust,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<Option<Signed<Ticket>>, BundleError> {
    let ticket = match Ticket::parse(&bundle.read(bundle::TICKET)?) {
        Ok(ticket) => ticket,
        Err(error) => {
            findings.contradict(NoGaps, "ticket-malformed", error);
            return Ok(None);
        }
    };
    let issuer = trust.issuer(&ticket).unwrap_or_else(|error| {
        findings.contradict(NoGaps, "ticket-issuer", error);
        Signer::unknown(&ticket.content.issuer)
    });
    if issuer.key.is_none() && issuer.claimed == SELF_ISSUER {
        findings.warn(NoGaps, "no-witness", "the operator issued the ticket: nobody else saw the session");
    }
    summary.ticket_serial = Some(ticket.content.serial);
    summary.profiles_pinned = Some(!ticket.content.profiles.is_empty());
    summary.seat = Some(ticket.content.seat);
    summary.issuer = Some(issuer);
    summary.previous_close = Some(Hex(ticket.content.previous_close));
    Ok(Some(ticket))
}

/// Reads the witness's notes, by checkpoint serial.
pub(super) fn notes(
    bundle: &Bundle<'_>,
    witnesses: &[WitnessKey],
    ticket: Option<&Signed<Ticket>>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<BTreeMap<u64, Cosigned>, BundleError> {
    let mut notes = BTreeMap::new();
    let mut last: Option<Cosigned> = None;
    for (name, _) in bundle.below("witness/") {
        let note = match note::verify(&bundle.read(name)?, witnesses) {
            Ok(note) => note,
            Err(error) => {
                findings.contradict(NoGaps, "witness-note", format!("`{name}`: {error}"));
                continue;
            }
        };
        let named = *name == bundle::witness(note.serial) && note.serial < bundle.checkpoints();
        findings.require(named, NoGaps, "witness-serial", format!("`{name}` is about checkpoint {}", note.serial));
        if let Some(last) = &last {
            // A witness takes the checkpoints of a session one after the other; another card of a class can come between.
            let follows = note.index.checked_sub(last.index) >= note.serial.checked_sub(last.serial);
            let what = format!("`{name}` does not follow the note before it in time or in the witness's log");
            findings.require(follows && note.time >= last.time, NoGaps, "witness-order", what);
        }
        if let Some(Signed { content: ticket, .. }) = ticket {
            let same = note.key == ticket.key && note.ticket == ticket.serial;
            findings.require(same, NoGaps, "witness-session", format!("`{name}` is about another session"));
            let valid = ticket.not_before <= note.time && note.time <= ticket.not_after;
            let what = format!("`{name}` is of second {}, when the ticket was not valid", note.time);
            findings.require(valid, NoGaps, "ticket-validity", what);
        }
        last = Some(note.clone());
        notes.insert(note.serial, note);
    }
    let first = notes.first_key_value().map(|(_, note)| note.time);
    summary.witnessed = first.zip(notes.last_key_value().map(|(_, note)| note.time));
    let ends = [0, bundle.checkpoints().saturating_sub(1)].iter().all(|serial| notes.contains_key(serial));
    if !ends {
        findings.warn(NoGaps, "no-witness", "no witness saw both the first and the last checkpoint");
    }
    Ok(notes)
}

/// The card that the ticket is for.
pub(super) fn key(ticket: &Ticket, device: &DeviceCertificate, findings: &mut Findings) {
    let same = ticket.key == key_id(&device.public_key);
    findings.require(same, NoGaps, "ticket-key", "the ticket is for another card");
}

/// What a checkpoint says of the ticket, and the witness of it.
pub(super) fn checkpoint(
    checkpoint: &Checkpoint,
    ticket: Option<&Signed<Ticket>>,
    notes: &BTreeMap<u64, Cosigned>,
    findings: &mut Findings,
) {
    let serial = checkpoint.wire.serial.get();
    let same = ticket.is_none_or(|ticket| ticket.digest == checkpoint.wire.ticket_digest);
    findings.require(
        same,
        NoGaps,
        "checkpoint-ticket",
        format!("checkpoint {serial} is of a session under another ticket"),
    );
    let seen = notes.get(&serial).is_none_or(|note| note.checkpoint == checkpoint.digest());
    findings.require(seen, NoGaps, "witness-checkpoint", format!("the witness saw another checkpoint {serial}"));
}

/// An entry that was accepted without heartbeat credit.
pub(super) fn overdrawn(at: At, findings: &mut Findings) {
    let what = format!("{at} was accepted after the heartbeat credit was spent");
    findings.contradict(NoGaps, "heartbeat-gap", what);
}

/// What OPEN says of the ticket.
pub(super) fn session(kind: RecordType, session: &Session, ticket: Option<&Signed<Ticket>>, findings: &mut Findings) {
    let (RecordType::Open, Some(ticket)) = (kind, ticket) else { return };
    let what = format!("OPEN names ticket {}", hex::encode(&session.ticket_digest));
    findings.require(session.ticket_digest == ticket.digest, NoGaps, "open-ticket", what);
    let same = session.heartbeat_records.get() == ticket.content.heartbeat_records
        && session.heartbeat_ticks.get() == ticket.content.heartbeat_ticks;
    let what = "OPEN latched other heartbeat limits than the ticket sets";
    findings.require(same, NoGaps, "heartbeat-limits", what);
}

/// Nonces as the witness gave them.
#[derive(Debug, Default)]
pub(super) struct Nonces {
    // With the serials of their notes, and the serials: a log may hold very many heartbeats that are nobody's.
    nonces: BTreeSet<(u64, u64)>,
    serials: Vec<u64>,
}

impl Nonces {
    /// The nonces of these notes.
    pub(super) fn new(notes: &BTreeMap<u64, Cosigned>) -> Self {
        let nonces = notes.iter().filter_map(|(serial, note)| Some((note.nonce?, *serial))).collect();
        Self { nonces, serials: notes.keys().copied().collect() }
    }

    /// The first note with this nonce in a range of serials, and whether the range has all its notes.
    fn find(&self, nonce: u64, range: &Range<u64>) -> (Option<u64>, bool) {
        let found = self.nonces.range((nonce, range.start)..(nonce, range.end)).next().map(|(_, serial)| *serial);
        let before = |end| self.serials.partition_point(|serial| *serial < end);
        let there = before(range.end).saturating_sub(before(range.start)) as u64;
        (found, there == range.end.saturating_sub(range.start))
    }

    /// A heartbeat in a lane that has `checkpoints` before it, and whose heartbeat before had the nonce of note `last`; the note of this one.
    pub(super) fn heartbeat(
        &self,
        nonce: u64,
        last: Option<u64>,
        checkpoints: u64,
        findings: &mut Findings,
    ) -> Option<u64> {
        // Each nonce is used once in a lane, in the witness's order, and not before the checkpoint that it was given for.
        let from = last.map_or(0, |last| last.saturating_add(1));
        let (note, all) = self.find(nonce, &(from..checkpoints.max(from)));
        let what = format!("heartbeat nonce {nonce:#018x} is none that the witness gave by then");
        match note {
            Some(_) => {}
            // Where a note is missing, the nonce may have stood there.
            None if all => findings.contradict(NoGaps, "heartbeat-nonce", what),
            None => findings.warn(NoGaps, "heartbeat-unwitnessed", what),
        }
        note.or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(serial: u64, nonce: u64) -> (u64, Cosigned) {
        let witness = String::new();
        let (key, checkpoint) = ([0; 32], [0; 32]);
        (serial, Cosigned { key, ticket: 1, serial, checkpoint, nonce: Some(nonce), index: serial, witness, time: 0 })
    }

    #[test]
    fn each_nonce_is_found_where_it_was_given() {
        let nonces = Nonces::new(&[note(0, 7), note(1, 8), note(3, 7)].into());
        assert_eq!(nonces.find(7, &(0..2)), (Some(0), true));
        assert_eq!(nonces.find(7, &(1..2)), (None, true));
        assert_eq!(nonces.find(7, &(1..4)), (Some(3), false));
        assert_eq!(nonces.find(8, &(2..4)), (None, false));
        assert_eq!(nonces.find(9, &(0..0)), (None, true));
    }

    /// Looked for note by note, these would be ten thousand million steps.
    #[test]
    fn many_heartbeats_that_are_nobodys() {
        let nonces = Nonces::new(&(0..100_000).map(|serial| note(serial, serial + 1)).collect());
        let mut findings = Findings::default();
        for nonce in 200_000..300_000 {
            assert_eq!(nonces.heartbeat(nonce, None, 100_000, &mut findings), None);
        }
        assert_eq!(findings.conclude().no_gaps.reasons[0].count, 100_000);
    }
}
