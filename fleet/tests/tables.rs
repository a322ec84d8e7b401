//! Lies in the tables, interrupted audits, and the independence of place and order.

use crate::support::{Scene, block_on, counting, found, run, set};
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use portcullis_fleet::{
    AuditStep, FleetError, FleetTableStore, SqlEngine, page, rows_as_json, rows_as_text, write_options,
};
use portcullis_fleet_core::{AuditAnswer, WorkFolder};
use portcullis_report::PageOrigin;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The Parquet files below a folder, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The file with the records of a session.
fn records(scene: &Scene, serial: u64) -> PathBuf {
    let part = format!("serial={serial}");
    let all = files(&scene.path("tables/records"));
    all.into_iter().find(|path| path.iter().any(|folder| folder == &*part)).unwrap()
}

pub(crate) fn rows(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    datafusion::arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
}

pub(crate) fn rewrite(path: &Path, change: impl FnOnce(RecordBatch) -> RecordBatch) {
    let rows = change(rows(path));
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), Some(write_options())).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

/// Replaces a column.
pub(crate) fn with_column(rows: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let at = rows.schema().index_of(name).unwrap();
    let mut columns = rows.columns().to_vec();
    columns[at] = column;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[test]
fn lies_in_the_tables_are_found() {
    type Lie = (&'static str, fn(&Scene), &'static [(&'static str, &'static str)]);
    let lies: &[Lie] = &[
        (
            "a decoded column",
            |scene| {
                rewrite(&records(scene, 2), |rows| {
                    let ticks = UInt64Array::from_iter_values(0..rows.num_rows() as u64);
                    with_column(&rows, "tick", Arc::new(ticks))
                });
            },
            &[("2", "table-columns")],
        ),
        (
            "the last record",
            |scene| rewrite(&records(scene, 2), |rows| rows.slice(0, rows.num_rows() - 1)),
            &[("2", "table-missing")],
        ),
        (
            "a record twice",
            |scene| {
                rewrite(&records(scene, 2), |rows| {
                    let twice = [rows.clone(), rows.slice(3, 1)];
                    datafusion::arrow::compute::concat_batches(&rows.schema(), &twice).unwrap()
                });
            },
            &[("2", "table-doubled")],
        ),
        (
            "records under another checkpoint",
            |scene| {
                rewrite(&records(scene, 2), |rows| {
                    let checkpoints = UInt64Array::from_iter((0..rows.num_rows()).map(|_| Some(2)));
                    with_column(&rows, "checkpoint", Arc::new(checkpoints))
                });
            },
            &[("2", "table-missing")],
        ),
        (
            "records of another session",
            |scene| assert!(fs::copy(records(scene, 3), records(scene, 2)).is_ok()),
            &[("2", "table-root")],
        ),
        ("no records", |scene| fs::remove_file(records(scene, 2)).unwrap(), &[("2", "table-missing")]),
        (
            "records in another folder",
            |scene| {
                let from = records(scene, 2);
                let to = PathBuf::from(from.to_str().unwrap().replace("serial=2", "serial=9"));
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(from, to).unwrap();
            },
            &[("2", "table-columns")],
        ),
        (
            "a bundle that is not listed",
            |scene| {
                // The bundle's row is gone, as if its ingest had been interrupted.
                let id = records(scene, 4).parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
                let id = id.strip_prefix("bundle=").unwrap();
                fs::remove_file(scene.path(&format!("tables/bundles/{id}.parquet"))).unwrap();
            },
            &[("-", "table-root")],
        ),
    ];
    for (name, lie, expected) in lies {
        let scene = Scene::new();
        let place = scene.ingest(&scene.all_but(&[]));
        lie(&scene);
        let answer = scene.audit(&place, &scene.options());
        assert_eq!(found(&answer), set(expected), "{name}: {:#?}", answer.findings);
        assert_eq!(answer.exit_code, 3, "{name}");
    }
}

/// The order of bundles and the number of threads change nothing.
#[test]
fn order_and_threads_change_nothing() {
    let (scene, other) = (Scene::new(), Scene::new());
    let inputs = scene.all_but(&[3]);
    let one = scene.ingest(&inputs);
    let mut reversed = inputs;
    reversed.reverse();
    let two = other.ingest(&reversed);
    let json = |answer: &AuditAnswer| serde_json::to_string(answer).unwrap();
    let first = run(&one, &scene.options()).unwrap();
    for jobs in [1, 2, 5] {
        let mut options = scene.options();
        options.jobs = jobs;
        assert_eq!(json(&run(&two, &options).unwrap()), json(&first), "{jobs}");
    }
}

#[test]
fn an_interrupted_audit_goes_on() {
    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    let work = WorkFolder::open(&scene.path("work")).unwrap();
    let mut options = scene.options();
    (options.work, options.jobs) = (work, 1);
    let (stopping, _) = counting(options.clone(), 1);
    assert!(matches!(run(&place, &stopping), Err(FleetError::Stopped)));

    let (rest, steps) = counting(options.clone(), 100);
    let answer = run(&place, &rest).unwrap();
    let count = |step| steps.lock().unwrap().iter().filter(|done| **done == step).count();
    assert_eq!((count(AuditStep::Reused), count(AuditStep::Verified), count(AuditStep::Compared)), (2, 2, 4));
    assert_eq!(answer, run(&place, &scene.options()).unwrap());

    // Everything is kept now. Another program, another question or other tables use nothing of it.
    let reused = |options| {
        let (options, steps) = counting(options, 100);
        let answer = run(&place, &options).unwrap();
        (steps.lock().unwrap().iter().filter(|step| **step == AuditStep::Reused).count(), answer)
    };
    assert_eq!(reused(options.clone()).0, 4);
    let mut other = options.clone();
    other.program = "another".to_owned();
    assert_eq!(reused(other).0, 0);
    let mut other = options.clone();
    other.options.at = Some(7);
    assert_eq!(reused(other).0, 0);
    rewrite(&records(&scene, 2), |rows| rows.slice(0, rows.num_rows() - 1));
    assert_eq!(found(&reused(options).1), set(&[("2", "table-missing")]));
}

/// A bundle with a fault that a replay alone finds.
#[test]
fn a_replay_difference() {
    let scene = Scene::new();
    let card = &scene.world.card;
    let honest = portcullis_test_sessions::session(&scene.world, card, 1);
    let mut differs = honest.clone();
    let records = &mut differs.log.lanes[0];
    let verdict = records.iter().position(|record| record.answer.determination == 1).unwrap();
    records[verdict].descriptor.novelty.set(4321);
    records[verdict].descriptor = records[verdict].descriptor.sealed();
    differs.reroot();
    let mut options = scene.options();
    (options.sample, options.seed) = (100, Some("seed".to_owned()));
    // These streams are recorded: nothing was prevented in them.
    options.options.allow_not_enforced = true;

    let place = scene.ingest(&[scene.bundle("honest", &honest.files())]);
    let answer = scene.audit(&place, &options);
    assert_eq!((found(&answer), answer.sessions[0].replay), (set(&[]), Some(4)), "{:#?}", answer.findings);

    let scene = Scene::new();
    let place = scene.ingest(&[scene.bundle("differs", &differs.files())]);
    let answer = scene.audit(&place, &options);
    assert_eq!(found(&answer), set(&[("differs", "replay-differs")]), "{:#?}", answer.findings);
    // Without a replay, nothing shows it.
    options.sample = 0;
    assert_eq!(found(&run(&place, &options).unwrap()), set(&[]));
}

#[test]
fn questions_in_sql() {
    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    let answer = run(&place, &scene.options()).unwrap();
    block_on(async {
        let engine = SqlEngine::new(&FleetTableStore::open(&place).await.unwrap(), 2).await.unwrap();
        engine.add_answer(&answer).unwrap();
        // The root that the aggregate gives is the one that a plain fold gives.
        let rows = engine
            .query("SELECT serial, tree_root(tree(record)) AS root FROM records GROUP BY serial ORDER BY serial")
            .await
            .unwrap();
        let expected: String = (1u64..)
            .zip(&scene.sessions)
            .map(|(serial, session)| {
                let root = session.log.heads.last().unwrap()[0].root;
                format!("{{\"serial\":{serial},\"root\":\"{}\"}}\n", portcullis_core::hex::encode(&root))
            })
            .collect();
        assert_eq!(rows_as_json(&rows).unwrap(), expected);
        for query in [
            "SELECT kind, count(*) FROM records GROUP BY kind ORDER BY kind",
            "SELECT key, seat, serial, digest FROM tickets ORDER BY serial",
            "SELECT bundle, serial, size, root FROM checkpoints ORDER BY bundle, serial",
            "SELECT serial, checkpoint, digest FROM notes ORDER BY serial, checkpoint",
            "SELECT name, status FROM sessions ORDER BY name",
            "SELECT code FROM findings",
        ] {
            let rows = engine.query(query).await.unwrap();
            assert!(rows_as_text(&rows).unwrap().len() > 10, "{query}");
        }
        for query in ["CREATE TABLE x AS SELECT 1", "DROP TABLE records", "COPY records TO 'x.csv'", "SET a = 1"] {
            assert!(engine.query(query).await.is_err(), "{query}");
        }
    });
}

#[test]
fn the_page_shows_contradictions_first() {
    let scene = Scene::new();
    let answer = scene.answer(&scene.all_but(&[3]));
    let page = page(&answer, &PageOrigin::default());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in the page"));
    assert!(at("sessions 3 to 3 are missing") < at("Cards, seats and days"));
    assert!(at("Cards, seats and days") < at("One row per bundle"));
    assert!(page.contains("2026-09-21") && page.contains("roots/root.pem"));
    assert!(!page.contains("http://") && !page.contains("src="), "the page loads nothing");
}

#[test]
fn places_that_hold_no_tables() {
    let folder = tempfile::tempdir().unwrap();
    for place in ["/nowhere/at/all", folder.path().to_str().unwrap()] {
        assert!(matches!(block_on(FleetTableStore::open(place)), Err(FleetError::NoTables(_))), "{place}");
    }
    assert!(matches!(FleetTableStore::create("s3://bucket/tables"), Err(FleetError::Place { .. })));
}
