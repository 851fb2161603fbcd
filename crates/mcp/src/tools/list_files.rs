//! `list_files`: the files of the working tree or of a revision, with large folders summarised.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::Filters;
use codeweaver::query::listing::{ListOrder, ListRequest, ListedFile, Listing};
use codeweaver::service::trust::Purpose;
use codeweaver_chunk::tokens;
use codeweaver_git::quoting::{self, printed};
use codeweaver_git::worktree::FileState;

use super::text::{day, more, no_room};
use super::{Answer, AnswerEnd, Call, CallError, OkStatus, Tool};
use crate::cursor::Cursor;

pub struct ListFiles;

/// Number of files whose last change is looked up beyond those that a page can show.
const CHANGED_AHEAD: usize = 50;
/// Tokens of a list by default.
const ENOUGH_TOKENS: u32 = 1000;
/// Maximum number of languages that are named.
const MAX_LANGUAGES: usize = 6;
/// An estimate of the number of tokens of the headline.
const FRAME_TOKENS: u32 = 60;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    #[default]
    Path,
    Size,
    Changed,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Directories or globs: `src`, `*.{c,h}`, `:!vendor`.
    pub(super) paths: Option<Vec<String>>,
    pub(super) focus_languages: Option<Vec<String>>,
    pub(super) sort: Option<Sort>,
    /// Levels below `paths` before folders are summarised.
    #[schemars(range(min = 1))]
    pub(super) depth: Option<u32>,
    pub(super) rev: Option<String>,
    pub(super) path: Option<String>,
    #[schemars(range(min = 1))]
    pub(super) token_limit: Option<u32>,
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    /// The revision as typed; absent for the working tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    rev: Option<String>,
    /// Files that pass the filters, listed here or not.
    total_files: usize,
    total_bytes: u64,
    /// Number of files by language.
    languages: BTreeMap<String, usize>,
    /// Files and summarised folders, in order.
    entries: Vec<EntryOutput>,
    /// Files that were deleted and not committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deleted: Vec<String>,
    #[serde(flatten)]
    end: AnswerEnd,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EntryOutput {
    /// A folder ends in a slash.
    path: String,
    /// Number of files in a summarised folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Why it is not indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<FileState>,
    /// Day of the last commit that changed it, for the order `changed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const IS_LISTED: bool = false;
    const DESCRIPTION: &'static str = "Files by folder, glob or language, with lines, uncommitted ones marked, and why a \
        file is not indexed; large folders are summarised. Instead of ls, find, tree and git ls-files.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        // Git lists the files, so no index is needed; an index only adds details.
        let target = call.find(arguments.path.as_deref(), None, Purpose::Read)?;
        let codebase = target.codebase();
        let limit = call.token_limit(arguments.token_limit, codebase);

        let paths = arguments.paths.unwrap_or_default();
        let languages = arguments.focus_languages.unwrap_or_default();
        let sort = arguments.sort.unwrap_or_default();
        let mut filters = Filters { include_tests: true, languages: languages.clone(), ..Filters::default() };
        target.add_paths(&mut filters, &paths)?;

        let key = (codebase.root(), &paths, &languages, sort, arguments.depth, &arguments.rev, limit);
        let offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;

        let request = ListRequest {
            filters,
            rev: arguments.rev.clone(),
            order: match sort {
                Sort::Path => ListOrder::Path,
                Sort::Size => ListOrder::Size,
                Sort::Changed => ListOrder::Changed,
            },
            n_changed: offset + limit as usize / super::text::MIN_LINE_TOKENS + CHANGED_AHEAD,
            cancel: call.cancel(),
        };
        let listing = call.run_query(&target, |_| target.searcher.list_files(&request))?;

        let mut warnings = [call.warnings(), listing.warnings.clone()].concat();
        if !listing.is_indexed {
            warnings.push("not indexed: lines are not known".to_owned());
        }

        // A path without files may be misspelt.
        if listing.files.is_empty() {
            for path in &paths {
                let near = target.searcher.near_paths(path, arguments.rev.as_deref());
                let near =
                    if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
                warnings.push(format!("no file matches {path:?}{near}"));
            }
        }

        let folders = match sort {
            Sort::Path => {
                // A long list is rarely worth its tokens, so it is listed only on request.
                let wanted = if arguments.token_limit.is_some() { limit } else { limit.min(ENOUGH_TOKENS) };
                Folders::new(&listing, arguments.depth, wanted)
            }
            Sort::Size | Sort::Changed => Folders::default(),
        };

        let entries = entries(&listing, &folders, sort);
        let list = List { listing: &listing, warnings, is_tree: sort == Sort::Path };
        let rest = &entries[offset.min(entries.len())..];
        let root = codebase.root();

        Ok(call.fit(rest.len(), limit, |n, needed| {
            let next_cursor = (n < rest.len() && n > 0).then(|| Cursor::at(offset + n, &key).to_string());
            let no_room = needed.map(|needed| no_room("entry", rest.len(), needed));
            let text = list.text(&rest[..n], offset, no_room.as_deref(), next_cursor.as_deref());
            Answer { text, structured: list.output(&rest[..n], no_room, next_cursor, root.clone()) }
        }))
    }
}

