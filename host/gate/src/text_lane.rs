//! The host's side of a card's text lane. It walks the same tables over the same bytes, so that an honest descriptor
//! names every class that the card finds.

use portcullis_core::class::ClassSet;
use portcullis_core::commitment::{HEAD_BYTES, SpanKind};
use portcullis_image::TableImage;
use portcullis_lane::{EntryScan, LaneScanner, ScanState, TextLaneTables};

/// log2 of the size in bytes of the smallest and of the largest text window that a session uses.
const STRIDES: std::ops::RangeInclusive<u8> = 11..=16;

/// The tables of a policy whose image has a text part.
pub(crate) struct PolicyTextLane {
    walk: LaneScanner,
    opening: ClassSet,
}

/// The state of the scan after a stream's admitted text. A rollback does not change it, nor the card's state.
#[derive(Clone, Copy)]
pub(crate) struct AdmittedTextScan(ScanState);

impl AdmittedTextScan {
    pub(crate) const NEW: Self = Self(ScanState::START);
}

impl PolicyTextLane {
    /// `None` if the image has no text part, or no usable tables. Without usable tables, the host presents no texts, so
    /// the card refuses each entry.
    pub(crate) fn of(image: &TableImage) -> Option<Self> {
        let opening = ClassSet(image.text()?.opening.get());
        let walk = LaneScanner::new(TextLaneTables::decode(image.tables()?).ok()?)?;
        Some(Self { walk, opening })
    }

    /// Scans `parts`: returns the classes that the descriptor must name, and the state of the scan if the entry is
    /// admitted. A call is scanned alone.
    pub(crate) fn scan(&self, scan: AdmittedTextScan, kind: SpanKind, parts: &[&[u8]]) -> (ClassSet, AdmittedTextScan) {
        let is_text = kind.is_text();
        let (mut state, mut entry) = (if is_text { scan.0 } else { ScanState::START }, EntryScan::default());
        parts.iter().for_each(|part| self.walk.read(&mut state, &mut entry, part));
        let found = self.walk.end(&mut state, entry).classes;
        (ClassSet(found.0 & !self.opening.0), if is_text { AdmittedTextScan(state) } else { scan })
    }
}

/// log2 of the size of text windows for spans of at most `span` bytes after at most `held` held bytes.
pub(crate) fn stride_log2(span: usize, held: usize) -> u8 {
    let bytes = (HEAD_BYTES + span + held).next_power_of_two();
    u8::try_from(bytes.trailing_zeros()).unwrap_or(u8::MAX).clamp(*STRIDES.start(), *STRIDES.end())
}
