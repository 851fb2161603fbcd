//! Segments: the searchable form of a shard, derived from it and searched in place.
//!
//! A segment file has the name of its shard. It contains no vectors but their position in the shard. Its
//! sections:
//!
//! | id | content |
//! |---:|---|
//! | 1 | [`SegmentHeader`] |
//! | 2 | [`RowRecord`] per chunk, in row order |
//! | 3 | [`DocRecord`] per doc, in doc order |
//! | 4 | doc ordinals sorted by key, u32 |
//! | 5 | first position in section 4 for each first byte of an object id, 257 × u32 |
//! | 6 | the symbols of the chunks, in row order (see [`super::symbols`]) |
//! | 7 | names (see [`super::strings`]) |
//! | 8, 9 | term dictionary and posting lists (see [`super::postings`]) |
//! | 10 | language names, one per line |
//! | 11 | input hash per row, 16 bytes each |
//! | 12 | sign bits of the vectors (see [`super::binary_quantisation`]); only in segments with many rows |
//! | 13–16 | words and their docs (see [`super::words`]) |
//! | 17, 18 | texts: titles, signatures, documentation (see [`super::strings`]) |

use super::binary_quantisation::{self, SignBits};
use super::container::{Container, ContainerWriter};
use super::content;
use super::error::StoreError;
use super::postings::{FIELDS, Field, N_FIELDS, PostingList, Postings, PostingsBuilder};
use super::records::{DocRecord, RowRecord};
use super::rows::{DocKey, DocMeta, RowMeta, SymbolMeta};
use super::shard::{self, ShardData};
use super::strings::{self, NameRef, NamesBuilder, RecentBlock, TextRef, Texts, TextsBuilder};
use super::symbols::{self, SymbolRecord, Symbols};
use super::words::{Words, WordsBuilder};
use crate::git::Oid;
use crate::sys::Mapped;
use crate::text::{self, TermCount, TermCounts, TermTable};
use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub const MAGIC: [u8; 8] = *b"CWSEG\0\0\0";
/// Format 5 (4 had strings and words uncompressed, 3 the sign bits row by row, 2 symbols of equal length, 1
/// frequencies of one), combined with the version of the terms: other terms make another format, which is
/// rebuilt from shard and git.
pub const VERSION: u32 = 5 + 100 * text::TERMS_VERSION;

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
const INPUT_HASHES: u32 = 11;
const SIGN_BITS: u32 = 12;
const WORDS: [u32; 4] = [13, 14, 15, 16];
const TEXTS: [u32; 2] = [17, 18];

/// Segments with fewer rows have no section 12: repositories of that size are scanned exactly.
const MIN_SIGN_BIT_ROWS: u32 = 16 * 1024;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct SegmentHeader {
    /// Offset of the first vector in the shard file.
    pub vectors_at: u64,
    pub n_rows: u32,
    pub n_docs: u32,
    pub dim: u32,
    /// Bytes of an object id: 20 or 32.
    pub oid_len: u32,
}

/// A shard and its segment in memory. Docs are pushed in order, then both are written once.
pub struct SegmentBuilder {
    pub data: ShardData,
    min_sign_bit_rows: u32,
    postings: PostingsBuilder,
    words: WordsBuilder,
    /// Terms per row and field, parallel to the rows.
    field_len: Vec<[u16; N_FIELDS]>,
    n_symbols: usize,
    lists: ListNumbers,
    /// Of the docs whose terms were not counted before.
    table: TermTable,
    scratch: Vec<TermCount>,
}

/// The posting lists of the terms of a table, by field and term.
#[derive(Default)]
struct ListNumbers {
    table: u64,
    known: FxHashMap<(u32, u8), u32>,
}

/// The terms of a doc.
pub struct DocTerms<'a> {
    /// Of each row.
    pub bodies: &'a TermCounts,
    /// Has the terms of `bodies`.
    pub table: &'a mut TermTable,
}

impl Default for SegmentBuilder {
    fn default() -> SegmentBuilder {
        SegmentBuilder {
            data: ShardData::default(),
            min_sign_bit_rows: MIN_SIGN_BIT_ROWS,
            postings: PostingsBuilder::default(),
            words: WordsBuilder::default(),
            field_len: Vec::new(),
            n_symbols: 0,
            lists: ListNumbers::default(),
            table: TermTable::default(),
            scratch: Vec::new(),
        }
    }
}

