//! Proofs of streams during their session, for the clients that got the answers.

use portcullis_card::driver::{CardSignedCheckpoint, RecordSink, SinkError};
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::wire::{Determination, Record, RecordType};
use portcullis_evidence::bundle::SpanLine;
use portcullis_evidence::cose;
use portcullis_evidence::receipt::HeadProof;
use portcullis_evidence::stream_proof::{CoveringCheckpoint, SessionFiles, StreamProof, StreamRecords};
use portcullis_evidence::tree::{self, MerkleTree};
use portcullis_gate::{StreamEvent, StreamEventKind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zerocopy::IntoBytes;

/// Collects the records and checkpoints of a session for proofs of its streams.
///
/// It gets records and checkpoints from [`ProofBook::sink`], and texts from [`ProofBook::event`]. It keeps 64 bytes per
/// record of the session, and the records and admitted texts of the streams that ended last.
pub struct ProofBook {
    session: SessionFiles,
    streams: usize,
    state: Mutex<ProofBookState>,
    changed: Box<dyn Fn() + Send + Sync>,
}

/// Whether a stream can be proved.
#[derive(Clone, Debug)]
pub enum ProofState {
    Proven(Box<StreamProof>),
    /// The stream has not ended, or no checkpoint covers its end yet.
    Waiting,
    /// There will be no proof: the session ended before the stream did, or the stream is not kept any more.
    Missing,
}

#[derive(Default)]
struct ProofBookState {
    lanes: Vec<ProofLane>,
    /// The last checkpoint whose records have all arrived.
    signed: Option<Signed>,
    /// Checkpoints that arrived before some of their records; the card writes the two into different rings.
    waiting: VecDeque<Signed>,
    /// Streams by lane and index of BEGIN.
    streams: BTreeMap<(u8, u64), ProvableStream>,
    /// For each stream, by its number: the lane and the index of BEGIN.
    numbers: BTreeMap<u64, (u8, u64)>,
    /// Ended streams, the oldest first.
    ended: VecDeque<(u8, u64)>,
    over: bool,
}

#[derive(Default)]
struct ProofLane {
    tree: MerkleTree,
    /// Index of BEGIN for the stream in each slot.
    open: BTreeMap<u16, u64>,
}

struct Signed {
    message: HexBytes<{ cose::MESSAGE_BYTES }>,
    /// For each lane: the number of records that the checkpoint covers, and the proof of the lane's head if the card
    /// has several lanes.
    lanes: Vec<(u64, Option<HeadProof>)>,
}

#[derive(Default)]
struct ProvableStream {
    records: StreamRecords,
    number: Option<u64>,
    end: Option<u64>,
}

impl ProofBook {
    /// A book for a session with the files `session`. It keeps `streams` ended streams. It calls `changed` in the
    /// session's thread after each checkpoint and at the end; `changed` must not block.
    #[must_use]
    pub fn new(session: SessionFiles, streams: usize, changed: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { session, streams, state: Mutex::default(), changed: Box::new(changed) })
    }

    fn state(&self) -> MutexGuard<'_, ProofBookState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sink that adds everything to this book, and passes it on to `kept`.
    #[must_use]
    pub fn sink(self: &Arc<Self>, kept: Box<dyn RecordSink>) -> Box<dyn RecordSink> {
        Box::new(ProofSink { kept, book: Arc::clone(self) })
    }

    pub fn event(&self, event: &StreamEvent) {
        let mut state = self.state();
        let state = &mut *state;
        let mut line = |index: Option<u64>, salt: &str, kind, held: &str, text: &str| {
            let salt = hex::decode(salt).map(HexBytes);
            let stream = state.numbers.get(&event.stream).and_then(|place| state.streams.get_mut(place));
            if let (Some(index), Some(salt), Some(stream)) = (index, salt, stream) {
                stream.records.spans.push(SpanLine { index, salt, kind, held: held.into(), text: text.into() });
            }
        };
        match &event.what {
            StreamEventKind::Begun { context, lane, log_index: Some(index), .. } => {
                let place = (*lane, *index);
                state.numbers.insert(event.stream, place);
                let stream = state.streams.entry(place).or_default();
                stream.number = Some(event.stream);
                stream.records.context = String::from_utf8(context.bytes()).unwrap_or_default();
            }
            StreamEventKind::Determined(judged) if judged.determination.determination == Some(Determination::Admit) => {
                line(judged.log_index, &judged.salt, judged.determination.kind, &judged.inert, &judged.text);
            }
            StreamEventKind::Ended { closing: Some(end), .. } => {
                line(end.log_index, &end.salt, Default::default(), &end.inert, "");
            }
            _ => {}
        }
    }

    /// Whether the stream with the number `number` can be proved.
    #[must_use]
    pub fn proof(&self, number: u64) -> ProofState {
        let state = self.state();
        let waiting = if state.over { ProofState::Missing } else { ProofState::Waiting };
        let Some(place) = state.numbers.get(&number) else { return waiting };
        let Some(ProvableStream { records, end, .. }) = state.streams.get(place) else { return ProofState::Missing };
        let lane = usize::from(place.0);
        let covered = state.signed.as_ref().and_then(|signed| Some((signed, signed.lanes.get(lane)?)));
        let Some((signed, (size, head))) = covered.filter(|(_, (size, _))| end.is_some_and(|end| end < *size)) else {
            return waiting;
        };
        let cover = CoveringCheckpoint { size: *size, head: head.clone(), checkpoint: signed.message };
        let proof = state.lanes.get(lane).and_then(|lane| records.prove(&lane.tree, &cover, &self.session));
        proof.map_or(ProofState::Missing, |proof| ProofState::Proven(Box::new(proof)))
    }

    /// Number of signed records by lane; missing lanes have none.
    #[must_use]
    pub fn signed(&self) -> Vec<u64> {
        self.state().signed.as_ref().map(|s| s.lanes.iter().map(|(size, _)| *size).collect()).unwrap_or_default()
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state().over
    }

    /// Ends the session: streams without a proof will never get one.
    pub fn close(&self) {
        self.state().over = true;
        (self.changed)();
    }

    fn record(&self, record: &Record) {
        let mut state = self.state();
        let state = &mut *state;
        let (lane, index) = (record.answer.lane, record.answer.log_index.get());
        let slot = record.descriptor.slot.get();
        if state.lanes.len() <= usize::from(lane) {
            state.lanes.resize_with(usize::from(lane) + 1, ProofLane::default);
        }
        let Some(log) = state.lanes.get_mut(usize::from(lane)) else { return };
        log.tree.push(tree::leaf(record.as_bytes()));
        let kind = RecordType::try_from(record.answer.record_type);
        let begin = match kind {
            Ok(RecordType::Begin) => {
                log.open.insert(slot, index);
                Some(index)
            }
            Ok(RecordType::Verdict | RecordType::Note) => log.open.get(&slot).copied(),
            Ok(RecordType::End) => log.open.remove(&slot),
            _ => None,
        };
        if let Some(begin) = begin {
            let stream = state.streams.entry((lane, begin)).or_default();
            stream.records.push(record);
            if kind == Ok(RecordType::End) {
                stream.end = Some(index);
                state.ended.push_back((lane, begin));
            }
        }
        while state.ended.len() > self.streams {
            let oldest = state.ended.pop_front().and_then(|place| state.streams.remove(&place));
            if let Some(number) = oldest.and_then(|stream| stream.number) {
                // This place does not exist, so callers learn that the stream is no longer kept.
                state.numbers.entry(number).and_modify(|place| *place = (u8::MAX, u64::MAX));
            }
        }
        self.take_signed(state);
    }

    fn checkpoint(&self, signed: &CardSignedCheckpoint) -> Result<(), SinkError> {
        let message = cose::encode(signed.checkpoint.as_bytes().try_into()?, signed.signature.as_ref().try_into()?);
        let heads = &signed.heads;
        let leaves: Vec<_> = heads.iter().map(|head| tree::leaf(head.as_bytes())).collect();
        let mut nodes = MerkleTree::default();
        leaves.iter().for_each(|leaf| nodes.push(*leaf));
        let proof = |lane: u64, size: u64| {
            let path = nodes.inclusion(lane, heads.len() as u64).unwrap_or_default();
            (heads.len() > 1).then(|| HeadProof { size, path: path.into_iter().map(HexBytes).collect() })
        };
        let lanes = (0..).zip(heads).map(|(lane, head)| (head.size.get(), proof(lane, head.size.get()))).collect();
        let mut state = self.state();
        state.waiting.push_back(Signed { message: HexBytes(message.as_slice().try_into()?), lanes });
        self.take_signed(&mut state);
        Ok(())
    }

    /// Applies the checkpoints whose records have all arrived.
    fn take_signed(&self, state: &mut ProofBookState) {
        let mut came = false;
        let lanes = &state.lanes;
        let is_here = |signed: &mut Signed| {
            let size = |lane: usize| lanes.get(lane).map_or(0, |lane| lane.tree.size());
            signed.lanes.iter().enumerate().all(|(lane, (covered, _))| *covered <= size(lane))
        };
        while let Some(signed) = state.waiting.pop_front_if(is_here) {
            state.signed = Some(signed);
            came = true;
        }
        if came {
            (self.changed)();
        }
    }
}

/// Adds everything to the book, and passes it on.
struct ProofSink {
    kept: Box<dyn RecordSink>,
    book: Arc<ProofBook>,
}

impl RecordSink for ProofSink {
    fn record(&mut self, record: &Record) -> Result<(), SinkError> {
        self.kept.record(record)?;
        self.book.record(record);
        Ok(())
    }

    fn checkpoint(&mut self, signed: &CardSignedCheckpoint) -> Result<(), SinkError> {
        self.kept.checkpoint(signed)?;
        self.book.checkpoint(signed)
    }

    fn nonce(&mut self) -> Result<Option<u64>, SinkError> {
        self.kept.nonce()
    }
}
