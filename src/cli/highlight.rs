//! Emphasis of the words of a query in a line of text, and the colours of code.

use std::ops::Range;

use codeweaver_chunk::syntax::{Syntax, SyntaxKind};
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

/// A line of code in at most `columns`, with the matches of `highlighter` emphasised and the pieces of
/// `syntax` coloured.
pub fn code(
    highlighter: &Highlighter,
    line: &str,
    syntax: &[Syntax],
    columns: usize,
    paint: Paint,
) -> String {
    let whole = safe(line);
    let shown = width::fit(&whole, columns);
    if !paint.is_on() {
        return shown.into_owned();
    }

    // What is cut off is replaced by one character that belongs to no piece.
    let end = if shown.len() == whole.len() { whole.len() } else { shown.trim_end_matches('…').len() };
    let pieces = shown_pieces(line, syntax, end);

    let mut out = String::new();
    let mut at = 0;
    for matched in highlighter.ranges(&shown) {
        coloured(&mut out, &shown, at..matched.start, &pieces, paint);
        out.push_str(&paint.matched(&shown[matched.clone()]));
        at = matched.end;
    }

    coloured(&mut out, &shown, at..shown.len(), &pieces, paint);
    out
}

/// A piece of a line that is shown.
type ShownPiece = (Range<usize>, SyntaxKind);

/// The pieces of `syntax`, which are in order, at their places in the first `end` bytes of the safe form of
/// `line`. Linear, since a minified file is one line.
fn shown_pieces(line: &str, syntax: &[Syntax], end: usize) -> Vec<ShownPiece> {
    let mut pieces = Vec::new();
    let (mut at, mut n_shown) = (0, 0);

    for Syntax { kind, range } in syntax {
        let start = n_shown + safe(&line[at..range.start]).len();
        if start >= end {
            break;
        }

        n_shown = start + safe(&line[range.clone()]).len();
        at = range.end;
        pieces.push((start..n_shown.min(end), *kind));
    }
    pieces
}

/// Appends the part `range` of a line with the colours of its pieces, which are in order.
fn coloured(out: &mut String, line: &str, range: Range<usize>, pieces: &[ShownPiece], paint: Paint) {
    if range.is_empty() {
        return;
    }
    let first = pieces.partition_point(|(piece, _)| piece.end <= range.start);
    let mut at = range.start;

    for (piece, kind) in pieces[first..].iter().take_while(|(piece, _)| piece.start < range.end) {
        let inner = piece.start.max(at)..piece.end.min(range.end);
        out.push_str(&line[at..inner.start]);
        out.push_str(&paint.syntax(*kind, &line[inner.clone()]));
        at = inner.end;
    }

    out.push_str(&line[at..range.end]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_chunk::syntax::syntax_of_lines;

    #[test]
    fn what_is_found_is_painted_and_the_rest_is_safe() {
        let highlighter = Highlighter::new("evil");
        assert_eq!(painted(&highlighter, "an evil\x1b[2J", Paint::off(), Paint::plain), "an evil\\u{1b}[2J");
        let on = painted(&highlighter, "an evil\x1b[2J", Paint::on(), Paint::plain);
        assert_eq!(on, format!("an {}\\u{{1b}}[2J", Paint::on().matched("evil")));
    }

    #[test]
    fn code_is_coloured_around_what_is_found_and_cut_to_the_screen() {
        let line = "\tlet evil = 'a'; // evil";
        let [syntax] = &syntax_of_lines(&[line], "javascript")[..] else { panic!("one line") };
        let (highlighter, paint) = (Highlighter::new("evil"), Paint::on());

        let keyword = paint.syntax(SyntaxKind::Keyword, "let");
        let literal = paint.syntax(SyntaxKind::Literal, "'a'");
        let comment = paint.syntax(SyntaxKind::Comment, "// ");
        let evil = paint.matched("evil");
        let whole = format!("    {keyword} {evil} = {literal}; {comment}{evil}");
        assert_eq!(code(&highlighter, line, syntax, 80, paint), whole);

        let cut = format!("    {keyword} {evil} = {}…", paint.syntax(SyntaxKind::Literal, "'a"));
        assert_eq!(code(&highlighter, line, syntax, 18, paint), cut);
        assert_eq!(code(&highlighter, line, syntax, 18, Paint::off()), "    let evil = 'a…");
    }
}
