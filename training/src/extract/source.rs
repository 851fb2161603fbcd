//! Makes pairs of one source file: the product's chunks and symbols with the comments that describe them.

use std::ops::Range;

use rustc_hash::FxHashMap;

use codeweaver_chunk::{Chunk, ChunkedBlob, LanguageId, Symbol, SymbolKind, chunk_blob};
use codeweaver_config::ChunkerSettings;
use codeweaver_embed::document_input;

use super::filter::{Collector, MAX_CODE_CHARS, speaks_of_licence};
use super::prose::{self, Prose};
use super::syntax::{self, Comment};
use super::words;
use crate::pair::PairKind;

/// Maximum number of attribute lines between documentation and definition.
const MAX_ATTRIBUTES: usize = 12;
/// Size limits of the statements that a comment describes, in lines and bytes.
const MAX_STATEMENT_LINES: usize = 16;
const ENOUGH_STATEMENT_BYTES: usize = 80;
/// Symbols that start later in their chunk are ignored: the code may be cut before them.
const MAX_OFFSET_IN_CHUNK: usize = MAX_CODE_CHARS * 2 / 3;
/// Maximum number of documented symbols of a chunk that yield pairs.
const MAX_PER_CHUNK: usize = 2;

/// A file of the head tree.
pub struct SourceFile<'a> {
    pub path: &'a str,
    pub text: &'a str,
    pub language: LanguageId,
    /// Whether only its test titles and inner comments are used.
    pub is_test: bool,
}

/// Adds all pairs of a file to `collector`.
pub fn add_pairs(file: &SourceFile<'_>, settings: &ChunkerSettings, collector: &mut Collector) {
    let blob = chunk_blob(file.text.as_bytes(), file.language, settings);
    let view = View::new(file, &blob);
    for (at, symbol) in view.symbols.iter().enumerate() {
        if symbol.kind == SymbolKind::Test {
            view.test(at, collector);
        } else if !file.is_test && is_documentable(symbol.kind) {
            view.doc(symbol, collector);
            view.name(symbol, collector);
        }
    }
    view.inline(collector);
    if file.language.name() == "bash" {
        view.bats(collector);
    }
    if !file.is_test {
        view.head(collector);
        blob.chunks.iter().for_each(|chunk| view.chunk(chunk, collector));
    }
}

/// Kinds of definitions whose documentation describes code.
fn is_documentable(kind: SymbolKind) -> bool {
    kind.is_callable()
        || kind.has_members()
        || matches!(kind, SymbolKind::TypeAlias | SymbolKind::Table | SymbolKind::Resource)
}

/// Text of a chunk without licence headers and without the given range.
pub fn chunk_input(chunk: &Chunk, text: &str, language: &str, cut: Option<Range<usize>>) -> String {
    let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
    let Some(body) = text.get(range.clone()) else { return String::new() };
    let mut cuts: Vec<Range<usize>> = legal_comments(body, language)
        .into_iter()
        .map(|legal| legal.start + range.start..legal.end + range.start)
        .chain(cut)
        .collect();
    cuts.sort_by_key(|cut| cut.start);
    let body = syntax::without(body, range.start, cuts);
    let mut chunk = chunk.clone();
    // The sentence is the text of the pair, so it must not occur in the code.
    chunk.symbols.iter_mut().for_each(|symbol| symbol.doc.clear());
    let mut input = String::new();
    document_input(&chunk, &body, &mut input);
    input
}

/// Comments that are part of a licence header.
pub fn legal_comments(text: &str, language: &str) -> Vec<Range<usize>> {
    let comments = syntax::comments(text, language);
    let runs = syntax::runs(text, &comments);
    runs.into_iter().filter(|run| speaks_of_licence(&text[run.clone()])).collect()
}

struct View<'a> {
    file: &'a SourceFile<'a>,
    language: &'static str,
    symbols: Vec<&'a Symbol>,
    comments: Vec<Comment>,
    runs: Vec<Range<usize>>,
    line_starts: Vec<usize>,
    /// Comment run that ends on a line, by line.
    run_of_line: FxHashMap<usize, usize>,
    /// Documentation run of a symbol, by index of the symbol.
    docs: FxHashMap<usize, usize>,
    is_doc: Vec<bool>,
}

