//! Words: maximal runs of letters and digits, with an apostrophe or hyphen inside.
//!
//! ASCII bytes are classified by a table, other characters by `char::is_alphanumeric`, so the common case costs one
//! look-up per byte.

use std::borrow::Cow;
use std::ops::Range;

/// For each byte value, whether the byte belongs to an ASCII word.
#[expect(clippy::indexing_slicing, reason = "worked out by the compiler, which stops at an index out of range")]
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// Whether a byte is part of an ASCII word.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    WORD.get(usize::from(byte)).copied().unwrap_or(false)
}

/// Byte ranges of the words of `text`, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = loop {
            at = find(bytes, at, |byte| is_word_byte(byte) || !byte.is_ascii())?;
            if starts_word(text, at) {
                break at;
            }
            at += bytes.get(at).copied().map_or(1, width);
        };
        loop {
            at = find(bytes, at, |byte| !is_word_byte(byte)).unwrap_or(bytes.len());
            match bytes.get(at) {
                Some(b'\'' | b'-') if starts_word(text, at + 1) => at += 1,
                Some(byte) if !byte.is_ascii() && starts_word(text, at) => at += width(*byte),
                _ => return Some(start..at),
            }
        }
    })
}

/// The first index at or after `at` whose byte satisfies `is_one`; `None` if there is none.
pub(crate) fn find(bytes: &[u8], at: usize, is_one: impl Fn(u8) -> bool) -> Option<usize> {
    Some(at + bytes.get(at..)?.iter().position(|byte| is_one(*byte))?)
}

/// Length of the character that begins with `lead` (RFC 3629).
const fn width(lead: u8) -> usize {
    match lead {
        0..=0xbf => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

fn starts_word(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at) {
        Some(b) if b.is_ascii() => is_word_byte(*b),
        _ => text.get(at..).and_then(|t| t.chars().next()).is_some_and(char::is_alphanumeric),
    }
}

/// Whether `at` is a word boundary, that is, not between two letters or digits.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|t| t.chars().next_back());
    let after = text.get(at..).and_then(|t| t.chars().next());
    !(before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric))
}

/// Whether `at` is a border of a word, or of a word of a name. Names of fields are divided at capitals, digits and
/// marks: `homePhone2`, `userSSN`, `SSNValue`, `PHONE_NUMBER`.
pub(crate) fn is_name_border(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at_checked(at).unwrap_or_default();
    let (mut last, mut next) = (before.chars().rev(), after.chars());
    let (Some(before), Some(after)) = (last.next(), next.next()) else { return true };
    if !before.is_alphabetic() || !after.is_alphabetic() {
        return true;
    }
    // A small letter alone before a capital belongs to the word, as in the names of products.
    let alone = last.next().is_none_or(|c| !c.is_alphabetic());
    let begins = next.next().is_some_and(char::is_lowercase);
    after.is_uppercase() && (before.is_lowercase() && !alone || before.is_uppercase() && begins)
}

/// As [`is_name_border`], or beside a character of a script without spaces between words.
pub(crate) fn is_label_border(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at_checked(at).unwrap_or_default();
    before.ends_with(is_unspaced) || after.starts_with(is_unspaced) || is_name_border(text, at)
}

/// Whether a character is of a script that is written without spaces, or that joins endings to foreign words: of South
/// East Asia, Chinese, Japanese or Korean.
pub(crate) const fn is_unspaced(c: char) -> bool {
    let east = matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}');
    let south = matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}');
    east || south || matches!(c, '\u{20000}'..='\u{3FFFF}')
}

/// The phrases of `near`, as names of fields and other scripts write them. A name joins the words of a phrase:
/// `socialSecurity`, `social_security`, `social-security`, `social.security`. Letters that are not ASCII are written
/// small, as capitals, or as capitals at the beginnings of words; the case of ASCII letters does not matter.
pub(crate) fn names(phrases: &[String]) -> Vec<String> {
    let mut forms = std::collections::BTreeSet::new();
    for phrase in phrases {
        let words: Vec<String> = phrase.split(' ').map(str::to_lowercase).collect();
        let first = words.first().into_iter().cloned();
        let sentence = first.clone().map(|word| capital(&word)).chain(words.iter().skip(1).cloned());
        let camel = first.chain(words.iter().skip(1).map(|word| capital(word)));
        let cases = [
            camel.collect(),
            sentence.collect(),
            words.iter().map(|word| word.to_uppercase()).collect(),
            words.iter().map(|word| capital(word)).collect::<Vec<_>>(),
            words,
        ];
        let joined = cases.iter().flat_map(|words| [" ", "", "_", "-", "."].map(|mark| words.join(mark)));
        forms.extend(joined.chain([phrase.clone()]).map(|form| form.to_ascii_lowercase()));
    }
    forms.into_iter().collect()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// A word in lower case; borrowed if it has no upper-case letter.
pub(crate) fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) { word.into() } else { word.to_lowercase().into() }
}

