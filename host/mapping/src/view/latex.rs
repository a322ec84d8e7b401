//! The meaning of a backslash: a LaTeX space or command, or a mark that Markdown escapes.

pub(super) enum Control {
    /// Invisible bytes, with their number.
    Nothing(usize),
    /// A space, with the number of its bytes.
    Space(usize),
    /// A dash, with the number of its bytes.
    Dash(usize),
    /// The mark after the backslash is shown.
    Escaped(u8),
    /// The backslash is shown.
    Backslash,
}

const SPACES: &[&str] = &[
    "quad",
    "qquad",
    "thinspace",
    "enspace",
    "enskip",
    "space",
    "nobreakspace",
    "newline",
    "linebreak",
    "par",
    "negthinspace",
    "medspace",
    "thickspace",
];
/// Commands for spaces with a size.
const SIZED: &[&str] = &["hspace", "hskip", "vspace", "kern"];
const DASHES: &[&str] = &["textendash", "textemdash"];
/// Commands without an argument in braces, and invisible breaks.
const BARE: &[&str] =
    &["bf", "it", "em", "tt", "sc", "sf", "rm", "sl", "bfseries", "itshape", "ttfamily", "allowbreak", "nobreak"];

/// Reads the backslash at the start of a text.
pub(super) fn control(text: &str) -> Control {
    let Some(next) = text.as_bytes().get(1).copied() else { return Control::Backslash };
    match next {
        b' ' | b'\n' | b'\r' => Control::Nothing(1),
        b',' | b';' | b'!' | b'\\' => Control::Space(2),
        _ if next.is_ascii_punctuation() => Control::Escaped(next),
        _ if next.is_ascii_alphabetic() => command(text),
        _ => Control::Backslash,
    }
}

/// Whether more text can change the meaning of the backslash at the start of a text.
pub(super) fn is_open(text: &str) -> bool {
    let rest = text.get(1..).unwrap_or_default();
    let letters = rest.bytes().take(32).take_while(u8::is_ascii_alphabetic).count();
    let (name, after) = rest.split_at(letters);
    let argument = after.strip_prefix('*').unwrap_or(after);
    let sized = SIZED.contains(&name) && argument.starts_with('{') && argument.len() < 32;
    argument.is_empty() || (sized && !argument.contains('}'))
}

fn command(text: &str) -> Control {
    let rest = text.get(1..).unwrap_or_default();
    let letters = rest.bytes().take(32).take_while(u8::is_ascii_alphabetic).count();
    let name = rest.get(..letters).unwrap_or_default();
    let after = rest.get(letters..).unwrap_or_default();
    let starred = usize::from(after.starts_with('*'));
    let argument = after.get(starred..).unwrap_or_default();
    // A command includes the space after it.
    let length = 1 + letters + starred + usize::from(argument.starts_with(' '));
    if SIZED.contains(&name) {
        let size = argument.bytes().take(32).position(|b| b == b'}').filter(|_| argument.starts_with('{'));
        return Control::Space(1 + letters + starred + size.map_or(0, |end| end + 1));
    }
    if SPACES.contains(&name) {
        Control::Space(length)
    } else if DASHES.contains(&name) {
        Control::Dash(length)
    } else if argument.starts_with('{') || BARE.contains(&name) {
        Control::Nothing(length)
    } else {
        Control::Backslash
    }
}
