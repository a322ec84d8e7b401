//! Reading texts beside the tasks of the runtime.

/// Shortest text, in bytes, whose reading could be felt by other tasks.
const LONG: usize = 512;

/// Reads a text of this many bytes. While a long text is read, the other tasks of this thread go on in another one.
pub(crate) fn reading<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    if bytes < LONG { read() } else { tokio::task::block_in_place(read) }
}
