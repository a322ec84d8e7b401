//! Changes every file of a bundle and every field of every record: other values, truncation, duplication, another
//! order. No changed bundle is affirmed.

use portcullis_test_support::world;

use portcullis_core::wire::Record;
use portcullis_evidence::bundle::{self, BundleError, BundleFiles, BundleWriter, DirectoryFiles, MemoryFiles};
use portcullis_evidence::verify::{VerifyOptions, verify};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use world::{World, codes, remanifest};
use zerocopy::IntoBytes;

/// Largest number of bytes that are changed in a file, one at a time.
const PLACES: usize = 40;

/// The exit code of `verify` for these files, and the findings; 3 if the files are not a bundle.
fn answer(world: &World, files: &MemoryFiles) -> (u8, String) {
    match verify(files, &world.trust(false), VerifyOptions::default(), &mut |_| ()) {
        Ok(report) => (report.exit_code, format!("{:?}", codes(&report))),
        Err(error) => {
            assert!(!error.is_operational(), "{error}");
            (3, error.to_string())
        }
    }
}

/// Asserts that the files are refused, with the old manifest and with a recomputed one.
#[track_caller]
fn assert_refused(world: &World, mut files: MemoryFiles, what: &str) {
    let (code, found) = answer(world, &files);
    assert_eq!(code, 3, "{what}, manifest as it was: {found}");
    remanifest(&mut files);
    let (code, found) = answer(world, &files);
    assert_ne!(code, 0, "{what}, manifest made to fit: {found}");
}

/// Names of the files in which the verifier checks every byte.
fn evidence(files: &MemoryFiles) -> Vec<String> {
    // The verifier does not check every byte of these files; only a replay checks the input of a stream.
    let people = [bundle::README, bundle::STREAMS, bundle::INPUTS, bundle::MANIFEST];
    files.0.keys().filter(|name| !people.contains(&name.as_str())).cloned().collect()
}

#[test]
fn every_file_changed() {
    let world = World::new();
    let files = world.honest().files();
    for name in evidence(&files) {
        let length = files.0[&name].len();
        for at in (0..length).step_by((length / PLACES).max(1)) {
            let mut wrong = files.clone();
            wrong.0.get_mut(&name).unwrap()[at] ^= 1 << (at % 7);
            assert_refused(&world, wrong, &format!("byte {at} of {name}"));
        }
    }
}

#[test]
fn every_file_cut_doubled_emptied_and_left_out() {
    let world = World::new();
    let files = world.honest().files();
    for name in evidence(&files) {
        let content = files.0[&name].clone();
        let cut = content[..content.len() - 1].to_vec();
        let half = content[..content.len() / 2].to_vec();
        let first = content[1..].to_vec();
        let doubled = content.repeat(2);
        let longer = [&content[..], b"x"].concat();
        let emptied = Vec::new();
        for (what, wrong) in [
            ("cut", cut),
            ("halved", half),
            ("beheaded", first),
            ("doubled", doubled),
            ("longer", longer),
            ("emptied", emptied),
        ] {
            // PEM is valid without the newline at its end. Receipts belong to their readers, so a bundle may have none.
            if what == "cut" && name.ends_with(".pem") || what == "emptied" && name == bundle::RECEIPTS {
                continue;
            }
            let mut files = files.clone();
            files.0.insert(name.clone(), wrong);
            assert_refused(&world, files, &format!("{name} {what}"));
        }
        if name != bundle::RECEIPTS {
            let mut without = files.clone();
            without.0.remove(&name);
            assert_refused(&world, without, &format!("{name} left out"));
        }
    }
}

#[test]
fn every_pair_of_files_exchanged() {
    let world = World::new();
    let files = world.honest().files();
    let names = evidence(&files);
    for (i, a) in names.iter().enumerate() {
        for b in names.iter().skip(i + 1) {
            let mut wrong = files.clone();
            wrong.0.insert(a.clone(), files.0[b].clone());
            wrong.0.insert(b.clone(), files.0[a].clone());
            assert_refused(&world, wrong, &format!("{a} and {b}"));
        }
    }
}

#[test]
fn every_byte_of_every_record() {
    let world = World::new();
    let files = world.honest().files();
    let log = &files.0[bundle::RECORDS];
    // In records with an even number the even bytes are changed, in the others the odd bytes.
    for at in (0..log.len()).filter(|at| (at + at / Record::BYTES).is_multiple_of(2)) {
        let mut wrong = files.clone();
        wrong.0.get_mut(bundle::RECORDS).unwrap()[at] ^= 0x10;
        remanifest(&mut wrong);
        let (code, found) = answer(&world, &wrong);
        assert_eq!(code, 3, "byte {} of record {}: {found}", at % Record::BYTES, at / Record::BYTES);
    }
}

/// Records that break a rule are refused even if the card itself signed them.
#[test]
fn rules_hold_whoever_signs() {
    let world = World::new();
    let honest = world.honest();
    let mut silent = BTreeSet::new();
    // One record of each type, with all fields and the first reserved bytes.
    let types: BTreeMap<_, _> =
        (0..).zip(&honest.log.lanes[0]).map(|(i, r): (usize, _)| (r.answer.record_type, i)).collect();
    for index in types.into_values() {
        for at in 128..164 {
            let mut parts = honest.clone();
            parts.log.lanes[0].as_mut_bytes()[index * Record::BYTES + at] ^= 0x40;
            parts.reroot();
            let (code, _) = answer(&world, &parts.files());
            if code != 3 {
                silent.insert(at - 128);
            }
        }
    }
    // Any low byte of a tick is valid if the tick does not go back.
    assert_eq!(silent, [24].into(), "bytes of the answer that no rule covers");
}

