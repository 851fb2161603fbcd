//! Splits markup documents by section: Markdown, reStructuredText, AsciiDoc, Org and formats with the same
//! headings.
//!
//! Text → [`outline`] (headings and fenced blocks) → [`sections`] → [`builder`] (chunks). A section of more
//! than `chunk_size` characters is split with overlap ([`split`]), short sections are merged under their
//! parent heading, and fenced code in a known language becomes chunks of that language that keep the heading
//! path.

mod asciidoc;
mod builder;
mod commonmark;
mod dialect;
mod opening;
mod org;
mod outline;
mod restructured;
mod sections;
mod split;
mod titles;

use std::ops::Range;

use codeweaver_config::ChunkerSettings;
use codeweaver_text::LineIndex;

use super::Chunk;
use super::language::{LanguageId, MARKDOWN};
use builder::{Builder, Document};
use dialect::Dialect;
use opening::FenceEnd;

/// Minimum length of fenced code that becomes chunks; shorter code stays with the prose around it.
const MIN_FENCED_LINES: usize = 5;

/// A heading with its text up to the next heading of any level, or the text before the first heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSection {
    /// The bytes of the text, without those of the heading.
    pub body: Range<usize>,
    /// Titles of the enclosing headings and its own, outermost first.
    pub path: Vec<String>,
}

/// A fenced block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentCode {
    /// The bytes including the fence lines.
    pub range: Range<usize>,
    /// The bytes without the fence lines.
    pub code: Range<usize>,
}

/// Chunker of fenced code, called with `(code, language, base)`, where `base` is the byte offset of `code` in
/// the blob.
///
/// Spans of the chunks that it returns are those of the blob. If it returns none, the code stays with the
/// text around it.
pub(super) type FencedCodeChunker<'a> = dyn Fn(&str, LanguageId, u32) -> Vec<Chunk> + 'a;

/// Chunks a document by its headings, in order of position.
///
/// The `enclosing` of a chunk is its heading path, outermost first, including its own heading. A chunk that
/// holds a heading has a symbol for it whose `byte_range` is the section with all its subsections. Every
/// non-blank line is in some chunk. No chunk exceeds `settings.token_limit`. Time is linear.
pub(super) fn chunk_markdown(
    text: &str,
    language: LanguageId,
    settings: &ChunkerSettings,
    fenced: &FencedCodeChunker<'_>,
) -> Vec<Chunk> {
    chunk_document(text, language, settings, MIN_FENCED_LINES, fenced)
}

/// Chunks a Markdown document like [`chunk_markdown`], except that all fenced code becomes chunks of its
/// language.
pub(super) fn chunk_cells(
    text: &str,
    settings: &ChunkerSettings,
    fenced: &FencedCodeChunker<'_>,
) -> Vec<Chunk> {
    chunk_document(text, MARKDOWN, settings, 1, fenced)
}

fn chunk_document(
    text: &str,
    language: LanguageId,
    settings: &ChunkerSettings,
    min_fenced_lines: usize,
    fenced: &FencedCodeChunker<'_>,
) -> Vec<Chunk> {
    let lines = LineIndex::new(text.as_bytes());
    let outline = outline::outline(text, &lines, Dialect::for_language(language));
    let sections = sections::sections(text, outline.headings);
    let fences = outline.fences;

    let document = Document { text, lines, language, settings, sections, fences, min_fenced_lines };
    Builder::new(&document, fenced).chunks()
}

/// Returns the line that closes the fenced block in which a Markdown text ends; empty if it ends in none.
pub(super) fn closing_fence(text: &str) -> String {
    let mut open: Option<FenceEnd> = None;

    for line in text.lines().map(str::trim_end) {
        open = match open {
            Some(end) => Some(end).filter(|end| !end.is_at(line)),
            None => commonmark::opening_fence(line).map(|fence| fence.end),
        };
    }

    match open {
        Some(FenceEnd::Repeated { mark, length }) => mark.to_string().repeat(length) + "\n",
        _ => String::new(),
    }
}

/// Returns the sections and the fenced blocks of a document, each in order of position.
pub(super) fn structure(text: &str, language: LanguageId) -> (Vec<DocumentSection>, Vec<DocumentCode>) {
    let lines = LineIndex::new(text.as_bytes());
    let outline = outline::outline(text, &lines, Dialect::for_language(language));
    let fences = outline.fences.into_iter();
    let codes = fences.map(|fence| DocumentCode { range: fence.range, code: fence.code }).collect();

    let mut sections = Vec::new();
    for section in sections::sections(text, outline.headings) {
        let start = section.heading.map_or(section.range.start, |heading| heading.range.end);
        sections.push(DocumentSection { body: start..section.range.end, path: section.path });
    }

    (sections, codes)
}

/// Returns whether documents in this language are chunked by their headings.
pub(super) fn has_headings(language: LanguageId) -> bool {
    Dialect::for_language(language) != Dialect::Plain
}

#[cfg(test)]
mod tests;
