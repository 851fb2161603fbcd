//! Text in HTML.

/// Escapes `text` for the text and the quoted attributes of HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();

    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }

    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_issues_is_no_markup() {
        assert_eq!(escaped("<a href='x\">&"), "&lt;a href=&#39;x&quot;&gt;&amp;");
    }
}
