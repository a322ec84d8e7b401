// Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit.

use super::UnknownValue;
use serde::{Deserialize, Serialize};
use zerocopy::little_endian::{I32, U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Version byte of descriptors, answers and image headers.
pub const LAYOUT_VERSION: u8 = 1;
/// Classes that a policy can declare.
pub const CLASSES: usize = 128;
/// Quantity slots that a policy can declare.
pub const QUANTITY_SLOTS: usize = 4;
/// One, in basis points.
pub const BASIS_POINTS_MAX: u16 = 10000;
/// Bytes in one beat of the card's bus.
pub const BEAT_BYTES: usize = 64;
/// Bytes from one record to the next in the log ring.
pub const LOG_STRIDE: usize = 256;
/// Row number that stands for `no row`: nothing matched, or no bank decided.
pub const ROW_NONE: u16 = 65535;
/// Bytes from one row to the next in a bank's register window.
pub const BANK_STRIDE: usize = 256;
/// `PCMI` in memory: a table image.
pub const IMAGE_MAGIC: u32 = 1229800272;
/// `PCKP` in memory: a checkpoint.
pub const CHECKPOINT_MAGIC: u32 = 1347109712;
/// Bytes from one checkpoint to the next in the checkpoint ring: checkpoint, signature, the head of each lane in a beat of its own, zeros.
pub const CHECKPOINT_STRIDE: usize = 32768;
/// SLH-DSA-SHA2-128f signature (FIPS 205, table 2).
pub const SIGNATURE_BYTES: usize = 17088;
/// SHA-256 that names this layout and the register map.
pub const MAP_DIGEST: [u8; 32] = [
    104, 17, 88, 179, 110, 247, 45, 247, 101, 14, 67, 164, 185, 108, 204, 33, 16, 22, 229, 185, 35, 78, 148, 160, 158,
    182, 128, 27, 121, 188, 230, 240,
];

/// What a submission asks for. Zero is no opcode, so a zeroed entry is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Opcode {
    /// Judge a mutation.
    Gate = 1,
    /// Open a stream on a free slot; the commitment is the digest of the stream's context document.
    Begin = 2,
    /// Close the stream; the commitment covers trailing inert bytes.
    End = 3,
    /// Record the digest of something beside the text.
    Note = 4,
}

impl Opcode {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Gate, Self::Begin, Self::End, Self::Note];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Begin => "begin",
            Self::End => "end",
            Self::Note => "note",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Opcode {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            1 => Ok(Self::Gate),
            2 => Ok(Self::Begin),
            3 => Ok(Self::End),
            4 => Ok(Self::Note),
            _ => Err(UnknownValue { enumeration: "opcode", value: value.into() }),
        }
    }
}

impl From<Opcode> for u8 {
    fn from(value: Opcode) -> Self {
        value as Self
    }
}

/// What the mutation does to what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Category {
    /// States something new.
    Assertion = 0,
    /// Restricts or hedges.
    Qualification = 1,
    /// Adds detail to what is established.
    Elaboration = 2,
    /// Denies.
    Negation = 3,
    /// Points at something outside the text.
    Reference = 4,
    /// Moves to another topic.
    Transition = 5,
}

impl Category {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] =
        &[Self::Assertion, Self::Qualification, Self::Elaboration, Self::Negation, Self::Reference, Self::Transition];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assertion => "assertion",
            Self::Qualification => "qualification",
            Self::Elaboration => "elaboration",
            Self::Negation => "negation",
            Self::Reference => "reference",
            Self::Transition => "transition",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Category {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::Assertion),
            1 => Ok(Self::Qualification),
            2 => Ok(Self::Elaboration),
            3 => Ok(Self::Negation),
            4 => Ok(Self::Reference),
            5 => Ok(Self::Transition),
            _ => Err(UnknownValue { enumeration: "category", value: value.into() }),
        }
    }
}

impl From<Category> for u8 {
    fn from(value: Category) -> Self {
        value as Self
    }
}

/// The size of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Granularity {
    /// One token.
    Token = 0,
    /// A clause or a sentence.
    Span = 1,
    /// A reasoning step or a tool call.
    Step = 2,
}

impl Granularity {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Token, Self::Span, Self::Step];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Span => "span",
            Self::Step => "step",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Granularity {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::Token),
            1 => Ok(Self::Span),
            2 => Ok(Self::Step),
            _ => Err(UnknownValue { enumeration: "granularity", value: value.into() }),
        }
    }
}

impl From<Granularity> for u8 {
    fn from(value: Granularity) -> Self {
        value as Self
    }
}

/// How sure the context wants the text to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Epistemic {
    /// Ordinary care.
    Standard = 0,
    /// Tight bounds.
    HighPrecision = 1,
    /// Wide bounds.
    Exploratory = 2,
}

impl Epistemic {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Standard, Self::HighPrecision, Self::Exploratory];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::HighPrecision => "high_precision",
            Self::Exploratory => "exploratory",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Epistemic {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::Standard),
            1 => Ok(Self::HighPrecision),
            2 => Ok(Self::Exploratory),
            _ => Err(UnknownValue { enumeration: "epistemic", value: value.into() }),
        }
    }
}

impl From<Epistemic> for u8 {
    fn from(value: Epistemic) -> Self {
        value as Self
    }
}

/// What became of the span's external references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Anchor {
    /// No external reference.
    None = 0,
    /// Every reference was found.
    Resolved = 1,
    /// A reference was not found.
    Unresolvable = 2,
    /// A reference has several readings.
    Ambiguous = 3,
}

impl Anchor {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::None, Self::Resolved, Self::Unresolvable, Self::Ambiguous];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Resolved => "resolved",
            Self::Unresolvable => "unresolvable",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Anchor {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::None),
            1 => Ok(Self::Resolved),
            2 => Ok(Self::Unresolvable),
            3 => Ok(Self::Ambiguous),
            _ => Err(UnknownValue { enumeration: "anchor", value: value.into() }),
        }
    }
}

impl From<Anchor> for u8 {
    fn from(value: Anchor) -> Self {
        value as Self
    }
}

/// The host's finding for stage 2 or 3. Zero is no outcome, so a zeroed GATE descriptor is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum StageOutcome {
    /// The stage passes.
    Pass = 1,
    /// The stage rejects.
    Reject = 2,
    /// The stage asks for a split.
    Decompose = 3,
}

impl StageOutcome {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Pass, Self::Reject, Self::Decompose];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Reject => "reject",
            Self::Decompose => "decompose",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for StageOutcome {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            1 => Ok(Self::Pass),
            2 => Ok(Self::Reject),
            3 => Ok(Self::Decompose),
            _ => Err(UnknownValue { enumeration: "stage_outcome", value: value.into() }),
        }
    }
}

impl From<StageOutcome> for u8 {
    fn from(value: StageOutcome) -> Self {
        value as Self
    }
}

