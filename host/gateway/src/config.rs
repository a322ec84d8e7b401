//! The operator's configuration: a TOML file, or flags that override its defaults.

use crate::loopback::is_loopback;
use portcullis_card::CardChoice;
use portcullis_recorder::TextRetention;
use portcullis_settings::SettingsError;
use portcullis_settings::secret::{self, SecretError};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The configuration of a gateway. Unknown keys are errors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// Where clients connect.
    #[serde(default = "listen")]
    pub listen: SocketAddr,
    /// TLS for clients; without it the gateway serves plain HTTP.
    #[serde(default)]
    pub tls: Option<TlsSettings>,
    /// Folder of the policy package.
    pub policy: PathBuf,
    /// The default profile, for models without a profile of their own (`agent.toml`).
    #[serde(default)]
    pub profile: Option<PathBuf>,
    /// Anchor stores.
    #[serde(default)]
    pub anchors: Vec<PathBuf>,
    /// The cards; without this setting there is one, which the command line names.
    #[serde(default, rename = "card")]
    pub cards: Vec<CardSettings>,
    /// Folder in which each session writes its bundle; without it no bundles are written.
    #[serde(default)]
    pub bundles: Option<PathBuf>,
    /// The models, at least one.
    #[serde(rename = "model")]
    pub models: Vec<ServedModelSettings>,
    /// Keys of the clients. Without keys, every client that reaches the address may send requests, so the address must
    /// be a loopback address.
    #[serde(default, rename = "key")]
    pub keys: Vec<ClientKeySettings>,
    /// Limits on time and size.
    #[serde(default)]
    pub limits: GatewayLimits,
    /// When a session ends and the next begins.
    #[serde(default)]
    pub rotation: SessionRotation,
    /// How clients can prove that their answers were admitted.
    #[serde(default)]
    pub evidence: EvidenceSettings,
    /// The admin listener; without this setting, there is none.
    #[serde(default)]
    pub admin: Option<AdminSettings>,
    /// The collector for traces of requests; without it no traces are sent.
    #[serde(default)]
    pub traces: Option<TraceExportSettings>,
}

/// A collector of OpenTelemetry traces. Traces contain no text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceExportSettings {
    /// URL that accepts traces in OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: String,
    /// Headers of each export request, such as an API key.
    #[serde(default)]
    pub headers: BTreeMap<String, SecretLocation>,
    /// Longest wait for the collector's answer, in milliseconds.
    #[serde(default = "traces_timeout")]
    pub timeout_ms: u64,
    /// Spans that can wait for export; more are dropped.
    #[serde(default = "traces_queue")]
    pub queue: usize,
}

impl TraceExportSettings {
    /// A collector at this address, with default settings.
    #[must_use]
    pub fn to(endpoint: String) -> Self {
        Self { endpoint, headers: BTreeMap::new(), timeout_ms: traces_timeout(), queue: traces_queue() }
    }
}

const fn traces_timeout() -> u64 {
    5_000
}

const fn traces_queue() -> usize {
    2_048
}

/// Where clients connect by default.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

const fn listen() -> SocketAddr {
    DEFAULT_LISTEN
}

/// The admin listener. It uses plain HTTP, so its address must be a loopback address.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminSettings {
    pub listen: SocketAddr,
    /// Where the listener's key is stored.
    pub key: SecretLocation,
}

/// A card, and the settings of its sessions that differ between cards.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardSettings {
    /// The card's name, such as `vfio:0000:17:00.0`.
    #[serde(deserialize_with = "card_choice")]
    pub card: CardChoice,
    /// Seat of the card among several cards with one key, for a running issuer; by default, the seat of the command
    /// line and the place of the card in the list.
    #[serde(default)]
    pub seat: Option<u16>,
    /// Folder of the card's tickets.
    #[serde(default)]
    pub tickets: Option<PathBuf>,
    /// The card's certificate in PEM.
    #[serde(default)]
    pub device_cert: Option<PathBuf>,
    /// Intermediate certificates in PEM.
    #[serde(default)]
    pub device_chain: Option<PathBuf>,
}

impl From<CardChoice> for CardSettings {
    fn from(card: CardChoice) -> Self {
        Self { card, seat: None, tickets: None, device_cert: None, device_chain: None }
    }
}

