//! The accept loop of a gate. It checks a connection's user before it spends resources on the connection, and limits
//! the number of connections. Neither clients nor a shortage of file descriptors or threads can end the loop.

use super::clients::Clients;
use super::server::{ConnectionEnd, GateConnection, GateError, Journal};
use super::{GateSocket, ToClient, Wire, send};
use crate::event::StreamEvent;
use crate::governor::StreamGovernor;
use crate::session_loop::{InboxBounds, SessionHandle, SessionLoop};
use portcullis_card::{CardSession, CardTransport};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

/// How often the loop checks whether it must stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Pause after a system error, before the next connection is accepted.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for streams to end after a request to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Terms of service: allowed users, bounds and deadlines.
#[derive(Clone, Debug)]
pub struct ServiceTerms {
    /// Numbers of the users that may connect.
    pub allowed: Vec<u32>,
    /// Largest number of simultaneous connections.
    pub clients: u16,
    /// Time limit for each frame of a client, from its first byte to its last.
    pub deadline: Duration,
    /// The first message to a client.
    pub welcome: ToClient,
}

/// A gate: a governor whose streams come from the connections of a socket. Its governor has the filter for tasks
/// ([`StreamGovernor::with_filter`]); the clients run the engines.
pub struct GateServer {
    governor: Arc<StreamGovernor>,
    terms: ServiceTerms,
    stopping: AtomicBool,
}

impl GateServer {
    #[must_use]
    pub const fn new(governor: Arc<StreamGovernor>, terms: ServiceTerms) -> Self {
        Self { governor, terms, stopping: AtomicBool::new(false) }
    }

    /// Serves connections until `stop` is called or the session cannot continue. Then it accepts no more work, lets
    /// open streams end, and returns after the last connection. `journal` stores events before clients receive them;
    /// `report` receives refusals and errors. Errors: the failure of the card or the journal, otherwise
    /// [`GateError::Accept`]: the socket is unusable.
    pub fn listen<C: CardTransport>(
        &self,
        session: &mut CardSession<C>,
        mut journal: Journal<'_>,
        socket: &GateSocket,
        stop: impl Fn() -> bool,
        report: impl Fn(String) + Sync,
    ) -> Result<(), GateError>
    where
        CardSession<C>: Send,
    {
        let slots = usize::try_from(session.info().max_streams).unwrap_or(usize::MAX);
        let clients = Clients::new(usize::from(self.terms.clients).min(slots));
        let session_loop =
            SessionLoop::new(InboxBounds { waiting: usize::from(self.terms.clients), ..InboxBounds::default() });
        let handle = session_loop.handle();
        let keep = move |event: &StreamEvent| journal(event).map_err(GateError::Journal);
        std::thread::scope(|scope| {
            let judge = move || session_loop.run(session, keep);
            let judge = std::thread::Builder::new().name("session".into()).spawn_scoped(scope, judge);
            let judge = judge.map_err(GateError::Thread)?;
            let accepted = self.accept(scope, &clients, &handle, socket, stop, &report);
            self.stopping.store(true, Ordering::Relaxed);
            clients.stop_reading();
            handle.shut_down(GRACE);
            clients.leave(GRACE);
            let judged = judge.join().unwrap_or(Err(GateError::Panicked));
            judged.and(accepted)
        })
    }

    fn accept<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        clients: &'s Clients,
        session: &SessionHandle,
        socket: &GateSocket,
        stop: impl Fn() -> bool,
        report: &'s (impl Fn(String) + Sync),
    ) -> Result<(), GateError> {
        let (mut short, mut connections) = (false, 0);
        while !stop() && session.closed().is_none() {
            let stream = match next(socket) {
                Ok(Some(stream)) => stream,
                Ok(None) => continue,
                Err(error) if is_shortage(&error) => {
                    // A shortage is reported only once, although the loop comes here until the shortage is over.
                    if !std::mem::replace(&mut short, true) {
                        report(format!("a connection waits: {error}"));
                    }
                    clients.make_room();
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(error) => return Err(GateError::Accept(error)),
            };
            short = false;
            if let Err(why) = check_user(&stream, &self.terms.allowed) {
                turn_away(&stream, &why);
                report(why);
                continue;
            }
            let wire = Arc::new(Wire::new(stream, self.terms.deadline));
            let Some(place) = clients.admit(&wire) else {
                let why = "every connection of the gate is in use";
                turn_away(wire.stream(), why);
                report(why.into());
                continue;
            };
            let connection = GateConnection {
                wire: Arc::clone(&wire),
                session: session.clone(),
                governor: &self.governor,
                stopping: &self.stopping,
                owner: connections,
            };
            connections += 1;
            let serve = move || {
                if let ConnectionEnd::Refused(why) = connection.serve(&place, &self.terms.welcome) {
                    report(why);
                }
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, serve) {
                let why = format!("no thread for a connection: {error}");
                turn_away(wire.stream(), &why);
                report(why);
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

/// Waits for a connection, at most [`LOOK`].
fn next(socket: &GateSocket) -> io::Result<Option<UnixStream>> {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&LOOK)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    socket.accept()
}

/// Whether an error is a temporary shortage of file descriptors (of the process or of the system) or of memory.
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

/// Sends the reason of a refusal to a connection, if that is possible without waiting.
fn turn_away(mut stream: &UnixStream, why: &str) {
    if stream.set_nonblocking(true).is_ok() {
        let _ = send(&mut stream, &ToClient::Failed(why.to_owned()));
    }
}
