//! Types and wire layouts: semantic state, descriptor, verdict, record, fixed point. No I/O, no `unsafe`.
//!
//! Every other crate uses these types, so that one definition serves gate, card and verifier.
//! [`manifest::PackageManifest`] is what a policy declares. [`state::SemanticState`] is the state of a governed stream,
//! and [`mutation::SpanMutation`] is a proposed change of it. [`wire`] has the layouts of everything that a card reads
//! or writes. Rules are not here: the crate `portcullis-policy` compiles them.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_core::commitment::{SpanKind, commitment};
//! use portcullis_core::mutation::SlotSequence;
//! use portcullis_core::wire::{Descriptor, Opcode};
//!
//! // An entry has a salted hash of the text, and not the text itself.
//! let digest = commitment(SpanKind::Text, &[7; 16], &[b"We answer within a day."]);
//! let place = SlotSequence { slot: 0, sequence: 1 };
//! let mut entry = Descriptor::entry(Opcode::Gate, place, digest).sealed();
//! assert_eq!(entry.crc.get(), entry.computed_crc());
//!
//! // After a change, the checksum is wrong. A card refuses such an entry.
//! entry.domain = 1;
//! assert_ne!(entry.crc.get(), entry.computed_crc());
//! # Ok(())
//! # }
//! ```

pub mod class;
pub mod commitment;
pub mod context;
pub mod directions;
pub mod drift;
pub mod fixed;
pub mod hex;
pub mod inert;
pub mod json;
pub mod manifest;
pub mod mutation;
pub mod proposition;
pub mod reason;
pub mod releases;
pub mod state;
pub mod topic;
pub mod wire;
