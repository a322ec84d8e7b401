//! Certificates of the authority, checked by our verifier and by OpenSSL.

use std::path::Path;
use std::process::{Command, Output};

use ed25519_dalek::SigningKey;
use portcullis_authority::ca::{CaError, CertificateAuthority, CertificateValidity, DeviceCertificateContent};
use portcullis_authority::keys;
use portcullis_evidence::certificate::{
    CardKeyClass, CertificateError, CertificatePosition, DeviceCertificate, MAX_PEM, TrustStore, key_id, verify_chain,
};
use x509_cert::der::pem::LineEnding;

const YEAR: u64 = 31_557_600;
pub(crate) const WINDOW: CertificateValidity =
    CertificateValidity { not_before: 1_750_000_000, not_after: 1_750_000_000 + 10 * YEAR };
pub(crate) const NOW: u64 = WINDOW.not_before + YEAR;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn root(seed: u8, simulated: bool) -> CertificateAuthority {
    let subject = if simulated { "CN=Simulation root,O=Example" } else { "CN=Gate root,O=Example" };
    CertificateAuthority::root(key(seed), subject, WINDOW, simulated).unwrap()
}

fn device() -> DeviceCertificateContent {
    DeviceCertificateContent {
        public_key: [0x5a; 32],
        design_id: [0x11; 16],
        class: CardKeyClass::Device,
        supervised: true,
        subject: "CN=Gate 17,O=Example".to_owned(),
        window: WINDOW,
    }
}

fn simulated() -> DeviceCertificateContent {
    DeviceCertificateContent { class: CardKeyClass::Sim, design_id: [0x91; 16], supervised: false, ..device() }
}

pub(crate) struct Made {
    pub(crate) root: String,
    pub(crate) chain: String,
    pub(crate) leaf: String,
}

/// Root, one intermediate, device.
pub(crate) fn made() -> Made {
    let root = root(1, false);
    let issuing = root.subordinate(key(2), "CN=Gate issuing 1,O=Example", WINDOW).unwrap();
    Made {
        root: root.certificate_pem().unwrap(),
        chain: issuing.certificate_pem().unwrap(),
        leaf: issuing.certify(&device()).unwrap(),
    }
}

pub(crate) fn trust(roots: &[&str]) -> TrustStore {
    let mut store = TrustStore::default();
    roots.iter().for_each(|pem| store.add_root(pem.as_bytes()).unwrap());
    store
}

pub(crate) fn verify(made: &Made, store: &TrustStore) -> Result<DeviceCertificate, CertificateError> {
    verify_chain(made.leaf.as_bytes(), made.chain.as_bytes(), store, Some(NOW))
}

#[test]
fn what_is_certified_is_read_back() {
    let made = made();
    let found = verify(&made, &trust(&[&made.root])).unwrap();
    assert_eq!(found.public_key, device().public_key);
    assert_eq!(found.design_id, device().design_id);
    assert_eq!((found.class, found.supervised), (CardKeyClass::Device, true));
    assert_eq!(found.subject, "CN=Gate 17,O=Example");
    assert_eq!((found.not_before, found.not_after), (WINDOW.not_before, WINDOW.not_after));
    assert_eq!(found.serial.len(), 16);

    // The root certifies a card directly, so the chain is empty. Then an issuing authority is loaded from its files.
    let root = root(1, false);
    let leaf =
        root.certify(&DeviceCertificateContent { class: CardKeyClass::Class, supervised: false, ..device() }).unwrap();
    let found = verify(&Made { leaf, chain: String::new(), root: made.root.clone() }, &trust(&[&made.root])).unwrap();
    assert_eq!((found.class, found.supervised), (CardKeyClass::Class, false));
    let issuing = CertificateAuthority::load(key(2), &made.chain, false).unwrap();
    assert!(matches!(CertificateAuthority::load(key(3), &made.chain, false), Err(CaError::Authority(_))));
    assert!(matches!(CertificateAuthority::load(key(2), "hello", false), Err(CaError::Authority(_))));
    let leaf = issuing.certify(&device()).unwrap();
    assert!(verify(&Made { leaf, ..made }, &trust(&[&root.certificate_pem().unwrap()])).is_ok());
}