fn card_choice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CardChoice, D::Error> {
    CardChoice::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A certificate and its key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// Certificates in PEM, the server's own first.
    pub certificate: PathBuf,
    /// Private key in PEM.
    pub key: PathBuf,
}

/// The gate's mode for the answers of a model.
///
/// - `Held`: text is judged as it arrives. Readers do not get refused text, but the model continues after it.
/// - `Driven`: the gate requests one sentence at a time, and the model continues from admitted text only.
/// - `Observed`: text is judged and recorded, but readers get it even if it is refused.
// Comments of variants would stand in the help of the command line, whose option explains the modes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "lowercase"))]
#[serde(rename_all = "lowercase")]
pub enum AnswerMode {
    #[default]
    Held,
    Driven,
    Observed,
}

/// The API of a model server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "lowercase"))]
#[serde(rename_all = "lowercase")]
pub enum UpstreamKind {
    /// OpenAI's API, as many servers speak it.
    #[default]
    OpenAi,
    Vllm,
    LlamaCpp,
    SgLang,
    Ollama,
    /// Anthropic's API.
    Anthropic,
}

impl UpstreamKind {
    /// Whether a server with this API can continue an answer from given text.
    #[must_use]
    pub const fn continues(self) -> bool {
        matches!(self, Self::Vllm | Self::LlamaCpp | Self::SgLang)
    }
}

/// A model, under the name that clients use.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedModelSettings {
    /// Name for clients; `*` stands for any.
    pub name: String,
    /// Base URL of the server, such as `http://127.0.0.1:18080/v1`.
    pub upstream: String,
    /// The API of the server.
    #[serde(default)]
    pub kind: UpstreamKind,
    /// The gate's mode for the model's answers.
    #[serde(default)]
    pub mode: AnswerMode,
    /// The server's name for the model; by default the client's name.
    #[serde(default)]
    pub upstream_model: Option<String>,
    /// Where the gateway's key for the server is stored.
    #[serde(default)]
    pub upstream_key: Option<SecretLocation>,
    /// CA certificates in PEM for the server; by default the system's.
    #[serde(default)]
    pub upstream_ca: Option<PathBuf>,
    /// Whether an unknown field from the server ends the answer; otherwise it is dropped and counted.
    #[serde(default)]
    pub strict_upstream: bool,
    /// Name of the composition's member that judges this model's answers; only for compositions.
    #[serde(default)]
    pub member: Option<String>,
    /// Its governed profile (`agent.toml`).
    #[serde(default)]
    pub profile: Option<PathBuf>,
}

/// The place of a secret; the configuration never contains the secret itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum SecretLocation {
    /// A file; a final line end is ignored.
    File(PathBuf),
    /// An environment variable.
    Env(String),
}

/// A client's key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientKeySettings {
    /// Name in logs and reports.
    pub name: String,
    /// Where the key is stored.
    pub secret: SecretLocation,
    /// Names of the models that the key may use; empty for all.
    #[serde(default)]
    pub models: Vec<String>,
    /// Whether requests may supply sources: texts that answers may state in a closed world.
    #[serde(default)]
    pub sources: bool,
}

/// Limits. Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayLimits {
    /// Longest wait for a connection to a model server.
    pub connect_ms: u64,
    /// Longest wait for the first event.
    pub first_token_ms: u64,
    /// Longest wait between two events.
    pub between_tokens_ms: u64,
    /// Longest time for a whole answer.
    pub whole_ms: u64,
    /// Longest wait for a client that does not read its answer.
    pub client_ms: u64,
    /// Longest wait for the head of a request, and separately for its body.
    pub request_ms: u64,
    /// Silence after which a comment is sent on an event stream.
    pub keep_alive_ms: u64,
    /// Longest request body.
    pub body_bytes: usize,
    /// Longest event of a model server.
    pub line_bytes: usize,
    /// Longest answer of a model server.
    pub stream_bytes: usize,
    /// Requests that are answered at the same time.
    pub requests: usize,
    /// Connections at the same time.
    pub connections: usize,
    /// Open streams of the native API.
    pub decide_streams: usize,
    /// Open streams of the native API per key.
    pub decide_streams_per_key: usize,
    /// Silence of the caller after which a stream of the native API ends.
    pub decide_idle_ms: u64,
    /// End states that are kept for the next turn of their conversations; 0 for none.
    pub turns: usize,
    /// Approximate memory for the kept end states.
    pub turns_bytes: usize,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            connect_ms: 5_000,
            first_token_ms: 60_000,
            between_tokens_ms: 30_000,
            whole_ms: 600_000,
            client_ms: 30_000,
            request_ms: 30_000,
            keep_alive_ms: 15_000,
            body_bytes: 4 << 20,
            line_bytes: 1 << 20,
            stream_bytes: 64 << 20,
            requests: 1_000,
            connections: 2_000,
            decide_streams: 256,
            decide_streams_per_key: 64,
            decide_idle_ms: 60_000,
            turns: 4_096,
            turns_bytes: 64 << 20,
        }
    }
}

