//! The open streams of the native API: their owners, their limits, and the time after which a silent stream ends.

use crate::config::GatewayLimits;
use crate::error::ApiError;
use crate::governed::GovernedStream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

/// The open streams of the native API.
pub(crate) struct OpenStreams {
    open: Mutex<BTreeMap<String, Arc<KeptStream>>>,
    /// Places for all callers.
    places: Arc<Semaphore>,
    /// Places per key; the last entry is for callers without a key.
    places_of_key: Vec<Arc<Semaphore>>,
    /// Longest time between two requests for a stream.
    idle: Duration,
}

/// A place for one stream. Dropping it frees the place.
pub(crate) struct StreamRoom {
    _among_all: OwnedSemaphorePermit,
    _of_key: OwnedSemaphorePermit,
}

/// An open stream, between two requests of its caller.
pub(crate) struct KeptStream {
    /// Index of the caller's key in the configuration.
    owner: Option<usize>,
    used: Mutex<Instant>,
    stream: Arc<tokio::sync::Mutex<GovernedStream>>,
    _room: StreamRoom,
}

impl OpenStreams {
    pub(crate) fn new(limits: &GatewayLimits, keys: usize) -> Self {
        let of_key = || Arc::new(Semaphore::new(limits.decide_streams_per_key.min(Semaphore::MAX_PERMITS)));
        Self {
            open: Mutex::default(),
            places: Arc::new(Semaphore::new(limits.decide_streams.min(Semaphore::MAX_PERMITS))),
            places_of_key: (0..=keys).map(|_| of_key()).collect(),
            idle: Duration::from_millis(limits.decide_idle_ms),
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Arc<KeptStream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a stream of this key.
    ///
    /// # Errors
    /// The limit of open streams is reached.
    pub(crate) fn room(&self, owner: Option<usize>) -> Result<StreamRoom, ApiError> {
        let full = || ApiError::unavailable("as many streams are open as may be: close one");
        let last = self.places_of_key.len().saturating_sub(1);
        let of_key = self.places_of_key.get(owner.unwrap_or(last)).ok_or_else(full)?;
        let of_key = Arc::clone(of_key).try_acquire_owned().map_err(|_| full())?;
        let among_all = Arc::clone(&self.places).try_acquire_owned().map_err(|_| full())?;
        Ok(StreamRoom { _among_all: among_all, _of_key: of_key })
    }

    /// Finds the stream of this name, for the key that opened it.
    ///
    /// # Errors
    /// This key has no such stream.
    pub(crate) fn find(&self, name: &str, owner: Option<usize>) -> Result<Arc<KeptStream>, ApiError> {
        let found = self.open().get(name).filter(|kept| kept.owner == owner).cloned();
        found.ok_or_else(ApiError::no_stream)
    }

    /// Keeps a stream until its caller closes it or is silent for too long.
    pub(crate) fn keep(self: &Arc<Self>, name: String, owner: Option<usize>, stream: GovernedStream, room: StreamRoom) {
        let idle = self.idle;
        let stream = Arc::new(tokio::sync::Mutex::new(stream));
        let kept = Arc::new(KeptStream { owner, used: Mutex::new(Instant::now()), stream, _room: room });
        let watched = Arc::downgrade(&kept);
        self.open().insert(name.clone(), kept);
        let streams = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let Some(until) = watched.upgrade().map(|kept| *kept.used() + idle) else { return };
                sleep_until(until).await;
                let (Some(kept), Some(streams)) = (watched.upgrade(), streams.upgrade()) else { return };
                if *kept.used() + idle > Instant::now() {
                    continue;
                }
                match kept.take_turn() {
                    Ok(mut stream) => {
                        stream.section().abort("its caller was silent for too long");
                        streams.remove(&name);
                        return;
                    }
                    // A request is using the stream, so its idle time starts now.
                    Err(_) => *kept.used() = Instant::now(),
                }
            }
        });
    }

    /// Number of open streams.
    pub(crate) fn count(&self) -> usize {
        self.open().len()
    }

    pub(crate) fn remove(&self, name: &str) {
        self.open().remove(name);
    }
}

impl KeptStream {
    /// Locks the stream for one request.
    ///
    /// # Errors
    /// Another request for the stream is in progress.
    pub(crate) fn take_turn(&self) -> Result<OwnedMutexGuard<GovernedStream>, ApiError> {
        let busy = |_| ApiError::conflict("stream_busy", "another request of this stream is being answered");
        let stream = Arc::clone(&self.stream).try_lock_owned().map_err(busy)?;
        *self.used() = Instant::now();
        Ok(stream)
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
