//! A mapped base address register (BAR) of a PCI function.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use memmap2::MmapRaw;

#[derive(Debug)]
pub struct PciBar(MmapRaw);

impl PciBar {
    pub(crate) const fn of(map: MmapRaw) -> Self {
        Self(map)
    }

    /// Size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a 32-bit register. `None` for an address that is outside or not a multiple of 4.
    #[must_use]
    pub fn read32(&self, address: u32) -> Option<u32> {
        let value = u32::from_le(self.word(address)?.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        Some(value)
    }

    /// Writes a 32-bit register, after all earlier writes to memory. `None` as for [`Self::read32`].
    #[must_use]
    pub fn write32(&self, address: u32, value: u32) -> Option<()> {
        fence(Ordering::SeqCst);
        self.word(address)?.store(value.to_le(), Ordering::Release);
        Some(())
    }

    fn word(&self, address: u32) -> Option<&AtomicU32> {
        let at = usize::try_from(address).ok()?;
        if at % 4 != 0 || at.checked_add(4)? > self.len() {
            return None;
        }
        // SAFETY: the word is inside the mapping and aligned, because the mapping is aligned. All accesses to
        // registers use this function; a load or store of an aligned `AtomicU32` is one 32-bit access, as devices need.
        Some(unsafe { AtomicU32::from_ptr(self.0.as_mut_ptr().add(at).cast()) })
    }
}
