//! Adding and removing the server's entry in the text of a configuration, in any format that is edited.
//!
//! An edit preserves everything else in the text, which each format verifies by parsing its own result.
//! Otherwise the edit is refused.

use super::entry::Entry;
use super::text::{EditError, Edited, Keys};
use super::{json, toml};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A format that can be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON with comments and trailing commas.
    Json,
    Toml,
}

impl Format {
    /// Returns `text` with `entry` in the first of `tables` that exists, or else in the last. In an existing
    /// entry, the given fields are set and others kept. A text that already contains all of it is returned
    /// unchanged.
    pub fn insert(self, text: &str, tables: &[&Keys], entry: &Entry) -> Result<Edited, EditError> {
        let (mark, rest) = split_byte_order_mark(text);
        let edited = match self {
            Format::Json => json::insert(rest, tables, entry),
            Format::Toml => toml::insert(rest, tables, entry),
        }?;

        Ok(Edited { text: format!("{mark}{}", edited.text), ..edited })
    }

    /// Returns `text` without the entry, and without those of the `n_new_tables` innermost tables around it
    /// that are then empty; `None` if there is no entry.
    pub fn remove(
        self,
        text: &str,
        tables: &[&Keys],
        n_new_tables: usize,
    ) -> Result<Option<String>, EditError> {
        let (mark, rest) = split_byte_order_mark(text);
        let edited = match self {
            Format::Json => json::remove(rest, tables, n_new_tables),
            Format::Toml => toml::remove(rest, tables),
        }?;

        Ok(edited.map(|text| format!("{mark}{text}")))
    }

    /// Returns the command of the entry in `text` with its arguments, in any shape: empty if it names no
    /// command, `None` if there is no entry.
    pub fn command(self, text: &str, tables: &[&Keys]) -> Result<Option<Vec<String>>, EditError> {
        let (_, text) = split_byte_order_mark(text);
        let fields = match self {
            Format::Json => json::fields(text, tables),
            Format::Toml => toml::fields(text, tables),
        };

        Ok(fields?.map(|fields| [words_of(&fields, "command"), words_of(&fields, "args")].concat()))
    }

    /// Returns whether `text` contains no more than `fresh`.
    pub fn is_equivalent(self, text: &str, fresh: &str) -> bool {
        match self {
            Format::Json => json::is_equivalent(text, fresh),
            Format::Toml => text.trim() == fresh.trim(),
        }
    }
}

/// Splits a byte order mark from `text`; the mark is empty if there is none.
fn split_byte_order_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 })
}

/// Returns the words of all fields called `name`.
fn words_of(fields: &[(String, Vec<String>)], name: &str) -> Vec<String> {
    fields.iter().filter(|(field, _)| field == name).flat_map(|(_, words)| words.clone()).collect()
}
