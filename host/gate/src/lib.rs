//! The governed loop: streams over a card session, the release of text, and the reasons for each refusal.
//!
//! A [`StreamGovernor`] drives any number of streams over one [`portcullis_card::CardSession`]. A [`StreamInput`] is
//! the input of one stream: a finished text, candidates, or a task for an engine. A stream releases text only after the
//! card has answered admit for it. Every other result, faults and lost cards included, releases nothing. This crate
//! writes no evidence; `portcullis-recorder` does.
//!
//! Two features are off by default: `http-engine` has engines behind HTTP, and `sqlite-store` has anchor stores in
//! SQLite files.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use portcullis_core::state::StreamTask;
//! # use portcullis_policy::PolicyPackage;
//! # use std::{path::Path, sync::Arc};
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/pii");
//! use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
//! use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamEventKind, StreamGovernor, StreamInput};
//!
//! let package = PolicyPackage::load(Path::new(folder))?;
//! let compiled = package.compile()?;
//! let policy = Arc::new(GatePolicy::new(package, compiled)?);
//! let card = CardChoice::Model.open()?;
//! let mut session = CardSession::open(card, &policy.compiled.image, SessionConfig::default())?;
//!
//! let governor = Arc::new(StreamGovernor::new(policy, GateSettings::new(SaltKey::random()?))?);
//! let text = "Write to ana@example.org. Thank you.".to_owned();
//! let item = StreamInput::Text { id: "first".to_owned(), text, task: StreamTask::default() };
//! let mut released = String::new();
//! governor.govern(&mut session, [item], |event| -> Result<(), SessionError> {
//!     if let StreamEventKind::Released { text, .. } = event.what {
//!         released.push_str(&text);
//!     }
//!     Ok(())
//! })?;
//! session.close()?;
//! assert!(released.contains("Thank you.") && !released.contains("ana@example.org"));
//! # Ok(())
//! # }
//! ```

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
