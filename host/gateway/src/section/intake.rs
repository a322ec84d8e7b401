//! The input side of a section.

use crate::observe::OwnedSectionInput;
use crate::reading::{ReadingFailed, reading};
use portcullis_gate::{HeldStreamPart, JudgedStreamHandle, PartReader, SessionClosed, SubmitError};
use portcullis_mapping::{NotUtf8, RepeatedKey};
use std::collections::VecDeque;

/// Why a text cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnfitText {
    #[error("a text that is not UTF-8, or that ends inside a character")]
    NotUtf8(#[from] NotUtf8),
    #[error(transparent)]
    RepeatedKey(#[from] RepeatedKey),
    #[error(transparent)]
    ReadingFailed(#[from] ReadingFailed),
}

/// Reads text into parts, and submits them to the session.
pub(super) struct TextIntake {
    /// `None` once the text is complete.
    reader: Option<PartReader>,
    /// Whether parts are submitted: all earlier sections of the choice have been sent.
    is_live: bool,
    /// Parts that are not submitted yet, because the session is full or the section is not live.
    waiting: VecDeque<HeldStreamPart>,
    /// Start offsets, in bytes of the text, of the pieces that the upstream sent; the upstream counts a piece as a
    /// token.
    pieces: Vec<usize>,
    /// Length of the text so far in bytes.
    given: usize,
}

impl TextIntake {
    /// An intake that accepts text if there is a reader.
    pub(super) const fn new(reader: Option<PartReader>) -> Self {
        Self { reader, is_live: false, waiting: VecDeque::new(), pieces: Vec::new(), given: 0 }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether a piece of text came.
    pub(super) const fn has_input(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Whether parts wait for room in the session.
    pub(super) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Length of the text so far in bytes.
    pub(super) const fn given(&self) -> usize {
        self.given
    }

    /// Number of bytes that wait for later text.
    pub(super) fn pending(&self) -> usize {
        self.reader.as_ref().map_or(0, PartReader::pending)
    }

    /// Number of pieces that begin before this offset.
    pub(super) fn pieces_before(&self, offset: usize) -> u64 {
        self.pieces.iter().filter(|begin| **begin < offset).count() as u64
    }

    /// Notes that a piece begins here.
    pub(super) fn begin_piece(&mut self) {
        self.pieces.push(self.given);
    }

    /// Reads the next text or call into parts, as a task of this owner.
    ///
    /// # Errors
    /// [`UnfitText`]: the text cannot be judged.
    pub(super) fn read(&mut self, owner: u64, given: OwnedSectionInput) -> Result<(), UnfitText> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        let bytes = given.bytes();
        self.given += bytes;
        // The reader is gone for good if its reading fails, so nothing more of this text can leave.
        let (reader, part) = reading(owner, bytes + reader.pending(), move || {
            let part = match &given {
                OwnedSectionInput::Text(text) => reader.text(text, None),
                OwnedSectionInput::Call(call) => reader.call(call, None).map(Some),
            };
            (reader, part)
        })?;
        self.reader = Some(reader);
        self.waiting.extend(part?);
        Ok(())
    }

    /// Ends the text. Returns whether it was open.
    ///
    /// # Errors
    /// [`UnfitText`]: the text cannot be judged.
    pub(super) fn finish(&mut self, owner: u64) -> Result<bool, UnfitText> {
        let Some(reader) = self.reader.take() else { return Ok(false) };
        self.waiting.push_back(reading(owner, reader.pending(), move || reader.finish())??);
        Ok(true)
    }

    /// Accepts no more text.
    pub(super) fn close(&mut self) {
        self.reader = None;
    }

    /// Aborts the stream, and drops what was not submitted.
    pub(super) fn abort(&mut self, stream: &JudgedStreamHandle, why: &str) {
        self.close();
        self.waiting.clear();
        stream.abort(why);
    }

    /// Starts to submit parts.
    pub(super) fn go(&mut self, stream: &JudgedStreamHandle) {
        self.is_live = true;
        self.submit(stream);
    }

    /// Stops submitting parts, because another section comes first.
    pub(super) const fn rest(&mut self) {
        self.is_live = false;
    }

    /// Submits parts, as many as the session has room for.
    pub(super) fn submit(&mut self, stream: &JudgedStreamHandle) {
        if !self.is_live {
            return;
        }
        while let Some(part) = self.waiting.pop_front() {
            match stream.try_submit(part) {
                Ok(()) => {}
                Err(SubmitError::Full(part)) => {
                    self.waiting.push_front(*part);
                    return;
                }
                Err(SubmitError::TooLong { .. }) => self.abort(stream, "a part is longer than the session takes"),
                // The stream's messages contain the reason why the stream is over.
                Err(SubmitError::Over | SubmitError::Closed(SessionClosed(_))) => self.waiting.clear(),
            }
        }
    }
}
