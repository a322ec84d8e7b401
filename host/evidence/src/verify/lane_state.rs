//! Facts about the session from the part of a lane's log that has been read.

use super::findings::At;
use crate::format::checkpoint;
use crate::format::log::LogChecker;
use crate::format::tree::{Hash, MerkleFrontier};
use portcullis_core::wire::{LaneHead, SessionFields};
use sha2::{Digest, Sha256};

/// The heartbeats of a lane in order, as one chained digest, since a log can hold very many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeartbeatDigest {
    pub(super) count: u64,
    /// Digest over all nonces so far; `before` is the digest without the last nonce.
    pub(super) all: Hash,
    pub(super) before: Hash,
}

impl HeartbeatDigest {
    pub(super) fn push(&mut self, nonce: u64) {
        self.count += 1;
        self.before = self.all;
        self.all = Sha256::new().chain_update(self.all).chain_update(nonce.to_le_bytes()).finalize().into();
    }
}

/// The state of a lane after the part of its log that has been read.
pub(super) struct LaneState {
    pub(super) number: u8,
    /// Whether the card has other lanes.
    pub(super) one_of_several: bool,
    pub(super) log: LogChecker,
    /// Whether a record broke a rule. The checker is not used after that.
    pub(super) broken: bool,
    pub(super) tree: MerkleFrontier,
    /// Number of records under the last checkpoint, from its head.
    pub(super) signed: u64,
    /// Largest number of records under any checkpoint, from the heads.
    pub(super) most: u64,
    pub(super) heartbeats: HeartbeatDigest,
    pub(super) close: Option<SessionFields>,
    pub(super) cause: Option<u16>,
    pub(super) first_tick: Option<u64>,
    pub(super) withheld: u64,
}

impl LaneState {
    /// Lane `number` of `lanes`, before its first record, with an image of this many rows.
    pub(super) fn new(number: u8, lanes: u8, rows: (u16, u16)) -> Self {
        Self {
            number,
            one_of_several: lanes > 1,
            log: LogChecker::of_lane(rows, number, lanes),
            broken: false,
            tree: MerkleFrontier::new(),
            signed: 0,
            most: 0,
            heartbeats: HeartbeatDigest::default(),
            close: None,
            cause: None,
            first_tick: None,
            withheld: 0,
        }
    }

    pub(super) fn name(&self) -> String {
        if self.one_of_several { format!("lane {}", self.number) } else { "the log".to_owned() }
    }

    pub(super) const fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Ticks of the first and the last record.
    pub(super) fn ticks(&self) -> Option<(u64, u64)> {
        self.first_tick.map(|first| (first, self.log.tick()))
    }

    pub(super) fn head(&self) -> LaneHead {
        checkpoint::head(self.number, self.tree.size(), self.tree.root())
    }

    pub(super) fn at(&self, index: u64) -> At {
        At { lane: self.one_of_several.then_some(self.number), index }
    }
}
