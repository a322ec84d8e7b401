//! A text that arrives in chunks.

use crate::mapper::Mapper;
use crate::text::Text;
use portcullis_core::wire::Granularity;
use std::str;

/// Collects the chunks of one text. What it gives does not depend on where the chunks were cut, not even inside a character.
#[derive(Clone, Debug, Default)]
pub struct Segmenter {
    bytes: Vec<u8>,
}

impl Segmenter {
    /// Takes the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// The whole text, read.
    ///
    /// # Errors
    /// The bytes are not UTF-8: refused, never guessed.
    pub fn finish(self, mapper: &Mapper, granularity: Granularity) -> Result<Text, str::Utf8Error> {
        match String::from_utf8(self.bytes) {
            Ok(text) => Ok(mapper.read(text, granularity)),
            Err(error) => Err(error.utf8_error()),
        }
    }
}
