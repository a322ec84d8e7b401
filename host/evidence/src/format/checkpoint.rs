//! Checkpoints: the card's signed statements about its log.

use crate::format::cose;
use crate::format::tree::{self, Hash};
use portcullis_core::wire::{
    self, CHECKPOINT_MAGIC, Fault, LAYOUT_VERSION, LaneHead, Life, SIGNATURE_BYTES, key_flags,
};
use sha2::{Digest, Sha256};
use slh_dsa::{Sha2_128f, Signature, VerifyingKey};
use zerocopy::{FromBytes, IntoBytes};

/// The reasons why bytes are not a checkpoint of this layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The COSE encoding is wrong.
    #[error("not the COSE_Sign1 message of a checkpoint")]
    Message,
    #[error("not a checkpoint of layout version {LAYOUT_VERSION}")]
    Layout,
    #[error("a reserved bit is set")]
    Reserved,
    /// State or fault is out of range, or the card does not make checkpoints in this state.
    #[error("life state {state} with fault {fault} stands in no checkpoint")]
    State { state: u8, fault: u16 },
    #[error("{0} lanes: a card has 1, 2, 4 or 8")]
    Lanes(u8),
}

/// A checkpoint whose fields are in range. Its signature is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedCheckpoint {
    pub wire: wire::Checkpoint,
    /// Opening, run, closing or fault.
    pub state: Life,
    /// The sticky fault, or none.
    pub fault: Fault,
}

impl ParsedCheckpoint {
    /// Parses a checkpoint. Errors: [`CheckpointError`], but not `Message`.
    pub fn parse(bytes: &[u8; wire::Checkpoint::BYTES]) -> Result<Self, CheckpointError> {
        let wire = wire::Checkpoint::read_from_bytes(bytes).map_err(|_| CheckpointError::Layout)?;
        if wire.magic.get() != CHECKPOINT_MAGIC || wire.version != LAYOUT_VERSION {
            return Err(CheckpointError::Layout);
        }
        if !wire.reserved_is_zero() || u16::from(wire.key_flags) & !key_flags::ALL != 0 {
            return Err(CheckpointError::Reserved);
        }
        let wrong = CheckpointError::State { state: wire.state, fault: wire.fault.get() };
        let state = Life::try_from(wire.state).map_err(|_| wrong)?;
        let fault = Fault::try_from(wire.fault.get()).map_err(|_| wrong)?;
        let stands = match state {
            Life::Opening | Life::Run => fault == Fault::None,
            Life::Fault => fault != Fault::None,
            // A session closes with or without a fault.
            Life::Closing => true,
            Life::Reset | Life::Load => false,
        };
        if !stands {
            return Err(wrong);
        }
        if !is_lanes(wire.lanes) {
            return Err(CheckpointError::Lanes(wire.lanes));
        }
        Ok(Self { wire, state, fault })
    }

    /// SHA-256 of the 192 bytes: identifies the checkpoint in the next ticket and at the witness.
    #[must_use]
    pub fn digest(&self) -> Hash {
        Sha256::digest(self.wire.as_bytes()).into()
    }
}

/// A checkpoint with its signature. [`CoseCheckpoint::verify`] checks the signature; parsing does not.
#[derive(Clone, Debug)]
pub struct CoseCheckpoint {
    pub checkpoint: ParsedCheckpoint,
    /// SLH-DSA-SHA2-128f, 17,088 bytes.
    pub signature: Box<[u8; SIGNATURE_BYTES]>,
}

impl CoseCheckpoint {
    /// Parses the COSE message of a checkpoint (module `cose`).
    pub fn parse(message: &[u8]) -> Result<Self, CheckpointError> {
        let (checkpoint, signature) = cose::decode(message).ok_or(CheckpointError::Message)?;
        Ok(Self { checkpoint: ParsedCheckpoint::parse(checkpoint)?, signature: Box::new(*signature) })
    }

    /// Whether the owner of `public_key` (PK.seed || PK.root) signed this checkpoint: SLH-DSA-SHA2-128f, pure, empty
    /// context (FIPS 205, algorithm 24).
    #[must_use]
    pub fn verify(&self, public_key: &[u8; 32]) -> bool {
        let Ok(bytes) = self.checkpoint.wire.as_bytes().try_into() else { return false };
        let key = VerifyingKey::<Sha2_128f>::try_from(&public_key[..]);
        let signature = Signature::<Sha2_128f>::try_from(&self.signature[..]);
        let (Ok(key), Ok(signature)) = (key, signature) else { return false };
        key.try_verify_with_context(&cose::to_be_signed(bytes), &[], &signature).is_ok()
    }
}

/// Largest number of lanes of a card.
pub const LANES_MAX: u8 = 8;

#[must_use]
pub const fn is_lanes(lanes: u8) -> bool {
    lanes.is_power_of_two() && lanes <= LANES_MAX
}

/// The head of a lane whose tree has `size` leaves and root `root`.
#[must_use]
pub fn head(lane: u8, size: u64, root: Hash) -> LaneHead {
    LaneHead { lane, size: size.into(), root, ..LaneHead::ZERO }
}

/// Root of the checkpoint over these lane heads, lane 0 first.
#[must_use]
pub fn root_of_heads(heads: &[LaneHead]) -> Hash {
    tree::root(heads.iter().map(|head| tree::leaf(head.as_bytes())))
}

/// Root of a checkpoint of one lane whose tree has `size` leaves and root `lane_root`.
#[must_use]
pub fn root_of_lane(size: u64, lane_root: Hash) -> Hash {
    root_of_heads(&[head(0, size, lane_root)])
}
