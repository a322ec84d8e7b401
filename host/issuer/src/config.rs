//! The operator's configuration (TOML): which cards, seats and policies get tickets, from which clients, on which
//! terms.

use crate::refusal::IssuerRefusal;
use crate::wire::TicketRequest;
use axum::http::StatusCode;
use portcullis_authority::ca::CertificateValidity;
use portcullis_authority::tickets::IssueRequest;
use portcullis_core::hex::HexBytes;
use portcullis_evidence::certificate::key_id;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::ticket::{ChainId, MAX_CONTEXTS, MAX_PROFILES};
use portcullis_settings::SettingsError;
use portcullis_settings::secret::{self, SecretError};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The configuration of a running issuer. Unknown keys are errors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerConfig {
    /// Where clients connect: an address of the loopback interface, because the service does not encrypt.
    #[serde(default = "listen")]
    pub listen: SocketAddr,
    /// The clients, at least one.
    #[serde(rename = "client")]
    pub clients: Vec<IssuerClientEntry>,
    /// The cards, at least one.
    #[serde(rename = "card")]
    pub cards: Vec<IssuerCardEntry>,
    /// The policies, at least one.
    #[serde(rename = "policy")]
    pub policies: Vec<IssuerPolicyEntry>,
    /// Limits on time and size.
    #[serde(default)]
    pub limits: IssuerLimits,
}

/// A client, and the cards for which it may ask.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerClientEntry {
    /// Name in logs.
    pub name: String,
    /// File with the client's token; a final line end is ignored.
    pub token: PathBuf,
    /// Names of the cards; empty for all.
    #[serde(default)]
    pub cards: Vec<String>,
}

/// A card's key, and the seats of the cards that have it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerCardEntry {
    pub name: String,
    pub public_key: HexBytes<32>,
    /// Seats that get tickets.
    #[serde(default = "seats")]
    pub seats: BTreeSet<u16>,
    /// Names of the policies that get tickets for this card; empty for all.
    #[serde(default)]
    pub policies: Vec<String>,
}

/// A policy, and the terms of its tickets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerPolicyEntry {
    pub name: String,
    /// SHA-256 of the table image (`portcullis policy digest`).
    pub digest: HexBytes<32>,
    /// Digests of the permitted profiles; empty for any.
    #[serde(default)]
    pub profiles: Vec<HexBytes<32>>,
    /// Digests of the permitted context documents; empty for any.
    #[serde(default)]
    pub contexts: Vec<HexBytes<32>>,
    /// Whether the card must read the texts itself.
    #[serde(default)]
    pub text_lane: bool,
    /// As `portcullis ticket issue --heartbeat-records`.
    #[serde(default)]
    pub heartbeat_records: u32,
    /// As `portcullis ticket issue --heartbeat-ticks`.
    #[serde(default)]
    pub heartbeat_ticks: u32,
    /// Hours in which the session may be held, from the issue on.
    #[serde(default = "hours")]
    pub hours: u32,
}

/// Limits. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IssuerLimits {
    /// Longest wait for the head of a request, and separately for its body.
    pub request_ms: u64,
    /// Longest wait for a client that does not read its answer.
    pub client_ms: u64,
    /// Longest wait for the store while it works for other clients.
    pub store_ms: u64,
    /// Connections at the same time. A connection above this number is closed at once.
    pub connections: usize,
}

impl Default for IssuerLimits {
    fn default() -> Self {
        Self { request_ms: 10_000, client_ms: 10_000, store_ms: 20_000, connections: 64 }
    }
}

impl IssuerLimits {
    pub(crate) const fn request(&self) -> Duration {
        Duration::from_millis(self.request_ms)
    }

    pub(crate) const fn client(&self) -> Duration {
        Duration::from_millis(self.client_ms)
    }

    pub(crate) const fn store(&self) -> Duration {
        Duration::from_millis(self.store_ms)
    }
}

fn listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8630))
}

