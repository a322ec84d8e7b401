//! The gate's listening socket. If a file with its name exists and no process listens there, the socket replaces it.
//! The file is removed when the gate ends.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub use portcullis_socket::BindError;
use portcullis_socket::{SocketAccess, SocketListener};

/// Largest number of connections that wait to be accepted.
const WAITING: u16 = 4096;

/// A listening socket. Dropping it removes its file.
#[derive(Debug)]
pub struct GateSocket(SocketListener);

impl GateSocket {
    /// Listens at `path`. Only this user may connect, or with `shared` every user who can reach the folder. An old
    /// socket file on which no process listens is replaced.
    pub fn bind(path: &Path, shared: bool) -> Result<Self, BindError> {
        let access = if shared { SocketAccess::Everyone } else { SocketAccess::Owner };
        SocketListener::bind(path, access, WAITING).map(Self)
    }

    /// The next connection; `None` if none is waiting.
    pub(super) fn accept(&self) -> io::Result<Option<UnixStream>> {
        self.0.accept()
    }
}

impl AsFd for GateSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
