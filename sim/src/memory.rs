//! Host memory that the card can reach.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapMut, MmapOptions, MmapRaw};
use portcullis_vfio_user::Errno;
use portcullis_vfio_user::words::{self, WORD};
use rustix::fs::SealFlags;

use crate::SimError;

/// A file of another process, mapped as a whole.
#[derive(Debug, Clone)]
pub(crate) struct FileMemory(Arc<MmapRaw>);

impl FileMemory {
    /// Maps the file. The file must be sealed against shrinking; otherwise its owner could remove pages that the card
    /// uses.
    pub(crate) fn open(file: &OwnedFd) -> Result<Self, Errno> {
        if !rustix::fs::fcntl_get_seals(file)?.contains(SealFlags::SHRINK) {
            return Err(Errno::PERM);
        }
        let size = usize::try_from(rustix::fs::fstat(file)?.st_size).map_err(|_| Errno::OVERFLOW)?;
        let map = MmapOptions::new().len(size).map_raw(file);
        map.map(|map| Self(Arc::new(map))).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOMEM))
    }

    /// The `size` bytes at `offset`; `None` if they extend beyond the end of the file.
    pub(crate) fn part(&self, offset: u64, size: u64) -> Option<FilePart> {
        let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
        let fits = offset.checked_add(size).is_some_and(|end| end <= self.0.len());
        fits.then(|| FilePart { file: self.clone(), offset, size })
    }
}

/// A part of a file that is mapped at a device address.
#[derive(Debug, Clone)]
pub(crate) struct FilePart {
    file: FileMemory,
    offset: usize,
    pub(crate) size: usize,
}

impl FilePart {
    /// Pointer to the first byte; valid as long as the part exists.
    pub(crate) fn start(&self) -> *mut u8 {
        self.file.0.as_mut_ptr().wrapping_add(self.offset)
    }
}

/// Anonymous pages that the handles in Rust and the bus model share.
#[derive(Debug)]
struct Pages {
    map: MmapRaw,
    len: usize,
}

/// A page-aligned buffer at one device address, zeroed at first. Clones are handles to the same memory.
///
/// All accesses, here and in the bus model, are to atomic words, so any thread may use the handles. The memory exists
/// until the last handle is dropped, and until the [`crate::SimulatedCard`] that mapped it is dropped or has unmapped
/// it.
#[derive(Debug, Clone)]
pub struct DmaRegion {
    pages: Arc<Pages>,
    address: u64,
}

impl DmaRegion {
    /// Allocates `len` bytes, at least one, for device address `address`.
    pub(crate) fn allocate(address: u64, len: usize) -> Result<Self, SimError> {
        let failed = |source| SimError::Allocate { len, source };
        if len == 0 {
            return Err(failed(std::io::ErrorKind::InvalidInput.into()));
        }
        let whole = len.checked_next_multiple_of(4096).ok_or_else(|| failed(std::io::ErrorKind::OutOfMemory.into()))?;
        let map = MmapMut::map_anon(whole).map_err(failed)?;
        Ok(Self { pages: Arc::new(Pages { map: map.into(), len }), address })
    }

    /// Device address of the first byte; a multiple of 4096.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Requested length in bytes. The memory extends to the end of the last page, and the card can access all of it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len
    }

    /// Always false, because regions are never empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.len == 0
    }

    /// Start and size in bytes (whole pages) of the memory, for the bus model.
    pub(crate) fn raw(&self) -> (*mut u8, usize) {
        (self.pages.map.as_mut_ptr(), self.pages.map.len())
    }

    /// Copies bytes from `offset` into `into`. Errors: [`SimError::OutsideRegion`].
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), SimError> {
        self.check(offset, into.len())?;
        if words::read(self.words(), offset, into) { Ok(()) } else { Err(self.outside(offset, into.len())) }
    }

    /// Copies `from` to `offset`; only each aligned 8-byte word is written atomically. Errors:
    /// [`SimError::OutsideRegion`]; then nothing is written.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), SimError> {
        self.check(offset, from.len())?;
        if words::write(self.words(), offset, from) { Ok(()) } else { Err(self.outside(offset, from.len())) }
    }

    /// Sets `len` bytes from `offset` to zero. Errors: [`SimError::OutsideRegion`].
    pub fn zero(&self, offset: usize, len: usize) -> Result<(), SimError> {
        self.check(offset, len)?;
        let mut at = offset;
        let end = offset + len;
        while at < end {
            let n = (WORD - at % WORD).min(end - at);
            self.write(at, [0; WORD].get(..n).unwrap_or_default())?;
            at += n;
        }
        Ok(())
    }

    /// The byte at `offset`. Errors: [`SimError::OutsideRegion`].
    pub fn read_u8(&self, offset: usize) -> Result<u8, SimError> {
        let mut byte = [0];
        self.read(offset, &mut byte)?;
        Ok(u8::from_le_bytes(byte))
    }

    pub(crate) fn check(&self, offset: usize, len: usize) -> Result<(), SimError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.pages.len => Ok(()),
            _ => Err(self.outside(offset, len)),
        }
    }

    fn outside(&self, offset: usize, len: usize) -> SimError {
        SimError::OutsideRegion { offset, len, size: self.pages.len }
    }

    fn words(&self) -> &[AtomicU64] {
        let (start, size) = self.raw();
        // SAFETY: the mapping is page aligned, `size` bytes long (whole pages), zero-initialised, and lives as long as
        // `self`. No one makes plain references to it: this module and the bus model use atomic accesses only.
        unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), size / WORD) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaligned_bytes_come_back_and_neighbours_stay() {
        let region = DmaRegion::allocate(0x1000, 4097).unwrap();
        region.write(0, &[0xff; 40]).unwrap();
        let bytes: Vec<u8> = (1..=21).collect();
        region.write(3, &bytes).unwrap();
        let mut back = [0; 40];
        region.read(0, &mut back).unwrap();
        assert_eq!(back[..3], [0xff; 3]);
        assert_eq!(back[3..24], bytes);
        assert_eq!(back[24..], [0xff; 16]);
        region.zero(5, 9).unwrap();
        region.read(0, &mut back).unwrap();
        assert_eq!(back[3..5], [1, 2]);
        assert_eq!(back[5..14], [0; 9]);
        assert_eq!(back[14], 12);
        assert_eq!(back[14..16], [12, 13]);
    }

    #[test]
    fn access_outside_is_refused() {
        let region = DmaRegion::allocate(0x1000, 100).unwrap();
        assert!(matches!(region.write(97, &[0; 4]), Err(SimError::OutsideRegion { offset: 97, len: 4, size: 100 })));
        assert!(region.read(usize::MAX, &mut [0; 2]).is_err());
        assert!(region.zero(0, 101).is_err());
        assert!(DmaRegion::allocate(0x1000, 0).is_err());
    }
}