/// The gate's answer. Zero is no determination and never an admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Determination {
    /// Not a verdict: a fault, or an entry that is not judged.
    None = 0,
    /// Rejected.
    Reject = 1,
    /// To be split and resubmitted.
    Decompose = 2,
    /// Admitted.
    Admit = 3,
}

impl Determination {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::None, Self::Reject, Self::Decompose, Self::Admit];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reject => "reject",
            Self::Decompose => "decompose",
            Self::Admit => "admit",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Determination {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::None),
            1 => Ok(Self::Reject),
            2 => Ok(Self::Decompose),
            3 => Ok(Self::Admit),
            _ => Err(UnknownValue { enumeration: "determination", value: value.into() }),
        }
    }
}

impl From<Determination> for u8 {
    fn from(value: Determination) -> Self {
        value as Self
    }
}

/// The stage that decided: the first that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stage {
    /// No stage failed.
    None = 0,
    /// Policy bank, in the card.
    Policy = 1,
    /// Descriptor validation, on the host.
    Validation = 2,
    /// Lineage continuity, on the host.
    Lineage = 3,
    /// Entropy bank, in the card.
    Entropy = 4,
}

impl Stage {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::None, Self::Policy, Self::Validation, Self::Lineage, Self::Entropy];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Policy => "policy",
            Self::Validation => "validation",
            Self::Lineage => "lineage",
            Self::Entropy => "entropy",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Stage {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::None),
            1 => Ok(Self::Policy),
            2 => Ok(Self::Validation),
            3 => Ok(Self::Lineage),
            4 => Ok(Self::Entropy),
            _ => Err(UnknownValue { enumeration: "stage", value: value.into() }),
        }
    }
}

impl From<Stage> for u8 {
    fn from(value: Stage) -> Self {
        value as Self
    }
}

/// What a row does when it matches. Zero is an empty row, so a zeroed table denies everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum RowKind {
    /// Never matches.
    Empty = 0,
    /// Permits.
    Permit = 1,
    /// Forbids with outcome reject.
    ForbidReject = 2,
    /// Forbids with outcome decompose.
    ForbidDecompose = 3,
}

impl RowKind {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Empty, Self::Permit, Self::ForbidReject, Self::ForbidDecompose];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Permit => "permit",
            Self::ForbidReject => "forbid_reject",
            Self::ForbidDecompose => "forbid_decompose",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for RowKind {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::Empty),
            1 => Ok(Self::Permit),
            2 => Ok(Self::ForbidReject),
            3 => Ok(Self::ForbidDecompose),
            _ => Err(UnknownValue { enumeration: "row_kind", value: value.into() }),
        }
    }
}

impl From<RowKind> for u8 {
    fn from(value: RowKind) -> Self {
        value as Self
    }
}

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum RecordType {
    /// The session opened.
    Open = 1,
    /// A stream opened.
    Begin = 2,
    /// A determination.
    Verdict = 3,
    /// A digest was noted.
    Note = 4,
    /// A stream closed.
    End = 5,
    /// An entry was refused with a fault.
    Refused = 6,
    /// A heartbeat was accepted.
    Heartbeat = 7,
    /// The session closed.
    Close = 8,
    /// A sticky fault.
    Alarm = 9,
}

impl RecordType {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[
        Self::Open,
        Self::Begin,
        Self::Verdict,
        Self::Note,
        Self::End,
        Self::Refused,
        Self::Heartbeat,
        Self::Close,
        Self::Alarm,
    ];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Begin => "begin",
            Self::Verdict => "verdict",
            Self::Note => "note",
            Self::End => "end",
            Self::Refused => "refused",
            Self::Heartbeat => "heartbeat",
            Self::Close => "close",
            Self::Alarm => "alarm",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for RecordType {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            1 => Ok(Self::Open),
            2 => Ok(Self::Begin),
            3 => Ok(Self::Verdict),
            4 => Ok(Self::Note),
            5 => Ok(Self::End),
            6 => Ok(Self::Refused),
            7 => Ok(Self::Heartbeat),
            8 => Ok(Self::Close),
            9 => Ok(Self::Alarm),
            _ => Err(UnknownValue { enumeration: "record_type", value: value.into() }),
        }
    }
}

impl From<RecordType> for u8 {
    fn from(value: RecordType) -> Self {
        value as Self
    }
}

/// Life of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Life {
    /// After reset. Admits nothing, tables locked.
    Reset = 0,
    /// Tables can be written.
    Load = 1,
    /// Tables locked, being checked.
    Opening = 2,
    /// Verdicts.
    Run = 3,
    /// Finishing what was fetched.
    Closing = 4,
    /// A sticky fault; left by RESET only, or by the hardware reset.
    Fault = 5,
}

impl Life {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Reset, Self::Load, Self::Opening, Self::Run, Self::Closing, Self::Fault];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Load => "load",
            Self::Opening => "opening",
            Self::Run => "run",
            Self::Closing => "closing",
            Self::Fault => "fault",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Life {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::Reset),
            1 => Ok(Self::Load),
            2 => Ok(Self::Opening),
            3 => Ok(Self::Run),
            4 => Ok(Self::Closing),
            5 => Ok(Self::Fault),
            _ => Err(UnknownValue { enumeration: "life", value: value.into() }),
        }
    }
}

impl From<Life> for u8 {
    fn from(value: Life) -> Self {
        value as Self
    }
}

/// Values of the command register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Command {
    /// RESET or CLOSING's end to LOAD: clears every table's valid bits and unlocks them.
    Load = 1,
    /// LOAD to OPENING: locks the tables in this clock.
    Open = 2,
    /// RUN or FAULT to CLOSING.
    Close = 3,
    /// Any state to RESET, once the bus is quiet; never while the card needs the hardware reset.
    Reset = 4,
}

