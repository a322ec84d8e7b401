//! Finds citations: written references to an outside source. The gate decides which of them an anchor store allows. No
//! cut divides a citation.

use crate::unfinished::UnfinishedHitFinder;
use crate::view::MatchingView;
use regex_automata::meta::Regex;
use regex_automata::{Input, Match};
use std::ops::Range;
use std::sync::LazyLock;

/// Court reporters of the United States as the Bluebook abbreviates them (table T1), with and without spaces.
const REPORTERS: &str = r"(?:U\. ?S\.|US|S\. ?Ct\.|L\. ?Ed\.(?: ?2d)?|F\.(?: ?(?:2d|3d|4th)| ?App'x)?|Fed\. ?(?:Appx\.|Cl\.)|F\. ?Supp\.(?: ?[23]d)?|F\. ?R\. ?D\.|B\. ?R\.|A\.(?: ?[23]d)?|P\.(?: ?[23]d)?|[NS]\. ?[EW]\.(?: ?[23]d)?|So\.(?: ?[23]d)?|Cal\. ?Rptr\.(?: ?[23]d)?|[A-Z][a-z]{1,4}\.(?: ?App\.)?(?: ?(?:2d|3d|4th|5th))|N\. ?Y\.(?: ?S\.)?(?: ?[23]d)?|A\. ?D\.(?: ?[23]d)?)";
/// Courts in neutral citations, and law reports, as OSCOLA lists them.
const COURTS: &str = r"(?:UKSC|UKHL|UKPC|UKUT|UKFTT|UKEAT|EWCA (?:Civ|Crim)|EWHC|EWFC|EWCOP|CSIH|CSOH|HCJAC|NICA|NIQB|NIKB|IESC|IECA|IEHC|EAT|AC|QB|KB|Ch|Fam|WLR|All ER|Lloyd's Rep|Cr App R|BCLC|ICR|IRLR|FLR|STC|ECR|CMLR|EHRR|ER|CLR|HCA|SCC|FCA|NZSC)";
/// Names of codes and treaties after the number of an article or section. Capitalised names need no entry here.
const LAWS: &str =
    r"(?:GDPR|UK GDPR|DS-?GVO|RGPD|AVG|TFEU|TEU|AEUV|EUV|ECHR|EMRK|GRC|GG|BGB|ABGB|ZGB|OR|StGB|StPO|ZPO|HGB)";
