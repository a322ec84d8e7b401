//! Shared by the tests: seeded random bytes, vector files, the software signer, skips.

pub(crate) use portcullis_test_support::random::Random;
use slh_dsa::{Sha2_128f, Signature, SigningKey, VerifyingKey};
use std::io::Write;

/// The fields of a vector file, line by line.
pub(crate) fn vectors(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect())
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    base16ct::mixed::decode_vec(text).unwrap()
}

pub(crate) fn software_key(seeds: &[u8; 48]) -> SigningKey<Sha2_128f> {
    SigningKey::slh_keygen_internal(&seeds[..16], &seeds[16..32], &seeds[32..])
}

pub(crate) fn public_key(key: &SigningKey<Sha2_128f>) -> Vec<u8> {
    AsRef::<VerifyingKey<Sha2_128f>>::as_ref(key).to_vec()
}

/// RustCrypto's deterministic signature, pure and with an empty context.
pub(crate) fn software_signature(key: &SigningKey<Sha2_128f>, message: &[u8]) -> Vec<u8> {
    key.try_sign_with_context(message, &[], None).unwrap().to_vec()
}

pub(crate) fn verifies(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = VerifyingKey::<Sha2_128f>::try_from(public_key).unwrap();
    let Ok(signature) = Signature::try_from(signature) else { return false };
    key.try_verify_with_context(message, &[], &signature).is_ok()
}

/// Prints that a test was skipped, even though the test harness captures output.
pub(crate) fn skipped(what: &str) {
    std::io::stderr().write_all(format!("SKIPPED: {what}\n").as_bytes()).unwrap();
}
