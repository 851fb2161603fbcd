//! Lines that differ between two versions of a file.

use codeweaver_git::{LineHunk, diff_lines};
use codeweaver_index::policy::SkipReason;

use super::Changes;
use super::files::{FileChange, FileChangeKind};
use super::symbols::{Definition, name_segments};
use crate::query::error::QueryError;

/// Maximum number of lines of one hunk; a longer one is split.
const MAX_LINES: usize = 50;
/// Maximum number of characters of a shown line.
const MAX_WIDTH: usize = 240;

/// A range of lines that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// First line, counted from 1, in the older and in the newer version.
    pub old_start: u32,
    pub new_start: u32,
    /// Qualified name of the definition that its first changed line is in.
    pub within: Option<String>,
    /// Lines that begin with a space, `-` or `+`, as git writes them.
    pub lines: Vec<String>,
}

/// The hunks of a file, or the reason why none are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileDiff {
    Hunks(Vec<DiffHunk>),
    NotShown(&'static str),
}

impl Changes<'_> {
    /// The lines of a file that differ, with `context` unchanged lines around them. With a symbol in the
    /// request, only those of the symbol.
    ///
    /// # Errors
    /// The working tree or the policy of HEAD cannot be read.
    pub fn diff(&mut self, file: &FileChange, context: u32) -> Result<FileDiff, QueryError> {
        if let Some(reason) = file.skipped {
            return Ok(FileDiff::NotShown(reason.name()));
        }
        // Every line of a deleted file is removed, so its text adds nothing.
        if file.kind == FileChangeKind::Deleted && self.request.symbol.is_none() {
            return Ok(FileDiff::NotShown("deleted"));
        }
        let (Some(old), Some(new)) = (self.contents.old(file)?, self.contents.new_text(file)?) else {
            return Ok(FileDiff::NotShown("too large or not in this clone"));
        };
        let has_secret = self.contents.is_secret(file.older_path(), &old)?
            || self.contents.is_secret(file.path.as_ref(), &new)?;
        if has_secret {
            return Ok(FileDiff::NotShown(SkipReason::Secret.name()));
        }

        let Some(diff) = diff_lines(&old, &new) else { return Ok(FileDiff::NotShown("binary")) };
        let before = self.definitions(file.older_path(), &old);
        let after = self.definitions(file.path.as_ref(), &new);

        let mut wanted = diff.hunks.clone();
        if let Some(symbol) = &self.request.symbol {
            let name: Vec<&str> = name_segments(symbol).collect();
            wanted.retain(|hunk| {
                touches(&before, &name, hunk.old.start, hunk.old.end)
                    || touches(&after, &name, hunk.new.start, hunk.new.end)
            });
        }

        let texts = Texts {
            old: lines_of(&old),
            new: lines_of(&new),
            all: &diff.hunks,
            before: &before,
            after: &after,
            context,
        };
        Ok(FileDiff::Hunks(texts.hunks(&wanted)))
    }
}

/// Returns whether lines `from..to`, counted from 0, are in a definition of the name `wanted`.
fn touches(definitions: &[Definition], wanted: &[&str], from: u32, to: u32) -> bool {
    from < to && definitions.iter().any(|it| it.lines.0 <= to && from < it.lines.1 && it.is_named(wanted))
}

fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Both versions of a file.
struct Texts<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    /// All changes, in order, also those that are not wanted.
    all: &'a [LineHunk],
    before: &'a [Definition],
    after: &'a [Definition],
    /// Unchanged lines around a hunk.
    context: u32,
}

