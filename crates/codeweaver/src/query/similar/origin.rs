//! Origin: the code at a line, which other code is compared with.

use std::ops::Range;

use codeweaver_embed::Embedder;
use codeweaver_store::symbols::SymbolRecord;
use codeweaver_text as text;

use super::texts::{Texts, input_of};
use crate::query::answer::evidence::Evidence;
use crate::query::definitions;
use crate::query::error::QueryError;
use crate::query::locate::{self, Located};
use crate::query::retrieve::lexical;
use crate::query::view::{RowId, View};

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
    /// Finds the code at `line` of `file`.
    ///
    /// # Errors
    /// [`QueryError::BeyondEnd`] if the file has no such line, [`QueryError::NotFound`] if no chunk has it.
    pub fn find(view: &View, texts: &mut Texts<'_>, file: &Located, line: u32) -> Result<Origin, QueryError> {
        let no_chunk =
            || QueryError::NotFound { what: format!("{}:{line} (the file has no chunk there)", file.path) };
        let chunk = chunk_at(view, file.doc, line)
            .ok_or_else(|| locate::beyond_end(view, file, line).unwrap_or_else(no_chunk))?;

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
            // Without the vector, the chunk at the line is compared instead.
            Err(error) => {
                tracing::warn!(component = "searcher", operation = "embed", %error, "a definition has no vector");
                None
            }
        }
    }

    /// Returns whether a definition of `doc` is the one that is compared, around it or in it.
    pub fn overlaps(&self, doc: u32, symbol: &SymbolRecord) -> bool {
        doc == self.doc && self.has_bytes_of(symbol.start_byte..symbol.end_byte)
    }

    /// Returns whether a chunk of `doc` is the one that is compared, or has text of the definition that is.
    pub fn has_text_in(&self, view: &View, doc: u32, id: RowId) -> bool {
        let (_, row) = view.row(id);
        doc == self.doc && (id == self.chunk || self.has_bytes_of(row.start_byte..row.end_byte))
    }

    /// Returns whether the definition overlaps the range `bytes` of its file.
    fn has_bytes_of(&self, bytes: Range<u32>) -> bool {
        self.definition.as_ref().is_some_and(|own| bytes.start < own.end_byte && own.start_byte < bytes.end)
    }
}

/// The smallest chunk of a doc that contains `line`.
fn chunk_at(view: &View, doc: u32, line: u32) -> Option<RowId> {
    let mut smallest = None;
    for id in locate::rows(view, doc) {
        let (_, row) = view.row(id);
        if !(row.start_line..=row.end_line).contains(&line) {
            continue;
        }

        let key = (row.end_byte - row.start_byte, row.start_byte);
        if smallest.is_none_or(|(least, _)| key < least) {
            smallest = Some((key, id));
        }
    }
    smallest.map(|(_, id)| id)
}
