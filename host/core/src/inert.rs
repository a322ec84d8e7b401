//! Formatting: the closed list of characters that may be released without a verdict of their own.
//!
//! The mapping holds formatting back as the prefix of the next span. END commits to the formatting that is left at the
//! end of a stream. No rule judges it, so the list is closed: any other character belongs to a span. The list does not
//! depend on a version of Unicode.

/// Whether a character is white space, an ASCII mark, or one of the marks of typography on the list.
#[must_use]
pub const fn is_formatting_char(c: char) -> bool {
    matches!(
        c,
        // White space (Unicode's White_Space).
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
        // ASCII marks.
        | '!'..='/' | ':'..='@' | '['..='`' | '{'..='~'
        // Typographic marks: Latin-1 marks, dashes, quotation marks, daggers, bullets, ellipses, angle quotation marks.
        | '\u{a1}' | '\u{ab}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{2010}'..='\u{2015}' | '\u{2018}'..='\u{2022}' | '\u{2026}'
        | '\u{2039}' | '\u{203a}'
        // CJK marks.
        | '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}'
    )
}

/// Whether a text consists of formatting only (the empty text does).
#[must_use]
pub fn is_formatting(text: &str) -> bool {
    text.chars().all(is_formatting_char)
}

/// The formatting at the start of a text: the longest prefix that consists of formatting only.
#[must_use]
pub fn leading_formatting(text: &str) -> &str {
    text.split_once(|c| !is_formatting_char(c)).map_or(text, |(head, _)| head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_closed() {
        assert!(is_formatting("") && is_formatting(" \n\t---\u{2026} \u{201c}**```\u{3002}"));
        // Not formatting: letters, digits, and invisible or control characters that can stand inside words.
        for c in [
            'a', 'Z', '0', 'é', '字', '\u{200b}', '\u{202e}', '\u{2060}', '\u{feff}', '\u{0}', '\u{1b}', '\u{7f}',
            '\u{ad}',
        ] {
            assert!(!is_formatting_char(c), "{c:?}");
        }
        for c in [
            '\u{1f642}',
            '\u{1f1e9}',
            '\u{2800}',
            '\u{28ff}',
            '\u{e0061}',
            '\u{fe0f}',
            '\u{e000}',
            '\u{301}',
            '\u{24b6}',
            '\u{2070}',
            '\u{fffd}',
        ] {
            assert!(!is_formatting_char(c), "{c:?}");
        }
    }

    #[test]
    fn every_white_space_is_on_the_list() {
        let spaces = (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(|c| c.is_whitespace());
        assert!(spaces.clone().all(is_formatting_char) && spaces.count() == 25);
    }

    #[test]
    fn formatting_ends_at_the_first_other_character() {
        assert_eq!(leading_formatting("\n\n- However, "), "\n\n- ");
        assert_eq!(leading_formatting("  "), "  ");
        assert_eq!(leading_formatting("a "), "");
    }
}
