//! Checks the machine before anything is installed or built: required programs with their Debian packages, and free
//! disk space.

use crate::tool::{VENV, capture, cargo, target_dir};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Disk space of the Python tools in mebibytes, including downloads.
const TOOLS_MIB: u64 = 600;
/// Disk space of a first build in mebibytes, with the sources of the crates in cargo's folder.
const BUILD_MIB: u64 = 4_000;
/// Oldest Rust that builds the workspace.
const RUST: &str = env!("CARGO_PKG_RUST_VERSION");
/// Oldest Python for the pinned tools.
const PYTHON: &str = "3.11";

/// The start of the names of those requirements that are needed only to create a Python environment.
const MODULE: &str = "Python's module";

/// Runs a program and returns its output; `None` if it does not run.
type Probe<'a> = &'a dyn Fn(&str, &[&str]) -> Option<String>;

/// Where to get Rust: Debian 12 has no package `rustup`, and a Rust that is too old.
const RUSTUP: &str = "https://rustup.rs";

/// A requirement: a command that prints the version, the oldest version that works, and where to get it: an address, or
/// the name of a Debian package.
struct Need {
    what: &'static str,
    command: &'static [&'static str],
    version: Option<&'static str>,
    remedy: &'static str,
}

const NEEDS: [Need; 9] = [
    Need { what: "rustc", command: &["rustc", "--version"], version: Some(RUST), remedy: RUSTUP },
    Need { what: "cargo", command: &["cargo", "--version"], version: Some(RUST), remedy: RUSTUP },
    Need { what: "a C++ compiler (c++)", command: &["c++", "--version"], version: None, remedy: "g++" },
    Need { what: "make", command: &["make", "--version"], version: None, remedy: "make" },
    Need { what: "perl", command: &["perl", "-e", "print $^V"], version: None, remedy: "perl" },
    Need { what: "git", command: &["git", "--version"], version: None, remedy: "git" },
    Need { what: "python3", command: &["python3", "--version"], version: Some(PYTHON), remedy: "python3" },
    Need {
        what: "Python's module venv",
        command: &["python3", "-c", "import venv"],
        version: None,
        remedy: "python3-venv",
    },
    Need {
        what: "Python's module ensurepip",
        command: &["python3", "-c", "import ensurepip"],
        version: None,
        remedy: "python3-venv",
    },
];

/// Checks all requirements, and reports all that are missing at once. If the Python environment works, the modules for
/// creating one are not required.
pub(crate) fn check(environment_works: bool) -> Result<()> {
    let mut problems = missing(&probe);
    if environment_works {
        problems.retain(|line| !line.starts_with(MODULE));
    }
    problems.extend(space(needed_mib(), free_mib()));
    if problems.is_empty() {
        return Ok(());
    }
    bail!("this machine lacks what Portcullis needs:\n  {}", problems.join("\n  "));
}

fn probe(program: &str, args: &[&str]) -> Option<String> {
    // The cargo that runs this task need not be on PATH.
    let mut command = if program == "cargo" { cargo() } else { Command::new(program) };
    capture(command.args(args)).ok()
}

/// Programs that only some tasks need, with these tasks and the Debian package. If such a program is missing, the tasks
/// count as skipped.
const OPTIONAL: [(&str, &[&str], &str, &str); 4] = [
    ("apt-get", &["apt-get", "--version"], "the virtual machine and the browser of the tests", "apt"),
    ("dpkg-deb", &["dpkg-deb", "--version"], "the same, and the Debian package", "dpkg"),
    ("script", &["script", "--version"], "the tests of output on a terminal", "bsdutils"),
    ("systemd-analyze", &["systemd-analyze", "--version"], "the test of the service's unit", "systemd"),
];

/// Prints which programs exist, which are missing and how to get them, and what set-up and a first build require.
/// Errors: a requirement of set-up is missing.
pub fn doctor() -> Result<()> {
    let mut lacks = false;
    for need in &NEEDS {
        match met(need, &probe) {
            Ok(version) => {
                println!("ok       {}{}", need.what, if version.is_empty() { version } else { format!(" {version}") })
            }
            Err(line) => {
                lacks = true;
                println!("MISSING  {line}");
            }
        }
    }
    for (what, command, tasks, package) in OPTIONAL {
        let found = command.split_first().and_then(|(program, args)| probe(program, args));
        match found {
            Some(_) => println!("ok       {what}"),
            None => println!("missing  {what}: needed for {tasks}, which are skipped. Debian: apt install {package}"),
        }
    }
    let free = free_mib();
    let known = free.map_or_else(|| "unknown".to_owned(), |free| format!("{free} MiB"));
    let line = format!(
        "disk: {known} free here; the tools take {TOOLS_MIB} MiB (.venv), a first build {BUILD_MIB} MiB (target)"
    );
    match space(needed_mib(), free) {
        None => println!("ok       {line}; {} MiB of it are still to be written", needed_mib()),
        Some(problem) => {
            lacks = true;
            println!("MISSING  {problem}\n         {line}");
        }
    }
    if lacks {
        bail!("install what is missing, then run `cargo xtask setup`");
    }
    println!("this machine has what `cargo xtask setup` needs");
    Ok(())
}

