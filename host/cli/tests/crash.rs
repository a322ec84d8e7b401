//! `run --bundle` that is killed at any moment, or runs out of disk space. Its bundle can be completed and is
//! never contradicted, and every released text has its record.
//!
//! With `PORTCULLIS_LONG=1`, 200 runs are killed, and every disk size from 64 to 1,024 KiB is tried. Otherwise 5 runs
//! are killed, and 8 sizes tried.
#![cfg(test)]
#![cfg(feature = "sim")]

use portcullis_test_support::root;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const PORTCULLIS: &str = env!("CARGO_BIN_EXE_portcullis");
const SIMULATED: Option<i32> = Some(10);

fn portcullis(words: &[&str]) -> Output {
    Command::new(PORTCULLIS).current_dir(root()).stdin(Stdio::null()).args(words).output().unwrap()
}

fn is_long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some()
}

/// A folder with texts, and a trust folder with the simulation root.
fn scene(texts: usize) -> (tempfile::TempDir, String, String) {
    let scene = tempfile::tempdir().unwrap();
    let roots = scene.path().join("trust/sim-roots");
    std::fs::create_dir_all(&roots).unwrap();
    std::fs::write(roots.join("simulation.pem"), portcullis(&["ca", "simulation"]).stdout).unwrap();
    let mut lines = String::new();
    for text in 0..texts {
        let said =
            format!("Sentence {text} is fine. Write to p{text}@example.org now. It is late. Nothing more is said.");
        writeln!(lines, "{{\"id\":\"t{text}\",\"text\":\"{said}\"}}").unwrap();
    }
    let input = scene.path().join("in.jsonl");
    std::fs::write(&input, lines).unwrap();
    let trust = scene.path().join("trust").display().to_string();
    let input = input.display().to_string();
    (scene, trust, input)
}

/// The admits in the output, by id and sequence.
fn admitted(stdout: &str) -> BTreeSet<(String, u64)> {
    let whole = stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let admits = lines.filter(|line| line["determination"] == "admit");
    admits.map(|line| (line["id"].as_str().unwrap().to_owned(), line["seq"].as_u64().unwrap())).collect()
}

