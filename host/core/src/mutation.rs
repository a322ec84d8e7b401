//! A mutation: the change that a candidate proposes, as typed values, before it is packed into a descriptor.

use crate::class::ClassSet;
use crate::fixed::BasisPoints;
use crate::proposition::{Proposition, PropositionSubject};
use crate::reason::{LineageReason, ValidationReason};
use crate::topic::TopicState;
use crate::wire::{self, Anchor, Category, Descriptor, Epistemic, Granularity, LAYOUT_VERSION, Opcode, StageOutcome};
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I32, U16, U32, U128};

/// One proposed change of the semantic state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanMutation {
    /// Whether held inert bytes precede the span.
    pub inert_prefix: bool,
    /// Whether the text is a tool call; set only if the card reads the texts.
    pub call: bool,
    /// The span's relation to the earlier text.
    pub category: Category,
    pub granularity: Granularity,
    /// Epistemic mode of the context.
    pub epistemic: Epistemic,
    /// Whether the span's external references resolve.
    pub anchor: Anchor,
    /// Index into the policy's temporal conditions.
    pub temporal: u8,
    /// Index into the policy's domains.
    pub domain: u8,
    /// Index into the policy's audiences.
    pub audience: u8,
    /// Index into the policy's registers.
    pub register: u8,
    /// Bits of `wire::fields_touched`.
    pub fields_touched: u8,
    /// Share of the span's content words that are not in memory.
    pub novelty: BasisPoints,
    /// Engine uncertainty; `None` when the engine gave no log-probabilities.
    pub uncertainty: Option<BasisPoints>,
    /// Certainty that the wording claims.
    pub certainty: BasisPoints,
    /// Distance of the content from intent and memory.
    pub content_deviation: BasisPoints,
    /// Distance of the claimed certainty from the context's.
    pub certainty_divergence: BasisPoints,
    /// Distance of the wording from the context's register.
    pub register_divergence: BasisPoints,
    /// Accumulated distance of the lineage, saturating.
    pub trust_slope: u16,
    pub length: u16,
    pub depth: u8,
    /// Alternatives tried before this candidate.
    pub alternatives: u8,
    /// Correction level of the trust slope.
    pub correction: u8,
    pub classes: ClassSet,
    pub established: ClassSet,
    /// Quantities in their slots' units.
    pub quantities: [Option<i32>; wire::QUANTITY_SLOTS],
    pub validation: StageFinding<ValidationReason>,
    pub lineage: StageFinding<LineageReason>,
    /// What an admit adds to memory.
    pub proposed: ProposedValues,
}

/// New values that the mapping reads from the span. The descriptor does not contain them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedValues {
    /// Content words, in lower case, sorted, each once.
    pub words: Vec<String>,
    /// New referents of the span: names, and head nouns of indefinite noun phrases.
    pub referents: Vec<String>,
    /// Claims of the span: statements that a later span can contradict.
    pub claims: Vec<SpanClaim>,
    /// Whether the span has prose. Other text states nothing that a later span could contradict or repeat.
    pub prose: bool,
    /// Identity of the statement without its polarity: the first 8 bytes of a SHA-256 over the content words, without
    /// the number of a list item; 0 if there is no statement.
    pub fingerprint: u64,
    /// The same without all numbers; 0 if only numbers are left.
    pub theme: u64,
    /// Identity of the first words; 0 if there are fewer.
    pub opening: u64,
    /// Which repetitions of the statement count.
    pub repeats: RepetitionRule,
    /// Whether the statement is a denial.
    pub negated: bool,
    /// Whether the statement declares that it replaces an earlier one.
    pub revises: bool,
    /// Place in an enumeration ("First", "2."), from 1.
    pub ordinal: Option<u32>,
    /// The stream's new current entity, if the span changes it.
    pub subject: Option<String>,
    /// What a heading or label names: the sentences below it are about this.
    pub opened: Option<PropositionSubject>,
    /// The span's assertions, with pronouns resolved.
    pub propositions: Vec<Proposition>,
    /// Indexes in memory of the propositions that the span replaces.
    pub replaces: Vec<usize>,
    /// Topic of the stream after the span, if the policy checks topics.
    pub topic: Option<TopicState>,
    /// Content words in dictionary form, if the policy checks topics.
    pub topic_words: Vec<String>,
}

/// Which repetitions of a span's statement count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionRule {
    /// None: labels, rows of tables, code and logs.
    #[default]
    Exempt,
    /// Those directly after each other: list items and verse.
    Consecutive,
    /// All: prose.
    Counted,
    /// Equal tool calls.
    Call,
}

