//! The reasons why a session cannot be recorded.

use portcullis_authority::ca::CaError;
use portcullis_authority::tickets::IssueError;
use portcullis_authority::witness::client::WitnessClientError as WitnessError;
use portcullis_card::SessionError;
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{BundleError, FinishError};
use portcullis_evidence::note::NoteError;
use portcullis_evidence::ticket::TicketError;
use portcullis_issuer::client::IssuerClientError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    #[error(transparent)]
    Card(#[from] SessionError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error("cannot write the log: {0}")]
    Log(#[from] std::io::Error),
    #[error("cannot read the {what} `{}`", path.display())]
    Read {
        /// The kind of file.
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// The key for sealing texts is invalid.
    #[error(transparent)]
    SealingKey(#[from] portcullis_sealed::SealKeyError),
    /// The file for sealed texts cannot be created.
    #[error("cannot make the file of sealed texts `{}`: {source}", path.display())]
    Sealed {
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The ticket is malformed.
    #[error("the ticket: {0}")]
    Ticket(#[from] TicketError),
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// A running issuer gave no ticket.
    #[error(transparent)]
    Issuer(#[from] IssuerClientError),
    /// The wait for a ticket was ended by whoever asked for it.
    #[error("the wait for a ticket was ended")]
    Ended,
    /// The ticket's end is too near, or the clocks of this machine and of the issuer differ.
    #[error(
        "ticket {serial} ends in {left} s, and this session needs more than {needed} s: remove `{}`, and have its issuer \
         give it up with `portcullis ticket abandon --serial {serial}`; then ask for tickets of more hours, or compare the \
         clocks of both machines", path.display()
    )]
    TicketEnds { path: PathBuf, serial: u64, left: u64, needed: u64 },
    #[error(transparent)]
    Witness(#[from] WitnessError),
    #[error("the number of the request for a ticket, `{}`: {source}", path.display())]
    Request { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Certificate(#[from] CaError),
    #[error(transparent)]
    WitnessKey(#[from] NoteError),
    #[error("`{}` is not an approval", .0.display())]
    NoApproval(PathBuf),
    /// The ticket permits only certain profiles; the session's profile, with this digest, is not among them.
    #[error(
        "the ticket permits other profiles than that of this session, whose digest is {0}; give a permitted one with `--profile`, or ask \
         the issuer for a ticket that permits this one"
    )]
    Profile(HexBytes<32>),
    #[error("{0}")]
    Unfit(&'static str),
    #[error("the disk of `{}` has no room for a session: {bytes} bytes must be free for its end", folder.display())]
    NoRoom { folder: PathBuf, bytes: u64, source: BundleError },
    #[error("the disk of `{}` is full: the session ends here. Its bundle holds what was recorded by now", .0.display())]
    Full(PathBuf),
    #[error(transparent)]
    Finish(#[from] FinishError),
    #[error("{0}")]
    Event(String),
    #[error("what a stream was given: {0}")]
    Json(#[from] serde_json::Error),
}
