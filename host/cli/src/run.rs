//! `portcullis run`.

use crate::choices::{GranularityArg, InputFormatArg, OnRefuseArg, ReleaseArg};
use crate::engine::{EngineArgs, EngineFactory};
use crate::failure::{CommandFailure, ERROR, FAULT, REFUSED, SUCCESS};
use crate::intake::Stop;
use crate::journal::{EvidenceJournal, LedgerArgs};
use crate::open::{self, CardArgs, MemberArg, TextLaneArg};
use crate::output::{AdmittedFileFormat, RunOutput};
use crate::prefilter::FilterArgs;
use crate::recording::BundleArgs;
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_card::{CardSession, SessionError};
use portcullis_core::hex;
use portcullis_core::wire::Fault;
use portcullis_gate::input::{self, InputError};
use portcullis_gate::ledger::LedgerHeader;
use portcullis_gate::remote::{GateClient, ToClient};
use portcullis_gate::{
    GateSettings, JudgementSummary, SaltKey, StreamEvent, StreamEventKind, StreamGovernor, StreamInput,
    TerminationTrigger,
};
use portcullis_report::escape::printable;
use portcullis_verify::console;
use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Longest wait for a gate in another process.
const GATE_DEADLINE: std::time::Duration = std::time::Duration::from_secs(120);

/// Determinations go to stdout, progress and errors to stderr.
///
/// The totals of several texts are at the end; with --json on stderr, where that is a terminal.
///
/// Exit codes: 0 every input got its determinations; 1 an error, or a task without an engine, or whose engine failed; 2
/// usage; 3 a single text was refused anywhere, or any with --fail-on-refuse; 4 a fault of the card.
///
/// With --bundle, SIGINT and SIGTERM end the intake: what was taken is governed to its end and the session is closed
/// (exit code 1). The second signal ends the process at once.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Folder of the policy package, or of a composition of packages (`portcullis policy compose`).
    #[arg(long, value_name = "DIR", required_unless_present = "gate", conflicts_with = "gate")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    member: MemberArg,
    /// Let a gate in another process judge: `unix:PATH` of `portcullis gated`. Its policy, card and profile apply.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["member", "card", "prefilter_profile", "prefilter_policy", "profile", "anchors", "granularity", "release", "on_refuse", "salt_key", "max_proposals", "bundle"])]
    gate: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    card: CardArgs,
    #[command(flatten)]
    text_lane: TextLaneArg,
    #[command(flatten)]
    bundle: BundleArgs,
    /// The agent's governed profile (`agent.toml`): intent, domain, audience, temporal, epistemic, register, facts.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Anchor store, JSON Lines or SQLite: what references are looked up in. May be given several times.
    #[arg(long, value_name = "FILE")]
    anchors: Vec<PathBuf>,
    /// Input: JSON Lines (`{"id","text"}` or `{"id","candidates":[["…",…],…]}`) when its name ends in .jsonl, else one
    /// text. Without it, or with `-`, one text from stdin.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Read the input in this format, whatever its name is.
    #[arg(long)]
    format: Option<InputFormatArg>,
    /// One JSON object per determination, then one per text with its summary.
    #[arg(long)]
    json: bool,
    /// Write admitted text only: JSON Lines (`{"id","text"}`) for JSON Lines input, else the bytes.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// After a refusal: leave the span out and continue, or end the stream. Default: skip for whole texts, stop for
    /// candidates.
    #[arg(long)]
    on_refuse: Option<OnRefuseArg>,
    /// Exit with 3 when anything was refused.
    #[arg(long)]
    fail_on_refuse: bool,
    /// Continue after an invalid line of the input; the exit code is still 1. Default: the first invalid line ends the
    /// input.
    #[arg(long)]
    keep_going: bool,
    /// Size of the spans that are judged. Default: whole texts are cut into spans, an engine's candidates are judged
    /// whole.
    #[arg(long)]
    granularity: Option<GranularityArg>,
    /// When admitted bytes leave; a rollback never crosses bytes that left.
    #[arg(long, default_value = "span")]
    release: ReleaseArg,
    /// Candidates that an engine is asked for in one stream, at most.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_proposals: u32,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// Key of the commitments' salts, 64 hexadecimal digits; for tests that compare whole runs.
    #[arg(long, value_name = "HEX")]
    salt_key: Option<String>,
}

