//! Entry point of the chunker: a blob goes down the chain of chunkers as far as needed.

use std::borrow::Cow;
use std::ops::Range;

use codeweaver_config::{ChunkerSettings, Granularity};

use super::delimiter::{self, generic};
use super::embedded;
use super::grammar;
use super::lines::TextIndex;
use super::pack::{self, Atom, Bounds};
use super::pieces::Piece;
use super::semantic::{self, WalkInput, Walked};
use super::{
    Chunk, ChunkSource, ChunkedBlob, Degradation, DegradationReason, DelimiterMatch, LanguageId,
    SemanticClass, SemanticContext, Symbol,
};
use super::{markdown, text_split, title, tokens};

/// Cost of a boundary inside a node that was split as text.
const PIECE_CUT: u32 = 250;

/// Parses a blob once with the grammar of its language and drops the result; used by measurements. Returns
/// false if the language has no grammar or if the parse is given up.
pub fn parse_only(bytes: &[u8], language: LanguageId) -> bool {
    let grammar = grammar::for_text(language.name(), &String::from_utf8_lossy(bytes));
    grammar.is_some_and(|grammar| semantic::parse_only(bytes, grammar))
}

/// Chunks a blob.
///
/// Depends on nothing but its arguments and does not panic for any bytes. Byte ranges are those of the blob
/// even where it is not UTF-8. Chunks are in order of position, overlap only by `simple_overlap` or in
/// markup, and together hold every non-blank line. Time and memory are linear in the size of the blob.
pub fn chunk_blob(bytes: &[u8], language: LanguageId, settings: &ChunkerSettings) -> ChunkedBlob {
    // Offsets are 32 bits wide; half of that leaves room for sums of offsets.
    let bytes = &bytes[..bytes.len().min(u32::MAX as usize / 2)];
    let (text, lossy) = readable(bytes);
    let index = TextIndex::new(text.as_bytes());
    let mut blob = ChunkedBlob::default();

    if lossy {
        blob.degradations
            .push(Degradation { reason: DegradationReason::NotUtf8, byte_range: 0..bytes.len() as u32 });
    }

    if markdown::has_headings(language) {
        blob.chunks = markdown::chunk_markdown(&text, language, settings, &|code, inner, base| {
            fenced_chunks(code, inner, base, &index, settings)
        });
        // Markup is cut at headings and blocks only, so every boundary is between whole nodes.
        blob.boundaries = blob.chunks.len().saturating_sub(1) as u32;
        blob.boundaries_on_nodes = blob.boundaries;
        return blob;
    }

    if let Some(chunks) = parts_of(&text, &index, language, settings) {
        blob.boundaries = chunks.len().saturating_sub(1) as u32;
        blob.boundaries_on_nodes = blob.boundaries;
        blob.chunks = chunks;
        return blob;
    }

    Chain { text: &text, index: &index, language, settings, blob: &mut blob }.run();
    blob
}

/// Returns the chunks of a file that holds texts of several languages; `None` for any other file, and if the
/// settings ask for delimiters.
fn parts_of(
    text: &str,
    index: &TextIndex<'_>,
    language: LanguageId,
    settings: &ChunkerSettings,
) -> Option<Vec<Chunk>> {
    let is_forced = settings.force_delimiter_for_languages.iter().any(|forced| forced == language.name());
    if !embedded::has_parts(language) || is_forced || !settings.prefer_semantic {
        return None;
    }

    embedded::chunk_parts(index, text, language, settings, &|code, inner, base, document| {
        fenced_chunks(code, inner, base, document, settings)
    })
}

/// Returns the bytes as text of the same length, and whether bytes that are not UTF-8 were replaced.
///
/// Such bytes, NULs and a byte order mark are replaced one by one.
pub fn readable(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    const MARK: &[u8] = b"\xef\xbb\xbf";

    // The common case borrows: nothing to replace, so nothing is copied.
    let clean = !bytes.starts_with(MARK) && !bytes.contains(&0);
    if clean && let Ok(text) = std::str::from_utf8(bytes) {
        return (Cow::Borrowed(text), false);
    }

    let mut lossy = false;

    // Each replacement has as many bytes as it replaces, so offsets in the text are offsets in the blob.
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        for _ in part.invalid() {
            text.push('?');
            lossy = true;
        }
    }

    let text = text.replace('\0', " ");
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => format!("   {rest}"),
        None => text,
    };

    (Cow::Owned(text), lossy)
}

