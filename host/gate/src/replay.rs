//! Replay: equal policy, context, input and salts give equal descriptors and determinations, byte by byte. If a record
//! differs from the replay, it does not belong to these inputs.
//!
//! A stream is governed again on the software model of the card, whose banks are the software evaluator. Each resulting
//! record is compared with the original record, except for fields that depend on the card: epoch, log index, tick, lane
//! and key flags.

use crate::anchor::{AnchorSet, AnchorStore};
use crate::determination::JudgementSummary;
use crate::end_state::{EndState, leaf};
use crate::engine::{CandidateEngine, EngineError, EngineProposal, EngineView};
use crate::event::{SpanJudgement, StreamEventKind};
use crate::governor::StreamGovernor;
use crate::policy::GatePolicy;
use crate::salt::{SaltKey, SaltSource};
use crate::settings::GateSettings;
use crate::source::StreamInput;
use crate::stream::StreamNumbers;
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, SessionConfig, SessionError};
use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, ContextDocumentError, StreamMode};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::ProfileError;
use portcullis_core::wire::{Fault, Record, RecordType};
use portcullis_image::TableImage;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zerocopy::IntoBytes;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReplayInput {
    /// A whole text; mode `recorded`.
    Text(String),
    /// The engine's answers in order (mode `driven`), or the chunks as they arrived (mode `held`).
    Proposals(Vec<Result<EngineProposal, EngineError>>),
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("record {index}: {what} is not what the replay gives")]
    Differs { index: u64, what: &'static str },
    /// The context document does not have the digest in BEGIN, or is not in this version's encoding.
    #[error("the context document: {0}")]
    Context(String),
    /// A program of another version governed the stream, so this program cannot replay it.
    #[error(
        "the context document is of version {found}, this program replays version {CONTEXT_VERSION}: use the release that wrote it"
    )]
    Version { found: u32 },
    #[error("the anchor store with digest {0} is missing")]
    Anchors(String),
    /// The stream continues a stream that was not replayed, so its initial state is not known.
    #[error("it continues the stream whose last record has the leaf hash {0}, which was not replayed")]
    Predecessor(HexBytes<32>),
    /// Several policies are tried, and none of them has the name of the stream's policy.
    #[error("none of the policies has the name of `{0}`")]
    Policy(String),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The software model of the card failed, which is a defect of this program.
    #[error(transparent)]
    Card(#[from] SessionError),
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamReplay {
    /// Number of original records that are equal to the replay's.
    pub records: u64,
    /// Log index of the first record with a fault of the card. The replay ends before this record, because the card's
    /// software model has no faults.
    pub fault: Option<u64>,
    /// Whether all of the input was judged. Input that was not judged has no record.
    pub consumed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamJudgements {
    pub judgements: Vec<SpanJudgement>,
    /// Totals, and why the stream stopped early, if it did.
    pub summary: Option<JudgementSummary>,
}

/// Final states of streams that others continue, by the leaf hash of END's record.
#[derive(Clone, Debug, Default)]
pub struct EndStateIndex {
    wanted: BTreeSet<HexBytes<32>>,
    made: BTreeMap<HexBytes<32>, Arc<EndState>>,
}

impl EndStateIndex {
    /// Requests that final states of streams are kept. `leaves` are the leaf hashes with which contexts name
    /// predecessors.
    pub fn want(&mut self, leaves: impl IntoIterator<Item = HexBytes<32>>) {
        self.wanted.extend(leaves);
    }

    /// Whether the stream with this hash is continued by another stream.
    #[must_use]
    pub fn is_wanted(&self, leaf: &HexBytes<32>) -> bool {
        self.wanted.contains(leaf)
    }

    /// Whether no stream continues another one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }
}

/// The name by which a successor refers to a stream; `last` is the stream's END record.
#[must_use]
pub fn predecessor_name(last: &Record) -> HexBytes<32> {
    leaf(last)
}

struct Again {
    records: Vec<Record>,
    course: StreamJudgements,
    end: Option<Arc<EndState>>,
    /// Whether all answers of the engine were requested.
    asked: bool,
}

/// An engine that repeats recorded answers.
struct ReplayEngine {
    answers: std::vec::IntoIter<Result<EngineProposal, EngineError>>,
    /// Number of answers that were not requested yet.
    left: Arc<AtomicUsize>,
}

impl CandidateEngine for ReplayEngine {
    fn name(&self) -> String {
        "replay".into()
    }

    fn propose(&mut self, _view: &EngineView<'_>, _attempt: u32) -> Result<EngineProposal, EngineError> {
        let answer = self.answers.next();
        self.left.store(self.answers.len(), Ordering::Relaxed);
        answer.unwrap_or_else(|| Err(EngineError::Gone("no further answer is on record".into())))
    }

    fn advance(&mut self, _admitted: &str) {}

    fn roll_back(&mut self, _steps: usize) {}
}

/// Replays streams under the policies of one image.
pub struct StreamReplayer {
    package_digest: [u8; 32],
    /// Policies, by their names in context documents.
    policies: BTreeMap<String, Arc<GatePolicy>>,
    stores: BTreeMap<HexBytes<32>, AnchorStore>,
    /// Anchor stores that were indexed for earlier streams, by policy and digests of the stores.
    anchors: BTreeMap<(String, Vec<HexBytes<32>>), AnchorSet>,
    session: CardSession<ModelCard>,
    records: Arc<Mutex<Vec<Record>>>,
    ends: EndStateIndex,
}

impl StreamReplayer {
    /// A replayer for these policies of `image`, with these anchor stores. A stream's context document names its
    /// policy. Errors: those of the card's software model.
    pub fn new(
        image: &TableImage,
        policies: impl IntoIterator<Item = Arc<GatePolicy>>,
        stores: Vec<AnchorStore>,
    ) -> Result<Self, SessionError> {
        let records = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&records);
        let sink = move |record: &Record| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(*record);
            Ok(())
        };
        let policies: Vec<_> = policies.into_iter().collect();
        let stride = policies.iter().map(|policy| policy.text_stride_log2()).max();
        let text_stride_log2 = stride.unwrap_or(SessionConfig::default().text_stride_log2);
        let sink = Box::new(sink);
        let config = SessionConfig { ring_log2: 5, log_log2: 5, sink, text_stride_log2, ..SessionConfig::default() };
        let session = CardSession::open(ModelCard::new(), image, config)?;
        let stores = stores.into_iter().map(|store| (HexBytes(store.digest()), store)).collect();
        let policies = policies.into_iter().map(|policy| (policy.package.manifest().reference(), policy)).collect();
        let package_digest = image.header().package_digest;
        Ok(Self {
            package_digest,
            policies,
            stores,
            anchors: BTreeMap::new(),
            session,
            records,
            ends: EndStateIndex::default(),
        })
    }

    /// Sets the final states that are known, and the hashes of final states to keep.
    #[must_use]
    pub fn with_ends(mut self, ends: EndStateIndex) -> Self {
        self.ends = ends;
        self
    }

    #[must_use]
    pub fn into_ends(self) -> EndStateIndex {
        self.ends
    }

    /// Whether the final state of the stream with this hash is known.
    #[must_use]
    pub fn has_end(&self, leaf: &HexBytes<32>) -> bool {
        self.ends.made.contains_key(leaf)
    }

    /// Replays a stream. `recorded` are its records in order, BEGIN first; `salts` are the salts of its entries, by
    /// sequence. Errors: [`ReplayError`], with the first record that differs.
    pub fn stream(
        &mut self,
        context: &[u8],
        input: ReplayInput,
        salts: BTreeMap<u32, [u8; 16]>,
        recorded: &[Record],
    ) -> Result<(StreamReplay, StreamJudgements), ReplayError> {
        let Some(begin) = recorded.first() else {
            return Ok((StreamReplay { records: 0, fault: None, consumed: true }, StreamJudgements::default()));
        };
        let (document, policy) = self.document(context, begin, &input)?;
        // A NOTE contains the digest of other data, so the replay copies it.
        let is_note = |record: &&Record| record.answer.record_type == u8::from(RecordType::Note);
        let notes = recorded.iter().filter(is_note).map(|r| (r.descriptor.sequence.get(), r.descriptor.commitment));
        let seat = StreamNumbers { number: 0, salted: 0, slot: begin.descriptor.slot.get() };
        let again = self.govern(policy, document, input, (SaltSource::Disclosed(salts), notes.collect(), seat))?;
        let compared = compare(recorded, &again.records)?;
        let last = recorded.last().filter(|last| last.answer.record_type == u8::from(RecordType::End));
        if let (Some(last), Some(end), None) = (last, &again.end, compared.fault) {
            self.keep(leaf(last), end);
        }
        Ok((StreamReplay { consumed: compared.consumed && again.asked, ..compared }, again.course))
    }

    /// Judges a stream of another package under these policies, with the stream's own settings, profile, task, anchors
    /// and input. If there is only one policy, it judges every stream; otherwise the policy with the name of the
    /// stream's policy does. The engine repeats its recorded answers: after a determination that differs from the
    /// record, a real engine might have answered differently. `name` is the hash of the stream's END; streams that
    /// continue this stream start from the state at the end of this trial.
    pub fn trial(
        &mut self,
        context: &[u8],
        input: ReplayInput,
        name: Option<HexBytes<32>>,
    ) -> Result<StreamJudgements, ReplayError> {
        let document = parse(context)?;
        fits(document.mode, &input)?;
        let member = member(&document.policy);
        let is_alone = self.policies.len() == 1;
        let found = self.policies.iter().find(|(reference, _)| is_alone || self::member(reference) == member);
        let policy = found.map(|(_, policy)| Arc::clone(policy));
        let policy = policy.ok_or_else(|| ReplayError::Policy(member.to_owned()))?;
        let salts = SaltSource::Key(SaltKey::from_bytes([0; 32]));
        let seat = StreamNumbers { number: 0, salted: 0, slot: 0 };
        let again = self.govern(policy, document, input, (salts, BTreeMap::new(), seat))?;
        if let (Some(name), Some(end)) = (name, &again.end) {
            self.keep(name, end);
        }
        Ok(again.course)
    }

    fn keep(&mut self, name: HexBytes<32>, end: &EndState) {
        if self.ends.is_wanted(&name) {
            self.ends.made.insert(name, Arc::new(end.named(name)));
        }
    }

    fn govern(
        &mut self,
        policy: Arc<GatePolicy>,
        document: ContextDocument,
        input: ReplayInput,
        (salts, notes, seat): (SaltSource, BTreeMap<u32, [u8; 32]>, StreamNumbers),
    ) -> Result<Again, ReplayError> {
        let anchors = self.anchors(&document, &policy)?;
        let predecessor = match document.predecessor {
            Some(name) => Some(self.ends.made.get(&name).cloned().ok_or(ReplayError::Predecessor(name))?),
            None => None,
        };
        let ContextDocument { id, task, .. } = document;
        let (item, answers) = match input {
            ReplayInput::Text(text) => (StreamInput::Text { id, text, task }, Vec::new()),
            ReplayInput::Proposals(given) if matches!(document.mode, StreamMode::Held | StreamMode::Observed) => {
                (StreamInput::Given { id, given, task }, Vec::new())
            }
            ReplayInput::Proposals(answers) => (StreamInput::Prompt { id, task }, answers),
        };
        let settings = GateSettings {
            granularity: Some(document.granularity),
            on_refuse: Some(document.on_refuse),
            release: document.release,
            max_proposals: document.max_proposals,
            profile: document.profile,
            ..GateSettings::new(salts)
        };
        let left = Arc::new(AtomicUsize::new(answers.len()));
        let counted = Arc::clone(&left);
        let again = move || -> Box<dyn CandidateEngine> {
            Box::new(ReplayEngine { answers: answers.clone().into_iter(), left: Arc::clone(&counted) })
        };
        let governor = StreamGovernor::new(policy, settings)?
            .with_anchors(anchors)
            .with_notes(notes)
            .with_replay(Arc::new(again), document.mode);
        let governor = match predecessor {
            Some(end) => {
                let other = || ReplayError::Context("it continues a stream of another policy or profile".to_owned());
                governor.continuing(&end).ok_or_else(other)?
            }
            None => governor,
        };
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let (mut course, mut end) = (StreamJudgements::default(), None);
        Arc::new(governor).govern_one(&mut self.session, seat, item, |event| {
            match event.what {
                StreamEventKind::Determined(judgement) => course.judgements.push(*judgement),
                StreamEventKind::Ended { summary, state, .. } => (course.summary, end) = (Some(summary), state),
                _ => {}
            }
            Ok::<(), SessionError>(())
        })?;
        let records = std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Again { records, course, end, asked: left.load(Ordering::Relaxed) == 0 })
    }

    fn document(
        &self,
        bytes: &[u8],
        begin: &Record,
        input: &ReplayInput,
    ) -> Result<(ContextDocument, Arc<GatePolicy>), ReplayError> {
        let wrong = |what: &str| ReplayError::Context(what.to_owned());
        if <[u8; 32]>::from(Sha256::digest(bytes)) != begin.descriptor.commitment {
            return Err(wrong("not the one that BEGIN bound"));
        }
        let document = parse(bytes)?;
        if document.package_digest.0 != self.package_digest {
            return Err(wrong("of another policy package"));
        }
        let Some(policy) = self.policies.get(&document.policy).map(Arc::clone) else {
            return Err(wrong("it names a policy that the package does not hold"));
        };
        fits(document.mode, input)?;
        Ok((document, policy))
    }

    fn anchors(&mut self, document: &ContextDocument, policy: &GatePolicy) -> Result<AnchorSet, ReplayError> {
        let key = (document.policy.clone(), document.anchor_digests.clone());
        if let Some(anchors) = self.anchors.get(&key) {
            return Ok(anchors.clone());
        }
        let store = |digest: &HexBytes<32>| {
            self.stores.get(digest).cloned().ok_or_else(|| ReplayError::Anchors(digest.to_string()))
        };
        let stores = document.anchor_digests.iter().map(store).collect::<Result<Vec<_>, _>>()?;
        let anchors = AnchorSet::new(stores, &policy.mapper);
        self.anchors.insert(key, anchors.clone());
        Ok(anchors)
    }
}

