//! Reader of server-sent events (WHATWG HTML, section 9.2) with size limits.

/// One event: its name, if any, and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; empty if absent.
    pub name: String,
    /// The `data` fields, joined by line feeds.
    pub data: String,
}

/// Why bytes are not a valid stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event of more than {0} bytes")]
    TooLong(usize),
    #[error("a line that is not UTF-8")]
    NotUtf8,
}

/// Reads events from chunks of bytes. The events do not depend on how the bytes are cut into chunks.
///
/// Lines end with LF, CR LF or CR. A byte-order mark at the start, comments, and fields other than `event` and `data`
/// are skipped. An event is complete only after its blank line, so an incomplete event at the end is dropped.
#[derive(Debug)]
pub struct SseReader {
    most: usize,
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    /// The last byte was CR; a LF that follows belongs to the same line end.
    after_cr: bool,
    /// No line has ended yet, so the line can start with a byte-order mark.
    first: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl SseReader {
    /// A reader with a limit of `most` bytes per event.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { most, line: Vec::new(), name: String::new(), data: None, after_cr: false, first: true }
    }

    /// Adds bytes, and returns the events that they complete.
    ///
    /// # Errors
    /// [`SseError`]; the reader must not be used after it.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()?),
                _ => {
                    self.line.push(byte);
                    if self.line.len() + self.data.as_ref().map_or(0, String::len) > self.most {
                        return Err(SseError::TooLong(self.most));
                    }
                }
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let line = match std::mem::take(&mut self.first) {
            true => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line),
            false => &line,
        };
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| SseEvent { name, data }));
        }
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], chunk: usize) -> Result<Vec<SseEvent>, SseError> {
        let mut reader = SseReader::new(64);
        let read = bytes.chunks(chunk).map(|chunk| reader.push(chunk)).collect::<Result<Vec<_>, _>>()?;
        Ok(read.concat())
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into() }
    }

    #[test]
    fn every_cut_of_every_form_gives_the_same_events() {
        let body = "\u{feff}: hello\nid: 7\nretry: 3\n\ndata:{\"a\":\"é\"}\r\n\r\nevent: x\rdata: 1\rdata:  2\r\rdata\n\n\
                    event: without data\n\ndata: [DONE]\n\ndata: half";
        let expected = vec![event("", "{\"a\":\"é\"}"), event("x", "1\n 2"), event("", ""), event("", "[DONE]")];
        for chunk in 1..body.len() {
            assert_eq!(read(body.as_bytes(), chunk), Ok(expected.clone()), "in chunks of {chunk}");
        }
    }

    #[test]
    fn what_is_endless_or_not_text_is_refused() {
        assert_eq!(read(&[b'a'; 65], 7), Err(SseError::TooLong(64)));
        assert_eq!(read("data: 0123456789\n".repeat(9).as_bytes(), 5), Err(SseError::TooLong(64)));
        assert_eq!(read(b"data: \xff\n\n", 3), Err(SseError::NotUtf8));
        // A byte-order mark after the start is part of a field's name.
        assert_eq!(read("\n\u{feff}data: 1\n\n".as_bytes(), 4), Ok(vec![]));
    }
}