impl SegmentBuilder {
    pub fn new(dim: usize) -> SegmentBuilder {
        SegmentBuilder { data: ShardData { dim, ..ShardData::default() }, ..SegmentBuilder::default() }
    }

    /// Stores sign bits in segments of at least `rows` rows. Tests use small values; every value gives the
    /// same answers.
    pub fn with_sign_bits_from(self, rows: u32) -> SegmentBuilder {
        SegmentBuilder { min_sign_bit_rows: rows, ..self }
    }

    /// Adds a doc with its rows (in position order), their vectors (row-major) and the blob they are ranges
    /// of.
    pub fn push_doc(&mut self, doc: DocMeta, rows: Vec<RowMeta>, vectors: &[i8], blob: &[u8]) {
        let mut table = std::mem::take(&mut self.table);
        let mut bodies = TermCounts::default();
        for row in &rows {
            let text = blob.get(row.byte_range.start as usize..row.byte_range.end as usize).unwrap_or(&[]);
            bodies.push(&mut table, &String::from_utf8_lossy(text));
        }
        self.push_counted(doc, rows, vectors, DocTerms { bodies: &bodies, table: &mut table });
        self.table = table;
    }

    /// As [`Self::push_doc`], with the terms of the rows counted.
    pub fn push_counted(&mut self, doc: DocMeta, rows: Vec<RowMeta>, vectors: &[i8], terms: DocTerms<'_>) {
        debug_assert_eq!(vectors.len(), rows.len() * self.data.dim);
        if self.lists.table != terms.table.id() {
            self.lists = ListNumbers { table: terms.table.id(), known: FxHashMap::default() };
        }
        for (i, row) in rows.iter().enumerate() {
            self.index_row(row, terms.bodies.get(i), terms.table);
            self.n_symbols += row.symbols.len();
        }
        self.data.docs.push(doc);
        self.data.n_rows.push(rows.len() as u32);
        self.data.rows.extend(rows);
        self.data.vectors.extend_from_slice(vectors);
        self.words.push_unknown();
    }

    /// Adds the words of the last doc, whose blob has these bytes. Without them, grep reads the blob for
    /// every pattern.
    pub fn set_words(&mut self, blob: &[u8]) {
        self.words.set_last(blob);
    }

    /// Appends the docs of `other`.
    pub fn append(&mut self, other: SegmentBuilder) {
        let row_base = self.data.rows.len() as u32;
        self.data.dim = self.data.dim.max(other.data.dim);
        self.data.docs.extend(other.data.docs);
        self.data.n_rows.extend(other.data.n_rows);
        self.data.rows.extend(other.data.rows);
        self.data.vectors.extend(other.data.vectors);
        self.postings.append(other.postings, row_base);
        self.words.append(other.words);
        self.field_len.extend(other.field_len);
        self.n_symbols += other.n_symbols;
    }

    /// Appends the docs of a finished segment, except those that `keep` (by ordinal) drops. `data` is its
    /// shard.
    pub fn append_segment(&mut self, segment: &Segment, data: ShardData, keep: impl Fn(u32) -> bool) {
        self.data.dim = self.data.dim.max(data.dim).max(segment.dim());
        let mut renamed = vec![u32::MAX; data.rows.len()];
        let mut rows = data.rows.into_iter().zip(data.vectors.chunks_exact(data.dim.max(1))).enumerate();
        for (ordinal, (doc, n_rows)) in data.docs.into_iter().zip(data.n_rows).enumerate() {
            let rows = rows.by_ref().take(n_rows as usize);
            if !keep(ordinal as u32) {
                rows.for_each(drop);
                continue;
            }
            for (i, (row, vector)) in rows {
                renamed[i] = self.data.rows.len() as u32;
                self.n_symbols += row.symbols.len();
                self.data.rows.push(row);
                self.data.vectors.extend_from_slice(vector);
                self.field_len.push(segment.rows()[i].field_len);
            }
            self.data.docs.push(doc);
            self.data.n_rows.push(n_rows);
        }
        self.words.extend(segment.words().as_ref(), segment.n_docs(), &keep);
        if let Some(postings) = segment.postings() {
            let rename = |row: u32| renamed.get(row as usize).copied().filter(|&new| new != u32::MAX);
            self.postings.extend(&postings, rename);
        }
    }

