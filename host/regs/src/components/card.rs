//! Addrmap: Portcullis card

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

// Anonymous component instances
pub mod capabilities;
pub mod checkpoint_flush;
pub mod checkpoint_head;
pub mod checkpoint_size;
pub mod command;
pub mod entropy_bank;
pub mod fault;
pub mod header;
pub mod heartbeat_nonce_hi;
pub mod heartbeat_nonce_lo;
pub mod key_flags;
pub mod load_fault;
pub mod magic;
pub mod map_version;
pub mod max_streams;
pub mod policy_bank;
pub mod queue_limits;
pub mod rows;
pub mod status;
pub mod text_blocks;
pub mod text_limits;
pub mod text_stride;

// Instances of named component types
pub use _root::components::cfg_r_desc_04ee4c1b as ticket_digest;
pub use _root::components::cfg_r_desc_92f400d4 as expected_digest;
pub use _root::components::cfg_r_desc_996c3a34 as text_tables_lo;
pub use _root::components::cfg_r_desc_2322bf59 as epoch;
pub use _root::components::cfg_r_desc_7245db2b as checkpoint_lo;
pub use _root::components::cfg_r_desc_b9689d12 as checkpoint_hi;
pub use _root::components::cfg_r_desc_b9689d12 as text_tables_hi;
pub use _root::components::cfg_r_desc_ee951f2a as checkpoint_interval;
pub use _root::components::cfg_r_desc_fba5d635 as heartbeat_records;
pub use _root::components::cfg_r_desc_fd4a955e as heartbeat_ticks;
pub use _root::components::lane_rf as lane;
pub use _root::components::ro_r_desc_6d8a3ec1 as heartbeat_credit;
pub use _root::components::ro_r_desc_7c9829ac as admits;
pub use _root::components::ro_r_desc_7cc048e4 as checkpoint_tail;
pub use _root::components::ro_r_desc_7d5ec112 as tick_lo;
pub use _root::components::ro_r_desc_7e8c4993 as open_streams;
pub use _root::components::ro_r_desc_62ae8653 as records;
pub use _root::components::ro_r_desc_86b42606 as busy_clocks_lo;
pub use _root::components::ro_r_desc_325d3e02 as refused;
pub use _root::components::ro_r_desc_81349e4c as decomposes;
pub use _root::components::ro_r_desc_92141acb as rejects;
pub use _root::components::ro_r_desc_a6f78cc0 as verdicts;
pub use _root::components::ro_r_desc_b874c647 as tick_hi;
pub use _root::components::ro_r_desc_b9689d12 as busy_clocks_hi;
pub use _root::components::ro_r_desc_bd535d95 as public_key;
pub use _root::components::ro_r_desc_bf766848 as boot_nonce;
pub use _root::components::ro_r_desc_cf60d431 as design_id;
pub use _root::components::ro_r_desc_e9822798 as map_digest;
pub use _root::components::ro_r_desc_f7f7e3ea as policy_digest;

/// Portcullis card
///
/// Control registers, table windows and ring doorbells of one card.
#[derive(Eq, PartialEq)]
pub struct Card<'io, IO = peakrdl_rust::io::PtrIO> {
    ptr: *mut u8,
    io: &'io IO,
}

unsafe impl<IO: Sync> Send for Card<'_, IO> {}
unsafe impl<IO: Sync> Sync for Card<'_, IO> {}

// manually implement Copy to ease generic bounds
// (IO does not need to be Copy)
impl<IO> Copy for Card<'_, IO> {}

// manually implement Clone to ease generic bounds
// (IO does not need to be Clone)
impl<IO> Clone for Card<'_, IO> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Card<'static> {
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

impl<'io, IO> Card<'io, IO> {
    /// Size in bytes of the underlying memory
    pub const SIZE: usize = 0xC_0000;

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

impl<'io, IO: peakrdl_rust::io::RegisterIO> Card<'io, IO> {
    /// magic
    ///
    /// `PCUL`; all ones means that the device is lost.
    #[inline(always)]
    #[must_use]
    pub const fn magic(&self) -> peakrdl_rust::reg::Reg<'io, magic::Magic, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x0).cast(), self.io) }
    }

