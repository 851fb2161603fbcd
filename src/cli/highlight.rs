//! Emphasis of the words of a query in a line of text.

use codeweaver_text::Highlighter;

use super::render::{Paint, safe};
use super::width;

/// Returns `line` made safe to print, with the matches of `highlighter` emphasised and the rest in `style`.
pub fn painted(
    highlighter: &Highlighter,
    line: &str,
    paint: Paint,
    style: fn(Paint, String) -> String,
) -> String {
    if !paint.is_on() {
        return safe(line).into_owned();
    }

    let rest =
        |text: &str| if text.is_empty() { String::new() } else { style(paint, safe(text).into_owned()) };

    let mut out = String::new();
    let mut end = 0;
    for range in highlighter.ranges(line) {
        out.push_str(&rest(&line[end..range.start]));
        out.push_str(&paint.matched(safe(&line[range.clone()])));
        end = range.end;
    }

    out.push_str(&rest(&line[end..]));
    out
}

/// A line of code as [`painted`], in at most `columns`.
pub fn fitted(highlighter: &Highlighter, line: &str, columns: usize, paint: Paint) -> String {
    painted(highlighter, &width::fit(&safe(line), columns), paint, Paint::plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_painted_and_the_rest_is_safe() {
        let highlighter = Highlighter::new("evil");
        assert_eq!(painted(&highlighter, "an evil\x1b[2J", Paint::off(), Paint::plain), "an evil\\u{1b}[2J");
        let on = painted(&highlighter, "an evil\x1b[2J", Paint::on(), Paint::plain);
        assert_eq!(on, format!("an {}\\u{{1b}}[2J", Paint::on().matched("evil")));
    }
}
