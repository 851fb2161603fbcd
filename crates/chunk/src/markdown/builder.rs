//! Makes chunks of the sections of a document.

use std::ops::Range;

use codeweaver_config::{ChunkerSettings, Granularity};
use codeweaver_text::LineIndex;

use super::FencedCodeChunker;
use super::outline::Fence;
use super::sections::Section;
use super::split::split_with_overlap;
use super::titles::{excerpt, first_sentence, path_title};
use crate::language::LanguageId;
use crate::lines::line_span;
use crate::pieces::{offset, trimmed};
use crate::text_split::split_ranges;
use crate::{Chunk, ChunkSource, LineSpan, SemanticClass, Symbol, SymbolKind, tokens};

/// A text with its structure.
pub(super) struct Document<'a> {
    pub text: &'a str,
    pub lines: LineIndex,
    pub language: LanguageId,
    pub settings: &'a ChunkerSettings,
    pub sections: Vec<Section>,
    pub fences: Vec<Fence>,
    /// Minimum length of fenced code that becomes chunks; shorter code stays with the prose around it.
    pub min_fenced_lines: usize,
}

/// Prose that is not yet a chunk. The next section may be merged into it.
struct Pending {
    range: Range<usize>,
    n_chars: usize,
    path: Vec<String>,
    /// The sections whose headings the prose holds.
    sections: Vec<usize>,
}

pub(super) struct Builder<'a> {
    document: &'a Document<'a>,
    fenced: &'a FencedCodeChunker<'a>,
    chunks: Vec<Chunk>,
    pending: Option<Pending>,
}

impl<'a> Builder<'a> {
    pub fn new(document: &'a Document<'a>, fenced: &'a FencedCodeChunker<'a>) -> Builder<'a> {
        Builder { document, fenced, chunks: Vec::new(), pending: None }
    }

    /// Returns all chunks, in order of position.
    pub fn chunks(mut self) -> Vec<Chunk> {
        for index in 0..self.document.sections.len() {
            self.add_section(index);
        }

        self.flush();
        // Detached fence lines were pushed before the chunks of their code.
        self.chunks.sort_by_key(|chunk| (chunk.byte_range.start, chunk.byte_range.end));
        self.chunks
    }

    /// Adds a section: long fenced blocks as code, the text between them as prose.
    fn add_section(&mut self, index: usize) {
        let document = self.document;
        let section = &document.sections[index];
        let first = document.fences.partition_point(|fence| fence.range.start < section.range.start);
        let fences =
            document.fences[first..].iter().take_while(|fence| fence.range.start < section.range.end);

        let mut at = section.range.start;
        for fence in fences {
            let Some(language) = fence.language.filter(|_| fence.n_lines >= document.min_fenced_lines) else {
                continue;
            };

            let code = &document.text[fence.code.clone()];
            let mut chunks = (self.fenced)(code, language, offset(0, fence.code.start));
            // The chunker declined, so the code stays with the prose.
            if chunks.is_empty() {
                continue;
            }

            self.add_prose(index, at..fence.range.start, at == section.range.start);
            self.flush();
            self.attach_fence_lines(&mut chunks, fence);

            for chunk in &mut chunks {
                let mut path = section.path.clone();
                path.append(&mut chunk.enclosing);
                chunk.enclosing = path;
            }

            self.chunks.append(&mut chunks);
            at = fence.range.end;
        }

        self.add_prose(index, at..section.range.end, at == section.range.start);
    }

    /// Extends the first and the last chunk of fenced code by the fence lines. If that would exceed the token
    /// limit, the fence line becomes a chunk of its own.
    fn attach_fence_lines(&mut self, chunks: &mut [Chunk], fence: &Fence) {
        let mut detached = Vec::new();

        if let Some(first) = chunks.first_mut() {
            detached.extend(self.document.extend_chunk(first, fence.range.start..fence.code.start));
        }
        if let Some(last) = chunks.last_mut() {
            detached.extend(self.document.extend_chunk(last, fence.code.end..fence.range.end));
        }

        for fence_line in detached {
            self.push(fence_line, &[], &[]);
        }
    }

    /// Adds a part of a section that holds no long fenced code. It is merged into the pending prose, or
    /// becomes the pending prose, or is pushed as several chunks if it exceeds the chunk size.
    fn add_prose(&mut self, index: usize, range: Range<usize>, with_heading: bool) {
        let document = self.document;
        let range = trimmed(document.text, range);
        if range.is_empty() {
            return;
        }

        let section = &document.sections[index];
        let n_chars = document.text[range.clone()].chars().count();
        let chunk_size = document.chunk_size();
        let sections = if with_heading && section.heading.is_some() { vec![index] } else { Vec::new() };

        if let Some(pending) = &mut self.pending
            && let Some(path) = document.common_path(pending, &section.path, n_chars)
        {
            pending.range.end = range.end;
            pending.n_chars += n_chars;
            pending.path = path;
            pending.sections.extend(sections);
            return;
        }

        self.flush();
        if n_chars <= chunk_size {
            self.pending = Some(Pending { range, n_chars, path: section.path.clone(), sections });
            return;
        }

        let overlap = document.settings.markdown.overlap as usize;
        let parts = split_with_overlap(document.text, range, chunk_size, overlap);
        // The heading is in the first part only.
        for (position, part) in parts.into_iter().enumerate() {
            let sections = if position == 0 { sections.as_slice() } else { &[] };
            self.push(part, &section.path, sections);
        }
    }

    /// Makes a chunk of the pending prose.
    fn flush(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.push(pending.range, &pending.path, &pending.sections);
        }
    }

    /// Adds a range as one chunk, or as several if it exceeds the token limit. Each heading goes to the part
    /// in which it begins.
    fn push(&mut self, range: Range<usize>, path: &[String], sections: &[usize]) {
        let document = self.document;
        let limit = document.settings.token_limit.max(1);
        let range = trimmed(document.text, range);
        if range.is_empty() {
            return;
        }

        if tokens::count(&document.text[range.clone()]) <= limit {
            self.chunks.push(document.chunk(range, path, sections));
            return;
        }

        let mut sections = sections;
        for part in split_ranges(document.text, range, (limit * 9 / 10).max(1)) {
            let n_sections =
                sections.iter().take_while(|&&index| document.subtree(index).start < part.end).count();
            let (part_sections, rest) = sections.split_at(n_sections);
            self.chunks.push(document.chunk(part, path, part_sections));
            sections = rest;
        }
    }
}

