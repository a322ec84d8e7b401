//! A card in software, for the tests of this crate: it logs random records and signs checkpoints.

use portcullis_core::wire::{CHECKPOINT_MAGIC, Checkpoint, Fault, LAYOUT_VERSION, Life, SIGNATURE_BYTES};
use portcullis_evidence::tree::{self, Hash, MerkleProver};
use portcullis_evidence::{
    certificate::key_id,
    checkpoint::root_of_lane,
    cose,
    ticket::{ChainId, SessionTicket},
};
use slh_dsa::{Sha2_128f, SigningKey};
use zerocopy::IntoBytes;

pub(crate) struct Card {
    key: SigningKey<Sha2_128f>,
    pub(crate) public_key: [u8; 32],
}

impl Card {
    pub(crate) fn new(seed: u8) -> Self {
        let key = SigningKey::slh_keygen_internal(&[seed; 16], &[seed ^ 1; 16], &[seed ^ 2; 16]);
        let public_key = key.as_ref().to_bytes().into();
        Self { key, public_key }
    }

    pub(crate) fn id(&self) -> Hash {
        key_id(&self.public_key)
    }

    /// The sessions of the card that has seat 0.
    pub(crate) fn chain(&self) -> ChainId {
        ChainId { key: self.id(), seat: 0 }
    }

    pub(crate) fn sign(&self, checkpoint: &Checkpoint) -> Vec<u8> {
        let bytes = checkpoint.as_bytes().try_into().unwrap();
        let signature = self.key.try_sign_with_context(&cose::to_be_signed(bytes), &[], None).unwrap();
        let signature: [u8; SIGNATURE_BYTES] = signature.to_vec().try_into().unwrap();
        cose::encode(bytes, &signature)
    }
}

/// A session's log up to its last checkpoint, and that checkpoint.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) wire: Checkpoint,
    pub(crate) leaves: Vec<Hash>,
}

impl Session {
    /// The session under `ticket`, at its opening checkpoint. Different values of `boot` give different runs.
    pub(crate) fn open(ticket: &[u8], boot: u8) -> Self {
        let signed = SessionTicket::parse(ticket).unwrap();
        let mut wire = Checkpoint::ZERO;
        wire.magic.set(CHECKPOINT_MAGIC);
        (wire.version, wire.lanes, wire.state) = (LAYOUT_VERSION, 1, Life::Opening as u8);
        (wire.policy_digest, wire.ticket_digest) = (signed.content.policy, signed.digest);
        (wire.design_id, wire.boot_nonce) = ([0x11; 16], [boot; 16]);
        wire.epoch.set(77);
        let mut session = Self { wire, leaves: vec![tree::leaf(&[boot])] };
        session.seal();
        session
    }

    pub(crate) fn root(&self) -> Hash {
        tree::root(self.leaves.iter().copied())
    }

    pub(crate) fn size(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// Proof that the log continues its first `old` records.
    pub(crate) fn proof(&self, old: u64) -> Vec<Hash> {
        let Some(mut prover) = MerkleProver::consistency(old, self.size()) else { return Vec::new() };
        self.leaves.iter().for_each(|leaf| prover.push(*leaf));
        prover.finish().unwrap()
    }

    /// Writes root and size into the checkpoint.
    pub(crate) fn seal(&mut self) {
        self.wire.size.set(self.size());
        self.wire.root = root_of_lane(self.size(), self.root());
    }

    /// Logs `records` more, whose content depends on `mark`, and makes the next checkpoint.
    pub(crate) fn advance(&mut self, records: u64, mark: u8, state: Life) {
        self.leaves.extend((0..records).map(|i| tree::leaf(&[mark, i as u8])));
        self.wire.serial += 1;
        self.wire.tick += 1000;
        self.wire.state = state as u8;
        if state == Life::Fault {
            self.wire.fault.set(Fault::Watchdog as u16);
        }
        self.seal();
    }
}
