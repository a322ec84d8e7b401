//! `portcullis serve`: the gate in front of a model server.

use crate::failure::{CommandFailure, SUCCESS};
use crate::open::{self, CardArgs, CardsArgs, MemberArg, TextLaneArg};
use crate::recording::RecordingArgs;
use anyhow::{Context, anyhow};
use clap::ArgGroup;
use clap::error::ErrorKind;
use portcullis_card::SessionConfig;
use portcullis_core::hex::HexBytes;
use portcullis_core::state::AgentProfile;
use portcullis_gate::anchor::AnchorSet;
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamGovernor};
use portcullis_gateway::config::{
    AnswerMode, CardSettings, DEFAULT_LISTEN, EvidenceSettings, GatewayConfig, GatewayLimits, ReleaseCondition,
    ServedModelSettings, SessionRotation, TraceExportSettings, UpstreamKind,
};
use portcullis_gateway::session::{GatewaySessions, Opener, SessionFailure, SessionParts, needed_validity};
use portcullis_gateway::{ServeError, serve};
use portcullis_recorder::{IssuerAccess, TicketFolder, TicketSource};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest wait for a session's ticket.
const TICKET_WAIT: Duration = Duration::from_secs(60);
/// Interval between checks for signals.
const LOOK: Duration = Duration::from_millis(20);

/// Serves `/v1/chat/completions`, `/v1/completions`, `/v1/responses`, `/v1/messages` and `/v1/models` in front of a
/// model server. Clients change their base URL and nothing else. No byte of an answer leaves before the card admitted
/// it.
///
/// SIGINT and SIGTERM end the service: no request is taken any more, open answers have `rotation.drain_ms` to end, and
/// the bundle is finished. The second signal ends the process at once. SIGHUP reads policies, profiles and stores
/// again, ends the session, and with it the bundle, and opens the next one under what was read. Where that is not fit
/// for use, everything stays as it is, and stderr says why.
///
/// With several cards, each has sessions of its own, and a request goes to a card with a free slot. If a card is lost,
/// its open answers end with `gate_failed`, and later requests go to the other cards; the service ends with the last
/// card. The exit code then tells the failure of the first lost card in the order of the cards.
///
/// Exit codes: 0 ended by a signal; 1 an error; 2 usage; 4 a fault of a card.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("bundle").args(["bundles", "config"]).multiple(true))]
#[command(after_long_help = "Examples:
  portcullis serve --policy policies/pii --upstream http://127.0.0.1:18080/v1 --bundles bundles
  portcullis serve --config gateway.toml
  portcullis serve --policy policies/pii --upstream http://127.0.0.1:18080/v1 --card vfio:0000:17:00.0 --card vfio:0000:65:00.0
  curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"any\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'")]
pub(crate) struct ServeArgs {
    /// Configuration (TOML). Flags override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of the policy package.
    #[arg(long, value_name = "DIR")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    member: MemberArg,
    /// Base of a model server's paths, such as `http://127.0.0.1:18080/v1`: every model that a client names is asked
    /// there.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// API of the server of `--upstream`.
    #[arg(long, default_value = "openai", requires = "upstream")]
    upstream_kind: UpstreamKind,
    /// What the gate does with answers: `held` judges a text on its way; `driven` asks a server of kind `vllm`,
    /// `llamacpp` or `sglang` for a sentence at a time, and has it continue from admitted text; `observed` judges and
    /// records a text, and clients get all of it.
    #[arg(long, default_value = "held", requires = "upstream")]
    mode: AnswerMode,
    /// Where clients connect. Without keys only an address of the loopback interface is taken. Default: 127.0.0.1:8080.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The profile that answers are governed under (`agent.toml`).
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Anchor store; may be given several times.
    #[arg(long, value_name = "FILE")]
    anchors: Vec<PathBuf>,
    /// Each session leaves its bundle in a new folder under this one; with several cards, in `card-0`, `card-1` and so
    /// on.
    #[arg(long, value_name = "DIR")]
    bundles: Option<PathBuf>,
    /// When text leaves: once the card has admitted it, or once a checkpoint over its record is signed, which needs
    /// `--bundles`.
    #[arg(long, value_name = "WHEN")]
    release: Option<ReleaseCondition>,
    /// Send a trace of each request, without texts, to the OpenTelemetry collector at this address: OTLP over HTTP,
    /// such as `http://127.0.0.1:4318/v1/traces`.
    #[arg(long, value_name = "URL")]
    traces: Option<String>,
    /// Each session has the next ticket of this folder, from `portcullis ticket issue`: the first by its name that is
    /// for the policy. It is renamed to NAME.used before the session begins. An issuer gives the next one once the
    /// session before is closed, so that it is waited for, at most 60 seconds; without one the gateway ends. Without
    /// this flag each session issues a ticket to itself, and says so.
    #[arg(long, value_name = "DIR", requires = "bundle", conflicts_with = "issuer")]
    tickets: Option<PathBuf>,
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    cards: CardsArgs,
    #[command(flatten)]
    text_lane: TextLaneArg,
}

