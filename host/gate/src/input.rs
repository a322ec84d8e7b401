//! The input of `run`: JSON Lines of whole texts or of candidates, or one plain text.

use crate::candidate::AnswerCandidate;
use crate::source::StreamInput;
use portcullis_core::state::StreamTask;
use portcullis_mapping::{EngineToolCall, LogProbs};
use portcullis_policy::error::json_problem;
use serde::de;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::io::{BufRead, Read};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {problem}")]
pub struct InputError {
    pub name: String,
    /// Number of the line, from 1; 0 for an error of the input as a whole.
    pub line: usize,
    /// The error, and the expected form.
    pub problem: String,
}

/// Longest accepted line, in bytes; it limits the memory for hostile input.
const LINE_MAX: u64 = 64 << 20;

#[derive(Deserialize)]
struct StreamInputLine {
    id: Option<serde_json::Value>,
    text: Option<String>,
    candidates: Option<Vec<StepAlternatives>>,
    #[serde(default)]
    intent: String,
    #[serde(default)]
    facts: Vec<String>,
}

/// One candidate, or a list of alternatives.
struct StepAlternatives(Vec<AnswerCandidate>);

/// A candidate as a JSON object. Numbers keep their text, because every digit of a tool call's arguments counts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullCandidate<'a> {
    text: Option<String>,
    #[serde(default, borrow)]
    logprobs: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    call: Option<CallLine<'a>>,
}

/// A tool call. Its arguments are a JSON object, or a string that contains the JSON text as the engine wrote it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallLine<'a> {
    name: String,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

impl<'de> Deserialize<'de> for StepAlternatives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let steps = if raw.get().starts_with('[') {
            let alternatives: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
            alternatives.into_iter().map(candidate).collect()
        } else {
            candidate(raw).map(|one| vec![one])
        };
        steps.map(Self).map_err(de::Error::custom)
    }
}

fn candidate(raw: &RawValue) -> Result<AnswerCandidate, String> {
    let problem = |error| json_problem(&error);
    if raw.get().starts_with('"') {
        let text = serde_json::from_str(raw.get()).map_err(problem)?;
        return Ok(AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None });
    }
    let FullCandidate { text, logprobs, call } = serde_json::from_str(raw.get()).map_err(problem)?;
    let number = |raw: &&RawValue| raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if !logprobs.iter().flatten().all(number) {
        return Err("`logprobs` holds what is not a number".to_owned());
    }
    let texts: Option<Vec<_>> = logprobs.map(|list| list.iter().map(|raw| raw.get().to_owned()).collect());
    let logprobs = texts.map(|texts| LogProbs::parse(&texts));
    match (text, call) {
        (Some(text), None) => Ok(AnswerCandidate { text, logprobs, logprobs_absent: None, call: None }),
        (None, Some(CallLine { name, arguments })) => {
            let text = arguments.get();
            let inner = text.starts_with('"').then(|| serde_json::from_str(text)).transpose().map_err(problem)?;
            let call = EngineToolCall { name, arguments: inner.unwrap_or_else(|| text.to_owned()) };
            Ok(AnswerCandidate { text: String::new(), logprobs, logprobs_absent: None, call: Some(call) })
        }
        _ => Err("a candidate is a text, {\"text\", \"logprobs\"} or {\"call\": {\"name\", \"arguments\"}}".to_owned()),
    }
}

/// Items of a JSON Lines input, with an error for each invalid line. Blank lines are skipped.
pub fn json_lines<R: BufRead>(name: &str, reader: R) -> impl Iterator<Item = Result<StreamInput, InputError>> + use<R> {
    let mut lines = StreamInputReader { name: name.to_owned(), reader, number: 0, items: 0, done: false };
    std::iter::from_fn(move || lines.next_item())
}

struct StreamInputReader<R> {
    name: String,
    reader: R,
    number: usize,
    items: usize,
    done: bool,
}

impl<R: BufRead> StreamInputReader<R> {
    fn error(&self, problem: impl Into<String>) -> InputError {
        InputError { name: self.name.clone(), line: self.number, problem: problem.into() }
    }

    fn next_item(&mut self) -> Option<Result<StreamInput, InputError>> {
        while !self.done {
            let mut bytes = Vec::new();
            self.number += 1;
            let read = (&mut self.reader).take(LINE_MAX).read_until(b'\n', &mut bytes);
            match read {
                Err(error) => {
                    self.done = true;
                    return Some(Err(self.error(format!("cannot be read: {error}"))));
                }
                Ok(0) => {
                    self.done = true;
                    self.number = 0;
                    let empty = self.items == 0;
                    return empty
                        .then(|| Err(self.error("is empty; expected one JSON object per line, {\"id\", \"text\"}")));
                }
                Ok(n) if n as u64 == LINE_MAX && bytes.last() != Some(&b'\n') => {
                    self.done = true;
                    return Some(Err(self.error(format!("is longer than {LINE_MAX} bytes"))));
                }
                Ok(_) if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => {
                    self.items += 1;
                    return Some(self.parse(&bytes));
                }
            }
        }
        None
    }

