//! Self-test with known answers: opens a session, submits valid and invalid entries, and closes it.

use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Determination, Fault, Opcode, Stage, StageOutcome};
use portcullis_image::{EntryVerdict, ImageError};
use zerocopy::little_endian::{U16, U32, U128};

use super::known::{self, CLASS_DECOMPOSE, CLASS_FREE, CLASS_REJECT, MAX_DEPTH, UNCERTAINTY_MAX};
use crate::card::CardTransport;
use crate::driver::{CardInfo, CardSession, EntryOutcome, SessionConfig, SessionError};

/// One step of the self-test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelftestStep {
    pub name: &'static str,
    pub lane: u8,
    /// The correct answer.
    pub expected: EntryOutcome,
    pub found: EntryOutcome,
}

impl SelftestStep {
    #[must_use]
    pub fn passed(&self) -> bool {
        self.expected == self.found
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelftestReport {
    /// The card's identity and capabilities.
    pub info: CardInfo,
    /// Every step, in order.
    pub checks: Vec<SelftestStep>,
    /// Records of the session in all lanes, each lane's OPEN and CLOSE included.
    pub records: u64,
}

impl SelftestReport {
    /// Whether every step passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(SelftestStep::passed)
    }
}

/// Why a self-test could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    #[error(transparent)]
    Session(#[from] SessionError),
    /// This program's known image is invalid: a defect of the program.
    #[error("the image of the self-test is malformed")]
    Image(#[from] ImageError),
    #[error("the card closed without a CLOSE record")]
    NoClose,
}

const fn judged(determination: Determination, stage: Stage, policy_row: u16, entropy_row: u16) -> EntryOutcome {
    EntryOutcome::Judged(EntryVerdict {
        determination,
        stage,
        policy_row: Some(policy_row),
        entropy_row: Some(entropy_row),
    })
}

/// Known GATEs with their answers. Rows: policy 0 rejects, 1 decomposes, 2 permits; entropy 0 rejects, 1 permits.
fn gates() -> Vec<(&'static str, Descriptor, EntryOutcome)> {
    let plain = known::gate();
    let with = |class: u128| Descriptor { classes: U128::new(class), ..plain };
    let uncertain = |basis_points: u16| Descriptor { uncertainty: U16::new(basis_points), ..plain };
    let reject = StageOutcome::Reject.into();
    let fault = EntryOutcome::Fault;
    let admit = judged(Determination::Admit, Stage::None, 2, 1);
    vec![
        ("admit", plain, admit),
        ("admit with a class that no rule names", with(CLASS_FREE), admit),
        ("reject by policy", with(CLASS_REJECT), judged(Determination::Reject, Stage::Policy, 0, 1)),
        (
            "reject before decompose",
            with(CLASS_REJECT | CLASS_DECOMPOSE),
            judged(Determination::Reject, Stage::Policy, 0, 1),
        ),
        ("decompose by policy", with(CLASS_DECOMPOSE), judged(Determination::Decompose, Stage::Policy, 1, 1)),
        (
            "reject at the depth limit",
            Descriptor { depth: MAX_DEPTH, ..with(CLASS_DECOMPOSE) },
            judged(Determination::Reject, Stage::Policy, 1, 1),
        ),
        (
            "reject by validation",
            Descriptor { validation_outcome: reject, validation_reason: 1, ..plain },
            judged(Determination::Reject, Stage::Validation, 2, 1),
        ),
        (
            "reject by lineage",
            Descriptor { lineage_outcome: reject, lineage_reason: 1, ..plain },
            judged(Determination::Reject, Stage::Lineage, 2, 1),
        ),
        ("admit at the entropy bound", uncertain(UNCERTAINTY_MAX), admit),
        (
            "reject over the entropy bound",
            uncertain(UNCERTAINTY_MAX + 1),
            judged(Determination::Reject, Stage::Entropy, 2, 0),
        ),
        ("refuse an undeclared class", with(1 << 3), fault(Fault::Class)),
        ("refuse an undeclared domain", Descriptor { domain: 2, ..plain }, fault(Fault::Enumeration)),
        ("refuse a fraction over one", Descriptor { novelty: U16::new(10_001), ..plain }, fault(Fault::BasisPoints)),
        ("refuse a zeroed stage outcome", Descriptor { lineage_outcome: 0, ..plain }, fault(Fault::StageCode)),
        ("admit again", plain, admit),
    ]
}

/// Opens a session on `card` with a small image, submits descriptors with known answers, a corrupted one included, and
/// closes the session. The card's earlier state is lost. Errors: the session cannot be opened or closed; wrong answers
/// are in the report instead.
pub fn run<C: CardTransport>(card: C) -> Result<SelftestReport, SelftestError> {
    let image = known::image()?;
    let mut session = CardSession::open(card, &image, SessionConfig::default())?;
    let info = session.info().clone();
    let mut checks = Vec::new();
    // The lowest slots: one in each lane.
    let mut streams = Vec::new();
    for lane in 0..info.lanes {
        let (stream, begun) = session.begin([1; 32])?;
        checks.push(SelftestStep {
            name: "begin a stream",
            lane,
            expected: EntryOutcome::Accepted,
            found: begun.outcome,
        });
        streams.push((lane, stream));
    }
    for (lane, stream) in streams {
        let mut check = |name, expected, found| checks.push(SelftestStep { name, lane, expected, found });
        for (name, gate, expected) in gates() {
            check(name, expected, session.gate_descriptor(&stream, gate)?.outcome);
        }
        let place = session.place(&stream)?;
        let placed =
            Descriptor { slot: U16::new(place.slot), sequence: U32::new(place.sequence), ..known::gate() }.sealed();
        let corrupted = Descriptor { crc: U32::new(placed.crc.get() ^ 1), ..placed };
        let early = Descriptor { sequence: U32::new(place.sequence + 1), ..placed }.sealed();
        let closed_slot = SlotSequence { slot: place.slot + u16::from(info.lanes), sequence: 1 };
        let closed_slot = Descriptor::entry(Opcode::End, closed_slot, [0; 32]).sealed();
        for (name, entry, expected) in [
            ("refuse a corrupted descriptor", corrupted, EntryOutcome::Fault(Fault::Crc)),
            ("refuse a gap in the sequence", early, EntryOutcome::Fault(Fault::Sequence)),
            ("refuse a stream that is not open", closed_slot, EntryOutcome::Fault(Fault::Slot)),
        ] {
            check(name, expected, session.call(entry)?.outcome);
        }
        if info.lanes > 1 {
            // A correct entry, but its slot belongs to the next lane.
            let other = SlotSequence { slot: place.slot + 1, sequence: 0 };
            let other = Descriptor::entry(Opcode::Begin, other, [0; 32]).sealed();
            session.submit_to_lane(lane, &[other])?;
            let found = session.drain()?.first().map_or(EntryOutcome::Accepted, |completed| completed.outcome);
            check("refuse a slot of another lane", EntryOutcome::Fault(Fault::Slot), found);
        }
        check("note a digest", EntryOutcome::Accepted, session.note(&stream, [2; 32])?.outcome);
        check("end the stream", EntryOutcome::Accepted, session.end(stream, [3; 32])?.outcome);
    }
    let closed = session.close()?;
    closed.record.ok_or(SelftestError::NoClose)?;
    Ok(SelftestReport { info, checks, records: closed.records })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LANES;
    use crate::transport::model::ModelCard;

    #[test]
    fn the_model_passes() {
        for lanes in LANES {
            let report = run(ModelCard::with_lanes(lanes).unwrap()).unwrap();
            let failed: Vec<_> = report.checks.iter().filter(|check| !check.passed()).collect();
            assert!(failed.is_empty(), "{failed:#?}");
            // Every lane gets the same checks. Each lane has a record per check, an OPEN and a CLOSE.
            assert_eq!(report.records, report.checks.len() as u64 + 2 * u64::from(lanes));
            let asked = |lane| report.checks.iter().filter(|check| check.lane == lane).count();
            assert!((0..lanes).all(|lane| asked(lane) == report.checks.len() / usize::from(lanes)));
        }
    }
}
