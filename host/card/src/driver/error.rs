//! Errors of a session. No error counts as an admit.

use portcullis_core::wire::{Fault, Life, UnknownValue};
use portcullis_image::BankKind;

use crate::error::CardError;

/// An error of the ring driver.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Card(#[from] CardError),
    #[error("no Portcullis card: its magic register reads {0:#010x}")]
    NoCard(u32),
    #[error("the card has register map version {found}, this driver knows version {known}")]
    MapVersion { found: u16, known: u16 },
    #[error("the card was built for map digest {found}, this driver for {known}: use the bitstream of this release")]
    MapDigest {
        /// The card's digest, hexadecimal.
        found: String,
        /// This driver's digest, hexadecimal.
        known: String,
    },
    #[error("the card has {0} lanes, this driver serves 1, 2, 4 or 8")]
    Lanes(u8),
    /// A register or a ring entry holds a value that its enumeration does not define.
    #[error("the card answered with something that no layout defines: {0}")]
    Undecodable(#[from] UnknownValue),
    #[error("the image has {rows} rows in its {} bank, the card has room for {available}", bank.name())]
    TooManyRows { bank: BankKind, rows: usize, available: u16 },
    #[error("{ring} ring of 2^{log2} entries; the card takes 2^{min} to 2^{max}")]
    RingSize {
        ring: &'static str,
        /// The requested log2.
        log2: u8,
        min: u8,
        max: u8,
    },
    #[error("{window} word {word} reads {found:#010x} after {written:#010x} was written")]
    ReadBack {
        /// `image header`, `policy bank`, `entropy bank`, or the name of a register.
        window: &'static str,
        word: usize,
        written: u32,
        found: u32,
    },
    #[error("the card refused to open: {} ({:#06x})", fault.name(), u16::from(*fault))]
    OpenRefused { fault: Fault },
    #[error("the card is in state {} while {awaited} was awaited", life.name())]
    State { life: Life, awaited: &'static str },
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error("the operating system gives no randomness: {0}")]
    Random(getrandom::Error),
    /// The card has a sticky fault; the entries in flight got this fault as their answer.
    #[error("the card has a sticky fault: {} ({:#06x})", .0.name(), u16::from(*.0))]
    Faulted(Fault),
    /// The bus may still have transfers of an earlier session outstanding, and may write to that session's memory.
    #[error(
        "the card needs a hardware reset: {}its bus may still answer, or write to memory of, an earlier session, which is kept until the \
         card is given up. Opening the card again resets its function; where the function has no reset, reset its slot \
         (`echo 1 > /sys/bus/pci/devices/BDF/reset`) or load its image again",
        cause(*.0)
    )]
    NeedsReset(Fault),
    /// The hardware reset came while the bus owed answers, and it still owes them.
    #[error(
        "the bus still owes the card answers from before its last hardware reset, and may still write to the memory of that session;          do not use that memory again. The card opens a session when the bus has answered; if it does not answer, clear the card and          load its image again"
    )]
    Stale,
    #[error("the card refused the entry: {} ({:#06x})", .0.name(), u16::from(*.0))]
    Refused(Fault),
    /// The card contradicted itself or the driver, or cannot be reached, so its reports are no longer trusted; or its
    /// evidence cannot be stored.
    #[error("{}{}", .0.whose(), .0)]
    Lost(LossCause),
    #[error("{entries} entries for one lane, but its submission ring has room for {room}")]
    RingFull { entries: usize, room: usize },
    #[error("this card has no lane {0}")]
    NoLane(u8),
    #[error("slot {0} has a GATE in flight; the next depends on its verdict")]
    InFlight(u16),
    #[error("a text of {bytes} bytes does not fit its text window, which has room for {room}; set a larger window")]
    TextTooLong { bytes: usize, room: usize },
    #[error("the image needs the tables of its text part, but they are not attached")]
    NoTextTables,
    #[error("{slots} text windows of 2^{stride_log2} bytes do not fit the card's {blocks} blocks of 2 MiB")]
    TextWindows { slots: u32, stride_log2: u8, blocks: u8 },
    #[error("this card has no {0}: use the simulated card or a real one, or do without")]
    Missing(&'static str),
    #[error("all {0} stream slots are open")]
    NoFreeSlot(u32),
    #[error("no such stream in this session: slot {0}")]
    NoStream(u16),
    #[error("stream on slot {0} has used every sequence; end it")]
    StreamSpent(u16),
    #[error("the session is not open")]
    NotOpen,
}

/// The fault behind [`SessionError::NeedsReset`], as a part of its message; empty if there is none.
fn cause(fault: Fault) -> String {
    match fault {
        Fault::None | Fault::NeedsReset => String::new(),
        fault => format!("after {} ({:#06x}) ", fault.name(), u16::from(fault)),
    }
}

impl SessionError {
    /// The fault to report for an entry whose answer this error prevented: the card's own fault if there is one,
    /// otherwise the watchdog fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Faulted(fault) | Self::Refused(fault) | Self::OpenRefused { fault } => *fault,
            Self::NeedsReset(_) => Fault::NeedsReset,
            _ => Fault::Watchdog,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("waited {bound} times {quantum} for {awaited}, in vain")]
pub struct WaitError {
    pub awaited: &'static str,
    /// Number of quanta after which the wait ended.
    pub bound: u32,
    pub quantum: &'static str,
}

/// Why the card is no longer trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LossCause {
    #[error("completion of submission {ticket}: {what}")]
    Completion { ticket: u64, what: &'static str },
    #[error("record {index} of lane {lane}: {what}")]
    Record { lane: u8, index: u64, what: &'static str },
    #[error("{0}")]
    Broken(String),
    #[error("checkpoint {serial}: {what}")]
    Checkpoint { serial: u64, what: &'static str },
    /// A record or a checkpoint could not be kept. Without its record, text is not released.
    #[error("{what} {index} could not be kept: {why}")]
    Sink { what: &'static str, index: u64, why: String },
}

impl LossCause {
    /// The beginning of the message. Where evidence could not be kept, the message does not blame the card.
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

    /// A witness that answers 404, or a full disk, must not look like a fault of the card.
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
