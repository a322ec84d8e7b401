//! When admitted bytes leave, and how far a rollback may go: never across bytes that left.

/// Admitted bytes that have not left.
#[derive(Debug, Default)]
pub(super) struct ReleaseBuffer {
    spans: Vec<(u32, String)>,
}

impl ReleaseBuffer {
    pub(super) fn push(&mut self, seq: u32, bytes: String) {
        self.spans.push((seq, bytes));
    }

    /// Takes back everything from `seq` on.
    pub(super) fn truncate(&mut self, seq: u32) {
        self.spans.retain(|(s, _)| *s < seq);
    }

    /// Everything, in order: sequences and bytes; `None` when there is nothing.
    pub(super) fn take(&mut self) -> Option<(Vec<u32>, String)> {
        if self.spans.is_empty() {
            return None;
        }
        let (seqs, texts): (Vec<u32>, Vec<String>) = self.spans.drain(..).unzip();
        Some((seqs, texts.concat()))
    }

    pub(super) fn clear(&mut self) {
        self.spans.clear();
    }
}
