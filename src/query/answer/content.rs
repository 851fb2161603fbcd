//! Matches with their text, within the budget.
//!
//! Text is cut from the blob that the spans belong to: it is read by object id, never by path.

use super::Ranking;
use super::budget::{Budget, Fitted};
use super::evidence::Evidence;
use super::focus::InChunk;
use crate::chunk::SemanticClass;
use crate::git::{BlobReader, quoting};
use crate::index::Codebase;
use crate::query::error::QueryError;
use crate::query::rank::{NearDuplicate, RankedFile, class_of};
use crate::query::response::{Content, FileInfo, Focus, Match, MatchType, Place, Span};
use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};
use crate::store::StoreError;
use crate::store::records::{RowRecord, StringRef};
use crate::store::symbols::SymbolRecord;

/// Number of matches from the best whose text decides their focus; that of the others follows from names and
/// documentation alone. An answer has room for the text of about as many.
const FOCUSED_BY_TEXT: usize = 10;
/// Maximum number of further spans of a file.
const MAX_MORE_IN_FILE: usize = 5;
/// Maximum number of symbols of a match.
const MAX_RELATED_SYMBOLS: usize = 12;

/// The matches of `ranking` within `budget`, best first.
pub fn matches(
    codebase: &Codebase,
    view: &View,
    ranking: &Ranking,
    budget: &Budget<'_>,
) -> Result<Fitted, QueryError> {
    let mut matches = Vec::new();
    let mut blobs = codebase.repo.blobs();
    let files = ranking.files.iter().filter(|file| file.relevance >= budget.min_score);
    for (place, file) in files.enumerate().skip(budget.offset).take(budget.limit) {
        budget.cancel.check()?;
        let focus = FocusBy { evidence: &ranking.evidence, text: place < FOCUSED_BY_TEXT };
        matches.push(match_of(&mut blobs, view, file, &focus, budget)?);
    }
    Ok(budget.fit(matches))
}

/// The text of a chunk; `None` if its blob is not in this clone.
///
/// # Errors
/// [`StoreError::Damaged`] if the row does not fit its blob.
fn text_of(blobs: &mut BlobReader, view: &View, id: RowId) -> Result<Option<Vec<u8>>, QueryError> {
    let (segment, row) = view.row(id);
    let damaged = |what: &str| -> QueryError {
        let name = &view.reader.state.segments[id.segment as usize].name;
        StoreError::damaged(&view.reader.layout.segment(name), what).into()
    };
    // The doc whose rows include this one, which the row itself may contradict.
    let Some((_, doc)) = segment.doc_of(id.row) else {
        return Err(damaged("a chunk names another blob than its own"));
    };
    let Some(bytes) = view.blob_from(blobs, &segment.blob_oid(doc))? else {
        return Ok(None);
    };
    match bytes.get(row.start_byte as usize..row.end_byte as usize) {
        Some(text) if lines_of(&bytes, row) == (row.start_line, row.end_line) => Ok(Some(text.to_vec())),
        _ => Err(damaged("the bytes and the lines of a chunk do not agree")),
    }
}

/// First and last line of the byte range of `row`, 1-based, inclusive.
fn lines_of(bytes: &[u8], row: &RowRecord) -> (u32, u32) {
    let newlines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count() as u32;
    let (start, last) = (row.start_byte, row.end_byte.saturating_sub(1).max(row.start_byte));
    let (before, rest) = bytes.split_at(bytes.len().min(start as usize));
    let first = newlines(before) + 1;
    (first, first + newlines(&rest[..rest.len().min((last - start) as usize)]))
}

/// What decides the focus of a match.
struct FocusBy<'a> {
    evidence: &'a Evidence,
    /// Whether the text of the chunk counts, besides names and documentation.
    text: bool,
}

