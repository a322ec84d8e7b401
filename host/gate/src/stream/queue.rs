//! The work of a stream: the spans of the current text in order, and the inert bytes that wait for the next admitted
//! span.

use super::work::Work;
use portcullis_core::inert::{is_formatting, leading_formatting};
use portcullis_mapping::Piece;

/// Spans to judge, as a stack. The parts of a divided span are pushed last, so they are judged next.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    stack: Vec<Work>,
    /// Inert bytes held as the prefix of the next commitment.
    held: String,
    /// The held bytes as pieces, for a whole text.
    held_work: Vec<Work>,
    /// The bytes and pieces that were held at the last refusal in a whole text.
    kept: (usize, usize),
}

/// Largest number of bytes that stay held over the refused spans of a whole text. Each entry states the held bytes
/// before its span, so without this bound, entries would grow with the number of refusals before them.
const KEPT_MAX: usize = 256;

impl WorkQueue {
    pub(super) fn push(&mut self, work: Work) {
        self.stack.push(work);
    }

    /// Pushes spans, so that the first one is next.
    pub(super) fn push_all(&mut self, work: Vec<Work>) {
        self.stack.extend(work.into_iter().rev());
    }

    /// Pushes pieces of a span, so that the first one is next.
    pub(super) fn push_pieces(&mut self, of: &Work, pieces: &[Piece]) {
        let work = pieces.iter().rev().map(|p| Work { range: p.range.clone(), inert: p.inert, ..of.clone() });
        self.stack.extend(work);
    }

    /// Whether a span may be left, also among the held pieces of a whole text.
    pub(super) const fn has_spans(&self) -> bool {
        !self.stack.is_empty() || !self.held_work.is_empty()
    }

    /// The next span that is not inert. The inert pieces before it are held. `whole` is whether the spans belong to a
    /// whole text.
    pub(super) fn next(&mut self, whole: bool) -> Option<Work> {
        while let Some(work) = self.stack.pop() {
            if !work.inert {
                return Some(work);
            }
            self.held.push_str(work.slice());
            if whole {
                self.held_work.push(work);
            }
        }
        None
    }

    /// Called at the end of the text: in a whole text, makes spans of the held connectives and returns the first,
    /// because no later span will carry them. Connectives of an engine are not judged alone, because they can be undone
    /// with a proposal.
    pub(super) fn next_connective(&mut self) -> Option<Work> {
        self.held.clear();
        self.kept = (0, 0);
        let held = std::mem::take(&mut self.held_work);
        let is_words = |work: &Work| !is_formatting(work.slice());
        self.stack =
            held.into_iter().rev().map(|work| Work { inert: work.inert && !is_words(&work), ..work }).collect();
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
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// The held bytes that are committed and released with `work`. If the card reads the texts and `work` is a tool
    /// call, there are none: the held bytes wait for the next text, because a call is not a part of the text around it.
    pub(super) fn held_before(&self, work: &Work, card_reads: bool) -> &str {
        if card_reads && !work.kind.is_text() { "" } else { &self.held }
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
        self.stack.clear();
        self.held.clear();
    }
}
