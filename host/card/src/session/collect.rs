//! Out of the completion and log rings.

use portcullis_core::wire::{Fault, Life, Record, RecordType};

use super::submit::Pending;
use super::{Health, Lost, Session, SessionError, WaitError, check};
use crate::info::{Status, sticky_fault};
use crate::{Card, Completed, Outcome};

/// What becomes of an entry whose card is lost: no answer came in time, and none will count.
const LOST: Outcome = Outcome::Fault(Fault::Watchdog);

impl<C: Card> Session<C> {
    /// What was answered since the last call, in order of submission. Does not wait and reads no register.
    ///
    /// # Errors
    /// The session's state, and [`SessionError::Lost`] when an answer does not fit; nothing that fits is held back then
    /// from an earlier call, and nothing of this call is given out.
    pub fn poll(&mut self) -> Result<Vec<Completed>, SessionError> {
        if self.ready.is_empty() {
            self.healthy()?;
        }
        if self.health == Health::Good {
            self.collect()?;
        }
        Ok(self.ready.drain(..).collect())
    }

    /// Waits until at least one entry is answered, and gives all that are. Without an entry in flight it gives none.
    /// When the card has faulted, the entries in flight are answered with the fault.
    ///
    /// # Errors
    /// [`SessionError::Wait`] when the card makes no progress (it is lost then), or as [`Session::poll`].
    pub fn wait(&mut self) -> Result<Vec<Completed>, SessionError> {
        loop {
            let answered = self.poll()?;
            if !answered.is_empty() || self.pending.is_empty() {
                return Ok(answered);
            }
            self.await_progress()?;
        }
    }

