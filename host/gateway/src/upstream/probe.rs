//! What an operator learns about a model server besides its answers: its URL in logs, and one question at the start of
//! the gateway. A server that cannot be reached may start later, so nothing here ends the gateway.

use super::UpstreamClient;
use crate::config::UpstreamKind;
use reqwest::RequestBuilder;
use std::time::Duration;
use tokio::time::timeout;

/// Longest wait for the answer to the question at the start.
const PATIENCE: Duration = Duration::from_secs(10);
/// The path of the list of models, which servers of every kind have.
const MODELS: &str = "/models";

impl UpstreamClient {
    /// Adds the gateway's key for the server, and the version of the API.
    pub(super) fn authorize(&self, asked: RequestBuilder) -> RequestBuilder {
        let asked = match (&self.key, self.kind) {
            (Some(key), UpstreamKind::Anthropic) => asked.header("x-api-key", key),
            (Some(key), _) => asked.bearer_auth(key),
            (None, _) => asked,
        };
        match self.kind {
            UpstreamKind::Anthropic => asked.header("anthropic-version", "2023-06-01"),
            _ => asked,
        }
    }

    /// The URL of a path of the server for logs: without a user, a password and a query, which can be secrets.
    pub(super) fn shown(&self, path: &str) -> String {
        let Ok(mut url) = url::Url::parse(&format!("{}{path}", self.base)) else { return String::new() };
        // These fail for URLs that cannot have such parts.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        url.into()
    }

    /// Asks for the list of models, and logs a warning if the server does not give it. The list itself is not read.
    pub(crate) async fn probe(&self, model: &str) {
        let url = self.shown(MODELS);
        let asked = self.authorize(self.client.get(format!("{}{MODELS}", self.base))).send();
        let status = match timeout(PATIENCE, asked).await {
            Ok(Ok(response)) => response.status().as_u16(),
            _ => {
                let why = "the model's server cannot be reached now; requests get 502 until it answers";
                tracing::warn!(model, url, "{why}");
                return;
            }
        };
        let why = match status {
            200..=299 => return,
            401 | 403 => "the model's server refuses the key: look at `upstream_key` of the model",
            404 | 405 if !self.base.ends_with("/v1") => {
                "the model's server has nothing under this URL: the base of most servers ends in `/v1`"
            }
            404 | 405 => "the model's server has nothing under this URL: look at the base URL of the model",
            _ => "the model's server does not list its models",
        };
        tracing::warn!(model, url, status, "{why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GatewayLimits;
    use crate::upstream::{UpstreamSettings, client};

    #[test]
    fn a_url_in_a_log_holds_no_secret() {
        let base = "http://user:secret@127.0.0.1:9/v1?key=secret#secret".to_owned();
        let settings = UpstreamSettings { kind: UpstreamKind::OpenAi, base, key: None, model: None, strict: false };
        let upstream = UpstreamClient::new(client(PATIENCE, None).unwrap(), settings, GatewayLimits::default());
        assert_eq!(upstream.shown(""), "http://127.0.0.1:9/v1");
    }
}
