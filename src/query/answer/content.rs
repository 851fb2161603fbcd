//! Ranked files → matches with their text, within the token budget (requirement R6).
//!
//! The text shown is cut from exactly the blob whose spans are applied: bytes are fetched by object id, never by path.

use crate::chunk::tokens;
use crate::git::BlobReader;
use crate::index::Codebase;
use crate::query::cancel::Cancel;
use crate::query::error::QueryError;
use crate::query::rank::near_duplicates::Copy;
use crate::query::rank::{RankedFile, class_of};
use crate::query::response::{Content, FileInfo, Match, MatchType, Place, Span};
use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};
use crate::store::StoreError;
use crate::store::segment::{RowRecord, Segment, StringRef};
use crate::store::symbols::SymbolRecord;

/// Further spans that are named per file.
const MORE_IN_FILE: usize = 5;
/// Symbols named per match.
const RELATED_SYMBOLS: usize = 12;
/// Tokens that a match costs besides its text: path, span, names.
const TOKENS_AROUND: u32 = 40;

/// How much may be said.
pub struct Budget {
    pub offset: usize,
    pub n_matches: usize,
    pub tokens: u32,
    pub min_score: f32,
    pub explain: bool,
    pub without_content: bool,
    pub cancel: Cancel,
}

/// Matches in rank order with the tokens they take. Whole chunks are cut to signatures before they are dropped, the first to
/// its place.
pub fn matches(
    codebase: &Codebase,
    view: &View,
    files: &[RankedFile],
    budget: &Budget,
) -> Result<(Vec<Match>, u32), QueryError> {
    let mut used = 0;
    let mut shown = Vec::new();
    let mut blobs = codebase.repo.blobs();
    let files = files.iter().filter(|file| file.relevance >= budget.min_score);
    for file in files.skip(budget.offset).take(budget.n_matches) {
        budget.cancel.check()?;
        let mut found = one(&mut blobs, view, file, budget)?;
        let mut cost = cost_of(&found);
        if used + cost > budget.tokens {
            elide(&mut found);
            cost = cost_of(&found);
        }
        // Where it is, of the best one, is worth more than nothing.
        if used + cost > budget.tokens && shown.is_empty() {
            found.to_location();
            cost = cost_of(&found);
        }
        if used + cost > budget.tokens {
            break;
        }
        used += cost;
        shown.push(found);
    }
    Ok((shown, used))
}

/// Lines `span` of the chunk's blob, which must be local.
fn text_of(blobs: &mut BlobReader, view: &View, id: RowId) -> Result<String, QueryError> {
    let (segment, row) = place(view, id);
    // A span is applied only to the blob whose rows include this one.
    let Some((_, doc)) = segment.doc_of(id.row) else {
        let name = &view.reader.state.segments[id.segment as usize].name;
        return Err(StoreError::damaged(
            &view.reader.layout.segment(name),
            "a chunk names another blob than its own",
        )
        .into());
    };
    let oid = segment.blob_oid(doc);
    let Some(bytes) = view.blob_from(blobs, &oid)? else {
        return Ok("(this blob is not in this clone)".to_owned());
    };
    match bytes.get(row.start_byte as usize..row.end_byte as usize) {
        Some(text) if lines_of(&bytes, row) == (row.start_line, row.end_line) => {
            Ok(String::from_utf8_lossy(text).into_owned())
        }
        _ => {
            let name = &view.reader.state.segments[id.segment as usize].name;
            let what = "the bytes and the lines of a chunk do not agree";
            Err(StoreError::damaged(&view.reader.layout.segment(name), what).into())
        }
    }
}

/// The lines that the byte range of `row` touches, 1-based, inclusive.
fn lines_of(bytes: &[u8], row: &RowRecord) -> (u32, u32) {
    let newlines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count() as u32;
    let (start, last) = (row.start_byte, row.end_byte.saturating_sub(1).max(row.start_byte));
    let (before, rest) = bytes.split_at(bytes.len().min(start as usize));
    let first = newlines(before) + 1;
    (first, first + newlines(&rest[..rest.len().min((last - start) as usize)]))
}

