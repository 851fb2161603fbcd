//! Makes pairs of a commit subject and the code that the commit wrote, from a history.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use gix::diff::blob::{Algorithm, Diff, InternedInput};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use codeweaver_chunk::{ChunkedBlob, LanguageId, chunk_blob};
use codeweaver_config::ChunkerSettings;
use codeweaver_git::{BlobReader, Oid, Repo, diff_trees};

use super::filter::Collector;
use super::head::{Files, Role};
use super::source::chunk_input;
use super::{head, subject};
use crate::pair::PairKind;

/// Maximum number of commits with a usable subject that are read. If there are more, they are chosen evenly
/// over time.
const MAX_COMMITS: usize = 8_000;
/// Maximum number of changed paths of a commit.
const MAX_CHANGES: usize = 24;
const MAX_CODE_FILES: usize = 4;
const MAX_HUNKS: usize = 12;
const MAX_LINES: u32 = 600;
const MIN_ADDED: u32 = 3;
const HUNKS_TAKEN: usize = 3;
/// Context lines on either side of a hunk; hunks closer than twice that are merged.
const CONTEXT: u32 = 3;
const MAX_DIFF_BYTES: u64 = 256 << 10;
const MAX_CHUNK_BYTES: usize = 64 << 10;
const CHUNKS_TAKEN: usize = 2;

/// Limits on reading a history.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub budget: Duration,
    /// Maximum number of files that are chunked, for pairs with whole chunks.
    pub max_chunked: usize,
}

/// Statistics of a history.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub struct History {
    pub commits: usize,
    pub with_useful_subject: usize,
    pub looked_into: usize,
    pub used: usize,
    pub complete: bool,
    pub skipped: BTreeMap<&'static str, u64>,
}

struct Commit {
    subject: String,
    tree: Oid,
    parent: Oid,
}

struct Hunk {
    /// Index of the file.
    file: usize,
    /// Lines of the new file, half-open.
    lines: Range<u32>,
    added: u32,
    is_test: bool,
}

struct ChangedFile {
    path: String,
    language: LanguageId,
    text: String,
    /// Computed on first use: chunking is the most expensive step of the extraction.
    chunks: Option<ChunkedBlob>,
}

/// Adds the pairs of the history of `head` to `collector`.
pub fn add_pairs(
    git_dir: &Path,
    repo: &Repo,
    head: &Oid,
    files: &Files,
    limits: Limits,
    collector: &mut Collector,
) -> anyhow::Result<History> {
    let started = Instant::now();
    let mut git = gix::open(git_dir).with_context(|| format!("cannot open {}", git_dir.display()))?;
    git.object_cache_size(16 << 20);
    let mut history = History::default();
    let commits = useful_commits(&git, head, limits.budget / 3, &mut history)?;
    let mut reader = Reader {
        repo,
        files,
        blobs: repo.blobs(),
        settings: ChunkerSettings::default(),
        n_chunked: 0,
        limits,
    };
    history.complete = true;
    let step = commits.len().max(MAX_COMMITS) as f64 / MAX_COMMITS as f64;
    let n = commits.len().min(MAX_COMMITS);
    for at in 0..n {
        if started.elapsed() > limits.budget {
            history.complete = false;
            break;
        }
        let commit = &commits[(at as f64 * step) as usize];
        history.looked_into += 1;
        let tree = git
            .find_commit(commit.parent)
            .ok()
            .and_then(|parent| parent.tree_id().ok())
            .map(|id| id.detach());
        let Some(parent_tree) = tree else {
            *history.skipped.entry("parent_missing").or_default() += 1;
            continue;
        };
        match reader.commit(commit, &parent_tree, collector) {
            Ok(()) => history.used += 1,
            Err(reason) => *history.skipped.entry(reason).or_default() += 1,
        }
    }
    Ok(history)
}

/// Commits with one parent and a usable subject, newest first.
fn useful_commits(
    git: &gix::Repository,
    head: &Oid,
    budget: Duration,
    history: &mut History,
) -> anyhow::Result<Vec<Commit>> {
    let started = Instant::now();
    let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
    let mut commits = Vec::new();
    for info in git.rev_walk([*head]).sorting(sorting).all()? {
        if started.elapsed() > budget {
            break;
        }
        // A shallow or broken history ends here; the commits before it are used.
        let Ok(info) = info else { break };
        history.commits += 1;
        let [parent] = info.parent_ids.as_slice() else { continue };
        let Ok(commit) = git.find_commit(info.id) else { continue };
        let Ok(message) = commit.message_raw() else { continue };
        let Ok(message) = std::str::from_utf8(message) else { continue };
        let Some(subject) = subject::clean(message) else { continue };
        let Ok(tree) = commit.tree_id() else { continue };
        history.with_useful_subject += 1;
        commits.push(Commit { subject, tree: tree.detach(), parent: *parent });
    }
    Ok(commits)
}

struct Reader<'a> {
    repo: &'a Repo,
    files: &'a Files,
    blobs: BlobReader,
    settings: ChunkerSettings,
    n_chunked: usize,
    limits: Limits,
}

