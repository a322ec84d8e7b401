//! The facts that the verifier has before it reads the records.

use super::check::image::BundleImage;
use crate::format::certificate::DeviceCertificate;
use crate::format::note::WitnessedCheckpoint;
use crate::format::ticket::{SessionTicket, SignedTicket};
use crate::format::withholding::StreamAt;
use std::collections::{BTreeMap, BTreeSet};

/// The parts of the bundle that were read without an error.
pub(super) struct BundleFacts {
    pub(super) ticket: Option<SignedTicket<SessionTicket>>,
    pub(super) image: Option<BundleImage>,
    pub(super) device: Option<DeviceCertificate>,
    pub(super) notes: BTreeMap<u64, WitnessedCheckpoint>,
    pub(super) withheld: BTreeSet<StreamAt>,
}
