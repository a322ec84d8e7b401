//! Closes a connection so that the other side can read the last answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A connection that, after its last answer, reads what the other side still sends, for a limited time: input that is
/// never read would reset the connection, and the answer with it.
pub(crate) struct LingeringStream {
    stream: TcpStream,
    time: Duration,
    /// Runs from the end of the last answer.
    until: Option<Pin<Box<Sleep>>>,
}

impl LingeringStream {
    /// Reads for at most `time`; zero closes the connection at once.
    pub(crate) const fn new(stream: TcpStream, time: Duration) -> Self {
        Self { stream, time, until: None }
    }
}

impl AsyncRead for LingeringStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for LingeringStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, time, until } = &mut *self;
        if time.is_zero() {
            return Pin::new(stream).poll_shutdown(cx);
        }
        let until = match until {
            Some(until) => until,
            None => {
                ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
                until.insert(Box::pin(sleep(*time)))
            }
        };
        let mut unread = [0; 4096];
        loop {
            if until.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut unread);
            let read = ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
