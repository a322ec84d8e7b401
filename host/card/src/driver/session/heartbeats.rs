//! Heartbeats: presenting nonces, their records in every lane, and waiting for credit.

use portcullis_core::wire::{Record, RecordType};

use super::CardSession;
use crate::card::CardTransport;
use crate::driver::command::SIGNING;
use crate::driver::error::{LossCause, SessionError, WaitError};
use crate::driver::info::tick;
use crate::driver::lane::{HeartbeatState, LaneDriver};
use crate::registers;

impl<C: CardTransport> CardSession<C> {
    /// Presents a heartbeat and waits for its record in every lane, which restores the full credit. Entries in flight
    /// are answered first; the next [`CardSession::poll`] returns their answers. The call is unnecessary with a sink
    /// that gives nonces ([`crate::driver::RecordSink::nonce`]). Errors: [`SessionError::Missing`], a record that does
    /// not come, those of the session's state and of the transport.
    pub fn heartbeat(&mut self, nonce: u64) -> Result<(), SessionError> {
        if !self.info.heartbeat {
            return Err(SessionError::Missing("heartbeats"));
        }
        let answered = self.drain()?;
        self.ready.extend(answered);
        let presented = self.present_and_await(nonce);
        self.or_mark_lost(presented)
    }

    fn present_and_await(&mut self, nonce: u64) -> Result<(), SessionError> {
        self.present(nonce)?;
        for at in 0..self.lanes.len() {
            self.await_record(at, "the HEARTBEAT record")?;
            self.consume_heartbeat(at)?;
        }
        Ok(())
    }

    fn present(&mut self, nonce: u64) -> Result<(), SessionError> {
        self.presented = Some(nonce);
        self.lanes.iter_mut().for_each(|lane| lane.heartbeat.awaited = true);
        Ok(registers::with(&mut self.card, |r| {
            r.heartbeat_nonce_lo().try_write(|w| w.set_v((nonce & 0xffff_ffff) as u32))?;
            r.heartbeat_nonce_hi().try_write(|w| w.set_v((nonce >> 32) as u32))
        })?)
    }

    /// Presents the sink's next nonce, if it has one and every lane has recorded the previous nonce.
    pub(super) fn present_next(&mut self) -> Result<(), SessionError> {
        // An idle lane shows its heartbeat record only in a register. The register is read only if all lanes that still
        // await the record are idle.
        let idle = |lane: &LaneDriver| !lane.heartbeat.awaited || lane.is_idle();
        if self.presented.is_some() && self.in_flight() > 0 && self.lanes.iter().all(idle) {
            self.consume_heartbeats()?;
        }
        if self.presented.is_some() || self.checkpoints.is_none() {
            return Ok(());
        }
        let serial = self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.consumed);
        let nonce = self.sink.nonce();
        let nonce = nonce.map_err(|why| LossCause::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        match nonce {
            Some(nonce) if self.info.heartbeat => {
                self.witnessed = true;
                self.present(nonce)
            }
            _ => Ok(()),
        }
    }

    /// Checks a lane's heartbeat record against the presented nonce.
    pub(super) fn accept_heartbeat(&mut self, at: usize, record: &Record) -> Result<(), SessionError> {
        let index = record.answer.log_index.get();
        let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
        let nonce = self.presented.filter(|_| lane.heartbeat.awaited);
        let nonce = nonce.ok_or(lane.lost(index, "a heartbeat that no one presented"))?;
        let (entries, tick) = (lane.pending.len() as u64, record.answer.tick.get());
        lane.heartbeat = HeartbeatState { nonce, awaited: false, entries, tick };
        self.session_record(at, record, RecordType::Heartbeat)?;
        if !self.lanes.iter().any(|lane| lane.heartbeat.awaited) {
            self.presented = None;
            self.checkpoint_requested = false;
        }
        Ok(())
    }

