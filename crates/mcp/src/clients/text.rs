//! Types and text helpers shared by the editors of all formats.

/// A path of keys to a table.
pub type Keys = [&'static str];

/// Reason for which a text is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EditError(pub String);

/// The fields of an entry that are strings or lists of strings.
pub(super) type Fields = Vec<(String, Vec<String>)>;

/// A text with the entry in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// Number of tables around the entry that the edit created, counted from the innermost.
    pub n_new_tables: usize,
}

/// Returns the line ending used in `text`.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the start of the line that contains byte `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the start of the line after the one that contains byte `at`.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Returns `text` with the given ranges replaced. They must not overlap.
pub(super) fn replaced(text: &str, mut changes: Vec<(std::ops::Range<usize>, String)>) -> String {
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut copied) = (String::with_capacity(text.len() + 256), 0);

    for (range, new) in changes {
        out.push_str(&text[copied..range.start]);
        out.push_str(&new);
        copied = range.end;
    }

    out + &text[copied..]
}
