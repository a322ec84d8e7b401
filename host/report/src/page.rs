//! The parts of all pages: the head, the stylesheet and the script.

use crate::escape::HtmlLine;
use crate::time::utc;
use base64ct::{Base64, Encoding};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use portcullis_evidence::verify::TrustFile;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
/// Unfolds sections before printing, and filters streams. Without the script, the page is still readable.
const SCRIPT: &str = include_str!("script.js");

/// The program that made a page, and the time at which it did so.
#[derive(Clone, Debug, Default)]
pub struct PageOrigin {
    /// Name and version of the program.
    pub program: String,
    /// Unix second by the machine's clock, which is not verified.
    pub made: Option<u64>,
}

impl PageOrigin {
    #[must_use]
    pub fn time(&self) -> Option<String> {
        self.made.map(|second| format!("{}, by the clock of the machine that made this page", utc(second)))
    }
}

/// A whole page around the content of its `main`. The browser uses only the script and the stylesheet of this module,
/// and loads no other file.
#[must_use]
pub fn page(title: &str, content: &Markup) -> String {
    page_with(title, content, SCRIPT, &policy(SCRIPT))
}

/// The content security policy of a page: it permits only `script` and the stylesheet.
pub(crate) fn policy(script: &str) -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        source(STYLE),
        source(script)
    )
}

/// Like [`page`], with another script and a policy that permits it.
pub(crate) fn page_with(title: &str, content: &Markup, script: &str, policy: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (HtmlLine(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } script { (PreEscaped(script)) } }
        }
    };
    let mut page = page.into_string();
    page.push('\n');
    page
}

/// The source expression that permits an inline element (Content Security Policy Level 3, section 2.3.1).
fn source(content: &str) -> String {
    format!("'sha256-{}'", Base64::encode_string(&Sha256::digest(content)))
}

/// A table with two columns, name and value.
#[must_use]
pub fn table(caption: &str, rows: &[(&str, Option<String>)]) -> Markup {
    html! {
        table {
            caption { (caption) }
            tbody {
                @for (name, value) in rows {
                    tr {
                        th scope="row" { (name) }
                        td { @if let Some(value) = value { (HtmlLine(value)) } @else { em { "not known" } } }
                    }
                }
            }
        }
    }
}

/// Renders a text of this program, in which backticks mark code.
#[must_use]
pub fn marked(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The table of the files of a trust folder.
#[must_use]
pub fn trust_files(files: &[TrustFile]) -> Markup {
    html! {
        table {
            caption { "Files of the trust folder: whose signatures were accepted" }
            thead { tr { th scope="col" { "File" } th scope="col" { "SHA-256" } } }
            tbody {
                @for file in files { tr { td { (HtmlLine(&file.name)) } td { code { (file.digest.to_string()) } } } }
                @if files.is_empty() { tr { td colspan="2" { "none" } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy permits one script, by its digest, so a text in a report cannot add a script.
    #[test]
    fn a_page_runs_its_own_script_only() {
        let page = page("<script>", &html! { p { (HtmlLine("<script>alert(1)</script>")) } });
        assert_eq!(page.matches("<script").count(), 1);
        let script = page.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
        let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
        assert!(page.contains(&source(script)) && page.contains(&source(style)), "{page}");
        assert!(!SCRIPT.contains('<') && !STYLE.contains('<'), "nothing in them ends their element");
    }
}
