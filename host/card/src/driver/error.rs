//! What can go wrong in a session. None of it is ever an admit.

use portcullis_core::wire::{Fault, Life, UnknownValue};
use portcullis_policy::image::Bank;

use crate::error::CardError;

/// An error of the ring driver.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The transport failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// No card there.
    #[error("no Portcullis card: its magic register reads {0:#010x}")]
    NoCard(u32),
    /// A register map of another generation.
    #[error("the card has register map version {found}, this driver knows version {known}")]
    MapVersion {
        /// Major version of the card.
        found: u16,
        /// Major version of this driver.
        known: u16,
    },
    /// A card built from other layouts.
    #[error("the card was built for map digest {found}, this driver for {known}: use the bitstream of this release")]
    MapDigest {
        /// The card's, hexadecimal.
        found: String,
        /// This driver's, hexadecimal.
        known: String,
    },
    /// A number of lanes that this driver does not serve.
    #[error("the card has {0} lanes, this driver serves 1, 2, 4 or 8")]
    Lanes(u8),
    /// A register or a ring entry holds a value that its enumeration does not define.
    #[error("the card answered with something that no layout defines: {0}")]
    Undecodable(#[from] UnknownValue),
    /// An image that is larger than the card's tables.
    #[error("the image has {rows} rows in its {} bank, the card has room for {available}", bank.name())]
    TooManyRows {
        /// Bank.
        bank: Bank,
        /// Rows of the image.
        rows: usize,
        /// Rows of the card.
        available: u16,
    },
    /// A ring size that the card does not take.
    #[error("{ring} ring of 2^{log2} entries; the card takes 2^{min} to 2^{max}")]
    RingSize {
        /// Which ring.
        ring: &'static str,
        /// log2 asked for.
        log2: u8,
        /// Smallest.
        min: u8,
        /// Largest.
        max: u8,
    },
    /// The card's tables do not hold what was written.
    #[error("{window} word {word} reads {found:#010x} after {written:#010x} was written")]
    ReadBack {
        /// `image header`, `policy bank`, `entropy bank`, or the name of a register.
        window: &'static str,
        /// Word in the window.
        word: usize,
        /// What was written.
        written: u32,
        /// What was read.
        found: u32,
    },
    /// The card refused to open a session.
    #[error("the card refused to open: {} ({:#06x})", fault.name(), u16::from(*fault))]
    OpenRefused {
        /// Why.
        fault: Fault,
    },
    /// The card is in a state that this step does not expect.
    #[error("the card is in state {} while {awaited} was awaited", life.name())]
    State {
        /// The state.
        life: Life,
        /// What was awaited.
        awaited: &'static str,
    },
    /// Something did not come in time.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// No randomness for the epoch.
    #[error("the operating system gives no randomness: {0}")]
    Random(getrandom::Error),
    /// The card has a sticky fault; entries in flight were answered with it.
    #[error("the card has a sticky fault: {} ({:#06x})", .0.name(), u16::from(*.0))]
    Faulted(Fault),
    /// The bus of an earlier session may still owe the card something, and write to that session's memory.
    #[error(
        "the card needs a hardware reset: {}its bus may still answer, or write to memory of, an earlier session, which is kept until the \
         card is given up. Opening the card again resets its function; where the function has no reset, reset its slot \
         (`echo 1 > /sys/bus/pci/devices/BDF/reset`) or load its image again",
        cause(*.0)
    )]
    NeedsReset(Fault),
    /// The card refused an entry that this call cannot go on without.
    #[error("the card refused the entry: {} ({:#06x})", .0.name(), u16::from(*.0))]
    Refused(Fault),
    /// The card contradicted itself or us, or cannot be reached any more: nothing it says counts. Or its evidence
    /// cannot be kept.
    #[error("{}{}", .0.whose(), .0)]
    Lost(LossCause),
    /// More entries for a lane than its submission ring has room for.
    #[error("{entries} entries for one lane, but its submission ring has room for {room}")]
    RingFull {
        /// Entries to submit, of the lane's.
        entries: usize,
        /// Free places.
        room: usize,
    },
    /// A lane that the card does not have.
    #[error("this card has no lane {0}")]
    NoLane(u8),
    /// A second GATE for a stream whose first is not answered.
    #[error("slot {0} has a GATE in flight; the next depends on its verdict")]
    InFlight(u16),
    /// The session asks for something that the card does not have.
    #[error("this card has no {0}: use the simulated card or a real one, or do without")]
    Missing(&'static str),
    /// Every stream slot is open.
    #[error("all {0} stream slots are open")]
    NoFreeSlot(u32),
    /// A stream handle of another session, or of a stream that ended.
    #[error("no such stream in this session: slot {0}")]
    NoStream(u16),
    /// The last sequence of a stream: it can only end.
    #[error("stream on slot {0} has used every sequence; end it")]
    StreamSpent(u16),
    /// The session was closed or never came up.
    #[error("the session is not open")]
    NotOpen,
}

