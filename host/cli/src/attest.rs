//! `portcullis attest`: a signed statement about a period.

use crate::authority::own_key;
use crate::failure::{Failure, REFUSED};
use crate::replay::progress;
use anyhow::{Context, anyhow, bail};
use portcullis_attestation::{
    Day, KIND, Period, Question, SIGNATURE_BYTES, Statement, Step, attest, check_signature, page, sign,
};
use portcullis_authority::keys;
use portcullis_core::hex::Hex;
use portcullis_evidence::bundle::Files;
use portcullis_evidence::ticket::issuer_key;
use portcullis_report::Origin;
use portcullis_report::escape::printable;
use portcullis_sealed::is_sealed_texts;
use portcullis_verify::console::{json_pretty, stdout_terminal};
use portcullis_verify::{TrustArgs, UnsealArgs};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const STATEMENT: &str = "attestation.json";
const SIGNATURE: &str = "attestation.sig";
const PAGE: &str = "attestation.html";
/// Longest name of whoever attests, in characters.
const NAME_CHARS: usize = 200;

/// Attests a period: verifies the bundles of one card or of a fleet, replays a sample of their texts, and writes a signed
/// statement of what they show and what they do not: `attestation.json`, its signature `attestation.sig` (Ed25519, as
/// `openssl pkeyutl -verify -rawin` checks it), and the page `attestation.html`. With `--check`, makes the statement of
/// another person again and compares every field.
///
/// Give the bundles of the sessions directly before and after the period, too: they show that no session of the period is
/// missing.
///
/// Exit codes: 0 everything is affirmed; 5 something is missing or could not be checked; 10 nothing is contradicted, but
/// simulated, with `--allow-sim`; 3 something is contradicted, or the statement that is checked is another one; 1 an error;
/// 2 usage. A statement that contradicts is written, too.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folders whose entries are bundles, each a folder or a tar archive: one folder per card, or any other division.
    #[arg(required = true, value_name = "FOLDER")]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    unseal: UnsealArgs,
    /// First day of the period, in UTC.
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "check")]
    from: Option<Day>,
    /// Last day of the period.
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "check")]
    to: Option<Day>,
    /// Name of whoever attests.
    #[arg(long, required_unless_present = "check")]
    name: Option<String>,
    /// Private key of whoever attests.
    #[arg(long, value_name = "FILE", required_unless_present = "check")]
    key: Option<PathBuf>,
    /// Make a new private key, with mode 600, in the file of `--key`, which must not exist yet.
    #[arg(long, requires = "key")]
    new_key: bool,
    /// New file for the public key (PEM), for whoever checks.
    #[arg(long, value_name = "FILE", requires = "key")]
    public: Option<PathBuf>,
    /// Replay at most this many streams of each session; 0 replays nothing.
    #[arg(long, value_name = "STREAMS", default_value_t = 20, conflicts_with = "check")]
    sample: u64,
    /// Seed of the sample. Whoever checks can choose another one. Default: the digest of the bundles' digests, or, with
    /// `--check`, the seed in the statement.
    #[arg(long, value_name = "TEXT")]
    seed: Option<String>,
    /// New folder for the statement, its signature and its page.
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Folder of a statement to check instead.
    #[arg(
        long,
        value_name = "DIR",
        requires = "signer",
        conflicts_with_all = ["from", "to", "name", "key", "output"]
    )]
    check: Option<PathBuf>,
    /// Public key of whoever attested (PEM).
    #[arg(long, value_name = "FILE", requires = "check")]
    signer: Option<PathBuf>,
    /// The statement as JSON on stdout; with `--check`, the result of the comparison.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    match (&args.check, &args.signer) {
        (Some(folder), Some(signer)) => check(args, folder, signer),
        _ => make(args),
    }
}

fn program() -> String {
    format!("portcullis {}", env!("CARGO_PKG_VERSION"))
}

