//! The work of a stream: the spans of the current text in order, and the inert bytes that wait for the next admitted
//! span.

use super::work::Work;
use portcullis_core::inert::{is_formatting, leading_formatting};
use portcullis_mapping::Piece;

/// Spans to judge, the next on top: the parts of a span come right after it.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    stack: Vec<Work>,
    /// Inert bytes held as the prefix of the next commitment.
    held: String,
    /// The pieces that they are, in a whole text.
    held_work: Vec<Work>,
}

impl WorkQueue {
    pub(super) fn push(&mut self, work: Work) {
        self.stack.push(work);
    }

    /// Puts spans on top, the first uppermost.
    pub(super) fn push_all(&mut self, work: Vec<Work>) {
        self.stack.extend(work.into_iter().rev());
    }

    /// Puts pieces of a span on top, the first uppermost.
    pub(super) fn push_pieces(&mut self, of: &Work, pieces: &[Piece]) {
        let work = pieces.iter().rev().map(|p| Work { range: p.range.clone(), inert: p.inert, ..of.clone() });
        self.stack.extend(work);
    }

    /// The next span that is not inert; inert ones are held on the way. `whole` says that they are pieces of a whole
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

    /// The next connectives that were held for a span and that no admitted span took: in a whole text they are judged
    /// by themselves. An engine's proposal can be taken back together with the bytes held before it, so connectives do
    /// not leave there.
    pub(super) fn next_connective(&mut self) -> Option<Work> {
        self.held.clear();
        let held = std::mem::take(&mut self.held_work);
        let is_words = |work: &Work| !is_formatting(work.slice());
        self.stack =
            held.into_iter().rev().map(|work| Work { inert: work.inert && !is_words(&work), ..work }).collect();
        self.next(true)
    }

    /// Nothing of the current text is judged any more.
    pub(super) fn clear(&mut self) {
        self.stack.clear();
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn set_held(&mut self, inert: String) {
        self.held = inert;
    }

    /// An admitted span takes the held bytes with it.
    pub(super) fn take_held(&mut self) -> String {
        self.held_work.clear();
        std::mem::take(&mut self.held)
    }

    /// The card does not judge END, so of the held bytes only formatting may leave with it.
    pub(super) fn keep_formatting(&mut self) {
        self.held.truncate(leading_formatting(&self.held).len());
    }

    pub(super) fn abandon(&mut self) {
        self.stack.clear();
        self.held.clear();
    }
}
