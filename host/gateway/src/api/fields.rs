//! Fields that several APIs share: which values count as absent, and which are refused.

use crate::error::ApiError;
use crate::request::{ClientRequest, ConversationMessage, MessageRole, RequestSource, ToolChoice, ToolDefinition};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Deepest nesting of a request's JSON.
const DEPTH: usize = 64;

/// Parses a body. Unknown fields are refused: an engine would accept them silently, and some ask for text that the gate
/// does not judge.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    if depth(body) > DEPTH {
        return Err(ApiError::invalid("body", format!("the body is nested deeper than {DEPTH}")));
    }
    portcullis_core::json::from_slice(body).map_err(|error| {
        let text = error.to_string();
        let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        match unknown {
            Some(field) => {
                ApiError::invalid(field, "the gateway does not know this field and hands none on that it does not know")
            }
            None if text.starts_with("missing field") => ApiError::invalid("body", text),
            None => {
                let (line, column) = (error.line(), error.column());
                ApiError::invalid(
                    "body",
                    format!("a value that this API does not take, before line {line}, column {column}"),
                )
            }
        }
    })
}

/// Nesting depth of the brackets outside strings.
fn depth(body: &[u8]) -> usize {
    let (mut deep, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in body {
        match (quoted, byte) {
            (true, _) if std::mem::take(&mut escaped) => {}
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b'{' | b'[') => {
                deep += 1;
                deepest = deepest.max(deep);
            }
            (false, b'}' | b']') => deep = deep.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a field is set. `null`, `false`, zero and empty values count as absent.
pub(super) fn is_set(value: &Option<Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(Value::Bool(true)) => true,
    }
}

/// Refuses the request if one of these fields is set.
pub(super) fn refuse(fields: &[(&str, &Option<Value>, &str)]) -> Result<(), ApiError> {
    match fields.iter().find(|(_, value, _)| is_set(value)) {
        Some((name, _, why)) => Err(ApiError::invalid(*name, *why)),
        None => Ok(()),
    }
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn all(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// Fields for the gateway itself.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PortcullisExtension {
    nonce: Option<String>,
    #[serde(default)]
    receipt: bool,
    sources: Vec<RequestSource>,
}

impl PortcullisExtension {
    /// Adds these settings to a request.
    pub(super) fn extend(self, request: ClientRequest) -> Result<ClientRequest, ApiError> {
        let nonce = nonce(self.nonce, "portcullis.nonce")?;
        Ok(ClientRequest { nonce, receipt: self.receipt, sources: self.sources.into(), ..request })
    }
}

/// Checks a nonce; `param` is the name of its field.
pub(crate) fn nonce(nonce: Option<String>, param: &str) -> Result<Option<String>, ApiError> {
    let is_fit = |nonce: &String| {
        (1..=64).contains(&nonce.len()) && nonce.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    match nonce {
        Some(nonce) if !is_fit(&nonce) => {
            Err(ApiError::invalid(param, "a nonce has 1 to 64 letters, digits, `-` or `_`"))
        }
        nonce => Ok(nonce),
    }
}

/// A function in OpenAI's tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenAiToolFunction {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
    strict: Option<bool>,
}

impl From<OpenAiToolFunction> for ToolDefinition {
    fn from(OpenAiToolFunction { name, description, parameters, strict }: OpenAiToolFunction) -> Self {
        Self { name, description, parameters, strict }
    }
}

/// Parses `tool_choice` in OpenAI's forms: a word, or an object with the function's name, directly or in `function`.
pub(super) fn tool_choice(value: Option<Value>) -> Result<Option<ToolChoice>, ApiError> {
    let unknown = || ApiError::invalid("tool_choice", "`none`, `auto`, `required` or one function by name");
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let choice = match &value {
        Value::String(word) => match word.as_str() {
            "none" => ToolChoice::None,
            "auto" => ToolChoice::Auto,
            "required" => ToolChoice::Required,
            _ => return Err(unknown()),
        },
        Value::Object(fields) if fields.get("type").and_then(Value::as_str) == Some("function") => {
            let name = fields.get("function").and_then(|function| function.get("name")).or_else(|| fields.get("name"));
            ToolChoice::Named(name.and_then(Value::as_str).ok_or_else(unknown)?.to_owned())
        }
        _ => return Err(unknown()),
    };
    Ok(Some(choice))
}

/// The text of a message: a string, or its text parts joined by line feeds. `texts` lists the types of text parts.
pub(crate) fn text(content: Option<Value>, texts: &[&str], param: &str) -> Result<String, ApiError> {
    let wrong = || ApiError::invalid(param, "a string, or a list of text parts");
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => {
            let part = |part: &Value| {
                let kind = part.get("type").and_then(Value::as_str).ok_or_else(wrong)?;
                if !texts.contains(&kind) {
                    return Err(ApiError::invalid(param, "a part that is not text: it cannot be judged here"));
                }
                part.get(if kind == "refusal" { kind } else { "text" })
                    .and_then(Value::as_str)
                    .map(str::to_owned)
                    .ok_or_else(wrong)
            };
            Ok(parts.iter().map(part).collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        Some(_) => Err(wrong()),
    }
}

/// Checks that a model can continue the conversation.
pub(super) fn conversation(messages: Vec<ConversationMessage>) -> Result<Vec<ConversationMessage>, ApiError> {
    match messages.iter().rfind(|message| message.role != MessageRole::System) {
        None if !messages.is_empty() => Ok(messages),
        None => Err(ApiError::invalid("messages", "there is no message")),
        Some(last) if last.role == MessageRole::Assistant => {
            let why = "the last message is the assistant's: the gateway does not continue text that it did not release";
            Err(ApiError::invalid("messages", why))
        }
        Some(_) => Ok(messages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        assert_eq!(depth(br#"{"a":[1,{"b":"]}{[\"["}]}"#), 3);
        assert_eq!(depth(b""), 0);
    }

    #[test]
    fn what_says_nothing_is_absent() {
        use serde_json::json;
        for absent in [json!(null), json!(false), json!(0), json!(""), json!([]), json!({})] {
            assert!(!is_set(&Some(absent)));
        }
        for set in [json!(true), json!(1), json!("a"), json!([0]), json!({"a": null})] {
            assert!(is_set(&Some(set)));
        }
    }
}
