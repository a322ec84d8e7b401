//! The commands on documentation pages work: the code blocks of each page run in a folder with the files of a checkout,
//! and print the quoted output. `cargo xtask lint` lists the blocks that do not run.
#![cfg(test)]
#![cfg(feature = "sim")]

use portcullis_tools::pages::{Block, Use, blocks, missing};
use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Pages that another test runs, together with further programs.
const ELSEWHERE: [(&str, &str); 1] = [("docs/tutorials/your-model-server.md", "gateway")];
/// Beginnings of the paths of `.md` files that are not pages: test data, and READMEs that the program writes into
/// folders that it makes.
const NOT_PAGES: [&str; 4] = ["tests/golden/0", "tests/cases/", "host/evidence/src/", "host/policy/src/"];
/// The parts of a checkout that pages use.
const CHECKOUT: [&str; 7] = ["policies", "examples", "tests", "host", "rtl", "bitstreams", ".venv"];
/// Port numbers on pages; each page gets free ports instead.
const PORTS: [&str; 7] = ["18080", "8080", "8081", "8082", "8089", "8620", "8630"];
/// Longest run of a page, in seconds.
const SECONDS: &str = "300";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// Every page of the repository, with its code blocks.
fn pages() -> Vec<(String, Vec<Block>)> {
    let out = Command::new("git").args(["ls-files", "*.md"]).current_dir(root()).output().unwrap();
    let listed = String::from_utf8(out.stdout).unwrap();
    let is_page = |path: &&str| !NOT_PAGES.iter().any(|folder| path.starts_with(folder)) && root().join(path).exists();
    let found: Vec<_> = listed
        .lines()
        .filter(is_page)
        .map(|path| (path.to_owned(), blocks(&std::fs::read_to_string(root().join(path)).unwrap())))
        .collect();
    assert!(found.iter().any(|(path, _)| path == "README.md"), "{listed}");
    found
}

fn programs() -> &'static Path {
    let folder = Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap();
    let verifier = folder.join("portcullis-verify");
    assert!(verifier.exists(), "{} is not built: `cargo build --workspace --bins`", verifier.display());
    folder
}

/// Runs the commands of a page; returns its number of commands, or the error.
fn run(page: &str, blocks: &[Block]) -> Result<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    let printed = tempfile::tempdir().unwrap();
    for name in CHECKOUT.iter().filter(|name| root().join(name).exists()) {
        symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    std::fs::create_dir(folder.path().join("target")).unwrap();
    symlink(programs(), folder.path().join("target/debug")).unwrap();
    let mut script = String::new();
    let mut ran = 0;
    for block in blocks.iter().filter(|block| block.usage().unwrap() == Use::Run) {
        let output = printed.path().join(block.line.to_string());
        writeln!(script, "exec > {} 2>&1\n{}", output.display(), block.text).unwrap();
        ran += 1;
    }
    // Open all listeners at once, so that the ports differ.
    let listeners: Vec<TcpListener> = PORTS.iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    for (port, listener) in PORTS.iter().zip(&listeners) {
        script = script.replace(port, &listener.local_addr().unwrap().port().to_string());
    }
    drop(listeners);
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap());
    // `timeout` puts its processes into one group, so it also ends processes that the page leaves running.
    let mut shell = Command::new("timeout")
        .args(["--kill-after=5", SECONDS, "sh", "-eu", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = shell.wait().unwrap();
    let group = format!("kill -s KILL -- -{}", shell.id());
    Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status().unwrap();
    let said = |block: &Block| std::fs::read(printed.path().join(block.line.to_string())).unwrap_or_default();
    let mut last: Option<&Block> = None;
    let mut fault = None;
    for block in blocks {
        match block.usage().unwrap() {
            Use::Run => last = Some(block),
            Use::NoRun(_) => last = None,
            Use::Output => {
                let Some(commands) = last else { continue };
                let said = String::from_utf8_lossy(&said(commands)).into_owned();
                if let Some(line) = missing(&block.text, &said) {
                    fault.get_or_insert(format!("{page}:{}: `{line}` is not in this place of\n{said}", block.line));
                }
            }
            Use::Other => {}
        }
    }
    // The README of a policy ends with a text that is partly refused, so exit code 3 is expected.
    let is_refusal = page.starts_with("policies/") && status.code() == Some(3);
    if !status.success() && !is_refusal {
        // The last block that started is the block that failed.
        let begun = blocks.iter().rev().find(|block| printed.path().join(block.line.to_string()).exists());
        let at = begun.map_or(0, |block| block.line);
        let said = begun.map(said).unwrap_or_default();
        return Err(format!("{page}:{at}: {status}\n{}", String::from_utf8_lossy(&said)));
    }
    fault.map_or(Ok(ran), Err)
}

#[test]
fn the_commands_of_every_page_run() {
    let pages = pages();
    let waiting: Mutex<Vec<_>> = Mutex::new(
        pages.iter().filter(|(page, _)| !ELSEWHERE.iter().any(|(elsewhere, _)| page == elsewhere)).collect(),
    );
    let only = std::env::var("PORTCULLIS_PAGE").unwrap_or_default();
    let (ran, faults) = (Mutex::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((page, blocks)) = waiting.lock().unwrap().pop() else { return };
                    if !page.contains(&only) {
                        continue;
                    }
                    match run(page, blocks) {
                        Ok(count) => *ran.lock().unwrap() += count,
                        Err(fault) => faults.lock().unwrap().push(fault),
                    }
                }
            });
        }
    });
    let (ran, faults) = (ran.into_inner().unwrap(), faults.into_inner().unwrap());
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(!only.is_empty() || ran >= 30, "only {ran} blocks run");
}

/// A block that does not run must at least have valid shell syntax.
#[test]
fn every_block_that_does_not_run_can_be_parsed() {
    for (page, blocks) in pages() {
        for block in blocks.iter().filter(|block| matches!(block.usage().unwrap(), Use::NoRun(_))) {
            let out = Command::new("sh").args(["-n", "-c", &block.text]).output().unwrap();
            assert!(out.status.success(), "{page}:{}: {}", block.line, String::from_utf8_lossy(&out.stderr));
        }
    }
}

/// The page of errors explains every code that the programs print.
#[test]
fn every_code_is_explained() {
    use portcullis_core::reason::{LineageReason, ValidationReason, generic};
    use portcullis_evidence::verify::{Code, PeriodCode, ReplayCode, SeriesCode};
    let page = std::fs::read_to_string(root().join("docs/reference/errors.md")).unwrap();
    let ids = (portcullis_policy::error::Kind::ALL.iter().map(|kind| kind.code()))
        .chain(ValidationReason::ALL.iter().map(|reason| reason.id()))
        .chain(LineageReason::ALL.iter().map(|reason| reason.id()))
        .chain([generic::DEFAULT_DENY, generic::DEPTH_LIMIT, generic::INVALID_UTF8, generic::FAULT])
        .chain(Code::ALL.iter().map(|code| code.id()))
        .chain(SeriesCode::ALL.iter().map(|code| code.id()))
        .chain(PeriodCode::ALL.iter().map(|code| code.id()))
        .chain(ReplayCode::ALL.iter().map(|code| code.id()));
    let lost: Vec<&str> = ids.filter(|id| !page.contains(&format!("`{id}`"))).collect();
    assert!(lost.is_empty(), "docs/reference/errors.md does not explain {lost:?}");
}
