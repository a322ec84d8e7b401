//! Texts are removed from a bundle: the rest still verifies, the report names the signer and the reason, and no part
//! of the texts remains.

use portcullis_test_support::world;

use ed25519_dalek::SigningKey;
use portcullis_evidence::bundle::{
    self, BundleFiles as _, DirectoryFiles, MemoryFiles, StreamChoice, WithholdError, WithholdReason, WithholdReport,
    withhold, withhold_in_place,
};
use portcullis_evidence::withholding::{Withholding, WithholdingTerms};
use portcullis_report::evidence::ReportText;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use world::{START, World, assert_contradicted, clerk, codes, remanifest, sha};

fn ids(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn reason(key: &SigningKey) -> WithholdReason<'_> {
    WithholdReason { name: "clerk", reason: "erased on request", key, names: false }
}

/// A folder with the bundle of the honest session on this many lanes.
fn scene(world: &World, lanes: u8) -> (tempfile::TempDir, PathBuf, MemoryFiles) {
    let folder = tempfile::tempdir().unwrap();
    let files = world.honest_in(lanes).files();
    let path = folder.path().join("b");
    for (name, bytes) in &files.0 {
        let path = path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    (folder, path, files)
}

fn load(folder: &Path) -> MemoryFiles {
    let names = DirectoryFiles::new(folder).names().unwrap();
    MemoryFiles(names.into_keys().map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap())).collect())
}

#[test]
fn the_rest_still_verifies() {
    let world = World::new();
    for lanes in [1, 2, 4] {
        let (folder, from, files) = scene(&world, lanes);
        for (number, choice, left) in [
            (0, StreamChoice::Streams(ids(&["b"])), &["The dose is 5 mg."][..]),
            (1, StreamChoice::AllBut(ids(&["b"])), &["Buy now."]),
            (2, StreamChoice::Streams(ids(&["a", "b"])), &[]),
        ] {
            let to = folder.path().join(format!("to{number}"));
            let done = withhold(&from, &to, &choice, reason(&clerk()), &mut |_| ()).unwrap();
            let found = load(&to);
            let report = world.check(&found);
            assert_eq!(
                codes(&report),
                ids(&["policy/profile-unknown", "replayable/withheld"]),
                "{choice:?}: {:#?}",
                report.properties
            );
            assert_eq!(report.exit_code, 5);
            let [withholding] = &report.session.withholdings[..] else { panic!() };
            assert_eq!(withholding.reason, "erased on request");
            assert_eq!(withholding.signer.file.as_deref(), Some("withholders/clerk.pub"));
            assert_eq!(withholding.streams, done.streams);
            assert_eq!(withholding.before.0, sha(&files.0[bundle::MANIFEST]));
            assert!(ReportText::new(&report).to_string().contains("erased on request"));
            // The chosen texts are gone from every file; all other texts are unchanged.
            let all = found.0.values().map(Vec::as_slice).collect::<Vec<_>>().join(&b'\n');
            let all = String::from_utf8_lossy(&all);
            for text in ["The dose is 5 mg.", "Buy now."] {
                assert_eq!(all.contains(text), left.contains(&text), "{choice:?}: {text}");
            }
            assert!(load(&from).0 == files.0, "the source stays as it is");
        }
    }
}