    pub fn n_rows(&self) -> usize {
        self.data.rows.len()
    }

    pub fn n_docs(&self) -> usize {
        self.data.docs.len()
    }

    /// Number of symbols and of different words: what the memory of a builder follows where rows have many.
    pub fn n_names(&self) -> usize {
        self.n_symbols + self.words.n_words()
    }

    /// The bytes of the segment file; `vectors_at` is the offset of the shard's vectors.
    pub fn finish(self, vectors_at: u64) -> Vec<u8> {
        let mut strings = Strings::default();
        let mut languages = Languages::default();
        let mut writer = ContainerWriter::new(MAGIC, VERSION);
        let oid_len = self.data.docs.first().map_or(20, |doc| doc.key.blob_oid.as_slice().len());
        let header = SegmentHeader {
            vectors_at,
            n_rows: self.data.rows.len() as u32,
            n_docs: self.data.docs.len() as u32,
            dim: self.data.dim as u32,
            oid_len: oid_len as u32,
        };
        writer.section(HEADER, bytemuck::bytes_of(&header).to_vec());
        let (docs, row_docs) = doc_records(&self.data, &mut languages);
        let (rows, symbols) =
            row_records(&self.data, &self.field_len, &row_docs, &mut strings, &mut languages);
        let (sorted, fanout) = sort_docs(&self.data.docs);
        writer.section(ROWS, bytemuck::cast_slice(&rows).to_vec());
        writer.section(DOCS, bytemuck::cast_slice(&docs).to_vec());
        writer.section(DOCS_SORTED, bytemuck::cast_slice(&sorted).to_vec());
        writer.section(DOCS_FANOUT, bytemuck::cast_slice(&fanout).to_vec());
        writer.section(SYMBOLS, symbols);
        writer.section(NAMES, strings.names.finish());
        for (id, section) in TEXTS.into_iter().zip(strings.texts.finish()) {
            writer.section(id, section);
        }
        let (terms, lists) = self.postings.finish();
        writer.section(TERMS, terms);
        writer.section(LISTS, lists);
        writer.section(LANGUAGES, languages.names.join("\n").into_bytes());
        let hashes: Vec<u8> = self.data.rows.iter().flat_map(|row| row.input_hash).collect();
        writer.section(INPUT_HASHES, hashes);
        if header.n_rows >= self.min_sign_bit_rows {
            writer.section(SIGN_BITS, binary_quantisation::blocks(&self.data.vectors, self.data.dim));
        }
        for (id, section) in WORDS.into_iter().zip(self.words.finish()) {
            writer.section(id, section);
        }
        writer.finish()
    }

    fn index_row(&mut self, row: &RowMeta, body: &[TermCount], table: &mut TermTable) {
        let row_number = self.field_len.len() as u32;
        let mut scratch = std::mem::take(&mut self.scratch);
        let field_len = FIELDS.map(|field| {
            scratch.clear();
            let counts = match field {
                Field::Body => body,
                _ => {
                    count_field(row, field, table, &mut scratch);
                    &scratch[..]
                }
            };
            let mut len = 0u32;
            for count in counts {
                let n = count.total();
                len = len.saturating_add(n);
                let postings = &mut self.postings;
                let list = self.lists.known.entry((count.term, field as u8));
                let list = *list.or_insert_with(|| postings.id(field, table.term(count.term)));
                postings.add(list, row_number, n);
            }
            u16::try_from(len).unwrap_or(u16::MAX)
        });
        self.scratch = scratch;
        self.field_len.push(field_len);
    }
}

/// Appends the terms of a field of a row to `out`, which is empty.
fn count_field(row: &RowMeta, field: Field, table: &mut TermTable, out: &mut Vec<TermCount>) {
    let mut count = |text: &str| table.count(text, out);
    match field {
        Field::Symbol => row.symbols.iter().for_each(|symbol| count(&symbol.name)),
        Field::Doc => row.symbols.iter().for_each(|symbol| count(&symbol.doc)),
        Field::Enclosing => row.enclosing.iter().for_each(|name| count(name)),
        Field::Body | Field::Path => {}
    }
    merge(out);
}

