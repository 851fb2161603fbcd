//! Lines: the lines that a search for text or an expression has found, by file.

use maud::{Markup, html};

use codeweaver::query::grep::{GrepFile, GrepLine};
use codeweaver_git::quoting;
use codeweaver_text::plural;

use super::code::{self, Line, badge};
use super::links;

/// A file with its lines.
pub fn file(file: &GrepFile, rev: Option<&str>) -> Markup {
    let path = &file.path;
    let first = file.lines.iter().find(|line| line.column.is_some()).map(number);
    let n_hidden = file.count.saturating_sub(file.n_shown());

    html! {
        article.result {
            h2 {
                a.open href=(links::file(path, first.map(|first| (first, first)), rev)) { (code::path(path)) }
                (badge(file.state))
                " " span.count { (plural(file.count, "line")) }
            }
            @if file.binary {
                p.note { "The binary file matches." }
            } @else {
                @let label = format!("Lines of {}", quoting::printed(path));
                (code::block(&label, &file.language, file.lines.iter().map(|line| Line {
                    number: number(line),
                    href: links::file(path, Some((number(line), number(line))), rev),
                    text: &line.text,
                    marks: line.ranges.iter().map(|&(start, end)| start..end).collect(),
                    is_focus: false,
                })))
                @if n_hidden > 0 { p.rest { (plural(n_hidden, "more line")) " on other pages" } }
            }
        }
    }
}

fn number(line: &GrepLine) -> u32 {
    u32::try_from(line.line).unwrap_or(u32::MAX)
}
