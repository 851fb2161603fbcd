//! The commits of a range, or those that touch some paths or a definition, or have some words in their
//! message.

use std::ops::ControlFlow;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use codeweaver_git::{
    BStr, BString, ByteSlice as _, Commit, GitError, History, Oid, TreeChange, TreeComparer, quoting,
};

use super::Changes;
use super::ChangesRequest;
use super::ends::Ends;
use super::symbols::{Definition, SymbolChangeKind, ends_with, name_segments};
use crate::query::error::QueryError;
use crate::query::filters::Filters;
use crate::query::request::ViewRequest;
use crate::query::symbol_scan;
use crate::query::view::freshness::RequestUpdate;
use crate::query::view::open::ViewSource;

/// Maximum number of commits that are counted beyond those that are listed.
const MAX_COUNTED: usize = 20_000;
/// Maximum number of versions of files whose definitions are kept while the history of a symbol is followed.
const MAX_VERSIONS: usize = 64;

/// A commit of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommit {
    pub commit: Commit,
    /// The effect of the commit on the symbol of the request.
    pub symbol: Option<SymbolEvent>,
    /// The file that is followed, if the request is about one.
    pub file: Option<FollowedFile>,
}

/// A file whose renames are followed, in one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedFile {
    /// Its path after the commit.
    pub path: BString,
    /// Its path before, if the commit renamed it.
    pub from: Option<BString>,
}

/// The effect of a commit on a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolEvent {
    pub kind: SymbolChangeKind,
    /// The file that has the definition after the commit, or had it before if it was removed.
    pub path: BString,
    /// The file that the definition moved from.
    pub from: Option<BString>,
}

/// Commits, the newest first. Merges are counted, not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitList {
    pub commits: Vec<ListedCommit>,
    /// Number of all commits that fit; `None` if not all were counted.
    pub total: Option<usize>,
    pub n_merges: usize,
    /// Whether there are, or may be, more commits than the listed ones.
    pub has_more: bool,
    /// Number of commits that were looked at, if the time was up before the last one.
    pub stopped_after: Option<usize>,
    /// Whether the history ends because the clone is shallow.
    pub is_shallow: bool,
}