/// Kinds of the forms at the start of [`FORMS`]; the others name sources.
const KINDS: [CitationKind; 3] = [CitationKind::Link, CitationKind::Link, CitationKind::Standard];
/// The host whose links are DOIs (ISO 26324).
const DOI_HOST: &str = "doi.org/10.";
/// The forms of citations; a longer form precedes the shorter forms with which it begins.
const FORMS: &[&str] = &[
    // URLs (RFC 3986), ignoring case, and host names that begin with `www`.
    r#"(?i:(?-u:\b)(?:https?|ftp)://)[^\s"<>]{1,500}"#,
    r#"(?i:(?-u:\b)www\.[a-z0-9-]{1,63})\.[^\s"<>]{1,300}"#,
    // The RFC series.
    r"(?i:(?-u:\b)rfc[ -]?[0-9]{1,5}(?-u:\b))",
    // DOI (ISO 26324), PubMed, arXiv, registries, ISSN (ISO 3297).
    r#"(?-u:\b)10\.[0-9]{4,9}/[^\s"<>]{1,200}"#,
    r"(?i:(?-u:\b)pmid:? {0,2}[0-9]{1,9}(?-u:\b))",
    r"(?-u:\b)PMC[0-9]{5,9}(?-u:\b)",
    r"(?i:(?-u:\b)arxiv: ?(?:[0-9]{4}\.[0-9]{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]{1,2})?)",
    r"(?-u:\b)NCT[0-9]{8}(?-u:\b)",
    r"(?i:(?-u:\b)issn:? ?[0-9]{4}-[0-9]{3}[0-9x](?-u:\b))",
    // Codes of the United States.
    r"(?-u:\b)[0-9]{1,3} U\.? ?S\.? ?C\.?(?: ?A\.)? (?:§{1,2} ?)?[0-9]{1,5}[a-z]{0,2}(?:[-–][0-9]{1,5}[a-z]?)?(?:\([0-9A-Za-z]{1,4}\)){0,4}",
    r"(?-u:\b)[0-9]{1,2} C\.? ?F\.? ?R\.? (?:§{1,2} ?|[Pp]arts? |[Ss]ec(?:tion|\.) )?[0-9]{1,4}(?:\.[0-9]{1,4})?(?:\([0-9A-Za-z]{1,4}\)){0,4}",
    // Cases of the European Union and of the court in Strasbourg; ECLI (2011/C 127/01).
    r"(?-u:\b)ECLI:[A-Z]{2}:[A-Z0-9]{1,7}:[0-9]{4}:[A-Za-z0-9.]{1,25}",
    r"(?-u:\b)(?:Joined )?(?:Cases? )?[CTF][-‑–][0-9]{1,4}/[0-9]{2}(?: P)?(?-u:\b)(?:(?:,| and| to) [CTF][-‑–][0-9]{1,4}/[0-9]{2}(?-u:\b)){0,6}",
    r"(?-u:\b)App(?:lication)?\.? [Nn]os?\.? [0-9]{1,6}/[0-9]{2}(?-u:\b)",
    // Legal acts of the European Union (Interinstitutional Style Guide 3.1).
    r"(?-u:\b)(?:Regulation|Directive|Decision|Verordnung|Richtlinie|Règlement|Reglamento|Regolamento|Directiva|Direttiva) \((?:EU|EC|EEC|Euratom|EG|UE|CE|EU, Euratom)\) (?:No\.? |Nr\. |n° )?[0-9]{1,4}/[0-9]{2,4}",
    r"(?-u:\b)(?:Regulation|Directive|Decision|Verordnung|Richtlinie|Règlement|Reglamento|Regolamento|Directiva|Direttiva) (?:No\.? |Nr\. |n° )?[0-9]{1,4}/[0-9]{1,4}/(?:EU|EC|EEC|Euratom|JHA|CFSP|EG|EWG|UE|CE|CEE)(?-u:\b)",
];
/// More bytes than the longest citation has: a URL of 500 characters.
const LONGEST: usize = 4096;
/// An article of a treaty, regulation or code.
const ARTICLES: &str = r"(?-u:\b)(?:Articles?|Artikel|Arts?\.?|Recitals?|Rec\.) [0-9]{1,4}[a-z]?(?:\([0-9a-z]{1,3}\)){0,3}(?:(?:,| and| und| to| or|-|–) ?[0-9]{1,4}(?:\([0-9a-z]{1,3}\)){0,3}){0,4} (?:of the |of |der |du |des |de la |del )?";
/// Sections of codes with a paragraph sign.
const SECTIONS: &str = r"§{1,2} ?[0-9]{1,4}[a-z]?(?:(?:,| und| bis|-|–) ?[0-9]{1,4}[a-z]?){0,6}(?: Abs\. ?[0-9]{1,2}[a-z]?)?(?: S(?:atz|\.) ?[0-9]{1,2})?(?: Nr\. ?[0-9]{1,2})? [A-Z][A-Za-z]{1,10}(?-u:\b)";
/// The part of a case citation after the first page: more pages, the court and the year.
const AFTER_PAGE: &str = r"(?:, [0-9]{1,5}(?:[-–][0-9]{1,5})?)?(?: \([^()]{0,40}[0-9]{4}\))?";
/// ISBN (ISO 2108): after the label "ISBN", or hyphenated and beginning with 978 or 979.
const BOOKS: &str = r"(?i:(?-u:\b)isbn(?:-1[03])?:? ?)[0-9][0-9 -]{8,15}[0-9Xx](?-u:\b)|(?-u:\b)97[89]-[0-9]{1,5}-[0-9]{1,7}-[0-9]{1,7}-[0-9](?-u:\b)";

