//! Numbers in text: digits with marks, and number words. A number that cannot be read with certainty is reported
//! without a value.

use crate::language::{Language, kind};
use crate::token::WordToken;
use crate::words::{find, lower, words};
use std::ops::Range;

/// A decimal number: `digits` divided by 10 to the power of `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: i128,
    pub(crate) scale: u32,
}

/// The readings of a number as an amount, where the writer may use the marks of another language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// The usual reading; `None` if there is none.
    pub(crate) usual: Option<Decimal>,
    /// A second reading: the decimal mark may separate thousands, as in "8.000".
    pub(crate) grouped: Option<Decimal>,
    /// The reading as money, which has at most two decimals.
    pub(crate) money: Option<Decimal>,
}

impl Amount {
    fn of(value: Decimal) -> Self {
        Self { usual: Some(value), grouped: None, money: Some(value) }
    }

    fn map(self, to: impl Fn(Decimal) -> Option<Decimal>) -> Self {
        let Self { usual, grouped, money } = self;
        Self { usual: usual.and_then(&to), grouped: grouped.and_then(&to), money: money.and_then(&to) }
    }
}

/// A number in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) range: Range<usize>,
    /// The number's value; `None` if the value is not certain.
    pub(crate) value: Option<Decimal>,
    /// What the number can mean as an amount.
    pub(crate) amount: Amount,
    /// Whether a letter stands directly before the number, as in "B12".
    pub(crate) glued: bool,
    /// Whether a mark or word of a range or list joins this number to the number before it; both then share a unit.
    pub(crate) joined: bool,
}

/// Largest number of digits that are read; larger numbers are outside every slot's range.
const DIGITS_MAX: usize = 30;
/// Marks that can only separate groups of thousands: apostrophes and no-break, narrow, thin and figure spaces.
const GROUPING: &[char] = &['\'', '\u{2019}', '\u{a0}', '\u{202f}', '\u{2009}', '\u{2007}'];
/// Marks between the ends of a range or the members of a list.
const JOINING: &[char] = &[
    '-', '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2212}', '~', '/', ',', '+', '\u{b1}',
    '\u{2026}', '&',
];
/// Marks of multiplication. A number next to such a mark has no value, because products are not computed here.
const TIMES: &[&str] = &["x", "×", "*", "·"];
/// Greatest distance in bytes between two parts of a number, or between the ends of a range.
pub(crate) const JOINED_MAX: usize = 24;
/// Words inside a number: "two hundred and ten".
const AND: &[&str] = &["and", "und"];
/// Endings that make a number an ordinal or a decade; such numbers are not amounts.
const ORDINAL_ENDINGS: &[&str] = &["st", "nd", "rd", "th", "s"];

/// The numbers of a text, in order.
pub(crate) fn numbers(text: &str, language: &Language) -> Vec<Number> {
    let words = words(text).filter_map(|range| {
        let word = lower(text.get(range.clone())?);
        amounts(&word, language.kinds(&word), language).map(|amounts| (range, amounts))
    });
    all(text, language, words)
}

