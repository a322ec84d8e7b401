//! Output of an observed stream: all of its input, in order, after it was judged.

use portcullis_core::commitment::SpanKind;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::SpanDetermination;
use portcullis_mapping::EngineToolCall;
use std::collections::VecDeque;

/// Input of a section.
pub(crate) enum SectionInput<'a> {
    Text(&'a str),
    Call(&'a EngineToolCall),
}

impl SectionInput<'_> {
    pub(crate) fn passed(&self) -> OwnedSectionInput {
        match *self {
            Self::Text(text) => OwnedSectionInput::Text(text.to_owned()),
            Self::Call(call) => OwnedSectionInput::Call(call.clone()),
        }
    }
}

/// Owned form of [`SectionInput`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnedSectionInput {
    Text(String),
    Call(EngineToolCall),
}

impl OwnedSectionInput {
    pub(crate) const fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Call(call) => call.name.len() + call.arguments.len(),
        }
    }
}

/// A piece that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObservedPiece {
    pub(crate) given: OwnedSectionInput,
    /// The gate refused it.
    pub(crate) is_refused: bool,
}

/// Keeps the input of a stream until it is judged.
#[derive(Default)]
pub(crate) struct ObservedInputBuffer {
    /// Input that is not judged yet.
    waiting: VecDeque<OwnedSectionInput>,
    /// Number of bytes of the stream's text that were judged.
    at: usize,
    /// `Some` after the end of the stream: whether it ended without a fault.
    pub(crate) over: Option<bool>,
}

impl ObservedInputBuffer {
    /// Adds the model's next output.
    pub(crate) fn give(&mut self, given: &SectionInput<'_>) {
        match (given, self.waiting.back_mut()) {
            (SectionInput::Text(text), Some(OwnedSectionInput::Text(before))) => before.push_str(text),
            (SectionInput::Text(text), _) => self.waiting.push_back(OwnedSectionInput::Text((*text).to_owned())),
            (SectionInput::Call(call), _) => self.waiting.push_back(OwnedSectionInput::Call((*call).clone())),
        }
    }

    /// The pieces to send after this determination: the text before its span, and the span. A decomposed span waits for
    /// its parts; a span that is judged a second time was sent before.
    pub(crate) fn judged(&mut self, determination: &SpanDetermination) -> Vec<ObservedPiece> {
        let (is_refused, range) = match determination.determination {
            Some(Answer::Admit) => (false, determination.range()),
            Some(Answer::Reject) => (true, determination.range()),
            Some(Answer::Decompose | Answer::None) | None => return Vec::new(),
        };
        // An entry for one value of a quantity has no text of its own.
        if range.end <= self.at || range.is_empty() {
            return Vec::new();
        }
        let mut passing = self.take(range.start.saturating_sub(self.at), false);
        passing.extend(match determination.kind {
            SpanKind::Text => self.take(range.end - range.start.max(self.at), is_refused),
            SpanKind::Call => self.take_call(is_refused),
        });
        self.at = range.end;
        passing
    }

    /// The remaining text of a stream that ended early.
    pub(crate) fn rest(&mut self) -> Vec<ObservedPiece> {
        if self.over != Some(true) {
            return Vec::new();
        }
        self.waiting.drain(..).map(|given| ObservedPiece { given, is_refused: false }).collect()
    }

    /// Removes the next bytes of the text.
    fn take(&mut self, mut bytes: usize, is_refused: bool) -> Vec<ObservedPiece> {
        let mut passing = Vec::new();
        while bytes > 0 {
            let Some(OwnedSectionInput::Text(text)) = self.waiting.front_mut() else { break };
            let rest = text.split_off(text.floor_char_boundary(bytes));
            let taken = std::mem::replace(text, rest);
            if text.is_empty() {
                self.waiting.pop_front();
            }
            bytes -= taken.len().min(bytes);
            if taken.is_empty() {
                break;
            }
            passing.push(ObservedPiece { given: OwnedSectionInput::Text(taken), is_refused });
        }
        passing
    }

    /// Removes the next call and the text before it.
    fn take_call(&mut self, is_refused: bool) -> Vec<ObservedPiece> {
        let mut passing = Vec::new();
        while let Some(given) = self.waiting.pop_front() {
            let is_call = matches!(given, OwnedSectionInput::Call(_));
            passing.push(ObservedPiece { given, is_refused: is_refused && is_call });
            if is_call {
                break;
            }
        }
        passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::wire::{Category, Stage};

    fn determination(kind: SpanKind, start: usize, end: usize, answer: Answer) -> SpanDetermination {
        SpanDetermination {
            id: String::new(),
            stream: 0,
            seq: 1,
            parent: None,
            depth: 0,
            kind,
            start,
            end,
            step: None,
            alternative: None,
            category: Category::Assertion,
            bare_value: false,
            determination: Some(answer),
            stage: Some(Stage::None),
            rule: None,
            reason: None,
            fault: None,
        }
    }

    fn texts(passing: Vec<ObservedPiece>) -> Vec<(String, bool)> {
        let text = |given| match given {
            OwnedSectionInput::Text(text) => text,
            OwnedSectionInput::Call(call) => format!("{}({})", call.name, call.arguments),
        };
        passing.into_iter().map(|passing| (text(passing.given), passing.is_refused)).collect()
    }

    #[test]
    fn everything_leaves_in_order_and_refusals_are_marked() {
        let mut observer = ObservedInputBuffer::default();
        for piece in [" Grü", "ße. ", "No", "."] {
            observer.give(&SectionInput::Text(piece));
        }
        let call = EngineToolCall { name: "look".into(), arguments: "{ }".into() };
        observer.give(&SectionInput::Call(&call));
        let text = |start, end, answer| determination(SpanKind::Text, start, end, answer);
        assert!(texts(observer.judged(&text(1, 9, Answer::Decompose))).is_empty());
        assert_eq!(texts(observer.judged(&text(1, 9, Answer::Admit))), [(" ".into(), false), ("Grüße.".into(), false)]);
        assert_eq!(texts(observer.judged(&text(10, 13, Answer::Reject))), [(" ".into(), false), ("No.".into(), true)]);
        assert!(texts(observer.judged(&text(10, 13, Answer::Admit))).is_empty(), "judged again, it has left");
        let called = observer.judged(&determination(SpanKind::Call, 13, 40, Answer::Reject));
        assert_eq!(texts(called), [("look({ })".into(), true)]);
        observer.give(&SectionInput::Text("More."));
        assert!(texts(observer.rest()).is_empty(), "it is not over");
        observer.over = Some(true);
        assert_eq!(texts(observer.rest()), [("More.".into(), false)]);
    }

    /// After a fault, no text is sent, even if the stream is observed.
    #[test]
    fn nothing_leaves_behind_a_fault() {
        let mut observer = ObservedInputBuffer::default();
        observer.give(&SectionInput::Text("More."));
        observer.over = Some(false);
        assert!(texts(observer.rest()).is_empty());
    }
}
