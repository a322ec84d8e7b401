//! Typed access to a card's registers: the generated accessors on top of any [`CardTransport`].

use std::cell::RefCell;

use peakrdl_rust::io::RawRegisterIO;
use peakrdl_rust::reg::RegInt;

use crate::card::CardTransport;
use crate::error::CardError;

pub use portcullis_regs::Card as Registers;
pub use portcullis_regs::components::card::map_version::MapVersion;
pub use portcullis_regs::components::lane_rf::LaneRf as LaneRegisters;

/// A card in the form that the generated accessors need: a pointer is a byte address, counted from null.
pub struct RegisterBus<'a, C: CardTransport + ?Sized>(RefCell<&'a mut C>);

fn word<T: RegInt>(pointer: *const T) -> Result<u32, CardError> {
    let address = u32::try_from(pointer.addr()).map_err(|_| CardError::Address(u32::MAX))?;
    if size_of::<T>() == size_of::<u32>() {
        Ok(address)
    } else {
        Err(CardError::Width { address, bytes: size_of::<T>() })
    }
}

impl<C: CardTransport + ?Sized> RawRegisterIO for RegisterBus<'_, C> {
    type Error = CardError;

    // Neither method dereferences its pointer, so every pointer is sound here.
    unsafe fn try_read<T: RegInt>(&self, pointer: *const T) -> Result<T, CardError> {
        let address = word(pointer)?;
        let value = self.0.borrow_mut().read32(address)?;
        let bytes = value.to_ne_bytes();
        let bytes = bytes.as_slice().try_into().map_err(|_| CardError::Width { address, bytes: size_of::<T>() })?;
        Ok(T::from_ne_bytes(&bytes))
    }

    unsafe fn try_write<T: RegInt>(&self, pointer: *mut T, value: T) -> Result<(), CardError> {
        let address = word(pointer.cast_const())?;
        let bytes = value.to_ne_bytes();
        let bytes = bytes.as_ref().try_into().map_err(|_| CardError::Width { address, bytes: size_of::<T>() })?;
        self.0.borrow_mut().write32(address, u32::from_ne_bytes(bytes))
    }
}

/// Calls `body` with the registers of `card`.
pub fn with<C: CardTransport + ?Sized, R>(
    card: &mut C,
    body: impl FnOnce(Registers<'_, RegisterBus<'_, C>>) -> R,
) -> R {
    let bus = RegisterBus(RefCell::new(card));
    // SAFETY: the pointer is never dereferenced: `RegisterBus` uses it as a number and passes it to the card, which
    // checks it.
    body(unsafe { Registers::from_ptr_with(std::ptr::null_mut(), &bus) })
}

/// Calls `body` with the registers of a lane of `card`. Errors: [`CardError::Lane`] for a lane that the register map
/// does not have, and those of `body`.
pub fn with_lane<C: CardTransport + ?Sized, R>(
    card: &mut C,
    lane: u8,
    body: impl FnOnce(&LaneRegisters<'_, RegisterBus<'_, C>>) -> Result<R, CardError>,
) -> Result<R, CardError> {
    with(card, |r| body(r.lane().get(usize::from(lane)).ok_or(CardError::Lane(lane))?))
}

/// Byte address of the window that holds the addresses of the text blocks.
pub const TEXT_BLOCKS_WINDOW: u32 = 0x2000;
/// Byte address of the image header's window.
pub const HEADER_WINDOW: u32 = 0x1_0000;
/// Byte address of the policy bank's window.
pub const POLICY_WINDOW: u32 = 0x4_0000;
/// Byte address of the entropy bank's window.
pub const ENTROPY_WINDOW: u32 = 0x8_0000;
/// The value of the magic register, from the register map.
#[must_use]
pub fn magic() -> u32 {
    portcullis_regs::components::card::magic::Magic::default().v()
}

/// Version of the register map that this program was built with.
#[must_use]
pub fn map_version() -> MapVersion {
    MapVersion::default()
}

/// The bytes of registers in ascending order: the first byte is the lowest of the first register.
pub(crate) fn bytes_of<const WORDS: usize, const BYTES: usize>(registers: [u32; WORDS]) -> [u8; BYTES] {
    bytemuck::must_cast(registers.map(u32::to_le))
}

/// The reverse of [`bytes_of`].
pub(crate) fn words_of<const BYTES: usize, const WORDS: usize>(bytes: [u8; BYTES]) -> [u32; WORDS] {
    bytemuck::must_cast::<_, [u32; WORDS]>(bytes).map(u32::from_le)
}

/// The value that every read of a lost device returns.
pub const GONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::model::ModelCard;

    #[test]
    fn windows_stand_where_the_map_says() {
        let mut card = ModelCard::new();
        with(&mut card, |r| {
            assert_eq!(r.text_blocks().as_ptr().addr(), TEXT_BLOCKS_WINDOW as usize);
            assert_eq!(r.header().as_ptr().addr(), HEADER_WINDOW as usize);
            assert_eq!(r.policy_bank().as_ptr().addr(), POLICY_WINDOW as usize);
            assert_eq!(r.entropy_bank().as_ptr().addr(), ENTROPY_WINDOW as usize);
        });
    }

    #[test]
    fn registers_hold_bytes_lowest_first() {
        assert_eq!(bytes_of::<2, 8>([0x0403_0201, 0x0807_0605]), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(words_of::<8, 2>([1, 2, 3, 4, 5, 6, 7, 8]), [0x0403_0201, 0x0807_0605]);
    }

    #[test]
    fn accessors_reach_the_card() {
        let mut card = ModelCard::new();
        with(&mut card, |r| {
            assert_eq!(r.magic().try_read().unwrap().v().to_le_bytes(), *b"PCUL");
            r.epoch().try_write(|e| e.set_v(7)).unwrap();
            assert_eq!(r.epoch().try_read().unwrap().v(), 7);
        });
    }
}
