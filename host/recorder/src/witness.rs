//! Posts checkpoints to a witness.

use portcullis_authority::witness::client::{WitnessClient, WitnessReply};
use portcullis_authority::witness::{CheckpointPost, LanePost};
use portcullis_card::driver::SinkError;
use portcullis_core::wire::Record;
use portcullis_evidence::tree;
use std::collections::VecDeque;
use zerocopy::IntoBytes;

/// Posts each checkpoint. All its records must have been added before.
pub(crate) struct Poster {
    client: WitnessClient,
    ticket: Vec<u8>,
    public_key: [u8; 32],
    lanes: Vec<PosterLane>,
    /// The checkpoints to post: sizes of the lanes, and message.
    next: VecDeque<(Vec<u64>, Vec<u8>)>,
}

/// The log of a lane, as far as the poster needs it.
#[derive(Clone, Default)]
struct PosterLane {
    leaves: Vec<tree::Hash>,
    /// Number of records under the last checkpoint that the witness accepted.
    old: u64,
}

impl Poster {
    /// A poster for the session under this ticket, of the card with this key and number of lanes.
    pub(crate) fn new(client: WitnessClient, ticket: &[u8], public_key: [u8; 32], lanes: u8) -> Self {
        let lanes = vec![PosterLane::default(); lanes.into()];
        Self { client, ticket: ticket.to_vec(), public_key, lanes, next: VecDeque::new() }
    }

    pub(crate) fn record(&mut self, lane: usize, record: &Record) -> Result<(), SinkError> {
        let lane = self.lanes.get_mut(lane).ok_or("a record of a lane that the card does not have")?;
        lane.leaves.push(tree::leaf(record.as_bytes()));
        Ok(())
    }

    /// Queues a checkpoint; `sizes` are its numbers of records by lane.
    pub(crate) fn checkpoint(&mut self, sizes: Vec<u64>, message: Vec<u8>) {
        self.next.push_back((sizes, message));
    }

    pub(crate) fn post(&mut self) -> Result<Option<WitnessReply>, SinkError> {
        let Some((sizes, checkpoint)) = self.next.pop_front() else { return Ok(None) };
        let posted = sizes.iter().zip(&self.lanes).map(|(size, lane)| lane.post(*size));
        let post = CheckpointPost {
            ticket: self.ticket.clone(),
            public_key: self.public_key,
            lanes: posted.collect::<Result<_, _>>()?,
            checkpoint,
        };
        let noted = self.client.post(&post)?;
        self.lanes.iter_mut().zip(sizes).for_each(|(lane, size)| lane.old = size);
        Ok(Some(noted))
    }
}

impl PosterLane {
    /// A lane's part of the post of a checkpoint, which covers the lane's first `size` records.
    fn post(&self, size: u64) -> Result<LanePost, SinkError> {
        let leaves = self.leaves.get(..usize::try_from(size)?).unwrap_or_default();
        let mut prover = tree::MerkleProver::consistency(self.old, size);
        leaves.iter().for_each(|leaf| prover.iter_mut().for_each(|prover| prover.push(*leaf)));
        let proof = prover.and_then(tree::MerkleProver::finish).unwrap_or_default();
        Ok(LanePost { old: self.old, size, root: tree::root(leaves.iter().copied()), proof })
    }
}
