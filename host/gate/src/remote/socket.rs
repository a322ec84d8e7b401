//! The gate's socket: a name that is taken over when nothing listens on it, and that goes with the gate.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub use portcullis_socket::BindError;
use portcullis_socket::{Access, Listener};

/// Connections that may wait to be accepted.
const WAITING: u16 = 4096;

<<<<<<< HEAD
=======
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

>>>>>>> b8e7285a71ee4142f1f9af7dbeb38bb9301defc4
/// A listening socket. Dropping it removes its name.
#[derive(Debug)]
pub struct Socket(Listener);

impl Socket {
    /// Listens at `path`, where only this user may connect, or with `shared` every user who reaches the folder. A
    /// socket that nothing listens on is replaced.
<<<<<<< HEAD
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(path: &Path, shared: bool) -> Result<Self, BindError> {
=======
    pub fn bind(path: &Path, shared: bool) -> Result<Self, SocketError> {
>>>>>>> b8e7285a71ee4142f1f9af7dbeb38bb9301defc4
        let access = if shared { Access::Everyone } else { Access::Owner };
        Listener::bind(path, access, WAITING).map(Self)
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
