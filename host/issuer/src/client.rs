//! The client of a running issuer. It repeats a request whose answer was lost, for a limited time.

use crate::wire::{
    Base64Bytes, CLOSINGS, CheckpointReport, ErrorAnswer, ErrorBody, OPENINGS, ReportAnswer, TICKETS, TicketAnswer,
    TicketRequest,
};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::ticket::{self, SessionTicket};
use portcullis_http::client::{BoundedClient, ExchangeError, ExchangeLimits, HttpAnswer, RootsError, TrustedRoots};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest answer, in bytes: the largest ticket in base64, and some text.
const MAX_ANSWER: u64 = ticket::MAX_BYTES as u64 * 2;
/// Longest time for one attempt. It is longer than the issuer's own wait for its store.
const ATTEMPT: Duration = Duration::from_secs(30);
/// Pauses between two attempts: the first, and the longest. Each is twice the one before it.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Longest text of an issuer that a message quotes, in characters.
const QUOTED: usize = 400;

/// Why an issuer did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum IssuerClientError {
    #[error("`{0}` is not the address of an issuer: {1}")]
    Address(String, &'static str),
    #[error("the certificates for the issuer: {0}")]
    Authorities(String),
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// No answer came, or the issuer could not work, in all attempts.
    #[error("the issuer at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    /// The issuer refused; a repeated request would be refused, too.
    #[error("the issuer refuses ({code}): {message}; {remedy}")]
    Refused { code: String, message: String, remedy: String },
    #[error("the answer of the issuer at {url} is wrong: {why}")]
    Answer { url: String, why: String },
}

/// Reports by the card's key and seat.
type Unreported = BTreeMap<([u8; 32], u16), Vec<CheckpointReport>>;

/// A client of the issuer at one address.
pub struct IssuerClient {
    url: String,
    token: String,
    http: BoundedClient,
    patience: Duration,
    /// The closings that the issuer has not got yet, by key and seat. A card reports its own ones only, so none asks
    /// for a ticket while another one has its report in hand.
    unreported: Mutex<Unreported>,
}

impl fmt::Debug for IssuerClient {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuerClient").field("url", &self.url).finish_non_exhaustive()
    }
}

