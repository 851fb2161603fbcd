//! The structured content of `changes`.

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::query::changes::commits::ListedCommit;
use codeweaver::query::changes::files::{FileChange, FileChangeKind};
use codeweaver::query::changes::hunks::DiffHunk;
use codeweaver::query::changes::symbols::SymbolChange;
use codeweaver_git::quoting;
use codeweaver_git::worktree::FileState;

use super::{FEW_SYMBOLS, MAX_SYMBOLS};
use crate::tools::text::day;
use crate::tools::{AnswerEnd, OkStatus};

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub status: OkStatus,
    /// The older state; absent if the answer is about commits up to `to`, or about uncommitted files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<EndOutput>,
    pub to: EndOutput,
    /// The newest first; merges are counted only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitOutput>,
    /// Absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_commits: Option<usize>,
    pub merges: usize,
    /// The most important first: code, tests, documentation and data, what is not indexed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_files: Option<usize>,
    /// Lines of all files together.
    pub added_lines: u32,
    pub removed_lines: u32,
    #[serde(flatten)]
    pub end: AnswerEnd,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EndOutput {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether uncommitted files are part of it.
    pub uncommitted: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CommitOutput {
    pub commit: String,
    /// Day of the commit, in UTC.
    pub date: String,
    pub author: String,
    pub subject: String,
    /// The rest of the message; only of a commit that is shown by itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The change of the symbol: `added`, `removed`, `signature` or `body`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<&'static str>,
    /// The file of the symbol, and the one that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileOutput {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_file: Option<String>,
    /// `added`, `deleted`, `modified`, `renamed` or `mode`.
    pub change: &'static str,
    /// `staged`, `dirty` or `untracked`; absent if it is committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FileState>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conflicted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// Why it is not indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<SymbolOutput>,
    /// Number of changed symbols that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_symbols: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<HunkOutput>,
    /// Why there are no hunks although the file differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_diff: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SymbolOutput {
    pub name: String,
    /// `added`, `removed`, `signature` (and possibly the body) or `body`.
    pub change: &'static str,
    pub line: u32,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HunkOutput {
    pub old_start: u32,
    pub new_start: u32,
    /// The definition around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// As git writes them, with ` `, `-` or `+` before each line.
    pub text: String,
}

pub(super) fn is_zero(n: &usize) -> bool {
    *n == 0
}

pub(super) fn commit_output(listed: &ListedCommit, short: String, is_one: bool) -> CommitOutput {
    let commit = &listed.commit;
    let event = listed.symbol.as_ref();
    // Elsewhere the file is the one that was asked for.
    let renamed = listed.file.as_ref().filter(|file| file.from.is_some());
    let of_symbol = event.and_then(|event| event.from.as_ref());
    let from = of_symbol.or(renamed.and_then(|file| file.from.as_ref()));

    CommitOutput {
        commit: short,
        date: day(commit.time),
        author: commit.author.clone(),
        subject: commit.subject().to_owned(),
        body: if is_one { commit.body().to_owned() } else { String::new() },
        symbol: event.map(|event| event.kind.name()),
        file: event
            .map(|event| &event.path)
            .or(renamed.map(|file| &file.path))
            .map(|path| quoting::text(path)),
        moved_from: from.map(|path| quoting::text(path)),
    }
}

pub(super) fn file_output(file: &FileChange, symbols: &[SymbolChange], is_minor: bool) -> FileOutput {
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
        skipped: file.skipped.map(codeweaver_index::policy::SkipReason::name),
        symbols: symbols.iter().take(shown).map(symbol_output).collect(),
        more_symbols: symbols.len().saturating_sub(shown),
        hunks: Vec::new(),
        no_diff: None,
    }
}

fn symbol_output(symbol: &SymbolChange) -> SymbolOutput {
    SymbolOutput { name: symbol.qualified_name.clone(), change: symbol.kind.name(), line: symbol.line }
}

pub(super) fn hunk_output(hunk: DiffHunk) -> HunkOutput {
    HunkOutput {
        old_start: hunk.old_start,
        new_start: hunk.new_start,
        within: hunk.within,
        text: hunk.lines.join("\n"),
    }
}