impl Document<'_> {
    fn chunk_size(&self) -> usize {
        (self.settings.markdown.chunk_size as usize).max(1)
    }

    /// Returns the path under which `n_chars` of prose at `path` are merged into the pending prose; `None` if
    /// they are not.
    ///
    /// Parts of one section are merged, as are a subsection with its parent and small siblings under their
    /// parent, as long as the sum fits the chunk size. Nothing is merged in `definition` granularity.
    fn common_path(&self, pending: &Pending, path: &[String], n_chars: usize) -> Option<Vec<String>> {
        if self.settings.granularity == Granularity::Definition
            || pending.n_chars + n_chars > self.chunk_size()
            || pending.path.is_empty()
        {
            return None;
        }

        if path.starts_with(&pending.path) {
            return Some(pending.path.clone());
        }

        let parent = &pending.path[..pending.path.len() - 1];
        let is_sibling = !parent.is_empty() && path.len() > parent.len() && path.starts_with(parent);
        let small = self.chunk_size() / 3;
        (is_sibling && pending.n_chars <= small && n_chars <= small).then(|| parent.to_vec())
    }

    fn span(&self, range: Range<usize>) -> LineSpan {
        line_span(&self.lines, range)
    }

    /// Extends a chunk of fenced code by one of its fence lines. Returns the trimmed line if the chunk would
    /// exceed the token limit with it.
    fn extend_chunk(&self, chunk: &mut Chunk, fence_line: Range<usize>) -> Option<Range<usize>> {
        let fence_line = trimmed(self.text, fence_line);
        if fence_line.is_empty() {
            return None;
        }

        let start = chunk.byte_range.start.min(offset(0, fence_line.start));
        let end = chunk.byte_range.end.max(offset(0, fence_line.end));
        let n_tokens = tokens::count(&self.text[start as usize..end as usize]);
        if n_tokens > self.settings.token_limit {
            return Some(fence_line);
        }

        chunk.byte_range = start..end;
        chunk.token_count = n_tokens;
        chunk.line_span = self.span(start as usize..end as usize);
        None
    }

    fn chunk(&self, range: Range<usize>, path: &[String], sections: &[usize]) -> Chunk {
        let text = &self.text[range.clone()];
        let title = if path.is_empty() {
            let first = text.lines().find(|line| line.chars().any(char::is_alphanumeric));
            first.map(excerpt).unwrap_or_default()
        } else {
            path_title(path)
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
            semantic_context: None,
            delimiter: None,
        }
    }

    /// Returns the symbol of a section that has a heading with a title.
    fn symbol(&self, index: usize) -> Option<Symbol> {
        let section = &self.sections[index];
        let heading = section.heading.as_ref().filter(|heading| !heading.title.is_empty())?;
        let subtree = self.subtree(index);
        let body = &self.text[heading.range.end..section.range.end];

        Some(Symbol {
            name: heading.title.clone(),
            qualified_name: section.path.join(" > "),
            kind: SymbolKind::Heading,
            class: SemanticClass::DocumentationStructured,
            signature: excerpt(&self.text[heading.title_line.clone()]),
            doc: first_sentence(body),
            byte_range: offset(0, subtree.start)..offset(0, subtree.end),
            line_span: self.span(subtree),
            nesting: u8::try_from(section.path.len().saturating_sub(1)).unwrap_or(u8::MAX),
        })
    }

    /// Returns the range of a section with its subsections.
    fn subtree(&self, index: usize) -> Range<usize> {
        let section = &self.sections[index];
        trimmed(self.text, section.range.start..section.subtree_end)
    }
}