/// All forms; a longer form precedes the shorter forms with which it begins.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> = FORMS.iter().map(|f| (*f).to_owned()).collect();
    forms.extend([
        format!(r"{ARTICLES}{LAWS}(?-u:\b)"),
        r"(?-u:\b)Art(?:icle|\.) [0-9]{1,4}(?:\([0-9a-z]{1,3}\)){0,3} [A-Z][A-Za-z]{1,12}(?-u:\b)".to_owned(),
        r"(?-u:\b)[Aa]rt(?:icle|\.) [0-9]{1,4}(?:-[0-9]{1,3})? (?:du |del |della |de la )?(?:[Cc]ode|[Cc]odice|[Cc]ódigo) [a-z]{2,12}(?-u:\b)".to_owned(),
        r"(?-u:\b)[Aa]rt\. [0-9]{1,4} c\. ?[cp]\.".to_owned(),
        SECTIONS.to_owned(),
        r"(?-u:\b)(?:[Ss]ections?|ss?\.) ?[0-9]{1,4}[A-Z]?(?:\([0-9a-z]{1,3}\)){0,3} of the (?:[A-Z][A-Za-z']{1,20} |of |and |the ){1,8}Act(?: [12][0-9]{3})?(?-u:\b)".to_owned(),
        format!(r"(?-u:\b)[0-9]{{1,4}} {REPORTERS} [0-9]{{1,5}}(?-u:\b){AFTER_PAGE}"),
        r"(?-u:\b)Nos?\. [0-9]{1,2}-[0-9]{1,5} \([^()]{2,40}[0-9]{4}\)".to_owned(),
        format!(r"\[(?:1[89]|20)[0-9]{{2}}\] (?:[0-9]{{1,2}} )?{COURTS} [0-9]{{1,5}}(?-u:\b)(?: \([A-Za-z&]{{2,8}}\))?"),
        format!(r"\((?:1[89]|20)[0-9]{{2}}\) [0-9]{{1,3}} {COURTS} [0-9]{{1,5}}(?-u:\b)"),
        r"(?-u:\b)[A-Z][A-Za-z'-]{1,30} et al\.?,? \(?(?:1[89]|20)[0-9]{2}[a-z]?(?-u:\b)\)?".to_owned(),
        BOOKS.to_owned(),
    ]);
    forms
}

static PATTERNS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new_many(&forms()).ok());
/// The forms as an automaton that finds unfinished citations at the end of a text.
static BEGUN: LazyLock<Option<UnfinishedHitFinder>> = LazyLock::new(|| {
    let parse = |form: &String| regex_automata::util::syntax::parse(form).ok();
    UnfinishedHitFinder::new(&forms().iter().map(parse).collect::<Option<Vec<_>>>()?).ok()
});

/// The start of the longest suffix of a text, or of its view, that more text could complete or change into a citation
/// and that does not begin before `from`; the text's length if there is no such suffix.
pub(crate) fn unfinished(text: &str, from: usize, view: Option<&MatchingView>) -> usize {
    let Some(begun) = BEGUN.as_ref() else { return 0 };
    let seen = view.map_or(text.len(), |view| {
        view.origin_from(begun.of_patterns(view.text(), view.shown_until(from)), text.len())
    });
    begun.of_patterns(text, from).min(seen)
}

/// What a citation names, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CitationKind {
    /// A source: a DOI, a case, a statute, an author with a year.
    Source,
    /// A technical standard, which texts name as they name a product.
    Standard,
    /// An address that leads somewhere.
    Link,
}

/// A citation in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Citation {
    pub(crate) range: Range<usize>,
    pub(crate) kind: CitationKind,
}

impl Citation {
    fn moved(self, to: impl FnOnce(&Range<usize>) -> Range<usize>) -> Self {
        Self { range: to(&self.range), ..self }
    }
}

