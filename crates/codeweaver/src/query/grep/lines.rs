//! The matching lines of one file.

use std::ops::Range;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use memchr::memmem;

use codeweaver_chunk::SymbolKind;
use codeweaver_store::StoreReader;

use super::corpus::CorpusFile;
use super::pattern::Matchers;

/// Number of first bytes in which git looks for a NUL to recognise a binary file.
const BINARY_PREFIX: usize = 8000;
/// Number of bytes from the beginning of a definition, which may be its documentation, in which its name is
/// looked for.
const MAX_HEAD: usize = 2000;

/// Maximum number of bytes of a line that are kept, around its first match.
const MAX_LINE: usize = 1 << 20;
/// Maximum memory of the lines of a file that are kept, in bytes. Further matches are only counted.
const MAX_LINES: usize = 32 << 20;

/// A line of a file, with its bytes as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawLine {
    /// Counted from 1.
    pub number: u64,
    /// Without its line break; the part around the first match if the line is too long to be kept.
    pub text: Vec<u8>,
    /// Number of bytes of the line before `text`.
    pub n_before: usize,
    /// Whether the line goes on after `text`.
    pub goes_on: bool,
    /// Byte ranges of the matches in `text`; empty for a line of the context.
    pub ranges: Vec<Range<usize>>,
    /// Whether the line matches. One that matches the empty text has no ranges.
    pub is_match: bool,
    /// Qualified name of the innermost function or type that contains the line; empty if none is known.
    pub symbol: String,
    /// First and last line of that function or type; `None` if none is known.
    pub symbol_span: Option<(u32, u32)>,
}

/// The result of the search of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileLines {
    /// Number of matching lines; 1 for a binary file.
    pub n_matches: u64,
    /// Number of the first matching lines that are in `lines`: fewer if they take too much memory.
    pub n_kept: u64,
    pub is_binary: bool,
    /// Whether the name of a definition matches where it is defined.
    pub has_definition: bool,
    /// The lines that match, with their context.
    pub lines: Vec<RawLine>,
}

/// Searches files one by one.
pub(super) struct LineSearch<'a> {
    matchers: &'a Matchers,
    searcher: Searcher,
    reader: &'a StoreReader,
}

impl<'a> LineSearch<'a> {
    pub fn new(matchers: &'a Matchers, context: usize, reader: &'a StoreReader) -> LineSearch<'a> {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            // Files are searched as they are, as git does.
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::none())
            .before_context(context)
            .after_context(context)
            .build();
        LineSearch { matchers, searcher, reader }
    }

    /// The lines of `file`, which has `bytes`, that match.
    pub fn run(&mut self, file: &CorpusFile, bytes: &[u8]) -> FileLines {
        if is_binary(bytes) {
            let found = self.matches_any(bytes);
            let n = u64::from(found);
            return FileLines { n_matches: n, n_kept: n, is_binary: true, ..FileLines::default() };
        }

        let mut lines = Collected::new(self.matchers);
        // Bytes in memory are searched without errors.
        let _ = self.searcher.search_slice(&self.matchers.wanted, bytes, &mut lines);
        let Collected { mut lines, n_matches, n_kept, .. } = lines;
        let has_definition = n_matches > 0 && self.add_symbols(file, bytes, &mut lines);
        FileLines { n_matches, n_kept, is_binary: false, has_definition, lines }
    }

    /// Returns whether anything in `bytes` matches.
    fn matches_any(&mut self, bytes: &[u8]) -> bool {
        let mut any = Any(false);
        let _ = self.searcher.search_slice(&self.matchers.wanted, bytes, &mut any);
        any.0
    }

    /// Sets the symbols of `lines`, and returns whether a definition is among the matches.
    fn add_symbols(&self, file: &CorpusFile, bytes: &[u8], lines: &mut [RawLine]) -> bool {
        let Some((segment, ordinal)) = file.doc else { return false };
        let segment = &self.reader.segments[segment];
        let rows = segment.doc_rows(ordinal);
        let rows = segment.rows().get(rows.start as usize..rows.end as usize).unwrap_or(&[]);

        let mut has_definition = false;
        let mut innermost: Vec<u64> = vec![u64::MAX; lines.len()];
        for symbol in rows.iter().flat_map(|row| segment.symbols_of(row)) {
            let Some(kind) = SymbolKind::from_u8(symbol.kind).filter(|kind| is_code(*kind)) else { continue };
            let (start, end) = (u64::from(symbol.start_line), u64::from(symbol.end_line));
            let first = lines.partition_point(|line| line.number < start);
            let after = lines.partition_point(|line| line.number <= end);
            if first >= after {
                continue;
            }

            let name = segment.name(symbol.name);
            has_definition = has_definition
                || !name.is_empty()
                    && defines(&self.matchers.wanted, bytes, symbol.start_byte, name)
                    && lines[first..after].iter().any(|line| line.is_match);
            if !has_body(kind) {
                continue;
            }

            // The order of the symbols says nothing about their nesting, so the shortest one wins.
            for (line, innermost) in lines[first..after].iter_mut().zip(&mut innermost[first..after]) {
                if end - start < *innermost {
                    *innermost = end - start;
                    line.symbol = segment.name(symbol.qualified_name).to_owned();
                    line.symbol_span = Some((symbol.start_line, symbol.end_line));
                }
            }
        }
        has_definition
    }
}

