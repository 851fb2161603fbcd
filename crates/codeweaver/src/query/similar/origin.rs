//! Origin: the code at a line, for which similar code is looked for.

use super::texts::{Texts, input_of};
use crate::query::answer::evidence::Evidence;
use crate::query::definitions;
use crate::query::error::QueryError;
use crate::query::locate::{self, Located};
use crate::query::retrieve::lexical;
use crate::query::view::{RowId, View};
use codeweaver_embed::Embedder;
use codeweaver_store::symbols::SymbolRecord;
use codeweaver_text as text;

/// The definition at a line, or the chunk if there is none.
pub struct Origin {
    pub doc: u32,
    /// The smallest chunk with the line.
    pub chunk: RowId,
    pub definition: Option<SymbolRecord>,
    /// The model input of the definition.
    pub input: String,
    pub evidence: Evidence,
}

impl Origin {
    /// The code at `line` of `file`.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] if no chunk has the line.
    pub fn find(view: &View, texts: &mut Texts<'_>, file: &Located, line: u32) -> Result<Origin, QueryError> {
        let chunk = chunk_at(view, file.doc, line).ok_or_else(|| QueryError::NotFound {
            what: format!("{}:{line} (the file has no chunk there)", file.path),
        })?;
        let text = texts.of_doc(chunk)?;
        let definition = definitions::at_line(view, file.doc, text, line);
        let (segment, row) = view.row(chunk);
        let own = match &definition {
            Some(symbol) => symbol.start_byte..symbol.end_byte,
            None => row.start_byte..row.end_byte,
        };
        let input = definition.as_ref().map(|symbol| input_of(segment, symbol, text)).unwrap_or_default();
        let own = text.get(own.start as usize..own.end as usize).unwrap_or_default();
        let terms = text::query_terms(&String::from_utf8_lossy(own));
        let evidence = Evidence::of_terms(&terms, &lexical::idf_of(view, &terms));
        Ok(Origin { doc: file.doc, chunk, definition, input, evidence })
    }

    /// The vector of the definition; `None` without one or if the model is unavailable.
    pub fn vector(&self, embedder: Option<&dyn Embedder>) -> Option<Vec<i8>> {
        let embedder = embedder.filter(|_| self.definition.is_some())?;
        let mut vector = Vec::new();
        match embedder.embed_documents(&[self.input.as_str()], &mut vector) {
            Ok(()) => Some(vector),
            Err(error) => {
                tracing::warn!(component = "query", operation = "embed", %error, "a definition has no vector");
                None
            }
        }
    }

    /// Whether a definition of `doc` is the one that is compared, around it or in it.
    pub fn overlaps(&self, doc: u32, symbol: &SymbolRecord) -> bool {
        let is_over =
            |own: &SymbolRecord| symbol.start_byte < own.end_byte && own.start_byte < symbol.end_byte;
        doc == self.doc && self.definition.as_ref().is_some_and(is_over)
    }

    /// Whether a chunk of `doc` is the one that is compared, or has text of the definition that is.
    pub fn has_text_in(&self, view: &View, doc: u32, id: RowId) -> bool {
        let (_, row) = view.row(id);
        let is_over = |own: &SymbolRecord| row.start_byte < own.end_byte && own.start_byte < row.end_byte;
        doc == self.doc && (id == self.chunk || self.definition.as_ref().is_some_and(is_over))
    }
}

/// The smallest chunk of a doc that contains `line`.
fn chunk_at(view: &View, doc: u32, line: u32) -> Option<RowId> {
    let row = |id: RowId| view.row(id).1;
    locate::rows(view, doc)
        .filter(|&id| (row(id).start_line..=row(id).end_line).contains(&line))
        .min_by_key(|&id| (row(id).end_byte - row(id).start_byte, row(id).start_byte))
}
