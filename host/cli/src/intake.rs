//! Input that a signal can end: texts that were already read are governed to their end, and the session is closed
//! normally.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Interval between checks for a signal while no item arrives.
const LOOK: Duration = Duration::from_millis(50);

/// Set when a signal has requested to stop.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Installs the handlers: the first SIGINT or SIGTERM requests to stop, the second ends the process at once.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The handler that ends the process runs before the flag is set, so it acts only from the second signal on.
            flag::register_conditional_default(signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self(asked))
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Wraps `items` so that they end when a signal arrives, even during the wait for the next item.
    pub(crate) fn end<T: Send + 'static>(&self, mut items: impl Iterator<Item = T> + Send + 'static) -> Until<T> {
        let (give, take) = sync_channel(0);
        // The thread is not joined, because it may wait for input forever.
        std::thread::spawn(move || items.try_for_each(|item| give.send(item)));
        Until { take, stop: self.clone() }
    }
}

/// See [`Stop::end`].
pub(crate) struct Until<T> {
    take: Receiver<T>,
    stop: Stop,
}

impl<T> Iterator for Until<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        while !self.stop.is_asked() {
            match self.take.recv_timeout(LOOK) {
                Ok(item) => return Some(item),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        None
    }
}
