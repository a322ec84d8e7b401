//! What every page has: its head, and the one stylesheet.

use crate::escape::Line;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A whole page around the content of its `main`.
pub(crate) fn page(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (Line(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    };
    let mut page = page.into_string();
    page.push('\n');
    page
}
