//! Links that support a statement: the words of a sentence that call a link a source.

use crate::words::find_phrase;
use serde::Deserialize;

/// The content of `[sources]` in a language's file; lower case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceCues {
    /// Phrases before a source: `according to`.
    before: Vec<String>,
    /// Phrases after a source: `shows that`.
    after: Vec<String>,
}

impl SourceCues {
    /// Whether a link between these parts of its sentence supports a statement: a phrase of the lists stands there, or
    /// a year in brackets before the link, as in an entry of a list of references.
    pub(crate) fn supports(&self, before: &str, after: &str) -> bool {
        let has = |list: &[String], text: &str| {
            let text = text.to_lowercase();
            list.iter().any(|phrase| find_phrase(&text, phrase))
        };
        has(&self.before, before) || has(&self.after, after) || has_year(before)
    }
}

/// Whether a text has a year in brackets behind a name: `Roe (1998)`, `Roe, A. (2019a)`; `Studio 12 (2013)` names a
/// version.
fn has_year(text: &str) -> bool {
    text.match_indices('(').filter_map(|(at, _)| text.split_at_checked(at)).any(|(before, rest)| {
        let rest = rest.get(1..).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let year = digits == 4 && rest.starts_with(['1', '2']);
        let rest = rest.get(digits..).unwrap_or_default();
        let closes = rest.strip_prefix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest).starts_with(')');
        year && closes && !before.trim_end().ends_with(char::is_numeric)
    })
}

#[cfg(test)]
mod tests {
    use crate::language::Language;

    #[test]
    fn a_link_supports_a_statement_if_its_sentence_calls_it_a_source() {
        for (language, before, after, expected) in [
            ("en", "According to [the office](", ") it rained.", true),
            ("en", "It rained (source: ", ").", true),
            ("en", "**Source:** [office](", ")", true),
            ("en", "The [office](", ") found that it rained.", true),
            ("en", "Roe, A. (2019). Rain. ", "", true),
            ("en", "See [the page](", ") for the outsource: list.", false),
            ("en", "The [log](", ") shows the error.", false),
            ("en", "The sources are at ", ".", false),
            ("en", "Version 2 (20190 lines) is at ", ".", false),
            ("en", "Drop Visual Studio 12 (2013) (", ").", false),
            ("de", "Laut [Amt](", ") hat es geregnet.", true),
            ("de", "Quelle: ", "", true),
            ("de", "Der laute Motor steht auf ", ".", false),
        ] {
            let sources = &Language::of(language).unwrap().sources;
            assert_eq!(sources.supports(before, after), expected, "{before}");
        }
    }
}
