//! Found: the files with matches, in order, and their lines.

use std::time::Instant;

use codeweaver_chunk::LanguageId;
use codeweaver_git::ByteSlice as _;
use codeweaver_index::Codebase;
use codeweaver_index::policy::PathFlags;

use super::corpus::{self, Corpus, CorpusFile, CorpusInfo};
use super::lines::{RawLine, window};
use super::pattern::{Matchers, Pattern};
use super::request::GrepRequest;
use super::scan::{Hit, Scan, Scanned};
use crate::query::error::QueryError;
use crate::query::submodules;
use crate::query::view::MatchState;

/// Maximum number of files that a warning is given for.
const MAX_NAMED: usize = 3;

/// All files with matches. Sources come before tests, documentation and generated files; of each kind those
/// first that define the text searched for, then those in fewer directories.
pub struct Found<'a> {
    codebase: &'a Codebase,
    request: GrepRequest,
    matchers: Matchers,
    corpus: Corpus,
    hits: Vec<Hit>,
    /// Number of matching lines. A binary file counts as one.
    pub n_lines: u64,
    /// The state of the codebase that was searched.
    pub info: CorpusInfo,
    /// Time to find the lines, in milliseconds.
    pub execution_time_ms: u64,
}

/// A file with matches.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct GrepFile {
    /// Relative to the root of the repository.
    pub path: String,
    /// Name in the language table.
    pub language: String,
    /// The encoding that the lines were decoded from; absent for UTF-8. Columns count bytes of UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// Whether the file is committed.
    pub state: MatchState,
    /// A binary file: it matches, and its lines are not shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Number of matching lines in the file, shown or not; 1 for a binary file.
    pub count: u64,
    /// Lines that match, with their context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<GrepLine>,
    /// Number of matching lines of the file that come after those of all pages.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_further: u64,
    /// The numbers of the first of them, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<FurtherLines>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Consecutive matching lines in one function or type, or outside of any, by their numbers.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct FurtherLines {
    /// Qualified name of the innermost function or type that contains them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// First and last line of that function or type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_span: Option<(u32, u32)>,
    /// Counted from 1, ascending.
    pub lines: Vec<u64>,
}

/// A line that matches, or one near it.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct GrepLine {
    /// Counted from 1.
    pub line: u64,
    /// First byte of the first match, counted from 1; absent for a line of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The line, or the part of a long one around the match.
    pub text: String,
    /// Byte ranges of the matches in `text`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(usize, usize)>,
    /// Qualified name of the innermost function or type that contains the line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// First and last line of that function or type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_span: Option<(u32, u32)>,
}

/// The part of the found lines that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Number of first lines to leave out.
    pub offset: usize,
    /// Maximum number of matching lines.
    pub limit: usize,
    /// Maximum number of matching lines of one file, from its first. The others are not counted by `offset`
    /// and `limit`.
    pub per_file: usize,
    /// Maximum number of the others that are numbered with the last line of the file.
    pub numbered: usize,
    /// Maximum number of bytes of a line; longer ones are cut around the first match.
    pub max_line: usize,
}

impl Default for Page {
    /// All lines, uncut.
    fn default() -> Page {
        Page { offset: 0, limit: usize::MAX, per_file: usize::MAX, numbered: 0, max_line: usize::MAX }
    }
}

impl<'a> Found<'a> {
    /// Searches the files of `corpus`, and orders those with matches.
    pub(super) fn search(
        codebase: &'a Codebase,
        request: GrepRequest,
        matchers: Matchers,
        corpus: Corpus,
        started: Instant,
    ) -> Result<Found<'a>, QueryError> {
        let cancel = &request.view.cancel;
        let scan = Scan { codebase, corpus: &corpus, matchers: &matchers, context: request.context, cancel };
        let Scanned { mut hits, n_unread, mut secret } = scan.run()?;

        // The path comes last, so that the order is the same on every machine.
        hits.sort_by_cached_key(|hit| {
            let path = &corpus.files[hit.file].path;
            let depth = path.iter().filter(|&&byte| byte == b'/').count();
            (rank(&corpus.files[hit.file], hit), !hit.has_definition, depth, path.clone())
        });