/// The sizes of all folders, by path with a slash, and which of them are summarised.
#[derive(Default)]
struct Folders<'a>(BTreeMap<&'a str, FolderSum>);

#[derive(Default, Clone)]
struct FolderSum {
    files: usize,
    lines: u64,
    bytes: u64,
    is_summarised: bool,
}

impl<'a> Folders<'a> {
    /// Opens folders level by level as long as their contents fit into `limit` tokens, at most `depth` levels
    /// below the folder that all files have in common.
    fn new(listing: &'a Listing, depth: Option<u32>, limit: u32) -> Folders<'a> {
        let paths: Vec<&str> = listing.files.iter().map(path_of).collect();
        let mut sums = sums_by_folder(&paths, &listing.files);
        let costs = own_costs(&paths, &listing.files);
        let folders: Vec<&str> = sums.keys().copied().collect();

        // Folders above the common folder contain nothing else.
        let common = common_folder(&paths);
        let mut open: BTreeSet<&str> =
            folders.iter().copied().filter(|folder| common.starts_with(folder)).collect();
        let mut spent = FRAME_TOKENS;
        for folder in &open {
            spent += costs.get(folder).copied().unwrap_or(0);
        }

        let mut queue = children(&folders, common);
        spent += queue.iter().map(|folder| summary_cost(folder)).sum::<u32>();
        while !queue.is_empty() {
            // Small folders first, so that many are shown; then by path.
            queue.sort_by_key(|folder| (level(common, folder), sums[folder].files, *folder));

            let mut next = Vec::new();
            for folder in queue {
                if depth.is_some_and(|depth| level(common, folder) >= depth as usize) {
                    continue;
                }

                // An open folder costs its contents, and saves its summary.
                let inner = children(&folders, folder);
                let inner_cost: u32 = inner.iter().map(|folder| summary_cost(folder)).sum();
                let cost = costs.get(folder).copied().unwrap_or(0) + inner_cost;
                let saved = summary_cost(folder);
                if depth.is_none() && spent + cost > limit + saved {
                    continue;
                }
                spent = (spent + cost).saturating_sub(saved);
                open.insert(folder);
                next.extend(inner);
            }
            queue = next;
        }

        for (folder, sum) in &mut sums {
            sum.is_summarised = !open.contains(folder);
        }
        Folders(sums)
    }

    /// The outermost summarised folder that contains `path`.
    fn around(&self, path: &'a str) -> Option<(&'a str, &FolderSum)> {
        let ends = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        ends.filter_map(|end| Some((&path[..end], self.0.get(&path[..end])?)))
            .find(|(_, sum)| sum.is_summarised)
    }
}

/// The sums over the files in each folder, at any depth.
fn sums_by_folder<'a>(paths: &[&'a str], files: &[ListedFile]) -> BTreeMap<&'a str, FolderSum> {
    let mut sums: BTreeMap<&str, FolderSum> = BTreeMap::new();
    for (path, file) in paths.iter().zip(files) {
        for end in std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1)) {
            let sum = sums.entry(&path[..end]).or_default();
            sum.files += 1;
            sum.lines += u64::from(file.lines.unwrap_or(0));
            sum.bytes += file.bytes.unwrap_or(0);
        }
    }
    sums
}

/// The number of tokens of the line of each folder that lists its own files.
fn own_costs<'a>(paths: &[&'a str], files: &[ListedFile]) -> BTreeMap<&'a str, u32> {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for (path, file) in paths.iter().zip(files) {
        let at = path.rfind('/').map_or(0, |at| at + 1);
        let names = names.entry(&path[..at]).or_default();
        names.push_str(&shown(&file_entry(file), &path[at..], false));
        names.push_str(", ");
    }
    names.into_iter().map(|(folder, names)| (folder, tokens::count(&names) + tokens::count(folder))).collect()
}

/// An estimate of the number of tokens of the summary of a folder.
fn summary_cost(folder: &str) -> u32 {
    tokens::count(folder) + 8
}

/// The number of levels of `folder` below `common`.
fn level(common: &str, folder: &str) -> usize {
    folder[common.len().min(folder.len())..].matches('/').count()
}

