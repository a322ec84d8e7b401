//! Types and wire layouts: semantic state, descriptor, verdict, record, fixed point. No I/O, no `unsafe`.

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
