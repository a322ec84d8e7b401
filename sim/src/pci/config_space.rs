//! The 4,096 bytes of a PCI function's configuration space (PCI Express Base Specification, chapter 7).

pub(super) const SIZE: usize = 4096;
/// Bytes of BAR0: the registers.
pub(super) const BAR0_SIZE: u32 = 1 << 20;
/// Bytes of BAR2: MSI-X table and pending bits.
pub(super) const BAR2_SIZE: u32 = 1 << 12;
/// Bytes of BAR4: the test registers.
pub(super) const BAR4_SIZE: u32 = 1 << 12;
/// Number of interrupt vectors.
pub(super) const VECTORS: u32 = 1;

/// An id that no vendor has. Drivers identify the card by its magic register and its map digest.
const VENDOR: u16 = 0x1234;
const DEVICE: u16 = 0x5043;
/// Class "processing accelerator".
const CLASS: u8 = 0x12;

const COMMAND: usize = 0x04;
const COMMAND_MEMORY: u8 = 1 << 1;
const COMMAND_MASTER: u8 = 1 << 2;
const PCIE: usize = 0x40;
const DEVICE_CONTROL: usize = PCIE + 0x08;
/// Bit 15 of the device control register, in its second byte.
const START_FLR: u8 = 1 << 7;
const MSIX: usize = 0xb0;
/// Offset of the pending bits in BAR2; the table is at 0.
pub(super) const PENDING: u32 = 0x800;

/// The bytes of the configuration space, with masks of the bits that a driver may change.
#[derive(Debug, Clone)]
pub(super) struct ConfigSpace {
    bytes: Vec<u8>,
    writable: Vec<u8>,
}

impl ConfigSpace {
    /// The state after reset: memory and bus mastering disabled. BAR4 exists only with `bench`.
    pub(super) fn new(bench: bool) -> Self {
        let mut space = Self { bytes: vec![0; SIZE], writable: vec![0; SIZE] };
        space.set(0x00, &VENDOR.to_le_bytes());
        space.set(0x02, &DEVICE.to_le_bytes());
        // Writable: memory, bus master, interrupt disable; also parity and SERR enable, which have no effect.
        space.allow(COMMAND, &[COMMAND_MEMORY | COMMAND_MASTER | 0x40, 0x05]);
        // Status: a capability list exists.
        space.set(0x06, &[0x10, 0]);
        space.set(0x0b, &[CLASS]);
        // The cache line size is writable and has no effect.
        space.allow(0x0c, &[0xff]);
        // BARs are 32 bits wide; their read-only bits show the size.
        space.allow(0x10, &(!(BAR0_SIZE - 1)).to_le_bytes());
        space.allow(0x18, &(!(BAR2_SIZE - 1)).to_le_bytes());
        if bench {
            space.allow(0x20, &(!(BAR4_SIZE - 1)).to_le_bytes());
        }
        space.set(0x2c, &VENDOR.to_le_bytes());
        space.set(0x2e, &DEVICE.to_le_bytes());
        space.set(0x34, &[PCIE as u8]);
        space.allow(0x3c, &[0xff]);
        // PCI Express capability, version 2: endpoint, role-based errors, function-level reset, 8 GT/s, 16 lanes.
        space.set(PCIE, &[0x10, MSIX as u8, 0x02, 0x00]);
        space.set(PCIE + 0x04, &(1_u32 << 28 | 1 << 15).to_le_bytes());
        space.allow(DEVICE_CONTROL, &[0xff, 0x7f]);
        space.set(PCIE + 0x0c, &[0x03, 0x01]);
        space.set(PCIE + 0x12, &[0x03, 0x01]);
        // MSI-X capability: table and pending bits in BAR2; writable: enable and function mask.
        space.set(MSIX, &[0x11, 0]);
        space.set(MSIX + 2, &(VECTORS as u16 - 1).to_le_bytes());
        space.allow(MSIX + 3, &[0xc0]);
        space.set(MSIX + 4, &2_u32.to_le_bytes());
        space.set(MSIX + 8, &(PENDING | 2).to_le_bytes());
        space
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        for (to, from) in self.bytes.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    }

