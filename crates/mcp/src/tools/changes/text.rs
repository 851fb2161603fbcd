//! The text of `changes`, and the answer with it.

use std::fmt::Write as _;

use codeweaver::query::changes::symbols::SymbolChangeKind;
use codeweaver_git::quoting::printed;
use codeweaver_git::shown_rename;
use codeweaver_git::worktree::FileState;

use super::gather::{Gathered, Item};
use super::output::{CommitOutput, FileOutput, HunkOutput, Output};
use crate::tools::text::more;
use crate::tools::{Answer, AnswerEnd, OkStatus};

impl Gathered {
    pub(super) fn answer(
        &self,
        n: usize,
        offset: usize,
        next_cursor: Option<String>,
        no_room: Option<String>,
        root: &std::path::Path,
    ) -> Answer<Output> {
        let items = &self.items[..n];
        let mut warnings = self.warnings.clone();
        warnings.extend(no_room);

        let mut text = String::new();
        // A commit that is shown by itself is the headline of its files.
        let n_heading = usize::from(self.title.is_empty() && matches!(items.first(), Some(Item::Commit(_))));
        write_items(&mut text, &items[..n_heading], None);

        text.push_str(&self.headline(offset));
        for warning in &warnings {
            let _ = writeln!(text, "note: {warning}");
        }

        for commit in &self.few_commits {
            let _ = writeln!(text, "{} {}", commit.commit, commit.subject);
        }

        write_items(&mut text, &items[n_heading..], self.more_commits.as_deref());
        if let Some(cursor) = &next_cursor {
            text.push_str(&more(cursor));
        }

        let (mut commits, mut files) = (self.few_commits.clone(), Vec::<FileOutput>::new());
        for item in items {
            match item {
                Item::Commit(commit) => commits.push(commit.clone()),
                Item::File(file) => files.push(file.clone()),
                // The hunks of one file follow each other.
                Item::Hunk(file, hunk) => match files.last_mut().filter(|last| last.file == file.file) {
                    Some(last) => last.hunks.push(hunk.clone()),
                    None => files.push(FileOutput { hunks: vec![hunk.clone()], ..file.clone() }),
                },
            }
        }

        Answer {
            text,
            structured: Output {
                status: OkStatus::Ok,
                from: self.from.clone(),
                to: self.to.clone(),
                commits,
                total_commits: self.total_commits,
                merges: self.merges,
                files,
                total_files: self.total_files,
                added_lines: self.lines.0,
                removed_lines: self.lines.1,
                end: AnswerEnd { warnings, codebase_root: root.to_path_buf(), next_cursor },
            },
        }
    }

    /// The first line: the compared states, and the numbers of commits, files and lines.
    pub(super) fn headline(&self, offset: usize) -> String {
        let mut parts = Vec::new();
        if self.from.is_some() || self.total_files.is_none() {
            match self.total_commits {
                Some(1) if self.title.is_empty() => {}
                Some(n) => parts.push(plural(n, "commit")),
                None => {}
            }
            // Without a total, the count of merges is incomplete.
            if self.merges > 0 && self.from.is_some() && self.total_commits.is_some() {
                parts.push(format!("{} not listed", plural(self.merges, "merge")));
            }
        }

        if let Some(n) = self.total_files {
            let (added, removed) = self.lines;
            let lines = if n > 0 { format!(" +{added} -{removed}") } else { String::new() };
            parts.push(format!("{}{lines}", plural(n, "file")));
        }

        let has_symbols =
            self.items.iter().any(|item| matches!(item, Item::File(file) if !file.symbols.is_empty()));
        let legend = if has_symbols { " (symbols: +added -removed *signature ~body)" } else { "" };

        let title = match (self.title.as_str(), parts.is_empty()) {
            ("", _) => String::new(),
            (title, true) => title.to_owned(),
            (title, false) => format!("{title}: "),
        };

        let from = if offset > 0 { format!(", from item {}", offset + 1) } else { String::new() };
        format!("{title}{}{from}{legend}\n", parts.join(", "))
    }
}

pub(super) fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Writes items. The directory of consecutive files is written once.
pub(super) fn write_items(text: &mut String, items: &[Item], more_commits: Option<&str>) {
    let mut directory: Option<&str> = None;
    let mut last_file: Option<&str> = None;
    let n_commits = items.iter().filter(|item| matches!(item, Item::Commit(_))).count();
    let mut n_written = 0;

    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Commit(_) => {
                // Commits that follow files get a heading.
                if n_written == 0 && at > 0 {
                    text.push_str("commits:\n");
                }
                item.write(text, None);
                n_written += 1;
                if n_written == n_commits
                    && let Some(more) = more_commits
                {
                    let _ = writeln!(text, "{more}");
                }
            }
            Item::File(file) => {
                let own = directory_of(file);
                let next = match items.get(at + 1) {
                    Some(Item::File(next)) => directory_of(next),
                    _ => None,
                    // A directory line pays off only if the next file is in the same directory.
                };
                if own.is_none() || own != directory {
                    directory = own.filter(|_| own == next);
                    if let Some(directory) = directory {
                        let _ = writeln!(text, "{directory}");
                    }
                }
                item.write(text, directory);
            }
            Item::Hunk(file, hunk) => {
                if last_file != Some(&file.file) {
                    Item::File(file.clone()).write(text, None);
                    last_file = Some(&file.file);
                }
                write_hunk(text, hunk);
            }
        }
    }
}

