//! The texts in a bundle: all of them, none, or sealed ones that only one key can open.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_audit::{CheckReport, check};
use portcullis_authority::ca;
use portcullis_evidence::bundle::{self, BundleError, BundleFiles, DirectoryFiles, MANIFEST};
use portcullis_evidence::verify::{BundleProperty, EvidenceStatus, TrustedParties, VerifyOptions};
use portcullis_gateway::config::GatewayConfig;
use portcullis_recorder::TextRetention;
use portcullis_sealed::{PrivateKey, UnsealReport, UnsealedFiles, beside};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{Gateway, Upstream, ask, chat, opener_with, policy, text};

/// Words in the request, in the admitted text, and in the refused text.
const WORDS: [&str; 3] = ["qzpromptqz", "qzanswerqz", "badqzwordqz"];
/// Two X25519 key pairs, made by OpenSSL.
const KEYS: [(&str, [&str; 2]); 2] = [
    (
        "alice",
        [
            "20f3c8c11a5bfcbe29824aeed45440850e7906a27f1d903aa23181e4d435fc7c",
            "3a7c7864fff63d89e04fdc18a35a462e47f986e74f14ce8bb83af9dfaad6300b",
        ],
    ),
    (
        "bob",
        [
            "6803dc7a696adf993a6d3a3c77d44cdf1d609cdbbd7ba06d18df3835d7f91c6a",
            "981d121a2fa2ba2083913c56aa5ddf822e6b6a31537ac033eb3b26ea12ba3404",
        ],
    ),
];

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Writes a key pair in PEM (RFC 8410); returns the paths of private and public key.
fn keys(folder: &Path, name: &str, [secret, public]: [&str; 2]) -> (PathBuf, PathBuf) {
    use base64ct::{Base64, Encoding};
    let write = |path: PathBuf, label: &str, before: &str, key: &str| {
        let der = Base64::encode_string(&[unhex(before), unhex(key)].concat());
        std::fs::write(&path, format!("-----BEGIN {label}-----\n{der}\n-----END {label}-----\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    };
    let (private, shown) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.pub")));
    (
        write(private, "PRIVATE KEY", "302e020100300506032b656e04220420", secret),
        write(shown, "PUBLIC KEY", "302a300506032b656e032100", public),
    )
}

/// Runs a gateway for two answers with this setting; returns the bundle's folder.
fn session(folder: &Path, texts: TextRetention) -> PathBuf {
    let upstream = Upstream::new(Arc::new(|_, _| {
        let [_, answer, refused] = WORDS;
        chat([text(&format!("The {answer} sings. A {refused} stands here. Ships sail."))], "stop")
    }));
    let model = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n", upstream.address);
    let config = GatewayConfig::parse(&format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{model}")).unwrap();
    let gateway = Gateway::over(config, opener_with(&policy("redact"), folder, texts));
    for stream in [true, false] {
        let answer = gateway.post("/v1/chat/completions", &ask(&format!("Say {}.", WORDS[0]), stream));
        assert!(answer.body.contains(WORDS[1]) && !answer.body.contains(WORDS[2]), "{}", answer.body);
    }
    gateway.stop();
    folder.join("session-1")
}

fn checked(files: &dyn BundleFiles) -> CheckReport {
    let mut trust = TrustedParties::default();
    trust.roots.add_sim_root(ca::simulation().unwrap().certificate_pem().unwrap().as_bytes()).unwrap();
    check(files, &trust, VerifyOptions { allow_sim: true, allow_not_enforced: true, at: None }, &mut |_| (), &mut || ())
        .unwrap()
}

/// The codes of the findings.
fn codes(checked: &CheckReport) -> Vec<&'static str> {
    let properties = &checked.verify.as_ref().unwrap().properties;
    let reasons = BundleProperty::ALL.iter().flat_map(|property| &properties.of(*property).reasons);
    reasons.map(|reason| reason.code.id()).collect()
}

/// All bytes of the files in and beside a folder.
fn bytes(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { bytes(&path) } else { std::fs::read(path).unwrap() });
    }
    all
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|at| at == word.as_bytes())
}

fn content(files: &dyn BundleFiles) -> BTreeMap<String, Vec<u8>> {
    let read = |name: &String| {
        let mut content = Vec::new();
        files.open(name).unwrap().read_to_end(&mut content).unwrap();
        content
    };
    files.names().unwrap().keys().map(|name| (name.clone(), read(name))).collect()
}

