//! The commits of a range, or those that touch some paths, a definition, or have some words in their message.

use super::Changes;
use super::ChangesRequest;
use super::ends::Ends;
use super::symbols::{Definition, SymbolChangeKind, name_segments};
use crate::query::error::QueryError;
use crate::query::request::{Filters, ViewRequest};
use crate::query::search::Searcher;
use crate::query::symbol_scan;
use crate::query::view::freshness::RequestUpdate;
use codeweaver_git::{
    BStr, BString, ByteSlice as _, Commit, History, Oid, TreeChange, TreeComparer, quoting,
};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Maximum number of commits that are counted beyond those that are listed.
const MAX_COUNTED: usize = 20_000;
/// Versions of files whose definitions are kept while the history of a symbol is followed.
const MAX_VERSIONS: usize = 64;

/// A commit of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommit {
    pub commit: Commit,
    /// What it did to the symbol of the request.
    pub symbol: Option<SymbolEvent>,
}

/// What a commit did to a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolEvent {
    pub kind: SymbolChangeKind,
    /// The file that had it after the commit, or before it if it was removed.
    pub path: BString,
    /// The file that it came from.
    pub from: Option<BString>,
}

/// Commits, the newest first. Merges are counted, not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitList {
    pub commits: Vec<ListedCommit>,
    /// Number of all commits that fit; `None` if the rest was not counted.
    pub total: Option<usize>,
    pub n_merges: usize,
    /// Whether there are more than the listed ones, or may be.
    pub has_more: bool,
    /// Number of commits that were looked at until the time was up.
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
        let repo = &self.searcher.codebase.repo;
        let mut history = History::open(repo)?;
        let hidden: Vec<Oid> = self.ends.from.as_ref().and_then(|from| from.commit).into_iter().collect();
        let is_bounded = self.ends.from.is_some();
        if self.ends.is_one_commit {
            let commit = history.commit(&tip)?;
            return Ok(CommitList {
                is_shallow: commit.is_shallow,
                commits: vec![ListedCommit { commit, symbol: None }],
                total: Some(1),
                ..CommitList::default()
            });
        }
        let mut list = CommitList { is_shallow: false, ..CommitList::default() };
        let mut trees = TreeComparer::new(repo);
        let mut versions = Versions::default();
        let message = self.request.message.as_ref().map(|text| text.to_lowercase());
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
            let has_message = |words: &String| commit.message.to_lowercase().contains(words.as_str());
            if !message.as_ref().is_none_or(has_message) {
                return Ok(ControlFlow::Continue(()));
            }
            let mut symbol = None;
            if !self.paths.is_open() || self.request.symbol.is_some() {
                // All files of the first commit of a shallow clone seem to be new in it.
                if commit.is_shallow {
                    return Ok(ControlFlow::Continue(()));
                }
                let paths = &self.paths;
                let changes = trees.diff(parent.as_ref(), &commit.tree, &|dir| paths.may_match_below(dir))?;
                let touched: Vec<TreeChange> =
                    changes.into_iter().filter(|change| paths.matches(change.path.as_ref())).collect();
                if touched.is_empty() {
                    return Ok(ControlFlow::Continue(()));
                }
                if self.request.symbol.is_some() {
                    let step = Step { commit: &commit, parent: parent.as_ref(), touched: &touched };
                    symbol = self.symbol_event(&step, &mut trees, &mut versions)?;
                    if symbol.is_none() {
                        return Ok(ControlFlow::Continue(()));
                    }
                }
            }
            n_fitting += 1;
            if n_fitting > offset + limit {
                list.has_more = true;
                // The end of an open history is far away.
                let is_cheap = is_bounded && self.paths.is_open() && n_fitting <= MAX_COUNTED;
                return Ok(if is_cheap { ControlFlow::Continue(()) } else { ControlFlow::Break(()) });
            }
            if n_fitting > offset {
                list.commits.push(ListedCommit { commit, symbol });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let is_counted = !list.has_more || is_bounded && self.paths.is_open() && n_fitting <= MAX_COUNTED;
        list.total = (is_counted && list.stopped_after.is_none()).then_some(n_fitting);
        Ok(list)
    }

    /// What a commit did to the symbol of the request. A file that the symbol came from is followed from now
    /// on.
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
            let old = self.version(path, change.old.map(|side| side.0), &wanted, versions)?;
            let new = self.version(path, change.new.map(|side| side.0), &wanted, versions)?;
            let kind = match (old.is_empty(), new.is_empty()) {
                (true, true) => continue,
                (true, false) => SymbolChangeKind::Added,
                (false, true) => SymbolChangeKind::Removed,
                (false, false) if old.hashes == new.hashes => continue,
                (false, false) if old.signatures == new.signatures => SymbolChangeKind::Body,
                (false, false) => SymbolChangeKind::Signature,
            };
            let found = SymbolEvent { kind, path: change.path.clone(), from: None };
            event = match event {
                // It moved between two files that are both followed.
                Some(other) if kind == SymbolChangeKind::Added && other.kind == SymbolChangeKind::Removed => {
                    Some(SymbolEvent {
                        from: Some(other.path),
                        kind: SymbolChangeKind::Body,
                        path: found.path,
                    })
                }
                Some(other) if kind == SymbolChangeKind::Removed && other.kind == SymbolChangeKind::Added => {
                    Some(SymbolEvent {
                        from: Some(found.path),
                        kind: SymbolChangeKind::Body,
                        path: other.path,
                    })
                }
                Some(other) => Some(other),
                None => Some(found),
            };
        }
        if let Some(event) = event.as_mut().filter(|event| event.kind == SymbolChangeKind::Added)
            && let Some(from) = self.origin(step, trees, versions, &wanted)?
        {
            if !self.paths.of_symbol.contains(&from) {
                // What was included by other conditions stays so.
                if self.paths.of_symbol.is_empty() {
                    self.paths.of_symbol.push(event.path.clone());
                }
                self.paths.of_symbol.push(from.clone());
            }
            event.from = Some(from);
            event.kind = SymbolChangeKind::Body;
        }
        Ok(event)
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
        let extension = |path: &BStr| path.rsplit(|&b| b == b'.').next().map(<[u8]>::to_vec);
        let home = step.touched.first().and_then(|change| extension(change.path.as_ref()));
        let lost = all.iter().filter(|change| {
            change.old.is_some()
                && extension(change.path.as_ref()) == home
                && !step.touched.iter().any(|known| known.path == change.path)
        });
        for change in lost.take(MAX_FILES) {
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
        if let Some(known) = versions.0.get(&oid) {
            return Ok(known.clone());
        }
        let Some(text) = self.contents.blob(&oid)? else {
            self.warnings.push(format!(
                "a version of {} is too large or not in this clone",
                quoting::printed(&quoting::text(path))
            ));
            return Ok(Rc::default());
        };
        let has_name = wanted.last().is_some_and(|name| text.contains_str(name));
        let definitions: Vec<Definition> = if has_name { self.definitions(path, &text) } else { Vec::new() };
        let mut version = Version::default();
        for definition in definitions.iter().filter(|it| it.is_named(wanted)) {
            version.hashes.push(definition.hash(&text));
            version.signatures.push(definition.signature.clone());
        }
        version.hashes.sort_unstable();
        version.signatures.sort_unstable();
        let version = Rc::new(version);
        if versions.0.len() >= MAX_VERSIONS {
            versions.0.clear();
        }
        versions.0.insert(oid, version.clone());
        Ok(version)
    }
}

