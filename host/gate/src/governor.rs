//! The governor: a policy with everything that is needed to judge streams under it.

use crate::admission::{Admission, EngineAdmission, Engines, ReplayEngines};
use crate::anchor::{AnchorSet, AnchorStore};
use crate::end_state::EndState;
use crate::policy::GatePolicy;
use crate::salt::SaltSource;
use crate::settings::GateSettings;
use portcullis_core::context::{OnRefuse, ReleaseMode, StreamMode};
use portcullis_core::manifest::{GatedLoopLimits, LinkPolicy};
use portcullis_core::state::{AgentProfile, ProfileError, SemanticState, StreamContext, StreamTask};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{ReferenceLabels, ScannedText, TextMapper};
use portcullis_prefilter::InputPrefilter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A policy and the settings for judging streams. Clones share the policy.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
/// # use portcullis_core::{state::StreamTask, wire::Determination};
/// # use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamEventKind, StreamGovernor, StreamInput};
/// # use std::{path::Path, sync::Arc};
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/pii");
/// # let package = portcullis_policy::PolicyPackage::load(Path::new(folder))?;
/// # let compiled = package.compile()?;
/// # let policy = Arc::new(GatePolicy::new(package, compiled)?);
/// # let card = CardChoice::Model.open()?;
/// # let mut session = CardSession::open(card, &policy.compiled.image, SessionConfig::default())?;
/// let governor = Arc::new(StreamGovernor::new(policy, GateSettings::new(SaltKey::random()?))?);
/// let text = "Write to ana@example.org.".to_owned();
/// let item = StreamInput::Text { id: "first".to_owned(), text, task: StreamTask::default() };
/// let mut refused = Vec::new();
/// governor.govern(&mut session, [item], |event| -> Result<(), SessionError> {
///     if let StreamEventKind::Determined(judged) = event.what {
///         let answer = judged.determination;
///         refused.extend(answer.rule.filter(|_| answer.determination == Some(Determination::Reject)));
///     }
///     Ok(())
/// })?;
/// assert!(refused.contains(&"PII-EMAIL".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StreamGovernor {
    pub(crate) policy: Arc<GatePolicy>,
    pub(crate) salts: SaltSource,
    package_digest: [u8; 32],
    image_digest: [u8; 32],
    context: StreamContext,
    pub(crate) settings: GateSettings,
    admission: EngineAdmission,
    anchors: AnchorSet,
    /// The anchor store that came with the stream, in canonical JSON Lines.
    supplied: Option<Arc<str>>,
    notes: BTreeMap<u32, [u8; 32]>,
    predecessor: Option<Arc<EndState>>,
}

impl StreamGovernor {
    /// A governor for a policy. Errors: [`ProfileError`]: the profile names a value that the policy does not declare.
    pub fn new(policy: Arc<GatePolicy>, settings: GateSettings) -> Result<Self, ProfileError> {
        Ok(Self {
            salts: settings.salts.clone(),
            package_digest: policy.package.digest(),
            image_digest: policy.compiled.image.digest(),
            context: settings.profile.context(policy.package.manifest())?,
            settings,
            admission: EngineAdmission::Closed,
            anchors: AnchorSet::none(&policy.mapper),
            supplied: None,
            notes: BTreeMap::new(),
            predecessor: None,
            policy,
        })
    }

    /// Adds engines for [`crate::StreamInput::Prompt`], behind a filter that judges each task first.
    #[must_use]
    pub fn with_engines(mut self, filter: Arc<InputPrefilter>, engines: Engines) -> Self {
        self.admission = EngineAdmission::Filter(filter, engines);
        self
    }

    /// Adds a filter that judges each task of [`crate::StreamInput::Prompt`]; the caller runs the engine.
    #[must_use]
    pub fn with_filter(mut self, filter: Arc<InputPrefilter>) -> Self {
        self.admission = EngineAdmission::Caller(filter);
        self
    }

    /// Uses the answers of a record, and the mode in which they were recorded.
    #[must_use]
    pub(crate) fn with_replay(mut self, engines: ReplayEngines, mode: StreamMode) -> Self {
        self.admission = EngineAdmission::Replay(engines, mode);
        self
    }

    #[must_use]
    pub fn with_anchors(mut self, anchors: AnchorSet) -> Self {
        self.anchors = anchors;
        self
    }

    /// For a stream that comes with its own anchor store: uses only this store. BEGIN's event contains the store.
    /// Indexing takes time in proportion to the store's length.
    #[must_use]
    pub fn with_supplied(mut self, store: AnchorStore) -> Self {
        self.supplied = Some(String::from_utf8_lossy(&store.contents().json_lines()).into());
        self.anchors = AnchorSet::new(vec![store], &self.policy.mapper);
        self
    }