#[test]
fn simulated_and_real_never_mix() {
    let (real, sim) = (root(1, false), root(2, true));
    let (real_pem, sim_pem) = (real.certificate_pem().unwrap(), sim.certificate_pem().unwrap());
    assert!(matches!(real.certify(&simulated()), Err(CaError::Class("real", "simulated"))));
    assert!(matches!(sim.certify(&device()), Err(CaError::Class("simulated", "real"))));
    let marked = DeviceCertificateContent { design_id: [0x91; 16], ..device() };
    assert!(matches!(real.certify(&marked), Err(CaError::Design("simulated"))));
    let unmarked = DeviceCertificateContent { design_id: [0x11; 16], ..simulated() };
    assert!(matches!(sim.certify(&unmarked), Err(CaError::Design("real"))));

    // The root for real cards is not accepted as a root for simulated cards, nor the reverse.
    let mut store = TrustStore::default();
    assert_eq!(store.add_root(sim_pem.as_bytes()), Err(CertificateError::ClassRoot));
    assert_eq!(store.add_sim_root(real_pem.as_bytes()), Err(CertificateError::ClassRoot));
    assert!(matches!(CertificateAuthority::load(key(1), &real_pem, true), Err(CaError::Class(..))));

    // A simulated card is trusted only under simulation roots.
    let leaf = sim.certify(&simulated()).unwrap();
    let without = verify_chain(leaf.as_bytes(), b"", &trust(&[&real_pem]), Some(NOW));
    assert_eq!(without, Err(CertificateError::UnknownRoot));
    store.add_sim_root(sim_pem.as_bytes()).unwrap();
    assert_eq!(verify_chain(leaf.as_bytes(), b"", &store, Some(NOW)).unwrap().class, CardKeyClass::Sim);

    // An authority below the real root is loaded as an authority for simulated cards, and certifies a simulated card.
    let posing = CertificateAuthority::load(
        key(2),
        &real.subordinate(key(2), "CN=Gate issuing 1", WINDOW).unwrap().certificate_pem().unwrap(),
        true,
    )
    .unwrap();
    let chain = posing.certificate_pem().unwrap();
    let leaf = posing.certify(&simulated()).unwrap();
    let mixed = verify_chain(leaf.as_bytes(), chain.as_bytes(), &trust(&[&real_pem]), Some(NOW));
    assert_eq!(mixed, Err(CertificateError::ClassRoot));
}

#[test]
fn another_root_or_none_is_not_believed() {
    let made = made();
    assert_eq!(verify(&made, &TrustStore::default()), Err(CertificateError::UnknownRoot));
    // A root with the names of the trusted root, but with another key.
    let impostor = root(9, false).certificate_pem().unwrap();
    assert_eq!(verify(&made, &trust(&[&impostor])), Err(CertificateError::UnknownRoot));
    assert!(verify(&made, &trust(&[&impostor, &made.root])).is_ok());
    // The leaf without its intermediate, with another intermediate, and with the right intermediate twice.
    let store = trust(&[&made.root]);
    assert_eq!(verify(&Made { chain: String::new(), ..self::made() }, &store), Err(CertificateError::UnknownRoot));
    let other = root(1, false).subordinate(key(3), "CN=Gate issuing 1,O=Example", WINDOW).unwrap();
    let with_other = Made { chain: other.certificate_pem().unwrap(), ..self::made() };
    assert_eq!(verify(&with_other, &store), Err(CertificateError::Signature(CertificatePosition::Device)));
    let twice = Made { chain: made.chain.repeat(2), ..self::made() };
    assert!(matches!(verify(&twice, &store), Err(CertificateError::Profile(CertificatePosition::Chain(1), _))));
    let backwards = Made { chain: format!("{}{}", other.certificate_pem().unwrap(), made.chain), ..self::made() };
    assert_eq!(verify(&backwards, &store), Err(CertificateError::Signature(CertificatePosition::Device)));
}

