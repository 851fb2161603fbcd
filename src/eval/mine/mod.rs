//! A suite out of a repository's own history: what a commit says, the files it changed, and the tree it was made on.
//!
//! The message is the question, the code files that the commit changed and that were there before are its answers, and
//! the tree of the parent is searched: the state in which somebody had that wish and looked for the place. What is left
//! out and why is a table ([`tables`]) and a list of [`Reason`]s; nothing is random, so the same history gives the same
//! suite.
//!
//! In: a revision. Out: questions, newest first, as lines that [`super::suite`] reads.

mod message;
mod tables;

use super::error::EvalError;
use crate::git::{self, BString, BlobReader, ByteSlice, Oid, TreeChange};
use crate::index::Codebase;
use crate::policy::{PathDecision, PathFlags, Policy};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use message::Message;
use std::collections::{BTreeMap, BTreeSet};

/// What is mined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MineOptions {
    /// Where the walk begins.
    pub rev: String,
    /// Most questions.
    pub limit: usize,
    /// A commit that changes more code files than this has no one place that answers it.
    pub max_files: usize,
    /// Leave the names of the changed files in the question; without it, they are taken out.
    pub keep_paths: bool,
}

/// A commit as a question.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MinedQuestion {
    pub query: String,
    /// What sort of change it was, by its first word.
    pub category: &'static str,
    /// Of the first answer.
    pub language: String,
    /// The tree that is searched: the parent of `commit`.
    pub rev: String,
    pub commit: String,
    /// Paths, sorted.
    pub relevant: Vec<String>,
}

/// Why a commit is no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A merge, or the first commit, which has no parent to search.
    NotOneParent,
    Bot,
    Revert,
    /// Release, version bump, dependencies, formatting, spelling.
    Routine,
    /// Fewer than three words once it is cleaned.
    TooShort,
    /// More code files than allowed.
    TooManyFiles,
    /// Nothing but new files, tests, documentation, data, renames or files that are not indexed.
    NoCode,
    /// Says nearly the same as a later commit.
    Duplicate,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::NotOneParent => "merges and roots",
            Reason::Bot => "bots",
            Reason::Revert => "reverts",
            Reason::Routine => "releases, formatting and the like",
            Reason::TooShort => "too short",
            Reason::TooManyFiles => "too many files",
            Reason::NoCode => "no code that was there before",
            Reason::Duplicate => "said already",
        }
    }
}

/// What was mined, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mined {
    pub questions: Vec<MinedQuestion>,
    pub n_commits: usize,
    pub left_out: BTreeMap<Reason, usize>,
}

/// More than this many times `max_files` paths of any sort are a giant commit, whatever the paths are.
const PATHS_PER_FILE: usize = 10;
/// Messages that share this part of their words are one question.
const SAME: f64 = 0.7;

/// Walks back from `options.rev` until there are `options.limit` questions or no more commits.
pub fn mine(codebase: &Codebase, options: &MineOptions) -> Result<Mined, EvalError> {
    let tip = codebase.repo.resolve(&options.rev)?;
    let mut mined = Mined::default();
    let Some(tip) = tip.commit else { return Ok(mined) };
    let repo = codebase.repo.local();
    let unreadable = |e: &dyn std::fmt::Display| git::GitError::Unreadable {
        path: codebase.repo.git_dir().to_owned(),
        reason: e.to_string(),
    };
    let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let walk = repo.rev_walk([tip]).sorting(order).all().map_err(|e| unreadable(&e))?;
    let mut miner = Miner { codebase, options, blobs: codebase.repo.blobs(), said: Vec::new() };
    for commit in walk {
        if mined.questions.len() >= options.limit {
            break;
        }
        // A shallow clone ends somewhere: what is there is mined.
        let Ok(commit) = commit else { break };
        let commit = commit.object().map_err(|e| unreadable(&e))?;
        mined.n_commits += 1;
        match miner.question(&commit)? {
            Ok(question) => mined.questions.push(question),
            Err(reason) => *mined.left_out.entry(reason).or_default() += 1,
        }
    }
    Ok(mined)
}

struct Miner<'a> {
    codebase: &'a Codebase,
    options: &'a MineOptions,
    blobs: BlobReader,
    /// Words of the questions so far.
    said: Vec<BTreeSet<String>>,
}

