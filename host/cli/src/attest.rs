//! `portcullis attest`: a signed statement about a period.

use crate::authority::own_key;
use crate::failure::{CommandFailure, REFUSED};
use crate::replay::progress;
use anyhow::{Context, anyhow, bail};
use portcullis_attestation::{
    AttestationPeriod, AttestationProgress, AttestationRequest, KIND, NamedBundle, PeriodStatement, UtcDay, attest,
    check_signature, page, sign,
};
use portcullis_authority::keys;
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{BundleError, is_unfinished};
use portcullis_evidence::signing::StatementKey;
use portcullis_evidence::ticket::issuer_key;
use portcullis_report::escape::printable;
use portcullis_sealed::is_sealed_texts;
use portcullis_verify::console::{json_pretty, stdout_terminal};
use portcullis_verify::{PublicLogArgs, TrustArgs, UnsealArgs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const STATEMENT: &str = "attestation.json";
const SIGNATURE: &str = "attestation.sig";
const PAGE: &str = "attestation.html";
/// Streams that are replayed per session, by default.
const SAMPLE: u64 = 20;
/// Longest name of whoever attests, in characters.
const NAME_CHARS: usize = 200;

/// Attests a period: verifies the bundles of one card or of a fleet, replays a sample of their texts, and writes a
/// signed statement of what they show and what they do not: `attestation.json`, its signature `attestation.sig`
/// (Ed25519, as `openssl pkeyutl -verify -rawin` checks it), and the page `attestation.html`. With `--check`, makes
/// the statement and the page of another person again and compares them.
///
/// Give the bundles of the sessions directly before and after the period, too: they show that no session of the period
/// is missing. The issuer's public log, if witnesses cosigned it after the period, shows the same of the end.
///
/// Exit codes: 0 everything is affirmed; 5 something is missing or could not be checked; 10 nothing is contradicted,
/// but simulated, with `--allow sim`, or nothing was prevented; 3 something is contradicted, or the statement that is
/// checked is another one; 1 an error; 2 usage. A statement that contradicts is written, too.
#[derive(clap::Args)]
pub(crate) struct AttestArgs {
    /// Folders whose entries are bundles, each a folder or a tar archive: one folder per card, or any other division.
    #[arg(required = true, value_name = "FOLDER")]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    log: PublicLogArgs,
    #[command(flatten)]
    unseal: UnsealArgs,
    /// First day of the period, in UTC.
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "check")]
    from: Option<UtcDay>,
    /// Last day of the period.
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "check")]
    to: Option<UtcDay>,
    /// Name of whoever attests.
    #[arg(long, required_unless_present = "check")]
    name: Option<String>,
    /// Private key of whoever attests, a file. `program:PATH` is a program that signs with a key in a device.
    #[arg(long, value_name = "FILE|program:PATH", required_unless_present = "check")]
    key: Option<PathBuf>,
    /// Make a new private key, with mode 600, in the file of `--key`, which must not exist yet.
    #[arg(long, requires = "key")]
    new_key: bool,
    /// New file for the public key (PEM), for whoever checks.
    #[arg(long, value_name = "FILE", requires = "key")]
    public: Option<PathBuf>,
    /// Replay at most this many streams of each session; 0 replays nothing.
    /// Default: 20, or, with `--check`, as in the statement, if it replayed any.
    #[arg(long, value_name = "STREAMS")]
    sample: Option<u64>,
    /// Replay other streams than the statement did: the seed of another sample, which whoever checks chooses.
    #[arg(long, value_name = "TEXT", requires = "check")]
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

pub(crate) fn run(args: &AttestArgs) -> Result<u8, CommandFailure> {
    match (&args.check, &args.signer) {
        (Some(folder), Some(signer)) => check(args, folder, signer),
        _ => make(args),
    }
}

fn program() -> String {
    format!("portcullis {}", env!("CARGO_PKG_VERSION"))
}