/// Adds up the counts of equal terms.
fn merge(counts: &mut Vec<TermCount>) {
    counts.sort_unstable_by_key(|count| count.term);
    counts.dedup_by(|next, kept| {
        let is_same = next.term == kept.term;
        if is_same {
            kept.uses.iter_mut().zip(next.uses).for_each(|(kept, next)| *kept = kept.saturating_add(next));
        }
        is_same
    });
}

#[derive(Default)]
struct Languages {
    names: Vec<String>,
}

impl Languages {
    fn id(&mut self, name: &str) -> u16 {
        let position = self.names.iter().position(|known| known == name);
        position.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u16
    }
}

/// Names and texts under construction.
#[derive(Default)]
struct Strings {
    names: NamesBuilder,
    texts: TextsBuilder,
}

fn doc_records(data: &ShardData, languages: &mut Languages) -> (Vec<DocRecord>, Vec<u32>) {
    let mut records = Vec::with_capacity(data.docs.len());
    let mut row_docs = Vec::with_capacity(data.rows.len());
    let mut first_row = 0;
    for (ordinal, (doc, &n_rows)) in data.docs.iter().zip(&data.n_rows).enumerate() {
        records.push(DocRecord {
            variant: doc.key.variant,
            oid: padded(&doc.key.blob_oid),
            first_row,
            n_rows,
            blob_bytes: doc.blob_bytes,
            language: languages.id(&doc.language),
            skipped: doc.skipped,
            zero: 0,
        });
        row_docs.extend(std::iter::repeat_n(ordinal as u32, n_rows as usize));
        first_row += n_rows;
    }
    (records, row_docs)
}

fn row_records(
    data: &ShardData,
    field_len: &[[u16; N_FIELDS]],
    row_docs: &[u32],
    strings: &mut Strings,
    languages: &mut Languages,
) -> (Vec<RowRecord>, Vec<u8>) {
    let mut rows = Vec::with_capacity(data.rows.len());
    let mut packed = Vec::new();
    for (i, row) in data.rows.iter().enumerate() {
        let of_row = row.symbols.iter().take(usize::from(u16::MAX));
        let of_row: Vec<SymbolRecord> = of_row.map(|symbol| symbol_record(symbol, strings)).collect();
        let record = RowRecord {
            doc: row_docs[i],
            start_byte: row.byte_range.start,
            end_byte: row.byte_range.end,
            start_line: row.lines.0,
            end_line: row.lines.1,
            token_count: row.token_count,
            title: strings.texts.put(&row.title),
            symbols_at: packed.len() as u32,
            n_symbols: of_row.len() as u16,
            language: languages.id(&row.language),
            field_len: field_len[i],
            class: row.class,
            source: row.source,
            is_container: u8::from(row.is_container),
            zero: 0,
        };
        symbols::put(&mut packed, &record, &of_row);
        rows.push(record);
    }
    (rows, packed)
}

fn symbol_record(symbol: &SymbolMeta, strings: &mut Strings) -> SymbolRecord {
    let qualified_name = strings.names.put(&symbol.qualified_name);
    SymbolRecord {
        name: strings.names.put_within(qualified_name, &symbol.name),
        qualified_name,
        signature: strings.texts.put(&symbol.signature),
        doc: strings.texts.put(&symbol.doc),
        start_byte: symbol.byte_range.start,
        end_byte: symbol.byte_range.end,
        start_line: symbol.lines.0,
        end_line: symbol.lines.1,
        kind: symbol.kind,
        class: symbol.class,
        nesting: symbol.nesting,
    }
}

fn sort_docs(docs: &[DocMeta]) -> (Vec<u32>, Vec<u32>) {
    let mut sorted: Vec<u32> = (0..docs.len() as u32).collect();
    sorted.sort_unstable_by_key(|&i| docs[i as usize].key);
    let mut fanout = vec![0u32; 257];
    for doc in docs {
        fanout[usize::from(doc.key.blob_oid.as_slice()[0]) + 1] += 1;
    }
    for byte in 0..256 {
        fanout[byte + 1] += fanout[byte];
    }
    (sorted, fanout)
}

fn padded(oid: &Oid) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..oid.as_slice().len()].copy_from_slice(oid.as_slice());
    bytes
}

