//! A whole bundle and its certificate chain: those of an honest session, changed by the fuzzer's bytes.

use base64ct::{Base64, Encoding};
use portcullis_evidence::bundle::{self, MemoryFiles};
use portcullis_evidence::certificate::{DeviceCertificate, TrustStore, verify_chain};
use portcullis_evidence::verify::{EvidenceStatus, TrustedParties, VerifyOptions, verify};
use portcullis_test_support::world::{START, World, remanifest};
use std::cell::OnceCell;

struct Honest {
    files: MemoryFiles,
    trust: TrustedParties,
    device: DeviceCertificate,
}

thread_local! {
    static HONEST: OnceCell<Honest> = const { OnceCell::new() };
}

fn honest<T>(with: impl FnOnce(&Honest) -> T) -> T {
    HONEST.with(|cell| {
        with(cell.get_or_init(|| {
            let world = World::new();
            let files = world.honest().files();
            let trust = world.trust(false);
            assert_eq!(
                verify(&files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap().status,
                EvidenceStatus::Affirmed
            );
            let (leaf, chain) = (&files.0[bundle::CERTIFICATE], &files.0[bundle::CHAIN]);
            let device = verify_chain(leaf, chain, &trust.roots, Some(START)).unwrap();
            Honest { files, trust, device }
        }))
    })
}

pub fn honest_files() -> MemoryFiles {
    honest(|honest| honest.files.clone())
}

/// The DER in a PEM file of one certificate.
pub fn der(pem: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(pem).unwrap();
    Base64::decode_vec(&text.lines().filter(|line| !line.starts_with('-')).collect::<String>()).unwrap()
}

fn pem(der: &[u8]) -> String {
    let body = Base64::encode_string(der);
    let lines = body.as_bytes().chunks(64).map(|line| format!("{}\n", std::str::from_utf8(line).unwrap()));
    format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", lines.collect::<String>())
}

/// Parses a certificate as DER, and as PEM; returns whether the DER was accepted. An accepted certificate may differ
/// from the honest certificate only in its serial number.
pub(super) fn certificate(bytes: &[u8]) -> bool {
    honest(|honest| {
        let chain = &honest.files.0[bundle::CHAIN];
        let _ = (TrustStore::default().add_root(bytes), TrustStore::default().add_sim_root(bytes));
        let _ = verify_chain(bytes, bytes, &honest.trust.roots, Some(START));
        let _ = TrustStore::default().add_root(pem(bytes).as_bytes());
        let read = verify_chain(pem(bytes).as_bytes(), chain, &honest.trust.roots, Some(START));
        if let Ok(device) = &read {
            let same = DeviceCertificate { serial: device.serial.clone(), ..honest.device.clone() };
            assert_eq!(device, &same, "another certificate is believed");
        }
        read.is_ok()
    })
}

/// Edits and verifies the honest bundle; true if it is readable. An edit: file number, operation, place, length, bytes.
pub(super) fn bundle(bytes: &[u8]) -> bool {
    honest(|honest| {
        let mut files = honest.files.clone();
        let names: Vec<String> = files.0.keys().cloned().collect();
        let mut rest = bytes;
        let mut framed = false;
        while let Some((&[file, operation, high, low, length], tail)) = rest.split_first_chunk() {
            let (new, tail) = tail.split_at(usize::from(length).min(tail.len()));
            rest = tail;
            let name = &names[usize::from(file) % names.len()];
            let other = &names[usize::from(low) % names.len()];
            let at = usize::from(u16::from_be_bytes([high, low]));
            if operation == 0 {
                files.0.remove(name);
                continue;
            }
            let Some(content) = files.0.get_mut(name) else { continue };
            let at = at.min(content.len());
            let end = (at + new.len()).min(content.len());
            match operation % 8 {
                1 | 2 => content[at..end].copy_from_slice(&new[..end - at]),
                3 => drop(content.splice(at..at, new.iter().copied())),
                4 => drop(content.drain(at..end)),
                5 => content.truncate(at),
                6 => *content = new.to_vec(),
                7 => {
                    let content = content.clone();
                    files.0.insert(other.clone(), content);
                }
                _ => framed = true,
            }
        }
        if framed {
            remanifest(&mut files);
        }
        let Ok(report) = verify(&files, &honest.trust, VerifyOptions::default(), &mut |_| ()) else { return false };
        if report.status == EvidenceStatus::Affirmed {
            // Data that the card and the witness bind must be unchanged. JSON lines, PEM and the README may differ,
            // because they have several valid forms.
            let free =
                [bundle::MANIFEST, bundle::README, bundle::CERTIFICATE, bundle::CHAIN, bundle::STREAMS, bundle::INPUTS];
            let free = |name: &str| free.contains(&name) || [bundle::SPANS, bundle::RECEIPTS].contains(&name);
            for (name, content) in &honest.files.0 {
                assert!(free(name) || files.0.get(name) == Some(content), "`{name}` was changed and is affirmed");
            }
            assert!(
                files.0.keys().all(|name| free(name) || honest.files.0.contains_key(name)),
                "affirmed with more files"
            );
        }
        true
    })
}
