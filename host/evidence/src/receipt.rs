//! Proof of one released span: its record, the inclusion of that record in a signed checkpoint, and the card's
//! certificate. It is one small JSON file that the reader of the span can check without the bundle.

use crate::format::bundle::{self, Bundle, BundleError, BundleFiles, Receipt};
use crate::format::certificate::{self, CertificateError, DeviceCertificate};
use crate::format::checkpoint::{CheckpointError, CoseCheckpoint, head};
use crate::format::log;
use crate::format::ticket::{SessionTicket, TicketError};
use crate::format::tree::{self, MerkleProver, PROOF_MAX};
use crate::verify::{SignerIdentity, TrustedParties, VerifyOptions, marks_of_simulation};
use portcullis_core::commitment::commitment;
use portcullis_core::hex::HexBytes;
use portcullis_core::inert::is_formatting;
use portcullis_core::json;
use portcullis_core::wire::{Determination, Record, RecordType, flags};
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, IntoBytes};

pub const SCHEMA: &str = "portcullis/receipt-proof/1";
/// Largest proof in bytes.
pub const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptProof {
    pub schema: String,
    /// The record, 192 bytes.
    pub record: HexBytes<{ log::BYTES }>,
    /// Inclusion proof of the record's leaf in the lane's tree (RFC 9162, 2.1.3), the leaf's sibling first.
    pub path: Vec<HexBytes<32>>,
    /// The lane's head in the checkpoint; absent if the card has one lane.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "head_proof")]
    pub head: Option<HeadProof>,
    /// COSE message of the checkpoint that covers the record.
    pub checkpoint: HexBytes<{ crate::format::cose::MESSAGE_BYTES }>,
    /// The session's ticket, hexadecimal.
    pub ticket: String,
    /// Device certificate, PEM.
    pub certificate: String,
    /// Intermediates, PEM; may be empty.
    pub chain: String,
}

/// Reads a head, which must be an object. A proof without a head does not have the key; `null` is refused.
pub(crate) fn head_proof<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<HeadProof>, D::Error> {
    json::object(from).map(Some)
}