/// An opened segment with its mapped shard. Opening is cheap: nothing is decoded, and four bytes per doc are
/// allocated.
pub struct Segment {
    file: Container,
    shard: Mapped,
    header: SegmentHeader,
    /// Names by number.
    languages: Vec<String>,
    /// Number of body terms of each doc plus one, computed on demand; 0 before.
    body_lens: Vec<AtomicU32>,
    /// Blocks of the sign bits of a segment that does not store them, computed on demand.
    sign_bits: OnceLock<Vec<u8>>,
    recent_text: RecentBlock,
}

impl Segment {
    /// Opens a segment and its shard, checking lengths and bounds.
    pub fn open(segment: &Path, shard: &Path) -> Result<Segment, StoreError> {
        let file = Container::open(segment, MAGIC, VERSION)?;
        let shard_map = Mapped::open(shard).map_err(StoreError::io("open", shard))?;
        Segment::of(file, shard_map, shard)
    }

    /// A segment that is never written, for uncommitted files.
    pub fn in_memory(builder: SegmentBuilder) -> Result<Segment, StoreError> {
        let vectors = Mapped::owned(bytemuck::cast_slice(&builder.data.vectors));
        let file = Container::in_memory(&builder.finish(0), MAGIC, VERSION)?;
        Segment::of(file, vectors, Path::new("(in memory)"))
    }

    fn of(file: Container, shard_map: Mapped, shard: &Path) -> Result<Segment, StoreError> {
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

    /// The rows of a doc; none if there is no such doc, as in damaged lists of words. Never more than there
    /// are: another program may overwrite the file while it is searched, and iterating over four billion rows
    /// would take minutes.
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
        let of_row = |row: &RowRecord| u32::from(row.field_len[Field::Body as usize]);
        let len = rows.iter().fold(0u32, |len, row| len.saturating_add(of_row(row))).min(u32::MAX - 1);
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
        let sorted: &[u32] = self.file.records(DOCS_SORTED).ok()?;
        let fanout: &[u32] = self.file.records(DOCS_FANOUT).ok()?;
        let byte = usize::from(key.blob_oid.as_slice()[0]);
        let candidates = sorted.get(fanout[byte] as usize..fanout[byte + 1] as usize)?;
        let wanted = (padded(&key.blob_oid), key.variant);
        let key_of = |i: u32| docs.get(i as usize).map(|doc| (doc.oid, doc.variant));
        let found = candidates.binary_search_by_key(&Some(wanted), |&i| key_of(i));
        found.ok().map(|position| candidates[position])
    }

    /// The ordinal of a doc of `blob`, in any language.
    pub fn find_blob(&self, blob: &Oid) -> Option<u32> {
        let docs = self.docs();
        let sorted: &[u32] = self.file.records(DOCS_SORTED).ok()?;
        let fanout: &[u32] = self.file.records(DOCS_FANOUT).ok()?;
        let byte = usize::from(blob.as_slice()[0]);
        let candidates = sorted.get(fanout[byte] as usize..fanout[byte + 1] as usize)?;
        let wanted = padded(blob);
        let oid_of = |i: u32| docs.get(i as usize).map(|doc| doc.oid);
        let found = candidates.binary_search_by_key(&Some(wanted), |&i| oid_of(i));
        found.ok().map(|position| candidates[position])
    }

    /// The doc of a row, by ordinal. `None` for a damaged row that names another doc, since its span must
    /// never be applied to the bytes of another blob.
    pub fn doc_of(&self, row: u32) -> Option<(u32, &DocRecord)> {
        let ordinal = self.rows().get(row as usize)?.doc;
        let doc = self.docs().get(ordinal as usize)?;
        doc.rows().contains(&row).then_some((ordinal, doc))
    }

