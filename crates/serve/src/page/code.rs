//! Code: text, paths and lines as they are shown.
//!
//! `maud` escapes markup. Characters that a browser hides, or that reorder others, are written as escapes.

use std::ops::Range;

use maud::{Markup, PreEscaped, html};

use codeweaver::query::view::MatchState;
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

/// A block of lines, called `label` by screen readers. A line that does not follow the one before begins a
/// new part.
pub fn block<'a>(label: &str, lines: impl Iterator<Item = Line<'a>>) -> Markup {
    let lines: Vec<Line<'a>> = lines.collect();
    let widest = lines.iter().map(|line| line.number).max().unwrap_or(1);
    let digits = format!("digits-{}", widest.to_string().len());
    let mut previous: Option<u32> = None;

    html! {
        div.code.(digits) tabindex="0" role="group" aria-label=(safe(label)) {
            pre {
                @for line in lines {
                    @let is_gap = previous.replace(line.number).is_some_and(|before| line.number != before + 1);
                    @if is_gap { span.gap aria-hidden="true" { "⋯\n" } }
                    span.line.focus[line.is_focus] {
                        a.n href=(line.href) tabindex="-1" { (line.number) }
                        code { (marked(line.text, &line.marks)) "\n" }
                    }
                }
            }
        }
    }
}

/// Code with highlighted `ranges`. Tabs stay, so that copied text is the text of the file.
pub fn marked(text: &str, ranges: &[Range<usize>]) -> Markup {
    let mut end = 0;

    html! {
        @for range in ranges {
            // A range that does not fit belongs to another version of the text.
            @if let (Some(before), Some(mark)) = (text.get(end..range.start), text.get(range.clone())) {
                (plain(before)) mark { (plain(mark)) }
                @let () = end = range.end;
            }
        }
        (plain(text.get(end..).unwrap_or_default()))
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
    fn ranges_beyond_the_text_are_left_out() {
        assert_eq!(marked("ab", &[0..1, 1..9]).into_string(), "<mark>a</mark>b");
    }
}
