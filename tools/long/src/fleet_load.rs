//! A fleet under load, and the audit of what it leaves: first as it is, then with planted contradictions.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::cargo_test;
use portcullis_tools::fleet::program;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{self, cargo, say};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bundles, tables and results of the run.
const FOLDER: &str = "target/fleet-load";

/// Changes the first session of one seat. `other` is the first session of the next seat.
type Plant = fn(session: &Path, other: &Path) -> Result<()>;

/// For each seat, what is planted, the change, and the code of a finding about it.
const PLANTED: [(&str, Plant, &str); 8] = [
    ("a changed record", |session, _| change(&lane(session), |bytes| flip_middle(bytes)), "checkpoint-root"),
    ("the lane of another session", |session, other| copy(&lane(other), &lane(session)), "checkpoint-records"),
    ("a removed checkpoint", |session, _| remove_last(&session.join("checkpoints")), "witness-serial"),
    ("the ticket of another session", |s, other| copy(&other.join("ticket.cose"), &s.join("ticket.cose")), "fork"),
    ("a changed text", |session, _| change(&session.join("spans.jsonl"), retell), "span-commitment"),
    (
        "other tables",
        |session, _| change(&session.join("policy/image.bin"), |bytes| flip_middle(bytes)),
        "checkpoint-policy",
    ),
    ("a removed bundle", |session, _| Ok(fs::remove_dir_all(session)?), "serial-missing"),
    ("records cut off", |session, _| change(&lane(session), cut), "records-missing"),
];

/// Size of a record in bytes.
const RECORD: usize = 192;

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    let folder = tool::root()?.join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    say("a fleet under load");
    let mut load = cargo();
    load.args(["test", "--locked", "--workspace", "--test", "fleet_load", "--", "--ignored", "--nocapture"]);
    load.env("PORTCULLIS_FLEET_FOLDER", &folder);
    cargo_test::with_programs(tally, &mut load)?;
    cargo_test::counted(tally, load)?;
    let bundles = folder.join("bundles");
    if !bundles.exists() {
        tally.skip("the audit of a fleet under load", "the fleet did not run");
        return Ok(());
    }
    say("its audit");
    let audit = audit(&folder, &bundles)?;
    tally.check("the audit of the fleet contradicts nothing", nothing(&audit));
    let planted = folder.join("planted");
    copy_folder(&bundles, &planted)?;
    for (seat, (_, plant, _)) in PLANTED.iter().enumerate() {
        let session = |seat: usize| planted.join(format!("seat-{}/session-000001", seat % PLANTED.len()));
        plant(&session(seat), &session(seat + 1)).with_context(|| format!("seat {seat}"))?;
    }
    let audit = self::audit(&folder, &planted)?;
    for (seat, (what, _, code)) in PLANTED.iter().enumerate() {
        tally.check(&format!("{what} is found: {code}"), found(&audit, seat, code));
    }
    Ok(())
}

/// The answer of `fleet audit` about all bundles below a folder. The exit code says the same as the answer.
fn audit(folder: &Path, bundles: &Path) -> Result<Value> {
    let mut sessions: Vec<PathBuf> = Vec::new();
    for seat in fs::read_dir(bundles)? {
        for session in fs::read_dir(seat?.path())? {
            sessions.extend(Some(session?.path()).filter(|path| path.is_dir()));
        }
    }
    sessions.sort();
    let tables = bundles.with_extension("tables");
    let mut ingest = program()?;
    tool::run(ingest.arg("ingest").args(&sessions).arg("--to").arg(&tables))?;
    let mut audit = program()?;
    audit.arg("audit").arg(&tables).arg("--trust").arg(folder.join("trust")).args(["--allow-sim", "--json", "--work"]);
    let output = audit.arg(bundles.with_extension("work")).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("the audit gives no answer")?;
    ensure!(
        answer.pointer("/exit_code").and_then(Value::as_i64) == output.status.code().map(i64::from),
        "{}",
        output.status
    );
    Ok(answer)
}

/// The findings that contradict: seat and code.
fn contradictions(audit: &Value) -> Result<BTreeSet<(u64, String)>> {
    let findings = audit["findings"].as_array().context("the answer has findings")?;
    let wrong = findings.iter().filter(|finding| finding["status"] == "contradicted");
    wrong
        .map(|finding| {
            let seat = finding["seat"].as_u64().context("a finding about no seat")?;
            Ok((seat, finding["code"].as_str().context("a finding has a code")?.to_owned()))
        })
        .collect()
}

fn nothing(audit: &Value) -> Result<()> {
    let wrong = contradictions(audit)?;
    ensure!(wrong.is_empty(), "{wrong:?}");
    let sessions = audit.pointer("/totals/sessions").and_then(Value::as_u64);
    ensure!(sessions >= Some(PLANTED.len() as u64), "{sessions:?} sessions");
    Ok(())
}

/// Whether the plant of a seat is found. A session with the ticket of another one belongs to that one's seat.
fn found(audit: &Value, seat: usize, code: &str) -> Result<()> {
    let seat = if code == "fork" { (seat + 1) % PLANTED.len() } else { seat };
    let wrong = contradictions(audit)?;
    if !wrong.contains(&(seat as u64, code.to_owned())) {
        bail!("seat {seat} has {:?}", wrong.iter().filter(|(at, _)| *at == seat as u64).collect::<Vec<_>>());
    }
    Ok(())
}

fn lane(session: &Path) -> PathBuf {
    session.join("records/lane-0.bin")
}

fn change(path: &Path, edit: fn(&mut Vec<u8>)) -> Result<()> {
    let mut bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let before = bytes.clone();
    edit(&mut bytes);
    ensure!(bytes != before, "{} is not changed", path.display());
    Ok(fs::write(path, bytes)?)
}

fn flip_middle(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
}

fn cut(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len().saturating_sub(10 * RECORD));
}

/// Changes a word of the first disclosed text.
fn retell(bytes: &mut Vec<u8>) {
    *bytes = String::from_utf8_lossy(bytes).replacen("is", "was", 1).into_bytes();
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

fn remove_last(folder: &Path) -> Result<()> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<BTreeSet<_>>>()?;
    Ok(fs::remove_file(files.last().context("the folder is empty")?)?)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    tool::run(Command::new("cp").arg("-r").arg(from).arg(to))
}
