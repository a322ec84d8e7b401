use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use proptest::prelude::*;

use super::signed::key_id;
use super::*;
use crate::format::tree::MerkleFrontier;

/// A checkpoint of a public log with the cosignatures of public witnesses (23 May 2026).
const PUBLIC: &str = "\
arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
";

/// Verifier keys of four of these witnesses, as the witnesses publish them.
const WITNESSES: [&str; 4] = [
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
];

const CHAIN: ChainId = ChainId { key: [7; 32], seat: 0 };

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn witness(seed: u8) -> WitnessKey {
    WitnessKey::new("witness.example/w1", key(seed).verifying_key()).unwrap()
}

fn entry(serial: u64) -> WitnessEntry {
    WitnessEntry { ticket: 3, serial, checkpoint: [serial as u8; 32], nonce: Some(serial + 0x1234_5678_9abc_def0) }
}

/// The note for entry `index` of a log of `size` entries.
fn note(index: u64, size: u64) -> String {
    let leaves: Vec<Hash> = (0..size).map(|serial| tree::leaf(&entry(serial).to_bytes())).collect();
    let root = tree::root(leaves.iter().copied());
    let mut prover = tree::MerkleProver::inclusion(index, size).unwrap();
    leaves.iter().for_each(|leaf| prover.push(*leaf));
    let text = LogTreeHead::of_chain(CHAIN, size, root).text();
    let note = format!("{text}\n{}", cosign(&text, "witness.example/w1", &key(1), 1_800_000_000).unwrap());
    WitnessProof { entry: entry(index), index, path: prover.finish().unwrap(), note }.text()
}

#[test]
fn cosignatures_of_public_witnesses_verify() {
    let keys: Vec<WitnessKey> = WITNESSES.iter().map(|text| WitnessKey::parse(text).unwrap()).collect();
    let parsed = SignedNote::parse(PUBLIC).unwrap();
    for (key, text) in keys.iter().zip(WITNESSES) {
        assert_eq!(key.to_string(), text);
        assert_eq!(parsed.verify(std::slice::from_ref(key)), Ok((key, 1_779_573_024)));
    }
    assert_eq!(parsed.verify(&keys), Ok((&keys[0], 1_779_573_024)));
    assert_eq!(parsed.verify(&[witness(1)]), Err(NoteError::UnknownWitness));
    let head = LogTreeHead::parse(parsed.text).unwrap();
    assert_eq!((head.origin.as_str(), head.size), ("arche2025h1.staging.ct.transparency.dev", 1_432_088_532));
    assert_eq!(head.text(), parsed.text);
    assert_eq!(head.chain(), Err(NoteError::Origin));

    // Three changed notes are refused: with another size, another time, and another key name.
    let changed = PUBLIC.replace("1432088532", "1432088533");
    assert_eq!(
        SignedNote::parse(&changed).unwrap().verify(&keys[2..3]),
        Err(NoteError::Signature("remora.n621.de".to_owned()))
    );
    let changed = PUBLIC.replace("2net5wAAAABqEiEg", "2net5wAAAABqEiEh");
    assert_eq!(
        SignedNote::parse(&changed).unwrap().verify(&keys[2..3]),
        Err(NoteError::Signature("remora.n621.de".to_owned()))
    );
    let changed = PUBLIC.replace("remora", "romera");
    assert_eq!(SignedNote::parse(&changed).unwrap().verify(&keys[2..3]), Err(NoteError::UnknownWitness));
}

/// Published verifier keys of C2SP `signed-note` with signature type 0x01. Their key ids are right, but a witness needs
/// type 0x04.
#[test]
fn key_ids_of_public_examples() {
    for text in [
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop",
        "TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6",
    ] {
        let parts: Vec<&str> = text.splitn(3, '+').collect();
        let key = Base64::decode_vec(parts[2]).unwrap();
        assert_eq!(portcullis_core::hex::encode(&key_id(parts[0], key[0], &key[1..])), parts[1]);
        assert!(WitnessKey::parse(text).is_err());
    }
}

#[test]
fn verifier_keys_have_one_form() {
    let text = witness(1).to_string();
    assert_eq!(WitnessKey::parse(&text), Ok(witness(1)));
    let (name, rest) = text.split_once('+').unwrap();
    let (id, public) = rest.split_once('+').unwrap();
    for wrong in [
        String::new(),
        name.to_owned(),
        format!("{name}+{id}"),
        format!("+{id}+{public}"),
        format!("{name}+00000000+{public}"),
        format!("{name}+{}+{public}", id.to_uppercase()),
        format!("{name}x+{id}+{public}"),
        format!("{name}+{id}+{public}="),
        format!("{name}+{id}+{public}\n"),
        format!("{name}+{id}+{}", &public[..40]),
    ] {
        assert!(matches!(WitnessKey::parse(&wrong), Err(NoteError::Key(..))), "{wrong}");
    }
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\u{2003}b", "a\nb", "\u{7f}"] {
        assert!(WitnessKey::new(name, key(1).verifying_key()).is_err(), "{name:?}");
        assert!(cosign("text\n", name, &key(1), 0).is_err());
    }
}

