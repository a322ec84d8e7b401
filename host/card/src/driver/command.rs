//! Commands, and waiting for what they lead to.

use portcullis_core::wire::{Command, Life};

use super::error::{SessionError, WaitError};
use super::info::{CardInfo, Status, public_key, sticky_fault};
use crate::card::Card;
use crate::registers;

pub(super) fn command<C: Card + ?Sized>(card: &mut C, command: Command) -> Result<(), SessionError> {
    Ok(registers::with(card, |r| r.command().try_write(|w| w.set_v(command.into())))?)
}

/// A signature takes millions of clocks: about this many times as long as any other step of the card.
pub(super) const SIGNING: u32 = 64;

/// Waits until `done` says so of the status.
pub(super) fn await_status<C: Card + ?Sized>(
    card: &mut C,
    awaited: &'static str,
    mut done: impl FnMut(Status) -> bool,
) -> Result<Status, SessionError> {
    let bound = card.patience();
    for _ in 0..bound {
        let status = Status::read(card)?;
        if done(status) {
            return Ok(status);
        }
        card.wait(None)?;
    }
    Err(WaitError { awaited, bound, quantum: card.quantum() }.into())
}

/// The card's public key, once it has made it; zero where the card has no signer. Errors: [`SessionError::Missing`] for
/// a card without a signer, [`SessionError::Wait`], and the transport's.
pub fn await_public_key<C: Card + ?Sized>(card: &mut C) -> Result<[u8; 32], SessionError> {
    if !CardInfo::read(card)?.signer {
        return Err(SessionError::Missing("signer"));
    }
    let bound = card.patience().saturating_mul(SIGNING);
    for _ in 0..bound {
        if public_key(card)? != [0; 32] {
            // It may have appeared between two words.
            return Ok(public_key(card)?);
        }
        card.wait(None)?;
    }
    Err(WaitError { awaited: "the card's key", bound, quantum: card.quantum() }.into())
}

/// Brings the card to RESET with nothing in flight, from any state. Errors: [`SessionError::NeedsReset`] when the card
/// cannot get quiet any more, [`SessionError::Wait`] and the transport's.
pub fn reset<C: Card + ?Sized>(card: &mut C) -> Result<(), SessionError> {
    command(card, Command::Reset)?;
    let over = |s: Status| s.needs_reset || (s.life == Life::Reset && !s.busy);
    await_status(card, "the card to be quiet after RESET", over)?;
    tracks_its_bus(card)
}

/// Checks that the card still tracks all outstanding answers of its bus. Otherwise the bus may still write, and no
/// memory that it reaches may be freed.
pub(super) fn tracks_its_bus<C: Card + ?Sized>(card: &mut C) -> Result<(), SessionError> {
    if Status::read(card)?.needs_reset { Err(SessionError::NeedsReset(sticky_fault(card)?)) } else { Ok(()) }
}
