//! The gate's socket: a name that is taken over when nothing listens on it, and that goes with the gate.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use portcullis_socket::{Access, BindError, Listener};

/// Connections that may wait to be accepted.
const WAITING: u16 = 4096;

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("`{}` is not a socket", .0.display())]
    NotASocket(PathBuf),
    #[error("another process listens on `{}`; is a gate there already?", .0.display())]
    Taken(PathBuf),
    #[error("cannot listen on `{}`", path.display())]
    Listen { path: PathBuf, source: io::Error },
}

impl From<BindError> for SocketError {
    fn from(error: BindError) -> Self {
        match error {
            BindError::NotASocket(path) => Self::NotASocket(path),
            BindError::InUse(path) => Self::Taken(path),
            BindError::System { path, source } => Self::Listen { path, source },
        }
    }
}

/// A listening socket. Dropping it removes its name.
#[derive(Debug)]
pub struct Socket(Listener);

impl Socket {
    /// Listens at `path`, where only this user may connect, or with `shared` every user who reaches the folder. A
    /// socket that nothing listens on is replaced.
    pub fn bind(path: &Path, shared: bool) -> Result<Self, SocketError> {
        let access = if shared { Access::Everyone } else { Access::Owner };
        Ok(Self(Listener::bind(path, access, WAITING)?))
    }

    /// The next connection; `None` when there is none.
    pub(super) fn accept(&self) -> io::Result<Option<UnixStream>> {
        self.0.accept()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