    fn allow(&mut self, at: usize, bits: &[u8]) {
        for (to, from) in self.writable.iter_mut().skip(at).zip(bits) {
            *to = *from;
        }
    }

    fn command(&self) -> u8 {
        self.bytes.get(COMMAND).copied().unwrap_or_default()
    }

    pub(super) fn memory(&self) -> bool {
        self.command() & COMMAND_MEMORY != 0
    }

    /// Whether bus mastering is enabled.
    pub(super) fn master(&self) -> bool {
        self.command() & COMMAND_MASTER != 0
    }

    /// Reads from `offset` on; bytes of `into` beyond the end of the space are not changed.
    pub(super) fn read(&self, offset: usize, into: &mut [u8]) {
        into.fill(0);
        for (to, from) in into.iter_mut().zip(self.bytes.iter().skip(offset)) {
            *to = *from;
        }
    }

    /// Writes the writable bits. Returns true if this requests a function-level reset.
    pub(super) fn write(&mut self, offset: usize, from: &[u8]) -> bool {
        let places = self.bytes.iter_mut().zip(&self.writable).skip(offset);
        for ((byte, writable), value) in places.zip(from) {
            *byte = *byte & !writable | value & writable;
        }
        let control = (DEVICE_CONTROL + 1).checked_sub(offset).and_then(|at| from.get(at));
        control.is_some_and(|value| value & START_FLR != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(space: &ConfigSpace, at: usize) -> u32 {
        let mut bytes = [0; 4];
        space.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn a_driver_finds_its_way() {
        let mut space = ConfigSpace::new(false);
        assert_eq!(word(&space, 0), 0x5043_1234);
        assert!(!space.memory() && !space.master());
        // Reads the sizes of the BARs, as every operating system does.
        for (bar, size) in [(0x10, BAR0_SIZE), (0x14, 0), (0x18, BAR2_SIZE), (0x1c, 0), (0x20, 0), (0x24, 0), (0x30, 0)]
        {
            space.write(bar, &[0xff; 4]);
            assert_eq!(word(&space, bar).wrapping_neg(), size, "{bar:#x}");
        }
        let mut with_bench = ConfigSpace::new(true);
        with_bench.write(0x20, &[0xff; 4]);
        assert_eq!(word(&with_bench, 0x20).wrapping_neg(), BAR4_SIZE);
        // The capability list ends, and contains both capabilities.
        let mut found = Vec::new();
        let mut at = word(&space, 0x34) as usize & 0xff;
        while at != 0 {
            found.push(word(&space, at) as u8);
            at = (word(&space, at) >> 8 & 0xff) as usize;
        }
        assert_eq!(found, [0x10, 0x11]);
        assert_eq!(word(&space, PCIE + 4) >> 28 & 1, 1, "function-level reset");
        assert_eq!(word(&space, MSIX) >> 16 & 0x7ff, VECTORS - 1);
    }

    #[test]
    fn what_is_fixed_stays_and_a_reset_is_noticed() {
        let mut space = ConfigSpace::new(true);
        let before = space.bytes.clone();
        assert!(space.write(0, &[0xff; SIZE]));
        for (at, (now, before)) in space.bytes.iter().zip(&before).enumerate() {
            let writable = space.writable.get(at).unwrap();
            assert_eq!(now & !writable, *before, "{at:#x}");
            assert_eq!(now & writable, *writable, "{at:#x}");
        }
        assert_eq!(word(&space, DEVICE_CONTROL) & 0x8000, 0, "the bit reads as zero");
        assert!(!space.write(DEVICE_CONTROL, &[0xff, 0x7f]));
        assert!(space.write(DEVICE_CONTROL + 1, &[0x80]));
        assert!(!space.write(DEVICE_CONTROL + 2, &[0xff]));
        assert!(!space.write(SIZE - 1, &[0xff; 8]));
    }
}
