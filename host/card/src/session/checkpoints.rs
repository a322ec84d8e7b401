//! Out of the checkpoint ring: what the card signed.

use portcullis_core::wire::{
    BEAT_BYTES, CHECKPOINT_MAGIC, CHECKPOINT_STRIDE, Checkpoint, Fault, LAYOUT_VERSION, LaneHead, Life, SIGNATURE_BYTES,
};
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, IntoBytes};

use super::{Lost, Session, SessionError};
use crate::registers;
use crate::{Card, CardError, DmaBuffer};

/// Largest log2 of checkpoint ring entries.
pub const CHECKPOINT_LOG2_MAX: u8 = 8;
/// Records between checkpoints where a session sets none: the card's own default.
pub const CHECKPOINT_INTERVAL: u32 = 32_768;

/// Checkpoints of a session: how many the host can be behind, and how often they are due.
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
pub struct Signed {
    /// What is signed.
    pub checkpoint: Checkpoint,
    /// SLH-DSA-SHA2-128f over the COSE `Sig_structure` of the checkpoint's bytes (RFC 9052, 4.4).
    pub signature: Box<[u8]>,
    /// Each lane's log as the checkpoint saw it, by lane. Not signed by themselves: they are the leaves under the checkpoint's root.
    pub heads: Vec<LaneHead>,
}

impl std::fmt::Debug for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signed").field("checkpoint", &self.checkpoint).finish_non_exhaustive()
    }
}

/// The checkpoint ring.
#[derive(Debug)]
pub(super) struct Checkpoints {
    pub(super) ring: DmaBuffer,
    config: CheckpointConfig,
    /// Checkpoints consumed.
    pub(super) consumed: u64,
    /// The last one; all zero before the first.
    last: Checkpoint,
    /// Its heads; none before the first.
    heads: Vec<LaneHead>,
}

impl Checkpoints {
    pub(super) fn allocate<C: Card>(card: &mut C, config: CheckpointConfig) -> Result<Self, CardError> {
        Ok(Self {
            ring: card.allocate(CHECKPOINT_STRIDE << config.ring_log2)?,
            config,
            consumed: 0,
            last: Checkpoint::ZERO,
            heads: Vec::new(),
        })
    }

    pub(super) fn configure<C: Card>(&self, card: &mut C) -> Result<(), CardError> {
        let address = self.ring.address();
        let Self { config, .. } = *self;
        registers::with(card, |r| {
            r.checkpoint_lo().try_write(|w| w.set_v((address & 0xffff_ffff) as u32))?;
            r.checkpoint_hi().try_write(|w| w.set_v((address >> 32) as u32))?;
            r.checkpoint_size().try_write(|w| w.set_log2(config.ring_log2))?;
            r.checkpoint_interval().try_write(|w| w.set_v(config.interval))
        })
    }

    /// Whether the log is far enough for another one.
    pub(super) fn due(&self, logged: u64) -> bool {
        logged - self.last.size.get() >= self.config.interval as u64
    }

    /// The next one. Behind checkpoint and signature stands each lane's head in a beat of its own.
    fn read<C: Card>(&self, card: &C, lanes: u8) -> Result<Signed, SessionError> {
        let slot = self.consumed & ((1 << self.config.ring_log2) - 1);
        let at = slot as usize * CHECKPOINT_STRIDE;
        let mut bytes = [0; Checkpoint::BYTES];
        card.dma_read(&self.ring, at, &mut bytes)?;
        let mut signature = vec![0; SIGNATURE_BYTES].into_boxed_slice();
        card.dma_read(&self.ring, at + Checkpoint::BYTES, &mut signature)?;
        let checkpoint = Checkpoint::read_from_bytes(&bytes).unwrap_or(Checkpoint::ZERO);
        let mut beats = vec![0; usize::from(lanes) * BEAT_BYTES];
        card.dma_read(&self.ring, at + Checkpoint::BYTES + SIGNATURE_BYTES, &mut beats)?;
        let heads = beats.chunks_exact(BEAT_BYTES).map(|beat| match LaneHead::read_from_prefix(beat) {
            Ok((head, rest)) if rest.iter().all(|byte| *byte == 0) => Ok(head),
            _ => Err(Lost::Checkpoint { serial: self.consumed, what: "a reserved byte beside a lane's head is set" }),
        });
        Ok(Signed { checkpoint, signature, heads: heads.collect::<Result<_, _>>()? })
    }
}

