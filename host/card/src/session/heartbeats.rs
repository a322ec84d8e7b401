//! Heartbeats: presenting nonces, their records, and waiting for credit.

use portcullis_core::wire::{Record, RecordType};

use super::bring_up::SIGNING;
use super::{Lost, Session, SessionError, WaitError, check};
use crate::{Card, registers};

impl<C: Card> Session<C> {
    /// Presents a heartbeat and waits for its record: the credit is full again then. Entries in flight are answered first; their
    /// answers come with the next [`Session::poll`]. A sink that gives nonces ([`super::RecordSink::nonce`]) makes this call unnecessary.
    ///
    /// # Errors
    /// [`SessionError::Missing`], the session's state, a record that does not come, and the transport's.
    pub fn heartbeat(&mut self, nonce: u64) -> Result<(), SessionError> {
        if !self.info.heartbeat {
            return Err(SessionError::Missing("heartbeats"));
        }
        let answered = self.drain()?;
        self.ready.extend(answered);
        let beaten = self.beat(nonce);
        self.or_lose(beaten)
    }

    fn beat(&mut self, nonce: u64) -> Result<(), SessionError> {
        self.present(nonce)?;
        self.await_record("the HEARTBEAT record")?;
        let record = self.take_record()?;
        self.beaten(&record)?;
        self.rings.as_mut().ok_or(SessionError::NotOpen)?.ring_consumed(&mut self.card, true)?;
        Ok(())
    }

    fn present(&mut self, nonce: u64) -> Result<(), SessionError> {
        self.presented = Some(nonce);
        Ok(registers::with(&mut self.card, |r| {
            r.heartbeat_nonce_lo().try_write(|w| w.set_v((nonce & 0xffff_ffff) as u32))?;
            r.heartbeat_nonce_hi().try_write(|w| w.set_v((nonce >> 32) as u32))
        })?)
    }

    /// Presents the sink's next nonce, when it has one and none is under way.
    pub(super) fn present_next(&mut self) -> Result<(), SessionError> {
        if self.presented.is_some() || self.checkpoints.is_none() {
            return Ok(());
        }
        let serial = self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.consumed);
        let nonce = self.sink.nonce();
        let nonce = nonce.map_err(|why| Lost::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        match nonce {
            Some(nonce) if self.info.heartbeat => {
                self.witnessed = true;
                self.present(nonce)
            }
            _ => Ok(()),
        }
    }

    /// Takes the record of a heartbeat: it has to be the one that was presented.
    pub(super) fn beaten(&mut self, record: &Record) -> Result<(), SessionError> {
        let index = record.answer.log_index.get();
        let nonce = self.presented.take().ok_or(Lost::Record { index, what: "a heartbeat that nobody presented" })?;
        self.heartbeat_nonce = nonce;
        check::session_record(record, RecordType::Heartbeat, self)?;
        self.since_heartbeat = self.pending.len() as u64;
        self.heartbeat_tick = record.answer.tick.get();
        self.asked = false;
        Ok(())
    }

    /// Waits until `entries` more will find credit. Only where a witness answers; else the card says what it thinks of them.
    ///
    /// A nonce comes with a checkpoint. Where no records make one due, time does: past half of the limit of time one is asked for, past
    /// three quarters the entries wait for its heartbeat, so that they do not meet the limit on their way.
    pub(super) fn await_credit(&mut self, entries: usize) -> Result<(), SessionError> {
        if !self.witnessed {
            return Ok(());
        }
        let elapsed = self.elapsed()?;
        if self.finds_credit(entries as u64, elapsed) {
            return if self.heartbeat.ticks != 0 && elapsed >= self.clocks() / 2 { self.ask() } else { Ok(()) };
        }
        self.ask()?;
        let bound = self.card.patience().saturating_mul(SIGNING);
        for _ in 0..bound {
            self.collect()?;
            self.collect_checkpoints()?;
            self.take_heartbeats()?;
            self.present_next()?;
            let elapsed = self.tick - self.heartbeat_tick;
            if !self.asked && self.finds_credit(entries as u64, elapsed) {
                return Ok(());
            }
            self.ask()?;
            self.card.wait(None)?;
        }
        Err(WaitError { awaited: "a heartbeat from the witness", bound, quantum: self.card.quantum() }.into())
    }

    /// The limit of time, in clocks.
    fn clocks(&self) -> u64 {
        u64::from(self.heartbeat.ticks) << 16
    }

    /// Whether `entries` more, this long after the last heartbeat, are safely within both limits. More than the whole limit never are: the
    /// card refuses some of them, whatever is waited for.
    fn finds_credit(&self, entries: u64, elapsed: u64) -> bool {
        let limit = u64::from(self.heartbeat.records);
        let few = limit == 0 || entries > limit || self.since_heartbeat + entries <= limit;
        few && (self.heartbeat.ticks == 0 || elapsed < self.clocks() / 4 * 3)
    }

    /// Clocks since the last heartbeat. While the card works its records tell the time; an idle one is asked for it.
    fn elapsed(&mut self) -> Result<u64, SessionError> {
        if self.heartbeat.ticks != 0 {
            self.collect()?;
            if self.pending.is_empty() {
                self.take_heartbeats()?;
                self.tick = self.tick.max(crate::info::tick(&mut self.card)?);
            }
        }
        Ok(self.tick.saturating_sub(self.heartbeat_tick))
    }

    /// Asks for a checkpoint, once for each heartbeat.
    fn ask(&mut self) -> Result<(), SessionError> {
        if !self.asked {
            self.flush()?;
            self.asked = true;
        }
        Ok(())
    }

    /// Heartbeats that no completion follows.
    fn take_heartbeats(&mut self) -> Result<(), SessionError> {
        while self.presented.is_some() && self.pending.is_empty() && self.has_record()? {
            let record = self.take_record()?;
            self.beaten(&record)?;
            self.rings.as_mut().ok_or(SessionError::NotOpen)?.ring_consumed(&mut self.card, true)?;
        }
        Ok(())
    }
}
