//! C2SP `tlog-proof`, and the entry that it proves.

use base64ct::{Base64, Encoding};

use super::error::{MAX_BYTES, NoteError};
use super::head::{decimal, hash};
use crate::format::tree::{Hash, PROOF_MAX};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// One accepted checkpoint in a witness's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessEntry {
    /// Serial of the session's ticket.
    pub ticket: u64,
    /// Serial of the checkpoint in the session.
    pub serial: u64,
    /// SHA-256 of the checkpoint's 192 bytes.
    pub checkpoint: Hash,
    /// Nonce for the next heartbeat, never zero. `None` after the end of the session or of the ticket's validity.
    pub nonce: Option<u64>,
}

impl WitnessEntry {
    pub const BYTES: usize = 56;

    /// The leaf's data: ticket u64, serial u64, checkpoint, nonce u64 (zero for none); little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        let parts = [&self.ticket.to_le_bytes()[..], &self.serial.to_le_bytes(), &self.checkpoint];
        let nonce = self.nonce.unwrap_or_default().to_le_bytes();
        for (to, from) in out.iter_mut().zip(parts.into_iter().flatten().chain(&nonce)) {
            *to = *from;
        }
        out
    }

    /// Decodes an entry; `None` if the length is wrong.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (ticket, rest) = bytes.split_first_chunk()?;
        let (serial, rest) = rest.split_first_chunk()?;
        let (checkpoint, rest) = rest.split_first_chunk()?;
        let nonce = u64::from_le_bytes(rest.try_into().ok()?);
        Some(Self {
            ticket: u64::from_le_bytes(*ticket),
            serial: u64::from_le_bytes(*serial),
            checkpoint: *checkpoint,
            nonce: (nonce != 0).then_some(nonce),
        })
    }
}

/// A parsed proof; nothing in it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessProof {
    /// The entry that is proved to be in the log.
    pub entry: WitnessEntry,
    pub index: u64,
    /// Inclusion proof, the leaf's sibling first.
    pub path: Vec<Hash>,
    pub note: String,
}

impl WitnessProof {
    #[must_use]
    pub fn text(&self) -> String {
        let path: String = self.path.iter().map(|hash| Base64::encode_string(hash) + "\n").collect();
        let extra = Base64::encode_string(&self.entry.to_bytes());
        format!("{FIRST_LINE}\nextra {extra}\nindex {}\n{path}\n{}", self.index, self.note)
    }

    /// Parses a proof file. Errors: anything that [`WitnessProof::text`] would not write.
    pub fn parse(file: &[u8]) -> Result<Self, NoteError> {
        if file.len() > MAX_BYTES {
            return Err(NoteError::Oversize);
        }
        let wrong = NoteError::Format("proof of an entry (C2SP tlog-proof)");
        let text = std::str::from_utf8(file).map_err(|_| wrong.clone())?;
        let (proof, note) = text.split_once("\n\n").ok_or(wrong.clone())?;
        let mut lines = proof.split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err(wrong);
        }
        let extra = lines.next().and_then(|line| line.strip_prefix("extra ")).ok_or(wrong.clone())?;
        let entry =
            Base64::decode_vec(extra).ok().and_then(|bytes| WitnessEntry::from_bytes(&bytes)).ok_or(wrong.clone())?;
        let index = lines.next().and_then(|line| line.strip_prefix("index ")).and_then(decimal).ok_or(wrong.clone())?;
        let path: Vec<Hash> = lines.map(hash).collect::<Option<_>>().ok_or(wrong.clone())?;
        if path.len() > PROOF_MAX {
            return Err(wrong);
        }
        Ok(Self { entry, index, path, note: note.to_owned() })
    }
}
