//! Checks heartbeats: their nonces are those that the witness gave, in the same order.

use crate::format::note::WitnessedCheckpoint;
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The nonces that the witness gave.
#[derive(Debug, Default)]
pub(crate) struct Nonces {
    // `nonces` has pairs of nonce and note serial; `serials` has all note serials. Both are sorted, so that searches
    // are fast even with millions of heartbeats.
    nonces: BTreeSet<(u64, u64)>,
    serials: Vec<u64>,
}

impl Nonces {
    pub(crate) fn new(notes: &BTreeMap<u64, WitnessedCheckpoint>) -> Self {
        let nonces = notes.iter().filter_map(|(serial, note)| Some((note.nonce?, *serial))).collect();
        Self { nonces, serials: notes.keys().copied().collect() }
    }

    /// The first note with this nonce in a range of serials, and whether all notes of the range are present.
    fn find(&self, nonce: u64, range: &Range<u64>) -> (Option<u64>, bool) {
        let found = self.nonces.range((nonce, range.start)..(nonce, range.end)).next().map(|(_, serial)| *serial);
        let before = |end| self.serials.partition_point(|serial| *serial < end);
        let there = before(range.end).saturating_sub(before(range.start)) as u64;
        (found, there == range.end.saturating_sub(range.start))
    }

    /// Checks a heartbeat in a lane. `checkpoints` is the number of checkpoints before it, and `last` the serial of the
    /// previous heartbeat's note. Returns the serial of this heartbeat's note.
    pub(crate) fn heartbeat(
        &self,
        nonce: u64,
        last: Option<u64>,
        checkpoints: u64,
        findings: &mut VerifyFindings,
    ) -> Option<u64> {
        // A lane uses each nonce once, in the witness's order, and only after the checkpoint whose note contains the
        // nonce.
        let from = last.map_or(0, |last| last.saturating_add(1));
        let (note, all) = self.find(nonce, &(from..checkpoints.max(from)));
        let what = || format!("heartbeat nonce {nonce:#018x} is none that the witness gave by then");
        match note {
            Some(_) => {}
            // If a note is missing, the nonce may have been in that note.
            None if all => findings.add(Code::HeartbeatNonce, what()),
            None => findings.add(Code::HeartbeatUnwitnessed, what()),
        }
        note.or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::note::LogView;
    use crate::format::ticket::ChainId;

    fn note(serial: u64, nonce: u64) -> (u64, WitnessedCheckpoint) {
        let witness = String::new();
        let chain = ChainId { key: [0; 32], seat: 0 };
        (
            serial,
            WitnessedCheckpoint {
                chain,
                ticket: 1,
                serial,
                checkpoint: [0; 32],
                nonce: Some(nonce),
                index: serial,
                witness,
                time: 0,
                view: LogView::of_nothing(),
            },
        )
    }

    #[test]
    fn each_nonce_is_found_where_it_was_given() {
        let nonces = Nonces::new(&[note(0, 7), note(1, 8), note(3, 7)].into());
        assert_eq!(nonces.find(7, &(0..2)), (Some(0), true));
        assert_eq!(nonces.find(7, &(1..2)), (None, true));
        assert_eq!(nonces.find(7, &(1..4)), (Some(3), false));
        assert_eq!(nonces.find(8, &(2..4)), (None, false));
        assert_eq!(nonces.find(9, &(0..0)), (None, true));
    }

    /// A search note by note would take 10^10 steps.
    #[test]
    fn many_heartbeats_that_are_nobodys() {
        let nonces = Nonces::new(&(0..100_000).map(|serial| note(serial, serial + 1)).collect());
        let mut findings = VerifyFindings::default();
        for nonce in 200_000..300_000 {
            assert_eq!(nonces.heartbeat(nonce, None, 100_000, &mut findings), None);
        }
        assert_eq!(findings.conclude().no_gaps.reasons[0].count, 100_000);
    }
}
