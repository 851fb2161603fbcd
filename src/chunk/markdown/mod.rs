//! Documents by heading section: Markdown, and the headings of reStructuredText, AsciiDoc, Org and wikis (C7).
//!
//! Lines → outline (headings, fenced blocks, front matter) → sections → chunks. A section over `chunk_size` characters is
//! split with overlap, small ones join under their parent, fenced code of a known language becomes chunks of that
//! language that keep the heading path.

use std::ops::Range;

use super::language::LanguageId;
use super::pieces::{offset, trimmed};
use super::text_split::split_ranges;
use super::{Chunk, ChunkSource, LineSpan, SemanticClass, Symbol, SymbolKind, tokens};
use crate::config::{ChunkerSettings, Granularity};

/// Chunks a document by its headings, in order of position.
///
/// `enclosing` of every chunk is the heading path it stands under, outermost first, its own heading included. A chunk
/// that holds a heading has a symbol for it whose `byte_range` is the section with all below it. `fenced(code, language,
/// base)` chunks fenced code; spans of what it returns must already be those of the blob. Every non-blank line is in some chunk;
/// no chunk exceeds `settings.token_limit`. Linear.
pub fn chunk_markdown(
    text: &str,
    language: LanguageId,
    settings: &ChunkerSettings,
    fenced: &dyn Fn(&str, LanguageId, u32) -> Vec<Chunk>,
) -> Vec<Chunk> {
    let lines = lines(text);
    let outline = outline(text, &lines, language);
    let document = Document { text, lines, language, settings, sections: sections(text, outline.headings) };
    let mut builder = Builder { document: &document, chunks: Vec::new(), current: None };
    for index in 0..document.sections.len() {
        builder.section(index, &outline.fences, fenced);
    }
    builder.flush();
    builder.chunks.sort_by_key(|chunk| (chunk.byte_range.start, chunk.byte_range.end));
    builder.chunks
}

/// Fenced code of fewer lines stays with the prose that explains it.
const MIN_FENCED_LINES: usize = 5;
const MAX_TEXT: usize = 200;
const MAX_PATH: usize = 12;

struct Heading {
    level: usize,
    title: String,
    /// The lines of the heading itself.
    range: Range<usize>,
}

struct Fence {
    /// With its marks.
    range: Range<usize>,
    code: Range<usize>,
    language: Option<LanguageId>,
    n_lines: usize,
}

#[derive(Default)]
struct Outline {
    headings: Vec<Heading>,
    fences: Vec<Fence>,
}

/// A heading with the text up to the next heading; the first has no heading if text stands before all.
struct Section {
    heading: Option<Heading>,
    /// Up to the next heading of any level.
    range: Range<usize>,
    /// Up to the next heading that is not below this one.
    full_end: usize,
    path: Vec<String>,
}

struct Document<'a> {
    text: &'a str,
    /// Starts of lines, and at the end the length.
    lines: Vec<usize>,
    language: LanguageId,
    settings: &'a ChunkerSettings,
    sections: Vec<Section>,
}

fn lines(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
    if starts.last() != Some(&text.len()) {
        starts.push(text.len());
    }
    starts
}

// ---- outline

/// How a format writes headings and code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Markdown,
    /// Titles underlined with punctuation.
    Restructured,
    /// `== Title`, code between `----`.
    Asciidoc,
    /// `* Title`, `#+begin_src`.
    Org,
    Plain,
}

/// Whether documents in this language are chunked by their headings.
pub fn has_headings(language: LanguageId) -> bool {
    !matches!(dialect(language), Dialect::Plain)
}

fn dialect(language: LanguageId) -> Dialect {
    match language.family() {
        "markdown_style" => Dialect::Markdown,
        "rst_style" => Dialect::Restructured,
        "asciidoc_style" | "wiki_style" | "typst_style" => Dialect::Asciidoc,
        "org_style" => Dialect::Org,
        _ => Dialect::Plain,
    }
}

