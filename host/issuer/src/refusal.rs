//! Why the service refuses a request.

use crate::wire::{ErrorAnswer, ErrorBody};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use portcullis_authority::EventStoreError;
use portcullis_authority::public_log::PublicLogError;
use portcullis_authority::tickets::IssueError;
use portcullis_evidence::ticket::TicketError;
use std::borrow::Cow;

/// Seconds after which a client may ask again, if the service cannot answer now.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");
/// The remedy for requests that no client of this project sends.
const SEE: &str = "the requests are described in docs/how-to/tickets-and-witness.md";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IssuerRefusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    message: String,
    remedy: Cow<'static, str>,
}

impl IssuerRefusal {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { status, code, message: message.into(), remedy: remedy.into() }
    }

    pub(crate) fn unauthorized() -> Self {
        let message = "the request has no valid token";
        let remedy = "send the token of a `[[client]]` as `Authorization: Bearer TOKEN` (`--issuer-token`)";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message, remedy)
    }

    pub(crate) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "there is nothing at this path", SEE)
    }

    pub(crate) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", "this path takes another method", SEE)
    }

    pub(crate) fn wrong_type() -> Self {
        let message = "the body of a request must be JSON";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "wrong-type", message, "send `Content-Type: application/json`")
    }

    pub(crate) fn too_large(most: usize) -> Self {
        let message = format!("the body of a request has at most {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message, SEE)
    }

    pub(crate) fn too_slow() -> Self {
        let message = "the body of the request did not come in time";
        Self::new(StatusCode::REQUEST_TIMEOUT, "too-slow", message, "send the whole request at once")
    }

    pub(crate) fn malformed(error: &serde_json::Error) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", format!("the body is not such a request: {error}"), SEE)
    }

    pub(crate) fn stopping() -> Self {
        Self::unavailable("stopping", "the issuer is being stopped")
    }

    pub(crate) fn busy() -> Self {
        Self::unavailable("busy", "the issuer works for other clients")
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let remedy = "read the log of the issuer";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message, remedy)
    }

    /// A refusal that a client may meet with a repeated request.
    fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message, "ask again")
    }
}

impl From<IssueError> for IssuerRefusal {
    fn from(error: IssueError) -> Self {
        let message = error.to_string();
        let conflict = |code, remedy: String| Self::new(StatusCode::CONFLICT, code, message.clone(), remedy);
        match error {
            IssueError::Pending(serial) => conflict(
                "seat-pending",
                format!(
                    "report the end of session {serial} with `portcullis ticket report`; only if its bundle has no closing \
                     checkpoint, give it up with `portcullis ticket abandon --serial {serial}`"
                ),
            ),
            IssueError::State(serial, state) => conflict(
                "session-over",
                format!("ask with a new number: the session of ticket {serial} is {state} for good"),
            ),
            IssueError::Used(_) => conflict(
                "ticket-used",
                "each seat has one card, and each session its own ticket: look for a second card with this seat".into(),
            ),
            IssueError::Unknown => {
                let remedy = "report to the issuer that has signed the session's ticket";
                Self::new(StatusCode::NOT_FOUND, "unknown-ticket", message, remedy)
            }
            IssueError::Shown(_) | IssueError::Stage(_) => {
                let remedy =
                    "report the first and the last file in `checkpoints/` of the bundle, with the card's public key";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-checkpoint", message, remedy)
            }
            IssueError::PublicLog(PublicLogError::Behind { .. }) => {
                let remedy = "bring back the newest copy of the store";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "store-behind", message, remedy)
            }
            IssueError::PublicLog(PublicLogError::OldCopy(_)) => {
                let remedy = "bring back the newest copy of the public log";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "log-behind", message, remedy)
            }
            IssueError::PublicLog(PublicLogError::Quorum(_)) => Self::unavailable("log-not-cosigned", message),
            IssueError::PublicLog(PublicLogError::Busy(_) | PublicLogError::Io { .. }) => {
                Self::unavailable("log-unavailable", message)
            }
            IssueError::Signing(_)
            | IssueError::Ticket(TicketError::Signing(_))
            | IssueError::PublicLog(PublicLogError::Signing(_)) => Self::unavailable("key-unavailable", message),
            IssueError::Store(EventStoreError::Damaged(_)) | IssueError::PublicLog(_) => Self::internal(message),
            IssueError::Store(_) => Self::unavailable("store-unavailable", message),
            IssueError::Ticket(_) | IssueError::Name | IssueError::Random(_) => Self::internal(message),
        }
    }
}

impl IntoResponse for IssuerRefusal {
    fn into_response(self) -> Response {
        let Self { status, code, message, remedy } = self;
        let error = ErrorBody { code: code.to_owned(), message, remedy: remedy.into_owned() };
        let mut response = json(status, &ErrorAnswer { error });
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        // The rest of a refused body is not read.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, answer: &impl serde::Serialize) -> Response {
    let (status, text) = match serde_json::to_string(answer) {
        Ok(text) => (status, text),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl std::fmt::Display for IssuerRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
