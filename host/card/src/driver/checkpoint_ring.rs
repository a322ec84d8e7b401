//! The checkpoint ring, and the checks of a checkpoint's lane heads.

use portcullis_core::wire::{BEAT_BYTES, CHECKPOINT_STRIDE, Checkpoint, LaneHead, SIGNATURE_BYTES};
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, IntoBytes};

use super::error::{LossCause, SessionError};
use crate::card::{CardTransport, DmaBuffer};
use crate::error::CardError;
use crate::registers;

/// Default number of records between checkpoints, equal to the default in the card.
pub const CHECKPOINT_INTERVAL: u32 = 32_768;

/// Size of the checkpoint ring, and interval of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// log2 of the entries of the checkpoint ring, 1 to 8.
    pub ring_log2: u8,
    /// Records after which a checkpoint is due.
    pub interval: u32,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self { ring_log2: 2, interval: CHECKPOINT_INTERVAL }
    }
}

/// A checkpoint, its signature and the heads of the logs that it covers, as the card wrote them.
#[derive(Clone, PartialEq, Eq)]
pub struct CardSignedCheckpoint {
    pub checkpoint: Checkpoint,
    /// SLH-DSA-SHA2-128f over the COSE `Sig_structure` of the checkpoint's bytes (RFC 9052, 4.4).
    pub signature: Box<[u8]>,
    /// The head of each lane's log under the checkpoint, by lane. The heads are not signed themselves; they are the
    /// leaves under the checkpoint's root.
    pub heads: Vec<LaneHead>,
}

impl std::fmt::Debug for CardSignedCheckpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedCheckpoint").field("checkpoint", &self.checkpoint).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct CheckpointRing {
    pub(super) ring: DmaBuffer,
    pub(super) config: CheckpointConfig,
    pub(super) consumed: u64,
    /// The last checkpoint read; all zero before the first.
    pub(super) last: Checkpoint,
    /// The heads of the last checkpoint; empty before the first.
    pub(super) heads: Vec<LaneHead>,
}

impl CheckpointRing {
    pub(super) fn allocate<C: CardTransport>(card: &mut C, config: CheckpointConfig) -> Result<Self, CardError> {
        Ok(Self {
            ring: card.allocate(CHECKPOINT_STRIDE << config.ring_log2)?,
            config,
            consumed: 0,
            last: Checkpoint::ZERO,
            heads: Vec::new(),
        })
    }

    pub(super) fn configure<C: CardTransport>(&self, card: &mut C) -> Result<(), CardError> {
        let address = self.ring.address();
        let Self { config, .. } = *self;
        registers::with(card, |r| {
            r.checkpoint_lo().try_write(|w| w.set_v((address & 0xffff_ffff) as u32))?;
            r.checkpoint_hi().try_write(|w| w.set_v((address >> 32) as u32))?;
            r.checkpoint_size().try_write(|w| w.set_log2(config.ring_log2))?;
            r.checkpoint_interval().try_write(|w| w.set_v(config.interval))
        })
    }

    /// Whether the log has grown by an interval since the last checkpoint.
    pub(super) fn due(&self, logged: u64) -> bool {
        logged - self.last.size.get() >= self.config.interval as u64
    }

    /// Reads the next checkpoint. The lanes' heads follow its signature, each in a beat of its own.
    pub(super) fn read<C: CardTransport>(&self, card: &C, lanes: u8) -> Result<CardSignedCheckpoint, SessionError> {
        let slot = self.consumed & ((1 << self.config.ring_log2) - 1);
        let at = slot as usize * CHECKPOINT_STRIDE;
        let mut checkpoint = Checkpoint::ZERO;
        card.dma_read(&self.ring, at, checkpoint.as_mut_bytes())?;
        let mut signature = vec![0; SIGNATURE_BYTES].into_boxed_slice();
        card.dma_read(&self.ring, at + Checkpoint::BYTES, &mut signature)?;
        let mut beats = vec![0; usize::from(lanes) * BEAT_BYTES];
        card.dma_read(&self.ring, at + Checkpoint::BYTES + SIGNATURE_BYTES, &mut beats)?;
        let heads = beats.chunks_exact(BEAT_BYTES).map(|beat| match LaneHead::read_from_prefix(beat) {
            Ok((head, rest)) if rest.iter().all(|byte| *byte == 0) => Ok(head),
            _ => Err(LossCause::Checkpoint {
                serial: self.consumed,
                what: "a reserved byte beside a lane's head is set",
            }),
        });
        Ok(CardSignedCheckpoint { checkpoint, signature, heads: heads.collect::<Result<_, _>>()? })
    }
}

/// Checks that the heads match the checkpoint's root and size, and that no lane has shrunk since `last`.
pub(super) fn check_heads(signed: &CardSignedCheckpoint, last: &[LaneHead]) -> Result<(), LossCause> {
    let CardSignedCheckpoint { checkpoint, heads, .. } = signed;
    let check = |holds: bool, what| {
        if holds { Ok(()) } else { Err(LossCause::Checkpoint { serial: checkpoint.serial.get(), what }) }
    };
    check(heads.iter().all(LaneHead::reserved_is_zero), "a reserved byte of a lane's head is set")?;
    check((0..).zip(heads).all(|(lane, head)| head.lane == lane), "a head of another lane")?;
    check(heads.iter().all(|head| head.size.get() > 0), "a lane without records")?;
    check(last.iter().zip(heads).all(|(before, head)| before.size <= head.size), "a lane that has shrunk")?;
    let size = heads.iter().try_fold(0u64, |sum, head| sum.checked_add(head.size.get()));
    check(size == Some(checkpoint.size.get()), "lanes whose sizes are not its own")?;
    check(root(heads) == checkpoint.root, "lanes whose root is not its own")
}

/// Root of the tree over the lanes' heads (RFC 9162, 2.1.1); the number of lanes is a power of two.
fn root(heads: &[LaneHead]) -> [u8; 32] {
    let hash = |prefix: u8, parts: &[&[u8]]| -> [u8; 32] {
        let start = Sha256::new().chain_update([prefix]);
        parts.iter().fold(start, |hash, part| hash.chain_update(part)).finalize().into()
    };
    let mut level: Vec<[u8; 32]> = heads.iter().map(|head| hash(0, &[head.as_bytes()])).collect();
    while level.len() > 1 {
        level =
            level.chunks(2).map(|pair| hash(1, &pair.iter().map(<[u8; 32]>::as_slice).collect::<Vec<_>>())).collect();
    }
    level.pop().unwrap_or_default()
}