impl GatewayLimits {
    pub(crate) const fn first_token(&self) -> Duration {
        Duration::from_millis(self.first_token_ms)
    }

    pub(crate) const fn between_tokens(&self) -> Duration {
        Duration::from_millis(self.between_tokens_ms)
    }

    pub(crate) const fn whole(&self) -> Duration {
        Duration::from_millis(self.whole_ms)
    }

    pub(crate) const fn client(&self) -> Duration {
        Duration::from_millis(self.client_ms)
    }

    pub(crate) const fn request(&self) -> Duration {
        Duration::from_millis(self.request_ms)
    }
}

/// When a session ends and the next begins; zero disables a condition.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionRotation {
    /// After this many determinations.
    pub records: u64,
    /// After this many bytes of text.
    pub bytes: u64,
    /// After this many seconds.
    pub seconds: u64,
    /// Time in milliseconds for open streams to finish; then the gateway ends them.
    pub drain_ms: u64,
}

impl Default for SessionRotation {
    fn default() -> Self {
        Self { records: 1_000_000, bytes: 1 << 30, seconds: 86_400, drain_ms: 30_000 }
    }
}

/// When text is sent to the reader: after the card has admitted it, or after a checkpoint that covers its record is
/// signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "lowercase"))]
#[serde(rename_all = "lowercase")]
pub enum ReleaseCondition {
    #[default]
    Admitted,
    Signed,
}

/// Proofs that answers were admitted. They need bundles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvidenceSettings {
    /// When text is sent to the reader.
    pub release: ReleaseCondition,
    /// Shortest time in milliseconds between two checkpoints that the gateway requests after streams have ended.
    pub checkpoint_ms: u64,
    /// Longest wait in milliseconds for the checkpoint over an answer, if the client asks for proofs.
    pub proof_ms: u64,
    /// Number of recent answers whose proofs are kept.
    pub answers: usize,
    /// Which texts the bundles contain.
    pub texts: TextRetention,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        Self {
            release: ReleaseCondition::Admitted,
            checkpoint_ms: 1_000,
            proof_ms: 15_000,
            answers: 4_096,
            texts: TextRetention::Plain,
        }
    }
}

impl EvidenceSettings {
    pub(crate) const fn proof(&self) -> Duration {
        Duration::from_millis(self.proof_ms)
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// What is wrong, and how to correct it.
    #[error("{0}")]
    Unfit(String),
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        source: std::io::Error,
    },
}

