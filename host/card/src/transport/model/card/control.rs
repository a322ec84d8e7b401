//! Commands, doorbells and faults, and their effects.

use std::sync::Arc;

use portcullis_core::wire::{self, Command, Fault, ImageText, RecordType};
use portcullis_image::ImageEvaluator;

use super::ModelCard;
use crate::tables::{CardTables, TextTables};
use crate::transport::model::capacity::TEXT_BLOCKS;
use crate::transport::model::credit::HeartbeatCredit;
use crate::transport::model::decode::{Queue, Register};
use crate::transport::model::lane::{LaneModel, RingRegisters, SessionLatch};
use crate::transport::model::lifecycle::Lifecycle;
use crate::transport::model::text::TextLaneModel;

impl ModelCard {
    pub(super) fn status(&self) -> u32 {
        let life = &self.lifecycle;
        let busy = match life.state {
            wire::Life::Opening | wire::Life::Closing => true,
            wire::Life::Fault => self.lanes.iter().any(|lane| lane.alarm_due || lane.close_due),
            wire::Life::Run => !self.lanes.iter().all(LaneModel::is_idle),
            wire::Life::Reset | wire::Life::Load => false,
        };
        u32::from(u8::from(life.state))
            | u32::from(!life.tables_writable()) << 4
            | u32::from(busy) << 5
            | u32::from(life.needs_reset) << 6
    }

    pub(super) fn command(&mut self, code: u8) {
        use wire::Life::{Closing, Fault as Faulted, Load, Reset, Run};
        if self.lifecycle.resetting {
            return;
        }
        match (self.lifecycle.state, Command::try_from(code)) {
            (_, Ok(Command::Reset)) => {
                self.lanes.iter_mut().for_each(LaneModel::end);
                if self.lifecycle.needs_reset {
                    (self.lifecycle.state, self.lifecycle.resetting) = (Closing, true);
                } else {
                    self.lifecycle = Lifecycle::default();
                }
            }
            (Reset | Load, Ok(Command::Load)) => self.enter_load(),
            (Load, Ok(Command::Open)) => self.open(),
            (Run, Ok(Command::Close)) => self.lifecycle.state = Closing,
            (Faulted, Ok(Command::Close)) => {
                self.lanes.iter_mut().for_each(|lane| lane.close_due = lane.log_open && !self.lifecycle.bus_dead);
            }
            (Faulted, _) => {}
            _ => self.fail(Fault::Command, false),
        }
    }

    fn enter_load(&mut self) {
        self.tables.clear();
        self.lifecycle.state = wire::Life::Load;
    }

    fn open(&mut self) {
        self.lifecycle.load_fault = Fault::None;
        let refusal = if !self.tables.header_fits() {
            Fault::ImageHeader
        } else if let Some(rows) = self.tables.complete() {
            let header = self.tables.header();
            let part = self.tables.text();
            let text = part.as_ref().map(|part| TextTables { part, encoded: &[] });
            let found = CardTables { header: &header, text, policy: &rows.0, entropy: &rows.1 }.digest();
            if self.value(Register::CheckpointSize) != 0 {
                Fault::Unsupported
            } else if found != self.digest(Register::ExpectedDigest) {
                Fault::ImageDigest
            } else {
                match part.map(|part| self.text_lane(&part).map(Arc::new)).transpose() {
                    Ok(text) if self.open_lanes(&rows, found, text.clone()) => Fault::None,
                    Ok(_) => Fault::RingConfig,
                    Err(Some(fault)) => fault,
                    Err(None) => return self.fail(Fault::ReadResponse, true),
                }
            }
        } else {
            Fault::ImageIncomplete
        };
        if refusal != Fault::None {
            self.lifecycle.load_fault = refusal;
            self.enter_load();
            return;
        }
        self.lifecycle.state = wire::Life::Opening;
        match self.write_opens() {
            Ok(()) => self.lifecycle.state = wire::Life::Run,
            Err(fault) => self.fail(fault, true),
        }
    }

    fn write_opens(&mut self) -> Result<(), Fault> {
        for lane in &mut self.lanes {
            lane.write_session_record(&mut self.bus, &self.opened, RecordType::Open, Fault::None)?;
            lane.log_open = true;
        }
        Ok(())
    }

    pub(super) fn present_heartbeat(&mut self) {
        if self.lifecycle.state == wire::Life::Run {
            self.lanes.iter_mut().for_each(|lane| lane.heartbeat_due = true);
        }
    }

    pub(super) fn doorbell(&mut self, lane: u8, queue: Queue, value: u32) {
        let live = match self.lifecycle.state {
            _ if self.lifecycle.resetting => false,
            wire::Life::Run | wire::Life::Closing => true,
            wire::Life::Fault => queue != Queue::SqTail && self.lanes.iter().any(|lane| lane.log_open),
            wire::Life::Reset | wire::Life::Load | wire::Life::Opening => false,
        };
        let rung = |lane: &mut LaneModel| lane.doorbell(queue, value);
        if live && !self.lanes.get_mut(usize::from(lane)).is_some_and(rung) {
            self.fail(Fault::Doorbell, false);
        }
    }

