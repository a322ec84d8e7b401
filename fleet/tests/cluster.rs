//! The audit on a cluster: a scheduler and executors as processes over loopback.

use crate::support::cluster::{
    PATIENCE, Process, executor, executor_command, on_shared, other_program, program, scheduler,
};
use crate::support::{Scene, counting, found, run, set, single, verifier_codes};
use crate::tables::{files, rewrite, with_column};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use datafusion::arrow::array::{ArrayRef, StringArray};
use portcullis_core::wire::Determination;
use portcullis_fleet::{AuditOptions, AuditStep, FleetError, IngestInput};
use portcullis_fleet_core::{AuditAnswer, WorkFolder};
use portcullis_test_support::world::{Parts, sha};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Instant;
use zerocopy::IntoBytes;

/// A scheduler and two executors.
struct Cluster {
    url: String,
    scheduler: Process,
    executors: Vec<Process>,
    folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (scheduler, url) = scheduler(program());
        let executors = (0..2).map(|_| executor(program(), &url, folder.path())).collect();
        Self { url, scheduler, executors, folder }
    }
}

fn fleet(scene: &Scene, args: &[&str]) -> Output {
    Command::new(program()).current_dir(scene.folder.path()).args(args).output().unwrap()
}

/// Runs a command that must end with this code within the patience. Returns stdout and stderr.
#[track_caller]
fn expect(scene: &Scene, args: &[&str], code: i32) -> (String, String) {
    let begin = Instant::now();
    let output = fleet(scene, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    assert!(begin.elapsed() < PATIENCE, "{args:?} took {:?}", begin.elapsed());
    (out, err)
}

/// Arguments of an audit in a folder of results of its own.
fn audit<'a>(work: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["audit", "tables", "--trust", "trust", "--json", "--work", work], more].concat()
}

/// A fork, a missing serial, a changed record, a broken bundle and a statement that no one trusted signed.
fn contradicted() -> (Scene, Vec<IngestInput>) {
    let scene = Scene::new();
    let mut changed = scene.sessions[1].clone();
    changed.log.lanes[0][3].answer.determination ^= 1;
    let mut twin = scene.sessions[2].clone();
    twin.open();
    twin.begin(0, "a");
    twin.gate(0, 1, "", "Another text.", Determination::Admit);
    twin.end(0, 2, "");
    twin.log.close();
    let mut inputs = scene.all_but(&[1, 2]);
    inputs.push(scene.bundle("2", &changed.files()));
    inputs.push(scene.bundle("twin", &twin.files()));
    let broken = scene.bundle("broken", &portcullis_evidence::bundle::MemoryFiles::default());
    std::fs::create_dir_all(scene.path("broken")).unwrap();
    std::fs::write(scene.path("broken/x.txt"), "x").unwrap();
    inputs.extend([broken, IngestInput::Ticket(scene.file("foreign.cose", b"no ticket"))]);
    (scene, inputs)
}

