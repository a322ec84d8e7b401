//! Settings for recording a session, and the start of its bundle.

use crate::issuer::{IssuerAccess, Reporter};
use crate::sink::Parties;
use crate::texts::{OpeningSink, TextRetention};
use crate::tickets::{TicketClaim, TicketFolder};
use crate::witness::Poster;
use crate::{RecorderError, SessionRecorder};
use portcullis_authority::ca::{self, DeviceCertificateContent};
use portcullis_authority::tickets::{self, IssueRequest};
use portcullis_authority::witness::client::WitnessClient;
use portcullis_card::driver::{CheckpointConfig, HeartbeatLimits};
use portcullis_card::{CardInfo, CardTransport, SessionConfig, SessionError, await_public_key};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::AgentProfile;
use portcullis_core::wire::key_flags;
use portcullis_evidence::approval::PolicyApproval;
use portcullis_evidence::bundle;
use portcullis_evidence::certificate::{CardKeyClass, key_id};
use portcullis_evidence::note::WitnessKey;
use portcullis_evidence::ticket::{ChainId, SessionTicket};
use portcullis_gate::anchor::AnchorSet;
use portcullis_gate::text_stride_log2;
use portcullis_issuer::wire::TicketRequest;
use portcullis_policy::{CompiledPackage, PolicyPackage};
use portcullis_sealed::{PublicKey, TextSealer, beside};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Longest wait for a witness.
const WITNESS_TIME: Duration = Duration::from_secs(10);

/// Where the ticket of a session comes from.
#[derive(Clone, Debug, Default)]
pub enum TicketSource {
    /// The operator issues it to itself.
    #[default]
    SelfIssued,
    File(PathBuf),
    /// The next ticket of a folder, which no other session gets.
    Folder(TicketFolder),
    /// A running issuer issues it, and receives the opening and the closing checkpoint of the session.
    Issuer(IssuerAccess),
}

#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Folder of the bundle; it must not exist.
    pub folder: PathBuf,
    pub ticket: TicketSource,
    pub approval: Option<PathBuf>,
    /// The card's certificate in PEM. Without it, the public simulation root certifies a simulated card.
    pub device_cert: Option<PathBuf>,
    /// Intermediate certificates in PEM.
    pub device_chain: Option<PathBuf>,
    /// Address of the witness, and the file with its key.
    pub witness: Option<(SocketAddr, PathBuf)>,
    /// The profile of all streams.
    pub profile: AgentProfile,
    /// Records between two checkpoints; by default 4096 on a simulated card, else 32768.
    pub checkpoint_interval: Option<u32>,
    /// Which texts the bundle contains.
    pub texts: TextRetention,
}

