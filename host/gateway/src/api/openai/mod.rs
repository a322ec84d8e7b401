//! The APIs of OpenAI. Many other servers and clients speak them.

pub(super) mod chat;
pub(super) mod completions;
pub(super) mod responses;

use crate::error::ApiError;
use crate::output::{AnswerProvenance, TokenUsage};
use serde_json::{Value, json};

/// An error as a JSON object.
pub(super) fn error_object(error: &ApiError) -> Value {
    let ApiError { kind, code, param, message, .. } = error;
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

/// The last events of OpenAI's streams: the provenance, then `[DONE]`.
fn done(mut last: Value, usage: Option<TokenUsage>, provenance: &AnswerProvenance) -> String {
    if let Some(last) = last.as_object_mut() {
        last.extend(usage.map(|usage| ("usage".to_owned(), chat::usage_object(usage))));
        last.insert("portcullis".into(), json!(provenance));
    }
    data(&last) + "data: [DONE]\n\n"
}

/// An event without a name: a data line and a blank line.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}
