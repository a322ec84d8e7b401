//! The key of simulated cards. It is public, so its signatures prove nothing, and a verifier must recognise it.

#[cfg(feature = "test-signer")]
pub mod log;
#[cfg(feature = "test-signer")]
pub mod signer;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The device secret of every simulated card is the SHA-256 of this text.
pub const SECRET_TEXT: &[u8] = b"SIM TEST KEY - NOT FOR PRODUCTION";
/// Domain separation tag of the key derivation.
const DERIVE_TAG: &[u8] = b"portcullis/slh-dsa/1\0";

/// The three seeds of a card's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardKeySeeds {
    /// SK.seed (FIPS 205, 9.1).
    pub sk_seed: [u8; 16],
    pub sk_prf: [u8; 16],
    /// PK.seed, the first half of the public key.
    pub pk_seed: [u8; 16],
}

/// Derives the seeds from device secret and design: the first 16 bytes of HMAC-SHA-256(secret, tag || u8 i || design
/// id), with i = 0 for SK.seed, 1 for SK.prf, 2 for PK.seed.
#[must_use]
pub fn derive(secret: &[u8; 32], design_id: &[u8; 16]) -> CardKeySeeds {
    let seed = |number: u8| {
        // RFC 2104 pads a key that is shorter than a block with zeros.
        let mut block = [0; 64];
        block.iter_mut().zip(secret).for_each(|(b, s)| *b = *s);
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
        [DERIVE_TAG, &[number], design_id].iter().for_each(|part| mac.update(part));
        let full: [u8; 32] = mac.finalize().into_bytes().into();
        let mut seed = [0; 16];
        seed.iter_mut().zip(full).for_each(|(s, f)| *s = f);
        seed
    };
    CardKeySeeds { sk_seed: seed(0), sk_prf: seed(1), pk_seed: seed(2) }
}

/// The device secret of every simulated card.
#[must_use]
pub fn secret() -> [u8; 32] {
    Sha256::digest(SECRET_TEXT).into()
}

/// Whether a public key is the simulated key of this design. The check derives the key, so it works for every design.
/// A simulation sets the top bit of the design id, so the id is tried with and without that bit.
#[must_use]
pub fn is_public(public_key: &[u8; 32], design_id: &[u8; 16]) -> bool {
    let [first, rest @ ..] = design_id;
    [first & 0x7f, first | 0x80].into_iter().any(|first| {
        let mut design = [first; 16];
        design.iter_mut().skip(1).zip(rest).for_each(|(to, from)| *to = *from);
        public_key.starts_with(&derive(&secret(), &design).pk_seed)
    })
}

/// Whether a design id belongs to a simulated card.
#[must_use]
pub const fn is_design(design_id: &[u8; 16]) -> bool {
    let [first, ..] = *design_id;
    first & 0x80 != 0
}
