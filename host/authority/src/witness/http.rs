//! The part of HTTP/1.1 (RFC 9112) that one exchange per connection needs. Everything else is refused.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Largest head in bytes, from the first line to the empty line.
const MAX_HEAD: usize = 8 * 1024;
/// Largest number of header fields.
const MAX_FIELDS: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("the connection: {0}")]
    Io(#[from] io::Error),
    #[error("the time for the message is over")]
    Deadline,
    #[error("the connection was closed within the message")]
    Closed,
    #[error("the message {0}")]
    Malformed(&'static str),
    #[error("the message is too long")]
    Oversize,
}

/// A connection with a deadline for the whole exchange, even if the other side sends one byte at a time.
pub(super) struct DeadlineStream {
    stream: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    pub(super) fn new(stream: TcpStream, time: Duration) -> Self {
        Self { stream, until: Instant::now() + time }
    }

    /// Extends the deadline to at least `time` from now.
    pub(super) fn allow(&mut self, time: Duration) {
        self.until = self.until.max(Instant::now() + time);
    }

    /// Closes the connection so that the other side can read the answer: unread input would reset the connection.
    pub(super) fn finish(mut self) {
        let mut unread = [0; 4096];
        if self.stream.shutdown(Shutdown::Write).is_ok() {
            while self.read(&mut unread).is_ok() {}
        }
    }

    fn left(&self) -> Result<Option<Duration>, HttpError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(HttpError::Deadline) } else { Ok(Some(left)) }
    }

    /// Reads at least one byte.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, HttpError> {
        loop {
            self.stream.set_read_timeout(self.left()?)?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(HttpError::Closed),
                Ok(count) => return Ok(count),
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), HttpError> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(self.left()?)?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(HttpError::Closed),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) first: String,
    pub(super) body: Vec<u8>,
}

/// Reads one message. Its head states the length of the body, at most `max_body` bytes.
pub(super) fn read_message(from: &mut DeadlineStream, max_body: usize) -> Result<Message, HttpError> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > MAX_HEAD {
            return Err(HttpError::Oversize);
        }
        let count = from.read(&mut buffer)?;
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
    };
    let mut body = bytes.split_off(end + 4);
    let (first, length) = read_head(bytes.get(..end).unwrap_or_default())?;
    if length > max_body {
        return Err(HttpError::Oversize);
    }
    while body.len() < length {
        let count = from.read(&mut buffer)?;
        body.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
    if body.len() > length {
        return Err(HttpError::Malformed("goes on after its body"));
    }
    Ok(Message { first, body })
}

/// The first line of a message's head, and the length of its body in bytes. Errors: [`HttpError`]: `Malformed`,
/// `Oversize`.
pub fn read_head(head: &[u8]) -> Result<(String, usize), HttpError> {
    if head.len() > MAX_HEAD {
        return Err(HttpError::Oversize);
    }
    let text = std::str::from_utf8(head).map_err(|_| HttpError::Malformed("has a head that is not text"))?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    if first.contains(char::is_control) {
        return Err(HttpError::Malformed("has a control character in its first line"));
    }
    let mut length = None;
    for (number, line) in lines.enumerate() {
        let (name, value) = line.split_once(':').ok_or(HttpError::Malformed("has a header without a colon"))?;
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if number >= MAX_FIELDS || name.is_empty() || !name.bytes().all(token) || value.contains(['\r', '\n', '\0']) {
            return Err(HttpError::Malformed("has a broken header"));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(HttpError::Malformed("has a transfer encoding"));
        }
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim_matches([' ', '\t']);
            let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let value = value.parse().ok().filter(|_| digits).ok_or(HttpError::Malformed("has a broken length"))?;
            if length.replace(value).is_some() {
                return Err(HttpError::Malformed("has two lengths"));
            }
        }
    }
    Ok((first.to_owned(), length.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let read = |text: &str| read_head(text.as_bytes());
        assert_eq!(read("GET / HTTP/1.1").unwrap(), ("GET / HTTP/1.1".to_owned(), 0));
        assert_eq!(read("POST /x HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:\t 12 ").unwrap().1, 12);
        for wrong in [
            "GET /\0 HTTP/1.1",
            "GET /\nX: y",
            "GET / HTTP/1.1\r\nno colon",
            "GET / HTTP/1.1\r\n: empty",
            "GET / HTTP/1.1\r\n folded: x",
            "GET / HTTP/1.1\r\nspace : x",
            "GET / HTTP/1.1\r\nx: a\nb",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1",
            "GET / HTTP/1.1\r\nContent-Length: +1",
            "GET / HTTP/1.1\r\nContent-Length:",
            "GET / HTTP/1.1\r\nContent-Length: 1,1",
            "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked",
        ] {
            assert!(matches!(read(wrong), Err(HttpError::Malformed(_))), "{wrong:?}");
        }
        let many = format!("GET / HTTP/1.1{}", "\r\nx: y".repeat(MAX_FIELDS + 1));
        assert!(read(&many).is_err());
        assert!(matches!(read(&"a".repeat(MAX_HEAD + 1)), Err(HttpError::Oversize)));
    }
}
