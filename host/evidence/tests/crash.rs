//! Finishes the bundles of processes that died. A finished bundle then verifies as the bundle of a session that was not
//! closed, and the verifier finds nothing contradicted.
//!
//! With `PORTCULLIS_LONG=1`, 20,000 states after a crash are tried per bundle, otherwise a few hundred.

use portcullis_test_support::random::Random;
use portcullis_test_support::world;

use portcullis_core::wire::{LaneHead, Record, RecordType};
use portcullis_evidence::bundle::{self, BundleFiles as _, DirectoryFiles, FinishError, MemoryFiles, finish};
use std::fs;
use std::path::Path;
use world::{Parts, World, codes, nonce};

/// The files of a process that died after `checkpoints` checkpoints. A file that grows can end at any byte; after a
/// loss of power it can end with zeros. Files that are written at once exist, are missing, or are incomplete.
fn died(parts: &Parts, checkpoints: usize, random: &mut Random) -> MemoryFiles {
    let mut files = parts.files();
    files.0.remove(bundle::MANIFEST);
    for serial in checkpoints as u64.. {
        let gone = files.0.remove(&bundle::checkpoint(serial));
        files.0.remove(&bundle::witness(serial));
        match gone {
            Some(message) if random.one_in(3) => {
                let part = message[..random.within(0, message.len())].to_vec();
                files.0.insert(format!("{}.part", bundle::checkpoint(serial)), part);
            }
            Some(_) => {}
            None => break,
        }
    }
    for (lane, records) in (0..).zip(&parts.log.lanes) {
        let signed = parts.log.heads[checkpoints - 1][usize::from(lane)].size.get() as usize;
        // A heartbeat comes after the note that contains its nonce.
        let given = |record: &Record| {
            record.answer.record_type != u8::from(RecordType::Heartbeat)
                || (0..checkpoints as u64).any(|serial| record.descriptor.as_session_nonce() == nonce(serial))
        };
        let most = records.iter().position(|record| !given(record)).unwrap_or(records.len());
        let log = files.0.get_mut(&bundle::in_lane(bundle::RECORDS, lane)).unwrap();
        log.truncate(random.within(signed * Record::BYTES, most * Record::BYTES));
        if random.one_in(3) {
            log.resize(log.len() + random.within(1, 2000), 0);
        }
        for name in [bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS] {
            let lines = files.0.get_mut(&bundle::in_lane(name, lane)).unwrap();
            if name == bundle::RECEIPTS && random.one_in(2) {
                // Receipts are written in order of release.
                let mut each: Vec<_> = lines.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                each.reverse();
                *lines = each.concat();
            }
            lines.truncate(random.within(0, lines.len()));
            if random.one_in(4) {
                lines.resize(lines.len() + random.within(1, 500), 0);
            }
        }
    }
    if let Some(heads) = files.0.get_mut(bundle::HEADS) {
        let least = checkpoints * parts.log.lanes.len() * LaneHead::BYTES;
        heads.truncate(random.within(least, heads.len()));
    }
    let contexts: Vec<String> = files.0.keys().filter(|name| name.starts_with("contexts/")).cloned().collect();
    for name in contexts {
        let bytes = files.0[&name].clone();
        match random.within(0, 5) {
            0 => drop(files.0.remove(&name)),
            1 => drop(files.0.insert(name, Vec::new())),
            2 => drop(files.0.insert(format!("{name}.part"), bytes)),
            _ => {}
        }
    }
    if random.one_in(3) {
        files.0.remove(bundle::README);
    }
    if random.one_in(8) {
        files.0.insert(bundle::MANIFEST.to_owned(), b"{\"schema\": \"portcullis/bu".to_vec());
    }
    files
}

trait Nonce {
    fn as_session_nonce(&self) -> u64;
}

impl Nonce for portcullis_core::wire::Descriptor {
    fn as_session_nonce(&self) -> u64 {
        use zerocopy::{FromBytes, IntoBytes};
        portcullis_core::wire::SessionFields::read_from_bytes(self.as_bytes()).unwrap().heartbeat_nonce.get()
    }
}

fn write(files: &MemoryFiles, folder: &Path) {
    for (name, bytes) in &files.0 {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn load(folder: &Path) -> MemoryFiles {
    let names = DirectoryFiles::new(folder).names().unwrap();
    MemoryFiles(names.into_keys().map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap())).collect())
}

