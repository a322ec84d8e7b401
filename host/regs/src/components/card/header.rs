//! Memory: Image header

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Image header
///
/// The 32 words of the image header, then the 16 words of its text part.
#[derive(Eq, PartialEq)]
pub struct Header<'io, IO = peakrdl_rust::io::PtrIO> {
    ptr: *mut u32,
    io: &'io IO,
}

unsafe impl<IO: Sync> Send for Header<'_, IO> {}
unsafe impl<IO: Sync> Sync for Header<'_, IO> {}

// manually implement Copy to ease generic bounds
// (IO does not need to be Copy)
impl<IO> Copy for Header<'_, IO> {}

// manually implement Clone to ease generic bounds
// (IO does not need to be Clone)
impl<IO> Clone for Header<'_, IO> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<IO> peakrdl_rust::mem::Memory for Header<'_, IO> {
    type Memwidth = u32;
    type Access = peakrdl_rust::access::RW;
    type Endian = peakrdl_rust::endian::LittleEndian;

    fn first_entry_ptr(&self) -> *mut Self::Memwidth {
        self.ptr
    }

    fn num_entries(&self) -> usize {
        64
    }

    fn width(&self) -> usize {
        32
    }
}

impl Header<'static> {
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

impl<'io, IO> Header<'io, IO> {
    /// Size in bytes of the memory
    pub const SIZE: usize = 0x100;

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
