//! The gate's socket: a name that is taken over when nothing listens on it, and that goes with the gate.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why the gate cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Something other than a socket has the name.
    #[error("`{}` is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// A process listens there.
    #[error("another process listens on `{}`; is a gate there already?", .0.display())]
    Taken(PathBuf),
    /// The system refuses.
    #[error("cannot listen on `{}`", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// What the system reports.
        source: io::Error,
    },
}

/// A listening socket. Dropping it removes its name.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, so that the name of another socket is not removed.
    id: (u64, u64),
}

impl Socket {
    /// Listens at `path`, where only this user may connect, or with `shared` every user who reaches the folder. A socket that nothing
    /// listens on is replaced.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn bind(path: &Path, shared: bool) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Listen { path: path.to_owned(), source };
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_owned())),
            Ok(_) => match UnixStream::connect(path) {
                Ok(_) => return Err(SocketError::Taken(path.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mode = if shared { 0o666 } else { 0o600 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        let found = std::fs::symlink_metadata(path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), id: (found.dev(), found.ino()) })
    }

    /// The next connection; [`io::ErrorKind::WouldBlock`] when there is none.
    pub(super) fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = std::fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.id);
        if ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
