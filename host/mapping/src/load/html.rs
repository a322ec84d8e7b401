//! HTML and CSS: the attributes and functions whose addresses a client loads by itself (WHATWG HTML; SVG 2; CSS Values
//! 4, section 4.5). A tag is read as the tokenizer of WHATWG HTML reads it, section 13.2.5.

use super::{Construct, REACH, bounded};
use std::ops::Range;

/// Elements whose `href` only leads somewhere.
const LINKS: [&str; 2] = ["a", "area"];
/// Elements of SVG that set an attribute of another element.
const ANIMATIONS: [&str; 4] = ["animate", "animatemotion", "animatetransform", "set"];
/// Functions of CSS with an address as their first argument.
const FUNCTIONS: [&str; 4] = ["url", "src", "image-set", "-webkit-image-set"];
/// The name of the rule that imports a style sheet.
const NAMED: &str = "import";
/// Longest name of a function or rule of CSS, with its escapes.
const NAME: usize = 160;

struct Attribute<'t> {
    name: String,
    value: &'t str,
    /// The value with its quotation marks; the whole attribute, if it has none. What follows never becomes its value.
    withheld: Range<usize>,
}

/// The tag at the start of a text: the addresses that it loads. `is_refused` decides about an address.
pub(super) fn tag(text: &str, is_refused: &dyn Fn(&str) -> bool) -> Option<Construct> {
    let part = bounded(text, REACH);
    let name_end = part.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).unwrap_or(part.len());
    let name = part.get(1..name_end)?.to_ascii_lowercase();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        // A `<` at the end can begin a tag.
        return name.is_empty().then(|| Construct { open: text.len() == 1, ..Construct::default() });
    }
    // An address in angle brackets is a link: `<https://example.org>`.
    if name.contains(':') && !part.split('>').next()?.contains(|c: char| c.is_ascii_whitespace()) {
        return Some(Construct { open: !part.contains('>') && text.len() < REACH, ..Construct::default() });
    }
    let (attributes, end) = attributes(part, name_end);
    let refresh = |value: &str| value.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let loads = |attribute: &Attribute<'_>| match attribute.name.as_str() {
        key if key.starts_with("on") => is_script(attribute.value),
        "content" => name == "meta" && refresh(attribute.value) && is_refresh(attribute.value, is_refused),
        "data" | "classid" | "codebase" | "code" | "archive" => {
            matches!(name.as_str(), "object" | "applet" | "embed") && is_refused(attribute.value)
        }
        "value" if name == "param" => is_refused(attribute.value),
        "to" | "from" | "by" | "values" if ANIMATIONS.contains(&name.as_str()) => is_refused(attribute.value),
        "href" | "xlink:href" => !LINKS.contains(&name.as_str()) && is_refused(attribute.value),
        "srcdoc" => is_refused(attribute.value),
        "srcset" | "imagesrcset" | "data-srcset" => candidates(attribute.value).any(is_refused),
        "poster" | "background" | "manifest" | "icon" => is_refused(attribute.value),
        key if key.ends_with("src") && is_name(key) => is_refused(attribute.value),
        _ => css(attribute.value, is_refused),
    };
    let mut withheld: Vec<Range<usize>> = attributes.iter().filter(|a| loads(a)).map(|a| a.withheld.clone()).collect();
    let Some(end) = end else {
        // A tag without an end in reach is read as text, if its name does not leave. A blank line ends a tag in a page
        // of Markdown; a value that goes on over it does not.
        let inside = attributes.last().is_some_and(|last| last.withheld.end == part.len());
        if part.len() < text.len() && (inside || !part.contains("\n\n")) {
            withheld.push(0..name_end);
        }
        return Some(Construct { withheld, open: text.len() < REACH });
    };
    let script = if name == "script" { script(text, end) } else { Construct::default() };
    withheld.extend(script.withheld);
    Some(Construct { withheld, open: script.open })
}