/// As [`numbers`], for a text whose words are known.
pub(crate) fn numbers_of(text: &str, language: &Language, tokens: &[WordToken<'_>]) -> Vec<Number> {
    let counts = |token: &&WordToken<'_>| !token.plain || token.is(kind::NUMBER | kind::MULTIPLIER);
    let words = tokens
        .iter()
        .filter(counts)
        .filter_map(|token| amounts(&token.word, token.kinds, language).map(|amounts| (token.range.clone(), amounts)));
    all(text, language, words)
}

/// Stores in each word the number that begins there.
pub(crate) fn number_tokens(tokens: &mut [WordToken<'_>], numbers: &[Number]) {
    let mut next = numbers.iter().enumerate().peekable();
    if numbers.is_empty() {
        return;
    }
    for token in tokens {
        token.number = next.next_if(|(_, n)| n.range.start <= token.range.start).map(|(at, _)| at);
    }
}

fn all(text: &str, language: &Language, words: impl Iterator<Item = (Range<usize>, Vec<WordAmount>)>) -> Vec<Number> {
    let mut found = in_digits(text, language);
    let words = in_words(text, words, &mut found);
    if !words.is_empty() {
        found.extend(words);
        found.sort_by_key(|n| n.range.start);
    }
    join(text, language, &mut found);
    found
}

fn in_digits(text: &str, language: &Language) -> Vec<Number> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = find(bytes, at, |byte| byte.is_ascii_digit() || !byte.is_ascii()) {
        at = start;
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        at += c.len_utf8();
        if !c.is_numeric() {
            continue;
        }
        let mut end = at;
        let mut characters = text.get(at..).unwrap_or_default().chars().peekable();
        while let Some(c) = characters.next() {
            let inner = || matches!(c, '.' | ',') || GROUPING.contains(&c);
            if !(c.is_numeric() || inner() && characters.peek().copied().is_some_and(char::is_numeric)) {
                break;
            }
            end += c.len_utf8();
        }
        at = end;
        let rest = text.get(end..).unwrap_or_default();
        let suffix = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if !ORDINAL_ENDINGS.contains(&&*lower(suffix)) {
            let shown = text.get(start..end).unwrap_or_default();
            let mut before = text.get(..start).unwrap_or_default().chars().rev();
            let (last, first) = (before.next().unwrap_or(' '), before.next().unwrap_or(' '));
            let minus = matches!(last, '-' | '\u{2212}') && !first.is_alphanumeric();
            let signed = |v: Decimal| if minus { Decimal { digits: -v.digits, ..v } } else { v };
            let amount = amount(shown, language).map(|v| Some(signed(v)));
            // "B12" has no value. Before a unit, such a word counts as a number that could not be read.
            let glued = last.is_alphabetic();
            let value = if glued { None } else { value(shown, language).map(signed) };
            found.push(Number { range: start..end, value, amount, glued, joined: false });
        }
    }
    found
}

/// A decimal number; `None` if the text is not a number, or is ambiguous.
fn value(shown: &str, language: &Language) -> Option<Decimal> {
    let (point, comma) = if language.decimal_comma { (',', '.') } else { ('.', ',') };
    let (whole, fraction) = shown.split_once(point).unwrap_or((shown, ""));
    let marks: Vec<char> = whole.chars().filter(|c| !c.is_ascii_digit()).collect();
    let one_kind = marks.windows(2).all(|pair| pair.first() == pair.last());
    let known = marks.iter().all(|m| *m == comma || GROUPING.contains(m));
    let groups: Vec<&str> = whole.split(|c: char| !c.is_ascii_digit()).collect();
    let grouped =
        groups.len() == 1 || (groups.iter().skip(1).all(|g| g.len() == 3) && (1..=3).contains(&groups.first()?.len()));
    let plain = fraction.bytes().all(|b| b.is_ascii_digit());
    if !one_kind || !known || !grouped || !plain || shown.len() > DIGITS_MAX {
        return None;
    }
    let digits = (groups.concat() + fraction).parse().ok()?;
    Some(Decimal { digits, scale: u32::try_from(fraction.len()).ok()? })
}

/// A decimal number with this decimal mark, or a whole number without one; other marks separate thousands.
fn marked(shown: &str, decimal: Option<char>) -> Option<Decimal> {
    let (whole, fraction) = match decimal {
        Some(mark) => shown.split_once(mark)?,
        None => (shown, ""),
    };
    let mut marks = whole.chars().filter(|c| !c.is_ascii_digit());
    let mark = marks.next();
    let known = mark.is_none_or(|m| matches!(m, '.' | ',') || GROUPING.contains(&m)) && marks.all(|m| Some(m) == mark);
    let mut groups = whole.split(|c: char| !c.is_ascii_digit());
    let first = groups.next()?;
    let grouped = mark.is_none() || (1..=3).contains(&first.len()) && !first.starts_with('0');
    let plain = fraction.bytes().all(|b| b.is_ascii_digit()) && decimal.is_some() != fraction.is_empty();
    if !known || !grouped || !plain || shown.len() > DIGITS_MAX || !groups.all(|group| group.len() == 3) {
        return None;
    }
    let digits: String = whole.chars().filter(char::is_ascii_digit).chain(fraction.chars()).collect();
    Some(Decimal { digits: digits.parse().ok()?, scale: u32::try_from(fraction.len()).ok()? })
}

fn amount(shown: &str, language: &Language) -> Amount {
    let whole = marked(shown, None);
    let [point, comma] = ['.', ','].map(|mark| marked(shown, Some(mark)));
    let mut readings = [whole, point, comma].into_iter().flatten();
    let only = readings.next().filter(|_| readings.next().is_none());
    // No thousands begin with 0.
    let usual = if shown.starts_with('0') { only } else { value(shown, language).or(only) };
    let cents = [point, comma].into_iter().flatten().find(|v| matches!(v.scale, 1 | 2));
    Amount { usual, grouped: whole.filter(|v| Some(*v) != usual), money: cents.or(whole).or(usual) }
}

/// The value of a number word, and whether it multiplies the number before it.
type WordAmount = (i128, bool);

/// The value of each part of a word in lower case, up to the first part that is not a number word.
fn amounts(word: &str, kinds: u32, language: &Language) -> Option<Vec<WordAmount>> {
    let counts = kind::NUMBER | kind::MULTIPLIER;
    if kinds & counts == 0 && !word.contains('-') || word.starts_with(|c: char| c.is_numeric()) {
        return None;
    }
    let amount = |part| {
        let kinds = language.kinds(part);
        let value = language.value(part).filter(|_| kinds & counts != 0)?;
        Some((i128::from(value), kinds & kind::MULTIPLIER != 0))
    };
    Some(word.split('-').map_while(amount).collect()).filter(|amounts: &Vec<WordAmount>| !amounts.is_empty())
}

/// Combines number words into numbers: each word is added to the number before it, or multiplies it.
fn in_words(
    text: &str,
    words: impl Iterator<Item = (Range<usize>, Vec<WordAmount>)>,
    digits: &mut [Number],
) -> Vec<Number> {
    let mut found: Vec<Number> = Vec::new();
    for (range, amounts) in words {
        for (amount, times) in amounts {
            let near = |n: &&mut Number| {
                n.range.end <= range.end
                    && (n.range.end > range.start
                        || text
                            .get(n.range.end..range.start)
                            .is_some_and(|gap| gap.len() <= JOINED_MAX && gap.chars().all(char::is_whitespace)))
            };
            let before = found.last_mut().filter(near);
            // Only the last number before the word can be near it.
            let last = digits.partition_point(|n| n.range.end <= range.end).checked_sub(1);
            let before = match before {
                None if times => last.and_then(|last| digits.get_mut(last)).filter(near),
                before => before,
            };
            match before {
                Some(number) => {
                    let of = |v: Decimal| {
                        let sum = if times { v.digits.checked_mul(amount) } else { v.digits.checked_add(amount) };
                        Some(Decimal { digits: sum?, ..v })
                    };
                    number.value = number.value.and_then(of);
                    number.amount = number.amount.map(of);
                    number.range.end = range.end;
                }
                None => {
                    let value = Decimal { digits: amount, scale: 0 };
                    let amount = Amount::of(value);
                    found.push(Number {
                        range: range.clone(),
                        value: Some(value),
                        amount,
                        glued: false,
                        joined: false,
                    });
                }
            }
        }
    }
    found
}

/// Joins the ends of ranges and the members of lists. Numbers that may be parts of one number lose their value; as an
/// amount, such a part stands for the whole.
fn join(text: &str, language: &Language, found: &mut [Number]) {
    let mut last: Option<(Range<usize>, Amount)> = None;
    for number in found {
        if let Some((before, amount)) = last.replace((number.range.clone(), number.amount)) {
            let gap = text.get(before.end..number.range.start).filter(|gap| gap.len() <= JOINED_MAX);
            let Some(gap) = gap else { continue };
            let marks = gap.trim();
            let first = text.get(before.clone()).unwrap_or_default();
            let shown = text.get(number.range.clone()).unwrap_or_default();
            let leading = shown.find(|c: char| !c.is_ascii_digit()).unwrap_or(shown.len());
            let ranged = |gap: &str, word: Range<usize>| {
                gap.get(word).is_some_and(|w| language.kinds(&lower(w)) & kind::RANGE != 0)
            };
            let worded = words(gap).next().is_some() && words(gap).all(|word| ranged(gap, word));
            if gap == " " && leading == 3 && first.ends_with(|c: char| c.is_ascii_digit()) && first.len() <= 7 {
                // "10 000" may be one number or two numbers.
                number.value = None;
                number.amount = thousands(amount, number.amount);
                number.joined = true;
            } else if TIMES.contains(&marks) {
                (number.value, number.amount) = (None, Amount::default());
                number.joined = true;
            } else if !marks.is_empty() && marks.len() <= 6 {
                let dots = marks.len() > 1 && marks.bytes().all(|b| b == b'.');
                number.joined = worded || dots || marks.chars().all(|c| JOINING.contains(&c) || c.is_whitespace());
            } else {
                number.joined = worded;
            }
            let is_word = |shown: &str| shown.starts_with(char::is_alphabetic);
            if AND.contains(&marks) && is_word(first) && is_word(shown) {
                number.amount = hundreds(amount, number.amount);
            }
            last = Some((number.range.clone(), number.amount));
        }
    }
}

/// The whole of thousands and the three digits after them.
fn thousands(before: Amount, rest: Amount) -> Amount {
    let whole = before.usual.filter(|v| v.scale == 0).zip(rest.usual).and_then(|(thousands, rest)| {
        let unit = 1000i128.checked_mul(10i128.checked_pow(rest.scale)?)?;
        Some(Decimal { digits: thousands.digits.checked_mul(unit)?.checked_add(rest.digits)?, scale: rest.scale })
    });
    whole.map_or_else(Amount::default, Amount::of)
}

/// "Two hundred and ten" is one number: after "and", the second part may belong to the first.
fn hundreds(before: Amount, rest: Amount) -> Amount {
    let (Some(first), Some(second)) = (before.usual, rest.usual) else { return rest };
    let is_part = first.scale == 0
        && second.scale == 0
        && (1..1000).contains(&second.digits)
        && [100, 1000].iter().any(|unit| first.digits % unit == 0 && second.digits < *unit && first.digits > 0);
    let sum = first.digits.checked_add(second.digits).filter(|_| is_part);
    sum.map_or(rest, |digits| Amount::of(Decimal { digits, scale: 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: &str, text: &str) -> Vec<(Option<(i128, u32)>, bool)> {
        let found = numbers(text, Language::of(code).unwrap());
        found.into_iter().map(|n| (n.value.map(|v| (v.digits, v.scale)), n.joined)).collect()
    }

    #[test]
    fn digits_marks_and_words() {
        for (text, digits, scale) in [
            ("take 1,500.25 now", 150_025, 2),
            ("-5", -5, 0),
            ("10\u{202f}000", 10_000, 0),
            ("10\u{a0}000", 10_000, 0),
            ("10'000", 10_000, 0),
            ("twenty-five", 25, 0),
            ("two thousand", 2000, 0),
            ("2.5 million", 25_000_000, 1),
        ] {
            assert_eq!(read("en", text), [(Some((digits, scale)), false)], "{text}");
        }
        assert_eq!(read("de", "1.500,5"), [(Some((15_005, 1)), false)]);
        for text in ["1,50", "5.000.000", "٥٠٠", "５００", "½", "B12", "1,000'000", "99999999999999999999999999999999"]
        {
            assert_eq!(read("en", text), [(None, false)], "{text}");
        }
        assert_eq!(read("en", "the 5th of the 1990s"), []);
    }

    #[test]
    fn ranges_lists_and_what_may_be_one_number() {
        for text in [
            "200-9000",
            "200–9000",
            "200 to 9000",
            "200 or 9000",
            "200 / 9000",
            "200, 9000",
            "200..9000",
            "200 and 9000",
        ] {
            assert_eq!(read("en", text), [(Some((200, 0)), false), (Some((9000, 0)), true)], "{text}");
        }
        for text in ["10 000", "2 x 500", "2 × 500"] {
            assert_eq!(read("en", text)[1], (None, true), "{text}");
        }
        assert_eq!(read("en", "in 2024 there were 500")[1], (Some((500, 0)), false));
    }
}
