//! The end of a session.

use portcullis_core::wire::{Command, Fault, Life, Record, RecordType};

use super::{Health, Session};
use crate::card::Card;
use crate::driver::command::{command, reset, tracks_its_bus};
use crate::driver::error::{LossCause, SessionError};
use crate::driver::info::Status;
use crate::driver::outcome::CloseReport;

impl<C: Card> Session<C> {
    /// Waits for what is in flight, closes the session, and takes the memory back. The card is quiet then.
    ///
    /// A faulted card is closed too, where its log is intact: the record names the cause. So is a card that faults over
    /// CLOSE, once its ALARM is collected. Errors: the session's state, a CLOSE record that does not come or does not
    /// fit, and the transport's. The card is reset in any case, and the memory taken back once it is quiet: a card that
    /// needs its hardware reset keeps it, as its bus may still write there.
    pub fn close(mut self) -> Result<CloseReport, SessionError> {
        let closed = self.finish();
        let lanes = std::mem::take(&mut self.lanes);
        let quiet = match closed {
            Ok(_) if self.health == Health::Good => tracks_its_bus(&mut self.card),
            _ => reset(&mut self.card),
        };
        match quiet {
            Ok(()) => {
                self.release(lanes)?;
                closed
            }
            // Without quiet the card keeps its memory until it is dropped itself.
            Err(SessionError::NeedsReset(_)) => Ok(CloseReport { needs_reset: true, ..closed? }),
            Err(error) => closed.and(Err(error)),
        }
    }

    fn finish(&mut self) -> Result<CloseReport, SessionError> {
        let mut rest = if let Health::Lost(_) = self.health { Vec::new() } else { self.drain()? };
        if let Health::Lost(lost) = &self.health {
            return Err(SessionError::Lost(lost.clone()));
        }
        // A fault that nothing in flight has met yet.
        if self.health == Health::Good && Status::read(&mut self.card)?.life == Life::Fault {
            self.fault()?;
        }
        if self.health == Health::Good {
            self.command_close()?;
        }
        // Once more for a card that faulted meanwhile: its log may be open still.
        let open = self.lanes.iter().any(|lane| lane.closing.is_none());
        if open && matches!(self.health, Health::Faulted(_)) {
            self.command_close()?;
        }
        let cause = match &self.health {
            Health::Faulted(fault) => *fault,
            Health::Good | Health::Lost(_) => Fault::None,
        };
        let open = self.lanes.iter().find(|lane| lane.closing.is_none());
        if let (Some(lane), Fault::None) = (open, cause) {
            return Err(lane.lost(lane.rings.logged, "the CLOSE record is missing").into());
        }
        // The outside hears of the end, too; there is no heartbeat after it.
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

    /// Gives CLOSE and collects what the card writes. A card that faults meanwhile has its ALARM collected.
    fn command_close(&mut self) -> Result<(), SessionError> {
        let faulted = self.health != Health::Good;
        self.lanes.iter_mut().try_for_each(|lane| lane.rings.ring_consumed(&mut self.card, true))?;
        command(&mut self.card, Command::Close)?;
        let end = if faulted { Life::Fault } else { Life::Load };
        let over = |s: Status| (s.life == end && !s.busy) || (s.life == Life::Fault && !faulted);
        let status = self.await_signed("the card to be quiet after CLOSE", over)?;
        if status.life != end {
            return self.fault();
        }
        // A heartbeat may have found its place before CLOSE did.
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

    /// Takes a lane's CLOSE record, which names the sticky fault.
    fn accept_close(&mut self, at: usize, record: Record) -> Result<(), SessionError> {
        let named = self.session_record(at, &record, RecordType::Close)?;
        let index = record.answer.log_index.get();
        let cause = if let Health::Faulted(fault) = &self.health { *fault } else { Fault::None };
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
