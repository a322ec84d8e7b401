//! Faults of the bus and of the memories that a test can cause.

/// A RAM of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneRam {
    /// The policy bank: rows of 1536 bits.
    Policy,
    /// The entropy bank: rows of 1536 bits.
    Entropy,
    /// The byte classes of the text lane's first engine: for each byte, 6 bits and their parity.
    ByteClasses,
    /// The reports of the text lane's first engine: for each row, three times 16 bits and their parity.
    Reports,
    /// The parity of each row of the policy bank.
    PolicyParities,
    /// The parity of each row of the entropy bank.
    EntropyParities,
    /// The stream slots, each with its parity.
    Streams,
    /// The first beat of each fetched descriptor.
    DescriptorsLow,
    /// The second beat of each fetched descriptor.
    DescriptorsHigh,
    /// The values of each completion that is not built yet.
    Completions,
    /// The parity of each of these completions.
    CompletionParities,
    /// The text classes of each of these completions.
    CompletionClasses,
    /// The established classes of each slot of the text lane, with their parity.
    Established,
    /// The state of the scan of each slot of the text lane, with its parity.
    Scans,
    /// The beats of texts that were read and not scanned yet.
    Texts,
}

impl LaneRam {
    /// The instance in the lane, and the name of its memory.
    pub(crate) const fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Policy => ("u_policy.u_table", "mem"),
            Self::Entropy => ("u_entropy.u_table", "mem"),
            Self::PolicyParities => ("u_policy.u_table", "parities"),
            Self::EntropyParities => ("u_entropy.u_table", "parities"),
            Self::Streams => ("u_streams", "mem"),
            Self::DescriptorsLow => ("u_ring.u_buffer", "low_q"),
            Self::DescriptorsHigh => ("u_ring.u_buffer", "high_q"),
            Self::Completions => ("u_ring.u_complete", "facts_q"),
            Self::CompletionParities => ("u_ring.u_complete", "parities_q"),
            Self::CompletionClasses => ("u_ring.u_complete.g_text", "classes_q"),
            Self::Established => ("g_text.u_text.u_text.u_established", "mem"),
            Self::Scans => ("g_text.u_text.u_text.u_scans", "mem"),
            Self::Texts => ("g_text.u_text.u_text.u_window.u_fetch", "mem"),
            Self::ByteClasses => ("g_text.u_text.u_text.u_scan.g_engine[0].u_engine.u_automaton", "map"),
            Self::Reports => ("g_text.u_text.u_text.u_scan.g_engine[0].u_engine", "rows"),
        }
    }
}

/// One bit of a RAM of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableBit {
    pub lane: u32,
    pub table: LaneRam,
    /// Row, below the size of the table.
    pub row: u32,
    /// Bit within the row.
    pub bit: u32,
}

/// A fault of the bus. `nth` counts bursts from the call of [`crate::SimulatedCard::inject`] on: 0 is the card's next
/// burst. Injections of the same kind form a queue; each happens once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedBusFault {
    /// Every beat of the read burst has the response SLVERR.
    ReadError { nth: u32 },
    /// Every beat of the read burst has the response DECERR.
    ReadDecodeError { nth: u32 },
    /// The read burst is never answered.
    ReadLost { nth: u32 },
    /// The read burst is answered this many clocks after it was accepted. Bursts with other ids do not wait for it.
    ReadLate { nth: u32, clocks: u32 },
    /// The read burst ends one beat too early.
    ReadShort { nth: u32 },
    /// The read burst has one extra beat.
    ReadLong { nth: u32 },
    /// One data bit of the read burst is inverted on the bus; the memory is unchanged.
    ReadCorrupt {
        nth: u32,
        /// Bit of the burst's data, 0 to 4095. A burst that is too short for this bit is not changed.
        bit: u32,
    },
    /// A data beat that answers no request arrives now.
    ReadSpurious {
        /// Read id of the beat, 0 to 31.
        id: u8,
    },
    /// The write burst is answered with SLVERR, and its data is not stored.
    WriteError { nth: u32 },
    /// The write burst is answered with DECERR, and its data is not stored.
    WriteDecodeError { nth: u32 },
    /// The data of the write burst is stored, but the burst is never answered.
    WriteLost { nth: u32 },
    /// A write response that answers no request arrives now.
    WriteSpurious {
        /// Write id of the response, 0 to 31.
        id: u8,
    },
    /// From now on, the bus accepts no read requests.
    ReadRequestsHang,
    /// From now on, the bus accepts neither write requests nor write data.
    WriteRequestsHang,
    /// Ends [`InjectedBusFault::ReadRequestsHang`] and [`InjectedBusFault::WriteRequestsHang`].
    Unhang,
}

impl InjectedBusFault {
    /// The fault as (kind, `nth` or id, detail), in the numbering of `cpp/inject.h`.
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