/// The installed version, if the requirement has a version. Error: a line with the Debian package that has the program.
fn met(need: &Need, probe: Probe<'_>) -> Result<String, String> {
    let remedy = match need.remedy {
        RUSTUP => format!("Install it with the command on {RUSTUP}, or run `rustup update`"),
        package => format!("Debian: apt install {package}"),
    };
    let output = need.command.split_first().and_then(|(program, args)| probe(program, args));
    let Some(output) = output else {
        return Err(format!("{}: not found. {remedy}", need.what));
    };
    let found = output.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    match (need.version, found) {
        (Some(oldest), Some(found)) if version(found) < version(oldest) => {
            Err(format!("{}: {found} is older than {oldest}. {remedy}", need.what))
        }
        (_, found) => Ok(found.unwrap_or_default().to_owned()),
    }
}

/// One line for each requirement that is not met, with the Debian package that meets it.
fn missing(probe: Probe<'_>) -> Vec<String> {
    let mut lines: Vec<String> = NEEDS.iter().filter_map(|need| met(need, probe).err()).collect();
    // If Python itself is missing, its modules are not listed.
    if lines.iter().any(|line| line.starts_with("python3: not found")) {
        lines.retain(|line| !line.starts_with(MODULE));
    }
    lines
}

fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// Mebibytes that set-up and a first build still have to write.
fn needed_mib() -> u64 {
    let tools = if Path::new(VENV).join("portcullis-tools").exists() { 0 } else { TOOLS_MIB };
    let build = if target_dir().join("debug/portcullis").exists() { 0 } else { BUILD_MIB };
    tools + build
}

/// Free mebibytes on the checkout's file system, from `df`.
fn free_mib() -> Option<u64> {
    let output = capture(Command::new("df").args(["-Pm", "."])).ok()?;
    output.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

fn space(needed: u64, free: Option<u64>) -> Option<String> {
    let free = free.filter(|free| *free < needed)?;
    Some(format!("disk: {free} MiB are free in this folder, and {needed} MiB are needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report's lines for a machine without the programs whose command lines start with an entry of `without`.
    fn lines(without: &[&str], rustc: &str) -> Vec<String> {
        missing(&|program, args| {
            let line = [&[program], args].concat().join(" ");
            if without.iter().any(|gone| line.starts_with(gone)) {
                return None;
            }
            Some(if program == "rustc" { format!("rustc {rustc} (abc 2026-01-01)") } else { "99.9.9".into() })
        })
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once_with_its_package() {
        assert_eq!(lines(&[], RUST), [""; 0]);
        let all = lines(&["c++", "make", "perl", "git", "python3 -c import ensurepip"], "1.60.0");
        let expected = ["g++", "make", "perl", "git", "python3-venv"];
        assert_eq!(all.len(), 1 + expected.len(), "{all:?}");
        for (line, package) in all.iter().skip(1).zip(expected) {
            assert!(line.contains(&format!("apt install {package}")), "{line}");
        }
        assert!(all[0].contains(&format!("1.60.0 is older than {RUST}")) && all[0].contains(RUSTUP), "{}", all[0]);
        // Debian 12 has no package with this name.
        assert!(!all[0].contains("apt install"), "{}", all[0]);
        let python = lines(&["python3"], RUST);
        assert_eq!(python, ["python3: not found. Debian: apt install python3"]);
    }

    #[test]
    fn a_disk_that_is_too_small_is_told_before_anything_is_written() {
        assert_eq!(space(3_900, Some(100_000)), None);
        assert_eq!(space(0, Some(0)), None);
        assert!(space(3_900, Some(3_899)).is_some_and(|line| line.contains("3899 MiB are free")));
        // If the free space is unknown, the check passes.
        assert_eq!(space(3_900, None), None);
        assert!(free_mib().is_some_and(|free| free > 0));
    }

    #[test]
    fn this_machine_passes() {
        assert_eq!(missing(&probe), [""; 0]);
    }
}
