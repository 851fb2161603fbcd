//! What was changed where, so that it can be undone to the byte.
//!
//! A text alone does not say whether an empty table, a blank or the file itself was there before. So every edit is
//! remembered as the stretch of text that it replaced, which holds none of the user's own values. Without a receipt, or
//! once a client has rewritten its file, the entry is still taken out, only the blanks around it may differ then.

use super::entry::NAME;
use super::error::ClientError;
use super::file;
use super::places::Surroundings;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "mcp-clients.json";
const VERSION: u32 = 1;
/// For the user alone.
const MODE: u32 = 0o600;

/// One edit of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub client: String,
    /// The file itself, links followed.
    pub file: PathBuf,
    pub created_file: bool,
    /// Outermost first.
    pub created_folders: Vec<PathBuf>,
    /// As in [`super::edit::Edited`].
    pub made: usize,
    pub stretch: Stretch,
    /// BLAKE3 of the text after the edit, in hexadecimal.
    pub after: String,
}

/// The stretch in which two texts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// In bytes.
    at: usize,
    removed: String,
    inserted: String,
}

/// All receipts of this user.
#[derive(Debug, Clone, Default)]
pub struct Receipts {
    path: Option<PathBuf>,
    text: Option<String>,
    stored: Stored,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    created_folders: Vec<PathBuf>,
    edits: Vec<Receipt>,
}

impl Stretch {
    pub fn between(old: &str, new: &str) -> Stretch {
        let same = |pairs: &mut dyn Iterator<Item = (char, char)>| {
            pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
        };
        let at = same(&mut old.chars().zip(new.chars()));
        let (old, new) = (&old[at..], &new[at..]);
        let end = same(&mut old.chars().rev().zip(new.chars().rev()));
        let part = |text: &str| text[..text.len() - end].to_owned();
        Stretch { at, removed: part(old), inserted: part(new) }
    }
}

impl Receipt {
    /// The text before the edit, if that can be told from the text now: it is the text after the edit, or the inserted
    /// stretch is still in it.
    pub fn undo(&self, now: &str) -> Option<String> {
        let Stretch { at, removed, inserted } = &self.stretch;
        if hash(now) == self.after && now.get(*at..)?.starts_with(inserted.as_str()) {
            return Some([&now[..*at], removed, &now[at + inserted.len()..]].concat());
        }
        let is_found = inserted.contains(NAME) && now.matches(inserted.as_str()).count() == 1;
        is_found.then(|| now.replacen(inserted.as_str(), removed, 1))
    }
}

impl Receipts {
    /// Those in the user's state folder. One that cannot be read counts as empty.
    pub fn load(surroundings: &Surroundings) -> Receipts {
        let path = surroundings.state_file(FILE_NAME);
        let text = path.as_deref().and_then(|path| file::read(path).ok().flatten());
        let stored = text.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let stored: Stored = stored.filter(|stored: &Stored| stored.version == VERSION).unwrap_or_default();
        Receipts { path, text, stored }
    }

    pub fn find(&self, client: &str, file: &Path) -> Option<&Receipt> {
        self.stored.edits.iter().find(|edit| edit.client == client && edit.file == file)
    }

    /// Replaces the receipt of a client's file, or drops it, and saves.
    pub fn set(&mut self, client: &str, file: &Path, receipt: Option<Receipt>) -> Result<(), ClientError> {
        self.stored.edits.retain(|edit| edit.client != client || edit.file != file);
        self.stored.edits.extend(receipt);
        self.save()
    }

    /// The last receipt takes the file with it.
    fn save(&mut self) -> Result<(), ClientError> {
        let Some(path) = &self.path else { return Ok(()) };
        if self.stored.edits.is_empty() {
            if let Some(text) = self.text.take() {
                file::remove(path, &text, &std::mem::take(&mut self.stored.created_folders))?;
            }
            return Ok(());
        }
        if self.text.is_none() {
            self.stored.created_folders = file::missing_folders(path);
        }
        self.stored.version = VERSION;
        let text = serde_json::to_string_pretty(&self.stored)? + "\n";
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
            created_folders: Vec::new(),
            made: 0,
            stretch: Stretch::between(old, new),
            after: hash(new),
        }
    }

    #[test]
    fn an_edit_is_undone_wherever_its_stretch_is_now() {
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
    fn a_stretch_without_the_name_is_undone_only_in_the_text_it_was_made_in() {
        let receipt = receipt("{git-codeweaver: 1}", "{git-codeweaver: 2}");
        assert_eq!(receipt.undo("{git-codeweaver: 2}").as_deref(), Some("{git-codeweaver: 1}"));
        assert_eq!(receipt.undo("{a: 2, git-codeweaver: 3}"), None);
    }
}
