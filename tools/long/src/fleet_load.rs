//! A fleet under load, and the audit of what it leaves: first as it is, then with planted contradictions.

use anyhow::{Context, Result, ensure};
use portcullis_tools::cargo_test;
use portcullis_tools::fleet::program;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, cargo, say};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bundles, tables and results of the run.
const FOLDER: &str = "target/fleet-load";

/// A contradiction that is planted into a session.
struct Plant {
    what: &'static str,
    seat: usize,
    /// Number of the session of this seat.
    session: usize,
    /// Changes the session. `other` is the first session of the next seat.
    change: fn(session: &Path, other: &Path) -> Result<()>,
    /// Code of the finding about it.
    code: &'static str,
}

const fn plant(
    what: &'static str,
    (seat, session): (usize, usize),
    change: fn(&Path, &Path) -> Result<()>,
    code: &'static str,
) -> Plant {
    Plant { what, seat, session, change, code }
}

const SEATS: usize = 8;

/// What is planted: into the first session of each seat, and into the second one of the first seats.
const PLANTED: [Plant; 12] = [
    plant(
        "a changed record",
        (0, 1),
        |session, _| change(&lane(session), |bytes| flip_first(bytes)),
        "checkpoint-root",
    ),
    plant("the lane of another session", (1, 1), |s, other| copy(&lane(other), &lane(s)), "checkpoint-records"),
    plant("a removed checkpoint", (2, 1), |session, _| remove_last(&session.join("checkpoints")), "witness-serial"),
    plant(FOREIGN, (3, 1), |s, other| copy(&other.join("ticket.cose"), &s.join("ticket.cose")), "doubled"),
    plant("a changed text", (4, 1), |session, _| change(&session.join("spans.jsonl"), retell), "span-commitment"),
    plant(
        "other tables",
        (5, 1),
        |session, _| change(&session.join("policy/image.bin"), |bytes| flip_middle(bytes)),
        "checkpoint-policy",
    ),
    plant("a removed bundle", (6, 1), |session, _| Ok(fs::remove_dir_all(session)?), "serial-missing"),
    plant("records cut off", (7, 1), |session, _| change(&lane(session), cut), "records-missing"),
    plant("a note about another checkpoint", (0, 2), |s, _| copy_first(&s.join("witness")), "witness-serial"),
    plant(
        "a changed certificate",
        (1, 2),
        |s, _| change(&s.join("device/cert.pem"), |b| flip_middle(b)),
        "certificate",
    ),
    plant(
        "a checkpoint that no card signed",
        (2, 2),
        |s, _| change(&last(&s.join("checkpoints"))?, |bytes| flip_middle(bytes)),
        "checkpoint-signature",
    ),
    plant(
        "another policy package",
        (3, 2),
        |session, _| change(&session.join("policy/package/policy.toml"), |bytes| flip_middle(bytes)),
        "package-digest",
    ),
];
/// The newest session of this seat is left out, too: only the public log shows that it is missing.
const HIDDEN: usize = 4;
/// This plant makes a second session of the next seat's ticket, and leaves a gap in its own seat.
const FOREIGN: &str = "the ticket of another session";

/// Size of a record in bytes.
const RECORD: usize = 192;

pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
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
    let session = |seat: usize, number: usize| planted.join(format!("seat-{}/session-{number:06}", seat % SEATS));
    for plant in &PLANTED {
        (plant.change)(&session(plant.seat, plant.session), &session(plant.seat + 1, 1)).context(plant.what)?;
    }
    fs::remove_dir_all(last(&planted.join(format!("seat-{HIDDEN}")))?)?;
    let audit = self::audit(&folder, &planted)?;
    tally.check("a hidden newest session is found: bundle-missing", hidden(&audit));
    for plant in &PLANTED {
        tally.check(&format!("{} is found: {}", plant.what, plant.code), found(&audit, plant));
    }
    tally.check("the audit contradicts nothing else", nothing_else(&audit));
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
    audit
        .arg("audit")
        .arg(&tables)
        .arg("--trust")
        .arg(folder.join("trust"))
        .arg("--public-log")
        .arg(folder.join("log"));
    audit.args(["--allow-sim", "--json", "--work"]);
    let output = audit.arg(bundles.with_extension("work")).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("the audit gives no answer")?;
    ensure!(
        answer.pointer("/exit_code").and_then(Value::as_i64) == output.status.code().map(i64::from),
        "{}",
        output.status
    );
    Ok(answer)
}