impl Changes<'_> {
    /// The first `limit` commits after `offset`.
    ///
    /// # Errors
    /// [`GitError`] if the history or a tree of it cannot be read.
    pub fn commits(&mut self, offset: usize, limit: usize) -> Result<CommitList, QueryError> {
        let Some(tip) = self.ends.to.commit else { return Ok(CommitList::default()) };
        let repo = &self.source.codebase.repo;
        let mut history = History::open(repo)?;
        if self.ends.is_one_commit {
            let commit = history.commit(&tip)?;
            return Ok(CommitList {
                is_shallow: commit.is_shallow,
                commits: vec![ListedCommit { commit, symbol: None, file: None }],
                total: Some(1),
                ..CommitList::default()
            });
        }

        let hidden: Vec<Oid> = self.ends.from.as_ref().and_then(|from| from.commit).into_iter().collect();
        let is_bounded = self.ends.from.is_some();
        let message = self.request.message.as_ref().map(|text| text.to_lowercase());
        let mut list = CommitList::default();
        let mut trees = TreeComparer::new(repo);
        let mut versions = Versions::default();
        let (mut n_seen, mut n_fitting) = (0, 0);

        history.walk(&tip, &hidden, |commit, parent| {
            if self.is_late()? {
                list.stopped_after = Some(n_seen);
                return Ok::<_, QueryError>(ControlFlow::Break(()));
            }
            n_seen += 1;
            list.is_shallow |= commit.is_shallow;

            if commit.parents.len() > 1 {
                list.n_merges += 1;
                return Ok(ControlFlow::Continue(()));
            }
            if message.as_ref().is_some_and(|words| !commit.message.to_lowercase().contains(words.as_str())) {
                return Ok(ControlFlow::Continue(()));
            }
            let Relevance::Fits { symbol, file } =
                self.relevance(&commit, parent.as_ref(), &mut trees, &mut versions)?
            else {
                return Ok(ControlFlow::Continue(()));
            };

            n_fitting += 1;
            if n_fitting > offset + limit {
                list.has_more = true;
                // Counting on is cheap only for a range without conditions: the end of an open history is far
                // away.
                let is_cheap = is_bounded && self.paths.is_open() && n_fitting <= MAX_COUNTED;
                return Ok(if is_cheap { ControlFlow::Continue(()) } else { ControlFlow::Break(()) });
            }
            if n_fitting > offset {
                list.commits.push(ListedCommit { commit, symbol, file });
            }
            Ok(ControlFlow::Continue(()))
        })?;

        let is_counted = !list.has_more || is_bounded && self.paths.is_open() && n_fitting <= MAX_COUNTED;
        list.total = (is_counted && list.stopped_after.is_none()).then_some(n_fitting);
        Ok(list)
    }

    /// Compares a commit with its `parent`, as far as the paths and the symbol of the request need it.
    fn relevance(
        &mut self,
        commit: &Commit,
        parent: Option<&Oid>,
        trees: &mut TreeComparer,
        versions: &mut Versions,
    ) -> Result<Relevance, QueryError> {
        if self.paths.is_open() && self.request.symbol.is_none() {
            return Ok(Relevance::Fits { symbol: None, file: None });
        }
        // All files of the first commit of a shallow clone seem to be new in it.
        if commit.is_shallow {
            return Ok(Relevance::Unrelated);
        }

        let paths = &self.paths;
        let changes = match trees.diff(parent, &commit.tree, &|dir| paths.may_match_below(dir)) {
            Err(error @ (GitError::ObjectMissing { .. } | GitError::BadObject { .. })) => {
                self.warnings.push(format!("commit {} cannot be compared: {error}", commit.id));
                return Ok(Relevance::Unrelated);
            }
            changes => changes?,
        };
        let touched: Vec<TreeChange> =
            changes.into_iter().filter(|change| paths.matches(change.path.as_ref())).collect();
        if touched.is_empty() {
            return Ok(Relevance::Unrelated);
        }

        let step = Step { commit, parent, touched: &touched };
        if self.request.symbol.is_none() {
            let path = touched.first().map(|change| change.path.clone());
            let path = path.filter(|path| self.request.follows_renames && self.paths.is_only(path));
            let from = self.follow_rename(&step, trees)?;
            return Ok(Relevance::Fits { symbol: None, file: path.map(|path| FollowedFile { path, from }) });
        }

        Ok(match self.symbol_event(&step, trees, versions)? {
            Some(event) => Relevance::Fits { symbol: Some(event), file: None },
            None => Relevance::Unrelated,
        })
    }

    /// The effect of a commit on the symbol of the request. If the symbol came from another file, that file
    /// is followed from now on.
    fn symbol_event(
        &mut self,
        step: &Step<'_>,
        trees: &mut TreeComparer,
        versions: &mut Versions,
    ) -> Result<Option<SymbolEvent>, QueryError> {
        let symbol = self.request.symbol.clone().unwrap_or_default();
        let wanted: Vec<&str> = name_segments(&symbol).collect();

        let mut event: Option<SymbolEvent> = None;
        for change in step.touched {
            let path: &BStr = change.path.as_ref();
            // The newest version decides which definitions have the name.
            let new = self.version(path, change.new.map(|side| side.0), &wanted, versions)?;
            let old = self.version(path, change.old.map(|side| side.0), &wanted, versions)?;
            let Some(kind) = Version::difference(&old, &new) else { continue };
            let found = SymbolEvent { kind, path: change.path.clone(), from: None };
            event = Some(match event {
                Some(earlier) => earlier.merged(found),
                None => found,
            });
        }

        // A symbol that seems new may come from a file that is not followed yet.
        if let Some(event) = event.as_mut().filter(|event| event.kind == SymbolChangeKind::Added)
            && let Some(from) = self.origin(step, trees, versions, &wanted)?
        {
            self.follow(&event.path, &from);
            event.from = Some(from);
            event.kind = SymbolChangeKind::Body;
        }
        Ok(event)
    }

    /// Follows the symbol of the request from `path` into the file `from` that it came from.
    fn follow(&mut self, path: &BString, from: &BString) {
        let of_symbol = &mut self.paths.of_symbol;
        if of_symbol.contains(from) {
            return;
        }

        // The first path here excludes all that only other conditions included, so these come along.
        if of_symbol.is_empty() {
            of_symbol.push(path.clone());
        }
        of_symbol.push(from.clone());
    }

    /// The file that lost the symbol in the commit that added it elsewhere.
    fn origin(
        &mut self,
        step: &Step<'_>,
        trees: &mut TreeComparer,
        versions: &mut Versions,
        wanted: &[&str],
    ) -> Result<Option<BString>, QueryError> {
        /// Files of one commit in which the symbol is looked for.
        const MAX_FILES: usize = 200;

        if step.commit.is_shallow || step.parent.is_none() {
            return Ok(None);
        }
        let all = trees.diff(step.parent, &step.commit.tree, &|_| true)?;
        let own_extension = step.touched.first().map(|change| extension(change.path.as_ref()));
        // Symbols hardly move to another language, and parsing is the costly part.
        let candidates = all.iter().filter(|change| {
            change.old.is_some()
                && Some(extension(change.path.as_ref())) == own_extension
                && !step.touched.iter().any(|known| known.path == change.path)
        });

        for change in candidates.take(MAX_FILES) {
            if self.is_late()? {
                break;
            }

            let path: &BStr = change.path.as_ref();
            let old = self.version(path, change.old.map(|side| side.0), wanted, versions)?;
            if old.is_empty() {
                continue;
            }
            let new = self.version(path, change.new.map(|side| side.0), wanted, versions)?;
            if new.is_empty() {
                return Ok(Some(change.path.clone()));
            }
        }
        Ok(None)
    }

    /// The definitions of the name `wanted` in a version of a file.
    fn version(
        &mut self,
        path: &BStr,
        oid: Option<Oid>,
        wanted: &[&str],
        versions: &mut Versions,
    ) -> Result<Rc<Version>, QueryError> {
        let Some(oid) = oid else { return Ok(Rc::default()) };
        if let Some(known) = versions.by_blob.get(&oid) {
            return Ok(known.clone());
        }

        let Some(text) = self.contents.blob(&oid)? else {
            self.warnings.push(format!(
                "a version of {} is too large or not in this clone",
                quoting::printed(&quoting::text(path))
            ));
            return Ok(Rc::default());
        };

        // A text without the name need not be parsed.
        let has_name = wanted.last().is_some_and(|name| text.contains_str(name));
        let definitions: Vec<Definition> = if has_name { self.definitions(path, &text) } else { Vec::new() };

        let mut version = Version::default();
        for definition in versions.named(&definitions, wanted) {
            version.hashes.push(definition.hash(&text));
            version.signatures.push(definition.signature.clone());
        }
        version.hashes.sort_unstable();
        version.signatures.sort_unstable();

        let version = Rc::new(version);
        if versions.by_blob.len() >= MAX_VERSIONS {
            versions.by_blob.clear();
        }
        versions.by_blob.insert(oid, version.clone());
        Ok(version)
    }
}

