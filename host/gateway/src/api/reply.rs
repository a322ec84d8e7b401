//! Responses of every API: JSON, and errors.

use super::dialect::ApiDialect;
use crate::error::ApiError;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

pub(crate) fn json_response(status: StatusCode, body: String, id: &str) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    put_request_id(headers, id);
    response
}

pub(crate) fn error_response(dialect: ApiDialect, error: &ApiError) -> Response {
    let mut response = json_response(error.status, dialect.error(error).to_string(), "");
    let headers = response.headers_mut();
    headers.remove("x-request-id");
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub(super) fn put_request_id(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", id);
    }
}
