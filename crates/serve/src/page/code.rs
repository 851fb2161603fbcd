//! Code: text, paths and lines as they are shown.
//!
//! `maud` escapes markup. Characters that a browser hides, or that reorder others, are written as escapes.

use std::ops::Range;

use maud::{Markup, PreEscaped, html};

use codeweaver::query::view::MatchState;
use codeweaver_chunk::syntax::{Syntax, SyntaxKind, syntax_of_lines};
use codeweaver_git::quoting;
use codeweaver_text::Highlighter;

pub use codeweaver_text::safe;

/// A line with its number.
pub struct Line<'a> {
    pub number: u32,
    /// Link of the number.
    pub href: String,
    pub text: &'a str,
    /// Byte ranges that are highlighted, in order, disjoint.
    pub marks: Vec<Range<usize>>,
    /// Whether the line is part of the match.
    pub is_focus: bool,
}

/// A block of lines of a file in `language`, called `label` by screen readers. A line that does not follow
/// the one before begins a new part.
pub fn block<'a>(label: &str, language: &str, lines: impl Iterator<Item = Line<'a>>) -> Markup {
    let lines: Vec<Line<'a>> = lines.collect();
    let syntax = syntax_of_parts(&lines, language);
    block_with_syntax(label, &lines, &syntax)
}

/// As [`block`], with the syntax of each line.
pub fn block_with_syntax(label: &str, lines: &[Line<'_>], syntax: &[Vec<Syntax>]) -> Markup {
    let widest = lines.iter().map(|line| line.number).max().unwrap_or(1);
    let digits = format!("digits-{}", widest.to_string().len());
    let mut previous: Option<u32> = None;

    html! {
        div.code.(digits) tabindex="0" role="group" aria-label=(safe(label)) {
            pre {
                @for (line, syntax) in lines.iter().zip(syntax) {
                    @let is_gap = previous.replace(line.number).is_some_and(|before| line.number != before + 1);
                    @if is_gap { span.gap aria-hidden="true" { "⋯\n" } }
                    span.line.focus[line.is_focus] {
                        a.n href=(line.href) tabindex="-1" { (line.number) }
                        code { (line_of_code(line.text, &line.marks, syntax)) "\n" }
                    }
                }
            }
        }
    }
}

/// The syntax of each line; parts of a file that do not follow each other are read separately.
fn syntax_of_parts(lines: &[Line<'_>], language: &str) -> Vec<Vec<Syntax>> {
    let parts = lines.chunk_by(|one, next| next.number == one.number + 1);
    parts
        .flat_map(|part| syntax_of_lines(&part.iter().map(|line| line.text).collect::<Vec<_>>(), language))
        .collect()
}

/// Text with highlighted `ranges`.
pub fn marked(text: &str, ranges: &[Range<usize>]) -> Markup {
    line_of_code(text, ranges, &[])
}

/// Code with highlighted `ranges`, coloured by its syntax. Tabs stay, so that copied text is the text of the
/// file.
pub fn line_of_code(text: &str, ranges: &[Range<usize>], syntax: &[Syntax]) -> Markup {
    let mut end = 0;

    html! {
        @for range in ranges {
            // A range that does not fit belongs to another version of the text.
            @if text.get(end..range.start).is_some() && text.get(range.clone()).is_some() {
                (coloured(text, end..range.start, syntax)) mark { (coloured(text, range.clone(), syntax)) }
                @let () = end = range.end;
            }
        }
        (coloured(text, end..text.len(), syntax))
    }
}

/// The part `range` of a line, each piece of its syntax, which are in order, in an element of its class.
fn coloured(text: &str, range: Range<usize>, syntax: &[Syntax]) -> Markup {
    if range.is_empty() {
        return html! {};
    }
    let first = syntax.partition_point(|piece| piece.range.end <= range.start);
    let mut end = range.start;

    html! {
        @for piece in syntax[first..].iter().take_while(|piece| piece.range.start < range.end) {
            @let inner = piece.range.start.max(end)..piece.range.end.min(range.end);
            (plain(&text[end..inner.start]))
            span class=(class_of(piece.kind)) { (plain(&text[inner.clone()])) }
            @let () = end = inner.end;
        }
        (plain(&text[end..range.end]))
    }
}

/// The class in the style sheet. Short, as a page may have thousands.
fn class_of(kind: SyntaxKind) -> &'static str {
    match kind {
        SyntaxKind::Comment => "c",
        SyntaxKind::Literal => "l",
        SyntaxKind::Number => "i",
        SyntaxKind::Keyword => "k",
        SyntaxKind::Type => "t",
        SyntaxKind::Function => "f",
    }
}

/// As [`marked`], with the ranges that `highlighter` finds.
pub fn highlighted(text: &str, highlighter: &Highlighter) -> Markup {
    marked(text, &highlighter.ranges(text))
}

fn plain(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('\t').enumerate() {
            @if i > 0 { "\t" }
            (safe(part))
        }
    }
}