impl Reader<'_> {
    fn commit(
        &mut self,
        commit: &Commit,
        parent_tree: &Oid,
        collector: &mut Collector,
    ) -> Result<(), &'static str> {
        let changes =
            diff_trees(self.repo, Some(parent_tree), &commit.tree).map_err(|_| "unreadable_tree")?;
        if changes.len() > MAX_CHANGES {
            return Err("many_files");
        }
        let mut code = Vec::new();
        for change in &changes {
            let Some((new, mode)) = change.new else { continue };
            if let Ok(Role::Code { language, is_test }) = self.files.role(change.path.as_ref(), mode) {
                code.push((change, new, language, is_test));
            }
        }
        if code.is_empty() || code.len() > MAX_CODE_FILES {
            return Err(if code.is_empty() { "no_code" } else { "many_files" });
        }
        let (mut changed, mut hunks) = (Vec::new(), Vec::new());
        let mut lines = 0;
        for (change, new, language, is_test) in code {
            let path = change.path.to_string();
            let Some(text) = self.text(&new)? else { continue };
            let Ok(language) = self.files.check_bytes(&path, language, text.as_bytes()) else { continue };
            let old = match &change.old {
                Some((old, _)) => self.text(old)?.unwrap_or_default(),
                None => String::new(),
            };
            lines += diff(&old, &text, changed.len(), is_test, &mut hunks);
            changed.push(ChangedFile { path, language, text, chunks: None });
        }
        let added: u32 = hunks.iter().map(|hunk| hunk.added).sum();
        match () {
            () if hunks.len() > MAX_HUNKS => return Err("many_hunks"),
            () if lines > MAX_LINES => return Err("many_lines"),
            () if added < MIN_ADDED => return Err("few_lines"),
            () => {}
        }
        hunks.retain(|hunk| hunk.added >= 2);
        hunks.sort_by_key(|hunk| (hunk.is_test, std::cmp::Reverse(hunk.added), hunk.file, hunk.lines.start));
        hunks.truncate(HUNKS_TAKEN);
        for (n, hunk) in hunks.iter().enumerate() {
            let file = &mut changed[hunk.file];
            let code = head::without_licence(lines_of(&file.text, &hunk.lines), file.language.name());
            collector.add(PairKind::Commit, file.language.name(), &commit.subject, &code, &file.path);
            if n < CHUNKS_TAKEN && !hunk.is_test {
                self.chunk(&commit.subject, file, hunk, collector);
            }
        }
        Ok(())
    }

    /// Adds the pair of the subject and the chunk of the new file that overlaps most with the hunk.
    fn chunk(&mut self, subject: &str, file: &mut ChangedFile, hunk: &Hunk, collector: &mut Collector) {
        if file.chunks.is_none() {
            if self.n_chunked >= self.limits.max_chunked || file.text.len() > MAX_CHUNK_BYTES {
                return;
            }
            self.n_chunked += 1;
            file.chunks = Some(chunk_blob(file.text.as_bytes(), file.language, &self.settings));
        }
        let Some(blob) = &file.chunks else { return };
        let Some(chunk) = blob.chunks.iter().max_by_key(|chunk| n_shared(chunk.line_span, hunk)) else {
            return;
        };
        let code = chunk_input(chunk, &file.text, file.language.name(), None);
        collector.add(PairKind::CommitChunk, file.language.name(), subject, &code, &file.path);
    }

    /// Reads a file; `None` if it is too large or not text.
    fn text(&mut self, oid: &Oid) -> Result<Option<String>, &'static str> {
        let size = self.blobs.size(oid).map_err(|_| "unreadable_blob")?;
        if size.is_none_or(|size| size > MAX_DIFF_BYTES) {
            return Ok(None);
        }
        let bytes = self.blobs.read(oid).map_err(|_| "unreadable_blob")?.unwrap_or_default();
        Ok(std::str::from_utf8(bytes)
            .ok()
            .map(|text| text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")))
    }
}

/// Returns the number of lines that a chunk shares with a hunk without its context.
fn n_shared(span: codeweaver_chunk::LineSpan, hunk: &Hunk) -> u32 {
    span.end
        .min(hunk.lines.end.saturating_sub(CONTEXT))
        .saturating_sub(span.start.max(hunk.lines.start + 1 + CONTEXT) - 1)
}

/// Adds the hunks of a file with their context; returns the number of lines added and removed.
fn diff(old: &str, new: &str, file: usize, is_test: bool, hunks: &mut Vec<Hunk>) -> u32 {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let n_lines = input.after.len() as u32;
    let mut last: Option<Hunk> = None;
    for hunk in diff.hunks() {
        let added = hunk.after.end - hunk.after.start;
        let lines = hunk.after.start.saturating_sub(CONTEXT)..(hunk.after.end + CONTEXT).min(n_lines);
        match &mut last {
            Some(last) if last.lines.end >= lines.start => {
                last.lines.end = lines.end;
                last.added += added;
            }
            _ => hunks.extend(last.replace(Hunk { file, lines, added, is_test })),
        }
    }
    hunks.extend(last);
    diff.count_additions() + diff.count_removals()
}

fn lines_of<'a>(text: &'a str, lines: &Range<u32>) -> &'a str {
    let start_of = |line: u32| match line {
        0 => 0,
        line => text.match_indices('\n').nth(line as usize - 1).map_or(text.len(), |(at, _)| at + 1),
    };
    &text[start_of(lines.start)..start_of(lines.end)]
}

#[cfg(test)]
mod tests;
