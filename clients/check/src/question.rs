//! A request in the form that is sent to the gateway.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The APIs whose answers are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedApi {
    Chat,
    Completions,
    Responses,
    Messages,
}

impl CheckedApi {
    /// All APIs. If the path of one API is a suffix of another path, the longer path comes first.
    const ALL: [Self; 4] = [Self::Chat, Self::Completions, Self::Responses, Self::Messages];

    /// The API of a path; `None` if answers under the path contain no model text.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        Self::ALL.into_iter().find(|api| path.ends_with(api.path()))
    }

    /// Path below the base URL of OpenAI's clients.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Completions => "/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }
}

/// A request in the form that is sent to the gateway.
#[derive(Clone, Debug)]
pub struct ClientQuestion {
    pub(crate) api: CheckedApi,
    pub(crate) body: Vec<u8>,
    /// SHA-256 of the body.
    pub(crate) digest: [u8; 32],
    pub(crate) nonce: String,
    pub(crate) model: String,
    pub(crate) choices: u32,
    /// Whether the client expects a stream of events.
    pub(crate) is_stream: bool,
    pub(crate) has_usage: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    #[error("the request's body is not a JSON object with a `model`")]
    Body,
    #[error("a nonce has 16 to 64 letters, digits, `-` or `_`, so that no one can guess it")]
    Nonce,
}

impl ClientQuestion {
    /// A request with this body, bound to `nonce`, which must be random and used only once. It requests the whole
    /// answer at once, even if the client expects a stream, because no text may be shown before all text is proved.
    pub fn new(api: CheckedApi, body: &[u8], nonce: &str) -> Result<Self, QuestionError> {
        let is_fit = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if !(16..=64).contains(&nonce.len()) || !nonce.bytes().all(is_fit) {
            return Err(QuestionError::Nonce);
        }
        let mut fields: Map<String, Value> = serde_json::from_slice(body).map_err(|_| QuestionError::Body)?;
        let model = fields.get("model").and_then(Value::as_str).ok_or(QuestionError::Body)?.to_owned();
        let is_stream = fields.remove("stream").is_some_and(|stream| stream == Value::Bool(true));
        let options = fields.remove("stream_options");
        let has_usage = options.is_some_and(|options| options.get("include_usage") == Some(&Value::Bool(true)));
        let choices = fields.get("n").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        fields.insert("portcullis".to_owned(), json!({"nonce": nonce, "receipt": true}));
        let body = Value::Object(fields).to_string().into_bytes();
        let digest = Sha256::digest(&body).into();
        Ok(Self { api, body, digest, nonce: nonce.to_owned(), model, choices, is_stream, has_usage })
    }

    /// The body to send to the gateway.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}