#[test]
fn the_answer_of_a_cluster_is_that_of_one_process_and_of_the_single_verifier() {
    let (scene, inputs) = contradicted();
    scene.ingest(&inputs);
    let cluster = Cluster::start();
    let (here, _) = expect(&scene, &audit("here", &[]), 3);
    let (there, err) = expect(&scene, &audit("there", &["--cluster", &cluster.url, "--jobs", "4"]), 3);
    assert_eq!(there, here);
    assert!(err.contains("verified: 5 of 5 bundles") && err.contains("tables compared: 4 of 5 bundles"), "{err}");
    let answer: AuditAnswer = serde_json::from_str(&there).unwrap();
    let codes = found(&answer);
    for expected in [
        ("2", "table-root"),
        ("3", "fork"),
        ("broken", "no-bundle"),
        ("-", "serial-missing"),
        ("foreign.cose", "ticket-untrusted"),
    ] {
        assert!(codes.is_superset(&set(&[expected])), "{expected:?} is not in {codes:?}");
    }
    for session in answer.sessions.iter().filter(|session| session.name != "broken") {
        assert_eq!(session.status, single(&scene, &scene.path(&session.name)).status, "{}", session.name);
        let own = answer.findings.iter().filter(|finding| finding.property.is_some());
        let own = own.filter(|finding| finding.bundle.as_deref() == Some(&session.name));
        let own: BTreeSet<_> = own.map(|finding| (session.name.clone(), finding.code.to_string())).collect();
        assert_eq!(own, verifier_codes(&scene, &session.name), "{}", session.name);
    }
    // The last answer is there for `sql` and `report`, and questions give the same rows.
    for query in [
        "SELECT serial, lane, tree_root(tree(record)) AS root FROM records GROUP BY serial, lane, bundle ORDER BY root",
        "SELECT kind, count(*) AS n FROM records GROUP BY kind ORDER BY kind",
        "SELECT t.serial, count(c.digest) AS n FROM tickets t JOIN checkpoints c ON c.bundle = t.bundle
            GROUP BY t.serial ORDER BY t.serial",
        "SELECT name, status, records, lag(name) OVER (ORDER BY name) AS before FROM sessions ORDER BY name",
        "SELECT code, count(*) AS n FROM findings GROUP BY code HAVING count(*) > 0 ORDER BY code",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name",
    ] {
        let asked = ["sql", "tables", query, "--json", "--work", "there"];
        let (here, _) = expect(&scene, &asked, 0);
        assert!(here.lines().count() > 1, "{query}: {here}");
        let (there, _) = expect(&scene, &[&asked[..], &["--cluster", &cluster.url]].concat(), 0);
        assert_eq!(there, here, "{query}");
    }
    for query in ["DROP TABLE records", "COPY records TO 'x.csv'", "SELECT nothing"] {
        expect(&scene, &["sql", "tables", query, "--cluster", &cluster.url], 1);
    }
}

/// Gives a session about this many records, so that its verification takes a while.
fn fill(session: &mut Parts, records: u32) {
    (session.ticket.heartbeat_records, session.ticket.heartbeat_ticks) = (0, 0);
    session.open();
    let context = sha(session.contexts.values().next().unwrap());
    for count in 0..records / 50 {
        let slot = (count % 64) as u16;
        session.log.begin(slot, context);
        for sequence in 1..=24 {
            session.log.gate(slot, sequence, sha(&(count * 50 + sequence).to_le_bytes()), Determination::Admit);
            session.log.describe(slot, 20, false);
        }
        session.log.end(slot, 25, sha(b"end"));
    }
    session.log.close();
}

/// Sessions that are long enough to be interrupted, as bundles in tables.
fn long() -> Scene {
    let mut scene = Scene::new();
    let (mut sessions, mut previous): (Vec<Parts>, _) = (Vec::new(), [0; 32]);
    for serial in 1..=24 {
        let mut session = scene.world.session(&scene.world.card, serial, previous);
        session.witness_log = sessions.last().map(Parts::witness_leaves).unwrap_or_default();
        // Close to each other, so that the tickets are valid.
        session.witness_time = portcullis_test_support::world::START + (serial - 1) * 1000;
        fill(&mut session, 40_000);
        previous = sha(session.log.checkpoints.last().unwrap().as_bytes());
        sessions.push(session);
    }
    scene.sessions = sessions;
    scene.ingest(&scene.all_but(&[]));
    scene
}

