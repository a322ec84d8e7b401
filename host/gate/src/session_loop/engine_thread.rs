//! An engine in its own thread.

use super::handle::JudgedStreamHandle;
use super::mailbox::StreamMessage;
use crate::engine::CandidateEngine;
use std::sync::Arc;

/// Starts a thread in which `engine` answers the stream's requests. The thread ends with the stream, except when the
/// engine never returns from a call: then the thread is abandoned.
pub(super) fn spawn(mut engine: Box<dyn CandidateEngine>, stream: JudgedStreamHandle) {
    let mailbox = Arc::clone(&stream.mailbox);
    let serve = move || {
        while let Some(message) = stream.receive() {
            match message {
                StreamMessage::Event(_) => {}
                StreamMessage::Move(step) => engine.make(step),
                StreamMessage::Propose(request) => stream.answer(request.ask(&mut *engine)),
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name("engine".into()).spawn(serve) {
        mailbox.set_gone(format!("no thread for it: {error}"));
    }
}