impl IssuerClient {
    /// A client that repeats a request for at most `patience`. `authorities` are certificates in PEM to trust for
    /// `https`; without them, those of Mozilla's programme are trusted. Errors: `url` is not `https://…`, or `http://…`
    /// with a host of the loopback interface, because the token must not cross a network in the clear.
    pub fn new(
        url: &str,
        token: String,
        authorities: Option<&str>,
        patience: Duration,
    ) -> Result<Self, IssuerClientError> {
        let wrong = |why| IssuerClientError::Address(url.to_owned(), why);
        let parsed = url::Url::parse(url).map_err(|_| wrong("it is not a URL"))?;
        let is_here = match parsed.host() {
            Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(url::Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
            Some(url::Host::Ipv6(ip)) => IpAddr::from(ip).is_loopback(),
            None => false,
        };
        match parsed.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => return Err(wrong("the token would cross the network in the clear; use https")),
            _ => return Err(wrong("it is neither http nor https")),
        }
        if parsed.path() != "/" || parsed.query().is_some() || !parsed.username().is_empty() {
            return Err(wrong("give only the scheme, the host and the port"));
        }
        let roots = authorities.map(TrustedRoots::from_pem).transpose().map_err(|error| match error {
            RootsError::Pem(error) => IssuerClientError::Authorities(error.to_string()),
            RootsError::Empty => IssuerClientError::Authorities("there is none in the file".to_owned()),
        })?;
        let limits = ExchangeLimits { time: ATTEMPT, answer_bytes: MAX_ANSWER };
        let http = BoundedClient::direct(limits, roots.unwrap_or(TrustedRoots::mozilla()));
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, token, http, patience, unreported: Mutex::default() })
    }

    /// The issuer's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Requests a ticket; returns its COSE message. Before that, reports the closings of this seat that the issuer has
    /// not got yet. A report that it refuses is not repeated: it then refuses the ticket, too, because the seat's
    /// session is open. Errors: [`IssuerClientError`].
    pub fn issue(&self, request: &TicketRequest) -> Result<Vec<u8>, IssuerClientError> {
        let place = (request.public_key.0, request.seat);
        let waiting = self.unreported().remove(&place).unwrap_or_default();
        for (at, report) in waiting.iter().enumerate() {
            if let Err(error @ IssuerClientError::Unreachable { .. }) = self.post::<ReportAnswer>(CLOSINGS, report) {
                let rest = waiting.into_iter().skip(at);
                self.unreported().entry(place).or_default().extend(rest);
                return Err(error);
            }
        }
        let answer: TicketAnswer = self.post(TICKETS, request)?;
        let wrong = |why: String| IssuerClientError::Answer { url: self.url.clone(), why };
        let ticket = SessionTicket::parse(&answer.ticket.0).map_err(|error| wrong(error.to_string()))?.content;
        if ticket.seat != request.seat {
            return Err(wrong(format!("the ticket is for seat {}, not {}", ticket.seat, request.seat)));
        }
        Ok(answer.ticket.0)
    }

    /// Reports the opening checkpoint of a session. Errors: [`IssuerClientError`].
    pub fn opened(&self, public_key: [u8; 32], checkpoint: &[u8]) -> Result<ReportAnswer, IssuerClientError> {
        self.post(
            OPENINGS,
            &CheckpointReport { public_key: HexBytes(public_key), checkpoint: Base64Bytes(checkpoint.to_vec()) },
        )
    }

    /// Reports the closing checkpoint of a session. If the issuer cannot be reached, the report is repeated before the
    /// next ticket of this seat is requested. Errors: [`IssuerClientError`].
    pub fn closed(
        &self,
        public_key: [u8; 32],
        seat: u16,
        checkpoint: &[u8],
    ) -> Result<ReportAnswer, IssuerClientError> {
        let report =
            CheckpointReport { public_key: HexBytes(public_key), checkpoint: Base64Bytes(checkpoint.to_vec()) };
        let answered = self.post(CLOSINGS, &report);
        if let Err(IssuerClientError::Unreachable { .. }) = &answered {
            self.unreported().entry((public_key, seat)).or_default().push(report);
        }
        answered
    }

    fn unreported(&self) -> MutexGuard<'_, Unreported> {
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a request until an answer comes that a repetition would not change, or the time is over.
    fn post<T: DeserializeOwned>(&self, path: &str, request: &impl Serialize) -> Result<T, IssuerClientError> {
        let wrong = |why: String| IssuerClientError::Answer { url: self.url.clone(), why };
        let body = serde_json::to_vec(request).map_err(|error| wrong(error.to_string()))?;
        let (until, mut pause) = (Instant::now() + self.patience, PAUSES.0);
        loop {
            let why = match self.attempt(path, &body) {
                Ok(HttpAnswer { status: 200, body: answer }) => {
                    return serde_json::from_slice(&answer).map_err(|error| wrong(error.to_string()));
                }
                Ok(HttpAnswer { status: status @ (408 | 429 | 502..=504), body: answer }) => match refusal(&answer) {
                    Some(ErrorBody { code, message, .. }) => format!("{code}: {message}"),
                    None => format!("status {status}"),
                },
                Ok(HttpAnswer { status, body: answer }) => {
                    return Err(match refusal(&answer) {
                        Some(ErrorBody { code, message, remedy }) => {
                            IssuerClientError::Refused { code, message, remedy }
                        }
                        None => wrong(format!("status {status}")),
                    });
                }
                Err(error) => error.to_string(),
            };
            if Instant::now() + pause > until {
                return Err(IssuerClientError::Unreachable { url: self.url.clone(), why });
            }
            sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn attempt(&self, path: &str, body: &[u8]) -> Result<HttpAnswer, ExchangeError> {
        let token = format!("Bearer {}", self.token);
        let headers = [("content-type", "application/json"), ("connection", "close"), ("authorization", &token)];
        self.http.post(&format!("{}{path}", self.url), &headers, body)
    }
}

/// The refusal in an answer, fit for a message.
fn refusal(answer: &[u8]) -> Option<ErrorBody> {
    let ErrorAnswer { error } = serde_json::from_slice(answer).ok()?;
    let fit = |text: String| text.chars().filter(|c| !c.is_control()).take(QUOTED).collect();
    Some(ErrorBody { code: fit(error.code), message: fit(error.message), remedy: fit(error.remedy) })
}

/// A random number for a request. Errors: the operating system provides none.
pub fn request_number() -> Result<HexBytes<16>, IssuerClientError> {
    let mut number = [0; 16];
    getrandom::fill(&mut number)?;
    Ok(HexBytes(number))
}
