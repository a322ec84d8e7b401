//! Commands, output and exit codes.

mod cluster;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use futures::FutureExt;
use portcullis_core::hex;
use portcullis_evidence::verify::VerifyOptions;
use portcullis_evidence::verify::series::read_log;
use portcullis_fleet::{
    AuditOptions, AuditStep, FleetTableStore, IngestInput, SqlEngine, TrustFolder, audit, ingest, page, replace,
    rows_as_json, rows_as_text, unread,
};
use portcullis_fleet_core::{AuditAnswer, WorkFolder};
use portcullis_report::PageOrigin;
use portcullis_report::escape::{json, printable};
use portcullis_report::evidence::LogText;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Something in the evidence is contradicted, or a bundle is broken.
const CONTRADICTED: u8 = 3;
/// Something is missing or could not be checked.
const WARNED: u8 = 5;
/// Parts of the work on a cluster, unless `--jobs` names its threads.
const CLUSTER_JOBS: usize = 16;
/// Name of the last answer in the folder of results.
const ANSWER: &str = "answer.json";

/// Audit the bundles of many Portcullis cards
///
/// `ingest` writes bundles into tables, `audit` verifies the bundles and compares them with each other and with the
/// tables, `sql` asks the tables, and `report` writes the last answer as a page. The bundles stay the evidence.
///
/// `audit` and `sql` run in this process, or with `--cluster` on the processes that `scheduler` and `executor` start.
///
/// Exit codes: 0 affirmed, 5 warned, 10 simulated, 3 contradicted or a broken bundle, 1 an operational error, 2 usage.
#[derive(Debug, Parser)]
#[command(name = "fleet", version)]
struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Write bundles, tickets and notes into tables
    #[command(after_help = "Examples:\n  fleet ingest bundles/* --to tables\n  \
        fleet ingest bundle.tar --ticket ticket.cose --note 00000000.note --to file:///srv/tables\n  \
        fleet ingest bundles/* --to s3://evidence/tables")]
    Ingest(IngestArgs),
    /// Verify all bundles in the tables, and compare them with each other and with the tables
    ///
    /// An audit that was interrupted goes on where it was: results of finished bundles are kept in `--work`, under a
    /// digest of the bundle, the trust folder, the options and this program.
    #[command(after_help = "Examples:\n  fleet audit tables --trust trust\n  \
        fleet audit tables --trust trust --replay 10 --json\n  \
        fleet audit tables --trust trust --public-log log")]
    Audit(AuditArgs),
    /// Ask the tables a question in SQL
    ///
    /// Tables: records, bundles, tickets, checkpoints, notes; after an audit also sessions and findings. An answer over
    /// the records counts only after an audit affirmed the tables.
    #[command(after_help = "Examples:\n  \
        fleet sql tables \"SELECT kind, count(*) FROM records GROUP BY kind ORDER BY kind\"\n  \
        fleet sql tables \"SELECT bundle, lane, tree_root(tree(record)) FROM records GROUP BY 1, 2\" --json")]
    Sql(SqlArgs),
    /// Write the last answer of `audit` as one HTML page
    #[command(after_help = "Example:\n  fleet report --output audit.html")]
    Report(ReportArgs),
    /// Run the scheduler of a cluster, until SIGTERM or SIGINT
    ///
    /// It plans the queries of `audit --cluster` and `sql --cluster`, and gives their tasks to the executors. It must
    /// see the tables under the same paths as they do. If it ends, the queries that run on it fail.
    #[command(after_help = "Examples:\n  fleet scheduler\n  fleet scheduler --bind 10.0.0.7:50050 --allow-network")]
    Scheduler(cluster::SchedulerArgs),
    /// Run an executor of a cluster, until SIGTERM or SIGINT
    ///
    /// It must be the same program file as the scheduler and the command that asks, and must see the bundles and the
    /// tables under the same paths.
    #[command(after_help = "Example:\n  fleet executor --scheduler http://127.0.0.1:50050 --threads 8")]
    Executor(cluster::ExecutorArgs),
}

#[derive(Debug, Args)]
struct IngestArgs {
    /// Folders or tar archives of bundles
    #[arg(required_unless_present_any = ["ticket", "note"])]
    bundles: Vec<PathBuf>,
    /// A ticket of the issuer whose session should be in a bundle; repeat for more
    #[arg(long, value_name = "FILE")]
    ticket: Vec<PathBuf>,
    /// A note that a witness gives by itself; repeat for more
    #[arg(long, value_name = "FILE")]
    note: Vec<PathBuf>,
    /// Remove from the tables what was ingested from the same places with another content
    #[arg(long)]
    replace: bool,
    /// Where the tables are: a folder, which is created, a file URL, or `s3://BUCKET/PATH`
    ///
    /// Address and credentials of the service that has the bucket come from the environment: AWS_ENDPOINT_URL,
    /// AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY; for http://, also AWS_ALLOW_HTTP=true.
    #[arg(long, value_name = "URL|DIR")]
    to: String,
}

/// What can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FleetAllowArg {
    // Without doc comments, so that the help of the commands keeps its form.
    Sim,
    NotEnforced,
}

#[derive(Debug, Args)]
struct AuditArgs {
    /// Where the tables are
    tables: String,
    /// Folder with roots/*.pem, issuers/*.pub, approvers/*.pub, withholders/*.pub, witnesses/*.pub, log-policy.txt,
    /// revoked.txt, and sim-roots/*.pem
    #[arg(long, value_name = "DIR")]
    trust: PathBuf,
    /// Folder with the issuer's public log (C2SP tlog-tiles): also find sessions of which no bundle is there
    ///
    /// `log-policy.txt` in the trust folder (C2SP tlog-policy) names the log, the witnesses, and how many of them must
    /// have cosigned it. With this file, a log that is not given is a warning.
    #[arg(long, value_name = "DIR")]
    public_log: Option<PathBuf>,
    /// Accept simulated evidence (the exit code is then 10, never 0), or streams in which nothing was prevented,
    /// without their warning; may be given several times
    #[arg(long, value_name = "WHAT", value_enum)]
    allow: Vec<FleetAllowArg>,
    /// The same as `--allow sim`
    #[arg(long)]
    allow_sim: bool,
    /// Unix second at which certificates must be valid where no witness gives a time
    #[arg(long, value_name = "SECOND")]
    at: Option<u64>,
    #[command(flatten)]
    work: WorkArgs,
    /// Replay at most this many streams of each session, drawn at random
    #[arg(long, value_name = "STREAMS", default_value_t = 0)]
    replay: u64,
    /// Seed of the drawing; without it, the digest of all bundles
    #[arg(long, value_name = "TEXT")]
    seed: Option<String>,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    place: cluster::PlaceArgs,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct WorkArgs {
    /// Folder of the auditor with the results; only the auditor may write to it
    #[arg(long, value_name = "DIR", default_value = "fleet-work")]
    work: PathBuf,
}

#[derive(Debug, Args)]
struct JobsArgs {
    /// Threads; without it, one per processor. With `--cluster`, the parts into which the work is divided: as many as
    /// the executors have threads together; without it, 16
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArgs {
    /// Threads of this process.
    fn threads(&self) -> usize {
        self.jobs.map_or_else(processors, usize::from)
    }

    /// Parts of the work.
    fn parts(&self, place: &cluster::PlaceArgs) -> usize {
        if place.is_here() { self.threads() } else { self.jobs.map_or(CLUSTER_JOBS, usize::from) }
    }
}

#[derive(Debug, Args)]
struct SqlArgs {
    /// Where the tables are
    tables: String,
    /// One SELECT statement
    query: String,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    place: cluster::PlaceArgs,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReportArgs {
    #[command(flatten)]
    work: WorkArgs,
    /// The page; a file that exists is left as it is
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Parses the arguments and runs the command.
pub(crate) fn main() -> ExitCode {
    let done = match FleetArgs::parse().command {
        FleetCommand::Ingest(args) => run_ingest(&args),
        FleetCommand::Audit(args) => run_audit(&args),
        FleetCommand::Sql(args) => run_sql(&args),
        FleetCommand::Report(args) => run_report(&args),
        FleetCommand::Scheduler(args) => cluster::run_scheduler(&args),
        FleetCommand::Executor(args) => cluster::run_executor(&args),
    };
    match done.and_then(|code| io::stdout().flush().context("cannot write to stdout").map(|()| code)) {
        Ok(code) => ExitCode::from(code),

        Err(error) => {
            say(&format!("error: {}", printable(&describe(&error))));
            ExitCode::from(1)
        }
    }
}

/// An error with its causes. A cause is left out if its text has already occurred.
fn describe(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// Writes a line of progress or an error to stderr.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn print(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{text}").context("cannot write to stdout")
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn runtime(threads: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(threads).enable_all().build().context("cannot start threads")
}

fn run_ingest(args: &IngestArgs) -> anyhow::Result<u8> {
    let bundles = args.bundles.iter().cloned().map(IngestInput::Bundle);
    let tickets = args.ticket.iter().cloned().map(IngestInput::Ticket);
    let inputs: Vec<IngestInput> =
        bundles.chain(tickets).chain(args.note.iter().cloned().map(IngestInput::Note)).collect();
    let tables = FleetTableStore::create(&args.to)?;
    let runtime = runtime(1)?;
    let mut code = 0;
    for (at, input) in inputs.iter().enumerate() {
        let (IngestInput::Bundle(path) | IngestInput::Ticket(path) | IngestInput::Note(path)) = input;
        let count = inputs.len();
        let mut progress = |records| say(&format!("{} of {count}: {} records", at + 1, records));
        let done = runtime
            .block_on(ingest(&tables, input, &mut progress))
            .with_context(|| format!("cannot ingest `{}`", path.display()))?;
        let name = printable(&done.name);
        let what = match (&done.broken, done.known) {
            _ if done.unfinished => "not finished, and listed as such: its session still runs, or it died, and then \
                                     `portcullis bundle finish` completes it"
                .to_owned(),
            (Some(why), _) => format!("broken, and listed as such: {}", printable(why)),
            (None, true) => "there already".to_owned(),
            (None, false) => format!("{} records", done.records),
        };
        say(&format!("{} of {count}: {name}: {what}", at + 1));
        if done.broken.is_some() {
            code = CONTRADICTED;
        } else if done.unfinished && code == 0 {
            code = WARNED;
        } else if args.replace
            && let IngestInput::Bundle(path) = input
        {
            let replaced = runtime.block_on(replace(&tables, path));
            let replaced = replaced.with_context(|| format!("cannot replace what was at `{}`", path.display()))?;
            if replaced > 0 {
                say(&format!("{} of {count}: {name}: replaces {replaced} with another content", at + 1));
            }
        }
    }
    Ok(code)
}

/// Identifies this program: results of another build are not used.
fn program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot find this program's file")?;
    let content = fs::read(path).context("cannot read this program's file")?;
    Ok(hex::encode(&Sha256::digest(content)))
}

fn run_audit(args: &AuditArgs) -> anyhow::Result<u8> {
    let allow_sim = args.allow_sim || args.allow.contains(&FleetAllowArg::Sim);
    let allow_not_enforced = args.allow.contains(&FleetAllowArg::NotEnforced);
    let trust = TrustFolder::load(&args.trust, allow_sim)?;
    let public_log = read_log(args.public_log.as_deref(), trust.trust())?;
    let program = program()?;
    let options = AuditOptions {
        trust,
        public_log: public_log.map(Arc::new),
        options: VerifyOptions { allow_sim, allow_not_enforced, at: args.at },
        work: WorkFolder::open(&args.work.work)?,
        place: args.place.place(&program)?,
        program,
        sample: args.replay,
        seed: args.seed.clone(),
        jobs: args.jobs.parts(&args.place),
        progress: Arc::new(AuditStepCounter::default().into_progress()),
    };
    let answer = runtime(args.jobs.threads())?.block_on(async {
        let tables = FleetTableStore::open(&args.tables).await?;
        audit(&tables, &options).await
    })?;
    write(&args.work.work.join(ANSWER), serde_json::to_string(&answer)?.as_bytes())?;
    if args.json {
        print(&json(serde_json::to_string_pretty(&answer)?))?;
    } else {
        print(&summary(&answer))?;
    }
    Ok(answer.exit_code)
}

/// Counts steps, and writes at most about twenty lines of each kind.
#[derive(Default)]
struct AuditStepCounter {
    bundles: AtomicU64,
    verified: AtomicU64,
    compared: AtomicU64,
    replayed: AtomicU64,
}

impl AuditStepCounter {
    fn into_progress(self) -> impl Fn(AuditStep) -> Result<(), portcullis_fleet::FleetError> + Send + Sync {
        move |step| {
            let count = |of: &AtomicU64, word: &str| {
                let (done, all) = (of.fetch_add(1, Ordering::Relaxed) + 1, self.bundles.load(Ordering::Relaxed));
                if done == all || done % (all / 20).max(1) == 0 {
                    say(&format!("{word}: {done} of {all} bundles"));
                }
            };
            match step {
                AuditStep::Bundles(bundles) => self.bundles.store(bundles, Ordering::Relaxed),
                AuditStep::Verified | AuditStep::Reused => count(&self.verified, "verified"),
                AuditStep::Compared => count(&self.compared, "tables compared"),
                AuditStep::Replayed => count(&self.replayed, "replayed"),
            }
            Ok(())
        }
    }
}

/// The answer for people: contradictions first.
fn summary(answer: &AuditAnswer) -> String {
    let mut lines = vec![format!("{} ({} bundles)", answer.status.name(), answer.totals.sessions)];
    for finding in &answer.findings {
        let bundle = finding.bundle.as_deref().map(|name| format!("{}: ", printable(name))).unwrap_or_default();
        let times = if finding.count > 1 { format!(" ({} times)", finding.count) } else { String::new() };
        lines.push(format!("{}: {bundle}{}{times}", finding.status.name(), finding.code));
        lines.push(format!("  {}", printable(&finding.detail)));
        lines.push(format!("  What to do: {}.", finding.remedy));
    }
    lines.extend(answer.public_log.as_ref().map(|log| format!("public log {}", LogText(log))));
    for chain in &answer.chains {
        let totals = &chain.totals;
        lines.push(format!(
            "card {}, seat {}: sessions {} to {}; {} affirmed, {} warned, {} contradicted; {} records",
            chain.key,
            chain.seat,
            chain.first,
            chain.last,
            totals.affirmed,
            totals.warned,
            totals.contradicted,
            totals.records
        ));
    }
    lines.join("\n")
}

fn read_answer(work: &Path) -> anyhow::Result<Option<AuditAnswer>> {
    let path = work.join(ANSWER);
    match fs::read(&path) {
        Ok(text) => {
            let answer = serde_json::from_slice(&text);
            answer.map(Some).with_context(|| format!("`{}` is not an answer: audit again", path.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

fn run_sql(args: &SqlArgs) -> anyhow::Result<u8> {
    let (place, answer) = (args.place.place(&program()?)?, read_answer(&args.work.work)?);
    let rows = runtime(args.jobs.threads())?.block_on(async {
        let tables = FleetTableStore::open(&args.tables).await?;
        let engine = SqlEngine::at(&place, &tables, args.jobs.parts(&args.place)).await?;
        if let Some(answer) = &answer {
            engine.add_answer(answer)?;
        }
        // A damaged file can also stop the engine's decoder.
        let asked = AssertUnwindSafe(engine.query(&args.query)).catch_unwind().await;
        if let Ok(Ok(rows)) = asked {
            return Ok(rows);
        }
        if let Some((name, why)) = unread(&tables, args.jobs.threads()).await?.pop_first() {
            anyhow::bail!("the file `{name}` of the tables cannot be read: {why}; `fleet audit` names all such files");
        }
        Ok(asked.map_err(|_| anyhow::anyhow!("the SQL engine stopped"))??)
    })?;
    if args.json {
        print(json(rows_as_json(&rows)?).trim_end())?;
    } else {
        let text = rows_as_text(&rows)?;
        print(&text.lines().map(printable).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(0)
}

fn run_report(args: &ReportArgs) -> anyhow::Result<u8> {
    let folder = args.work.work.display();
    let none = || anyhow::anyhow!("`{folder}` holds no answer: run `fleet audit TABLES --trust DIR --work {folder}`");
    let answer = read_answer(&args.work.work)?.ok_or_else(none)?;
    // The machine's clock only dates the page; no decision depends on it.
    let made = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs());
    let origin = PageOrigin { program: format!("fleet {}", env!("CARGO_PKG_VERSION")), made };
    let written = File::create_new(&args.output).and_then(|mut file| file.write_all(page(&answer, &origin).as_bytes()));
    written.with_context(|| format!("cannot write `{}`", args.output.display()))?;
    print(&format!("{}: {}", args.output.display(), answer.status.name()))?;
    Ok(answer.exit_code)
}

/// Replaces a file, so that it is either whole or the old one.
fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let part = path.with_extension("part");
    let written = fs::write(&part, content).and_then(|()| fs::rename(&part, path));
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_well_formed() {
        super::FleetArgs::command().debug_assert();
    }
}
