//! The final state of a stream. Another stream can continue from it.

use portcullis_core::hex::HexBytes;
use portcullis_core::state::{PolicyReference, SemanticCommitments, SemanticState};
use portcullis_core::wire::Record;
use sha2::{Digest, Sha256};
use std::io;
use zerocopy::IntoBytes;

/// The final state of a stream whose END the card accepted. A successor names the stream by the leaf hash of END's
/// record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndState {
    leaf: HexBytes<32>,
    policy: PolicyReference,
    profile: HexBytes<32>,
    memory: SemanticCommitments,
}

impl EndState {
    /// The final state of a stream with this profile; `record` is its END.
    pub(crate) fn new(
        record: &Record,
        policy: PolicyReference,
        profile: HexBytes<32>,
        memory: SemanticCommitments,
    ) -> Self {
        Self { leaf: leaf(record), policy, profile, memory }
    }

    /// RFC 9162 leaf hash of END's record, as in the successor's context document.
    #[must_use]
    pub const fn leaf(&self) -> HexBytes<32> {
        self.leaf
    }

    /// The same state under another leaf hash. A replay's own END record has another hash than the original record,
    /// whose hash successors use.
    #[must_use]
    pub(crate) fn named(&self, leaf: HexBytes<32>) -> Self {
        Self { leaf, ..self.clone() }
    }

    /// Size of the commitments as JSON, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let mut counted = StateByteCounter(0);
        // A state whose size cannot be computed counts as too large to keep.
        serde_json::to_writer(&mut counted, &self.memory).map_or(usize::MAX, |()| counted.0)
    }

    /// Whether a stream with this initial state and profile may continue the ended stream.
    pub(crate) fn fits(&self, state: &SemanticState, profile: HexBytes<32>) -> bool {
        self.policy == state.policy && self.profile == profile
    }

    pub(crate) const fn memory(&self) -> &SemanticCommitments {
        &self.memory
    }
}

/// RFC 9162 leaf hash of a record: SHA-256(0x00 || 192 bytes).
pub(crate) fn leaf(record: &Record) -> HexBytes<32> {
    HexBytes(Sha256::new().chain_update([0]).chain_update(record.as_bytes()).finalize().into())
}

struct StateByteCounter(usize);

impl io::Write for StateByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