        let mut info = corpus.info.clone();
        info.unread_files += n_unread;
        secret.sort_unstable();
        secret.iter().for_each(|&at| info.add_secret(corpus.files[at].path.as_bstr()));
        let n_lines = hits.iter().map(|hit| hit.n_matches).sum();
        let execution_time_ms = started.elapsed().as_millis() as u64;
        Ok(Found { codebase, request, matchers, corpus, hits, n_lines, info, execution_time_ms })
    }

    /// The pattern that was searched for.
    pub fn pattern(&self) -> &Pattern {
        &self.request.pattern
    }

    /// Number of files with matches.
    pub fn n_files(&self) -> usize {
        self.hits.len()
    }

    /// Number of matching lines with at most `per_file` of each file.
    pub fn n_lines_at_most(&self, per_file: usize) -> usize {
        self.hits.iter().map(|hit| hit.n_kept.min(per_file as u64) as usize).sum()
    }

    /// The files with matches, best first, without lines.
    pub fn files(&self) -> impl ExactSizeIterator<Item = GrepFile> {
        self.hits.iter().map(|hit| self.file(hit))
    }

    /// Calls `visit` with each file that has lines in `page`, best first. A binary file counts as a line.
    ///
    /// # Errors
    /// Those of `visit`, and [`QueryError::Cancelled`].
    pub fn for_each<E: From<QueryError>>(
        &self,
        page: Page,
        mut visit: impl FnMut(GrepFile) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut skip, mut left) = (page.offset as u64, page.limit as u64);
        for hit in &self.hits {
            if left == 0 {
                break;
            }
            let n_matches = hit.n_kept.min(page.per_file as u64);
            if skip >= n_matches {
                skip -= n_matches;
                continue;
            }

            let wanted = skip..n_matches.min(skip.saturating_add(left));
            left -= wanted.end - wanted.start;
            skip = 0;

            let mut file = self.file(hit);
            let is_end = wanted.end == n_matches;
            if is_end {
                file.n_further = hit.n_matches - n_matches;
            }
            if !hit.is_binary {
                // The lines of a large result were not all kept; such a file is searched again.
                let again = match &hit.lines {
                    Some(_) => None,
                    None => Some(self.scan().again(hit)?),
                };
                let lines = hit.lines.as_ref().or(again.as_ref()).map_or(&[][..], |found| &found.lines);
                let part = part(lines, &wanted, self.request.context);
                file.lines = part.iter().map(|line| shown(line, page.max_line)).collect();
                if is_end {
                    file.further = further(lines, n_matches, page.numbered);
                }
            }
            visit(file)?;
        }
        Ok(())
    }

    /// Sentences for the user on files that were not searched, and on paths that match no file.
    pub fn warnings(&self) -> Vec<String> {
        let info = &self.info;
        let mut warnings = info.warnings.clone();

        // A list of globs is written so that one of them matches.
        let absent: Vec<String> = info
            .absent_paths
            .iter()
            .filter(|path| self.n_files() == 0 || !path.contains(['*', '?']))
            .map(|path| format!("'{path}'"))
            .collect();
        if !absent.is_empty() {
            warnings.push(format!("no file matches the path {}", absent.join(" or ")));
        }

        warnings.extend(self.credentials_warning());
        if self.n_files() == 0 {
            warnings.extend(submodules::note_on(&info.submodules));
        }
        for hit in self.hits.iter().filter(|hit| hit.n_kept < hit.n_matches).take(MAX_NAMED) {
            let (path, n) = (corpus::shown(&self.corpus.files[hit.file].path), hit.n_kept);
            warnings.push(format!("only the first {n} of the matching lines in {path} can be shown"));
        }
        for (n, why) in [
            (info.excluded_files, "policy.include, policy.exclude or .codeweaverignore leave them out"),
            (info.unread_files, "their contents are not in this clone, or cannot be read"),
        ] {
            match n {
                0 => {}
                1 => warnings.push(format!("1 file is not searched: {why}")),
                n => warnings.push(format!("{n} files are not searched: {why}")),
            }
        }
        warnings
    }

    /// The sentence that names the files that were not searched because they have credentials; `None` without
    /// any. It is part of [`Self::warnings`].
    pub fn credentials_warning(&self) -> Option<String> {
        let (n, paths) = (self.info.secret_files, &self.info.secret_paths);
        let (is_are, files) = match n {
            0 => return None,
            1 => ("is", paths.join(", ")),
            n if n > paths.len() as u64 => {
                ("are", format!("{} and {} more", paths.join(", "), n - paths.len() as u64))
            }
            _ => ("are", paths.join(", ")),
        };
        Some(format!("{files} {is_are} not searched: credentials are never shown"))
    }

    fn scan(&self) -> Scan<'_> {
        Scan {
            codebase: self.codebase,
            corpus: &self.corpus,
            matchers: &self.matchers,
            context: self.request.context,
            cancel: &self.request.view.cancel,
        }
    }

    fn file(&self, hit: &Hit) -> GrepFile {
        let file = &self.corpus.files[hit.file];

        GrepFile {
            path: corpus::shown(&file.path),
            language: hit.language.clone(),
            encoding: hit.encoding,
            state: file.state,
            binary: hit.is_binary,
            count: hit.n_matches,
            lines: Vec::new(),
            n_further: 0,
            further: Vec::new(),
        }
    }
}