/// Returns the chunks of a text inside a document, with the byte ranges and lines of the document.
fn fenced_chunks(
    code: &str,
    language: LanguageId,
    base: u32,
    document: &TextIndex<'_>,
    settings: &ChunkerSettings,
) -> Vec<Chunk> {
    // A fenced document could hold fences itself; it stays a part of the outer document.
    if markdown::has_headings(language) || embedded::has_parts(language) {
        return Vec::new();
    }

    let index = TextIndex::new(code.as_bytes());
    let mut blob = ChunkedBlob::default();
    Chain { text: code, index: &index, language, settings, blob: &mut blob }.run();

    let end = document.bytes().len() as u32;
    let shift = |range: &Range<u32>| (range.start + base).min(end)..(range.end + base).min(end);

    for chunk in &mut blob.chunks {
        chunk.byte_range = shift(&chunk.byte_range);
        chunk.line_span = document.span(&chunk.byte_range);
        for symbol in &mut chunk.symbols {
            symbol.byte_range = shift(&symbol.byte_range);
            symbol.line_span = document.span(&symbol.byte_range);
        }
    }

    blob.chunks
}

/// The step of the chain that an atom comes from.
#[derive(Clone, Default)]
struct Origin {
    /// The step that cut the atom out of a node; `None` for whole nodes.
    piece: Option<ChunkSource>,
    delimiter: Option<DelimiterMatch>,
    /// Whether the atom must not share a chunk with the one before it.
    is_separate: bool,
}

struct Chain<'a> {
    text: &'a str,
    index: &'a TextIndex<'a>,
    language: LanguageId,
    settings: &'a ChunkerSettings,
    blob: &'a mut ChunkedBlob,
}

