//! Titles and excerpts of sections as they are shown.

use crate::doc;

/// Returns a title as it reads: without emphasis, code marks, link targets and attributes.
pub(super) fn plain_title(title: &str) -> String {
    let title = match title.rfind("{#") {
        Some(at) if title.ends_with('}') => title[..at].trim_end(),
        _ => title,
    };

    let mut plain = String::with_capacity(title.len());
    let mut rest = title;
    // Links end here; the brackets around their text are removed below.
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at);
        plain.push_str(before);
        rest = after.find(')').map_or("", |close| &after[close + 1..]);
    }

    plain.push_str(rest);
    plain.retain(|c| !matches!(c, '`' | '*' | '[' | ']'));
    excerpt(&plain)
}

/// Returns `text` with runs of white space as one blank, at most [`doc::MAX_CHARS`] characters.
pub(super) fn excerpt(text: &str) -> String {
    let mut excerpt = String::new();
    doc::collapse(&mut excerpt, text);
    excerpt.truncate(excerpt.trim_end().len());
    excerpt
}

/// Returns the heading path on one line. If it exceeds [`doc::MAX_CHARS`], its outermost headings are left
/// out.
pub(super) fn path_title(path: &[String]) -> String {
    let mut titles = (0..path.len()).map(|from| path[from..].join(" > "));
    titles.find(|title| title.chars().count() <= doc::MAX_CHARS).unwrap_or_default()
}

/// Returns the first sentence of the first paragraph of prose in the body of a section, at most
/// [`doc::MAX_CHARS`] characters.
pub(super) fn first_sentence(body: &str) -> String {
    const MAX_LINES: usize = 40;
    const MAX_PARAGRAPH_LINES: usize = 8;

    let lines = body.lines().take(MAX_LINES).map(str::trim).skip_while(|line| !is_prose(line));
    let paragraph: Vec<&str> = lines.take_while(|line| is_prose(line)).take(MAX_PARAGRAPH_LINES).collect();

    let text = excerpt(&paragraph.join(" "));
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

/// Returns whether a line is neither blank nor the beginning of a table, list of attributes, heading or rule.
fn is_prose(line: &str) -> bool {
    !line.is_empty()
        && !line.starts_with(['|', '<', '!', '`', '~', '#', '=', '[', ':'])
        && !line.starts_with("---")
}