/// Citations in a text or in its view, in order. Overlapping citations are joined, and final punctuation is left out.
/// `None` if the patterns could not be compiled.
pub(crate) fn citations(text: &str, view: Option<&MatchingView>) -> Option<Vec<Citation>> {
    let patterns = PATTERNS.as_ref()?;
    let mut found: Vec<Citation> = Vec::new();
    match view {
        None => found.extend(matches(patterns, text).filter_map(|m| cited(text, m))),
        Some(view) if view.is_aligned() => {
            // Matches in the text are found in the view as well, except where a match in the view crosses a line break.
            for m in matches(patterns, view.text()) {
                let range = m.range.clone();
                found.extend(cited(view.text(), m));
                if view.differs_in(&range) {
                    let near = range.start..text.floor_char_boundary((range.end + LONGEST).min(text.len()));
                    let hidden = patterns.find_iter(Input::new(text).range(near)).map(|m| matched(&m));
                    found.extend(hidden.take_while(|h| h.range.start < range.end).filter_map(|h| cited(text, h)));
                }
            }
        }
        Some(view) => {
            found.extend(matches(patterns, text).filter_map(|m| cited(text, m)));
            let shown = matches(patterns, view.text()).filter_map(|m| cited(view.text(), m));
            let shown = shown.filter(|m| !view.crosses_border(&m.range));
            found.extend(shown.map(|m| m.moved(|range| view.origin(range))));
        }
    }
    Some(join_citations(found))
}

/// The citations of a text, with those of a page that was decoded from it. Overlapping citations are joined.
pub(crate) fn joined(
    written: Option<Vec<Citation>>,
    decoded: Option<Vec<Citation>>,
    page: &MatchingView,
) -> Option<Vec<Citation>> {
    let decoded = decoded?.into_iter().map(|found| found.moved(|range| page.origin(range)));
    Some(join_citations(written?.into_iter().chain(decoded).collect()))
}

/// Sorts citations, and joins those that overlap. A part of a link is not a source of its own.
fn join_citations(mut found: Vec<Citation>) -> Vec<Citation> {
    found.sort_by_key(|found| (found.range.start, found.range.end, found.kind));
    let mut joined: Vec<Citation> = Vec::new();
    for found in found {
        match joined.last_mut() {
            Some(last) if found.range.start < last.range.end => {
                if found.range.end > last.range.end {
                    last.kind = last.kind.min(found.kind);
                }
                last.range.end = last.range.end.max(found.range.end);
            }
            _ => joined.push(found),
        }
    }
    joined
}

