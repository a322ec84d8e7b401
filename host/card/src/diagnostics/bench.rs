//! Benchmark: the verdict rate and the latency of a saturated card.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{BEAT_BYTES, Completion, Descriptor, Determination, Opcode, Record, lane_of};
use portcullis_image::{ImageError, TableImage};
use zerocopy::little_endian::{U16, U32};

use super::known;
use crate::card::CardTransport;
use crate::driver::{CardSession, CheckpointConfig, EntryOutcome, LossCause, SessionConfig, SessionError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchConfig {
    pub verdicts: u64,
    /// Streams per lane; each has one GATE in flight.
    pub streams: u16,
    /// Whether the card signs a checkpoint after every 4,096 records.
    pub attest: bool,
}

impl Default for BenchConfig {
    /// 20,000 verdicts over 64 streams per lane, without checkpoints.
    fn default() -> Self {
        Self { verdicts: 20_000, streams: 64, attest: false }
    }
}

/// The results.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchReport {
    pub verdicts: u64,
    /// Verdicts of each lane.
    pub lanes: Vec<u64>,
    pub admits: u64,
    pub rejects: u64,
    pub decomposes: u64,
    /// Wall time from reset to the open session, key and first checkpoint included.
    pub opened: Duration,
    /// Wall time from the first submission to the last answer.
    pub elapsed: Duration,
    /// Clocks of the card during `elapsed`, if the transport counts them.
    pub clocks: Option<u64>,
    /// Rows of the larger bank. At one row per clock, one sweep of the banks takes this number of clocks.
    pub rows: u16,
    /// Time from the submission of an entry to its answer at the driver, in nanoseconds, rounded to three digits.
    pub latency: Histogram<u64>,
}

/// Data beats on the card's bus per verdict: reads for the entry, writes for its record and its completion.
pub const BEATS: (u64, u64) =
    ((Descriptor::BYTES / BEAT_BYTES) as u64, ((Record::BYTES + Completion::BYTES) / BEAT_BYTES) as u64);

impl BenchReport {
    /// Verdicts per second of wall time, rounded down.
    #[must_use]
    pub fn verdicts_per_second(&self) -> u64 {
        let nanoseconds = self.elapsed.as_nanos().max(1);
        u64::try_from(u128::from(self.verdicts) * 1_000_000_000 / nanoseconds).unwrap_or(u64::MAX)
    }

    /// Clocks of the card per second of wall time, rounded down. For a simulated card this is the simulation's speed.
    #[must_use]
    pub fn clocks_per_second(&self) -> Option<u64> {
        let nanoseconds = self.elapsed.as_nanos().max(1);
        let rate = |clocks: u64| u64::try_from(u128::from(clocks) * 1_000_000_000 / nanoseconds).unwrap_or(u64::MAX);
        self.clocks.map(rate)
    }

    /// The shares of clocks in which the card read and wrote data on its bus, in basis points.
    #[must_use]
    pub fn bus_basis_points(&self) -> Option<(u64, u64)> {
        let share = |beats: u64, clocks: u64| beats * self.verdicts * 10_000 / clocks.max(1);
        self.clocks.map(|clocks| (share(BEATS.0, clocks), share(BEATS.1, clocks)))
    }

    /// The latency that the given share (0 to 1) of the answers did not exceed, in nanoseconds.
    #[must_use]
    pub fn latency(&self, share: f64) -> u64 {
        self.latency.value_at_quantile(share)
    }

    /// A histogram of latencies with steps that double from 1 µs: the upper end of each step in nanoseconds, and the
    /// number of answers in the step.
    #[must_use]
    pub fn latency_steps(&self) -> Vec<(u64, u64)> {
        let steps = self.latency.iter_log(1000, 2.0);
        steps.map(|step| (step.value_iterated_to() + 1, step.count_since_last_iteration())).collect()
    }

    /// Clocks per verdict in hundredths of a clock, rounded up.
    #[must_use]
    pub fn clocks_per_verdict_hundredths(&self) -> Option<u64> {
        self.clocks.map(|clocks| (clocks * 100).div_ceil(self.verdicts.max(1)))
    }
}

/// Upper end of the histogram, in nanoseconds; every bounded wait is shorter.
const LONGEST: u64 = 3_600_000_000_000;

/// An image that fills the default tables of 256 and 64 rows.
pub fn full_image() -> Result<TableImage, ImageError> {
    known::full_image(256, 64)
}

/// Saturates `card` with GATEs that are valid under `image`. Errors: [`SessionError`]; also a refused entry, because
/// the measurement is then worthless.
pub fn run<C: CardTransport>(card: C, image: &TableImage, config: BenchConfig) -> Result<BenchReport, SessionError> {
    run_with(card, image, &known::gates(image, 509), config)
}