impl Miner<'_> {
    fn question(&mut self, commit: &gix::Commit<'_>) -> Result<Result<MinedQuestion, Reason>, EvalError> {
        let mut parents = commit.parent_ids();
        let (Some(parent), None) = (parents.next(), parents.next()) else {
            return Ok(Err(Reason::NotOneParent));
        };
        let author = commit.author().map(|author| (author.name.to_string(), author.email.to_string()));
        if author.is_ok_and(|(name, email)| tables::is_bot(&name, &email)) {
            return Ok(Err(Reason::Bot));
        }
        let raw = commit.message_raw_sloppy().to_str_lossy();
        let message = match Message::parse(&raw) {
            Ok(message) => message,
            Err(reason) => return Ok(Err(reason)),
        };
        let new = self.codebase.repo.resolve(&commit.id.to_string())?;
        // The parent that a shallow clone has cut off.
        let Ok(old) = self.codebase.repo.resolve(&parent.to_string()) else {
            return Ok(Err(Reason::NotOneParent));
        };
        let changes = git::diff_trees(&self.codebase.repo, Some(&old.tree), &new.tree)?;
        let (relevant, language) = match self.answers(&changes, &old.tree, &new.tree)? {
            Ok(answers) => answers,
            Err(reason) => return Ok(Err(reason)),
        };
        let paths: Vec<&str> = match self.options.keep_paths {
            true => Vec::new(),
            false => changes.iter().filter_map(|change| change.path.to_str().ok()).collect(),
        };
        let Some(query) = message.question(&paths) else { return Ok(Err(Reason::TooShort)) };
        if !self.is_new(&query) {
            return Ok(Err(Reason::Duplicate));
        }
        Ok(Ok(MinedQuestion {
            category: message.category(),
            query,
            language,
            rev: parent.to_string(),
            commit: commit.id.to_string(),
            relevant,
        }))
    }

    /// Paths of the code that was there before and was changed, and the language of the first.
    fn answers(
        &mut self,
        changes: &[TreeChange],
        old: &Oid,
        new: &Oid,
    ) -> Result<Result<(Vec<String>, String), Reason>, EvalError> {
        if changes.len() > self.options.max_files * PATHS_PER_FILE {
            return Ok(Err(Reason::TooManyFiles));
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
                (None, Some((oid, mode))) => {
                    n_code += usize::from(self.code(&after, &change.path, oid, mode)?.is_some());
                }
                _ => {}
            }
        }
        Ok(match language {
            _ if n_code > self.options.max_files => Err(Reason::TooManyFiles),
            None => Err(Reason::NoCode),
            Some(language) => Ok((relevant, language)),
        })
    }

    /// The language of a file that can be an answer: indexed, and neither test, example, benchmark, documentation nor data,
    /// which a commit changes along with what it is about.
    fn code(
        &mut self,
        policy: &Policy,
        path: &BString,
        oid: Oid,
        mode: git::Mode,
    ) -> Result<Option<String>, EvalError> {
        let PathDecision::Index { language, flags } = policy.decide_path(path.as_ref(), mode) else {
            return Ok(None);
        };
        let roles = [PathFlags::TEST, PathFlags::EXAMPLE, PathFlags::DOCS, PathFlags::BENCH];
        if roles.into_iter().any(|role| flags.contains(role)) {
            return Ok(None);
        }
        let Some(bytes) = self.blobs.read(&oid)? else { return Ok(None) };
        if policy.decide_blob(bytes).is_some() {
            return Ok(None);
        }
        let language = policy.language(language, path.as_ref(), bytes);
        Ok((!language.is_prose() && !language.is_data()).then(|| language.name().to_owned()))
    }

    /// Whether no question so far says nearly the same; remembers it if so.
    fn is_new(&mut self, query: &str) -> bool {
        let words = message::words(query);
        let is_same = |said: &BTreeSet<String>| {
            let shared = said.intersection(&words).count();
            shared as f64 >= SAME * (said.len() + words.len() - shared) as f64
        };
        if self.said.iter().any(is_same) {
            return false;
        }
        self.said.push(words);
        true
    }
}

/// Whether the file of `change` only went to another path.
fn is_renamed_away(change: &TreeChange, changes: &[TreeChange]) -> bool {
    let (Some((oid, _)), None) = (change.old, change.new) else { return false };
    changes.iter().any(|other| other.old.is_none() && other.new.is_some_and(|(new, _)| new == oid))
}
