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
        if c == '\t' { out.push_str("    ") } else { push_safe(&mut out, c) }
    }

    Cow::Owned(out)
}

/// Returns `text` with every character escaped that [`safe`] escapes, except its tabs and ends of lines: for
/// a reader of whole texts, such as an agent.
pub fn safe_text(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| matches!(c, '\t' | '\n') || !is_unprintable(c);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }

    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() == Some(&'\n');
        if is_kept(c) || ends_line { out.push(c) } else { push_safe(&mut out, c) }
    }

    Cow::Owned(out)
}

/// Returns JSON of the same value in which every character is escaped that [`safe`] escapes, except line
/// feeds. A serialiser escapes C0 only; other such characters occur only within strings.
pub fn safe_json(json: String) -> String {
    let is_kept = |c: char| c == '\n' || !is_unprintable(c);
    // Most texts need no further escapes.
    if json.chars().all(is_kept) {
        return json;
    }

    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_kept(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Appends `c`, or its escape if it acts on a terminal or is hidden.
fn push_safe(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        c if is_unprintable(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Returns `text` without the characters that [`safe`] escapes, but with its tabs and ends of lines: for a
/// field in which a person goes on writing.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| matches!(c, '\t' | '\n' | '\r') || !is_unprintable(c);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|&c| is_kept(c)).collect())
}

/// Returns whether a character acts on a terminal or is hidden by it: control characters, bidirectional
/// controls, line and paragraph separators, and the other characters that Unicode wants not to be displayed
/// (`Default_Ignorable_Code_Point`), such as those without width and tags. The variation selectors of emoji
/// are left out: what they change can be seen.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The general categories `Cc`, `Zl` and `Zp`, the property `Bidi_Control`, and a sample of those without
    /// width.
    #[test]
    fn no_code_point_that_acts_or_hides_is_printed() {
        let acts = |c: u32| matches!(c, 0..=0x1f | 0x7f..=0x9f | 0x61c | 0x200e..=0x200f | 0x2028..=0x202e | 0x2066..=0x2069);
        let hides =
            |c: u32| matches!(c, 0x200b..=0x200d | 0x2060..=0x2064 | 0x180e | 0xfeff | 0xe0001..=0xe007f);
        let all = (0..=0x0010_ffff).filter_map(char::from_u32);
        for c in all {
            let shown = safe(c.encode_utf8(&mut [0; 4])).into_owned();
            if acts(u32::from(c)) || hides(u32::from(c)) {
                assert!(!shown.contains(c) && is_unprintable(c), "{:x}", u32::from(c));
            } else if c.is_alphanumeric() && !is_unprintable(c) {
                assert_eq!(shown, c.to_string());
            }
        }
        for c in "aé漢字👍\u{fe0f}\u{300}ا".chars() {
            assert!(!is_unprintable(c), "{c}");
        }
    }

    #[test]
    fn a_field_has_no_hidden_characters() {
        assert_eq!(visible("a\tb\r\n漢"), "a\tb\r\n漢");
        assert_eq!(visible("a\u{202e}b\u{61c}\u{200b}\u{e0041}\x1b[0m"), "ab[0m");
    }

    #[test]
    fn a_text_keeps_its_lines() {
        assert_eq!(safe_text("a\tb\r\n漢\rc"), "a\tb\r\n漢\\rc");
        assert_eq!(safe_text("a\u{202e}\n\u{e0041}\r\n\x1b"), "a\\u{202e}\n\\u{e0041}\r\n\\u{1b}");
    }

    #[test]
    fn json_keeps_its_value() {
        let text = safe_json("{\n\"\u{9b}31m \u{202e} \u{e0001} ok\"}".to_owned());
        assert_eq!(text, "{\n\"\\u009b31m \\u202e \\udb40\\udc01 ok\"}");
    }

    #[test]
    fn controls_are_escaped() {
        assert_eq!(safe("plain ünïcode 漢字"), "plain ünïcode 漢字");
        assert_eq!(
            safe("\x1b]0;owned\x07\t\u{9b}31m\u{202e}x"),
            "\\u{1b}]0;owned\\u{7}    \\u{9b}31m\\u{202e}x"
        );
    }
}
