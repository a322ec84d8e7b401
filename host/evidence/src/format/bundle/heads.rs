//! The number of records of each lane under each checkpoint.

use super::error::BundleError;
use super::name::HEADS;
use crate::format::checkpoint::LANES_MAX;
use portcullis_core::wire::LaneHead;
use std::io::{BufRead, Read};
use zerocopy::IntoBytes;

/// `records/heads.bin`: the heads of all lanes under each checkpoint, 48 bytes each, in order of serials. They have no
/// signature of their own; the checkpoint signs the root over them.
pub struct LaneHeadReader<'a> {
    from: Box<dyn BufRead + 'a>,
    lanes: u8,
}

impl<'a> LaneHeadReader<'a> {
    pub(super) fn new(from: Box<dyn BufRead + 'a>, lanes: u8) -> Self {
        Self { from, lanes: lanes.min(LANES_MAX) }
    }

    /// Reads the heads under the next checkpoint, lane 0 first. The file has heads for every checkpoint in the bundle.
    pub fn read(&mut self) -> Result<Vec<LaneHead>, BundleError> {
        let mut heads = vec![LaneHead::ZERO; self.lanes.into()];
        self.from.read_exact(heads.as_mut_slice().as_mut_bytes()).map_err(BundleError::io(HEADS))?;
        Ok(heads)
    }
}
