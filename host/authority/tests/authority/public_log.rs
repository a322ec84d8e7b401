//! The issuer's public log, read by an independent client of C2SP logs (`tlog_tiles`, `signed_note`).

use std::path::Path;

use super::common::Card;
use super::stores::{database, file, stores};
use ed25519_dalek::SigningKey;
use portcullis_authority::StoreUrl;
use portcullis_authority::ca::CertificateValidity;
use portcullis_authority::public_log::PublicLogError;
use portcullis_authority::tickets::{IssueError, IssueRequest, Issuer};
use portcullis_evidence::ticket::{ChainId, SessionTicket};
use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::{
    Checkpoint, Error, Hash, Tile, TileHashReader, TileReader, check_record, check_tree, prove_record, prove_tree,
    record_hash,
};

const NAME: &str = "registrar.example/tickets";

pub(crate) fn issuer(store: &StoreUrl, log: &Path) -> Result<Issuer, IssueError> {
    let mut issuer = Issuer::open(store, SigningKey::from_bytes(&[5; 32]), NAME)?;
    issuer.publish(log, None)?;
    Ok(issuer)
}

pub(crate) fn request(card: &Card, seat: u16) -> IssueRequest {
    IssueRequest {
        chain: ChainId { seat, ..card.chain() },
        policy: [3; 32],
        contexts: Default::default(),
        profiles: Default::default(),
        text_lane: false,
        heartbeat_records: 0,
        heartbeat_ticks: 0,
        window: CertificateValidity { not_before: 10, not_after: 20 },
    }
}

/// Issues a ticket and abandons it, which makes two events.
fn round(issuer: &mut Issuer, card: &Card, seat: u16) -> SessionTicket {
    let ticket = SessionTicket::parse(&issuer.issue(&request(card, seat)).unwrap()).unwrap().content;
    issuer.abandon(ticket.chain(), ticket.serial, "not used").unwrap();
    ticket
}

/// The files of the log, as a web server would give them.
struct Files<'a>(&'a Path);

impl TileReader for Files<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, Error> {
        // The client's paths contain the height of a tile, which is not a part of the paths in C2SP.
        let path = |tile: &Tile| self.0.join(tile.path().replace("tile/8/", "tile/"));
        Ok(tiles.iter().map(|tile| std::fs::read(path(tile)).unwrap()).collect())
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

/// Checks the signature of the log's checkpoint; returns the log's size and root.
fn head(log: &Path, key: &str) -> (u64, Hash) {
    let note = Note::from_bytes(&std::fs::read(log.join("checkpoint")).unwrap()).unwrap();
    let (signed, _) = note.verify(&VerifierList::new(vec![Box::new(StandardVerifier::new(key).unwrap())])).unwrap();
    assert_eq!(signed.len(), 1);
    let checkpoint = Checkpoint::from_bytes(note.text()).unwrap();
    assert_eq!((checkpoint.origin(), checkpoint.extension()), (NAME, ""));
    (checkpoint.size(), *checkpoint.hash())
}

/// The entries of the log.
fn entries(log: &Path, size: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for tile in 0..size.div_ceil(256) {
        let width = (size - tile * 256).min(256);
        let partial = if width == 256 { String::new() } else { format!(".p/{width}") };
        let bundle = std::fs::read(log.join(format!("tile/entries/{tile:03}{partial}"))).unwrap();
        let mut rest = bundle.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let (entry, behind) = behind.split_at(u16::from_be_bytes(*length).into());
            all.push(entry.to_vec());
            rest = behind;
        }
    }
    all
}

