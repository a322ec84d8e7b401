//! The end of a session.

use portcullis_core::wire::{Command, Fault, Life, Record, RecordType};

use super::bring_up::{command, reset};
use super::{Health, Lost, Session, SessionError, check};
use crate::info::Status;
use crate::{Card, Completed};

/// A closed session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The CLOSE record. `None` when the bus of a faulted card is dead, so that it can write nothing.
    pub record: Option<Record>,
    /// The ALARM record of a sticky fault, if the card could write one.
    pub alarm: Option<Record>,
    /// The sticky fault that ended the session, or none. One that came while CLOSE was under way counts.
    pub cause: Fault,
    /// Answers that nobody had asked for yet.
    pub rest: Vec<Completed>,
}

impl<C: Card> Session<C> {
    /// Waits for what is in flight, closes the session, and takes the memory back. The card is quiet then.
    ///
    /// A faulted card is closed too, where its log is intact: the record names the cause. So is a card that faults over CLOSE, once its
    /// ALARM is collected.
    ///
    /// # Errors
    /// The session's state, a CLOSE record that does not come or does not fit, and the transport's. The card is reset and
    /// the memory taken back in any case.
    pub fn close(mut self) -> Result<Closed, SessionError> {
        let closed = self.finish();
        let rings = self.rings.take();
        let quiet = match closed {
            Ok(_) if self.health == Health::Good => Ok(()),
            _ => reset(&mut self.card),
        };
        // Without quiet the card keeps its memory until it is dropped itself.
        if let (Ok(()), Some(rings)) = (&quiet, rings) {
            self.release(rings)?;
        }
        let closed = closed?;
        quiet?;
        Ok(closed)
    }

    fn finish(&mut self) -> Result<Closed, SessionError> {
        let mut rest = if let Health::Lost(_) = self.health { Vec::new() } else { self.drain()? };
        if let Health::Lost(lost) = &self.health {
            return Err(SessionError::Lost(lost.clone()));
        }
        // A fault that nothing in flight has met yet.
        if self.health == Health::Good && Status::read(&mut self.card)?.life == Life::Fault {
            self.fault()?;
        }
        if self.health == Health::Good {
            self.give_close()?;
        }
        // Once more for a card that faulted meanwhile: its log may be open still.
        if self.closing.is_none() && matches!(self.health, Health::Faulted(_)) {
            self.give_close()?;
        }
        let cause = match &self.health {
            Health::Faulted(fault) => *fault,
            Health::Good | Health::Lost(_) => Fault::None,
        };
        let record = self.closing.take();
        if record.is_none() && cause == Fault::None {
            let index = self.rings.as_ref().map_or(0, |rings| rings.logged);
            return Err(Lost::Record { index, what: "the CLOSE record is missing" }.into());
        }
        // The outside hears of the end, too; there is no heartbeat after it.
        self.presented = None;
        let serial = self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.consumed);
        let told = self.sink.nonce();
        told.map_err(|why| Lost::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        rest.extend(self.ready.drain(..));
        Ok(Closed { record, alarm: self.alarm, cause, rest })
    }

    /// Gives CLOSE and collects what the card writes. A card that faults meanwhile has its ALARM collected.
    fn give_close(&mut self) -> Result<(), SessionError> {
        let faulted = self.health != Health::Good;
        let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
        rings.ring_consumed(&mut self.card, true)?;
        command(&mut self.card, Command::Close)?;
        let end = if faulted { Life::Fault } else { Life::Load };
        let over = |s: Status| (s.life == end && !s.busy) || (s.life == Life::Fault && !faulted);
        let status = self.await_signed("the card to be quiet after CLOSE", over)?;
        if status.life != end {
            return self.fault();
        }
        // A heartbeat may have found its place before CLOSE did.
        while self.has_record()? {
            let record = self.take_record()?;
            if record.answer.record_type == u8::from(RecordType::Heartbeat) {
                self.beaten(&record)?;
            } else {
                let named = check::session_record(&record, RecordType::Close, self)?;
                self.closed(record, named)?;
            }
        }
        self.collect_checkpoints()?;
        Ok(())
    }

    /// Takes the CLOSE record, which names the sticky fault.
    fn closed(&mut self, record: Record, named: Fault) -> Result<(), SessionError> {
        let index = record.answer.log_index.get();
        let cause = if let Health::Faulted(fault) = &self.health { *fault } else { Fault::None };
        if named != cause {
            return Err(Lost::Record { index, what: "its cause is not the sticky fault" }.into());
        }
        if self.closing.replace(record).is_some() {
            return Err(Lost::Record { index, what: "a second CLOSE record" }.into());
        }
        Ok(())
    }
}
