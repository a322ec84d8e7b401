//! Sends and receives whole messages, with the files that belong to them, over a UNIX socket; each message has a
//! deadline.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::message::{FILES_MAX, Header, PAYLOAD_MAX};

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("the peer closed the connection")]
    Closed,
    #[error("the peer closed the connection in the middle of a message")]
    Cut,
    #[error("the peer did not {what} within {} ms", within.as_millis())]
    Late { what: &'static str, within: Duration },
    #[error("the peer broke the protocol: {0}")]
    Protocol(&'static str),
    #[error("the socket failed: {0}")]
    Socket(#[from] std::io::Error),
}

#[derive(Debug)]
pub struct VfioUserMessage {
    pub header: Header,
    pub payload: Vec<u8>,
    /// The files that came with the message.
    pub files: Vec<OwnedFd>,
}

/// A connected socket.
#[derive(Debug)]
pub struct VfioUserChannel {
    socket: UnixStream,
    deadline: Duration,
}

impl VfioUserChannel {
    /// A channel with a time limit for each message from the peer.
    pub fn new(socket: UnixStream, deadline: Duration) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, deadline })
    }

    /// Sends one message; fills in `size` in the header. Errors: [`ChannelError::Late`], [`ChannelError::Cut`],
    /// [`ChannelError::Socket`].
    pub fn send(&mut self, header: Header, payload: &[&[u8]], files: &[BorrowedFd<'_>]) -> Result<(), ChannelError> {
        let size = Header::BYTES + payload.iter().map(|part| part.len()).sum::<usize>();
        let header = Header { size: u32::try_from(size).unwrap_or(u32::MAX).into(), ..header };
        let bytes = [&[header.as_bytes()], payload].concat().concat();
        let until = Instant::now() + self.deadline;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(ChannelError::Protocol("more files than a message takes"));
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match sendmsg(&self.socket, &[IoSlice::new(rest)], &mut control, SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    rest = rest.get(sent..).unwrap_or_default();
                    // Files are sent together with the first byte only.
                    control.clear();
                }
                Err(Errno::AGAIN) => self.await_until(PollFlags::OUT, until, "take a message")?,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ChannelError::Cut),
                Err(error) => return Err(ChannelError::Socket(error.into())),
            }
        }
        Ok(())
    }

    /// Receives one complete message within the deadline. After a [`ChannelError`], the stream is unusable.
    pub fn receive(&mut self) -> Result<VfioUserMessage, ChannelError> {
        let until = Instant::now() + self.deadline;
        let mut files = Vec::new();
        let mut bytes = [0; Header::BYTES];
        self.fill(&mut bytes, &mut files, until, true)?;
        let header = Header::read_from_bytes(&bytes).unwrap_or_default();
        let size = header.size.get() as usize;
        let rest =
            size.checked_sub(Header::BYTES).ok_or(ChannelError::Protocol("a message shorter than its header"))?;
        if rest > PAYLOAD_MAX {
            return Err(ChannelError::Protocol("a message longer than was agreed"));
        }
        let mut payload = vec![0; rest];
        self.fill(&mut payload, &mut files, until, false)?;
        Ok(VfioUserMessage { header, payload, files })
    }

    fn fill(
        &mut self,
        into: &mut [u8],
        files: &mut Vec<OwnedFd>,
        until: Instant,
        first: bool,
    ) -> Result<(), ChannelError> {
        let mut have = 0;
        while have < into.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let part = into.get_mut(have..).unwrap_or_default();
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            match recvmsg(&self.socket, &mut [IoSliceMut::new(part)], &mut control, flags) {
                Ok(received) => {
                    for message in control.drain() {
                        if let RecvAncillaryMessage::ScmRights(sent) = message {
                            files.extend(sent);
                        }
                    }
                    if received.flags.contains(ReturnFlags::CTRUNC) || files.len() > FILES_MAX {
                        return Err(ChannelError::Protocol("more files than a message takes"));
                    }
                    if received.bytes == 0 {
                        return Err(if first && have == 0 { ChannelError::Closed } else { ChannelError::Cut });
                    }
                    have += received.bytes;
                }
                Err(Errno::AGAIN) => self.await_until(PollFlags::IN, until, "answer")?,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Err(ChannelError::Cut),
                Err(error) => return Err(ChannelError::Socket(error.into())),
            }
        }
        Ok(())
    }

    fn await_until(&self, what: PollFlags, until: Instant, name: &'static str) -> Result<(), ChannelError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ChannelError::Late { what: name, within: self.deadline });
        }
        let left = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&self.socket, what)], left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(ChannelError::Socket(error.into())),
        }
    }
}

impl AsFd for VfioUserChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
