//! Compares the texts and calls in a client's answer with the proofs of their streams.

use crate::expectations::AnswerExpectations;
use crate::question::ClientQuestion;
use portcullis_core::context::StreamMode;
use portcullis_core::hex;
use portcullis_evidence::receipt::ReceiptError;
use portcullis_evidence::stream_proof::{ReleasedPiece, StreamFacts, StreamProof};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A part of an answer that clients show separately.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckedChannel {
    pub choice: u32,
    /// `content`, `reasoning` or `refusal`.
    pub channel: String,
}

/// Texts and calls in one place of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeenText {
    pub(crate) text: String,
    /// Places of constants of the policy, according to the gateway: first byte and length, in order. A place counts
    /// only if its bytes are a constant that the client expects.
    pub(crate) constants: Vec<(usize, usize)>,
    /// Tool calls, in order: the name, and the arguments as the answer writes them.
    pub(crate) calls: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    #[error("the proof of stream {0}: {1}")]
    Proof(usize, ReceiptError),
    /// The proof belongs to a stream that was only observed or recorded, so the card prevented nothing.
    #[error("stream {0} was only observed: what it holds left whatever the gate said")]
    Observed(usize),
    #[error("stream {0} is none of an answer of a gateway")]
    Identity(usize),
    #[error("stream {0} answers another request")]
    OtherRequest(usize),
    #[error("stream {0} belongs to another answer than those before it, or stands there twice")]
    OtherAnswer(usize),
    #[error("choice {} has no proof of its {}", .0.choice, .0.channel)]
    Unproven(CheckedChannel),
    #[error("the {} of choice {} is not what the card admitted", .0.channel, .0.choice)]
    OtherText(CheckedChannel),
    #[error("the tool calls of choice {} are not those that the card admitted", .0.choice)]
    OtherCalls(CheckedChannel),
    /// The text at the place of a reported constant is not a constant of the policy.
    #[error("the {} of choice {} holds a text that neither the card admitted nor the policy has as a constant", .0.channel, .0.choice)]
    OtherConstant(CheckedChannel),
}

/// A tool call, in the form to which its record commits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommittedToolCall {
    name: String,
    arguments: Box<RawValue>,
}

impl ClientQuestion {
    /// Checks that all of `texts` was admitted for this request, that no admitted text is missing, and that the order
    /// is right. Returns the facts of each proof, in the order of the proofs.
    ///
    /// Only the channel `content` must be complete; a client may leave out the text of other channels.
    pub(crate) fn check_admitted(
        &self,
        texts: &BTreeMap<CheckedChannel, SeenText>,
        proofs: &[StreamProof],
        expected: &AnswerExpectations,
    ) -> Result<Vec<StreamFacts>, AdmissionError> {
        let mut facts = Vec::new();
        let mut proven: BTreeMap<CheckedChannel, usize> = BTreeMap::new();
        let mut answer: Option<String> = None;
        for (number, proof) in proofs.iter().enumerate() {
            let shown =
                proof.check(&expected.trust, expected.options).map_err(|error| AdmissionError::Proof(number, error))?;
            if !matches!(shown.context.mode, StreamMode::Held | StreamMode::Driven | StreamMode::DrivenConversation) {
                return Err(AdmissionError::Observed(number));
            }
            let (id, place) = self.identity(&shown.context.id, number)?;
            if *answer.get_or_insert_with(|| id.clone()) != id || proven.insert(place, number).is_some() {
                return Err(AdmissionError::OtherAnswer(number));
            }
            facts.push(shown);
        }
        let content = (0..self.choices).map(|choice| CheckedChannel { choice, channel: "content".to_owned() });
        for place in texts.keys().cloned().chain(content) {
            if !proven.contains_key(&place) {
                return Err(AdmissionError::Unproven(place));
            }
        }
        for (place, number) in &proven {
            let shown = facts.get(*number).map(|shown| shown.released.as_slice()).unwrap_or_default();
            match texts.get(place) {
                Some(seen) => seen.check(place, shown, &expected.constants)?,
                None if place.channel == "content" => SeenText::default().check(place, shown, &expected.constants)?,
                None => {}
            }
        }
        Ok(facts)
    }

