//! Posts checkpoints to a witness, and checks the answers.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use portcullis_evidence::certificate::key_id;
use portcullis_evidence::checkpoint::CoseCheckpoint;
use portcullis_evidence::note::{self, NoteError, WitnessKey, WitnessedCheckpoint};
use portcullis_evidence::ticket::{ChainId, SessionTicket};
use portcullis_http::client::{BoundedClient, ExchangeFault, ExchangeLimits, HttpAnswer, TrustedRoots};

use super::CheckpointPost;
use super::http::HttpError;

/// Largest number of characters that an error message quotes from an answer: a wrong server may send a whole page.
const REASON_CHARS: usize = 200;
/// Pause before another attempt to reach a witness.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum WitnessClientError {
    #[error("no connection to the witness at {0}: {1}")]
    Connect(SocketAddr, io::Error),
    #[error("the witness at {0}: {1}")]
    Http(SocketAddr, HttpError),
    #[error("the witness answers {status}: {reason}{}", hint(*status))]
    Refused {
        /// HTTP status; module `server` lists the values.
        status: u16,
        /// The witness's message, without control characters.
        reason: String,
    },
    #[error("the witness's note: {0}")]
    Note(#[from] NoteError),
    #[error("the witness's note is not of the checkpoint that was posted")]
    Other,
}

impl WitnessClientError {
    /// Whether another attempt can succeed: the witness may be restarting, perhaps behind a server that says so, or has
    /// too many connections.
    const fn may_pass(&self) -> bool {
        match self {
            Self::Connect(..) | Self::Http(_, HttpError::Io(_) | HttpError::Closed | HttpError::Deadline) => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 502..=504),
            Self::Http(..) | Self::Note(_) | Self::Other => false,
        }
    }
}

/// A possible cause of a status, in addition to the witness's message.
const fn hint(status: u16) -> &'static str {
    match status {
        404 => " (is the server at this address a witness, and does it know the ticket's issuer?)",
        _ => "",
    }
}

/// A witness's answer to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessReply {
    /// The note, in the form in which a bundle stores it.
    pub note: String,
    /// The content of the note; it includes the nonce of the next heartbeat.
    pub cosigned: WitnessedCheckpoint,
}

/// A client of one witness.
#[derive(Clone, Debug)]
pub struct WitnessClient {
    address: SocketAddr,
    witness: WitnessKey,
    time: Duration,
    http: BoundedClient,
}

impl WitnessClient {
    /// A client of the witness at `address` with key `witness`. It tries to reach the witness for at most `time`; an
    /// exchange takes at most `time` more.
    #[must_use]
    pub fn new(address: SocketAddr, witness: WitnessKey, time: Duration) -> Self {
        let limits = ExchangeLimits { time, answer_bytes: note::MAX_BYTES as u64 };
        Self { address, witness, time, http: BoundedClient::direct(limits, TrustedRoots::mozilla()) }
    }

    /// Posts a checkpoint. The same checkpoint may be posted again, so a post is repeated while the witness cannot be
    /// reached or says that it is busy: it may be restarting. Errors: no answer in time, a refusal, or an answer that
    /// is not this witness's note on this checkpoint.
    pub fn post(&self, post: &CheckpointPost) -> Result<WitnessReply, WitnessClientError> {
        let end = Instant::now() + self.time;
        let mut result = self.post_once(post);
        while matches!(&result, Err(error) if error.may_pass()) && Instant::now() + PAUSE < end {
            std::thread::sleep(PAUSE);
            match self.post_once(post) {
                // The first error says most: later, the server may be gone.
                Err(error) if error.may_pass() => {}
                other => result = other,
            }
        }
        result
    }

    /// Checks that something listens at the witness's address, as often as [`WitnessClient::post`] would try. Errors:
    /// no connection in time.
    pub fn reach(&self) -> Result<(), WitnessClientError> {
        let end = Instant::now() + self.time;
        loop {
            match TcpStream::connect_timeout(&self.address, self.time) {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() + PAUSE >= end => {
                    return Err(WitnessClientError::Connect(self.address, error));
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn post_once(&self, post: &CheckpointPost) -> Result<WitnessReply, WitnessClientError> {
        let url = format!("http://{}/add-checkpoint", self.address);
        let answered = self.http.post(&url, &[("connection", "close")], &post.to_body());
        let HttpAnswer { status, body } = answered.map_err(|error| match error.into_fault() {
            ExchangeFault::Connect(error) => WitnessClientError::Connect(self.address, error),
            fault => WitnessClientError::Http(self.address, fault.into()),
        })?;
        let not_text = |_| WitnessClientError::Http(self.address, HttpError::Malformed("is not text"));
        let text = String::from_utf8(body).map_err(not_text)?;
        if status == 200 {
            return self.check(post, text);
        }
        let reason: String = text.chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect();
        Err(WitnessClientError::Refused { status, reason })
    }

    fn check(&self, post: &CheckpointPost, note: String) -> Result<WitnessReply, WitnessClientError> {
        let cosigned = note::verify(note.as_bytes(), std::slice::from_ref(&self.witness))?;
        let ticket = SessionTicket::parse(&post.ticket).map_err(|_| WitnessClientError::Other)?;
        let posted = CoseCheckpoint::parse(&post.checkpoint).map_err(|_| WitnessClientError::Other)?.checkpoint;
        let chain = ChainId { key: key_id(&post.public_key), seat: ticket.content.seat };
        let expected = (chain, ticket.content.serial, posted.wire.serial.get(), posted.digest());
        if expected != (cosigned.chain, cosigned.ticket, cosigned.serial, cosigned.checkpoint) {
            return Err(WitnessClientError::Other);
        }
        Ok(WitnessReply { note, cosigned })
    }
}
