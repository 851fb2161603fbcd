//! Putting the server's entry into the text of a configuration and taking it out again, whatever the format.
//!
//! An edit either keeps everything else that the text says, which each format checks by reading its own result, or it
//! is refused.

use super::entry::Entry;
use super::{json, toml, yaml};

/// A path of keys.
pub type Keys = [&'static str];

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// With comments and trailing commas.
    Json,
    Toml,
    Yaml,
}

/// Why a text is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EditError(pub String);

/// The fields of an entry that are texts, or lists of them.
pub(super) type Fields = Vec<(String, Vec<String>)>;

/// A text with the entry in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// How many tables around the entry were not there before, counted from the innermost.
    pub made: usize,
}

impl Format {
    /// `text` with `entry` in the first of `tables` that exists, or else in the last. Fields of an entry that is there
    /// already are set, others of it kept; a text that says all of it comes back as it is.
    pub fn put(self, text: &str, tables: &[&Keys], entry: &Entry) -> Result<Edited, EditError> {
        with_mark(text, |text| match self {
            Format::Json => json::put(text, tables, entry),
            Format::Toml => toml::put(text, tables, entry),
            Format::Yaml => yaml::put(text, tables, entry),
        })
    }

    /// `text` without the entry, and without the `made` innermost tables around it if they hold nothing else; `None` if
    /// there is no entry.
    pub fn take(self, text: &str, tables: &[&Keys], made: usize) -> Result<Option<String>, EditError> {
        let take = |text: &str| match self {
            Format::Json => json::take(text, tables, made),
            Format::Toml => toml::take(text, tables),
            Format::Yaml => yaml::take(text, tables, made),
        };
        match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => Ok(take(rest)?.map(|text| format!("{BYTE_ORDER_MARK}{text}"))),
            None => take(text),
        }
    }

    /// What the entry in `text` starts, with its arguments, whatever shape it has: empty if it names no command, `None` if
    /// there is no entry.
    pub fn command(self, text: &str, tables: &[&Keys]) -> Result<Option<Vec<String>>, EditError> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let fields = match self {
            Format::Json => json::fields(text, tables),
            Format::Toml => toml::fields(text, tables),
            Format::Yaml => yaml::fields(text, tables),
        };
        let named = |fields: &[(String, Vec<String>)], names: &[&str]| -> Vec<String> {
            let of_name = fields.iter().filter(|(name, _)| names.contains(&name.as_str()));
            of_name.flat_map(|(_, words)| words.iter().cloned()).collect()
        };
        Ok(fields?.map(|fields| [named(&fields, &["command", "cmd"]), named(&fields, &["args"])].concat()))
    }

    /// True if `text` says no more than `fresh`.
    pub fn says_no_more_than(self, text: &str, fresh: &str) -> bool {
        match self {
            Format::Json => json::is_same(text, fresh),
            Format::Toml | Format::Yaml => text.trim() == fresh.trim(),
        }
    }
}

fn with_mark(text: &str, edit: impl FnOnce(&str) -> Result<Edited, EditError>) -> Result<Edited, EditError> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => {
            edit(rest).map(|edited| Edited { text: format!("{BYTE_ORDER_MARK}{}", edited.text), ..edited })
        }
        None => edit(text),
    }
}

/// The line ends of `text`.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where the line of `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the line after that of `at` begins.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// `text` with each of these ranges replaced. They do not overlap.
pub(super) fn replaced(text: &str, mut changes: Vec<(std::ops::Range<usize>, String)>) -> String {
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut done) = (String::with_capacity(text.len() + 256), 0);
    for (range, new) in changes {
        out.push_str(&text[done..range.start]);
        out.push_str(&new);
        done = range.end;
    }
    out + &text[done..]
}