/// A commit that touches what is followed.
struct Step<'a> {
    commit: &'a Commit,
    parent: Option<&'a Oid>,
    touched: &'a [TreeChange],
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
}

/// Versions by blob.
#[derive(Default)]
struct Versions(FxHashMap<Oid, Rc<Version>>);

impl Searcher {
    /// The files that define `symbol`, by the index of the newer state.
    pub(super) fn paths_of_symbol(
        &self,
        symbol: &str,
        request: &ChangesRequest,
        update: RequestUpdate<'_>,
    ) -> Result<Vec<BString>, QueryError> {
        let ends = Ends::resolve(&self.codebase.repo, request.from.as_deref(), request.to.as_deref())?;
        let wanted: Vec<&str> = name_segments(symbol).collect();
        let Some(last) = wanted.last().copied() else {
            return Err(QueryError::Parameter {
                name: "symbol",
                must: "a name or Type.name",
                found: symbol.to_owned(),
            });
        };
        // HEAD is indexed; another revision might have to be first, and the file is mostly the same.
        let view =
            ViewRequest { cancel: request.cancel.clone(), ..ViewRequest::new(&self.codebase.settings) };
        let view = self.view(&view, update)?;
        let filters = Filters { include_tests: true, ..Filters::default() };
        let is_it = |name: &str, qualified: &str| {
            name == last && {
                let own: Vec<&str> = name_segments(qualified).collect();
                own.len() >= wanted.len() && own[own.len() - wanted.len()..] == wanted[..]
            }
        };
        let mut paths: Vec<BString> = symbol_scan::scan(&view, &filters, &is_it)
            .into_iter()
            .map(|found| quoting::bytes(&found.path))
            .collect();
        paths.sort();
        paths.dedup();
        if paths.is_empty() {
            let hint = "; if it was there before, name the file that had it in `paths`";
            let what = format!("no definition of {symbol:?} is in the index of {}{hint}", ends.to.name);
            return Err(QueryError::NotFound { what });
        }
        Ok(paths)
    }
}
