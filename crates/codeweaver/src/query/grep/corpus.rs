//! Corpus: the files that are searched.
//!
//! The files of a tree are those of its snapshot or, if it is not indexed, those of a walk through it. So an
//! answer never depends on the progress of the index.

use std::sync::Mutex;

use codeweaver_git::worktree::{WorktreeChange, WorktreeReader, WorktreeStatus};
use codeweaver_git::{self as git, BString, ByteSlice as _, Mode, Oid, quoting};
use codeweaver_index::policy::{Exempt, PathDecision, PathFlags, Policy, SkipReason, skip_reason};
use codeweaver_store::StoreReader;
use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::words::DocSet;
use rustc_hash::FxHashMap;

use super::needles::Requirement;
use super::request::GrepRequest;
use crate::query::error::QueryError;
use crate::query::members;
use crate::query::request::Filters;
use crate::query::retrieve::parallel;
use crate::query::view::open::{ViewSource, ViewTarget, WorktreeInput};
use crate::query::view::scope::{canonical_language, passes_path};
use crate::query::view::{MatchState, freshness};

/// Minimum number of docs whose words are searched on several threads.
const PARALLEL_DOCS: u64 = 2000;
/// Maximum number of files with credentials that are named.
const MAX_NAMED: usize = 3;

/// A file that may have matches.
pub(super) struct CorpusFile {
    pub path: BString,
    /// `None` for a changed file, which is read from the working tree.
    pub blob: Option<Oid>,
    /// Segment and ordinal of a doc of the blob, if it is indexed.
    pub doc: Option<(usize, u32)>,
    pub state: MatchState,
    pub flags: PathFlags,
    /// Whether the index leaves the file out: it is generated, vendored or a lock file.
    pub is_aside: bool,
    /// Whether the file is known to have no credentials.
    pub is_checked: bool,
    /// The reasons for skipping that do not apply to the content of this file, by the wish of the user.
    pub exempt: Exempt,
}

/// The files of a state of the codebase.
pub(super) struct Corpus {
    pub files: Vec<CorpusFile>,
    pub reader: StoreReader,
    pub policy: Policy,
    /// Wanted languages, by their names in the table; empty for all.
    pub languages: Vec<String>,
    /// Reads changed files; `None` if there are none.
    pub worktree: Option<Mutex<WorktreeReader>>,
    /// The contents of blobs that are read from nowhere else.
    pub texts: FxHashMap<Oid, Vec<u8>>,
    pub info: CorpusInfo,
}

/// Facts about the state of the codebase that is searched, for the user.
#[derive(Debug, Clone, Default, schemars::JsonSchema, serde::Serialize)]
pub struct CorpusInfo {
    /// Hex oid of the commit of the revision, if it has one.
    pub commit: Option<String>,
    /// Hex oid of the tree.
    pub tree: String,
    /// The revision as typed, or `HEAD`.
    pub rev: String,
    /// Number of changed files in the working tree; 0 if it is not searched.
    pub dirty_files: usize,
    /// Number of files that pass the filters.
    pub files: u64,
    /// Number of files that are not searched because they have credentials.
    pub secret_files: u64,
    /// The first of them.
    #[serde(skip)]
    pub secret_paths: Vec<String>,
    /// Paths of submodules that pass the filters.
    #[serde(skip)]
    pub submodules: Vec<String>,
    /// Number of files that are not searched because the settings or `.codeweaverignore` exclude them.
    pub excluded_files: u64,
    /// Number of files whose contents are not in this clone, or larger than 32 MiB.
    pub unread_files: u64,
    /// Path filters that match no file.
    #[serde(skip)]
    pub absent_paths: Vec<String>,
    /// Sentences for the user on parts of the state that are missing.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Whether the updater has something to do.
    #[serde(skip)]
    pub needs_update: bool,
}