    /// The digest of the store that came with the stream.
    #[must_use]
    pub fn supplied_digest(&self) -> Option<[u8; 32]> {
        self.supplied.as_ref().and_then(|_| self.anchors.digests().first().copied())
    }

    pub(crate) fn supplied(&self) -> Option<String> {
        self.supplied.as_deref().map(str::to_owned)
    }

    #[must_use]
    pub fn has_anchors(&self) -> bool {
        !self.anchors.is_empty()
    }

    /// Adds NOTE entries to each stream. The map contains each NOTE's digest under its sequence; entries after a NOTE
    /// get later sequences.
    #[must_use]
    pub(crate) fn with_notes(mut self, notes: BTreeMap<u32, [u8; 32]>) -> Self {
        self.notes = notes;
        self
    }

    /// Makes the stream continue an ended stream; `None` if that stream had another policy or profile.
    #[must_use]
    pub fn continuing(mut self, end: &Arc<EndState>) -> Option<Self> {
        let is_fit = end.fits(&self.initial_state(&StreamTask::default()), self.settings.profile.digest());
        self.predecessor = Some(Arc::clone(end));
        is_fit.then_some(self)
    }

    /// The final state of the stream that this one continues.
    pub(crate) const fn predecessor(&self) -> Option<&Arc<EndState>> {
        self.predecessor.as_ref()
    }

    /// The initial state of a stream that does not continue another one.
    pub(crate) fn initial_state(&self, task: &StreamTask) -> SemanticState {
        let intent = self.settings.profile.intent(task, |text| self.mapper().content_words(text));
        let subject = self.anchors.subject_of(&intent.text);
        let manifest = self.policy.package.manifest();
        let mut state = SemanticState::new(manifest, self.package_digest, self.image_digest, intent, self.context);
        state.memory.subject = subject;
        state
    }

    pub(crate) const fn anchors(&self) -> &AnchorSet {
        &self.anchors
    }

    /// The mode of streams with an engine.
    pub(crate) const fn driven_mode(&self) -> StreamMode {
        self.admission.mode()
    }

    /// The mode of a text that is judged in parts: `observed` in the replay of an `observed` stream, otherwise `held`.
    pub(crate) const fn given_mode(&self) -> StreamMode {
        match self.admission.mode() {
            StreamMode::Observed => StreamMode::Observed,
            _ => StreamMode::Held,
        }
    }

    pub(crate) fn admit(&self, stream: u64, task: &StreamTask) -> Admission {
        self.admission.admit(stream, task)
    }

    pub(crate) fn note_at(&self, sequence: u32) -> Option<[u8; 32]> {
        self.notes.get(&sequence).copied()
    }

    pub(crate) fn read(&self, text: String) -> ScannedText {
        self.mapper().read(text, self.granularity(false))
    }

    /// Reads consecutive candidates. The text before them comes twice: as the admitted text, and as all proposed text.
    /// `labels` are those of the admitted text before it.
    pub(crate) fn read_parts(
        &self,
        admitted: &str,
        proposed: &str,
        parts: &[&str],
        labels: &ReferenceLabels,
    ) -> ScannedText {
        self.mapper().read_parts(admitted, proposed, parts, labels, self.granularity(true))
    }

    pub(crate) fn granularity(&self, driven: bool) -> Granularity {
        self.settings.granularity.unwrap_or(if driven { Granularity::Step } else { Granularity::Span })
    }

    pub(crate) fn on_refuse(&self, driven: bool) -> OnRefuse {
        self.settings.on_refuse.unwrap_or(if driven { OnRefuse::Stop } else { OnRefuse::Skip })
    }

    pub(crate) const fn profile(&self) -> &AgentProfile {
        &self.settings.profile
    }

    pub(crate) const fn release(&self) -> ReleaseMode {
        self.settings.release
    }

    pub(crate) const fn max_proposals(&self) -> u32 {
        self.settings.max_proposals
    }

    #[must_use]
    pub const fn policy(&self) -> &Arc<GatePolicy> {
        &self.policy
    }

    /// Sets the behaviour after a refusal.
    #[must_use]
    pub const fn with_on_refuse(mut self, on_refuse: OnRefuse) -> Self {
        self.settings.on_refuse = Some(on_refuse);
        self
    }

    pub(crate) fn mapper(&self) -> &TextMapper {
        &self.policy.mapper
    }

    /// Which links a text may contain; `None`: a link is a citation.
    pub(crate) fn links(&self) -> Option<LinkPolicy> {
        self.policy.package.manifest().package.links
    }

    pub(crate) fn limits(&self) -> &GatedLoopLimits {
        &self.policy.package.manifest().limits
    }
}
