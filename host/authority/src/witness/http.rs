//! Why a message over HTTP cannot be used, in the words that the witness and its client give.

use portcullis_http::client::ExchangeFault;
use portcullis_http::server::UnreadBody;
use std::io;

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

impl From<UnreadBody> for HttpError {
    fn from(unread: UnreadBody) -> Self {
        match unread {
            UnreadBody::Late => Self::Deadline,
            UnreadBody::Oversize => Self::Oversize,
            UnreadBody::Broken => Self::Closed,
        }
    }
}

impl From<ExchangeFault> for HttpError {
    fn from(fault: ExchangeFault) -> Self {
        match fault {
            ExchangeFault::Connect(error) | ExchangeFault::Connection(error) => Self::Io(error),
            ExchangeFault::Deadline => Self::Deadline,
            ExchangeFault::Oversize => Self::Oversize,
            ExchangeFault::Closed => Self::Closed,
            ExchangeFault::Malformed => Self::Malformed("is not one of HTTP/1.1"),
        }
    }
}