#[test]
fn another_client_reads_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log, card) = (file(), folder.path().join("log"), Card::new(1));
    let key = issuer(&store.url, &log).unwrap().log_key().unwrap();
    let mut before = None;
    // The sizes are below 256 entries (a full tile), exactly 256, and above.
    for rounds in [1, 2, 124, 1, 1, 171] {
        // All events but the last two are published together, the last two one by one.
        let mut unpublished = Issuer::open(&store.url, SigningKey::from_bytes(&[5; 32]), NAME).unwrap();
        (1..rounds).for_each(|n| drop(round(&mut unpublished, &card, n % 3)));
        drop(unpublished);
        let mut issuer = issuer(&store.url, &log).unwrap();
        round(&mut issuer, &card, 0);
        let (size, root) = head(&log, &key);
        let all = entries(&log, size);
        assert_eq!(all.len() as u64, size);
        let reader = Files(&log);
        let hashes = TileHashReader::new(size, root, &reader);
        for (n, entry) in (0..).zip(&all).filter(|(n, _)| n % 37 == 0 || n + 3 > size) {
            let proof = prove_record(size, n, &hashes).unwrap();
            check_record(&proof, size, root, n, record_hash(entry)).unwrap();
        }
        if let Some((old, old_root)) = before.replace((size, root)) {
            let proof = prove_tree(size, old, &hashes).unwrap();
            check_tree(&proof, size, root, old, old_root).unwrap();
        }
    }
    let (size, _) = before.unwrap();
    assert_eq!(size, 600);
    // An entry contains version, key, seat, place, serial, kind, ticket and hash.
    let last = issuer(&store.url, &log).unwrap().list().unwrap().pop().unwrap();
    let entry = entries(&log, size).pop().unwrap();
    assert_eq!((entry.len(), entry[0], &entry[1..33]), (118, 1, card.id().as_slice()));
    let named = |seat: u16, serial: u64| {
        entries(&log, size).iter().any(|entry| {
            entry[33..37] == u32::from(seat).to_be_bytes() && entry[45..53] == serial.to_be_bytes() && entry[53] == 3
        })
    };
    assert!(named(last.chain.seat, last.serial) && !named(last.chain.seat, last.serial + 1));
    assert!(!log.join("tile/0/000.p").exists(), "a full tile replaces the others");
}

/// A store that lacks events of the log is refused, so the issuer never issues the same serial twice.
#[test]
fn a_store_that_forgot_is_refused() {
    for store in stores() {
        let folder = tempfile::tempdir().unwrap();
        let (log, card) = (folder.path().join("log"), Card::new(1));
        let mut first = issuer(&store.url, &log).unwrap();
        (0..3).for_each(|_| drop(round(&mut first, &card, 7)));
        drop(first);
        for behind in stores() {
            let mut other = Issuer::open(&behind.url, SigningKey::from_bytes(&[5; 32]), NAME).unwrap();
            (0..3).for_each(|_| drop(round(&mut other, &card, 7)));
            drop(other);
            // This store has as many events as the log, but other events.
            let refused = issuer(&behind.url, &log).err().unwrap();
            assert!(
                matches!(refused, IssueError::PublicLog(PublicLogError::Behind { seat: 7, place: 0, serial: 1 })),
                "{refused}"
            );
        }
        // The store that has all events is accepted.
        assert_eq!(round(&mut issuer(&store.url, &log).unwrap(), &card, 7).serial, 4);
    }
    let (store, old, folder, card) = (file(), file(), tempfile::tempdir().unwrap(), Card::new(1));
    let log = folder.path().join("log");
    round(&mut issuer(&store.url, &log).unwrap(), &card, 0);
    let (StoreUrl::File(now), StoreUrl::File(before)) = (&store.url, &old.url) else { panic!() };
    std::fs::copy(now, before).unwrap();
    round(&mut issuer(&store.url, &log).unwrap(), &card, 0);
    let refused = issuer(&old.url, &log).err().unwrap();
    assert!(refused.to_string().contains("behind the public log"), "{refused}");
}

/// Events that are in the store but not in the log are published first: they are older than the log, or the issuer
/// crashed after it wrote the store.
#[test]
fn what_is_not_published_follows() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log, card) = (file(), folder.path().join("log"), Card::new(1));
    let mut unpublished = Issuer::open(&store.url, SigningKey::from_bytes(&[5; 32]), NAME).unwrap();
    (0..4).for_each(|n| drop(round(&mut unpublished, &card, n)));
    drop(unpublished);
    let key = issuer(&store.url, &log).unwrap().log_key().unwrap();
    assert_eq!(head(&log, &key).0, 8);
    assert_eq!(round(&mut issuer(&store.url, &log).unwrap(), &card, 2).serial, 2);
    assert_eq!(head(&log, &key).0, 10);
}

