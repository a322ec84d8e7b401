//! Proof of one whole stream: its records from BEGIN to END, their inclusion in a signed checkpoint, its context
//! document, and the admitted texts. The reader of an answer can check, without the bundle, that no text was added,
//! left out, reordered or taken from another stream.

use crate::format::bundle::{self, Bundle, BundleError, BundleFiles, SpanLine};
use crate::format::certificate::DeviceCertificate;
use crate::format::log;
use crate::format::tree::{self, MerkleTree, PROOF_MAX};
use crate::receipt::{
    Attestation, Attested, HeadProof, ProveError, ReceiptError, covering, has_known_flags, head_proof,
};
use crate::verify::{SignerIdentity, TrustedParties, VerifyOptions, is_cut};
use portcullis_core::commitment::SpanKind;
use portcullis_core::context::ContextDocument;
use portcullis_core::hex::HexBytes;
use portcullis_core::inert::is_formatting;
use portcullis_core::json;
use portcullis_core::wire::{Determination, Opcode, Record, RecordType};
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, IntoBytes};

pub const SCHEMA: &str = "portcullis/stream-proof/1";
/// Largest proof in bytes.
pub const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamProof {
    pub schema: String,
    /// The context document whose digest is in BEGIN, in canonical encoding.
    pub context: String,
    /// The accepted records of the stream, in the order of the log.
    pub records: Vec<ProvenRecord>,
    /// The texts of the stream's admits and of END, in the order of their records. Refused texts are not included.
    pub spans: Vec<SpanLine>,
    /// The lane's head in the checkpoint; absent if the card has one lane.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "head_proof")]
    pub head: Option<HeadProof>,
    /// COSE message of the checkpoint that covers the records.
    pub checkpoint: HexBytes<{ crate::format::cose::MESSAGE_BYTES }>,
    /// The session's ticket, hexadecimal.
    pub ticket: String,
    /// Device certificate, PEM.
    pub certificate: String,
    /// Intermediates, PEM; may be empty.
    pub chain: String,
}

/// One record of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenRecord {
    /// The record, 192 bytes.
    pub record: HexBytes<{ log::BYTES }>,
    /// Inclusion proof of the record's leaf in the lane's tree (RFC 9162, 2.1.3), the leaf's sibling first.
    pub path: Vec<HexBytes<32>>,
}

/// A piece of the released text of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleasedPiece {
    Text(String),
    /// A tool call, in its canonical text.
    Call(String),
}

/// The facts that a proof shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFacts {
    /// Serial of the session's ticket.
    pub serial: u64,
    /// The context document of the stream.
    pub context: ContextDocument,
    /// The admitted pieces, in order. Adjacent texts are joined.
    pub released: Vec<ReleasedPiece>,
    /// Mutations that the card admitted.
    pub admitted: u64,
    /// Mutations that the card did not admit.
    pub refused: u64,
    pub device: DeviceCertificate,
    pub issuer: SignerIdentity,
    /// Whether the evidence has any mark of a simulated card.
    pub simulated: bool,
}

/// The records of a stream that no checkpoint covers yet.
#[derive(Clone, Debug, Default)]
pub struct StreamRecords {
    pub context: String,
    /// In the order of the log.
    pub records: Vec<Record>,
    /// Texts of the records, in the order of the records.
    pub spans: Vec<SpanLine>,
}

/// The checkpoint that covers a stream's records.
#[derive(Clone, Debug)]
pub struct CoveringCheckpoint {
    /// Number of records in the lane's tree.
    pub size: u64,
    /// The lane's head in the checkpoint; absent if the card has one lane.
    pub head: Option<HeadProof>,
    pub checkpoint: HexBytes<{ crate::format::cose::MESSAGE_BYTES }>,
}

/// The files of a session that every proof includes.
#[derive(Clone, Debug)]
pub struct SessionFiles {
    /// The ticket, as it was issued.
    pub ticket: Vec<u8>,
    /// Device certificate, PEM.
    pub certificate: String,
    /// Intermediates, PEM.
    pub chain: String,
}