#[test]
fn an_origin_names_key_and_seat() {
    let head = |chain| LogTreeHead::of_chain(chain, 1, [0; 32]);
    for seat in [0, 1, 300, u16::MAX] {
        let chain = ChainId { seat, ..CHAIN };
        assert_eq!(head(chain).chain(), Ok(chain));
    }
    assert_eq!(head(CHAIN).origin, format!("portcullis/{}", "07".repeat(32)));
    assert_eq!(head(ChainId { seat: 12, ..CHAIN }).origin, format!("portcullis/{}/12", "07".repeat(32)));
    for seat in ["", "0", "01", "65536", "+1", "1/2", " 1"] {
        let origin = format!("{}/{seat}", head(CHAIN).origin);
        assert_eq!(LogTreeHead { origin, ..head(CHAIN) }.chain(), Err(NoteError::Origin), "{seat}");
    }
}

#[test]
fn every_entry_of_a_log_verifies() {
    for size in 1..20 {
        for index in 0..size {
            let found = verify(note(index, size).as_bytes(), &[witness(2), witness(1)]).unwrap();
            let WitnessEntry { ticket, serial, checkpoint, nonce } = entry(index);
            let wanted = WitnessedCheckpoint {
                chain: CHAIN,
                ticket,
                serial,
                checkpoint,
                nonce,
                index,
                witness: "witness.example/w1".to_owned(),
                time: 1_800_000_000,
                view: found.view.clone(),
            };
            assert_eq!(found, wanted);
        }
    }
}

#[test]
fn the_form_is_that_of_c2sp() {
    let mut tree = MerkleFrontier::new();
    (0..2).for_each(|serial| tree.push(tree::leaf(&entry(serial).to_bytes())));
    let expected = format!(
        "c2sp.org/tlog-proof@v1\nextra {}\nindex 1\n{}\n\nportcullis/{}\n2\n{}\n\n\u{2014} witness.example/w1 ",
        Base64::encode_string(&entry(1).to_bytes()),
        Base64::encode_string(&tree::leaf(&entry(0).to_bytes())),
        "07".repeat(32),
        Base64::encode_string(&tree.root()),
    );
    assert!(note(1, 2).starts_with(&expected), "{}", note(1, 2));
    let none = WitnessEntry { nonce: None, ..entry(5) };
    assert_eq!(WitnessEntry::from_bytes(&none.to_bytes()), Some(none));
    assert_eq!(none.to_bytes()[48..], [0; 8]);
}

/// The note is refused after any change, removal or insertion of one character.
#[test]
fn every_change_is_refused() {
    let good = note(5, 11).into_bytes();
    let accepted = |bytes: &[u8]| verify(bytes, &[witness(1)]).is_ok();
    assert!(accepted(&good));
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut changed = good.clone();
            changed[at] ^= 1 << bit;
            assert!(!accepted(&changed), "bit {bit} of byte {at}");
        }
        let mut shorter = good.clone();
        shorter.remove(at);
        assert!(!accepted(&shorter), "without byte {at}");
        for extra in [b'\n', b' ', b'0', b'A', b'='] {
            let mut longer = good.clone();
            longer.insert(at, extra);
            assert!(!accepted(&longer), "`{extra}` before byte {at}");
        }
        assert!(!accepted(&good[..at]));
    }
    assert!(!accepted(&[&good[..], b"\n"].concat()));
}

#[test]
fn a_note_of_another_log_entry_or_witness_is_refused() {
    let proof = WitnessProof::parse(note(3, 9).as_bytes()).unwrap();
    let check = |proof: &WitnessProof| verify(proof.text().as_bytes(), &[witness(1)]);
    assert!(check(&proof).is_ok());
    for entry in [
        WitnessEntry { ticket: 4, ..entry(3) },
        WitnessEntry { serial: 4, ..entry(3) },
        WitnessEntry { checkpoint: [4; 32], ..entry(3) },
        WitnessEntry { nonce: Some(4), ..entry(3) },
        WitnessEntry { nonce: None, ..entry(3) },
        entry(4),
    ] {
        assert_eq!(check(&WitnessProof { entry, ..proof.clone() }), Err(NoteError::Inclusion));
    }
    assert_eq!(check(&WitnessProof { index: 4, ..proof.clone() }), Err(NoteError::Inclusion));
    assert_eq!(check(&WitnessProof { path: proof.path[1..].to_vec(), ..proof.clone() }), Err(NoteError::Inclusion));
    assert_eq!(verify(proof.text().as_bytes(), &[]), Err(NoteError::UnknownWitness));
    assert_eq!(verify(proof.text().as_bytes(), &[witness(2)]), Err(NoteError::UnknownWitness));

    // A valid signature over a log that is not a card's.
    let text = LogTreeHead {
        origin: "example.com/log".to_owned(),
        ..LogTreeHead::of_chain(CHAIN, 1, tree::leaf(&entry(0).to_bytes()))
    }
    .text();
    let note = format!("{text}\n{}", cosign(&text, "witness.example/w1", &key(1), 1).unwrap());
    assert_eq!(check(&WitnessProof { entry: entry(0), index: 0, path: Vec::new(), note }), Err(NoteError::Origin));
}