/// A commit that touches the paths of a request.
pub(super) struct Step<'a> {
    pub commit: &'a Commit,
    pub parent: Option<&'a Oid>,
    pub touched: &'a [TreeChange],
}

/// The relation of a commit to the paths and the symbol of a request.
enum Relevance {
    Unrelated,
    /// With its effect on the symbol, if the request has one, and the file that is followed.
    Fits {
        symbol: Option<SymbolEvent>,
        file: Option<FollowedFile>,
    },
}

impl SymbolEvent {
    /// Returns one event for this one and `other` of the same commit. A symbol that one file lost and another
    /// one got has moved; otherwise the first event stands for both.
    fn merged(self, other: SymbolEvent) -> SymbolEvent {
        let (from, to) = match (self.kind, other.kind) {
            (SymbolChangeKind::Removed, SymbolChangeKind::Added) => (self, other),
            (SymbolChangeKind::Added, SymbolChangeKind::Removed) => (other, self),
            _ => return self,
        };
        SymbolEvent { kind: SymbolChangeKind::Body, path: to.path, from: Some(from.path) }
    }
}

/// The last part of a path after a dot.
fn extension(path: &BStr) -> &[u8] {
    path.rsplit(|&b| b == b'.').next().unwrap_or_default()
}

/// The definitions of one name in a version of a file.
#[derive(Debug, Default)]
struct Version {
    hashes: Vec<[u8; 32]>,
    signatures: Vec<String>,
}