impl<'a> View<'a> {
    fn new(file: &'a SourceFile<'a>, blob: &'a ChunkedBlob) -> View<'a> {
        let language = file.language.name();
        let comments = syntax::comments(file.text, language);
        let runs = syntax::runs(file.text, &comments);
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(file.text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut view = View {
            file,
            language,
            symbols: blob.chunks.iter().flat_map(|chunk| &chunk.symbols).collect(),
            is_doc: vec![false; runs.len()],
            run_of_line: FxHashMap::default(),
            docs: FxHashMap::default(),
            comments,
            runs,
            line_starts,
        };
        view.run_of_line = view
            .runs
            .iter()
            .enumerate()
            .map(|(at, run)| (view.line_of(run.end.saturating_sub(1)), at))
            .collect();
        for at in 0..view.symbols.len() {
            if let Some(run) = view.find_doc(at) {
                view.docs.insert(view.symbols[at].byte_range.start as usize, run);
                view.is_doc[run] = true;
            }
        }
        view
    }

    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset) - 1
    }

    fn line(&self, line: usize) -> &'a str {
        let start = self.line_starts[line];
        let end = self.line_starts.get(line + 1).copied().unwrap_or(self.file.text.len());
        self.file.text.get(start..end).unwrap_or_default()
    }

    /// The comment run that documents a symbol: above it and its attributes, or the string at the start of
    /// its body.
    fn find_doc(&self, symbol_at: usize) -> Option<usize> {
        let symbol = self.symbols[symbol_at];
        if let Some(run) = self.docstring(symbol_at) {
            return Some(run);
        }
        let mut line = self.line_of(symbol.byte_range.start as usize);
        for _ in 0..MAX_ATTRIBUTES {
            line = line.checked_sub(1)?;
            if let Some(&run) = self.run_of_line.get(&line) {
                return Some(run);
            }
            if !self.is_attribute(self.line(line).trim(), symbol) {
                return None;
            }
        }
        None
    }

    fn docstring(&self, symbol_at: usize) -> Option<usize> {
        if !matches!(self.language, "python" | "starlark" | "cython") {
            return None;
        }
        let symbol = self.symbols[symbol_at];
        let range = symbol.byte_range.start as usize..symbol.byte_range.end as usize;
        let first = self.runs.partition_point(|run| run.start < range.start);
        let run = self.runs.get(first).filter(|run| run.end <= range.end)?;
        let string = self.file.text[run.clone()].trim_start_matches(['r', 'R']).starts_with(['"', '\'']);
        let nested =
            self.symbols.get(symbol_at + 1).is_some_and(|next| (next.byte_range.start as usize) < run.start);
        (string && !nested).then_some(first)
    }

    fn is_attribute(&self, line: &str, symbol: &Symbol) -> bool {
        line.starts_with(['@', '#'])
            || line.starts_with('[') && line.ends_with(']')
            || line.starts_with("template")
            || line.starts_with("__attribute__")
            || line.starts_with(&symbol.name) && line[symbol.name.len()..].trim_start().starts_with("::")
            || line.starts_with("pub(") && line.ends_with(')')
            || (self.language == "c" || self.language == "cpp")
                && !line.is_empty()
                && line.len() < 60
                && line
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | ':' | '<' | '>' | '&'))
        // Attributes that span several lines are not skipped.
    }

    /// Documentation of a symbol as a text, without the symbol's name at the start.
    fn prose_of(&self, symbol: &Symbol) -> Option<(Prose, Range<usize>)> {
        let run = self.runs[*self.docs.get(&(symbol.byte_range.start as usize))?].clone();
        let comment = &self.file.text[run.clone()];
        if speaks_of_licence(comment) {
            return None;
        }
        let mut prose = prose::prose(comment)?;
        prose.text = without_own_name(&prose.text, &symbol.name);
        let end = if prose.whole { run.end } else { run.start + prose.used };
        Some((prose, run.start..end))
    }

    /// Text of a range of the file without comments.
    fn code(&self, range: Range<usize>) -> String {
        let first = self.comments.partition_point(|comment| comment.range.end <= range.start);
        let inside = self.comments[first..].iter().take_while(|comment| comment.range.start < range.end);
        let text = self.file.text.get(range.clone()).unwrap_or_default();
        syntax::without(text, range.start, inside.map(|comment| comment.range.clone()))
    }

    fn definition(&self, symbol: &Symbol) -> String {
        let start = self.line_starts[self.line_of(symbol.byte_range.start as usize)];
        let own_line = &self.file.text[start..symbol.byte_range.start as usize];
        // Words before it on the same line (`export const`) belong to it, other definitions do not.
        let start =
            if own_line.contains(['{', '}', ';', ')']) { symbol.byte_range.start as usize } else { start };
        self.code(start..symbol.byte_range.end as usize)
    }

    fn add(&self, kind: PairKind, text: &str, code: &str, collector: &mut Collector) {
        let path = if kind == PairKind::Path { "" } else { self.file.path };
        collector.add(kind, self.language, text, code, path);
    }

    fn doc(&self, symbol: &Symbol, collector: &mut Collector) {
        if let Some((prose, _)) = self.prose_of(symbol) {
            self.add(PairKind::Doc, &prose.text, &self.definition(symbol), collector);
        }
    }

    fn name(&self, symbol: &Symbol, collector: &mut Collector) {
        let words = words::of_identifier(&symbol.name);
        if words.len() < 2 || !(symbol.kind.is_callable() || symbol.kind.has_members()) {
            return;
        }
        let code = words::without_identifier(&self.definition(symbol), &symbol.name);
        if code.lines().count() >= 3 {
            self.add(PairKind::Name, &words.join(" "), &code, collector);
        }
    }

    fn test(&self, at: usize, collector: &mut Collector) {
        let symbol = self.symbols[at];
        // The title of a group describes its tests, not code.
        let group = self.symbols.get(at + 1).is_some_and(|next| {
            next.byte_range.start < symbol.byte_range.end && next.kind == SymbolKind::Test
        });
        if group {
            return;
        }
        let title = test_title(&symbol.name);
        let around =
            self.symbols[..at].iter().rev().take(400).find(|outer| {
                outer.kind == SymbolKind::Test && outer.byte_range.end >= symbol.byte_range.end
            });
        let around = around
            .map(|outer| test_title(&outer.name))
            .filter(|outer| outer.split(' ').count() <= 3)
            .unwrap_or_default();
        let code = self.definition(symbol).replacen(&symbol.name, "", 1);
        self.add(PairKind::Test, format!("{around} {title}").trim(), &code, collector);
    }

    /// Tests of Bats, which the shell grammar does not parse: `@test "title" {` to the line `}`.
    fn bats(&self, collector: &mut Collector) {
        for (at, _) in self.file.text.match_indices("@test ") {
            let rest = &self.file.text[at + "@test ".len()..];
            let Some((head, body)) = rest.split_once('\n') else { continue };
            let title = head.trim().trim_end_matches('{').trim().trim_matches(['"', '\'']);
            let end = body.find("\n}").unwrap_or(body.len());
            let from = self.file.text.len() - body.len();
            self.add(PairKind::Test, title, &self.code(from..from + end), collector);
        }
    }

    fn inline(&self, collector: &mut Collector) {
        let top_level = matches!(
            self.language,
            "bash" | "fish" | "zsh" | "make" | "dockerfile" | "powershell" | "sql" | "cmake"
        );
        let mut callables: Vec<Range<u32>> = self
            .symbols
            .iter()
            .filter(|symbol| symbol.kind.is_callable())
            .map(|symbol| symbol.byte_range.clone())
            .collect();
        callables.sort_by_key(|range| range.start);
        // The furthest end of all symbols that start before.
        let mut furthest = 0;
        let ends: Vec<u32> = callables
            .iter()
            .map(|range| {
                furthest = furthest.max(range.end);
                furthest
            })
            .collect();
        for (at, run) in self.runs.iter().enumerate() {
            if self.is_doc[at] || run.start == 0 {
                continue;
            }
            let before = callables.partition_point(|range| (range.start as usize) < run.start);
            let inside = before > 0 && ends[before - 1] as usize > run.end;
            if !inside && !top_level {
                continue;
            }
            let comment = &self.file.text[run.clone()];
            if speaks_of_licence(comment) || comment.starts_with("#!") {
                continue;
            }
            let Some(prose) = prose::prose(comment).filter(|prose| !looks_like_code(&prose.text)) else {
                continue;
            };
            if let Some(code) = self.statements(run) {
                self.add(PairKind::Inline, &prose.text, &code, collector);
            }
        }
    }

    /// The statements after a comment: to a blank line or the next comment, if that is long enough, and not
    /// beyond the enclosing block.
    fn statements(&self, run: &Range<usize>) -> Option<String> {
        let depth = syntax::indentation(self.file.text, run.start);
        let first = self.line_of(run.end.saturating_sub(1)) + 1;
        let (mut last, mut bytes) = (first, 0);
        for line in first..self.line_starts.len().min(first + MAX_STATEMENT_LINES) {
            let text = self.line(line);
            let blank = text.trim().is_empty();
            if line == first && blank {
                return None;
            }
            let comment = self.run_of_line.contains_key(&line);
            if (blank || comment) && bytes >= ENOUGH_STATEMENT_BYTES || !blank && syntax::width(text) < depth
            {
                break;
            }
            if !blank && !comment {
                bytes += text.trim().len();
            }
            last = line + 1;
        }
        if last == first {
            return None;
        }
        let end = self.line_starts.get(last).copied().unwrap_or(self.file.text.len());
        Some(self.code(self.line_starts[first]..end))
    }

    /// Adds the pairs of the comment at the head of the file and of the words of its path.
    fn head(&self, collector: &mut Collector) {
        let text = self.file.text;
        let mut cuts: Vec<Range<usize>> = self
            .runs
            .iter()
            .take(8)
            .filter(|run| speaks_of_licence(&text[(*run).clone()]))
            .cloned()
            .collect();
        // In some languages module documentation is inside the module.
        let inside = matches!(self.language, "elixir" | "python" | "haskell");
        let first =
            self.symbols.iter().map(|symbol| symbol.byte_range.start as usize).min().unwrap_or(usize::MAX);
        let header = self.runs.iter().enumerate().take(6).find(|(at, run)| {
            let before = self.code(0..run.start);
            !self.is_doc[*at]
                && (inside || run.start < first && syntax::indentation(text, run.start) == 0)
                && before.lines().filter(|line| !line.trim().is_empty()).count() <= 2
                && !speaks_of_licence(&text[(*run).clone()])
                && !text[(*run).clone()].starts_with("#!")
                && prose::prose(&text[(*run).clone()]).is_some()
        });
        if let Some((_, run)) = header {
            cuts.push(run.clone());
            cuts.sort_by_key(|cut| cut.start);
        }
        let end = text.floor_char_boundary(MAX_CODE_CHARS * 4 + cuts.last().map_or(0, |cut| cut.end));
        let beginning = syntax::without(&text[..end], 0, cuts);
        if let Some(prose) = header.and_then(|(_, run)| prose::prose(&text[run.clone()])) {
            self.add(PairKind::FileHeader, &prose.text, &beginning, collector);
        }
        let words = words::of_path(self.file.path);
        self.add(PairKind::Path, &words.join(" "), &beginning, collector);
    }

    fn chunk(&self, chunk: &Chunk, collector: &mut Collector) {
        let documented = chunk
            .symbols
            .iter()
            .filter(|symbol| is_documentable(symbol.kind) && symbol.kind != SymbolKind::Test);
        let near = documented.filter(|symbol| {
            ((symbol.byte_range.start - chunk.byte_range.start.min(symbol.byte_range.start)) as usize)
                < MAX_OFFSET_IN_CHUNK
        });
        let described = near.filter_map(|symbol| self.prose_of(symbol)).take(MAX_PER_CHUNK);
        for (prose, used) in described {
            let code = chunk_input(chunk, self.file.text, self.language, Some(used));
            self.add(PairKind::Chunk, &prose.text, &code, collector);
        }
    }
}