impl Chain<'_> {
    fn run(mut self) {
        if self.text.trim_ascii().is_empty() {
            return;
        }

        let walked = match self.semantic() {
            Ok(walked) => walked,
            Err((reason, symbols)) => {
                self.degrade(reason, 0..self.end());
                let (atoms, classes) = (vec![Atom::default()], vec![SemanticClass::Unknown]);
                Walked { atoms, classes, symbols, ..Walked::default() }
            }
        };

        self.finish(walked);
    }

    fn end(&self) -> u32 {
        self.text.len() as u32
    }

    fn bounds(&self) -> Bounds {
        Bounds::new(self.settings.target_tokens, self.settings.token_limit)
    }

    fn degrade(&mut self, reason: DegradationReason, byte_range: Range<u32>) {
        self.blob.degradations.push(Degradation { reason, byte_range });
    }

    /// Walks the tree of the blob. If the blob goes down the chain instead, returns the reason and the
    /// symbols that were found nevertheless.
    fn semantic(&self) -> Result<Walked, (DegradationReason, Vec<Symbol>)> {
        let name = self.language.name();
        let forced = self.settings.force_delimiter_for_languages.iter().any(|forced| forced == name);
        if forced || !self.settings.prefer_semantic {
            return Err((DegradationReason::Forced, Vec::new()));
        }

        let grammar = grammar::for_text(name, self.text).ok_or((DegradationReason::NoGrammar, Vec::new()))?;
        let tree = semantic::parse_definitions(self.index, grammar).map_err(|reason| (reason, Vec::new()))?;

        let input = WalkInput {
            text: self.text,
            index: self.index,
            grammar,
            bounds: self.bounds(),
            threshold: self.settings.semantic_importance_threshold,
        };

        let walked = semantic::walk(&tree, input);
        // Too much of the tree is guesswork for its boundaries, but its names are kept.
        if walked.error_bytes as f32 > self.settings.max_error_share * self.text.len() as f32 {
            return Err((DegradationReason::ErrorShare, walked.symbols));
        }

        Ok(walked)
    }

    /// Packs atoms into chunks and adds these to the blob.
    fn finish(&mut self, mut walked: Walked) {
        self.blob.nodes_unknown = walked.nodes_unknown;
        self.blob.nodes_classified = walked.nodes_classified;
        if walked.atoms.is_empty() {
            walked.atoms.push(Atom::default());
            walked.classes.push(SemanticClass::Unknown);
        }

        let whole = self.whole_file_reason();
        let (mut atoms, origins) = self.split(&walked.atoms, whole.is_some());
        if self.settings.granularity == Granularity::Definition {
            force_definitions(&mut atoms, &walked.symbols);
        }

        let bounds = self.bounds();
        // Atoms keep their numbers if some have an origin: origins are looked up by position.
        if origins.is_empty() {
            pack::coarsen(&mut atoms, &bounds);
        }

        let groups = pack::pack(&atoms, &bounds);

        let mut symbols = walked.symbols.iter().peekable();
        let mut n_symbol = 0;
        for group in groups {
            let start = atoms[group.start].start;
            let end = atoms.get(group.end).map_or(self.end(), |atom| atom.start);
            let first_symbol = n_symbol;
            while symbols.next_if(|symbol| symbol.byte_range.start < end).is_some() {
                n_symbol += 1;
            }

            let Some(range) = self.index.trim(start..end) else { continue };
            if !self.blob.chunks.is_empty() {
                self.blob.boundaries += 1;
                self.blob.boundaries_on_nodes += u32::from(atoms[group.start].on_node);
            }

            let origin = origins.get(group.start).cloned().unwrap_or_default();
            let all_pieces =
                !origins.is_empty() && origins[group.clone()].iter().all(|origin| origin.piece.is_some());
            let source =
                if all_pieces { origin.piece.unwrap_or(ChunkSource::Text) } else { ChunkSource::Semantic };

            let class = class_of(&walked, start..end, first_symbol..n_symbol);
            let chunk = self.chunk(range, source, class, &walked, first_symbol..n_symbol);
            // A delimiter describes one piece; a chunk of several has none.
            let delimiter = if group.len() == 1 && all_pieces { origin.delimiter } else { None };
            self.push(Chunk { delimiter, ..chunk });
        }

        self.overlap();
    }

    /// Returns the reason why the blob is not chunked by its tree; `None` if it is.
    fn whole_file_reason(&self) -> Option<DegradationReason> {
        let last = self.blob.degradations.last()?;
        (last.reason != DegradationReason::NotUtf8).then_some(last.reason)
    }

    /// Splits atoms that exceed the soft bound: at delimiters, else at generic delimiters, else as text. With
    /// `whole`, all atoms are split. Returns the atoms with their origins; there are no origins if nothing
    /// was split.
    fn split(&mut self, atoms: &[Atom], whole: bool) -> (Vec<Atom>, Vec<Origin>) {
        let bounds = self.bounds();
        let slack = bounds.target / 4;
        let mut out: Vec<Atom> = Vec::with_capacity(atoms.len());
        let mut origins: Vec<Origin> = Vec::new();

        for (at, atom) in atoms.iter().enumerate() {
            let end = atoms.get(at + 1).map_or(self.end(), |next| next.start);
            let tokens = self.index.tokens(atom.start..end);
            if !whole && tokens <= bounds.soft + slack {
                // Origins run in parallel with the atoms only once one of these was split.
                if !origins.is_empty() {
                    origins.push(Origin::default());
                }
                out.push(Atom { tokens, ..*atom });
                continue;
            }

            if !whole {
                self.degrade(DegradationReason::OversizedNode, atom.start..end);
            }

            origins.resize(out.len(), Origin::default());
            for (n, (start, end, origin)) in self.pieces(atom.start..end).into_iter().enumerate() {
                let tokens = self.index.tokens(start..end);
                if n == 0 {
                    out.push(Atom { tokens, ..*atom });
                } else {
                    // Inside a node, so no such boundary is as good as one between nodes.
                    let cut = atom.cut.clamp(PIECE_CUT, PIECE_CUT * 2);
                    let forced = origin.is_separate;
                    out.push(Atom { start, tokens, cut, forced, ..Atom::default() });
                }
                origins.push(origin);
            }
        }

        (out, origins)
    }

    /// Returns the pieces that cover a range, each as start, end and origin. None exceeds the soft bound,
    /// unless it is a single word, which may reach the hard bound.
    fn pieces(&mut self, range: Range<u32>) -> Vec<(u32, u32, Origin)> {
        let text = &self.text[range.start as usize..range.end as usize];
        let hybrid = self.settings.enable_hybrid_chunking || range == (0..self.end());
        let delimited = if hybrid {
            delimiter::chunk_delimited(text, range.start, self.language, self.settings)
        } else {
            None
        };

        let (found, source) = match delimited {
            Some(pieces) => (Some(pieces), ChunkSource::Delimiter),
            None => (generic::chunk_generic(text, range.start, self.settings), ChunkSource::Generic),
        };

        let Some(pieces) = found else {
            self.degrade(DegradationReason::NoDelimiters, range.clone());
            return self.text_pieces(range);
        };

        // Pieces may have gaps between them; each is extended to the start of the next.
        let mut out: Vec<(u32, u32, Origin)> = Vec::new();
        let starts: Vec<u32> =
            pieces.iter().map(|piece| piece.byte_range.start.clamp(range.start, range.end)).collect();

        for (n, Piece { delimiter, is_separate, .. }) in pieces.into_iter().enumerate() {
            let start = if n == 0 { range.start } else { starts[n] };
            let end = starts.get(n + 1).copied().unwrap_or(range.end);
            if start >= end || out.last().is_some_and(|last| last.1 > start) {
                continue;
            }

            if self.index.tokens(start..end) > self.bounds().soft {
                let first = out.len();
                out.extend(self.text_pieces(start..end));
                if let Some((.., origin)) = out.get_mut(first) {
                    origin.is_separate = is_separate;
                }
            } else {
                out.push((start, end, Origin { piece: Some(source), delimiter, is_separate }));
            }
        }

        if out.is_empty() { self.text_pieces(range) } else { out }
    }

    /// Splits a range as text, to nine tenths of the soft bound.
    fn text_pieces(&self, range: Range<u32>) -> Vec<(u32, u32, Origin)> {
        let limit = (self.bounds().soft * 9 / 10).max(1);
        let text = &self.text[range.start as usize..range.end as usize];

        let mut starts: Vec<u32> = text_split::split_text(text, range.start, limit, self.settings)
            .into_iter()
            .map(|piece| piece.byte_range.start.clamp(range.start, range.end))
            .collect();
        starts.sort_unstable();
        starts.dedup();

        if let Some(first) = starts.first_mut() {
            *first = range.start;
        } else {
            starts.push(range.start);
        }

        let ends = starts.iter().skip(1).copied().chain([range.end]);
        let origin = Origin { piece: Some(ChunkSource::Text), ..Origin::default() };
        starts.iter().copied().zip(ends).map(|(start, end)| (start, end, origin.clone())).collect()
    }

    /// Makes a chunk of a range and the symbols in it.
    fn chunk(
        &self,
        range: Range<u32>,
        source: ChunkSource,
        class: SemanticClass,
        walked: &Walked,
        symbols: Range<usize>,
    ) -> Chunk {
        let enclosing = enclosing(&walked.symbols, symbols.start, &range);
        let symbols: Vec<Symbol> = walked.symbols[symbols].to_vec();

        let parent = walked.opened.iter().rev().find(|opened| {
            opened.range.start <= range.start && range.end <= opened.range.end && opened.range != range
        });
        let parent = parent.map(|opened| (opened, &walked.symbols[opened.symbol]));
        let is_container =
            symbols.iter().any(|symbol| symbol.byte_range.end > range.end && !symbol.kind.is_callable());

        Chunk {
            line_span: self.index.span(&range),
            language: self.language,
            source,
            class,
            token_count: self.index.tokens(range.clone()),
            title: title::title(&symbols, &enclosing, &self.text[range.start as usize..range.end as usize]),
            symbols,
            enclosing,
            is_container,
            parent_semantic_node: parent.map(|(_, symbol)| title::of_symbol(symbol)),
            semantic_context: parent
                .map(|(opened, symbol)| SemanticContext { classification: symbol.class, kind: opened.kind }),
            delimiter: None,
            byte_range: range,
        }
    }

    /// Adds a chunk; a chunk that exceeds the hard bound is split as text.
    fn push(&mut self, chunk: Chunk) {
        let limit = self.bounds().hard;
        if chunk.token_count <= limit {
            self.blob.chunks.push(chunk);
            return;
        }

        let range = chunk.byte_range.clone();
        let mut symbols = chunk.symbols.clone().into_iter().peekable();

        let mut starts = Vec::new();
        for (start, end, _) in self.text_pieces(range) {
            starts.extend(cut_by_tokens(self.text, start..end, limit));
        }

        for (n, (start, end)) in starts.into_iter().enumerate() {
            let Some(range) = self.index.trim(start..end) else { continue };
            let part_symbols =
                std::iter::from_fn(|| symbols.next_if(|symbol| symbol.byte_range.start < end)).collect();

            self.blob.boundaries += u32::from(n > 0);
            self.blob.chunks.push(Chunk {
                line_span: self.index.span(&range),
                token_count: self.index.tokens(range.clone()),
                source: ChunkSource::Text,
                symbols: part_symbols,
                byte_range: range,
                ..chunk.clone()
            });
        }
    }

    /// Extends delimiter and text chunks to the left by whole lines of up to `simple_overlap` tokens.
    fn overlap(&mut self) {
        let overlap = self.settings.simple_overlap;
        if overlap == 0 {
            return;
        }

        let limit = self.bounds().hard;
        // Backwards, so that the start of the chunk before is still the one without overlap.
        for at in (1..self.blob.chunks.len()).rev() {
            let floor = self.blob.chunks[at - 1].byte_range.start;
            let chunk = &mut self.blob.chunks[at];
            // Overlap is for text that was cut without its syntax.
            if chunk.source == ChunkSource::Semantic {
                continue;
            }

            let range = chunk.byte_range.clone();
            let room = overlap.min(limit.saturating_sub(chunk.token_count));
            let mut start = range.start;
            let mut line = self.index.line_of(start);

            while line > 0 {
                line -= 1;
                let earlier = self.index.line_start(line);
                if earlier < floor || self.index.tokens(earlier..range.start) > room {
                    break;
                }
                start = earlier;
            }

            if let Some(longer) = self.index.trim(start..range.end) {
                chunk.token_count = self.index.tokens(longer.clone());
                chunk.line_span = self.index.span(&longer);
                chunk.byte_range = longer;
            }
        }
    }
}

