//! The texts of files and of the definitions in them.

use std::sync::Arc;

use codeweaver_git::{BlobReader, Oid};
use codeweaver_index::Codebase;
use codeweaver_store::segment::Segment;
use codeweaver_store::symbols::SymbolRecord;

use crate::query::definitions::title_of;
use crate::query::error::QueryError;
use crate::query::view::{RowId, View};

/// Maximum number of bytes of a definition that are embedded; chunks have the same limit.
const MAX_BYTES: usize = 16 << 10;

/// Reads the bytes of docs. Those of the last doc are kept.
pub struct Texts<'a> {
    codebase: &'a Codebase,
    view: &'a View,
    /// Opened when the first blob is read.
    blobs: Option<BlobReader>,
    last: Option<(Oid, Arc<[u8]>)>,
}

impl<'a> Texts<'a> {
    pub fn new(codebase: &'a Codebase, view: &'a View) -> Texts<'a> {
        Texts { codebase, view, blobs: None, last: None }
    }

    /// The bytes of the doc of a row; empty if they are not in this clone.
    pub fn of_doc(&mut self, id: RowId) -> Result<&[u8], QueryError> {
        let (segment, row) = self.view.row(id);
        let Some(doc) = segment.docs().get(row.doc as usize) else { return Ok(&[]) };

        let oid = segment.blob_oid(doc);
        if self.last.as_ref().is_none_or(|(last, _)| *last != oid) {
            let blobs = self.blobs.get_or_insert_with(|| self.codebase.repo.blobs());
            let bytes = self.view.blob_from(blobs, &oid)?.unwrap_or_default();
            self.last = Some((oid, bytes));
        }

        Ok(self.last.as_ref().map_or(&[], |(_, bytes)| bytes))
    }
}

/// The model input of a definition of `segment`, made as that of a chunk with this definition alone. `text`
/// is that of its file.
pub fn input_of(segment: &Segment, symbol: &SymbolRecord, text: &[u8]) -> String {
    let (start, end) = (symbol.start_byte as usize, symbol.end_byte as usize);
    let own = text.get(start..end.min(start.saturating_add(MAX_BYTES))).unwrap_or_default();
    let (own, doc) = (String::from_utf8_lossy(own), segment.text(symbol.doc));
    let doc = if doc.is_empty() || own.contains(&doc) { String::new() } else { format!("{doc}\n") };
    format!("{}\n{doc}{own}", title_of(segment, symbol))
}