impl Corpus {
    /// Collects the files that may have a match.
    pub fn open(source: &ViewSource<'_>, request: &GrepRequest) -> Result<Corpus, QueryError> {
        let codebase = source.codebase;
        let wanted = source.resolve(&request.view, request.filters.repos.as_ref())?;
        codebase.check_trust()?;
        let reader = source.store()?;
        let lifecycle = codebase.lifecycle(reader.as_ref());
        let Some(reader) = reader else { return Err(QueryError::Gated(lifecycle)) };

        let status = match wanted.worktree {
            WorktreeInput::Run(budget) if codebase.repo.work_dir().is_some() => {
                Some(source.status(&wanted.target, budget)?)
            }
            _ => None,
        };
        let tree = wanted.target.tree_oid();
        // A snapshot that is still growing has only some of the files.
        let snapshot = source.snapshot(&reader, &codebase.snapshot_key(&tree))?;
        let snapshot = snapshot.filter(|snapshot| snapshot.totals.complete);
        let policy = source.policy(&wanted)?;

        let repo = &codebase.repo;
        let requirement = Requirement::from_pattern(&request.pattern);
        let candidates = match &snapshot {
            Some(snapshot) if repo.is_limited() => {
                let shown = shown_docs(&reader, snapshot);
                candidates(&reader, &requirement, |at| Some(&shown[at]))
            }
            // The docs that may be seen are not known.
            None if repo.is_limited() => vec![None; reader.segments.len()],
            _ => candidates(&reader, &requirement, |_| None),
        };

        let shown_tree = wanted.target.tree.map(|tree| repo.shown_tree(&tree)).transpose()?;
        let commit = wanted.target.commit.filter(|_| !repo.is_limited());
        let mut gathering = Gathering {
            source,
            filters: &request.filters,
            is_path_seen: vec![false; request.filters.paths.len()],
            status: status.as_ref(),
            candidates,
            corpus: Corpus {
                files: Vec::new(),
                languages: request.filters.languages.iter().map(|name| canonical_language(name)).collect(),
                worktree: None,
                texts: FxHashMap::default(),
                info: CorpusInfo {
                    commit: commit.map(|oid| oid.to_string()),
                    tree: shown_tree.map(|tree| tree.to_string()).unwrap_or_default(),
                    rev: wanted.spec.clone(),
                    ..CorpusInfo::default()
                },
                reader,
                policy,
            },
        };

        match snapshot {
            Some(snapshot) => gathering.add_snapshot(&snapshot, &wanted)?,
            None => gathering.add_tree(&wanted)?,
        }
        wanted.cancel.check()?;
        gathering.add_worktree()?;
        Ok(gathering.finish(&wanted))
    }

    /// The name of the language of a file with these bytes.
    pub fn language(&self, file: &CorpusFile, bytes: &[u8]) -> String {
        let indexed = file.doc.and_then(|(segment, ordinal)| {
            let segment = &self.reader.segments[segment];
            Some(segment.language(segment.docs().get(ordinal as usize)?.language))
        });
        match indexed {
            Some(name) => name.to_owned(),
            None => self.policy.language(None, file.path.as_bstr(), bytes).name().to_owned(),
        }
    }
}

/// The docs of each segment that may meet `requirement`, among those that `shown` gives for the segment;
/// `None` if all of a segment may.
fn candidates<'s>(
    reader: &StoreReader,
    requirement: &Requirement,
    shown: impl Fn(usize) -> Option<&'s DocSet> + Sync,
) -> Vec<Option<DocSet>> {
    let n_docs = reader.segments.iter().map(|segment| u64::from(segment.n_docs())).sum();
    parallel::map(reader.segments.len(), n_docs, PARALLEL_DOCS, |at| {
        requirement.candidates(&reader.segments[at], shown(at))
    })
}

/// The docs of each segment that live entries of `snapshot` name.
fn shown_docs(reader: &StoreReader, snapshot: &Snapshot) -> Vec<DocSet> {
    let mut shown: Vec<_> = reader.segments.iter().map(|segment| DocSet::empty(segment.n_docs())).collect();
    let entries = reader.live_entries(&snapshot.entries);
    for (segment, ordinal) in entries.filter_map(|(_, record, _)| reader.locate_doc(record.doc)) {
        shown[segment].insert(ordinal);
    }
    shown
}

/// A corpus under construction.
struct Gathering<'a> {
    source: &'a ViewSource<'a>,
    filters: &'a Filters,
    /// For each path of the filters, whether it matches a file.
    is_path_seen: Vec<bool>,
    status: Option<&'a WorktreeStatus>,
    /// The docs that may have a match, by segment; `None` if all of a segment may.
    candidates: Vec<Option<DocSet>>,
    corpus: Corpus,
}

