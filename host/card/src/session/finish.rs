//! The end of a session.

use portcullis_core::wire::{Command, Fault, Life, Record, RecordType};

use super::bring_up::{command, reset};
use super::{Health, Lost, Session, SessionError, check};
use crate::info::{Status, sticky_fault};
use crate::{Card, Completed};

/// A closed session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The CLOSE record. `None` when the bus of a faulted card is dead, so that it can write nothing.
    pub record: Option<Record>,
    /// The sticky fault that it names, or none.
    pub cause: Fault,
    /// Answers that nobody had asked for yet.
    pub rest: Vec<Completed>,
}

impl<C: Card> Session<C> {
    /// Waits for what is in flight, closes the session, and takes the memory back. The card is quiet then.
    ///
    /// A faulted card is closed too, where its log is intact: the record names the cause.
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
        match &self.health {
            Health::Good => {
                // A fault that nothing in flight has met yet.
                if Status::read(&mut self.card)?.life == Life::Fault {
                    self.fault()?;
                }
            }
            Health::Faulted(_) => {}
            Health::Lost(lost) => return Err(SessionError::Lost(lost.clone())),
        }
        let cause = match &self.health {
            Health::Faulted(fault) => *fault,
            Health::Good | Health::Lost(_) => Fault::None,
        };
        let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
        rings.ring_consumed(&mut self.card, true)?;
        command(&mut self.card, Command::Close)?;
        let end = if cause == Fault::None { Life::Load } else { Life::Fault };
        let quiet = |s: Status| !s.busy && (s.life == end || s.life == Life::Fault);
        let status = self.await_signed("the card to be quiet after CLOSE", quiet)?;
        if status.life != end {
            return Err(SessionError::Faulted(sticky_fault(&mut self.card)?));
        }
        // A heartbeat may have found its place before CLOSE did.
        let mut last = None;
        while self.has_record()? {
            let record = self.take_record()?;
            if record.answer.record_type == u8::from(RecordType::Heartbeat) {
                self.beaten(&record)?;
            } else {
                last = Some(record);
                break;
            }
        }
        let record = match (last, cause) {
            (None, Fault::None) => {
                let index = self.rings.as_ref().map_or(0, |rings| rings.logged);
                return Err(Lost::Record { index, what: "the CLOSE record is missing" }.into());
            }
            (None, _) => None,
            (Some(record), _) => {
                let named = check::session_record(&record, RecordType::Close, self)?;
                if named != cause {
                    let index = record.answer.log_index.get();
                    return Err(Lost::Record { index, what: "its cause is not the sticky fault" }.into());
                }
                Some(record)
            }
        };
        self.collect_checkpoints()?;
        // The outside hears of the end, too; there is no heartbeat after it.
        self.presented = None;
        let serial = self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.consumed);
        let told = self.sink.nonce();
        told.map_err(|why| Lost::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        rest.extend(self.ready.drain(..));
        Ok(Closed { record, cause, rest })
    }
}