fn make(args: &AttestArgs) -> Result<u8, CommandFailure> {
    let given = || anyhow!("`--from`, `--to`, `--name`, `--key` and `--output` are needed");
    let (from, to) = (args.from.with_context(given)?, args.to.with_context(given)?);
    let (by, key) = (args.name.clone().with_context(given)?, args.key.as_deref().with_context(given)?);
    let output = args.output.as_deref().with_context(given)?;
    if by.trim().is_empty() || by.chars().count() > NAME_CHARS || by.chars().any(char::is_control) {
        return Err(anyhow!("the name of whoever attests is one line of 1 to {NAME_CHARS} characters").into());
    }
    let period = AttestationPeriod::new(from, to).map_err(anyhow::Error::from)?;
    if output.exists() {
        return Err(anyhow!("the statement needs a new folder, not `{}`", output.display()).into());
    }
    // A key that cannot be read, or that is in the way, is found before the work.
    let known = match args.new_key {
        true if key.exists() => {
            return Err(anyhow!("the new key needs a new file, not `{}`", key.display()).into());
        }
        true => None,
        false => Some(own_key(key, "attester")?),
    };
    if let Some(public) = args.public.as_deref().filter(|public| public.exists()) {
        return Err(anyhow!("the public key needs a new file, not `{}`", public.display()).into());
    }
    // The machine's clock only dates the statement; nothing depends on it.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (dated, sample) = (UtcDay::of(now).map_err(anyhow::Error::from)?, args.sample.unwrap_or(SAMPLE));
    let statement = look(args, &AttestationRequest { by, program: program(), period, dated, sample, seed: None })?;
    let bytes = json_pretty(&statement)? + "\n";
    let public = args.public.as_deref();
    match known {
        Some(key) => write_statement(&statement, &bytes, &key, output, public)?,
        None => keys::with_new(key, |key| write_statement(&statement, &bytes, &key.into(), output, public))?,
    }
    if args.json {
        outln!("{}", bytes.trim_end());
    } else {
        show(&statement);
        outln!("wrote {}, {SIGNATURE} and {PAGE}", output.join(STATEMENT).display());
    }
    Ok(statement.exit_code)
}

/// Signs a statement, and writes it into a new folder, which is removed if this fails.
fn write_statement(
    statement: &PeriodStatement,
    bytes: &str,
    key: &keys::AuthorityKey,
    output: &Path,
    public: Option<&Path>,
) -> anyhow::Result<()> {
    let signature = sign(bytes.as_bytes(), key)?;
    let pem = keys::public_pem(&key.verifying_key())?;
    let digest = HexBytes(Sha256::digest(bytes).into());
    fs::create_dir(output).with_context(|| format!("cannot make `{}`", output.display()))?;
    let write = || {
        write_new(&output.join(STATEMENT), bytes.as_bytes())?;
        write_new(&output.join(SIGNATURE), &signature)?;
        write_new(&output.join(PAGE), page(statement, &digest).as_bytes())?;
        public.map_or(Ok(()), |public| write_new(public, pem.as_bytes()))
    };
    write().inspect_err(|_| {
        // The error says more than a failure of this.
        let _ = fs::remove_dir_all(output);
    })
}

/// The fields of a statement from which it can be made again.
#[derive(Deserialize)]
struct Asked {
    kind: String,
    by: String,
    program: String,
    period: AttestationPeriod,
    dated: UtcDay,
    replay: Option<AskedReplay>,
}

#[derive(Deserialize)]
struct AskedReplay {
    sample: u64,
}

/// What a check found.
#[derive(Serialize)]
struct Checked {
    /// Whether the key of `--signer` signed the statement.
    signed: bool,
    /// The fields, as RFC 6901 names them, and the files that differ from the statement that was made again.
    differences: Vec<String>,
    /// The statement that was made again, with the sample of the check.
    statement: Option<PeriodStatement>,
    exit_code: u8,
}

