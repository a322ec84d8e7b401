//! The governor: one policy, one card session, many streams.

use crate::commitment::SaltKey;
use crate::context::Mode;
use crate::source::Item;
use crate::stream::{Finished, Stream};
use portcullis_card::{Card, Session, SessionError};
use portcullis_core::manifest::Manifest;
use portcullis_core::state::{Context, Profile, ProfileError, SemanticState, Task};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{Mapper, Text};
use portcullis_policy::{Compiled, Package};
use std::collections::BTreeMap;

/// What a stream does when nothing admissible is left at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefuse {
    /// Leaves the refused span out and goes on with unchanged state.
    Skip,
    /// Ends the stream: safe non-execution.
    Stop,
}

/// How texts are governed.
#[derive(Clone)]
pub struct Settings {
    /// Size of the candidates of whole texts; a listed candidate is one step.
    pub granularity: Granularity,
    /// What a refusal does; `None` skips in recorded texts and stops in driven ones.
    pub on_refuse: Option<OnRefuse>,
    /// Key of the salts.
    pub salt: SaltKey,
    /// Streams that are open at the same time, at least 1.
    pub streams: u16,
    /// The agent's governed profile.
    pub profile: Profile,
}

/// A policy that is ready to govern.
pub struct Governor<'g> {
    pub(crate) compiled: &'g Compiled,
    pub(crate) mapper: &'g Mapper,
    pub(crate) salt: SaltKey,
    manifest: &'g Manifest,
    package_digest: [u8; 32],
    image_digest: [u8; 32],
    context: Context,
    settings: Settings,
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
            compiled,
            mapper,
            salt: settings.salt.clone(),
            manifest: package.manifest(),
            package_digest: package.digest(),
            image_digest: compiled.image.digest(),
            context: settings.profile.context(package.manifest())?,
            settings,
        })
    }

    /// Governs every item over one session. Finished streams are given out in the order of the items, and the next items are
    /// taken only as slots become free.
    ///
    /// # Errors
    /// The session's: nothing of the streams that were still open is given out then. An error of `done` ends the run.
    pub fn govern<C: Card, E: From<SessionError>>(
        &self,
        session: &mut Session<C>,
        items: impl IntoIterator<Item = Item>,
        mut done: impl FnMut(Finished) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut items = items.into_iter().zip(0u64..).fuse();
        let mut free: Vec<u16> = (0..self.settings.streams.max(1)).rev().collect();
        let mut open: BTreeMap<u16, (u64, Stream<'_>)> = BTreeMap::new();
        let mut finished: BTreeMap<u64, Finished> = BTreeMap::new();
        let mut next_out = 0;
        loop {
            while let Some(slot) = free.pop() {
                let Some((item, number)) = items.next() else {
                    free.push(slot);
                    break;
                };
                open.insert(slot, (number, Stream::new(self, item, number, slot)));
            }
            if open.is_empty() {
                return Ok(());
            }
            let entries: Vec<_> =
                open.values_mut().filter_map(|(_, stream)| stream.next()).take(session.room()).collect();
            if !entries.is_empty() {
                session.submit(&entries)?;
            }
            for completed in session.wait()? {
                let slot = completed.entry.slot.get();
                let Some((_, stream)) = open.get_mut(&slot) else { continue };
                stream.answer(completed.outcome);
                if stream.is_done()
                    && let Some((number, stream)) = open.remove(&slot)
                {
                    finished.insert(number, stream.finish());
                    free.push(slot);
                }
            }
            while let Some(stream) = finished.remove(&next_out) {
                next_out += 1;
                done(stream)?;
            }
        }
    }

    pub(crate) fn initial_state(&self, task: &Task) -> SemanticState {
        let intent = self.settings.profile.intent(task, |text| self.mapper.content_words(text));
        SemanticState::new(self.manifest, self.package_digest, self.image_digest, intent, self.context)
    }

    pub(crate) fn read(&self, text: String, mode: Mode) -> Text {
        self.mapper.read(text, self.granularity(mode))
    }

    pub(crate) const fn granularity(&self, mode: Mode) -> Granularity {
        match mode {
            Mode::Recorded => self.settings.granularity,
            Mode::Driven => Granularity::Step,
        }
    }

    pub(crate) fn on_refuse(&self, mode: Mode) -> OnRefuse {
        self.settings.on_refuse.unwrap_or(match mode {
            Mode::Recorded => OnRefuse::Skip,
            Mode::Driven => OnRefuse::Stop,
        })
    }

    pub(crate) const fn max_depth(&self) -> u8 {
        self.manifest.limits.max_depth
    }

    pub(crate) const fn alternatives(&self) -> u8 {
        self.manifest.limits.alternatives
    }
}