#[test]
fn an_executor_that_is_killed_in_the_middle_changes_nothing() {
    let scene = long();
    let (here, _) = expect(&scene, &audit("here", &[]), 5);
    let mut cluster = Cluster::start();
    let mut client = Process::start(
        Command::new(program())
            .current_dir(scene.folder.path())
            .args(audit("there", &["--cluster", &cluster.url, "--jobs", "4"]))
            .stdout(Stdio::piped()),
    );
    // Both executors are busy: 23 of 24 bundles are not verified yet, and four jobs run at one time.
    client.line("verified: 1 of 24 bundles");
    assert!(client.runs());
    cluster.executors[0].kill();
    assert!(!cluster.executors[0].end().0.success());
    let there = client.stdout();
    let (status, err) = client.end();
    assert_eq!(status.code(), Some(5), "{err}");
    assert_eq!(there, here);
    assert!(err.contains("verified: 24 of 24 bundles"), "{err}");
    // The scheduler missed the executor, so it was not idle or forgotten.
    cluster.scheduler.line("executor");
    assert!(cluster.scheduler.runs() && cluster.executors[1].runs());
}

#[test]
fn an_interrupted_audit_on_a_cluster_goes_on() {
    let scene = long();
    let options = AuditOptions { work: WorkFolder::open(&scene.path("work")).unwrap(), ..scene.options() };
    let tables = scene.path("tables").display().to_string();
    let (stopping, _) = counting(on_shared(&options), 3);
    assert!(matches!(run(&tables, &stopping), Err(FleetError::Stopped)));
    // The rest runs in this process, and gives the answer of one run.
    let (rest, steps) = counting(options.clone(), 100);
    let answer = run(&tables, &rest).unwrap();
    let count = |step| steps.lock().unwrap().iter().filter(|done| **done == step).count();
    assert!(count(AuditStep::Reused) >= 4, "{:?}", steps.lock().unwrap());
    assert_eq!(count(AuditStep::Reused) + count(AuditStep::Verified), 24);
    assert_eq!(answer, run(&tables, &scene.options()).unwrap());
    // And on a cluster all of it is used again; a bundle that changed in the meantime is found.
    let (again, steps) = counting(on_shared(&options), 100);
    assert_eq!(run(&tables, &again).unwrap(), answer);
    assert_eq!(steps.lock().unwrap().iter().filter(|done| **done == AuditStep::Reused).count(), 24);
    std::fs::write(scene.path("3/README.md"), "another text\n").unwrap();
    let changed = run(&tables, &on_shared(&options)).unwrap();
    assert!(found(&changed).is_superset(&set(&[("3", "bundle-changed")])), "{:#?}", changed.findings);
}

#[test]
fn a_cluster_sees_bundles_that_are_ingested_while_it_runs() {
    let scene = Scene::new();
    let inputs = scene.all_but(&[]);
    let tables = scene.ingest(&inputs[..3]);
    assert_eq!(scene.audit(&tables, &scene.options()).totals.sessions, 3);
    scene.ingest(&inputs);
    assert_eq!(scene.audit(&tables, &scene.options()).totals.sessions, 4);
    // The same file, with other content.
    let records = files(&scene.path("tables/records"));
    rewrite(&records[0], |rows| rows.slice(0, rows.num_rows() - 1));
    assert_eq!(scene.audit(&tables, &scene.options()).exit_code, 3);
}

#[test]
fn an_executor_that_does_not_see_the_bundles_is_an_error_and_not_a_finding() {
    let scene = Scene::new();
    scene.ingest(&scene.all_but(&[]));
    // Each process has another folder there; the folder of the command is the one with the bundles.
    for path in files(&scene.path("tables/bundles")) {
        rewrite(&path, |rows| {
            let name = rows.column_by_name("name").unwrap();
            let name = datafusion::common::cast::as_string_array(name).unwrap().value(0);
            let uri: ArrayRef = Arc::new(StringArray::from(vec![format!("file:///proc/self/cwd/{name}")]));
            with_column(&rows, "uri", uri)
        });
    }
    expect(&scene, &audit("here", &[]), 0);
    let (_process, url) = scheduler(program());
    let folder = tempfile::tempdir().unwrap();
    let mut elsewhere = Process::start(executor_command(program(), &url, folder.path()).current_dir(folder.path()));
    elsewhere.line("executor ready at ");
    let (_, err) = expect(&scene, &audit("there", &["--cluster", &url]), 1);
    assert!(err.contains("an executor cannot read `file:///proc/self/cwd/1` as this machine can"), "{err}");
    assert!(err.contains("must see the bundles and the tables under the same paths"), "{err}");
}

