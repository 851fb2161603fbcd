//! Mines a suite from the history of a repository.
//!
//! The message of a commit is the query; the existing code files that the commit changed are the labels; the
//! tree of the parent, on which the change was to be made, is searched. [`SkipReason`] lists the reasons to
//! skip a commit, [`tables`] the phrases of routine commits. Nothing is random: the same history gives the
//! same suite.
//!
//! The queries are returned newest first, in the form that [`super::suite`] reads.

mod message;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use codeweaver_git::{self as git, BString, BlobReader, ByteSlice, Oid, TreeChange};
use codeweaver_index::Codebase;
use codeweaver_index::policy::{PathDecision, PathFlags, Policy};
use codeweaver_text as text;

use super::error::EvalError;
use message::Message;

/// Options of [`mine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MineOptions {
    /// The revision at which the walk begins.
    pub rev: String,
    /// Maximum number of queries.
    pub limit: usize,
    /// Maximum number of code files that a commit changes; larger commits are skipped because no single place
    /// answers them.
    pub max_files: usize,
    /// Keeps the names of changed files in the query; they are removed otherwise.
    pub keep_paths: bool,
}

/// A query made from a commit. Serialised as a line of a suite.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MinedQuery {
    pub query: String,
    /// The kind of change, by the first word of the message.
    pub category: &'static str,
    /// The language of the first label.
    pub language: String,
    /// The revision that is searched: the parent of `commit`.
    pub rev: String,
    pub commit: String,
    /// Paths of the labels, sorted.
    pub relevant: Vec<String>,
}

/// The reason to skip a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// A merge, or the first commit, which has no parent to search.
    NotOneParent,
    Bot,
    Revert,
    /// Release, version bump, dependencies, formatting, spelling.
    Routine,
    /// Fewer than three words after cleaning.
    TooShort,
    /// More code files than allowed.
    TooManyFiles,
    /// Only new files, tests, documentation, data, renames or files that are not indexed.
    NoCode,
    /// Shares most of its words with a later commit.
    Duplicate,
}

impl SkipReason {
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::NotOneParent => "merges and roots",
            SkipReason::Bot => "bots",
            SkipReason::Revert => "reverts",
            SkipReason::Routine => "releases, formatting and the like",
            SkipReason::TooShort => "too short",
            SkipReason::TooManyFiles => "too many files",
            SkipReason::NoCode => "no change to existing code",
            SkipReason::Duplicate => "duplicates",
        }
    }
}

/// The mined queries, with the number of commits skipped for each reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mined {
    pub queries: Vec<MinedQuery>,
    pub n_commits: usize,
    pub skipped: BTreeMap<SkipReason, usize>,
}

/// A commit that changes more than this many times `max_files` paths of any kind is skipped without reading
/// the paths.
const PATHS_PER_FILE: usize = 10;
/// Queries that share this part of their words are duplicates.
const DUPLICATE_SHARE: f64 = 0.7;

/// Walks back from `options.rev` until there are `options.limit` queries or no more commits.
pub fn mine(codebase: &Codebase, options: &MineOptions) -> Result<Mined, EvalError> {
    let tip = codebase.repo.resolve(&options.rev)?;
    let mut mined = Mined::default();
    let Some(tip) = tip.commit else { return Ok(mined) };

    let repo = codebase.repo.local();
    let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let walk = repo.rev_walk([tip]).sorting(order).all().map_err(|e| unreadable(codebase, &e))?;
    let mut miner = Miner { codebase, options, blobs: codebase.repo.blobs(), previous: Vec::new() };

    for commit in walk {
        if mined.queries.len() >= options.limit {
            break;
        }

        // The boundary of a shallow clone ends the walk.
        let Ok(commit) = commit else { break };
        let commit = commit.object().map_err(|e| unreadable(codebase, &e))?;

        mined.n_commits += 1;
        match miner.mine_commit(&commit)? {
            Ok(query) => mined.queries.push(query),
            Err(reason) => *mined.skipped.entry(reason).or_default() += 1,
        }
    }

    Ok(mined)
}

fn unreadable(codebase: &Codebase, error: &dyn std::fmt::Display) -> git::GitError {
    git::GitError::Unreadable { path: codebase.repo.git_dir().to_owned(), reason: error.to_string() }
}

/// The state of a walk.
struct Miner<'a> {
    codebase: &'a Codebase,
    options: &'a MineOptions,
    blobs: BlobReader,
    /// Words of each query so far.
    previous: Vec<BTreeSet<String>>,
}

