//! Commands, and waits for their effects.

use portcullis_core::wire::{Command, Life};

use super::error::{SessionError, WaitError};
use super::info::{CardInfo, LifecycleStatus, public_key, sticky_fault};
use crate::card::CardTransport;
use crate::registers;

pub(super) fn command<C: CardTransport + ?Sized>(card: &mut C, command: Command) -> Result<(), SessionError> {
    Ok(registers::with(card, |r| r.command().try_write(|w| w.set_v(command.into())))?)
}

/// Factor for waits that include a signature: signing takes millions of clocks, about 64 times any other step.
pub(super) const SIGNING: u32 = 64;

/// Waits until `done` accepts the card's status.
pub(super) fn await_status<C: CardTransport + ?Sized>(
    card: &mut C,
    awaited: &'static str,
    mut done: impl FnMut(LifecycleStatus) -> bool,
) -> Result<LifecycleStatus, SessionError> {
    let bound = card.patience();
    for _ in 0..bound {
        let status = LifecycleStatus::read(card)?;
        if done(status) {
            return Ok(status);
        }
        card.wait(None)?;
    }
    Err(WaitError { awaited, bound, quantum: card.quantum() }.into())
}

/// Waits until the card has made its key, and returns the public key. Errors: [`SessionError::Missing`] for a card
/// without a signer, [`SessionError::Wait`], and those of the transport.
pub fn await_public_key<C: CardTransport + ?Sized>(card: &mut C) -> Result<[u8; 32], SessionError> {
    if !CardInfo::read(card)?.signer {
        return Err(SessionError::Missing("signer"));
    }
    let bound = card.patience().saturating_mul(SIGNING);
    for _ in 0..bound {
        if public_key(card)? != [0; 32] {
            // The key may have appeared between two word reads, so it is read again.
            return Ok(public_key(card)?);
        }
        card.wait(None)?;
    }
    Err(WaitError { awaited: "the card's key", bound, quantum: card.quantum() }.into())
}

/// Brings the card from any state to RESET, with no transfer in flight. Errors: [`SessionError::NeedsReset`] when only
/// the hardware reset can make the card quiet, [`SessionError::Stale`] when the bus still owes answers from before the
/// last one, [`SessionError::Wait`], and those of the transport.
pub fn reset<C: CardTransport + ?Sized>(card: &mut C) -> Result<(), SessionError> {
    command(card, Command::Reset)?;
    let over = |s: LifecycleStatus| s.needs_reset || (s.life == Life::Reset && !s.busy);
    let quiet = await_status(card, "the card to be quiet after RESET", over);
    // While the bus owes answers, RESET does not end.
    if matches!(quiet, Err(SessionError::Wait(_))) && LifecycleStatus::read(card)?.stale {
        return Err(SessionError::Stale);
    }
    quiet?;
    tracks_its_bus(card)
}

/// Checks that the card can still account for all outstanding transfers of its bus. Otherwise the bus may still write
/// to the card's memory, which must not be freed.
pub(super) fn tracks_its_bus<C: CardTransport + ?Sized>(card: &mut C) -> Result<(), SessionError> {
    let status = LifecycleStatus::read(card)?;
    if status.needs_reset {
        return Err(SessionError::NeedsReset(sticky_fault(card)?));
    }
    if status.stale { Err(SessionError::Stale) } else { Ok(()) }
}