impl<C: Card> Session<C> {
    /// Asks for a checkpoint over everything logged so far. It comes when it is signed: to the sink, in a later call.
    ///
    /// # Errors
    /// The session's state, and the transport's.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        self.healthy()?;
        Ok(registers::with(&mut self.card, |r| r.checkpoint_flush().try_write(|w| w.set_v(true)))?)
    }

    /// Hands every checkpoint that the card has written to the sink; how many there were.
    ///
    /// # Errors
    /// [`Lost::Checkpoint`] for one that does not fit this session, [`Lost::Sink`], and the transport's.
    pub fn collect_checkpoints(&mut self) -> Result<u64, SessionError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(0) };
        let before = checkpoints.consumed;
        let tail = registers::with(&mut self.card, |r| r.checkpoint_tail().try_read())?.v();
        let unread = u64::from(tail.wrapping_sub((before & 0xffff_ffff) as u32));
        if unread == 0 {
            return Ok(0);
        }
        if unread > 1 << checkpoints.config.ring_log2 {
            return Err(Lost::Checkpoint { serial: before, what: "more were written than the ring holds" }.into());
        }
        for _ in 0..unread {
            self.take_checkpoint()?;
        }
        registers::with(&mut self.card, |r| r.checkpoint_head().try_write(|w| w.set_v(tail)))?;
        Ok(unread)
    }

    fn take_checkpoint(&mut self) -> Result<(), SessionError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        let signed = checkpoints.read(&self.card, self.info.lanes)?;
        self.check_checkpoint(&signed.checkpoint, checkpoints.consumed, &checkpoints.last)?;
        check_heads(&signed, &checkpoints.heads)?;
        let serial = checkpoints.consumed;
        let kept = self.sink.checkpoint(&signed);
        kept.map_err(|why| Lost::Sink { what: "checkpoint", index: serial, why: why.to_string() })?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.consumed += 1;
            checkpoints.last = signed.checkpoint;
            checkpoints.heads = signed.heads;
        }
        Ok(())
    }

    /// What the driver can tell without hashing the log and verifying; that is the verifier's part.
    fn check_checkpoint(&self, found: &Checkpoint, serial: u64, last: &Checkpoint) -> Result<(), SessionError> {
        let check = |holds: bool, what| if holds { Ok(()) } else { Err(Lost::Checkpoint { serial, what }) };
        check(found.magic.get() == CHECKPOINT_MAGIC, "wrong magic")?;
        check(found.version == LAYOUT_VERSION, "unknown version")?;
        check(found.reserved_is_zero(), "a reserved byte is set")?;
        check(found.serial.get() == serial, "serial of another checkpoint")?;
        check(found.key_flags == self.info.key_flags, "key flags of another card")?;
        check(found.design_id == self.info.design_id, "design of another card")?;
        check(found.lanes == self.info.lanes, "lanes of another card")?;
        check(found.epoch.get() == self.epoch, "epoch of another session")?;
        check(found.ticket_digest == self.ticket_digest, "another ticket")?;
        check(found.policy_digest == self.policy_digest, "another policy")?;
        check(found.size.get() > 0 && found.size.get() >= last.size.get(), "a tree that has shrunk")?;
        let state = Life::try_from(found.state)?;
        check((state == Life::Opening) == (serial == 0), "a state that does not fit its serial")?;
        check(found.tick.get() >= last.tick.get(), "time has gone back")?;
        check(serial == 0 || found.boot_nonce == last.boot_nonce, "boot nonce of another start")?;
        let fault = Fault::try_from(found.fault.get())?;
        let fits = match state {
            Life::Opening | Life::Run => fault == Fault::None,
            Life::Fault => fault != Fault::None,
            // A session ends with or without one.
            Life::Closing => last.fault.get() == 0 || last.fault == found.fault,
            Life::Reset | Life::Load => false,
        };
        check(fits, "state and fault contradict")?;
        Ok(())
    }
}

/// Whether the heads are those of the checkpoint, and none has shrunk since the `last` ones.
fn check_heads(signed: &Signed, last: &[LaneHead]) -> Result<(), Lost> {
    let Signed { checkpoint, heads, .. } = signed;
    let check = |holds: bool, what| {
        if holds { Ok(()) } else { Err(Lost::Checkpoint { serial: checkpoint.serial.get(), what }) }
    };
    check(heads.iter().all(LaneHead::reserved_is_zero), "a reserved byte of a lane's head is set")?;
    check((0..).zip(heads).all(|(lane, head)| head.lane == lane), "a head of another lane")?;
    check(heads.iter().all(|head| head.size.get() > 0), "a lane without records")?;
    check(last.iter().zip(heads).all(|(before, head)| before.size <= head.size), "a lane that has shrunk")?;
    let size = heads.iter().try_fold(0u64, |sum, head| sum.checked_add(head.size.get()));
    check(size == Some(checkpoint.size.get()), "lanes whose sizes are not its own")?;
    check(root(heads) == checkpoint.root, "lanes whose root is not its own")
}

/// Root of the tree over the lanes' heads (RFC 9162, 2.1.1); their number is a power of two.
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