impl Command {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[Self::Load, Self::Open, Self::Close, Self::Reset];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Open => "open",
            Self::Close => "close",
            Self::Reset => "reset",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u8> for Command {
    type Error = UnknownValue;
    fn try_from(value: u8) -> Result<Self, UnknownValue> {
        match value {
            1 => Ok(Self::Load),
            2 => Ok(Self::Open),
            3 => Ok(Self::Close),
            4 => Ok(Self::Reset),
            _ => Err(UnknownValue { enumeration: "command", value: value.into() }),
        }
    }
}

impl From<Command> for u8 {
    fn from(value: Command) -> Self {
        value as Self
    }
}

/// Fault codes; the high byte is the class. Checks run in the order of the codes, and the first that fails is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u16)]
pub enum Fault {
    /// No fault.
    None = 0,
    /// Entry: the CRC-32 of the descriptor is wrong.
    Crc = 257,
    /// Entry: unknown layout version.
    Version = 258,
    /// Entry: unknown opcode.
    Opcode = 259,
    /// Entry: a reserved bit, or a field that this opcode does not use, is not zero.
    Reserved = 260,
    /// Entry: an enumeration value that the policy does not declare.
    Enumeration = 261,
    /// Entry: a class bit that the policy does not declare.
    Class = 262,
    /// Entry: a fraction over 10000 basis points.
    BasisPoints = 263,
    /// Entry: a value in an absent slot, or presence of a slot that the policy does not declare.
    Quantity = 264,
    /// Entry: a stage outcome that is none of pass, reject, decompose, or a reason beside a pass.
    StageCode = 265,
    /// Entry: slot out of range, BEGIN on an open slot, or anything else on a free one.
    Slot = 266,
    /// Entry: the sequence is not the slot's next.
    Sequence = 267,
    /// Entry: a GATE whose domain, audience, register or epistemic mode differs from the first GATE that its stream had judged.
    Context = 268,
    /// Entry: the text in its window cannot be read: it does not fit, or a read failed.
    TextWindow = 269,
    /// Entry: the window holds no text of this entry: another tag, a length that contradicts the descriptor, or bytes that are not UTF-8.
    TextForm = 270,
    /// Entry: the bytes in the window do not hash to the commitment.
    TextCommitment = 271,
    /// Entry: the bytes of an END hold a class of the text lane.
    TextEnd = 272,
    /// Credit: the heartbeat credit is spent.
    Credit = 513,
    /// Transport: a doorbell out of range, or more entries than the ring holds.
    Doorbell = 769,
    /// Transport: a ring's base or size is not allowed.
    RingConfig = 770,
    /// Transport: RRESP was not OKAY, or a read burst had the wrong length or id.
    ReadResponse = 771,
    /// Transport: BRESP was not OKAY, or a response without a write.
    WriteResponse = 772,
    /// Transport: a response did not come in time.
    Watchdog = 773,
    /// Transport: a command that the life state does not allow.
    Command = 774,
    /// Transport: the bus may still owe something of an earlier session; only the hardware reset clears this.
    NeedsReset = 775,
    /// Integrity: magic, version, map digest or row counts of the header do not fit this card.
    ImageHeader = 1025,
    /// Integrity: a row that the header counts, or the header, was not written whole.
    ImageIncomplete = 1026,
    /// Integrity: the digest of the tables is not the expected one.
    ImageDigest = 1027,
    /// Integrity: OPEN asks for a part that this card does not have.
    Unsupported = 1028,
    /// Integrity: the tables hash to another digest than at OPEN, in RUN or at CLOSE; or a memory changed: a word was read without its parity.
    TableChanged = 1029,
    /// Integrity: reserved for two hash cores that disagree. No card raises it.
    LockStep = 1030,
}

impl Fault {
    /// Every value, in the order of the source.
    pub const ALL: &[Self] = &[
        Self::None,
        Self::Crc,
        Self::Version,
        Self::Opcode,
        Self::Reserved,
        Self::Enumeration,
        Self::Class,
        Self::BasisPoints,
        Self::Quantity,
        Self::StageCode,
        Self::Slot,
        Self::Sequence,
        Self::Context,
        Self::TextWindow,
        Self::TextForm,
        Self::TextCommitment,
        Self::TextEnd,
        Self::Credit,
        Self::Doorbell,
        Self::RingConfig,
        Self::ReadResponse,
        Self::WriteResponse,
        Self::Watchdog,
        Self::Command,
        Self::NeedsReset,
        Self::ImageHeader,
        Self::ImageIncomplete,
        Self::ImageDigest,
        Self::Unsupported,
        Self::TableChanged,
        Self::LockStep,
    ];

    /// The value's name in policies, reports and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc => "crc",
            Self::Version => "version",
            Self::Opcode => "opcode",
            Self::Reserved => "reserved",
            Self::Enumeration => "enumeration",
            Self::Class => "class",
            Self::BasisPoints => "basis_points",
            Self::Quantity => "quantity",
            Self::StageCode => "stage_code",
            Self::Slot => "slot",
            Self::Sequence => "sequence",
            Self::Context => "context",
            Self::TextWindow => "text_window",
            Self::TextForm => "text_form",
            Self::TextCommitment => "text_commitment",
            Self::TextEnd => "text_end",
            Self::Credit => "credit",
            Self::Doorbell => "doorbell",
            Self::RingConfig => "ring_config",
            Self::ReadResponse => "read_response",
            Self::WriteResponse => "write_response",
            Self::Watchdog => "watchdog",
            Self::Command => "command",
            Self::NeedsReset => "needs_reset",
            Self::ImageHeader => "image_header",
            Self::ImageIncomplete => "image_incomplete",
            Self::ImageDigest => "image_digest",
            Self::Unsupported => "unsupported",
            Self::TableChanged => "table_changed",
            Self::LockStep => "lock_step",
        }
    }

    /// The value called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

impl TryFrom<u16> for Fault {
    type Error = UnknownValue;
    fn try_from(value: u16) -> Result<Self, UnknownValue> {
        match value {
            0 => Ok(Self::None),
            257 => Ok(Self::Crc),
            258 => Ok(Self::Version),
            259 => Ok(Self::Opcode),
            260 => Ok(Self::Reserved),
            261 => Ok(Self::Enumeration),
            262 => Ok(Self::Class),
            263 => Ok(Self::BasisPoints),
            264 => Ok(Self::Quantity),
            265 => Ok(Self::StageCode),
            266 => Ok(Self::Slot),
            267 => Ok(Self::Sequence),
            268 => Ok(Self::Context),
            269 => Ok(Self::TextWindow),
            270 => Ok(Self::TextForm),
            271 => Ok(Self::TextCommitment),
            272 => Ok(Self::TextEnd),
            513 => Ok(Self::Credit),
            769 => Ok(Self::Doorbell),
            770 => Ok(Self::RingConfig),
            771 => Ok(Self::ReadResponse),
            772 => Ok(Self::WriteResponse),
            773 => Ok(Self::Watchdog),
            774 => Ok(Self::Command),
            775 => Ok(Self::NeedsReset),
            1025 => Ok(Self::ImageHeader),
            1026 => Ok(Self::ImageIncomplete),
            1027 => Ok(Self::ImageDigest),
            1028 => Ok(Self::Unsupported),
            1029 => Ok(Self::TableChanged),
            1030 => Ok(Self::LockStep),
            _ => Err(UnknownValue { enumeration: "fault", value }),
        }
    }
}

impl From<Fault> for u16 {
    fn from(value: Fault) -> Self {
        value as Self
    }
}

