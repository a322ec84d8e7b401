//! Social security numbers: nine digits. Area not 000 or 666 and below 900, group not 00, serial not 0000.

use super::CheckState;

/// Number of digits so far. The other bits describe the current part: area, group or serial.
const DIGITS: CheckState = 0xf;
/// All digits of the current part so far are zeros.
const ZERO: CheckState = 0x10;
/// All digits of the area so far are sixes.
const SIX: CheckState = 0x20;

pub(super) fn step(state: CheckState, byte: u8) -> Option<CheckState> {
    if !byte.is_ascii_digit() {
        return Some(state);
    }
    let count = state & DIGITS;
    let first = matches!(count, 0 | 3 | 5);
    let zero = byte == b'0' && (first || state & ZERO != 0);
    let six = byte == b'6' && (count == 0 || (count < 3 && state & SIX != 0));
    let last = matches!(count, 2 | 4 | 8);
    if count == 9 || (count == 0 && byte == b'9') || (last && zero) || (count == 2 && six) {
        return None;
    }
    // The flags are not needed after the last digit of a part.
    let open = !last;
    let kept = if zero && open { ZERO } else { 0 } | if six && open { SIX } else { 0 };
    Some((count + 1) | kept)
}

pub(super) const fn accepts(state: CheckState) -> bool {
    state & DIGITS == 9
}
