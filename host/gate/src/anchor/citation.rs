//! Citations: the forms in which text points at a source, found by pattern and held against the allow-list.

use super::contents::Citation;
use regex_automata::meta::Regex;
use std::sync::LazyLock;

/// DOI (ISO 26324), PubMed id, United States Code, German statute, article of a treaty or regulation, URL (RFC 3986).
const FORMS: &[&str] = &[
    r#"\b10\.[0-9]{4,9}/[^\s"<>]{1,200}"#,
    r"(?i:\bpmid:?\s{0,2}[0-9]{1,9}\b)",
    r"\b[0-9]{1,3} U\.? ?S\.? ?C\.? §{0,2} ?[0-9]{1,5}[a-z]?\b",
    r"§{1,2} ?[0-9]{1,4}[a-z]?(?: Abs\. ?[0-9]{1,2})? [A-Z][A-Za-z]{1,10}\b",
    r"\bArt(?:icle|\.) [0-9]{1,4}(?:\([0-9a-z]{1,3}\)){0,3} [A-Z][A-Za-z]{1,12}\b",
    r#"\bhttps?://[^\s"<>]{1,500}"#,
];

static PATTERNS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new_many(FORMS).ok());

/// Citations of a text, without the marks that end a sentence. `None` when the patterns are not there, and nothing can be said.
pub(super) fn citations(text: &str) -> Option<Vec<&str>> {
    let patterns = PATTERNS.as_ref()?;
    let end = |m: regex_automata::Match| {
        text.get(m.range()).map(|c| c.trim_end_matches(['.', ',', ';', ':', ')', ']', '\'', '"']))
    };
    Some(patterns.find_iter(text).filter_map(end).collect())
}

/// Whether the list allows a citation. White space and case make no difference.
pub(super) fn allowed(citation: &str, list: &[Citation]) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<String>().to_lowercase();
    let citation = plain(citation);
    list.iter().any(|c| match plain(&c.id).strip_suffix('*') {
        Some(beginning) => citation.starts_with(beginning),
        None => citation == plain(&c.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_found_and_held_against_the_list() {
        for (text, citation) in [
            ("See doi:10.1000/xyz.123.", "10.1000/xyz.123"),
            ("(PMID: 12345)", "PMID: 12345"),
            ("under 42 U.S.C. § 1983,", "42 U.S.C. § 1983"),
            ("nach § 823 BGB", "§ 823 BGB"),
            ("Article 6(1) GDPR applies", "Article 6(1) GDPR"),
            ("at https://example.org/a?b=c.", "https://example.org/a?b=c"),
        ] {
            assert_eq!(citations(text).unwrap(), [citation], "{text}");
        }
        let list = |id: &str| [Citation { id: id.into(), source: "s".into() }];
        assert!(allowed("PMID: 12345", &list("pmid:12345")) && !allowed("PMID: 12346", &list("pmid:12345")));
        assert!(allowed("https://example.org/a", &list("https://example.org/*")));
        assert!(!allowed("https://example.com/a", &list("https://example.org/*")));
    }
}