/// Proves the head of the record's lane under a checkpoint of several lanes. The lane's root is not included: it is
/// computed from the record's path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadProof {
    /// Records in the lane's tree.
    pub size: u64,
    /// Inclusion proof of the head in the tree over the heads of all lanes, the head's sibling first.
    pub path: Vec<HexBytes<32>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error("checkpoint {0}: {1}")]
    Checkpoint(u64, CheckpointError),
    #[error("no checkpoint of the bundle covers record {index} of lane {lane}")]
    NotCovered { lane: u8, index: u64 },
    #[error("the log ends before the {0} records that the checkpoint covers")]
    Log(u64),
    #[error("`{0}` is not text")]
    NoText(String),
    #[error("no stream that has ended began with record {index} of lane {lane}")]
    NoStream { lane: u8, index: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    #[error("this is not a proof of a receipt: {0}")]
    Malformed(String),
    #[error("the proof is of record {} of lane {}, the receipt names record {} of lane {}", .found.1, .found.0, .named.1, .named.0)]
    OtherRecord {
        /// Lane and log index of the proved record.
        found: (u8, u64),
        named: (u8, u64),
    },
    #[error("the receipt is of session {named}, the proof is of session {found}")]
    OtherSession { found: u64, named: u64 },
    #[error("the record admits nothing: what was released was not admitted")]
    NotAdmitted,
    /// A flag may change what an admit means, so an unknown one makes the record unreadable.
    #[error("the record has flags that this program does not know")]
    UnknownFlags,
    #[error("the record is the END of a stream: no one judged these bytes, and they are more than formatting")]
    NotJudged,
    #[error("the text is not the one that the card admitted")]
    OtherText,
    #[error("the record is not among those that the checkpoint signs")]
    NotIncluded,
    #[error("the records are not all those of one stream, from its BEGIN to its END")]
    NotOneStream,
    #[error("the context document is not the one that the stream's BEGIN bound")]
    OtherContext,
    /// The text of an admit is missing, or a text has no admit.
    #[error("the texts are not those of the stream's admits: record {0}")]
    Withheld(u64),
    #[error("the checkpoint: {0}")]
    Checkpoint(#[from] CheckpointError),
    #[error("the checkpoint is not signed by the certified card under this ticket")]
    NotSigned,
    #[error("the certificate: {0}")]
    Certificate(#[from] CertificateError),
    #[error("the ticket: {0}")]
    Ticket(#[from] TicketError),
    #[error("simulated: {0}")]
    Simulated(&'static str),
}

/// The card's decision about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStanding {
    Admitted,
    /// Formatting after the last span of a stream: the card logged its commitment, but no rule judged it.
    NotJudged,
}

/// The facts that a proof shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptFacts {
    pub standing: ReceiptStanding,
    pub device: DeviceCertificate,
    pub issuer: SignerIdentity,
    /// Whether the evidence has any mark of a simulated card.
    pub simulated: bool,
}

/// Makes the proof for record `index` of a lane.
pub fn prove(files: &dyn BundleFiles, lane: u8, index: u64) -> Result<ReceiptProof, ProveError> {
    let bundle = Bundle::open(files)?;
    if lane >= bundle.lanes() {
        return Err(ProveError::NotCovered { lane, index });
    }
    let (serial, size, head) = covering(&bundle, lane, index)?;
    let mut prover = MerkleProver::inclusion(index, size).ok_or(ProveError::NotCovered { lane, index })?;
    let mut log = bundle.records(lane)?;
    let mut wanted = Record::ZERO;
    for at in 0..size {
        let record = match log::read(&mut log) {
            Ok(Some(record)) => record,
            Ok(None) => return Err(ProveError::Log(size)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(ProveError::Log(size)),
            Err(error) => return Err(BundleError::io(&bundle::in_lane(bundle::RECORDS, lane))(error).into()),
        };
        prover.push(tree::leaf(record.as_bytes()));
        if at == index {
            wanted = record;
        }
    }
    let text = |name| String::from_utf8(bundle.read(name)?).map_err(|_| ProveError::NoText(name.to_owned()));
    let path = prover.finish().ok_or(ProveError::Log(size))?;
    let message = bundle.read(&bundle::checkpoint(serial))?;
    Ok(ReceiptProof {
        schema: SCHEMA.to_owned(),
        record: HexBytes(zerocopy::transmute!(wanted)),
        path: path.into_iter().map(HexBytes).collect(),
        head,
        checkpoint: HexBytes(message.try_into().map_err(|_| ProveError::Checkpoint(serial, CheckpointError::Message))?),
        ticket: portcullis_core::hex::encode(&bundle.read(bundle::TICKET)?),
        certificate: text(bundle::CERTIFICATE)?,
        chain: text(bundle::CHAIN)?,
    })
}

/// The first checkpoint that covers record `index` of a lane: its serial, the lane's size under it, and the proof of
/// the lane's head.
pub(crate) fn covering(bundle: &Bundle<'_>, lane: u8, index: u64) -> Result<(u64, u64, Option<HeadProof>), ProveError> {
    let mut heads = bundle.heads()?;
    for serial in 0..bundle.checkpoints() {
        let (size, proof) = match &mut heads {
            Some(heads) => {
                let heads = heads.read()?;
                let size = heads.get(usize::from(lane)).map_or(0, |head| head.size.get());
                let mut prover = MerkleProver::inclusion(lane.into(), heads.len() as u64);
                heads.iter().for_each(|head| prover.iter_mut().for_each(|p| p.push(tree::leaf(head.as_bytes()))));
                let path =
                    prover.and_then(MerkleProver::finish).unwrap_or_default().into_iter().map(HexBytes).collect();
                (size, Some(HeadProof { size, path }))
            }
            None => {
                let signed = CoseCheckpoint::parse(&bundle.read(&bundle::checkpoint(serial))?);
                (signed.map_err(|error| ProveError::Checkpoint(serial, error))?.checkpoint.wire.size.get(), None)
            }
        };
        if size > index {
            return Ok((serial, size, proof));
        }
    }
    Err(ProveError::NotCovered { lane, index })
}

impl ReceiptProof {
    /// Parses a proof. Errors: [`ReceiptError::Malformed`].
    pub fn parse(text: &[u8]) -> Result<Self, ReceiptError> {
        if text.len() > MAX_BYTES {
            return Err(ReceiptError::Malformed(format!("longer than {MAX_BYTES} bytes")));
        }
        let proof: Self = json::from_slice(text).map_err(|error| ReceiptError::Malformed(error.to_string()))?;
        if proof.schema != SCHEMA || proof.path.len() > PROOF_MAX {
            return Err(ReceiptError::Malformed("another schema, or a path that is too long".to_owned()));
        }
        Ok(proof)
    }

    /// Checks this proof against `receipt` and `text` (the released bytes with the inert bytes before them). Returns
    /// the card's decision.
    pub fn check(
        &self,
        receipt: &Receipt,
        text: &[u8],
        trust: &TrustedParties,
        options: VerifyOptions,
    ) -> Result<ReceiptFacts, ReceiptError> {
        let record = Record::read_from_bytes(&self.record.0).map_err(|_| ReceiptError::NotIncluded)?;
        let answer = &record.answer;
        let (found, named) = ((answer.lane, answer.log_index.get()), (receipt.lane, receipt.index));
        if found != named {
            return Err(ReceiptError::OtherRecord { found, named });
        }
        let kind = (RecordType::try_from(answer.record_type), Determination::try_from(answer.determination));
        let standing = match kind {
            (Ok(RecordType::Verdict), Ok(Determination::Admit)) => ReceiptStanding::Admitted,
            (Ok(RecordType::End), _) => ReceiptStanding::NotJudged,
            _ => return Err(ReceiptError::NotAdmitted),
        };
        if standing == ReceiptStanding::Admitted && !has_known_flags(&record) {
            return Err(ReceiptError::UnknownFlags);
        }
        if commitment(receipt.kind, &receipt.salt.0, &[text]) != record.descriptor.commitment {
            return Err(ReceiptError::OtherText);
        }
        if standing == ReceiptStanding::NotJudged && !std::str::from_utf8(text).is_ok_and(is_formatting) {
            return Err(ReceiptError::NotJudged);
        }
        let attestation = Attestation {
            head: self.head.as_ref(),
            checkpoint: &self.checkpoint,
            ticket: &self.ticket,
            certificate: &self.certificate,
            chain: &self.chain,
        };
        let attested = attestation.check(trust, options)?;
        attestation.check_inclusion(&self.record, &self.path, receipt.lane, receipt.index)?;
        if attested.serial != receipt.serial {
            return Err(ReceiptError::OtherSession { found: attested.serial, named: receipt.serial });
        }
        let Attested { device, issuer, simulated, .. } = attested;
        Ok(ReceiptFacts { standing, device, issuer, simulated })
    }
}

/// Whether the entry of a record has no flag but those of this layout.
pub(crate) fn has_known_flags(record: &Record) -> bool {
    u16::from(record.descriptor.flags) & !flags::ALL == 0
}

/// A signed checkpoint with the certificate and the ticket that support it.
pub(crate) struct Attestation<'a> {
    /// The lane's head, if there are several lanes.
    pub(crate) head: Option<&'a HeadProof>,
    pub(crate) checkpoint: &'a HexBytes<{ crate::format::cose::MESSAGE_BYTES }>,
    /// Hexadecimal.
    pub(crate) ticket: &'a str,
    /// PEM, like `chain`.
    pub(crate) certificate: &'a str,
    pub(crate) chain: &'a str,
}

pub(crate) struct Attested {
    pub(crate) serial: u64,
    pub(crate) device: DeviceCertificate,
    pub(crate) issuer: SignerIdentity,
    pub(crate) simulated: bool,
}

impl Attestation<'_> {
    /// Checks that a trusted card signed the checkpoint under a valid ticket.
    pub(crate) fn check(&self, trust: &TrustedParties, options: VerifyOptions) -> Result<Attested, ReceiptError> {
        let signed = CoseCheckpoint::parse(&self.checkpoint.0)?;
        let wire = &signed.checkpoint.wire;
        let ticket = crate::hex::decode_vec(self.ticket)
            .ok_or_else(|| ReceiptError::Malformed("ticket is not hexadecimal".to_owned()))?;
        let ticket = SessionTicket::parse(&ticket)?;
        let issuer = trust.issuer(&ticket, options.at)?;
        let device =
            certificate::verify_chain(self.certificate.as_bytes(), self.chain.as_bytes(), &trust.roots, options.at)?;
        let marks = marks_of_simulation(Some(&device), Some(&signed));
        if let Some((_, what)) = marks.first().filter(|_| !options.allow_sim) {
            return Err(ReceiptError::Simulated(what));
        }
        let bound = wire.ticket_digest == ticket.digest
            && wire.design_id == device.design_id
            && ticket.content.key == certificate::key_id(&device.public_key)
            && ticket.content.policy == wire.policy_digest;
        if !bound || !signed.verify(&device.public_key) {
            return Err(ReceiptError::NotSigned);
        }
        Ok(Attested { serial: ticket.content.serial, device, issuer, simulated: !marks.is_empty() })
    }

    /// Checks the record's inclusion in two steps: the path leads from the record to its lane's root, and the head with
    /// that root must be in the tree whose root the checkpoint signs.
    pub(crate) fn check_inclusion(
        &self,
        record: &HexBytes<{ log::BYTES }>,
        path: &[HexBytes<32>],
        lane: u8,
        index: u64,
    ) -> Result<(), ReceiptError> {
        let wire = CoseCheckpoint::parse(&self.checkpoint.0)?.checkpoint.wire;
        let hashes = |path: &[HexBytes<32>]| path.iter().map(|hash| hash.0).collect::<Vec<_>>();
        let (size, head_path) = match (self.head, wire.lanes) {
            (None, 1) => (wire.size.get(), Vec::new()),
            (Some(head), 2..) => (head.size, hashes(&head.path)),
            _ => return Err(ReceiptError::NotIncluded),
        };
        let root = tree::root_from_inclusion(&tree::leaf(&record.0), index, size, &hashes(path));
        let head = head(lane, size, root.ok_or(ReceiptError::NotIncluded)?);
        let (lane, lanes) = (lane.into(), wire.lanes.into());
        let holds = tree::verify_inclusion(&tree::leaf(head.as_bytes()), lane, lanes, &head_path, &wire.root);
        if holds { Ok(()) } else { Err(ReceiptError::NotIncluded) }
    }
}
