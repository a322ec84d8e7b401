//! RESET, LOAD, OPENING, RUN, CLOSING, FAULT; the same rules as `rtl/csr/lifecycle.sv`.

use portcullis_core::wire::{self, Command, Fault, RecordType};

use super::ModelCard;
use super::decode::{Queue, Register};
use super::lane::Lane;

#[derive(Debug)]
pub(super) struct Life {
    state: wire::Life,
    pub(super) fault: Fault,
    pub(super) load_fault: Fault,
    /// The bus does not answer any more.
    bus_dead: bool,
    /// The bus may still owe something: only the hardware reset helps.
    needs_reset: bool,
    /// RESET was commanded and cannot end.
    resetting: bool,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            state: wire::Life::Reset,
            fault: Fault::None,
            load_fault: Fault::None,
            bus_dead: false,
            needs_reset: false,
            resetting: false,
        }
    }
}

impl Life {
    pub(super) fn configurable(&self) -> bool {
        matches!(self.state, wire::Life::Reset | wire::Life::Load)
    }

    pub(super) fn tables_writable(&self) -> bool {
        self.state == wire::Life::Load
    }
}

impl ModelCard {
    pub(super) fn status(&self) -> u32 {
        let life = &self.life;
        let busy = match life.state {
            wire::Life::Opening | wire::Life::Closing => true,
            wire::Life::Fault => self.lanes.iter().any(|lane| lane.alarm_due || lane.close_due),
            wire::Life::Run => !self.lanes.iter().all(Lane::idle),
            wire::Life::Reset | wire::Life::Load => false,
        };
        u32::from(u8::from(life.state))
            | u32::from(!life.tables_writable()) << 4
            | u32::from(busy) << 5
            | u32::from(life.needs_reset) << 6
    }

    pub(super) fn command(&mut self, code: u8) {
        use wire::Life::{Closing, Fault as Faulted, Load, Reset, Run};
        if self.life.resetting {
            return;
        }
        match (self.life.state, Command::try_from(code)) {
            (_, Ok(Command::Reset)) => {
                self.lanes.iter_mut().for_each(Lane::end);
                if self.life.needs_reset {
                    (self.life.state, self.life.resetting) = (Closing, true);
                } else {
                    self.life = Life::default();
                }
            }
            (Reset | Load, Ok(Command::Load)) => self.enter_load(),
            (Load, Ok(Command::Open)) => self.open(),
            (Run, Ok(Command::Close)) => self.life.state = Closing,
            (Faulted, Ok(Command::Close)) => {
                self.lanes.iter_mut().for_each(|lane| lane.close_due = lane.log_open && !self.life.bus_dead);
            }
            (Faulted, _) => {}
            _ => self.fail(Fault::Command, false),
        }
    }

    fn enter_load(&mut self) {
        self.tables.clear();
        self.life.state = wire::Life::Load;
    }

    fn open(&mut self) {
        self.life.load_fault = Fault::None;
        let refusal = if !self.tables.header_fits() {
            Fault::ImageHeader
        } else if let Some(rows) = self.tables.complete() {
            let header = self.tables.header();
            let found = crate::Tables { header: &header, policy: &rows.0, entropy: &rows.1 }.digest();
            if self.value(Register::CheckpointSize) != 0 {
                Fault::Unsupported
            } else if found != self.digest(Register::ExpectedDigest) {
                Fault::ImageDigest
            } else if !self.open_lanes(&rows, found) {
                Fault::RingConfig
            } else {
                Fault::None
            }
        } else {
            Fault::ImageIncomplete
        };
        if refusal != Fault::None {
            self.life.load_fault = refusal;
            self.enter_load();
            return;
        }
        self.life.state = wire::Life::Opening;
        match self.write_opens() {
            Ok(()) => self.life.state = wire::Life::Run,
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

    /// A heartbeat is presented.
    pub(super) fn beat(&mut self) {
        if self.life.state == wire::Life::Run {
            self.lanes.iter_mut().for_each(|lane| lane.beat_due = true);
        }
    }

    pub(super) fn doorbell(&mut self, lane: u8, queue: Queue, value: u32) {
        let live = match self.life.state {
            _ if self.life.resetting => false,
            wire::Life::Run | wire::Life::Closing => true,
            wire::Life::Fault => queue != Queue::SqTail && self.lanes.iter().any(|lane| lane.log_open),
            wire::Life::Reset | wire::Life::Load | wire::Life::Opening => false,
        };
        let rung = |lane: &mut Lane| lane.doorbell(queue, value);
        if live && !self.lanes.get_mut(usize::from(lane)).is_some_and(rung) {
            self.fail(Fault::Doorbell, false);
        }
    }

    /// A sticky fault: the first stays. With a dead bus nothing is written any more.
    pub(super) fn fail(&mut self, fault: Fault, bus_dead: bool) {
        self.life.bus_dead |= bus_dead;
        self.life.needs_reset |= fault == Fault::Watchdog;
        let first = self.life.state != wire::Life::Fault;
        if first {
            self.life.fault = fault;
            self.life.state = wire::Life::Fault;
        }
        for lane in &mut self.lanes {
            lane.drop_fetched();
            if first {
                (lane.alarm_due, lane.close_due) = (lane.log_open, false);
            }
            if self.life.bus_dead {
                (lane.alarm_due, lane.close_due) = (false, false);
            }
        }
    }

    /// Everything that can happen now.
    pub(super) fn work(&mut self) {
        if let Err(fault) = self.try_work() {
            self.fail(fault, true);
        }
    }

    fn try_work(&mut self) -> Result<(), Fault> {
        let nonce = self.pair(Register::HeartbeatNonceLo, Register::HeartbeatNonceHi);
        let (bus, opened) = (&mut self.bus, &self.opened);
        match self.life.state {
            _ if self.life.resetting => Ok(()),
            wire::Life::Run => self.lanes.iter_mut().try_for_each(|lane| lane.run(bus, opened, nonce)),
            wire::Life::Closing => {
                self.lanes.iter_mut().try_for_each(|lane| lane.answer_fetched(bus, opened))?;
                if self.lanes.iter().all(Lane::idle) {
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
                    lane.write_session_record(bus, opened, RecordType::Alarm, self.life.fault)?;
                    lane.alarm_due = false;
                }
                let alarmed = !self.lanes.iter().any(|lane| lane.alarm_due);
                for lane in self.lanes.iter_mut().filter(|lane| lane.close_due && alarmed && !lane.log_full()) {
                    lane.write_session_record(bus, opened, RecordType::Close, self.life.fault)?;
                    (lane.close_due, lane.log_open) = (false, false);
                }
                Ok(())
            }
            wire::Life::Reset | wire::Life::Load | wire::Life::Opening => Ok(()),
        }
    }
}