/// The folders of `folders` that are directly in `parent`.
fn children<'a>(folders: &[&'a str], parent: &str) -> Vec<&'a str> {
    let mut children = Vec::new();
    for &folder in folders {
        if folder.len() > parent.len()
            && folder.starts_with(parent)
            && !folder[parent.len()..folder.len() - 1].contains('/')
        {
            children.push(folder);
        }
    }
    children
}

/// The deepest folder that contains all `paths`, with a slash at its end; empty for the root.
fn common_folder<'a>(paths: &[&'a str]) -> &'a str {
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return "" };

    let n = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
    let end = first.as_bytes()[..n].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    &first[..end]
}

/// The path of a file, for sorting into folders. All names that are not UTF-8 sort as one; the answer
/// distinguishes them.
fn path_of(file: &ListedFile) -> &str {
    std::str::from_utf8(&file.path).unwrap_or("(a name that is not UTF-8)")
}

/// The entries of an answer: the files of each folder together, before the folders in it.
fn entries(listing: &Listing, folders: &Folders<'_>, sort: Sort) -> Vec<EntryOutput> {
    let mut entries: Vec<EntryOutput> = Vec::new();
    let mut last_folder = None;

    for file in &listing.files {
        if let Some((folder, sum)) = folders.around(path_of(file)) {
            if last_folder != Some(folder) {
                last_folder = Some(folder);
                entries.push(EntryOutput {
                    path: folder.to_owned(),
                    files: Some(sum.files),
                    language: None,
                    lines: Some(u32::try_from(sum.lines).unwrap_or(u32::MAX)),
                    bytes: Some(sum.bytes),
                    skipped: None,
                    state: None,
                    changed: None,
                });
            }
            continue;
        }
        entries.push(file_entry(file));
    }

    if sort == Sort::Path {
        // The files of one folder are written on one line, so they have to be together.
        entries.sort_by(|a, b| {
            (folder_of(&a.path), a.files.is_some(), &a.path).cmp(&(
                folder_of(&b.path),
                b.files.is_some(),
                &b.path,
            ))
        });
    }
    entries
}

fn file_entry(file: &ListedFile) -> EntryOutput {
    EntryOutput {
        path: quoting::text(&file.path),
        files: None,
        language: Some(file.language.clone()),
        lines: file.lines,
        bytes: file.bytes,
        skipped: file.skipped.map(codeweaver_index::policy::SkipReason::name),
        state: file.state,
        changed: file.changed.map(day),
    }
}

/// The folder in which a file or folder is listed: the directory that contains it.
fn folder_of(path: &str) -> &str {
    let inner = path.strip_suffix('/').unwrap_or(path);
    inner.rfind('/').map_or("", |at| &inner[..=at])
}

/// The data that all pages of a list share.
struct List<'a> {
    listing: &'a Listing,
    warnings: Vec<String>,
    is_tree: bool,
}

