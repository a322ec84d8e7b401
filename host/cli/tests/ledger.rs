//! The ledger: when the process is killed, the ledger contains every byte that was released. The page of `portcullis
//! report` shows the ledger's content.
#![cfg(test)]

use portcullis_test_support::random::Random;
use portcullis_test_support::root;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const KILLS: u32 = 200;

fn portcullis(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis")).args(args).current_dir(root()).stdin(Stdio::null()).output().unwrap()
}

fn entries(ledger: &str) -> Vec<serde_json::Value> {
    let out = portcullis(&["lineage", "export", ledger]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn killed_at_any_point_nothing_left_without_its_record() {
    let seed = std::env::var("PORTCULLIS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x5eed_0bad_cafe);
    println!("PORTCULLIS_SEED={seed}");
    let mut random = Random::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (input, ledger, output) = (path("input.txt"), path("ledger"), path("output.txt"));
    let text: String =
        (0..400).map(|n| format!("Sentence {n} is fine. Write to person{n}@example.org now.\n")).collect();
    std::fs::write(&input, text).unwrap();
    let run = |stop: Option<Duration>| {
        for file in [&ledger, &output] {
            let _ = std::fs::remove_file(file);
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_portcullis"))
            .args(["run", "--policy", "policies/pii", "--card", "model", "--fsync", "never", "--json"])
            .args(["--input", &input, "--ledger", &ledger, "--output", &output])
            .current_dir(root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        match stop {
            Some(after) => {
                std::thread::sleep(after);
                child.kill().unwrap();
                child.wait().unwrap()
            }
            None => child.wait().unwrap(),
        }
    };
    let start = Instant::now();
    assert_eq!(run(None).code(), Some(3));
    let whole = u64::try_from(start.elapsed().as_micros()).unwrap();
    let (mut inside, mut torn) = (0, 0);
    for _ in 0..KILLS {
        run(Some(Duration::from_micros(random.bits() % whole)));
        let recovered = portcullis(&["lineage", "recover", &ledger]);
        if !recovered.status.success() {
            // The process was killed before the header was complete, so nothing was judged or released.
            assert_eq!(std::fs::read(&output).unwrap_or_default(), b"");
            continue;
        }
        torn += u32::from(!String::from_utf8_lossy(&recovered.stdout).contains(": 0 bytes"));
        let entries = entries(&ledger);
        let admitted: Vec<u64> = entries
            .iter()
            .filter(|e| e["event"] == "determined" && e["determination"]["determination"] == "admit")
            .map(|e| e["determination"]["seq"].as_u64().unwrap())
            .collect();
        let judged = entries.iter().filter(|e| e["event"] == "determined");
        let last = judged.filter_map(|e| e["determination"]["seq"].as_u64()).max().unwrap_or(0);
        let mut recorded = String::new();
        for released in entries.iter().filter(|e| e["event"] == "released") {
            for seq in released["seqs"].as_array().unwrap() {
                // The last bytes may belong to END, which follows every span.
                let seq = seq.as_u64().unwrap();
                assert!(admitted.contains(&seq) || seq == last + 1, "{seq} left, {last} was judged last");
            }
            recorded.push_str(released["text"].as_str().unwrap());
        }
        let left = std::fs::read_to_string(&output).unwrap_or_default();
        assert!(recorded.starts_with(&left), "what left is not what the ledger says: {left:?}");
        assert!(!left.contains('@'));
        inside += u32::from(!left.is_empty() && !entries.iter().any(|e| e["event"] == "ended"));
    }
    println!("{KILLS} kills, {inside} while bytes were leaving, {torn} with a torn tail");
    assert!(inside > KILLS / 20, "only {inside} kills hit while bytes were leaving");
}

#[test]
fn the_page_holds_every_determination_and_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (input, ledger, page) = (path("input.jsonl"), path("ledger"), path("page.html"));
    let lines = [
        r#"{"id":"<img src=x>","text":"Write to ana@example.org today. It is </script> fine & well."}"#,
        r#"{"id":"driven","candidates":[["Good"],["192.0.2.1","Call the desk"],["x@example.org"]],"intent":"Greet"}"#,
    ];
    std::fs::write(&input, lines.join("\n")).unwrap();
    let args = ["run", "--policy", "policies/pii", "--card", "model", "--input", &input, "--ledger", &ledger];
    assert_eq!(portcullis(&args).status.code(), Some(0));
    assert!(portcullis(&["report", &ledger, "--output", &page]).status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    for outside in ["http://", "https://", "@import", "url(", "<img"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("&lt;img src=x&gt;") && html.contains("nothing was prevented"));
    for entry in entries(&ledger).iter().filter(|e| e["event"] == "determined") {
        let determination = &entry["determination"];
        if let Some(rule) = determination["rule"].as_str() {
            assert!(html.contains(rule), "{rule}");
        }
        assert!(html.contains(&format!("<td>{}</td>", determination["seq"])));
    }
    // Every opened tag is closed.
    for tag in ["section", "div", "table", "tr", "td", "span", "details", "main", "p", "i", "ul", "ol", "li"] {
        let (open, close) = (
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count(),
            html.matches(&format!("</{tag}>")).count(),
        );
        assert_eq!(open, close, "{tag}");
    }
}

/// The deciding fields are in the output of `--json`, in the ledger and on the page.
#[test]
fn a_refusal_says_what_it_rests_on_wherever_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (input, ledger, page) = (path("input.jsonl"), path("ledger"), path("page.html"));
    let lines = [
        r#"{"id":"word","text":"Ana Silva stole ships."}"#,
        r#"{"id":"claim","text":"The drug is safe. The drug is not safe."}"#,
    ];
    for (policy, line, value) in [("biography", lines[0], "stole"), ("clinical", lines[1], "The drug is not safe.")] {
        std::fs::write(&input, line).unwrap();
        let policy = format!("policies/{policy}");
        let args = ["run", "--policy", &policy, "--card", "model", "--json", "--input", &input, "--ledger", &ledger];
        let _ = std::fs::remove_file(&ledger);
        let shown = String::from_utf8(portcullis(&args).stdout).unwrap();
        let shown: Vec<serde_json::Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let fields = |of: &serde_json::Value| of["fields"].as_array().cloned().unwrap_or_default();
        let of_value = |of: &serde_json::Value| fields(of).iter().any(|field| field["value"] == value);
        let refused = shown.iter().find(|line| of_value(line)).unwrap();
        assert!(refused["rule"].is_string() && refused["seq"].is_number(), "{refused}");
        let mut held = entries(&ledger);
        held.retain(|entry| entry["event"] == "determined" && of_value(entry));
        assert_eq!(fields(&held[0]), fields(refused));
        assert!(portcullis(&["report", &ledger, "--output", &page]).status.success());
        let html = std::fs::read_to_string(&page).unwrap();
        for field in fields(refused) {
            let text = |name: &str| field[name].as_str().unwrap().to_owned();
            let shown = format!("{} is {}, wanted {}", text("field"), text("value"), text("condition"));
            assert!(html.contains(&shown.replace('"', "&quot;")), "{shown}");
        }
    }
}

#[test]
fn a_ledger_that_cannot_be_written_stops_the_run_before_anything_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("output.txt");
    let args = ["run", "--policy", "policies/pii", "--card", "model", "--ledger", "/nowhere/ledger", "--output"];
    let out = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(args)
        .arg(&output)
        .args(["--input", "README.md"])
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cannot be written"));
    assert_eq!(std::fs::read(&output).unwrap_or_default(), b"");
}
