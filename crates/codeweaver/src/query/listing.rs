//! The files of the working tree or of a revision, with language, size, and why a file is not indexed.
//!
//! The list comes from git. The index adds the numbers of lines and the reasons that depend on contents,
//! where it has the same contents. A repository or a revision that is not indexed is listed without them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use codeweaver_chunk::{LanguageId, language};
use codeweaver_git::worktree::FileState;
use codeweaver_git::{self as git, BString, History, Mode, Oid, TreeComparer, quoting};
use codeweaver_index::Target;
use codeweaver_index::catalogue::Behind;
use codeweaver_index::policy::{PathDecision, PathFlags, Policy, SkipReason, skip_reason};

use super::cancel::Cancel;
use super::error::QueryError;
use super::filters::Filters;
use super::members;
use super::names;
use super::request::ViewRequest;
use super::view::View;
use super::view::open::{Opened, ViewSource, ViewTarget, WorktreeInput};
use super::view::scope::canonical_language;
use super::view::warnings::{replaced_warning, tracked_warning};

/// Time limit for finding the last changes of files.
const TIME_LIMIT: Duration = Duration::from_secs(4);
/// Sizes of this many files without an entry in the index are read from git.
const MAX_SIZES: usize = 20_000;
/// Maximum number of existing paths that are suggested for one that matches nothing.
const MAX_NEAR: usize = 3;

/// Order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    #[default]
    Path,
    /// The largest first.
    Size,
    /// The last changed first.
    Changed,
}

/// Selection of the files that are listed, and their order.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    pub filters: Filters,
    /// A revision instead of the working tree.
    pub rev: Option<String>,
    pub order: ListOrder,
    /// Number of files whose last change is looked for, in that order.
    pub n_changed: usize,
    pub cancel: Cancel,
}

impl ListRequest {
    /// A request for all files of the working tree or of `rev`.
    pub(crate) fn all(rev: Option<&str>) -> ListRequest {
        let filters = Filters { include_tests: true, ..Filters::default() };
        ListRequest { filters, rev: rev.map(str::to_owned), ..ListRequest::default() }
    }
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Relative to the root of the repository.
    pub path: BString,
    pub language: String,
    /// `None` if its contents are not in this clone.
    pub bytes: Option<u64>,
    /// Up to the last one that is not blank; `None` if the file is not indexed.
    pub lines: Option<u32>,
    /// The reason why it is not indexed.
    pub skipped: Option<SkipReason>,
    /// Difference from the commit.
    pub state: Option<FileState>,
    pub flags: PathFlags,
    /// Time of the last commit that changed it, in seconds since 1970, if that was asked for and found.
    pub changed: Option<i64>,
}

/// The files that pass the filters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub files: Vec<ListedFile>,
    /// Number of files in the repository.
    pub n_all: usize,
    /// Uncommitted deletions of files that pass the filters.
    pub deleted: Vec<BString>,
    /// The revision as typed, or `None` for the working tree.
    pub rev: Option<String>,
    /// Whether the index has the listed state, or an older one.
    pub is_indexed: bool,
    /// Messages for the user about what the list lacks.
    pub warnings: Vec<String>,
}

/// A file as git knows it, before the index was asked about it.
struct Known {
    oid: Oid,
    mode: Mode,
    bytes: Option<u64>,
    state: Option<FileState>,
}

/// Lists files of the codebase of `source`.
///
/// # Errors
/// [`codeweaver_git::GitError::UnknownRevision`], [`QueryError::UnknownName`] for a language,
/// [`QueryError::Cancelled`].
pub(crate) fn list(source: ViewSource<'_>, request: &ListRequest) -> Result<Listing, QueryError> {
    names::check(&request.filters)?;
    Lister { source, request }.list()
}

struct Lister<'a> {
    source: ViewSource<'a>,
    request: &'a ListRequest,
}

