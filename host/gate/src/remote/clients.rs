//! The connections of a gate. Their number is limited. At the limit, a connection that has not sent its hello message
//! is closed to make room for a new connection.

use super::Wire;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for a closed connection's thread to end.
const LEAVE: Duration = Duration::from_secs(1);

struct ConnectedClient {
    wire: Arc<Wire>,
    /// The hello has arrived.
    greeted: bool,
    /// The connection was closed, and its thread is ending.
    leaving: bool,
}

/// The connections of a gate, in order of arrival.
pub(super) struct Clients {
    most: usize,
    open: Mutex<(u64, BTreeMap<u64, ConnectedClient>)>,
    left: Condvar,
}

/// A place among the connections; dropping it frees the place.
pub(super) struct ClientPlace<'c> {
    clients: &'c Clients,
    number: u64,
}

impl Clients {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, open: Mutex::new((0, BTreeMap::new())), left: Condvar::new() }
    }

    fn open(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, ConnectedClient>)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a connection. If all places are taken, the oldest connection without a hello is closed; `None`
    /// if there is no such connection.
    pub(super) fn admit(&self, wire: &Arc<Wire>) -> Option<ClientPlace<'_>> {
        if self.open().1.len() >= self.most {
            self.make_room();
        }
        let mut open = self.open();
        if open.1.len() >= self.most {
            return None;
        }
        let number = open.0;
        open.0 += 1;
        open.1.insert(number, ConnectedClient { wire: Arc::clone(wire), greeted: false, leaving: false });
        Some(ClientPlace { clients: self, number })
    }

    /// Closes the oldest connection without a hello, and waits briefly for its end.
    pub(super) fn make_room(&self) {
        let mut open = self.open();
        let before = open.1.len();
        if let Some(entry) = open.1.values_mut().find(|entry| !entry.greeted && !entry.leaving) {
            entry.leaving = true;
            entry.wire.hang_up(Shutdown::Both);
        }
        if open.1.values().any(|entry| entry.leaving) {
            let _ = self.left.wait_timeout_while(open, LEAVE, |open| open.1.len() >= before);
        }
    }

    /// Stops reading from all connections; results are still sent.
    pub(super) fn stop_reading(&self) {
        self.open().1.values().for_each(|entry| entry.wire.hang_up(Shutdown::Read));
    }

    /// Waits at most `within` for all connections to end, then closes the others.
    pub(super) fn leave(&self, within: Duration) {
        let open = self.open();
        let (open, _) = self
            .left
            .wait_timeout_while(open, within, |open| !open.1.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        open.1.values().for_each(|entry| entry.wire.hang_up(Shutdown::Both));
    }
}

impl ClientPlace<'_> {
    /// Records the hello: the connection keeps its place until it ends.
    pub(super) fn greeted(&self) {
        if let Some(entry) = self.clients.open().1.get_mut(&self.number) {
            entry.greeted = true;
        }
    }
}

impl Drop for ClientPlace<'_> {
    fn drop(&mut self) {
        self.clients.open().1.remove(&self.number);
        self.clients.left.notify_all();
    }
}