/// The event that completes a tile is in the store, and its write to the log fails. The checkpoint on the disk covers
/// the earlier log, and the ticket does not leave. The missing event is published first of all later.
#[test]
fn a_failed_write_leaves_the_log_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log, card) = (file(), folder.path().join("log"), Card::new(1));
    let mut unpublished = Issuer::open(&store.url, SigningKey::from_bytes(&[5; 32]), NAME).unwrap();
    (0..127).for_each(|_| drop(round(&mut unpublished, &card, 0)));
    unpublished.issue(&request(&card, 1)).unwrap();
    drop(unpublished);
    let mut writer = issuer(&store.url, &log).unwrap();
    let key = writer.log_key().unwrap();
    let in_the_way = log.join(".unfinished");
    std::fs::create_dir_all(in_the_way.join("folder")).unwrap();
    let failed = writer.issue_once(&request(&card, 0), b"one").unwrap_err();
    assert!(matches!(failed, IssueError::PublicLog(PublicLogError::Io { .. })), "{failed}");
    assert!(writer.issue_once(&request(&card, 0), b"one").is_err(), "the ticket leaves without its event");
    assert!(writer.abandon(card.chain(), 128, "lost").is_err());
    std::fs::remove_dir_all(&in_the_way).unwrap();
    assert_eq!(head(&log, &key).0, 255);
    // After a crash here, another process could continue with this log.
    let copy = folder.path().join("copy");
    assert!(std::process::Command::new("cp").arg("-r").args([&log, &copy]).status().unwrap().success());
    drop(issuer(&store.url, &copy).unwrap());
    assert_eq!((head(&copy, &key).0, entries(&copy, 256).len()), (256, 256));
    // So does this one. The repeated request gets the ticket that was in the store already.
    let ticket = SessionTicket::parse(&writer.issue_once(&request(&card, 0), b"one").unwrap()).unwrap().content;
    assert_eq!((ticket.serial, head(&log, &key).0), (128, 256));
    writer.abandon(card.chain(), 128, "not used").unwrap();
    writer.abandon(ChainId { seat: 1, ..card.chain() }, 1, "not used").unwrap();
    drop(writer);
    let (size, root) = head(&log, &key);
    let (all, reader) = (entries(&log, size), Files(&log));
    assert_eq!((size, all.len()), (258, 258));
    let hashes = TileHashReader::new(size, root, &reader);
    for (n, entry) in (0..).zip(&all) {
        check_record(&prove_record(size, n, &hashes).unwrap(), size, root, n, record_hash(entry)).unwrap();
    }
    assert!(!log.join("tile/0/000.p").exists() && !log.join("tile/entries/000.p").exists());
}

#[test]
fn a_damaged_or_foreign_log_is_refused() {
    let damages: [(&str, &[u8]); 4] = [
        ("checkpoint", b"registrar.example/tickets\n4\n"),
        ("tile/entries/000.p/4", b""),
        ("tile/entries/000.p/4", &[0; 480]),
        ("checkpoint", b""),
    ];
    for (file_name, bytes) in damages {
        let folder = tempfile::tempdir().unwrap();
        let (store, log, card) = (file(), folder.path().join("log"), Card::new(1));
        (0..2).for_each(|_| drop(round(&mut issuer(&store.url, &log).unwrap(), &card, 0)));
        std::fs::write(log.join(file_name), bytes).unwrap();
        let refused = issuer(&store.url, &log).err().unwrap();
        assert!(matches!(refused, IssueError::PublicLog(PublicLogError::Damaged { .. })), "{file_name}: {refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (store, log, card) = (file(), folder.path().join("log"), Card::new(1));
    round(&mut issuer(&store.url, &log).unwrap(), &card, 0);
    for (key, name) in [(6, NAME), (5, "other.example")] {
        let mut other = Issuer::open(&store.url, SigningKey::from_bytes(&[key; 32]), name).unwrap();
        let refused = other.publish(&log, None).unwrap_err();
        assert!(matches!(refused, IssueError::PublicLog(PublicLogError::Signature)), "{refused}");
    }
    // One inverted bit of an entry is found.
    let entries = log.join("tile/entries/000.p/2");
    let mut bytes = std::fs::read(&entries).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&entries, bytes).unwrap();
    let refused = issuer(&store.url, &log).err().unwrap();
    assert!(matches!(refused, IssueError::PublicLog(PublicLogError::Damaged { .. })), "{refused}");
    let spaces = Issuer::open(&store.url, SigningKey::from_bytes(&[5; 32]), "two words").unwrap().publish(&log, None);
    assert!(matches!(spaces, Err(IssueError::PublicLog(PublicLogError::Name(_)))));
}

/// Commands with an issuer of their own append to the log at the same time.
#[test]
fn a_second_writer_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log, card) = (file(), folder.path().join("log"), Card::new(1));
    std::thread::scope(|scope| {
        for seat in 0..4 {
            let (store, log, card) = (&store, &log, &card);
            scope.spawn(move || (0..5).for_each(|_| drop(round(&mut issuer(&store.url, log).unwrap(), card, seat))));
        }
    });
    let key = issuer(&store.url, &log).unwrap().log_key().unwrap();
    assert_eq!(head(&log, &key).0, 40);
}

