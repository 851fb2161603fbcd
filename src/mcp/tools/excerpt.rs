//! Excerpts: the part of the text of a match that is shown.

use crate::query::Match;
use crate::query::response::Focus;

/// Maximum number of lines of the comment above a definition.
const MAX_COMMENT_LINES: usize = 6;
/// What lines of comments and attributes begin with.
const COMMENT_STARTS: &[&str] = &["//", "#", "/*", "*", "--", ";", "%", "@", "<!--", "\"\"\"", "'''"];

/// A part of the text of a match.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    /// First and last line, 1-based, inclusive.
    pub lines: (u32, u32),
    /// Number of lines after it that belong to what answers the query.
    pub n_left_out: u32,
}

/// The lines of `found` that answer the query, at most `most`, from the first of the comment above them.
pub fn of(found: &Match, most: usize) -> Excerpt {
    let Focus { start_line, end_line, symbol, kind, .. } = &found.focus;
    let is_code = !symbol.is_empty() && !["heading", "key"].contains(kind);
    lines_of(&found.content.text, found.span, (*start_line, *end_line), is_code, most)
}

/// As [`of`], of the lines `start_line` to `end_line` of a text that is that of the lines `first` to `last`.
fn lines_of(
    text: &str,
    (first, last): (u32, u32),
    (start_line, end_line): (u32, u32),
    is_code: bool,
    most: usize,
) -> Excerpt {
    let lines: Vec<&str> = text.lines().collect();
    let start = start_line.saturating_sub(first) as usize;
    let end = ((end_line + 1).saturating_sub(first) as usize).min(lines.len());
    // A text that is not that of the lines says why.
    if start >= end || lines.len() > (last + 1).saturating_sub(first) as usize {
        return Excerpt { text: text.to_owned(), lines: (start_line, end_line), n_left_out: 0 };
    }
    let is_comment = |line: &str| COMMENT_STARTS.iter().any(|start| line.trim_start().starts_with(start));
    let n_comment = lines[..start].iter().rev().take_while(|line| is_comment(line)).count();
    // A part of a comment would begin in the middle of a sentence.
    let start = if n_comment <= MAX_COMMENT_LINES.min(most / 2) { start - n_comment } else { start };
    // The comment of the next definition, where the grammar counts it to this one.
    let is_after = |line: &str| line.trim().is_empty() || (is_code && is_comment(line));
    let mut end = end;
    while end > start + 1 && is_after(lines[end - 1]) {
        end -= 1;
    }
    let mut shown = end.min(start + most);
    while shown > start + 1 && lines[shown - 1].trim().is_empty() {
        shown -= 1;
    }
    // A line in place of one line says nothing more.
    let shown = if end - shown == 1 { end } else { shown };
    Excerpt {
        text: lines[start..shown].join("\n"),
        lines: (first + start as u32, first + shown as u32 - 1),
        n_left_out: (end - shown) as u32,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_excerpt_is_the_definition_with_its_comment_and_without_the_next_one() {
        let text = "use a;\n\n/// Adds.\nfn add() {\n    1;\n    2;\n    3;\n}\n\n/// Next.\nfn next() {}";
        let of = |start_line: u32, end_line: u32, most: usize| {
            let excerpt = super::lines_of(text, (10, 20), (start_line, end_line), true, most);
            (excerpt.lines, excerpt.n_left_out, excerpt.text)
        };
        assert_eq!(of(13, 17, 35).0, (12, 17));
        assert_eq!(of(13, 19, 35).0, (12, 17), "without the comment of the next one");
        let (lines, n_left_out, text) = of(13, 17, 4);
        assert_eq!((lines, n_left_out), ((12, 15), 2));
        assert_eq!(text, "/// Adds.\nfn add() {\n    1;\n    2;");
        assert_eq!(of(13, 17, 5).1, 0, "one line is shown rather than counted");
    }
}
