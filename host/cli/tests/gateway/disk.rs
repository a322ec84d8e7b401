//! A disk that fills up while the gateway is serving.
#![cfg(feature = "sim")]

use crate::process::{Process, root};
use crate::support::{Answer, Upstream, ask, chat, post, said, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answer to a question; `None` if the address no longer accepts connections.
fn asked(address: &str, stream: bool) -> Option<Answer> {
    post(address, "/v1/chat/completions", &ask("Go on.", stream), "")
}

/// Every byte that was sent is in the records, every answer states its end, the gateway ends with the reason, and the
/// bundle on the disk verifies.
#[test]
fn a_disk_that_fills_up_ends_every_answer_with_a_stated_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Each sentence is different.
    let count = AtomicUsize::new(0);
    let upstream = Upstream::new(Arc::new(move |_, _: &Value| {
        let sentences = (0..20).map(|_| text(&format!("Bird number {} sings. ", count.fetch_add(1, Ordering::SeqCst))));
        chat(sentences.collect::<Vec<_>>(), "stop")
    }));
    for name in ["disk", "trust/sim-roots"] {
        std::fs::create_dir_all(path(name)).unwrap();
    }
    // The file system exists only in its mount namespace, so its files are checked and copied inside it.
    const PORTCULLIS: &str = env!("CARGO_BIN_EXE_portcullis");
    let script = format!(
        "mount -t tmpfs -o size=900k tmpfs {disk} || exit 99\n\
         {PORTCULLIS} ca simulation > {trust}/sim-roots/simulation.pem\n\
         {PORTCULLIS} serve --policy policies/pii --listen 127.0.0.1:0 --bundles {disk}/b \
           --upstream http://{upstream}/v1 2> {err}; code=$?\n\
         cp -r {disk}/b {copy}\n\
         exit $code",
        disk = path("disk"),
        trust = path("trust"),
        upstream = upstream.address,
        err = path("err"),
        copy = path("copy"),
    );
    let mut serve = Command::new("unshare");
    serve.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).current_dir(root());
    let Some((gateway, line)) = Process::try_start(&mut serve) else {
        let why = "\nSKIPPED no file system of a given size can be mounted here\n";
        return std::io::stdout().write_all(why.as_bytes()).unwrap();
    };
    let address = line.trim_start_matches("listening on http://").trim_end_matches("/v1").to_owned();
    let answers = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (address, answers) = (&address, &answers);
            scope.spawn(move || {
                for turn in 0..500 {
                    let Some(answer) = asked(address, (worker + turn) % 2 == 0) else { return };
                    answers.lock().unwrap().push(answer);
                }
                panic!("the disk is not full after 500 answers");
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    assert_eq!(gateway.code(), Some(1));
    let why = std::fs::read_to_string(path("err")).unwrap();
    assert!(why.contains("is full"), "{why}");
    let session = path("copy/session-000001");
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(format!("{session}/{name}")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let released: BTreeSet<u64> = lines("receipts.jsonl").iter().map(|line| line["index"].as_u64().unwrap()).collect();
    let spans = lines("spans.jsonl").into_iter().filter(|line| released.contains(&line["index"].as_u64().unwrap()));
    let recorded: BTreeSet<String> = spans.map(|line| line["text"].as_str().unwrap().trim().to_owned()).collect();
    let (mut whole, mut failed) = (0, 0);
    for answer in &answers {
        if answer.status == 200 && answer.body.contains("\"stop\"") {
            whole += 1;
        } else {
            failed += 1;
            let reason = ["gate_failed", "unavailable"].iter().any(|code| answer.body.contains(code));
            assert!([200, 500, 503].contains(&answer.status) && reason, "{} {}", answer.status, answer.body);
        }
        let left = if answer.status == 200 { said(answer, "content") } else { String::new() };
        for sentence in left.split_inclusive('.').map(str::trim).filter(|sentence| !sentence.is_empty()) {
            assert!(recorded.contains(sentence), "`{sentence}` left without a record");
        }
    }
    assert!(whole > 0 && failed > 0, "{whole} whole answers, {failed} that ended early");
    let trust = path("trust");
    let verified = Command::new(PORTCULLIS).args(["verify", &session, "--trust", &trust, "--allow-sim"]).output();
    let verified = verified.unwrap();
    assert_eq!(verified.status.code(), Some(10), "{}", String::from_utf8_lossy(&verified.stdout));
}
