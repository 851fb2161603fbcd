//! Segments: the searchable form of a shard, derived from it and searched in place.
//!
//! A segment file has the name of its shard. Instead of vectors and input hashes it contains their offsets in
//! the shard. Its sections:
//!
//! | id | content |
//! |---:|---|
//! | 1 | [`SegmentHeader`] |
//! | 2 | [`RowRecord`] per chunk, in row order |
//! | 3 | [`DocRecord`] per doc, in doc order |
//! | 4 | doc ordinals sorted by key, u32 |
//! | 5 | first position in section 4 for each first byte of an object id, 257 × u32 |
//! | 6 | the symbols of the chunks, in row order (see [`crate::symbols`]) |
//! | 7 | names (see [`crate::strings`]) |
//! | 8, 9 | term dictionary and posting lists (see [`crate::postings`]) |
//! | 10 | language names, one per line |
//! | 11 | sign bits of the vectors (see [`crate::binary_quantisation`]); only in segments with many rows |
//! | 12–16 | words and their docs (see [`crate::words`]) |
//! | 17, 18 | texts: titles, signatures, documentation (see [`crate::strings`]) |

mod builder;

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bytemuck::{Pod, Zeroable};

use codeweaver_base::regular_file;
use codeweaver_base::sys::Mapped;
use codeweaver_git::Oid;
use codeweaver_text as text;

use super::binary_quantisation::{self, SignBits};
use super::container::Container;
use super::content;
use super::error::StoreError;
use super::postings::{Field, PostingList, Postings};
use super::records::{DocRecord, RowRecord};
use super::rows::DocKey;
use super::shard::{self, Offsets};
use super::signature;
use super::strings::{self, NameRef, RecentBlock, TextRef, Texts};
use super::symbols::{SymbolRecord, Symbols};
use super::words::Words;

pub use builder::{DocTerms, SegmentBuilder};

pub const MAGIC: [u8; 8] = *b"CWSEG\0\0\0";
/// Format 1, combined with the version of the terms: other terms make another format, which is rebuilt from
/// shard and git.
pub const VERSION: u32 = 1 + 100 * text::TERMS_VERSION;

const HEADER: u32 = 1;
const ROWS: u32 = 2;
const DOCS: u32 = 3;
const DOCS_SORTED: u32 = 4;
const DOCS_FANOUT: u32 = 5;
const SYMBOLS: u32 = 6;
const NAMES: u32 = 7;
const TERMS: u32 = 8;
const LISTS: u32 = 9;
const LANGUAGES: u32 = 10;
const SIGN_BITS: u32 = 11;
const INPUT_HASH_BYTES: usize = 16;
const WORDS: [u32; 5] = [12, 13, 14, 15, 16];
const TEXTS: [u32; 2] = [17, 18];

/// The header of a segment file, 32 bytes.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct SegmentHeader {
    /// Offset of the first vector in the shard file.
    pub vectors_at: u64,
    /// Offset of the first input hash in the shard file.
    pub input_hashes_at: u64,
    pub n_rows: u32,
    pub n_docs: u32,
    pub dim: u32,
    /// Bytes of an object id: 20 or 32.
    pub oid_len: u32,
}

/// An opened segment with its mapped shard. Opening is cheap: nothing is decoded, and four bytes per doc are
/// allocated.
pub struct Segment {
    file: Container,
    shard: Mapped,
    header: SegmentHeader,
    /// Language names by number.
    languages: Vec<String>,
    /// Number of body terms of each doc plus one, computed on demand; 0 if not yet computed.
    body_lens: Vec<AtomicU32>,
    /// Blocks of the sign bits of a segment that does not store them, computed on demand.
    sign_bits: OnceLock<Vec<u8>>,
    recent_text: RecentBlock,
}

impl Segment {
    /// Opens a segment and its shard, checking lengths and bounds.
    pub fn open(segment: &Path, shard: &Path) -> Result<Segment, StoreError> {
        let file = Container::open(segment, MAGIC, VERSION)?;
        let shard_map = regular_file::open(shard).and_then(|file| Mapped::from_file(&file));
        let shard_map = shard_map.map_err(StoreError::io("open", shard))?;
        Segment::new(file, shard_map, shard)
    }

    /// Makes a segment that is never written, for uncommitted files.
    pub fn in_memory(builder: SegmentBuilder) -> Result<Segment, StoreError> {
        let mut shard: Vec<u8> = bytemuck::cast_slice(&builder.data.vectors).to_vec();
        let offsets = Offsets { vectors: 0, input_hashes: shard.len() as u64 };
        shard.extend(builder.data.rows.iter().flat_map(|row| row.input_hash));

        let file = Container::in_memory(&builder.finish(offsets), MAGIC, VERSION)?;
        Segment::new(file, Mapped::owned(&shard), Path::new("(in memory)"))
    }

