//! The ledger: written entries are read back, only a torn tail is removed, a failed write ends the run.

use crate::support;

use portcullis_gate::StreamEvent;
use portcullis_gate::ledger::{
    FsyncMode, LedgerError, LedgerHeader, LedgerReader, LedgerSink, LedgerTail, LedgerWriter, recover,
};
use proptest::prelude::*;
use std::io;
use std::path::Path;
use std::sync::Arc;
use support::*;

fn header() -> LedgerHeader {
    LedgerHeader::now("p 1.0.0".into(), "aa".into(), "bb".into(), [1, 2, 3], "model".into())
}

fn events() -> Vec<StreamEvent> {
    let items = vec![text("a", "Good. It is bad. Fine."), candidates("b", &[&["bad", "Well."]])];
    logged(govern(&package(""), settings(), items))
}

fn written(path: &Path) -> Vec<StreamEvent> {
    let events = events();
    let mut ledger = LedgerWriter::create(path, &header(), FsyncMode::Released).unwrap();
    events.iter().for_each(|e| ledger.append(e).unwrap());
    events
}

fn read(path: &Path) -> Result<(Vec<StreamEvent>, LedgerTail), LedgerError> {
    let mut reader = LedgerReader::open(path)?;
    let events = reader.by_ref().map(|e| e.map(|e| e.event)).collect::<Result<_, _>>()?;
    Ok((events, reader.tail()))
}

#[test]
fn what_was_written_is_read_back_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let events = written(&path);
    assert_eq!(read(&path).unwrap(), (events.clone(), LedgerTail::Whole));
    assert!(matches!(LedgerWriter::create(&path, &header(), FsyncMode::Never), Err(LedgerError::Write { .. })));
    let mut ledger = LedgerWriter::append_to(&path, &header(), FsyncMode::Always).unwrap();
    ledger.append(&events[0]).unwrap();
    assert_eq!(read(&path).unwrap().0.len(), events.len() + 1);
    let other = LedgerHeader { package_digest: "cc".into(), ..header() };
    assert!(matches!(LedgerWriter::append_to(&path, &other, FsyncMode::Never), Err(LedgerError::NoLedger { .. })));
}

#[test]
fn every_torn_tail_is_cut_off_and_every_whole_entry_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let events = written(&path);
    let bytes = std::fs::read(&path).unwrap();
    let mut before = usize::MAX;
    for length in (0..bytes.len()).rev() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        match recover(&path) {
            Err(LedgerError::NoLedger { .. }) => assert!(before == usize::MAX || before == 0, "{length}"),
            Err(other) => panic!("{length}: {other}"),
            Ok(_) => {
                let (kept, tail) = read(&path).unwrap();
                assert_eq!((&kept[..], tail), (&events[..kept.len()], LedgerTail::Whole), "{length}");
                assert!(kept.len() <= before);
                before = kept.len();
            }
        }
    }
    assert_eq!(before, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_flipped_bit_is_seen_or_cuts_the_tail(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let events = written(&path);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok((kept, tail)) = read(&path) {
            // A cut or changed file may be read as a file with an incomplete last write, but it never yields events
            // that were not written.
            prop_assert!(matches!(tail, LedgerTail::Torn(_)));
            prop_assert_eq!(&kept[..], &events[..kept.len()]);
        }
    }
}

/// A disk that becomes full after this number of bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LedgerSink for Full {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run_and_nothing_is_released_after_it() {
    let policy = package("");
    let total: usize = 6000;
    for room in (0..total).step_by(97) {
        let Ok(mut ledger) = LedgerWriter::start(Path::new("full"), Box::new(Full(room)), &header(), FsyncMode::Always)
        else {
            continue;
        };
        let card = portcullis_card::CardChoice::Model.open().unwrap();
        let config = portcullis_card::SessionConfig::default();
        let mut session = portcullis_card::CardSession::open(card, &policy.compiled.image, config).unwrap();
        let mut kept: Vec<StreamEvent> = Vec::new();
        let items = vec![text("a", "Good. Fine. Well. Better. Best.")];
        let result =
            Arc::new(governor(&policy, settings())).govern(&mut session, items, |event| -> Result<(), Failure> {
                ledger.append(&event).map_err(Failure::Ledger)?;
                kept.push(event);
                Ok(())
            });
        if let Err(Failure::Ledger(error)) = result {
            assert!(error.to_string().contains("nothing further is released"), "{error}");
            assert!(matches!(ledger.append(&events()[0]), Err(LedgerError::Poisoned { .. })), "{room}");
        }
    }
    let device = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let full = LedgerWriter::start(Path::new("/dev/full"), Box::new(device), &header(), FsyncMode::Never);
    assert!(matches!(full, Err(LedgerError::Write { .. })));
}

enum Failure {
    Ledger(LedgerError),
    Session,
}

impl From<portcullis_card::SessionError> for Failure {
    fn from(_: portcullis_card::SessionError) -> Self {
        Self::Session
    }
}
