//! `run --bundle`: settings for recording a session.

use crate::failure::CommandFailure;
use crate::issuer_client::IssuerClientArgs;
use portcullis_card::{CardTransport, SessionConfig};
use portcullis_core::state::AgentProfile;
use portcullis_gate::GatePolicy;
use portcullis_gate::anchor::AnchorSet;
use portcullis_recorder::{IssuerAccess, RecorderError, RecorderOptions, SessionRecorder, TextRetention, TicketSource};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Evidence options")]
pub(crate) struct BundleArgs {
    /// Write a bundle into this new folder: records, signed checkpoints, policy, texts; what `portcullis-verify`
    /// checks.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// The session's ticket, from `portcullis ticket issue`. One that this session cannot keep is refused before it
    /// begins: a ticket of another card, policy or profile, or one that requires the text lane without `--text-lane`.
    /// Without a ticket the session issues one to itself, and says so.
    #[arg(long, value_name = "FILE", requires = "bundle", conflicts_with = "issuer")]
    ticket: Option<PathBuf>,
    #[command(flatten)]
    recording: RecordingArgs,
}

/// The settings of a bundle besides its folder: the argument `bundle` of the command.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Evidence options")]
pub(crate) struct RecordingArgs {
    /// Approval of the policy, from `portcullis policy approve`.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    approval: Option<PathBuf>,
    /// The card's certificate, PEM. Without it a simulated card is certified by the public root of simulations.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    pub(crate) device_cert: Option<PathBuf>,
    /// Intermediate certificates above it, PEM.
    #[arg(long, value_name = "FILE", requires = "device_cert")]
    pub(crate) device_chain: Option<PathBuf>,
    /// Show every checkpoint to the witness at this address of the loopback interface, and present the heartbeats that
    /// it gives.
    #[arg(long, value_name = "ADDRESS", requires = "bundle", requires = "witness_key")]
    witness: Option<SocketAddr>,
    /// The witness's key, from `portcullis witness key`.
    #[arg(long, value_name = "FILE", requires = "witness")]
    witness_key: Option<PathBuf>,
    /// Records after which a checkpoint is due. Default: 4096 on a simulated card, else 32768.
    #[arg(long, value_name = "RECORDS", requires = "bundle", value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_interval: Option<u32>,
    /// What of the texts stands in the bundle: `plain`, everything; `none`, nothing, so that they are withheld;
    /// `sealed:FILE`, nothing, and what would stand there goes into a file beside the bundle, `DIR.sealed`, sealed to
    /// the X25519 public key in FILE. Default: plain.
    #[arg(long, value_name = "MODE", requires = "bundle")]
    pub(crate) texts: Option<TextRetention>,
    /// Seat of the card among several cards with one key. If the command has several cards, this is the seat of the
    /// first, and the others follow. Default: 0.
    #[arg(long, value_name = "N", requires = "issuer")]
    seat: Option<u16>,
    #[command(flatten)]
    issuer: IssuerClientArgs,
}

impl RecordingArgs {
    /// The issuer of `--issuer`. It is made once for all sessions of a process, because it repeats the reports that
    /// have failed.
    pub(crate) fn issuer(&self) -> anyhow::Result<Option<IssuerAccess>> {
        let client = self.issuer.client()?;
        Ok(client.map(|client| IssuerAccess { client, seat: self.seat.unwrap_or_default() }))
    }

    /// The first of the flags that was given.
    #[cfg(feature = "services")]
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            ("--approval", self.approval.is_some()),
            ("--device-cert", self.device_cert.is_some()),
            ("--witness", self.witness.is_some()),
            ("--checkpoint-interval", self.checkpoint_interval.is_some()),
            ("--texts", self.texts.is_some()),
            ("--issuer", self.issuer.is_given()),
        ]
        .into_iter()
        .find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// The settings for recording a session with this profile in this folder.
    pub(crate) fn options(&self, folder: PathBuf, ticket: TicketSource, profile: &AgentProfile) -> RecorderOptions {
        RecorderOptions {
            folder,
            ticket,
            approval: self.approval.clone(),
            device_cert: self.device_cert.clone(),
            device_chain: self.device_chain.clone(),
            witness: self.witness.zip(self.witness_key.clone()),
            profile: profile.clone(),
            checkpoint_interval: self.checkpoint_interval,
            texts: self.texts.clone().unwrap_or_default(),
        }
    }
}

impl BundleArgs {
    /// Whether a bundle was requested.
    pub(crate) const fn is_asked(&self) -> bool {
        self.bundle.is_some()
    }

    /// Refuses a ledger beside a bundle without texts, because the ledger would contain them.
    pub(crate) fn check_ledger(&self, ledger: bool) -> Result<(), CommandFailure> {
        match &self.recording.texts {
            Some(texts @ (TextRetention::None | TextRetention::Sealed(_))) if ledger => {
                let why = "a ledger holds the texts; leave `--ledger` out";
                Err(anyhow::anyhow!("`--texts {texts}` keeps texts out of the bundle, and {why}").into())
            }
            _ => Ok(()),
        }
    }

    /// A recorder, and the configuration for its session; without `--bundle` there is no recorder.
    pub(crate) fn start(
        &self,
        card: &mut dyn CardTransport,
        policy: &GatePolicy,
        profile: &AgentProfile,
        anchors: &AnchorSet,
    ) -> Result<(Option<SessionRecorder>, SessionConfig), CommandFailure> {
        let Some(folder) = &self.bundle else {
            let text_stride_log2 = policy.text_stride_log2();
            return Ok((None, SessionConfig { text_stride_log2, ..SessionConfig::default() }));
        };
        let ticket = match (&self.ticket, self.recording.issuer()?) {
            (Some(file), _) => TicketSource::File(file.clone()),
            (None, Some(issuer)) => TicketSource::Issuer(issuer),
            (None, None) => TicketSource::SelfIssued,
        };
        let options = self.recording.options(folder.clone(), ticket, profile);
        let (recorder, config) = options.start(card, &policy.package, &policy.compiled, anchors)?;
        Ok((Some(recorder), config))
    }
}

impl From<RecorderError> for CommandFailure {
    fn from(error: RecorderError) -> Self {
        match error {
            RecorderError::Card(error) => error.into(),
            error => Self::Other(error.into()),
        }
    }
}
