//! The lines of the screen: the query, what was found, and the text of the selected place.

use codeweaver_chunk::syntax::syntax_of_lines;

use super::item::Item;
use super::state::Picker;
use crate::cli::render::{Paint, safe};
use crate::cli::{highlight, width};

/// Share of the rows that the list may take, as one in so many.
const LIST_SHARE: usize = 3;
/// Lines shown before the one that was found, if there is room.
const LINES_BEFORE: usize = 3;
/// Marks the line of the query.
const PROMPT: &str = "> ";

const HELP: &str =
    "type to search · ↑ ↓ select · Enter open in the editor · Ctrl-Y print the place · Esc quit";

/// A screen as it is drawn.
pub struct Frame {
    pub lines: Vec<String>,
    /// Column of the cursor, which is in the first line.
    pub cursor: usize,
    /// The `scroll` of the picker within the text that there is.
    pub scroll: isize,
}

/// Draws at most `rows` lines, each in at most `columns`. `shown_path` makes the displayed form of a path of
/// the repository.
pub fn frame(
    picker: &Picker,
    shown_path: &dyn Fn(&str) -> String,
    (columns, rows): (usize, usize),
    paint: Paint,
) -> Frame {
    let (prompt, cursor) = prompt(picker, columns, paint);
    let mut lines = vec![prompt, status(picker, columns, paint)];

    let room = (rows.saturating_sub(lines.len() + 1) / LIST_SHARE).max(1);
    let n_shown = room.min(picker.answer.items.len());
    let first = (picker.selected + 1).saturating_sub(n_shown);
    let shown = picker.answer.items.iter().enumerate().skip(first).take(n_shown);
    lines.extend(
        shown.map(|(i, item)| entry(item, &shown_path(&item.path), columns, i == picker.selected, paint)),
    );

    let mut scroll = 0;
    if let Some(item) = picker.selected() {
        lines.push(paint.dim("─".repeat(columns)));
        let room = rows.saturating_sub(lines.len());
        let first = first_line(item, room);
        let shown_first = scrolled(item, first, picker.scroll, room);

        scroll = shown_first.cast_signed() - first.cast_signed();
        lines.extend(text(item, shown_first, columns, room, paint));
    }

    lines.truncate(rows);
    Frame { lines, cursor, scroll }
}

/// The query, moved to the left so that the cursor is visible.
fn prompt(picker: &Picker, columns: usize, paint: Paint) -> (String, usize) {
    let room = columns.saturating_sub(PROMPT.len() + 1).max(1);
    let before = safe(&picker.query[..picker.cursor]).into_owned();

    let mut start = 0;
    while width::measure(&before[start..]) > room {
        start += before[start..].chars().next().map_or(1, char::len_utf8);
    }

    let whole = format!("{before}{}", safe(&picker.query[picker.cursor..]));
    let cursor = PROMPT.len() + width::measure(&before[start..]);
    (format!("{}{}", paint.title(PROMPT), width::fit(&whole[start..], room + 1)), cursor)
}

fn status(picker: &Picker, columns: usize, paint: Paint) -> String {
    let fitted = |text: &str| width::fit(&safe(text), columns).into_owned();
    match &picker.error {
        Some(error) => paint.warning(fitted(error)),
        None if picker.query.trim().is_empty() => paint.dim(fitted(HELP)),
        None if picker.is_busy && picker.answer.summary.is_empty() => paint.dim("…"),
        None => paint.dim(fitted(&picker.answer.summary)),
    }
}

/// A line of the list: the place and the declaration.
fn entry(item: &Item, path: &str, columns: usize, is_selected: bool, paint: Paint) -> String {
    let mark = if is_selected { "▌ " } else { "  " };
    let place = format!("{path}:{}", item.line);
    let place = width::fit(&place, columns.saturating_sub(mark.len())).into_owned();
    let room = columns.saturating_sub(2 + width::measure(&place) + 2);

    let title = width::fit(&safe(&width::excerpt(&item.title)), room).into_owned();
    let title = highlight::painted(&item.highlighter, &title, paint, Paint::plain);
    let place = if is_selected { paint.title(place) } else { paint.bold(place) };
    format!("{}{place}  {title}", paint.title(mark))
}

/// Index of the first line of an item that is shown before it is scrolled.
fn first_line(item: &Item, room: usize) -> usize {
    let at = item.line.saturating_sub(item.first_line) as usize;
    scrolled(item, at.saturating_sub(LINES_BEFORE), 0, room)
}

/// Index of the line that is `scroll` lines after `first`. The last lines fill the room, so that nothing is
/// shown empty that could have text.
fn scrolled(item: &Item, first: usize, scroll: isize, room: usize) -> usize {
    let last = item.lines.len().saturating_sub(room);
    first.saturating_add_signed(scroll).min(last)
}

/// The lines of an item from the index `first`.
fn text(item: &Item, first: usize, columns: usize, room: usize, paint: Paint) -> Vec<String> {
    let digits = (item.first_line as usize + item.lines.len()).to_string().len();

    let lines: Vec<&str> = item.lines.iter().map(String::as_str).collect();
    let syntax = syntax_of_lines(&lines, &item.language);
    let numbered = (item.first_line as usize..).zip(lines.iter().zip(&syntax)).skip(first).take(room);
    numbered
        .map(|(number, (line, syntax))| {
            let is_place = number == item.line as usize;
            let label = format!("{number:>digits$} {}", if is_place { "▌" } else { "│" });
            let label = if is_place { paint.title(label) } else { paint.dim(label) };
            let room = columns.saturating_sub(digits + 3);
            format!("{label} {}", highlight::code(&item.highlighter, line, syntax, room, paint))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::picker::searches::Answer;
    use codeweaver_text::Highlighter;

    fn item(line: u32) -> Item {
        Item {
            path: "src/a.rs".to_owned(),
            line,
            title: "fn f()".to_owned(),
            first_line: 1,
            lines: (1..=40).map(|number| format!("line {number}")).collect(),
            language: "rust".to_owned(),
            highlighter: Highlighter::default(),
        }
    }

    #[test]
    fn the_selected_entry_and_its_line_are_visible() {
        let items = (1..=20).map(item).collect();
        let mut picker = Picker { query: "f".to_owned(), cursor: 1, selected: 19, ..Picker::default() };
        picker.answer = Answer { items, ..Answer::default() };

        let Frame { lines, cursor, .. } = frame(&picker, &str::to_owned, (40, 20), Paint::off());
        assert_eq!((lines[0].as_str(), cursor), ("> f", 3));
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[6], "▌ src/a.rs:20  fn f()");
        assert_eq!(lines[7], "─".repeat(40));
        assert_eq!(lines[11], "20 ▌ line 20");

        picker.scroll = 100;
        let Frame { lines, scroll, .. } = frame(&picker, &str::to_owned, (40, 20), Paint::off());
        assert_eq!((lines[19].as_str(), scroll), ("40 │ line 40", 12));
        picker.scroll = -100;
        let Frame { lines, scroll, .. } = frame(&picker, &str::to_owned, (40, 20), Paint::off());
        assert_eq!((lines[8].as_str(), scroll), (" 1 │ line 1", -16));
    }

    #[test]
    fn a_long_query_is_shown_up_to_its_cursor() {
        let query = "a long query with äöü at its end".to_owned();
        let picker = Picker { cursor: query.len(), query, ..Picker::default() };
        let Frame { lines, cursor, .. } = frame(&picker, &str::to_owned, (20, 10), Paint::off());
        assert_eq!((lines[0].as_str(), cursor), ("> th äöü at its end", 19));
    }
}