    fn new(file: Container, shard_map: Mapped, shard: &Path) -> Result<Segment, StoreError> {
        let header = *file
            .records::<SegmentHeader>(HEADER)?
            .first()
            .ok_or_else(|| StoreError::damaged(file.path(), "its header is empty"))?;

        let languages = std::str::from_utf8(file.section(LANGUAGES)?).unwrap_or("");
        let languages = languages.split('\n').map(str::to_owned).collect();

        let mut opened = Segment {
            file,
            shard: shard_map,
            header,
            languages,
            body_lens: Vec::new(),
            sign_bits: OnceLock::new(),
            recent_text: RecentBlock::default(),
        };

        opened.check(shard)?;
        opened.body_lens.resize_with(header.n_docs as usize, AtomicU32::default);
        Ok(opened)
    }

    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    pub fn n_rows(&self) -> u32 {
        self.header.n_rows
    }

    pub fn n_docs(&self) -> u32 {
        self.header.n_docs
    }

    pub fn dim(&self) -> usize {
        self.header.dim as usize
    }

    pub fn rows(&self) -> &[RowRecord] {
        self.file.records(ROWS).unwrap_or(&[])
    }

    pub fn docs(&self) -> &[DocRecord] {
        self.file.records(DOCS).unwrap_or(&[])
    }

    /// The rows of a doc; none if there is no such doc, as in damaged lists of words. Never more rows than
    /// there are: another program may overwrite the file while it is searched, and iterating over four
    /// billion rows would take minutes.
    pub fn doc_rows(&self, ordinal: u32) -> Range<u32> {
        let rows = self.docs().get(ordinal as usize).map_or(0..0, DocRecord::rows);
        rows.start..rows.end.min(self.header.n_rows)
    }

    /// Number of body terms of a doc: the sum over its rows.
    pub fn body_len(&self, ordinal: u32) -> u32 {
        let Some(known) = self.body_lens.get(ordinal as usize) else { return 0 };
        let len = known.load(Relaxed);
        if len > 0 {
            return len - 1;
        }

        let rows = self.docs().get(ordinal as usize).map_or(0..0, DocRecord::rows);
        let rows = self.rows().get(rows.start as usize..rows.end as usize).unwrap_or(&[]);
        let lens = rows.iter().map(|row| u32::from(row.field_len[Field::Body as usize]));
        let len = lens.fold(0u32, u32::saturating_add).min(u32::MAX - 1);

        known.store(len + 1, Relaxed);
        len
    }

    pub fn blob_oid(&self, doc: &DocRecord) -> Oid {
        Oid::from_bytes_or_panic(&doc.oid[..self.header.oid_len as usize])
    }

    pub fn key(&self, doc: &DocRecord) -> DocKey {
        DocKey { blob_oid: self.blob_oid(doc), variant: doc.variant }
    }

    /// The ordinal of the doc with `key`.
    pub fn find(&self, key: &DocKey) -> Option<u32> {
        let docs = self.docs();
        let wanted = Some((padded(&key.blob_oid), key.variant));
        let candidates = self.candidates(&key.blob_oid)?;

        let found = candidates
            .binary_search_by_key(&wanted, |&i| docs.get(i as usize).map(|doc| (doc.oid, doc.variant)));
        found.ok().map(|position| candidates[position])
    }

    /// The ordinal of a doc of `blob`, in any language.
    pub fn find_blob(&self, blob: &Oid) -> Option<u32> {
        let docs = self.docs();
        let wanted = Some(padded(blob));
        let candidates = self.candidates(blob)?;

        let found = candidates.binary_search_by_key(&wanted, |&i| docs.get(i as usize).map(|doc| doc.oid));
        found.ok().map(|position| candidates[position])
    }

    /// The ordinals of the docs whose object id has the same first byte as `oid`, sorted by key.
    fn candidates(&self, oid: &Oid) -> Option<&[u32]> {
        let sorted: &[u32] = self.file.records(DOCS_SORTED).ok()?;
        let fanout: &[u32] = self.file.records(DOCS_FANOUT).ok()?;
        let byte = usize::from(oid.as_slice()[0]);
        sorted.get(fanout[byte] as usize..fanout[byte + 1] as usize)
    }

    /// The doc of a row, with its ordinal. `None` for a damaged row that names another doc, since its span
    /// must never be applied to the bytes of another blob.
    pub fn doc_of(&self, row: u32) -> Option<(u32, &DocRecord)> {
        let ordinal = self.rows().get(row as usize)?.doc;
        let doc = self.docs().get(ordinal as usize)?;
        doc.rows().contains(&row).then_some((ordinal, doc))
    }

