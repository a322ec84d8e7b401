//! Text into HTML: nothing of it becomes markup, and what would not be seen is shown.

/// Escapes for element content and for quoted attributes. Controls, zero-width characters and bidirectional marks become visible.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}') =>
            {
                out.push_str(&format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_becomes_markup_and_nothing_is_hidden() {
        assert_eq!(escape("</script><b a='\"'>&"), "&lt;/script&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;");
        assert_eq!(escape("a\u{202e}b\u{0}"), "a⟨U+202E⟩b⟨U+0000⟩");
    }
}
