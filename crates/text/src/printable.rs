//! Escapes characters that act on a terminal or are hidden by it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns `text` on one line with every character escaped that acts on a terminal or is hidden: C0 and
/// C1 control characters, and characters that reorder or hide text. A tab becomes four blanks.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }

    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if is_unprintable(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }

    Cow::Owned(out)
}

/// Returns whether a character acts on a terminal or is hidden by it: control characters, bidirectional
/// controls, zero-width characters, line and paragraph separators, tags.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped() {
        assert_eq!(safe("plain ünïcode 漢字"), "plain ünïcode 漢字");
        assert_eq!(
            safe("\x1b]0;owned\x07\t\u{9b}31m\u{202e}x"),
            "\\u{1b}]0;owned\\u{7}    \\u{9b}31m\\u{202e}x"
        );
    }
}
