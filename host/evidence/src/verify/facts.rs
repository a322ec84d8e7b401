//! What the verifier knows before it reads the records.

use super::check::image::Image;
use crate::format::certificate::DeviceCertificate;
use crate::format::note::Cosigned;
use crate::format::ticket::{Signed, Ticket};
use crate::format::withholding::StreamAt;
use std::collections::{BTreeMap, BTreeSet};

/// The parts of the bundle that could be read and are what they must be.
pub(super) struct Facts {
    pub(super) ticket: Option<Signed<Ticket>>,
    pub(super) image: Option<Image>,
    pub(super) device: Option<DeviceCertificate>,
    pub(super) notes: BTreeMap<u64, Cosigned>,
    /// Streams whose texts were taken out.
    pub(super) withheld: BTreeSet<StreamAt>,
}