/// Whether a text contains a phrase at the borders of words.
pub(crate) fn find_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| is_boundary(text, at) && is_boundary(text, at + phrase.len()))
}

/// A text with a space for each byte of its addresses (`https://…`): they lead somewhere, and state nothing.
pub(crate) fn without_addresses(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut at = 0;
    for (mark, _) in text.match_indices("://").filter(|(mark, _)| *mark > 0) {
        let (Some(before), Some(after)) = (text.get(at..mark), text.get(mark..)) else { continue };
        let scheme = before.len() - before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '+').len();
        let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|' | ')' | ']' | '}');
        if scheme > 0 {
            let end = mark + after.find(ends).unwrap_or(after.len());
            shown.push_str(text.get(at..mark - scheme).unwrap_or_default());
            shown.extend(std::iter::repeat_n(' ', end - mark + scheme));
            at = end;
        }
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_state_nothing() {
        for (text, shown) in [
            ("See https://a.example/7?b=8.", "See                         "),
            ("(see [12](http://a.example/12)) now", "(see [12](                   )) now"),
            ("<ftp://ä.example> <x", "<                > <x"),
            ("a :// b://c d://", "a ://           "),
            ("://a", "://a"),
            ("1 / 2: 3", "1 / 2: 3"),
        ] {
            assert_eq!(without_addresses(text), shown, "{text}");
            assert_eq!(without_addresses(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn words_of_mixed_text() {
        let text = "It's a well-known façade—naïve? ok' -x";
        let got: Vec<_> = words(text).map(|r| &text[r]).collect();
        assert_eq!(got, ["It's", "a", "well-known", "façade", "naïve", "ok", "x"]);
        assert!(is_boundary("ab c", 2) && !is_boundary("ab", 1) && is_boundary("é", 0) && !is_boundary("éa", 2));
    }

    #[test]
    fn borders_in_names() {
        let divided = |name: &str| -> String {
            let border = |at: usize| at > 0 && is_name_border(name, at);
            name.char_indices().flat_map(|(at, c)| border(at).then_some('|').into_iter().chain([c])).collect()
        };
        for (name, words) in [
            ("phoneNumber", "phone|Number"),
            ("userSSN", "user|SSN"),
            ("SSNValue", "SSN|Value"),
            ("homePhone2", "home|Phone|2"),
            ("PHONE_NUMBER", "PHONE|_|NUMBER"),
            ("customer-phone", "customer|-|phone"),
            ("telephone", "telephone"),
            ("TELEPHONE", "TELEPHONE"),
            ("iPhone", "iPhone"),
            ("größeÄndern", "größe|Ändern"),
            ("номерТелефона", "номер|Телефона"),
            ("αριθμόςΤηλεφώνου", "αριθμός|Τηλεφώνου"),
            ("电话号码", "电话号码"),
        ] {
            assert_eq!(divided(name), words);
        }
    }

    #[test]
    fn forms_of_names() {
        let of = |phrase: &str| names(&[phrase.to_owned()]);
        assert_eq!(of("ssn"), ["ssn"]);
        let two = ["social security", "social-security", "social.security", "social_security", "socialsecurity"];
        assert_eq!(of("social security"), two);
        assert_eq!(of("Türöffner"), ["tÜrÖffner", "türöffner"]);
        let russian = of("номер телефона");
        for form in ["номерТелефона", "номер_телефона", "НОМЕР_ТЕЛЕФОНА", "Номер телефона", "НомерТелефона"]
        {
            assert!(russian.iter().any(|name| name == form), "{form}: {russian:?}");
        }
    }
}
