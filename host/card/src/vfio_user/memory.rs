//! Memory that is shared with a device by its file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use portcullis_vfio_user::words::{self, WORD};
use rustix::fs::{MemfdFlags, SealFlags};

use crate::{CardError, DmaBuffer};

const PAGE: usize = 4096;

/// Whole, zeroed pages in a file without a name, of a size that nobody can change.
#[derive(Debug)]
pub(super) struct Shared {
    file: OwnedFd,
    map: MmapRaw,
}

impl Shared {
    pub(super) fn allocate(bytes: usize) -> Result<Self, CardError> {
        let failed = || CardError::Allocate(bytes);
        let whole = bytes.checked_next_multiple_of(PAGE).filter(|whole| *whole > 0).ok_or_else(failed)?;
        let make = || -> std::io::Result<Self> {
            let file = rustix::fs::memfd_create("portcullis", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
            rustix::fs::ftruncate(&file, whole as u64)?;
            rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            let map = MmapOptions::new().len(whole).map_raw(&file)?;
            Ok(Self { file, map })
        };
        make().map_err(|_| failed())
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn size(&self) -> u64 {
        self.map.len() as u64
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page aligned, of whole pages, initialised, and lives as long as `self`; the file cannot shrink under it.
        // Nobody makes plain references to it: the device touches it from another process, and all access here is atomic.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<AtomicU64>(), self.map.len() / WORD) }
    }

    pub(super) fn read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        check(buffer, offset, into.len())?;
        if words::read(self.words(), offset, into) { Ok(()) } else { Err(outside(buffer, offset, into.len())) }
    }

    pub(super) fn write(&self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        check(buffer, offset, from.len())?;
        if words::write(self.words(), offset, from) { Ok(()) } else { Err(outside(buffer, offset, from.len())) }
    }
}

fn outside(buffer: &DmaBuffer, offset: usize, bytes: usize) -> CardError {
    CardError::OutsideBuffer { offset, bytes, len: buffer.len() }
}

fn check(buffer: &DmaBuffer, offset: usize, bytes: usize) -> Result<(), CardError> {
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= buffer.len());
    if fits { Ok(()) } else { Err(outside(buffer, offset, bytes)) }
}