fn seats() -> BTreeSet<u16> {
    [0].into()
}

const fn hours() -> u32 {
    24
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum IssuerConfigError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What is wrong, and how to correct it.
    #[error("{0}")]
    Unfit(String),
    #[error("the token: {0}")]
    Token(#[from] SecretError),
}

impl IssuerConfig {
    /// Reads the configuration in a file, and checks the rules that concern more than one setting.
    ///
    /// # Errors
    /// [`IssuerConfigError`].
    pub fn read(path: &Path) -> Result<Self, IssuerConfigError> {
        let config: Self = portcullis_settings::read(path)?;
        config.check()?;
        Ok(config)
    }

    /// Like [`IssuerConfig::read`], from the text of a file; errors name the file `issuer.toml`.
    ///
    /// # Errors
    /// [`IssuerConfigError`].
    pub fn parse(text: &str) -> Result<Self, IssuerConfigError> {
        let config: Self = portcullis_settings::parse("issuer.toml", text)?;
        config.check()?;
        Ok(config)
    }

    /// Checks rules that concern more than one setting.
    ///
    /// # Errors
    /// [`IssuerConfigError::Unfit`].
    pub fn check(&self) -> Result<(), IssuerConfigError> {
        let unfit = |what: String| Err(IssuerConfigError::Unfit(what));
        if !self.listen.ip().is_loopback() {
            let why = "tokens would cross the network in the clear; listen on 127.0.0.1, behind a server with TLS";
            return unfit(format!("{} is not of the loopback interface: {why}", self.listen));
        }
        let lists = [("client", self.clients.len()), ("card", self.cards.len()), ("policy", self.policies.len())];
        if let Some((what, _)) = lists.iter().find(|(_, count)| *count == 0) {
            return unfit(format!("no {what} is configured: add a `[[{what}]]`"));
        }
        let names = [
            ("clients", self.clients.iter().map(|client| &client.name).collect::<Vec<_>>()),
            ("cards", self.cards.iter().map(|card| &card.name).collect()),
            ("policies", self.policies.iter().map(|policy| &policy.name).collect()),
        ];
        for (what, names) in names {
            let mut seen = BTreeSet::new();
            if let Some(name) = names.into_iter().find(|name| !seen.insert(*name)) {
                return unfit(format!("two {what} have the name `{name}`"));
            }
        }
        let mut keys = BTreeSet::new();
        if let Some(card) = self.cards.iter().find(|card| !keys.insert(card.public_key)) {
            return unfit(format!("card `{}` has the key of another card: give it a seat there", card.name));
        }
        let mut digests = BTreeSet::new();
        if let Some(policy) = self.policies.iter().find(|policy| !digests.insert(policy.digest)) {
            return unfit(format!("policy `{}` has the digest of another one", policy.name));
        }
        for client in &self.clients {
            if let Some(name) = client.cards.iter().find(|name| !self.cards.iter().any(|card| card.name == **name)) {
                return unfit(format!("client `{}` names the card `{name}`, which is not configured", client.name));
            }
        }
        for card in &self.cards {
            let is_known = |name: &&String| !self.policies.iter().any(|policy| policy.name == **name);
            if let Some(name) = card.policies.iter().find(is_known) {
                return unfit(format!("card `{}` names the policy `{name}`, which is not configured", card.name));
            }
        }
        for policy in &self.policies {
            if policy.hours == 0 || policy.profiles.len() > MAX_PROFILES || policy.contexts.len() > MAX_CONTEXTS {
                let most = format!("{MAX_PROFILES} profiles and {MAX_CONTEXTS} contexts");
                return unfit(format!("policy `{}`: `hours` is at least 1, with at most {most}", policy.name));
            }
        }
        let IssuerLimits { request_ms, client_ms, store_ms, connections } = self.limits;
        if request_ms == 0 || client_ms == 0 || store_ms == 0 || connections == 0 {
            return unfit("the numbers in `[limits]` must be above zero".to_owned());
        }
        Ok(())
    }

    /// The card with this key, if the client may ask for it.
    pub(crate) fn card(
        &self,
        client: &IssuerClientEntry,
        public_key: &HexBytes<32>,
    ) -> Result<&IssuerCardEntry, IssuerRefusal> {
        let may = |card: &&IssuerCardEntry| client.cards.is_empty() || client.cards.contains(&card.name);
        let card = self.cards.iter().find(|card| card.public_key == *public_key).filter(may);
        card.ok_or_else(|| {
            forbidden(
                "unknown-card",
                format!("client `{}` gets no tickets for a card with the key {public_key}", client.name),
                "add the key to a `[[card]]` of the issuer's configuration, and the card to the client",
            )
        })
    }

    /// The ticket that this request of a client gets, if it is issued at `now` (Unix seconds).
    pub(crate) fn terms(
        &self,
        client: &IssuerClientEntry,
        asked: &TicketRequest,
        now: u64,
    ) -> Result<IssueRequest, IssuerRefusal> {
        let card = self.card(client, &asked.public_key)?;
        if !card.seats.contains(&asked.seat) {
            return Err(forbidden(
                "unknown-seat",
                format!("card `{}` has no seat {}", card.name, asked.seat),
                "ask with `--seat` for a seat that the issuer's configuration lists, or add it to `seats` there",
            ));
        }
        let may = |policy: &&IssuerPolicyEntry| card.policies.is_empty() || card.policies.contains(&policy.name);
        let policy = self.policies.iter().find(|policy| policy.digest == asked.policy).filter(may);
        let policy = policy.ok_or_else(|| {
            forbidden(
                "unknown-policy",
                format!("card `{}` gets no tickets for the policy {}", card.name, asked.policy),
                "add the policy's image digest (`portcullis policy digest`) to the issuer's configuration",
            )
        })?;
        if !policy.profiles.is_empty() && !policy.profiles.contains(&asked.profile) {
            return Err(forbidden(
                "profile-not-permitted",
                format!("policy `{}` permits other profiles than {}", policy.name, asked.profile),
                "give a permitted profile with `--profile`, or add this one to the policy in the issuer's configuration",
            ));
        }
        if policy.text_lane && !asked.text_lane {
            return Err(forbidden(
                "text-lane-required",
                format!("policy `{}` requires the text lane", policy.name),
                "use `--text-lane` with a card that has one",
            ));
        }
        let has_heartbeats = policy.heartbeat_records != 0 || policy.heartbeat_ticks != 0;
        if has_heartbeats && !asked.witness {
            return Err(forbidden(
                "witness-required",
                format!("policy `{}` requires heartbeats, which a witness gives", policy.name),
                "use `--witness`",
            ));
        }
        let set = |digests: &[HexBytes<32>]| digests.iter().map(|digest| digest.0).collect();
        Ok(IssueRequest {
            chain: ChainId { key: key_id(&asked.public_key.0), seat: asked.seat },
            policy: policy.digest.0,
            contexts: set(&policy.contexts),
            profiles: set(&policy.profiles),
            text_lane: policy.text_lane,
            heartbeat_records: policy.heartbeat_records,
            heartbeat_ticks: policy.heartbeat_ticks,
            window: CertificateValidity {
                not_before: now.saturating_sub(CLOCK_SKEW),
                not_after: now.saturating_add(u64::from(policy.hours).saturating_mul(3600)),
            },
        })
    }
}

fn forbidden(code: &'static str, message: String, remedy: &'static str) -> IssuerRefusal {
    IssuerRefusal::new(StatusCode::FORBIDDEN, code, message, remedy)
}

/// Reads a token.
///
/// # Errors
/// [`IssuerConfigError::Token`]: the file cannot be read, other users can read it, or it has no token of
/// [`secret::MIN_CHARS`] characters.
pub fn token(path: &Path) -> Result<String, IssuerConfigError> {
    Ok(secret::key(path)?)
}