/// Makes the proof of the stream that began with record `begin` of a lane. Errors: [`ProveError`], also if no
/// checkpoint covers the stream to its END.
pub fn prove_stream(files: &dyn BundleFiles, lane: u8, begin: u64) -> Result<StreamProof, ProveError> {
    let bundle = Bundle::open(files)?;
    if lane >= bundle.lanes() {
        return Err(ProveError::NotCovered { lane, index: begin });
    }
    let mut tree = MerkleTree::default();
    let mut stream = StreamRecords::default();
    let mut over = false;
    let mut records = bundle.records(lane)?;
    let failed = |error| ProveError::from(BundleError::io(&bundle::in_lane(bundle::RECORDS, lane))(error));
    while let Some(record) = log::read(&mut records).map_err(failed)? {
        let index = tree.size();
        tree.push(tree::leaf(record.as_bytes()));
        let is_begin = RecordType::try_from(record.answer.record_type) == Ok(RecordType::Begin);
        let slot = stream.records.first().map(|first| first.descriptor.slot);
        if (index == begin && is_begin) || (!over && slot == Some(record.descriptor.slot) && is_accepted(&record)) {
            over = RecordType::try_from(record.answer.record_type) == Ok(RecordType::End);
            stream.records.push(record);
        }
    }
    let last = stream.records.last().filter(|_| over).map(|record| record.answer.log_index.get());
    let (serial, size, head) = covering(&bundle, lane, last.ok_or(ProveError::NoStream { lane, index: begin })?)?;
    let first = stream.records.first().map(|record| record.descriptor.commitment).unwrap_or_default();
    let text = |name: &str, bytes| String::from_utf8(bytes).map_err(|_| ProveError::NoText(name.to_owned()));
    stream.context = text(&bundle::context(&first), bundle.read(&bundle::context(&first))?)?;
    let mut lines = bundle.spans(lane)?;
    while let Some(index) = lines.rest()? {
        let line = lines.about(index)?;
        let is_here = stream.records.iter().any(|record| record.answer.log_index.get() == index);
        stream.spans.extend(line.filter(|_| is_here));
    }
    let session = SessionFiles {
        ticket: bundle.read(bundle::TICKET)?,
        certificate: text(bundle::CERTIFICATE, bundle.read(bundle::CERTIFICATE)?)?,
        chain: text(bundle::CHAIN, bundle.read(bundle::CHAIN)?)?,
    };
    let message = bundle.read(&bundle::checkpoint(serial))?;
    let checkpoint = message.try_into().map_err(|_| ProveError::Log(size))?;
    stream
        .prove(&tree, &CoveringCheckpoint { size, head, checkpoint: HexBytes(checkpoint) }, &session)
        .ok_or(ProveError::Log(size))
}

/// Whether a record shows that the card accepted its entry.
fn is_accepted(record: &Record) -> bool {
    let accepted = [RecordType::Begin, RecordType::Verdict, RecordType::Note, RecordType::End];
    RecordType::try_from(record.answer.record_type).is_ok_and(|kind| accepted.contains(&kind))
}

fn is_admit(record: &Record) -> bool {
    Determination::try_from(record.answer.determination) == Ok(Determination::Admit)
}

impl StreamRecords {
    /// Adds a record if it is an accepted record of this stream.
    pub fn push(&mut self, record: &Record) {
        if is_accepted(record) {
            self.records.push(*record);
        }
    }

    /// Makes the proof under a checkpoint that covers the lane's first `cover.size` records; `None` if it does not
    /// cover all records of the stream.
    #[must_use]
    pub fn prove(&self, tree: &MerkleTree, cover: &CoveringCheckpoint, session: &SessionFiles) -> Option<StreamProof> {
        let proven = |record: &Record| {
            let path = tree.inclusion(record.answer.log_index.get(), cover.size)?;
            Some(ProvenRecord {
                record: HexBytes(zerocopy::transmute!(*record)),
                path: path.into_iter().map(HexBytes).collect(),
            })
        };
        let leaves = |line: &&SpanLine| {
            let record = self.records.iter().find(|record| record.answer.log_index.get() == line.index);
            let kind = record.map(|record| (record, RecordType::try_from(record.answer.record_type)));
            kind.is_some_and(|(record, kind)| kind == Ok(RecordType::End) || is_admit(record))
        };
        Some(StreamProof {
            schema: SCHEMA.to_owned(),
            context: self.context.clone(),
            records: self.records.iter().map(proven).collect::<Option<_>>()?,
            spans: self.spans.iter().filter(leaves).cloned().collect(),
            head: cover.head.clone(),
            checkpoint: cover.checkpoint,
            ticket: portcullis_core::hex::encode(&session.ticket),
            certificate: session.certificate.clone(),
            chain: session.chain.clone(),
        })
    }
}