/// The bundle contains its own root: it is refused in the chain, and it is not a trusted anchor.
#[test]
fn a_self_made_hierarchy_is_not_believed() {
    let own = root(7, false);
    let leaf = own.certify(&device()).unwrap();
    let chain = own.certificate_pem().unwrap();
    let store = trust(&[&made().root]);
    let found = verify_chain(leaf.as_bytes(), chain.as_bytes(), &store, Some(NOW));
    assert!(matches!(found, Err(CertificateError::Profile(CertificatePosition::Chain(0), _))), "{found:?}");
    assert_eq!(verify_chain(leaf.as_bytes(), b"", &store, Some(NOW)), Err(CertificateError::UnknownRoot));
    // An authority's certificate is not accepted as a device's certificate, nor the reverse.
    let found = verify_chain(chain.as_bytes(), b"", &trust(&[&chain]), Some(NOW));
    assert!(matches!(found, Err(CertificateError::Profile(CertificatePosition::Device, _))), "{found:?}");
    let mut store = TrustStore::default();
    assert!(store.add_root(leaf.as_bytes()).is_err());
    let found = verify_chain(leaf.as_bytes(), leaf.as_bytes(), &trust(&[&chain]), Some(NOW));
    assert!(matches!(found, Err(CertificateError::Profile(CertificatePosition::Chain(0), _))), "{found:?}");
}

#[test]
fn a_subordinate_makes_no_subordinates() {
    let root = root(1, false);
    let first = root.subordinate(key(2), "CN=One", WINDOW).unwrap();
    let second = first.subordinate(key(3), "CN=Two", WINDOW).unwrap();
    let chain = format!("{}{}", second.certificate_pem().unwrap(), first.certificate_pem().unwrap());
    let leaf = second.certify(&device()).unwrap();
    let found = verify_chain(leaf.as_bytes(), chain.as_bytes(), &trust(&[&root.certificate_pem().unwrap()]), Some(NOW));
    assert_eq!(
        found,
        Err(CertificateError::Profile(CertificatePosition::Chain(1), "does not permit a path of this length"))
    );
}

#[test]
fn every_certificate_of_the_path_must_be_valid() {
    let narrow = CertificateValidity { not_before: NOW - 10, not_after: NOW + 10 };
    let late = CertificateValidity { not_before: NOW - 5, ..WINDOW };
    let build = |root_window, issuing_window, window| {
        let root = CertificateAuthority::root(key(1), "CN=Root", root_window, false).unwrap();
        let issuing = root.subordinate(key(2), "CN=Issuing", issuing_window).unwrap();
        Made {
            root: root.certificate_pem().unwrap(),
            chain: issuing.certificate_pem().unwrap(),
            leaf: issuing.certify(&DeviceCertificateContent { window, ..device() }).unwrap(),
        }
    };
    let at = |made: &Made, at| verify_chain(made.leaf.as_bytes(), made.chain.as_bytes(), &trust(&[&made.root]), at);
    for (windows, which) in [
        ((WINDOW, WINDOW, narrow), CertificatePosition::Device),
        ((WINDOW, narrow, WINDOW), CertificatePosition::Chain(0)),
        ((narrow, WINDOW, WINDOW), CertificatePosition::Root),
    ] {
        let made = build(windows.0, windows.1, windows.2);
        for inside in [NOW - 10, NOW, NOW + 10] {
            assert!(at(&made, Some(inside)).is_ok());
        }
        for outside in [0, NOW - 11, NOW + 11, u64::MAX] {
            let error = at(&made, Some(outside)).unwrap_err();
            assert!(matches!(error, CertificateError::Validity(_, second) if second == outside), "{error}");
        }
        assert_eq!(at(&made, Some(NOW + 11)), Err(CertificateError::Validity(which, NOW + 11)));
        assert!(at(&made, None).is_ok());
    }
    assert!(at(&build(late, WINDOW, WINDOW), Some(NOW - 6)).is_err());
    let reversed = CertificateValidity { not_before: 10, not_after: 9 };
    assert!(matches!(CertificateAuthority::root(key(1), "CN=Root", reversed, false), Err(CaError::Validity(10, 9))));
    let never = CertificateValidity { not_before: 0, not_after: u64::MAX };
    assert!(matches!(CertificateAuthority::root(key(1), "CN=Root", never, false), Err(CaError::Validity(..))));
    let beyond_utc_time = CertificateValidity { not_before: 0, not_after: 4_000_000_000 };
    assert_eq!(
        at(&build(beyond_utc_time, beyond_utc_time, beyond_utc_time), Some(3_999_999_999)).unwrap().not_after,
        4_000_000_000
    );
}