    /// map_version
    ///
    /// Version of this map.
    #[inline(always)]
    #[must_use]
    pub const fn map_version(&self) -> peakrdl_rust::reg::Reg<'io, map_version::MapVersion, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x4).cast(), self.io) }
    }

    /// capabilities
    ///
    /// What this card has. A part that is not present reads 0 here and its registers read 0.
    #[inline(always)]
    #[must_use]
    pub const fn capabilities(&self) -> peakrdl_rust::reg::Reg<'io, capabilities::Capabilities, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x8).cast(), self.io) }
    }

    /// rows
    ///
    /// Rows of the two banks.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self) -> peakrdl_rust::reg::Reg<'io, rows::Rows, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC).cast(), self.io) }
    }

    /// max_streams
    ///
    /// Stream slots. Slot s belongs to lane s modulo lanes; another lane refuses it.
    #[inline(always)]
    #[must_use]
    pub const fn max_streams(&self) -> peakrdl_rust::reg::Reg<'io, max_streams::MaxStreams, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x10).cast(), self.io) }
    }

    /// queue_limits
    ///
    /// Largest log2 of ring entries, of log entries, and reads in flight.
    #[inline(always)]
    #[must_use]
    pub const fn queue_limits(&self) -> peakrdl_rust::reg::Reg<'io, queue_limits::QueueLimits, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x14).cast(), self.io) }
    }

    /// key_flags
    ///
    /// SIM, CLASS_KEY, NO_TRNG.
    #[inline(always)]
    #[must_use]
    pub const fn key_flags(&self) -> peakrdl_rust::reg::Reg<'io, key_flags::KeyFlags, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x18).cast(), self.io) }
    }

    /// text_limits
    ///
    /// Text lane: engines, log2 of an engine's states, its byte classes, blocks of text windows. 0 while capability `text` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn text_limits(&self) -> peakrdl_rust::reg::Reg<'io, text_limits::TextLimits, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1C).cast(), self.io) }
    }

    /// map_digest
    ///
    /// SHA-256 that names layout and register map, first byte lowest. The driver refuses any other.
    #[inline(always)]
    #[must_use]
    pub const fn map_digest(&self) -> [peakrdl_rust::reg::Reg<'io, map_digest::RoR_desc_e9822798, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, map_digest::RoR_desc_e9822798, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x20 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// command
    ///
    /// A write is a command.
    #[inline(always)]
    #[must_use]
    pub const fn command(&self) -> peakrdl_rust::reg::Reg<'io, command::Command, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x40).cast(), self.io) }
    }

    /// status
    ///
    /// Life state.
    #[inline(always)]
    #[must_use]
    pub const fn status(&self) -> peakrdl_rust::reg::Reg<'io, status::Status, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x44).cast(), self.io) }
    }

    /// fault
    ///
    /// Sticky fault; cleared by RESET once that ends, and by the hardware reset.
    #[inline(always)]
    #[must_use]
    pub const fn fault(&self) -> peakrdl_rust::reg::Reg<'io, fault::Fault, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x48).cast(), self.io) }
    }

    /// load_fault
    ///
    /// Why the last OPEN returned to LOAD; cleared by the next OPEN.
    #[inline(always)]
    #[must_use]
    pub const fn load_fault(&self) -> peakrdl_rust::reg::Reg<'io, load_fault::LoadFault, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x4C).cast(), self.io) }
    }

    /// epoch
    ///
    /// Epoch of the next session; random, chosen by the host.
    #[inline(always)]
    #[must_use]
    pub const fn epoch(&self) -> peakrdl_rust::reg::Reg<'io, epoch::CfgR_desc_2322bf59, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x50).cast(), self.io) }
    }

    /// tick_lo
    ///
    /// Clocks since reset, low half.
    #[inline(always)]
    #[must_use]
    pub const fn tick_lo(&self) -> peakrdl_rust::reg::Reg<'io, tick_lo::RoR_desc_7d5ec112, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x58).cast(), self.io) }
    }

    /// tick_hi
    ///
    /// Clocks since reset, high half.
    #[inline(always)]
    #[must_use]
    pub const fn tick_hi(&self) -> peakrdl_rust::reg::Reg<'io, tick_hi::RoR_desc_b874c647, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x5C).cast(), self.io) }
    }

    /// expected_digest
    ///
    /// Digest that the tables must hash to; OPEN refuses any other. OPEN refuses a value other than 0 while capability `digest` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn expected_digest(&self) -> [peakrdl_rust::reg::Reg<'io, expected_digest::CfgR_desc_92f400d4, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, expected_digest::CfgR_desc_92f400d4, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x60 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// policy_digest
    ///
    /// Digest of the tables as OPEN read them back last, right or not; what CLOSE finds is compared with it. 0 while capability `digest` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn policy_digest(&self) -> [peakrdl_rust::reg::Reg<'io, policy_digest::RoR_desc_f7f7e3ea, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, policy_digest::RoR_desc_f7f7e3ea, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x80 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// ticket_digest
    ///
    /// Digest of the session's ticket; bound into the OPEN record.
    #[inline(always)]
    #[must_use]
    pub const fn ticket_digest(&self) -> [peakrdl_rust::reg::Reg<'io, ticket_digest::CfgR_desc_04ee4c1b, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, ticket_digest::CfgR_desc_04ee4c1b, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0xa0 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// heartbeat_records
    ///
    /// Records of a lane without a heartbeat; 0 is off. OPEN refuses another value while capability `heartbeat` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn heartbeat_records(&self) -> peakrdl_rust::reg::Reg<'io, heartbeat_records::CfgR_desc_fba5d635, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC0).cast(), self.io) }
    }

    /// heartbeat_ticks
    ///
    /// Units of 2^16 clocks without a heartbeat; 0 is off.
    #[inline(always)]
    #[must_use]
    pub const fn heartbeat_ticks(&self) -> peakrdl_rust::reg::Reg<'io, heartbeat_ticks::CfgR_desc_fd4a955e, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC4).cast(), self.io) }
    }

    /// heartbeat_nonce_lo
    ///
    /// Nonce of a heartbeat, low half.
    #[inline(always)]
    #[must_use]
    pub const fn heartbeat_nonce_lo(&self) -> peakrdl_rust::reg::Reg<'io, heartbeat_nonce_lo::HeartbeatNonceLo, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC8).cast(), self.io) }
    }

    /// heartbeat_nonce_hi
    ///
    /// Nonce of a heartbeat, high half; writing it presents the heartbeat.
    #[inline(always)]
    #[must_use]
    pub const fn heartbeat_nonce_hi(&self) -> peakrdl_rust::reg::Reg<'io, heartbeat_nonce_hi::HeartbeatNonceHi, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xCC).cast(), self.io) }
    }

    /// heartbeat_credit
    ///
    /// Records left in the lane that has the fewest.
    #[inline(always)]
    #[must_use]
    pub const fn heartbeat_credit(&self) -> peakrdl_rust::reg::Reg<'io, heartbeat_credit::RoR_desc_6d8a3ec1, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xD0).cast(), self.io) }
    }

    /// checkpoint_lo
    ///
    /// Device address of the checkpoint ring, low half; 4 KiB aligned.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_lo(&self) -> peakrdl_rust::reg::Reg<'io, checkpoint_lo::CfgR_desc_7245db2b, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xE0).cast(), self.io) }
    }

    /// checkpoint_hi
    ///
    /// High half.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_hi(&self) -> peakrdl_rust::reg::Reg<'io, checkpoint_hi::CfgR_desc_b9689d12, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xE4).cast(), self.io) }
    }

    /// checkpoint_size
    ///
    /// log2 of the entries of the checkpoint ring (32 KiB each: checkpoint, signature, a beat for each lane's head), 1 to 8; 0 while capability `signer` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_size(&self) -> peakrdl_rust::reg::Reg<'io, checkpoint_size::CheckpointSize, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xE8).cast(), self.io) }
    }

    /// checkpoint_interval
    ///
    /// Records after which a checkpoint is due; 0 is 32768. Checkpoints are due at OPEN and CLOSE and after an ALARM too.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_interval(
        &self,
    ) -> peakrdl_rust::reg::Reg<'io, checkpoint_interval::CfgR_desc_ee951f2a, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xEC).cast(), self.io) }
    }

    /// checkpoint_flush
    ///
    /// A write asks for a checkpoint now.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_flush(&self) -> peakrdl_rust::reg::Reg<'io, checkpoint_flush::CheckpointFlush, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xF0).cast(), self.io) }
    }

    /// checkpoint_tail
    ///
    /// Checkpoints ever written in this session. 0 while capability `signer` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_tail(&self) -> peakrdl_rust::reg::Reg<'io, checkpoint_tail::RoR_desc_7cc048e4, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xF4).cast(), self.io) }
    }

    /// checkpoint_head
    ///
    /// Doorbell: checkpoints consumed in this session, modulo 2^32. A due checkpoint waits while this ring is full. It also waits while the log ring of a lane is full, because records that wait for room are not in the log yet. OPEN sets the card's pointer to 0, whatever this register holds.
    #[inline(always)]
    #[must_use]
    pub const fn checkpoint_head(&self) -> peakrdl_rust::reg::Reg<'io, checkpoint_head::CheckpointHead, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xF8).cast(), self.io) }
    }

    /// records
    ///
    /// Records.
    #[inline(always)]
    #[must_use]
    pub const fn records(&self) -> peakrdl_rust::reg::Reg<'io, records::RoR_desc_62ae8653, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x100).cast(), self.io) }
    }

    /// verdicts
    ///
    /// Determinations.
    #[inline(always)]
    #[must_use]
    pub const fn verdicts(&self) -> peakrdl_rust::reg::Reg<'io, verdicts::RoR_desc_a6f78cc0, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x104).cast(), self.io) }
    }

    /// admits
    ///
    /// Admits.
    #[inline(always)]
    #[must_use]
    pub const fn admits(&self) -> peakrdl_rust::reg::Reg<'io, admits::RoR_desc_7c9829ac, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x108).cast(), self.io) }
    }

    /// rejects
    ///
    /// Rejects.
    #[inline(always)]
    #[must_use]
    pub const fn rejects(&self) -> peakrdl_rust::reg::Reg<'io, rejects::RoR_desc_92141acb, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x10C).cast(), self.io) }
    }

    /// decomposes
    ///
    /// Decomposes.
    #[inline(always)]
    #[must_use]
    pub const fn decomposes(&self) -> peakrdl_rust::reg::Reg<'io, decomposes::RoR_desc_81349e4c, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x110).cast(), self.io) }
    }

    /// refused
    ///
    /// Entries refused with a fault.
    #[inline(always)]
    #[must_use]
    pub const fn refused(&self) -> peakrdl_rust::reg::Reg<'io, refused::RoR_desc_325d3e02, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x114).cast(), self.io) }
    }

    /// open_streams
    ///
    /// Streams that the records so far began and did not end.
    #[inline(always)]
    #[must_use]
    pub const fn open_streams(&self) -> peakrdl_rust::reg::Reg<'io, open_streams::RoR_desc_7e8c4993, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x118).cast(), self.io) }
    }

    /// busy_clocks_lo
    ///
    /// Clocks in which a bank swept, low half.
    #[inline(always)]
    #[must_use]
    pub const fn busy_clocks_lo(&self) -> peakrdl_rust::reg::Reg<'io, busy_clocks_lo::RoR_desc_86b42606, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x11C).cast(), self.io) }
    }

    /// busy_clocks_hi
    ///
    /// High half.
    #[inline(always)]
    #[must_use]
    pub const fn busy_clocks_hi(&self) -> peakrdl_rust::reg::Reg<'io, busy_clocks_hi::RoR_desc_b9689d12, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x120).cast(), self.io) }
    }

    /// public_key
    ///
    /// SLH-DSA-SHA2-128f public key, PK.seed then PK.root (FIPS 205, figure 16), first byte lowest. 0 until it is made, and while capability `signer` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn public_key(&self) -> [peakrdl_rust::reg::Reg<'io, public_key::RoR_desc_bd535d95, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, public_key::RoR_desc_bd535d95, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x130 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// design_id
    ///
    /// Design of the card, first byte lowest.
    #[inline(always)]
    #[must_use]
    pub const fn design_id(&self) -> [peakrdl_rust::reg::Reg<'io, design_id::RoR_desc_cf60d431, IO>; 4] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 4];

        let mut i0 = 0;
        while i0 < 4 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, design_id::RoR_desc_cf60d431, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x150 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// boot_nonce
    ///
    /// Drawn by the card after reset; 0 where it has no randomness.
    #[inline(always)]
    #[must_use]
    pub const fn boot_nonce(&self) -> [peakrdl_rust::reg::Reg<'io, boot_nonce::RoR_desc_bf766848, IO>; 4] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 4];

        let mut i0 = 0;
        while i0 < 4 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, boot_nonce::RoR_desc_bf766848, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x160 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// text_tables_lo
    ///
    /// Device address of the encoded tables of the text lane, low half; 64-byte aligned. OPEN reads them if the image has a text part.
    #[inline(always)]
    #[must_use]
    pub const fn text_tables_lo(&self) -> peakrdl_rust::reg::Reg<'io, text_tables_lo::CfgR_desc_996c3a34, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x170).cast(), self.io) }
    }

    /// text_tables_hi
    ///
    /// High half.
    #[inline(always)]
    #[must_use]
    pub const fn text_tables_hi(&self) -> peakrdl_rust::reg::Reg<'io, text_tables_hi::CfgR_desc_b9689d12, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x174).cast(), self.io) }
    }

    /// text_stride
    ///
    /// log2 of the bytes of a slot's text window, 11 to 17. The window of slot s starts at byte s * 2^log2 of the blocks.
    #[inline(always)]
    #[must_use]
    pub const fn text_stride(&self) -> peakrdl_rust::reg::Reg<'io, text_stride::TextStride, IO> {
        unsafe { peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x178).cast(), self.io) }
    }

    /// lane
    #[inline(always)]
    #[must_use]
    pub const fn lane(&self) -> [lane::LaneRf<'io, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                lane::LaneRf::<IO>::from_ptr_with(self.ptr.wrapping_byte_add(0x1000 + i0 * 0x100).cast(), self.io)
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// Text blocks
    ///
    /// Device addresses of the 2 MiB blocks of text windows, 4 KiB aligned: block b at 8 * b, low half first.
    #[inline(always)]
    #[must_use]
    pub const fn text_blocks(&self) -> text_blocks::TextBlocks<'io, IO> {
        unsafe { text_blocks::TextBlocks::from_ptr_with(self.ptr.wrapping_byte_add(0x2000).cast(), self.io) }
    }

    /// Image header
    ///
    /// The 32 words of the image header, then the 16 words of its text part.
    #[inline(always)]
    #[must_use]
    pub const fn header(&self) -> header::Header<'io, IO> {
        unsafe { header::Header::from_ptr_with(self.ptr.wrapping_byte_add(0x1_0000).cast(), self.io) }
    }

    /// Policy bank
    ///
    /// Row r at 256 * r, 48 words each, in order; the word at 188 completes a row.
    #[inline(always)]
    #[must_use]
    pub const fn policy_bank(&self) -> policy_bank::PolicyBank<'io, IO> {
        unsafe { policy_bank::PolicyBank::from_ptr_with(self.ptr.wrapping_byte_add(0x4_0000).cast(), self.io) }
    }

    /// Entropy bank
    ///
    /// Laid out as the policy bank.
    #[inline(always)]
    #[must_use]
    pub const fn entropy_bank(&self) -> entropy_bank::EntropyBank<'io, IO> {
        unsafe { entropy_bank::EntropyBank::from_ptr_with(self.ptr.wrapping_byte_add(0x8_0000).cast(), self.io) }
    }
}