    /// Waits until every entry is answered.
    ///
    /// # Errors
    /// As [`Session::wait`]. Then no answer is given out by this call: [`Session::abandon`] has them.
    pub fn drain(&mut self) -> Result<Vec<Completed>, SessionError> {
        let mut all = Vec::new();
        while !self.pending.is_empty() || !self.ready.is_empty() {
            match self.wait() {
                Ok(answered) => all.extend(answered),
                Err(error) => {
                    // They came before what is in `abandoned` by now.
                    self.abandoned.splice(0..0, all);
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    /// After the card is lost: every entry without an answer that counts, oldest first, refused with a fault. Each is given once, here or
    /// by an earlier call. While the card is not lost there is none.
    pub fn abandon(&mut self) -> Vec<Completed> {
        if !matches!(self.health, Health::Lost(_)) {
            return Vec::new();
        }
        let refused = |ticket, entry| Completed { ticket, entry, outcome: LOST, record: None };
        let unanswered = self.pending.drain(..).map(|pending| refused(pending.ticket, pending.entry));
        self.abandoned.drain(..).map(|met| refused(met.ticket, met.entry)).chain(unanswered).collect()
    }

    /// Moves every answer that is there to `ready`.
    pub(super) fn collect(&mut self) -> Result<(), SessionError> {
        let collected = self.collect_all();
        self.or_lose(collected)
    }

    fn collect_all(&mut self) -> Result<(), SessionError> {
        let before = self.ready.len();
        while let Some(pending) = self.pending.front() {
            let rings = self.rings.as_ref().ok_or(SessionError::NotOpen)?;
            let Some(completion) = rings.next_completion(&self.card)? else { break };
            let Pending { ticket, entry, .. } = *pending;
            let outcome = check::completion(&completion, ticket, &entry, self.epoch, self.rows)?;
            let index = completion.log_index.get();
            // Its record was written before it, and at most a ring of records can wait.
            if index < rings.logged || index - rings.logged >= rings.log_size() {
                return Err(Lost::Completion { ticket, what: "it names a record that cannot be" }.into());
            }
            while self.logged()? < index {
                let record = self.take_record()?;
                self.beaten(&record)?;
            }
            let record = self.take_record()?;
            check::entry_record(&record, index, &entry, Some(&completion), self)?;
            self.answer(outcome, Some(record));
            let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
            rings.completed += 1;
        }
        if self.ready.len() > before {
            let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
            rings.ring_submitted(&mut self.card, false)?;
            rings.ring_consumed(&mut self.card, false)?;
            let logged = rings.logged;
            if self.asked || self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.due(logged)) {
                self.collect_checkpoints()?;
            }
            self.present_next()?;
        }
        Ok(())
    }

    /// The oldest entry is answered.
    fn answer(&mut self, outcome: Outcome, record: Option<Record>) {
        if let Some(Pending { ticket, entry, holds_stream }) = self.pending.pop_front() {
            self.streams.answered(&entry, &outcome, holds_stream);
            self.ready.push_back(Completed { ticket, entry, outcome, record });
        }
    }

    fn logged(&self) -> Result<u64, SessionError> {
        self.rings.as_ref().map(|rings| rings.logged).ok_or(SessionError::NotOpen)
    }

    /// Consumes the next record and has it kept. The caller knows that it is there and checks it.
    pub(super) fn take_record(&mut self) -> Result<Record, SessionError> {
        let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
        let record = rings.next_record(&self.card)?;
        let index = rings.logged;
        rings.logged += 1;
        self.tick = self.tick.max(record.answer.tick.get());
        self.sink.record(&record).map_err(|why| Lost::Sink { what: "record", index, why: why.to_string() })?;
        Ok(record)
    }

    /// Whether the log holds a record that was not consumed.
    pub(super) fn has_record(&mut self) -> Result<bool, SessionError> {
        let rings = self.rings.as_ref().ok_or(SessionError::NotOpen)?;
        Ok(rings.unread_records(&mut self.card)? > 0)
    }

    /// Waits until the log holds a record that was not consumed.
    pub(super) fn await_record(&mut self, awaited: &'static str) -> Result<(), SessionError> {
        let bound = self.card.patience();
        for _ in 0..bound {
            if self.has_record()? {
                return Ok(());
            }
            self.card.wait(None)?;
        }
        Err(WaitError { awaited, bound, quantum: self.card.quantum() }.into())
    }

    /// Waits until something is collected or the card has faulted.
    fn await_progress(&mut self) -> Result<(), SessionError> {
        let progress = self.await_progress_inner();
        self.or_lose(progress)
    }

    fn await_progress_inner(&mut self) -> Result<(), SessionError> {
        let bound = self.card.patience();
        let mut vain = false;
        for _ in 0..bound {
            let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
            // Everything is said only after a quantum in vain: under load nothing here touches a register.
            rings.ring_submitted(&mut self.card, vain)?;
            rings.ring_consumed(&mut self.card, vain)?;
            vain = true;
            self.card.wait(Some(&rings.watch()))?;
            self.collect_all()?;
            if !self.ready.is_empty() {
                return Ok(());
            }
            match Status::read(&mut self.card)?.life {
                Life::Run => {}
                Life::Fault => return self.fault(),
                life => return Err(SessionError::State { life, awaited: "a completion" }),
            }
        }
        Err(WaitError { awaited: "a completion", bound, quantum: self.card.quantum() }.into())
    }

    /// The card has faulted: what it answered before counts, everything else is answered with the fault.
    pub(super) fn fault(&mut self) -> Result<(), SessionError> {
        let fault = sticky_fault(&mut self.card)?;
        if fault == Fault::None {
            return Err(SessionError::State { life: Life::Fault, awaited: "its fault code" });
        }
        // Its ALARM may be waiting for room in the log.
        self.collect_all()?;
        self.rings.as_mut().ok_or(SessionError::NotOpen)?.ring_consumed(&mut self.card, true)?;
        // Its last writes. A dead bus never gets quiet; what was answered by then counts all the same.
        match self.await_signed("the card to be quiet after a fault", |s| !s.busy) {
            Ok(_) | Err(SessionError::Wait(_)) => {}
            Err(error) => return Err(error),
        }
        self.collect_all()?;
        self.collect_checkpoints()?;
        while self.has_record()? {
            let index = self.logged()?;
            let record = self.take_record()?;
            let kind = record.answer.record_type;
            if kind == u8::from(RecordType::Alarm) {
                let cause = check::session_record(&record, RecordType::Alarm, self)?;
                if cause != fault {
                    return Err(Lost::Record { index, what: "its cause is not the sticky fault" }.into());
                }
                self.alarm = Some(record);
            } else if kind == u8::from(RecordType::Close) {
                // CLOSE was under way: written before the fault, without a cause, or behind its ALARM.
                let cause = check::session_record(&record, RecordType::Close, self)?;
                let expected = if self.alarm.is_some() { fault } else { Fault::None };
                if cause != expected || self.closing.replace(record).is_some() {
                    return Err(Lost::Record { index, what: "a CLOSE record that does not fit the fault" }.into());
                }
            } else if kind == u8::from(RecordType::Heartbeat) {
                self.beaten(&record)?;
            } else {
                // Recorded but not completed: the record stands in the log, the entry is not answered by it.
                let entry = self.pending.front().map(|pending| pending.entry);
                let entry = entry.ok_or(Lost::Record { index, what: "a record of an entry that was not submitted" })?;
                check::entry_record(&record, index, &entry, None, self)?;
                self.answer(Outcome::Fault(fault), Some(record));
            }
        }
        while !self.pending.is_empty() {
            self.answer(Outcome::Fault(fault), None);
        }
        self.health = Health::Faulted(fault);
        Ok(())
    }
}
