//! Serves the simulated card on a UNIX socket, to one driver at a time (vfio-user).
//!
//! One thread answers requests, and runs the clock between requests. So after the answer to `DMA_UNMAP`, the card no
//! longer writes to that memory. The clock runs until [`LINGER`] after the last request and the last use of the bus.
//! Then the card stands still and uses no processor time.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use portcullis_socket::BindError;
use portcullis_socket::{SocketAccess, SocketListener};
use portcullis_vfio_user::{DeviceServeError, DriverConnection, VfioUserChannel};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::pci::PciCard;

/// How long the clock continues without requests and bus traffic.
pub const LINGER: Duration = Duration::from_millis(500);
/// Time limit for each message of a driver, including the first.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// Numbers of clocks between two checks of the socket: few after a request, then more and more.
const FEWEST: u64 = 8;
const MOST: u64 = 1024;
/// Largest number of drivers that wait for the card.
const WAITING: u16 = 8;

/// The reason why a card cannot be served, or can no longer be served.
#[derive(Debug, thiserror::Error)]
pub enum CardServerError {
    #[error("cannot serve on `{}`: {source}", path.display())]
    Socket { path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Card(String),
}

/// A socket that only the current user can open. Dropping it removes its name.
#[derive(Debug)]
pub struct CardServerSocket(SocketListener);

impl CardServerSocket {
    /// Listens at `path`. Replaces a socket file at which no process listens.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        SocketListener::bind(path, SocketAccess::Owner, WAITING).map(Self)
    }

    /// Serves `card` to one driver after the other until `stop` becomes readable or its other end is closed. `report`
    /// receives each driver's result. If a driver violates the protocol, it is disconnected, and the next driver is
    /// served. Errors: [`CardServerError::Card`] if an assertion of the RTL fails or the card violates the bus rules.
    pub fn serve(
        &self,
        card: &mut PciCard,
        stop: BorrowedFd<'_>,
        mut report: impl FnMut(&DeviceServeError),
    ) -> Result<(), CardServerError> {
        let failed = |source| CardServerError::Socket { path: self.0.path().to_owned(), source };
        while wait(self.0.as_fd(), stop, None).map_err(failed)? != WaitEnd::Stop {
            let Some(driver) = self.0.accept().map_err(failed)? else { continue };
            let served = VfioUserChannel::new(driver, DEADLINE)
                .map_err(DeviceServeError::from)
                .and_then(|channel| drive(card, &mut DriverConnection::new(channel), stop));
            card.disconnect();
            if let Some(failure) = card.failure() {
                return Err(CardServerError::Card(failure.to_owned()));
            }
            match served {
                Ok(()) => break,
                Err(end) => report(&end),
            }
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum WaitEnd {
    Stop,
    Ready,
    Time,
}

/// Waits until `first` is readable, `stop` is signalled, or the time has passed.
fn wait(first: BorrowedFd<'_>, stop: BorrowedFd<'_>, time: Option<Duration>) -> std::io::Result<WaitEnd> {
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    let mut both = [PollFd::from_borrowed_fd(stop, PollFlags::IN), PollFd::from_borrowed_fd(first, PollFlags::IN)];
    match poll(&mut both, time.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let [stop, first] = both.map(|one| !one.revents().is_empty());
    Ok(if stop {
        WaitEnd::Stop
    } else if first {
        WaitEnd::Ready
    } else {
        WaitEnd::Time
    })
}

/// Serves one driver. The result is `Ok` if `stop` ended the service.
fn drive(card: &mut PciCard, driver: &mut DriverConnection, stop: BorrowedFd<'_>) -> Result<(), DeviceServeError> {
    let socket = |error| DeviceServeError::Channel(portcullis_vfio_user::ChannelError::Socket(error));
    let mut last_request = Instant::now();
    let mut last_activity = last_request;
    let mut clocks = FEWEST;
    let mut handshaken = false;
    loop {
        let time = if handshaken {
            (last_activity.elapsed() < LINGER).then_some(Duration::ZERO)
        } else {
            Some(DEADLINE.saturating_sub(last_request.elapsed()))
        };
        match wait(driver.as_fd(), stop, time).map_err(socket)? {
            WaitEnd::Stop => return Ok(()),
            WaitEnd::Ready => {
                driver.serve(card)?;
                last_request = Instant::now();
                last_activity = last_request;
                clocks = FEWEST;
                handshaken = true;
            }
            WaitEnd::Time if handshaken => {}
            WaitEnd::Time if last_request.elapsed() < DEADLINE => continue,
            WaitEnd::Time => {
                return Err(DeviceServeError::Channel(portcullis_vfio_user::ChannelError::Late {
                    what: "say its version",
                    within: DEADLINE,
                }));
            }
        }
        if card.run(clocks) {
            last_activity = Instant::now();
        }
        if card.failure().is_some() {
            // The driver only sees that the connection ends.
            return Err(DeviceServeError::Left);
        }
        clocks = (clocks * 2).min(MOST);
    }
}
