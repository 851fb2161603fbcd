//! Builds a shard and its segment from docs.

use std::path::Path;

use rustc_hash::FxHashMap;

use codeweaver_text::{TermCount, TermCounts, TermTable};

use super::{
    DOCS, DOCS_FANOUT, DOCS_SORTED, HEADER, LANGUAGES, LISTS, MAGIC, NAMES, ROWS, SIGN_BITS, SYMBOLS,
    Segment, SegmentHeader, TERMS, TEXTS, VERSION, WORDS, padded,
};
use crate::binary_quantisation;
use crate::container::ContainerWriter;
use crate::error::StoreError;
use crate::postings::{FIELDS, Field, N_FIELDS, PostingsBuilder};
use crate::records::{DocRecord, RowRecord};
use crate::rows::{DocMeta, RowMeta, SymbolMeta};
use crate::shard::{self, EncodedShard, Offsets, ShardData};
use crate::signature;
use crate::strings::{NamesBuilder, TextsBuilder};
use crate::symbols::{self, SymbolRecord};
use crate::words::WordsBuilder;

/// Segments with fewer rows have no section 11: repositories of that size are scanned exactly.
const MIN_SIGN_BIT_ROWS: u32 = 16 * 1024;

/// A shard and its segment in memory. Docs are added in order, then both are encoded once.
pub struct SegmentBuilder {
    pub data: ShardData,
    min_sign_bit_rows: u32,
    postings: PostingsBuilder,
    words: WordsBuilder,
    /// Number of terms per row and field, parallel to the rows.
    field_len: Vec<[u16; N_FIELDS]>,
    n_symbols: usize,
    lists: ListNumbers,
    /// Terms of the docs whose terms were not counted by the caller.
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
    /// Counts of the body terms of each row.
    pub bodies: &'a TermCounts,
    /// The table with the terms of `bodies`.
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

    /// Adds a doc with its rows in position order, their vectors (row-major), and the blob whose ranges the
    /// rows are.
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

    /// As [`Self::push_doc`], for rows whose terms are counted already.
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

    /// Appends the docs of a finished segment, except those for whose ordinal `keep` returns false. `data` is
    /// its shard.
    pub fn append_segment(&mut self, segment: &Segment, data: ShardData, keep: impl Fn(u32) -> bool) {
        self.data.dim = self.data.dim.max(data.dim).max(segment.dim());
        let mut renamed = vec![u32::MAX; data.rows.len()];
        let mut rows = data.rows.into_iter().zip(data.vectors.chunks_exact(data.dim.max(1))).enumerate();

        for (ordinal, (doc, n_rows)) in data.docs.into_iter().zip(data.n_rows).enumerate() {
            let rows = rows.by_ref().take(n_rows as usize);
            if !keep(ordinal as u32) {
                // The iterator must pass the rows of this doc all the same.
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
            self.postings
                .extend(&postings, |row| renamed.get(row as usize).copied().filter(|&new| new != u32::MAX));
        }
    }

    pub fn n_rows(&self) -> usize {
        self.data.rows.len()
    }

    pub fn n_docs(&self) -> usize {
        self.data.docs.len()
    }

    /// Number of symbols and of different words, on which the memory of a builder depends where rows have
    /// many.
    pub fn n_names(&self) -> usize {
        self.n_symbols + self.words.n_words()
    }

    /// Encodes the shard and its segment file, on two threads. `path` is for errors.
    pub fn encode(mut self, path: &Path) -> Result<(EncodedShard, Vec<u8>), StoreError> {
        let data = std::mem::take(&mut self.data);
        std::thread::scope(|scope| {
            let shard = scope.spawn(|| shard::encode(&data, path));
            let sections = self.sections(&data);
            let shard = shard.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let segment = with_header(sections, &data, shard.offsets);
            Ok((shard, segment))
        })
    }

    /// Encodes only the segment file, for a shard with these offsets.
    pub fn finish(mut self, offsets: Offsets) -> Vec<u8> {
        let data = std::mem::take(&mut self.data);
        with_header(self.sections(&data), &data, offsets)
    }

    /// The sections except the header, for `data`, which was taken out of this builder.
    fn sections(self, data: &ShardData) -> ContainerWriter {
        let mut strings = Strings::default();
        let mut languages = Languages::default();
        let mut writer = ContainerWriter::new(MAGIC, VERSION);

        let (docs, row_docs) = doc_records(data, &mut languages);
        let (rows, symbols) = row_records(data, &self.field_len, &row_docs, &mut strings, &mut languages);
        let (sorted, fanout) = sort_docs(&data.docs);

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

        if data.rows.len() >= self.min_sign_bit_rows as usize {
            writer.section(SIGN_BITS, binary_quantisation::blocks(&data.vectors, data.dim));
        }
        for (id, section) in WORDS.into_iter().zip(self.words.finish()) {
            writer.section(id, section);
        }

        writer
    }

    /// Adds the terms of a row to the postings.
    fn index_row(&mut self, row: &RowMeta, body: &[TermCount], table: &mut TermTable) {
        let row_number = self.field_len.len() as u32;
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut field_len = [0u16; N_FIELDS];

        for (field_len, field) in field_len.iter_mut().zip(FIELDS) {
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
                // The list of a term is looked up once per table, since that hashes the whole term.
                let postings = &mut self.postings;
                let list = self.lists.known.entry((count.term, field as u8));
                let list = *list.or_insert_with(|| postings.id(field, table.term(count.term)));
                postings.add(list, row_number, n);
            }
            *field_len = u16::try_from(len).unwrap_or(u16::MAX);
        }

        self.scratch = scratch;
        self.field_len.push(field_len);
    }
}