/// The fault that led there, where there is one.
fn cause(fault: Fault) -> String {
    match fault {
        Fault::None | Fault::NeedsReset => String::new(),
        fault => format!("after {} ({:#06x}) ", fault.name(), u16::from(fault)),
    }
}

impl SessionError {
    /// The fault that an entry is refused with whose answer this error took away: the card's own, else that it was not
    /// heard from.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Faulted(fault) | Self::Refused(fault) | Self::OpenRefused { fault } => *fault,
            Self::NeedsReset(_) => Fault::NeedsReset,
            _ => Fault::Watchdog,
        }
    }
}

/// A bounded wait that ended without what it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("waited {bound} times {quantum} for {awaited}, in vain")]
pub struct WaitError {
    /// What was awaited.
    pub awaited: &'static str,
    /// Quanta waited.
    pub bound: u32,
    /// What a quantum is.
    pub quantum: &'static str,
}

/// Why nothing that the card says counts any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LossCause {
    /// A completion that does not fit.
    #[error("completion of submission {ticket}: {what}")]
    Completion {
        /// Submission.
        ticket: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A record that does not fit.
    #[error("record {index} of lane {lane}: {what}")]
    Record {
        /// Lane.
        lane: u8,
        /// Log index that was expected.
        index: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The transport or a wait failed in the middle of work.
    #[error("{0}")]
    Broken(String),
    /// A checkpoint that does not fit.
    #[error("checkpoint {serial}: {what}")]
    Checkpoint {
        /// Serial that was expected.
        serial: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A record or a checkpoint could not be kept; without its record nothing is released.
    #[error("{what} {index} could not be kept: {why}")]
    Sink {
        /// `record` or `checkpoint`.
        what: &'static str,
        /// Log index, or serial.
        index: u64,
        /// What the sink said.
        why: String,
    },
}

impl LossCause {
    /// What the message begins with. A record or checkpoint that could not be kept is not the card's failure.
    const fn whose(&self) -> &'static str {
        match self {
            Self::Sink { .. } => "the session ended, because its evidence must be kept: ",
            _ => "the card is lost: ",
        }
    }
}

impl From<LossCause> for SessionError {
    fn from(lost: LossCause) -> Self {
        Self::Lost(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::{LossCause, SessionError};

    /// A witness that answers 404, or a full disk, is not a reason to look for a fault of the card.
    #[test]
    fn evidence_that_cannot_be_kept_is_not_a_lost_card() {
        let why = "the witness answers 404: nothing here".to_owned();
        let kept = SessionError::Lost(LossCause::Sink { what: "checkpoint", index: 1, why }).to_string();
        assert!(kept.contains("checkpoint 1 could not be kept: the witness answers 404"), "{kept}");
        assert!(!kept.contains("lost"), "{kept}");
        let broken = SessionError::Lost(LossCause::Broken("no answer".to_owned())).to_string();
        assert_eq!(broken, "the card is lost: no answer");
    }
}