/// Descriptor flags.
pub mod flags {
    /// The commitment covers held inert bytes before the span. First bit.
    pub const INERT_PREFIX_BIT: u32 = 0;
    /// The commitment covers held inert bytes before the span. Mask.
    pub const INERT_PREFIX: u16 = 0x1;
    /// The engine gave log-probabilities. First bit.
    pub const UNCERTAINTY_KNOWN_BIT: u32 = 1;
    /// The engine gave log-probabilities. Mask.
    pub const UNCERTAINTY_KNOWN: u16 = 0x2;
    /// The text is a tool call. Sessions with the text lane only. First bit.
    pub const CALL_BIT: u32 = 2;
    /// The text is a tool call. Sessions with the text lane only. Mask.
    pub const CALL: u16 = 0x4;
    /// Every defined bit.
    pub const ALL: u16 = 0x7;
}

/// Fields of the semantic state that the mutation touches.
pub mod fields_touched {
    /// Intent. First bit.
    pub const INTENT_BIT: u32 = 0;
    /// Intent. Mask.
    pub const INTENT: u16 = 0x1;
    /// Context. First bit.
    pub const CONTEXT_BIT: u32 = 1;
    /// Context. Mask.
    pub const CONTEXT: u16 = 0x2;
    /// Memory. First bit.
    pub const MEMORY_BIT: u32 = 2;
    /// Memory. Mask.
    pub const MEMORY: u16 = 0x4;
    /// Policy reference. First bit.
    pub const POLICY_REFERENCE_BIT: u32 = 3;
    /// Policy reference. Mask.
    pub const POLICY_REFERENCE: u16 = 0x8;
    /// Mutation descriptor. First bit.
    pub const MUTATION_BIT: u32 = 4;
    /// Mutation descriptor. Mask.
    pub const MUTATION: u16 = 0x10;
    /// Lineage. First bit.
    pub const LINEAGE_BIT: u32 = 5;
    /// Lineage. Mask.
    pub const LINEAGE: u16 = 0x20;
    /// Entropy and uncertainty bounds. First bit.
    pub const ENTROPY_BIT: u32 = 6;
    /// Entropy and uncertainty bounds. Mask.
    pub const ENTROPY: u16 = 0x40;
    /// Every defined bit.
    pub const ALL: u16 = 0x7f;
}

/// What kind of key signs this card's evidence.
pub mod key_flags {
    /// A simulated card: the key is public. First bit.
    pub const SIM_BIT: u32 = 0;
    /// A simulated card: the key is public. Mask.
    pub const SIM: u16 = 0x1;
    /// One key for a class of cards. First bit.
    pub const CLASS_KEY_BIT: u32 = 1;
    /// One key for a class of cards. Mask.
    pub const CLASS_KEY: u16 = 0x2;
    /// The card has no source of randomness. First bit.
    pub const NO_TRNG_BIT: u32 = 2;
    /// The card has no source of randomness. Mask.
    pub const NO_TRNG: u16 = 0x4;
    /// Every defined bit.
    pub const ALL: u16 = 0x7;
}

/// Parts of a card that a session can use.
pub mod features {
    /// Every GATE and END has its text in the window of its slot; the card hashes and scans it. First bit.
    pub const TEXT_LANE_BIT: u32 = 0;
    /// Every GATE and END has its text in the window of its slot; the card hashes and scans it. Mask.
    pub const TEXT_LANE: u16 = 0x1;
    /// Every defined bit.
    pub const ALL: u16 = 0x1;
}

/// Optional parts of a table image.
pub mod image_parts {
    /// The block `image_text` follows the header. Sessions of this image use the text lane. First bit.
    pub const TEXT_BIT: u32 = 0;
    /// The block `image_text` follows the header. Sessions of this image use the text lane. Mask.
    pub const TEXT: u16 = 0x1;
    /// Every defined bit.
    pub const ALL: u16 = 0x1;
}

/// Allowed-value masks of the four enumerations that the layout fixes, in 16 bits.
pub mod small_enums {
    /// Categories. First bit.
    pub const CATEGORY_BIT: u32 = 0;
    /// Categories. Mask.
    pub const CATEGORY: u16 = 0x3f;
    /// Granularities. First bit.
    pub const GRANULARITY_BIT: u32 = 6;
    /// Granularities. Mask.
    pub const GRANULARITY: u16 = 0x1c0;
    /// Epistemic modes. First bit.
    pub const EPISTEMIC_BIT: u32 = 9;
    /// Epistemic modes. Mask.
    pub const EPISTEMIC: u16 = 0xe00;
    /// Anchor statuses. First bit.
    pub const ANCHOR_BIT: u32 = 12;
    /// Anchor statuses. Mask.
    pub const ANCHOR: u16 = 0xf000;
    /// Every defined bit.
    pub const ALL: u16 = 0xffff;
}

/// Single bits that a row can require: descriptor flags, then quantity presence.
pub mod row_bits {
    /// Flag `inert_prefix`. First bit.
    pub const INERT_PREFIX_BIT: u32 = 0;
    /// Flag `inert_prefix`. Mask.
    pub const INERT_PREFIX: u16 = 0x1;
    /// Flag `uncertainty_known`. First bit.
    pub const UNCERTAINTY_KNOWN_BIT: u32 = 1;
    /// Flag `uncertainty_known`. Mask.
    pub const UNCERTAINTY_KNOWN: u16 = 0x2;
    /// Presence of quantity slots 0 to 3. First bit.
    pub const QUANTITY_BIT: u32 = 2;
    /// Presence of quantity slots 0 to 3. Mask.
    pub const QUANTITY: u16 = 0x3c;
    /// Every defined bit.
    pub const ALL: u16 = 0x3f;
}