fn outline(text: &str, lines: &[usize], language: LanguageId) -> Outline {
    let dialect = dialect(language);
    let mut outline = Outline::default();
    let line = |index: usize| &text[lines[index]..lines[index + 1]];
    let n_lines = lines.len().saturating_sub(1);
    let mut underlines: Vec<char> = Vec::new();
    let mut at = front_matter_lines(text, lines);
    // Text right above a setext underline must be a paragraph of its own kind, not a heading or a fence.
    let mut paragraph_start: Option<usize> = None;
    let mut next_code_language = None;
    // A search for the end of a fence that failed fails for all later ones of its mark.
    let mut unclosed: Vec<String> = Vec::new();
    while at < n_lines {
        let content = line(at).trim_end();
        if let Some(open) = fence_mark(content, dialect) {
            let key = format!("{}{}", open.mark, open.length);
            // An unclosed fence in Markdown runs to the end of the document.
            let close = (!unclosed.contains(&key))
                .then(|| (at + 1..n_lines).find(|&index| open.closed_by(line(index).trim_end())))
                .flatten();
            if close.is_none() && dialect != Dialect::Markdown {
                unclosed.push(key);
            } else {
                let close = close.unwrap_or(n_lines);
                let end = (close + 1).min(n_lines);
                outline.fences.push(Fence {
                    range: lines[at]..lines[end],
                    code: lines[at + 1]..lines[close],
                    language: open.language.or(next_code_language.take()),
                    n_lines: close - at - 1,
                });
                at = end;
                paragraph_start = None;
                continue;
            }
        }
        if dialect == Dialect::Asciidoc && !content.is_empty() {
            next_code_language = asciidoc_source(content);
        }
        let below = (at + 1 < n_lines).then(|| line(at + 1).trim_end());
        let overlined = at > 0 && adornment(line(at - 1).trim_end()).is_some();
        let inside_paragraph = paragraph_start.is_some() && !(dialect == Dialect::Restructured && overlined);
        match heading(content, below, dialect, inside_paragraph, &mut underlines) {
            Some((level, title, n_heading_lines)) => {
                let end = lines[(at + n_heading_lines).min(n_lines)];
                // An overline belongs to its title.
                let over = dialect == Dialect::Restructured
                    && n_heading_lines == 2
                    && overlined
                    && below.is_some_and(|below| line(at - 1).trim_end() == below);
                let start = if over { lines[at - 1] } else { lines[at] };
                outline.headings.push(Heading { level, title, range: start..end });
                at += n_heading_lines;
                paragraph_start = None;
            }
            None => {
                paragraph_start = match content.trim().is_empty() {
                    true => None,
                    false => paragraph_start.or(Some(at)),
                };
                at += 1;
            }
        }
    }
    outline
}

/// Number of lines of a `---` or `+++` block at the very beginning.
fn front_matter_lines(text: &str, lines: &[usize]) -> usize {
    let n_lines = lines.len() - 1;
    let line = |index: usize| text[lines[index]..lines[index + 1]].trim_end();
    if n_lines == 0 {
        return 0;
    }
    let mark = line(0).trim_start_matches('\u{feff}');
    if mark != "---" && mark != "+++" {
        return 0;
    }
    let ends = |index: &usize| line(*index) == mark || mark == "---" && line(*index) == "...";
    (1..n_lines.min(500)).find(ends).map_or(0, |index| index + 1)
}

struct FenceMark {
    mark: String,
    length: usize,
    language: Option<LanguageId>,
}

impl FenceMark {
    fn closed_by(&self, line: &str) -> bool {
        let line = line.trim_start();
        if self.mark.starts_with('#') {
            return line.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("#+end_src"));
        }
        let first = self.mark.chars().next().unwrap_or('`');
        let length = line.chars().count();
        length >= self.length && line.chars().all(|c| c == first)
    }
}

fn fence_mark(line: &str, dialect: Dialect) -> Option<FenceMark> {
    let stripped = line.trim_start();
    match dialect {
        Dialect::Markdown => {
            let first = stripped.chars().next().filter(|c| *c == '`' || *c == '~')?;
            let info = stripped.trim_start_matches(first);
            let length = stripped.len() - info.len();
            // Inline code has back-ticks again on its line.
            if length < 3 || first == '`' && info.contains('`') {
                return None;
            }
            let word = info.trim().trim_start_matches(['{', '.']);
            let word = word.split([' ', ',', '}', '{', ':', '\t']).next().unwrap_or_default();
            Some(FenceMark { mark: first.to_string(), length, language: LanguageId::by_name(word) })
        }
        Dialect::Asciidoc => {
            let first = line.chars().next().filter(|c| matches!(c, '-' | '.' | '`'))?;
            let length = line.len();
            let long_enough = length >= 4 || first == '`' && length >= 3;
            (long_enough && line.chars().all(|c| c == first)).then(|| FenceMark {
                mark: first.to_string(),
                length,
                language: None,
            })
        }
        Dialect::Org => {
            let start = stripped.get(..11)?;
            start.eq_ignore_ascii_case("#+begin_src").then(|| FenceMark {
                mark: "#".to_owned(),
                length: 1,
                language: stripped[11..].split_whitespace().next().and_then(LanguageId::by_name),
            })
        }
        Dialect::Restructured | Dialect::Plain => None,
    }
}

