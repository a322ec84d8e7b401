//! Memory: Entropy bank

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Entropy bank
///
/// Laid out as the policy bank.
#[derive(Eq, PartialEq)]
pub struct EntropyBank<'io, IO = peakrdl_rust::io::PtrIO> {
    ptr: *mut u32,
    io: &'io IO,
}

unsafe impl<IO: Sync> Send for EntropyBank<'_, IO> {}
unsafe impl<IO: Sync> Sync for EntropyBank<'_, IO> {}

// manually implement Copy to ease generic bounds
// (IO does not need to be Copy)
impl<IO> Copy for EntropyBank<'_, IO> {}

// manually implement Clone to ease generic bounds
// (IO does not need to be Clone)
impl<IO> Clone for EntropyBank<'_, IO> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<IO> peakrdl_rust::mem::Memory for EntropyBank<'_, IO> {
    type Memwidth = u32;
    type Access = peakrdl_rust::access::RW;
    type Endian = peakrdl_rust::endian::LittleEndian;

    fn first_entry_ptr(&self) -> *mut Self::Memwidth {
        self.ptr
    }

    fn num_entries(&self) -> usize {
        65536
    }

    fn width(&self) -> usize {
        32
    }
}

impl EntropyBank<'static> {
    /// # Safety
    ///
    /// The caller must guarantee that the provided address points to a
    /// hardware memory implementing this interface.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_ptr(ptr: *mut u32) -> Self {
        Self { ptr, io: &peakrdl_rust::io::PtrIO }
    }
}

impl<'io, IO> EntropyBank<'io, IO> {
    /// Size in bytes of the memory
    pub const SIZE: usize = 0x4_0000;

    /// # Safety
    ///
    /// The caller must guarantee that the provided address points to a
    /// hardware memory implementing this interface.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_ptr_with(ptr: *mut u32, io: &'io IO) -> Self {
        Self { ptr, io }
    }

    #[inline(always)]
    #[must_use]
    pub const fn as_ptr(&self) -> *mut u32 {
        self.ptr
    }
}