/// The name of a stream's policy, from a reference `name version` or `composition version/name`.
fn member(reference: &str) -> &str {
    match reference.rsplit_once('/') {
        Some((_, member)) => member,
        None => reference.split(' ').next().unwrap_or_default(),
    }
}

fn parse(context: &[u8]) -> Result<ContextDocument, ReplayError> {
    ContextDocument::parse(context).map_err(|error| match error {
        ContextDocumentError::Version { found } => ReplayError::Version { found },
        ContextDocumentError::Malformed(what) => ReplayError::Context(what),
    })
}

/// Checks that the input is of the kind that streams of this mode have.
fn fits(mode: StreamMode, input: &ReplayInput) -> Result<(), ReplayError> {
    let is_text = matches!(input, ReplayInput::Text(_));
    if is_text == (mode == StreamMode::Recorded) {
        Ok(())
    } else {
        Err(ReplayError::Context("its mode does not fit the input".to_owned()))
    }
}

/// Compares every original record with the replay's record at the same place. A stream of an interrupted session may
/// lack its END. After a record with a fault, only END may follow.
fn compare(recorded: &[Record], replayed: &[Record]) -> Result<StreamReplay, ReplayError> {
    let mut records = 0;
    let is_refused = |record: &Record| record.answer.fault.get() != u16::from(Fault::None);
    for (at, record) in recorded.iter().enumerate() {
        let index = record.answer.log_index.get();
        let differs = |what| Err(ReplayError::Differs { index, what });
        if is_refused(record) {
            let mut after = recorded.iter().skip(at).filter(|record| !is_refused(record));
            let end = after.next();
            let ends = end.is_none_or(|record| record.answer.record_type == u8::from(RecordType::End));
            if !ends || after.next().is_some() {
                return differs("what follows a refused entry");
            }
            return Ok(StreamReplay { records, fault: Some(index), consumed: true });
        }
        let Some(again) = replayed.get(at) else { return differs("that there is one") };
        if record.descriptor.as_bytes() != again.descriptor.as_bytes() {
            return differs("the descriptor");
        }
        let (a, b) = (&record.answer, &again.answer);
        if (a.record_type, a.determination, a.stage) != (b.record_type, b.determination, b.stage) {
            return differs("the determination");
        }
        if (a.policy_row, a.entropy_row) != (b.policy_row, b.entropy_row) {
            return differs("a deciding row");
        }
        if (a.text_classes, a.text_established) != (b.text_classes, b.text_established) {
            return differs("the classes that the card found");
        }
        records += 1;
    }
    let ended = recorded.last().is_some_and(|r| r.answer.record_type == u8::from(RecordType::End));
    if ended && replayed.len() > recorded.len() {
        let index = recorded.last().map_or(0, |r| r.answer.log_index.get());
        return Err(ReplayError::Differs { index, what: "the end of the stream" });
    }
    // An interrupted stream may lack its END, but nothing else.
    Ok(StreamReplay { records, fault: None, consumed: ended || replayed.len() <= recorded.len() + 1 })
}