/// A path, its directory less prominent.
pub fn path(path: &str) -> Markup {
    let shown = quoting::printed(path);
    let (directory, name) =
        shown.rsplit_once('/').map_or(("", &*shown), |(directory, name)| (directory, name));

    html! {
        @if !directory.is_empty() {
            span.dir { (breakable(directory)) "/" wbr; }
        }
        span.name { (name) }
    }
}

/// A path in which lines may break after slashes.
fn breakable(path: &str) -> Markup {
    html! {
        @for (i, part) in path.split('/').enumerate() {
            @if i > 0 { "/" wbr; }
            (part)
        }
    }
}

/// A revision for people: the first ten digits of an oid, anything else as it is.
pub fn short_oid(rev: &str) -> &str {
    let is_oid = rev.len() >= 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_oid { &rev[..10] } else { rev }
}

/// Says that a file is not as it was committed.
pub fn badge(state: MatchState) -> Markup {
    let (text, title) = match state {
        MatchState::Committed => return PreEscaped(String::new()),
        MatchState::Staged => ("staged", "Changed and staged, not committed"),
        MatchState::Dirty => ("modified", "Changed, not committed"),
        MatchState::Untracked => ("untracked", "Not committed yet"),
        MatchState::Unreadable => ("unreadable", "Shown as committed: the file cannot be read"),
    };
    html! { " " span.badge title=(title) { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hostile_is_shown_as_text() {
        let shown = marked("a\t<b>\u{202e}", &[2..3, 4..5]).into_string();
        assert_eq!(shown, "a\t<mark>&lt;</mark>b<mark>&gt;</mark>\\u{202e}");
        assert_eq!(
            path("x/<i>/a\u{202e}b").into_string(),
            concat!(
                "<span class=\"dir\">&quot;x/<wbr>&lt;i&gt;/<wbr></span>",
                "<span class=\"name\">a\\342\\200\\256b&quot;</span>"
            )
        );
    }

    #[test]
    fn syntax_is_coloured_inside_and_outside_of_marks() {
        let marks = |range| std::iter::once(range).collect::<Vec<Range<usize>>>();
        let line =
            |number, text| Line { number, href: String::new(), text, marks: marks(4..6), is_focus: false };
        let shown =
            block("a", "rust", [line(1, "let ab = 1; // c"), line(3, "let b")].into_iter()).into_string();

        assert!(shown.contains(concat!(
            "<span class=\"k\">let</span> <mark>ab</mark> = <span class=\"i\">1</span>; ",
            "<span class=\"c\">// c</span>"
        )));
        assert!(shown.contains("<span class=\"k\">let</span> b"), "{shown}");

        let literal = [Syntax { kind: SyntaxKind::Literal, range: 0..4 }];
        assert_eq!(
            line_of_code("'ab'", &marks(1..3), &literal).into_string(),
            "<span class=\"l\">'</span><mark><span class=\"l\">ab</span></mark><span class=\"l\">'</span>"
        );
    }

    #[test]
    fn ranges_beyond_the_text_are_left_out() {
        assert_eq!(marked("ab", &[0..1, 1..9]).into_string(), "<mark>a</mark>b");
    }
}