impl Lister<'_> {
    fn list(&self) -> Result<Listing, QueryError> {
        let repo = &self.source.codebase.repo;
        let mut behind = Behind::default();
        let target = match &self.request.rev {
            Some(rev) => {
                let revision = repo.resolve(rev)?;
                Target { tree: Some(revision.tree), commit: revision.commit, reference: None, is_head: false }
            }
            None => {
                behind = members::follow(repo, self.request.filters.repos.as_ref())?;
                Target::head(self.source.codebase)?
            }
        };

        let mut listing = Listing { rev: self.request.rev.clone(), ..Listing::default() };
        let catalogue = target.tree.map(|tree| repo.members_of(&tree)).transpose()?.unwrap_or_default();
        listing.warnings.extend(replaced_warning(repo)?);
        let head = target.tree.as_ref().filter(|_| target.is_head);
        listing.warnings.extend(tracked_warning(repo, head));
        listing.warnings.extend(members::warnings(&catalogue, &behind, Some(&self.request.filters)));
        let (known, deleted) = self.known(&target, &mut listing)?;
        self.request.cancel.check()?;

        listing.n_all = known.len();
        listing.deleted = deleted.into_iter().filter(|path| self.has_path(path)).collect();
        self.describe(&target, known, &mut listing)?;

        match self.request.order {
            ListOrder::Path => {}
            ListOrder::Size => listing.files.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.path.cmp(&b.path))),
            ListOrder::Changed => self.sort_by_change(&target, &mut listing)?,
        }

        Ok(listing)
    }

    /// Returns the files of the tree, with the working tree on top if no revision is named; and the deleted
    /// ones.
    fn known(
        &self,
        target: &Target,
        listing: &mut Listing,
    ) -> Result<(BTreeMap<BString, Known>, Vec<BString>), QueryError> {
        let repo = &self.source.codebase.repo;
        let mut known = BTreeMap::new();
        if let Some(tree) = &target.tree {
            for file in git::walk_tree(repo, tree)? {
                let git::TreeFile { path, oid, mode } = file;
                known.insert(path, Known { oid, mode, bytes: None, state: None });
            }
        }

        let mut deleted = Vec::new();
        if self.request.rev.is_none() && !repo.is_bare() {
            let status = self.source.status(target, ViewRequest::UNLIMITED)?;

            for change in &status.changes.changes {
                match &change.bytes {
                    Some(blob) => {
                        let (oid, mode) = (blob.oid, blob.mode);
                        let file = Known { oid, mode, bytes: Some(blob.size), state: Some(change.state) };
                        known.insert(change.path.clone(), file);
                    }
                    None => {
                        known.remove(&change.path);
                        deleted.push(change.path.clone());
                    }
                }
            }

            let changes = &status.changes;
            for (n, problem) in [
                (changes.unlisted.len(), "directories cannot be listed"),
                (changes.unreadable.len(), "files or directories cannot be read, and are shown as committed"),
                (changes.unchecked, "paths could not be compared with the disk in time"),
            ] {
                if n > 0 {
                    listing.warnings.push(format!("{n} {problem}"));
                }
            }
        }

        Ok((known, deleted))
    }

    /// Returns whether a path passes the filters on paths and members.
    fn has_path(&self, path: &[u8]) -> bool {
        let filters = &self.request.filters;

        (filters.paths.is_empty() || matches_any(&filters.paths, path))
            && !matches_any(&filters.exclude_paths, path)
            && filters.have_file(path)
    }

    /// Adds the files that pass the filters to `listing`, with the facts that are known about them.
    fn describe(
        &self,
        target: &Target,
        known: BTreeMap<BString, Known>,
        listing: &mut Listing,
    ) -> Result<(), QueryError> {
        let codebase = self.source.codebase;
        let settings = &codebase.settings.policy;
        let policy = Policy::for_tree(&codebase.repo, target.tree.as_ref(), settings)
            .map_err(codeweaver_index::IndexError::from)?;

        let view = self.indexed(target);
        listing.is_indexed = view.is_some();
        let wanted: Vec<String> =
            self.request.filters.languages.iter().map(|name| canonical_language(name)).collect();

        let mut blobs = codebase.repo.blobs();
        let mut n_sizes = 0;
        for (at, (path, known)) in known.into_iter().enumerate() {
            if at.is_multiple_of(1024) {
                self.request.cancel.check()?;
            }
            if !self.has_path(&path) {
                continue;
            }

            let facts = view.as_deref().and_then(|view| facts(view, &path, &known.oid));
            let decision = policy.decide_path(path.as_ref(), known.mode);
            let mut file = listed_file(path, &known, decision, facts);
            if !wanted.is_empty() && !wanted.contains(&file.language) {
                continue;
            }

            // Reading a size is one lookup in an object database, so their number is limited.
            if file.bytes.is_none() && known.mode != Mode::Gitlink && n_sizes < MAX_SIZES {
                n_sizes += 1;
                file.bytes = blobs.size_if_good(&known.oid);
                if file.bytes.is_none() {
                    file.skipped = file.skipped.or(Some(SkipReason::NotLocal));
                }
            }

            let is_too_large = file.bytes.is_some_and(|bytes| bytes > policy.max_blob_bytes());
            file.skipped = file.skipped.or(is_too_large.then_some(SkipReason::TooLarge));
            listing.files.push(file);
        }

        Ok(())
    }

    /// Opens the indexed state of the tree, or of an older one. Never waits.
    fn indexed(&self, target: &Target) -> Option<Box<View>> {
        let wanted = ViewTarget {
            spec: self.request.rev.clone().unwrap_or_else(|| "HEAD".to_owned()),
            target: target.clone(),
            worktree: WorktreeInput::Exclude,
            files: BTreeSet::new(),
            behind: Behind::default(),
            warnings: Vec::new(),
            cancel: self.request.cancel.clone(),
        };

        match self.source.open(&wanted) {
            Ok(Opened::View(view)) => Some(view),
            Ok(Opened::Behind(view)) => view,
            Err(_) => None,
        }
    }

    /// Sorts by the last change: uncommitted files first, then by the commits that changed the files. Files
    /// that no commit within the limits changed come last.
    fn sort_by_change(&self, target: &Target, listing: &mut Listing) -> Result<(), QueryError> {
        let deadline = Instant::now() + TIME_LIMIT;
        let mut waiting: BTreeMap<BString, usize> = BTreeMap::new();
        for (at, file) in listing.files.iter().enumerate().filter(|(_, file)| file.state.is_none()) {
            waiting.insert(file.path.clone(), at);
        }

        let n_uncommitted = listing.files.len() - waiting.len();
        let n_wanted = self.request.n_changed.saturating_sub(n_uncommitted).min(waiting.len());

        let mut order: Vec<(usize, i64)> = Vec::new();
        if let Some(tip) = target.commit.filter(|_| n_wanted > 0)
            && !self.find_changes(&tip, waiting, n_wanted, deadline, &mut order)?
        {
            listing.warnings.push("the time was up: the last change of some files is not known".to_owned());
        }

        // Files of commits within one second are in the order of the history.
        let mut ranks: BTreeMap<BString, usize> = BTreeMap::new();
        for (rank, &(at, time)) in order.iter().enumerate() {
            listing.files[at].changed = Some(time);
            ranks.insert(listing.files[at].path.clone(), rank);
        }

        listing.files.sort_by_cached_key(|file| {
            let rank = ranks.get(&file.path).copied().unwrap_or(usize::MAX);
            (file.state.is_none(), rank, file.path.clone())
        });

        Ok(())
    }

    /// Walks the history from `tip` and adds to `order` the last changes of `n_wanted` of the files
    /// `waiting`, each as the position of the file and the time of the commit. Returns false if the time was
    /// up before.
    fn find_changes(
        &self,
        tip: &Oid,
        mut waiting: BTreeMap<BString, usize>,
        n_wanted: usize,
        deadline: Instant,
        order: &mut Vec<(usize, i64)>,
    ) -> Result<bool, QueryError> {
        let repo = &self.source.codebase.repo;
        let mut trees = TreeComparer::new(repo);
        let specs = &self.request.filters.paths;
        let mut is_late = false;

        History::open(repo)?.walk(tip, &[], |commit, parent| {
            self.request.cancel.check()?;
            if Instant::now() > deadline {
                is_late = true;
                return Ok::<_, QueryError>(ControlFlow::Break(()));
            }

            // A merge changes no file by itself, and the parents of a shallow commit are not known.
            if commit.parents.len() > 1 || commit.is_shallow {
                return Ok(ControlFlow::Continue(()));
            }

            let changes = trees.diff(parent.as_ref(), &commit.tree, &|dir: &git::BStr| {
                specs.is_empty() || specs.iter().any(|spec| spec.may_match_below(dir))
            })?;
            for change in changes {
                if let Some(at) = waiting.remove(&change.path) {
                    order.push((at, commit.time));
                }
            }

            Ok(if order.len() >= n_wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;

        Ok(!is_late)
    }
}

/// Returns whether one of `specs` matches a path.
fn matches_any(specs: &[git::Pathspec], path: &[u8]) -> bool {
    specs.iter().any(|spec| spec.matches(path))
}

/// Facts that the index has about a file.
struct Facts {
    language: String,
    bytes: Option<u64>,
    lines: Option<u32>,
    skipped: Option<SkipReason>,
}

/// Returns a file with everything that is known without reading it from git. The index knows more than the
/// `decision` on the path.
fn listed_file(path: BString, known: &Known, decision: PathDecision, facts: Option<Facts>) -> ListedFile {
    let (skipped, decided, flags) = match decision {
        PathDecision::Skip(reason) => (Some(reason), None, PathFlags::default()),
        PathDecision::Index { language, flags, .. } => (None, language, flags),
    };
    let language = language_of(facts.as_ref(), decided, &path);

    let (bytes, state) = (known.bytes, known.state);
    let mut file = ListedFile { path, language, bytes, lines: None, skipped, state, flags, changed: None };
    if let Some(facts) = facts {
        file.skipped = facts.skipped.or(file.skipped);
        file.lines = facts.lines;
        file.bytes = facts.bytes.or(file.bytes);
    }
    file
}

/// Returns the language of a file: that of the index, else the one that the policy or the path gives.
fn language_of(facts: Option<&Facts>, decided: Option<LanguageId>, path: &BString) -> String {
    if let Some(facts) = facts.filter(|facts| !facts.language.is_empty()) {
        return facts.language.clone();
    }

    let language = decided.or_else(|| language::by_path(path.as_ref())).unwrap_or(language::TEXT);
    language.name().to_owned()
}

/// Returns the facts of `path`, if the index has the same contents there.
fn facts(view: &View, path: &BString, oid: &Oid) -> Option<Facts> {
    let entry = view.reader.find_entry(&view.snapshot.entries, path)?;
    let (record, _) = view.reader.entry(entry)?;
    let skipped = skip_reason(record.skipped);
    let Some((segment, ordinal)) = view.reader.locate_doc(record.doc) else {
        return Some(Facts { language: String::new(), bytes: None, lines: None, skipped });
    };

    let segment = &view.reader.segments[segment];
    let doc = segment.docs().get(ordinal as usize)?;
    if segment.blob_oid(doc) != *oid {
        return None;
    }

    let rows = segment.rows().get(doc.rows().start as usize..doc.rows().end as usize).unwrap_or_default();

    Some(Facts {
        language: segment.language(doc.language).to_owned(),
        bytes: Some(u64::from(doc.blob_bytes)),
        lines: rows.iter().map(|row| row.end_line).max().or(Some(0)),
        skipped: skip_reason(doc.skipped).or(skipped),
    })
}

impl Listing {
    /// Returns existing paths that are similar to `wanted`, which matches nothing; the most similar first.
    pub fn near(all: &[BString], wanted: &str) -> Vec<String> {
        let wanted = wanted.trim_matches('/').to_lowercase();
        let last = wanted.rsplit('/').next().unwrap_or_default().to_owned();
        let mut places: BTreeSet<String> = BTreeSet::new();
        for path in all {
            let path = quoting::text(path);
            let ends = path.match_indices('/').map(|(at, _)| at + 1).chain([path.len()]);
            places.extend(ends.map(|end| path[..end].to_owned()));
        }

        let mut scored: Vec<(usize, usize, String)> = Vec::new();
        for place in places {
            let whole = place.trim_end_matches('/').to_lowercase();
            let name = whole.rsplit('/').next().unwrap_or_default();
            let distance = strsim::osa_distance(name, &last);
            if name == last || distance <= 1 + last.len() / 5 && last.len() > 2 {
                scored.push((distance, strsim::osa_distance(&whole, &wanted), place));
            }
        }

        scored.sort();
        scored.into_iter().take(MAX_NEAR).map(|(_, _, place)| place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_paths_have_the_same_name_or_almost() {
        let all: Vec<BString> =
            ["src/query/rank/weights.rs", "src/mcp/server.rs", "docs/server.md"].map(BString::from).to_vec();
        for (wanted, expected) in [
            ("src/rank", vec!["src/query/rank/"]),
            ("/src/mpc", vec!["src/mcp/"]),
            ("server.rs", vec!["src/mcp/server.rs", "docs/server.md"]),
            ("src/server.md", vec!["docs/server.md", "src/mcp/server.rs"]),
            ("nothing", vec![]),
        ] {
            assert_eq!(Listing::near(&all, wanted), expected, "{wanted}");
        }
    }
}