#[test]
fn revoked_keys_and_designs() {
    let made = made();
    let revoked = |id: [u8; 32]| {
        let mut store = trust(&[&made.root]);
        store.revoke_key(id);
        verify(&made, &store)
    };
    assert_eq!(revoked(key_id(&device().public_key)), Err(CertificateError::RevokedKey(CertificatePosition::Device)));
    let of = |seed| key_id(key(seed).verifying_key().as_bytes());
    assert_eq!(revoked(of(2)), Err(CertificateError::RevokedKey(CertificatePosition::Chain(0))));
    assert_eq!(revoked(of(1)), Err(CertificateError::RevokedKey(CertificatePosition::Root)));
    assert!(revoked(of(3)).is_ok());
    let mut store = trust(&[&made.root]);
    store.revoke_design(device().design_id);
    assert_eq!(verify(&made, &store), Err(CertificateError::RevokedDesign));
}

/// Every change of one bit, and every truncation, of the leaf or the intermediate (in DER) is refused.
#[test]
fn every_changed_bit_is_refused() {
    let made = made();
    let store = trust(&[&made.root]);
    let good = verify(&made, &store).unwrap();
    let (mut refused, mut harmless) = (0, 0);
    for changed_leaf in [true, false] {
        let pem = if changed_leaf { &made.leaf } else { &made.chain };
        let (_, der) = x509_cert::der::pem::decode_vec(pem.as_bytes()).unwrap();
        let with = |der: &[u8]| {
            let changed = x509_cert::der::pem::encode_string("CERTIFICATE", LineEnding::LF, der).unwrap();
            let (leaf, chain) = if changed_leaf { (&changed, &made.chain) } else { (&made.leaf, &changed) };
            verify_chain(leaf.as_bytes(), chain.as_bytes(), &store, Some(NOW))
        };
        assert_eq!(with(&der), Ok(good.clone()));
        for at in 0..der.len() {
            for bit in 0..8 {
                let mut other = der.clone();
                other[at] ^= 1 << bit;
                match with(&other) {
                    Err(_) => refused += 1,
                    Ok(found) => {
                        assert_eq!(found, good, "byte {at} bit {bit}");
                        harmless += 1;
                    }
                }
            }
            assert!(with(&der[..at]).is_err());
        }
        assert!(with(&[der.as_slice(), &[0]].concat()).is_err());
    }
    assert!(refused > 5000, "{refused}");
    assert_eq!(harmless, 0);
}

/// A DER element with this content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = match content.len() {
        short @ 0..0x80 => vec![short as u8],
        short @ 0x80..0x100 => vec![0x81, short as u8],
        long => vec![0x82, (long >> 8) as u8, long as u8],
    };
    [&[tag][..], &length, content].concat()
}

/// The elements of a DER content: tag, content, and the whole element.
fn elements(mut der: &[u8]) -> Vec<(u8, &[u8], &[u8])> {
    let mut found = Vec::new();
    while let [tag, first, ..] = *der {
        let (head, length) = match first {
            short @ 0..=0x7f => (2, usize::from(short)),
            0x81 => (3, usize::from(der[2])),
            _ => (4, usize::from(der[2]) << 8 | usize::from(der[3])),
        };
        let (this, rest) = der.split_at(head + length);
        found.push((tag, &this[head..], this));
        der = rest;
    }
    found
}

/// The DER with the element `to` in place of `from`, and the lengths around it made anew.
fn replaced(der: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let holds = |content: &[u8]| content.windows(from.len()).any(|found| found == from);
    let each = |(tag, content, whole): (u8, &[u8], &[u8])| match tag {
        _ if whole == from => to.to_vec(),
        _ if holds(content) && (tag & 0x20 != 0 || tag == 4) => element(tag, &replaced(content, from, to)),
        _ => whole.to_vec(),
    };
    elements(der).into_iter().flat_map(each).collect()
}

/// A certificate with another element, signed again by this key.
fn signed_again(pem: &str, from: &[u8], to: &[u8], key: &SigningKey) -> String {
    use ed25519_dalek::Signer as _;
    let (_, der) = x509_cert::der::pem::decode_vec(pem.as_bytes()).unwrap();
    let [(_, content, _)] = elements(&der)[..] else { panic!() };
    let [(_, _, body), (_, _, algorithm), _] = elements(content)[..] else { panic!() };
    let body = replaced(body, from, to);
    let signature = [&[0][..], &key.sign(&body).to_bytes()].concat();
    let der = element(0x30, &[&body[..], algorithm, &element(3, &signature)].concat());
    x509_cert::der::pem::encode_string("CERTIFICATE", LineEnding::LF, &der).unwrap()
}

