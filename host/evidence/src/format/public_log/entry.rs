//! An entry of the public log.

use crate::format::ticket::ChainId;
use crate::format::tree::{self, Hash};

/// Version of the entries.
const VERSION: u8 = 1;

/// Kind of an event of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PublicLogEventKind {
    /// The ticket was issued.
    Issued = 0,
    /// The session's opening checkpoint was presented.
    Opened = 1,
    /// Its closing checkpoint was presented.
    Closed = 2,
    /// The issuer gave the ticket up.
    Abandoned = 3,
}

impl PublicLogEventKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Issued, Self::Opened, Self::Closed, Self::Abandoned];

    /// The kind with this number; `None` if there is none.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The entry for one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicLogEntry {
    pub chain: ChainId,
    /// Number of the event in the chain.
    pub place: u64,
    /// Number of the session in the chain.
    pub serial: u64,
    pub kind: PublicLogEventKind,
    /// Digest of the session's ticket.
    pub ticket: Hash,
    /// Hash of the event: it covers the event's body and the events before it in the chain.
    pub hash: Hash,
}

impl PublicLogEntry {
    /// Bytes of an entry.
    pub const BYTES: usize = 118;

    /// The leaf's data: version u8 (1), key, seat u32, place u64, serial u64, kind u8, ticket digest, hash; big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let parts: [&[u8]; 8] = [
            &[VERSION],
            &self.chain.key,
            &u32::from(self.chain.seat).to_be_bytes(),
            &self.place.to_be_bytes(),
            &self.serial.to_be_bytes(),
            &[self.kind as u8],
            &self.ticket,
            &self.hash,
        ];
        bytes.iter_mut().zip(parts.concat()).for_each(|(to, from)| *to = from);
        bytes
    }

    /// Decodes an entry; `None` for anything that [`PublicLogEntry::to_bytes`] would not write.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (seat, rest) = rest.split_first_chunk()?;
        let (place, rest) = rest.split_first_chunk()?;
        let (serial, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first()?;
        let (ticket, hash) = rest.split_first_chunk()?;
        let seat = u16::try_from(u32::from_be_bytes(*seat)).ok()?;
        let entry = Self {
            chain: ChainId { key: *key, seat },
            place: u64::from_be_bytes(*place),
            serial: u64::from_be_bytes(*serial),
            kind: PublicLogEventKind::of(*kind)?,
            ticket: *ticket,
            hash: hash.try_into().ok()?,
        };
        (*version == VERSION).then_some(entry)
    }

    /// Hash of the entry's leaf.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        tree::leaf(&self.to_bytes())
    }

    /// The content of a tile of entries: each entry after its length, u16 big-endian.
    #[must_use]
    pub fn to_tile(entries: &[Self]) -> Vec<u8> {
        let length = (Self::BYTES as u16).to_be_bytes();
        entries.iter().flat_map(|entry| length.into_iter().chain(entry.to_bytes())).collect()
    }

    /// Decodes a tile of entries; `None` for anything that [`PublicLogEntry::to_tile`] would not write.
    #[must_use]
    pub fn from_tile(bytes: &[u8]) -> Option<Vec<Self>> {
        let length = (Self::BYTES as u16).to_be_bytes();
        let entry = |bytes: &[u8]| Self::from_bytes(bytes.strip_prefix(&length)?);
        bytes.chunks(length.len() + Self::BYTES).map(entry).collect()
    }
}
