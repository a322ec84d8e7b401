//! Requests and checks the session's checkpoints, and passes them to the sink.

use portcullis_core::wire::{CHECKPOINT_MAGIC, Checkpoint, Fault, LAYOUT_VERSION, Life};

use super::{CardSession, RequestedCheckpoint};
use crate::card::CardTransport;
use crate::driver::checkpoint_ring::check_heads;
use crate::driver::command::SIGNING;
use crate::driver::error::{LossCause, SessionError, WaitError};
use crate::driver::info::LifecycleStatus;
use crate::registers;
use std::time::{Duration, Instant};

impl<C: CardTransport> CardSession<C> {
    /// Requests a checkpoint over all records so far. Once the card has signed it, [`CardSession::collect_checkpoints`]
    /// passes it to the sink. Errors: those of the session's state and of the transport.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        self.healthy()?;
        Ok(registers::with(&mut self.card, |r| r.checkpoint_flush().try_write(|w| w.set_v(true)))?)
    }

    /// Passes every checkpoint that the card has written to the sink; returns their number. Errors:
    /// [`LossCause::Checkpoint`] for a checkpoint that does not fit this session, [`LossCause::Sink`], those of the
    /// transport.
    pub fn collect_checkpoints(&mut self) -> Result<u64, SessionError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(0) };
        let before = checkpoints.consumed;
        let tail = registers::with(&mut self.card, |r| r.checkpoint_tail().try_read())?.v();
        let unread = u64::from(tail.wrapping_sub((before & 0xffff_ffff) as u32));
        if unread == 0 {
            return Ok(0);
        }
        if unread > 1 << checkpoints.config.ring_log2 {
            return Err(LossCause::Checkpoint { serial: before, what: "more were written than the ring holds" }.into());
        }
        for _ in 0..unread {
            self.consume_checkpoint()?;
        }
        registers::with(&mut self.card, |r| r.checkpoint_head().try_write(|w| w.set_v(tail)))?;
        Ok(unread)
    }

    /// Requests a checkpoint over all records so far, for [`CardSession::settle`]. Does nothing in a session without
    /// checkpoints. Errors: as [`CardSession::flush`].
    pub fn ask_settled(&mut self) -> Result<(), SessionError> {
        if self.checkpoints.is_some() {
            self.flush()?;
            let sizes = self.lanes.iter().map(|lane| lane.rings.logged).collect();
            self.settling = Some(RequestedCheckpoint { sizes, waits: 0 });
        }
        Ok(())
    }

    /// Passes finished checkpoints to the sink, and waits at most about `within` for the requested one. Returns `true`
    /// if it has come or none was requested. All calls together wait no longer than the card's bound for a signature.
    /// Errors: as [`CardSession::collect_checkpoints`]; [`SessionError::Wait`] for a checkpoint that does not come.
    pub fn settle(&mut self, within: Duration) -> Result<bool, SessionError> {
        let settled = self.settle_inner(within);
        self.or_mark_lost(settled)
    }

    fn settle_inner(&mut self, within: Duration) -> Result<bool, SessionError> {
        let until = Instant::now() + within;
        loop {
            self.healthy()?;
            self.collect_checkpoints()?;
            self.present_next()?;
            self.consume_heartbeats()?;
            if let Some(RequestedCheckpoint { sizes, .. }) = &self.settling {
                let heads = self.checkpoints.as_ref().map(|checkpoints| &checkpoints.heads);
                let signed =
                    heads.is_some_and(|heads| heads.iter().zip(sizes).all(|(head, size)| head.size.get() >= *size));
                if signed {
                    self.settling = None;
                }
            }
            let bound = u64::from(self.card.patience().saturating_mul(SIGNING));
            let Some(RequestedCheckpoint { waits, .. }) = &mut self.settling else { return Ok(true) };
            if Instant::now() >= until {
                return Ok(false);
            }
            *waits += 1;
            if *waits > bound {
                let (quantum, bound) = (self.card.quantum(), u32::try_from(bound).unwrap_or(u32::MAX));
                return Err(WaitError { awaited: "a checkpoint that was asked for", bound, quantum }.into());
            }
            self.card.wait(None)?;
            if LifecycleStatus::read(&mut self.card)?.life == Life::Fault {
                return self.fault().and(Ok(false));
            }
        }
    }

    fn consume_checkpoint(&mut self) -> Result<(), SessionError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        let signed = checkpoints.read(&self.card, self.info.lanes)?;
        self.check_checkpoint(&signed.checkpoint, checkpoints.consumed, &checkpoints.last)?;
        check_heads(&signed, &checkpoints.heads)?;
        let serial = checkpoints.consumed;
        let kept = self.sink.checkpoint(&signed);
        kept.map_err(|why| LossCause::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.consumed += 1;
            checkpoints.last = signed.checkpoint;
            checkpoints.heads = signed.heads;
        }
        Ok(())
    }

    /// The driver's checks. The verifier hashes the log and verifies the signatures; the driver does neither.
    fn check_checkpoint(&self, found: &Checkpoint, serial: u64, last: &Checkpoint) -> Result<(), SessionError> {
        let check = |holds: bool, what| if holds { Ok(()) } else { Err(LossCause::Checkpoint { serial, what }) };
        check(found.magic.get() == CHECKPOINT_MAGIC, "wrong magic")?;
        check(found.version == LAYOUT_VERSION, "unknown version")?;
        check(found.reserved_is_zero(), "a reserved byte is set")?;
        check(found.serial.get() == serial, "serial of another checkpoint")?;
        check(found.key_flags == self.info.key_flags, "key flags of another card")?;
        check(found.design_id == self.info.design_id, "design of another card")?;
        check(found.lanes == self.info.lanes, "lanes of another card")?;
        check(found.epoch.get() == self.epoch, "epoch of another session")?;
        check(found.ticket_digest == self.ticket_digest, "another ticket")?;
        check(found.policy_digest == self.policy_digest, "another policy")?;
        check(found.size.get() > 0 && found.size.get() >= last.size.get(), "a tree that has shrunk")?;
        let state = Life::try_from(found.state)?;
        check((state == Life::Opening) == (serial == 0), "a state that does not fit its serial")?;
        check(found.tick.get() >= last.tick.get(), "time has gone back")?;
        check(serial == 0 || found.boot_nonce == last.boot_nonce, "boot nonce of another start")?;
        let fault = Fault::try_from(found.fault.get())?;
        let fits = match state {
            Life::Opening | Life::Run => fault == Fault::None,
            Life::Fault => fault != Fault::None,
            // A session may end with or without a fault.
            Life::Closing => last.fault.get() == 0 || last.fault == found.fault,
            Life::Reset | Life::Load => false,
        };
        check(fits, "state and fault contradict")?;
        Ok(())
    }
}
