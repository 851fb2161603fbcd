//! Outline: the definitions of a file, in order.

use codeweaver_chunk::{ChunkSource, SemanticClass, SymbolKind, grammar};
use codeweaver_config::Settings;
use codeweaver_git::quoting;

use super::error::QueryError;
use super::locate;
use super::request::ViewRequest;
use super::response::IndexInfo;
use super::view::{MatchState, View};

/// Stored sources of chunks whose symbols are all known.
const SEMANTIC: u8 = ChunkSource::Semantic as u8;
const MARKDOWN: u8 = ChunkSource::Markdown as u8;

/// The definitions of a file.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct Outline {
    /// Relative to the root of the repository.
    pub path: String,
    /// Name in the language table.
    pub language: String,
    /// Hex oid of the contents.
    pub blob: String,
    /// The revision as typed, or `HEAD`.
    pub rev: String,
    /// Whether the file is committed.
    pub state: MatchState,
    /// Ordered by span and nesting.
    pub symbols: Vec<OutlineSymbol>,
    /// False if definitions may be missing, because the language has no grammar or the file cannot be parsed.
    pub complete: bool,
    /// The state of the index that was searched.
    pub index: IndexInfo,
}

/// A definition.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct OutlineSymbol {
    /// Without qualifiers.
    pub name: String,
    /// With the names of the enclosing definitions.
    pub qualified_name: String,
    /// `function`, `class`, …
    pub kind: &'static str,
    /// Semantic class.
    pub class: &'static str,
    /// Empty if it has none.
    pub signature: String,
    /// The documentation comment; empty if it has none.
    pub doc: String,
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
    /// Number of enclosing definitions.
    pub nesting: u8,
}

impl Outline {
    /// Keeps the definitions that have one of these lines (1-based, inclusive).
    pub fn keep_lines(&mut self, (first, last): (u32, u32)) {
        self.symbols.retain(|symbol| symbol.span.0 <= last && first <= symbol.span.1);
    }

    /// Returns whether the language has a grammar; without one, no definitions are known.
    pub fn has_grammar(&self) -> bool {
        grammar::index_of(&self.language).is_some()
    }

    /// Returns why definitions may be missing; `None` if they are complete.
    pub fn why_incomplete(&self) -> Option<&'static str> {
        match (self.complete, self.has_grammar()) {
            (true, _) => None,
            (false, true) => Some("definitions may be missing: the file cannot be parsed"),
            (false, false) => Some("definitions are not known: there is no grammar for the language"),
        }
    }
}

/// The view of `rev`, or of the working tree if `None`, in which the file at `path` is as on disk.
///
/// # Errors
/// [`QueryError::Parameter`] for a path outside of the repository.
pub(crate) fn view_request(
    path: &str,
    rev: Option<&str>,
    settings: &Settings,
) -> Result<ViewRequest, QueryError> {
    Ok(ViewRequest {
        revision: rev.map(str::to_owned),
        files: vec![quoting::text(&locate::clean(path)?)],
        budget: ViewRequest::UNLIMITED,
        ..ViewRequest::new(settings)
    })
}

/// The outline of the file at `path` of `view`, whose state is `index`.
///
/// # Errors
/// [`QueryError::NotFound`] if the file is not indexed.
pub(crate) fn outline(view: &View, path: &str, index: IndexInfo) -> Result<Outline, QueryError> {
    let file = locate::file(view, path)?;

    let mut symbols = Vec::new();
    let (mut n_rows, mut n_pieces) = (0, 0);

    for id in locate::rows(view, file.doc) {
        let segment = &view.reader.segments[id.segment as usize];
        let row = &segment.rows()[id.row as usize];
        n_rows += 1;
        n_pieces += u32::from(!matches!(row.source, SEMANTIC | MARKDOWN));
        symbols.extend(segment.symbols_of(row).map(|symbol| OutlineSymbol {
            name: segment.name(symbol.name).to_owned(),
            qualified_name: segment.name(symbol.qualified_name).to_owned(),
            kind: SymbolKind::from_u8(symbol.kind).map_or("other", SymbolKind::name),
            class: SemanticClass::from_u8(symbol.class).unwrap_or(SemanticClass::Unknown).name(),
            signature: segment.signature(&symbol),
            doc: segment.text(symbol.doc),
            span: (symbol.start_line, symbol.end_line),
            nesting: symbol.nesting,
        }));
    }

    symbols.sort_by(|a, b| (a.span, a.nesting, &a.name).cmp(&(b.span, b.nesting, &b.name)));
    symbols.dedup_by(|a, b| (a.span, &a.qualified_name) == (b.span, &b.qualified_name));
    // A parsed file has at least one chunk that the parser found.
    let complete = n_rows == 0 || n_pieces < n_rows;

    Ok(Outline {
        path: file.path,
        language: file.language,
        blob: file.blob_oid.to_string(),
        index,
        rev: view.spec.clone(),
        state: file.state,
        symbols,
        complete,
    })
}
