//! Titles and excerpts of sections as they are shown.

use crate::doc;

/// A title as it reads: without emphasis, code marks, link targets and attributes.
pub(super) fn plain_title(title: &str) -> String {
    let title = match title.rfind("{#") {
        Some(at) if title.ends_with('}') => title[..at].trim_end(),
        _ => title,
    };
    let mut plain = String::with_capacity(title.len());
    let mut rest = title;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at);
        plain.push_str(before);
        rest = after.find(')').map_or("", |close| &after[close + 1..]);
    }
    plain.push_str(rest);
    plain.retain(|c| !matches!(c, '`' | '*' | '[' | ']'));
    excerpt(&plain)
}

/// `text` with runs of white space as one blank, at most [`doc::MAX_CHARS`] characters.
pub(super) fn excerpt(text: &str) -> String {
    let mut excerpt = String::new();
    doc::collapse(&mut excerpt, text);
    excerpt.truncate(excerpt.trim_end().len());
    excerpt
}

/// The heading path on one line; where that exceeds [`doc::MAX_CHARS`], without its outermost headings.
pub(super) fn path_title(path: &[String]) -> String {
    let mut titles = (0..path.len()).map(|from| path[from..].join(" > "));
    titles.find(|title| title.chars().count() <= doc::MAX_CHARS).unwrap_or_default()
}

/// First sentence of the first paragraph of prose in the body of a section, at most [`doc::MAX_CHARS`]
/// characters.
pub(super) fn first_sentence(body: &str) -> String {
    let is_prose = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['|', '<', '!', '`', '~', '#', '=', '[', ':'])
            && !line.starts_with("---")
    };
    let mut lines = body.lines().take(40).map(str::trim).skip_while(|line| !is_prose(line));
    let paragraph: Vec<&str> = lines.by_ref().take_while(|line| is_prose(line)).take(8).collect();
    let text = excerpt(&paragraph.join(" "));
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}
