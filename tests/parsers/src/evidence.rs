//! Parsers of `portcullis-evidence`. If a format has a single encoding, encoding the result must give the same bytes.

use ed25519_dalek::SigningKey;
use portcullis_core::wire::{self, Descriptor, Record, RecordType};
use portcullis_evidence::approval::PolicyApproval;
use portcullis_evidence::bundle::{self, Bundle, MemoryFiles};
use portcullis_evidence::certificate::TrustStore;
use portcullis_evidence::checkpoint::{CoseCheckpoint, ParsedCheckpoint};
use portcullis_evidence::log::{self, LogChecker};
use portcullis_evidence::note::{LogTreeHead, SignedNote, WitnessKey, WitnessProof};
use portcullis_evidence::ticket::{SessionTicket, issuer_key};
use portcullis_evidence::{cose, receipt as proof};
use std::collections::BTreeMap;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of the Ed25519 signature at the end of a message.
const SIGNATURE: usize = 64;
/// Place of the key id in the message of a ticket.
const KID: std::ops::Range<usize> = 9..17;

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// Compares messages without their signatures, because another key made the signatures.
fn same_but_signature(read: &[u8], written: &[u8]) {
    let end = read.len() - SIGNATURE;
    assert_eq!(read.len(), written.len());
    assert_eq!(read[..end], written[..end]);
}

pub(super) fn ticket(bytes: &[u8]) -> bool {
    let Ok(signed) = SessionTicket::parse(bytes) else { return false };
    let mut again = signed.content.sign(&key()).unwrap();
    again[KID].copy_from_slice(&bytes[KID]);
    same_but_signature(bytes, &again);
    true
}

pub(super) fn approval(bytes: &[u8]) -> bool {
    let Some(approval) = PolicyApproval::parse(bytes) else { return false };
    same_but_signature(bytes, &PolicyApproval::sign(approval.policy, &approval.name, &key()).unwrap());
    true
}

/// Parses a signed checkpoint, or only its 192 bytes; returns whether it was accepted.
pub(super) fn checkpoint(bytes: &[u8]) -> bool {
    if let Ok(signed) = CoseCheckpoint::parse(bytes) {
        let (inner, signature) = cose::decode(bytes).unwrap();
        assert_eq!(signed.checkpoint.wire.as_bytes(), inner);
        assert_eq!(cose::encode(inner, signature), bytes);
        return true;
    }
    let Some(bytes) = bytes.first_chunk::<{ wire::Checkpoint::BYTES }>() else { return false };
    let Ok(checkpoint) = ParsedCheckpoint::parse(bytes) else { return false };
    assert_eq!(checkpoint.wire.as_bytes(), bytes);
    assert!(checkpoint.wire.reserved_is_zero() && [1, 2, 4, 8].contains(&checkpoint.wire.lanes));
    true
}

/// Parses texts of a witness and of a trust folder. True for a revocation list, an issuer's key or a witness proof.
pub(super) fn note(bytes: &[u8]) -> bool {
    let proof = WitnessProof::parse(bytes);
    if let Ok(proof) = &proof {
        assert_eq!(proof.text().as_bytes(), bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let inner = proof.as_ref().map_or(text, |proof| &proof.note);
    let note = SignedNote::parse(inner);
    let signed = note.as_ref().map_or(inner, |note| note.text);
    let head = LogTreeHead::parse(signed);
    if let Ok(head) = &head {
        assert_eq!(head.text(), signed);
    }
    if let Ok(key) = WitnessKey::parse(text) {
        assert_eq!(key.to_string(), text);
    }
    let revoked = TrustStore::default().revoke_list(text).is_ok();
    revoked || issuer_key(text).is_ok() || (proof.is_ok() && note.is_ok() && head.is_ok())
}

pub(super) fn receipt(bytes: &[u8]) -> bool {
    let Ok(proof) = proof::ReceiptProof::parse(bytes) else { return false };
    let again = serde_json::to_vec(&proof).unwrap();
    assert_eq!(proof::ReceiptProof::parse(&again).unwrap(), proof);
    true
}

/// Parses the bytes as a bundle's manifest and as its files of lines. True if the manifest or any line is accepted.
pub(super) fn lines(bytes: &[u8]) -> bool {
    let needed = [bundle::TICKET, bundle::CERTIFICATE, bundle::CHAIN, bundle::IMAGE, bundle::RECORDS];
    let mut files: BTreeMap<_, _> = needed.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
    files.insert(bundle::checkpoint(0), Vec::new());
    for name in [bundle::MANIFEST, bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS] {
        files.insert(name.to_owned(), bytes.to_vec());
    }
    let files = MemoryFiles(files);
    let bundle = Bundle::open(&files).unwrap();
    let listed = bundle.check_manifest().is_ok();
    // A bundle's manifest cannot list itself.
    assert!(!listed, "a manifest with its own digest");
    let manifest = serde_json::from_slice::<bundle::BundleManifest>(bytes).is_ok();
    let mut read = manifest;
    macro_rules! walk {
        ($lines:expr) => {
            let mut lines = $lines.unwrap();
            let mut last = None;
            while let Ok(Some(index)) = lines.rest() {
                assert!(last < Some(index), "ascending");
                last = Some(index);
                match lines.about(index) {
                    Ok(line) => read |= line.is_some(),
                    Err(_) => break,
                }
            }
        };
    }
    walk!(bundle.streams(0));
    walk!(bundle.inputs(0));
    walk!(bundle.spans(0));
    walk!(bundle.receipts(0));
    read
}

/// Reads a log with recomputed numbers and checksums, so that later rules are tested. True if any record is accepted.
pub(super) fn records(bytes: &[u8]) -> bool {
    let mut rules = LogChecker::new((3, 3));
    let mut rest = bytes;
    let mut count = 0;
    loop {
        let before = rest.len();
        let mut record = match log::read(&mut rest) {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                assert!(before < Record::BYTES, "{error}");
                break;
            }
        };
        record.answer.log_index.set(count);
        let kind = RecordType::try_from(record.answer.record_type);
        let of_an_entry =
            matches!(kind, Ok(RecordType::Begin | RecordType::Verdict | RecordType::Note | RecordType::End));
        if of_an_entry {
            record.descriptor = Descriptor::sealed(record.descriptor);
        }
        if rules.next(&record).is_err() {
            break;
        }
        count += 1;
        let counts = rules.counts();
        assert_eq!(counts.records, count);
        assert!(counts.admits + counts.rejects + counts.decomposes + counts.streams <= count);
        assert_eq!(Record::read_from_bytes(record.as_bytes()).unwrap(), record);
    }
    assert!(rules.open().is_some() == (count > 0));
    count > 0
}
