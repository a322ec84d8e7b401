//! Faults that a test can make the bus and the tables show.

/// One bit of a table's RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableBit {
    pub lane: u32,
    /// The entropy bank; `false` is the policy bank.
    pub entropy: bool,
    /// Row, to the size of the bank.
    pub row: u32,
    /// Bit of the row's bytes, 0 to 1535.
    pub bit: u32,
}

/// One fault of the bus. Bursts are counted from 0, from the call of [`crate::Sim::inject`] on: `nth: 0` is the next
/// one that the card issues. Injections of one kind queue up; each happens once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inject {
    /// Every beat of the read burst carries SLVERR.
    ReadError { nth: u32 },
    /// Every beat of the read burst carries DECERR.
    ReadDecodeError { nth: u32 },
    /// The read burst is never answered.
    ReadLost { nth: u32 },
    /// The read burst is answered this many clocks after it was accepted. Bursts with other ids are answered before it.
    ReadLate { nth: u32, clocks: u32 },
    /// The read burst ends one beat early.
    ReadShort { nth: u32 },
    /// The read burst has one beat too many.
    ReadLong { nth: u32 },
    /// One bit of the data of the read burst is inverted on its way (not in memory).
    ReadCorrupt {
        nth: u32,
        /// Bit of the burst's data, 0 to 4095; bursts too short for it stay untouched.
        bit: u32,
    },
    /// A data beat that no one asked for arrives now.
    ReadSpurious {
        /// Its read id, 0 to 31.
        id: u8,
    },
    /// The write burst is answered with SLVERR; its data is not stored.
    WriteError { nth: u32 },
    /// The write burst is answered with DECERR; its data is not stored.
    WriteDecodeError { nth: u32 },
    /// The write burst is stored and never answered.
    WriteLost { nth: u32 },
    /// A write response that no one waits for arrives now.
    WriteSpurious {
        /// Its write id, 0 to 31.
        id: u8,
    },
    /// Read requests are never accepted any more.
    ReadRequestsHang,
    /// Write requests and write data are never accepted any more.
    WriteRequestsHang,
    /// Ends [`Inject::ReadRequestsHang`] and [`Inject::WriteRequestsHang`].
    Unhang,
}

impl Inject {
    /// (kind, ordinal or id, bit) as the C++ side counts them; `cpp/inject.h` holds the same list.
    pub(crate) fn code(self) -> (u8, u32, u32) {
        match self {
            Self::ReadError { nth } => (0, nth, 0),
            Self::ReadDecodeError { nth } => (0, nth, 1),
            Self::ReadLost { nth } => (1, nth, 0),
            Self::ReadShort { nth } => (2, nth, 0),
            Self::ReadLong { nth } => (3, nth, 0),
            Self::ReadCorrupt { nth, bit } => (4, nth, bit),
            Self::ReadSpurious { id } => (5, u32::from(id), 0),
            Self::WriteError { nth } => (6, nth, 0),
            Self::WriteDecodeError { nth } => (6, nth, 1),
            Self::WriteLost { nth } => (7, nth, 0),
            Self::WriteSpurious { id } => (8, u32::from(id), 0),
            Self::ReadRequestsHang => (9, 0, 0),
            Self::WriteRequestsHang => (10, 0, 0),
            Self::Unhang => (11, 0, 0),
            Self::ReadLate { nth, clocks } => (12, nth, clocks),
        }
    }
}
