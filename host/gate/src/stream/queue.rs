//! The work of a stream: the spans of the current text in order, and the inert bytes that wait for the next admitted
//! span.

use super::work::SpanWork;
use portcullis_core::inert::{is_formatting, leading_formatting};
use portcullis_mapping::{ScannedText, TextPiece};
use std::sync::Arc;

/// Spans to judge. The parts of a divided span come before the spans after it.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    /// The spans that are next, as a stack.
    stack: Vec<SpanWork>,
    /// The pieces of a whole text after those on the stack.
    rest: Option<WholeText>,
    /// Inert bytes held as the prefix of the next commitment.
    held: String,
    /// The held bytes as pieces, for a whole text.
    held_work: Vec<HeldWork>,
    /// The bytes and pieces that were held at the last refusal in a whole text.
    kept: (usize, usize),
}

/// An inert piece of a whole text.
#[derive(Debug)]
struct HeldWork {
    work: SpanWork,
    /// Whether it has connectives, and is not formatting only.
    is_words: bool,
}

/// The pieces of a whole text that are not taken yet. Each becomes work when it is taken.
#[derive(Debug)]
struct WholeText {
    work: SpanWork,
    next: usize,
}

impl Iterator for WholeText {
    type Item = SpanWork;

    fn next(&mut self) -> Option<SpanWork> {
        let piece = self.work.text.pieces().get(self.next)?;
        self.next += 1;
        Some(SpanWork { range: piece.range.clone(), inert: piece.inert, ..self.work.clone() })
    }
}

/// Largest number of bytes that stay held over the refused spans of a whole text. Each entry states the held bytes
/// before its span, so without this bound, entries would grow with the number of refusals before them.
const KEPT_MAX: usize = 256;

impl WorkQueue {
    pub(super) fn push(&mut self, work: SpanWork) {
        self.stack.push(work);
    }

    /// Pushes spans, so that the first one is next.
    pub(super) fn push_all(&mut self, work: Vec<SpanWork>) {
        self.stack.extend(work.into_iter().rev());
    }

    /// Pushes pieces of a span, so that the first one is next.
    pub(super) fn push_pieces(&mut self, of: &SpanWork, pieces: &[TextPiece]) {
        let work = pieces.iter().rev().map(|p| SpanWork { range: p.range.clone(), inert: p.inert, ..of.clone() });
        self.stack.extend(work);
    }

    /// Takes the pieces of a whole text as the spans of this stream.
    pub(super) fn set_whole_text(&mut self, text: Arc<ScannedText>) {
        self.rest = Some(WholeText { work: SpanWork::whole(text, Arc::new([]), None), next: 0 });
    }

    /// Whether a span may be left, also among the held pieces of a whole text.
    pub(super) const fn has_spans(&self) -> bool {
        !self.stack.is_empty() || self.rest.is_some() || !self.held_work.is_empty()
    }

    /// The next span that is not inert. The inert pieces before it are held. `whole` is whether the spans belong to a
    /// whole text.
    pub(super) fn next(&mut self, whole: bool) -> Option<SpanWork> {
        while let Some(work) = self.stack.pop().or_else(|| self.rest.as_mut().and_then(Iterator::next)) {
            if !work.inert {
                return Some(work);
            }
            self.held.push_str(work.slice());
            if whole {
                self.hold(work);
            }
        }
        self.rest = None;
        None
    }

    /// Adds an inert piece. Formatting joins the formatting before it.
    fn hold(&mut self, work: SpanWork) {
        let is_words = !is_formatting(work.slice());
        let is_kept = self.held_work.len() <= self.kept.1;
        match self.held_work.last_mut() {
            Some(last) if !is_kept && !is_words && !last.is_words && last.work.range.end == work.range.start => {
                last.work.range.end = work.range.end;
            }
            _ => self.held_work.push(HeldWork { work, is_words }),
        }
    }

    /// Called at the end of the text: in a whole text, makes spans of the held connectives and returns the first,
    /// because no later span will carry them. Connectives of an engine are not judged alone, because they can be undone
    /// with a proposal.
    pub(super) fn next_connective(&mut self) -> Option<SpanWork> {
        self.held.clear();
        self.kept = (0, 0);
        let held = std::mem::take(&mut self.held_work);
        let work = |HeldWork { work, is_words }| SpanWork { inert: work.inert && !is_words, ..work };
        self.stack = held.into_iter().rev().map(work).collect();
        self.next(true)
    }

    /// Called after a refusal in a whole text. The bytes before the refused span stay held for the next admitted one,
    /// as long as they are few; else they are withheld with the refused span.
    pub(super) fn keep_held(&mut self) {
        if self.held.len() > KEPT_MAX {
            let (bytes, pieces) = self.kept;
            self.held.truncate(bytes);
            self.held_work.truncate(pieces);
        }
        self.kept = (self.held.len(), self.held_work.len());
    }

    /// Drops the rest of the current text.
    pub(super) fn clear(&mut self) {
        self.stack.clear();
        self.rest = None;
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// The held bytes that are committed and released with `work`; none before work without text. If the card reads the
    /// texts and `work` is a tool call, there are none: the held bytes wait for the next text, because a call is not a
    /// part of the text around it.
    pub(super) fn held_before(&self, work: &SpanWork, card_reads: bool) -> &str {
        if card_reads && !work.kind.is_text() || work.is_value() { "" } else { &self.held }
    }

    pub(super) fn set_held(&mut self, inert: String) {
        self.held = inert;
    }

    /// Takes the held bytes, which leave with an admitted span.
    pub(super) fn take_held(&mut self) -> String {
        self.held_work.clear();
        self.kept = (0, 0);
        std::mem::take(&mut self.held)
    }

    /// Drops the held bytes from the first byte on that is not formatting. END releases the rest without a judgement,
    /// so the rest may be formatting only.
    pub(super) fn keep_formatting(&mut self) {
        self.held.truncate(leading_formatting(&self.held).len());
    }

    pub(super) fn abandon(&mut self) {
        self.clear();
        self.held.clear();
    }
}