impl Miner<'_> {
    /// Makes a query from a commit. The inner error is the reason to skip the commit.
    ///
    /// Checks that read no tree come first, since they are cheap.
    fn mine_commit(&mut self, commit: &gix::Commit<'_>) -> Result<Result<MinedQuery, SkipReason>, EvalError> {
        let mut parents = commit.parent_ids();
        let (Some(parent), None) = (parents.next(), parents.next()) else {
            return Ok(Err(SkipReason::NotOneParent));
        };

        let author = commit.author().map(|author| (author.name.to_string(), author.email.to_string()));
        if author.is_ok_and(|(name, email)| tables::is_bot(&name, &email)) {
            return Ok(Err(SkipReason::Bot));
        }
        let raw = commit.message_raw_sloppy().to_str_lossy();
        let message = match Message::parse(&raw) {
            Ok(message) => message,
            Err(reason) => return Ok(Err(reason)),
        };

        let new = self.codebase.repo.resolve(&commit.id.to_string())?;
        // The parent is beyond the boundary of a shallow clone.
        let Ok(old) = self.codebase.repo.resolve(&parent.to_string()) else {
            return Ok(Err(SkipReason::NotOneParent));
        };
        let changes = git::diff_trees(&self.codebase.repo, Some(&old.tree), &new.tree)?;
        let (relevant, language) = match self.changed_code(&changes, &old.tree, &new.tree)? {
            Ok(changed) => changed,
            Err(reason) => return Ok(Err(reason)),
        };

        // With the names of its files, a query would be answered by matching paths alone.
        let paths: Vec<&str> = match self.options.keep_paths {
            true => Vec::new(),
            false => changes.iter().filter_map(|change| change.path.to_str().ok()).collect(),
        };
        let Some(query) = message.query(&paths) else { return Ok(Err(SkipReason::TooShort)) };
        if !self.is_new(&query) {
            return Ok(Err(SkipReason::Duplicate));
        }

        Ok(Ok(MinedQuery {
            category: message.category(),
            query,
            language,
            rev: parent.to_string(),
            commit: commit.id.to_string(),
            relevant,
        }))
    }

    /// Returns the paths of existing code files that the commit changed, and the language of the first.
    fn changed_code(
        &mut self,
        changes: &[TreeChange],
        old: &Oid,
        new: &Oid,
    ) -> Result<Result<(Vec<String>, String), SkipReason>, EvalError> {
        if changes.len() > self.options.max_files * PATHS_PER_FILE {
            return Ok(Err(SkipReason::TooManyFiles));
        }

        let settings = &self.codebase.settings.policy;
        let [before, after] =
            [old, new].map(|tree| Policy::for_tree(&self.codebase.repo, Some(tree), settings));
        let (before, after) = (before?, after?);

        let mut relevant = Vec::new();
        let mut language = None;
        let mut n_code = 0;
        for change in changes {
            if is_renamed_away(change, changes) {
                continue;
            }

            match (change.old, change.new) {
                (Some((oid, mode)), new) if new.is_none_or(|(new, _)| new != oid) => {
                    let Some(name) = self.code(&before, &change.path, oid, mode)? else { continue };
                    n_code += 1;
                    language.get_or_insert(name);
                    relevant.push(change.path.to_string());
                }
                // A new file is no label, since the parent does not have it, but it counts towards the limit.
                (None, Some((oid, mode))) => {
                    n_code += usize::from(self.code(&after, &change.path, oid, mode)?.is_some());
                }
                _ => {}
            }
        }

        Ok(match language {
            _ if n_code > self.options.max_files => Err(SkipReason::TooManyFiles),
            None => Err(SkipReason::NoCode),
            Some(language) => Ok((relevant, language)),
        })
    }

    /// Returns the language of a file that can be a label; `None` for a file that is not indexed, and for
    /// tests, examples, benchmarks, documentation and data, which commits change along with their subject.
    fn code(
        &mut self,
        policy: &Policy,
        path: &BString,
        oid: Oid,
        mode: git::Mode,
    ) -> Result<Option<String>, EvalError> {
        let PathDecision::Index { language, flags, exempt } = policy.decide_path(path.as_ref(), mode) else {
            return Ok(None);
        };

        let roles = [PathFlags::TEST, PathFlags::EXAMPLE, PathFlags::DOCS, PathFlags::BENCH];
        if roles.into_iter().any(|role| flags.contains(role)) {
            return Ok(None);
        }

        let Some(bytes) = self.blobs.read(&oid)? else { return Ok(None) };
        let bytes = &*text::to_utf8(bytes);
        if policy.decide_blob(bytes, exempt).is_some() {
            return Ok(None);
        }

        let language = policy.language(language, path.as_ref(), bytes);
        Ok((!language.is_prose() && !language.is_data()).then(|| language.name().to_owned()))
    }

    /// Returns whether the query is not a duplicate of an earlier one, and records it if so.
    fn is_new(&mut self, query: &str) -> bool {
        let words = message::words(query);
        if self.previous.iter().any(|other| are_duplicates(other, &words)) {
            return false;
        }

        self.previous.push(words);
        true
    }
}

/// Returns whether two queries of these words are duplicates, by the Jaccard index.
fn are_duplicates(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let shared = a.intersection(b).count();
    shared as f64 >= DUPLICATE_SHARE * (a.len() + b.len() - shared) as f64
}

/// Returns whether `change` is the removal half of a rename.
fn is_renamed_away(change: &TreeChange, changes: &[TreeChange]) -> bool {
    let (Some((oid, _)), None) = (change.old, change.new) else { return false };
    changes.iter().any(|other| other.old.is_none() && other.new.is_some_and(|(new, _)| new == oid))
}