/// Cuts a range into parts of at most `limit` tokens, between any characters.
fn cut_by_tokens(text: &str, range: Range<u32>, limit: u32) -> Vec<(u32, u32)> {
    let part = &text[range.start as usize..range.end as usize];
    let mut out = Vec::new();
    let (mut start, mut at) = (0, 0);

    while at < part.len() {
        // A byte is at most one token, so a step of `limit` bytes is within the limit.
        let mut next = (at + limit as usize).min(part.len());
        while !part.is_char_boundary(next) {
            next -= 1;
        }

        // Without progress the loop would not end.
        if next <= at {
            next = part.len();
        }

        if tokens::count(&part[start..next]) > limit && at > start {
            out.push((range.start + start as u32, range.start + at as u32));
            start = at;
        }
        at = next;
    }

    out.push((range.start + start as u32, range.end));
    out
}

/// Forces a boundary before and after every definition of an opened level, for `definition` granularity.
fn force_definitions(atoms: &mut [Atom], symbols: &[Symbol]) {
    let mut symbols = symbols.iter().peekable();
    let mut after_definition = false;

    for at in 0..atoms.len() {
        let end = atoms.get(at + 1).map_or(u32::MAX, |next| next.start);

        let mut defines = false;
        while let Some(symbol) = symbols.next_if(|symbol| symbol.byte_range.start < end) {
            defines |=
                symbol.class.is_definition() && (symbol.kind.is_callable() || symbol.kind.has_members());
        }

        atoms[at].forced |= at > 0 && (defines || after_definition);
        after_definition = defines;
    }
}