/// One statement about one subject; a second value would contradict the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpanClaim {
    /// The subject; empty for the stream's current subject.
    pub subject: String,
    /// The relation and the kind of its value: `born year`.
    pub relation: String,
    /// The value, in normal form.
    pub value: String,
    /// Whether the value is denied.
    pub negated: bool,
}

/// The result of a host stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageFinding<R> {
    #[default]
    Pass,
    Reject(R),
    /// The span must be split for this reason.
    Decompose(R),
}

impl<R> StageFinding<R> {
    fn encode(&self, code: impl Fn(&R) -> u8) -> (u8, u8) {
        match self {
            Self::Pass => (StageOutcome::Pass.into(), 0),
            Self::Reject(r) => (StageOutcome::Reject.into(), code(r)),
            Self::Decompose(r) => (StageOutcome::Decompose.into(), code(r)),
        }
    }
}

/// The place of an entry: a stream and a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSequence {
    /// Stream slot of the card.
    pub slot: u16,
    pub sequence: u32,
}

impl SpanMutation {
    /// The GATE descriptor for this mutation, with its CRC. `commitment` is the span commitment.
    #[must_use]
    pub fn descriptor(&self, place: SlotSequence, commitment: [u8; 32]) -> Descriptor {
        let mut flags = 0u16;
        if self.inert_prefix {
            flags |= wire::flags::INERT_PREFIX;
        }
        if self.call {
            flags |= wire::flags::CALL;
        }
        if self.uncertainty.is_some() {
            flags |= wire::flags::UNCERTAINTY_KNOWN;
        }
        let mut present = 0u8;
        for (i, q) in self.quantities.iter().enumerate() {
            present |= u8::from(q.is_some()) << i;
        }
        let (validation_outcome, validation_reason) = self.validation.encode(|r| r.code());
        let (lineage_outcome, lineage_reason) = self.lineage.encode(|r| r.code());
        Descriptor {
            flags: flags as u8,
            temporal: self.temporal,
            category: self.category.into(),
            granularity: self.granularity.into(),
            epistemic: self.epistemic.into(),
            anchor: self.anchor.into(),
            domain: self.domain,
            audience: self.audience,
            register: self.register,
            fields_touched: self.fields_touched,
            novelty: U16::new(self.novelty.get()),
            uncertainty: U16::new(self.uncertainty.unwrap_or(BasisPoints::ONE).get()),
            certainty: U16::new(self.certainty.get()),
            content_deviation: U16::new(self.content_deviation.get()),
            certainty_divergence: U16::new(self.certainty_divergence.get()),
            register_divergence: U16::new(self.register_divergence.get()),
            trust_slope: U16::new(self.trust_slope),
            length: U16::new(self.length),
            depth: self.depth,
            alternatives: self.alternatives,
            correction: self.correction,
            quantity_present: present,
            classes: U128::new(self.classes.0),
            established: U128::new(self.established.0),
            quantities: self.quantities.map(|q| I32::new(q.unwrap_or(0))),
            validation_outcome,
            validation_reason,
            lineage_outcome,
            lineage_reason,
            ..Descriptor::entry(Opcode::Gate, place, commitment)
        }
        .sealed()
    }
}

impl Descriptor {
    /// An entry of any opcode with its place and commitment. All other fields are zero, the CRC included.
    #[must_use]
    pub fn entry(opcode: Opcode, place: SlotSequence, commitment: [u8; 32]) -> Self {
        Self {
            version: LAYOUT_VERSION,
            opcode: opcode.into(),
            slot: U16::new(place.slot),
            sequence: U32::new(place.sequence),
            commitment,
            ..Self::ZERO
        }
    }

    /// This descriptor with its CRC set.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.crc = U32::new(self.computed_crc());
        self
    }

    /// CRC-32 (IEEE 802.3) of bytes 0 to 123.
    #[must_use]
    pub fn computed_crc(&self) -> u32 {
        let bytes = self.as_bytes();
        crc32fast::hash(bytes.get(..Self::BYTES - 4).unwrap_or(bytes))
    }
}

impl wire::Completion {
    /// CRC-32 (IEEE 802.3) of bytes 0 to 59.
    #[must_use]
    pub fn computed_crc(&self) -> u32 {
        let bytes = self.as_bytes();
        crc32fast::hash(bytes.get(..Self::BYTES - 4).unwrap_or(bytes))
    }

    /// This completion with its CRC set.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.crc = U32::new(self.computed_crc());
        self
    }
}