/// The submission entry: one mutation, or BEGIN, END, NOTE. 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Descriptor {
    /// Offset 0. Layout version.
    pub version: u8,
    /// Offset 1. Opcode. (enumeration `opcode`)
    pub opcode: u8,
    /// Offset 2. Stream slot, 0 to MaxStreams-1.
    pub slot: U16,
    /// Offset 4. 0 for BEGIN, then one more for each accepted entry of the stream.
    pub sequence: U32,
    /// Offset 8. Flags. (bits `flags`)
    pub flags: u8,
    /// Offset 9. Temporal condition, an index into the policy's list.
    pub temporal: u8,
    /// Offset 10. Reserved, zero.
    pub reserved_10: [u8; 2],
    /// Offset 12. Category. (enumeration `category`)
    pub category: u8,
    /// Offset 13. Granularity. (enumeration `granularity`)
    pub granularity: u8,
    /// Offset 14. Epistemic mode. (enumeration `epistemic`)
    pub epistemic: u8,
    /// Offset 15. Anchor status. (enumeration `anchor`)
    pub anchor: u8,
    /// Offset 16. Domain, an index into the policy's list.
    pub domain: u8,
    /// Offset 17. Audience, an index into the policy's list.
    pub audience: u8,
    /// Offset 18. Register, an index into the policy's list.
    pub register: u8,
    /// Offset 19. Fields touched. (bits `fields_touched`)
    pub fields_touched: u8,
    /// Offset 20. Share of content that memory does not hold. (basis points)
    pub novelty: U16,
    /// Offset 22. Engine uncertainty; 10000 when unknown. (basis points)
    pub uncertainty: U16,
    /// Offset 24. Certainty that the wording claims. (basis points)
    pub certainty: U16,
    /// Offset 26. Distance of the content from intent and memory. (basis points)
    pub content_deviation: U16,
    /// Offset 28. Distance of the claimed certainty from the context's. (basis points)
    pub certainty_divergence: U16,
    /// Offset 30. Distance of the wording from the context's register. (basis points)
    pub register_divergence: U16,
    /// Offset 32. Accumulated distance of the lineage. (basis points, saturating at 65535)
    pub trust_slope: U16,
    /// Offset 34. Length of the span. (bytes)
    pub length: U16,
    /// Offset 36. Decompose depth: 0 for an undivided span.
    pub depth: u8,
    /// Offset 37. Alternatives tried before this one.
    pub alternatives: u8,
    /// Offset 38. Correction level of the trust slope.
    pub correction: u8,
    /// Offset 39. Bit i: quantity slot i holds a value.
    pub quantity_present: u8,
    /// Offset 40. Classes in the span.
    pub classes: U128,
    /// Offset 56. Classes established in memory.
    pub established: U128,
    /// Offset 72. Quantities in their slots' units; zero in absent slots.
    pub quantities: [I32; 4],
    /// Offset 88. Stage 2 outcome. (enumeration `stage_outcome`)
    pub validation_outcome: u8,
    /// Offset 89. Stage 2 reason; zero beside a pass.
    pub validation_reason: u8,
    /// Offset 90. Stage 3 outcome. (enumeration `stage_outcome`)
    pub lineage_outcome: u8,
    /// Offset 91. Stage 3 reason; zero beside a pass.
    pub lineage_reason: u8,
    /// Offset 92. SHA-256 span commitment; for BEGIN the context document's digest.
    pub commitment: [u8; 32],
    /// Offset 124. CRC-32 (IEEE 802.3, as crc32fast) of bytes 0 to 123.
    pub crc: U32,
}

impl Descriptor {
    /// Size on the wire.
    pub const BYTES: usize = 128;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 128]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.reserved_10 == [0; 2]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(Descriptor, version) == 0);
    assert!(core::mem::offset_of!(Descriptor, opcode) == 1);
    assert!(core::mem::offset_of!(Descriptor, slot) == 2);
    assert!(core::mem::offset_of!(Descriptor, sequence) == 4);
    assert!(core::mem::offset_of!(Descriptor, flags) == 8);
    assert!(core::mem::offset_of!(Descriptor, temporal) == 9);
    assert!(core::mem::offset_of!(Descriptor, reserved_10) == 10);
    assert!(core::mem::offset_of!(Descriptor, category) == 12);
    assert!(core::mem::offset_of!(Descriptor, granularity) == 13);
    assert!(core::mem::offset_of!(Descriptor, epistemic) == 14);
    assert!(core::mem::offset_of!(Descriptor, anchor) == 15);
    assert!(core::mem::offset_of!(Descriptor, domain) == 16);
    assert!(core::mem::offset_of!(Descriptor, audience) == 17);
    assert!(core::mem::offset_of!(Descriptor, register) == 18);
    assert!(core::mem::offset_of!(Descriptor, fields_touched) == 19);
    assert!(core::mem::offset_of!(Descriptor, novelty) == 20);
    assert!(core::mem::offset_of!(Descriptor, uncertainty) == 22);
    assert!(core::mem::offset_of!(Descriptor, certainty) == 24);
    assert!(core::mem::offset_of!(Descriptor, content_deviation) == 26);
    assert!(core::mem::offset_of!(Descriptor, certainty_divergence) == 28);
    assert!(core::mem::offset_of!(Descriptor, register_divergence) == 30);
    assert!(core::mem::offset_of!(Descriptor, trust_slope) == 32);
    assert!(core::mem::offset_of!(Descriptor, length) == 34);
    assert!(core::mem::offset_of!(Descriptor, depth) == 36);
    assert!(core::mem::offset_of!(Descriptor, alternatives) == 37);
    assert!(core::mem::offset_of!(Descriptor, correction) == 38);
    assert!(core::mem::offset_of!(Descriptor, quantity_present) == 39);
    assert!(core::mem::offset_of!(Descriptor, classes) == 40);
    assert!(core::mem::offset_of!(Descriptor, established) == 56);
    assert!(core::mem::offset_of!(Descriptor, quantities) == 72);
    assert!(core::mem::offset_of!(Descriptor, validation_outcome) == 88);
    assert!(core::mem::offset_of!(Descriptor, validation_reason) == 89);
    assert!(core::mem::offset_of!(Descriptor, lineage_outcome) == 90);
    assert!(core::mem::offset_of!(Descriptor, lineage_reason) == 91);
    assert!(core::mem::offset_of!(Descriptor, commitment) == 92);
    assert!(core::mem::offset_of!(Descriptor, crc) == 124);
    assert!(size_of::<Descriptor>() == 128);
};

/// The card's half of a record. 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Answer {
    /// Offset 0. Layout version.
    pub version: u8,
    /// Offset 1. Record type. (enumeration `record_type`)
    pub record_type: u8,
    /// Offset 2. Determination. (enumeration `determination`)
    pub determination: u8,
    /// Offset 3. Deciding stage. (enumeration `stage`)
    pub stage: u8,
    /// Offset 4. Fault. (enumeration `fault`)
    pub fault: U16,
    /// Offset 6. Row that the policy bank names, or none.
    pub policy_row: U16,
    /// Offset 8. Row that the entropy bank names, or none.
    pub entropy_row: U16,
    /// Offset 10. Lane.
    pub lane: u8,
    /// Offset 11. Kind of key. (bits `key_flags`)
    pub key_flags: u8,
    /// Offset 12. Epoch of the session, chosen by the host at OPEN.
    pub epoch: U32,
    /// Offset 16. Index of this record in its lane's log, from 0 at OPEN.
    pub log_index: U64,
    /// Offset 24. Clocks since reset: of an entry when its check ended, of a session record when it was made. Heartbeat credit counts by this.
    pub tick: U64,
    /// Offset 32. Text lane: classes that the card found in the entry's text; 0 without the lane.
    pub text_classes: U128,
    /// Offset 48. Text lane: classes that the card found in the stream's admitted text before this entry; 0 without the lane.
    pub text_established: U128,
}

impl Answer {
    /// Size on the wire.
    pub const BYTES: usize = 64;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 64]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        true
    }
}