impl RecorderOptions {
    /// Prepares the bundle of a session on `card` with the given policy and anchor stores. Returns the recorder, and
    /// the configuration of the session. All data known before the session is then on the disk, and space for its end
    /// is reserved. The ticket of a folder is claimed last, so an error uses no ticket. Errors: the card cannot sign or
    /// lacks a part that the session needs, a file is unreadable or invalid, the witness cannot be reached, or the
    /// bundle cannot be written; the folder is removed then.
    pub fn start(
        &self,
        card: &mut dyn CardTransport,
        package: &PolicyPackage,
        compiled: &CompiledPackage,
        anchors: &AnchorSet,
    ) -> Result<(SessionRecorder, SessionConfig), RecorderError> {
        let info = CardInfo::read(card)?;
        let key = await_public_key(card)?;
        let simulated = u32::from(info.key_flags) & u32::from(key_flags::SIM) != 0;
        let image = &compiled.image;
        // All that can fail here comes first, so that a running issuer does not issue a ticket that no session uses.
        if image.text().is_some() && info.text.is_none() {
            return Err(SessionError::Missing("text lane").into());
        }
        if self.folder.exists() {
            return Err(RecorderError::Unfit("the bundle's folder is there already: give a new one"));
        }
        let approval = self.approval(image.digest())?;
        let (certificate, chain) = self.certificate(&key, &info, simulated)?;
        let sealing_key = match &self.texts {
            TextRetention::Sealed(key) => Some(PublicKey::load(key)?),
            TextRetention::Plain | TextRetention::None => None,
        };
        let witness = self.witness()?;
        if let Some(witness) = &witness {
            witness.reach()?;
        }
        let (ticket, claim) = self.ticket(&key, image.digest(), image.text().is_some())?;
        let parsed = SessionTicket::parse(&ticket)?;
        let terms = &parsed.content;
        if terms.key != key_id(&key) {
            return Err(RecorderError::Unfit("the ticket is for another card's key"));
        }
        if terms.policy != image.digest() {
            let why = "the ticket is for another policy; ask the issuer for one of this policy's digest";
            return Err(RecorderError::Unfit(why));
        }
        let profile = self.profile.digest();
        if !terms.profiles.is_empty() && !terms.profiles.contains(&profile.0) {
            return Err(RecorderError::Profile(profile));
        }
        if terms.text_lane && image.text().is_none() {
            let why = "the ticket requires the text lane: use `--text-lane` with a card that has one";
            return Err(RecorderError::Unfit(why));
        }
        if (terms.heartbeat_records != 0 || terms.heartbeat_ticks != 0) && self.witness.is_none() {
            let why = "the ticket asks for heartbeats, which a witness gives: use `--witness`";
            return Err(RecorderError::Unfit(why));
        }
        if (terms.heartbeat_records != 0 || terms.heartbeat_ticks != 0) && !info.heartbeat {
            return Err(SessionError::Missing("heartbeats").into());
        }
        let witness = witness.map(|client| Poster::new(client, &ticket, key, info.lanes));
        let issuer = match &self.ticket {
            TicketSource::Issuer(access) => Some(Reporter::new(access, key, terms.serial, &self.folder)),
            TicketSource::SelfIssued | TicketSource::File(_) | TicketSource::Folder(_) => None,
        };

        let approval = approval.as_deref().map(|approval| (bundle::APPROVAL, approval));
        let fixed = [
            (bundle::README, bundle::README_TEXT.as_bytes()),
            (bundle::TICKET, &*ticket),
            (bundle::CERTIFICATE, certificate.as_bytes()),
            (bundle::CHAIN, chain.as_bytes()),
            (bundle::IMAGE, image.as_bytes()),
        ];
        let mut files: Vec<_> = fixed.into_iter().chain(approval).map(|(n, c)| (n.to_owned(), c.to_vec())).collect();
        files.extend(package.listed().into_iter().map(|(path, content)| (bundle::package(path), content.to_vec())));
        files.extend(
            anchors.json_lines().into_iter().map(|store| (bundle::anchor(&Sha256::digest(&store).into()), store)),
        );
        let openings = self.openings(sealing_key, parsed.digest)?;
        let parties = Parties { witness, issuer };
        let (recorder, sink) =
            SessionRecorder::create(&self.folder, &files, info.lanes, terms.serial, parties, openings)?;
        if let Err(error) = claim.map_or(Ok(()), |claim| claim.take()) {
            // The card has signed nothing, so this removes the folder. The sink holds the recorder's writer.
            drop(sink);
            recorder.finish()?;
            return Err(error);
        }
        let interval = self.checkpoint_interval.unwrap_or(if simulated { 4096 } else { 32_768 });
        // A heartbeat needs a checkpoint, so checkpoints must come before the credit is spent.
        let interval = match terms.heartbeat_records {
            0 => interval,
            records => interval.min((records / 2).max(1)),
        };
        let config = SessionConfig {
            ticket_digest: parsed.digest,
            heartbeat: HeartbeatLimits { records: terms.heartbeat_records, ticks: terms.heartbeat_ticks },
            checkpoints: Some(CheckpointConfig { interval, ..CheckpointConfig::default() }),
            sink,
            text_stride_log2: text_stride_log2(package),
            ..SessionConfig::default()
        };
        Ok((recorder, config))
    }