/// The order of files by their role: sources, then tests and examples, then prose and data, then files that
/// are hardly read.
fn rank(file: &CorpusFile, hit: &Hit) -> u8 {
    let beside = [PathFlags::TEST, PathFlags::EXAMPLE, PathFlags::BENCH];
    let is_docs = file.flags.contains(PathFlags::DOCS);
    let language = LanguageId::by_name(&hit.language);
    match () {
        () if hit.is_binary || file.is_aside || is_history(&file.path) => 3,
        () if is_docs || language.is_some_and(|it| it.is_prose() || it.is_data()) => 2,
        () if beside.into_iter().any(|role| file.flags.contains(role)) => 1,
        () => 0,
    }
}

/// Returns whether a file is a list of changes, by its name.
fn is_history(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_ascii_lowercase();
    ["changelog", "changes", "history", "news", "release_notes", "release-notes"]
        .iter()
        .any(|stem| name.strip_prefix(stem.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'.'))
}

/// The part of `lines` with the matches `wanted`, by their number among all matches, and `context` lines
/// around them.
fn part<'l>(lines: &'l [RawLine], wanted: &std::ops::Range<u64>, context: usize) -> &'l [RawLine] {
    let matches = || lines.iter().enumerate().filter(|(_, line)| line.is_match).map(|(at, _)| at);
    let Some(first) = matches().nth(wanted.start as usize) else { return &[] };
    let last = matches().nth(wanted.end as usize - 1).unwrap_or(lines.len() - 1);

    let before = n_context(lines[..first].iter().rev(), &lines[first], context);
    let after = n_context(lines[last + 1..].iter(), &lines[last], context);
    &lines[first - before..=last + after]
}

/// The numbers of at most `most` of the matches of `lines` after the first `n_before`.
fn further(lines: &[RawLine], n_before: u64, most: usize) -> Vec<FurtherLines> {
    let mut groups: Vec<FurtherLines> = Vec::new();

    for line in lines.iter().filter(|line| line.is_match).skip(n_before as usize).take(most) {
        let around = (&line.symbol, line.symbol_span);
        match groups.last_mut().filter(|group| (&group.symbol, group.symbol_span) == around) {
            Some(group) => group.lines.push(line.number),
            None => groups.push(FurtherLines {
                symbol: line.symbol.clone(),
                symbol_span: line.symbol_span,
                lines: vec![line.number],
            }),
        }
    }
    groups
}

/// Number of first lines of `neighbours` that are context of `line`: no matches, at most `context` lines
/// away.
fn n_context<'l>(neighbours: impl Iterator<Item = &'l RawLine>, line: &RawLine, context: usize) -> usize {
    neighbours
        .take_while(|other| !other.is_match && other.number.abs_diff(line.number) <= context as u64)
        .count()
}

/// A line as text, of at most about `max_line` bytes.
fn shown(line: &RawLine, max_line: usize) -> GrepLine {
    let text = line.text.strip_suffix(b"\r").unwrap_or(&line.text);
    let first = line.ranges.first().map_or(0, |range| line.n_before + range.start);
    let column = line.is_match.then_some(first + 1);
    let window = window(text, line.ranges.first().map_or(0, |range| range.start), max_line);
    let (mut shown, mut ranges) = (String::new(), Vec::new());
    if line.n_before + window.start > 0 {
        shown.push('…');
    }

    // Ranges count in the shown text: an invalid byte becomes a character of three bytes.
    let mut at = window.start;
    for range in &line.ranges {
        let (start, end) = (range.start.clamp(at, window.end), range.end.clamp(at, window.end));
        if start == end {
            continue;
        }
        shown.push_str(&String::from_utf8_lossy(&text[at..start]));
        let from = shown.len();
        shown.push_str(&String::from_utf8_lossy(&text[start..end]));
        ranges.push((from, shown.len()));
        at = end;
    }

    shown.push_str(&String::from_utf8_lossy(&text[at..window.end]));
    if line.goes_on || window.end < text.len() {
        shown.push('…');
    }
    let (symbol, symbol_span) = (line.symbol.clone(), line.symbol_span);
    GrepLine { line: line.number, column, text: shown, ranges, symbol, symbol_span }
}
