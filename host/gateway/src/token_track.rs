//! Maps an answer's tokens to its text, so that each candidate gets the log-probabilities of its own tokens.

use portcullis_gate::AnswerCandidate;
use portcullis_gate::engine::{CompletionToken, logprobs};

/// The text of an answer from its next candidate on, with the tokens of that text.
#[derive(Default)]
pub(crate) struct TokenTrack {
    /// The text from the first kept token on.
    text: String,
    tokens: Vec<CompletionToken>,
    /// Offset of the next candidate in `text`.
    at: usize,
}

impl TokenTrack {
    /// Adds text that the server wrote; its first `skipped` bytes belong to no candidate.
    pub(crate) fn text(&mut self, text: &str, skipped: usize) {
        self.text.push_str(text);
        self.at += skipped;
    }

    /// Adds tokens that the server wrote. Their text may be added before or after the tokens.
    pub(crate) fn tokens(&mut self, tokens: Vec<CompletionToken>) {
        self.tokens.extend(tokens);
    }

    /// Makes the next candidate from this text, with its log-probabilities or the reason why they are missing.
    pub(crate) fn candidate(&mut self, text: String) -> AnswerCandidate {
        let (begin, end) = (self.at, self.at + text.len());
        let (logprobs, logprobs_absent) = logprobs(&self.text, &self.tokens, begin..begin + text.trim_end().len());
        self.at = end;
        self.forget();
        AnswerCandidate { text, logprobs, logprobs_absent, call: None }
    }

    /// Drops the tokens before the next candidate. A token that also contains bytes of the next candidate is kept.
    fn forget(&mut self) {
        let (mut bytes, mut count) = (0, 0);
        for token in &self.tokens {
            if bytes + token.bytes.len() > self.at {
                break;
            }
            bytes += token.bytes.len();
            count += 1;
        }
        // If the tokens do not match the text, they cannot be used, so nothing is dropped.
        if self.text.is_char_boundary(bytes) && bytes <= self.at {
            self.tokens.drain(..count);
            self.text.drain(..bytes);
            self.at -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_mapping::LogProbs;

    fn token(text: &str, logprob: &str) -> CompletionToken {
        CompletionToken { bytes: text.into(), logprob: (!logprob.is_empty()).then(|| logprob.to_owned()) }
    }

    #[test]
    fn each_candidate_has_its_own_numbers() {
        let mut track = TokenTrack::default();
        // The token ". So" spans two sentences. A later token is cut inside a character.
        track.tokens(vec![token(" It", "-0.1"), token(" is", "-0.2"), token(". So", "-0.3")]);
        track.text(" It is. So", 1);
        let first = track.candidate("It is. ".into());
        let expected = LogProbs::placed(&[(2, "-0.1"), (5, "-0.2"), (9, "-0.3")]);
        assert_eq!((first.logprobs, first.logprobs_absent), (Some(expected), None));
        track.tokens(vec![
            CompletionToken { bytes: vec![b' ', 0xc3], logprob: Some("-0.4".into()) },
            CompletionToken { bytes: vec![0xbc], logprob: Some("-0.5".into()) },
            token(".", "-0.6"),
        ]);
        track.text(" ü.", 0);
        let second = track.candidate("So ü.".into());
        let expected = LogProbs::placed(&[(2, "-0.3"), (4, "-0.4"), (5, "-0.5"), (6, "-0.6")]);
        assert_eq!((second.logprobs, second.logprobs_absent), (Some(expected), None));
        assert_eq!((track.text.as_str(), track.tokens.len(), track.at), ("", 0, 0));
    }

    #[test]
    fn what_does_not_fit_is_unknown_and_says_why() {
        let absent = |tokens: Vec<CompletionToken>| {
            let mut track = TokenTrack::default();
            track.tokens(tokens);
            track.text("It is. So", 0);
            let first = track.candidate("It is. ".into());
            assert_eq!(first.logprobs, None);
            first.logprobs_absent.unwrap()
        };
        assert!(absent(vec![]).contains("gave none"));
        assert!(absent(vec![token("It", "-1"), token(" was", "-1")]).contains("not the text"));
        assert!(absent(vec![token("It", "-1"), token(" is.", "")]).contains("has none"));
        assert!(absent(vec![token("It", "-1")]).contains("before the span"));
    }
}
