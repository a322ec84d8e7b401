//! Collects answers from the completion and log rings of each lane.

use portcullis_core::wire::{Completion, Descriptor, Fault, Life, Record, RecordType};

use super::{CardHealth, CardSession, check};
use crate::card::CardTransport;
use crate::driver::error::{LossCause, SessionError, WaitError};
use crate::driver::info::{LifecycleStatus, sticky_fault};
use crate::driver::lane::{LaneDriver, UnansweredEntry};
use crate::driver::outcome::{CompletedEntry, EntryOutcome};
use crate::driver::rings::NextCompletion;
use crate::error::CardError;

/// The outcome of an entry when the card is lost before its answer. A later answer does not count.
const LOST: EntryOutcome = EntryOutcome::Fault(Fault::Watchdog);

impl<C: CardTransport> CardSession<C> {
    /// Returns the answers since the last call, in order of submission within each lane. Does not wait or read a
    /// register. Errors: the session's state, and [`SessionError::Lost`] when an answer does not fit. In that case this
    /// call returns no answers; answers from earlier calls stay valid.
    pub fn poll(&mut self) -> Result<Vec<CompletedEntry>, SessionError> {
        if self.ready.is_empty() {
            self.healthy()?;
        }
        if self.health == CardHealth::Good {
            self.collect()?;
        }
        Ok(self.ready.drain(..).collect())
    }

    /// Waits until at least one entry is answered, and returns all answers so far; none if no entry is in flight. If
    /// the card faults, the entries in flight get the fault as their answer. Errors: [`SessionError::Wait`] when the
    /// card makes no progress (it is lost then), or as [`CardSession::poll`].
    pub fn wait(&mut self) -> Result<Vec<CompletedEntry>, SessionError> {
        loop {
            let answered = self.poll()?;
            if !answered.is_empty() || self.in_flight() == 0 {
                return Ok(answered);
            }
            self.await_progress()?;
        }
    }

    /// Waits until every entry is answered, and returns the answers in order of submission. Errors: as
    /// [`CardSession::wait`]; the call's answers are then in [`CardSession::abandon`].
    pub fn drain(&mut self) -> Result<Vec<CompletedEntry>, SessionError> {
        let mut all = Vec::new();
        while self.in_flight() > 0 || !self.ready.is_empty() {
            match self.wait() {
                Ok(answered) => all.extend(answered),
                Err(error) => {
                    self.abandoned.extend(all);
                    return Err(error);
                }
            }
        }
        all.sort_by_key(|completed| completed.ticket);
        Ok(all)
    }

    /// After the loss of the card: every entry without a valid answer, oldest first, refused with the fault of an
    /// expired watchdog. Each entry is returned once, here or by an earlier call. Empty while the card is not lost.
    pub fn abandon(&mut self) -> Vec<CompletedEntry> {
        if !matches!(self.health, CardHealth::Lost(_)) {
            return Vec::new();
        }
        let refused = |ticket, entry| CompletedEntry { ticket, entry, outcome: LOST, record: None };
        let unanswered = self.lanes.iter_mut().flat_map(|lane| lane.pending.drain(..));
        let unanswered = unanswered.map(|pending| (pending.ticket, pending.entry));
        let met = self.abandoned.drain(..).map(|met| (met.ticket, met.entry));
        let mut all: Vec<_> = met.chain(unanswered).map(|(ticket, entry)| refused(ticket, entry)).collect();
        all.sort_by_key(|completed| completed.ticket);
        all
    }

    /// Moves every available answer to `ready`.
    pub(super) fn collect(&mut self) -> Result<(), SessionError> {
        let collected = self.collect_all();
        self.or_mark_lost(collected)
    }

