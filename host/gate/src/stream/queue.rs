//! The work of a stream: the spans of the current text in order, and the inert bytes that wait for the next admitted
//! span.

use super::work::Work;
use portcullis_core::inert::{is_formatting, leading_formatting};
use portcullis_mapping::Piece;

/// Spans to judge, as a stack: the parts of a span come right after it.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    stack: Vec<Work>,
    /// Inert bytes held as the prefix of the next commitment.
    held: String,
    /// The pieces of these bytes, in a whole text.
    held_work: Vec<Work>,
}

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

    /// The next span that is not inert; inert pieces before it are held. `whole` is whether they are pieces of a whole
    /// text.
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

    /// The next held connectives that no admitted span has taken; in a whole text they are judged by themselves. For an
    /// engine they are not released alone, because its proposal can be undone together with the bytes held before it.
    pub(super) fn next_connective(&mut self) -> Option<Work> {
        self.held.clear();
        let held = std::mem::take(&mut self.held_work);
        let is_words = |work: &Work| !is_formatting(work.slice());
        self.stack =
            held.into_iter().rev().map(|work| Work { inert: work.inert && !is_words(&work), ..work }).collect();
        self.next(true)
    }

    /// Drops the rest of the current text.
    pub(super) fn clear(&mut self) {
        self.stack.clear();
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn set_held(&mut self, inert: String) {
        self.held = inert;
    }

    /// The held bytes, which an admitted span takes with it.
    pub(super) fn take_held(&mut self) -> String {
        self.held_work.clear();
        std::mem::take(&mut self.held)
    }

    /// Keeps only formatting of the held bytes: nothing judges END, so only formatting may be released with it.
    pub(super) fn keep_formatting(&mut self) {
        self.held.truncate(leading_formatting(&self.held).len());
    }

    pub(super) fn abandon(&mut self) {
        self.stack.clear();
        self.held.clear();
    }
}
