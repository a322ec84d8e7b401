//! The lane of a stream slot.

/// The lane of `slot` on a card with `lanes` lanes: slot modulo lanes. `None` for zero lanes, which only a damaged
/// record contains.
#[must_use]
pub const fn lane_of(slot: u16, lanes: u8) -> Option<u8> {
    // The remainder is below `lanes`, so it fits `u8`.
    if lanes == 0 { None } else { Some((slot % lanes as u16) as u8) }
}

#[cfg(test)]
mod tests {
    use super::lane_of;

    #[test]
    fn slots_are_dealt_in_turn() {
        assert_eq!((0..6).map(|slot| lane_of(slot, 4)).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1].map(Some));
        assert_eq!(lane_of(u16::MAX, u8::MAX), Some(0));
        assert_eq!(lane_of(7, 1), Some(0));
        assert_eq!(lane_of(7, 0), None);
    }
}