    fn collect_all(&mut self) -> Result<(), SessionError> {
        let before = self.ready.len();
        // A lane gives at most as many answers as it has entries, so no lane keeps the others waiting.
        (0..self.lanes.len()).try_for_each(|at| self.collect_lane(at))?;
        if self.ready.len() > before {
            for lane in &mut self.lanes {
                lane.rings.ring_submitted(&mut self.card, false)?;
                lane.rings.ring_consumed(&mut self.card, false)?;
            }
            let logged = self.logged();
            if self.checkpoint_requested || self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.due(logged))
            {
                self.collect_checkpoints()?;
            }
            self.present_next()?;
        }
        Ok(())
    }

    fn collect_lane(&mut self, at: usize) -> Result<(), SessionError> {
        loop {
            let lane = self.lanes.get(at).ok_or(SessionError::NotOpen)?;
            let Some(pending) = lane.pending.front() else { return Ok(()) };
            let NextCompletion::Whole(completion) = lane.rings.next_completion(&self.card)? else { return Ok(()) };
            let UnansweredEntry { ticket, entry, .. } = *pending;
            let outcome = check::completion(&completion, lane, pending, self)?;
            let index = completion.log_index.get();
            // The record is written before its completion, and the log ring holds at most one lap of unread records.
            let unread = index.checked_sub(lane.rings.logged);
            if unread.is_none_or(|unread| unread >= lane.rings.log_size()) {
                return Err(LossCause::Completion { ticket, what: "it names a record that cannot be" }.into());
            }
            for _ in 0..unread.unwrap_or_default() {
                let record = self.consume_record(at)?;
                self.accept_heartbeat(at, &record)?;
            }
            let record = self.consume_record(at)?;
            self.entry_record(at, &record, &entry, Some(&completion))?;
            self.answer(at, outcome, Some(record));
            self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?.rings.completed += 1;
        }
    }

    /// Completes the oldest entry of a lane with `outcome`.
    fn answer(&mut self, at: usize, outcome: EntryOutcome, record: Option<Record>) {
        let pending = self.lanes.get_mut(at).and_then(|lane| lane.pending.pop_front());
        if let Some(UnansweredEntry { ticket, entry, holds_stream, .. }) = pending {
            self.streams.answered(&entry, &outcome, holds_stream);
            self.ready.push_back(CompletedEntry { ticket, entry, outcome, record });
        }
    }

    pub(super) fn logged(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.rings.logged).sum()
    }

    /// Consumes a lane's next record, which must exist, and passes it to the sink. The caller must check the record.
    pub(super) fn consume_record(&mut self, at: usize) -> Result<Record, SessionError> {
        let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
        let record = lane.rings.next_record(&self.card)?;
        let index = lane.rings.logged;
        lane.rings.logged += 1;
        // The sink stores records by lane, so the lane is checked first.
        if record.answer.lane != lane.number {
            return Err(lane.lost(index, "another lane").into());
        }
        self.tick = self.tick.max(record.answer.tick.get());
        self.sink.record(&record).map_err(|why| LossCause::Sink { what: "record", index, why: why.to_string() })?;
        Ok(record)
    }

    /// Whether a lane's log contains an unconsumed record.
    pub(super) fn has_record(&mut self, at: usize) -> Result<bool, SessionError> {
        let lane = self.lanes.get(at).ok_or(SessionError::NotOpen)?;
        Ok(lane.rings.unread_records(&mut self.card)? > 0)
    }

    /// Waits until a lane's log contains an unconsumed record.
    pub(super) fn await_record(&mut self, at: usize, awaited: &'static str) -> Result<(), SessionError> {
        let bound = self.card.patience();
        for _ in 0..bound {
            if self.has_record(at)? {
                return Ok(());
            }
            self.card.wait(None)?;
        }
        Err(WaitError { awaited, bound, quantum: self.card.quantum() }.into())
    }

    /// Checks the last record of a lane, which must be the record of `entry`.
    fn entry_record(
        &self,
        at: usize,
        record: &Record,
        entry: &Descriptor,
        completion: Option<&Completion>,
    ) -> Result<(), SessionError> {
        check::entry_record(record, self.lanes.get(at).ok_or(SessionError::NotOpen)?, entry, completion, self)
    }

    /// Checks that a lane's last record is a session record of type `kind`. Returns the sticky fault in the record.
    pub(super) fn session_record(&self, at: usize, record: &Record, kind: RecordType) -> Result<Fault, SessionError> {
        check::session_record(record, self.lanes.get(at).ok_or(SessionError::NotOpen)?, kind, self)
    }

    /// Waits until something is collected or the card has faulted.
    fn await_progress(&mut self) -> Result<(), SessionError> {
        let progress = self.await_progress_inner();
        self.or_mark_lost(progress)
    }

    fn await_progress_inner(&mut self) -> Result<(), SessionError> {
        let bound = self.card.patience();
        let mut no_progress = false;
        for _ in 0..bound {
            // The first round rings only the doorbells that are due, so that a busy card costs few register writes.
            // After a wait without an answer, every round rings all of them.
            for lane in &mut self.lanes {
                lane.rings.ring_submitted(&mut self.card, no_progress)?;
                lane.rings.ring_consumed(&mut self.card, no_progress)?;
            }
            no_progress = true;
            // A partly written completion already has its phase, so there is no byte to watch, and the wait is short.
            let watch = match next_answer(&self.lanes, &self.card)? {
                Some((lane, NextCompletion::None)) => Some(lane.rings.watch()),
                _ => None,
            };
            self.card.wait(watch.as_ref())?;
            self.collect_all()?;
            if !self.ready.is_empty() {
                return Ok(());
            }
            match LifecycleStatus::read(&mut self.card)?.life {
                Life::Run => {}
                Life::Fault => return self.fault(),
                life => return Err(SessionError::State { life, awaited: "a completion" }),
            }
        }
        if let Some((lane, NextCompletion::Partial)) = next_answer(&self.lanes, &self.card)? {
            let ticket = lane.oldest().unwrap_or_default();
            return Err(LossCause::Completion { ticket, what: "wrong CRC" }.into());
        }
        Err(WaitError { awaited: "a completion", bound, quantum: self.card.quantum() }.into())
    }

    /// Handles a fault of the card: earlier answers stay valid, all other entries are answered with the fault.
    pub(super) fn fault(&mut self) -> Result<(), SessionError> {
        let fault = sticky_fault(&mut self.card)?;
        if fault == Fault::None {
            return Err(SessionError::State { life: Life::Fault, awaited: "its fault code" });
        }
        // The ALARM may be waiting for room in a log.
        self.collect_all()?;
        self.lanes.iter_mut().try_for_each(|lane| lane.rings.ring_consumed(&mut self.card, true))?;
        // Waits for the card's last writes. A dead bus never becomes quiet; earlier answers still count.
        match self.await_signed("the card to be quiet after a fault", |s| !s.busy) {
            Ok(_) | Err(SessionError::Wait(_)) => {}
            Err(error) => return Err(error),
        }
        self.collect_all()?;
        self.collect_checkpoints()?;
        for at in 0..self.lanes.len() {
            while self.has_record(at)? {
                let record = self.consume_record(at)?;
                self.consume_final_record(at, record, fault)?;
            }
        }
        for at in 0..self.lanes.len() {
            while self.lanes.get(at).is_some_and(|lane| !lane.is_idle()) {
                self.answer(at, EntryOutcome::Fault(fault), None);
            }
        }
        self.health = CardHealth::Faulted(fault);
        Ok(())
    }

    /// Checks and stores a record without a completion, after a fault.
    fn consume_final_record(&mut self, at: usize, record: Record, fault: Fault) -> Result<(), SessionError> {
        match RecordType::try_from(record.answer.record_type)? {
            RecordType::Alarm => {
                let cause = self.session_record(at, &record, RecordType::Alarm)?;
                let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
                if cause != fault {
                    return Err(lane.lost(record.answer.log_index.get(), "its cause is not the sticky fault").into());
                }
                lane.alarm = Some(record);
            }
            RecordType::Close => {
                // CLOSE was in progress. A CLOSE record from before the fault has no cause; after the ALARM it has the
                // fault as cause.
                let cause = self.session_record(at, &record, RecordType::Close)?;
                let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
                let expected = if lane.alarm.is_some() { fault } else { Fault::None };
                if cause != expected || lane.closing.replace(record).is_some() {
                    let what = "a CLOSE record that does not fit the fault";
                    return Err(lane.lost(record.answer.log_index.get(), what).into());
                }
            }
            RecordType::Heartbeat => self.accept_heartbeat(at, &record)?,
            _ => {
                // A record without a completion: the log contains it, but the entry is answered with the fault.
                let lane = self.lanes.get(at).ok_or(SessionError::NotOpen)?;
                let what = "a record of an entry that was not submitted";
                let pending = lane.pending.front().ok_or_else(|| lane.lost(record.answer.log_index.get(), what))?;
                let entry = pending.entry;
                self.entry_record(at, &record, &entry, None)?;
                self.answer(at, EntryOutcome::Fault(fault), Some(record));
            }
        }
        Ok(())
    }
}

/// The lane of the oldest entry without an answer, and that lane's next completion, which usually comes first.
fn next_answer<'a, C: CardTransport>(
    lanes: &'a [LaneDriver],
    card: &C,
) -> Result<Option<(&'a LaneDriver, NextCompletion)>, CardError> {
    let busy = lanes.iter().filter(|lane| !lane.is_idle());
    let oldest = busy.min_by_key(|lane| lane.oldest());
    oldest.map(|lane| Ok((lane, lane.rings.next_completion(card)?))).transpose()
}
