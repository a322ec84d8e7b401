//! Tables in a bucket of an S3-compatible service.

use crate::support::Scene;
use crate::support::bucket::{Bucket, SECRET, environment};
use std::net::SocketAddr;
use std::process::{Command, Output};

const TABLES: &str = "s3://evidence/tables";

fn fleet(scene: &Scene, service: SocketAddr, secret: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
    environment(&mut command, service, secret);
    command.current_dir(scene.folder.path()).args(args).output().unwrap()
}

#[track_caller]
fn expect(scene: &Scene, service: SocketAddr, args: &[&str], code: i32) -> String {
    let output = fleet(scene, service, SECRET, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A scene with the bundles 1, 2 and 4, in tables of a bucket and in a folder.
fn scene() -> (Scene, Bucket, SocketAddr) {
    let (scene, bucket) = (Scene::new(), Bucket::default());
    scene.all_but(&[]);
    let service = bucket.serve();
    for to in [TABLES, "tables"] {
        expect(&scene, service, &["ingest", "1", "2", "4", "--to", to], 0);
    }
    (scene, bucket, service)
}

fn audit<'a>(tables: &'a str, work: &'a str) -> [&'a str; 7] {
    ["audit", tables, "--trust", "trust", "--work", work, "--json"]
}

const QUESTION: &str = "SELECT serial, lane, tree_root(tree(record)) AS root FROM records GROUP BY serial, lane, bundle
    ORDER BY root";

#[test]
fn an_audit_of_tables_in_a_bucket_is_that_of_a_folder() {
    let (scene, _, service) = scene();
    let here = expect(&scene, service, &audit("tables", "here"), 3);
    assert_eq!(expect(&scene, service, &audit(TABLES, "bucket"), 3), here);
    assert!(here.contains("serial-missing"), "{here}");
    let question = |tables| expect(&scene, service, &["sql", tables, QUESTION, "--json"], 0);
    assert_eq!(question(TABLES), question("tables"));
    // What is there already is not written again, and the missing bundle can be added.
    expect(&scene, service, &["ingest", "1", "3", "--to", TABLES], 0);
    let whole = expect(&scene, service, &audit(TABLES, "bucket"), 0);
    assert!(whole.contains("\"status\": \"affirmed\"") || whole.contains("\"status\":\"affirmed\""), "{whole}");
}

#[test]
fn a_bundle_in_a_bucket_is_replaced() {
    let (scene, bucket, service) = scene();
    let other = Scene::with(|serial, session| {
        if serial == 2 {
            session.witness_time += 50
        }
    });
    scene.bundle("2", &other.session(2));
    let count = bucket.names().len();
    expect(&scene, service, &["ingest", "2", "--to", TABLES], 0);
    assert!(expect(&scene, service, &audit(TABLES, "work"), 3).contains("bundle-changed"));
    expect(&scene, service, &["ingest", "2", "--to", TABLES, "--replace"], 0);
    assert_eq!(bucket.names().len(), count);
    assert!(!expect(&scene, service, &audit(TABLES, "work"), 3).contains("bundle-changed"));
}

#[test]
fn a_changed_table_in_a_bucket_is_found() {
    let (scene, bucket, service) = scene();
    expect(&scene, service, &audit(TABLES, "work"), 3);
    let names = bucket.names();
    let records = names.iter().find(|name| name.starts_with("tables/records/")).unwrap();
    bucket.change(records, |content| {
        let path = scene.file("changed.parquet", content);
        crate::tables::rewrite(&path, |rows| rows.slice(0, rows.num_rows() - 1));
        std::fs::read(path).unwrap()
    });
    let answer = expect(&scene, service, &audit(TABLES, "work"), 3);
    assert!(answer.contains("table-"), "{answer}");
}

#[test]
fn a_wrong_secret_or_bucket_is_an_error() {
    let (scene, bucket, service) = scene();
    let before = bucket.names();
    for (tables, secret) in [(TABLES, "another secret"), ("s3://another/tables", SECRET)] {
        let args = ["ingest", "3", "--to", tables];
        let output = fleet(&scene, service, secret, &args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("error: ") && !said.contains(secret), "{said}");
        assert_eq!(bucket.names(), before);
    }
    for args in [&audit(TABLES, "work")[..], &["sql", TABLES, QUESTION]] {
        let output = fleet(&scene, service, "another secret", args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("error: ") && !said.contains("another secret"), "{said}");
    }
}

#[test]
fn places_that_no_store_has_are_errors() {
    let (scene, _, service) = scene();
    for place in [
        "https://s3.eu-central-1.amazonaws.com/evidence/tables",
        "memory:///tables",
        "gs://evidence/tables",
        "s3://evidence/tables?x=1",
        "s3://user@evidence/tables",
        "s3://:secret@evidence/tables",
    ] {
        let output = fleet(&scene, service, SECRET, &["ingest", "3", "--to", place]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{place}: {said}");
        assert!(said.contains("write a folder, file:///PATH or s3://BUCKET/PATH"), "{place}: {said}");
    }
    // Without credentials, the network is not asked for some.
    let output = Command::new(env!("CARGO_BIN_EXE_fleet"))
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .args(["audit", TABLES, "--trust", "trust"])
        .current_dir(scene.folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no credentials: set one of AWS_ACCESS_KEY_ID"), "{said}");
}

/// The processes of a cluster open the bucket themselves.
#[cfg(feature = "cluster")]
#[test]
fn a_cluster_reads_a_bucket() {
    use crate::support::cluster::{Process, executor_command};
    let (scene, _, service) = scene();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_fleet"));
    let mut command = Command::new(program);
    command.args(["scheduler", "--bind", "127.0.0.1:0"]);
    environment(&mut command, service, SECRET);
    let mut scheduler = Process::start(&mut command);
    let ready = scheduler.line("scheduler ready at ");
    let url = ready.rsplit(' ').next().unwrap();
    let mut command = executor_command(program, url, scene.folder.path());
    environment(&mut command, service, SECRET);
    let mut executor = Process::start(&mut command);
    executor.line("executor ready at ");
    let here = expect(&scene, service, &audit("tables", "here"), 3);
    let there = expect(&scene, service, &[&audit(TABLES, "there")[..], &["--cluster", url]].concat(), 3);
    assert_eq!(there, here);
    let asked = ["sql", TABLES, QUESTION, "--json"];
    let there = expect(&scene, service, &[&asked[..], &["--cluster", url]].concat(), 0);
    assert_eq!(there, expect(&scene, service, &asked, 0));
}
