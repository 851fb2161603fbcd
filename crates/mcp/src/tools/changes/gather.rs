//! The contents of an answer of `changes`: commits, files and hunks, up to a budget.

use codeweaver::query::QueryError;
use codeweaver::query::changes::Changes;
use codeweaver::query::changes::commits::CommitList;
use codeweaver::query::changes::files::FileChange;
use codeweaver::query::changes::hunks::FileDiff;

use super::output::{
    CommitOutput, EndOutput, FileOutput, HunkOutput, commit_output, file_output, hunk_output,
};
use super::{FEW_COMMITS, Show};
use crate::answer::text_tokens;
use crate::tools::text::MIN_LINE_TOKENS;

/// Unchanged lines around a hunk.
const CONTEXT: u32 = 1;

/// One entry of an answer.
pub(super) enum Item {
    Commit(CommitOutput),
    File(FileOutput),
    /// A hunk of the file with this path; the file has no hunks itself.
    Hunk(FileOutput, HunkOutput),
}

/// The contents of an answer, before it is formatted.
pub(super) struct Gathered {
    pub from: Option<EndOutput>,
    pub to: EndOutput,
    pub title: String,
    pub items: Vec<Item>,
    pub total_commits: Option<usize>,
    pub merges: usize,
    pub total_files: Option<usize>,
    pub lines: (u32, u32),
    pub warnings: Vec<String>,
    /// A note after the commits, if there are more of them.
    pub more_commits: Option<String>,
    /// The commits of a range whose files are listed, if they are few.
    pub few_commits: Vec<CommitOutput>,
    /// Whether there are items after `items`.
    pub has_more: bool,
}

/// The parameters of an answer.
pub(super) struct Gathering {
    pub show: Option<Show>,
    pub offset: usize,
    pub max_items: usize,
    pub token_limit: u32,
    /// Whether the request asks for commits by a symbol or by words.
    pub has_query: bool,
}

impl Gathering {
    pub(super) fn gather(&self, changes: &mut Changes<'_>) -> Result<Gathered, QueryError> {
        let show = self.show.or((self.has_query && changes.ends.from.is_none()).then_some(Show::Commits));

        // Without an older state, the files are those that the commit changed.
        if matches!(show, Some(Show::Files | Show::Diff)) {
            changes.show_commit()?;
        }

        let is_overview = show.is_none();
        let wants_files =
            show != Some(Show::Commits) && (changes.ends.from.is_some() || changes.ends.with_worktree);
        let wants_commits = match show {
            None | Some(Show::Commits) => true,
            Some(_) => changes.ends.is_one_commit,
        };

        let mut files = if wants_files { changes.files()? } else { Vec::new() };
        // The answer has the lines of all files, shown or not.
        changes.count_lines(&mut files)?;
        let mut out = self.frame(changes, wants_files.then_some(files.as_slice()));

        // An overview of uncommitted files lists these first.
        let files_first = changes.ends.from.is_none();
        let budget = Budget { left: i64::from(self.token_limit), items_left: self.max_items };
        let mut page = Page { skip: self.offset, budget, items: Vec::new(), is_full: false };

        if files_first {
            self.push_files(changes, &files, show, &mut page)?;
        }
        if wants_commits && !page.is_full {
            let only_commits = show == Some(Show::Commits) || !wants_files;
            let most = if only_commits { usize::MAX } else { FEW_COMMITS };
            self.push_commits(changes, most, &mut page, &mut out)?;
        }
        if !files_first {
            self.push_files(changes, &files, show, &mut page)?;
        }

        if !wants_commits && changes.ends.from.is_some() && self.offset == 0 {
            let list = changes.commits(0, FEW_COMMITS)?;
            (out.total_commits, out.merges) = (list.total, list.n_merges);
            if !list.has_more {
                let shorts = changes.short_ids(list.commits.iter().map(|listed| listed.commit.id))?;
                let commits = list.commits.iter().zip(shorts);
                out.few_commits =
                    commits.map(|(listed, short)| commit_output(listed, short, false)).collect();
            }
        }

        out.has_more |= page.is_full;
        out.items = page.items;

        if is_overview
            && wants_commits
            && out.items.is_empty()
            && self.offset == 0
            && changes.ends.to.commit.is_none()
        {
            out.warnings.push("there is no commit yet".to_owned());
        }

        out.warnings.append(&mut changes.warnings);
        Ok(out)
    }