/// `[source,rust]`
fn asciidoc_source(line: &str) -> Option<LanguageId> {
    let inside = line.strip_prefix("[source")?.strip_suffix(']')?;
    LanguageId::by_name(inside.split(',').nth(1)?.trim())
}

/// Level from 1, title and number of lines of the heading that starts with `line`.
fn heading(
    line: &str,
    below: Option<&str>,
    dialect: Dialect,
    inside_paragraph: bool,
    underlines: &mut Vec<char>,
) -> Option<(usize, String, usize)> {
    match dialect {
        Dialect::Markdown => {
            let indent = line.len() - line.trim_start_matches(' ').len();
            if indent > 3 || line.trim().is_empty() {
                return None;
            }
            if let Some((level, title)) = marked('#', line.trim_start()) {
                let bare = title.trim_end_matches('#');
                let title = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim() } else { title };
                return Some((level, plain_title(title), 1));
            }
            let below = below?.trim_start();
            let level = match (below.len() >= 2, below.chars().next()) {
                (true, Some('=')) if below.chars().all(|c| c == '=') => 1,
                (true, Some('-')) if below.chars().all(|c| c == '-') => 2,
                _ => return None,
            };
            // A list item, a quote or a table row above a rule is not a title; nor is the end of a longer paragraph.
            let title = line.trim();
            let other = title.starts_with(['-', '*', '+', '>', '|', '<', '=']) || inside_paragraph;
            (!other).then(|| (level, plain_title(title), 2))
        }
        Dialect::Asciidoc => {
            let (level, title) = marked('=', line)?;
            let title = title.trim_end_matches('=').trim();
            (!title.is_empty()).then(|| (level, plain_title(title), 1))
        }
        Dialect::Org => {
            let (level, title) = marked('*', line)?;
            (!title.is_empty()).then(|| (level, plain_title(title), 1))
        }
        Dialect::Restructured => {
            let mark = adornment(below?)?;
            let title = line.trim();
            let long_enough = below?.chars().count() + 2 >= title.chars().count().min(40);
            if title.is_empty() || adornment(title).is_some() || !long_enough || inside_paragraph {
                return None;
            }
            // The first kind of underline is the highest level, and so on.
            let known = underlines.iter().position(|&known| known == mark);
            let level = known.unwrap_or_else(|| {
                underlines.push(mark);
                underlines.len() - 1
            });
            Some((level + 1, plain_title(title), 2))
        }
        Dialect::Plain => None,
    }
}

/// Level and title of a line that begins with one to six `mark`s.
fn marked(mark: char, line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(mark);
    let level = line.len() - rest.len();
    let spaced = rest.is_empty() || rest.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && spaced).then(|| (level, rest.trim()))
}

/// The punctuation a whole line repeats.
fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next().filter(|c| c.is_ascii_punctuation() && !matches!(c, '|' | '(' | ')'))?;
    (line.len() >= 3 && line.chars().all(|c| c == first)).then_some(first)
}

/// A title as it reads: without emphasis, code marks, link targets and attributes.
fn plain_title(title: &str) -> String {
    let title = match title.rfind("{#") {
        Some(at) if title.ends_with('}') => title[..at].trim_end(),
        _ => title,
    };
    let mut plain = String::with_capacity(title.len());
    let mut rest = title;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at);
        plain.push_str(before);
        rest = after.find(')').map_or("", |close| &after[close + 1..]);
    }
    plain.push_str(rest);
    plain.retain(|c| !matches!(c, '`' | '*' | '[' | ']'));
    shortened(&plain)
}

/// White space collapsed, at most [`MAX_TEXT`] characters.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if short.len() > MAX_TEXT * 4 {
            break;
        }
    }
    short.chars().take(MAX_TEXT).collect::<String>().trim_end().to_owned()
}

/// The heading path on one line; where that is too long, without its outermost headings.
fn path_title(path: &[String]) -> String {
    let mut titles = (0..path.len()).map(|from| path[from..].join(" > "));
    titles.find(|title| title.chars().count() <= MAX_TEXT).unwrap_or_default()
}

// ---- sections

