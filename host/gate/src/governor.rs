//! The governor: a policy with everything that judging a stream under it needs.

use crate::admission::{Admission, EngineAdmission, Engines, ReplayEngines};
use crate::anchor::Anchors;
use crate::salt::Salts;
use crate::settings::Settings;
use portcullis_core::context::{OnRefuse, Release};
use portcullis_core::manifest::Limits;
use portcullis_core::state::{Context, Profile, ProfileError, SemanticState, Task};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{Mapper, Text};
use portcullis_policy::{Compiled, Package};
use portcullis_prefilter::Prefilter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A policy that is ready to govern.
pub struct Governor<'g> {
    pub(crate) package: &'g Package,
    pub(crate) compiled: &'g Compiled,
    pub(crate) mapper: &'g Mapper,
    pub(crate) salts: Salts,
    package_digest: [u8; 32],
    image_digest: [u8; 32],
    context: Context,
    pub(crate) settings: Settings,
    admission: EngineAdmission<'g>,
    anchors: Anchors,
    notes: BTreeMap<u32, [u8; 32]>,
}

impl<'g> Governor<'g> {
    /// A governor for a compiled package and its mapper.
    ///
    /// # Errors
    /// [`ProfileError`]: the profile names a value that the policy does not declare.
    pub fn new(
        package: &'g Package,
        compiled: &'g Compiled,
        mapper: &'g Mapper,
        settings: Settings,
    ) -> Result<Self, ProfileError> {
        Ok(Self {
            package,
            compiled,
            mapper,
            salts: settings.salts.clone(),
            package_digest: package.digest(),
            image_digest: compiled.image.digest(),
            context: settings.profile.context(package.manifest())?,
            settings,
            admission: EngineAdmission::Closed,
            anchors: Anchors::none(mapper),
            notes: BTreeMap::new(),
        })
    }

    /// The same governor with engines for [`Item::Prompt`], behind the filter that judges each task first.
    #[must_use]
    pub fn with_engines(mut self, filter: Arc<Prefilter>, engines: Engines<'g>) -> Self {
        self.admission = EngineAdmission::Filter(filter, engines);
        self
    }

    /// The same governor for [`Item::Prompt`] whose engine the caller has; the filter judges each task first.
    ///
    /// [`Item::Prompt`]: crate::Item::Prompt
    #[must_use]
    pub fn with_filter(mut self, filter: Arc<Prefilter>) -> Self {
        self.admission = EngineAdmission::Caller(filter);
        self
    }

    /// The same governor for streams whose answers are on record.
    #[must_use]
    pub(crate) fn with_replay(mut self, engines: ReplayEngines<'g>) -> Self {
        self.admission = EngineAdmission::Replay(engines);
        self
    }

    /// The same governor with anchor stores.
    #[must_use]
    pub fn with_anchors(mut self, anchors: Anchors) -> Self {
        self.anchors = anchors;
        self
    }

    /// The same governor that has these digests noted in each stream, by the sequence that their NOTE stands at. A NOTE changes nothing
    /// but the sequences behind it.
    #[must_use]
    pub(crate) fn with_notes(mut self, notes: BTreeMap<u32, [u8; 32]>) -> Self {
        self.notes = notes;
        self
    }

    pub(crate) fn initial_state(&self, task: &Task) -> SemanticState {
        let intent = self.settings.profile.intent(task, |text| self.mapper.content_words(text));
        let subject = self.anchors.subject_of(&intent.text);
        let manifest = self.package.manifest();
        let mut state = SemanticState::new(manifest, self.package_digest, self.image_digest, intent, self.context);
        state.memory.subject = subject;
        state
    }

    pub(crate) const fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    pub(crate) fn admit(&self, stream: u64, task: &Task) -> Admission {
        self.admission.admit(stream, task)
    }

    pub(crate) fn note_at(&self, sequence: u32) -> Option<[u8; 32]> {
        self.notes.get(&sequence).copied()
    }

    /// Reads a whole text.
    pub(crate) fn read(&self, text: String) -> Text {
        self.mapper.read(text, self.granularity(false))
    }

    /// Reads candidates that follow each other, after admitted text and after what was proposed.
    pub(crate) fn read_parts(&self, admitted: &str, proposed: &str, parts: &[&str]) -> Text {
        self.mapper.read_parts(admitted, proposed, parts, self.granularity(true))
    }

    pub(crate) fn granularity(&self, driven: bool) -> Granularity {
        self.settings.granularity.unwrap_or(if driven { Granularity::Step } else { Granularity::Span })
    }

    pub(crate) fn on_refuse(&self, driven: bool) -> OnRefuse {
        self.settings.on_refuse.unwrap_or(if driven { OnRefuse::Stop } else { OnRefuse::Skip })
    }

    pub(crate) const fn profile(&self) -> &Profile {
        &self.settings.profile
    }

    pub(crate) const fn release(&self) -> Release {
        self.settings.release
    }

    pub(crate) const fn max_proposals(&self) -> u32 {
        self.settings.max_proposals
    }

    pub(crate) fn limits(&self) -> &'g Limits {
        &self.package.manifest().limits
    }
}
