//! The answer of a model server: the text of a completion, and the log-probabilities of its first span.

use super::{EngineError, EngineProposal, ModelServerProtocol};
use crate::candidate::AnswerCandidate;
use portcullis_mapping::{LogProbs, LogProbsError};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;

/// A completion, independent of the protocol.
struct EngineCompletion {
    text: String,
    tokens: Vec<CompletionToken>,
}

/// A token of a model server's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionToken {
    pub bytes: Vec<u8>,
    /// The natural logarithm of the token's probability, as written; `None` if the server gave none.
    pub logprob: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    choices: Vec<OpenAiAnswerChoice>,
}

#[derive(Deserialize)]
struct OpenAiAnswerChoice {
    text: String,
    #[serde(default)]
    logprobs: Option<ChoiceLogprobs>,
}

/// Log-probabilities in the two forms that servers use: parallel lists (OpenAI's completions, vLLM), or `content` as in
/// chat answers (llama.cpp).
#[derive(Deserialize)]
struct ChoiceLogprobs {
    #[serde(default)]
    tokens: Option<Vec<String>>,
    #[serde(default)]
    token_logprobs: Option<Vec<Option<Box<RawValue>>>>,
    #[serde(default)]
    content: Option<Vec<TokenEntry>>,
}

#[derive(Deserialize)]
struct LlamaAnswer {
    content: String,
    #[serde(default)]
    completion_probabilities: Option<Vec<TokenEntry>>,
}

#[derive(Deserialize)]
struct TokenEntry {
    #[serde(default)]
    token: String,
    #[serde(default)]
    bytes: Option<Vec<u8>>,
    #[serde(default)]
    logprob: Option<Box<RawValue>>,
}

