//! Table files that cannot be read: each is named, and the rest of the tables is audited.

use crate::support::{Scene, counting, found, run, set};
use crate::tables::{files, with_column};
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use portcullis_fleet::AuditStep;
use portcullis_fleet_core::{AuditAnswer, WorkFolder};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are the same in each run, and look random.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(step).collect()
}

/// The file of one bundle in a folder of the tables.
fn file(scene: &Scene, folder: &str, bundle: &str) -> PathBuf {
    let all = files(&scene.path("tables").join(folder));
    all.into_iter().find(|path| path.display().to_string().contains(bundle)).unwrap()
}

fn id_of(answer: &AuditAnswer, name: &str) -> String {
    answer.sessions.iter().find(|session| session.name == name).unwrap().bundle.clone()
}

type Damage = (&'static str, fn(&Path));

const DAMAGES: &[Damage] = &[
    ("empty", |path| fs::write(path, b"").unwrap()),
    ("a text", |path| fs::write(path, b"Nothing of this is a table.\n").unwrap()),
    ("cut in the middle", |path| {
        let whole = fs::read(path).unwrap();
        fs::write(path, &whole[..whole.len() / 2]).unwrap();
    }),
    ("without its last byte", |path| {
        let whole = fs::read(path).unwrap();
        fs::write(path, &whole[..whole.len() - 1]).unwrap();
    }),
    ("a footer that is longer than the file", |path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.len() - 8;
        bytes[at..at + 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        fs::write(path, bytes).unwrap();
    }),
    ("a footer of the greatest length", |path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.len() - 8;
        bytes[at..at + 4].copy_from_slice(&[0xff; 4]);
        fs::write(path, bytes).unwrap();
    }),
    ("a damaged footer", |path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.len() - 60;
        bytes[at..at + 40].copy_from_slice(&noise(5, 40));
        fs::write(path, bytes).unwrap();
    }),
    ("damaged pages", |path| {
        let mut bytes = fs::read(path).unwrap();
        bytes[4..60].copy_from_slice(&noise(7, 56));
        fs::write(path, bytes).unwrap();
    }),
    ("a folder", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        fs::write(path.join("part.parquet"), b"PAR1").unwrap();
    }),
    // No user can read this file, not even root.
    ("a file that cannot be read", |path| {
        fs::remove_file(path).unwrap();
        symlink("/proc/self/mem", path).unwrap();
    }),
    ("another table", |path| {
        let tables = path.ancestors().find(|path| path.ends_with("tables")).unwrap();
        let other = if path.starts_with(tables.join("checkpoints")) { "tickets" } else { "checkpoints" };
        fs::copy(files(&tables.join(other)).first().unwrap(), path).unwrap();
    }),
];

/// In every folder of the tables, every damage is one finding about the bundle, and the other bundles stay affirmed.
#[test]
fn a_damaged_file_is_named_and_the_rest_is_audited() {
    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    let whole = scene.audit(&place, &scene.options());
    assert_eq!((found(&whole), whole.exit_code), (set(&[]), 0), "{:#?}", whole.findings);
    let id = id_of(&whole, "2");
    for folder in ["records", "checkpoints", "notes", "tickets"] {
        let path = file(&scene, folder, &id);
        let content = fs::read(&path).unwrap();
        for (what, damage) in DAMAGES {
            damage(&path);
            check(&scene, &place, (folder, what), &path);
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap();
            } else {
                fs::remove_file(&path).unwrap();
            }
            fs::write(&path, &content).unwrap();
        }
        // The decoder of another program gave up all tables for some of these.
        for seed in 0..24 {
            let marked = [b"PAR1".to_vec(), noise(seed, 100 + 20 * seed as usize), b"PAR1".to_vec()].concat();
            fs::write(&path, marked).unwrap();
            check(&scene, &place, (folder, "noise between two marks"), &path);
        }
        fs::write(&path, &content).unwrap();
    }
    assert_eq!(found(&scene.audit(&place, &scene.options())), set(&[]));
}

#[track_caller]
fn check(scene: &Scene, place: &str, what: (&str, &str), path: &Path) {
    let answer = run(place, &scene.options()).unwrap_or_else(|error| panic!("{what:?}: {error}"));
    assert_eq!(found(&answer), set(&[("2", "table-unread")]), "{what:?}: {:#?}", answer.findings);
    assert_eq!((answer.exit_code, answer.sessions.len()), (3, 4), "{what:?}");
    let name = path.strip_prefix(scene.path("tables")).unwrap().display().to_string();
    assert!(answer.findings[0].detail.contains(&name), "{what:?}: {}", answer.findings[0].detail);
    for session in &answer.sessions {
        assert_eq!((session.status.name(), session.tables), ("affirmed", Some(session.name != "2")), "{what:?}");
    }
}

