//! Compares the trees over the records in the tables with the signed checkpoints of a bundle.

use crate::content::CheckpointFile;
use crate::finding::FleetCode;
use crate::subtrees::{SubtreeSet, TilingError};
use portcullis_evidence::checkpoint::{CoseCheckpoint, head, root_of_heads};
use std::collections::BTreeMap;

/// The records of a lane, as the tables hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneSegments {
    /// The records, by the checkpoint that the table names for them; `None` for records after the last checkpoint.
    /// The names are not trusted: with a wrong name, the records under a checkpoint have another root.
    pub segments: BTreeMap<Option<u64>, SubtreeSet>,
}

/// Number of records of all lanes, and what the checkpoints contradict: each code at most once, with the text of its
/// first finding and the number of findings.
///
/// The segments of a lane are joined in the order of the checkpoints. After each of them, the leaves must be the
/// indices 0 to n - 1, and the root over the heads of all lanes must be the one that the card signed.
#[must_use]
pub fn check_trees(checkpoints: &[CheckpointFile], lanes: &[LaneSegments]) -> (u64, Vec<(FleetCode, String, u64)>) {
    let mut faults = Faults::default();
    let mut states = vec![SubtreeSet::new(); lanes.len()];
    for (serial, checkpoint) in (0..).zip(checkpoints) {
        let at = format!("checkpoint {serial}");
        add(&mut states, lanes, Some(serial));
        let Ok(signed) = CoseCheckpoint::parse(&checkpoint.message) else {
            faults.add(FleetCode::TableRoot, format!("{at} is malformed"));
            continue;
        };
        let mut heads = Vec::new();
        for (lane, (state, size)) in (0..).zip(states.iter().zip(&checkpoint.sizes)) {
            match state.root() {
                Ok((found, root)) if found == *size => heads.push(head(lane, found, root)),
                Ok((found, _)) => {
                    let what =
                        format!("{at} covers {size} records of lane {lane}, and the tables hold {found} of them");
                    faults.add(FleetCode::TableMissing, what);
                }
                Err(error) => faults.add(code(error), format!("lane {lane} under {at}: {error}")),
            }
        }
        if heads.len() != lanes.len() {
            continue;
        }
        if root_of_heads(&heads) != signed.checkpoint.wire.root {
            faults.add(FleetCode::TableRoot, format!("the records under {at} have another root than the signed one"));
        }
    }
    add(&mut states, lanes, None);
    let mut records = 0u64;
    for (lane, state) in states.iter().enumerate() {
        match state.root() {
            Ok((size, _)) => records = records.saturating_add(size),
            Err(error) => faults.add(code(error), format!("lane {lane}: {error}")),
        }
    }
    // Records of a segment that no checkpoint of the bundle has were not joined.
    let most = checkpoints.len() as u64;
    if lanes.iter().flat_map(|lane| lane.segments.keys()).any(|segment| segment.is_some_and(|serial| serial >= most)) {
        faults.add(FleetCode::TableRoot, "the tables name a checkpoint that the bundle does not have".to_owned());
    }
    (records, faults.0.into_iter().map(|(code, (detail, count))| (code, detail, count)).collect())
}

fn add(states: &mut [SubtreeSet], lanes: &[LaneSegments], segment: Option<u64>) {
    for (state, lane) in states.iter_mut().zip(lanes) {
        if let Some(records) = lane.segments.get(&segment) {
            state.merge(records);
        }
    }
}

const fn code(error: TilingError) -> FleetCode {
    match error {
        TilingError::Doubled => FleetCode::TableDoubled,
        TilingError::Missing { .. } => FleetCode::TableMissing,
    }
}

#[derive(Default)]
struct Faults(BTreeMap<FleetCode, (String, u64)>);

