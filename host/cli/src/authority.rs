//! `portcullis ca`, `ticket` and `witness`: the outside parties that certify cards, issue tickets and store
//! checkpoints.

use crate::failure::{CommandFailure, SUCCESS, WARNED};
use crate::issuer_client::{self, IssuerClientArgs};
use crate::open;
use anyhow::{Context, anyhow, bail};
use clap::{Subcommand, ValueEnum};
use portcullis_authority::StoreUrl;
use portcullis_authority::ca::{self, CertificateAuthority, CertificateValidity, DeviceCertificateContent};
use portcullis_authority::keys::{self, AuthorityKey, AuthorityKeyError};
use portcullis_authority::tickets::{IssueRequest, Issuer, TicketRecord, make_store};
use portcullis_authority::witness::server::{WitnessPort, WitnessServer, WitnessServerLimits};
use portcullis_authority::witness::{CheckpointWitness, LogSplitView};
use portcullis_evidence::certificate::{CardKeyClass, key_id};
use portcullis_evidence::hex;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::note::LogKey;
use portcullis_evidence::public_log::LogPolicy;
use portcullis_evidence::signing::StatementKey;
use portcullis_evidence::ticket::{ChainId, issuer_key};
use portcullis_settings::secret::SecretError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

#[derive(Subcommand)]
pub(crate) enum Ca {
    /// Make a root: a new key (mode 600) and its certificate.
    Root {
        /// New file for the private key.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Subject (RFC 4514), such as `CN=Example Root,O=Example`.
        #[arg(long)]
        subject: String,
        /// Days of validity, from now.
        #[arg(long, default_value_t = 3650)]
        days: u64,
        /// A root of simulated cards, which certifies nothing else.
        #[arg(long)]
        simulated: bool,
    },
    /// Certify a card's public key.
    Device {
        /// The authority's private key.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The authority's certificate, PEM.
        #[arg(long, value_name = "FILE")]
        certificate: PathBuf,
        /// The card's public key, 64 hexadecimal digits (`portcullis card info`).
        #[arg(long, value_name = "HEX")]
        public_key: String,
        /// The card's design id, 32 hexadecimal digits.
        #[arg(long, value_name = "HEX")]
        design_id: String,
        /// The owner of the key.
        #[arg(long)]
        class: ClassArg,
        /// A regulator was present when the key was placed.
        #[arg(long)]
        supervised: bool,
        /// Subject (RFC 4514).
        #[arg(long)]
        subject: String,
        /// Days of validity, from now.
        #[arg(long, default_value_t = 825)]
        days: u64,
    },
    /// Print the root of simulations, for the folder `sim-roots` of a trust folder. Its key is public.
    Simulation,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ClassArg {
    /// A simulated card.
    Sim,
    /// One key for every card of the design (AWS).
    Class,
    /// The key of one card (Alveo).
    Device,
}

#[derive(clap::Args)]
pub(crate) struct IssuerArgs {
    /// The issuer's state: an SQLite file, which is made when it is not there, or a PostgreSQL database on this
    /// machine, `postgres://USER@localhost/DATABASE`, which `ticket store` prepares.
    #[arg(long, value_name = "FILE|URL")]
    store: StoreUrl,
    /// The issuer's private key, a file; made, with mode 600, when it is not there. `program:PATH` is a program that
    /// signs with a key in a device.
    #[arg(long, value_name = "FILE|program:PATH")]
    key: PathBuf,
    /// Name of the issuer.
    #[arg(long, default_value = "issuer")]
    name: String,
    /// Folder of the issuer's public log (C2SP tlog-tiles): every event is in it before the command ends. A store that
    /// has not every event of the log is refused.
    #[arg(long, value_name = "DIR")]
    public_log: Option<PathBuf>,
    /// The witnesses of the public log and their quorum (C2SP tlog-policy), each with its URL: a ticket leaves only
    /// after a quorum has cosigned the log.
    #[arg(long, value_name = "FILE", requires = "public_log")]
    log_policy: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum TicketCommand {
    /// Issue the next ticket of a card: refused while its last session is neither closed nor abandoned.
    Issue {
        #[command(flatten)]
        issuer: IssuerArgs,
        /// The card's public key, 64 hexadecimal digits (`portcullis card info`).
        #[arg(long, value_name = "HEX")]
        public_key: String,
        /// Policy digest, 64 hexadecimal digits (`portcullis policy digest`, image).
        #[arg(long, value_name = "HEX")]
        policy: String,
        /// Permitted context document, by its digest; may be given several times. Default: any.
        #[arg(long, value_name = "HEX")]
        context: Vec<String>,
        /// Permitted profile, as `run --profile` takes it: the session may use no other; may be given several times.
        /// Default: any.
        #[arg(long, value_name = "FILE")]
        profile: Vec<PathBuf>,
        /// The card must read the texts itself: the session uses `--text-lane`, and so an image of another digest.
        #[arg(long)]
        text_lane: bool,
        /// Seat: number of the card among several cards with one key. Each seat has its own sessions.
        #[arg(long, value_name = "N", default_value_t = 0)]
        seat: u16,
        /// Accepted entries without a heartbeat after which the card refuses; 0 means no limit.
        #[arg(long, default_value_t = 0)]
        heartbeat_records: u32,
        /// Units of 2^16 clocks without a heartbeat after which the card refuses; 0 means no limit.
        #[arg(long, default_value_t = 0)]
        heartbeat_ticks: u32,
        /// Hours in which the session may be held, from now.
        #[arg(long, default_value_t = 24)]
        hours: u64,
        /// New file for the ticket.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Prepare a PostgreSQL database as an issuer's store, as its owner. The role of the issuer can then read it and
    /// append events, and cannot change any.
    Store {
        /// The database, as its owner reaches it: `postgres://OWNER@localhost/DATABASE`.
        #[arg(long, value_name = "URL")]
        store: String,
        /// The role of the issuer.
        #[arg(long)]
        role: String,
    },
    /// Show the opening checkpoint of a ticket's session to the issuer.
    Redeem {
        #[command(flatten)]
        issuer: IssuerArgs,
        /// `checkpoints/00000000.cose` of the bundle.
        checkpoint: PathBuf,
        /// The card's public key.
        #[arg(long, value_name = "HEX")]
        public_key: String,
    },
    /// Report the session of a bundle to a running issuer: its opening, and its end. A session with `--issuer` does so
    /// itself; this is for a session whose issuer could not be reached. A report can be repeated.
    #[command(mut_arg("issuer", |issuer| issuer.required(true)))]
    Report {
        #[command(flatten)]
        issuer: IssuerClientArgs,
        /// Folder of the bundle.
        #[arg(value_name = "DIR")]
        bundle: PathBuf,
        /// The card's public key.
        #[arg(long, value_name = "HEX")]
        public_key: String,
    },
    /// Show the closing checkpoint of a ticket's session to the issuer.
    Close {
        #[command(flatten)]
        issuer: IssuerArgs,
        /// The last file in `checkpoints/` of the bundle.
        checkpoint: PathBuf,
        /// The card's public key.
        #[arg(long, value_name = "HEX")]
        public_key: String,
    },
    /// Write a ticket that was issued to a file again: the first one was lost.
    Show {
        #[command(flatten)]
        issuer: IssuerArgs,
        /// The card's public key.
        #[arg(long, value_name = "HEX")]
        public_key: String,
        /// Seat of the card.
        #[arg(long, value_name = "N", default_value_t = 0)]
        seat: u16,
        /// Serial of the ticket.
        #[arg(long)]
        serial: u64,
        /// New file for the ticket.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Give up a ticket whose session did not end properly.
    Abandon {
        #[command(flatten)]
        issuer: IssuerArgs,
        /// The card's public key.
        #[arg(long, value_name = "HEX")]
        public_key: String,
        /// Seat of the card.
        #[arg(long, value_name = "N", default_value_t = 0)]
        seat: u16,
        /// Serial of the ticket.
        #[arg(long)]
        serial: u64,
        /// Why.
        #[arg(long)]
        remark: String,
    },
    /// List every ticket that was issued, and the outcome.
    List {
        #[command(flatten)]
        issuer: IssuerArgs,
    },
    /// Print the issuer's public key, for the folder `issuers` of a trust folder.
    Key {
        #[command(flatten)]
        issuer: IssuerArgs,
    },
    /// Bring the public log up to date, have it cosigned again, and print the key by which readers check it (C2SP
    /// signed-note).
    Log {
        #[command(flatten)]
        issuer: IssuerArgs,
    },
}

#[derive(Subcommand)]
pub(crate) enum WitnessCommand {
    /// Serve a witness on loopback: it sees checkpoints, signs what it saw, gives the next heartbeat's nonce, and
    /// refuses forks. At `/log`, it cosigns the public logs of `--log`.
    Serve {
        #[command(flatten)]
        witness: WitnessArgs,
        /// Folder of the newest heads that the witness has signed, made when it is not there; STORE.marks by default.
        /// If the store lacks one of them, it is an old copy, and the witness does not start. Keep it on another disk
        /// than the store.
        #[arg(long, value_name = "DIR")]
        marks: Option<PathBuf>,
        /// Port of 127.0.0.1; 0 takes a free one, and says which.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Print the witness's key, for the folder `witnesses` of a trust folder.
    Key {
        #[command(flatten)]
        witness: WitnessArgs,
    },
    /// List the forks that the witness has refused: of cards, and of logs.
    Forks {
        #[command(flatten)]
        witness: WitnessArgs,
    },
}

#[derive(clap::Args)]
pub(crate) struct WitnessArgs {
    /// The witness's state, SQLite; made when it is not there.
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// The witness's private key, a file; made, with mode 600, when it is not there. `program:PATH` is a program that
    /// signs with a key in a device.
    #[arg(long, value_name = "FILE|program:PATH")]
    key: PathBuf,
    /// Name of the witness, as in `witness.example/w1`.
    #[arg(long, default_value = "witness")]
    name: String,
    /// Public key of an issuer whose tickets open logs, PEM; may be given several times.
    #[arg(long, value_name = "FILE")]
    issuer: Vec<PathBuf>,
    /// Key of a log that the witness cosigns (C2SP tlog-witness), as `ticket log` prints it; may be given several
    /// times.
    #[arg(long, value_name = "KEY")]
    log: Vec<String>,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn days(days: u64) -> CertificateValidity {
    let now = now();
    CertificateValidity { not_before: now, not_after: now.saturating_add(days.saturating_mul(DAY)) }
}

pub(crate) fn digits<const N: usize>(what: &str, text: &str) -> anyhow::Result<[u8; N]> {
    hex::decode(text).ok_or_else(|| anyhow!("the {what} is {} hexadecimal digits, not `{text}`", 2 * N))
}

/// Reads the key of an `owner`, such as an approver. It is never made here, so that a mistyped path does not create a
/// new owner.
pub(crate) fn own_key(path: &Path, owner: &str) -> anyhow::Result<AuthorityKey> {
    AuthorityKey::open(path).map_err(|error| {
        let is_missing = match &error {
            AuthorityKeyError::Secret(SecretError::Read { source, .. }) => {
                source.kind() == std::io::ErrorKind::NotFound
            }
            _ => false,
        };
        anyhow::Error::from(error).context(match is_missing {
            true => format!("`--new-key` makes a key for a new {owner}"),
            false => format!("the {owner}'s key"),
        })
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))
}

pub(crate) fn ca(command: &Ca) -> Result<u8, CommandFailure> {
    Ok(run_ca(command)?)
}

fn run_ca(command: &Ca) -> anyhow::Result<u8> {
    let pem = match command {
        Ca::Root { key, subject, days: validity, simulated } => keys::with_new(key, |key| {
            let root = CertificateAuthority::root(key, subject, days(*validity), *simulated)?;
            anyhow::Ok(root.certificate_pem()?)
        })?,
        Ca::Simulation => ca::simulation()?.certificate_pem()?,
        Ca::Device { key, certificate, public_key, design_id, class, supervised, subject, days: validity } => {
            let class = match class {
                ClassArg::Sim => CardKeyClass::Sim,
                ClassArg::Class => CardKeyClass::Class,
                ClassArg::Device => CardKeyClass::Device,
            };
            let pem = String::from_utf8(read(certificate)?)?;
            let authority = CertificateAuthority::load(keys::load(key)?, &pem, matches!(class, CardKeyClass::Sim))?;
            authority.certify(&DeviceCertificateContent {
                public_key: digits("public key", public_key)?,
                design_id: digits("design id", design_id)?,
                class,
                supervised: *supervised,
                subject: subject.clone(),
                window: days(*validity),
            })?
        }
    };
    outln!("{}", pem.trim_end());
    Ok(SUCCESS)
}

impl IssuerArgs {
    pub(crate) fn open(&self) -> anyhow::Result<Issuer> {
        let log_policy = self.log_policy.as_deref().map(log_policy).transpose()?;
        let mut issuer =
            AuthorityKey::open_or_make(&self.key, |key| anyhow::Ok(Issuer::open(&self.store, key, &self.name)?))?;
        if let Some(folder) = &self.public_log {
            issuer.publish(folder, log_policy)?;
        }
        Ok(issuer)
    }
}

fn log_policy(path: &Path) -> anyhow::Result<LogPolicy> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    LogPolicy::parse(&text).with_context(|| format!("`{}`", path.display()))
}

pub(crate) fn ticket(command: &TicketCommand) -> Result<u8, CommandFailure> {
    Ok(run_ticket(command)?)
}

fn run_ticket(command: &TicketCommand) -> anyhow::Result<u8> {
    match command {
        TicketCommand::Issue {
            issuer,
            public_key,
            policy,
            context,
            profile,
            text_lane,
            seat,
            heartbeat_records,
            heartbeat_ticks,
            hours,
            output,
        } => {
            let now = now();
            let request = IssueRequest {
                chain: ChainId { key: key_id(&digits::<32>("public key", public_key)?), seat: *seat },
                policy: digits("policy digest", policy)?,
                contexts: context.iter().map(|c| digits("context digest", c)).collect::<Result<_, _>>()?,
                profiles: profile
                    .iter()
                    .map(|file| Ok(open::profile(Some(file))?.digest().0))
                    .collect::<anyhow::Result<_>>()?,
                text_lane: *text_lane,
                heartbeat_records: *heartbeat_records,
                heartbeat_ticks: *heartbeat_ticks,
                window: CertificateValidity {
                    not_before: now.saturating_sub(CLOCK_SKEW),
                    not_after: now.saturating_add(hours.saturating_mul(3600)),
                },
            };
            if output.exists() {
                bail!(needs_new(output));
            }
            let ticket = issuer.open()?.issue(&request)?;
            write_new(output, &ticket)?;
            let issued = portcullis_evidence::ticket::SessionTicket::parse(&ticket)?;
            outln!("ticket {} of {}", issued.content.serial, card(request.chain));
        }
        TicketCommand::Store { store, role } => make_store(store, role)?,
        TicketCommand::Redeem { issuer, checkpoint, public_key } => {
            show(&issuer.open()?.redeem(&read(checkpoint)?, &digits("public key", public_key)?)?)?;
        }
        TicketCommand::Close { issuer, checkpoint, public_key } => {
            show(&issuer.open()?.close(&read(checkpoint)?, &digits("public key", public_key)?)?)?;
        }
        TicketCommand::Report { issuer, bundle, public_key } => {
            let ended = issuer_client::report(issuer, bundle, digits("public key", public_key)?)?;
            return Ok(if ended { SUCCESS } else { WARNED });
        }
        TicketCommand::Show { issuer, public_key, seat, serial, output } => {
            let chain = ChainId { key: key_id(&digits::<32>("public key", public_key)?), seat: *seat };
            write_new(output, &issuer.open()?.ticket(chain, *serial)?)?;
        }
        TicketCommand::Abandon { issuer, public_key, seat, serial, remark } => {
            let chain = ChainId { key: key_id(&digits::<32>("public key", public_key)?), seat: *seat };
            show(&issuer.open()?.abandon(chain, *serial, remark)?)?;
        }
        TicketCommand::List { issuer } => issuer.open()?.list()?.iter().try_for_each(show)?,
        TicketCommand::Log { issuer } => {
            let mut issuer = issuer.open()?;
            issuer.refresh()?;
            match issuer.log_key() {
                Some(key) => outln!("{key}"),
                None => bail!("`ticket log` needs `--public-log`"),
            }
        }
        TicketCommand::Key { issuer } => {
            let public =
                AuthorityKey::open_or_make(&issuer.key, |key| anyhow::Ok(keys::public_pem(&key.verifying_key())?))?;
            outln!("{}", public.trim_end());
        }
    }
    Ok(SUCCESS)
}

fn show(ticket: &TicketRecord) -> anyhow::Result<()> {
    outln!("ticket {} of {}: {}", ticket.serial, card(ticket.chain), ticket.state);
    Ok(())
}

fn needs_new(output: &Path) -> String {
    format!("the ticket needs a new file, not `{}`", output.display())
}

fn write_new(output: &Path, ticket: &[u8]) -> anyhow::Result<()> {
    let mut file = std::fs::File::create_new(output).with_context(|| needs_new(output))?;
    std::io::Write::write_all(&mut file, ticket)?;
    Ok(file.sync_all()?)
}

/// Key and seat of a card as text. The seat is left out if it is 0.
fn card(chain: ChainId) -> String {
    let key = hex::encode(&chain.key);
    if chain.seat == 0 { format!("key {key}") } else { format!("key {key} seat {}", chain.seat) }
}

impl WitnessArgs {
    fn open(&self) -> anyhow::Result<CheckpointWitness> {
        let issuer = |path: &PathBuf| -> anyhow::Result<_> {
            issuer_key(&String::from_utf8(read(path)?)?).with_context(|| format!("`{}`", path.display()))
        };
        let issuers = self.issuer.iter().map(issuer).collect::<anyhow::Result<_>>()?;
        let logs = self.log.iter().map(|key| LogKey::parse(key)).collect::<Result<Vec<_>, _>>()?;
        logs.iter().try_for_each(CheckpointWitness::may_cosign)?;
        let witness = AuthorityKey::open_or_make(&self.key, |key| {
            anyhow::Ok(CheckpointWitness::open(&self.store, key, &self.name, issuers)?)
        })?;
        Ok(witness.cosigner_of(logs)?)
    }
}

pub(crate) fn witness(command: &WitnessCommand) -> Result<u8, CommandFailure> {
    Ok(run_witness(command)?)
}

fn run_witness(command: &WitnessCommand) -> anyhow::Result<u8> {
    match command {
        WitnessCommand::Serve { witness, marks, port } => {
            let marks = marks.clone().unwrap_or_else(|| {
                let mut beside = witness.store.clone().into_os_string();
                beside.push(".marks");
                beside.into()
            });
            // The port first: a witness that cannot start makes neither its key nor its store.
            let port = WitnessPort::bind(*port)?;
            let marked = witness.open()?.marked_in(&marks)?;
            let server = WitnessServer::on(port, Arc::new(marked), WitnessServerLimits::default())?;
            outln!("listening on {}", server.address());
            server.wait();
        }
        WitnessCommand::Key { witness } => outln!("{}", witness.open()?.public()),
        WitnessCommand::Forks { witness } => {
            let witness = witness.open()?;
            for fork in witness.forks()? {
                outln!("{fork:?}");
            }
            for LogSplitView { origin, accepted, refused } in witness.splits()? {
                outln!("log {origin} has signed two heads of one size:\n\n{accepted}\n{refused}");
            }
        }
    }
    Ok(SUCCESS)
}
