//! The state of a card's sessions, as callers see it.

use crate::metrics::GatewayMetrics;
use crate::receipts::SessionProofs;
use portcullis_gate::{SessionHandle, StreamGovernor};
use std::sync::Arc;
use std::time::Instant;

/// A session that accepts streams.
pub struct OpenSession {
    pub name: String,
    /// A governor for each model, in the order of the configuration.
    pub governors: Vec<Arc<StreamGovernor>>,
    /// When the session must begin to end, so that it is over before its ticket; `None` without a ticket.
    pub ends: Option<Instant>,
    /// Opens streams.
    pub handle: SessionHandle,
    /// The proofs of the session's streams, if the session has a bundle.
    pub proofs: Option<SessionProofs>,
    /// Counters of the gateway.
    pub metrics: Arc<GatewayMetrics>,
}

/// The state of a card's sessions, as callers see it.
#[derive(Clone)]
pub enum SessionState {
    /// No session is open; the next one opens soon.
    Between,
    Open(Arc<OpenSession>),
    /// No more sessions follow.
    Over,
}