    pub fn symbols_of(&self, row: &RowRecord) -> Symbols<'_> {
        Symbols::of(self.file.section(SYMBOLS).unwrap_or(&[]), row)
    }

    pub fn name(&self, place: NameRef) -> &str {
        strings::name(self.file.section(NAMES).unwrap_or(&[]), place)
    }

    /// The text at `place`, which may have to be decompressed: microseconds.
    pub fn text(&self, place: TextRef) -> String {
        let [blocks, index] = TEXTS;
        let (blocks, index) = (self.file.section(blocks), self.file.records(index));
        Texts::new(blocks.unwrap_or(&[]), index.unwrap_or(&[]), &self.recent_text).get(place)
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
        let computed =
            || self.sign_bits.get_or_init(|| binary_quantisation::blocks(self.vectors(), self.dim()));
        SignBits { blocks: stored.unwrap_or_else(|| computed()), dim: self.dim() }
    }

    /// Model-input hash of each row.
    pub fn input_hashes(&self) -> &[[u8; 16]] {
        self.file.records(INPUT_HASHES).unwrap_or(&[])
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
        let [text, lists, blocks, unknown] = WORDS;
        Words::new(
            self.file.section(text).ok()?,
            self.file.section(lists).ok()?,
            self.file.records(blocks).ok()?,
            self.file.records(unknown).ok()?,
            self.n_docs(),
        )
    }

    /// Hashes segment and shard, and compares their docs, by which a segment is that of its shard; `name` is
    /// the hexadecimal BLAKE3 that names the shard.
    pub fn verify(&self, name: &str, shard: &Path) -> Result<(), StoreError> {
        self.file.verify()?;
        content::verify(shard, &self.shard, name)?;
        let (docs, n_rows) = shard::read_docs(shard)?;
        let is_same = |(record, (doc, n_rows)): (&DocRecord, (&DocMeta, &u32))| {
            self.key(record) == doc.key && record.n_rows == *n_rows
        };
        if docs.len() != self.docs().len() || !self.docs().iter().zip(docs.iter().zip(&n_rows)).all(is_same) {
            return Err(StoreError::damaged(self.file.path(), "it is the segment of another shard"));
        }
        Ok(())
    }

    /// The maps of segment and shard.
    pub fn maps(&self) -> [&Mapped; 2] {
        [self.file.map(), &self.shard]
    }

    fn check(&self, shard: &Path) -> Result<(), StoreError> {
        let path = self.file.path();
        let header = &self.header;
        let vectors_len = u64::from(header.n_rows) * u64::from(header.dim);
        if header.vectors_at.checked_add(vectors_len).is_none_or(|end| end > self.shard.len() as u64) {
            return Err(StoreError::damaged(shard, "it is shorter than its segment says"));
        }
        let is_oid = |bytes: &[u8]| gix::hash::oid::try_from_bytes(bytes).is_ok();
        if ![0u8; 32].get(..header.oid_len as usize).is_some_and(is_oid) {
            return Err(StoreError::damaged(path, "its object ids have an unknown length"));
        }
        let n_rows = self.file.records::<RowRecord>(ROWS)?.len();
        let n_docs = self.file.records::<DocRecord>(DOCS)?.len();
        let n_sorted = self.file.records::<u32>(DOCS_SORTED)?.len();
        let fanout = self.file.records::<u32>(DOCS_FANOUT)?;
        self.file.section(SYMBOLS)?;
        let n_hashes = self.file.records::<[u8; 16]>(INPUT_HASHES)?.len();
        let consistent = n_rows == header.n_rows as usize
            && n_docs == header.n_docs as usize
            && n_sorted == n_docs
            && n_hashes == n_rows
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
}

/// Whether docs follow each other without gaps, so that no stored number leads outside the rows.
fn docs_cover_rows(docs: &[DocRecord], n_rows: u32) -> bool {
    let end = docs
        .iter()
        .try_fold(0u32, |next, doc| if doc.first_row == next { next.checked_add(doc.n_rows) } else { None });
    end == Some(n_rows)
}

#[cfg(test)]
mod tests {
    use super::super::shard;
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
        let encoded = shard::encode(&left.data, dir.path()).unwrap();
        std::fs::write(dir.path().join("s"), &encoded.bytes).unwrap();
        std::fs::write(dir.path().join("g"), left.finish(encoded.vectors_at)).unwrap();
        let segment = Segment::open(&dir.path().join("g"), &dir.path().join("s")).unwrap();
        assert_eq!(segment.vectors(), data.vectors);
        let computed = binary_quantisation::blocks(segment.vectors(), 64);
        assert_eq!(segment.sign_bits().blocks, computed);
        assert!(segment.sign_bits.get().is_none());
        assert_eq!(segment.sign_bits().of(32..segment.n_rows()), &computed[32 * 8..]);
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
