//! A listening UNIX socket with a name in the file system, for the gate and the simulated card.
//!
//! If a name has no listening process, a new socket replaces it. Dropping a [`SocketListener`] removes the name, unless
//! another socket has replaced it. The crate does not read or write a connection: [`SocketListener::accept`] returns it
//! as a standard stream.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! use portcullis_socket::{SocketAccess, SocketListener};
//! use std::os::unix::net::UnixStream;
//!
//! let path = folder.path().join("gate.sock");
//! let listener = SocketListener::bind(&path, SocketAccess::Owner, 8)?;
//! assert!(listener.accept()?.is_none());
//!
//! let _client = UnixStream::connect(&path)?;
//! assert!(listener.accept()?.is_some());
//!
//! drop(listener);
//! assert!(!path.exists());
//! # Ok(())
//! # }
//! ```

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("`{}` exists and is not a socket: choose another path", .0.display())]
    NotASocket(PathBuf),
    #[error("another process listens on `{}` already: choose another path, or end it", .0.display())]
    InUse(PathBuf),
    #[error("cannot listen on `{}`", path.display())]
    System { path: PathBuf, source: io::Error },
}

/// The users who may connect; they also need access to the socket's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketAccess {
    /// The current user only.
    Owner,
    /// Every user.
    Everyone,
}

/// A listening, non-blocking socket. Dropping it removes its name.
#[derive(Debug)]
pub struct SocketListener {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the name. They show whether the name still belongs to this socket when it is removed.
    id: (u64, u64),
}

impl SocketListener {
    /// Listens at `path`; at most `waiting` connections may wait to be accepted.
    pub fn bind(path: &Path, access: SocketAccess, waiting: u16) -> Result<Self, BindError> {
        let failed = |source| BindError::System { path: path.to_owned(), source };
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(BindError::NotASocket(path.to_owned())),
            Ok(_) => match UnixStream::connect(path) {
                Ok(_) => return Err(BindError::InUse(path.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let errno = |error: rustix::io::Errno| failed(error.into());
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(errno)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path).map_err(errno)?).map_err(errno)?;
        // The permissions are set before the socket listens, so no other user can connect before.
        let mode = match access {
            SocketAccess::Owner => 0o600,
            SocketAccess::Everyone => 0o666,
        };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        let found = std::fs::symlink_metadata(path).map_err(failed)?;
        rustix::net::listen(&socket, waiting.into()).map_err(errno)?;
        Ok(Self { listener: socket.into(), path: path.to_owned(), id: (found.dev(), found.ino()) })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next connection, in blocking mode; `None` if none is waiting.
    pub fn accept(&self) -> io::Result<Option<UnixStream>> {
        match self.listener.accept() {
            Ok((stream, _)) => stream.set_nonblocking(false).map(|()| Some(stream)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether an error only means that no connection is waiting now.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted)
}

impl AsFd for SocketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        let ours = std::fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.id);
        if ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_name_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let first = SocketListener::bind(&path, SocketAccess::Owner, 8).unwrap();
        assert!(matches!(SocketListener::bind(&path, SocketAccess::Owner, 8), Err(BindError::InUse(_))));
        assert!(first.accept().unwrap().is_some(), "the attempt above connected");
        assert!(first.accept().unwrap().is_none());
        drop(first);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        let second = SocketListener::bind(&path, SocketAccess::Everyone, 8).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o666);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        drop(second);
        assert!(path.exists(), "another file has the name now");
        assert!(matches!(SocketListener::bind(&path, SocketAccess::Owner, 8), Err(BindError::NotASocket(_))));
    }
}
