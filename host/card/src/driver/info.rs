//! A card's identity, capabilities and state.

use portcullis_core::hex;
use portcullis_core::wire::{Fault, Life, MAP_DIGEST};

use super::error::SessionError;
use crate::card::CardTransport;
use crate::error::CardError;
use crate::registers::{self, GONE};

/// Identity and capabilities, read once when a session opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardInfo {
    /// Version of the register map: major, minor.
    pub map_version: (u16, u16),
    /// SHA-256 over layout and register map, hexadecimal.
    pub map_digest: String,
    pub lanes: u8,
    /// Rows that a bank compares in one clock.
    pub rows_per_clock: u8,
    /// Whether the card hashes its tables.
    pub digest: bool,
    /// Whether the card hashes records and signs checkpoints.
    pub signer: bool,
    /// Whether the card checks heartbeats.
    pub heartbeat: bool,
    /// Sizes of the text lane; `None` for a card without one.
    pub text: Option<TextLaneLimits>,
    /// Rows of the policy bank.
    pub policy_rows: u16,
    /// Rows of the entropy bank.
    pub entropy_rows: u16,
    pub max_streams: u32,
    /// Largest log2 of submission and completion ring entries.
    pub ring_log2: u8,
    /// Largest log2 of log ring entries.
    pub log_log2: u8,
    pub reads: u8,
    /// Bits of `wire::key_flags`.
    pub key_flags: u8,
    /// Design of the card; every simulated card has the top bit of the first byte set.
    pub design_id: [u8; 16],
    /// Random number that the card draws after reset; zero without a random source.
    pub boot_nonce: [u8; 16],
    /// Lifecycle state at the time of the read.
    pub life: Life,
    /// Sticky fault at the time of the read.
    pub fault: Fault,
    /// The card lost track of its bus and needs its hardware reset.
    pub needs_reset: bool,
    /// The bus owes answers from before the last hardware reset.
    pub stale: bool,
}

/// Sizes of a card's text lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLaneLimits {
    pub engines: u8,
    /// log2 of the states of an engine.
    pub states_log2: u8,
    /// Byte classes of an engine.
    pub byte_classes: u8,
    /// Blocks of text windows, of 2 MiB each.
    pub blocks: u8,
}

impl CardInfo {
    /// Reads `card`. If it is not a card of this register map, this fails before any other register is read. Errors:
    /// [`SessionError::NoCard`], [`SessionError::MapVersion`], [`SessionError::MapDigest`],
    /// [`SessionError::Undecodable`], and those of the transport.
    pub fn read<C: CardTransport + ?Sized>(card: &mut C) -> Result<Self, SessionError> {
        registers::with(card, |r| {
            let magic = r.magic().try_read()?.v();
            if magic == GONE {
                return Err(CardError::Gone(0).into());
            }
            if magic != registers::magic() {
                return Err(SessionError::NoCard(magic));
            }
            let version = r.map_version().try_read()?;
            let map_version = (version.major(), version.minor());
            let known = registers::map_version().major();
            if map_version.0 != known {
                return Err(SessionError::MapVersion { found: map_version.0, known });
            }
            let digest = bytes::<8, 32>(r.map_digest().iter().map(|word| Ok(word.try_read()?.v())))?;
            if digest != MAP_DIGEST {
                return Err(SessionError::MapDigest { found: hex::encode(&digest), known: hex::encode(&MAP_DIGEST) });
            }
            let capabilities = r.capabilities().try_read()?;
            let rows = r.rows().try_read()?;
            let limits = r.queue_limits().try_read()?;
            let text = r.text_limits().try_read()?;
            let text = TextLaneLimits {
                engines: text.engines(),
                states_log2: text.states_log2(),
                byte_classes: text.byte_classes(),
                blocks: text.blocks(),
            };
            Ok(Self {
                map_version,
                map_digest: hex::encode(&digest),
                lanes: capabilities.lanes(),
                rows_per_clock: capabilities.rows_per_clock(),
                digest: capabilities.digest(),
                signer: capabilities.signer(),
                heartbeat: capabilities.heartbeat(),
                text: capabilities.text().then_some(text),
                policy_rows: rows.policy(),
                entropy_rows: rows.entropy(),
                max_streams: r.max_streams().try_read()?.v(),
                ring_log2: limits.ring_log2(),
                log_log2: limits.log_log2(),
                reads: limits.reads(),
                key_flags: r.key_flags().try_read()?.v(),
                design_id: bytes::<4, 16>(r.design_id().iter().map(|word| Ok(word.try_read()?.v())))?,
                boot_nonce: bytes::<4, 16>(r.boot_nonce().iter().map(|word| Ok(word.try_read()?.v())))?,
                life: Life::try_from(r.status().try_read()?.life())?,
                needs_reset: r.status().try_read()?.needs_reset(),
                stale: r.status().try_read()?.stale(),
                fault: Fault::try_from(r.fault().try_read()?.code())?,
            })
        })
    }
}

/// The card's SLH-DSA-SHA2-128f public key, PK.seed then PK.root (FIPS 205, figure 16). Zero until the card has made
/// it, and for a card without a signer.
pub fn public_key<C: CardTransport + ?Sized>(card: &mut C) -> Result<[u8; 32], CardError> {
    registers::with(card, |r| bytes::<8, 32>(r.public_key().iter().map(|word| Ok(word.try_read()?.v()))))
}

/// The bytes of `WORDS` registers; the first byte is the lowest of the first register.
fn bytes<const WORDS: usize, const BYTES: usize>(
    registers: impl Iterator<Item = Result<u32, CardError>>,
) -> Result<[u8; BYTES], CardError> {
    let mut words = [0; WORDS];
    for (word, found) in words.iter_mut().zip(registers) {
        *word = found?;
    }
    Ok(registers::bytes_of(words))
}

/// Lifecycle state, whether work is in flight, and whether the card needs its hardware reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LifecycleStatus {
    pub(crate) life: Life,
    pub(crate) busy: bool,
    pub(crate) needs_reset: bool,
    /// Whether the bus owes answers from before the last hardware reset.
    pub(crate) stale: bool,
}

impl LifecycleStatus {
    pub(crate) fn read<C: CardTransport + ?Sized>(card: &mut C) -> Result<Self, SessionError> {
        let status = registers::with(card, |r| {
            let raw = r.status().try_read()?;
            // A lost device reads as all ones. A valid status never does: its upper bits are reserved.
            if peakrdl_rust::reg::Register::to_raw(raw) == GONE { Err(CardError::Gone(0x44)) } else { Ok(raw) }
        })?;
        let (busy, needs_reset, stale) = (status.busy(), status.needs_reset(), status.stale());
        Ok(Self { life: Life::try_from(status.life())?, busy, needs_reset, stale })
    }
}

/// Clocks since reset.
pub(crate) fn tick<C: CardTransport + ?Sized>(card: &mut C) -> Result<u64, CardError> {
    registers::with(card, |r| {
        let before = r.tick_hi().try_read()?.v();
        let low = r.tick_lo().try_read()?.v();
        let high = r.tick_hi().try_read()?.v();
        // The low half may have wrapped between the two reads.
        let low = if high == before { low } else { r.tick_lo().try_read()?.v() };
        Ok(u64::from(high) << 32 | u64::from(low))
    })
}

pub(crate) fn sticky_fault<C: CardTransport + ?Sized>(card: &mut C) -> Result<Fault, SessionError> {
    let code = registers::with(card, |r| r.fault().try_read())?.code();
    Ok(Fault::try_from(code)?)
}
