//! The governor: one policy, one card session, many streams.

use crate::anchor::Anchors;
use crate::commitment::Salts;
use crate::entry::{Door, Engines, Entered};
use crate::event::Event;
use crate::source::Item;
use crate::stream::{Seat, Stream};
use portcullis_card::{Card, Session, SessionError};
use portcullis_core::context::{OnRefuse, Release};
use portcullis_core::manifest::Limits;
use portcullis_core::state::{Context, Profile, ProfileError, SemanticState, Task};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{Mapper, Text};
use portcullis_policy::{Compiled, Package};
use portcullis_prefilter::Prefilter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How texts are governed.
#[derive(Clone)]
pub struct Settings {
    /// Size of the candidates that a text is cut into; `None` cuts whole texts into spans and leaves an engine's candidates whole.
    pub granularity: Option<Granularity>,
    /// What a refusal does; `None` skips in recorded texts and stops in driven ones.
    pub on_refuse: Option<OnRefuse>,
    /// When admitted bytes leave.
    pub release: Release,
    /// Where salts come from.
    pub salts: Salts,
    /// Streams that are open at the same time, at least 1.
    pub streams: u16,
    /// Candidates that an engine is asked for in one stream, at most.
    pub max_proposals: u32,
    /// The agent's governed profile.
    pub profile: Profile,
}

impl Settings {
    /// Usual settings with these salts.
    #[must_use]
    pub fn new(salts: impl Into<Salts>) -> Self {
        Self {
            granularity: None,
            on_refuse: None,
            release: Release::Span,
            salts: salts.into(),
            streams: 64,
            max_proposals: 10_000,
            profile: Profile::default(),
        }
    }
}

/// A policy that is ready to govern.
pub struct Governor<'g> {
    pub(crate) package: &'g Package,
    pub(crate) compiled: &'g Compiled,
    pub(crate) mapper: &'g Mapper,
    pub(crate) salts: Salts,
    package_digest: [u8; 32],
    image_digest: [u8; 32],
    context: Context,
    settings: Settings,
    door: Door<'g>,
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
            door: Door::Shut,
            anchors: Anchors::none(mapper),
            notes: BTreeMap::new(),
        })
    }

    /// The same governor with engines for [`Item::Prompt`], behind the filter that judges each task first.
    #[must_use]
    pub fn with_engines(mut self, filter: Arc<Prefilter>, engines: Engines<'g>) -> Self {
        self.door = Door::Filtered(filter, engines);
        self
    }

    /// The same governor for streams whose answers are on record.
    #[must_use]
    pub(crate) fn with_door(mut self, door: Door<'g>) -> Self {
        self.door = door;
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

    /// Governs every item over one session. `sink` takes what happens, each stream's events in order and streams interleaved; the
    /// next items are taken only as slots become free. An engine that is slow holds up the other streams.
    ///
    /// # Errors
    /// The session's: the streams that were still open end with a report that says so, and nothing more of them is released. An error of
    /// `sink` ends the run.
    pub fn govern<C: Card, E: From<SessionError>>(
        &self,
        session: &mut Session<C>,
        items: impl IntoIterator<Item = Item>,
        sink: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        let free = (0..self.settings.streams.max(1)).rev().collect();
        self.seated(session, free, items.into_iter().zip((0..).map(|n| (n, n))), sink)
    }

    /// Governs one item in one seat.
    ///
    /// # Errors
    /// As [`Governor::govern`].
    pub fn govern_one<C: Card, E: From<SessionError>>(
        &self,
        session: &mut Session<C>,
        seat: Seat,
        item: Item,
        sink: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        self.seated(session, vec![seat.slot], [(item, (seat.number, seat.salted))], sink)
    }

    fn seated<C: Card, E: From<SessionError>>(
        &self,
        session: &mut Session<C>,
        mut free: Vec<u16>,
        items: impl IntoIterator<Item = (Item, (u64, u64))>,
        mut sink: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut items = items.into_iter().fuse();
        let mut open: BTreeMap<u16, Stream<'_>> = BTreeMap::new();
        loop {
            while let Some(slot) = free.pop() {
                let Some((item, (number, salted))) = items.next() else {
                    free.push(slot);
                    break;
                };
                open.insert(slot, Stream::new(self, item, Seat { number, salted, slot }));
            }
            if open.is_empty() {
                return Ok(());
            }
            let mut entries = Vec::new();
            for stream in open.values_mut() {
                if entries.len() >= session.room() {
                    break;
                }
                entries.extend(stream.next());
                stream.take_events().into_iter().try_for_each(&mut sink)?;
            }
            let submitted = if entries.is_empty() { Ok(0) } else { session.submit(&entries) };
            let answered = match submitted.and_then(|_| session.wait()) {
                Ok(answered) => answered,
                Err(error) => {
                    for stream in open.values_mut() {
                        stream.cut(&error);
                        stream.take_events().into_iter().try_for_each(&mut sink)?;
                    }
                    return Err(error.into());
                }
            };
            for completed in answered {
                let slot = completed.entry.slot.get();
                let Some(stream) = open.get_mut(&slot) else { continue };
                stream.answer(completed.outcome, completed.record.as_ref());
                stream.take_events().into_iter().try_for_each(&mut sink)?;
                if stream.is_done() {
                    open.remove(&slot);
                    free.push(slot);
                }
            }
        }
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

    pub(crate) fn enter(&self, stream: u64, task: &Task) -> Entered {
        self.door.enter(stream, task)
    }

    pub(crate) fn note_at(&self, sequence: u32) -> Option<[u8; 32]> {
        self.notes.get(&sequence).copied()
    }

    pub(crate) fn read(&self, before: &str, text: String, driven: bool) -> Text {
        self.mapper.read_after(before, text, self.granularity(driven))
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
