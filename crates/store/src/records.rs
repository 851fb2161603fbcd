//! Fixed-size records of a segment file, read in place. Their layouts are part of the format of
//! [`super::segment`].

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::postings::N_FIELDS;
use super::strings::TextRef;

/// A chunk, 56 bytes.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct RowRecord {
    /// Ordinal of the doc in this segment.
    pub doc: u32,
    /// Half-open byte range in the blob.
    pub start_byte: u32,
    pub end_byte: u32,
    /// First and last line, 1-based and inclusive.
    pub start_line: u32,
    pub end_line: u32,
    pub token_count: u32,
    pub title: TextRef,
    /// Start of the chunk's symbols in section 6.
    pub symbols_at: u32,
    pub n_symbols: u16,
    /// Index into the language names.
    pub language: u16,
    /// Number of terms per field, saturating.
    pub field_len: [u16; N_FIELDS],
    pub class: u8,
    pub source: u8,
    pub is_container: u8,
    pub zero: u8,
}

/// A doc, 56 bytes.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct DocRecord {
    pub variant: u64,
    /// The object id of the blob, zero-padded beyond `oid_len` bytes.
    pub oid: [u8; 32],
    pub first_row: u32,
    pub n_rows: u32,
    pub blob_bytes: u32,
    pub language: u16,
    pub skipped: u8,
    pub zero: u8,
}

impl DocRecord {
    /// The rows of the doc, which are contiguous.
    pub fn rows(&self) -> Range<u32> {
        self.first_row..self.first_row.saturating_add(self.n_rows)
    }
}
