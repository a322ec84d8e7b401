//! The marks that separate clauses.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClauseMark {
    /// A comma or bracket.
    Comma,
    /// A semicolon, colon or dash.
    Strong,
}

/// The mark between two words.
pub(crate) fn mark(gap: &str) -> Option<ClauseMark> {
    let strong = |c: char| matches!(c, ';' | ':' | '\u{2014}' | '\u{2013}' | '\u{2026}' | '.' | '!' | '?');
    if gap.contains(strong) || gap.contains(" -") {
        Some(ClauseMark::Strong)
    } else {
        gap.contains([',', '(', ')']).then_some(ClauseMark::Comma)
    }
}