/// Ends the process with a usage error if neither a configuration nor its minimum in flags is given.
fn require_settings(args: &ServeArgs, mut command: clap::Command) {
    if args.config.is_some() || (args.policy.is_some() && args.upstream.is_some()) {
        return;
    }
    let missing = match (&args.policy, &args.upstream) {
        (Some(_), None) => "`--upstream URL` is missing: ",
        (None, Some(_)) => "`--policy DIR` is missing: ",
        _ => "",
    };
    command.build();
    if let Some(serve) = command.find_subcommand_mut("serve") {
        let why = format!("{missing}give `--config FILE`, or `--policy DIR` and `--upstream URL`");
        serve.error(ErrorKind::MissingRequiredArgument, why).exit();
    }
}

pub(crate) fn run(args: &ServeArgs, command: clap::Command) -> Result<u8, CommandFailure> {
    require_settings(args, command);
    let config = config(args)?;
    config.check().map_err(anyhow::Error::from)?;
    let (stop, rotate) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    flag::register(SIGHUP, Arc::clone(&rotate))?;
    portcullis_gateway::logs::to_stderr();
    let governed = Arc::new(Mutex::new(Arc::new(load(&config, args.text_lane)?)));
    let openers = openers(args, &config, &governed, &stop)?;
    let sessions = GatewaySessions::new(openers, &config.rotation, &config.evidence);
    let rotation = sessions.rotation(Duration::from_millis(config.rotation.drain_ms));
    let (files, text_lane) = (config.clone(), args.text_lane);
    let signals = async move {
        while !stop.load(Ordering::Relaxed) {
            if rotate.swap(false, Ordering::Relaxed) {
                let files = files.clone();
                match tokio::task::spawn_blocking(move || load(&files, text_lane)).await {
                    Ok(Ok(models)) => {
                        let mut held = governed.lock().unwrap_or_else(PoisonError::into_inner);
                        let is_same = held
                            .iter()
                            .map(ServedModelPolicy::digests)
                            .eq(models.iter().map(ServedModelPolicy::digests));
                        *held = Arc::new(models);
                        drop(held);
                        if is_same { rotation.ask() } else { rotation.ask_for_policy_change() }
                    }
                    Ok(Err(failure)) => {
                        tracing::error!(%failure, "the policies stay as they were: what was read is not fit for use")
                    }
                    Err(error) => tracing::error!(%error, "the policies cannot be read"),
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    serve(&config, sessions, signals, |address| outln!("listening on {scheme}://{address}/v1"))?;
    Ok(SUCCESS)
}

/// The configuration from the file, with the flags applied.
fn config(args: &ServeArgs) -> Result<GatewayConfig, CommandFailure> {
    if args.member.member.is_some() && args.upstream.is_none() {
        return Err(anyhow!(
            "`--member` belongs to `--upstream`; in a configuration each `[[model]]` names its member"
        )
        .into());
    }
    let mut config = match &args.config {
        Some(file) => GatewayConfig::read(file).map_err(anyhow::Error::from)?,
        None => GatewayConfig {
            listen: DEFAULT_LISTEN,
            tls: None,
            policy: PathBuf::new(),
            profile: None,
            anchors: Vec::new(),
            cards: Vec::new(),
            bundles: None,
            models: Vec::new(),
            keys: Vec::new(),
            limits: GatewayLimits::default(),
            rotation: SessionRotation::default(),
            evidence: EvidenceSettings::default(),
            admin: None,
            traces: None,
        },
    };
    let over = |of: &mut Option<PathBuf>, flag: &Option<PathBuf>| {
        if flag.is_some() {
            of.clone_from(flag);
        }
    };
    over(&mut config.profile, &args.profile);
    over(&mut config.bundles, &args.bundles);
    if !args.cards.cards.is_empty() {
        if !config.cards.is_empty() {
            let why = "leave `--card` out, or the `[[card]]` of the configuration";
            return Err(anyhow!("`--card` would replace cards that have settings of their own; {why}").into());
        }
        config.cards = args.cards.cards.iter().cloned().map(CardSettings::from).collect();
    }
    if config.cards.is_empty() {
        config.cards = vec![open::default_card().into()];
    }
    if let Some(tickets) = &args.tickets {
        let [card] = config.cards.as_mut_slice() else {
            let why = "each `[[card]]` of a configuration names its own folder of tickets";
            return Err(anyhow!("`--tickets` is for one card; {why}").into());
        };
        card.tickets = Some(tickets.clone());
    }
    config.policy = args.policy.clone().unwrap_or(config.policy);
    config.listen = args.listen.unwrap_or(config.listen);
    config.evidence.release = args.release.unwrap_or(config.evidence.release);
    if let Some(endpoint) = &args.traces {
        config.traces = Some(TraceExportSettings::to(endpoint.clone()));
    }
    if let (None, Some(flag)) = (&config.bundles, args.recording.given()) {
        return Err(
            anyhow!("`{flag}` is about a bundle; give `--bundles DIR`, or `bundles` in the configuration").into()
        );
    }
    if let Some(texts) = &args.recording.texts {
        config.evidence.texts = texts.clone();
    }
    config.anchors.extend(args.anchors.iter().cloned());
    if let Some(upstream) = &args.upstream {
        config.models = vec![ServedModelSettings {
            name: "*".into(),
            upstream: upstream.clone(),
            kind: args.upstream_kind,
            mode: args.mode,
            upstream_model: None,
            upstream_key: None,
            upstream_ca: None,
            strict_upstream: false,
            member: args.member.member.clone(),
            profile: None,
        }];
    }
    Ok(config)
}

/// The policy, the profile and the settings for a model's answers.
struct ServedModelPolicy {
    policy: Arc<GatePolicy>,
    anchors: AnchorSet,
    profile: AgentProfile,
}

impl ServedModelPolicy {
    /// Digests of package, tables and profile. Determinations depend on these three.
    fn digests(&self) -> ([u8; 32], [u8; 32], HexBytes<32>) {
        (self.policy.package.digest(), self.policy.compiled.image.digest(), self.profile.digest())
    }
}

/// Loads the policies, stores and profiles of all models.
fn load(config: &GatewayConfig, text_lane: TextLaneArg) -> Result<Vec<ServedModelPolicy>, CommandFailure> {
    let mut models = Vec::new();
    for model in &config.models {
        let policy = open::policy(&config.policy, &MemberArg { member: model.member.clone() }, text_lane)?;
        let anchors = open::anchors(&config.anchors, &policy.mapper)?;
        let profile = open::profile(model.profile.as_deref().or(config.profile.as_deref()))?;
        let fits = profile.context(policy.package.manifest()).map_err(anyhow::Error::from);
        fits.with_context(|| format!("model `{}`", model.name))?;
        models.push(ServedModelPolicy { policy, anchors, profile });
    }
    Ok(models)
}

/// For each card, an opener that uses the current policies and settings for each new session.
fn openers(
    args: &ServeArgs,
    config: &GatewayConfig,
    governed: &Arc<Mutex<Arc<Vec<ServedModelPolicy>>>>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Opener>, CommandFailure> {
    let issuer = args.recording.issuer()?;
    let single = config.cards.len() == 1;
    let opener = |(place, card): (usize, &CardSettings)| {
        let name = (!single).then(|| format!("card-{place}"));
        let folder = |bundles: &PathBuf| name.as_ref().map_or(bundles.clone(), |name| bundles.join(name));
        let bundles = config.bundles.as_ref().map(folder);
        if let Some(bundles) = &bundles {
            std::fs::create_dir_all(bundles).with_context(|| format!("cannot make `{}`", bundles.display()))?;
        }
        let mut recording = args.recording.clone();
        recording.texts = Some(config.evidence.texts.clone());
        if card.device_cert.is_some() {
            recording.device_cert.clone_from(&card.device_cert);
            recording.device_chain.clone_from(&card.device_chain);
        }
        let seat = |first: u16| card.seat.or_else(|| first.checked_add(u16::try_from(place).ok()?));
        let issuer = issuer.clone().map(|issuer| {
            let seat = seat(issuer.seat).ok_or_else(|| anyhow!("the seat of card `{}` is above 65535", card.card))?;
            anyhow::Ok(IssuerAccess { seat, ..issuer })
        });
        let tickets = match (&card.tickets, issuer.transpose()?) {
            (Some(_), Some(_)) => return Err(anyhow!("`--issuer` gives the tickets; leave `tickets` out").into()),
            (Some(folder), None) => TicketSource::Folder(TicketFolder {
                path: folder.clone(),
                within: TICKET_WAIT,
                lasting: needed_validity(&config.rotation),
                stop: Arc::clone(stop),
            }),
            (None, Some(issuer)) => TicketSource::Issuer(issuer),
            (None, None) => TicketSource::SelfIssued,
        };
        let governed = Arc::clone(governed);
        let mut card = SessionOpener { card: args.cards.of(card.card.clone()), recording, tickets, bundles, name };
        Ok(Box::new(move |salt: SaltKey| {
            let models = Arc::clone(&governed.lock().unwrap_or_else(PoisonError::into_inner));
            card.open(&models, &salt)
        }) as Opener)
    };
    config.cards.iter().enumerate().map(opener).collect()
}

/// Opens the sessions of a card.
struct SessionOpener {
    card: CardArgs,
    recording: RecordingArgs,
    tickets: TicketSource,
    /// Folder of the card's bundles.
    bundles: Option<PathBuf>,
    /// Name of the card among several cards, as the beginning of its sessions' names.
    name: Option<String>,
}

impl SessionOpener {
    fn open(&mut self, models: &[ServedModelPolicy], salt: &SaltKey) -> Result<SessionParts, SessionFailure> {
        let failed = |failure: CommandFailure| SessionFailure::Open(failure.to_string());
        let mut card = self.card.open().map_err(failed)?;
        let Some(ServedModelPolicy { policy, anchors, profile }) = models.first() else {
            return Err(SessionFailure::Open("no model is configured".into()));
        };
        let (session, recorder, config) = match &self.bundles {
            Some(bundles) => {
                let (session, folder) =
                    next_folder(bundles).map_err(|error| SessionFailure::Open(format!("{error:#}")))?;
                let options = self.recording.options(folder, self.tickets.clone(), profile);
                let (recorder, config) = options.start(card.as_mut(), &policy.package, &policy.compiled, anchors)?;
                (session, Some(recorder), config)
            }
            None => {
                let text_stride_log2 = policy.text_stride_log2();
                ("unrecorded".to_owned(), None, SessionConfig { text_stride_log2, ..SessionConfig::default() })
            }
        };
        let name = self.name.as_ref().map_or(session.clone(), |card| format!("{card}/{session}"));
        let governor = |ServedModelPolicy { policy, anchors, profile }: &ServedModelPolicy| {
            let settings = GateSettings { profile: profile.clone(), ..GateSettings::new(salt.clone()) };
            let governor = StreamGovernor::new(Arc::clone(policy), settings);
            let governor = governor.map_err(|error| SessionFailure::Open(error.to_string()))?;
            Ok(Arc::new(governor.with_anchors(anchors.clone())))
        };
        let governors = models.iter().map(governor).collect::<Result<_, SessionFailure>>()?;
        Ok(SessionParts { card, config, recorder, name, governors })
    }
}

/// The next folder for a bundle, with a number above the last existing one.
fn next_folder(bundles: &Path) -> anyhow::Result<(String, PathBuf)> {
    let entries = std::fs::read_dir(bundles).with_context(|| format!("cannot look into `{}`", bundles.display()))?;
    let mut last = 0u64;
    for entry in entries {
        let name = entry.with_context(|| format!("cannot look into `{}`", bundles.display()))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("session-")).and_then(|n| n.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    let next = last.checked_add(1).ok_or_else(|| anyhow!("`{}` has no further number", bundles.display()))?;
    let name = format!("session-{next:06}");
    let folder = bundles.join(&name);
    Ok((name, folder))
}

impl From<ServeError> for CommandFailure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Session(SessionFailure::Card(error)) => error.into(),
            ServeError::Session(SessionFailure::Recorder(error)) => error.into(),
            ServeError::Session(error @ SessionFailure::Fault(_)) => Self::Card(error.into()),
            error => Self::Other(error.into()),
        }
    }
}