fn sections(text: &str, headings: Vec<Heading>) -> Vec<Section> {
    let mut sections = Vec::with_capacity(headings.len() + 1);
    let first = headings.first().map_or(text.len(), |heading| heading.range.start);
    if first > 0 {
        sections.push(Section { heading: None, range: 0..first, full_end: first, path: Vec::new() });
    }
    let starts: Vec<(usize, usize)> =
        headings.iter().map(|heading| (heading.level, heading.range.start)).collect();
    let mut full_ends = vec![text.len(); starts.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, &(level, start)) in starts.iter().enumerate() {
        while let Some(&last) = open.last().filter(|&&last| starts[last].0 >= level) {
            full_ends[last] = start;
            open.pop();
        }
        open.push(index);
    }
    let mut path: Vec<(usize, String)> = Vec::new();
    for (index, heading) in headings.into_iter().enumerate() {
        while path.last().is_some_and(|(level, _)| *level >= heading.level) {
            path.pop();
        }
        path.push((heading.level, heading.title.clone()));
        let end = starts.get(index + 1).map_or(text.len(), |&(_, start)| start);
        let titles = path.iter().map(|(_, title)| title.clone()).filter(|title| !title.is_empty());
        sections.push(Section {
            range: heading.range.start..end,
            full_end: full_ends[index],
            path: titles.take(MAX_PATH).collect(),
            heading: Some(heading),
        });
    }
    sections
}

// ---- chunks

/// Prose gathered so far.
struct Current {
    range: Range<usize>,
    n_chars: usize,
    path: Vec<String>,
    sections: Vec<usize>,
}

struct Builder<'a> {
    document: &'a Document<'a>,
    chunks: Vec<Chunk>,
    current: Option<Current>,
}

impl Builder<'_> {
    fn section(
        &mut self,
        index: usize,
        fences: &[Fence],
        fenced: &dyn Fn(&str, LanguageId, u32) -> Vec<Chunk>,
    ) {
        let section = &self.document.sections[index];
        let mut at = section.range.start;
        let from = fences.partition_point(|fence| fence.range.start < section.range.start);
        for fence in fences[from..].iter().take_while(|fence| fence.range.start < section.range.end) {
            let Some(language) = fence.language.filter(|_| fence.n_lines >= MIN_FENCED_LINES) else {
                continue;
            };
            let code = &self.document.text[fence.code.clone()];
            let mut chunks = fenced(code, language, offset(0, fence.code.start));
            if chunks.is_empty() {
                continue;
            }
            self.prose(index, at..fence.range.start, at == section.range.start);
            self.flush();
            self.marks(&mut chunks, fence);
            for chunk in &mut chunks {
                let mut path = section.path.clone();
                path.append(&mut chunk.enclosing);
                chunk.enclosing = path;
            }
            self.chunks.append(&mut chunks);
            at = fence.range.end;
        }
        self.prose(index, at..section.range.end, at == section.range.start);
    }

    /// The lines of the marks belong to the code, unless that would exceed the limit.
    fn marks(&mut self, chunks: &mut [Chunk], fence: &Fence) {
        let document = self.document;
        let mut loose = Vec::new();
        let mut extend = |chunk: &mut Chunk, mark: Range<usize>| {
            let mark = trimmed(document.text, mark);
            let start = chunk.byte_range.start.min(offset(0, mark.start));
            let end = chunk.byte_range.end.max(offset(0, mark.end));
            let n_tokens = tokens::count(&document.text[start as usize..end as usize]);
            if mark.is_empty() {
                return;
            }
            if n_tokens <= document.settings.token_limit {
                chunk.byte_range = start..end;
                chunk.token_count = n_tokens;
                chunk.line_span = document.span(start as usize..end as usize);
            } else {
                loose.push(mark);
            }
        };
        if let Some(first) = chunks.first_mut() {
            extend(first, fence.range.start..fence.code.start);
        }
        if let Some(last) = chunks.last_mut() {
            extend(last, fence.code.end..fence.range.end);
        }
        for mark in loose {
            self.push(mark, &[], &[]);
        }
    }

    /// Adds a stretch of a section without long code.
    fn prose(&mut self, index: usize, range: Range<usize>, with_heading: bool) {
        let document = self.document;
        let range = trimmed(document.text, range);
        if range.is_empty() {
            return;
        }
        let section = &document.sections[index];
        let n_chars = document.text[range.clone()].chars().count();
        let chunk_size = document.chunk_size();
        let sections = if with_heading && section.heading.is_some() { vec![index] } else { Vec::new() };
        if let Some(current) = &mut self.current
            && let Some(path) = document.common_path(current, &section.path, n_chars)
        {
            current.range.end = range.end;
            current.n_chars += n_chars;
            current.path = path;
            current.sections.extend(sections);
            return;
        }
        self.flush();
        if n_chars <= chunk_size {
            self.current = Some(Current { range, n_chars, path: section.path.clone(), sections });
            return;
        }
        let pieces = document.split_with_overlap(range, chunk_size);
        for (position, piece) in pieces.into_iter().enumerate() {
            let own = if position == 0 { sections.as_slice() } else { &[] };
            self.push(piece, &section.path, own);
        }
    }

    fn flush(&mut self) {
        if let Some(current) = self.current.take() {
            self.push(current.range, &current.path, &current.sections);
        }
    }

    fn push(&mut self, range: Range<usize>, path: &[String], sections: &[usize]) {
        let document = self.document;
        let limit = document.settings.token_limit.max(1);
        let range = trimmed(document.text, range);
        if range.is_empty() {
            return;
        }
        let n_tokens = tokens::count(&document.text[range.clone()]);
        if n_tokens > limit {
            // Each heading goes to the part that it begins in.
            let mut sections = sections;
            for part in split_ranges(document.text, range, (limit * 9 / 10).max(1)) {
                let begins = |&&index: &&usize| document.whole(index).start < part.end;
                let (mine, later) = sections.split_at(sections.iter().take_while(begins).count());
                self.chunks.push(document.chunk(part, path, mine));
                sections = later;
            }
        } else {
            self.chunks.push(document.chunk(range, path, sections));
        }
    }
}