impl StreamProof {
    /// Parses a proof. Errors: [`ReceiptError::Malformed`].
    pub fn parse(text: &[u8]) -> Result<Self, ReceiptError> {
        if text.len() > MAX_BYTES {
            return Err(ReceiptError::Malformed(format!("longer than {MAX_BYTES} bytes")));
        }
        let proof: Self = json::from_slice(text).map_err(|error| ReceiptError::Malformed(error.to_string()))?;
        if proof.schema != SCHEMA || proof.records.iter().any(|record| record.path.len() > PROOF_MAX) {
            return Err(ReceiptError::Malformed("another schema, or a path that is too long".to_owned()));
        }
        Ok(proof)
    }

    /// Checks the proof and returns the facts about the stream.
    pub fn check(&self, trust: &TrustedParties, options: VerifyOptions) -> Result<StreamFacts, ReceiptError> {
        let attestation = Attestation {
            head: self.head.as_ref(),
            checkpoint: &self.checkpoint,
            ticket: &self.ticket,
            certificate: &self.certificate,
            chain: &self.chain,
        };
        let Attested { serial, device, issuer, simulated } = attestation.check(trust, options)?;
        let context = ContextDocument::parse(self.context.as_bytes())
            .map_err(|error| ReceiptError::Malformed(format!("the context document: {error}")))?;
        let facts =
            StreamFacts { serial, context, released: Vec::new(), admitted: 0, refused: 0, device, issuer, simulated };
        self.check_records(&attestation, facts)
    }

    /// Checks that the records are all records of one stream; the card numbers its entries without a gap.
    fn check_records(
        &self,
        attestation: &Attestation<'_>,
        mut facts: StreamFacts,
    ) -> Result<StreamFacts, ReceiptError> {
        let mut spans = self.spans.iter();
        let mut before: Option<Record> = None;
        let mut over = false;
        for ProvenRecord { record: bytes, path } in &self.records {
            let record = Record::read_from_bytes(&bytes.0).map_err(|_| ReceiptError::NotIncluded)?;
            let (entry, answer) = (&record.descriptor, &record.answer);
            let index = answer.log_index.get();
            let kind = RecordType::try_from(answer.record_type).map_err(|_| ReceiptError::NotOneStream)?;
            let follows = match before {
                None => kind == RecordType::Begin && entry.sequence.get() == 0,
                Some(last) => {
                    kind != RecordType::Begin
                        && !over
                        && last.answer.lane == answer.lane
                        && last.answer.epoch == answer.epoch
                        && last.answer.log_index.get() < index
                        && last.descriptor.slot == entry.slot
                        && last.descriptor.sequence.get().checked_add(1) == Some(entry.sequence.get())
                }
            };
            if !follows || !is_accepted(&record) {
                return Err(ReceiptError::NotOneStream);
            }
            if kind == RecordType::Verdict && !has_known_flags(&record) {
                return Err(ReceiptError::UnknownFlags);
            }
            attestation.check_inclusion(bytes, path, answer.lane, index)?;
            match kind {
                RecordType::Begin if entry.commitment != facts.context.digest() => {
                    return Err(ReceiptError::OtherContext);
                }
                RecordType::Verdict if !is_admit(&record) => facts.refused += 1,
                RecordType::Verdict | RecordType::End => {
                    let line = spans.next().filter(|line| line.index == index).ok_or(ReceiptError::Withheld(index))?;
                    let opcode = if kind == RecordType::End { Opcode::End } else { Opcode::Gate };
                    if line.commitment() != entry.commitment || !is_cut(line, opcode, &record) {
                        return Err(ReceiptError::OtherText);
                    }
                    over = kind == RecordType::End;
                    facts.admitted += u64::from(!over);
                    facts.release(line, over)?;
                }
                _ => {}
            }
            before = Some(record);
        }
        match (over, spans.next()) {
            (true, None) => Ok(facts),
            (true, Some(line)) => Err(ReceiptError::Withheld(line.index)),
            (false, _) => Err(ReceiptError::NotOneStream),
        }
    }
}

impl StreamFacts {
    /// Adds the released text of one record. After the last span only formatting is released, which no rule judges.
    fn release(&mut self, line: &SpanLine, is_end: bool) -> Result<(), ReceiptError> {
        if is_end && !is_formatting(&line.held) {
            return Err(ReceiptError::NotJudged);
        }
        self.text(&line.held);
        match line.kind {
            SpanKind::Text => self.text(&line.text),
            SpanKind::Call => self.released.push(ReleasedPiece::Call(line.text.clone())),
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        match self.released.last_mut() {
            _ if text.is_empty() => {}
            Some(ReleasedPiece::Text(before)) => before.push_str(text),
            _ => self.released.push(ReleasedPiece::Text(text.to_owned())),
        }
    }
}
