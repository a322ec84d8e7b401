//! Tables in an S3-compatible store: s3s with its folder backend, which checks signatures (AWS Signature Version 4).

use crate::support::Scene;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::thread;

const KEY: &str = "fleet";
const SECRET: &str = "a secret of the test";
const TABLES: &str = "s3://evidence/tables";

/// A service with the bucket `evidence`. It ends with the test's process.
fn service(folder: &Path) -> SocketAddr {
    std::fs::create_dir_all(folder.join("evidence")).unwrap();
    let mut builder = S3ServiceBuilder::new(FileSystem::new(folder).unwrap());
    builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
    let service = builder.build();
    let (address, bound) = channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            address.send(listener.local_addr().unwrap()).unwrap();
            let server = Builder::new(TokioExecutor::new());
            while let Ok((socket, _)) = listener.accept().await {
                let connection = server.serve_connection(TokioIo::new(socket), service.clone()).into_owned();
                tokio::spawn(async { drop(connection.await) });
            }
        });
    });
    bound.recv().unwrap()
}

/// A command with the address and the credentials of the service.
fn with_service(command: &mut Command, service: SocketAddr, secret: &str) {
    command
        .env("AWS_ENDPOINT_URL", format!("http://{service}"))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", secret);
}

fn fleet(scene: &Scene, service: SocketAddr, secret: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
    with_service(&mut command, service, secret);
    command.current_dir(scene.folder.path()).args(args).output().unwrap()
}

#[track_caller]
fn expect(scene: &Scene, service: SocketAddr, args: &[&str], code: i32) -> String {
    let output = fleet(scene, service, SECRET, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A scene with the bundles 1, 2 and 4, in tables of the service and in a folder.
fn scene() -> (Scene, SocketAddr) {
    let scene = Scene::new();
    scene.all_but(&[]);
    let service = service(&scene.path("store"));
    for to in [TABLES, "tables"] {
        expect(&scene, service, &["ingest", "1", "2", "4", "--to", to], 0);
    }
    (scene, service)
}

fn audit<'a>(tables: &'a str, work: &'a str) -> [&'a str; 7] {
    ["audit", tables, "--trust", "trust", "--work", work, "--json"]
}

const QUESTION: &str = "SELECT serial, lane, tree_root(tree(record)) AS root FROM records GROUP BY serial, lane, bundle
    ORDER BY root";

#[test]
fn an_audit_of_tables_in_a_bucket_is_that_of_a_folder() {
    let (scene, service) = scene();
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
fn a_changed_table_in_a_bucket_is_found() {
    let (scene, service) = scene();
    expect(&scene, service, &audit(TABLES, "work"), 3);
    let folder = scene.path("store/evidence/tables/records");
    let files = crate::tables::files(&folder);
    assert!(files.len() >= 3, "{files:?}");
    crate::tables::rewrite(&files[0], |rows| rows.slice(0, rows.num_rows() - 1));
    let answer = expect(&scene, service, &audit(TABLES, "work"), 3);
    assert!(answer.contains("table-"), "{answer}");
}

#[test]
fn a_wrong_secret_is_an_error() {
    let (scene, service) = scene();
    for args in [&audit(TABLES, "work")[..], &["ingest", "3", "--to", TABLES], &["sql", TABLES, QUESTION]] {
        let output = fleet(&scene, service, "another secret", args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("error: ") && !said.contains("another secret"), "{said}");
    }
}

/// The processes of a cluster open the store themselves.
#[cfg(feature = "cluster")]
#[test]
fn a_cluster_reads_a_bucket() {
    use crate::support::cluster::{Process, executor_command};
    let (scene, service) = scene();
    let program = Path::new(env!("CARGO_BIN_EXE_fleet"));
    let mut command = Command::new(program);
    command.args(["scheduler", "--bind", "127.0.0.1:0"]);
    with_service(&mut command, service, SECRET);
    let mut scheduler = Process::start(&mut command);
    let ready = scheduler.line("scheduler ready at ");
    let url = ready.rsplit(' ').next().unwrap();
    let mut command = executor_command(program, url, scene.folder.path());
    with_service(&mut command, service, SECRET);
    let mut executor = Process::start(&mut command);
    executor.line("executor ready at ");
    let here = expect(&scene, service, &audit("tables", "here"), 3);
    let there = expect(&scene, service, &[&audit(TABLES, "there")[..], &["--cluster", url]].concat(), 3);
    assert_eq!(there, here);
    let asked = ["sql", TABLES, QUESTION, "--json"];
    let there = expect(&scene, service, &[&asked[..], &["--cluster", url]].concat(), 0);
    assert_eq!(there, expect(&scene, service, &asked, 0));
}