pub(crate) fn run(args: &RunArgs) -> Result<u8, CommandFailure> {
    args.bundle.check_ledger(args.ledger.is_asked())?;
    let path = args.input.as_deref().filter(|p| p.as_os_str() != "-");
    let name = path.map_or_else(|| "stdin".to_owned(), |p| p.display().to_string());
    let by_name = path.is_some_and(|p| p.extension().is_some_and(|e| e == "jsonl"));
    let lines = args.format.map_or(by_name, |f| f == InputFormatArg::Jsonl);
    let reader: Box<dyn BufRead + Send> = match path {
        Some(path) => Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot open `{name}`"))?)),
        None => Box::new(BufReader::new(std::io::stdin())),
    };
    let problems = Rc::new(RefCell::new(Vec::new()));
    let items = items(lines, &name, reader);
    // After a signal, a session with a bundle must still be closed.
    let stop = args.bundle.is_asked().then(Stop::on_signals).transpose()?;
    let items: Box<dyn Iterator<Item = _>> = match &stop {
        Some(stop) => Box::new(stop.end(items)),
        None => items,
    };
    let kept = ItemFilter { items, problems: Rc::clone(&problems), keep_going: args.keep_going };
    let shape = if lines { AdmittedFileFormat::JsonLines } else { AdmittedFileFormat::Plain };
    let maker = args.engine.maker()?.map(Arc::new);

    let mut sink = match (&args.gate, &args.policy) {
        (Some(gate), _) => remote(args, gate, kept, maker.as_deref(), shape)?,
        (None, Some(policy)) => local(args, policy, kept, maker, shape)?,
        (None, None) => return Err(anyhow!("neither `--policy` nor `--gate`").into()),
    };
    // Totals are printed for several texts only. With --json, they are not printed on stdout, which programs read.
    if sink.totals.texts < 2 {
        // The summary of a single text contains the totals.
    } else if !args.json {
        sink.output.line(&sink.totals)?;
    } else if std::io::stderr().is_terminal() {
        errln!("{}", sink.totals);
    }
    let shown = sink.output.finish();
    if let Some(failure) = sink.failure.take() {
        return Err(failure);
    }
    shown?;
    let problems = problems.take();
    for problem in &problems {
        console::error(printable(&problem.to_string()));
    }
    let stopped = stop.is_some_and(|stop| stop.is_asked());
    if stopped {
        let texts = sink.totals.texts;
        console::error(format_args!(
            "a signal ended the intake after {texts} texts; the rest of the input was not governed"
        ));
    }
    let totals = &sink.totals;
    if totals.engine_failures > 0 {
        let (failures, texts) = (totals.engine_failures, totals.texts);
        console::error(format_args!("{failures} of {texts} texts ended because no engine gave them"));
    }
    Ok(if totals.faults > 0 {
        FAULT
    } else if stopped || !problems.is_empty() || totals.engine_failures > 0 {
        ERROR
    } else if totals.refused() && (args.fail_on_refuse || !lines) {
        REFUSED
    } else {
        SUCCESS
    })
}

/// Passes events on: to the ledger first, then to the output.
struct EventSink {
    output: RunOutput,
    journal: EvidenceJournal,
    progress: ProgressBar,
    totals: RunTotals,
    failure: Option<CommandFailure>,
}

#[derive(Default)]
struct RunTotals {
    texts: u64,
    admitted: u64,
    rejected: u64,
    decomposed: u64,
    /// Number of tasks that the filter refused before an engine received them.
    filtered: u64,
    /// Number of tasks without an engine, or whose engine failed.
    engine_failures: u64,
    faults: u64,
}

impl RunTotals {
    fn add(&mut self, summary: &JudgementSummary) {
        self.texts += 1;
        self.admitted += summary.admitted;
        self.rejected += summary.rejected;
        self.decomposed += summary.decomposed;
        self.faults += summary.faults;
        match summary.termination.as_ref().map(|termination| termination.trigger) {
            Some(TerminationTrigger::Prefilter) => self.filtered += 1,
            Some(TerminationTrigger::Engine) => self.engine_failures += 1,
            _ => {}
        }
    }

    const fn refused(&self) -> bool {
        self.rejected > 0 || self.filtered > 0
    }
}

