use super::*;
use crate::format::note::{LogKey, LogTreeHead, WitnessKey, cosign};
use crate::format::ticket::ChainId;
use crate::format::tree;
use ed25519_dalek::SigningKey;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const NAME: &str = "registrar.example/tickets";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn log() -> LogKey {
    LogKey::new(NAME, key(5).verifying_key()).unwrap()
}

fn witness(seed: u8) -> WitnessKey {
    WitnessKey::new(&format!("witness.example/w{seed}"), key(seed).verifying_key()).unwrap()
}

/// A policy with the log and five witnesses `w11` to `w15`, and these lines behind them.
fn policy(rest: &str) -> String {
    let witnesses: String = (11..=15).map(|seed| format!("witness w{seed} {}\n", witness(seed))).collect();
    format!("log {}\n{witnesses}{rest}", log())
}

fn parsed(rest: &str) -> LogPolicy {
    LogPolicy::parse(&policy(rest)).unwrap_or_else(|error| panic!("{rest}: {error}"))
}

/// A signed head that these witnesses have cosigned, each at a Unix second.
fn note(text: &str, cosigned: &[(u8, u64)]) -> String {
    let note = log().sign(text, &key(5)).unwrap();
    let line = |(seed, time): &(u8, u64)| cosign(text, witness(*seed).name(), &key(*seed), *time).unwrap();
    note + &cosigned.iter().map(line).collect::<String>()
}

fn empty_head() -> String {
    LogTreeHead { origin: NAME.to_owned(), size: 0, root: tree::root([]) }.text()
}

#[test]
fn quorums_count_and_give_their_time() {
    let all = [(11, 50), (12, 40), (13, 30), (14, 20), (15, 10)];
    let seen = |rest: &str, cosigned: &[(u8, u64)]| match parsed(rest).check(&note(&empty_head(), cosigned)) {
        Ok(head) => {
            assert_eq!(head.witnesses.len(), cosigned.len());
            head.seen
        }
        Err(HeadError::Quorum(_)) => Some(u64::MAX),
        Err(other) => panic!("{rest}: {other}"),
    };
    const LACKS: Option<u64> = Some(u64::MAX);
    assert_eq!(seen("quorum none", &[]), None);
    assert_eq!(seen("quorum none", &all), None);
    assert_eq!(seen("quorum w12", &all), Some(40));
    assert_eq!(seen("quorum w12", &[all[0]]), LACKS);
    let groups = "group some 2 w11 w12 w13\ngroup others any w14 w15\n";
    assert_eq!(seen(&format!("{groups}quorum some"), &all), Some(40));
    assert_eq!(seen(&format!("{groups}quorum some"), &all[1..3]), Some(30));
    assert_eq!(seen(&format!("{groups}quorum some"), &all[2..]), LACKS);
    assert_eq!(seen(&format!("{groups}quorum others"), &all), Some(20));
    let both = format!("{groups}group both all some others\nquorum both");
    assert_eq!(seen(&both, &all), Some(20));
    assert_eq!(seen(&both, &[all[0], all[2], all[4]]), Some(10));
    assert_eq!(seen(&both, &all[..3]), LACKS);
    // A quorum can stand before a later group.
    assert_eq!(seen("quorum w11\ngroup g all w12", &all), Some(50));
}

#[test]
fn heads_that_no_policy_trusts() {
    let policy = parsed("group two 2 w11 w12 w13\nquorum two");
    let good = note(&empty_head(), &[(11, 1), (13, 2)]);
    assert_eq!(policy.check(&good).unwrap().witnesses, ["witness.example/w11", "witness.example/w13"]);
    // A witness counts once, however often it signs, and unknown ones not at all.
    let twice = note(&empty_head(), &[(11, 1), (11, 2), (16, 1)]);
    assert!(matches!(policy.check(&twice), Err(HeadError::Quorum(_))));
    let other = LogTreeHead { origin: "other.example".to_owned(), size: 0, root: tree::root([]) }.text();
    assert_eq!(policy.check(&note(&other, &[(11, 1), (12, 1)])), Err(HeadError::Log));
    let unsigned = good.replacen(&format!("\u{2014} {NAME} "), "\u{2014} another.example ", 1);
    assert_eq!(policy.check(&unsigned), Err(HeadError::Log));
    // A changed text has no valid signature of the log or of a witness.
    let changed = good.replacen("\n0\n", "\n1\n", 1);
    assert!(matches!(policy.check(&changed), Err(HeadError::Note(_))), "{:?}", policy.check(&changed));
    for wrong in ["", "\n", "text", &empty_head()] {
        assert!(matches!(policy.check(wrong), Err(HeadError::Note(_))), "{wrong}");
    }
}