const _: () = {
    assert!(core::mem::offset_of!(Answer, version) == 0);
    assert!(core::mem::offset_of!(Answer, record_type) == 1);
    assert!(core::mem::offset_of!(Answer, determination) == 2);
    assert!(core::mem::offset_of!(Answer, stage) == 3);
    assert!(core::mem::offset_of!(Answer, fault) == 4);
    assert!(core::mem::offset_of!(Answer, policy_row) == 6);
    assert!(core::mem::offset_of!(Answer, entropy_row) == 8);
    assert!(core::mem::offset_of!(Answer, lane) == 10);
    assert!(core::mem::offset_of!(Answer, key_flags) == 11);
    assert!(core::mem::offset_of!(Answer, epoch) == 12);
    assert!(core::mem::offset_of!(Answer, log_index) == 16);
    assert!(core::mem::offset_of!(Answer, tick) == 24);
    assert!(core::mem::offset_of!(Answer, text_classes) == 32);
    assert!(core::mem::offset_of!(Answer, text_established) == 48);
    assert!(size_of::<Answer>() == 64);
};

/// One entry of the log: the descriptor exactly as the comparators consumed it, and the answer. 192 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Record {
    /// Offset 0. The entry as fetched. Records without one hold their own fields here (session record), zero-padded.
    pub descriptor: Descriptor,
    /// Offset 128. The card's answer.
    pub answer: Answer,
}

impl Record {
    /// Size on the wire.
    pub const BYTES: usize = 192;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 192]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        true
    }
}

const _: () = {
    assert!(core::mem::offset_of!(Record, descriptor) == 0);
    assert!(core::mem::offset_of!(Record, answer) == 128);
    assert!(size_of::<Record>() == 192);
};

/// What OPEN, CLOSE, HEARTBEAT and ALARM records hold in place of a descriptor. Every lane's log has its own. 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SessionFields {
    /// Offset 0. SHA-256 of the table image as the card read it back at OPEN. It reads it back at CLOSE again, and writes the record only where this is the same; else ALARM with table_changed.
    pub policy_digest: [u8; 32],
    /// Offset 32. Digest of the policy package, from the image header.
    pub package_digest: [u8; 32],
    /// Offset 64. Digest of the session's ticket.
    pub ticket_digest: [u8; 32],
    /// Offset 96. Nonce of the last heartbeat.
    pub heartbeat_nonce: U64,
    /// Offset 104. Limit of a lane's records without a heartbeat, latched at OPEN; 0 is off.
    pub heartbeat_records: U32,
    /// Offset 108. Limit of 2^16 clocks without a heartbeat, latched at OPEN; 0 is off.
    pub heartbeat_ticks: U32,
    /// Offset 112. Streams that the records before this one in its lane began and did not end.
    pub open_streams: U32,
    /// Offset 116. CLOSE and ALARM: the sticky fault, or none. (enumeration `fault`)
    pub cause: U16,
    /// Offset 118. Parts of the card that this session uses, latched at OPEN. (bits `features`)
    pub features: U16,
    /// Offset 120. Number of the card among those that have its key, latched at OPEN.
    pub seat: U16,
    /// Offset 122. Reserved, zero.
    pub reserved_122: [u8; 6],
}

impl SessionFields {
    /// Size on the wire.
    pub const BYTES: usize = 128;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 128]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.seat == 0 && self.reserved_122 == [0; 6]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(SessionFields, policy_digest) == 0);
    assert!(core::mem::offset_of!(SessionFields, package_digest) == 32);
    assert!(core::mem::offset_of!(SessionFields, ticket_digest) == 64);
    assert!(core::mem::offset_of!(SessionFields, heartbeat_nonce) == 96);
    assert!(core::mem::offset_of!(SessionFields, heartbeat_records) == 104);
    assert!(core::mem::offset_of!(SessionFields, heartbeat_ticks) == 108);
    assert!(core::mem::offset_of!(SessionFields, open_streams) == 112);
    assert!(core::mem::offset_of!(SessionFields, cause) == 116);
    assert!(core::mem::offset_of!(SessionFields, features) == 118);
    assert!(core::mem::offset_of!(SessionFields, seat) == 120);
    assert!(core::mem::offset_of!(SessionFields, reserved_122) == 122);
    assert!(size_of::<SessionFields>() == 128);
};

/// What a checkpoint says of one lane's log. The heads of all lanes, in order, are the leaves of the checkpoint's root (RFC 9162, 2.1.1). 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LaneHead {
    /// Offset 0. Lane.
    pub lane: u8,
    /// Offset 1. Reserved, zero.
    pub reserved_1: [u8; 7],
    /// Offset 8. Records in the lane's tree.
    pub size: U64,
    /// Offset 16. Root of the tree over those records (RFC 9162, 2.1.1; a leaf is one record).
    pub root: [u8; 32],
}

impl LaneHead {
    /// Size on the wire.
    pub const BYTES: usize = 48;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 48]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.reserved_1 == [0; 7]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(LaneHead, lane) == 0);
    assert!(core::mem::offset_of!(LaneHead, reserved_1) == 1);
    assert!(core::mem::offset_of!(LaneHead, size) == 8);
    assert!(core::mem::offset_of!(LaneHead, root) == 16);
    assert!(size_of::<LaneHead>() == 48);
};

/// What the card signs: where its log stood, and under what. 192 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Checkpoint {
    /// Offset 0. `PCKP`.
    pub magic: U32,
    /// Offset 4. Layout version.
    pub version: u8,
    /// Offset 5. Kind of key. (bits `key_flags`)
    pub key_flags: u8,
    /// Offset 6. Life when the checkpoint was begun: opening after the OPEN record, run, closing after the CLOSE record, fault after an ALARM. (enumeration `life`)
    pub state: u8,
    /// Offset 7. Lanes.
    pub lanes: u8,
    /// Offset 8. Number of this checkpoint in its session, from 0.
    pub serial: U64,
    /// Offset 16. Records in the trees of all lanes.
    pub size: U64,
    /// Offset 24. Clocks since reset, when the last head was taken. No record under the heads is later.
    pub tick: U64,
    /// Offset 32. Root of the tree over the lane heads.
    pub root: [u8; 32],
    /// Offset 64. SHA-256 of the table image as the card read it back at OPEN.
    pub policy_digest: [u8; 32],
    /// Offset 96. Digest of the session's ticket.
    pub ticket_digest: [u8; 32],
    /// Offset 128. Design of the card; the top bit of the first byte is set in every simulated one.
    pub design_id: [u8; 16],
    /// Offset 144. Drawn by the card after reset; zero where the card has no randomness.
    pub boot_nonce: [u8; 16],
    /// Offset 160. Nonce of the last heartbeat in lane 0 when its head was taken.
    pub heartbeat_nonce: U64,
    /// Offset 168. Epoch of the session.
    pub epoch: U32,
    /// Offset 172. The sticky fault, or none. (enumeration `fault`)
    pub fault: U16,
    /// Offset 174. Reserved, zero.
    pub reserved_174: [u8; 18],
}