#[test]
fn time_is_the_witness_s() {
    let world = World::new();
    let (folder, from, _) = scene(&world, 2);
    let to = folder.path().join("to");
    let before = |second| withhold(&from, &to, &StreamChoice::Before(second), reason(&clerk()), &mut |_| ());
    // No stream had ended before the first note.
    assert!(matches!(before(START), Err(WithholdError::Nothing)));
    assert!(!to.exists());
    // The witness's last note is for the third checkpoint; its time is START + 200.
    assert!(matches!(before(START + 200), Err(WithholdError::Nothing)));
    let done = before(START + 201).unwrap();
    assert_eq!(done.streams, 2);
    let report = world.check(&load(&to));
    assert_eq!(report.exit_code, 5, "{:#?}", report.properties);
    let mut files = load(&from);
    files.0.retain(|name, _| !name.starts_with("witness/"));
    remanifest(&mut files);
    let silent = folder.path().join("silent");
    for (name, bytes) in &files.0 {
        let path = silent.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let other = folder.path().join("other");
    let error = withhold(&silent, &other, &StreamChoice::Before(u64::MAX), reason(&clerk()), &mut |_| ()).unwrap_err();
    assert!(matches!(error, WithholdError::NoWitness), "{error}");
}

#[test]
fn in_place_and_again() {
    let world = World::new();
    let (folder, path, files) = scene(&world, 2);
    let key = clerk();
    let done = withhold_in_place(&path, &StreamChoice::Streams(ids(&["b"])), reason(&key), &mut |_| ()).unwrap();
    assert_eq!((done.streams, done.contexts), (1, 1));
    let first = sha(&load(&path).0[bundle::MANIFEST]);
    let again = WithholdReason { names: true, reason: "the rest, too", ..reason(&key) };
    let done = withhold_in_place(&path, &StreamChoice::AllBut(BTreeSet::new()), again, &mut |_| ()).unwrap();
    assert!(done.streams >= 2, "{done:?}");
    let report = world.check(&load(&path));
    assert_eq!(codes(&report), ids(&["policy/profile-unknown", "replayable/withheld"]), "{:#?}", report.properties);
    let [one, two] = &report.session.withholdings[..] else { panic!() };
    assert_eq!((one.before.0, two.before.0), (sha(&files.0[bundle::MANIFEST]), first));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside the bundle");
}

#[test]
fn refused() {
    let world = World::new();
    let (folder, from, files) = scene(&world, 1);
    let to = folder.path().join("to");
    let key = clerk();
    let with = |choice: StreamChoice, reason: WithholdReason<'_>| {
        withhold(&from, &to, &choice, reason, &mut |_| ()).unwrap_err()
    };
    assert!(
        matches!(with(StreamChoice::Streams(ids(&["a", "z"])), reason(&key)), WithholdError::Unknown(id) if id == "z")
    );
    assert!(matches!(with(StreamChoice::AllBut(ids(&["z"])), reason(&key)), WithholdError::Unknown(_)));
    let empty = WithholdReason { reason: "", ..reason(&key) };
    assert!(matches!(with(StreamChoice::Streams(ids(&["a"])), empty), WithholdError::WithholdReason));
    // A changed bundle is refused: its earlier content is unknown.
    fs::write(from.join(bundle::SPANS), "").unwrap();
    assert!(!with(StreamChoice::Streams(ids(&["a"])), reason(&key)).is_operational());
    assert!(!to.exists());
    fs::write(from.join(bundle::SPANS), &files.0[bundle::SPANS]).unwrap();
    fs::create_dir(&to).unwrap();
    assert!(with(StreamChoice::Streams(ids(&["a"])), reason(&key)).is_operational(), "a folder that exists");
    assert_eq!(load(&from).0, files.0);
}

#[test]
fn what_a_statement_cannot_do() {
    let world = World::new();
    let (folder, from, files) = scene(&world, 1);
    let to = folder.path().join("to");
    let done = withhold(&from, &to, &StreamChoice::Streams(ids(&["b"])), reason(&clerk()), &mut |_| ()).unwrap();
    assert_eq!(done, WithholdReport { streams: 1, lines: done.lines, contexts: 1 });
    let honest = load(&to);
    let name = bundle::withheld(0);
    let checked = |change: &dyn Fn(&mut MemoryFiles)| {
        let mut changed = honest.clone();
        change(&mut changed);
        remanifest(&mut changed);
        world.check(&changed)
    };
    // The statement lists a text as removed, but the text is still there.
    for file in [bundle::SPANS, bundle::INPUTS, bundle::RECEIPTS] {
        let report = checked(&|changed| drop(changed.0.insert(file.to_owned(), files.0[file].clone())));
        assert_contradicted(&report, "replayable/withheld-disclosed");
    }
    // Without the statement, the texts are only missing.
    let report = checked(&|changed| drop(changed.0.remove(&name)));
    assert!(codes(&report).is_superset(&ids(&["replayable/input-withheld", "replayable/span-withheld"])));
    // Refused: a gap in the numbers of statements, and a changed byte.
    let report = checked(&|changed| {
        let statement = changed.0.remove(&name).unwrap();
        changed.0.insert(bundle::withheld(1), statement);
    });
    assert_contradicted(&report, "replayable/withholding-malformed");
    let report = checked(&|changed| *changed.0.get_mut(&name).unwrap().last_mut().unwrap() ^= 1);
    assert!(codes(&report).contains("replayable/withholding-untrusted"), "{:#?}", report.properties);
    let stated = Withholding::parse(&honest.0[&name]).unwrap().terms;
    let restate = |terms: &WithholdingTerms, key: &SigningKey| {
        let statement = Withholding::sign(terms, key).unwrap();
        checked(&|changed| drop(changed.0.insert(name.clone(), statement.clone())))
    };
    // The statement is signed by a key that is not trusted.
    let report = restate(&stated, &SigningKey::from_bytes(&[9; 32]));
    assert_eq!((report.session.withholdings[0].signer.key, report.exit_code), (None, 5));
    assert!(codes(&report).contains("replayable/withholding-untrusted"));
    // The statement is for another session.
    let report = restate(&WithholdingTerms { ticket: [8; 32], ..stated.clone() }, &clerk());
    assert_contradicted(&report, "replayable/withholding-session");
    // The statement names a stream that does not exist.
    let mut streams = stated.streams.clone();
    streams.insert((0, 0));
    let report = restate(&WithholdingTerms { streams, ..stated }, &clerk());
    assert_contradicted(&report, "replayable/withholding-stream");
}