/// Sorts ranges, and joins those that overlap.
pub(crate) fn join(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in found {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The matches of the patterns.
fn matches<'a>(patterns: &'a Regex, text: &'a str) -> impl Iterator<Item = Citation> + 'a {
    // Every form contains a digit, or is a URL.
    let any = text.bytes().any(|b| b.is_ascii_digit() || matches!(b, b':' | b'w' | b'W'));
    let all = any.then(|| patterns.find_iter(text).map(|m| matched(&m)));
    all.into_iter().flatten()
}

fn matched(found: &Match) -> Citation {
    let kind = KINDS.get(found.pattern().as_usize()).copied().unwrap_or(CitationKind::Source);
    Citation { range: found.range(), kind }
}

/// The citation in a match, without final punctuation.
fn cited(text: &str, found: Citation) -> Option<Citation> {
    let Citation { range, kind } = found;
    let shown = text.get(range.clone())?;
    let trimmed = shown.trim_end_matches(['.', ',', ';', ':', '\'', '"', '!', '?']);
    let trimmed = unopened(trimmed);
    let doi = trimmed.split_once("//").is_some_and(|(_, address)| {
        let address = address.to_ascii_lowercase();
        address.strip_prefix("dx.").unwrap_or(&address).starts_with(DOI_HOST)
    });
    let range = range.start..range.start + trimmed.len();
    (!is_book(trimmed) || checks(trimmed))
        .then_some(Citation { range, kind: if doi { CitationKind::Source } else { kind } })
}

/// Removes closing brackets at the end that have no opening bracket.
fn unopened(text: &str) -> &str {
    let mut text = text;
    for (open, close) in [('(', ')'), ('[', ']')] {
        let mut excess = text.matches(close).count().saturating_sub(text.matches(open).count());
        while text.ends_with(close) && excess > 0 {
            excess -= 1;
            text = text.strip_suffix(close).unwrap_or(text).trim_end_matches(['.', ',', ';', ':', '\'', '"']);
        }
    }
    text
}

fn is_book(text: &str) -> bool {
    text.get(..4).is_some_and(|l| l.eq_ignore_ascii_case("isbn"))
        || text.starts_with("978-")
        || text.starts_with("979-")
}

/// Whether the check digit of an ISBN is right.
fn checks(text: &str) -> bool {
    let number =
        text.split_once([':', ' ']).filter(|(label, _)| label.starts_with(['i', 'I'])).map_or(text, |(_, n)| n);
    let number = number.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits: Vec<u32> =
        number.chars().filter_map(|c| if matches!(c, 'X' | 'x') { Some(10) } else { c.to_digit(10) }).collect();
    match digits.as_slice() {
        ten @ [_, _, _, _, _, _, _, _, _, _] => {
            let sum: u32 = ten.iter().zip((1..=10).rev()).map(|(d, weight)| d * weight).sum();
            sum.is_multiple_of(11)
        }
        thirteen @ [9, 7, 8 | 9, ..] if thirteen.len() == 13 => {
            let sum: u32 = thirteen.iter().zip([1, 3].iter().cycle()).map(|(d, weight)| d * weight).sum();
            sum.is_multiple_of(10)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        citations(text, MatchingView::of(text).as_ref()).unwrap().into_iter().map(|found| &text[found.range]).collect()
    }

    #[test]
    fn each_form_is_found_whole() {
        for citation in [
            "10.1000/xyz.123",
            "PMID: 12345",
            "arXiv:1706.03762v5",
            "NCT01234567",
            "RFC 8259",
            "ISSN 2049-3630",
            "42 U.S.C. § 1983",
            "15 USC 78j(b)",
            "29 C.F.R. § 1910.1200",
            "40 CFR Part 60",
            "410 U.S. 113",
            "576 U.S. 644 (2015)",
            "88 F.4th 1102",
            "300 F. Supp. 3d 10, 14 (S.D.N.Y. 2018)",
            "136 S. Ct. 2292",
            "30 Cal. 3d 721",
            "No. 21-4321 (2d Cir. 2022)",
            "[2017] UKSC 5",
            "[2003] EWCA Civ 9",
            "[1990] 2 AC 605",
            "(1998) 26 EHRR 1",
            "C-131/12",
            "Joined Cases C-6/90 and C-9/90",
            "ECLI:EU:C:2014:317",
            "Regulation (EU) 2022/2065",
            "Directive 2000/31/EC",
            "Richtlinie 93/13/EWG",
            "Article 6(1) GDPR",
            "Articles 12, 13 and 15 of the GDPR",
            "Art. 5 GG",
            "§ 823 BGB",
            "§§ 305, 307 BGB",
            "§ 15 Abs. 2 AktG",
            "section 3 of the Theft Act 1968",
            "https://example.org/a?b=c",
            "HTTPS://example.org",
            "www.example.org/x_(y)",
            "Meyer et al. (2019)",
            "ISBN 978-0-306-40615-7",
            "ISBN-10: 0-19-853453-1",
        ] {
            assert_eq!(found(&format!("It says in {citation}, he said.")), [citation]);
        }
    }

    #[test]
    fn a_form_is_found_as_it_is_read() {
        for citation in [
            "410 **U.S.** 113",
            "42\u{a0}U.S.C. \u{a7}\u{a0}1983",
            "\u{a7} **823** BGB",
            "Article 6(1)\nGDPR",
            "ISBN 978\u{2011}0\u{2011}306\u{2011}40615\u{2011}7",
            "NCT\u{200b}01234567",
            "[2017]\nUKSC 5",
            "ISBN 978-0-306-40615-7",
        ] {
            let text = format!("It says in {citation}, he said.");
            assert_eq!(found(&text), [citation], "{citation}");
        }
        assert_eq!(found("ISBN 978-0-306-40615-7\n12 of it"), ["ISBN 978-0-306-40615-7"], "the line break hides none");
        assert_eq!(found("| 12 | U.S. | 345 |"), [""; 0], "cells are no citation");
    }

    #[test]
    fn what_looks_like_one_is_none() {
        for text in [
            "I paid 12 U.S. dollars for 483 books.",
            "He ran 5 F and 10 C tests.",
            "In [2017] the park opened.",
            "Flight C-131 at 12.",
            "The CFR is 2 %.",
            "Regulation of 2016/17 heat",
            "Article 6 of the list",
            "A sign like § alone.",
            "ISBN 978-0-306-40615-8",
            "The RFC has 2119 words.",
            "The www was new.",
            "a://b",
            "See section 5 below.",
            "10.5/182 is the score.",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
