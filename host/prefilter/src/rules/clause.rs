//! Finds beginnings and ends of clauses, by marks and line ends only.

/// Whether a clause begins at a place: only spaces and opening marks separate the place from the start of the input,
/// the end of a line, or a mark that ends a clause.
pub(super) fn begins_clause(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    if before.last().is_some_and(|b| is_quote(*b)) {
        return true;
    }
    let skipped = before.iter().rev().take_while(|b| is_beside(**b)).count();
    let before = before.get(..before.len() - skipped).unwrap_or_default();
    let Some(last) = before.last() else { return true };
    // A mark inside a word does not end a clause: "e-mail", "don't".
    matches!(last, b'\n' | b'\r') || (skipped > 0 && is_mark(*last)) || ends_with_wide_mark(before)
}

/// Whether a clause ends at a place.
pub(super) fn ends_clause(bytes: &[u8], at: usize) -> bool {
    let after = bytes.get(at..).unwrap_or_default();
    if after.first().is_some_and(|b| is_quote(*b)) {
        return true;
    }
    let skipped = after.iter().take_while(|b| is_beside(**b)).count();
    let after = after.get(skipped..).unwrap_or_default();
    after.first().is_none_or(|b| matches!(b, b'\n' | b'\r') || is_mark(*b)) || begins_with_wide_mark(after)
}

/// Spaces, and marks around words that do not end a clause: quotation marks, brackets, emphasis, bullets.
const fn is_beside(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'"'
            | b'\''
            | b'`'
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'*'
            | b'_'
            | b'#'
            | b'>'
            | b'<'
            | b'|'
            | b'='
            | b'~'
    )
}

/// Marks directly beside a word that begin or end a quotation.
const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'`')
}

const fn is_mark(byte: u8) -> bool {
    matches!(byte, b'.' | b'!' | b'?' | b':' | b';' | b',' | b'-' | b'/')
}

/// General punctuation U+2010 to U+203A (dashes, quotation marks, the ellipsis), East Asian marks U+3001 to U+3011,
/// full-width marks, the danda, Arabic marks, guillemets, and the inverted marks of Spanish.
const fn is_wide_mark(character: &[u8]) -> bool {
    matches!(
        character,
        [0xe2, 0x80, 0x90..=0xba]
            | [0xe3, 0x80, 0x81..=0x91]
            | [0xef, 0xbc, 0x81 | 0x8c | 0x8e | 0x9a | 0x9b | 0x9f]
            | [0xe0, 0xa5, 0xa4 | 0xa5]
    )
}

const fn is_narrow_mark(character: &[u8]) -> bool {
    matches!(character, [0xd8, 0x8c | 0x9b | 0x9f] | [0xc2, 0xab | 0xbb | 0xa1 | 0xbf])
}

fn ends_with_wide_mark(bytes: &[u8]) -> bool {
    bytes.last_chunk::<3>().is_some_and(|c| is_wide_mark(c))
        || bytes.last_chunk::<2>().is_some_and(|c| is_narrow_mark(c))
}

fn begins_with_wide_mark(bytes: &[u8]) -> bool {
    bytes.first_chunk::<3>().is_some_and(|c| is_wide_mark(c))
        || bytes.first_chunk::<2>().is_some_and(|c| is_narrow_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_begin_and_end_at_marks_and_line_ends() {
        for (text, begins, ends) in [
            ("x", true, true),
            ("a. x, b", true, true),
            ("a x b", false, false),
            ("a\n- **x**\nb", true, true),
            ("\u{201c}x\u{201d} b", true, true),
            ("a\u{3002}x\u{3001}b", true, true),
            ("\u{bf}x\u{61f}", true, true),
            ("e-x", false, true),
            ("a (x) b", false, false),
            ("a \"x\" b", true, true),
        ] {
            let at = text.find('x').unwrap();
            assert_eq!(
                (begins_clause(text.as_bytes(), at), ends_clause(text.as_bytes(), at + 1)),
                (begins, ends),
                "{text:?}"
            );
        }
    }
}
