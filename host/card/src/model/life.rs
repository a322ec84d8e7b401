//! RESET, LOAD, OPENING, RUN, CLOSING, FAULT; the same rules as `rtl/csr/life.sv`.

use portcullis_core::wire::{self, Command, Fault, RecordType};

use super::ModelCard;
use super::decode::Register;

#[derive(Debug)]
pub(super) struct Life {
    state: wire::Life,
    pub(super) fault: Fault,
    pub(super) load_fault: Fault,
    /// Between the OPEN record and the CLOSE record.
    log_open: bool,
    /// Records that FAULT still has to write.
    alarm_due: bool,
    close_due: bool,
    /// A heartbeat waits for room in the log.
    beat_due: bool,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            state: wire::Life::Reset,
            fault: Fault::None,
            load_fault: Fault::None,
            log_open: false,
            alarm_due: false,
            close_due: false,
            beat_due: false,
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
            wire::Life::Fault => life.alarm_due || life.close_due,
            wire::Life::Run => !self.lane.idle(),
            wire::Life::Reset | wire::Life::Load => false,
        };
        u32::from(u8::from(life.state)) | u32::from(!life.tables_writable()) << 4 | u32::from(busy) << 5
    }

    pub(super) fn command(&mut self, code: u8) {
        use wire::Life::{Closing, Fault as Faulted, Load, Reset, Run};
        match (self.life.state, Command::try_from(code)) {
            (_, Ok(Command::Reset)) => {
                self.lane.drop_fetched();
                self.life = Life::default();
            }
            (Reset | Load, Ok(Command::Load)) => self.enter_load(),
            (Load, Ok(Command::Open)) => self.open(),
            (Run, Ok(Command::Close)) => self.life.state = Closing,
            (Faulted, Ok(Command::Close)) => {
                self.life.close_due = self.life.log_open && !self.lane.bus_dead;
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
            } else if !self.open_lane(&rows, found) {
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
        match self.write_session_record(RecordType::Open, Fault::None) {
            Ok(()) => {
                self.life.log_open = true;
                self.life.state = wire::Life::Run;
            }
            Err(fault) => self.fail(fault, true),
        }
    }

    /// A heartbeat is presented.
    pub(super) fn beat(&mut self) {
        if self.life.state == wire::Life::Run {
            self.life.beat_due = true;
        }
    }

    pub(super) fn doorbell(&mut self, register: Register, value: u32) {
        let live = match self.life.state {
            wire::Life::Run | wire::Life::Closing => true,
            wire::Life::Fault => register != Register::SqTail && self.life.log_open,
            wire::Life::Reset | wire::Life::Load | wire::Life::Opening => false,
        };
        if live && !self.ring_doorbell(register, value) {
            self.fail(Fault::Doorbell, false);
        }
    }

    /// A sticky fault: the first stays. With a dead bus nothing is written any more.
    pub(super) fn fail(&mut self, fault: Fault, bus_dead: bool) {
        self.lane.bus_dead |= bus_dead;
        self.lane.drop_fetched();
        if self.life.state != wire::Life::Fault {
            self.life.fault = fault;
            self.life.state = wire::Life::Fault;
            self.life.alarm_due = self.life.log_open;
            self.life.close_due = false;
        }
        if self.lane.bus_dead {
            self.life.alarm_due = false;
            self.life.close_due = false;
        }
    }

    /// Everything that can happen now.
    pub(super) fn work(&mut self) {
        if let Err(fault) = self.try_work() {
            self.fail(fault, true);
        }
    }

    fn try_work(&mut self) -> Result<(), Fault> {
        match self.life.state {
            wire::Life::Run => loop {
                if self.life.beat_due && self.lane.idle() && !self.lane.log_full() {
                    self.life.beat_due = false;
                    let nonce = self.address(Register::HeartbeatNonceLo, Register::HeartbeatNonceHi);
                    self.lane.credit.beat(nonce, self.tick);
                    self.write_session_record(RecordType::Heartbeat, Fault::None)?;
                }
                self.fetch()?;
                self.answer_fetched()?;
                // Full rings, or nothing left.
                if !self.lane.idle() || self.lane.nothing_to_fetch() {
                    return Ok(());
                }
            },
            wire::Life::Closing => {
                self.answer_fetched()?;
                if self.lane.idle() && !self.lane.log_full() {
                    self.write_session_record(RecordType::Close, Fault::None)?;
                    self.life.log_open = false;
                    self.enter_load();
                }
                Ok(())
            }
            wire::Life::Fault => {
                if self.life.alarm_due && !self.lane.log_full() {
                    self.write_session_record(RecordType::Alarm, self.life.fault)?;
                    self.life.alarm_due = false;
                }
                if self.life.close_due && !self.life.alarm_due && !self.lane.log_full() {
                    self.write_session_record(RecordType::Close, self.life.fault)?;
                    self.life.close_due = false;
                    self.life.log_open = false;
                }
                Ok(())
            }
            wire::Life::Reset | wire::Life::Load | wire::Life::Opening => Ok(()),
        }
    }
}
