//! Compares the citations in a text with the citations that the anchor stores allow.

use super::contents::AnchorCitation;

/// Whether the list allows a citation. White space and case are ignored.
pub(super) fn allowed(citation: &str, list: &[AnchorCitation]) -> bool {
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
    fn citations_are_held_against_the_list() {
        let list = |id: &str| [AnchorCitation { id: id.into(), source: "s".into() }];
        assert!(allowed("PMID: 12345", &list("pmid:12345")) && !allowed("PMID: 12346", &list("pmid:12345")));
        assert!(allowed("https://example.org/a", &list("https://example.org/*")));
        assert!(!allowed("https://example.com/a", &list("https://example.org/*")));
    }
}