#[test]
fn what_a_death_leaves_is_completed() {
    let world = World::new();
    let long = std::env::var_os("PORTCULLIS_LONG").is_some();
    for lanes in [1, 2, 4] {
        let parts = world.honest_in(lanes);
        let all = parts.log.checkpoints.len();
        let mut random = Random::new(u64::from(lanes));
        for number in 0..if long { 20_000 } else { 200 } {
            let checkpoints = random.within(1, all);
            let files = died(&parts, checkpoints, &mut random);
            let folder = tempfile::tempdir().unwrap();
            write(&files, folder.path());
            let before = load_raw(folder.path());
            let planned = finish(folder.path(), true).unwrap();
            assert_eq!(load_raw(folder.path()), before, "a dry run changes nothing");
            let done = finish(folder.path(), false).unwrap_or_else(|error| panic!("{lanes}, {number}: {error}"));
            assert_eq!((done.checkpoints, &done), (checkpoints as u64, &planned));

            let found = load(folder.path());
            let report = world.check(&found);
            let codes = codes(&report);
            assert!([0, 5].contains(&report.exit_code), "{lanes}, {number}: {:#?}", report.properties);
            assert_eq!(codes.contains("complete/not-closed"), checkpoints < all, "{lanes}, {number}: {codes:?}");
            assert_eq!(report.session.signed_records, done.signed);
            let again = finish(folder.path(), false).unwrap();
            assert!(again.already && load(folder.path()).0 == found.0);
        }
    }
}

/// Every file in the folder, also files that are not part of a bundle.
fn load_raw(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push((path.clone(), fs::read(path).unwrap())) }
        }
    }
    files.sort();
    files
}

/// A killed process may have written more of one lane than of another: here one lane has two heartbeats more than the
/// others.
#[test]
fn heartbeats_that_other_lanes_do_not_have_are_cut() {
    let world = World::new();
    let mut parts = world.honest_in(2);
    parts.open();
    (0..3).for_each(|serial| parts.log.heartbeat(nonce(serial)));
    parts.log.lanes[0].truncate(1);
    for lines in [&mut parts.streams, &mut parts.spans, &mut parts.receipts] {
        lines.clear();
    }
    let mut files = parts.files();
    files.0.remove(bundle::MANIFEST);
    let folder = tempfile::tempdir().unwrap();
    write(&files, folder.path());
    let done = finish(folder.path(), false).unwrap();
    assert_eq!(done.records, done.signed + 1, "{done:?}");
    let report = world.check(&load(folder.path()));
    assert_eq!(report.exit_code, 5, "{:#?}", report.properties);
}

#[test]
fn what_is_no_crash_is_refused_and_left_alone() {
    let world = World::new();
    let parts = world.honest();
    let refused = |change: &dyn Fn(&mut MemoryFiles)| {
        let mut files = parts.files();
        change(&mut files);
        let folder = tempfile::tempdir().unwrap();
        write(&files, folder.path());
        let before = load_raw(folder.path());
        let error = finish(folder.path(), false).unwrap_err();
        assert_eq!(load_raw(folder.path()), before);
        error
    };
    // The bundle was finished, and changed afterwards.
    let sealed = refused(&|files| files.0.get_mut(bundle::SPANS).unwrap().truncate(0));
    assert!(matches!(sealed, FinishError::Sealed(_)), "{sealed}");
    // Without one of these files there are no signed records.
    for missing in [&*bundle::checkpoint(0), bundle::TICKET, bundle::RECORDS] {
        let unsigned = refused(&|files| {
            files.0.remove(bundle::MANIFEST);
            files.0.remove(missing);
        });
        assert!(matches!(unsigned, FinishError::NothingSigned(_)), "{unsigned}");
    }
    // The folder contains a file that bundles do not have.
    let foreign = refused(&|files| {
        files.0.remove(bundle::MANIFEST);
        files.0.insert("notes.txt".to_owned(), Vec::new());
    });
    assert!(matches!(foreign, FinishError::Bundle(_)) && !foreign.is_operational(), "{foreign}");
    // The folder does not exist.
    let error = finish(Path::new("/nowhere/at/all"), false).unwrap_err();
    assert!(error.is_operational(), "{error}");
}

#[test]
fn a_bundle_that_is_being_written_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b");
    let writer = bundle::BundleWriter::create(&path).unwrap();
    writer.put(bundle::TICKET, b"x").unwrap();
    assert!(matches!(finish(&path, false), Err(FinishError::Busy(_))));
    drop(writer);
    assert!(matches!(finish(&path, false), Err(FinishError::NothingSigned(_))));
}
