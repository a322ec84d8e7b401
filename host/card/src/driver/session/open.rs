//! Opens a session: the steps from an unknown state of the card to RUN.

use std::collections::VecDeque;

use portcullis_core::wire::{Command, Fault, Life, RecordType};
use portcullis_image::TableImage;

use super::{CardHealth, CardSession};
use crate::card::CardTransport;
use crate::driver::checkpoint_ring::CheckpointRing;
use crate::driver::command::{SIGNING, command, tracks_its_bus};
use crate::driver::config::{HeartbeatLimits, SessionConfig};
use crate::driver::error::{LossCause, SessionError, WaitError};
use crate::driver::info::{CardInfo, LifecycleStatus, sticky_fault};
use crate::driver::lane::LaneDriver;
use crate::driver::load::load_only;
use crate::driver::stream_table::StreamTable;
use crate::driver::text::TextWindows;
use crate::limits::{CHECKPOINT_LOG2_MAX, LOG_LOG2_MIN, RING_LOG2_MIN};
use crate::registers::{self, words_of};
use crate::tables::CardTables;

fn check_rings(info: &CardInfo, config: &SessionConfig) -> Result<(), SessionError> {
    let check = |ring, log2, min, max| {
        if log2 < min || log2 > max { Err(SessionError::RingSize { ring, log2, min, max }) } else { Ok(()) }
    };
    check("submission", config.ring_log2, RING_LOG2_MIN, info.ring_log2)?;
    check("log", config.log_log2, LOG_LOG2_MIN, info.log_log2)?;
    if let Some(checkpoints) = config.checkpoints {
        if !info.signer {
            return Err(SessionError::Missing("signer"));
        }
        check("checkpoint", checkpoints.ring_log2, 1, CHECKPOINT_LOG2_MAX)?;
    }
    if config.heartbeat != HeartbeatLimits::default() && !info.heartbeat {
        return Err(SessionError::Missing("heartbeats"));
    }
    Ok(())
}

fn random_epoch() -> Result<u32, SessionError> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(SessionError::Random)?;
    Ok(u32::from_le_bytes(bytes))
}

impl<C: CardTransport> CardSession<C> {
    /// Opens a session on `card` with `image`: identity, reset, tables with read-back, rings, epoch, OPEN. Errors: any
    /// deviation from the expected behaviour. The card is then left in RESET if it still answers.
    pub fn open(card: C, image: &TableImage, config: SessionConfig) -> Result<Self, SessionError> {
        Self::open_tables(card, &CardTables::from(image), config)
    }

    /// As [`CardSession::open`], with tables that need not form a valid image; the card checks them itself. Errors: as
    /// [`CardSession::open`].
    pub fn open_tables(mut card: C, tables: &CardTables<'_>, config: SessionConfig) -> Result<Self, SessionError> {
        let info = load_only(&mut card, tables)?;
        check_rings(&info, &config)?;
        let epoch = config.epoch.map_or_else(random_epoch, Ok)?;
        // The card is in LOAD, so no transfer is in flight, and newly allocated memory is still zero at OPEN.
        let lanes = (0..info.lanes).map(|lane| LaneDriver::allocate(&mut card, lane, &config));
        let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        let checkpoints = config.checkpoints.map(|c| CheckpointRing::allocate(&mut card, c)).transpose()?;
        let text = tables.text.as_ref();
        let texts =
            text.map(|text| TextWindows::allocate(&mut card, &info, text, config.text_stride_log2)).transpose()?;
        // From here on the session owns the rings: an early return resets the card before it frees them.
        let mut session = Self {
            card,
            epoch,
            ticket_digest: config.ticket_digest,
            rows: (tables.header.policy_rows.get(), tables.header.entropy_rows.get()),
            policy_digest: if info.digest { tables.digest() } else { [0; 32] },
            package_digest: tables.header.package_digest,
            heartbeat: config.heartbeat,
            presented: None,
            tick: 0,
            witnessed: false,
            checkpoint_requested: false,
            settling: None,
            checkpoints,
            texts,
            lanes,
            submitted: 0,
            ready: VecDeque::new(),
            abandoned: Vec::new(),
            streams: StreamTable::new(info.max_streams, info.lanes),
            sink: config.sink,
            health: CardHealth::Good,
            info,
        };
        session.run()?;
        Ok(session)
    }

