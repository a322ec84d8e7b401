//! The errors that clients get in place of an answer. They contain no text of an upstream, and from a request only the
//! name of a field.

use axum::http::StatusCode;

/// Code of an error of the gate itself.
pub(crate) const GATE_FAILED: &str = "gate_failed";

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// OpenAI's `type`, and Anthropic's.
    pub kind: &'static str,
    /// Code for programs.
    pub code: &'static str,
    /// Name of the wrong field.
    pub param: Option<String>,
    /// Message for people.
    pub message: String,
    /// Seconds after which the client may retry.
    pub retry_after: Option<u32>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, code, param: None, message: message.into(), retry_after: None }
    }

    /// The request is invalid; `param` names the wrong field.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", "invalid_request", message);
        Self { param: Some(param.into()), ..error }
    }

    /// The pre-execution filter refused the input by these rules.
    #[must_use]
    pub fn input_refused(rules: &[String]) -> Self {
        let message = format!("the input was refused by the pre-execution filter: {}", rules.join(", "));
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", "content_filter", message)
    }

    /// The key is missing or unknown.
    #[must_use]
    pub fn unauthorized() -> Self {
        let message = "no valid key; send it as `Authorization: Bearer KEY` or as `x-api-key`";
        Self::new(StatusCode::UNAUTHORIZED, "authentication_error", "invalid_api_key", message)
    }

    /// The request is meant for another host.
    #[must_use]
    pub fn wrong_host() -> Self {
        let message =
            "without keys the gateway answers only to `localhost` and loopback addresses in the header `Host`";
        Self::new(StatusCode::FORBIDDEN, "permission_error", "wrong_host", message)
    }

    /// There is no such model for this key.
    #[must_use]
    pub fn no_model() -> Self {
        let message =
            "this model does not exist here, or the key may not use it; `GET /v1/models` lists those that it may";
        let error = Self::new(StatusCode::NOT_FOUND, "not_found_error", "model_not_found", message);
        Self { param: Some("model".into()), ..error }
    }

    /// The body exceeds the limit.
    #[must_use]
    pub fn too_large(most: usize) -> Self {
        let message = format!("the body is longer than {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request_error", "request_too_large", message)
    }

    /// The gateway is full or is stopping; the client may retry.
    pub fn unavailable(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded_error", "unavailable", message);
        Self { retry_after: Some(1), ..error }
    }

    /// The model's server failed.
    #[must_use]
    pub fn upstream(message: &str) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "api_error", "upstream_error", message)
    }

    /// The model's server did not answer in time.
    #[must_use]
    pub fn upstream_late(message: &str) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "api_error", "upstream_timeout", message)
    }

    /// The gate failed: nothing more is released.
    #[must_use]
    pub fn gate(message: &str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", GATE_FAILED, message)
    }

    /// The gateway ended the answer, because it is being stopped or changes its session; the client may ask again.
    #[must_use]
    pub fn shutting_down() -> Self {
        let message = "the session of the gate is being shut down, and ended this answer; ask again";
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded_error", "shutting_down", message);
        Self { retry_after: Some(1), ..error }
    }

    /// This key got no answer of that id, or the answer is not kept any more.
    #[must_use]
    pub fn no_answer() -> Self {
        let message = "no answer of that identity went to this key lately";
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "answer_not_found", message)
    }

    /// The answer has no proof and will get none.
    #[must_use]
    pub fn unproven() -> Self {
        let message =
            "the answer has no proof: its session ended before a checkpoint covered it, or it is not kept any more";
        Self::new(StatusCode::GONE, "not_found_error", "answer_unproven", message)
    }

    /// This key has no such stream.
    #[must_use]
    pub fn no_stream() -> Self {
        let message = "there is no open stream of this name for this key";
        let error = Self::new(StatusCode::NOT_FOUND, "not_found_error", "stream_not_found", message);
        Self { param: Some("stream".into()), ..error }
    }

    /// The stream cannot accept this request now.
    #[must_use]
    pub fn conflict(code: &'static str, message: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "invalid_request_error", code, message)
    }

    /// The path does not exist.
    #[must_use]
    pub fn no_route() -> Self {
        let message = "there is nothing under this path and method";
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "not_found", message)
    }
}