/// The texts of the honest session.
const TEXTS: [&str; 3] = ["The dose is 5 mg.", "Take it with milk", "Buy now."];
/// Folder of the bundle, in the environment of the process that is killed.
const KILLED: &str = "PORTCULLIS_KILLED_WITHHOLD";

/// The part of the next test that runs in a process of its own.
#[test]
fn killed_withhold() {
    if let Some(folder) = std::env::var_os(KILLED) {
        let all = StreamChoice::AllBut(BTreeSet::new());
        withhold_in_place(Path::new(&folder), &all, reason(&clerk()), &mut |_| ()).unwrap();
    }
}

/// How many of the texts are in any file below a folder.
fn texts_below(folder: &Path) -> usize {
    let mut found = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
            }
        }
    }
    TEXTS.iter().filter(|text| found.contains(**text)).count()
}

/// 20 processes are killed; 500 with `PORTCULLIS_LONG=1`.
#[test]
fn a_killed_withhold_leaves_the_old_bundle_or_the_new_one() {
    let world = World::new();
    let (folder, path, mut files) = scene(&world, 2);
    // More files, so that copying and removing take long enough to be hit.
    for number in 0..60 {
        let content = format!("{{\"n\":{number}}}").into_bytes();
        files.0.insert(bundle::context(&sha(&content)), content);
    }
    remanifest(&mut files);
    let part = folder.path().join("b.part");
    let mut random = 9_u32;
    let (mut copies, mut originals) = (0, 0);
    for number in 0..if std::env::var_os("PORTCULLIS_LONG").is_some() { 500 } else { 20 } {
        fs::remove_dir_all(&path).unwrap();
        for (name, bytes) in &files.0 {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), bytes).unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "withhold::killed_withhold"])
            .env(KILLED, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Kills while the copy is made, around the exchange, while the original is removed, and anywhere.
        let signs = [part.clone(), part.join(bundle::MANIFEST), path.join("withheld"), folder.path().join("never")];
        let sign = &signs[number % signs.len()];
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wait = Duration::from_micros(u64::from(random >> 20));
        let most = if number % signs.len() == 3 { 40 * wait } else { Duration::from_secs(60) };
        let begun = Instant::now();
        while !sign.exists() && child.try_wait().unwrap().is_none() && begun.elapsed() < most {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(if number % 2 == 0 { Duration::ZERO } else { wait });
        let _ = child.kill();
        child.wait().unwrap();

        let left = part.exists();
        let is_new = path.join("withheld").exists();
        copies += usize::from(left && !is_new);
        originals += usize::from(left && is_new);
        let mut mended = Vec::new();
        if number % 3 == 0 {
            let all = StreamChoice::AllBut(BTreeSet::new());
            withhold_in_place(&path, &all, reason(&clerk()), &mut |line| mended.push(line)).unwrap();
            assert_eq!(texts_below(folder.path()), 0, "{number}");
        } else {
            let dry = bundle::finish(&path, true).unwrap();
            assert_eq!(part.exists(), left, "a dry run removes nothing");
            assert_eq!(dry.mended.len(), usize::from(left), "{:?}", dry.mended);
            mended = bundle::finish(&path, false).unwrap().mended;
            assert_eq!(texts_below(folder.path()), if is_new { 0 } else { TEXTS.len() }, "{number}");
            assert!(is_new || load(&path).0 == files.0, "{number}: the old bundle is another one");
        }
        assert_eq!(mended.len(), usize::from(left), "{number}: {mended:?}");
        assert!(mended.iter().all(|line| line.contains("b.part")), "{mended:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{number}: something is left beside the bundle");
        if number % 10 == 0 {
            let report = world.check(&load(&path));
            assert!([0, 5].contains(&report.exit_code), "{:#?}", report.properties);
        }
    }
    println!("left beside the bundle: the copy {copies} times, the original {originals} times");
    assert!(copies + originals > 0, "no kill came in time, so nothing was tested");
}