#[test]
fn plain_texts_stand_in_the_bundle_and_without_them_none_does() {
    let folder = tempfile::tempdir().unwrap();
    let session_1 = session(folder.path(), TextRetention::Plain);
    let all = bytes(folder.path());
    assert!(WORDS.iter().all(|word| holds(&all, word)), "the test finds words where they are");
    assert_eq!(checked(&DirectoryFiles::new(&session_1)).replay.unwrap().status, EvidenceStatus::Affirmed);

    let folder = tempfile::tempdir().unwrap();
    let session_1 = session(folder.path(), TextRetention::None);
    let all = bytes(folder.path());
    assert!(WORDS.iter().all(|word| !holds(&all, word)));
    assert!(!beside(&session_1).exists());
    let checked = checked(&DirectoryFiles::new(&session_1));
    // All records are present and signed; only their texts are withheld.
    assert_eq!((checked.status, checked.exit_code), (EvidenceStatus::Warned, 10), "{checked:#?}");
    let codes = codes(&checked);
    for code in ["context-withheld", "input-withheld", "span-withheld"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    let replay = checked.replay.unwrap();
    assert_eq!((replay.replayed, replay.streams, replay.status), (0, 2, EvidenceStatus::Warned), "{replay}");
}

#[test]
fn sealed_texts_are_opened_by_their_key_alone() {
    let folder = tempfile::tempdir().unwrap();
    let keys_of = tempfile::tempdir().unwrap();
    let [(alice, alice_pub), (bob, _)] = KEYS.map(|(name, pair)| keys(keys_of.path(), name, pair));
    let session_1 = session(folder.path(), TextRetention::Sealed(alice_pub.clone()));
    let all = bytes(folder.path());
    assert!(WORDS.iter().all(|word| !holds(&all, word)), "no byte of a text stands on the disk");
    let sealed = beside(&session_1);
    assert_eq!(std::fs::metadata(&sealed).unwrap().permissions().mode() & 0o777, 0o600);
    // Without the key, the sealed bundle is like a bundle without texts.
    let without = checked(&DirectoryFiles::new(&session_1));
    assert_eq!(without.status, EvidenceStatus::Warned, "{without:#?}");

    let alice = PrivateKey::load(&alice).unwrap();
    let open = |sealed: &Path, key| UnsealedFiles::open(bundle::at(&session_1).unwrap(), sealed, key);
    let unsealed = open(&sealed, &alice).unwrap();
    assert_eq!(unsealed.report(), UnsealReport { streams: 2, torn: 0 });
    let whole = checked(&unsealed);
    let replay = whole.replay.as_ref().unwrap();
    assert_eq!((replay.status, replay.replayed, replay.streams), (EvidenceStatus::Affirmed, 2, 2), "{whole:#?}");
    assert!(codes(&whole).iter().all(|code| !code.ends_with("withheld")));
    // After unsealing, the bundle has the same content as a bundle with plain texts.
    let opened = content(&unsealed);
    assert!(WORDS.iter().all(|word| opened.values().any(|file| holds(file, word))));
    let plain = tempfile::tempdir().unwrap();
    let plain = content(&DirectoryFiles::new(session(plain.path(), TextRetention::Plain)));
    let shape = |files: &BTreeMap<String, Vec<u8>>| {
        let names = files.keys().filter(|name| !name.starts_with("checkpoints/"));
        let lines = |name: &String| files[name].iter().filter(|byte| **byte == b'\n').count();
        let lines = |name: &String| if name.ends_with(".jsonl") { lines(name) } else { 0 };
        names.map(|name| (name.split('/').next().unwrap().to_owned(), lines(name))).collect::<Vec<_>>()
    };
    assert_eq!(shape(&opened), shape(&plain));

    // Another key gives an error, which is not a result about the evidence.
    let other = open(&sealed, &PrivateKey::load(&bob).unwrap()).err().unwrap();
    assert!(other.is_operational() && other.to_string().contains("another key"), "{other}");
    for (path, is_private) in [(&alice_pub, true), (&bob, false)] {
        let wrong =
            if is_private { PrivateKey::load(path).err() } else { portcullis_sealed::PublicKey::load(path).err() };
        assert!(wrong.unwrap().to_string().contains("openssl genpkey -algorithm x25519"));
    }
    std::fs::set_permissions(&bob, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(PrivateKey::load(&bob).err().unwrap().to_string().contains("chmod 600"));
}

/// A changed file cannot be read, and a truncated file lacks texts. Neither can add a text.
#[test]
fn changed_and_cut_files_of_sealed_texts() {
    let folder = tempfile::tempdir().unwrap();
    let (alice, alice_pub) = keys(folder.path(), KEYS[0].0, KEYS[0].1);
    let bundles = folder.path().join("bundles");
    std::fs::create_dir(&bundles).unwrap();
    let session_1 = session(&bundles, TextRetention::Sealed(alice_pub));
    let key = PrivateKey::load(&alice).unwrap();
    let sealed = std::fs::read(beside(&session_1)).unwrap();
    let other = folder.path().join("changed");
    let open = |bytes: &[u8]| {
        std::fs::write(&other, bytes).unwrap();
        UnsealedFiles::open(bundle::at(&session_1).unwrap(), &other, &key)
    };
    let whole = content(&open(&sealed).unwrap());
    for at in (0..sealed.len()).step_by(7).chain(0..160) {
        let mut changed = sealed.clone();
        changed[at] ^= 1 << (at % 8);
        match open(&changed) {
            // A text at a wrong place in the file, or with a length beyond the end of the file, is not opened.
            Err(error) => assert!(matches!(error, BundleError::Content { .. } | BundleError::Io { .. }), "{error}"),
            Ok(opened) => assert!(opened.report().torn > 0, "byte {at}"),
        }
    }
    let mut torn = 0;
    for length in (0..sealed.len()).step_by(11).chain(sealed.len() - 40..sealed.len()) {
        let opened = match open(&sealed[..length]) {
            Ok(opened) => opened,
            Err(error) => {
                assert!(length < 72 && !error.is_operational(), "{length}: {error}");
                continue;
            }
        };
        torn += u32::from(opened.report().torn > 0);
        // All remaining texts are original.
        for (name, file) in content(&opened).iter().filter(|(name, _)| *name != MANIFEST) {
            let lines = |file: &[u8]| file.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
            let (all, some) = (lines(&whole[name]), lines(file));
            assert!(some.iter().all(|line| all.contains(line)), "{name} of {length} bytes");
        }
    }
    assert!(torn > 20, "{torn} files ended within a frame");
    let cut = checked(&open(&sealed[..sealed.len() / 2]).unwrap());
    assert_eq!(cut.status, EvidenceStatus::Warned, "{cut:#?}");
    // Frames in another order, a missing frame, and a duplicated frame.
    let frames = {
        let (mut frames, mut at) = (Vec::new(), 72);
        while at < sealed.len() {
            let length = 4 + u32::from_le_bytes(sealed[at..at + 4].try_into().unwrap()) as usize;
            frames.push(sealed[at..at + length].to_vec());
            at += length;
        }
        frames
    };
    let with = |frames: &[Vec<u8>]| open(&[&sealed[..72], frames.concat().as_slice()].concat());
    assert!(with(&frames).is_ok());
    for at in 1..5 {
        let mut swapped = frames.clone();
        swapped.swap(at, at + 1);
        let mut dropped = frames.clone();
        dropped.remove(at);
        let mut doubled = frames.clone();
        doubled.insert(at, frames[at].clone());
        for changed in [swapped, dropped, doubled] {
            let error = with(&changed).err().unwrap();
            assert!(error.to_string().contains("is not what was sealed"), "{error}");
        }
    }
}

#[test]
fn texts_are_chosen_in_the_configuration() {
    let model = "[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:1/v1\"\n";
    let config = |lines: &str| GatewayConfig::parse(&format!("policy = \"p\"\n{lines}\n{model}"));
    for (texts, expected) in [("none", TextRetention::None), ("sealed:a.pub", TextRetention::Sealed("a.pub".into()))] {
        let parsed = config(&format!("bundles = \"b\"\n[evidence]\ntexts = \"{texts}\"")).unwrap();
        assert_eq!(parsed.evidence.texts, expected);
        parsed.check().unwrap();
    }
    assert!(config("[evidence]\ntexts = \"open\"").unwrap_err().to_string().contains("sealed:FILE"));
    let without = config("[evidence]\ntexts = \"none\"").unwrap().check().unwrap_err();
    assert!(without.to_string().contains("bundles"), "{without}");
    assert_eq!(json!(config("").unwrap().evidence.texts.to_string()), "plain");
}
