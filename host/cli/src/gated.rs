//! `portcullis gated`: the gate in a process of its own.

use crate::failure::{Failure, SUCCESS};
use crate::open::{self, CardArgs};
use crate::output::digest;
use crate::prefilter::FilterArgs;
use crate::run::salt_key;
use anyhow::Context;
use portcullis_card::{Session, SessionConfig};
use portcullis_gate::remote::{Gate, Served, ToClient, VERSION};
use portcullis_gate::{Governor, SaltKey, Settings};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

/// Serves the gate on a UNIX socket, for `portcullis run --gate unix:PATH`. Clients of the same user may connect, one item at a time is
/// governed, and the engine stays with the client. Ends with the process.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The socket; it must not be there yet.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Folder of the policy package.
    #[arg(long, value_name = "DIR")]
    policy: PathBuf,
    #[command(flatten)]
    card: CardArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// The agent's governed profile (`agent.toml`).
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Anchor store; may be given several times.
    #[arg(long, value_name = "FILE")]
    anchors: Vec<PathBuf>,
    /// Users besides this one that may connect, by number.
    #[arg(long, value_name = "UID")]
    allow_uid: Vec<u32>,
    /// Bound on every wait for a client, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    deadline: u64,
    /// Key of the commitments' salts, 64 hexadecimal digits; for tests that compare whole runs.
    #[arg(long, value_name = "HEX")]
    salt_key: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let policy = open::policy(&args.policy)?;
    let anchors = open::anchors(&args.anchors, &policy.mapper)?;
    let salt = match &args.salt_key {
        Some(hex) => SaltKey::from_bytes(salt_key(hex)?),
        None => SaltKey::random().map_err(anyhow::Error::from)?,
    };
    let settings = Settings { profile: open::profile(args.profile.as_deref())?, ..Settings::new(salt) };
    // What cannot be governed at all is said here, not to the first client.
    Governor::new(&policy.package, &policy.compiled, &policy.mapper, settings.clone()).map_err(anyhow::Error::from)?;
    let identity = &policy.package.manifest().package;
    let slope = &policy.package.manifest().trust_slope;
    let welcome = ToClient::Welcome {
        version: VERSION,
        policy: format!("{} {}", identity.name, identity.version),
        package_digest: digest(&policy.package.digest()),
        image_digest: digest(&policy.compiled.image.digest()),
        thresholds: [slope.warning, slope.correction, slope.halt],
        card: args.card.name().to_owned(),
    };
    let session = Session::open(args.card.open()?, &policy.compiled.image, SessionConfig::default())?;
    let gate = Gate::new(session, args.filter.open(&policy.package)?);
    let mut allowed = args.allow_uid.clone();
    allowed.push(rustix::process::getuid().as_raw());
    let listener = UnixListener::bind(&args.socket)
        .with_context(|| format!("cannot listen on `{}`; is a gate there already?", args.socket.display()))?;
    outln!("listening on {}", args.socket.display());
    let make = || {
        let made = Governor::new(&policy.package, &policy.compiled, &policy.mapper, settings.clone());
        made.map(|g| g.with_anchors(anchors.clone()))
    };
    let deadline = Duration::from_millis(args.deadline);
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            let stream = match stream {
                Ok(stream) => stream,
                Err(error) => {
                    errln!("error: {error}");
                    continue;
                }
            };
            scope.spawn(|| {
                let served = gate.serve(stream, &allowed, deadline, &welcome, make);
                if let Served::Refused(why) = served {
                    errln!("client: {why}");
                }
            });
        }
    });
    Ok(SUCCESS)
}
