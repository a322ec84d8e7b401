//! Shared by the tests of the card: every transport behind one trait, random tables and entries.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    unreachable_pub,
    reason = "each test binary uses its own part of this module"
)]

mod entries;
mod tables;
mod transports;

pub use entries::{break_entry, gate, in_context, placed};
pub use portcullis_test_support::random::Random;
pub use tables::{World, open_row};
pub use transports::{KernelCard, Laned, Lanes, TestCard};
#[cfg(feature = "sim")]
pub use transports::{Served, UserCard};

/// For each named function that is generic over the card, defines a test on the model and a test on the simulated card.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod model {
            $(#[test] fn $name() { super::$name::<portcullis_card::transport::model::ModelCard>(); })*
        }
        #[cfg(feature = "sim")]
        mod sim {
            $(#[test] fn $name() { super::$name::<portcullis_card::transport::sim::SimCard>(); })*
        }
    };
}
pub(crate) use on_both;

/// For each named function that is generic over the card, defines tests on the model with 2, 4 and 8 lanes, and a test
/// on the simulated card with several lanes.
macro_rules! on_lanes {
    ($($name:ident),* $(,)?) => {
        mod two_lanes {
            use portcullis_card::transport::model::ModelCard;
            $(#[test] fn $name() { super::$name::<super::card_support::Lanes<ModelCard, 2>>(); })*
        }
        mod four_lanes {
            use portcullis_card::transport::model::ModelCard;
            $(#[test] fn $name() { super::$name::<super::card_support::Lanes<ModelCard, 4>>(); })*
        }
        mod eight_lanes {
            use portcullis_card::transport::model::ModelCard;
            $(#[test] fn $name() { super::$name::<super::card_support::Lanes<ModelCard, 8>>(); })*
        }
        #[cfg(feature = "sim")]
        mod simulated_lanes {
            use portcullis_card::transport::sim::SimCard;
            const LANES: u8 = portcullis_sim::LANES as u8;
            $(#[test] fn $name() { super::$name::<super::card_support::Lanes<SimCard, LANES>>(); })*
        }
    };
}
pub(crate) use on_lanes;

/// As [`on_both`], with further tests of the card behind a socket and behind the kernel's VFIO. `cargo xtask vm` runs
/// the VFIO tests in its virtual machine.
macro_rules! on_all {
    ($($name:ident),* $(,)?) => {
        $crate::card_support::on_both!($($name),*);
        #[cfg(feature = "sim")]
        mod vfio_user {
            $(#[test] fn $name() { super::$name::<super::card_support::UserCard>(); })*
        }
        mod vfio {
            $(#[test] #[ignore = "cargo xtask vm"] fn $name() { super::$name::<super::card_support::KernelCard>(); })*
        }
    };
}
pub(crate) use on_all;

macro_rules! on_all_and_lanes {
    ($($name:ident),* $(,)?) => {
        $crate::card_support::on_all!($($name),*);
        $crate::card_support::on_lanes!($($name),*);
    };
}
pub(crate) use on_all_and_lanes;

use portcullis_card::SessionConfig;
use portcullis_card::driver::{CardSignedCheckpoint, RecordSink, SinkError};
use portcullis_core::wire::Record;
use std::sync::{Arc, Mutex};

/// The smallest rings that a card accepts, with a fixed epoch.
pub fn small(epoch: u32) -> SessionConfig {
    SessionConfig { ring_log2: 5, log_log2: 4, epoch: Some(epoch), ..SessionConfig::default() }
}

/// The records that a sink received.
pub type Kept = Arc<Mutex<Vec<Record>>>;

/// A configuration whose sink stores every record.
pub fn keeping(config: SessionConfig) -> (SessionConfig, Kept) {
    let kept = Kept::default();
    let sink = Arc::clone(&kept);
    let keep = move |record: &Record| {
        sink.lock().unwrap().push(*record);
        Ok(())
    };
    (SessionConfig { sink: Box::new(keep), ..config }, kept)
}

/// The records of one lane, in order.
pub fn of_lane(records: &[Record], lane: u8) -> Vec<Record> {
    records.iter().filter(|record| record.answer.lane == lane).copied().collect()
}

/// The output of a session, in order: records and checkpoints.
#[derive(Debug, Default)]
pub struct Trail {
    pub records: Vec<Record>,
    pub checkpoints: Vec<CardSignedCheckpoint>,
}

#[derive(Debug, Default, Clone)]
pub struct Keeper(pub Arc<Mutex<Trail>>);

impl RecordSink for Keeper {
    fn record(&mut self, record: &Record) -> Result<(), SinkError> {
        self.0.lock().unwrap().records.push(*record);
        Ok(())
    }

    fn checkpoint(&mut self, checkpoint: &CardSignedCheckpoint) -> Result<(), SinkError> {
        self.0.lock().unwrap().checkpoints.push(checkpoint.clone());
        Ok(())
    }
}

/// Whether the long runs are enabled.
pub fn long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some_and(|value| value == "1")
}
