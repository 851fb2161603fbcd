//! Excerpts: the part of the text of a match that is shown.

use codeweaver::query::Match;
use codeweaver::query::response::Focus;
use codeweaver_text::densest_window;

use super::text::gap_before;

/// Maximum number of lines of the comment above a definition.
const MAX_COMMENT_LINES: usize = 6;
/// Beginnings of lines of comments and attributes.
const COMMENT_STARTS: &[&str] = &["//", "#", "/*", "*", "--", ";", "%", "@", "<!--", "\"\"\"", "'''"];

/// Lines of a long definition, from its first, that are shown before the lines that answer the query.
const HEAD_LINES: usize = 3;
/// Maximum number of lines of a chunk of code without a main definition, such as declarations.
const MAX_LINES_OF_CHUNK: usize = 12;
/// Minimum number of lines of an excerpt with a head.
const MIN_LINES_WITH_HEAD: usize = 8;

/// A part of the text of a match.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines that are shown. A line `… 120:` stands for those that are left out before line 120.
    pub text: String,
    /// First and last line that is shown, 1-based, inclusive.
    pub lines: (u32, u32),
    /// Last line of the part that answers the query.
    pub end: u32,
    /// Whether lines up to `end` are left out.
    pub is_cut: bool,
    /// Whether `text` is that of the lines, and not a note why it is not available.
    pub is_source: bool,
}

/// Returns the lines of `found` that answer the query, at most `most`, including the comment above them. A
/// longer definition is shortened to its beginning and the lines that contain most of `words`, the terms of
/// the query. A chunk without a main definition gets about a third as many lines.
pub fn cut(found: &Match, words: &[String], most: usize) -> Excerpt {
    let Focus { start_line, end_line, symbol, kind, .. } = &found.focus;
    let is_code = !symbol.is_empty() && !["heading", "key"].contains(kind);
    let focus = (*start_line, *end_line);

    let most = if symbol.is_empty() { most.min(MAX_LINES_OF_CHUNK.max(most / 3)) } else { most };

    let source = Source { text: &found.content.text, lines: found.span, is_code };
    match *start_line < found.span.0 {
        true => source.middle(&found.focus, words, most),
        false => source.excerpt(focus, words, most),
    }
}

/// The lines of a function, whose text is `code`: at most `most`, as by [`cut`].
pub fn of_function(code: &str, lines: (u32, u32), words: &[String], most: usize) -> Excerpt {
    Source { text: code, lines, is_code: true }.excerpt(lines, words, most)
}

/// The text of a chunk.
struct Source<'a> {
    text: &'a str,
    /// First and last line of the text.
    lines: (u32, u32),
    is_code: bool,
}

impl Source<'_> {
    /// The excerpt of a definition that begins before the text: its signature and the lines that contain most
    /// of `words`.
    fn middle(&self, focus: &Focus, words: &[String], most: usize) -> Excerpt {
        let (first, last) = self.lines;
        let lines: Vec<&str> = self.text.lines().collect();
        let end = ((focus.end_line + 1).saturating_sub(first) as usize).min(lines.len());

        let from = densest_window(&lines[..end], words, most);
        let to = (from + most).min(end);
        let at = first + from as u32;

        let signature = focus.signature.lines().next().unwrap_or_default();
        let text = format!("{signature}\n{}{}", gap_before(at), lines[from..to].join("\n"));

        let shown_to = (first + to as u32).saturating_sub(1).min(last);
        let end = focus.end_line.max(shown_to);
        Excerpt { text, lines: (focus.start_line, shown_to), end, is_cut: true, is_source: true }
    }

    /// As [`cut`], for the lines `start_line` to `end_line`.
    fn excerpt(&self, (start_line, end_line): (u32, u32), words: &[String], most: usize) -> Excerpt {
        let (first, last) = self.lines;
        let lines: Vec<&str> = self.text.lines().collect();
        let definition = start_line.saturating_sub(first) as usize;
        let end = ((end_line + 1).saturating_sub(first) as usize).min(lines.len());

        // The text is not that of the lines: it is a note why they are not available.
        if definition >= end || lines.len() > (last + 1).saturating_sub(first) as usize {
            let lines = (start_line, end_line);
            let text = self.text.to_owned();
            return Excerpt { text, lines, end: end_line, is_cut: false, is_source: false };
        }

        let n_comment = lines[..definition].iter().rev().take_while(|line| is_comment(line)).count();
        // A comment is shown whole or not at all, since a part would begin in the middle of a sentence.
        let start =
            if n_comment <= MAX_COMMENT_LINES.min(most / 2) { definition - n_comment } else { definition };

        // Some grammars count the comment of the next definition to this one.
        let below_start = &lines[start + 1..end];
        let end = start
            + 1
            + trimmed(below_start, |line| line.trim().is_empty() || self.is_code && is_comment(line));
        let number = |position: usize| first + position as u32;
        let last_line = if end_line > last { end_line } else { number(end - 1) };
        // A line `… 120:` in place of a single line would save nothing.

        if end - start <= most + 1 {
            return Excerpt {
                text: lines[start..end].join("\n"),
                lines: (number(start), number(end - 1)),
                end: last_line,
                is_cut: end_line > last,
                is_source: true,
            };
        }

        let head = (definition + HEAD_LINES).min(end);
        let n_rest = most.saturating_sub(head - start);
        let below =
            if most < MIN_LINES_WITH_HEAD { 0 } else { densest_window(&lines[head..end], words, n_rest) };
        let (from, to) =
            if below > 1 { (head + below, head + below + n_rest) } else { (start, start + most) };
        let to = from + 1 + trimmed(&lines[from + 1..to.min(end)], |line| line.trim().is_empty());

        let mut text = String::new();
        if from > start {
            text = format!("{}\n{}", lines[start..head].join("\n").trim_end(), gap_before(number(from)));
        }
        text.push_str(&lines[from..to].join("\n"));

        let lines = (number(start), number(to - 1));
        Excerpt { text, lines, end: last_line, is_cut: true, is_source: true }
    }
}