/// Returns whether symbols of this kind are definitions in code.
fn is_code(kind: SymbolKind) -> bool {
    use SymbolKind::{Heading, Key, Other, Resource, Selector, Table};
    !matches!(kind, Heading | Key | Other | Resource | Selector | Table)
}

/// Returns whether symbols of this kind are worth naming for a line in them.
fn has_body(kind: SymbolKind) -> bool {
    use SymbolKind::{Constant, EnumMember, Field, Module, Namespace, Property, TypeAlias, Variable};
    !matches!(kind, Constant | EnumMember | Field | Module | Namespace | Property | TypeAlias | Variable)
}

/// Returns whether the definition of `name` that begins at `start` has it on a line where a match overlaps
/// it.
fn defines(matcher: &RegexMatcher, bytes: &[u8], start: u32, name: &str) -> bool {
    let start = (start as usize).min(bytes.len());
    let head = &bytes[start..bytes.len().min(start + MAX_HEAD)];

    // The documentation before the declaration may have the name too, in a few places.
    for at in memmem::find_iter(head, name).take(4) {
        let at = start + at;
        let line_start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
        let line_end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline);
        let line = &bytes[line_start..line_end];
        if matches!(line.trim_ascii_start().first(), Some(b'/' | b'#' | b'*' | b'-')) {
            continue;
        }

        let name = at - line_start..at - line_start + name.len();
        if ranges(matcher, line).iter().any(|range| range.start < name.end && name.start < range.end) {
            return true;
        }
    }
    false
}

/// Returns whether git takes a file with these bytes for binary.
fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_PREFIX)]).is_some()
}

/// The matches in a line that are not empty, at most the first `MAX_RANGES`.
fn ranges(matcher: &RegexMatcher, line: &[u8]) -> Vec<Range<usize>> {
    /// Maximum number of matches of a line that are marked.
    const MAX_RANGES: usize = 100;

    let mut ranges = Vec::new();
    let _ = matcher.find_iter(line, |found| {
        if !found.is_empty() {
            ranges.push(found.start()..found.end());
        }
        ranges.len() < MAX_RANGES
    });
    ranges
}

/// Collects the lines that match, and those of their context.
struct Collected<'a> {
    matchers: &'a Matchers,
    lines: Vec<RawLine>,
    n_matches: u64,
    n_kept: u64,
    /// Memory of `lines`, in bytes.
    n_bytes: usize,
}

impl<'a> Collected<'a> {
    fn new(matchers: &'a Matchers) -> Collected<'a> {
        Collected { matchers, lines: Vec::new(), n_matches: 0, n_kept: 0, n_bytes: 0 }
    }

    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        self.n_matches += u64::from(is_match);
        if self.n_bytes > MAX_LINES {
            return;
        }

        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut ranges = if is_match { ranges(&self.matchers.wanted, line) } else { Vec::new() };
        let kept = window(line, ranges.first().map_or(0, |range| range.start), MAX_LINE);

        ranges.retain(|range| kept.start <= range.start && range.start < kept.end);
        for range in &mut ranges {
            *range = range.start - kept.start..range.end.min(kept.end) - kept.start;
        }

        self.n_kept += u64::from(is_match);
        self.n_bytes += kept.len() + ranges.len() * size_of::<Range<usize>>() + size_of::<RawLine>();
        self.lines.push(RawLine {
            number: number.unwrap_or_default(),
            n_before: kept.start,
            goes_on: kept.end < line.len(),
            text: line[kept].to_vec(),
            ranges,
            is_match,
            symbol: String::new(),
            symbol_span: None,
        });
    }
}

/// At most `max` bytes of `text`, a third of them before `focus`, cut between characters.
pub(super) fn window(text: &[u8], focus: usize, max: usize) -> Range<usize> {
    if text.len() <= max {
        return 0..text.len();
    }

    // Bytes of a character after its first are `0b10xxxxxx`.
    let is_inner = |at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let mut start = focus.saturating_sub(max / 3).min(text.len() - max);
    let mut end = start + max;

    while start < end && is_inner(start) {
        start += 1;
    }
    while end > start && is_inner(end) {
        end -= 1;
    }
    start..end
}

impl Sink for &mut Collected<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let unwanted = self.matchers.unwanted.as_ref();
        if unwanted.is_some_and(|matcher| matcher.is_match(found.bytes()).unwrap_or(false)) {
            return Ok(true);
        }

        self.push(found.line_number(), found.bytes(), true);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.push(line.line_number(), line.bytes(), false);
        Ok(true)
    }
}

/// Stops at the first match.
struct Any(bool);

impl Sink for &mut Any {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.0 = true;
        Ok(false)
    }
}