/// The addresses of the link whose tag is at the start of a text.
pub(super) fn links(text: &str, is_refused: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let part = bounded(text, REACH);
    let name = LINKS.iter().find(|name| part.get(1..=name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
    let Some(end) = name.map(|name| 1 + name.len()) else { return Vec::new() };
    if !part.as_bytes().get(end).is_some_and(|b| b.is_ascii_whitespace() || *b == b'/') {
        return Vec::new();
    }
    let of = attributes(part, end).0.into_iter();
    let of = of.filter(|attribute| attribute.name.ends_with("href") && is_refused(attribute.value));
    of.map(|attribute| attribute.withheld).collect()
}

/// The attributes of a tag, and the place after its end.
fn attributes(part: &str, from: usize) -> (Vec<Attribute<'_>>, Option<usize>) {
    let bytes = part.as_bytes();
    let byte = |at: usize| bytes.get(at).copied();
    let skip = |mut at: usize, more: &dyn Fn(u8) -> bool| {
        while byte(at).is_some_and(more) {
            at += 1;
        }
        at
    };
    let space = |b: u8| b.is_ascii_whitespace();
    let (mut found, mut at) = (Vec::new(), from);
    loop {
        at = skip(at, &|b| space(b) || b == b'/');
        match byte(at) {
            None => return (found, None),
            Some(b'>') => return (found, Some(at + 1)),
            Some(_) => {}
        }
        // An equals sign at the start belongs to the name.
        let name = at..skip(at + 1, &|b| !space(b) && !matches!(b, b'/' | b'>' | b'='));
        at = name.end;
        let equals = skip(name.end, &space);
        if byte(equals) != Some(b'=') {
            continue;
        }
        let start = skip(equals + 1, &space);
        let (value, withheld) = match byte(start) {
            Some(quote @ (b'"' | b'\'')) => {
                let end = skip(start + 1, &|b| b != quote);
                at = end + 1;
                (start + 1..end, start + 1..end)
            }
            _ => {
                at = skip(start, &|b| !space(b) && b != b'>');
                (start..at, name.start..at)
            }
        };
        let name = part.get(name).unwrap_or_default().to_ascii_lowercase();
        found.push(Attribute { name, value: part.get(value).unwrap_or_default(), withheld });
    }
}

fn is_name(key: &str) -> bool {
    key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'_'))
}

/// The addresses of a list of images (WHATWG HTML, section 4.8.4.2.1), without their widths and densities.
fn candidates(value: &str) -> impl Iterator<Item = &str> {
    let size = |word: &str| {
        let word = word.trim_end_matches(',');
        let number = word.strip_suffix(['w', 'x', 'h']);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    };
    let words = value.split_ascii_whitespace().filter(move |word| !size(word));
    words.map(|word| word.trim_matches(',')).filter(|word| !word.is_empty())
}

/// Whether the content of a `meta` element loads another page: a number of seconds and an address.
fn is_refresh(value: &str, is_refused: &dyn Fn(&str) -> bool) -> bool {
    value.split_once(|c: char| matches!(c, ';' | ',') || c.is_ascii_whitespace()).is_some_and(|(_, address)| {
        let address = address.trim_start();
        let named = address.get(..3).filter(|name| name.eq_ignore_ascii_case("url")).and_then(|_| address.get(3..));
        let named = named.map(str::trim_start).and_then(|rest| rest.strip_prefix('='));
        is_refused(named.unwrap_or(address).trim().trim_matches(['"', '\'']))
    })
}

/// Whether a script names an address, or can hide one behind an escape.
fn is_script(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["http", "://", "\"//", "'//", "`//", "\\x", "\\u", "&#"].iter().any(|sign| lower.contains(sign))
}

/// The text of a script element whose tag ends at `end`. Without an end in reach, the element's name is withheld.
fn script(text: &str, end: usize) -> Construct {
    let body = text.get(end..).unwrap_or_default();
    let part = bounded(body, REACH);
    let close = part.to_ascii_lowercase().find("</script");
    let content = part.get(..close.unwrap_or(part.len())).unwrap_or_default();
    let whole = 0.."<script".len();
    let withheld = if close.is_some() { end..end + content.len() } else { whole };
    Construct {
        withheld: Some(withheld).filter(|range| !range.is_empty() && is_script(content)).into_iter().collect(),
        open: close.is_none() && body.len() < REACH,
    }
}

/// Whether a value of an attribute has a function of CSS that loads an address.
fn css(value: &str, is_refused: &dyn Fn(&str) -> bool) -> bool {
    let decoded = super::address::unescaped(value);
    let found = |value: &str| {
        value
            .match_indices('(')
            .any(|(at, _)| function(value, at, is_refused).is_some_and(|of| !of.withheld.is_empty()))
    };
    found(value) || (decoded != value && found(&decoded))
}

