//! The governed loop: streams over a card session, what is released, and why what is not is not.
//!
//! A [`Governor`] drives any number of streams over one [`portcullis_card::Session`]. Text leaves a stream only after the card
//! answered admit for it; everything else, faults and lost cards included, releases nothing.

pub mod anchor;
mod commitment;
mod determination;
pub mod engine;
mod entry;
mod event;
pub mod explain;
mod governor;
pub mod input;
pub mod ledger;
mod policy_card;
mod rationale;
pub mod remote;
pub mod replay;
mod session_loop;
mod settings;
mod source;
mod stage;
mod stream;

pub use commitment::{SaltKey, SaltKeyError, Salts, commit};
pub use determination::{Deciding, Determination, Summary, Termination, Trigger};
pub use entry::{Engines, judged_bytes};
pub use event::{Closing, Event, Judged, What};
pub use governor::Governor;
pub use policy_card::{PolicyCardError, banks_on_card, judge_text};
pub use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, Mode, OnRefuse, Release};
pub use settings::Settings;
pub use source::{Candidate, Item};
pub use stream::Seat;
