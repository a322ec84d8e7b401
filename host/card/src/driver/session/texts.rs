//! Presents the texts of entries to the card's text lane.

use super::Session;
use crate::card::Card;
use crate::driver::error::SessionError;

impl<C: Card> Session<C> {
    /// Whether this session uses the text lane: then every GATE and END needs its text in the window of its slot.
    pub const fn reads_texts(&self) -> bool {
        self.texts.is_some()
    }

    /// Writes the bytes of the next GATE or END of `slot` into its text window: those that its commitment hashes
    /// ([`portcullis_core::commitment::preimage`]). Errors: [`SessionError::InFlight`] while the slot has a GATE
    /// without an answer; [`SessionError::TextTooLong`]; a session without the text lane; the session's state.
    pub fn present_text(&mut self, slot: u16, preimage: &[u8]) -> Result<(), SessionError> {
        self.healthy()?;
        let texts = self.texts.as_ref().ok_or(SessionError::Missing("text lane"))?;
        if self.streams.is_held(slot) {
            return Err(SessionError::InFlight(slot));
        }
        texts.present(&mut self.card, slot, preimage)
    }

    /// As [`Session::present_text`], at any time, for hosts that cheat.
    #[cfg(feature = "test-hooks")]
    pub fn present_text_raw(&mut self, slot: u16, bytes: &[u8]) -> Result<(), SessionError> {
        let texts = self.texts.as_ref().ok_or(SessionError::Missing("text lane"))?;
        texts.present(&mut self.card, slot, bytes)
    }
}
