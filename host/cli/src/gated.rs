//! `portcullis gated`: runs the gate as a separate process.

use crate::failure::{CommandFailure, SUCCESS};
use crate::intake::Stop;
use crate::journal::{EvidenceJournal, LedgerArgs};
use crate::open::{self, CardArgs, PolicyArgs, TextLaneArg};
use crate::prefilter::FilterArgs;
use crate::recording::BundleArgs;
use crate::run::{close, salt_key};
use portcullis_card::CardSession;
use portcullis_gate::ledger::LedgerHeader;
use portcullis_gate::remote::{GateError, GateServer, GateSocket, ServiceTerms, ToClient, VERSION};
use portcullis_gate::{GateSettings, SaltKey, StreamEvent, StreamGovernor};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Serves the gate on a UNIX socket, for `portcullis run --gate unix:PATH`. Clients of the same user may connect, their
/// items are governed side by side, and the engine stays with the client.
///
/// SIGINT and SIGTERM end the service: no more items are taken, open streams are ended, the session is closed, the
/// bundle is finished, the socket is removed, and the exit code is 0. The second signal ends the process at once.
///
/// Exit codes: 0 ended by a signal; 1 an error; 2 usage; 4 a fault of the card.
#[derive(clap::Args)]
pub(crate) struct GatedArgs {
    /// The socket. One that no process listens on is replaced.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    card: CardArgs,
    #[command(flatten)]
    text_lane: TextLaneArg,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    bundle: BundleArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// The agent's governed profile (`agent.toml`).
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Anchor store; may be given several times.
    #[arg(long, value_name = "FILE")]
    anchors: Vec<PathBuf>,
    /// Other users that may connect, by number.
    #[arg(long, value_name = "UID")]
    allow_uid: Vec<u32>,
    /// Connections at the same time, at most. One that has not said hello makes room for the next.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    clients: u16,
    /// Bound on every wait for a client, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    deadline: u64,
    /// Key of the commitments' salts, 64 hexadecimal digits; for tests that compare whole runs.
    #[arg(long, value_name = "HEX")]
    salt_key: Option<String>,
}

pub(crate) fn run(args: &GatedArgs) -> Result<u8, CommandFailure> {
    args.bundle.check_ledger(args.ledger.is_asked())?;
    let stop = Stop::on_signals()?;
    let policy = args.policy.open_for(args.text_lane)?;
    let anchors = open::anchors(&args.anchors, &policy.mapper)?;
    let salt = match &args.salt_key {
        Some(hex) => SaltKey::from_bytes(salt_key(hex)?),
        None => SaltKey::random().map_err(anyhow::Error::from)?,
    };
    let settings = GateSettings { profile: open::profile(args.profile.as_deref())?, ..GateSettings::new(salt) };
    let header = policy.header(args.card.name());
    let mut journal = EvidenceJournal { recorder: None, ledger: args.ledger.open(&header)? };
    let filter = args.filter.open(&policy.package)?;
    let profile = settings.profile.clone();
    let governor = StreamGovernor::new(Arc::clone(&policy), settings);
    let governor = governor.map_err(anyhow::Error::from)?.with_anchors(anchors.clone()).with_filter(filter);
    let governor = Arc::new(governor);
    let mut card = args.card.open()?;
    let socket = GateSocket::bind(&args.socket, !args.allow_uid.is_empty()).map_err(anyhow::Error::from)?;
    let (recorder, config) = args.bundle.start(card.as_mut(), &policy, &profile, &anchors)?;
    journal.recorder = recorder;
    let served = CardSession::open(card, &policy.compiled.image, config).map_err(CommandFailure::from).and_then(
        |mut session| {
            let keep = Box::new(|event: &StreamEvent| Ok(journal.event(event)?));
            let gate = GateServer::new(Arc::clone(&governor), terms(args, &header));
            outln!("listening on {}", args.socket.display());
            let listened = gate.listen(&mut session, keep, &socket, || stop.is_asked(), |why| errln!("client: {why}"));
            // The salt key is not needed after the session.
            drop(governor);
            let closed = close(session);
            listened.map_err(CommandFailure::from).and(closed)
        },
    );
    // Remove the socket's name first, so that new clients do not find it.
    drop(socket);
    let written = journal.finish().map_err(CommandFailure::from);
    served.and(written).map(|()| SUCCESS)
}

fn terms(args: &GatedArgs, header: &LedgerHeader) -> ServiceTerms {
    let mut allowed = args.allow_uid.clone();
    allowed.push(rustix::process::getuid().as_raw());
    ServiceTerms {
        allowed,
        clients: args.clients,
        deadline: Duration::from_millis(args.deadline),
        welcome: ToClient::Welcome {
            version: VERSION,
            policy: header.policy.clone(),
            package_digest: header.package_digest.clone(),
            image_digest: header.image_digest.clone(),
            thresholds: header.thresholds,
            card: header.card.clone(),
        },
    }
}

impl From<GateError> for CommandFailure {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Card(error) => error.into(),
            error => Self::Other(error.into()),
        }
    }
}