    fn approval(&self, policy: [u8; 32]) -> Result<Option<Vec<u8>>, RecorderError> {
        let Some(path) = &self.approval else { return Ok(None) };
        let cose = read("approval", path)?;
        let approval = PolicyApproval::parse(&cose).ok_or_else(|| RecorderError::NoApproval(path.clone()))?;
        if approval.policy != policy {
            let why = "the approval is of another policy; the approver signs this one with `portcullis policy approve`";
            return Err(RecorderError::Unfit(why));
        }
        Ok(Some(cose))
    }

    fn witness(&self) -> Result<Option<WitnessClient>, RecorderError> {
        let Some((address, path)) = &self.witness else { return Ok(None) };
        let text = read_text("witness's key", path)?;
        Ok(Some(WitnessClient::new(*address, WitnessKey::parse(text.trim_end())?, WITNESS_TIME)))
    }

    /// The ticket, and how it is claimed if other sessions can have it too.
    fn ticket(
        &self,
        key: &[u8; 32],
        policy: [u8; 32],
        text_lane: bool,
    ) -> Result<(Vec<u8>, Option<TicketClaim>), RecorderError> {
        match &self.ticket {
            TicketSource::File(path) => return Ok((read("ticket", path)?, None)),
            TicketSource::Folder(folder) => {
                let (ticket, claim) = folder.next(policy)?;
                return Ok((ticket, Some(claim)));
            }
            TicketSource::Issuer(access) => {
                let request = TicketRequest {
                    request: HexBytes([0; 16]),
                    public_key: HexBytes(*key),
                    seat: access.seat,
                    policy: HexBytes(policy),
                    profile: self.profile.digest(),
                    text_lane,
                    witness: self.witness.is_some(),
                };
                return Ok((access.ticket(&self.folder, request)?, None));
            }
            TicketSource::SelfIssued => {}
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = IssueRequest {
            chain: ChainId { key: key_id(key), seat: 0 },
            policy,
            contexts: Default::default(),
            profiles: Default::default(),
            text_lane: false,
            heartbeat_records: 0,
            heartbeat_ticks: 0,
            window: ca::CertificateValidity { not_before: now.as_secs(), not_after: (now + DAY).as_secs() },
        };
        Ok((tickets::self_issued(&request)?, None))
    }

    /// The destination of texts, for the session with this ticket digest.
    fn openings(&self, sealing_key: Option<PublicKey>, ticket: [u8; 32]) -> Result<OpeningSink, RecorderError> {
        Ok(match sealing_key {
            Some(key) => {
                let path = beside(&self.folder);
                let sealer = TextSealer::create(&path, key, ticket);
                OpeningSink::Sealed(Box::new(sealer.map_err(|source| RecorderError::Sealed { path, source })?))
            }
            None if matches!(self.texts, TextRetention::Plain) => OpeningSink::Bundle,
            None => OpeningSink::Nowhere,
        })
    }

    /// The card's certificate, and the intermediates.
    fn certificate(&self, key: &[u8; 32], info: &CardInfo, simulated: bool) -> Result<(String, String), RecorderError> {
        let text = |path: &PathBuf| read_text("certificate", path);
        match &self.device_cert {
            Some(path) => Ok((text(path)?, self.device_chain.as_ref().map(text).transpose()?.unwrap_or_default())),
            None if simulated => {
                let device = DeviceCertificateContent {
                    public_key: *key,
                    design_id: info.design_id,
                    class: CardKeyClass::Sim,
                    supervised: false,
                    subject: "CN=Simulated card".into(),
                    window: ca::SIMULATION,
                };
                Ok((ca::simulation()?.certify(&device)?, String::new()))
            }
            None => Err(RecorderError::Unfit("a real card needs its certificate: give `--device-cert`")),
        }
    }
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, RecorderError> {
    std::fs::read(path).map_err(|source| RecorderError::Read { what, path: path.to_owned(), source })
}

fn read_text(what: &'static str, path: &Path) -> Result<String, RecorderError> {
    std::fs::read_to_string(path).map_err(|source| RecorderError::Read { what, path: path.to_owned(), source })
}
