//! Checks the witness's notes: they are of this session, in order, and within the validity of the ticket.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::note::{self, LogView, WitnessKey, WitnessedCheckpoint};
use crate::format::ticket::{SessionTicket, SignedTicket};
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::report::EvidenceSummary;
use std::collections::BTreeMap;

/// Reads the witness's notes, by checkpoint serial.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    witnesses: &[WitnessKey],
    ticket: Option<&SignedTicket<SessionTicket>>,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<BTreeMap<u64, WitnessedCheckpoint>, BundleError> {
    let mut notes = BTreeMap::new();
    let (mut last, mut forked): (Option<WitnessedCheckpoint>, Vec<LogView>) = (None, Vec::new());
    for (name, _) in bundle.below("witness/") {
        let note = match note::verify(&bundle.read(name)?, witnesses) {
            Ok(note) => note,
            Err(error) => {
                findings.add(Code::WitnessNote, format_args!("`{name}`: {error}"));
                continue;
            }
        };
        let named = *name == bundle::witness(note.serial) && note.serial < bundle.checkpoints();
        findings.require(named, Code::WitnessSerial, || format!("`{name}` is about checkpoint {}", note.serial));
        if let Some(last) = &last {
            // A witness accepts the checkpoints of a session in order. Entries of another card with the same key can
            // lie between them.
            let follows = note.index.checked_sub(last.index) >= note.serial.checked_sub(last.serial);
            if forked.is_empty() && note.view.contradiction(&last.view).is_some() {
                forked = vec![last.view.clone(), note.view.clone()];
            }
            findings.require(follows && note.time >= last.time, Code::WitnessOrder, || {
                format!("`{name}` does not follow the note before it in time or in the witness's log")
            });
        }
        if let Some(SignedTicket { content: ticket, .. }) = ticket {
            let same = note.chain == ticket.chain() && note.ticket == ticket.serial;
            findings.require(same, Code::WitnessSession, || format!("`{name}` is about another session"));
            let valid = ticket.not_before <= note.time && note.time <= ticket.not_after;
            findings.require(valid, Code::TicketValidity, || {
                format!("`{name}` is of second {}, when the ticket was not valid", note.time)
            });
        }
        last = Some(note.clone());
        notes.insert(note.serial, note);
    }
    let first = notes.first_key_value().map(|(_, note)| note.time);
    summary.witnessed = first.zip(notes.last_key_value().map(|(_, note)| note.time));
    let last = notes.last_key_value().filter(|_| notes.len() > 1);
    let view = |(_, note): (&u64, &WitnessedCheckpoint)| note.view.clone();
    summary.notes = notes.first_key_value().map(view).into_iter().chain(forked).chain(last.map(view)).collect();
    let ends = [0, bundle.checkpoints().saturating_sub(1)].iter().all(|serial| notes.contains_key(serial));
    if !ends {
        findings.add(Code::NoWitness, "no witness saw both the first and the last checkpoint");
    }
    Ok(notes)
}
