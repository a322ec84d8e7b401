//! What the tables take from a bundle, as it is: nothing is checked here.

use portcullis_core::wire::LaneHead;
use portcullis_evidence::bundle::{self, Bundle, BundleError, BundleFiles};
use portcullis_evidence::checkpoint::CoseCheckpoint;
use portcullis_evidence::tree::Hash;
use std::io::Read;

/// The small files of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSmallFiles {
    pub ticket: Vec<u8>,
    pub certificate: Vec<u8>,
    /// The certificates between that of the card and the root.
    pub chain: Vec<u8>,
    pub lanes: u8,
    /// Checkpoints, in the order of the bundle.
    pub checkpoints: Vec<CheckpointFile>,
    /// The notes of witnesses.
    pub notes: Vec<Vec<u8>>,
}

/// A checkpoint of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFile {
    /// The COSE message.
    pub message: Vec<u8>,
    /// Number of records of each lane under the checkpoint, lane 0 first. Zeros if the message is malformed.
    pub sizes: Vec<u64>,
}

impl BundleSmallFiles {
    /// Reads the small files. Errors: as [`Bundle::read`].
    pub fn read(bundle: &Bundle<'_>) -> Result<Self, BundleError> {
        let mut heads = bundle.heads()?;
        let mut checkpoints = Vec::new();
        for serial in 0..bundle.checkpoints() {
            let heads = heads.as_mut().map(|heads| heads.read()).transpose()?;
            let message = bundle.read(&bundle::checkpoint(serial))?;
            let sizes = sizes(&message, heads.as_deref(), bundle.lanes());
            checkpoints.push(CheckpointFile { message, sizes });
        }
        let notes = bundle.below("witness/").map(|(name, _)| bundle.read(name)).collect::<Result<_, _>>()?;
        Ok(Self {
            ticket: bundle.read(bundle::TICKET)?,
            certificate: bundle.read(bundle::CERTIFICATE)?,
            chain: bundle.read(bundle::CHAIN)?,
            lanes: bundle.lanes(),
            checkpoints,
            notes,
        })
    }

    /// The checkpoint that covers each record of a lane.
    #[must_use]
    pub fn segment_ends(&self, lane: u8) -> SegmentEnds {
        let mut most = 0;
        let size = |checkpoint: &CheckpointFile| checkpoint.sizes.get(usize::from(lane)).copied().unwrap_or_default();
        let ends = self.checkpoints.iter().map(|checkpoint| {
            most = most.max(size(checkpoint));
            most
        });
        SegmentEnds(ends.collect())
    }
}

fn sizes(message: &[u8], heads: Option<&[LaneHead]>, lanes: u8) -> Vec<u64> {
    match heads {
        Some(heads) => heads.iter().map(|head| head.size.get()).collect(),
        // With one lane, the size of the checkpoint is the size of the lane.
        None => match CoseCheckpoint::parse(message) {
            Ok(signed) => vec![signed.checkpoint.wire.size.get()],
            Err(_) => vec![0; lanes.into()],
        },
    }
}

/// Number of records of a lane under each checkpoint. It never decreases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentEnds(Vec<u64>);

impl SegmentEnds {
    /// Number of the first checkpoint that covers the record at this place in the lane's file; `None` if no checkpoint
    /// covers it.
    #[must_use]
    pub fn checkpoint_of(&self, place: u64) -> Option<u64> {
        let checkpoint = self.0.partition_point(|end| *end <= place);
        (checkpoint < self.0.len()).then_some(checkpoint as u64)
    }
}

/// Digest of a bundle's whole content: BLAKE3 over length, name, size and BLAKE3 of each file, in the order of the
/// names. It identifies the input of a unit of work. No file of the evidence contains this digest, so it need not be
/// SHA-256. BLAKE3 is faster, and each audit reads every bundle once more for it. Errors: [`BundleError`].
pub fn digest(files: &dyn BundleFiles) -> Result<Hash, BundleError> {
    let mut all = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    for (name, size) in files.names()? {
        let io = |source| BundleError::Io { name: name.clone(), source };
        let (mut content, mut hash) = (files.open(&name)?.take(size), blake3::Hasher::new());
        loop {
            let length = content.read(&mut buffer).map_err(io)?;
            if length == 0 {
                break;
            }
            hash.update(buffer.get(..length).unwrap_or_default());
        }
        all.update(&(name.len() as u64).to_le_bytes());
        all.update(name.as_bytes());
        all.update(&size.to_le_bytes());
        all.update(hash.finalize().as_bytes());
    }
    Ok(all.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_test_support::world::World;

    #[test]
    fn of_bundles_with_one_and_two_lanes() {
        for lanes in [1, 2] {
            let parts = World::new().honest_in(lanes);
            let files = parts.files();
            let bundle = Bundle::open(&files).unwrap();
            let content = BundleSmallFiles::read(&bundle).unwrap();
            assert_eq!((content.lanes, content.checkpoints.len(), content.notes.len()), (lanes, 3, 3));
            assert_eq!(content.ticket, parts.ticket_bytes());
            for lane in 0..lanes {
                let records = parts.log.lanes[usize::from(lane)].len() as u64;
                let ends = content.segment_ends(lane);
                assert_eq!((ends.checkpoint_of(0), ends.checkpoint_of(1)), (Some(0), Some(1)));
                assert_eq!((ends.checkpoint_of(records - 1), ends.checkpoint_of(records)), (Some(2), None));
            }
        }
    }

    #[test]
    fn the_digest_covers_names_and_content() {
        let files = World::new().honest().files();
        let of = digest(&files).unwrap();
        assert_eq!(of, digest(&files.clone()).unwrap());
        for name in files.0.keys() {
            let mut changed = files.clone();
            changed.0.get_mut(name).unwrap().push(0);
            assert_ne!(of, digest(&changed).unwrap(), "{name}");
            let mut renamed = files.clone();
            let content = renamed.0.remove(name).unwrap();
            assert_ne!(of, digest(&renamed).unwrap(), "{name}");
            renamed.0.insert(format!("{name}x"), content);
            assert_ne!(of, digest(&renamed).unwrap(), "{name}");
        }
    }
}