impl Document<'_> {
    fn chunk_size(&self) -> usize {
        (self.settings.markdown.chunk_size as usize).max(1)
    }

    /// The path under which a section joins what was gathered: the same heading, one below it, or a small sibling.
    fn common_path(&self, current: &Current, path: &[String], n_chars: usize) -> Option<Vec<String>> {
        if self.settings.granularity == Granularity::Definition
            || current.n_chars + n_chars > self.chunk_size()
            || current.path.is_empty()
        {
            return None;
        }
        if path.starts_with(&current.path) {
            return Some(current.path.clone());
        }
        let parent = &current.path[..current.path.len() - 1];
        let is_sibling = !parent.is_empty() && path.len() > parent.len() && path.starts_with(parent);
        let small = self.chunk_size() / 3;
        (is_sibling && current.n_chars <= small && n_chars <= small).then(|| parent.to_vec())
    }

    fn span(&self, range: Range<usize>) -> LineSpan {
        let line = |at: usize| self.lines.partition_point(|&start| start <= at).max(1);
        let number = |at: usize| u32::try_from(line(at)).unwrap_or(u32::MAX);
        LineSpan { start: number(range.start), end: number(range.end.saturating_sub(1).max(range.start)) }
    }

    fn chunk(&self, range: Range<usize>, path: &[String], sections: &[usize]) -> Chunk {
        let text = &self.text[range.clone()];
        let title = match path.is_empty() {
            true => text
                .lines()
                .find(|line| line.chars().any(char::is_alphanumeric))
                .map(shortened)
                .unwrap_or_default(),
            false => path_title(path),
        };
        let mut symbols: Vec<Symbol> = sections.iter().filter_map(|&index| self.symbol(index)).collect();
        // A part may begin after the indentation of a heading.
        let start = offset(0, range.start);
        symbols.iter_mut().for_each(|symbol| symbol.byte_range.start = symbol.byte_range.start.max(start));
        Chunk {
            byte_range: start..offset(0, range.end),
            line_span: self.span(range),
            language: self.language,
            source: ChunkSource::Markdown,
            class: SemanticClass::DocumentationStructured,
            token_count: tokens::count(text),
            title: if title.is_empty() { self.language.name().to_owned() } else { title },
            symbols,
            enclosing: path.to_vec(),
            is_container: false,
            parent_semantic_node: None,
            delimiter: None,
        }
    }

    fn symbol(&self, index: usize) -> Option<Symbol> {
        let section = &self.sections[index];
        let heading = section.heading.as_ref().filter(|heading| !heading.title.is_empty())?;
        let whole = self.whole(index);
        let body = &self.text[heading.range.end..section.range.end];
        Some(Symbol {
            name: heading.title.clone(),
            qualified_name: section.path.join(" > "),
            kind: SymbolKind::Heading,
            class: SemanticClass::DocumentationStructured,
            signature: shortened(self.text[heading.range.clone()].lines().next().unwrap_or_default()),
            doc: first_sentence(body),
            byte_range: offset(0, whole.start)..offset(0, whole.end),
            line_span: self.span(whole),
            nesting: u8::try_from(section.path.len().saturating_sub(1)).unwrap_or(u8::MAX),
        })
    }

    /// A section with all below it.
    fn whole(&self, index: usize) -> Range<usize> {
        let section = &self.sections[index];
        trimmed(self.text, section.range.start..section.full_end)
    }

    // ---- splitting by characters

    /// Parts of at most `chunk_size` characters, of which all but the first repeat up to `overlap` of the text before.
    fn split_with_overlap(&self, range: Range<usize>, chunk_size: usize) -> Vec<Range<usize>> {
        let overlap = (self.settings.markdown.overlap as usize).min(chunk_size / 2);
        let mut parts: Vec<Range<usize>> = Vec::new();
        let (mut start, mut n_chars) = (range.start, 0);
        let mut end = range.start;
        for block in self.blocks(range.clone(), chunk_size - overlap) {
            let block_chars = self.text[block.clone()].chars().count();
            let room = if parts.is_empty() { chunk_size } else { chunk_size - overlap };
            if n_chars + block_chars > room && n_chars > 0 {
                parts.push(start..end);
                (start, n_chars) = (end, 0);
            }
            n_chars += block_chars;
            end = block.end;
        }
        parts.push(start..range.end);
        let mut floor = range.start;
        let repeated = |part: Range<usize>| {
            let start = if part.start > range.start {
                self.overlap_start(floor, part.start, overlap)
            } else {
                part.start
            };
            floor = part.start;
            trimmed(self.text, start..part.end)
        };
        parts.into_iter().map(repeated).filter(|part| !part.is_empty()).collect()
    }

    /// The stretch cut where readers pause: paragraphs, else lines, else sentences, else words, each of at most `size`
    /// characters.
    fn blocks(&self, range: Range<usize>, size: usize) -> Vec<Range<usize>> {
        let mut blocks = Vec::new();
        for paragraph in cut_after(self.text, range, "\n\n") {
            if self.text[paragraph.clone()].chars().count() <= size {
                blocks.push(paragraph);
                continue;
            }
            for line in cut_after(self.text, paragraph, "\n") {
                if self.text[line.clone()].chars().count() <= size {
                    blocks.push(line);
                } else {
                    blocks.extend(cut_line(self.text, line, size));
                }
            }
        }
        blocks
    }

    /// At most `overlap` characters before `at`, from the beginning of a line or a word; not at or before `floor`.
    fn overlap_start(&self, floor: usize, at: usize, overlap: usize) -> usize {
        let before = &self.text[floor..at];
        let Some((from, _)) = before.char_indices().rev().take(overlap).last() else { return at };
        let from = if from == 0 { before.chars().next().map_or(0, char::len_utf8) } else { from };
        let window = &before[from..];
        let after = |found: usize| floor + from + found + 1;
        match window.find('\n').or_else(|| window.find(' ')) {
            Some(found) if !self.text[after(found)..at].trim().is_empty() => after(found),
            _ => at,
        }
    }
}

