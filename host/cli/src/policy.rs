//! `portcullis policy …`: commands on policy packages.

use crate::authority;
use crate::compose;
use crate::failure::{CommandFailure, ERROR, REFUSED, SUCCESS, WARNED};
use crate::lane;
use crate::open::{self, CardArgs, MemberArg, PolicyArgs, TextLaneArg};
use crate::output::{digest, digests};
use crate::policy_case;
use crate::policy_measure;
use crate::trial;
use anyhow::{Context, anyhow};
use portcullis_authority::keys::{self, AuthorityKey};
use portcullis_card::{CardSession, SessionConfig};
use portcullis_evidence::approval::PolicyApproval;
use portcullis_evidence::signing::StatementKey;
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamGovernor, banks_on_card, judge_text};
use portcullis_image::ImageEvaluator;
use portcullis_policy::commands;
use portcullis_policy::context::ContextConverter;
use portcullis_policy::decision::DescriptorDecision;
use portcullis_policy::{ImagePolicySet, PackageComposition, PolicyPackage, RowCapacity, is_composition};
use portcullis_report::terminal::TerminalTone;
use portcullis_verify::console::{InfallibleStdout, json_line, json_pretty, stderr_terminal, stdout_terminal};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Subcommand)]
pub(crate) enum PolicyCommand {
    /// Make a package that compiles and passes its tests.
    New {
        /// Folder to make; its name is the package's.
        dir: PathBuf,
    },
    Compose(Box<compose::PolicyComposeArgs>),
    /// Compile a package: errors, warnings, what it costs in table rows, and what a text lane would see of its classes.
    /// Of a composition: each member, and the numbers that its domains and classes have in the common image.
    Check {
        /// Folder of the package or the composition.
        dir: PathBuf,
        /// Exit with 1 when there is a warning.
        #[arg(long)]
        strict: bool,
    },
    /// Compile a package or a composition to a table image.
    Build {
        /// Folder of the package or the composition.
        dir: PathBuf,
        /// Where the image goes.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        text_lane: TextLaneArg,
    },
    /// Write the Cedar schema that the package's declarations give.
    Schema {
        /// Folder of the package.
        dir: PathBuf,
        /// Print it instead.
        #[arg(long)]
        print: bool,
    },
    /// Format the package's Cedar files.
    Fmt {
        /// Folder of the package.
        dir: PathBuf,
        /// Change nothing; exit with 1 when a file is not formatted.
        #[arg(long)]
        check: bool,
    },
    /// Run the tests that ship with a package: contexts by evaluator and Cedar both, texts by mapping and card.
    Test {
        /// Folder of the package, or of a composition: then the common image judges, and texts need a member that is
        /// used with the profile without content.
        dir: PathBuf,
        #[command(flatten)]
        member: MemberArg,
        #[command(flatten)]
        card: CardArgs,
        #[command(flatten)]
        text_lane: TextLaneArg,
    },
    /// Decide contexts: one per line from stdin, `{"category", …fields…}` or `{"category", "context": {…}}`; fields
    /// that are left out have neutral values. Prints the decision of both banks with the deciding rules.
    Eval {
        #[command(flatten)]
        policy: PolicyArgs,
        /// Ask a card (`sim`, `model`, `vfio-user:PATH`) in place of the software evaluator.
        #[arg(long)]
        card: Option<portcullis_card::CardChoice>,
    },
    /// Say which rows match one context, and what keeps the nearest others from it. Reads one context from stdin, as
    /// `eval`.
    Explain {
        #[command(flatten)]
        policy: PolicyArgs,
        /// Say what a card's text lane would see of each class, and what stays the host's. Reads no context.
        #[arg(long)]
        lane: bool,
    },
    /// What changed from A to B, with descriptors that the two decide differently.
    ///
    /// Exit codes: 0 everything was compared and decides alike; 3 a descriptor is decided differently; 5 no difference
    /// was found, but not everything could be compared: the lines `not compared` and `undecided` say what.
    Diff {
        /// Folder of the one package.
        a: PathBuf,
        /// Folder of the other.
        b: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    Measure(Box<policy_measure::PolicyMeasureArgs>),
    Case(policy_case::PolicyCaseArgs),
    Trial(trial::PolicyTrialArgs),
    /// Approve a package or a composition as it lies there: a signature over the digest of its tables, which holds the
    /// digest of its files. Whoever verifies a bundle finds the approval in it (`run --approval`) and believes it when
    /// the key is among their approvers.
    Approve {
        /// Folder of the package or the composition.
        dir: PathBuf,
        /// The approver's private key, a file. `program:PATH` is a program that signs with a key in a device.
        #[arg(long, value_name = "FILE|program:PATH")]
        key: PathBuf,
        /// Make a new private key, with mode 600, in the file of `--key`, which must not exist yet.
        #[arg(long)]
        new_key: bool,
        /// Name of the approver, as reports show it.
        #[arg(long)]
        name: String,
        /// New file for the approval.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// New file for the approver's public key, for the folder `approvers` of a trust folder.
        #[arg(long, value_name = "FILE")]
        public: Option<PathBuf>,
        #[command(flatten)]
        text_lane: TextLaneArg,
    },
    /// Print the digests of the package or the composition, and of its image.
    Digest {
        /// Folder of the package or the composition.
        dir: PathBuf,
        #[command(flatten)]
        text_lane: TextLaneArg,
    },
}

/// Longest name of an approver, in characters.
const NAME_CHARS: usize = 200;
/// Name of the schema in a package.
const SCHEMA_FILE: &str = "policy.cedarschema";

pub(crate) fn run(command: &PolicyCommand) -> Result<u8, CommandFailure> {
    match command {
        PolicyCommand::New { dir } => {
            commands::create(dir)?;
            outln!("made {}; try `portcullis policy test {}`", dir.display(), dir.display());
            Ok(SUCCESS)
        }
        PolicyCommand::Compose(args) => compose::run(args),
        PolicyCommand::Measure(args) => policy_measure::run(args),
        PolicyCommand::Case(args) => policy_case::run(args),
        PolicyCommand::Trial(args) => trial::run(args),
        PolicyCommand::Check { dir, strict } if is_composition(dir) => {
            check_composition(&PackageComposition::load(dir)?, *strict)
        }
        PolicyCommand::Check { dir, strict } => check(&PolicyPackage::load(dir)?, *strict),
        PolicyCommand::Build { dir, output, text_lane } => {
            let policies = text_lane.load(dir)?;
            write(output, policies.image().as_bytes())?;
            outln!("{}  {}", digest(&policies.image().digest()), output.display());
            Ok(SUCCESS)
        }
        PolicyCommand::Schema { dir, print } => {
            let schema = PolicyPackage::load(dir)?.schema();
            if *print {
                outln!("{}", schema.trim_end());
            } else {
                let path = dir.join(SCHEMA_FILE);
                write(&path, schema.as_bytes())?;
                outln!("wrote {}", path.display());
            }
            Ok(SUCCESS)
        }
        PolicyCommand::Fmt { dir, check } => format(dir, *check),
        PolicyCommand::Test { dir, member, card, text_lane } => test(&open::policy(dir, member, *text_lane)?, card),
        PolicyCommand::Eval { policy, card } => eval(&*policy.open()?, card.as_ref()),
        PolicyCommand::Explain { policy, lane: true } => {
            outln!("{}", json_pretty(&lane::explain(&policy.open()?.package)?)?);
            Ok(SUCCESS)
        }
        PolicyCommand::Explain { policy, lane: false } => {
            let policy = policy.open()?;
            let GatePolicy { package, compiled, .. } = &*policy;
            let line = std::io::read_to_string(std::io::stdin())?;
            let descriptor =
                commands::eval_line(ContextConverter::new(package.vocabulary()), &line).map_err(anyhow::Error::from)?;
            let explanation = commands::explain(compiled, package.vocabulary(), &descriptor);
            outln!("{}", json_pretty(&explanation)?);
            Ok(SUCCESS)
        }
        PolicyCommand::Diff { a, b, json } => diff(a, b, *json),
        PolicyCommand::Approve { dir, key, new_key, name, output, public, text_lane } => {
            if name.is_empty() || name.chars().count() > NAME_CHARS || name.contains(char::is_control) {
                return Err(anyhow!("the name of an approver is one line of 1 to {NAME_CHARS} characters").into());
            }
            let policies = text_lane.load(dir)?;
            let approve = |key: AuthorityKey| approve(&policies, &key, name, output, public.as_deref());
            match new_key {
                true => keys::with_new(key, |key| approve(key.into()))?,
                false => approve(authority::own_key(key, "approver")?)?,
            }
            let digests = digests(&digest(&policies.digest()), &digest(&policies.image().digest()));
            outln!("{name} approves\n{digests}");
            Ok(SUCCESS)
        }
        PolicyCommand::Digest { dir, text_lane } => {
            let policies = text_lane.load(dir)?;
            outln!("{}", digests(&digest(&policies.digest()), &digest(&policies.image().digest())));
            Ok(SUCCESS)
        }
    }
}

fn approve(
    policies: &ImagePolicySet,
    key: &dyn StatementKey,
    name: &str,
    output: &Path,
    public: Option<&Path>,
) -> anyhow::Result<()> {
    let create = |path: &Path, bytes: &[u8]| -> anyhow::Result<()> {
        let mut file = std::fs::File::create_new(path)
            .with_context(|| format!("an approval needs new files, not `{}`", path.display()))?;
        Ok(file.write_all(bytes)?)
    };
    let approval = PolicyApproval::sign(policies.image().digest(), name, key)?;
    let pem = keys::public_pem(&key.verifying_key())?;
    create(output, &approval)?;
    public.map_or(Ok(()), |public| create(public, pem.as_bytes())).inspect_err(|_| {
        // The error says more than a failure of this.
        let _ = std::fs::remove_file(output);
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CommandFailure> {
    Ok(std::fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))?)
}

fn check(package: &PolicyPackage, strict: bool) -> Result<u8, CommandFailure> {
    let report = commands::check(package, RowCapacity::default())?;
    let identity = &package.manifest().package;
    outln!("{} {}", identity.name, identity.version);
    for bank in &report.banks {
        outln!("{} bank: {} of {} rows", bank.bank.name(), bank.rows, bank.capacity);
        for rule in &bank.rules {
            outln!("  {:>4}  {:<16} {}", rule.rows, rule.kind.name(), rule.id);
        }
    }
    lane::check(package)?;
    for warning in &report.warnings {
        let terminal = stderr_terminal();
        errln!("{}", warning.render_in(terminal.colour, terminal.columns));
    }
    Ok(if strict && !report.warnings.is_empty() { ERROR } else { SUCCESS })
}

/// Checks each member separately, then the composition.
fn check_composition(composition: &PackageComposition, strict: bool) -> Result<u8, CommandFailure> {
    let mut code = SUCCESS;
    for member in composition.members() {
        outln!("member {}", member.name);
        code = code.max(check(&member.alone, strict)?);
    }
    compose::show(&composition.report(RowCapacity::default())?, false)?;
    Ok(code)
}

fn format(dir: &Path, check: bool) -> Result<u8, CommandFailure> {
    let mut code = SUCCESS;
    for file in commands::format(&PolicyPackage::load(dir)?)?.iter().filter(|f| f.changed) {
        if check {
            outln!("{} is not formatted", file.path);
            code = ERROR;
        } else {
            write(&dir.join(&file.path), file.text.as_bytes())?;
            outln!("{}", file.path);
        }
    }
    Ok(code)
}

fn test(policy: &Arc<GatePolicy>, card: &CardArgs) -> Result<u8, CommandFailure> {
    let tests = commands::parse_tests(&policy.package)?;
    // A determination does not depend on salts, so a fixed key is enough.
    let settings = GateSettings { streams: 1, ..GateSettings::new(SaltKey::from_bytes([0; 32])) };
    let governor = Arc::new(StreamGovernor::new(Arc::clone(policy), settings).map_err(anyhow::Error::from)?);
    let config = SessionConfig { text_stride_log2: policy.text_stride_log2(), ..SessionConfig::default() };
    let mut session = CardSession::open(card.open()?, &policy.compiled.image, config)?;
    let results = commands::run_tests(&policy.package, &policy.compiled, &tests, |test, text, task| {
        judge_text(&governor, &mut session, &test.name, text, task).map_err(|e| format!("{:#}", anyhow::Error::from(e)))
    })?;
    session.close()?;
    let terminal = stdout_terminal();
    let mut failed = 0;
    for result in &results {
        if let Some(failure) = &result.failure {
            failed += 1;
            let mark = terminal.paint(TerminalTone::Bad, "FAILED");
            outln!("{}", terminal.wrap(7, &format!("{mark} line {}, `{}`: {failure}", result.line, result.name)));
        }
    }
    outln!("{}: {} passed, {failed} failed", policy.package.manifest().package.name, results.len() - failed);
    Ok(if failed == 0 { SUCCESS } else { ERROR })
}

fn eval(
    GatePolicy { package, compiled, .. }: &GatePolicy,
    card: Option<&portcullis_card::CardChoice>,
) -> Result<u8, CommandFailure> {
    let contexts = ContextConverter::new(package.vocabulary());
    let evaluator = ImageEvaluator::new(&compiled.image);
    let mut session = match card {
        None => None,
        Some(choice) => {
            let card = choice.open().map_err(anyhow::Error::from)?;
            Some(CardSession::open(card, &compiled.image, SessionConfig::default())?)
        }
    };
    let mut out = InfallibleStdout;
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let descriptor = commands::eval_line(contexts, &line).with_context(|| format!("line {}", number + 1))?;
        let banks = match &mut session {
            None => evaluator.evaluate(&descriptor),
            Some(session) => {
                banks_on_card(session, compiled, &descriptor)?.with_context(|| format!("line {}", number + 1))?
            }
        };
        writeln!(out, "{}", json_line(&DescriptorDecision::new(compiled, &descriptor, &banks))?)?;
    }
    if let Some(session) = session {
        session.close()?;
    }
    Ok(SUCCESS)
}

fn diff(a: &Path, b: &Path, json: bool) -> Result<u8, CommandFailure> {
    let (a, b) = (PolicyPackage::load(a)?, PolicyPackage::load(b)?);
    let (compiled_a, compiled_b) = (a.compile()?, b.compile()?);
    let diff = commands::diff((&a, &compiled_a), (&b, &compiled_b))?;
    if json {
        outln!("{}", json_line(&diff)?);
    } else {
        for weaker in &diff.weaker {
            outln!("weaker       {weaker}");
        }
        for line in &diff.declarations {
            let label = if diff.not_compared.contains(line) { "not compared" } else { "declaration" };
            outln!("{label:<12} {line}");
        }
        for rule in &diff.rules {
            outln!("rule         {} {}", rule.id, json_line(&rule.change)?);
        }
        for witness in &diff.witnesses {
            let side = |d: &DescriptorDecision| {
                let rule = d.rule.as_deref().map(|r| format!(" by {r}")).unwrap_or_default();
                format!("{}{rule}", d.determination.name())
            };
            outln!(
                "decided      {} in A, {} in B: {} {}",
                side(&witness.a),
                side(&witness.b),
                witness.category,
                witness.context_a
            );
        }
        for (rule_a, rule_b) in &diff.undecided {
            outln!("undecided    {rule_a} against {rule_b}: too many combinations to solve");
        }
        if diff.nothing_differs() {
            outln!("A and B decide every descriptor alike");
        } else if diff.witnesses.is_empty() {
            outln!("no difference was found, but A and B could not be compared in full");
        }
    }
    Ok(match (diff.nothing_differs(), diff.witnesses.is_empty()) {
        (true, _) => SUCCESS,
        (false, true) => WARNED,
        (false, false) => REFUSED,
    })
}