#[test]
fn serial_numbers_and_path_lengths_are_those_of_rfc_5280() {
    let made = made();
    let store = trust(&[&made.root]);
    let serial = verify(&made, &store).unwrap().serial;
    let integer = |content: &[u8]| element(2, content);
    let with_serial = |content: &[u8]| {
        let leaf = signed_again(&made.leaf, &integer(&serial), &integer(content), &key(2));
        verify(&Made { leaf, chain: made.chain.clone(), root: made.root.clone() }, &store)
    };
    for good in [&[1][..], &[0x7f; 20], &[0, 0x80], &[&[0][..], &[0xff; 19]].concat()] {
        assert_eq!(with_serial(good).map(|found| found.serial), Ok(good.to_vec()));
    }
    for bad in [&[0][..], &[0x80], &[0xff; 16], &[0x7f; 21], &[&[0][..], &[0xff; 20]].concat(), &[0x7f; 100]] {
        assert!(with_serial(bad).is_err(), "{bad:?}");
    }
    // Basic constraints of the authority: cA, and a path length.
    let constraints = |length: &[u8]| element(0x30, &[&[1, 1, 0xff][..], &integer(length)].concat());
    let with_length = |length: &[u8]| {
        let chain = signed_again(&made.chain, &constraints(&[0]), &constraints(length), &key(1));
        verify(&Made { chain, leaf: made.leaf.clone(), root: made.root.clone() }, &store)
    };
    assert!([0, 1, 127].iter().all(|length| with_length(&[*length]).is_ok()));
    for bad in [&[0, 0x80][..], &[0, 0xff], &[1, 0], &[0xff]] {
        assert!(with_length(bad).is_err(), "{bad:?}");
    }
    // A card is not an authority, so it has no path length.
    let leaf = signed_again(&made.leaf, &[0x30, 0], &element(0x30, &integer(&[0])), &key(2));
    let found = verify(&Made { leaf, chain: made.chain.clone(), root: made.root.clone() }, &store);
    let what = "has a path length and is not an authority";
    assert_eq!(found, Err(CertificateError::Profile(CertificatePosition::Device, what)));
}

#[test]
fn only_pem_without_text_around_it() {
    let made = made();
    let store = trust(&[&made.root]);
    let with = |leaf: &str| verify_chain(leaf.as_bytes(), made.chain.as_bytes(), &store, Some(NOW));
    assert!(with(&made.leaf).is_ok() && with(&format!("{}\n \n", made.leaf)).is_ok());
    for wrong in [
        String::new(),
        "hello".to_owned(),
        made.leaf.repeat(2),
        format!("hello\n{}", made.leaf),
        format!("{}hello", made.leaf),
        made.leaf.replace("CERTIFICATE", "CERTIFICATF"),
        made.leaf.replace("BEGIN", "begin"),
        made.leaf[..made.leaf.len() - 2].to_owned(),
        made.leaf[1..].to_owned(),
    ] {
        assert!(matches!(with(&wrong), Err(CertificateError::Pem(CertificatePosition::Device))), "{wrong}");
    }
    assert_eq!(with(&" ".repeat(MAX_PEM + 1)), Err(CertificateError::Oversize(CertificatePosition::Device)));
    let many = made.chain.repeat(5);
    let found = verify_chain(made.leaf.as_bytes(), many.as_bytes(), &store, Some(NOW));
    assert!(matches!(found, Err(CertificateError::Oversize(_))), "{found:?}");
    assert!(verify_chain(&[0xff, 0xfe], b"", &store, None).is_err());
}

#[test]
fn names_are_distinguished_names() {
    for wrong in ["", "Gate 17", "CN", "=x", "CN=a,,O=b"] {
        assert!(matches!(CertificateAuthority::root(key(1), wrong, WINDOW, false), Err(CaError::Name(_))), "{wrong}");
    }
}

fn openssl(dir: &Path, args: &[&str]) -> Output {
    Command::new("openssl").args(args).current_dir(dir).output().expect("openssl runs")
}