/// Without the row of a bundle, nothing says where the bundle is. Its other files are no second finding.
#[test]
fn a_damaged_row_of_a_bundle_is_named() {
    for (what, damage) in DAMAGES {
        let scene = Scene::new();
        let place = scene.ingest(&scene.all_but(&[]));
        let id = id_of(&run(&place, &scene.options()).unwrap(), "4");
        damage(&file(&scene, "bundles", &id));
        let answer = scene.audit(&place, &scene.options());
        assert!(
            found(&answer).contains(&("-".to_owned(), "table-unread".to_owned())),
            "{what}: {:#?}",
            answer.findings
        );
        let of_tables = answer.findings.iter().filter(|finding| finding.code.starts_with("table-"));
        assert_eq!((of_tables.count(), answer.sessions.len(), answer.exit_code), (1, 3, 3), "{what}");
        assert!(answer.sessions.iter().all(|session| session.tables == Some(true)), "{what}");
    }
    // A row of another bundle.
    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    let id = id_of(&run(&place, &scene.options()).unwrap(), "4");
    crate::tables::rewrite(&file(&scene, "bundles", &id), |rows| {
        let other: ArrayRef = Arc::new(StringArray::from(vec!["'; DROP TABLE records"]));
        with_column(&rows, "bundle", other)
    });
    let answer = scene.audit(&place, &scene.options());
    let unread = answer.findings.iter().find(|finding| finding.code == "table-unread").unwrap();
    assert!(unread.detail.contains("the row of another bundle"), "{}", unread.detail);
}

/// Files of records that are in no session's folders, and several damaged files at once.
#[test]
fn several_files_and_wrong_folders() {
    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    let answer = run(&place, &scene.options()).unwrap();
    fs::write(file(&scene, "records", &id_of(&answer, "1")), b"x").unwrap();
    fs::write(file(&scene, "checkpoints", &id_of(&answer, "3")), b"PAR1").unwrap();
    let good = file(&scene, "records", &id_of(&answer, "2"));
    for wrong in ["records/a.parquet", "records/key=a/seat=x/serial=1/lane=0/bundle=b/part-0.parquet"] {
        let path = scene.path("tables").join(wrong);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&good, path).unwrap();
    }
    let answer = scene.audit(&place, &scene.options());
    let expected = set(&[("1", "table-unread"), ("3", "table-unread"), ("-", "table-unread")]);
    assert_eq!(found(&answer), expected, "{:#?}", answer.findings);
    assert_eq!((answer.findings.len(), answer.exit_code), (4, 3));
}

/// An unreadable file is looked at again in each audit; the results about the rest are kept.
#[test]
fn what_was_read_is_kept() {
    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    let mut options = scene.options();
    options.work = WorkFolder::open(&scene.path("work")).unwrap();
    let whole = run(&place, &options).unwrap();
    let path = file(&scene, "records", &id_of(&whole, "2"));
    let content = fs::read(&path).unwrap();
    fs::write(&path, &content[..content.len() / 2]).unwrap();
    assert_eq!(found(&run(&place, &options).unwrap()), set(&[("2", "table-unread")]));
    assert_eq!(found(&run(&place, &options).unwrap()), set(&[("2", "table-unread")]));
    fs::write(&path, &content).unwrap();
    let (options, steps) = counting(options, 100);
    assert_eq!(run(&place, &options).unwrap(), whole);
    assert_eq!(steps.lock().unwrap().iter().filter(|step| **step == AuditStep::Reused).count(), 4);
    // A file that is right for one table is not kept as right for another.
    fs::copy(file(&scene, "tickets", &id_of(&whole, "2")), &path).unwrap();
    assert_eq!(found(&run(&place, &options).unwrap()), set(&[("2", "table-unread")]));
    // A file with rows of these columns under another order of them.
    let rows = crate::tables::rows(&file(&scene, "tickets", &id_of(&whole, "1")));
    let turned = rows.project(&[2, 0, 1]).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), turned.schema(), None).unwrap();
    writer.write(&turned).unwrap();
    writer.close().unwrap();
    assert_eq!(found(&run(&place, &options).unwrap()), set(&[("2", "table-unread")]));
}