/// The addresses of the function of CSS whose opening bracket is at `at`.
pub(super) fn function(text: &str, at: usize, is_refused: &dyn Fn(&str) -> bool) -> Option<Construct> {
    let near = text.ceil_char_boundary(at.saturating_sub(NAME));
    let name = identifier_before(text.get(near..at)?).filter(|name| FUNCTIONS.contains(&name.as_str()))?;
    let part = bounded(text.get(at + 1..)?, REACH);
    let inside = part.get(..end_of_arguments(part)).unwrap_or_default();
    let open = inside.len() == text.len() - at - 1;
    let address = inside.trim();
    let quoted = address.starts_with(['"', '\'']);
    // A bracket or quotation mark in an address without quotation marks makes it a bad address. Other functions than
    // `url` take strings; a function in them has its own opening bracket.
    let bad = name == "url" && !quoted && address.contains(['"', '\'', '(']);
    let refused = !bad
        && (quoted || name != "src")
        && address.split(['"', '\'']).any(|part| is_refused(&css_text(part, REACH).0));
    let withheld = refused.then(|| at + 1..at + 1 + inside.len());
    Some(Construct { withheld: withheld.into_iter().collect(), open })
}

/// The end of the arguments of a function: its closing bracket outside strings and inner brackets.
fn end_of_arguments(part: &str) -> usize {
    let (mut quote, mut depth, mut escaped) = (None, 0_usize, false);
    let end = part.char_indices().find(|(_, c)| {
        match (quote, c) {
            _ if std::mem::take(&mut escaped) => {}
            (_, '\\') => escaped = true,
            (Some(open), c) if open == *c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(*c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return true,
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
        false
    });
    end.map_or(part.len(), |(at, _)| at)
}

/// The address of the rule `@import` at `at`.
pub(super) fn import(text: &str, at: usize, is_refused: &dyn Fn(&str) -> bool) -> Option<Construct> {
    let part = bounded(text.get(at + 1..)?, REACH);
    let whole = part.len() == text.len() - at - 1;
    let (name, end) = css_text(part, NAMED.len());
    if !name.eq_ignore_ascii_case(NAMED) {
        let begins = NAMED.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(&name));
        return Some(Construct { open: whole && begins && end == part.len(), ..Construct::default() });
    }
    let mut rest = part.get(end..)?.trim_start();
    while let Some((_, after)) = rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
        rest = after.trim_start();
    }
    let quote = rest.chars().next();
    let Some(quote @ ('"' | '\'')) = quote else {
        return Some(Construct { open: whole && (quote.is_none() || rest.starts_with("/*")), ..Construct::default() });
    };
    let address = rest.get(1..)?.split(quote).next()?;
    let start = at + 1 + (part.len() - rest.len()) + 1;
    let range = start..start + address.len();
    let open = whole && range.end == text.len();
    Some(Construct { withheld: Some(range).filter(|_| is_refused(address)).into_iter().collect(), open })
}

/// The name that ends a text, in lower case, with its escapes of CSS replaced.
fn identifier_before(text: &str) -> Option<String> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '\\');
    let mut start = text.trim_end_matches(part).len();
    // A space after the digits of an escape belongs to it.
    while let Some(before) = text.get(..start).and_then(|before| before.strip_suffix([' ', '\t', '\n'])) {
        let earlier = before.trim_end_matches(part).len();
        let escape = before.get(earlier..).and_then(|word| word.rsplit_once('\\'));
        let digits = escape.is_some_and(|(_, digits)| {
            (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit())
        });
        if !digits {
            break;
        }
        start = earlier;
    }
    let name = text.get(start..).filter(|name| !name.is_empty())?;
    Some(css_text(name, NAME).0.to_ascii_lowercase())
}

/// The first `most` characters of CSS with their escapes replaced (CSS Syntax 3, section 4.3.7), and where they end.
fn css_text(text: &str, most: usize) -> (String, usize) {
    let mut shown = String::new();
    let mut rest = text;
    for _ in 0..most {
        let Some(c) = rest.chars().next() else { break };
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c != '\\' {
            shown.push(c);
            continue;
        }
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        let number = rest.get(..digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(number) = number {
            shown.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = rest.get(digits..).unwrap_or_default();
            rest = rest.strip_prefix([' ', '\t', '\n']).unwrap_or(rest);
        } else if let Some(c) = rest.chars().next() {
            shown.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    (shown, text.len() - rest.len())
}