    /// Gets the id of the answer and the place from a stream's id: `ANSWER/CHOICE/NUMBER/CHANNEL request=DIGEST
    /// nonce=NONCE`.
    fn identity(&self, id: &str, number: usize) -> Result<(String, CheckedChannel), AdmissionError> {
        let mut words = id.split(' ');
        let mut path = words.next().unwrap_or_default().rsplitn(4, '/');
        let (channel, _, choice, answer) = (path.next(), path.next(), path.next(), path.next());
        let choice = choice.and_then(|choice| choice.parse().ok());
        let (Some(channel), Some(choice), Some(answer)) = (channel, choice, answer) else {
            return Err(AdmissionError::Identity(number));
        };
        let request = format!("request={}", hex::encode(&self.digest));
        let nonce = format!("nonce={}", self.nonce);
        let bound = words.next() == Some(&*request) && words.next() == Some(&*nonce) && words.next().is_none();
        if !bound {
            return Err(AdmissionError::OtherRequest(number));
        }
        Ok((answer.to_owned(), CheckedChannel { choice, channel: channel.to_owned() }))
    }
}

impl SeenText {
    /// Whether a JSON value stands in a range: a gateway puts `null` in place of one that was refused.
    fn is_value(&self, from: usize, end: usize) -> bool {
        let before = self.text.get(..from).unwrap_or_default().trim_end();
        let behind = self.text.get(end..).unwrap_or_default().trim_start();
        before.ends_with(['[', ',', ':']) && (behind.is_empty() || behind.starts_with([',', ']', '}']))
    }

    fn check(
        &self,
        place: &CheckedChannel,
        admitted: &[ReleasedPiece],
        constants: &[String],
    ) -> Result<(), AdmissionError> {
        let (mut text, mut calls) = (String::new(), Vec::new());
        for piece in admitted {
            match piece {
                ReleasedPiece::Text(piece) => text.push_str(piece),
                ReleasedPiece::Call(call) => calls.push(call),
            }
        }
        let wrong = || AdmissionError::OtherConstant(place.clone());
        let (mut said, mut at) = (String::new(), 0);
        for (from, length) in &self.constants {
            let end = from.checked_add(*length).ok_or_else(wrong)?;
            let constant = self.text.get(*from..end).ok_or_else(wrong)?;
            let is_known = constants.iter().any(|known| known == constant);
            if !(is_known || constant == "null" && self.is_value(*from, end)) {
                return Err(wrong());
            }
            said.push_str(self.text.get(at..*from).ok_or_else(wrong)?);
            at = end;
        }
        said.push_str(self.text.get(at..).unwrap_or_default());
        if said != text {
            return Err(AdmissionError::OtherText(place.clone()));
        }
        let same = |(seen, admitted): (&(String, String), &&String)| {
            let call: Result<CommittedToolCall, _> = serde_json::from_str(admitted);
            call.is_ok_and(|call| call.name == seen.0 && call.arguments.get() == seen.1)
        };
        if calls.len() == self.calls.len() && self.calls.iter().zip(&calls).all(same) {
            Ok(())
        } else {
            Err(AdmissionError::OtherCalls(place.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_stands_in_place_of_a_json_value_only() {
        for (text, is_value) in [
            ("{\"n\": null, \"m\": 1}", true),
            ("[1,null]", true),
            ("\"n\": null", true),
            ("The contract is null and void.", false),
            ("It is: nullified", false),
            ("null", false),
        ] {
            let from = text.find("null").unwrap_or_default();
            let seen = SeenText { text: text.to_owned(), ..SeenText::default() };
            assert_eq!(seen.is_value(from, from + 4), is_value, "{text}");
        }
    }
}
