//! Receipts of edits, which allow to undo them exactly.
//!
//! A text alone does not tell whether an empty table, a blank or the file itself existed before an edit. A
//! receipt therefore records the replaced range of text, which contains none of the user's own values.
//! Without a receipt, or after a client has rewritten its file, the entry can still be removed, but white
//! space around it may differ.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::entry::NAME;
use super::error::ClientError;
use super::file;
use super::places::Environment;

const FILE_NAME: &str = "mcp-clients.json";
const VERSION: u32 = 1;
/// Readable by the user only.
const MODE: u32 = 0o600;

/// Record of an edit of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub client: String,
    /// Path with symbolic links resolved.
    pub file: PathBuf,
    pub created_file: bool,
    /// Outermost first.
    pub created_directories: Vec<PathBuf>,
    /// As in [`super::text::Edited`].
    pub n_new_tables: usize,
    pub change: TextChange,
    /// BLAKE3 hash of the text after the edit, in hexadecimal.
    pub after: String,
}

/// The range in which two texts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// Byte offset.
    at: usize,
    removed: String,
    inserted: String,
}

/// All receipts of the user.
#[derive(Debug, Clone, Default)]
pub struct Receipts {
    path: Option<PathBuf>,
    text: Option<String>,
    stored: Stored,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    created_directories: Vec<PathBuf>,
    edits: Vec<Receipt>,
}

impl TextChange {
    /// The smallest change, in whole characters, that turns `old` into `new`.
    pub fn between(old: &str, new: &str) -> TextChange {
        let at = common_length(old.chars().zip(new.chars()));
        let (old, new) = (&old[at..], &new[at..]);
        let n_end = common_length(old.chars().rev().zip(new.chars().rev()));

        let removed = old[..old.len() - n_end].to_owned();
        let inserted = new[..new.len() - n_end].to_owned();
        TextChange { at, removed, inserted }
    }
}

/// The number of bytes of the equal pairs at the beginning.
fn common_length(pairs: impl Iterator<Item = (char, char)>) -> usize {
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

impl Receipt {
    /// Undoes the edit in the current text. Returns `None` unless that is exactly the text after the edit, or
    /// contains the inserted range once.
    pub fn undo(&self, now: &str) -> Option<String> {
        let TextChange { at, removed, inserted } = &self.change;
        if hash(now) == self.after && now.get(*at..)?.starts_with(inserted.as_str()) {
            return Some([&now[..*at], removed, &now[at + inserted.len()..]].concat());
        }

        // The client has rewritten its file, but not the inserted range.
        let is_unique = inserted.contains(NAME) && now.matches(inserted.as_str()).count() == 1;
        is_unique.then(|| now.replacen(inserted.as_str(), removed, 1))
    }
}

impl Receipts {
    /// Loads the receipts from the user's state directory. An unreadable file is treated as empty.
    pub fn load(environment: &Environment) -> Receipts {
        let path = environment.state_file(FILE_NAME);
        let text = path.as_deref().and_then(|path| file::read(path).ok().flatten());
        let stored = text.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let stored: Stored = stored.filter(|stored: &Stored| stored.version == VERSION).unwrap_or_default();
        Receipts { path, text, stored }
    }

    pub fn find(&self, client: &str, file: &Path) -> Option<&Receipt> {
        self.stored.edits.iter().find(|edit| edit.client == client && edit.file == file)
    }

    /// Returns whether there is a receipt of a client for a file in the directory `dir`.
    pub fn has_below(&self, client: &str, dir: &Path) -> bool {
        self.stored.edits.iter().any(|edit| edit.client == client && edit.file.starts_with(dir))
    }

    /// Replaces or removes the receipt of a client's file, and saves all receipts.
    pub fn set(&mut self, client: &str, file: &Path, receipt: Option<Receipt>) -> Result<(), ClientError> {
        self.stored.edits.retain(|edit| edit.client != client || edit.file != file);
        self.stored.edits.extend(receipt);
        self.save()
    }

    /// Saves the receipts. Without any, the file is removed.
    fn save(&mut self) -> Result<(), ClientError> {
        let Some(path) = &self.path else { return Ok(()) };

        if self.stored.edits.is_empty() {
            if let Some(text) = self.text.take() {
                file::remove(path, &text, &std::mem::take(&mut self.stored.created_directories))?;
            }
            return Ok(());
        }

        // The directories that the file is about to create.
        if self.text.is_none() {
            self.stored.created_directories = file::missing_directories(path);
        }

        self.stored.version = VERSION;
        let text = serde_json::to_string_pretty(&self.stored)
            .map_err(|source| ClientError::Receipts { source })?
            + "\n";

        file::write(path, self.text.as_deref(), &text, MODE)?;
        self.text = Some(text);
        Ok(())
    }
}

pub fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(old: &str, new: &str) -> Receipt {
        Receipt {
            client: "c".to_owned(),
            file: PathBuf::from("/f"),
            created_file: false,
            created_directories: Vec::new(),
            n_new_tables: 0,
            change: TextChange::between(old, new),
            after: hash(new),
        }
    }

    #[test]
    fn an_edit_is_undone_wherever_its_text_is_found() {
        let (old, new) = ("{ä: {}, ö: 1}", "{ä: {git-codeweaver: ü}, ö: 1}");
        let receipt = receipt(old, new);
        assert_eq!(receipt.undo(new).as_deref(), Some(old));
        assert_eq!(
            receipt.undo("{é: 2, ä: {git-codeweaver: ü}, ö: 1}").as_deref(),
            Some("{é: 2, ä: {}, ö: 1}")
        );
        assert_eq!(receipt.undo("{ä: {git-codeweaver: other}}"), None);
        assert_eq!(receipt.undo(&format!("{new}{new}")), None);
    }

    #[test]
    fn a_change_without_the_server_name_is_undone_only_in_the_exact_text() {
        let receipt = receipt("{git-codeweaver: 1}", "{git-codeweaver: 2}");
        assert_eq!(receipt.undo("{git-codeweaver: 2}").as_deref(), Some("{git-codeweaver: 1}"));
        assert_eq!(receipt.undo("{a: 2, git-codeweaver: 3}"), None);
    }
}
