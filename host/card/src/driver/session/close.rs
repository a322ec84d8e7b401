//! The end of a session.

use portcullis_core::wire::{Command, Fault, Life, Record, RecordType};

use super::{CardHealth, CardSession};
use crate::card::CardTransport;
use crate::driver::command::{command, reset, tracks_its_bus};
use crate::driver::error::{LossCause, SessionError};
use crate::driver::info::LifecycleStatus;
use crate::driver::outcome::CloseReport;

impl<C: CardTransport> CardSession<C> {
    /// Waits for the entries in flight, closes the session, and frees the memory. The card is quiet afterwards.
    ///
    /// A faulted card is closed too, if its log is intact; the record then names the cause. A card that faults during
    /// CLOSE is closed once its ALARM is collected. Errors: a CLOSE record that is missing or does not fit, those of
    /// the session's state and of the transport. The card is reset in any case, and the memory is freed once it is
    /// quiet. A card that needs its hardware reset keeps the memory, because its bus may still write there.
    pub fn close(mut self) -> Result<CloseReport, SessionError> {
        let closed = self.finish();
        let lanes = std::mem::take(&mut self.lanes);
        let quiet = match closed {
            Ok(_) if self.health == CardHealth::Good => tracks_its_bus(&mut self.card),
            _ => reset(&mut self.card),
        };
        match quiet {
            Ok(()) => {
                self.release(lanes)?;
                closed
            }
            // The card did not become quiet, so it keeps the memory until it is dropped.
            Err(SessionError::NeedsReset(_) | SessionError::Stale) => Ok(CloseReport { needs_reset: true, ..closed? }),
            Err(error) => closed.and(Err(error)),
        }
    }

    fn finish(&mut self) -> Result<CloseReport, SessionError> {
        let mut rest = if let CardHealth::Lost(_) = self.health { Vec::new() } else { self.drain()? };
        if let CardHealth::Lost(lost) = &self.health {
            return Err(SessionError::Lost(lost.clone()));
        }
        // The card may have faulted while no entry was in flight.
        if self.health == CardHealth::Good && LifecycleStatus::read(&mut self.card)?.life == Life::Fault {
            self.fault()?;
        }
        if self.health == CardHealth::Good {
            self.command_close()?;
        }
        // A card that faulted during CLOSE may still have an open log, so CLOSE is commanded again.
        let open = self.lanes.iter().any(|lane| lane.closing.is_none());
        if open && matches!(self.health, CardHealth::Faulted(_)) {
            self.command_close()?;
        }
        let cause = match &self.health {
            CardHealth::Faulted(fault) => *fault,
            CardHealth::Good | CardHealth::Lost(_) => Fault::None,
        };
        let open = self.lanes.iter().find(|lane| lane.closing.is_none());
        if let (Some(lane), Fault::None) = (open, cause) {
            return Err(lane.lost(lane.rings.logged, "the CLOSE record is missing").into());
        }
        // Lets the sink report the end to the witness. A nonce is not presented any more.
        self.presented = None;
        let serial = self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.consumed);
        let nonce = self.sink.nonce();
        nonce.map_err(|why| LossCause::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        rest.extend(self.ready.drain(..));
        let record = self.lanes.first().and_then(|lane| lane.closing);
        Ok(CloseReport {
            record,
            alarm: self.alarm().copied(),
            records: self.logged(),
            cause,
            rest,
            needs_reset: false,
        })
    }

    /// Commands CLOSE and collects the records. If the card faults meanwhile, its ALARM is collected.
    fn command_close(&mut self) -> Result<(), SessionError> {
        let faulted = self.health != CardHealth::Good;
        self.lanes.iter_mut().try_for_each(|lane| lane.rings.ring_consumed(&mut self.card, true))?;
        command(&mut self.card, Command::Close)?;
        let end = if faulted { Life::Fault } else { Life::Load };
        let over = |s: LifecycleStatus| (s.life == end && !s.busy) || (s.life == Life::Fault && !faulted);
        let status = self.await_signed("the card to be quiet after CLOSE", over)?;
        if status.life != end {
            return self.fault();
        }
        // A heartbeat record may precede the CLOSE record.
        for at in 0..self.lanes.len() {
            while self.has_record(at)? {
                let record = self.consume_record(at)?;
                if record.answer.record_type == u8::from(RecordType::Heartbeat) {
                    self.accept_heartbeat(at, &record)?;
                } else {
                    self.accept_close(at, record)?;
                }
            }
        }
        self.collect_checkpoints()?;
        Ok(())
    }

    /// Checks and stores a lane's CLOSE record, which names the sticky fault.
    fn accept_close(&mut self, at: usize, record: Record) -> Result<(), SessionError> {
        let named = self.session_record(at, &record, RecordType::Close)?;
        let index = record.answer.log_index.get();
        let cause = if let CardHealth::Faulted(fault) = &self.health { *fault } else { Fault::None };
        let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
        if named != cause {
            return Err(lane.lost(index, "its cause is not the sticky fault").into());
        }
        if lane.closing.replace(record).is_some() {
            return Err(lane.lost(index, "a second CLOSE record").into());
        }
        Ok(())
    }
}