fn place(view: &View, id: RowId) -> (&Segment, &RowRecord) {
    let segment = &view.reader.segments[id.segment as usize];
    (segment, &segment.rows()[id.row as usize])
}

fn one(blobs: &mut BlobReader, view: &View, file: &RankedFile, budget: &Budget) -> Result<Match, QueryError> {
    let best = &file.chunks[0];
    let (segment, row) = place(view, best.id);
    let (path, _) = view.entry(file.entry);
    let symbols: Vec<SymbolRecord> = segment.symbols_of(row).collect();
    // The symbol that gave the chunk its class, so that signature and class speak of the same thing.
    let head = symbols.iter().min_by_key(|symbol| {
        let len = symbol.end_byte.saturating_sub(symbol.start_byte);
        (symbol.class != row.class, symbol.nesting, std::cmp::Reverse(len), symbol.start_byte)
    });
    let of_head = |text: fn(&SymbolRecord) -> StringRef| {
        head.map_or("", |symbol| segment.string(text(symbol))).to_owned()
    };
    let doc = segment.docs().get(row.doc as usize);
    let mut names: Vec<String> =
        symbols.iter().map(|symbol| segment.string(symbol.qualified_name).to_owned()).collect();
    names.dedup();
    names.truncate(RELATED_SYMBOLS);
    let text = if budget.without_content { String::new() } else { text_of(blobs, view, best.id)? };
    Ok(Match {
        file: FileInfo {
            path: String::from_utf8_lossy(path).into_owned(),
            language: segment.language(row.language).to_owned(),
        },
        content: Content {
            text,
            title: segment.string(row.title).to_owned(),
            class: class_of(view, best).name(),
            signature: of_head(|symbol| symbol.signature),
            doc: of_head(|symbol| symbol.doc),
            elided: budget.without_content,
        },
        span: (row.start_line, row.end_line),
        relevance_score: rounded(file.relevance),
        match_type: match_type(file),
        related_symbols: names,
        blob: doc.map(|doc| segment.blob_oid(doc).to_string()).unwrap_or_default(),
        rev: view.spec.clone(),
        state: view.state_of(path),
        more_in_file: file
            .chunks
            .iter()
            .skip(1)
            .take(MORE_IN_FILE)
            .map(|chunk| span(view, file, chunk))
            .collect(),
        also_at: file
            .also_at
            .iter()
            .map(|&id| String::from_utf8_lossy(view.entry(id).0).into_owned())
            .collect(),
        near_copies: file.copies.iter().map(|copy| place_of(view, copy)).collect(),
        explanation: budget.explain.then_some(file.explanation),
    })
}

fn place_of(view: &View, copy: &Copy) -> Place {
    let (_, row) = place(view, copy.id);
    let path = String::from_utf8_lossy(view.entry(copy.entry).0).into_owned();
    Place { path, span: (row.start_line, row.end_line) }
}

fn span(view: &View, file: &RankedFile, chunk: &Candidate) -> Span {
    let (segment, row) = place(view, chunk.id);
    let strength = |c: &Candidate| c.bm25 + c.cosine.max(0.0) + c.definition;
    let share = strength(chunk) / strength(&file.chunks[0]).max(f32::MIN_POSITIVE);
    Span {
        span: (row.start_line, row.end_line),
        title: segment.string(row.title).to_owned(),
        relevance_score: rounded(file.relevance * share.clamp(0.0, 1.0)),
    }
}

/// Four decimals: more would only show noise.
fn rounded(score: f32) -> f32 {
    (score * 10_000.0).round() / 10_000.0
}

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

fn cost_of(found: &Match) -> u32 {
    let names: u32 = found.related_symbols.iter().map(|name| tokens::count(name)).sum();
    TOKENS_AROUND + tokens::count(&found.content.text) + tokens::count(&found.content.doc) + names
}

fn elide(found: &mut Match) {
    found.content.text = if found.content.signature.is_empty() {
        found.content.text.lines().next().unwrap_or("").chars().take(200).collect()
    } else {
        found.content.signature.clone()
    };
    found.content.elided = true;
    found.related_symbols.truncate(4);
    found.more_in_file.clear();
}