/// OpenSSL parses the root, the intermediate and the leaf, and validates the chain to our root only.
#[test]
fn openssl_agrees() {
    let made = made();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("root.pem", &made.root);
    write("chain.pem", &made.chain);
    write("leaf.pem", &made.leaf);
    write("other.pem", &root(9, false).certificate_pem().unwrap());
    let text = |name: &str| {
        let out = openssl(dir.path(), &["x509", "-in", name, "-noout", "-text", "-nameopt", "RFC2253"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let leaf = text("leaf.pem");
    for part in [
        "Version: 3 (0x2)",
        "Signature Algorithm: ED25519",
        "Subject: CN=Gate 17,O=Example",
        "Issuer: CN=Gate issuing 1,O=Example",
        "X509v3 Basic Constraints: critical\n                CA:FALSE",
        "X509v3 Key Usage: critical\n                Digital Signature",
        "1.3.6.1.4.1.32473.1.1:",
        "1.3.6.1.4.1.32473.1.2:",
        "1.3.6.1.4.1.32473.1.3:",
    ] {
        assert!(leaf.contains(part), "no `{part}` in\n{leaf}");
    }
    // Old releases of OpenSSL print the object identifier, new ones the name.
    assert!(leaf.contains("2.16.840.1.101.3.4.3.21") || leaf.contains("SLH-DSA-SHA2-128f"), "{leaf}");
    assert!(text("chain.pem").contains("CA:TRUE, pathlen:0"));
    assert!(text("root.pem").contains("Certificate Sign"));

    // The intermediate is checked by path validation. The leaf's signature is checked alone, because releases before
    // 3.5 do not support the leaf's key.
    let run = |args: &[&str]| openssl(dir.path(), args).status.success();
    let at = NOW.to_string();
    let verify = ["verify", "-attime", &at, "-x509_strict", "-CAfile"];
    assert!(run(&[&verify[..], &["root.pem", "chain.pem"]].concat()));
    assert!(!run(&[&verify[..], &["other.pem", "chain.pem"]].concat()));
    let (_, der) = x509_cert::der::pem::decode_vec(made.leaf.as_bytes()).unwrap();
    std::fs::write(dir.path().join("leaf.sig"), &der[der.len() - 64..]).unwrap();
    assert!(run(&["asn1parse", "-in", "leaf.pem", "-strparse", "4", "-noout", "-out", "leaf.tbs"]));
    assert!(run(&["x509", "-in", "chain.pem", "-noout", "-pubkey", "-out", "issuing.pub"]));
    let signed = ["pkeyutl", "-verify", "-pubin", "-inkey", "issuing.pub", "-rawin", "-sigfile", "leaf.sig", "-in"];
    assert!(run(&[&signed[..], &["leaf.tbs"]].concat()));
    assert!(!run(&[&signed[..], &["leaf.pem"]].concat()));
    let known = openssl(dir.path(), &["list", "-public-key-algorithms"]);
    if String::from_utf8_lossy(&known.stdout).contains("SLH-DSA-SHA2-128f") {
        assert!(run(&[&verify[..], &["root.pem", "-untrusted", "chain.pem", "leaf.pem"]].concat()));
        assert!(!run(&[&verify[..], &["other.pem", "-untrusted", "chain.pem", "leaf.pem"]].concat()));
    }
}

/// We accept a hierarchy that OpenSSL made with our extensions.
#[test]
fn we_read_what_openssl_made() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let out = openssl(dir.path(), args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    };
    run(&["genpkey", "-algorithm", "ed25519", "-out", "ca.key"]);
    let subject = "/O=Example/CN=Made by OpenSSL";
    #[rustfmt::skip]
    run(&["req", "-x509", "-new", "-key", "ca.key", "-subj", subject, "-days", "3650", "-out", "ca.pem",
        "-addext", "keyUsage=critical,keyCertSign"]);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let issuing =
        CertificateAuthority::load(keys::load(&dir.path().join("ca.key")).unwrap(), &read("ca.pem"), false).unwrap();
    let leaf = issuing.certify(&device()).unwrap();
    let found = verify_chain(leaf.as_bytes(), b"", &trust(&[&read("ca.pem")]), None).unwrap();
    assert_eq!(found.public_key, device().public_key);
}