/// A port on which nothing listens.
fn closed() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}")
}

#[test]
fn a_scheduler_that_is_not_there_is_an_error_with_a_remedy() {
    let scene = Scene::new();
    scene.ingest(&scene.all_but(&[]));
    let closed = closed();
    for args in [
        audit("work", &["--cluster", &closed]),
        vec!["sql", "tables", "SELECT 1", "--cluster", &closed],
        vec!["executor", "--scheduler", &closed, "--wait", "1"],
    ] {
        let (_, err) = expect(&scene, &args, 1);
        assert!(err.contains(&format!("the scheduler at {closed} cannot be reached")), "{err}");
        assert!(err.contains("start it with `fleet scheduler"), "{err}");
    }
    // One that takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (_, err) = expect(&scene, &audit("work", &["--cluster", &url]), 1);
    assert!(err.contains("it did not answer within 5 s"), "{err}");
    // Something else that answers.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let mut question = [0; 16];
        std::io::Read::read_exact(&mut stream, &mut question).unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\nserver: other\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    });
    let (_, err) = expect(&scene, &audit("work", &["--cluster", &url]), 1);
    assert!(err.contains("is not a scheduler of a cluster"), "{err}");
    answering.join().unwrap();
    // A scheduler without any executor.
    let (_process, url) = scheduler(program());
    let (_, err) = expect(&scene, &audit("work", &["--cluster", &url, "--cluster-wait", "1"]), 1);
    assert!(err.contains("has had no executor for 1 s: start one with `fleet executor --scheduler"), "{err}");
}

#[test]
fn a_process_of_another_program_version_is_an_error_with_a_remedy() {
    let scene = Scene::new();
    scene.ingest(&scene.all_but(&[]));
    let (folder, remedy) = (tempfile::tempdir().unwrap(), "from the same program file");
    let other = other_program(folder.path());
    let own = "SELECT tree_size(tree(record)) AS n FROM records WHERE serial = 1";
    // The executor is another program.
    let (_first, url) = scheduler(program());
    let mut foreign = executor(&other, &url, folder.path());
    let (_, err) = expect(&scene, &audit("work", &["--cluster", &url]), 1);
    assert!(err.contains(remedy) && err.contains("another build of fleet"), "{err}");
    let (_, err) = expect(&scene, &["sql", "tables", own, "--cluster", &url], 1);
    assert!(err.contains(remedy), "{err}");
    // Its own words name both programs.
    foreign.line("it comes from another build of fleet");
    // The scheduler is another program.
    let (_second, url) = scheduler(&other);
    let _executor = executor(program(), &url, folder.path());
    let (_, err) = expect(&scene, &audit("work", &["--cluster", &url]), 1);
    assert!(err.contains(remedy) && err.contains("it comes from another build of fleet"), "{err}");
}

