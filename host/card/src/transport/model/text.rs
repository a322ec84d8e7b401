//! Software model of the text lane: reads the text of an entry from its window, compares it with the descriptor, and
//! scans it.

use portcullis_core::class::ClassSet;
use portcullis_core::commitment::{HEAD_BYTES, SpanKind, text_length};
use portcullis_core::wire::{Descriptor, Fault, ImageText, Opcode, StageOutcome, flags};
use portcullis_lane::{LaneScanner, ScanState, TextLaneTables};
use sha2::{Digest, Sha256};

use super::capacity::{TEXT_BYTE_CLASSES, TEXT_ENGINES, TEXT_STATES_LOG2};
use super::host_memory::HostMemory;
use crate::limits::{TEXT_STRIDE_MAX, TEXT_STRIDE_MIN};

const BLOCK: u64 = 2 << 20;
const PAGE: u64 = 4096;

/// The lane's tables and windows, latched at OPEN.
#[derive(Debug)]
pub(super) struct TextLaneModel {
    walk: LaneScanner,
    pub(super) opening: ClassSet,
    stride: u64,
    /// Device addresses of the blocks.
    blocks: Vec<u64>,
}

/// The lane's state of a stream: the scan, and the classes of its admitted entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextState {
    scan: ScanState,
    established: ClassSet,
}

/// The result of the scan of an entry's text.
#[derive(Debug, Clone, Copy)]
pub(super) struct CardModelScan {
    pub(super) classes: ClassSet,
    pub(super) established: ClassSet,
    scan: ScanState,
}

impl TextState {
    /// The state of a new stream.
    pub(super) const NEW: Self = Self { scan: ScanState::START, established: ClassSet::EMPTY };
}

impl CardModelScan {
    /// The state of the stream if this entry is admitted.
    pub(super) const fn admitted(&self) -> TextState {
        TextState { scan: self.scan, established: self.established.union(self.classes) }
    }
}

/// Whether the length in a GATE fits a text of `length` bytes, held bytes included. The largest length in a descriptor
/// is 65535; a host that refuses a span as too long also writes this length.
fn describes(entry: &Descriptor, length: u32) -> bool {
    let described = u32::from(entry.length.get());
    let most = u32::from(u16::MAX);
    let saturated = described == most;
    let refused = entry.validation_outcome != u8::from(StageOutcome::Pass);
    let prefixed = u16::from(entry.flags) & flags::INERT_PREFIX != 0;
    let fits = if prefixed { described <= length } else { described == length.min(most) };
    fits || saturated && refused
}

impl TextLaneModel {
    /// Reads the tables at `address`. `Err(Some)` is the fault that refuses OPEN; `Err(None)` is a bus error.
    pub(super) fn load(
        memory: &HostMemory,
        part: &ImageText,
        address: u64,
        stride_log2: u8,
        blocks: Vec<u64>,
    ) -> Result<Self, Option<Fault>> {
        let placed = address.is_multiple_of(64) && blocks.iter().all(|block| block.is_multiple_of(PAGE));
        if !(TEXT_STRIDE_MIN..=TEXT_STRIDE_MAX).contains(&stride_log2) || !placed {
            return Err(Some(Fault::RingConfig));
        }
        let length = usize::try_from(part.bytes.get()).map_err(|_| Some(Fault::ImageHeader))?;
        let tables = memory.bytes(address, length).ok_or(None)?;
        if Sha256::digest(tables)[..] != part.digest {
            return Err(Some(Fault::ImageDigest));
        }
        let tables = TextLaneTables::decode(tables).map_err(|_| Some(Fault::ImageHeader))?;
        let fits = tables.states().count() <= TEXT_ENGINES.into()
            && tables.states().all(|states| states <= 1 << TEXT_STATES_LOG2)
            && tables.byte_classes().all(|classes| classes <= TEXT_BYTE_CLASSES.into());
        let walk = LaneScanner::new(tables).filter(|_| fits).ok_or(Some(Fault::ImageHeader))?;
        Ok(Self { walk, opening: ClassSet(part.opening.get()), stride: 1 << stride_log2, blocks })
    }

    /// Device address of a slot's window; `None` if the slot is outside the blocks.
    fn window(&self, slot: u16) -> Option<u64> {
        let place = u64::from(slot) * self.stride;
        let block = usize::try_from(place / BLOCK).ok().and_then(|block| self.blocks.get(block))?;
        block.checked_add(place % BLOCK)
    }

    /// Reads, compares and scans the text of a GATE or an END. `Err`: the first fault in the order of the codes.
    pub(super) fn read(
        &self,
        memory: &HostMemory,
        entry: &Descriptor,
        opcode: Opcode,
        state: &TextState,
    ) -> Result<CardModelScan, Fault> {
        let window = self.window(entry.slot.get()).ok_or(Fault::TextWindow)?;
        let head: [u8; HEAD_BYTES] = memory.read(window).ok_or(Fault::TextWindow)?;
        let length = head.last_chunk().map_or(u32::MAX, |length| u32::from_le_bytes(*length));
        let bytes = HEAD_BYTES as u64 + u64::from(length);
        if bytes > self.stride {
            return Err(Fault::TextWindow);
        }
        let bytes = memory.bytes(window, bytes as usize).ok_or(Fault::TextWindow)?;
        let kind = text_length(&head).map(|(kind, _)| kind).ok_or(Fault::TextForm)?;
        // A call is not a part of the text around it, so it is scanned alone.
        let mut scan = if kind == SpanKind::Call { ScanState::START } else { state.scan };
        let found = self.walk.scan(&mut scan, bytes.get(HEAD_BYTES..).unwrap_or_default());
        // An END has no flags, so its text must not be a call.
        let says_call = u16::from(entry.flags) & flags::CALL != 0;
        let fits = opcode == Opcode::End || describes(entry, length);
        if says_call != (kind == SpanKind::Call) || !fits || !found.utf8 {
            return Err(Fault::TextForm);
        }
        if Sha256::digest(bytes)[..] != entry.commitment {
            return Err(Fault::TextCommitment);
        }
        if opcode == Opcode::End && found.classes.0 & !self.opening.0 != 0 {
            return Err(Fault::TextEnd);
        }
        let scan = if kind == SpanKind::Call { state.scan } else { scan };
        Ok(CardModelScan { classes: found.classes, established: state.established, scan })
    }
}