    pub fn symbols_of(&self, row: &RowRecord) -> Symbols<'_> {
        Symbols::new(self.file.section(SYMBOLS).unwrap_or(&[]), row)
    }

    pub fn name(&self, place: NameRef) -> &str {
        strings::name(self.file.section(NAMES).unwrap_or(&[]), place)
    }

    /// The bytes of the name at `place`, for conditions that need no valid text; empty if it is damaged.
    pub fn name_bytes(&self, place: NameRef) -> &[u8] {
        strings::name_bytes(self.file.section(NAMES).unwrap_or(&[]), place)
    }

    /// The text at `place`, which may have to be decompressed: microseconds.
    pub fn text(&self, place: TextRef) -> String {
        let [blocks, index] = TEXTS;
        let (blocks, index) = (self.file.section(blocks), self.file.records(index));
        Texts::new(blocks.unwrap_or(&[]), index.unwrap_or(&[]), &self.recent_text).get(place)
    }

    /// The signature of `symbol`, which may have to be decompressed.
    pub fn signature(&self, symbol: &SymbolRecord) -> String {
        signature::of_pattern(&self.text(symbol.signature), self.name(symbol.name))
    }

    pub fn language(&self, id: u16) -> &str {
        self.languages.get(usize::from(id)).map_or("text", String::as_str)
    }

    /// All vectors, row-major.
    pub fn vectors(&self) -> &[i8] {
        let start = self.header.vectors_at as usize;
        bytemuck::cast_slice(&self.shard[start..start + self.header.n_rows as usize * self.dim()])
    }

    pub fn vector(&self, row: u32) -> &[i8] {
        &self.vectors()[row as usize * self.dim()..][..self.dim()]
    }

    /// The sign bits of all vectors, stored or computed once.
    pub fn sign_bits(&self) -> SignBits<'_> {
        let n_bytes = binary_quantisation::bytes(self.header.n_rows, self.dim());
        let stored = self.file.section(SIGN_BITS).ok().filter(|stored| stored.len() == n_bytes);
        let blocks = stored.unwrap_or_else(|| {
            self.sign_bits.get_or_init(|| binary_quantisation::blocks(self.vectors(), self.dim()))
        });
        SignBits { blocks, dim: self.dim() }
    }

    /// The hash of the model input of each row.
    pub fn input_hashes(&self) -> &[[u8; 16]] {
        let start = self.header.input_hashes_at as usize;
        self.shard[start..start + self.header.n_rows as usize * INPUT_HASH_BYTES].as_chunks().0
    }

    /// The term dictionary. Opening it costs microseconds.
    pub fn postings(&self) -> Option<Postings<'_>> {
        Postings::new(self.file.section(TERMS).ok()?, self.file.section(LISTS).ok()?)
    }

    /// The posting list of one term.
    pub fn list(&self, field: Field, term: &str) -> Option<PostingList<'_>> {
        self.postings()?.get(field, term)
    }

    /// The words of the blobs; `None` if they are damaged.
    pub fn words(&self) -> Option<Words<'_>> {
        let [text, lists, blocks, unknown, filters] = WORDS;
        Words::new(
            self.file.section(text).ok()?,
            self.file.section(lists).ok()?,
            self.file.records(blocks).ok()?,
            self.file.records(unknown).ok()?,
            self.file.records(filters).ok()?,
            self.n_docs(),
        )
    }

    /// Hashes segment and shard, and compares their docs, which proves that the segment is derived from this
    /// shard. `name` is the hexadecimal BLAKE3 that names the shard.
    pub fn verify(&self, name: &str, shard: &Path) -> Result<(), StoreError> {
        self.file.verify()?;
        content::verify(shard, &self.shard, name)?;
        let (docs, n_rows) = shard::read_docs(shard)?;

        let mut pairs = self.docs().iter().zip(docs.iter().zip(&n_rows));
        let is_same = docs.len() == self.docs().len()
            && pairs.all(|(record, (doc, n_rows))| self.key(record) == doc.key && record.n_rows == *n_rows);
        if !is_same {
            return Err(StoreError::damaged(self.file.path(), "it is the segment of another shard"));
        }
        Ok(())
    }

    /// The maps of segment and shard.
    pub fn maps(&self) -> [&Mapped; 2] {
        [self.file.map(), &self.shard]
    }

    /// Checks that everything the header counts is there, so that searches need not check it again.
    fn check(&self, shard: &Path) -> Result<(), StoreError> {
        let path = self.file.path();
        let header = &self.header;

        let hash_bytes = INPUT_HASH_BYTES as u64;
        if !self.shard_has(header.vectors_at, header.dim.into())
            || !self.shard_has(header.input_hashes_at, hash_bytes)
        {
            return Err(StoreError::damaged(shard, "it is shorter than its segment says"));
        }
        let oid = [0u8; 32];
        let oid = oid.get(..header.oid_len as usize);
        if oid.is_none_or(|bytes| gix::hash::oid::try_from_bytes(bytes).is_err()) {
            return Err(StoreError::damaged(path, "its object ids have an unknown length"));
        }

        let n_rows = self.file.records::<RowRecord>(ROWS)?.len();
        let n_docs = self.file.records::<DocRecord>(DOCS)?.len();
        let n_sorted = self.file.records::<u32>(DOCS_SORTED)?.len();
        let fanout = self.file.records::<u32>(DOCS_FANOUT)?;
        self.file.section(SYMBOLS)?;

        let consistent = n_rows == header.n_rows as usize
            && n_docs == header.n_docs as usize
            && n_sorted == n_docs
            && (n_rows == 0 || header.dim > 0)
            && docs_cover_rows(self.docs(), header.n_rows)
            && fanout.len() == 257
            && fanout[256] as usize == n_docs
            && fanout.is_sorted();

        if !consistent {
            return Err(StoreError::damaged(path, "its sections do not fit together"));
        }
        Ok(())
    }

    /// Returns whether the shard has `row_bytes` for every row from `at` on.
    fn shard_has(&self, at: u64, row_bytes: u64) -> bool {
        let len = u64::from(self.header.n_rows) * row_bytes;
        at.checked_add(len).is_some_and(|end| end <= self.shard.len() as u64)
    }
}