fn make(args: &Args) -> Result<u8, Failure> {
    let given = || anyhow!("`--from`, `--to`, `--name`, `--key` and `--output` are needed");
    let (from, to) = (args.from.with_context(given)?, args.to.with_context(given)?);
    let (by, key) = (args.name.clone().with_context(given)?, args.key.as_deref().with_context(given)?);
    let output = args.output.as_deref().with_context(given)?;
    if by.trim().is_empty() || by.chars().count() > NAME_CHARS || by.chars().any(char::is_control) {
        return Err(anyhow!("the name of whoever attests is one line of 1 to {NAME_CHARS} characters").into());
    }
    let period = Period::new(from, to).map_err(anyhow::Error::from)?;
    if output.exists() {
        return Err(anyhow!("the statement needs a new folder, not `{}`", output.display()).into());
    }
    // A key that cannot be read is found before the work.
    let known = if args.new_key { None } else { Some(own_key(key, false, "attester")?) };
    let question = Question { by, program: program(), period, sample: args.sample, seed: args.seed.clone() };
    let statement = look(args, &question)?;
    let key = known.map_or_else(|| own_key(key, true, "attester"), Ok)?;
    fs::create_dir(output).with_context(|| format!("cannot make `{}`", output.display()))?;

    let bytes = json_pretty(&statement)? + "\n";
    let digest = Hex(Sha256::digest(&bytes).into());
    // The machine's clock only dates the page; nothing depends on it.
    let made = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs());
    let origin = Origin { program: program(), made };
    write_new(&output.join(STATEMENT), bytes.as_bytes())?;
    write_new(&output.join(SIGNATURE), &sign(bytes.as_bytes(), &key))?;
    write_new(&output.join(PAGE), page(&statement, &digest, &origin).as_bytes())?;
    if let Some(public) = &args.public {
        let pem = keys::public_pem(&key.verifying_key()).map_err(anyhow::Error::from)?;
        write_new(public, pem.as_bytes())?;
    }
    if args.json {
        outln!("{}", bytes.trim_end());
    } else {
        show(&statement);
        outln!("wrote {}, {SIGNATURE} and {PAGE}", output.join(STATEMENT).display());
    }
    Ok(statement.exit_code)
}

/// The fields of a statement from which it can be made again.
#[derive(Deserialize)]
struct Asked {
    kind: String,
    by: String,
    program: String,
    period: Period,
    replay: Option<AskedReplay>,
}

#[derive(Deserialize)]
struct AskedReplay {
    sample: u64,
    seed: String,
}

/// What a check found.
#[derive(serde::Serialize)]
struct Checked {
    /// Whether the key of `--signer` signed the statement.
    signed: bool,
    /// The fields that differ from the statement that was made again.
    differences: Vec<String>,
    exit_code: u8,
}

fn check(args: &Args, folder: &Path, signer: &Path) -> Result<u8, Failure> {
    let read = |name: &str| -> anyhow::Result<Vec<u8>> {
        let path = folder.join(name);
        fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let key = fs::read_to_string(signer).with_context(|| format!("cannot read `{}`", signer.display()))?;
    let key = issuer_key(&key).with_context(|| format!("`{}`", signer.display()))?;
    let (bytes, signature) = (read(STATEMENT)?, read(SIGNATURE)?);
    let signed = signature.len() == SIGNATURE_BYTES && check_signature(&bytes, &signature, &key);
    // What nobody signed is not read further.
    let checked =
        if signed { compare(args, &bytes)? } else { Checked { signed, differences: Vec::new(), exit_code: REFUSED } };
    if args.json {
        outln!("{}", json_pretty(&checked)?);
        return Ok(checked.exit_code);
    }
    if !signed {
        outln!("contradicted: the key in `{}` did not sign this statement", signer.display());
    } else if checked.differences.is_empty() {
        outln!("the statement is signed, and the bundles give the same one");
    } else {
        outln!("contradicted: the bundles give another statement; these fields differ:");
        for field in &checked.differences {
            outln!("{}", stdout_terminal().wrap(2, &format!("- {}", printable(field))));
        }
    }
    Ok(checked.exit_code)
}

fn compare(args: &Args, bytes: &[u8]) -> Result<Checked, Failure> {
    let asked: Asked = serde_json::from_slice(bytes).context("this is not a statement that this version knows")?;
    if asked.kind != KIND {
        return Err(anyhow!("a statement of the kind `{}`; this version knows `{KIND}`", printable(&asked.kind)).into());
    }
    let (sample, seed) = asked.replay.map_or((0, None), |replay| (replay.sample, Some(replay.seed)));
    let other_seed = args.seed.is_some();
    let seed = args.seed.clone().or(seed);
    let question = Question { by: asked.by, program: asked.program, period: asked.period, sample, seed };
    let again = look(args, &question)?;
    let (mut given, mut made): (Value, Value) = (serde_json::from_slice(bytes)?, serde_json::to_value(&again)?);
    if other_seed {
        // Another sample replays other streams, so only its result can be compared.
        for statement in [&mut given, &mut made] {
            forget_sample(statement);
        }
    }
    let mut differences = Vec::new();
    differ("", &given, &made, &mut differences);
    let exit_code = if differences.is_empty() { again.exit_code } else { REFUSED };
    Ok(Checked { signed: true, differences, exit_code })
}

fn forget_sample(statement: &mut Value) {
    for number in ["seed", "sessions", "streams", "replayed", "records"] {
        if let Some(value) = statement.pointer_mut(&format!("/replay/{number}")) {
            *value = Value::Null;
        }
    }
    if let Some(clauses) = statement.get_mut("clauses").and_then(Value::as_array_mut) {
        let shown = clauses.iter_mut().filter_map(|clause| clause.get_mut("shown")?.as_array_mut()).flatten();
        for shown in shown.filter(|shown| shown.get("topic").is_some_and(|topic| topic == "replay")) {
            shown["text"] = Value::Null;
        }
    }
}

/// Collects the paths (RFC 6901) at which two values differ.
fn differ(path: &str, a: &Value, b: &Value, paths: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) if x.keys().eq(y.keys()) => {
            for (key, value) in x {
                differ(&format!("{path}/{key}"), value, y.get(key).unwrap_or(&Value::Null), paths);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (at, (one, other)) in x.iter().zip(y).enumerate() {
                differ(&format!("{path}/{at}"), one, other, paths);
            }
        }
        _ if a == b => {}
        _ => paths.push(path.to_owned()),
    }
}

