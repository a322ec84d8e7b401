//! A client that blocks: one deadline covers name look-up, connection, request and the whole answer, and an answer has
//! a largest size.

use std::io;
use std::time::Duration;
use ureq::config::ConfigBuilder;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::typestate::AgentScope;

/// The limits of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// Longest time from the look-up of the name to the end of the answer.
    pub time: Duration,
    /// Largest body of an answer, in bytes.
    pub answer_bytes: u64,
}

/// The authorities that a client trusts for `https`.
#[derive(Clone, Debug)]
pub struct TrustedRoots(RootCerts);

/// Why certificates cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("{0}")]
    Pem(ureq::Error),
    #[error("there is no certificate")]
    Empty,
}

impl TrustedRoots {
    /// The authorities of Mozilla's programme.
    #[must_use]
    pub const fn mozilla() -> Self {
        Self(RootCerts::WebPki)
    }

    /// Certificates in PEM.
    ///
    /// # Errors
    /// [`RootsError`].
    pub fn from_pem(pem: &str) -> Result<Self, RootsError> {
        let mut found = Vec::new();
        for item in parse_pem(pem.as_bytes()) {
            if let PemItem::Certificate(certificate) = item.map_err(RootsError::Pem)? {
                found.push(certificate);
            }
        }
        if found.is_empty() { Err(RootsError::Empty) } else { Ok(Self(RootCerts::new_with_certs(&found))) }
    }
}

/// An answer of any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why no answer was read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ExchangeError(#[from] ureq::Error);

/// What went wrong in an exchange.
#[derive(Debug)]
pub enum ExchangeFault {
    /// No connection.
    Connect(io::Error),
    /// The time is over.
    Deadline,
    /// The answer is longer than the limit.
    Oversize,
    /// The connection ended within the answer, or before it.
    Closed,
    /// Another error of the connection.
    Connection(io::Error),
    /// The answer is not HTTP/1.1.
    Malformed,
}

impl ExchangeError {
    #[must_use]
    pub fn into_fault(self) -> ExchangeFault {
        use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable, UnexpectedEof};
        match self.0 {
            ureq::Error::Timeout(_) => ExchangeFault::Deadline,
            ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) => ExchangeFault::Oversize,
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
                ExchangeFault::Connect(io::Error::other(self.0.to_string()))
            }
            ureq::Error::Io(error) => match error.kind() {
                AddrNotAvailable | ConnectionRefused | HostUnreachable | NetworkUnreachable => {
                    ExchangeFault::Connect(error)
                }
                UnexpectedEof => ExchangeFault::Closed,
                _ => ExchangeFault::Connection(error),
            },
            _ => ExchangeFault::Malformed,
        }
    }
}

/// A client with the same limits for each exchange. It follows no redirect, and a status is not an error.
#[derive(Clone, Debug)]
pub struct BoundedClient {
    agent: ureq::Agent,
    answer_bytes: u64,
}

impl BoundedClient {
    /// A client that keeps connections, and that uses the proxy of the environment.
    #[must_use]
    pub fn shared(limits: ExchangeLimits) -> Self {
        Self::of(limits, |config| config)
    }

    /// A client that uses one connection per exchange and no proxy.
    #[must_use]
    pub fn direct(limits: ExchangeLimits, roots: TrustedRoots) -> Self {
        let tls = TlsConfig::builder().root_certs(roots.0).build();
        Self::of(limits, |config| config.tls_config(tls).max_idle_connections(0).proxy(None))
    }

    fn of(
        ExchangeLimits { time, answer_bytes }: ExchangeLimits,
        with: impl FnOnce(ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope>,
    ) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(time)).max_redirects(0);
        let config = with(config.http_status_as_error(false).user_agent("portcullis"));
        Self { agent: config.build().new_agent(), answer_bytes }
    }

    /// Posts a body with these headers, and reads the whole answer.
    ///
    /// # Errors
    /// [`ExchangeError`].
    pub fn post(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<HttpAnswer, ExchangeError> {
        let request = headers.iter().fold(self.agent.post(url), |request, (name, value)| request.header(*name, *value));
        let mut answer = request.send(body)?;
        let status = answer.status().as_u16();
        let (most, too_long) = (self.answer_bytes, || ExchangeError(ureq::Error::BodyExceedsLimit(self.answer_bytes)));
        let body = answer.body_mut();
        if body.content_length().is_some_and(|length| length > most) {
            return Err(too_long());
        }
        // ureq also refuses a body of exactly its limit.
        let body = body.with_config().limit(most.saturating_add(1)).read_to_vec().map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => too_long(),
            error => error.into(),
        })?;
        if body.len() as u64 > most { Err(too_long()) } else { Ok(HttpAnswer { status, body }) }
    }
}
