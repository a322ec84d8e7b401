//! The session loop: many streams over one card session.

use crate::event::Event;
use crate::governor::Governor;
use crate::source::Item;
use crate::stream::{Seat, Stream};
use portcullis_card::{Card, Session, SessionError};
use std::collections::BTreeMap;

impl Governor<'_> {
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
}