/// Two issuers with one store and one log stay open, and issue and abandon tickets of the same seat in turn. Each event
/// is in the log once, in the order of its chain, although another process has appended the event before it.
#[test]
fn two_issuers_share_a_log() {
    for store in stores() {
        let folder = tempfile::tempdir().unwrap();
        let (log, card) = (folder.path().join("log"), Card::new(1));
        let mut both = [issuer(&store.url, &log).unwrap(), issuer(&store.url, &log).unwrap()];
        let key = both[0].log_key().unwrap();
        for turn in 0..70 {
            // Now and then the same issuer works twice.
            let ticket = SessionTicket::parse(&both[turn % 3 % 2].issue(&request(&card, 3)).unwrap()).unwrap().content;
            assert_eq!(ticket.serial, turn as u64 + 1);
            both[(turn + 1) % 2].abandon(ticket.chain(), ticket.serial, "not used").unwrap();
            both.iter_mut().for_each(|issuer| issuer.check().unwrap());
        }
        std::thread::scope(|scope| {
            for (seat, issuer) in (4..).zip(&mut both) {
                let card = &card;
                scope.spawn(move || (0..70).for_each(|_| drop(round(issuer, card, seat))));
            }
        });
        let (size, root) = head(&log, &key);
        let (all, files) = (entries(&log, size), Files(&log));
        assert_eq!((size, all.len()), (420, 420));
        let hashes = TileHashReader::new(size, root, &files);
        let mut places = std::collections::BTreeMap::<Vec<u8>, u64>::new();
        for (n, entry) in (0..).zip(&all) {
            check_record(&prove_record(size, n, &hashes).unwrap(), size, root, n, record_hash(entry)).unwrap();
            let next = places.entry(entry[33..37].to_vec()).or_default();
            assert_eq!(entry[37..45], next.to_be_bytes(), "entry {n}");
            *next += 1;
        }
        // A log that becomes shorter is never continued, not even with its own events.
        let checkpoint = std::fs::read(log.join("checkpoint")).unwrap();
        round(&mut both[0], &card, 3);
        std::fs::write(log.join("checkpoint"), checkpoint).unwrap();
        for _ in 0..2 {
            let refused = both[0].issue(&request(&card, 3)).unwrap_err();
            assert!(matches!(refused, IssueError::PublicLog(PublicLogError::Damaged { .. })), "{refused}");
        }
    }
}

/// A running issuer whose store is replaced by an older copy gives no further ticket, and reports it.
#[test]
fn a_store_that_forgets_while_the_issuer_runs_is_refused() {
    let Some(database) = database() else { return };
    let (folder, card) = (tempfile::tempdir().unwrap(), Card::new(1));
    let mut running = issuer(&StoreUrl::Postgres(database.issuer.clone()), &folder.path().join("log")).unwrap();
    (0..3).for_each(|_| drop(round(&mut running, &card, 7)));
    running.check().unwrap();
    let mut owner = database.owner();
    let forget = "ALTER TABLE portcullis.event DISABLE TRIGGER ALL;
        DELETE FROM portcullis.event WHERE serial = 3;
        UPDATE portcullis.head SET size = 4,
          hash = (SELECT hash FROM portcullis.event WHERE place = 3)";
    owner.batch_execute(forget).unwrap();
    for refused in [running.check().unwrap_err(), running.issue(&request(&card, 7)).unwrap_err()] {
        let behind = |place| matches!(place, 4 | 5);
        assert!(
            matches!(refused, IssueError::PublicLog(PublicLogError::Behind { seat: 7, place, serial: 3 }) if behind(place)),
            "{refused}"
        );
    }
    let left: i64 = owner.query_one("SELECT count(*) FROM portcullis.event", &[]).unwrap().get(0);
    assert_eq!(left, 4, "the refused issuer has stored an event");
}
