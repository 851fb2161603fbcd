//! `changes`: commits, changed files and symbols, and differences between two states.

use super::text::{more, no_room};
use super::{Answer, Call, CallError, OkStatus, Tool};
use crate::chunk::tokens;
use crate::git::quoting::{self, printed};
use crate::git::shown_rename;
use crate::mcp::cursor::Cursor;
use crate::mcp::trust::Purpose;
use crate::query::changes::commits::{CommitList, ListedCommit, SymbolEvent};
use crate::query::changes::files::{FileChange, FileChangeKind};
use crate::query::changes::hunks::{DiffHunk, FileDiff};
use crate::query::changes::symbols::{SymbolChange, SymbolChangeKind};
use crate::query::changes::{Changes, ChangesRequest};
use crate::query::{Filters, QueryError};
use crate::worktree::FileState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

pub struct ChangesTool;

/// Number of commits in an answer that is about more than commits.
const FEW_COMMITS: usize = 10;
/// Number of symbols that are named of one file.
const MAX_SYMBOLS: usize = 12;
/// The same for a file that came or went as a whole, and for tests in an overview.
const FEW_SYMBOLS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    Commits,
    Files,
    Diff,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Older revision, or a range: `v1..v2`, `main...topic`.
    from: Option<String>,
    /// Newer revision. Default: the working tree.
    to: Option<String>,
    paths: Option<Vec<String>>,
    /// History of one definition, also when it moves.
    symbol: Option<String>,
    /// Text in commit messages.
    message: Option<String>,
    /// `files` and `diff` without `from`: of the commit `to`, else uncommitted.
    show: Option<Show>,
    /// Most commits, files or hunks.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    path: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    /// The older state; absent if the answer is about commits up to `to`, or about uncommitted files.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<EndOutput>,
    to: EndOutput,
    /// The newest first; merges are counted only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commits: Vec<CommitOutput>,
    /// Absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_commits: Option<usize>,
    merges: usize,
    /// The most important first: code, tests, documentation and data, what is not indexed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_files: Option<usize>,
    /// Lines of all files together.
    added_lines: u32,
    removed_lines: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EndOutput {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Whether uncommitted files are part of it.
    uncommitted: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CommitOutput {
    commit: String,
    /// Day of the commit, in UTC.
    date: String,
    author: String,
    subject: String,
    /// The rest of the message; only of a commit that is shown by itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    body: String,
    /// What it did to the symbol: `added`, `removed`, `signature` or `body`.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'static str>,
    /// The file of the symbol, and the one that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileOutput {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_file: Option<String>,
    /// `added`, `deleted`, `modified`, `renamed` or `mode`.
    change: &'static str,
    /// `staged`, `dirty` or `untracked`; absent if it is committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<FileState>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    conflicted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<u32>,
    /// Why it is not indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    symbols: Vec<SymbolOutput>,
    /// Number of changed symbols that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    more_symbols: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hunks: Vec<HunkOutput>,
    /// Why there are no hunks although the file differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_diff: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SymbolOutput {
    name: String,
    /// `added`, `removed`, `signature` (and possibly the body) or `body`.
    change: &'static str,
    line: u32,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HunkOutput {
    old_start: u32,
    new_start: u32,
    /// The definition around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    /// As git writes them, with ` `, `-` or `+` before each line.
    text: String,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// One thing that an answer lists.
enum Item {
    Commit(CommitOutput),
    File(FileOutput),
    /// A hunk of the file with this path; the file has no hunks itself.
    Hunk(FileOutput, HunkOutput),
}

/// Everything that an answer is made of.
struct Gathered {
    from: Option<EndOutput>,
    to: EndOutput,
    title: String,
    items: Vec<Item>,
    total_commits: Option<usize>,
    merges: usize,
    total_files: Option<usize>,
    lines: (u32, u32),
    warnings: Vec<String>,
    /// Said after the commits, if there are more of them.
    more_commits: Option<String>,
    /// The commits of a range, beside its files, if they are few.
    few_commits: Vec<CommitOutput>,
    /// Whether there are items after those.
    has_more: bool,
}

impl Tool for ChangesTool {
    const NAME: &'static str = "changes";
    const DESCRIPTION: &'static str = "What changed: uncommitted files and the last commits; between two revisions the \
        commits, files and changed symbols; history of a path or `symbol`; commits by `message`; diffs. Instead of git log, \
        diff, show and status.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let paths = arguments.paths.clone().unwrap_or_default();
        let path = arguments.path.as_deref();
        // Git answers, unless the file of a symbol has to be found.
        let needs_index = arguments.symbol.is_some() && paths.is_empty();
        let target = if needs_index { call.open(path, None)? } else { call.find(path, None, Purpose::Read)? };
        let codebase = target.codebase();
        let limit = call.token_limit(arguments.token_limit, codebase);
        let mut filters = Filters { include_tests: true, ..Filters::default() };
        target.add_paths(&mut filters, &paths)?;
        let Arguments { from, to, symbol, message, show, limit: max_items, cursor, .. } = arguments;
        let key = (codebase.root(), (&from, &to, &symbol, &message), &paths, show);
        let offset = Cursor::resume(cursor.as_deref(), &key)?;
        let request = ChangesRequest {
            from: from.clone(),
            to: to.clone(),
            filters,
            symbol: symbol.clone(),
            message: message.clone(),
            cancel: call.cancel(),
        };
        let gathering = Gathering {
            show,
            offset,
            max_items: max_items.map_or(usize::MAX, |n| n as usize),
            token_limit: limit,
            has_query: symbol.is_some() || message.is_some(),
        };
        let mut gathered = call.run_query(&target, |updater| {
            target.searcher.changes(&request, updater, |changes| gathering.gather(changes))
        })?;
        if gathered.items.is_empty() && offset == 0 {
            for path in &paths {
                let near = target.searcher.near_paths(path, to.as_deref());
                if !near.is_empty() {
                    gathered.warnings.push(format!("there is like {path:?}: {}", near.join(", ")));
                }
            }
        }
        let n_items = gathered.items.len();
        let root = codebase.root();
        Ok(call.fit(n_items, limit, |n, needed| {
            let has_more = n < n_items || gathered.has_more;
            let next_cursor = (has_more && n > 0).then(|| Cursor::at(offset + n, &key).to_string());
            let no_room = needed.map(|needed| no_room("item", n_items, needed));
            gathered.answer(n, offset, next_cursor, no_room, &root)
        }))
    }
}

/// What is gathered for one answer.
struct Gathering {
    show: Option<Show>,
    offset: usize,
    max_items: usize,
    token_limit: u32,
    /// Whether the request asks for commits by a symbol or by words.
    has_query: bool,
}

impl Gathering {
    fn gather(&self, changes: &mut Changes<'_>) -> Result<Gathered, QueryError> {
        let show = self.show.or((self.has_query && changes.ends.from.is_none()).then_some(Show::Commits));
        // Without an older state, the files of a commit are those that it changed.
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
        let files = if wants_files { changes.files()? } else { Vec::new() };
        let mut out = self.frame(changes, wants_files.then_some(files.as_slice()));
        // In an overview of uncommitted files, those come first.
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

    fn frame(&self, changes: &Changes<'_>, files: Option<&[FileChange]>) -> Gathered {
        let ends = &changes.ends;
        let end = |end: &crate::query::changes::ends::End, uncommitted| EndOutput {
            name: end.name.clone(),
            commit: end.commit.map(|id| id.to_string()),
            uncommitted,
        };
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
            from: ends.from.as_ref().map(|from| end(from, false)),
            to: end(&ends.to, ends.with_worktree),
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

    /// Adds at most `most` commits.
    fn push_commits(
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

    fn push_files(
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
                let symbols = changes.symbols(file)?;
                let is_minor = show.is_none() && !file.is_code();
                page.push(Item::File(file_output(file, &symbols, is_minor)));
                continue;
            }
            match changes.diff(file)? {
                FileDiff::NotShown(why) => {
                    let shown = FileOutput { no_diff: Some(why), ..file_output(file, &[], false) };
                    page.push_or_skip(Item::File(shown));
                }
                FileDiff::Hunks(hunks) if hunks.is_empty() => {
                    // The lines of a symbol are all that is asked for.
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

/// The tokens and items that a page has room for.
struct Budget {
    left: i64,
    items_left: usize,
}

impl Budget {
    fn most_lines(&self) -> usize {
        (self.left.max(0) as usize / super::text::MIN_LINE_TOKENS + 1).min(self.items_left)
    }
}

/// Items of a page while it is filled.
struct Page {
    /// Items of earlier pages that are still to be left out.
    skip: usize,
    budget: Budget,
    items: Vec<Item>,
    /// Whether there are more items than the page has room for.
    is_full: bool,
}

impl Page {
    fn push_or_skip(&mut self, item: Item) {
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            self.push(item);
        }
    }

    /// Adds an item, or finds that the page is full.
    fn push(&mut self, item: Item) {
        if self.is_full || self.budget.items_left == 0 || self.budget.left <= 0 {
            self.is_full = true;
            return;
        }
        let mut text = String::new();
        item.write(&mut text, None);
        self.budget.left -= i64::from(tokens::count(&text));
        self.budget.items_left -= 1;
        self.items.push(item);
    }
}

fn say_limits(list: &CommitList, out: &mut Gathered) {
    if let Some(n) = list.stopped_after {
        out.warnings.push(format!(
            "the time was up after {n} commits, older ones were not looked at: narrow the range or the paths"
        ));
    }
    if list.is_shallow {
        out.warnings.push("the clone is shallow: its history ends here (git fetch --unshallow)".to_owned());
    }
}

fn commit_output(listed: &ListedCommit, short: String, is_one: bool) -> CommitOutput {
    let commit = &listed.commit;
    let file = |path: &crate::git::BString| quoting::text(path);
    CommitOutput {
        commit: short,
        date: day(commit.time),
        author: commit.author.clone(),
        subject: commit.subject().to_owned(),
        body: if is_one { commit.body().to_owned() } else { String::new() },
        symbol: listed.symbol.as_ref().map(|event| event.kind.name()),
        file: listed.symbol.as_ref().map(|event| file(&event.path)),
        moved_from: listed.symbol.as_ref().and_then(|event: &SymbolEvent| event.from.as_ref().map(file)),
    }
}

/// The day of a time in seconds since 1970.
pub(super) fn day(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map(|time| time.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}

fn file_output(file: &FileChange, symbols: &[SymbolChange], is_minor: bool) -> FileOutput {
    let symbol = |symbol: &SymbolChange| SymbolOutput {
        name: symbol.qualified_name.clone(),
        change: symbol.kind.name(),
        line: symbol.line,
    };
    let is_whole = matches!(file.kind, FileChangeKind::Added | FileChangeKind::Deleted);
    let shown = if is_whole || is_minor { FEW_SYMBOLS } else { MAX_SYMBOLS };
    FileOutput {
        file: quoting::text(&file.path),
        old_file: file.old_path.as_ref().map(|path| quoting::text(path)),
        change: file.kind.name(),
        state: file.state,
        conflicted: file.is_conflicted,
        added: file.lines.map(|lines| lines.0),
        removed: file.lines.map(|lines| lines.1),
        skipped: file.skipped.map(crate::policy::SkipReason::name),
        symbols: symbols.iter().take(shown).map(symbol).collect(),
        more_symbols: symbols.len().saturating_sub(shown),
        hunks: Vec::new(),
        no_diff: None,
    }
}

fn hunk_output(hunk: DiffHunk) -> HunkOutput {
    HunkOutput {
        old_start: hunk.old_start,
        new_start: hunk.new_start,
        within: hunk.within,
        text: hunk.lines.join("\n"),
    }
}

impl Gathered {
    fn answer(
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
                warnings,
                codebase_root: root.to_path_buf(),
                next_cursor,
            },
        }
    }

    /// One line: what is compared, and how much there is.
    fn headline(&self, offset: usize) -> String {
        let mut parts = Vec::new();
        if self.from.is_some() || self.total_files.is_none() {
            match self.total_commits {
                Some(1) if self.title.is_empty() => {}
                Some(n) => parts.push(plural(n, "commit")),
                None => {}
            }
            // Without a total, not all of them were met.
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

fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Writes items; the directory of several files in a row once.
fn write_items(text: &mut String, items: &[Item], more_commits: Option<&str>) {
    let mut directory: Option<&str> = None;
    let mut last_file: Option<&str> = None;
    let n_commits = items.iter().filter(|item| matches!(item, Item::Commit(_))).count();
    let mut n_written = 0;
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Commit(_) => {
                // Commits below files need a word of their own.
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
                };
                if own.is_none() || own != directory {
                    directory = own.filter(|_| own == next);
                    if let Some(directory) = directory {
                        let _ = writeln!(text, "{}", printed(directory));
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

/// The directory of a file with a slash; `None` for a renamed file, and at the root.
fn directory_of(file: &FileOutput) -> Option<&str> {
    let end = file.file.rfind('/')? + 1;
    let is_plain = file.old_file.is_none() && !file.file.starts_with('"');
    is_plain.then(|| &file.file[..end])
}

fn write_hunk(text: &mut String, hunk: &HunkOutput) {
    let within = hunk.within.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let _ = writeln!(text, "@@ -{} +{} @@{within}\n{}", hunk.old_start, hunk.new_start, hunk.text);
}

impl Item {
    /// Writes it; the name of a file without `directory`, which is already written.
    fn write(&self, text: &mut String, directory: Option<&str>) {
        match self {
            Item::Commit(commit) => write_commit(text, commit),
            Item::File(file) => write_file(text, file, directory),
            Item::Hunk(_, hunk) => write_hunk(text, hunk),
        }
    }
}

/// The qualified name of what a member belongs to.
fn owner_of(name: &str) -> Option<&str> {
    let at = name.rfind(['.', ':', '#'])?;
    Some(name[..at].trim_end_matches(':')).filter(|owner| !owner.is_empty())
}

fn write_commit(text: &mut String, commit: &CommitOutput) {
    let _ = write!(text, "{} {} {}", commit.commit, commit.date, commit.subject);
    if let Some(change) = commit.symbol {
        let _ = write!(text, " [{change}");
        if let Some(from) = &commit.moved_from {
            let to = commit.file.as_deref().unwrap_or_default();
            let _ = write!(text, ", moved {}", shown_rename(from, to));
        }
        text.push(']');
    }
    text.push('\n');
    if !commit.body.is_empty() {
        let _ = writeln!(text, "by {}\n{}\n", commit.author, commit.body);
    }
}

fn write_file(text: &mut String, file: &FileOutput, directory: Option<&str>) {
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
        // Members of one type in a row have its name once.
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