impl fmt::Display for RunTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { texts, admitted, rejected, decomposed, filtered, engine_failures, faults } = self;
        write!(f, "total: {texts} texts; {admitted} admitted, {rejected} rejected, {decomposed} decomposed")?;
        for (count, what) in
            [(filtered, "stopped by the filter"), (engine_failures, "without an engine's answer"), (faults, "faults")]
        {
            if *count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

impl EventSink {
    fn new(args: &RunArgs, shape: AdmittedFileFormat, header: &LedgerHeader) -> Result<Self, CommandFailure> {
        let journal = EvidenceJournal { recorder: None, ledger: args.ledger.open(header)? };
        let output = RunOutput::new(args.json, args.output.as_deref(), shape)?;
        Ok(Self { output, journal, progress: progress(), totals: RunTotals::default(), failure: None })
    }

    fn event(&mut self, event: StreamEvent) -> Result<(), CommandFailure> {
        self.journal.event(&event)?;
        if let StreamEventKind::Ended { summary, .. } = &event.what {
            self.totals.add(summary);
            self.progress.set_position(self.totals.texts);
        }
        self.output.event(event)
    }

    /// Ends the progress display, and keeps an error for later: the output so far is still printed.
    fn end(mut self, result: Result<(), CommandFailure>) -> Self {
        self.progress.finish_and_clear();
        self.failure = result.err();
        self
    }
}

fn local(
    args: &RunArgs,
    policy: &std::path::Path,
    items: impl Iterator<Item = StreamInput>,
    maker: Option<Arc<EngineFactory>>,
    shape: AdmittedFileFormat,
) -> Result<EventSink, CommandFailure> {
    let policy = open::policy(policy, &args.member, args.text_lane)?;
    let salt = match &args.salt_key {
        Some(hex) => SaltKey::from_bytes(salt_key(hex)?),
        None => SaltKey::random().map_err(anyhow::Error::from)?,
    };
    let profile = open::profile(args.profile.as_deref())?;
    let settings = GateSettings {
        granularity: args.granularity.map(Into::into),
        on_refuse: args.on_refuse.map(Into::into),
        release: args.release.into(),
        max_proposals: args.max_proposals,
        profile: profile.clone(),
        ..GateSettings::new(salt)
    };
    let anchors = open::anchors(&args.anchors, &policy.mapper)?;
    let mut governor =
        StreamGovernor::new(Arc::clone(&policy), settings).map_err(anyhow::Error::from)?.with_anchors(anchors.clone());
    if let Some(maker) = maker {
        governor = governor.with_engines(args.filter.open(&policy.package)?, Arc::new(move |_, _| maker.make()));
    }
    let mut sink = EventSink::new(args, shape, &policy.header(args.card.name()))?;
    let mut card = args.card.open()?;
    let (recorder, config) = args.bundle.start(card.as_mut(), &policy, &profile, &anchors)?;
    sink.journal.recorder = recorder;
    let governor = Arc::new(governor);
    // Records are evidence even if governing failed, so the session is closed and its bundle finished in any case.
    let governed = match CardSession::open(card, &policy.compiled.image, config) {
        Ok(mut session) => {
            let governed = governor.govern(&mut session, items, |event| sink.event(event));
            // The salt key is not needed after the session.
            drop(governor);
            let closed = close(session);
            governed.and(closed)
        }
        Err(error) => Err(error.into()),
    };
    let written = sink.journal.finish().map_err(CommandFailure::from);
    Ok(sink.end(governed.and(written)))
}

/// Closes a session. Errors: closing failed, or a fault ended the session.
pub(crate) fn close(session: CardSession) -> Result<(), CommandFailure> {
    let closed = session.close()?;
    match closed.cause {
        fault if closed.needs_reset => Err(SessionError::NeedsReset(fault).into()),
        Fault::None => Ok(()),
        fault => Err(SessionError::Faulted(fault).into()),
    }
}

fn remote(
    args: &RunArgs,
    gate: &str,
    items: impl Iterator<Item = StreamInput>,
    maker: Option<&EngineFactory>,
    shape: AdmittedFileFormat,
) -> Result<EventSink, CommandFailure> {
    let path = gate.strip_prefix("unix:").ok_or_else(|| anyhow!("`{gate}`: expected `unix:PATH`"))?;
    let connected = GateClient::connect(std::path::Path::new(path), GATE_DEADLINE);
    let mut client = connected.map_err(anyhow::Error::from).with_context(|| format!("`{path}`"))?;
    let ToClient::Welcome { policy, package_digest, image_digest, thresholds, card, .. } = client.welcome().clone()
    else {
        return Err(anyhow!("the gate did not say who it is").into());
    };
    let header = LedgerHeader::now(policy, package_digest, image_digest, thresholds, card);
    let mut sink = EventSink::new(args, shape, &header)?;
    for (number, item) in (0u64..).zip(items) {
        let engine = match (&item, maker) {
            (StreamInput::Prompt { .. }, Some(maker)) => Some(maker.make().map_err(anyhow::Error::from)?),
            _ => None,
        };
        let governed = client.govern(number, item, engine, |event| sink.event(event));
        if governed.is_err() {
            return Ok(sink.end(governed));
        }
    }
    Ok(sink.end(Ok(())))
}

/// Yields the valid items, and stores problems for the end. The first problem ends the input, unless `keep_going` is
/// set.
struct ItemFilter<I> {
    items: I,
    problems: Rc<RefCell<Vec<InputError>>>,
    keep_going: bool,
}

impl<I: Iterator<Item = Result<StreamInput, InputError>>> Iterator for ItemFilter<I> {
    type Item = StreamInput;

    fn next(&mut self) -> Option<StreamInput> {
        loop {
            if !self.keep_going && !self.problems.borrow().is_empty() {
                return None;
            }
            match self.items.next()? {
                Ok(item) => return Some(item),
                Err(problem) => self.problems.borrow_mut().push(problem),
            }
        }
    }
}

type Items = Box<dyn Iterator<Item = Result<StreamInput, InputError>> + Send>;

fn items(lines: bool, name: &str, reader: Box<dyn BufRead + Send>) -> Items {
    if lines {
        Box::new(input::json_lines(name, reader))
    } else {
        Box::new(std::iter::once(input::plain_text(name, reader)))
    }
}

fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} texts judged, {elapsed}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

pub(crate) fn salt_key(digits: &str) -> Result<[u8; 32], CommandFailure> {
    let key = hex::decode(&digits.to_ascii_lowercase());
    Ok(key.ok_or_else(|| anyhow!("`--salt-key` takes 64 hexadecimal digits"))?)
}
