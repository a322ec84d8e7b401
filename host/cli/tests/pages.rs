//! The commands on documentation pages work: the code blocks of each page run in a folder with the files of a checkout,
//! print the quoted output and the quoted exit codes, and leave no process behind. `cargo xtask lint` lists the blocks
//! that do not run.
#![cfg(test)]
#![cfg(feature = "sim")]

use portcullis_tools::pages::{FencedBlock, FencedBlockUse, blocks, exit_codes, missing};
use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Pages that another test runs, together with further programs.
const ELSEWHERE: [(&str, &str); 1] = [("docs/tutorials/your-model-server.md", "gateway")];
/// Pages that quote the output of a block that does not run here, and where the quotation is compared.
const QUOTED_ELSEWHERE: [(&str, &str); 1] = [("README.md", "`cargo xtask ci`, with the output of the demo")];
/// Beginnings of the paths of `.md` files that are not pages: test data, and READMEs that the program writes into
/// folders that it makes.
const NOT_PAGES: [&str; 4] = ["tests/golden/0", "tests/cases/", "host/evidence/src/", "host/policy/src/"];
/// The parts of a checkout that pages use.
const CHECKOUT: [&str; 7] = ["policies", "examples", "tests", "host", "rtl", "bitstreams", ".venv"];
/// Port numbers on pages; each page gets free ports instead.
const PORTS: [&str; 7] = ["18080", "8080", "8081", "8082", "8089", "8620", "8630"];
/// Longest run of a page, in seconds.
const SECONDS: &str = "300";
/// Longest time until a process that a page ended is gone.
const ENDING: Duration = Duration::from_secs(10);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// Every page of the repository, with its code blocks.
fn pages() -> Vec<(String, Vec<FencedBlock>)> {
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
fn run(page: &str, blocks: &[FencedBlock]) -> Result<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    let printed = tempfile::tempdir().unwrap();
    for name in CHECKOUT.iter().filter(|name| root().join(name).exists()) {
        symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    std::fs::create_dir(folder.path().join("target")).unwrap();
    symlink(programs(), folder.path().join("target/debug")).unwrap();
    let mut script = String::new();
    let mut ran = 0;
    for block in blocks.iter().filter(|block| block.usage().unwrap() == FencedBlockUse::Run) {
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
    // `timeout` puts its processes into one group, so it also ends processes that the page leaves running. With
    // `pipefail`, a command fails the page wherever it stands in a pipeline.
    let shell = ["--kill-after=5", SECONDS, "bash", "--posix", "-eu", "-o", "pipefail", "-c", &script];
    let mut shell = Command::new("timeout")
        .args(shell)
        .current_dir(folder.path())
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = shell.wait().unwrap();
    let left = left_running(shell.id());
    let said = |block: &FencedBlock| {
        let said = std::fs::read(printed.path().join(block.line.to_string())).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    };
    if !status.success() {
        // The last block that started is the block that failed.
        let begun = blocks.iter().rev().find(|block| printed.path().join(block.line.to_string()).exists());
        let at = begun.map_or(0, |block| block.line);
        return Err(format!("{page}:{at}: {status}\n{}", begun.map(said).unwrap_or_default()));
    }
    if let Some(fault) = misquoted(page, blocks, &said) {
        return Err(fault);
    }
    left.map_or(Ok(ran), |left| Err(format!("{page}: it ends, and these processes still run:\n{left}")))
}

/// The processes of a group that are still there after [`ENDING`]; ends them.
fn left_running(group: u32) -> Option<String> {
    let began = Instant::now();
    loop {
        let living = members(group);
        if living.is_empty() {
            return None;
        }
        if began.elapsed() > ENDING {
            let kill = format!("kill -s KILL -- -{group}");
            Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status().unwrap();
            return Some(living.join("\n"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The command lines of a group's processes that have not ended.
fn members(group: u32) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let member = |folder: PathBuf| {
        // `PID (NAME) STATE PARENT GROUP …`; a name may contain brackets.
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let (state, of) = (*fields.first()?, fields.get(2)?.parse::<u32>().ok()?);
        let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        (of == group && state != "Z").then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    };
    processes.filter_map(member).collect()
}

/// The first place at which a page quotes something else than its commands printed: a quoted line that is not there, or
/// an exit code that the page does not quote. `said` is what a block of commands printed.
fn misquoted(page: &str, blocks: &[FencedBlock], said: &dyn Fn(&FencedBlock) -> String) -> Option<String> {
    let mut next = blocks.iter().peekable();
    let mut last: Option<&FencedBlock> = None;
    while let Some(block) = next.next() {
        match block.usage().unwrap() {
            FencedBlockUse::Run => {
                let quoted = next.peek().filter(|next| next.usage().unwrap() == FencedBlockUse::Output);
                let (said, quoted) = (said(block), quoted.map_or("", |block| block.text.as_str()));
                if exit_codes(&said) != exit_codes(quoted) {
                    let why = "a `text output` behind these commands must quote each exit code of";
                    return Some(format!("{page}:{}: {why}\n{said}", block.line));
                }
                last = Some(block);
            }
            FencedBlockUse::NoRun(_) => last = None,
            FencedBlockUse::Output => match last {
                Some(commands) => {
                    let said = said(commands);
                    if let Some(line) = missing(&block.text, &said) {
                        return Some(format!("{page}:{}: `{line}` is not in this place of\n{said}", block.line));
                    }
                }
                None if QUOTED_ELSEWHERE.iter().any(|(elsewhere, _)| page == *elsewhere) => {}
                None => return Some(format!("{page}:{}: quotes the output of commands that do not run", block.line)),
            },
            FencedBlockUse::Other => {}
        }
    }
    None
}

/// The runner itself: each way in which a page can say something false is found.
#[test]
fn a_page_that_says_something_false_is_found() {
    let page = |commands: &str, output: &str| {
        let output = if output.is_empty() { String::new() } else { format!("```text output\n{output}\n```\n") };
        run("page.md", &blocks(&format!("```sh\n{commands}\n```\n{output}"))).err().unwrap_or_default()
    };
    let code = "sh -c 'exit 3' || echo \"exit code $?\"";
    for (commands, output, fault) in [
        ("echo a", "a", ""),
        ("echo a", "b", "`b` is not in this place"),
        (code, "exit code 3", ""),
        (code, "", "must quote each exit code"),
        (code, "exit code 10", "must quote each exit code"),
        ("false", "", "exit status: 1"),
        ("false | cat", "", "exit status: 1"),
        ("sleep 60 & kill $!", "", ""),
        ("sleep 60 &", "", "sleep 60"),
    ] {
        let found = page(commands, output);
        assert!(if fault.is_empty() { found.is_empty() } else { found.contains(fault) }, "`{commands}`: {found}");
    }
    let unrun = blocks("```sh norun: no\necho a\n```\n```text output\na\n```\n");
    assert!(run("page.md", &unrun).unwrap_err().contains("commands that do not run"));
    run("README.md", &unrun).unwrap();
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
        for block in blocks.iter().filter(|block| matches!(block.usage().unwrap(), FencedBlockUse::NoRun(_))) {
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
    let ids = (portcullis_policy::error::PolicyProblemKind::ALL.iter().map(|kind| kind.code()))
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
