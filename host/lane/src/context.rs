//! The facts about earlier bytes on which look-arounds (such as `\b`), borders and checks depend.

use regex_automata::util::look::{Look, LookSet};

/// Facts about the bytes before a place in the text, as bits.
pub(crate) type Context = u8;

/// The place is the start of the text.
pub(crate) const START: Context = 1;
/// The byte before is a digit.
pub(crate) const DIGIT: Context = 2;
/// The byte before is an ASCII letter or digit.
pub(crate) const ALNUM: Context = 4;
/// The byte before is an ASCII letter or digit, or an underscore.
pub(crate) const WORD: Context = 8;
/// The byte before is a line feed.
pub(crate) const LINE: Context = 16;
/// The byte before is a digit, or a space, dash, full stop or slash after a digit.
pub(crate) const JOINT: Context = 32;
/// The byte before may stand in the user name of an e-mail address, see [`is_user`].
pub(crate) const USER: Context = 64;

/// The facts after one more byte, restricted to the facts in `needs`.
pub(crate) const fn after(before: Context, byte: u8, needs: Context) -> Context {
    let digit = byte.is_ascii_digit();
    let joint = digit || (before & DIGIT != 0 && matches!(byte, b' ' | b'-' | b'.' | b'/'));
    let mut facts = 0;
    if digit {
        facts |= DIGIT;
    }
    if byte.is_ascii_alphanumeric() {
        facts |= ALNUM;
    }
    if byte.is_ascii_alphanumeric() || byte == b'_' {
        facts |= WORD;
    }
    if byte == b'\n' {
        facts |= LINE;
    }
    if joint {
        facts |= JOINT;
    }
    if is_user(byte) {
        facts |= USER;
    }
    facts & needs
}

/// Whether a byte belongs to a user name. The mapping divides the local part of an address at other characters.
pub(crate) const fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+') || !byte.is_ascii()
}

/// Groups the bytes: two bytes with the same result lead [`after`] to the same facts.
pub(crate) const fn kind(byte: u8, needs: Context) -> u8 {
    let mark = needs & JOINT != 0 && matches!(byte, b' ' | b'-' | b'.' | b'/');
    after(0, byte, needs) | if mark { 128 } else { 0 }
}

/// The facts that these look-arounds need.
pub(crate) fn of_looks(looks: LookSet) -> Context {
    let mut needs = 0;
    for look in looks.iter() {
        needs |= match look {
            Look::Start => START,
            Look::StartLF | Look::StartCRLF => START | LINE,
            // A look-around at the next byte distinguishes the same bytes as a look-around at the previous byte.
            Look::EndLF | Look::EndCRLF => LINE,
            Look::End => 0,
            _ => WORD,
        };
    }
    needs
}

/// Adds the facts from which these facts are computed at the next byte.
pub(crate) const fn closed(needs: Context) -> Context {
    if needs & JOINT != 0 { needs | DIGIT } else { needs }
}

/// Whether a look-around holds between `before` and the byte `next`; `None` is the end of the text. A look-around that
/// depends on Unicode counts as holding, so that the lane misses nothing.
pub(crate) fn holds(look: Look, before: Context, next: Option<u8>) -> bool {
    let word = before & WORD != 0;
    let then = next.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match look {
        Look::Start => before & START != 0,
        Look::StartLF => before & (START | LINE) != 0,
        Look::End => next.is_none(),
        Look::EndLF => matches!(next, None | Some(b'\n')),
        Look::WordAscii => word != then,
        Look::WordAsciiNegate => word == then,
        Look::WordStartAscii => !word && then,
        Look::WordEndAscii => word && !then,
        Look::WordStartHalfAscii => !word,
        Look::WordEndHalfAscii => !then,
        _ => true,
    }
}

/// Whether [`holds`] counts a look-around as holding without evaluating it.
pub(crate) fn is_taken(look: Look) -> bool {
    let known = [
        Look::Start,
        Look::StartLF,
        Look::End,
        Look::EndLF,
        Look::WordAscii,
        Look::WordAsciiNegate,
        Look::WordStartAscii,
        Look::WordEndAscii,
        Look::WordStartHalfAscii,
        Look::WordEndHalfAscii,
    ];
    !known.contains(&look)
}