#[test]
fn revoked_keys_count_only_before_their_end() {
    let revoked = |seed: u8, since: u64| {
        let of_key = *key(seed).verifying_key().as_bytes();
        parsed("group two 2 w11 w12 w13\nquorum two").revoke(move |key| (*key == of_key).then_some(since))
    };
    let head = note(&empty_head(), &[(11, 10), (12, 20)]);
    assert!(revoked(12, 21).check(&head).is_ok());
    assert!(matches!(revoked(12, 20).check(&head), Err(HeadError::Quorum(_))));
    // The log's own signature has no time. A quorum shows that it is older: here at second 20.
    assert!(revoked(5, 21).check(&head).is_ok());
    assert_eq!(revoked(5, 20).check(&head), Err(HeadError::Revoked(NAME.to_owned())));
    // The earliest quorum counts, also if others cosigned later.
    let more = note(&empty_head(), &[(11, 10), (12, 20), (13, 90)]);
    assert!(revoked(5, 21).check(&more).is_ok());
    assert_eq!(revoked(5, 21).check(&more).unwrap().seen, Some(20));
    let of_log = *key(5).verifying_key().as_bytes();
    let none = parsed("quorum none").revoke(move |key| (*key == of_log).then_some(u64::MAX));
    assert!(matches!(none.check(&head), Err(HeadError::Revoked(_))));
}

#[test]
fn policies_that_are_refused() {
    let (log, w16) = (log(), witness(16));
    let renamed = WitnessKey::new("another.name", key(11).verifying_key()).unwrap();
    for (rest, line) in [
        ("", None),
        ("group g all w11", None),
        ("quorum none\nquorum none", Some(8)),
        ("quorum w99", Some(7)),
        ("quorum g\ngroup g all w11", Some(7)),
        ("quorum", Some(7)),
        ("quorum w11 w12", Some(7)),
        ("group g 0 w11\nquorum g", Some(7)),
        ("group g 2 w11\nquorum g", Some(7)),
        ("group g 01 w11\nquorum g", Some(7)),
        ("group g +1 w11\nquorum g", Some(7)),
        ("group g most w11 w12\nquorum g", Some(7)),
        ("group g all\nquorum none", Some(7)),
        ("group g all g\nquorum none", Some(7)),
        ("group g all none\nquorum none", Some(7)),
        ("group g 1 w11 w11\nquorum g", Some(7)),
        ("group g any w11\ngroup h any w11\nquorum h", Some(8)),
        ("group none any w11\nquorum none", Some(7)),
        ("group w11 any w12\nquorum none", Some(7)),
        ("Quorum none", Some(7)),
        ("quorum\u{a0}none", Some(7)),
        ("quorum none\r\n", Some(7)),
        ("quorum none\0", Some(7)),
        (&format!("log {log}\nquorum none"), Some(7)),
        (&format!("log {w16}\nquorum none"), Some(7)),
        (&format!("log {log} http://a http://b\nquorum none"), Some(7)),
        (&format!("witness w16 {log}\nquorum none"), Some(7)),
        (&format!("witness w11 {w16}\nquorum none"), Some(7)),
        (&format!("witness w16 {renamed}\nquorum none"), Some(7)),
        (&format!("witness none {w16}\nquorum none"), Some(7)),
        (&format!("witness {w16}\nquorum none"), Some(7)),
        (
            &format!("{}quorum none", (0..65).map(|n| format!("group g{n} any w{}\n", n + 11)).collect::<String>()),
            Some(12),
        ),
    ] {
        let error = LogPolicy::parse(&policy(rest)).expect_err(rest);
        let found = match error {
            LogPolicyError::NoQuorum => None,
            LogPolicyError::Line { line, .. } => Some(line),
        };
        assert_eq!(found, line, "{rest}: {error}");
    }
    let spaced = format!("  # a comment\n\n\tlog\t{log}  http://log.example/ \n#\nquorum none\n   ");
    let read = LogPolicy::parse(&spaced).unwrap();
    assert_eq!((read.logs()[0].url.as_deref(), read.witnesses().len()), (Some("http://log.example/"), 0));
}

