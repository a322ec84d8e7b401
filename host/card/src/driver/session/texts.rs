//! Presents the texts of entries to the card's text lane.

use super::CardSession;
use crate::card::CardTransport;
use crate::driver::error::SessionError;

impl<C: CardTransport> CardSession<C> {
    /// Whether this session uses the text lane. If so, every GATE and END needs its text in the window of its slot.
    pub const fn reads_texts(&self) -> bool {
        self.texts.is_some()
    }

    /// Writes the bytes under the commitment of the slot's next GATE or END into the slot's text window (see
    /// [`portcullis_core::commitment::preimage`]). Errors: [`SessionError::InFlight`] while the slot has a GATE without
    /// an answer; [`SessionError::TextTooLong`]; the session does not use the text lane, or has failed.
    pub fn present_text(&mut self, slot: u16, preimage: &[u8]) -> Result<(), SessionError> {
        self.healthy()?;
        let texts = self.texts.as_ref().ok_or(SessionError::Missing("text lane"))?;
        if self.streams.is_held(slot) {
            return Err(SessionError::InFlight(slot));
        }
        texts.present(&mut self.card, slot, preimage)
    }

    /// As [`CardSession::present_text`], but without checks of the state, so that tests can act as a host that cheats.
    #[cfg(feature = "test-hooks")]
    pub fn present_text_raw(&mut self, slot: u16, bytes: &[u8]) -> Result<(), SessionError> {
        let texts = self.texts.as_ref().ok_or(SessionError::Missing("text lane"))?;
        texts.present(&mut self.card, slot, bytes)
    }
}
