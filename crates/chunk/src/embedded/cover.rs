//! Chunks of the text around embedded texts.

use std::ops::Range;

use codeweaver_config::ChunkerSettings;

use super::EmbeddedChunker;
use crate::Chunk;
use crate::language::{LanguageId, TEXT};
use crate::lines::TextIndex;
use crate::text_split::split_ranges;

/// A file with embedded texts.
pub(super) struct Host<'a> {
    pub text: &'a str,
    pub index: &'a TextIndex<'a>,
    pub language: LanguageId,
    pub settings: &'a ChunkerSettings,
    pub embedded: &'a EmbeddedChunker<'a>,
}

impl Host<'_> {
    /// Maximum number of tokens of a text between two chunks that is added to one of them.
    pub const MAX_BETWEEN: u32 = 100;

    /// Sets the place of a chunk, with its lines and tokens.
    pub fn place(&self, chunk: &mut Chunk, range: Range<u32>) {
        chunk.line_span = self.index.span(&range);
        chunk.token_count = self.index.tokens(range.clone());
        chunk.byte_range = range;
    }

    /// Extends a chunk to `range`. Returns false if it would exceed the token limit.
    pub fn extend(&self, chunk: &mut Chunk, range: Range<u32>) -> bool {
        let start = chunk.byte_range.start.min(range.start);
        let end = chunk.byte_range.end.max(range.end);
        if self.index.tokens(start..end) > self.settings.token_limit {
            return false;
        }

        self.place(chunk, start..end);
        true
    }

    /// Returns `chunks`, which are in order of position, with the text that is in none of them: short text is
    /// added to the chunk after it, other text becomes chunks of its own.
    pub fn covered(&self, chunks: Vec<Chunk>) -> Vec<Chunk> {
        let mut covered: Vec<Chunk> = Vec::with_capacity(chunks.len());
        let mut at = 0;

        for mut chunk in chunks {
            let start = chunk.byte_range.start;
            if let Some(gap) = self.gap(at..start)
                && !(self.is_short(&gap) && self.extend(&mut chunk, gap.clone()))
            {
                covered.extend(self.rest(gap));
            }
            at = at.max(chunk.byte_range.end);
            covered.extend(self.within_limit(chunk));
        }

        if let Some(gap) = self.gap(at..self.text.len() as u32) {
            let is_added =
                self.is_short(&gap) && covered.last_mut().is_some_and(|last| self.extend(last, gap.clone()));
            if !is_added {
                covered.extend(self.rest(gap));
            }
        }

        covered
    }

    /// Returns a range without blank lines around it; `None` if it is blank.
    fn gap(&self, range: Range<u32>) -> Option<Range<u32>> {
        if range.start < range.end { self.index.trim(range) } else { None }
    }

    fn is_short(&self, range: &Range<u32>) -> bool {
        self.index.tokens(range.clone()) <= Host::MAX_BETWEEN
    }

    /// Returns the chunks of a text that is no embedded one.
    fn rest(&self, range: Range<u32>) -> Vec<Chunk> {
        let text = &self.text[range.start as usize..range.end as usize];
        let mut chunks = (self.embedded)(text, TEXT, range.start, self.index);
        chunks.iter_mut().for_each(|chunk| chunk.language = self.language);
        chunks
    }

    /// Returns a chunk, or its parts if it exceeds the token limit.
    fn within_limit(&self, chunk: Chunk) -> Vec<Chunk> {
        let limit = self.settings.token_limit.max(1);
        if chunk.token_count <= limit {
            return vec![chunk];
        }

        let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
        let mut symbols = chunk.symbols.clone().into_iter().peekable();
        let mut parts = Vec::new();
        for part in split_ranges(self.text, range, (limit * 9 / 10).max(1)) {
            let end = part.end as u32;
            let own =
                std::iter::from_fn(|| symbols.next_if(|symbol| symbol.byte_range.start < end)).collect();
            let mut part_chunk = Chunk { symbols: own, ..chunk.clone() };
            self.place(&mut part_chunk, part.start as u32..end);
            parts.push(part_chunk);
        }
        parts
    }
}