fn is_comment(line: &str) -> bool {
    COMMENT_STARTS.iter().any(|start| line.trim_start().starts_with(start))
}

/// The number of `lines` without those at the end that are `blank`.
fn trimmed(lines: &[&str], blank: impl Fn(&str) -> bool) -> usize {
    lines.len() - lines.iter().rev().take_while(|line| blank(line)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_the_definition_with_its_comment_and_without_the_next_one() {
        let text = "use a;\n\n/// Adds.\nfn add() {\n    1;\n    2;\n    3;\n}\n\n/// Next.\nfn next() {}";
        let source = Source { text, lines: (10, 20), is_code: true };
        let shown =
            |start_line: u32, end_line: u32, most: usize| source.excerpt((start_line, end_line), &[], most);
        assert_eq!(shown(13, 17, 35).lines, (12, 17));
        assert_eq!(shown(13, 19, 35).lines, (12, 17), "without the comment of the next one");
        let cut = shown(13, 17, 4);
        assert_eq!((cut.lines, cut.end, cut.is_cut), ((12, 15), 17, true));
        assert_eq!(cut.text, "/// Adds.\nfn add() {\n    1;\n    2;");
        assert!(!shown(13, 17, 5).is_cut, "one line is shown rather than counted");
    }

    #[test]
    fn of_a_long_definition_the_beginning_and_the_lines_with_the_words_are_shown() {
        let mut lines: Vec<String> = (0..60).map(|i| format!("    step({i});")).collect();
        lines[0] = "fn run() {".to_owned();
        lines[40] = "    retry(backoff);".to_owned();
        lines[59] = "}".to_owned();
        let text = lines.join("\n");
        let source = Source { text: &text, lines: (101, 160), is_code: true };
        let words = ["retry".to_owned(), "backoff".to_owned()];
        let excerpt = source.excerpt((101, 160), &words, 10);
        assert!(excerpt.text.starts_with("fn run() {\n    step(1);\n    step(2);\n… "), "{}", excerpt.text);
        assert!(excerpt.text.contains("    retry(backoff);"), "{}", excerpt.text);
        assert_eq!(excerpt.text.lines().count(), 11, "{}", excerpt.text);
        assert_eq!((excerpt.lines.0, excerpt.end, excerpt.is_cut), (101, 160, true));
        let beyond = source.excerpt((101, 200), &words, 10);
        assert_eq!((beyond.lines.0, beyond.end, beyond.is_cut), (101, 200, true));
        let focus =
            Focus { start_line: 50, end_line: 200, signature: "fn run()".to_owned(), ..Focus::default() };
        let middle = source.middle(&focus, &words, 10);
        assert!(middle.text.starts_with("fn run()\n… 1"), "{}", middle.text);
        assert!(middle.text.contains("    retry(backoff);"), "{}", middle.text);
        assert_eq!((middle.lines.0, middle.end, middle.is_cut), (50, 200, true));
        let without = source.excerpt((101, 160), &[], 10);
        assert_eq!((without.lines, without.is_cut), ((101, 110), true));
    }
}