#[test]
fn signatures_beside_the_witness() {
    let text = LogTreeHead::of_chain(CHAIN, 1, tree::leaf(&entry(0).to_bytes())).text();
    let line = |seed, name, time| cosign(&text, name, &key(seed), time).unwrap();
    let ours = line(1, "witness.example/w1", 5);
    let check = |signatures: &str| {
        let note = format!("{text}\n{signatures}");
        verify(WitnessProof { entry: entry(0), index: 0, path: Vec::new(), note }.text().as_bytes(), &[witness(1)])
    };
    // Signatures by unknown keys are ignored wherever they stand, even if they have the witness's name.
    for others in [line(2, "witness.example/w1", 1), line(1, "witness.example/w2", 1), line(3, "x", 1)] {
        assert_eq!(check(&format!("{others}{ours}")).unwrap().time, 5);
        assert_eq!(check(&format!("{ours}{others}")).unwrap().time, 5);
        assert_eq!(check(&others), Err(NoteError::UnknownWitness));
    }
    // A wrong signature under the witness's name and key id invalidates the note.
    let other_text = cosign("another\n", "witness.example/w1", &key(1), 5).unwrap();
    for spoilt in [format!("{ours}{other_text}"), format!("{other_text}{ours}"), other_text] {
        assert_eq!(check(&spoilt), Err(NoteError::Signature("witness.example/w1".to_owned())));
    }
    // A valid signature with a time that the format does not allow.
    let at = |time: u64| {
        let signature = key(1).sign(format!("cosignature/v1\ntime {time}\n{text}").as_bytes()).to_bytes();
        let id = key_id("witness.example/w1", 4, key(1).verifying_key().as_bytes());
        let bytes = [&id[..], &time.to_be_bytes(), &signature].concat();
        check(&format!("\u{2014} witness.example/w1 {}\n", Base64::encode_string(&bytes)))
    };
    assert_eq!(at((1 << 63) - 1).unwrap().time, (1 << 63) - 1);
    assert!(matches!(at(1 << 63), Err(NoteError::Signature(_))));
    // Sixteen signatures are accepted; seventeen or none are not.
    assert!(check(&ours.repeat(16)).is_ok());
    assert_eq!(check(&ours.repeat(17)), Err(NoteError::Oversize));
    assert!(check("").is_err());
    assert!(check(&format!("{ours}\n")).is_err());
    assert!(check(&ours.replace('\u{2014}', "-")).is_err());
    assert!(cosign("no newline", "x", &key(1), 0).is_err() && cosign("x\n", "x", &key(1), 1 << 63).is_err());
}

#[test]
fn control_characters_are_refused() {
    let line = cosign("x\n", "w", &key(1), 0).unwrap();
    assert!(SignedNote::parse(&format!("a\u{e9}\n\nb\n\n{line}")).is_ok());
    for wrong in ["a\tb", "a\0b", "a\rb", "a\u{1b}[31mb"] {
        assert!(matches!(SignedNote::parse(&format!("{wrong}\n\n{line}")), Err(NoteError::Format(_))), "{wrong:?}");
    }
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(verify(&vec![b'a'; MAX_BYTES + 1], &[]), Err(NoteError::Oversize));
    assert_eq!(SignedNote::parse(&"a".repeat(MAX_BYTES + 1)), Err(NoteError::Oversize));
    let long = WitnessProof { path: vec![[0; 32]; 66], ..WitnessProof::parse(note(0, 1).as_bytes()).unwrap() };
    assert!(matches!(WitnessProof::parse(long.text().as_bytes()), Err(NoteError::Format(_))));
}

proptest! {
    #[test]
    fn hostile_text_never_panics(text in "(c2sp.org/tlog-proof@v1\n)?(extra [A-Za-z0-9+/=]{0,80}\n)?(index [0-9]{0,22}\n)?\\PC{0,80}[\n— ]{0,4}\\PC{0,80}") {
        let _ = verify(text.as_bytes(), &[witness(1)]);
        let _ = SignedNote::parse(&text);
        let _ = LogTreeHead::parse(&text);
        let _ = WitnessKey::parse(&text);
    }

    #[test]
    fn what_is_read_is_written_back(index: u64, ticket: u64, serial: u64, checkpoint: Hash, nonce: u64,
                                    path in prop::collection::vec(any::<Hash>(), 0..65)) {
        let entry = WitnessEntry { ticket, serial, checkpoint, nonce: (nonce != 0).then_some(nonce) };
        let proof = WitnessProof { entry, index, path, note: "x\n".to_owned() };
        prop_assert_eq!(WitnessProof::parse(proof.text().as_bytes()), Ok(proof));
    }
}