impl Version {
    fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The change from `old` to `new`; `None` if they are equal.
    fn difference(old: &Version, new: &Version) -> Option<SymbolChangeKind> {
        match (old.is_empty(), new.is_empty()) {
            (true, true) => None,
            (true, false) => Some(SymbolChangeKind::Added),
            (false, true) => Some(SymbolChangeKind::Removed),
            (false, false) if old.hashes == new.hashes => None,
            (false, false) if old.signatures == new.signatures => Some(SymbolChangeKind::Body),
            (false, false) => Some(SymbolChangeKind::Signature),
        }
    }
}

/// Versions of the files with the symbol of a request.
#[derive(Default)]
struct Versions {
    by_blob: FxHashMap<Oid, Rc<Version>>,
    /// Whether the symbol is the whole qualified name of its definitions, by the newest version that has one.
    is_whole: Option<bool>,
}

impl Versions {
    /// Those of `definitions` that `wanted` names. If one has it as its whole name, others that only end with
    /// it are other symbols.
    fn named<'d>(&mut self, definitions: &'d [Definition], wanted: &[&str]) -> Vec<&'d Definition> {
        let mut named: Vec<&Definition> = definitions.iter().filter(|it| it.is_named(wanted)).collect();
        if !named.is_empty() {
            let has_whole = || named.iter().any(|it| is_whole_name(&it.qualified_name, wanted));
            let is_whole = *self.is_whole.get_or_insert_with(has_whole);
            named.retain(|it| !is_whole || is_whole_name(&it.qualified_name, wanted));
        }
        named
    }
}

/// Returns whether `wanted` are all segments of a qualified name.
fn is_whole_name(qualified_name: &str, wanted: &[&str]) -> bool {
    ends_with(qualified_name, wanted) && name_segments(qualified_name).count() == wanted.len()
}

/// The paths of the files that define `symbol`, by the index of the newer state.
pub(super) fn paths_of_symbol(
    source: &ViewSource<'_>,
    symbol: &str,
    request: &ChangesRequest,
    update: RequestUpdate<'_>,
) -> Result<Vec<BString>, QueryError> {
    let ends = Ends::resolve(&source.codebase.repo, request.from.as_deref(), request.to.as_deref())?;
    let wanted: Vec<&str> = name_segments(symbol).collect();
    let Some(last) = wanted.last().copied() else {
        return Err(QueryError::Parameter {
            name: "symbol",
            must: "a name or Type.name",
            found: symbol.to_owned(),
        });
    };

    // HEAD is indexed; another revision might have to be first, and the file is mostly the same.
    let view = ViewRequest { cancel: request.cancel.clone(), ..ViewRequest::new(&source.codebase.settings) };
    let view = source.view(&view, update)?;
    let filters = Filters { include_tests: true, ..Filters::default() };
    let is_wanted = |name: &str, qualified: &str| name == last && ends_with(qualified, &wanted);
    let mut found = symbol_scan::scan_named(&view, &filters, last, &is_wanted);
    // Where something has the whole name, what only ends with it is another symbol.
    if found.iter().any(|it| is_whole_name(&it.qualified_name, &wanted)) {
        found.retain(|it| is_whole_name(&it.qualified_name, &wanted));
    }

    let mut paths: Vec<BString> = found.into_iter().map(|found| quoting::bytes(&found.path)).collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        let hint = "; if it was there before, name the file that had it in `paths`";
        let what = format!("no definition of {symbol:?} is in the index of {}{hint}", ends.to.name);
        return Err(QueryError::NotFound { what });
    }
    Ok(paths)
}