/// As [`run`], with the caller's GATEs in rotation. The function fills in slot, sequence, the stream's context and CRC.
/// Errors: as [`run`].
pub fn run_with<C: CardTransport>(
    card: C,
    image: &TableImage,
    gates: &[Descriptor],
    config: BenchConfig,
) -> Result<BenchReport, SessionError> {
    let checkpoints = config.attest.then_some(CheckpointConfig { interval: 4096, ..CheckpointConfig::default() });
    let begun = Instant::now();
    let mut session = CardSession::open(card, image, SessionConfig { checkpoints, ..SessionConfig::default() })?;
    let opened = begun.elapsed();
    let lanes = session.info().lanes;
    // Consecutive slots belong to consecutive lanes.
    let streams = (u32::from(config.streams) * u32::from(lanes)).min(session.info().max_streams).min(1 << 16);
    let begins: Vec<_> = (0..streams)
        .map(|slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot: slot as u16, sequence: 0 }, [0; 32]).sealed())
        .collect();
    for batch in begins.chunks(session.room()) {
        session.submit(batch)?;
        expect_accepted(&session.drain()?)?;
    }

    let mut templates = gates.iter().cycle();
    let mut left = config.verdicts;
    let mut next_gate = |slot: u16, sequence: u32| {
        left = left.checked_sub(1)?;
        let template = templates.next()?;
        // All GATEs of a stream must have the same context.
        let first = gates.get(usize::from(slot) % gates.len())?;
        let placed = Descriptor {
            slot: U16::new(slot),
            sequence: U32::new(sequence),
            domain: first.domain,
            audience: first.audience,
            register: first.register,
            epistemic: first.epistemic,
            ..*template
        };
        Some(placed.sealed())
    };
    let latency = Histogram::new_with_max(LONGEST, 3).map_err(|error| LossCause::Broken(error.to_string()))?;
    let mut report = BenchReport {
        verdicts: 0,
        lanes: vec![0; lanes.into()],
        admits: 0,
        rejects: 0,
        decomposes: 0,
        opened,
        elapsed: Duration::ZERO,
        clocks: None,
        rows: image.header().policy_rows.get().max(image.header().entropy_rows.get()),
        latency,
    };
    let mut submitted = BTreeMap::new();
    let started = (Instant::now(), session.card().clocks());
    let mut batch: Vec<_> = (0..streams).filter_map(|slot| next_gate(slot as u16, 1)).collect();
    loop {
        let now = Instant::now();
        submitted.extend(batch.iter().map(|entry| (entry.slot.get(), now)));
        session.submit(&batch)?;
        batch.clear();
        let answered = session.wait()?;
        if answered.is_empty() {
            break;
        }
        let now = Instant::now();
        for completed in answered {
            if let Some(before) = submitted.get(&completed.entry.slot.get()) {
                report.latency.saturating_record(u64::try_from((now - *before).as_nanos()).unwrap_or(LONGEST));
            }
            match completed.outcome {
                EntryOutcome::Judged(verdict) => match verdict.determination {
                    Determination::Admit => report.admits += 1,
                    Determination::Decompose => report.decomposes += 1,
                    Determination::Reject | Determination::None => report.rejects += 1,
                },
                EntryOutcome::Accepted => {}
                EntryOutcome::Fault(fault) => return Err(SessionError::Refused(fault)),
            }
            report.verdicts += 1;
            let lane =
                lane_of(completed.entry.slot.get(), lanes).and_then(|lane| report.lanes.get_mut(usize::from(lane)));
            lane.into_iter().for_each(|count| *count += 1);
            let sequence = completed.entry.sequence.get().wrapping_add(1);
            batch.extend(next_gate(completed.entry.slot.get(), sequence));
        }
    }
    report.elapsed = started.0.elapsed();
    report.clocks = session.card().clocks().zip(started.1).map(|(end, start)| end - start);
    session.close()?;
    Ok(report)
}

fn expect_accepted(answered: &[crate::CompletedEntry]) -> Result<(), SessionError> {
    match answered.iter().find_map(|completed| completed.outcome.fault()) {
        Some(fault) => Err(SessionError::Refused(fault)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::model::ModelCard;

    #[test]
    fn the_model_judges_all_of_them() {
        let image = known::image().unwrap();
        let config = BenchConfig { verdicts: 5_000, streams: 64, attest: false };
        let report = run(ModelCard::new(), &image, config).unwrap();
        assert_eq!(report.verdicts, 5_000);
        assert_eq!(report.lanes, [5_000]);
        assert_eq!(report.admits + report.rejects + report.decomposes, 5_000);
        assert!(report.rejects > 0, "{report:?}");
        // The histogram counts every answer once.
        assert_eq!(report.latency.len(), 5_000);
        assert_eq!(report.latency_steps().iter().map(|step| step.1).sum::<u64>(), 5_000);
        assert!(
            report.latency(0.5) > 0
                && report.latency(0.5) <= report.latency(0.999)
                && report.latency(0.999) <= report.latency(1.0)
        );
        assert_eq!((report.clocks, report.clocks_per_second(), report.bus_basis_points()), (None, None, None));
        let counted = BenchReport { clocks: Some(2_000_000), ..report };
        assert_eq!(counted.bus_basis_points(), Some((50, 100)));
        let timed = BenchReport { elapsed: Duration::from_millis(1_600), ..counted };
        assert_eq!(timed.clocks_per_second(), Some(1_250_000));
    }

    #[test]
    fn lanes_share_the_work() {
        let image = known::image().unwrap();
        for lanes in [2, 4, 8] {
            let config = BenchConfig { verdicts: 4_096, streams: 64, attest: false };
            let report = run(ModelCard::with_lanes(lanes).unwrap(), &image, config).unwrap();
            assert_eq!(report.lanes, vec![4_096 / u64::from(lanes); lanes.into()]);
        }
    }
}