/// Returns the class of a chunk: test if most of its callables are tests, else the class of the largest of
/// its outermost definitions, else the most important class of its nodes.
fn class_of(walked: &Walked, range: Range<u32>, symbols: Range<usize>) -> SemanticClass {
    let symbols = &walked.symbols[symbols];

    let tests = symbols.iter().filter(|symbol| symbol.class == SemanticClass::DefinitionTest).count();
    let callables = symbols.iter().filter(|symbol| symbol.class == SemanticClass::DefinitionCallable).count();
    if tests > callables {
        return SemanticClass::DefinitionTest;
    }

    let definitions = || symbols.iter().filter(|symbol| symbol.class.is_definition());
    let outermost = definitions().map(|symbol| symbol.nesting).min();
    // `max_by_key` returns the last of equals; the first is wanted.
    let largest = definitions()
        .rev()
        .filter(|symbol| Some(symbol.nesting) == outermost)
        .max_by_key(|symbol| symbol.byte_range.end.min(range.end).saturating_sub(symbol.byte_range.start));
    if let Some(symbol) = largest {
        return symbol.class;
    }

    let from = walked.atoms.partition_point(|atom| atom.start < range.start);
    let to = walked.atoms.partition_point(|atom| atom.start < range.end);
    let nodes = walked.classes[from..to].iter().copied();
    let all = symbols.iter().map(|symbol| symbol.class).chain(nodes);

    // By tier, then by the highest score.
    all.min_by(|a, b| {
        a.tier().cmp(&b.tier()).then(b.importance().max().total_cmp(&a.importance().max())).then(a.cmp(b))
    })
    .unwrap_or(SemanticClass::Unknown)
}

/// Returns the names of the definitions that start before a chunk and contain it, outermost first. `first` is
/// the index of the first symbol in the chunk.
fn enclosing(symbols: &[Symbol], first: usize, range: &Range<u32>) -> Vec<String> {
    let mut names = Vec::new();
    let mut nesting = u8::MAX;

    // Backwards, each symbol of lower nesting that ends after the chunk is an ancestor, up to nesting 0.
    for symbol in symbols[..first].iter().rev() {
        if symbol.nesting < nesting {
            if symbol.byte_range.end >= range.end {
                names.push(symbol.name.clone());
                nesting = symbol.nesting;
            }
            if symbol.nesting == 0 && symbol.byte_range.end >= range.end {
                break;
            }
        }
    }

    names.reverse();
    names
}
