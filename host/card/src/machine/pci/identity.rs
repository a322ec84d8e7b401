//! Decides whether a PCI function is a Portcullis card: by its ids, then by its magic register if that is readable
//! without a driver.

use super::{IDS, PciFunction, Sysfs};
use crate::machine::bar::PciBar;
use crate::registers;
use memmap2::MmapOptions;
use std::fs;

/// Bytes of BAR0 that are mapped to read its first register.
const PAGE: usize = 4096;

impl PciFunction {
    /// Whether the ids are those of a card. Cards that were built with other ids are not recognised.
    #[must_use]
    pub fn has_card_ids(&self) -> bool {
        IDS.contains(&(self.vendor, self.device))
    }
}

impl Sysfs {
    /// Why `function` is not a card, or `None` if it is one. Registers of a function with foreign ids are not read,
    /// because a read can have side effects.
    pub(super) fn foreign(&self, function: &PciFunction) -> Option<String> {
        let PciFunction { bdf, vendor, device, .. } = function;
        if !function.has_card_ids() {
            return Some(format!("{bdf} is {vendor:04x}:{device:04x}, which are not the ids of a Portcullis card"));
        }
        let magic = self.magic(function)?;
        let known = registers::magic();
        (magic != known).then(|| {
            format!("{bdf} has the ids of a card, but its magic register reads {magic:#010x}, not {known:#010x}")
        })
    }

    /// The first word of BAR0, if the kernel has enabled the function's memory.
    fn magic(&self, function: &PciFunction) -> Option<u32> {
        let folder = self.folder(function.bdf);
        let enabled = fs::read_to_string(folder.join("enable")).ok()?.trim().parse::<u32>().ok()?;
        if enabled == 0 {
            return None;
        }
        let file = fs::File::open(folder.join("resource0")).ok()?;
        let map = MmapOptions::new().len(PAGE).map_raw_read_only(&file).ok()?;
        PciBar::of(map).read32(0)
    }
}
