//! Reading long texts in the workers of the gate.

use portcullis_gate::WorkerPool;

/// Shortest text, in bytes, whose reading could be felt by other tasks.
const LONG: usize = 512;

/// The reading of a text panicked. Nothing of it was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a text whose reading failed")]
pub(crate) struct ReadingFailed;

/// Reads a text of this many bytes. A long one is read by the workers of the gate, in the turn of its owner, while the
/// other tasks of this thread go on in another one.
pub(crate) fn reading<T: Send + 'static>(
    owner: u64,
    bytes: usize,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ReadingFailed> {
    if bytes < LONG {
        return Ok(read());
    }
    tokio::task::block_in_place(|| WorkerPool::shared().run(owner, read)).ok_or(ReadingFailed)
}
