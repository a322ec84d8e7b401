//! The simulated card behind a UNIX socket, for one driver at a time (vfio-user).
//!
//! One thread does everything: it answers requests, and lets clocks pass between them. So a driver that has its answer to `DMA_UNMAP` knows
//! that nothing more is written there. The clock runs while somebody could be waiting: until [`LINGER`] after the last request or the
//! last use of the bus. Then the card stands still, and costs nothing.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portcullis_vfio_user::{Channel, Connection, ServeError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::pci::PciCard;

/// How long the clock runs on when nobody asks and the bus is quiet.
pub const LINGER: Duration = Duration::from_millis(500);
/// What a driver is given for a message, and for its first one.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// Clocks between two looks at the socket: few right after a request, more the longer none comes.
const FEWEST: u64 = 8;
const MOST: u64 = 1024;
/// Drivers that may wait for their turn.
const BACKLOG: i32 = 8;

/// The socket cannot be had, or serving cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Something else has the name.
    #[error("`{}` exists and is not a socket: choose another path", .0.display())]
    NotASocket(PathBuf),
    /// A card is there.
    #[error("something listens on `{}` already: choose another path, or end it", .0.display())]
    Taken(PathBuf),
    /// The socket cannot be made or used.
    #[error("cannot listen on `{}`: {source}", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The simulation is worth nothing any more.
    #[error("{0}")]
    Card(String),
}

/// A socket that nobody but this user can open; its name goes with it.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, so that nobody else's is removed.
    id: (u64, u64),
}

impl Socket {
    /// Listens at `path`. A socket that nobody listens on is taken over.
    ///
    /// # Errors
    /// [`SocketError::NotASocket`], [`SocketError::Taken`], [`SocketError::Listen`].
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Listen { path: path.to_owned(), source };
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_owned())),
            Ok(_) => match UnixStream::connect(path) {
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path).map_err(failed)?;
                }
                Ok(_) | Err(_) => return Err(SocketError::Taken(path.to_owned())),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let errno = |error: rustix::io::Errno| failed(error.into());
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(errno)?;
        let address = SocketAddrUnix::new(path).map_err(errno)?;
        rustix::net::bind(&socket, &address).map_err(errno)?;
        // Nobody can connect before it listens, so the permissions are never wider.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let found = std::fs::symlink_metadata(path).map_err(failed)?;
        rustix::net::listen(&socket, BACKLOG).map_err(errno)?;
        Ok(Self { listener: socket.into(), path: path.to_owned(), id: (found.dev(), found.ino()) })
    }

    /// Serves `card` to one driver after the other until `stop` can be read or is closed by its other end. `tell` hears what became of
    /// each driver. One that breaks the protocol is dropped, and the next is served.
    ///
    /// # Errors
    /// [`SocketError::Listen`]; [`SocketError::Card`] when an assertion of the RTL fails or the card breaks the rules of its bus.
    pub fn serve(
        &self,
        card: &mut PciCard,
        stop: BorrowedFd<'_>,
        mut tell: impl FnMut(&ServeError),
    ) -> Result<(), SocketError> {
        let failed = |source| SocketError::Listen { path: self.path.clone(), source };
        while wait(self.listener.as_fd(), stop, None).map_err(failed)? != Woken::Stop {
            let driver = match self.listener.accept() {
                Ok((driver, _)) => driver,
                // It has gone again.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(failed(error)),
            };
            let served = Channel::new(driver, DEADLINE)
                .map_err(ServeError::from)
                .and_then(|channel| drive(card, &mut Connection::new(channel), stop));
            card.leave();
            if let Some(failure) = card.failure() {
                return Err(SocketError::Card(failure.to_owned()));
            }
            match served {
                Ok(()) => break,
                Err(end) => tell(&end),
            }
        }
        Ok(())
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

#[derive(Debug, PartialEq, Eq)]
enum Woken {
    Stop,
    Ready,
    Time,
}

/// Waits until `first` can be read, `stop` says so, or time is up.
fn wait(first: BorrowedFd<'_>, stop: BorrowedFd<'_>, time: Option<Duration>) -> std::io::Result<Woken> {
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    let mut both = [PollFd::from_borrowed_fd(stop, PollFlags::IN), PollFd::from_borrowed_fd(first, PollFlags::IN)];
    match poll(&mut both, time.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let [stop, first] = both.map(|one| !one.revents().is_empty());
    Ok(if stop {
        Woken::Stop
    } else if first {
        Woken::Ready
    } else {
        Woken::Time
    })
}

/// Serves one driver; `Ok` when `stop` ended it.
fn drive(card: &mut PciCard, driver: &mut Connection, stop: BorrowedFd<'_>) -> Result<(), ServeError> {
    let socket = |error| ServeError::Channel(portcullis_vfio_user::ChannelError::Socket(error));
    let mut heard = Instant::now();
    let mut awake = heard;
    let mut clocks = FEWEST;
    let mut greeted = false;
    loop {
        let time = if greeted {
            (awake.elapsed() < LINGER).then_some(Duration::ZERO)
        } else {
            Some(DEADLINE.saturating_sub(heard.elapsed()))
        };
        match wait(driver.as_fd(), stop, time).map_err(socket)? {
            Woken::Stop => return Ok(()),
            Woken::Ready => {
                driver.serve(card)?;
                heard = Instant::now();
                awake = heard;
                clocks = FEWEST;
                greeted = true;
            }
            Woken::Time if greeted => {}
            Woken::Time if heard.elapsed() < DEADLINE => continue,
            Woken::Time => {
                return Err(ServeError::Channel(portcullis_vfio_user::ChannelError::Late {
                    what: "say its version",
                    within: DEADLINE,
                }));
            }
        }
        if card.run(clocks) {
            awake = Instant::now();
        }
        if card.failure().is_some() {
            // The end of the connection is what the driver hears of it.
            return Err(ServeError::Left);
        }
        clocks = (clocks * 2).min(MOST);
    }
}