impl List<'_> {
    fn languages(&self) -> BTreeMap<String, usize> {
        let mut languages: BTreeMap<String, usize> = BTreeMap::new();
        for file in self.listing.files.iter().filter(|file| file.skipped.is_none()) {
            *languages.entry(file.language.clone()).or_default() += 1;
        }
        languages
    }

    fn text(
        &self,
        entries: &[EntryOutput],
        offset: usize,
        no_room: Option<&str>,
        cursor: Option<&str>,
    ) -> String {
        let mut text = self.headline(offset);
        for warning in self.warnings.iter().map(String::as_str).chain(no_room) {
            let _ = writeln!(text, "note: {warning}");
        }

        if !self.is_tree {
            for entry in entries {
                let _ = writeln!(text, "{}", shown(entry, &entry.path, true));
            }
        } else {
            let mut at = 0;
            while let Some(first) = entries.get(at) {
                let folder = folder_of(&first.path);
                let n = entries[at..].iter().take_while(|entry| folder_of(&entry.path) == folder).count();
                let names =
                    entries[at..at + n].iter().map(|entry| shown(entry, &entry.path[folder.len()..], false));
                let names: Vec<String> = names.collect();
                let folder = if folder.is_empty() { "./".into() } else { printed(folder) };
                let _ = writeln!(text, "{folder} {}", names.join(", "));
                at += n;
            }
        }

        if let Some(cursor) = cursor {
            text.push_str(&more(cursor));
        }
        text
    }

    fn headline(&self, offset: usize) -> String {
        let files = &self.listing.files;
        let rev = self.listing.rev.as_ref().map_or_else(String::new, |rev| format!(" of {rev}"));
        let n = files.len();

        let mut languages: Vec<(usize, String)> =
            self.languages().into_iter().map(|(name, n)| (n, name)).collect();
        languages.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));

        let n_others = languages.iter().skip(MAX_LANGUAGES).map(|(n, _)| n).sum::<usize>();
        let mut names: Vec<String> =
            languages.iter().take(MAX_LANGUAGES).map(|(n, name)| format!("{name} {n}")).collect();
        if n_others > 0 {
            names.push(format!("others {n_others}"));
        }

        let n_skipped = files.iter().filter(|file| file.skipped.is_some()).count();
        if n_skipped > 0 {
            names.push(format!("not indexed {n_skipped}"));
        }

        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let from = if offset > 0 { format!(", from entry {}", offset + 1) } else { String::new() };
        let unit = match (self.is_tree, self.listing.is_indexed) {
            _ if n == 0 => "",
            (true, true) => "; name lines",
            (true, false) => "; name bytes",
            (false, _) => "; name lines bytes",
        };

        let mut text = format!("{n} file{}{rev}{names}{from}{unit}\n", if n == 1 { "" } else { "s" });

        if !self.listing.deleted.is_empty() {
            let deleted = self.listing.deleted.iter().map(|path| quoting::text(path));
            let names: Vec<String> = deleted.map(|path| quoting::printed(&path).into_owned()).collect();
            let _ = writeln!(text, "deleted, not committed: {}", names.join(", "));
        }
        text
    }

    fn output(
        &self,
        entries: &[EntryOutput],
        no_room: Option<String>,
        next_cursor: Option<String>,
        codebase_root: PathBuf,
    ) -> Output {
        let mut warnings = self.warnings.clone();

        warnings.extend(no_room);
        Output {
            status: OkStatus::Ok,
            rev: self.listing.rev.clone(),
            total_files: self.listing.files.len(),
            total_bytes: self.listing.files.iter().filter_map(|file| file.bytes).sum(),
            languages: self.languages(),
            entries: entries.to_vec(),
            deleted: self.listing.deleted.iter().map(|path| quoting::text(path)).collect(),
            end: AnswerEnd { warnings, codebase_root, next_cursor },
        }
    }
}

/// Formats an entry under `name`: its lines, or else its bytes, and remarks about unusual states.
fn shown(entry: &EntryOutput, name: &str, with_bytes: bool) -> String {
    let mut text = printed(name).into_owned();
    if let Some(n) = entry.files {
        let lines = entry.lines.unwrap_or(0);
        let size = if lines > 0 { format!("{lines} lines") } else { bytes(entry.bytes.unwrap_or(0)) };
        let _ = write!(text, " ({n} file{}, {size})", if n == 1 { "" } else { "s" });
        return text;
    }

    match (entry.lines, entry.bytes) {
        (Some(lines), size) if entry.skipped.is_none() => {
            let _ = write!(text, " {lines}");
            if let Some(size) = size.filter(|_| with_bytes) {
                let _ = write!(text, " {}", bytes(size));
            }
        }
        (_, Some(size)) => {
            let _ = write!(text, " {}", bytes(size));
        }
        _ => {}
    }

    let state = entry.state.map(|state| match state {
        FileState::Staged => "staged",
        FileState::Dirty => "modified",
        FileState::Untracked => "untracked",
    });
    // The language is named only if it does not follow from the path.
    let by_name = entry.language.as_deref().filter(|language| {
        let known = codeweaver_chunk::language::by_path(quoting::bytes(&entry.path).as_ref());
        entry.skipped.is_none()
            && **language != *"text"
            && known.is_none_or(|known| known.name() != *language)
    });

    let marks: Vec<&str> = [by_name, entry.skipped, state].into_iter().flatten().collect();
    if !marks.is_empty() {
        let _ = write!(text, " ({})", marks.join(", "));
    }

    if let Some(day) = &entry.changed {
        let _ = write!(text, " {day}");
    }
    text
}

/// Formats a size: `812B`, `14kB`, `2.1MB`.
fn bytes(n: u64) -> String {
    match n {
        0..=999 => format!("{n}B"),
        1000..=999_999 => format!("{}kB", n.div_ceil(1000)),
        _ => format!("{:.1}MB", n as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_folder_ends_at_a_slash() {
        assert_eq!(common_folder(&["src/mcp/a.rs", "src/mcp/b.rs"]), "src/mcp/");
        assert_eq!(common_folder(&["src/ab.rs", "src/ac/x.rs"]), "src/");
        assert_eq!(common_folder(&["a.rs", "b.rs"]), "");
        assert_eq!(common_folder(&[]), "");
        assert_eq!((folder_of("a/b/c.rs"), folder_of("a/b/"), folder_of("x")), ("a/b/", "a/", ""));
    }
}
