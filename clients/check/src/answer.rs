//! Parses and checks a gateway's answer. The check is strict: apart from the texts that the proofs cover, every string
//! in the answer must be the answer's id, the requested model, or a fixed word of the APIs.

use crate::admitted::{AdmissionError, CheckedChannel, SeenText};
use crate::events::events;
use crate::expectations::AnswerExpectations;
use crate::question::{CheckedApi, ClientQuestion};
use portcullis_evidence::stream_proof::{StreamFacts, StreamProof};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Longest answer in bytes.
const MAX_BYTES: usize = 128 << 20;

/// Fixed words of the APIs that an answer may contain.
const WORDS: &[&str] = &[
    "",
    "assistant",
    "auto",
    "chat.completion",
    "completed",
    "content_filter",
    "end_turn",
    "function",
    "function_call",
    "incomplete",
    "length",
    "max_output_tokens",
    "max_tokens",
    "message",
    "output_text",
    "reasoning",
    "reasoning_text",
    "refusal",
    "response",
    "stop",
    "text",
    "text_completion",
    "thinking",
    "tool_calls",
    "tool_use",
    "a part of the answer was refused; `portcullis` names the rules, where the gate did",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedAnswer {
    /// `application/json` or `text/event-stream`, as the client requested.
    pub content_type: &'static str,
    /// The body for the client.
    pub body: Vec<u8>,
    /// The facts of each proof.
    pub facts: Vec<StreamFacts>,
}

#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer is not one of a gateway: {0}")]
    Malformed(String),
    #[error("the answer holds `{0}`, which no proof is about")]
    Stray(String),
    /// The answer has no proofs; the reason is `not_yet` or `never`.
    #[error("the answer comes without its proofs: {0}")]
    Unproven(String),
    #[error(transparent)]
    Admission(#[from] AdmissionError),
}

/// The gateway's statements about its answer. The check takes no facts from them: it compares them with the proofs.
#[derive(Deserialize)]
struct ReceivedProvenance {
    answer: String,
    streams: Vec<ReceivedStreamReport>,
    proofs: Option<Vec<StreamProof>>,
    unproven: Option<String>,
}

#[derive(Deserialize)]
struct ReceivedStreamReport {
    choice: u32,
    channel: String,
    constants: Vec<(usize, usize)>,
}

/// A message whose tool calls have objects as arguments. `input` keeps the bytes of the arguments.
#[derive(Deserialize)]
struct ToolInputMessage {
    content: Vec<ToolInputBlock>,
}

#[derive(Deserialize)]
struct ToolInputBlock {
    input: Option<Box<RawValue>>,
}

impl ClientQuestion {
    /// Checks the body of an answer with status 200; returns the answer for the client. Errors: [`AnswerError`]; then
    /// no part of the answer may be shown.
    pub fn check(&self, body: &[u8], expected: &AnswerExpectations) -> Result<CheckedAnswer, AnswerError> {
        if body.len() > MAX_BYTES {
            return Err(AnswerError::Malformed(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let malformed = |error: serde_json::Error| AnswerError::Malformed(error.to_string());
        let mut answer: Value = serde_json::from_slice(body).map_err(malformed)?;
        let fields = answer.as_object_mut().ok_or_else(|| AnswerError::Malformed("no object".into()))?;
        let provenance = fields.remove("portcullis").unwrap_or_default();
        let provenance: ReceivedProvenance = serde_json::from_value(provenance).map_err(malformed)?;
        let Some(proofs) = provenance.proofs else {
            return Err(AnswerError::Unproven(provenance.unproven.unwrap_or_else(|| "none was sent".into())));
        };
        if !is_identity(&provenance.answer) {
            return Err(AnswerError::Stray(provenance.answer.chars().take(80).collect()));
        }
        let mut texts: BTreeMap<CheckedChannel, SeenText> = BTreeMap::new();
        let mut rest = answer.clone();
        let inputs: Option<ToolInputMessage> = serde_json::from_slice(body).ok();
        let inputs = inputs.into_iter().flat_map(|whole| whole.content).filter_map(|block| block.input);
        let inputs: Vec<String> = inputs.map(|input| input.get().to_owned()).collect();
        take_texts(self.api, &mut rest, inputs.iter().cloned(), &mut texts);
        self.check_words(&rest, &provenance.answer, 0)?;
        for ReceivedStreamReport { choice, channel, constants } in provenance.streams {
            if let Some(seen) = texts.get_mut(&CheckedChannel { choice, channel }) {
                // A choice that ended at a refused call has a second stream of its content, without text.
                seen.constants.extend(constants);
            }
        }
        let facts = self.check_admitted(&texts, &proofs, expected)?;
        let is_of_it = |facts: &StreamFacts| facts.context.id.starts_with(&format!("{}/", provenance.answer));
        if !facts.iter().all(is_of_it) {
            return Err(AnswerError::Stray(provenance.answer));
        }
        if let Some(fields) = answer.as_object_mut() {
            let refused: u64 = facts.iter().map(|facts| facts.refused).sum();
            let simulated = facts.iter().any(|facts| facts.simulated);
            let sessions: Vec<u64> = facts.iter().map(|facts| facts.serial).collect();
            let verified = json!({"verified": true, "simulated": simulated, "refused": refused, "sessions": sessions});
            fields.insert("portcullis".into(), verified);
        }
        // Arguments that are objects are copied as admitted, byte for byte: a number can have more digits than this
        // program can represent.
        let stand_in = |at: usize| format!("{}/{at}", self.nonce);
        let blocks = list(answer.get_mut("content")).filter_map(|block| block.get_mut("input"));
        blocks.enumerate().for_each(|(at, input)| *input = json!(stand_in(at)));
        let (content_type, written) = if self.is_stream {
            ("text/event-stream", events(self, &answer, &inputs))
        } else {
            ("application/json", answer.to_string())
        };
        let body = inputs
            .iter()
            .enumerate()
            .fold(written, |written, (at, input)| written.replace(&json!(stand_in(at)).to_string(), input));
        Ok(CheckedAnswer { content_type, body: body.into_bytes(), facts })
    }

    /// Checks that every remaining value is a fixed word, a whole number, the answer's id or the model.
    fn check_words(&self, value: &Value, id: &str, depth: usize) -> Result<(), AnswerError> {
        let is_hex = |text: &str| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let is_known = |text: &str| {
            let item = text.strip_prefix(id).and_then(|rest| rest.strip_prefix('_'));
            WORDS.contains(&text)
                || text == id
                || text == self.model
                || item.is_some_and(|number| number.len() < 8 && number.bytes().all(|b| b.is_ascii_digit()))
                || text.strip_prefix("call_").is_some_and(is_hex)
        };
        let is_key = |key: &str| key.len() <= 32 && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        match value {
            _ if depth > 16 => Err(AnswerError::Malformed("it is nested too deeply".into())),
            Value::String(text) if !is_known(text) => Err(AnswerError::Stray(text.chars().take(80).collect())),
            Value::Number(number) if !number.is_u64() => Err(AnswerError::Stray(number.to_string())),
            Value::Array(values) => values.iter().try_for_each(|value| self.check_words(value, id, depth + 1)),
            Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
                if !is_key(key) {
                    return Err(AnswerError::Stray(key.chars().take(80).collect()));
                }
                self.check_words(value, id, depth + 1)
            }),
            _ => Ok(()),
        }
    }
}

/// Whether a string has the form of an answer's id. The gateway makes the id, so the form must leave no room for text.
fn is_identity(id: &str) -> bool {
    let random = ["chatcmpl-", "cmpl-", "resp_", "msg_"].iter().find_map(|prefix| id.strip_prefix(prefix));
    random.is_some_and(|random| random.len() == 32 && random.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Removes the texts from an answer, and returns them.
fn take_texts(
    api: CheckedApi,
    answer: &mut Value,
    inputs: impl Iterator<Item = String>,
    texts: &mut BTreeMap<CheckedChannel, SeenText>,
) {
    let mut say = |choice: u32, channel: &str, text: Option<&mut Value>| {
        if let Some(Value::String(text)) = text.map(Value::take) {
            let place = CheckedChannel { choice, channel: channel.to_owned() };
            texts.entry(place).or_default().text.push_str(&text);
        }
    };
    let mut calls: Vec<(u32, Option<String>, Option<String>)> = Vec::new();
    let text = |value: Option<&mut Value>| match value.map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    match api {
        CheckedApi::Chat | CheckedApi::Completions => {
            for choice in list(answer.get_mut("choices")) {
                let number = number(choice.get("index"));
                say(number, "content", choice.get_mut("text"));
                let Some(message) = choice.get_mut("message") else { continue };
                say(number, "content", message.get_mut("content"));
                say(number, "reasoning", message.get_mut("reasoning_content"));
                say(number, "refusal", message.get_mut("refusal"));
                for call in list(message.get_mut("tool_calls")) {
                    let Some(function) = call.get_mut("function") else { continue };
                    calls.push((number, text(function.get_mut("name")), text(function.get_mut("arguments"))));
                }
            }
        }
        CheckedApi::Responses => {
            for item in list(answer.get_mut("output")) {
                let channel = if item.get("type") == Some(&json!("reasoning")) { "reasoning" } else { "content" };
                for part in list(item.get_mut("content")) {
                    say(0, channel, part.get_mut("text"));
                    say(0, "refusal", part.get_mut("refusal"));
                }
                if item.get("type") == Some(&json!("function_call")) {
                    calls.push((0, text(item.get_mut("name")), text(item.get_mut("arguments"))));
                }
            }
        }
        CheckedApi::Messages => {
            let mut inputs = inputs;
            for block in list(answer.get_mut("content")) {
                say(0, "content", block.get_mut("text"));
                say(0, "reasoning", block.get_mut("thinking"));
                if let Some(input) = block.get_mut("input") {
                    input.take();
                    calls.push((0, text(block.get_mut("name")), inputs.next()));
                }
            }
        }
    }
    for (choice, name, arguments) in calls {
        let place = CheckedChannel { choice, channel: "content".to_owned() };
        let call = (name.unwrap_or_default(), arguments.unwrap_or_default());
        texts.entry(place).or_default().calls.push(call);
    }
}

fn list(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    value.and_then(Value::as_array_mut).into_iter().flatten()
}

fn number(value: Option<&Value>) -> u32 {
    value.and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_holds_no_text() {
        let random = "0123456789abcdef0123456789abcdef";
        assert!(is_identity(&format!("msg_{random}")) && is_identity(&format!("chatcmpl-{random}")));
        for wrong in ["", "msg_", random, "Buy now.", "msg_Buy-now-buy-now-buy-now-buy-now-", &format!("msg_{random}0")]
        {
            assert!(!is_identity(wrong), "{wrong}");
        }
    }
}