#[test]
fn what_is_left_by_something_else_stays() {
    let world = World::new();
    let (folder, path, files) = scene(&world, 1);
    let part = folder.path().join("b.part");
    let key = clerk();
    let in_place = || {
        let all = StreamChoice::AllBut(BTreeSet::new());
        withhold_in_place(&path, &all, reason(&key), &mut |line| panic!("{line}"))
    };
    type Names<'a> = &'a [(&'a str, &'a [u8])];
    let contents: [(&str, Names<'_>); 4] = [
        ("no ticket", &[("README.md", b"notes of somebody")]),
        ("another session", &[(bundle::TICKET, b"another ticket"), ("README.md", b"x")]),
        ("a file of no bundle", &[(bundle::TICKET, &files.0[bundle::TICKET]), ("diary.txt", b"x")]),
        ("a hidden file", &[(bundle::TICKET, &files.0[bundle::TICKET]), ("policy/.git", b"x")]),
    ];
    for (what, content) in contents {
        for (name, bytes) in content {
            fs::create_dir_all(part.join(name).parent().unwrap()).unwrap();
            fs::write(part.join(name), bytes).unwrap();
        }
        let error = in_place().unwrap_err();
        assert!(error.is_operational() && error.to_string().contains("move it away"), "{what}: {error}");
        assert!(bundle::finish(&path, false).unwrap().mended.is_empty(), "{what}");
        assert!(load(&path).0 == files.0 && content.iter().all(|(name, _)| part.join(name).exists()), "{what}");
        fs::remove_dir_all(&part).unwrap();
    }
    // A file, and a link to a folder of its own.
    fs::write(&part, "x").unwrap();
    assert!(in_place().unwrap_err().to_string().contains("move it away"));
    fs::remove_file(&part).unwrap();
    std::os::unix::fs::symlink(&path, &part).unwrap();
    assert!(in_place().unwrap_err().to_string().contains("move it away"));
    fs::remove_file(&part).unwrap();
    // Another process still works there.
    fs::create_dir(&part).unwrap();
    let lock = fs::File::open(&part).unwrap();
    lock.try_lock().unwrap();
    assert!(in_place().is_err() && part.exists());
    lock.unlock().unwrap();
    // An empty folder is what a kill before the first file leaves.
    let mut mended = Vec::new();
    let all = StreamChoice::AllBut(BTreeSet::new());
    withhold_in_place(&path, &all, reason(&key), &mut |line| mended.push(line)).unwrap();
    assert_eq!(mended.len(), 1, "{mended:?}");
}

#[test]
fn a_copy_that_was_not_completed_is_made_anew() {
    let world = World::new();
    let (folder, from, files) = scene(&world, 1);
    let (to, part) = (folder.path().join("to"), folder.path().join("to.part"));
    fs::create_dir(&part).unwrap();
    let ticket = &files.0[bundle::TICKET];
    fs::write(part.join(bundle::TICKET), &ticket[..ticket.len() / 2]).unwrap();
    let mut mended = Vec::new();
    let all = StreamChoice::AllBut(BTreeSet::new());
    withhold(&from, &to, &all, reason(&clerk()), &mut |line| mended.push(line)).unwrap();
    assert_eq!((mended.len(), part.exists()), (1, false), "{mended:?}");
    assert_eq!(world.check(&load(&to)).exit_code, 5);
    // A folder that exists is not replaced.
    let before = load(&to).0;
    let again = withhold(&from, &to, &all, reason(&clerk()), &mut |_| ()).unwrap_err();
    assert!(again.is_operational() && load(&to).0 == before && !part.exists(), "{again}");
}