    /// An answer without items, with the numbers of all `files`.
    pub(super) fn frame(&self, changes: &Changes<'_>, files: Option<&[FileChange]>) -> Gathered {
        let ends = &changes.ends;

        let lines = files.unwrap_or_default().iter().filter_map(|file| file.lines);
        let lines = lines.fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1));

        let title = match (&ends.from, ends.is_one_commit) {
            (Some(_), true) => String::new(),
            (Some(from), false) => format!("{} to {}", from.name, ends.to.name),
            (None, _) if ends.with_worktree && files.is_some() => "uncommitted".to_owned(),
            (None, _) if ends.with_worktree => "HEAD".to_owned(),
            (None, _) => ends.to.name.clone(),
        };

        Gathered {
            from: ends.from.as_ref().map(|from| end_output(from, false)),
            to: end_output(&ends.to, ends.with_worktree),
            title,
            items: Vec::new(),
            total_commits: None,
            merges: 0,
            total_files: files.map(<[FileChange]>::len),
            lines,
            warnings: Vec::new(),
            more_commits: None,
            few_commits: Vec::new(),
            has_more: false,
        }
    }

    /// Adds at most `most` commits. Their number and the limits of the search go to `out`.
    pub(super) fn push_commits(
        &self,
        changes: &mut Changes<'_>,
        most: usize,
        page: &mut Page,
        out: &mut Gathered,
    ) -> Result<(), QueryError> {
        let skip = page.skip.min(most);
        let wanted = (most - skip).min(page.budget.most_lines());
        let list = changes.commits(skip, wanted)?;
        let shorts = changes.short_ids(list.commits.iter().map(|listed| listed.commit.id))?;
        let is_one = changes.ends.is_one_commit;
        let n_fitting = list.total.unwrap_or(skip + list.commits.len());

        for (listed, short) in list.commits.iter().zip(shorts) {
            page.push(Item::Commit(commit_output(listed, short, is_one)));
        }

        // Skipped commits count against the items to skip, so that the files after them begin at the right
        // one.
        page.skip -= skip.min(n_fitting).min(page.skip);
        out.total_commits = list.total;
        out.merges = list.n_merges;
        say_limits(&list, out);

        if list.has_more && most < usize::MAX {
            let n_listed = skip + list.commits.len();
            out.more_commits = Some(match list.total {
                Some(total) => format!("{} more commits: show \"commits\"", total - n_listed),
                None => "more commits: show \"commits\"".to_owned(),
            });
        } else {
            page.is_full |= list.has_more;
        }

        Ok(())
    }

    /// Adds files, or with `Show::Diff` the hunks of each.
    pub(super) fn push_files(
        &self,
        changes: &mut Changes<'_>,
        files: &[FileChange],
        show: Option<Show>,
        page: &mut Page,
    ) -> Result<(), QueryError> {
        for file in files {
            if page.is_full {
                return Ok(());
            }

            if show != Some(Show::Diff) {
                if page.skip > 0 {
                    page.skip -= 1;
                    continue;
                }
                // Skipped files are not compared, which would parse both states of them.
                let symbols = changes.symbols(file)?;
                let is_minor = show.is_none() && !file.is_code();
                page.push(Item::File(file_output(file, &symbols, is_minor)));
                continue;
            }

            match changes.diff(file, CONTEXT)? {
                FileDiff::NotShown(why) => {
                    let shown = FileOutput { no_diff: Some(why), ..file_output(file, &[], false) };
                    page.push_or_skip(Item::File(shown));
                }
                FileDiff::Hunks(hunks) if hunks.is_empty() => {
                    // With a query, only hunks within the symbol are asked for.
                    if !self.has_query {
                        page.push_or_skip(Item::File(file_output(file, &[], false)));
                    }
                }
                FileDiff::Hunks(hunks) => {
                    for hunk in hunks {
                        if page.is_full {
                            break;
                        }
                        page.push_or_skip(Item::Hunk(file_output(file, &[], false), hunk_output(hunk)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The numbers of tokens and items that a page has room for.
pub(super) struct Budget {
    pub left: i64,
    pub items_left: usize,
}

impl Budget {
    pub(super) fn most_lines(&self) -> usize {
        (self.left.max(0) as usize / MIN_LINE_TOKENS + 1).min(self.items_left)
    }
}

/// Items of a page while it is filled.
pub(super) struct Page {
    /// Items of earlier pages that are still to be skipped.
    pub skip: usize,
    pub budget: Budget,
    pub items: Vec<Item>,
    /// Whether there are more items than the page has room for.
    pub is_full: bool,
}

impl Page {
    pub(super) fn push_or_skip(&mut self, item: Item) {
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            self.push(item);
        }
    }

    /// Adds an item, or marks the page as full.
    pub(super) fn push(&mut self, item: Item) {
        // The item that crosses the limit is still taken; `fit` cuts exactly.
        if self.is_full || self.budget.items_left == 0 || self.budget.left <= 0 {
            self.is_full = true;
            return;
        }

        let mut text = String::new();
        item.write(&mut text, None);
        self.budget.left -= i64::from(text_tokens(&text));
        self.budget.items_left -= 1;
        self.items.push(item);
    }
}

/// One of the two compared states.
fn end_output(end: &codeweaver::query::changes::ends::End, uncommitted: bool) -> EndOutput {
    EndOutput { name: end.name.clone(), commit: end.commit.map(|id| id.to_string()), uncommitted }
}

/// Adds warnings about the limits of the search for commits.
pub(super) fn say_limits(list: &CommitList, out: &mut Gathered) {
    if let Some(n) = list.stopped_after {
        out.warnings.push(format!(
            "the time was up after {n} commits, older ones were not looked at: narrow the range or the paths"
        ));
    }
    if list.is_shallow {
        out.warnings.push("the clone is shallow: its history ends here (git fetch --unshallow)".to_owned());
    }
}