#[test]
fn lines_in_another_order_or_twice() {
    let world = World::new();
    let files = world.honest().files();
    for name in [bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS] {
        let text = String::from_utf8(files.0[name].clone()).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut swapped = lines.clone();
        swapped.swap(0, 1);
        let twice = [&lines[..1], &lines[..]].concat();
        let stray = [&lines[..], &["{}\n"]].concat();
        let spaced = [&lines[..], &["\n"]].concat();
        for (what, wrong) in [("swapped", swapped), ("twice", twice), ("stray", stray), ("empty line", spaced)] {
            let mut files = files.clone();
            files.0.insert(name.to_owned(), wrong.concat().into_bytes());
            assert_refused(&world, files, &format!("{name}: {what}"));
        }
    }
}

#[test]
fn files_of_no_bundle() {
    let world = World::new();
    let files = world.honest().files();
    for name in ["notes.txt", "../outside", "records/lane-1.bin", "device/root.pem", "checkpoints/3.cose"] {
        let mut wrong = files.clone();
        wrong.0.insert(name.to_owned(), Vec::new());
        assert_refused(&world, wrong, name);
    }
    let mut large = files;
    large.0.insert(bundle::CHAIN.to_owned(), vec![b'\n'; (1 << 20) + 1]);
    let error = verify(&large, &world.trust(false), VerifyOptions::default(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, BundleError::Size { .. }), "{error}");
}

#[test]
fn on_disk() {
    let world = World::new();
    let files = world.honest().files();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    let writer = BundleWriter::create(&path).unwrap();
    for (name, content) in files.0.iter().filter(|(name, _)| *name != bundle::MANIFEST) {
        writer.put(name, content).unwrap();
    }
    assert!(matches!(writer.put("stray.txt", b""), Err(BundleError::Name(_))));
    // The writer refuses a file that a verifier would refuse.
    let large = vec![b' '; (1 << 20) + 1];
    assert!(matches!(writer.put(&bundle::context(&[1; 32]), &large), Err(BundleError::Size { .. })));
    let twice = writer.grow(bundle::TICKET);
    assert!(matches!(twice, Err(BundleError::Io { .. })), "a file that grows is new");
    writer.finish().unwrap();
    assert!(BundleWriter::create(&path).is_err(), "a bundle is written once");

    let directory = DirectoryFiles::new(&path);
    assert_eq!(directory.names().unwrap(), files.names().unwrap());
    assert_eq!(fs::read(path.join(bundle::MANIFEST)).unwrap(), files.0[bundle::MANIFEST]);
    let check = || verify(&directory, &world.trust(false), VerifyOptions::default(), &mut |_| ());
    assert_eq!(check().unwrap().exit_code, 0);

    // A symbolic link is not followed, even if its target has the right content.
    let moved = folder.path().join("moved");
    fs::rename(path.join(bundle::TICKET), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, path.join(bundle::TICKET)).unwrap();
    assert!(matches!(check(), Err(BundleError::Kind(name)) if name == bundle::TICKET));
    fs::remove_file(path.join(bundle::TICKET)).unwrap();
    assert!(matches!(check(), Err(BundleError::Missing(_))));
    fs::rename(&moved, path.join(bundle::TICKET)).unwrap();
    std::os::unix::fs::symlink(folder.path(), path.join("anchors/up")).unwrap();
    assert!(matches!(check(), Err(BundleError::Kind(_))));
    fs::remove_file(path.join("anchors/up")).unwrap();
    assert_eq!(check().unwrap().exit_code, 0);
    assert!(
        verify(&DirectoryFiles::new(&moved), &world.trust(false), VerifyOptions::default(), &mut |_| ())
            .unwrap_err()
            .is_operational()
    );
}

/// Files of a bundle, with the number of times that each file was opened.
struct Counting(MemoryFiles, RefCell<BTreeMap<String, usize>>);

impl BundleFiles for Counting {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        self.0.names()
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        *self.1.borrow_mut().entry(name.to_owned()).or_default() += 1;
        self.0.open(name)
    }
}

/// A record has 192 bytes, but a context document up to a megabyte: no document may be read again for each stream.
#[test]
fn no_file_is_read_for_every_record() {
    let world = World::new();
    let mut parts = world.honest();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.open();
    for slot in 0..40 {
        parts.begin(slot, "a");
        parts.end(slot, 1, "");
    }
    parts.log.close();
    let files = Counting(parts.files(), RefCell::default());
    let report = verify(&files, &world.trust(false), VerifyOptions::default(), &mut |_| ()).unwrap();
    assert_eq!(
        (codes(&report), report.session.modes.driven),
        (["replayable/id-twice".to_owned()].into(), 40),
        "{:#?}",
        report.properties
    );
    let most = files.1.borrow().iter().map(|(name, times)| (*times, name.clone())).max().unwrap();
    assert!(most.0 <= 3, "{most:?}");
}