    /// Consumes a heartbeat's record, which must exist, and announces that to the card.
    fn consume_heartbeat(&mut self, at: usize) -> Result<(), SessionError> {
        let record = self.consume_record(at)?;
        self.accept_heartbeat(at, &record)?;
        let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
        Ok(lane.rings.ring_consumed(&mut self.card, true)?)
    }

    /// Waits until there is credit for `share` more entries of each lane. Waits only if a witness answers; without a
    /// witness the card decides about the entries.
    ///
    /// The witness gives a nonce after a checkpoint. If the records do not cause a checkpoint, the driver requests one
    /// after half of the time limit. After three quarters of the limit, entries wait for the heartbeat, so that they do
    /// not reach the card too late.
    pub(super) fn await_credit(&mut self, share: impl Fn(&LaneDriver) -> usize) -> Result<(), SessionError> {
        if !self.witnessed {
            return Ok(());
        }
        let elapsed = self.elapsed()?;
        if self.has_credit(&share, elapsed) {
            return if self.heartbeat.ticks != 0 && elapsed >= self.clocks() / 2 {
                self.request_checkpoint()
            } else {
                Ok(())
            };
        }
        self.request_checkpoint()?;
        let bound = self.card.patience().saturating_mul(SIGNING);
        for _ in 0..bound {
            self.collect()?;
            self.collect_checkpoints()?;
            self.consume_heartbeats()?;
            self.present_next()?;
            let elapsed = self.since_heartbeat();
            if !self.checkpoint_requested && self.has_credit(&share, elapsed) {
                return Ok(());
            }
            self.request_checkpoint()?;
            self.card.wait(None)?;
        }
        Err(WaitError { awaited: "a heartbeat from the witness", bound, quantum: self.card.quantum() }.into())
    }

    /// The time limit in clocks.
    fn clocks(&self) -> u64 {
        u64::from(self.heartbeat.ticks) << 16
    }

    /// Whether every lane can take its share at time `elapsed` after the last heartbeat, with a margin before the time
    /// limit. A share above the whole limit passes, because waiting cannot help: the card refuses a part of it anyway.
    fn has_credit(&self, share: impl Fn(&LaneDriver) -> usize, elapsed: u64) -> bool {
        let limit = u64::from(self.heartbeat.records);
        let few = |lane: &LaneDriver| {
            let entries = share(lane) as u64;
            entries == 0 || entries > limit || lane.heartbeat.entries + entries <= limit
        };
        let few = limit == 0 || self.lanes.iter().all(few);
        few && (self.heartbeat.ticks == 0 || elapsed < self.clocks() / 4 * 3)
    }

    /// Clocks since the last heartbeat, in the lane that recorded it first. For a busy card the records give the time;
    /// for an idle card the tick register gives it.
    fn elapsed(&mut self) -> Result<u64, SessionError> {
        if self.heartbeat.ticks != 0 {
            self.collect()?;
            if self.in_flight() == 0 {
                self.consume_heartbeats()?;
                self.tick = self.tick.max(tick(&mut self.card)?);
            }
        }
        Ok(self.since_heartbeat())
    }

    fn since_heartbeat(&self) -> u64 {
        let first = self.lanes.iter().map(|lane| lane.heartbeat.tick).min().unwrap_or_default();
        self.tick.saturating_sub(first)
    }

    /// Requests a checkpoint, once per heartbeat.
    fn request_checkpoint(&mut self) -> Result<(), SessionError> {
        if !self.checkpoint_requested {
            self.flush()?;
            self.checkpoint_requested = true;
        }
        Ok(())
    }

    /// Consumes heartbeat records that are not followed by a completion.
    pub(super) fn consume_heartbeats(&mut self) -> Result<(), SessionError> {
        for at in 0..self.lanes.len() {
            while self.lanes.get(at).is_some_and(|lane| lane.heartbeat.awaited && lane.is_idle())
                && self.has_record(at)?
            {
                self.consume_heartbeat(at)?;
            }
        }
        Ok(())
    }
}