impl ChoiceLogprobs {
    fn tokens(self) -> Vec<CompletionToken> {
        match self {
            Self { content: Some(entries), .. } => entries.into_iter().map(CompletionToken::from).collect(),
            Self { tokens: Some(tokens), token_logprobs: Some(logprobs), .. } if tokens.len() == logprobs.len() => {
                let token = |(token, logprob): (String, Option<Box<RawValue>>)| CompletionToken {
                    bytes: token.into_bytes(),
                    logprob: logprob.map(|raw| raw.get().to_owned()),
                };
                tokens.into_iter().zip(logprobs).map(token).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<ChunkChoice>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    #[serde(default)]
    index: Option<u32>,
    #[serde(default)]
    logprobs: Option<ChoiceLogprobs>,
}

/// The tokens in a chunk of a streamed answer, by choice, in the forms of OpenAI's API. Log-probabilities are kept as
/// written. Errors: another form.
pub fn chunk_tokens(json: &str) -> serde_json::Result<Vec<(u32, Vec<CompletionToken>)>> {
    let Chunk { choices } = serde_json::from_str(json)?;
    let tokens = |choice: ChunkChoice| {
        let tokens = choice.logprobs.map(ChoiceLogprobs::tokens).unwrap_or_default();
        (choice.index.unwrap_or(0), tokens)
    };
    Ok(choices.into_iter().map(tokens).filter(|(_, tokens)| !tokens.is_empty()).collect())
}

impl From<TokenEntry> for CompletionToken {
    fn from(TokenEntry { token, bytes, logprob }: TokenEntry) -> Self {
        Self { bytes: bytes.unwrap_or_else(|| token.into_bytes()), logprob: logprob.map(|raw| raw.get().to_owned()) }
    }
}

/// The proposal in a server's answer: the first span of its text. If the text is empty, there is no (further)
/// candidate: `End` at `attempt` 0, otherwise `Exhausted`. `before` is the white space that was cut from the end of the
/// prompt; it is not proposed again. Errors: [`EngineError::Answer`]: the bytes are not an answer of this protocol.
pub fn proposal(
    protocol: ModelServerProtocol,
    answer: &[u8],
    attempt: u32,
    before: &str,
) -> Result<EngineProposal, EngineError> {
    let completion = read(protocol, answer)?;
    let again = completion.text.bytes().zip(before.bytes()).take_while(|(shown, known)| shown == known).count();
    let span = first_span(completion.text.get(again..).unwrap_or_default());
    if span.trim().is_empty() {
        return Ok(if attempt == 0 { EngineProposal::End } else { EngineProposal::Exhausted });
    }
    let (logprobs, logprobs_absent) =
        logprobs(&completion.text, &completion.tokens, again..again + span.trim_end().len());
    Ok(EngineProposal::Candidate(AnswerCandidate { text: span.to_owned(), logprobs, logprobs_absent, call: None }))
}

/// The log-probabilities of a span in a text, or why they cannot be used: the joined bytes of the tokens must be the
/// bytes of the text.
#[must_use]
pub fn logprobs(
    text: &str,
    tokens: &[CompletionToken],
    span: Range<usize>,
) -> (Option<Result<LogProbs, LogProbsError>>, Option<String>) {
    match of_span(text.as_bytes(), tokens, span) {
        Ok(tokens) => (Some(LogProbs::placed(&tokens)), None),
        Err(why) => (None, Some(why)),
    }
}

fn read(protocol: ModelServerProtocol, bytes: &[u8]) -> Result<EngineCompletion, EngineError> {
    let bad = |e: serde_json::Error| EngineError::Answer(format!("the server gave no completion: {e}"));
    match protocol {
        ModelServerProtocol::OpenAi => {
            let answer: OpenAiAnswer = serde_json::from_slice(bytes).map_err(bad)?;
            let mut choices = answer.choices.into_iter();
            let choice = choices.next().ok_or_else(|| EngineError::Answer("it has no choice".into()))?;
            let tokens = choice.logprobs.map(ChoiceLogprobs::tokens).unwrap_or_default();
            Ok(EngineCompletion { text: choice.text, tokens })
        }
        ModelServerProtocol::Llama => {
            let answer: LlamaAnswer = serde_json::from_slice(bytes).map_err(bad)?;
            let tokens =
                answer.completion_probabilities.unwrap_or_default().into_iter().map(CompletionToken::from).collect();
            Ok(EngineCompletion { text: answer.content, tokens })
        }
    }
}

/// Log-probabilities of the tokens that share a byte with a span, each with the token's end in the span, or why there
/// are none. The joined bytes of the tokens must be the text; tokens after its end, such as those of a stop sequence,
/// are ignored.
fn of_span(text: &[u8], tokens: &[CompletionToken], span: Range<usize>) -> Result<Vec<(usize, String)>, String> {
    if tokens.is_empty() {
        return Err("the server gave none".to_owned());
    }
    let mut found = Vec::new();
    let mut start = 0;
    for token in tokens {
        let end = start + token.bytes.len();
        if start >= text.len() {
            break;
        }
        let shown = text.get(start..end.min(text.len())).unwrap_or_default();
        if !token.bytes.starts_with(shown) {
            return Err(format!("the token at byte {start} is not the text there"));
        }
        if start < span.end && span.start < end {
            let logprob = token.logprob.clone().ok_or_else(|| format!("the token at byte {start} has none"))?;
            found.push((end - span.start, logprob));
        }
        start = end;
    }
    if start < span.end {
        return Err(format!("the tokens end at byte {start}, before the span does"));
    }
    Ok(found)
}

/// The first sentence of a completion, with the white space around it. The rest is dropped: the engine is asked again
/// after this sentence was judged.
fn first_span(text: &str) -> &str {
    text.get(..span_end(text).unwrap_or(text.len())).unwrap_or(text)
}

/// The end of the first sentence of a text, after the white space that follows it; `None` while later text could still
/// belong to the sentence.
#[must_use]
pub fn span_end(text: &str) -> Option<usize> {
    let begin = text.len() - text.trim_start().len();
    let mut characters = text.char_indices().skip_while(|(at, _)| *at < begin).peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, c)| *c);
        if c == '\n' || (matches!(c, '.' | '!' | '?') && next.is_some_and(char::is_whitespace)) {
            let rest = text.get(at + c.len_utf8()..).unwrap_or_default().trim_start();
            return (!rest.is_empty()).then(|| text.len() - rest.len());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_one_sentence() {
        assert_eq!(first_span(" It rained. Then it"), " It rained. ");
        assert_eq!(first_span("3.5 mg"), "3.5 mg");
        assert_eq!(first_span("\n\nYes! No"), "\n\nYes! ");
        assert_eq!(first_span("Yes.\n\n- No"), "Yes.\n\n");
        for open in ["", " ", "Yes", "Yes.", "Yes. ", "Yes.\n\n", "3.5 mg"] {
            assert_eq!((span_end(open), first_span(open)), (None, open));
        }
    }

    #[test]
    fn white_space_that_stands_there_is_not_proposed_again() {
        let of = |text: &str, before: &str| {
            let answer = format!(r#"{{"content":{text:?}}}"#);
            match proposal(ModelServerProtocol::Llama, answer.as_bytes(), 0, before) {
                Ok(EngineProposal::Candidate(candidate)) => candidate.text,
                other => format!("{other:?}"),
            }
        };
        assert_eq!(of(" It is. So", ""), " It is. ");
        assert_eq!(of(" It is. So", " "), "It is. ");
        assert_eq!(of("It is.", " "), "It is.");
        assert_eq!(of("\n It is.", " "), "\n It is.");
        assert_eq!(of("  ", " "), "Ok(End)");
    }

    fn candidate(protocol: ModelServerProtocol, answer: &str) -> AnswerCandidate {
        let Ok(EngineProposal::Candidate(candidate)) = proposal(protocol, answer.as_bytes(), 0, "") else {
            panic!("{answer}")
        };
        candidate
    }

    #[test]
    fn log_probabilities_are_those_of_the_span() {
        // The tokens of the first sentence are likely, those of the second are not. The second token belongs to both
        // sentences.
        let entries = r#"[{"token":"It is","bytes":[73,116,32,105,115],"logprob":-0.1},{"token":".\n","logprob":-0.3},
            {"token":"Not","logprob":-9},{"token":"</s>","logprob":-9}]"#;
        let lists = r#"{"tokens":["It is",".\n","Not"],"token_logprobs":[-0.1,-0.3,null],"text_offset":[0,5,7]}"#;
        let expected = Some(LogProbs::placed(&[(5, "-0.1"), (7, "-0.3")]));
        for (protocol, answer) in [
            (
                ModelServerProtocol::Llama,
                format!(r#"{{"content":"It is.\nNot","completion_probabilities":{entries}}}"#),
            ),
            (
                ModelServerProtocol::OpenAi,
                format!(r#"{{"choices":[{{"text":"It is.\nNot","logprobs":{{"content":{entries}}}}}]}}"#),
            ),
            (ModelServerProtocol::OpenAi, format!(r#"{{"choices":[{{"text":"It is.\nNot","logprobs":{lists}}}]}}"#)),
        ] {
            let candidate = candidate(protocol, &answer);
            assert_eq!((candidate.text.as_str(), candidate.logprobs_absent), ("It is.\n", None));
            assert_eq!(candidate.logprobs, expected);
        }
    }

    #[test]
    fn what_cannot_be_aligned_is_unknown_and_says_why() {
        for (entries, why) in [
            ("[]", "the server gave none"),
            (r#"[{"token":"It","logprob":-0.1},{"token":"\ufffd","logprob":-0.1}]"#, "is not the text there"),
            (r#"[{"token":"It is","logprob":null},{"token":".","logprob":-0.1}]"#, "has none"),
            (r#"[{"token":"It is","logprob":-0.1}]"#, "before the span does"),
        ] {
            let candidate = candidate(
                ModelServerProtocol::Llama,
                &format!(r#"{{"content":"It is.","completion_probabilities":{entries}}}"#),
            );
            assert_eq!(candidate.logprobs, None, "{entries}");
            assert!(candidate.logprobs_absent.unwrap().contains(why), "{entries}");
        }
        let lists = r#"{"choices":[{"text":"It is.","logprobs":{"tokens":["It is."],"token_logprobs":[]}}]}"#;
        assert!(candidate(ModelServerProtocol::OpenAi, lists).logprobs.is_none());
    }
}