impl Checkpoint {
    /// Size on the wire.
    pub const BYTES: usize = 192;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 192]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.reserved_174 == [0; 18]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(Checkpoint, magic) == 0);
    assert!(core::mem::offset_of!(Checkpoint, version) == 4);
    assert!(core::mem::offset_of!(Checkpoint, key_flags) == 5);
    assert!(core::mem::offset_of!(Checkpoint, state) == 6);
    assert!(core::mem::offset_of!(Checkpoint, lanes) == 7);
    assert!(core::mem::offset_of!(Checkpoint, serial) == 8);
    assert!(core::mem::offset_of!(Checkpoint, size) == 16);
    assert!(core::mem::offset_of!(Checkpoint, tick) == 24);
    assert!(core::mem::offset_of!(Checkpoint, root) == 32);
    assert!(core::mem::offset_of!(Checkpoint, policy_digest) == 64);
    assert!(core::mem::offset_of!(Checkpoint, ticket_digest) == 96);
    assert!(core::mem::offset_of!(Checkpoint, design_id) == 128);
    assert!(core::mem::offset_of!(Checkpoint, boot_nonce) == 144);
    assert!(core::mem::offset_of!(Checkpoint, heartbeat_nonce) == 160);
    assert!(core::mem::offset_of!(Checkpoint, epoch) == 168);
    assert!(core::mem::offset_of!(Checkpoint, fault) == 172);
    assert!(core::mem::offset_of!(Checkpoint, reserved_174) == 174);
    assert!(size_of::<Checkpoint>() == 192);
};

/// One entry of the completion ring. It is there once its phase is that of its lap and its CRC fits: no bus promises that 64 bytes come at once. 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Completion {
    /// Offset 0. Submission that this answers: entries submitted before it, modulo 2^16.
    pub ring_index: U16,
    /// Offset 2. Bit 0: 1 on the first lap of the ring, then alternating.
    pub phase: u8,
    /// Offset 3. Determination. (enumeration `determination`)
    pub determination: u8,
    /// Offset 4. Deciding stage. (enumeration `stage`)
    pub stage: u8,
    /// Offset 5. Reserved, zero.
    pub reserved_5: [u8; 1],
    /// Offset 6. Fault. (enumeration `fault`)
    pub fault: U16,
    /// Offset 8. Row that the policy bank names, or none.
    pub policy_row: U16,
    /// Offset 10. Row that the entropy bank names, or none.
    pub entropy_row: U16,
    /// Offset 12. Slot as fetched.
    pub slot: U16,
    /// Offset 14. Reserved, zero.
    pub reserved_14: [u8; 2],
    /// Offset 16. Sequence as fetched.
    pub sequence: U32,
    /// Offset 20. Epoch of the session.
    pub epoch: U32,
    /// Offset 24. Index of the record in the lane's log.
    pub log_index: U64,
    /// Offset 32. Text lane: classes that the card found in the entry's text; 0 without the lane.
    pub text_classes: U128,
    /// Offset 48. Reserved, zero.
    pub reserved_48: [u8; 12],
    /// Offset 60. CRC-32 of bytes 0 to 59.
    pub crc: U32,
}

impl Completion {
    /// Size on the wire.
    pub const BYTES: usize = 64;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 64]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.reserved_5 == [0; 1] && self.reserved_14 == [0; 2] && self.reserved_48 == [0; 12]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(Completion, ring_index) == 0);
    assert!(core::mem::offset_of!(Completion, phase) == 2);
    assert!(core::mem::offset_of!(Completion, determination) == 3);
    assert!(core::mem::offset_of!(Completion, stage) == 4);
    assert!(core::mem::offset_of!(Completion, reserved_5) == 5);
    assert!(core::mem::offset_of!(Completion, fault) == 6);
    assert!(core::mem::offset_of!(Completion, policy_row) == 8);
    assert!(core::mem::offset_of!(Completion, entropy_row) == 10);
    assert!(core::mem::offset_of!(Completion, slot) == 12);
    assert!(core::mem::offset_of!(Completion, reserved_14) == 14);
    assert!(core::mem::offset_of!(Completion, sequence) == 16);
    assert!(core::mem::offset_of!(Completion, epoch) == 20);
    assert!(core::mem::offset_of!(Completion, log_index) == 24);
    assert!(core::mem::offset_of!(Completion, text_classes) == 32);
    assert!(core::mem::offset_of!(Completion, reserved_48) == 48);
    assert!(core::mem::offset_of!(Completion, crc) == 60);
    assert!(size_of::<Completion>() == 64);
};

/// One table row: a conjunction. It matches when every condition holds and its kind is not empty. 192 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Row {
    /// Offset 0. Kind. (enumeration `row_kind`)
    pub kind: u8,
    /// Offset 1. Fields touched: every one of these.
    pub touched_all: u8,
    /// Offset 2. Number of the rule, in order of its id.
    pub rule: U16,
    /// Offset 4. Allowed values of category, granularity, epistemic mode, anchor status. (bits `small_enums`)
    pub small_enums: U16,
    /// Offset 6. Bits that must have a given value. (bits `row_bits`)
    pub bits_mask: u8,
    /// Offset 7. That value; zero outside the mask. (bits `row_bits`)
    pub bits_value: u8,
    /// Offset 8. Fields touched: at least one of these; 0 is no condition.
    pub touched_any: u8,
    /// Offset 9. Fields touched: none of these.
    pub touched_none: u8,
    /// Offset 10. Inclusive range, low then high.
    pub depth: [u8; 2],
    /// Offset 12. Inclusive range, low then high.
    pub alternatives: [u8; 2],
    /// Offset 14. Inclusive range, low then high.
    pub correction: [u8; 2],
    /// Offset 16. Allowed values.
    pub temporal: U32,
    /// Offset 20. Allowed values.
    pub domain: U32,
    /// Offset 24. Allowed values.
    pub audience: U32,
    /// Offset 28. Allowed values.
    pub register: U32,
    /// Offset 32. Inclusive ranges, low then high, of the columns `scalars`, in their order.
    pub scalars: [U16; 16],
    /// Offset 64. Inclusive ranges, low then high, of the four slots.
    pub quantities: [I32; 8],
    /// Offset 96. Classes: every one of these.
    pub classes_all: U128,
    /// Offset 112. Classes: at least one of these; 0 is no condition.
    pub classes_any: U128,
    /// Offset 128. Classes: none of these.
    pub classes_none: U128,
    /// Offset 144. Established: every one of these.
    pub established_all: U128,
    /// Offset 160. Established: at least one of these; 0 is no condition.
    pub established_any: U128,
    /// Offset 176. Established: none of these.
    pub established_none: U128,
}

