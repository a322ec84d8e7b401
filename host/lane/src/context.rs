//! What an automaton must know of the bytes before a place: as few bits as its looks, borders and checks ask for.

use regex_automata::util::look::{Look, LookSet};

/// Facts about the bytes before a place.
pub(crate) type Context = u8;

/// Nothing stands before.
pub(crate) const START: Context = 1;
/// A digit.
pub(crate) const DIGIT: Context = 2;
/// A letter or digit of ASCII.
pub(crate) const ALNUM: Context = 4;
/// One of them, or an underscore.
pub(crate) const WORD: Context = 8;
/// A line feed.
pub(crate) const LINE: Context = 16;
/// A digit, or a space, dash, full stop or slash behind one.
pub(crate) const JOINT: Context = 32;

/// The facts after one more byte, of those in `needs`.
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
    facts & needs
}

/// Bytes of one kind give the same facts.
pub(crate) const fn kind(byte: u8, needs: Context) -> u8 {
    let mark = needs & JOINT != 0 && matches!(byte, b' ' | b'-' | b'.' | b'/');
    after(0, byte, needs) | if mark { 128 } else { 0 }
}

/// The facts that these looks ask for.
pub(crate) fn of_looks(looks: LookSet) -> Context {
    let mut needs = 0;
    for look in looks.iter() {
        needs |= match look {
            Look::Start => START,
            Look::StartLF | Look::StartCRLF => START | LINE,
            // What comes next is distinguished as what came before is.
            Look::EndLF | Look::EndCRLF => LINE,
            Look::End => 0,
            _ => WORD,
        };
    }
    needs
}

/// The facts closed under what decides them later.
pub(crate) const fn closed(needs: Context) -> Context {
    if needs & JOINT != 0 { needs | DIGIT } else { needs }
}

/// Whether a look holds between what stands before and the byte `next`, or the end of the text. One that asks for
/// Unicode is taken to hold: then more is found.
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

/// Whether a look is one of those that [`holds`] takes to hold.
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