    /// Enters FAULT; the first sticky fault stays. With a dead bus the card does not write any more.
    pub(super) fn fail(&mut self, fault: Fault, bus_dead: bool) {
        self.lifecycle.bus_dead |= bus_dead;
        self.lifecycle.needs_reset |= fault == Fault::Watchdog;
        let first = self.lifecycle.state != wire::Life::Fault;
        if first {
            self.lifecycle.fault = fault;
            self.lifecycle.state = wire::Life::Fault;
        }
        for lane in &mut self.lanes {
            lane.drop_fetched();
            if first {
                (lane.alarm_due, lane.close_due) = (lane.log_open, false);
            }
            if self.lifecycle.bus_dead {
                (lane.alarm_due, lane.close_due) = (false, false);
            }
        }
    }

    /// Performs every step that is possible now.
    pub(super) fn advance(&mut self) {
        if let Err(fault) = self.try_advance() {
            self.fail(fault, true);
        }
    }

    fn try_advance(&mut self) -> Result<(), Fault> {
        let nonce = self.pair(Register::HeartbeatNonceLo, Register::HeartbeatNonceHi);
        let (bus, opened) = (&mut self.bus, &self.opened);
        match self.lifecycle.state {
            _ if self.lifecycle.resetting => Ok(()),
            wire::Life::Run => self.lanes.iter_mut().try_for_each(|lane| lane.run(bus, opened, nonce)),
            wire::Life::Closing => {
                self.lanes.iter_mut().try_for_each(|lane| lane.answer_fetched(bus, opened))?;
                if self.lanes.iter().all(LaneModel::is_idle) {
                    for lane in self.lanes.iter_mut().filter(|lane| lane.log_open && !lane.log_full()) {
                        lane.write_session_record(bus, opened, RecordType::Close, Fault::None)?;
                        lane.log_open = false;
                    }
                }
                if !self.lanes.iter().any(|lane| lane.log_open) {
                    self.enter_load();
                }
                Ok(())
            }
            wire::Life::Fault => {
                for lane in self.lanes.iter_mut().filter(|lane| lane.alarm_due && !lane.log_full()) {
                    lane.write_session_record(bus, opened, RecordType::Alarm, self.lifecycle.fault)?;
                    lane.alarm_due = false;
                }
                let alarmed = !self.lanes.iter().any(|lane| lane.alarm_due);
                for lane in self.lanes.iter_mut().filter(|lane| lane.close_due && alarmed && !lane.log_full()) {
                    lane.write_session_record(bus, opened, RecordType::Close, self.lifecycle.fault)?;
                    (lane.close_due, lane.log_open) = (false, false);
                }
                Ok(())
            }
            wire::Life::Reset | wire::Life::Load | wire::Life::Opening => Ok(()),
        }
    }

    /// Latches the session and zeroes all counters that start at OPEN. False if a lane's ring configuration is invalid.
    pub(super) fn open_lanes(
        &mut self,
        rows: &(Vec<wire::Row>, Vec<wire::Row>),
        policy_digest: [u8; 32],
        text: Option<Arc<TextLaneModel>>,
    ) -> bool {
        let header = self.tables.header();
        self.opened = SessionLatch {
            header,
            epoch: self.value(Register::Epoch),
            policy_digest,
            ticket_digest: self.digest(Register::TicketDigest),
            lanes: self.lanes.len() as u8,
        };
        let (records, ticks) = (self.value(Register::HeartbeatRecords), self.value(Register::HeartbeatTicks));
        let open = |number: u8| {
            let evaluator = ImageEvaluator::of_rows(&rows.0, &rows.1, header.max_depth);
            let credit = HeartbeatCredit::new(records, ticks, self.bus.tick);
            LaneModel::open(number, self.rings(number), evaluator, credit, text.clone())
        };
        self.lanes = (0..).zip(&self.lanes).map(|(number, _)| open(number)).collect();
        self.lanes.iter().all(|lane| lane.rings.fit())
    }

    /// Loads the text lane with the addresses in the registers. Errors: as [`TextLaneModel::load`].
    fn text_lane(&self, part: &ImageText) -> Result<TextLaneModel, Option<Fault>> {
        let address = self.pair(Register::TextTablesLo, Register::TextTablesHi);
        let block = |number: u8| self.pair(Register::TextBlock(2 * number), Register::TextBlock(2 * number + 1));
        let blocks = (0..TEXT_BLOCKS).map(block).collect();
        let stride_log2 = (self.value(Register::TextStride) & 0xff) as u8;
        TextLaneModel::load(&self.bus.memory, part, address, stride_log2, blocks)
    }

    /// A lane's ring configuration from the registers.
    fn rings(&self, lane: u8) -> RingRegisters {
        let at = |queue| Register::Lane(lane, queue);
        RingRegisters {
            submissions: self.pair(at(Queue::SqLo), at(Queue::SqHi)),
            completions: self.pair(at(Queue::CqLo), at(Queue::CqHi)),
            log: self.pair(at(Queue::LogLo), at(Queue::LogHi)),
            ring_log2: (self.value(at(Queue::SqSize)) & 0xff) as u8,
            log_log2: (self.value(at(Queue::LogSize)) & 0xff) as u8,
        }
    }
}
