//! Other inputs of the gate: from engines, clients and stores, and its own files, which someone may have changed.

use portcullis_gate::ContextDocument;
use portcullis_gate::anchor::AnchorStore;
use portcullis_gate::engine::{ModelServerProtocol, proposal};
use portcullis_gate::ledger::LedgerReader;
use portcullis_gate::remote::{ToClient, ToGate, receive, send};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

thread_local! {
    // All runs use the same file; a file is needed because the parsers take paths.
    static FILE: std::cell::RefCell<tempfile::NamedTempFile> = std::cell::RefCell::new(tempfile::NamedTempFile::new().unwrap());
}

fn in_a_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    FILE.with_borrow_mut(|file| {
        file.as_file().set_len(0).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(bytes).unwrap();
        read(file.path())
    })
}

/// Parses an anchor store; returns whether it was accepted. Parsing its canonical form must give an equal store.
pub(super) fn anchors(bytes: &[u8]) -> bool {
    let Ok(store) = in_a_file(bytes, AnchorStore::open) else { return false };
    let canonical = store.contents().json_lines();
    let again = in_a_file(&canonical, AnchorStore::open).unwrap();
    assert_eq!((again.contents(), again.digest()), (store.contents(), store.digest()));
    assert_eq!(again.contents().json_lines(), canonical);
    true
}

/// Parses an engine's answer in both protocols, as first and as later candidate; returns whether one was accepted.
pub(super) fn completion(bytes: &[u8]) -> bool {
    let read = |protocol| (0..2).any(|attempt| proposal(protocol, bytes, attempt, " ").is_ok());
    [ModelServerProtocol::OpenAi, ModelServerProtocol::Llama].map(read).contains(&true)
}

pub(super) fn context(bytes: &[u8]) -> bool {
    let Ok(document) = serde_json::from_slice::<ContextDocument>(bytes) else { return false };
    assert_eq!(serde_json::from_slice::<ContextDocument>(&document.bytes()).unwrap(), document);
    true
}

/// Parses frames from the client and from the gate, up to the first invalid frame. True if any frame is accepted.
pub(super) fn frame(bytes: &[u8]) -> bool {
    frames::<ToGate>(bytes) | frames::<ToClient>(bytes)
}

fn frames<T: Serialize + DeserializeOwned>(mut rest: &[u8]) -> bool {
    let mut read = false;
    while let Ok(Some(message)) = receive::<T>(&mut rest) {
        let mut written = Vec::new();
        send(&mut written, &message).unwrap();
        let again: T = receive(&mut &*written).unwrap().unwrap();
        assert_eq!(serde_json::to_vec(&again).unwrap(), serde_json::to_vec(&message).unwrap());
        read = true;
    }
    read
}

pub(super) fn ledger(bytes: &[u8]) -> bool {
    in_a_file(bytes, |path| {
        let Ok(mut reader) = LedgerReader::open(path) else { return false };
        let mut failed = false;
        for entry in reader.by_ref() {
            assert!(!failed, "an entry after an error");
            failed = entry.is_err();
        }
        assert!(reader.next().is_none());
        true
    })
}
