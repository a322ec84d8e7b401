//! Settings of governed texts that are not part of the policy.

use crate::salt::SaltSource;
use portcullis_core::context::{OnRefuse, ReleaseMode};
use portcullis_core::state::AgentProfile;
use portcullis_core::wire::Granularity;

/// Largest number of held inert bytes. If an engine proposes only inert bytes and exceeds this number, its stream ends.
pub(crate) const HELD_MAX: usize = 4096;

/// How texts are governed.
#[derive(Clone)]
pub struct GateSettings {
    /// Granularity; `None` cuts whole texts into spans, and leaves an engine's candidates whole.
    pub granularity: Option<Granularity>,
    /// Behaviour after a refusal; `None` skips in recorded texts and stops in driven ones.
    pub on_refuse: Option<OnRefuse>,
    pub release: ReleaseMode,
    pub salts: SaltSource,
    /// Number of streams that are open at the same time, at least 1.
    pub streams: u16,
    /// The largest number of candidates requested from an engine per stream.
    pub max_proposals: u32,
    pub profile: AgentProfile,
}

impl GateSettings {
    /// Default settings with these salts.
    #[must_use]
    pub fn new(salts: impl Into<SaltSource>) -> Self {
        Self {
            granularity: None,
            on_refuse: None,
            release: ReleaseMode::Span,
            salts: salts.into(),
            streams: 64,
            max_proposals: 10_000,
            profile: AgentProfile::default(),
        }
    }
}