    fn parse(&self, bytes: &[u8]) -> Result<StreamInput, InputError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| self.error(format!("INVALID-UTF8 at byte {} of the line; expected UTF-8", e.valid_up_to())))?;
        let line: StreamInputLine = serde_json::from_str(text).map_err(|e| {
            let what = json_problem(&e);
            self.error(format!("{what}; expected {{\"id\", \"text\"}} or {{\"id\", \"candidates\": [[\"…\", …], …]}}"))
        })?;
        let id = match line.id {
            Some(serde_json::Value::String(id)) => id,
            Some(serde_json::Value::Number(id)) => id.to_string(),
            Some(_) => return Err(self.error("`id` is neither a string nor a number")),
            None => return Err(self.error("has no `id`; expected {\"id\", \"text\"} or {\"id\", \"candidates\"}")),
        };
        let task = StreamTask { intent: line.intent, facts: line.facts };
        match (line.text, line.candidates) {
            (Some(text), None) => Ok(StreamInput::Text { id, text, task }),
            (None, Some(steps)) => {
                let steps: Vec<_> = steps.into_iter().map(|StepAlternatives(alternatives)| alternatives).collect();
                if steps.iter().any(Vec::is_empty) {
                    return Err(self.error("a step of `candidates` has no alternative"));
                }
                Ok(StreamInput::Candidates { id, steps, task })
            }
            (Some(_), Some(_)) => Err(self.error("has both `text` and `candidates`; expected one of them")),
            (None, None) if !task.intent.is_empty() => Ok(StreamInput::Prompt { id, task }),
            (None, None) => Err(self.error("has neither `text` nor `candidates` nor `intent`; expected one of them")),
        }
    }
}

/// A complete plain text as one item. Errors: [`InputError`]: the input cannot be read, is empty, too long, or not
/// UTF-8.
pub fn plain_text<R: BufRead>(name: &str, reader: R) -> Result<StreamInput, InputError> {
    let error = |problem: String| InputError { name: name.to_owned(), line: 0, problem };
    let mut bytes = Vec::new();
    let read = reader.take(LINE_MAX).read_to_end(&mut bytes);
    match read {
        Err(e) => Err(error(format!("cannot be read: {e}"))),
        Ok(0) => Err(error("is empty; expected text".into())),
        Ok(n) if n as u64 == LINE_MAX => Err(error(format!("is longer than {LINE_MAX} bytes"))),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => Ok(StreamInput::Text { id: name.to_owned(), text, task: StreamTask::default() }),
            Err(e) => Err(error(format!("INVALID-UTF8 at byte {}; expected UTF-8", e.utf8_error().valid_up_to()))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &[u8]) -> Vec<Result<StreamInput, String>> {
        json_lines("in", text).map(|r| r.map_err(|e| e.to_string())).collect()
    }

    #[test]
    fn both_forms_are_read_and_other_keys_are_ignored() {
        let got = items(
            b"{\"id\":\"a\",\"text\":\"x\",\"label\":\"pii\"}\n\n{\"id\":7,\"candidates\":[\"p\",[\"q\",{\"text\":\"r\",\"logprobs\":[-0.25]}]]}\n",
        );
        assert_eq!(got.len(), 2);
        assert_eq!(got[0], Ok(StreamInput::Text { id: "a".into(), text: "x".into(), task: StreamTask::default() }));
        let bare = |t: &str| AnswerCandidate { text: t.into(), logprobs: None, logprobs_absent: None, call: None };
        let full = AnswerCandidate {
            text: "r".into(),
            logprobs: Some(LogProbs::parse(&["-0.25"])),
            logprobs_absent: None,
            call: None,
        };
        assert_eq!(
            got[1],
            Ok(StreamInput::Candidates {
                id: "7".into(),
                steps: vec![vec![bare("p")], vec![bare("q"), full]],
                task: StreamTask::default()
            })
        );
    }

    #[test]
    fn each_bad_line_says_where_and_what_and_the_rest_goes_on() {
        let got = items(b"{\"id\":\"a\"}\nnot json\n{\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"\xff\"}\n{\"id\":\"c\",\"text\":\"x\"}");
        let shown: Vec<String> =
            got.iter().map(|r| r.as_ref().map_or_else(Clone::clone, |i| format!("{i:?}"))).collect();
        assert!(shown[0].starts_with("in:1: has neither"), "{}", shown[0]);
        assert!(shown[1].starts_with("in:2: ") && shown[1].contains("expected {\"id\", \"text\"}"), "{}", shown[1]);
        assert!(shown[2].starts_with("in:3: has no `id`"), "{}", shown[2]);
        assert!(shown[3].starts_with("in:4: INVALID-UTF8 at byte 18"), "{}", shown[3]);
        assert!(got[4].is_ok());
    }

    #[test]
    fn empty_input_is_an_error() {
        assert_eq!(items(b"").len(), 1);
        assert!(items(b" \n")[0].as_ref().unwrap_err().contains("is empty"));
        assert!(plain_text("in", &b""[..]).is_err());
        assert!(plain_text("in", &b"\xff"[..]).unwrap_err().to_string().contains("INVALID-UTF8"));
    }
}
