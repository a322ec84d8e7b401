//! A card that dies or faults during work: entries in flight are refused, the streams end with a report, and nothing
//! more is released.

use crate::support;

use portcullis_card::transport::model::ModelCard;
use portcullis_card::{
    CardError, CardSession, CardTransport, DmaBuffer, SessionConfig, SessionError, WatchedByte, forward_card,
};
use portcullis_core::wire::Fault;
use portcullis_gate::{StreamEvent, StreamEventKind, TerminationTrigger};
use std::sync::Arc;
use support::*;

/// A card that is lost after this number of submissions to an open session.
struct Mortal {
    card: ModelCard,
    left: Option<u32>,
}

impl Mortal {
    fn alive(&self) -> Result<(), CardError> {
        if self.left == Some(0) { Err(CardError::Gone(0)) } else { Ok(()) }
    }
}

impl CardTransport for Mortal {
    forward_card!(card: describe, allocate, release, quantum, patience);

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        self.alive()?;
        self.card.read32(address)
    }
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.alive()?;
        self.card.write32(address, value)
    }
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.alive()?;
        self.card.dma_read(buffer, offset, into)
    }
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
        self.card.dma_write(buffer, offset, from)
    }
    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        self.alive()?;
        self.card.wait(watch)
    }
}

/// The events of four streams when the card is lost after this number of submissions.
fn governed(submissions: u32) -> (Vec<StreamEvent>, SessionError) {
    let policy = package("");
    let governor = Arc::new(governor(&policy, settings()));
    let card = Mortal { card: ModelCard::new(), left: None };
    let mut session = CardSession::open(card, &policy.compiled.image, SessionConfig::default()).unwrap();
    session.card_mut().left = Some(submissions);
    let items = (0..4).map(|n| text(&format!("t{n}"), "Good one. Good two. Good three. Good four."));
    let mut events = Vec::new();
    let error = governor
        .govern(&mut session, items.collect::<Vec<_>>(), |event| -> Result<(), SessionError> {
            events.push(event);
            Ok(())
        })
        .unwrap_err();
    (events, error)
}

fn assert_ended(events: &[StreamEvent], fault: Fault, said: &str) {
    for stream in 0..4 {
        let own: Vec<_> = events.iter().filter(|event| event.stream == stream).collect();
        let StreamEventKind::Ended { summary, closing, .. } = &own.last().unwrap().what else { panic!("{own:?}") };
        assert_eq!(own.iter().filter(|e| matches!(e.what, StreamEventKind::Ended { .. })).count(), 1);
        assert!(closing.is_none());
        let termination = summary.termination.as_ref().unwrap();
        assert_eq!(termination.trigger, TerminationTrigger::Fault);
        assert!(termination.detail.contains(said), "{termination:?}");
        // The span that was waiting for the card has a fault as its answer.
        let last = own.iter().rev().find_map(|event| match &event.what {
            StreamEventKind::Determined(judged) => Some(judged),
            _ => None,
        });
        let last = last.unwrap();
        assert_eq!(last.determination.fault, Some(fault));
        assert_eq!(last.determination.determination, None);
        let released: String = own
            .iter()
            .filter_map(|event| match &event.what {
                StreamEventKind::Released { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!("Good one. Good two. Good three. Good four.".starts_with(&released) && released.len() < 40);
    }
}

#[test]
fn a_card_that_dies_leaves_a_report_for_every_stream() {
    let (events, error) = governed(11);
    assert!(matches!(error, SessionError::Lost(_)), "{error}");
    assert_ended(&events, Fault::Watchdog, "watchdog");
    assert!(events.iter().any(|event| matches!(event.what, StreamEventKind::Released { .. })));
}
