//! Editing of TOML. The parser provides positions only. The text itself is edited, so that line endings,
//! spelling and white space of everything else are kept.

use std::ops::Range;

use toml_edit::{Document, Item, Key, Table};

use super::entry::{Entry, NAME, Value};
use super::text::{EditError, Edited, Fields, Keys, line_end, line_start, newline, replaced};

pub(super) fn insert(text: &str, tables: &[&Keys], entry: &Entry) -> Result<Edited, EditError> {
    let table = tables.last().copied().unwrap_or_default();
    let document = parse(text)?;
    let around = find(&document, table)?;
    let existing = around.and_then(|around| around.get(NAME));

    let after = match existing {
        Some(existing) => update(text, existing, entry)?,
        // A table below an inline table cannot have a header of its own.
        None if around.is_some_and(Item::is_inline_table) => {
            return Err(EditError(format!("`{}` in it is an inline table", table.join("."))));
        }
        None => append(text, table, entry),
    };

    // The result is parsed again, so that an edit that went wrong is never written.
    let read = parse(&after)?;
    let written = find(&read, table)?.and_then(|around| around.get(NAME));
    let is_written = entry.fields.iter().all(|(name, value)| {
        written.and_then(|entry| entry.get(name)).is_some_and(|item| is_same(item, value))
    });
    if !is_written {
        return Err(EditError("editing it would change more than the entry".to_owned()));
    }

    Ok(Edited { text: after, n_new_tables: usize::from(around.is_none()) })
}

pub(super) fn remove(text: &str, tables: &[&Keys]) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    for table in tables {
        let Some(around) = find(&document, table)?.and_then(Item::as_table_like) else { continue };
        let Some((key, entry)) = around.get_key_value(NAME) else { continue };

        let mut lines = Vec::new();
        match entry {
            Item::Table(entry) if !entry.is_dotted() => collect(text, entry, &mut lines),
            Item::Value(value) => lines.extend(own_lines(text, key, value)),
            // Other forms have no lines of their own; the check below reports them.
            _ => {}
        }

        let after = replaced(text, lines.into_iter().map(|range| (range, String::new())).collect());
        let is_gone = parse(&after).is_ok_and(|read| {
            find(&read, table).is_ok_and(|around| around.is_none_or(|around| around.get(NAME).is_none()))
        });

        return if is_gone {
            Ok(Some(after))
        } else {
            Err(EditError(format!("`{NAME}` in it is not on lines of its own")))
        };
    }
    Ok(None)
}

/// Returns the lines of a key with its value; `None` if they contain anything else but a comment.
fn own_lines(text: &str, key: &Key, value: &toml_edit::Value) -> Option<Range<usize>> {
    let (key, value) = (key.span()?, value.span()?);
    let (start, end) = (line_start(text, key.start), line_end(text, value.end));

    let rest = text[value.end..end].trim();
    let is_alone = text[start..key.start].trim().is_empty() && (rest.is_empty() || rest.starts_with('#'));
    is_alone.then_some(start..end)
}

/// Returns the fields of the entry; `None` if there is no entry.
pub(super) fn fields(text: &str, tables: &[&Keys]) -> Result<Option<Fields>, EditError> {
    let document = parse(text)?;
    for table in tables {
        let Some(entry) = find(&document, table)?.and_then(|around| around.get(NAME)) else { continue };

        let fields = entry.as_table_like().into_iter().flat_map(|entry| entry.iter());
        return Ok(Some(fields.map(|(name, item)| (name.to_owned(), words(item))).collect()));
    }
    Ok(None)
}

/// Returns a string, or the strings of a list.
fn words(item: &Item) -> Vec<String> {
    let list = item.as_array().into_iter().flatten().filter_map(|word| word.as_str());
    item.as_str().into_iter().chain(list).map(str::to_owned).collect()
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        EditError(format!("it is not valid TOML: {reason} on line {line}"))
    })
}

fn find<'d>(document: &'d Document<&str>, table: &Keys) -> Result<Option<&'d Item>, EditError> {
    let mut at = document.as_item();
    for key in table {
        match at.get(key) {
            None => return Ok(None),
            Some(item) if item.is_table_like() => at = item,
            Some(_) => return Err(EditError(format!("`{key}` in it is not a table"))),
        }
    }
    Ok(Some(at))
}

/// Appends the entry as a table of its own, which is valid after any content.
fn append(text: &str, table: &Keys, entry: &Entry) -> String {
    let newline = newline(text);
    let mut out = text.to_owned();

    if !text.is_empty() && !text.ends_with('\n') {
        out.push_str(newline);
    }
    if !text.is_empty() {
        out.push_str(newline);
    }

    out.push_str(&format!("[{}.{NAME}]{newline}", table.join(".")));
    for (name, value) in &entry.fields {
        out.push_str(&format!("{name} = {}{newline}", value.to_line()));
    }

    out
}

/// Sets the fields of an existing entry that differ.
fn update(text: &str, existing: &Item, entry: &Entry) -> Result<String, EditError> {
    let like = existing.as_table_like().ok_or_else(|| EditError(format!("`{NAME}` in it is not a table")))?;
    let mut changes = Vec::new();

    for (name, value) in &entry.fields {
        match like.get(name) {
            Some(item) if is_same(item, value) => {}
            Some(item) => match item.span().filter(|_| item.is_value()) {
                Some(span) => changes.push((span, value.to_line())),
                None => return Err(EditError(format!("`{NAME}.{name}` in it is not a plain value"))),
            },
            // A new field goes below the header of the table; an inline table has none.
            None => match existing.as_table().and_then(Table::span) {
                Some(header) => {
                    let at =
                        header.end + text[header.end..].find(['\n', '\r']).unwrap_or(text.len() - header.end);
                    changes.push((at..at, format!("{}{name} = {}", newline(text), value.to_line())));
                }
                None => return Err(EditError(format!("`{NAME}` in it has no `{name}`"))),
            },
        }
    }

    Ok(replaced(text, changes))
}

/// Collects the lines of a table and its subtables, each from the header to the last value. Comments before a
/// header or after the last value do not belong to the table.
fn collect(text: &str, table: &Table, lines: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span() {
        let end = table.iter().filter_map(|(_, item)| value_end(item)).max().unwrap_or(header.end);
        let (mut start, end) = (line_start(text, header.start), line_end(text, end.max(header.end)));

        // Include one blank line before the table, unless it is needed to separate the next table.
        let before = text[..start].trim_end_matches(['\n', '\r']).len();
        let has_blank_line = text[before..start].matches('\n').count() > 1;
        if has_blank_line && (end == text.len() || text[end..].starts_with(['\n', '\r'])) {
            start = line_start(text, start - 1);
        }

        lines.push(start..end);
    }
    for (_, item) in table {
        if let Item::Table(inner) = item {
            collect(text, inner, lines);
        }
    }
}

/// Returns the end of a value, or of the last value of a dotted table.
fn value_end(item: &Item) -> Option<usize> {
    match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(table) if table.is_dotted() => table.iter().filter_map(|(_, item)| value_end(item)).max(),
        _ => None,
    }
}

fn is_same(item: &Item, value: &Value) -> bool {
    match value {
        Value::Text(text) => item.as_str() == Some(text),
        Value::List(words) => item.as_array().is_some_and(|array| {
            array.len() == words.len()
                && array.iter().zip(words).all(|(item, word)| item.as_str() == Some(word))
        }),
        Value::Flag(flag) => item.as_bool() == Some(*flag),
        Value::Number(number) => item.as_integer() == Some(i64::from(*number)),
    }
}
