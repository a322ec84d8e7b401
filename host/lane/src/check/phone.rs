//! Telephone numbers: 7 to 15 digits; with a trunk 0 at least 9, with an international prefix 00 at least 11. A number
//! without a distinctive form must be a whole run of digits: no other digit is next to it, even after one mark.
//!
//! The check accepts some texts that the mapping refuses: dates, years, round numbers and a repeated digit.

use super::{CheckState, FormCheckResult};

/// Number of digits so far, at most 15.
const COUNT: CheckState = 0xf;

/// The kind of the number's first digits, in bits 4 to 6.
const LEAD: u32 = 4;
const OPEN: CheckState = 0;
const ZERO: CheckState = 1;
const TRUNK: CheckState = 2;
const ABROAD: CheckState = 3;
const USUAL: CheckState = 4;

/// Whether digits precede the number.
const JOINED: CheckState = 1 << 7;
/// Whether an extension is being read.
const EXTENSION: CheckState = 1 << 8;

/// Sizes of the groups so far, in bits 9 to 12, and size of the current group, in bits 13 to 15.
const SIZES: u32 = 9;
const SIZE: u32 = 13;
/// The sizes of the groups are those of a complete distinctive form.
const FORM: CheckState = 8;
/// The first byte, `+` or `(`, makes the form distinctive.
const STANDS_OUT: CheckState = 9;
/// The number does not have a distinctive form.
const PLAIN: CheckState = 10;

/// Whether a mark was read after the match.
const MARK_BEHIND: CheckState = 1 << 16;

/// Distinctive forms have groups of sizes `[3, 3, 4]`, `[1 or 3, 3, 3, 4]` or `[6, 4]`. For each state: the possible
/// sizes of the next group, each with the state after that group.
const FORMS: [&[(CheckState, CheckState)]; 8] =
    [&[(1, 4), (3, 1), (6, 7)], &[(3, 2)], &[(3, 3)], &[], &[(3, 5)], &[(3, 6)], &[], &[]];
/// States in which a group of four digits completes a form.
const LAST: [CheckState; 4] = [2, 3, 6, 7];

pub(super) const fn start(joined: bool) -> CheckState {
    if joined { JOINED } else { 0 }
}

/// `sizes` and `size` after one more byte; `digit` is whether the byte is a digit.
fn grouped(sizes: CheckState, size: CheckState, digit: bool) -> (CheckState, CheckState) {
    let next = || FORMS.get(sizes as usize).copied().unwrap_or_default();
    match (digit, size) {
        _ if sizes == PLAIN || sizes == STANDS_OUT => (sizes, 0),
        (true, _) => {
            let longest = next().iter().map(|(size, _)| *size).max().unwrap_or(0);
            let longest = if LAST.contains(&sizes) { 4 } else { longest };
            if size < longest { (sizes, size + 1) } else { (PLAIN, 0) }
        }
        (false, 0) => (sizes, 0),
        (false, _) => match next().iter().find(|(group, _)| *group == size) {
            Some((_, then)) => (*then, 0),
            None if size == 4 && LAST.contains(&sizes) => (FORM, 0),
            None => (PLAIN, 0),
        },
    }
}

pub(super) fn step(state: CheckState, byte: u8) -> Option<CheckState> {
    if state & EXTENSION != 0 {
        return Some(state);
    }
    let (count, lead, joined) = (state & COUNT, state >> LEAD & 7, state & JOINED);
    let (sizes, size) = (state >> SIZES & 15, state >> SIZE & 7);
    if matches!(byte, b'x' | b'X') {
        let form = if stands_out(state) { STANDS_OUT } else { PLAIN };
        let read = COUNT | USUAL << LEAD | joined | EXTENSION | form << SIZES;
        return is_long_enough(state).then_some(read).filter(|state| joined == 0 || stands_out(*state));
    }
    let first = lead == OPEN && count == 0 && sizes == 0;
    let (sizes, size) = match byte {
        b'+' | b'(' if first => (STANDS_OUT, 0),
        _ => grouped(sizes, size, byte.is_ascii_digit()),
    };
    let lead = match (lead, byte) {
        (OPEN, b'(') => OPEN,
        (OPEN, b'0') => ZERO,
        (ZERO, b'0') => ABROAD,
        (ZERO, _) => TRUNK,
        (OPEN, _) => USUAL,
        _ => lead,
    };
    let count = count + CheckState::from(byte.is_ascii_digit());
    // A number next to other digits needs a distinctive form; this number cannot get one any more.
    let over = count > COUNT || (joined != 0 && sizes == PLAIN);
    (!over).then_some(count | lead << LEAD | joined | sizes << SIZES | size << SIZE)
}

fn stands_out(state: CheckState) -> bool {
    let (sizes, size) = (state >> SIZES & 15, state >> SIZE & 7);
    sizes == STANDS_OUT || sizes == FORM || (size == 4 && LAST.contains(&sizes))
}

fn is_long_enough(state: CheckState) -> bool {
    let shortest = match state >> LEAD & 7 {
        ABROAD => 11,
        ZERO | TRUNK => 9,
        _ => 7,
    };
    state & COUNT >= shortest
}

pub(super) fn ends(state: CheckState, next: Option<u8>) -> FormCheckResult {
    let digit = next.is_some_and(|byte| byte.is_ascii_digit());
    if state == MARK_BEHIND {
        return if digit { FormCheckResult::Refused } else { FormCheckResult::Accepted };
    }
    if !is_long_enough(state) {
        return FormCheckResult::Refused;
    }
    match next {
        _ if stands_out(state) => FormCheckResult::Accepted,
        _ if digit || state & JOINED != 0 => FormCheckResult::Refused,
        Some(b' ' | b'-' | b'.' | b'/') => FormCheckResult::Open(MARK_BEHIND),
        _ => FormCheckResult::Accepted,
    }
}
