//! The texts of chunks, cut from their blobs.
//!
//! A blob is read by object id, never by path, so that spans and text belong together.

use std::sync::Arc;

use codeweaver_git::{BlobReader, Oid};
use codeweaver_index::Codebase;
use codeweaver_store::StoreError;
use codeweaver_store::records::RowRecord;

use crate::query::error::QueryError;
use crate::query::view::{RowId, View};

/// Reads the texts of chunks. The last blob is kept, for further chunks of the same file.
pub struct Texts<'a> {
    codebase: &'a Codebase,
    view: &'a View,
    /// Opened when a blob is read that is not in memory.
    blobs: Option<BlobReader>,
    last: Option<(Oid, Option<Arc<[u8]>>)>,
}

impl<'a> Texts<'a> {
    pub fn new(codebase: &'a Codebase, view: &'a View) -> Texts<'a> {
        Texts { codebase, view, blobs: None, last: None }
    }

    /// The view that the chunks belong to.
    pub fn view(&self) -> &'a View {
        self.view
    }

    /// The text of a chunk; `None` if its blob is not in this clone.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the row does not fit its blob.
    pub fn get(&mut self, id: RowId) -> Result<Option<&[u8]>, QueryError> {
        let (_, row) = self.view.row(id);
        let damaged = damaged(self.view, id, "the bytes and the lines of a chunk do not agree");
        let Some(bytes) = self.blob_of(id)? else { return Ok(None) };

        // The lines are counted again, so that a damaged row never shows the text of another place.
        match bytes.get(row.start_byte as usize..row.end_byte as usize) {
            Some(text) if lines_of(bytes, row) == (row.start_line, row.end_line) => Ok(Some(text)),
            _ => Err(damaged),
        }
    }

    /// The whole blob of a chunk; `None` if it is not in this clone.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the row names another blob than its own.
    pub fn blob_of(&mut self, id: RowId) -> Result<Option<&[u8]>, QueryError> {
        let (segment, _) = self.view.row(id);
        // The doc whose rows include this one, which the row itself may contradict.
        let Some((_, doc)) = segment.doc_of(id.row) else {
            return Err(damaged(self.view, id, "a chunk names another blob than its own"));
        };

        let oid = segment.blob_oid(doc);

        if self.last.as_ref().is_none_or(|(last, _)| *last != oid) {
            let text = match self.view.blob_in_memory(&oid) {
                Some(text) => Some(text),
                None => {
                    let blobs = self.blobs.get_or_insert_with(|| self.codebase.repo.blobs());
                    self.view.blob_from(blobs, &oid)?
                }
            };
            self.last = Some((oid, text));
        }

        Ok(self.last.as_ref().and_then(|(_, bytes)| bytes.as_deref()))
    }
}

/// The error for a damaged segment, of which `id` is a row.
fn damaged(view: &View, id: RowId, what: &str) -> QueryError {
    let name = &view.reader.state.segments[id.segment as usize].name;
    StoreError::damaged(&view.reader.layout.segment(name), what).into()
}

/// First and last line of the byte range of `row`, 1-based, inclusive.
fn lines_of(bytes: &[u8], row: &RowRecord) -> (u32, u32) {
    let (start, last) = (row.start_byte, row.end_byte.saturating_sub(1).max(row.start_byte));
    let (before, rest) = bytes.split_at(bytes.len().min(start as usize));
    let first = count_newlines(before) + 1;
    (first, first + count_newlines(&rest[..rest.len().min((last - start) as usize)]))
}

fn count_newlines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}