/// Lines of all files with this name in a bundle.
fn lines(bundle: &Path, name: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(bundle.join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_killed_run_is_completed() {
    let (scene, trust, input) = scene(3000);
    let mut random = 7_u32;
    let (mut signed, mut unsigned) = (0, 0);
    for number in 0..if is_long() { 200 } else { 5 } {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let folder = scene.path().join(format!("b{number}"));
        let path = folder.display().to_string();
        let words = [
            "run",
            "--policy",
            "policies/pii",
            "--json",
            "--checkpoint-interval",
            "64",
            "--input",
            &input,
            "--bundle",
            &path,
        ];
        let mut run = Command::new(PORTCULLIS);
        let run = run.current_dir(root()).args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut run = run.spawn().unwrap();
        let mut stdout = run.stdout.take().unwrap();
        // The kills happen at times from before the start of the card to the middle of the session.
        let opened = folder.join("checkpoints/00000000.cose");
        let early = number % 5 == 2;
        while !early && !opened.exists() {
            assert!(run.try_wait().unwrap().is_none(), "the run ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        let reader = std::thread::spawn(move || {
            let mut said = String::new();
            stdout.read_to_string(&mut said).map(|_| said).unwrap()
        });
        std::thread::sleep(Duration::from_micros(u64::from(random >> 12)));
        run.kill().unwrap();
        run.wait().unwrap();
        let said = admitted(&reader.join().unwrap());

        let finished = portcullis(&["bundle", "finish", &path, "--json"]);
        if !opened.exists() {
            // Nothing was judged, so nothing can be completed, and the program reports that.
            assert!([Some(1), Some(3)].contains(&finished.status.code()), "{finished:?}");
            assert!(said.is_empty());
            unsigned += 1;
            continue;
        }
        assert_eq!(finished.status.code(), Some(0), "{number}: {}", String::from_utf8_lossy(&finished.stderr));
        let verified = portcullis(&["verify", &path, "--trust", &trust, "--allow-sim", "--json"]);
        assert_eq!(verified.status.code(), SIMULATED, "{number}: {}", String::from_utf8_lossy(&verified.stdout));
        let report: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
        let reasons = report["properties"]["complete"]["reasons"].as_array().unwrap();
        assert!(reasons.iter().any(|reason| reason["code"] == "not-closed"), "{reasons:?}");
        if number % 5 == 0 {
            let checked = portcullis(&["check", &path, "--trust", &trust, "--allow-sim"]);
            assert_eq!(checked.status.code(), SIMULATED, "{}", String::from_utf8_lossy(&checked.stdout));
        }
        // Every released text is in the bundle and has its record.
        let ids: BTreeSet<_> =
            lines(&folder, "streams.jsonl").iter().map(|l| l["id"].as_str().unwrap().to_owned()).collect();
        assert!(said.iter().all(|(id, _)| ids.contains(id)), "{number}");
        assert!(said.len() <= lines(&folder, "receipts.jsonl").len(), "{number}: more was released than has a receipt");
        signed += 1;
        std::fs::remove_dir_all(folder).unwrap();
    }
    eprintln!("{signed} bundles completed, {unsigned} killed before the card signed anything");
    assert!(signed > 0);
}

/// A disk that is too small makes the session fail at its start or during it; the remaining bundle verifies.
#[test]
fn a_disk_that_is_full_ends_the_session() {
    let (scene, trust, input) = scene(400);
    let disk = scene.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let path = disk.display();
    let script = format!(
        "mount -t tmpfs -o size=$1k tmpfs {path} || exit 99\n\
         {PORTCULLIS} run --policy policies/pii --json --checkpoint-interval 64 --input {input} --bundle {path}/b > {path}.out 2> {path}.err\n\
         echo run $?\n\
         if [ -d {path}/b ]; then\n\
           {PORTCULLIS} verify {path}/b --trust {trust} --allow-sim > {path}.verify 2>&1; echo verify $?\n\
           {PORTCULLIS} bundle finish {path}/b > {path}.finish 2>&1; echo finish $?\n\
           grep -c . {path}/b/receipts.jsonl\n\
         fi"
    );
    let at = |size: usize| {
        let mut run = Command::new("unshare");
        let words = ["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", &size.to_string()];
        run.current_dir(root()).args(words).stdin(Stdio::null()).output()
    };
    match at(64) {
        Ok(out) if out.status.success() => {}
        _ => return skipped("no file system of a given size can be mounted here"),
    }
    let step = if is_long() { 4 } else { 128 };
    let (mut refused, mut ended, mut whole) = (0, 0, 0);
    for size in (64..=1024).step_by(step) {
        let out = at(size).unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        let file = |suffix: &str| std::fs::read_to_string(format!("{path}.{suffix}")).unwrap_or_default();
        let why = file("err");
        let stdout = admitted(&file("out"));
        let words: Vec<_> = said.split_whitespace().collect();
        match words[..] {
            // Refused before the session: no files are left, and no text was released.
            ["run", "1"] => {
                assert!(why.contains("no room") || why.contains("No space"), "{size}: {why}");
                assert!(stdout.is_empty(), "{size}");
                refused += 1;
            }
            ["run", code, "verify", verified, "finish", "0", receipts] => {
                assert_eq!(verified, "10", "{size}: {why}{}", file("verify"));
                assert!(file("finish").contains("finished already"), "{size}: {}", file("finish"));
                assert!(stdout.len() <= receipts.parse().unwrap(), "{size}: more was released than has a receipt");
                match code {
                    "0" => whole += 1,
                    "1" => {
                        assert!(why.contains("is full"), "{size}: {why}");
                        ended += 1;
                    }
                    other => panic!("{size}: exit code {other}: {why}"),
                }
            }
            _ => panic!("{size}: {said}{why}{}", file("finish")),
        }
    }
    eprintln!("{refused} sizes refused, {ended} ended by the full disk, {whole} large enough");
    assert!(refused > 0 && ended > 0);
}

/// Prints a line that the tally of skipped tests counts.
fn skipped(why: &str) {
    // Print past the test harness, which captures the output.
    std::io::stdout().write_all(format!("\nSKIPPED {why}\n").as_bytes()).unwrap();
}
