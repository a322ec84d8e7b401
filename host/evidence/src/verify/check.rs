//! The checks, one per file. A check returns its findings. A check that reads a part of the bundle returns that part,
//! and adds its findings to the list that it receives.

pub(super) mod approval;
pub(super) mod certificate;
pub(super) mod checkpoint;
pub(super) mod context;
pub(super) mod enforcement;
pub(super) mod files;
pub(super) mod heartbeat;
pub(super) mod image;
pub(super) mod lane_consistency;
pub(super) mod receipt;
pub(super) mod rule_names;
pub(super) mod session;
pub(super) mod simulation;
pub(super) mod span;
pub(super) mod text_lane;
pub(super) mod ticket;
pub(super) mod withholding;
pub(super) mod witness;