/// Removes the symbol's name at the start (`Reader reads…` → `reads…`): a query does not contain the name it
/// searches for.
fn without_own_name(text: &str, name: &str) -> String {
    let Some(rest) = text.strip_prefix(name) else { return text.to_owned() };
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return text.to_owned();
    }
    rest.trim_start_matches("()")
        .trim_start_matches([':', '-', ' ', ',', '–', '—'])
        .trim_start_matches("is ")
        .to_owned()
}

/// The title of a test as words: a sentence unchanged, a name split into words without `test`.
fn test_title(name: &str) -> String {
    let name = name.trim();
    if name.contains(' ') {
        return name.replace(['`', '"'], "");
    }
    let mut words = words::of_identifier(name);
    words.retain(|word| !matches!(word.as_str(), "test" | "tests" | "should" | "it"));
    words.join(" ")
}

/// Whether a comment is commented-out code.
fn looks_like_code(text: &str) -> bool {
    let text = text.trim();
    text.ends_with([';', '{', '}', '(', ',', '\\'])
        || [
            "();", ");", " = ", "==", "->", "=>", "::", "&&", "||", "!=", "+=", "</", "/>", "return ",
            "import ", "#include",
        ]
        .iter()
        .any(|mark| text.contains(mark))
            && !text.contains(". ")
}

#[cfg(test)]
mod tests;
