//! Escapes hostile text for terminals, for JSON on a terminal, and for HTML.

use maud::Render;
use std::fmt::Write as _;

/// Whether a character controls a terminal, or hides or reorders the characters around it.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// `text` as one line for a terminal. U+FFFD replaces invisible characters.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect()
}

/// Writes U+007F to U+009F in JSON as `\u00xx`. RFC 8259 allows these characters in strings, but terminals treat them
/// as commands, like the characters below U+0020. They occur only in strings, so the JSON keeps its meaning.
#[must_use]
pub fn json(json: String) -> String {
    let controls = |c: char| ('\u{7f}'..='\u{9f}').contains(&c);
    if !json.contains(controls) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if controls(c) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Text in HTML. A visible mark such as `⟨U+202E⟩` replaces an invisible character. Line ends and tabs are kept.
#[derive(Clone, Copy, Debug)]
pub struct HtmlText<'a>(pub &'a str);

impl Render for HtmlText<'_> {
    fn render_to(&self, page: &mut String) {
        render(self.0, |c| matches!(c, '\n' | '\t'), page);
    }
}

/// Like [`HtmlText`], for names and words of one line: line ends and tabs are also replaced by marks.
#[derive(Clone, Copy, Debug)]
pub struct HtmlLine<'a>(pub &'a str);

impl Render for HtmlLine<'_> {
    fn render_to(&self, page: &mut String) {
        render(self.0, |_| false, page);
    }
}

/// `text` with the marks of [`HtmlLine`], for scripts and renderers that escape it themselves.
#[must_use]
pub fn marked(text: &str) -> String {
    mark(text, |_| false)
}

fn render(text: &str, is_kept: impl Fn(char) -> bool, page: &mut String) {
    mark(text, is_kept).render_to(page);
}

fn mark(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut marked = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) && !is_kept(c) {
            let _ = write!(marked, "\u{27e8}U+{:04X}\u{27e9}", u32::from(c));
        } else {
            marked.push(c);
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use maud::html;

    #[test]
    fn nothing_becomes_markup() {
        let page = html! { b title=(HtmlLine("\"><i a='1'>")) { (HtmlText("</script><b a=\"'\">&")) } };
        assert_eq!(
            page.into_string(),
            "<b title=\"&quot;&gt;&lt;i a='1'&gt;\">&lt;/script&gt;&lt;b a=&quot;'&quot;&gt;&amp;</b>"
        );
    }

    #[test]
    fn nothing_is_hidden() {
        assert_eq!(html! { (HtmlText("a\u{202e}b\u{0}\n")) }.into_string(), "a⟨U+202E⟩b⟨U+0000⟩\n");
        assert_eq!(html! { (HtmlLine("a\n\u{85}")) }.into_string(), "a⟨U+000A⟩⟨U+0085⟩");
        for c in [
            '\u{ad}', '\u{2028}', '\u{2029}', '\u{206a}', '\u{206f}', '\u{200b}', '\u{2066}', '\u{feff}', '\u{1b}',
            '\u{9b}',
        ] {
            let text = c.to_string();
            let mark = format!("⟨U+{:04X}⟩", u32::from(c));
            assert_eq!(html! { (HtmlText(&text)) (HtmlLine(&text)) }.into_string(), format!("{mark}{mark}"));
            assert_eq!(printable(&text), "\u{fffd}");
        }
        assert_eq!(printable("a é字"), "a é字");
    }

    #[test]
    fn json_controls_no_terminal() {
        assert_eq!(json("\"a\u{9b}\"".to_owned()), "\"a\\u009b\"");
    }
}