impl GatewayConfig {
    /// Reads the configuration in a file.
    ///
    /// # Errors
    /// [`ConfigError::Settings`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Ok(portcullis_settings::read(path)?)
    }

    /// Reads a configuration from its text; errors name the file `gateway.toml`.
    ///
    /// # Errors
    /// [`ConfigError::Settings`].
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Ok(portcullis_settings::parse("gateway.toml", text)?)
    }

    /// Checks rules that concern more than one setting.
    ///
    /// # Errors
    /// [`ConfigError::Unfit`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let unfit = |what: String| Err(ConfigError::Unfit(what));
        if self.models.is_empty() {
            return unfit("no model is configured: add a `[[model]]`, or give `--upstream`".into());
        }
        for (at, card) in self.cards.iter().enumerate() {
            let is_device = !matches!(card.card, CardChoice::Model | CardChoice::Sim);
            if is_device && self.cards.iter().take(at).any(|other| other.card == card.card) {
                return unfit(format!("card `{}` is configured twice; a card has one session at a time", card.card));
            }
            if card.tickets.is_some() && self.bundles.is_none() {
                return unfit(format!("card `{}` has tickets, and a session with a ticket needs `bundles`", card.card));
            }
            let same = |other: &&CardSettings| card.tickets.is_some() && other.tickets == card.tickets;
            if self.cards.iter().take(at).any(|other| same(&other)) {
                return unfit(format!("card `{}` shares its folder of tickets with another card", card.card));
            }
        }
        for (at, model) in self.models.iter().enumerate() {
            if self.models.iter().take(at).any(|other| other.name == model.name) {
                return unfit(format!("two models have the name `{}`", model.name));
            }
            let url = url::Url::parse(&model.upstream);
            if !url.is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host()) {
                return unfit(format!("the upstream of model `{}` is not a URL of http or https", model.name));
            }
        }
        for model in self.models.iter().filter(|model| model.upstream_key.is_some()) {
            let url = url::Url::parse(&model.upstream).ok();
            let is_far = |url: url::Url| !url.host().is_some_and(|host| is_loopback(&host));
            if url.is_some_and(|url| url.scheme() == "http" && is_far(url)) {
                return unfit(format!(
                    "the key of model `{}` would cross the network in the clear; use https",
                    model.name
                ));
            }
        }
        let cannot = |model: &&ServedModelSettings| model.mode == AnswerMode::Driven && !model.kind.continues();
        if let Some(model) = self.models.iter().find(cannot) {
            let why = "only servers of kind `vllm`, `llamacpp` and `sglang` go on from admitted text";
            return unfit(format!("model `{}` cannot be `driven`: {why}", model.name));
        }
        for key in &self.keys {
            if let Some(name) = key.models.iter().find(|name| !self.models.iter().any(|model| model.name == **name)) {
                return unfit(format!("key `{}` opens model `{name}`, which is not configured", key.name));
            }
        }
        if self.bundles.is_none() && self.evidence.release == ReleaseCondition::Signed {
            return unfit("text that leaves when it is signed needs a signing session: give `bundles`".into());
        }
        if self.bundles.is_none() && self.evidence.texts != TextRetention::Plain {
            return unfit("`texts` says what of the texts stands in the bundles: give `bundles`".into());
        }
        if let Some(admin) = self.admin.as_ref().filter(|admin| !admin.listen.ip().is_loopback()) {
            let why = "the admin's key would cross the network in the clear; listen on 127.0.0.1";
            return unfit(format!("{} is not of the loopback interface: {why}", admin.listen));
        }
        if let Some(traces) = &self.traces {
            let url = url::Url::parse(&traces.endpoint).ok();
            let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
            let Some(url) = url else {
                return unfit(format!(
                    "the endpoint of `[traces]`, `{}`, is not a URL of http or https",
                    traces.endpoint
                ));
            };
            let is_far = !url.host().is_some_and(|host| is_loopback(&host));
            if !traces.headers.is_empty() && url.scheme() == "http" && is_far {
                return unfit("the headers of `[traces]` would cross the network in the clear; use https".into());
            }
            if traces.queue == 0 || traces.timeout_ms == 0 {
                return unfit("`queue` and `timeout_ms` of `[traces]` must be above zero".into());
            }
        }
        if self.keys.is_empty() && !self.listen.ip().is_loopback() {
            let why = "without keys everybody who reaches the address could ask; configure a `[[key]]`, or listen on 127.0.0.1";
            return unfit(format!("{} is not of the loopback interface: {why}", self.listen));
        }
        if !self.keys.is_empty() && self.tls.is_none() && !self.listen.ip().is_loopback() {
            let why = "keys and texts would cross the network in the clear; configure `[tls]`";
            return unfit(format!("{} is not of the loopback interface: {why}", self.listen));
        }
        Ok(())
    }
}

impl SecretLocation {
    /// Reads the secret: one line of visible ASCII characters, from a variable or from a file that only one user can
    /// read.
    ///
    /// # Errors
    /// [`ConfigError::SecretLocation`].
    pub fn read(&self) -> Result<String, ConfigError> {
        Ok(match self {
            Self::File(path) => secret::line(path)?,
            Self::Env(name) => secret::variable(name)?,
        })
    }

    /// Reads a key that clients of this gateway show: like [`SecretLocation::read`], with at least
    /// [`secret::MIN_CHARS`] characters. Another server decides about the length of its own keys.
    ///
    /// # Errors
    /// [`ConfigError::SecretLocation`].
    pub fn read_key(&self) -> Result<String, ConfigError> {
        Ok(match self {
            Self::File(path) => secret::key(path)?,
            Self::Env(name) => secret::key_variable(name)?,
        })
    }
}