fn entry(seat: u16, place: u64, serial: u64, kind: PublicLogEventKind) -> PublicLogEntry {
    let chain = ChainId { key: [7; 32], seat };
    PublicLogEntry { chain, place, serial, kind, ticket: [serial as u8; 32], hash: [place as u8; 32] }
}

/// Writes a log with these entries, cosigned by `w11` at second 9.
fn write(folder: &Path, entries: &[PublicLogEntry]) {
    let root = tree::root(entries.iter().map(PublicLogEntry::leaf));
    let text = LogTreeHead { origin: NAME.to_owned(), size: entries.len() as u64, root }.text();
    fs::write(folder.join("checkpoint"), note(&text, &[(11, 9)])).unwrap();
    for (tile, own) in entries.chunks(TILE).enumerate() {
        let path = folder.join(tile_path("entries", tile, own.len()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, PublicLogEntry::to_tile(own)).unwrap();
    }
}

fn read(folder: &Path) -> Result<TrustedPublicLog, ReadError> {
    TrustedPublicLog::read(folder, &parsed("quorum w11"))
}

#[test]
fn sessions_are_read_from_all_tiles() {
    use PublicLogEventKind::{Abandoned, Closed, Issued, Opened};
    let folder = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    for serial in 1..=200 {
        let end = [Closed, Abandoned][serial as usize % 2];
        let events = [Issued, Opened, end].into_iter().enumerate();
        entries.extend(events.map(|(n, kind)| entry(3, (serial - 1) * 3 + n as u64, serial, kind)));
    }
    let more = [(0, 1, Issued), (1, 1, Abandoned), (2, 2, Issued), (3, 2, Opened)];
    entries.extend(more.map(|(place, serial, kind)| entry(0, place, serial, kind)));
    write(folder.path(), &entries);
    let log = read(folder.path()).unwrap();
    assert_eq!((log.head.head.size, log.head.seen, log.chains().count()), (604, Some(9), 2));
    let state = |seat: u16, serial: u64| {
        let session = log.sessions(&ChainId { key: [7; 32], seat })?.get(&serial)?;
        assert_eq!(session.ticket, [serial as u8; 32]);
        Some((session.state, session.is_opened))
    };
    assert_eq!(state(3, 200), Some((LoggedSessionState::Closed, true)));
    assert_eq!(state(3, 199), Some((LoggedSessionState::Abandoned, true)));
    assert_eq!((state(3, 201), state(1, 1)), (None, None));
    assert_eq!(state(0, 1), Some((LoggedSessionState::Abandoned, false)));
    assert_eq!(state(0, 2), Some((LoggedSessionState::Opened, true)));
}

#[test]
fn damaged_logs_are_refused() {
    use PublicLogEventKind::{Abandoned, Closed, Issued, Opened};
    let good = [entry(0, 0, 1, Issued), entry(0, 1, 1, Opened), entry(0, 2, 1, Closed), entry(0, 3, 2, Issued)];
    let is_read = |entries: &[PublicLogEntry]| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), entries);
        match read(folder.path()) {
            Ok(_) => true,
            Err(ReadError::Damaged { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(is_read(&[]) && is_read(&good));
    let with = |at: usize, entry: PublicLogEntry| is_read(&[&good[..at], &[entry], &good[at + 1..]].concat());
    for wrong in [
        with(0, entry(0, 1, 1, Issued)),
        with(0, entry(0, 0, 2, Issued)),
        with(0, entry(0, 0, 1, Opened)),
        with(1, entry(0, 1, 1, Closed)),
        with(1, entry(0, 1, 2, Opened)),
        with(1, PublicLogEntry { ticket: [9; 32], ..good[1] }),
        with(2, entry(0, 2, 1, Opened)),
        with(2, entry(0, 1, 1, Closed)),
        with(3, entry(0, 3, 1, Issued)),
        with(3, entry(0, 3, 3, Issued)),
        with(3, entry(0, 3, 1, Abandoned)),
        // A ticket while the last session has not ended.
        is_read(&[good[0], entry(0, 1, 2, Issued)]),
        is_read(&[good[0], good[1], entry(0, 2, 2, Issued)]),
    ] {
        assert!(!wrong);
    }

    let folder = tempfile::tempdir().unwrap();
    let tile = folder.path().join("tile/entries/000.p/4");
    write(folder.path(), &good);
    let bytes = fs::read(&tile).unwrap();
    // A pipe would keep the reader waiting.
    let head = folder.path().join("checkpoint");
    let note = fs::read(&head).unwrap();
    fs::remove_file(&head).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&head).status().unwrap().success());
    assert!(matches!(read(folder.path()), Err(ReadError::Damaged { what: "is not a file", .. })));
    fs::remove_file(&head).unwrap();
    fs::write(&head, note).unwrap();
    for damage in [&bytes[1..], &bytes[..bytes.len() - 1], &bytes[..360], &[bytes.clone(), bytes.clone()].concat()] {
        fs::write(&tile, damage).unwrap();
        assert!(matches!(read(folder.path()), Err(ReadError::Damaged { .. })));
    }
    // Every byte of an entry is under the root, and the bytes of its length have one value.
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        fs::write(&tile, changed).unwrap();
        assert!(matches!(read(folder.path()), Err(ReadError::Damaged { .. })), "byte {at}");
    }
    // A log that has grown has the full tile instead.
    let full: Vec<PublicLogEntry> =
        (0..256).map(|n| entry(9, n, n / 3 + 1, [Issued, Opened, Closed][n as usize % 3])).collect();
    let full = [&good[..], &full[..252]].concat();
    fs::remove_file(&tile).unwrap();
    fs::write(folder.path().join("tile/entries/000"), PublicLogEntry::to_tile(&full)).unwrap();
    assert_eq!(read(folder.path()).unwrap().head.head.size, 4);
    fs::remove_file(folder.path().join("tile/entries/000")).unwrap();
    fs::write(&tile, vec![0; 1 << 20]).unwrap();
    assert!(matches!(read(folder.path()), Err(ReadError::Damaged { what: "is too long", .. })));
    fs::remove_file(&tile).unwrap();
    assert!(read(folder.path()).unwrap_err().is_operational());
    write(folder.path(), &good);
    fs::write(folder.path().join("checkpoint"), [0xff; 9]).unwrap();
    assert!(matches!(read(folder.path()), Err(ReadError::Damaged { .. })));
    fs::write(folder.path().join("checkpoint"), "no note").unwrap();
    assert!(matches!(read(folder.path()), Err(ReadError::Head(_))));
}

#[test]
fn tiles_have_the_paths_of_the_standard() {
    assert_eq!(tile_path("0", 0, 256), "tile/0/000");
    assert_eq!(tile_path("1", 67, 70), "tile/1/067.p/70");
    assert_eq!(tile_path("entries", 1_234_067, 256), "tile/entries/x001/x234/067");
    assert_eq!(tile_path("entries", 1_000, 1), "tile/entries/x001/000.p/1");
}

proptest! {
    #[test]
    fn arbitrary_texts_never_panic(
        text in "((log|witness|group|quorum|#) ?[a-z0-9+/= \t]{0,40}\n){0,6}",
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = LogPolicy::parse(&text);
        let _ = parsed("quorum none").check(&text);
        // A tile that is read is the encoding of its entries.
        if let Some(entries) = PublicLogEntry::from_tile(&bytes) {
            prop_assert_eq!(PublicLogEntry::to_tile(&entries), bytes);
        }
    }
}
