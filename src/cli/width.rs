//! Width of text on a terminal, in columns.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use codeweaver_chunk::MAX_EXCERPT_CHARS;

/// The beginning of a hyperlink (OSC 8) and the end of its address.
const LINK: (&str, &str) = ("\x1b]8;;", "\x1b\\");

/// Number of columns of `text`; wide characters take two. It must not contain escape sequences.
pub fn measure(text: &str) -> usize {
    text.width()
}

/// As [`measure`], for text with the escape sequences that this program prints.
pub fn measure_printed(text: &str) -> usize {
    let text = without_links(text);
    let mut width = 0;

    let mut rest = &*text;
    while let Some((before, style)) = rest.split_once("\x1b[") {
        width += measure(before);
        rest = style.split_once('m').map_or("", |(_, after)| after);
    }

    width + measure(rest)
}

/// Replaces the links in `text` by their visible text.
pub fn without_links(text: &str) -> Cow<'_, str> {
    if !text.contains(LINK.0) {
        return Cow::Borrowed(text);
    }

    let mut parts = text.split(LINK.0);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(LINK.1).map_or(part, |(_, shown)| shown));
    }
    Cow::Owned(out)
}

/// Cuts `text` to at most `columns`, with `…` in place of its end.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if text.len() <= columns || measure(text) <= columns {
        return Cow::Borrowed(text);
    }

    // The `…` takes one column.
    let mut used = 1;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });

    Cow::Owned(format!("{}…", text[..end.map_or(text.len(), |(at, _)| at)].trim_end()))
}

/// As [`fit`], cut after a whole word if that leaves at least half of the columns.
pub fn fit_words(text: &str, columns: usize) -> Cow<'_, str> {
    let Cow::Owned(cut) = fit(text, columns) else { return Cow::Borrowed(text) };
    let shown = cut.trim_end_matches('…');
    let next = text[shown.len()..].chars().next();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';

    if !next.is_some_and(is_word) {
        return Cow::Owned(cut);
    }

    let whole = shown.trim_end_matches(is_word);
    if measure(whole) * 2 < columns {
        Cow::Owned(cut)
    } else {
        Cow::Owned(format!("{}…", whole.trim_end()))
    }
}

/// Breaks `text` into lines of at most `columns` at its blanks. It may have the escape sequences that this
/// program prints. A word that is longer is a line of its own.
pub fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;

    for word in text.split(' ') {
        let width = measure_printed(word);
        match lines.last_mut().filter(|_| used + 1 + width <= columns) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
                used += 1 + width;
            }
            None => {
                lines.push(word.to_owned());
                used = width;
            }
        }
    }
    lines
}

/// Marks a signature or sentence of the index that the index has cut: it then ends after a whole word, with
/// `…`. A whole one is returned as it is.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    let is_whole = text.ends_with([')', ']', '}', '>', ';', '.', '!', '?', '。']);
    if is_whole || text.chars().count() < MAX_EXCERPT_CHARS {
        return Cow::Borrowed(text);
    }
    // The appended letter makes the text too long by one, so that it is cut.
    Cow::Owned(fit_words(&format!("{text}x"), measure(text)).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!([measure("abc"), measure("漢字"), measure("e\u{301}")], [3, 4, 1]);
        assert_eq!(fit("漢字漢字", 8), "漢字漢字");
        assert_eq!(fit("漢字漢字", 7), "漢字漢…");
        assert_eq!(fit("漢字漢字", 6), "漢字…");
        assert_eq!(fit("abcdef", 5), "abcd…");
        assert_eq!(fit("abcde", 5), "abcde");
        assert_eq!(fit("", 0), "");
    }

    #[test]
    fn words_are_not_cut_in_the_middle() {
        assert_eq!(fit_words("fn parse_header(line: &str)", 20), "fn parse_header(…");
        assert_eq!(fit_words("fn parse_header(line: &str)", 17), "fn parse_header(…");
        assert_eq!(fit_words("a_very_long_name_without_end", 10), "a_very_lo…");
        assert_eq!(fit_words("fn short()", 20), "fn short()");
    }

    #[test]
    fn what_the_index_has_cut_ends_with_a_whole_word() {
        let cut = format!("fn f({}", "parameter: u32, ".repeat(20).chars().take(195).collect::<String>());
        assert_eq!(cut.len(), MAX_EXCERPT_CHARS);
        let shown = excerpt(&cut);
        assert!(shown.ends_with(" parameter…") || shown.ends_with("u32,…"), "{shown}");
        assert_eq!(excerpt("fn f(a: u32)"), "fn f(a: u32)");
    }

    #[test]
    fn long_text_is_folded_at_blanks() {
        assert_eq!(folded("one two three", 7), ["one two", "three"]);
        assert_eq!(folded("\x1b[1mone two\x1b[0m three", 7), ["\x1b[1mone two\x1b[0m", "three"]);
        assert_eq!(folded("much-too-long a", 7), ["much-too-long", "a"]);
        assert_eq!(folded("one two", usize::MAX), ["one two"]);
        assert_eq!(folded("", 7), [""]);
    }

    #[test]
    fn escapes_take_no_columns() {
        let linked = "\x1b]8;;file:///a#L1\x1b\\\x1b[1m漢\x1b[0m:1\x1b]8;;\x1b\\ x";
        assert_eq!(measure_printed(linked), 6);
        assert_eq!(without_links(linked), "\x1b[1m漢\x1b[0m:1 x");
    }
}
