//! The accept loop of a gate. Nothing is spent on a connection before its user is known; connections are bounded; nothing that clients do,
//! and no lack of files or threads, ends it.

use super::clients::Clients;
use super::server::{Gate, GateError, Served};
use super::{Socket, ToClient, Wire, send};
use crate::governor::Governor;
use portcullis_card::{Card, Session};
use portcullis_core::state::ProfileError;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the loop looks whether it is to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Pause after an error of the system, before the next connection is accepted.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for streams to end after the gate was asked to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Whom a gate serves, and how.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Users that may connect, by number.
    pub allowed: Vec<u32>,
    /// Connections at the same time, at most.
    pub clients: u16,
    /// Bound on every frame that a client is waited for, from its first byte to its last.
    pub deadline: Duration,
    /// What a client is told first.
    pub welcome: ToClient,
}

impl<C: Card> Gate<'_, C> {
    /// Serves connections until `stop` or until the gate cannot go on; then takes no more work, lets open streams end, and returns once
    /// every connection has gone. `make` makes the governor of an item. `report` hears what was refused and what went wrong.
    ///
    /// # Errors
    /// [`GateError::Accept`]: the socket is of no use any more. Why the card or the journal failed stands in [`Gate::into_session`].
    pub fn listen<'g>(
        &self,
        socket: &Socket,
        terms: &Terms,
        stop: impl Fn() -> bool,
        make: impl Fn() -> Result<Governor<'g>, ProfileError> + Sync,
        report: impl Fn(String) + Sync,
    ) -> Result<(), GateError>
    where
        Session<C>: Send,
    {
        let clients = Clients::new(usize::from(terms.clients).min(self.slots()));
        let (clients, make, report) = (&clients, &make, &report);
        std::thread::scope(|scope| {
            let mut short = false;
            let accepted = loop {
                if stop() || self.is_over() {
                    break Ok(());
                }
                let stream = match next(socket) {
                    Ok(Some(stream)) => stream,
                    Ok(None) => continue,
                    Err(error) if is_shortage(&error) => {
                        // Once per shortage: the loop comes back here until it is over.
                        if !std::mem::replace(&mut short, true) {
                            report(format!("a connection waits: {error}"));
                        }
                        clients.make_room();
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                    Err(error) => break Err(GateError::Accept(error)),
                };
                short = false;
                if let Err(why) = check_user(&stream, &terms.allowed) {
                    turn_away(&stream, &why);
                    report(why);
                    continue;
                }
                let wire = Arc::new(Wire::new(stream, terms.deadline));
                let Some(place) = clients.admit(&wire) else {
                    let why = "every connection of the gate is in use";
                    turn_away(wire.stream(), why);
                    report(why.into());
                    continue;
                };
                let thread = Arc::clone(&wire);
                let serve = move || {
                    if let Served::Refused(why) = self.serve(&thread, &place, &terms.welcome, make) {
                        report(why);
                    }
                };
                if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, serve) {
                    let why = format!("no thread for a connection: {error}");
                    turn_away(wire.stream(), &why);
                    report(why);
                    std::thread::sleep(PAUSE);
                }
            };
            self.stopping.store(true, Ordering::Relaxed);
            clients.stop_reading();
            clients.leave(GRACE);
            accepted
        })
    }
}

/// Waits for a connection, not longer than [`LOOK`].
fn next(socket: &Socket) -> io::Result<Option<UnixStream>> {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&LOOK)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    socket.accept()
}

/// Whether an error is a lack of something that comes back: files of the process or of the system, memory.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| shortages.iter().any(|shortage| shortage.raw_os_error() == code))
}

/// Whether the user at the other end may use the gate.
fn check_user(stream: &UnixStream, allowed: &[u32]) -> Result<(), String> {
    match rustix::net::sockopt::socket_peercred(stream) {
        Ok(peer) if allowed.contains(&peer.uid.as_raw()) => Ok(()),
        Ok(peer) => Err(format!("user {} may not use this gate", peer.uid.as_raw())),
        Err(error) => Err(format!("the peer's credentials cannot be read: {error}")),
    }
}

/// Says why a connection is not served, as far as that does not wait.
fn turn_away(mut stream: &UnixStream, why: &str) {
    if stream.set_nonblocking(true).is_ok() {
        let _ = send(&mut stream, &ToClient::Failed(why.to_owned()));
    }
}