/// The bytes of a segment file with these sections and a header.
fn with_header(mut sections: ContainerWriter, data: &ShardData, offsets: Offsets) -> Vec<u8> {
    let oid_len = data.docs.first().map_or(20, |doc| doc.key.blob_oid.as_slice().len());
    let header = SegmentHeader {
        vectors_at: offsets.vectors,
        input_hashes_at: offsets.input_hashes,
        n_rows: data.rows.len() as u32,
        n_docs: data.docs.len() as u32,
        dim: data.dim as u32,
        oid_len: oid_len as u32,
    };

    sections.section(HEADER, bytemuck::bytes_of(&header).to_vec());
    sections.finish()
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

/// The records of all docs, and the doc of each row.
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

/// The records of all rows, and their packed symbols.
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
        // The record has 16 bits for their number.
        let symbols = row.symbols.iter().take(usize::from(u16::MAX));
        let symbols: Vec<SymbolRecord> = symbols.map(|symbol| symbol_record(symbol, strings)).collect();

        let record = RowRecord {
            doc: row_docs[i],
            start_byte: row.byte_range.start,
            end_byte: row.byte_range.end,
            start_line: row.lines.0,
            end_line: row.lines.1,
            token_count: row.token_count,
            title: strings.texts.put(&row.title),
            symbols_at: packed.len() as u32,
            n_symbols: symbols.len() as u16,
            language: languages.id(&row.language),
            field_len: field_len[i],
            class: row.class,
            source: row.source,
            is_container: u8::from(row.is_container),
            zero: 0,
        };

        symbols::put(&mut packed, &record, &symbols);
        rows.push(record);
    }

    (rows, packed)
}

fn symbol_record(symbol: &SymbolMeta, strings: &mut Strings) -> SymbolRecord {
    let qualified_name = strings.names.put(&symbol.qualified_name);

    SymbolRecord {
        name: strings.names.put_within(qualified_name, &symbol.name),
        qualified_name,
        signature: strings.texts.put(&signature::pattern(&symbol.signature, &symbol.name)),
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

/// Sections 4 and 5: the docs sorted by key, and the first position of each first byte of an object id.
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