fn check(args: &AttestArgs, folder: &Path, signer: &Path) -> Result<u8, CommandFailure> {
    if args.seed.is_some() && args.sample == Some(0) {
        return Err(
            anyhow!("`--seed` draws another sample, and `--sample 0` replays nothing: leave one of them out").into()
        );
    }
    let read = |name: &str| -> anyhow::Result<Vec<u8>> {
        let path = folder.join(name);
        fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let key = fs::read_to_string(signer).with_context(|| format!("cannot read `{}`", signer.display()))?;
    let key = issuer_key(&key).with_context(|| format!("`{}`", signer.display()))?;
    let (bytes, signature, html) = (read(STATEMENT)?, read(SIGNATURE)?, read(PAGE)?);
    let checked = if check_signature(&bytes, &signature, &key) {
        compare(args, &bytes, &html)?
    } else {
        // A statement that is not signed is not read.
        Checked { signed: false, differences: Vec::new(), statement: None, exit_code: REFUSED }
    };
    if args.json {
        outln!("{}", json_pretty(&checked)?);
        return Ok(checked.exit_code);
    }
    let Some(statement) = &checked.statement else {
        outln!("contradicted: the key in `{}` did not sign this statement", signer.display());
        return Ok(checked.exit_code);
    };
    if checked.differences.is_empty() {
        let sample = if args.seed.is_some() { ", with another sample of texts" } else { "" };
        outln!("the statement of `{}` is signed, and the bundles give the same one{sample}:", printable(&statement.by));
    } else {
        outln!("contradicted: the bundles give another statement; these parts differ:");
        for part in &checked.differences {
            outln!("{}", stdout_terminal().wrap(2, &format!("- {}", printable(part))));
        }
        outln!("the statement that the bundles give:");
    }
    show(statement);
    Ok(checked.exit_code)
}

fn compare(args: &AttestArgs, bytes: &[u8], html: &[u8]) -> Result<Checked, CommandFailure> {
    let Asked { kind, by, program, period, dated, replay } =
        serde_json::from_slice(bytes).context("this is not a statement that this version knows")?;
    if kind != KIND {
        return Err(anyhow!("a statement of the kind `{}`; this version knows `{KIND}`", printable(&kind)).into());
    }
    let asked = replay.map_or(0, |replay| replay.sample);
    let drawn = if asked == 0 { SAMPLE } else { asked };
    let question = |sample, seed| {
        let (by, program) = (by.clone(), program.clone());
        AttestationRequest { by, program, period, dated, sample, seed }
    };
    // The default seed is that of the bundles, so a statement with a chosen seed differs.
    let again = look(args, &question(asked, None))?;
    let made = json_pretty(&again)? + "\n";
    let mut differences = Vec::new();
    if made.as_bytes() != bytes {
        let (given, made): (Value, Value) = (serde_json::from_slice(bytes)?, serde_json::from_str(&made)?);
        differ("", &given, &made, &mut differences);
        if differences.is_empty() {
            differences.push(format!("the form of {STATEMENT}"));
        }
    }
    if page(&again, &HexBytes(Sha256::digest(bytes).into())).as_bytes() != html {
        differences.push(PAGE.to_owned());
    }
    let statement = match (&args.seed, args.sample) {
        (None, None) => again,
        (other, sample) => look(args, &question(sample.unwrap_or(drawn), other.clone()))?,
    };
    let exit_code = if differences.is_empty() { statement.exit_code } else { REFUSED };
    Ok(Checked { signed: true, differences, statement: Some(statement), exit_code })
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
fn look(args: &AttestArgs, question: &AttestationRequest) -> Result<PeriodStatement, CommandFailure> {
    let (trust, options) = args.trust.load()?;
    let bundles = bundles(args)?;
    let (verified, replayed) = (progress("bundles verified"), progress("streams replayed"));
    let log = args.log.read(&trust).map_err(anyhow::Error::from)?;
    let statement = attest(question, &bundles, &trust, log.as_ref(), options, &mut |step| match step {
        AttestationProgress::Verified => verified.inc(1),
        AttestationProgress::Replayed => {
            verified.finish_and_clear();
            replayed.inc(1);
        }
    });
    verified.finish_and_clear();
    replayed.finish_and_clear();
    Ok(statement.map_err(anyhow::Error::from)?)
}

/// Every bundle with its name: that of its folder, and that of its entry.
fn bundles(args: &AttestArgs) -> anyhow::Result<Vec<NamedBundle>> {
    if args.unseal.names_a_file() {
        bail!("`--sealed` names the texts of one bundle: here they must be beside each bundle");
    }
    let mut bundles = Vec::new();
    for folder in &args.bundles {
        let io = || format!("cannot read `{}`", folder.display());
        let whole = fs::canonicalize(folder).with_context(io)?;
        let before = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for entry in fs::read_dir(folder).with_context(io)? {
            let path = entry.with_context(io)?.path();
            if is_sealed_texts(&path) {
                continue;
            }
            let name = format!("{before}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            let files = if is_unfinished(&path) { Err(BundleError::unfinished()) } else { args.unseal.earlier(&path) };
            bundles.push(NamedBundle { name, files });
        }
    }
    if bundles.is_empty() {
        bail!("there is no bundle in the folders");
    }
    bundles.sort_by(|a, b| a.name.cmp(&b.name));
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
fn show(statement: &PeriodStatement) {
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
