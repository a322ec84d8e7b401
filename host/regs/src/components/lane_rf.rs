//! Regfile: lane

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

// Anonymous component instances
pub mod cq_head;
pub mod log_head;
pub mod log_size;
pub mod sq_size;
pub mod sq_tail;

// Instances of named component types
pub use _root::components::cfg_r_desc_2b06244b as log_lo;
pub use _root::components::cfg_r_desc_5d51bbd4 as sq_lo;
pub use _root::components::cfg_r_desc_53e9d39e as cq_lo;
pub use _root::components::cfg_r_desc_b9689d12 as sq_hi;
pub use _root::components::cfg_r_desc_b9689d12 as cq_hi;
pub use _root::components::cfg_r_desc_b9689d12 as log_hi;
pub use _root::components::ro_r_desc_784b21d0 as sq_head;
pub use _root::components::ro_r_desc_952d5eb9 as log_tail;
pub use _root::components::ro_r_desc_52866f22 as cq_tail;

/// lane
#[derive(Eq, PartialEq)]
pub struct LaneRf<'io, IO = peakrdl_rust::io::PtrIO> {
    ptr: *mut u8,
    io: &'io IO,
}

unsafe impl<IO: Sync> Send for LaneRf<'_, IO> {}
unsafe impl<IO: Sync> Sync for LaneRf<'_, IO> {}

// manually implement Copy to ease generic bounds
// (IO does not need to be Copy)
impl<IO> Copy for LaneRf<'_, IO> {}

// manually implement Clone to ease generic bounds
// (IO does not need to be Clone)
impl<IO> Clone for LaneRf<'_, IO> {
    fn clone(&self) -> Self {
        *self
    }
}

impl LaneRf<'static> {
    /// # Safety
    ///
    /// The caller must guarantee that the provided address points to a
    /// hardware register block implementing this interface.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_ptr(ptr: *mut ()) -> Self {
        Self { ptr: ptr.cast::<u8>(), io: &peakrdl_rust::io::PtrIO }
    }
}

impl<'io, IO> LaneRf<'io, IO> {
    /// Size in bytes of the underlying memory
    pub const SIZE: usize = 0x3C;

    /// # Safety
    ///
    /// The caller must guarantee that the provided address points to a
    /// hardware register block implementing this interface.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_ptr_with(ptr: *mut (), io: &'io IO) -> Self {
        Self { ptr: ptr.cast::<u8>(), io }
    }

    #[inline(always)]
    #[must_use]
    pub const fn as_ptr(&self) -> *mut () {
        self.ptr.cast::<()>()
    }
}

impl<'io, IO: peakrdl_rust::io::RegisterIO> LaneRf<'io, IO> {
    /// sq_lo
    ///
    /// Device address of the submission ring, low half; 4 KiB aligned.
    #[inline(always)]
    #[must_use]
    pub const fn sq_lo(&self) -> peakrdl_rust::reg::Reg<'io, sq_lo::CfgR_desc_5d51bbd4, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x0).cast(), self.io) }
    }

    /// sq_hi
    ///
    /// High half.
    #[inline(always)]
    #[must_use]
    pub const fn sq_hi(&self) -> peakrdl_rust::reg::Reg<'io, sq_hi::CfgR_desc_b9689d12, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x4).cast(), self.io) }
    }

    /// sq_size
    ///
    /// log2 of its entries (128 bytes each), at least 5; the completion ring has as many.
    #[inline(always)]
    #[must_use]
    pub const fn sq_size(&self) -> peakrdl_rust::reg::Reg<'io, sq_size::SqSize, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x8).cast(), self.io) }
    }

    /// sq_tail
    ///
    /// Doorbell: entries ever submitted, modulo 2^16.
    #[inline(always)]
    #[must_use]
    pub const fn sq_tail(&self) -> peakrdl_rust::reg::Reg<'io, sq_tail::SqTail, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC).cast(), self.io) }
    }

    /// cq_lo
    ///
    /// Device address of the completion ring, low half; 4 KiB aligned.
    #[inline(always)]
    #[must_use]
    pub const fn cq_lo(&self) -> peakrdl_rust::reg::Reg<'io, cq_lo::CfgR_desc_53e9d39e, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x10).cast(), self.io) }
    }

    /// cq_hi
    ///
    /// High half.
    #[inline(always)]
    #[must_use]
    pub const fn cq_hi(&self) -> peakrdl_rust::reg::Reg<'io, cq_hi::CfgR_desc_b9689d12, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x14).cast(), self.io) }
    }

    /// cq_head
    ///
    /// Doorbell: completions ever consumed, modulo 2^16.
    #[inline(always)]
    #[must_use]
    pub const fn cq_head(&self) -> peakrdl_rust::reg::Reg<'io, cq_head::CqHead, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x18).cast(), self.io) }
    }

    /// log_lo
    ///
    /// Device address of the log ring, low half; 4 KiB aligned.
    #[inline(always)]
    #[must_use]
    pub const fn log_lo(&self) -> peakrdl_rust::reg::Reg<'io, log_lo::CfgR_desc_2b06244b, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x20).cast(), self.io) }
    }

    /// log_hi
    ///
    /// High half.
    #[inline(always)]
    #[must_use]
    pub const fn log_hi(&self) -> peakrdl_rust::reg::Reg<'io, log_hi::CfgR_desc_b9689d12, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x24).cast(), self.io) }
    }

    /// log_size
    ///
    /// log2 of its entries (256 bytes each), at least 4.
    #[inline(always)]
    #[must_use]
    pub const fn log_size(&self) -> peakrdl_rust::reg::Reg<'io, log_size::LogSize, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x28).cast(), self.io) }
    }

    /// log_head
    ///
    /// Doorbell: records ever consumed, modulo 2^32.
    #[inline(always)]
    #[must_use]
    pub const fn log_head(&self) -> peakrdl_rust::reg::Reg<'io, log_head::LogHead, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x2C).cast(), self.io) }
    }

    /// log_tail
    ///
    /// Records whose write was answered, modulo 2^32.
    #[inline(always)]
    #[must_use]
    pub const fn log_tail(&self) -> peakrdl_rust::reg::Reg<'io, log_tail::RoR_desc_952d5eb9, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x30).cast(), self.io) }
    }

    /// sq_head
    ///
    /// Entries ever fetched, modulo 2^16. Information only.
    #[inline(always)]
    #[must_use]
    pub const fn sq_head(&self) -> peakrdl_rust::reg::Reg<'io, sq_head::RoR_desc_784b21d0, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x34).cast(), self.io) }
    }

    /// cq_tail
    ///
    /// Completions ever written, modulo 2^16. Information only.
    #[inline(always)]
    #[must_use]
    pub const fn cq_tail(&self) -> peakrdl_rust::reg::Reg<'io, cq_tail::RoR_desc_52866f22, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x38).cast(), self.io) }
    }
}
