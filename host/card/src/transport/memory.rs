//! Memory that this process and a card share.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use portcullis_vfio_user::words::{self, WORD};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};

use crate::card::DmaBuffer;
use crate::error::CardError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KiB, for a card behind an IOMMU or a socket.
    Small,
    /// 2 MiB from the kernel's pool, physically contiguous and never moved, for a card that uses physical addresses.
    Huge,
}

impl PageSize {
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Small => 4096,
            Self::Huge => 2 << 20,
        }
    }
}

/// Zeroed pages in an unnamed file whose size is sealed.
///
/// All accesses use atomic words, so the card may write at any time.
#[derive(Debug)]
pub struct DmaMemory {
    map: MmapRaw,
    file: File,
}

impl DmaMemory {
    /// Allocates `bytes` bytes, rounded up to whole pages, all of them present. Errors: those of the system: no memory,
    /// no huge pages in the pool.
    pub fn new(bytes: usize, pages: PageSize) -> io::Result<Self> {
        let whole = bytes.max(1).checked_next_multiple_of(pages.bytes()).ok_or(io::ErrorKind::OutOfMemory)?;
        let huge = MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        let sealed = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let flags = if pages == PageSize::Huge { sealed | huge } else { sealed };
        let file = File::from(memfd_create("portcullis", flags)?);
        ftruncate(&file, u64::try_from(whole).map_err(io::Error::other)?)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let map = MmapOptions::new().len(whole).populate().map_raw(&file)?;
        // If the pool cannot supply a page, the first access to that page would kill the process.
        let there = fstat(&file)?.st_blocks.unsigned_abs().saturating_mul(512);
        if pages == PageSize::Huge && there < whole as u64 {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Self { map, file })
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// Size in bytes, a multiple of the page size.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies bytes out, each aligned word in one access, in ascending order. False if the range is outside the memory.
    #[must_use]
    pub fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        words::read(self.words(), offset, into)
    }

    /// Copies bytes in, each whole word in one access. False, with nothing written, if the range is outside the memory.
    #[must_use]
    pub fn write(&self, offset: usize, from: &[u8]) -> bool {
        words::write(self.words(), offset, from)
    }

    /// Reads bytes of `buffer`; `self` is the buffer's memory.
    pub(crate) fn read_buffer(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        let bytes = into.len();
        if fits(buffer, offset, bytes) && self.read(offset, into) {
            Ok(())
        } else {
            Err(outside(buffer, offset, bytes))
        }
    }

    /// Writes bytes of `buffer`; `self` is the buffer's memory.
    pub(crate) fn write_buffer(&self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        let written = fits(buffer, offset, from.len()) && self.write(offset, from);
        if written { Ok(()) } else { Err(outside(buffer, offset, from.len())) }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page aligned, consists of whole initialised pages, and lives as long as `self`; the
        // sealed file cannot shrink. Plain references to it do not exist: the card accesses it from outside, and all
        // accesses here are atomic.
        unsafe { std::slice::from_raw_parts(self.start().cast::<AtomicU64>(), self.len() / WORD) }
    }
}

fn fits(buffer: &DmaBuffer, offset: usize, bytes: usize) -> bool {
    offset.checked_add(bytes).is_some_and(|end| end <= buffer.len())
}

fn outside(buffer: &DmaBuffer, offset: usize, bytes: usize) -> CardError {
    CardError::OutsideBuffer { offset, bytes, len: buffer.len() }
}
