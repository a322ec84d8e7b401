//! The governed loop: streams over a card session, the release of text, and the reasons for each refusal.
//!
//! A [`StreamGovernor`] drives any number of streams over one [`portcullis_card::Session`]. A stream releases text only
//! after the card has answered admit for it. Every other result, faults and lost cards included, releases nothing.
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
pub use candidate::AnswerCandidate;
pub use determination::{DecidingField, JudgementSummary, SpanDetermination, StreamTermination, TerminationTrigger};
pub use end_state::EndState;
pub use event::{EndCommitment, SpanJudgement, StreamEvent, StreamEventKind};
pub use governor::StreamGovernor;
pub use policy::{GatePolicy, text_stride_log2};
pub use policy_card::{PolicyCardError, banks_on_card, judge_text};
pub use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, OnRefuse, ReleaseMode, StreamMode};
pub use salt::{SaltKey, SaltKeyError, SaltSource};
pub use session_loop::{
    CheckpointSchedule, InboxBounds, JudgedStreamHandle, SessionCapacity, SessionClosed, SessionHandle, SessionLoop,
    StreamMessage, SubmitError,
};
pub use settings::GateSettings;
pub use source::StreamInput;
pub use stream::{HeldStreamPart, PartReader, StreamNumbers, StreamRequest};
pub use workers::WorkerPool;