/// An object id in the form of [`DocRecord::oid`].
fn padded(oid: &Oid) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..oid.as_slice().len()].copy_from_slice(oid.as_slice());
    bytes
}

/// Returns whether docs follow each other without gaps, so that no stored number leads outside the rows.
fn docs_cover_rows(docs: &[DocRecord], n_rows: u32) -> bool {
    let end = docs
        .iter()
        .try_fold(0u32, |next, doc| if doc.first_row == next { next.checked_add(doc.n_rows) } else { None });
    end == Some(n_rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_rows_symbols_and_terms_are_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mut left, mut right) = (SegmentBuilder::new(64).with_sign_bits_from(8), SegmentBuilder::new(64));
        let data = shard::tests::sample(50, 64, 3);
        let blob = b"fn alpha(){} fn beta(){} fn gamma(){} fn delta(){} end";

        let mut first = 0;
        for (i, (doc, &n)) in data.docs.iter().zip(&data.n_rows).enumerate() {
            let rows = data.rows[first..first + n as usize].to_vec();
            let vectors = &data.vectors[first * 64..(first + n as usize) * 64];
            let target = if i < 20 { &mut left } else { &mut right };
            target.push_doc(doc.clone(), rows, vectors, blob);
            first += n as usize;
        }
        left.append(right);
        assert_eq!(left.data, data);

        let (shard, segment) = left.encode(dir.path()).unwrap();
        std::fs::write(dir.path().join("s"), &shard.bytes).unwrap();
        std::fs::write(dir.path().join("g"), segment).unwrap();
        let segment = Segment::open(&dir.path().join("g"), &dir.path().join("s")).unwrap();
        assert_eq!(segment.vectors(), data.vectors);
        let computed = binary_quantisation::blocks(segment.vectors(), 64);
        assert_eq!(segment.sign_bits().blocks, computed);
        assert!(segment.sign_bits.get().is_none());
        assert_eq!(segment.sign_bits().rows(32..segment.n_rows()), &computed[32 * 8..]);
        for (i, doc) in data.docs.iter().enumerate() {
            assert_eq!(segment.find(&doc.key), Some(i as u32));
            assert_eq!(segment.doc_rows(i as u32).len(), data.n_rows[i] as usize);
        }
        assert!(segment.doc_rows(segment.n_docs()).is_empty());
        let absent = DocKey { variant: 1, ..data.docs[0].key };
        assert_eq!(segment.find(&absent), None);
        let symbol = segment.symbols_of(&segment.rows()[0]).next().unwrap();
        assert_eq!(segment.name(symbol.qualified_name), "Parser::f0");
        let mut rows = 0;
        segment.list(Field::Body, "alpha").unwrap().for_each(|_, tf| rows += tf);
        assert_eq!(rows as usize, data.n_rows.iter().filter(|&&n| n > 0).count());
        assert!(segment.list(Field::Symbol, "f0").is_some());
    }
}