/// The match for a ranked file, of any length.
fn match_of(
    blobs: &mut BlobReader,
    view: &View,
    file: &RankedFile,
    by: &FocusBy<'_>,
    budget: &Budget<'_>,
) -> Result<Match, QueryError> {
    let best = &file.chunks[0];
    let (segment, row) = view.row(best.id);
    let (path, _) = view.entry(file.entry);
    let symbols: Vec<SymbolRecord> = segment.symbols_of(row).collect();
    let in_chunk = InChunk::new(view, best.id, path);
    let is_decided = !by.text || in_chunk.is_decided(by.evidence);
    let text = match budget.without_content && is_decided {
        true => None,
        false => text_of(blobs, view, best.id)?,
    };
    let evident = text.as_deref().filter(|_| by.text).unwrap_or_default();
    let (focus, head, class) = match in_chunk.focus(evident, by.evidence) {
        Some((focus, symbol)) => (focus, Some(symbol), SemanticClass::from_u8(symbol.class)),
        None => {
            let (start_line, end_line) = (row.start_line, row.end_line);
            (Focus { start_line, end_line, ..Focus::default() }, main_symbol(&symbols, row), None)
        }
    };
    let of_head = |text: fn(&SymbolRecord) -> StringRef| {
        head.map_or("", |symbol| segment.string(text(&symbol))).to_owned()
    };
    let doc = segment.docs().get(row.doc as usize);
    let mut names: Vec<String> =
        symbols.iter().map(|symbol| segment.string(symbol.qualified_name).to_owned()).collect();
    names.dedup();
    names.truncate(MAX_RELATED_SYMBOLS);
    let text = match text {
        _ if budget.without_content => String::new(),
        Some(text) => String::from_utf8_lossy(&text).into_owned(),
        None => "(this blob is not in this clone)".to_owned(),
    };
    let more_in_file = file.chunks.iter().skip(1).take(MAX_MORE_IN_FILE);
    Ok(Match {
        file: FileInfo { path: quoting::text(path), language: segment.language(row.language).to_owned() },
        content: Content {
            text,
            title: segment.string(row.title).to_owned(),
            class: class.unwrap_or_else(|| class_of(view, best)).name(),
            signature: of_head(|symbol| symbol.signature),
            doc: of_head(|symbol| symbol.doc),
            elided: budget.without_content,
        },
        span: (row.start_line, row.end_line),
        focus,
        relevance_score: rounded(file.relevance),
        match_type: match_type(file),
        related_symbols: names,
        blob: doc.map(|doc| segment.blob_oid(doc).to_string()).unwrap_or_default(),
        rev: view.spec.clone(),
        state: view.state_of(path),
        more_in_file: more_in_file.map(|chunk| span(view, file, chunk)).collect(),
        also_at: file.also_at.iter().map(|&id| quoting::text(view.entry(id).0)).collect(),
        near_copies: file.near_duplicates.iter().map(|duplicate| place(view, duplicate)).collect(),
        explanation: budget.explain.then_some(file.explanation),
    })
}

/// The symbol that gave a chunk its class, so that class and signature belong together.
fn main_symbol(symbols: &[SymbolRecord], row: &RowRecord) -> Option<SymbolRecord> {
    let order = |symbol: &&SymbolRecord| {
        let len = symbol.end_byte.saturating_sub(symbol.start_byte);
        (symbol.class != row.class, symbol.nesting, std::cmp::Reverse(len), symbol.start_byte)
    };
    symbols.iter().min_by_key(order).copied()
}

fn place(view: &View, duplicate: &NearDuplicate) -> Place {
    let (_, row) = view.row(duplicate.id);
    let path = quoting::text(view.entry(duplicate.entry).0);
    Place { path, span: (row.start_line, row.end_line) }
}

/// A further chunk of a file. Its relevance is that of the file, by its share of the evidence of the best
/// chunk.
fn span(view: &View, file: &RankedFile, chunk: &Candidate) -> Span {
    let (segment, row) = view.row(chunk.id);
    let strength = |c: &Candidate| c.bm25 + c.cosine.max(0.0) + c.definition;
    let share = strength(chunk) / strength(&file.chunks[0]).max(f32::MIN_POSITIVE);
    Span {
        span: (row.start_line, row.end_line),
        title: segment.string(row.title).to_owned(),
        relevance_score: rounded(file.relevance * share.clamp(0.0, 1.0)),
    }
}

/// `score` to four decimals; further digits are noise.
fn rounded(score: f32) -> f32 {
    (score * 10_000.0).round() / 10_000.0
}

/// The kind of evidence that contributed most to the score; a definition comes before all others.
fn match_type(file: &RankedFile) -> MatchType {
    let e = &file.explanation;
    if e.definition > 0.0 {
        MatchType::Syntactic
    } else if e.path > e.lexical + e.dense {
        MatchType::FilePattern
    } else if e.dense > e.lexical {
        MatchType::Semantic
    } else {
        MatchType::Keyword
    }
}