impl Row {
    /// Size on the wire.
    pub const BYTES: usize = 192;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 192]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        true
    }
}

const _: () = {
    assert!(core::mem::offset_of!(Row, kind) == 0);
    assert!(core::mem::offset_of!(Row, touched_all) == 1);
    assert!(core::mem::offset_of!(Row, rule) == 2);
    assert!(core::mem::offset_of!(Row, small_enums) == 4);
    assert!(core::mem::offset_of!(Row, bits_mask) == 6);
    assert!(core::mem::offset_of!(Row, bits_value) == 7);
    assert!(core::mem::offset_of!(Row, touched_any) == 8);
    assert!(core::mem::offset_of!(Row, touched_none) == 9);
    assert!(core::mem::offset_of!(Row, depth) == 10);
    assert!(core::mem::offset_of!(Row, alternatives) == 12);
    assert!(core::mem::offset_of!(Row, correction) == 14);
    assert!(core::mem::offset_of!(Row, temporal) == 16);
    assert!(core::mem::offset_of!(Row, domain) == 20);
    assert!(core::mem::offset_of!(Row, audience) == 24);
    assert!(core::mem::offset_of!(Row, register) == 28);
    assert!(core::mem::offset_of!(Row, scalars) == 32);
    assert!(core::mem::offset_of!(Row, quantities) == 64);
    assert!(core::mem::offset_of!(Row, classes_all) == 96);
    assert!(core::mem::offset_of!(Row, classes_any) == 112);
    assert!(core::mem::offset_of!(Row, classes_none) == 128);
    assert!(core::mem::offset_of!(Row, established_all) == 144);
    assert!(core::mem::offset_of!(Row, established_any) == 160);
    assert!(core::mem::offset_of!(Row, established_none) == 176);
    assert!(size_of::<Row>() == 192);
};

/// Head of a table image. The text block follows it if `parts` says so, then policy rows, then entropy rows. 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ImageHeader {
    /// Offset 0. `PCMI`.
    pub magic: U32,
    /// Offset 4. Layout version.
    pub version: u8,
    /// Offset 5. Depth at which a decompose becomes a reject.
    pub max_depth: u8,
    /// Offset 6. Bit i: quantity slot i is declared.
    pub quantities: u8,
    /// Offset 7. Optional parts of this image. (bits `image_parts`)
    pub parts: u8,
    /// Offset 8. Rows of the policy bank.
    pub policy_rows: U16,
    /// Offset 10. Rows of the entropy bank.
    pub entropy_rows: U16,
    /// Offset 12. Declared values of supplements, as `supplement_present`.
    pub present: u8,
    /// Offset 13. Number of declared tools, at most 127.
    pub tools: u8,
    /// Offset 14. Number of declared budgets, at most 32.
    pub budgets: u8,
    /// Offset 15. Reserved, zero.
    pub reserved_15: [u8; 1],
    /// Offset 16. Declared values.
    pub temporal: U32,
    /// Offset 20. Declared values.
    pub domain: U32,
    /// Offset 24. Declared values.
    pub audience: U32,
    /// Offset 28. Declared values.
    pub register: U32,
    /// Offset 32. Declared classes.
    pub classes: U128,
    /// Offset 48. Declared values.
    pub principal: U32,
    /// Offset 52. Declared labels.
    pub labels: U32,
    /// Offset 56. Reserved, zero.
    pub reserved_56: [u8; 8],
    /// Offset 64. SHA-256 that names this layout and the register map.
    pub map_digest: [u8; 32],
    /// Offset 96. Digest of the policy package.
    pub package_digest: [u8; 32],
}

impl ImageHeader {
    /// Size on the wire.
    pub const BYTES: usize = 128;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 128]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.present == 0
            && self.tools == 0
            && self.budgets == 0
            && self.reserved_15 == [0; 1]
            && self.principal == 0
            && self.labels == 0
            && self.reserved_56 == [0; 8]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(ImageHeader, magic) == 0);
    assert!(core::mem::offset_of!(ImageHeader, version) == 4);
    assert!(core::mem::offset_of!(ImageHeader, max_depth) == 5);
    assert!(core::mem::offset_of!(ImageHeader, quantities) == 6);
    assert!(core::mem::offset_of!(ImageHeader, parts) == 7);
    assert!(core::mem::offset_of!(ImageHeader, policy_rows) == 8);
    assert!(core::mem::offset_of!(ImageHeader, entropy_rows) == 10);
    assert!(core::mem::offset_of!(ImageHeader, present) == 12);
    assert!(core::mem::offset_of!(ImageHeader, tools) == 13);
    assert!(core::mem::offset_of!(ImageHeader, budgets) == 14);
    assert!(core::mem::offset_of!(ImageHeader, reserved_15) == 15);
    assert!(core::mem::offset_of!(ImageHeader, temporal) == 16);
    assert!(core::mem::offset_of!(ImageHeader, domain) == 20);
    assert!(core::mem::offset_of!(ImageHeader, audience) == 24);
    assert!(core::mem::offset_of!(ImageHeader, register) == 28);
    assert!(core::mem::offset_of!(ImageHeader, classes) == 32);
    assert!(core::mem::offset_of!(ImageHeader, principal) == 48);
    assert!(core::mem::offset_of!(ImageHeader, labels) == 52);
    assert!(core::mem::offset_of!(ImageHeader, reserved_56) == 56);
    assert!(core::mem::offset_of!(ImageHeader, map_digest) == 64);
    assert!(core::mem::offset_of!(ImageHeader, package_digest) == 96);
    assert!(size_of::<ImageHeader>() == 128);
};

/// The text lane in a table image. 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ImageText {
    /// Offset 0. SHA-256 of the encoded tables of the text lane.
    pub digest: [u8; 32],
    /// Offset 32. Classes of the lane whose presence opens a gate: both host and card must find them. For the others of the lane, either finding counts.
    pub opening: U128,
    /// Offset 48. Length of the encoded tables. (bytes)
    pub bytes: U32,
    /// Offset 52. Reserved, zero.
    pub reserved_52: [u8; 12],
}

impl ImageText {
    /// Size on the wire.
    pub const BYTES: usize = 64;
    /// Every byte zero.
    pub const ZERO: Self = zerocopy::transmute!([0u8; 64]);
    /// Whether every reserved byte is zero.
    #[must_use]
    pub fn reserved_is_zero(&self) -> bool {
        self.reserved_52 == [0; 12]
    }
}

const _: () = {
    assert!(core::mem::offset_of!(ImageText, digest) == 0);
    assert!(core::mem::offset_of!(ImageText, opening) == 32);
    assert!(core::mem::offset_of!(ImageText, bytes) == 48);
    assert!(core::mem::offset_of!(ImageText, reserved_52) == 52);
    assert!(size_of::<ImageText>() == 64);
};