/// The findings that contradict.
fn contradictions(audit: &Value) -> Result<Vec<&Value>> {
    let findings = audit["findings"].as_array().context("the answer has findings")?;
    Ok(findings.iter().filter(|finding| finding["status"] == "contradicted").collect())
}

fn nothing(audit: &Value) -> Result<()> {
    let wrong = contradictions(audit)?;
    ensure!(wrong.is_empty(), "{wrong:?}");
    let sessions = audit.pointer("/totals/sessions").and_then(Value::as_u64);
    ensure!(sessions >= Some(PLANTED.len() as u64), "{sessions:?} sessions");
    Ok(())
}

/// The seat of the findings about a plant. A session with the ticket of another one belongs to that one's seat.
fn seat_of(plant: &Plant) -> usize {
    if plant.what == FOREIGN { (plant.seat + 1) % SEATS } else { plant.seat }
}

fn found(audit: &Value, plant: &Plant) -> Result<()> {
    let seat = seat_of(plant);
    let of_seat = |finding: &&Value| finding["seat"].as_u64() == Some(seat as u64);
    let wrong: Vec<&Value> = contradictions(audit)?.into_iter().filter(of_seat).collect();
    ensure!(wrong.iter().any(|finding| finding["code"] == plant.code), "seat {seat} has {wrong:?}");
    Ok(())
}

fn hidden(audit: &Value) -> Result<()> {
    let wrong = contradictions(audit)?;
    ensure!(wrong.into_iter().any(is_hidden), "no session of seat {HIDDEN} is missing by the public log");
    Ok(())
}

/// Whether a finding is about the session that was hidden.
fn is_hidden(finding: &Value) -> bool {
    finding["seat"].as_u64() == Some(HIDDEN as u64) && finding["code"] == "bundle-missing"
}

/// Every contradiction is about a planted session, by its seat and serial. A gap is found at the session behind it.
fn nothing_else(audit: &Value) -> Result<()> {
    let is_planted = |finding: &Value| {
        let (seat, serial) = (finding["seat"].as_u64(), finding["serial"].as_u64());
        let is_gap = u64::from(finding["code"] == "serial-missing");
        PLANTED.iter().any(|plant| {
            let is_seat = [plant.seat, seat_of(plant)].iter().any(|of| seat == Some(*of as u64));
            is_seat && serial == Some(plant.session as u64 + is_gap)
        })
    };
    let is_other = |finding: &&Value| !is_planted(finding) && !is_hidden(finding);
    let other: Vec<_> = contradictions(audit)?.into_iter().filter(is_other).collect();
    ensure!(other.is_empty(), "{other:?}");
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

/// Inverts a bit of the entry in the first record, which is under every checkpoint.
fn flip_first(bytes: &mut [u8]) {
    if let Some(byte) = bytes.get_mut(RECORD / 2) {
        *byte ^= 1;
    }
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

/// The file of a folder with the highest name.
fn last(folder: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<BTreeSet<_>>>()?;
    files.into_iter().next_back().context("the folder is empty")
}

fn remove_last(folder: &Path) -> Result<()> {
    Ok(fs::remove_file(last(folder)?)?)
}

/// Copies the first file of a folder over the last one.
fn copy_first(folder: &Path) -> Result<()> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<BTreeSet<_>>>()?;
    copy(files.first().context("the folder is empty")?, &last(folder)?)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    tool::run(Command::new("cp").arg("-r").arg(from).arg(to))
}