    /// Configures the rings, commands OPEN, waits for RUN, checks every lane's OPEN record.
    fn run(&mut self) -> Result<(), SessionError> {
        self.lanes.iter().try_for_each(|lane| lane.rings.configure(&mut self.card))?;
        let (epoch, limits, ticket) = (self.epoch, self.heartbeat, self.ticket_digest);
        registers::with(&mut self.card, |r| {
            r.epoch().try_write(|w| w.set_v(epoch))?;
            for (register, word) in r.ticket_digest().iter().zip(words_of::<32, 8>(ticket)) {
                register.try_write(|w| w.set_v(word))?;
            }
            r.heartbeat_records().try_write(|w| w.set_v(limits.records))?;
            r.heartbeat_ticks().try_write(|w| w.set_v(limits.ticks))?;
            r.checkpoint_size().try_write(|w| w.set_log2(0))
        })?;
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.configure(&mut self.card)?;
        }
        if let Some(texts) = &self.texts {
            texts.configure(&mut self.card)?;
        }
        command(&mut self.card, Command::Open)?;
        // The card may have to make its key first, which takes as long as signing.
        let status = self.await_for(SIGNING, "state RUN after OPEN", |s| s.life != Life::Opening)?;
        match status.life {
            Life::Run => {}
            Life::Load => {
                let code = registers::with(&mut self.card, |r| r.load_fault().try_read())?.code();
                let fault = Fault::try_from(code)?;
                tracks_its_bus(&mut self.card)?;
                return Err(SessionError::OpenRefused { fault });
            }
            Life::Fault => return Err(SessionError::Faulted(sticky_fault(&mut self.card)?)),
            life => return Err(SessionError::State { life, awaited: "state RUN" }),
        }
        for at in 0..self.lanes.len() {
            self.await_record(at, "the OPEN record")?;
            let record = self.consume_record(at)?;
            let lane = self.lanes.get_mut(at).ok_or(SessionError::NotOpen)?;
            lane.heartbeat.tick = record.answer.tick.get();
            lane.opening = Some(record);
            self.session_record(at, &record, RecordType::Open)?;
        }
        self.collect_checkpoints()?;
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.consumed == 0) {
            return Err(LossCause::Checkpoint { serial: 0, what: "the card runs without it" }.into());
        }
        self.present_next()
    }

    /// Waits for a status, with time for hashing the tables of all lanes, one after another, and for a signature.
    /// Collects checkpoints meanwhile, so that their ring has room.
    pub(super) fn await_signed(
        &mut self,
        awaited: &'static str,
        done: impl FnMut(LifecycleStatus) -> bool,
    ) -> Result<LifecycleStatus, SessionError> {
        self.await_for(if self.checkpoints.is_some() { SIGNING } else { self.info.lanes.into() }, awaited, done)
    }

    fn await_for(
        &mut self,
        times: u32,
        awaited: &'static str,
        mut done: impl FnMut(LifecycleStatus) -> bool,
    ) -> Result<LifecycleStatus, SessionError> {
        let bound = self.card.patience().saturating_mul(times);
        for _ in 0..bound {
            let status = LifecycleStatus::read(&mut self.card)?;
            if done(status) {
                return Ok(status);
            }
            self.card.wait(None)?;
            self.collect_checkpoints()?;
        }
        Err(WaitError { awaited, bound, quantum: self.card.quantum() }.into())
    }

    /// Frees the memory. The card must be quiet: its bus has no outstanding transfers.
    pub(super) fn release(&mut self, lanes: Vec<LaneDriver>) -> Result<(), SessionError> {
        lanes.into_iter().try_for_each(|lane| lane.rings.release(&mut self.card))?;
        self.checkpoints.take().map_or(Ok(()), |checkpoints| self.card.release(checkpoints.ring))?;
        self.texts.take().map_or(Ok(()), |texts| texts.release(&mut self.card))
    }
}