/// The directory of a file with a slash; `None` for a renamed file, for one that is quoted, and at the root.
pub(super) fn directory_of(file: &FileOutput) -> Option<&str> {
    let end = file.file.rfind('/')? + 1;
    let is_plain = file.old_file.is_none() && !printed(&file.file).starts_with('"');
    is_plain.then(|| &file.file[..end])
}

pub(super) fn write_hunk(text: &mut String, hunk: &HunkOutput) {
    let within = hunk.within.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let _ = writeln!(text, "@@ -{} +{} @@{within}\n{}", hunk.old_start, hunk.new_start, hunk.text);
}

impl Item {
    /// Writes the item. The name of a file is written without `directory`, which is already written.
    pub(super) fn write(&self, text: &mut String, directory: Option<&str>) {
        match self {
            Item::Commit(commit) => write_commit(text, commit),
            Item::File(file) => write_file(text, file, directory),
            Item::Hunk(_, hunk) => write_hunk(text, hunk),
        }
    }
}

/// The qualified name of the owner of a member.
pub(super) fn owner_of(name: &str) -> Option<&str> {
    let at = name.rfind(['.', ':', '#'])?;
    Some(name[..at].trim_end_matches(':')).filter(|owner| !owner.is_empty())
}

pub(super) fn write_commit(text: &mut String, commit: &CommitOutput) {
    let _ = write!(text, "{} {} {}", commit.commit, commit.date, commit.subject);
    let to = commit.file.as_deref().unwrap_or_default();
    let moved = commit.moved_from.as_ref().map(|from| format!("moved {}", shown_rename(from, to)));
    let facts: Vec<&str> = commit.symbol.into_iter().chain(moved.as_deref()).collect();
    if !facts.is_empty() {
        let _ = write!(text, " [{}]", facts.join(", "));
    }

    text.push('\n');

    if !commit.body.is_empty() {
        let _ = writeln!(text, "by {}\n{}\n", commit.author, commit.body);
    }
}

pub(super) fn write_file(text: &mut String, file: &FileOutput, directory: Option<&str>) {
    // The letters are those of `git status`.
    let letter = match (file.conflicted, file.state, file.change) {
        (true, ..) => 'U',
        (_, Some(FileState::Untracked), _) => '?',
        (_, _, "added") => 'A',
        (_, _, "deleted") => 'D',
        (_, _, "renamed") => 'R',
        (_, _, "mode") => 'T',
        _ => 'M',
    };

    let name = match (&file.old_file, directory) {
        (Some(old), _) => shown_rename(old, &file.file),
        (None, Some(directory)) => file.file[directory.len()..].to_owned(),
        (None, None) => printed(&file.file).into_owned(),
    };

    let _ = write!(text, "{letter} {name}");
    match (file.added, file.removed) {
        (Some(added), Some(removed)) => {
            if added > 0 {
                let _ = write!(text, " +{added}");
            }
            if removed > 0 {
                let _ = write!(text, " -{removed}");
            }
        }
        _ if file.skipped.is_none() => text.push_str(" (not compared)"),
        _ => {}
    }

    if let Some(reason) = file.skipped.or(file.no_diff.filter(|why| *why != "deleted")) {
        let _ = write!(text, " ({reason})");
    }
    if !file.symbols.is_empty() {
        text.push(':');
    }

    let mut owner = "";
    for symbol in &file.symbols {
        let mark = [
            SymbolChangeKind::Added,
            SymbolChangeKind::Removed,
            SymbolChangeKind::Signature,
            SymbolChangeKind::Body,
        ]
        .into_iter()
        .find(|kind| kind.name() == symbol.change)
        .map_or('~', SymbolChangeKind::mark);
        // Consecutive members of one type are written with its name once.

        let name = match symbol.name.strip_prefix(owner).filter(|_| !owner.is_empty()) {
            Some(member) if member.starts_with(['.', ':', '#']) => member,
            _ => {
                owner = owner_of(&symbol.name).unwrap_or(&symbol.name);
                &symbol.name
            }
        };
        let _ = write!(text, " {mark}{name}");
    }

    if file.more_symbols > 0 {
        let _ = write!(text, " and {} more", file.more_symbols);
    }
    text.push('\n');
}