impl Gathering<'_> {
    /// Adds the files of an indexed tree.
    fn add_snapshot(&mut self, snapshot: &Snapshot, wanted: &ViewTarget) -> Result<(), QueryError> {
        let reader = self.corpus.reader.clone();
        let mut unindexed: Vec<CorpusFile> = Vec::new();

        for (_, record, path) in reader.live_entries(&snapshot.entries) {
            let path = path.as_bstr();
            let flags = PathFlags(record.flags as u8);
            let reason = skip_reason(record.skipped);
            if self.is_changed(path) || !self.passes(path, flags, reason) {
                continue;
            }

            let doc = reader.locate_doc(record.doc);
            // Such a file counts as searched: its words say that no line matches.
            if doc.is_some() && !self.may_match(doc) {
                self.corpus.info.files += 1;
                continue;
            }

            let file = CorpusFile {
                path: path.to_owned(),
                blob: None,
                doc,
                state: MatchState::Committed,
                flags,
                is_aside: reason.is_some_and(|reason| reason != SkipReason::Empty),
                is_checked: doc.is_some(),
                exempt: Exempt::default(),
            };
            let blob = doc.and_then(|(segment, ordinal)| {
                let segment = &reader.segments[segment];
                Some(segment.blob_oid(segment.docs().get(ordinal as usize)?))
            });
            match blob {
                Some(blob) => self.push(CorpusFile { blob: Some(blob), ..file }),
                None => unindexed.push(file),
            }
        }
        self.add_unindexed(unindexed, wanted)
    }

    /// Adds files of an indexed tree whose blobs are of no doc.
    fn add_unindexed(&mut self, files: Vec<CorpusFile>, wanted: &ViewTarget) -> Result<(), QueryError> {
        /// Maximum number of files that are looked up one by one. More are looked up in a list of all files.
        const MAX_SINGLE: usize = 64;

        let Some(tree) = wanted.target.tree.filter(|_| !files.is_empty()) else { return Ok(()) };
        let repo = &self.source.codebase.repo;
        let all = if files.len() > MAX_SINGLE { Some(git::walk_tree(repo, &tree)?) } else { None };

        for file in files {
            let found = match &all {
                Some(all) => {
                    let at = all.binary_search_by(|known| known.path.cmp(&file.path));
                    at.ok().map(|at| all[at].clone())
                }
                None => git::entry_at(repo, &tree, file.path.as_bstr())?,
            };

            if let Some(found) = found {
                let exempt = self.exempt(&found.path, found.mode);
                self.push(CorpusFile { blob: Some(found.oid), exempt, ..file });
            }
        }
        Ok(())
    }

    /// Adds the files of a tree that is not indexed.
    fn add_tree(&mut self, wanted: &ViewTarget) -> Result<(), QueryError> {
        let Some(tree) = wanted.target.tree else { return Ok(()) };

        for file in git::walk_tree(&self.source.codebase.repo, &tree)? {
            if self.is_changed(file.path.as_bstr()) {
                continue;
            }

            let (flags, exempt, reason) = self.decide(&file.path, file.mode);
            if !self.passes(file.path.as_bstr(), flags, reason) {
                continue;
            }

            self.push(CorpusFile {
                path: file.path,
                blob: Some(file.oid),
                doc: self.doc_of(&file.oid),
                state: MatchState::Committed,
                flags,
                is_aside: reason.is_some(),
                is_checked: false,
                exempt,
            });
        }
        Ok(())
    }

    /// Adds the changed files of the working tree.
    fn add_worktree(&mut self) -> Result<(), QueryError> {
        let Some(status) = self.status else { return Ok(()) };
        let changes = &status.changes;
        self.corpus.info.dirty_files = changes.changes.len();
        for (n, what) in [
            (changes.filtered.len(), "changed files have a filter driver and are searched as committed"),
            (
                changes.unreadable.len(),
                "files or directories cannot be read: what is committed there is searched",
            ),
            (changes.unlisted.len(), "directories cannot be listed: untracked files there are not searched"),
            (changes.unchecked, "paths could not be compared with the disk in time"),
        ] {
            if n > 0 {
                self.corpus.info.warnings.push(format!("{n} {what}"));
            }
        }
        if changes.changes.is_empty() {
            return Ok(());
        }

        self.corpus.worktree = Some(Mutex::new(status.reader(&self.source.codebase.repo)?));
        for WorktreeChange { path, state, bytes, .. } in &changes.changes {
            // A deleted file has nothing to search.
            let Some(blob) = bytes else { continue };
            let (flags, exempt, reason) = self.decide(path, blob.mode);
            if !self.passes(path.as_bstr(), flags, reason) {
                continue;
            }

            self.push(CorpusFile {
                path: path.clone(),
                blob: None,
                doc: self.doc_of(&blob.oid),
                state: MatchState::from(*state),
                flags,
                is_aside: reason.is_some(),
                is_checked: false,
                exempt,
            });
        }
        Ok(())
    }

    /// Completes the facts about the corpus, after all files were added.
    fn finish(self, wanted: &ViewTarget) -> Corpus {
        let Gathering { source, filters, is_path_seen, mut corpus, .. } = self;
        let tree = wanted.target.tree;
        let catalogue = tree.and_then(|tree| source.codebase.repo.members_of(&tree).ok()).unwrap_or_default();
        corpus.info.warnings.extend_from_slice(&wanted.warnings);
        corpus.info.warnings.extend(members::warnings(&catalogue, &wanted.behind, Some(filters)));

        let absent = filters.paths.iter().zip(&is_path_seen).filter(|(_, is_seen)| !**is_seen);
        corpus.info.absent_paths = absent.map(|(pathspec, _)| pathspec.to_string()).collect();

        let reader = &corpus.reader;
        let tree = wanted.target.tree_oid();
        let is_behind = !freshness::is_current(source.codebase, Some(&*reader.state), Some(&tree));

        corpus.info.needs_update = wanted.target.is_head && reader.denied.is_none() && is_behind;
        corpus
    }

    /// Counts a file, and adds it if it may have a match.
    fn push(&mut self, file: CorpusFile) {
        self.corpus.info.files += 1;
        if self.may_match(file.doc) {
            self.corpus.files.push(file);
        }
    }

    /// Returns whether a file with this doc may have a match.
    fn may_match(&self, doc: Option<(usize, u32)>) -> bool {
        let Some((segment, ordinal)) = doc else { return true };
        self.candidates[segment].as_ref().is_none_or(|docs| docs.contains(ordinal))
    }

    /// Returns whether the working tree has another version of the file at `path`.
    fn is_changed(&self, path: &git::BStr) -> bool {
        let changes = self.status.map_or(&[][..], |status| &status.changes.changes);
        changes.binary_search_by(|change| change.path.as_bstr().cmp(path)).is_ok()
    }

    /// Returns whether a file passes the filters and is not skipped for `reason`. Counts those that are.
    fn passes(&mut self, path: &git::BStr, flags: PathFlags, reason: Option<SkipReason>) -> bool {
        // Before the other filters: a path whose files they exclude is not absent.
        for (pathspec, is_seen) in self.filters.paths.iter().zip(&mut self.is_path_seen) {
            *is_seen = *is_seen || pathspec.matches(path);
        }
        if !passes_path(self.filters, path, flags) {
            return false;
        }

        let info = &mut self.corpus.info;
        match reason {
            Some(SkipReason::Symlink) => return false,
            Some(SkipReason::Submodule) => info.submodules.push(quoting::text(path)),
            Some(SkipReason::Secret) => info.add_secret(path),
            Some(SkipReason::Excluded | SkipReason::NotIncluded | SkipReason::Ignored) => {
                info.excluded_files += 1;
            }
            _ => return true,
        }
        false
    }

    /// The flags and exemptions of a file by the policy, and the reason for which the index skips it.
    fn decide(&self, path: &BString, mode: Mode) -> (PathFlags, Exempt, Option<SkipReason>) {
        match self.corpus.policy.decide_path(path.as_bstr(), mode) {
            PathDecision::Index { flags, exempt, .. } => (flags, exempt, None),
            PathDecision::Skip(reason) => (PathFlags::default(), Exempt::default(), Some(reason)),
        }
    }

    fn exempt(&self, path: &BString, mode: Mode) -> Exempt {
        self.decide(path, mode).1
    }

    /// The segment and ordinal of a doc with this blob.
    fn doc_of(&self, blob: &Oid) -> Option<(usize, u32)> {
        let mut segments = self.corpus.reader.segments.iter().enumerate();
        segments.find_map(|(at, segment)| segment.find_blob(blob).map(|ordinal| (at, ordinal)))
    }
}

impl CorpusInfo {
    /// Counts a file that has credentials.
    pub(super) fn add_secret(&mut self, path: &git::BStr) {
        self.secret_files += 1;
        if self.secret_paths.len() < MAX_NAMED {
            self.secret_paths.push(quoting::printed(&quoting::text(path)).into_owned());
        }
    }
}

/// The path of a file as text.
pub(super) fn shown(path: &BString) -> String {
    quoting::text(path)
}