/// Reads the bundles and makes the statement.
fn look(args: &Args, question: &Question) -> Result<Statement, Failure> {
    let (trust, options) = args.trust.load()?;
    let bundles = bundles(args)?;
    let (verified, replayed) = (progress("bundles verified"), progress("streams replayed"));
    let statement = attest(question, &bundles, &trust, options, &mut |step| match step {
        Step::Verified => verified.inc(1),
        Step::Replayed => {
            verified.finish_and_clear();
            replayed.inc(1);
        }
    });
    verified.finish_and_clear();
    replayed.finish_and_clear();
    Ok(statement.map_err(anyhow::Error::from)?)
}

/// Every bundle with its name: that of its entry, and that of its folder before it if several folders are given.
fn bundles(args: &Args) -> anyhow::Result<Vec<(String, Box<dyn Files>)>> {
    let mut bundles = Vec::new();
    for folder in &args.bundles {
        let io = || format!("cannot read `{}`", folder.display());
        let before = folder.file_name().filter(|_| args.bundles.len() > 1);
        for entry in fs::read_dir(folder).with_context(io)? {
            let path = entry.with_context(io)?.path();
            if is_sealed_texts(&path) {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = before.map_or_else(|| name.clone(), |before| format!("{}/{name}", before.to_string_lossy()));
            let files = args.unseal.earlier(&path).with_context(|| format!("bundle `{name}`"))?;
            bundles.push((name, files));
        }
    }
    if bundles.is_empty() {
        bail!("there is no bundle in the folders");
    }
    bundles.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(bundles)
}

fn write_new(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let written = fs::File::create_new(path).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

/// The verdict, what is not affirmed, and the sums.
fn show(statement: &Statement) {
    let terminal = stdout_terminal();
    let simulated = if statement.simulated { ", simulated" } else { "" };
    outln!("{}{simulated}: {}", statement.status, statement.period);
    let totals = &statement.totals;
    outln!(
        "{} sessions in {} chains, {} policies, {} streams: {} admitted, {} rejected, {} decomposed",
        statement.sessions.len(),
        statement.chains.len(),
        statement.policies.len(),
        totals.streams,
        totals.admitted,
        totals.rejected,
        totals.decomposed
    );
    for finding in &statement.findings {
        let session = finding.session.as_deref().map_or_else(String::new, |session| format!("{session}: "));
        let times = if finding.count > 1 { format!(" ({} times)", finding.count) } else { String::new() };
        let (code, detail) = (finding.code, printable(&finding.detail));
        outln!(
            "{}",
            terminal.wrap(2, &format!("- {}: {}{code}: {detail}{times}", finding.status, printable(&session)))
        );
        outln!("{}", terminal.wrap(4, &format!("  to do: {}", finding.remedy)));
    }
}
