//! The governed loop: streams over a card session, the release of text, and the reasons for each refusal.
//!
//! A [`Governor`] drives any number of streams over one [`portcullis_card::Session`]. A stream releases text only after
//! the card has answered admit for it. Every other result, faults and lost cards included, releases nothing.
//!
//! Two features are off by default: `http-engine` has engines behind HTTP, and `sqlite-store` has anchor stores in
//! SQLite files.

mod admission;
pub mod anchor;
mod candidate;
mod determination;
mod end_state;
pub mod engine;
mod event;
pub mod explain;
mod governor;
pub mod input;
pub mod ledger;
mod policy;
mod policy_card;
mod rationale;
pub mod remote;
pub mod replay;
mod salt;
mod session_loop;
mod settings;
mod source;
mod stage;
mod stream;
mod text_lane;
mod workers;

pub use admission::{Engines, judged_bytes};
pub use candidate::Candidate;
pub use determination::{DecidingField, Determination, Summary, Termination, Trigger};
pub use end_state::EndState;
pub use event::{EndCommitment, Event, EventKind, Judgement};
pub use governor::Governor;
pub use policy::{Policy, text_stride_log2};
pub use policy_card::{PolicyCardError, banks_on_card, judge_text};
pub use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, Mode, OnRefuse, Release};
pub use salt::{SaltKey, SaltKeyError, Salts};
pub use session_loop::{
    Bounds, Credit, SessionClosed, SessionHandle, SessionLoop, Settle, StreamHandle, StreamMessage, SubmitError,
};
pub use settings::Settings;
pub use source::Item;
pub use stream::{Part, PartReader, Seat, StreamRequest};
pub use workers::Workers;