impl Texts<'_> {
    /// Groups `changes` that are close to each other, and returns their hunks.
    fn hunks(&self, changes: &[LineHunk]) -> Vec<DiffHunk> {
        let mut found = Vec::new();

        let mut rest = changes;
        while let Some(first) = rest.first() {
            // Changes whose contexts touch or overlap are one group, unless another change is between them.
            let is_near = |pair: &&[LineHunk]| {
                pair[1].old.start <= pair[0].old.end + 2 * self.context
                    && self.after(&pair[0]) == Some(&pair[1])
            };
            let n = 1 + rest.windows(2).take_while(is_near).count();
            self.push_group(&mut found, &rest[..n], first);
            rest = &rest[n..];
        }
        found
    }

    /// The change after `change`, wanted or not.
    fn after(&self, change: &LineHunk) -> Option<&LineHunk> {
        let is_before = |it: &LineHunk| (it.old.start, it.new.start) <= (change.old.start, change.new.start);
        self.all.get(self.all.partition_point(is_before))
    }

    /// Adds the neighbouring `changes` as one hunk, or as several if they are long.
    fn push_group(&self, found: &mut Vec<DiffHunk>, changes: &[LineHunk], first: &LineHunk) {
        let mut lines: Vec<(Line, u32, u32)> = Vec::new();

        let (mut old, mut new) = (first.old.start, first.new.start);
        // The context ends at the change before, or at the first line.
        let n_before = self.all.partition_point(|it| it.old.end <= old && it.new.end <= new);
        let end_before = self.all[..n_before].last().map_or(0, |before| before.old.end);
        let context = self.context.min(old - end_before).min(new);
        (old, new) = (old - context, new - context);

        for change in changes {
            while old < change.old.start {
                lines.push((Line::Same, old, new));
                (old, new) = (old + 1, new + 1);
            }
            for _ in change.old.clone() {
                lines.push((Line::Removed, old, new));
                old += 1;
            }
            for _ in change.new.clone() {
                lines.push((Line::Added, old, new));
                new += 1;
            }
        }

        let n_begun = self.all.partition_point(|it| it.old.start < old || it.new.start < new);
        let next = self.all.get(n_begun).map_or(u32::MAX, |next| next.old.start);
        for _ in 0..self.context {
            if old < next && (old as usize) < self.old.len() && (new as usize) < self.new.len() {
                lines.push((Line::Same, old, new));
                (old, new) = (old + 1, new + 1);
            }
        }

        for part in lines.chunks(MAX_LINES) {
            let Some(&(_, old, new)) = part.first() else { continue };
            found.push(DiffHunk {
                old_start: old + 1,
                new_start: new + 1,
                within: self.within(part),
                lines: part.iter().map(|line| self.shown(line)).collect(),
            });
        }
    }

    /// The definition that the first changed line is in.
    fn within(&self, lines: &[(Line, u32, u32)]) -> Option<String> {
        let &(kind, old, new) = lines.iter().find(|(kind, ..)| *kind != Line::Same)?;
        let (definitions, line) = match kind {
            Line::Removed => (self.before, old + 1),
            _ => (self.after, new + 1),
        };
        let around = definitions.iter().rfind(|it| (it.lines.0..=it.lines.1).contains(&line))?;
        Some(around.qualified_name.clone())
    }

    /// The line with its mark, cut to [`MAX_WIDTH`] characters.
    fn shown(&self, &(kind, old, new): &(Line, u32, u32)) -> String {
        let (mark, line) = match kind {
            Line::Same => (' ', self.new.get(new as usize)),
            Line::Removed => ('-', self.old.get(old as usize)),
            Line::Added => ('+', self.new.get(new as usize)),
        };

        let text = String::from_utf8_lossy(line.copied().unwrap_or_default());
        let text = text.trim_end();
        match text.char_indices().nth(MAX_WIDTH) {
            Some((end, _)) => format!("{mark}{}…", &text[..end]),
            None => format!("{mark}{text}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Same,
    Removed,
    Added,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(old: &str, new: &str, context: u32) -> Vec<DiffHunk> {
        let diff = diff_lines(old.as_bytes(), new.as_bytes()).unwrap();
        let (old, new) = (lines_of(old.as_bytes()), lines_of(new.as_bytes()));
        Texts { old, new, all: &diff.hunks, before: &[], after: &[], context }.hunks(&diff.hunks)
    }

    #[test]
    fn a_change_that_is_not_wanted_divides_those_around_it() {
        let (old, new) = ("a\nb\nc\nd\ne\n", "A\nb\nC\nC2\nd\nE\n");
        let diff = diff_lines(old.as_bytes(), new.as_bytes()).unwrap();
        let wanted = [diff.hunks[0].clone(), diff.hunks[2].clone()];
        let (old, new) = (lines_of(old.as_bytes()), lines_of(new.as_bytes()));
        let found = Texts { old, new, all: &diff.hunks, before: &[], after: &[], context: 3 }.hunks(&wanted);

        let lines: Vec<_> = found.iter().map(|hunk| hunk.lines.join("")).collect();
        assert_eq!(lines, ["-a+A b", " d-e+E"]);
        assert_eq!((found[1].old_start, found[1].new_start), (4, 5));
    }

    #[test]
    fn hunks_have_context_and_are_split_if_they_are_long() {
        let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 10\n", "ten\n").replace("line 12\n", "").replace("line 28\n", "28\n");
        let [first, second] = hunks(&old, &new, 1).try_into().unwrap();
        assert_eq!((first.old_start, first.new_start), (9, 9));
        let expected = [" line 9", "-line 10", "+ten", " line 11", "-line 12", " line 13"];
        assert_eq!(first.lines, expected);
        assert_eq!((second.old_start, second.new_start, second.lines.len()), (27, 26, 4));

        let [first, second] = hunks(&old, &new, 3).try_into().unwrap();
        assert_eq!((first.old_start, first.lines[0].as_str(), first.lines.len()), (7, " line 7", 10));
        assert_eq!((second.old_start, second.new_start, second.lines.len()), (25, 24, 7));
        let [all] = hunks(&old, &new, 40).try_into().unwrap();
        assert_eq!((all.old_start, all.new_start, all.lines.len()), (1, 1, 32));

        let long: String = (0..120).map(|n| format!("{n}\n")).collect();
        let parts = hunks("", &long, 1);
        assert_eq!(parts.iter().map(|part| part.lines.len()).collect::<Vec<_>>(), [50, 50, 20]);
        assert_eq!(parts[1].new_start, 51);
    }

    #[test]
    fn changes_that_are_not_wanted_are_no_context() {
        let (old, new) = ("a\nb\nc\nd\ne\nf\n", "a\nB\nc\nD\ne\nf\nF\n");
        let diff = diff_lines(old.as_bytes(), new.as_bytes()).unwrap();
        let (old, new) = (lines_of(old.as_bytes()), lines_of(new.as_bytes()));
        let texts = Texts { old, new, all: &diff.hunks, before: &[], after: &[], context: 3 };

        let [only] = texts.hunks(&diff.hunks[1..2]).try_into().unwrap();
        assert_eq!(
            (only.old_start, only.lines.as_slice()),
            (3, [" c", "-d", "+D", " e", " f"].map(str::to_owned).as_slice())
        );
        let [last] = texts.hunks(&diff.hunks[2..]).try_into().unwrap();
        assert_eq!((last.new_start, last.lines), (5, [" e", " f", "+F"].map(str::to_owned).to_vec()));
    }
}
