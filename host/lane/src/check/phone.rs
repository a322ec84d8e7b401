//! Telephone numbers: 7 to 15 digits, more behind a trunk 0; one that is joined to digits before it must have a form that
//! stands out.
//!
//! More is accepted than the mapping does: dates, years, round figures, one repeated digit, and digits that are joined
//! behind.

use super::CheckState;

/// Digits that were read, at most 15.
const COUNT: CheckState = 0xf;

/// How the number begins, in bits 4 to 6.
const LEAD: u32 = 4;
const OPEN: CheckState = 0;
const ZERO: CheckState = 1;
const TRUNK: CheckState = 2;
const ABROAD: CheckState = 3;
const USUAL: CheckState = 4;

/// It need not stand out, or does.
const FREE: CheckState = 1 << 7;
/// An extension is read.
const EXTENSION: CheckState = 1 << 8;

/// Sizes of the groups so far, in bits 9 to 12, and of the group that is read, in bits 13 to 15.
const SIZES: u32 = 9;
const SIZE: u32 = 13;
/// No form that stands out.
const PLAIN: CheckState = 8;

/// Sizes of the groups that stand out, as far as they were read: `[3, 3, 4]`, `[1 or 3, 3, 3, 4]`, `[6, 4]`. For each,
/// the group that may follow and what is read with it.
const FORMS: [&[(CheckState, CheckState)]; 8] =
    [&[(1, 4), (3, 1), (6, 7)], &[(3, 2)], &[(3, 3)], &[], &[(3, 5)], &[(3, 6)], &[], &[]];
/// Those behind which a group of four digits is the last.
const LAST: [CheckState; 4] = [2, 3, 6, 7];

pub(super) const fn start(joined: bool) -> CheckState {
    OPEN << LEAD | if joined { 0 } else { FREE }
}

pub(super) fn step(state: CheckState, byte: u8) -> Option<CheckState> {
    if state & EXTENSION != 0 {
        return Some(state);
    }
    let (count, mut lead, mut free) = (state & COUNT, state >> LEAD & 7, state & FREE != 0);
    if lead == OPEN && count == 0 && matches!(byte, b'+' | b'(') {
        free = true;
    }
    if matches!(byte, b'x' | b'X') {
        return accepts(state).then_some(COUNT | USUAL << LEAD | EXTENSION | FREE);
    }
    lead = match (lead, byte) {
        (OPEN, b'(') => OPEN,
        (OPEN, b'0') => ZERO,
        (ZERO, b'0') => ABROAD,
        (ZERO, _) => TRUNK,
        (OPEN, _) => USUAL,
        _ => lead,
    };
    let digit = byte.is_ascii_digit();
    let count = count + CheckState::from(digit);
    if count > COUNT {
        return None;
    }
    if free {
        return Some(count | lead << LEAD | FREE);
    }
    let (mut sizes, mut size) = (state >> SIZES & 15, state >> SIZE & 7);
    if digit {
        size += 1;
        let most = FORMS.get(sizes as usize).and_then(|next| next.iter().map(|(size, _)| *size).max()).unwrap_or(0);
        let most = if LAST.contains(&sizes) { 4 } else { most };
        if size > most {
            return None;
        }
    } else if size > 0 {
        let next = FORMS.get(sizes as usize).and_then(|next| next.iter().find(|(group, _)| *group == size));
        // Behind the last group stands nothing but marks.
        sizes = match next {
            Some((_, then)) => *then,
            None if size == 4 && LAST.contains(&sizes) => PLAIN,
            None => return None,
        };
        size = 0;
    }
    Some(count | lead << LEAD | sizes << SIZES | size << SIZE)
}

pub(super) fn accepts(state: CheckState) -> bool {
    let (count, lead, sizes, size) = (state & COUNT, state >> LEAD & 7, state >> SIZES & 15, state >> SIZE & 7);
    let shortest = match lead {
        ABROAD => 11,
        ZERO | TRUNK => 9,
        _ => 7,
    };
    let stands_out = state & FREE != 0 || (size == 4 && LAST.contains(&sizes)) || (sizes == PLAIN && size == 0);
    count >= shortest && stands_out
}