impl Faults {
    fn add(&mut self, code: FleetCode, detail: String) {
        self.0.entry(code).and_modify(|(_, count)| *count += 1).or_insert((detail, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::BundleSmallFiles;
    use portcullis_core::wire::Record;
    use portcullis_evidence::bundle::Bundle;
    use portcullis_evidence::tree;
    use portcullis_test_support::world::{Parts, World};
    use zerocopy::IntoBytes;

    fn content(parts: &Parts) -> BundleSmallFiles {
        let files = parts.files();
        BundleSmallFiles::read(&Bundle::open(&files).unwrap()).unwrap()
    }

    /// The lanes as an honest ingest makes them.
    fn lanes(parts: &Parts, content: &BundleSmallFiles) -> Vec<LaneSegments> {
        let lane = |(number, records): (u8, &Vec<Record>)| {
            let (ends, mut lane) = (content.segment_ends(number), LaneSegments::default());
            for (place, record) in (0..).zip(records) {
                let segment = lane.segments.entry(ends.checkpoint_of(place)).or_default();
                segment.push(record.answer.log_index.get(), tree::leaf(record.as_bytes()));
            }
            lane
        };
        (0..).zip(&parts.log.lanes).map(lane).collect()
    }

    fn codes(parts: &Parts, change: impl FnOnce(&mut Vec<LaneSegments>)) -> Vec<FleetCode> {
        let content = content(parts);
        let mut lanes = lanes(parts, &content);
        change(&mut lanes);
        check_trees(&content.checkpoints, &lanes).1.into_iter().map(|(code, ..)| code).collect()
    }

    #[test]
    fn honest_tables_have_the_signed_roots() {
        for count in [1, 2, 4] {
            let parts = World::new().honest_in(count);
            let content = content(&parts);
            let records = parts.log.lanes.iter().map(|records| records.len() as u64).sum();
            assert_eq!(check_trees(&content.checkpoints, &lanes(&parts, &content)), (records, vec![]));
        }
    }

    #[test]
    fn what_is_changed_in_the_tables_is_found() {
        let parts = World::new().honest_in(2);
        let all = |lanes: &mut Vec<LaneSegments>, at: usize| -> SubtreeSet {
            let mut all = SubtreeSet::new();
            lanes[at].segments.values().for_each(|segment| all.merge(segment));
            all
        };
        let extra = tree::leaf(b"extra");
        assert_eq!(codes(&parts, |lanes| lanes.swap(0, 1)), [FleetCode::TableRoot, FleetCode::TableMissing]);
        assert_eq!(
            codes(&parts, |lanes| lanes[0].segments.entry(Some(1)).or_default().push(1, extra)),
            [FleetCode::TableDoubled]
        );
        // A record after the last checkpoint does not contradict anything, but it must follow the others.
        let end = |lanes: &mut Vec<LaneSegments>| all(lanes, 0).root().unwrap().0;
        let tail = |lanes: &mut Vec<LaneSegments>, at: u64| lanes[0].segments.entry(None).or_default().push(at, extra);
        let next = |lanes: &mut Vec<LaneSegments>| {
            let at = end(lanes);
            tail(lanes, at);
        };
        let later = |lanes: &mut Vec<LaneSegments>| {
            let at = end(lanes) + 1;
            tail(lanes, at);
        };
        assert_eq!(codes(&parts, next), []);
        assert_eq!(codes(&parts, later), [FleetCode::TableMissing]);
        // The tables name wrong checkpoints.
        let moved = |lanes: &mut Vec<LaneSegments>| {
            let segment = lanes[0].segments.remove(&Some(1)).unwrap();
            lanes[0].segments.get_mut(&Some(2)).unwrap().merge(&segment);
        };
        assert_eq!(codes(&parts, moved), [FleetCode::TableMissing]);
        let unknown = |lanes: &mut Vec<LaneSegments>| {
            let segment = lanes[0].segments.remove(&Some(2)).unwrap();
            lanes[0].segments.insert(Some(3), segment);
        };
        assert_eq!(codes(&parts, unknown), [FleetCode::TableRoot, FleetCode::TableMissing]);
    }

    #[test]
    fn a_changed_record_has_another_root() {
        let mut parts = World::new().honest();
        parts.log.lanes[0][3].answer.determination ^= 1;
        assert_eq!(codes(&parts, |_| ()), [FleetCode::TableRoot]);
    }
}
