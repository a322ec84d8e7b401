//! The admitted bytes that are not released yet. A rollback never goes back beyond released bytes.

use crate::event::StreamEventKind;
use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct ReleaseBuffer {
    spans: Vec<Admitted>,
}

#[derive(Debug)]
struct Admitted {
    seq: u32,
    text: String,
    call: Option<Range<usize>>,
}

impl ReleaseBuffer {
    pub(super) fn push(&mut self, seq: u32, text: &str, call: Option<Range<usize>>) {
        self.spans.push(Admitted { seq, text: text.to_owned(), call });
    }

    /// Removes everything from `seq` on.
    pub(super) fn truncate(&mut self, seq: u32) {
        self.spans.retain(|span| span.seq < seq);
    }

    /// All bytes in order, as the event of their release; `None` if there are none.
    pub(super) fn take(&mut self) -> Option<StreamEventKind> {
        if self.spans.is_empty() {
            return None;
        }
        let (mut seqs, mut text, mut calls) = (Vec::new(), String::new(), Vec::new());
        for span in self.spans.drain(..) {
            seqs.push(span.seq);
            calls.extend(span.call.map(|call| text.len() + call.start..text.len() + call.end));
            text.push_str(&span.text);
        }
        Some(StreamEventKind::Released { seqs, text, calls })
    }

    pub(super) fn clear(&mut self) {
        self.spans.clear();
    }
}