#[test]
fn an_executor_without_our_functions_is_an_error_with_a_remedy() {
    let scene = Scene::new();
    scene.ingest(&scene.all_but(&[]));
    let (_process, url) = scheduler(program());
    let folder = tempfile::tempdir().unwrap();
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = ExecutorProcessConfig {
        port: free(),
        grpc_port: free(),
        scheduler_host: "127.0.0.1".to_owned(),
        scheduler_port: url.rsplit(':').next().unwrap().parse().unwrap(),
        external_host: Some("127.0.0.1".to_owned()),
        vcores: 1,
        // The scheduler of these tests stops an executor that is silent for six seconds; the default is a minute.
        executor_heartbeat_interval_seconds: 1,
        work_dir: Some(folder.path().display().to_string()),
        ..ExecutorProcessConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stock = runtime.spawn(start_executor_process(Arc::new(config)));
    // It does run queries of the engine's own functions.
    let count = "SELECT count(*) AS n FROM ticket_files WHERE lower(name) <> 'x'";
    let (out, _) = expect(&scene, &["sql", "tables", count, "--json", "--cluster", &url], 0);
    assert_eq!(out, "{\"n\":4}\n");
    let own = "SELECT tree_root(tree(record)) AS root FROM records WHERE serial = 1";
    for args in [vec!["sql", "tables", own, "--cluster", &url], audit("work", &["--cluster", &url])] {
        let (_, err) = expect(&scene, &args, 1);
        assert!(err.contains("or not fleet") && err.contains("from the same program file"), "{err}");
    }
    assert!(!stock.is_finished());
    runtime.shutdown_background();
}

#[test]
fn addresses_outside_loopback_need_the_option() {
    let scene = Scene::new();
    scene.ingest(&scene.all_but(&[]));
    for args in [
        vec!["scheduler", "--bind", "192.0.2.1:0"],
        vec!["executor", "--scheduler", "http://127.0.0.1:1", "--bind", "192.0.2.1:0"],
        vec!["executor", "--scheduler", "http://192.0.2.1:1"],
        audit("work", &["--cluster", "http://192.0.2.1:1"]),
        vec!["sql", "tables", "SELECT 1", "--cluster", "http://192.0.2.1:1"],
    ] {
        let (_, err) = expect(&scene, &args, 1);
        assert!(err.contains("has no authentication") && err.contains("`--allow-network`"), "{args:?}: {err}");
    }
    let (_, err) = expect(&scene, &["scheduler", "--bind", "0.0.0.0:0", "--allow-network"], 1);
    assert!(err.contains("name the address of one interface"), "{err}");
    // With the option, it is tried: this machine does not have the address.
    let (_, err) = expect(&scene, &["scheduler", "--bind", "192.0.2.1:0", "--allow-network"], 1);
    assert!(err.contains("cannot listen on 192.0.2.1:0"), "{err}");
    expect(&scene, &["scheduler", "--executor-timeout", "1"], 2);
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn processes_stop_cleanly_at_a_signal_and_leave_nothing() {
    let mut cluster = Cluster::start();
    assert_eq!(entries(cluster.folder.path()), 2);
    cluster.executors[0].terminate();
    cluster.executors[1].interrupt();
    for executor in &mut cluster.executors {
        let (status, said) = executor.end();
        assert!(status.success() && said.contains("executor stopped"), "{said}");
    }
    assert_eq!(entries(cluster.folder.path()), 0);
    cluster.scheduler.terminate();
    let (status, said) = cluster.scheduler.end();
    assert!(status.success() && said.contains("scheduler stopped"), "{said}");
}

#[test]
fn an_executor_that_loses_its_scheduler_ends_with_an_error() {
    let mut cluster = Cluster::start();
    cluster.scheduler.kill();
    let (status, said) = cluster.executors[0].end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("it lost the scheduler"), "{said}");
}

#[test]
fn a_scheduler_that_ends_in_the_middle_is_an_error_and_the_next_audit_goes_on() {
    let scene = long();
    let cluster = Cluster::start();
    let mut client = Process::start(
        Command::new(program())
            .current_dir(scene.folder.path())
            .args(audit("work", &["--cluster", &cluster.url, "--jobs", "4"]))
            .stdout(Stdio::null()),
    );
    client.line("verified: 1 of 24 bundles");
    cluster.scheduler.kill();
    let (status, err) = client.end();
    assert_eq!(status.code(), Some(1), "{err}");
    assert!(err.contains("cannot be reached") || err.contains("the cluster at"), "{err}");
    // Another cluster goes on with the results that were kept.
    let kept = entries(&scene.path("work"));
    assert!(kept >= 1, "{err}");
    let (here, _) = expect(&scene, &audit("here", &[]), 5);
    let second = Cluster::start();
    let (there, _) = expect(&scene, &audit("work", &["--cluster", &second.url, "--jobs", "4"]), 5);
    assert_eq!(there, here);
}