/// `range` cut after each run of `separator` (of line ends).
fn cut_after(text: &str, range: Range<usize>, separator: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut blank) = (range.start, range.start, false);
    for line in text[range.clone()].split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        let cut = if separator.len() > 1 { blank && !is_blank } else { !is_blank };
        if cut && start < at && !text[start..at].trim().is_empty() {
            parts.push(start..at);
            start = at;
        }
        blank = is_blank;
        at += line.len();
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

/// One long line cut after sentences or words.
fn cut_line(text: &str, range: Range<usize>, size: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let rest = &text[start..range.end];
        let Some((end, _)) = rest.char_indices().nth(size.max(1)) else { break };
        let window = &rest[..end];
        let sentence = [". ", "! ", "? ", "。"]
            .iter()
            .filter_map(|mark| window.rfind(mark).map(|at| at + mark.len()))
            .max();
        let word = || window.rfind([' ', '\t']).map(|at| at + 1);
        let cut = sentence.filter(|&cut| cut >= end / 2).or_else(word).filter(|&cut| cut > 0).unwrap_or(end);
        parts.push(start..start + cut);
        start += cut;
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

/// First sentence of the first paragraph that reads as prose, at most [`MAX_TEXT`] characters.
fn first_sentence(body: &str) -> String {
    let is_prose = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['|', '<', '!', '`', '~', '#', '=', '[', ':'])
            && !line.starts_with("---")
    };
    let mut lines = body.lines().take(40).map(str::trim).skip_while(|line| !is_prose(line));
    let paragraph: Vec<&str> = lines.by_ref().take_while(|line| is_prose(line)).take(8).collect();
    let text = shortened(&paragraph.join(" "));
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::language::MARKDOWN;

    fn settings(chunk_size: u32, overlap: u32) -> ChunkerSettings {
        let mut settings = ChunkerSettings::default();
        settings.markdown.chunk_size = chunk_size;
        settings.markdown.overlap = overlap;
        settings
    }

    /// Code becomes one chunk.
    fn code(code: &str, language: LanguageId, base: u32) -> Vec<Chunk> {
        if code.trim().is_empty() {
            return Vec::new();
        }
        vec![Chunk {
            byte_range: base..base + code.trim_end().len() as u32,
            line_span: LineSpan { start: 1, end: 1 },
            language,
            source: ChunkSource::Semantic,
            class: SemanticClass::Unknown,
            token_count: tokens::count(code),
            title: "code".to_owned(),
            symbols: Vec::new(),
            enclosing: vec!["inner".to_owned()],
            is_container: false,
            parent_semantic_node: None,
            delimiter: None,
        }]
    }

    fn chunks_of(text: &str, language: LanguageId, settings: &ChunkerSettings) -> Vec<Chunk> {
        let chunks = chunk_markdown(text, language, settings, &code);
        let mut covered = vec![false; text.len()];
        for chunk in &chunks {
            let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
            let inside = &text[range.clone()];
            assert!(!inside.trim().is_empty());
            assert!(tokens::count(inside) <= settings.token_limit, "{}", tokens::count(inside));
            let line =
                |at: usize| text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
            assert_eq!(chunk.line_span, LineSpan { start: line(range.start), end: line(range.end - 1) });
            assert!(!chunk.title.is_empty());
            covered[range].fill(true);
        }
        assert!(chunks.is_sorted_by_key(|chunk| chunk.byte_range.start));
        for (at, c) in text.char_indices() {
            assert!(covered[at] || c.is_whitespace(), "{at} {c:?} of {text:?} is in no chunk");
        }
        chunks
    }

    fn texts<'a>(text: &'a str, chunks: &[Chunk]) -> Vec<&'a str> {
        chunks
            .iter()
            .map(|chunk| &text[chunk.byte_range.start as usize..chunk.byte_range.end as usize])
            .collect()
    }

    #[test]
    fn sections_carry_their_heading_path() {
        let text = "# Guide\n\nIntro. More.\n\n## Install\n\nText a.\n\n### From source\n\nText b.\n\n## Use\n\nText c.\n";
        let chunks = chunks_of(text, MARKDOWN, &settings(20, 5));
        let paths: Vec<String> = chunks.iter().map(|chunk| chunk.enclosing.join("/")).collect();
        assert!(paths.contains(&"Guide/Install/From source".to_owned()), "{paths:?}");
        assert!(paths.contains(&"Guide/Use".to_owned()), "{paths:?}");
        let symbols: Vec<&Symbol> = chunks.iter().flat_map(|chunk| &chunk.symbols).collect();
        let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(names, ["Guide", "Install", "From source", "Use"]);
        assert_eq!(symbols[2].qualified_name, "Guide > Install > From source");
        assert_eq!((symbols[0].line_span.start, symbols[0].line_span.end), (1, 15));
        assert_eq!((symbols[1].line_span.start, symbols[1].line_span.end), (5, 11));
        assert_eq!(symbols[0].doc, "Intro.");
        assert_eq!(symbols[2].nesting, 2);
        assert_eq!(symbols[2].signature, "### From source");
    }

    #[test]
    fn small_sections_join_under_their_parent() {
        let text = "# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree\n\n# D\n\nfour\n";
        let chunks = chunks_of(text, MARKDOWN, &settings(1000, 200));
        let paths: Vec<String> = chunks.iter().map(|chunk| chunk.enclosing.join("/")).collect();
        assert_eq!(paths, ["A", "D"]);
        assert_eq!(chunks[0].symbols.len(), 3);
        let definition = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
        assert_eq!(chunks_of(text, MARKDOWN, &definition).len(), 4);
    }

    #[test]
    fn large_sections_are_split_with_overlap() {
        let body: String = (0..200).map(|n| format!("Sentence number {n} stands here.\n")).collect();
        let text = format!("# Long\n\n{body}");
        let chunks = chunks_of(&text, MARKDOWN, &ChunkerSettings::default());
        assert!(chunks.len() > 5);
        for pair in chunks.windows(2) {
            let shared = pair[0].byte_range.end as i64 - pair[1].byte_range.start as i64;
            assert!((100..=200).contains(&shared), "{shared}");
        }
        for text in texts(&text, &chunks) {
            assert!(text.chars().count() <= 1000);
        }
        assert!(chunks.iter().all(|chunk| chunk.enclosing == ["Long"]));
        assert_eq!(chunks.iter().map(|chunk| chunk.symbols.len()).sum::<usize>(), 1);
    }

    #[test]
    fn setext_front_matter_tables_and_marks_inside_code() {
        let text = "---\ntitle: x\n# no heading\n---\n\nTitle\n=====\n\nText.\n\nSub *part*\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\n# no heading\n```\n\n- item\n---\n\n## Last `one` [link](http://x) ##\n    # code\n#hashtag\n";
        let chunks = chunks_of(text, MARKDOWN, &settings(40, 0));
        let names: Vec<&str> =
            chunks.iter().flat_map(|chunk| &chunk.symbols).map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(names, ["Title", "Sub part", "Last one link"]);
        assert!(chunks[0].enclosing.is_empty());
    }

    #[test]
    fn long_fenced_code_is_chunked_by_its_language() {
        let rust = LanguageId::by_name("rust").unwrap();
        let text = "# A\n\nBefore.\n\n```rust,ignore\nfn a() {}\n\nfn b() {}\n\nfn c() {}\n\nfn d() {}\n```\n\nAfter.\n\n```rust\nlet short = 1;\n```\n\n~~~ {.python}\na = 1\nb = 1\nc = 1\nd = 1\ne = 1\n~~~\n";
        let chunks = chunks_of(text, MARKDOWN, &ChunkerSettings::default());
        let languages: Vec<&str> = chunks.iter().map(|chunk| chunk.language.name()).collect();
        assert_eq!(languages, ["markdown", "rust", "markdown", "python"]);
        assert_eq!(chunks[1].language, rust);
        assert_eq!(chunks[1].enclosing, ["A", "inner"]);
        assert!(texts(text, &chunks)[1].starts_with("```rust") && texts(text, &chunks)[1].ends_with("```"));
        assert!(texts(text, &chunks)[2].contains("short"));
        assert_eq!(chunks[2].enclosing, ["A"]);
    }

    #[test]
    fn an_unclosed_fence_runs_to_the_end() {
        let text = "# A\n```rust\nfn a() {}\n# B\n1\n2\n3\n";
        let chunks = chunks_of(text, MARKDOWN, &ChunkerSettings::default());
        assert_eq!(chunks.last().unwrap().language.name(), "rust");
        chunks_of("```rust", MARKDOWN, &ChunkerSettings::default());
        chunks_of("```rust\n", MARKDOWN, &ChunkerSettings::default());
    }

    #[test]
    fn other_formats_have_headings_too() {
        let names = |text: &str, language: &str| -> Vec<String> {
            let language = LanguageId::by_name(language).unwrap();
            let chunks = chunks_of(text, language, &settings(60, 0));
            chunks
                .iter()
                .flat_map(|chunk| &chunk.symbols)
                .map(|symbol| symbol.qualified_name.clone())
                .collect()
        };
        let rst = "=====\nGuide\n=====\n\nText.\n\nInstall\n-------\n\nMore text.\n\nUse\n---\n\nText.\n";
        assert_eq!(names(rst, "restructuredtext"), ["Guide", "Guide > Install", "Guide > Use"]);
        let adoc =
            "= Guide\n\nText.\n\n== Install\n\n[source,rust]\n----\n== no heading\n----\n\n== Use\n\nText.\n";
        assert_eq!(names(adoc, "asciidoc"), ["Guide", "Guide > Install", "Guide > Use"]);
        let org = "* Guide\nText.\n** Install\n#+begin_src sh\n* no heading\n#+end_src\n** Use\n";
        assert_eq!(names(org, "org"), ["Guide", "Guide > Install", "Guide > Use"]);
    }

    #[test]
    fn any_text_is_covered() {
        let parts = [
            "# ",
            "## é",
            "\n",
            "\n\n",
            "```",
            "```rust\n",
            "---\n",
            "===\n",
            "a b. ",
            "日本。",
            "\r\n",
            "| x |\n",
            "~~~",
            "    ",
            "> q\n",
            "+++\n",
            "\u{feff}",
            "[x](y)",
            "\u{a0}",
        ];
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..600 {
            let text: String = (0..random.usize(..120)).map(|_| parts[random.usize(..parts.len())]).collect();
            let mut settings = settings([1, 7, 40, 1000][round % 4], [0, 3, 39, 200][round % 3]);
            settings.token_limit = [4000, 9][round % 2];
            let name = ["markdown", "restructuredtext", "asciidoc", "org"][round % 4];
            chunks_of(&text, LanguageId::by_name(name).unwrap(), &settings);
        }
        chunks_of("", MARKDOWN, &ChunkerSettings::default());
    }

    #[test]
    fn long_documents_take_linear_time() {
        let start = std::time::Instant::now();
        for unit in ["# a\n", "```\n", "~~~~\n```\n", "a ", "\n", "---\n", "é", "[a](", "# [](", "- a\n---\n"]
        {
            let text = unit.repeat(300_000 / unit.len());
            chunks_of(&text, MARKDOWN, &ChunkerSettings::default());
            let adoc = LanguageId::by_name("asciidoc").unwrap();
            chunk_markdown(&text, adoc, &ChunkerSettings::default(), &code);
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
