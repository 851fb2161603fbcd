//! A file with its rows as the engine keeps it: everything that a segment has about it, in a few kilobytes.
//!
//! ```text
//! length of the rest u32, zstd(length of the JSON u32, JSON of `Record`, vectors)
//! ```
//!
//! Names, signatures, documentation and words are those of the local index, so a segment that is made of
//! records is the one that the repository has. The texts of chunks are no part of it.

use codeweaver_git::Oid;
use codeweaver_store::rows::{DocKey, DocMeta, RowMeta, SymbolMeta, chunk_id};
use codeweaver_store::segment::{DocTerms, SegmentBuilder};
use codeweaver_text::{TermCounts, TermTable};

/// Level of compression.
const LEVEL: i32 = 3;
/// Maximum size of a decompressed record. A blob of many rows has some hundred kilobytes.
const MAX_BYTES: usize = 256 << 20;

/// A file in the index of the engine.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Record {
    oid: String,
    variant: u64,
    language: String,
    bytes: u32,
    rows: Vec<Row>,
    /// All different terms of the chunks.
    terms: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Row {
    /// First and last byte, first and last line.
    span: [u32; 4],
    language: String,
    /// Source, class, whether it is a container.
    kind: (u8, u8, bool),
    tokens: u32,
    title: String,
    enclosing: Vec<String>,
    symbols: Vec<Symbol>,
    /// Positions in [`Record::terms`], with the number of occurrences.
    terms: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Symbol(String, String, [u8; 3], String, String, [u32; 4]);

/// A doc with its rows.
pub struct Doc {
    pub meta: DocMeta,
    pub rows: Vec<RowMeta>,
    /// Row-major.
    pub vectors: Vec<i8>,
}

/// Terms with their numbers of occurrences.
pub type Counts = Vec<(String, u32)>;

impl Record {
    /// The record of a doc whose chunks have these terms.
    pub fn new(doc: &Doc, bodies: &[Counts]) -> Record {
        let mut numbers = rustc_hash::FxHashMap::default();
        let mut terms: Vec<String> = Vec::new();
        let mut number = |term: &str| {
            *numbers.entry(term.to_owned()).or_insert_with(|| {
                terms.push(term.to_owned());
                terms.len() as u32 - 1
            })
        };

        // A term is written once for all chunks of the file.
        let mut rows = Vec::with_capacity(doc.rows.len());
        for (row, body) in doc.rows.iter().zip(bodies) {
            rows.push(Row {
                span: [row.byte_range.start, row.byte_range.end, row.lines.0, row.lines.1],
                language: row.language.clone(),
                kind: (row.source, row.class, row.is_container),
                tokens: row.token_count,
                title: row.title.clone(),
                enclosing: row.enclosing.clone(),
                symbols: row.symbols.iter().map(Symbol::new).collect(),
                terms: body.iter().map(|(term, n)| (number(term), *n)).collect(),
            });
        }

        let DocMeta { key, language, blob_bytes, .. } = &doc.meta;
        Record {
            oid: key.blob_oid.to_string(),
            variant: key.variant,
            language: language.clone(),
            bytes: *blob_bytes,
            rows,
            terms,
        }
    }

    /// The blob of the file; `None` if its id is damaged.
    pub fn oid(&self) -> Option<Oid> {
        Oid::from_hex(self.oid.as_bytes()).ok()
    }

    /// The bytes of the record with its vectors.
    pub fn encode(&self, vectors: &[i8]) -> Result<Vec<u8>, std::io::Error> {
        let json = serde_json::to_vec(self)?;
        let mut bytes = Vec::with_capacity(4 + json.len() + vectors.len());
        bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&json);
        bytes.extend(vectors.iter().map(|component| component.cast_unsigned()));
        compressed(&bytes)
    }

    /// Reads a record with its vectors, of `dim` components each. `None` for bytes that are none.
    pub fn decode(bytes: &[u8], dim: usize) -> Option<(Record, Vec<i8>)> {
        let bytes = decompressed(bytes)?;
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (json, vectors) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;

        let record: Record = serde_json::from_slice(json).ok()?;
        let is_whole = vectors.len() == record.rows.len() * dim
            && record.rows.iter().flat_map(|row| &row.terms).all(|(n, _)| (*n as usize) < record.terms.len());
        is_whole.then(|| (record, vectors.iter().map(|byte| byte.cast_signed()).collect()))
    }

    /// Adds the file to a segment. The words of all files are numbered in `table`.
    pub fn add_to(&self, builder: &mut SegmentBuilder, vectors: &[i8], table: &mut TermTable) -> Option<()> {
        let key = DocKey { blob_oid: self.oid()?, variant: self.variant };
        let numbers: Vec<u32> = self.terms.iter().map(|term| table.number(term)).collect();

        let mut bodies = TermCounts::default();
        for row in &self.rows {
            bodies.push_counted(row.terms.iter().map(|(at, n)| (numbers[*at as usize], *n)));
        }

        let rows = self.rows.iter().map(|row| row.to_meta(&key)).collect();
        let doc = DocMeta {
            key,
            language: self.language.clone(),
            skipped: 0,
            blob_bytes: self.bytes,
            degradations: Vec::new(),
        };
        builder.push_counted(doc, rows, vectors, DocTerms { bodies: &bodies, table });
        Some(())
    }
}

/// Compresses bytes, with their length in front.
pub fn compressed(bytes: &[u8]) -> Result<Vec<u8>, std::io::Error> {
    let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&zstd::bulk::compress(bytes, LEVEL)?);
    Ok(out)
}

/// Returns the bytes that [`compressed`] was given; `None` for any others.
pub fn decompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let len = u32::from_le_bytes(*len) as usize;
    let bytes = zstd::bulk::decompress(rest, Some(len).filter(|len| *len <= MAX_BYTES)?).ok()?;
    (bytes.len() == len).then_some(bytes)
}

impl Row {
    fn to_meta(&self, key: &DocKey) -> RowMeta {
        let [start, end, first, last] = self.span;
        let (source, class, is_container) = self.kind;

        RowMeta {
            chunk_id: chunk_id(key, &(start..end)),
            // Vectors are reused where they are made, not here.
            input_hash: [0; 16],
            byte_range: start..end,
            lines: (first, last),
            language: self.language.clone(),
            source,
            class,
            is_container,
            token_count: self.tokens,
            title: self.title.clone(),
            enclosing: self.enclosing.clone(),
            symbols: self.symbols.iter().map(Symbol::to_meta).collect(),
            detail: String::new(),
        }
    }
}

impl Symbol {
    fn new(symbol: &SymbolMeta) -> Symbol {
        let SymbolMeta { name, qualified_name, kind, class, nesting, signature, doc, byte_range, lines } =
            symbol;
        Symbol(
            name.clone(),
            qualified_name.clone(),
            [*kind, *class, *nesting],
            signature.clone(),
            doc.clone(),
            [byte_range.start, byte_range.end, lines.0, lines.1],
        )
    }

    fn to_meta(&self) -> SymbolMeta {
        let Symbol(name, qualified_name, [kind, class, nesting], signature, doc, [start, end, first, last]) =
            self;

        SymbolMeta {
            name: name.clone(),
            qualified_name: qualified_name.clone(),
            kind: *kind,
            class: *class,
            nesting: *nesting,
            signature: signature.clone(),
            doc: doc.clone(),
            byte_range: *start..*end,
            lines: (*first, *last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc() -> Doc {
        let blob_oid = Oid::from_hex(b"1234567890123456789012345678901234567890").unwrap();
        let key = DocKey { blob_oid, variant: u64::MAX };
        let symbol = SymbolMeta {
            name: "parse".to_owned(),
            qualified_name: "Reader::parse".to_owned(),
            kind: 1,
            class: 2,
            nesting: 3,
            signature: "fn parse()".to_owned(),
            doc: "Parses.".to_owned(),
            byte_range: 3..9,
            lines: (1, 2),
        };
        let row = RowMeta {
            chunk_id: chunk_id(&key, &(0..10)),
            input_hash: [0; 16],
            byte_range: 0..10,
            lines: (1, 2),
            language: "rust".to_owned(),
            source: 1,
            class: 2,
            is_container: true,
            token_count: 7,
            title: "fn parse".to_owned(),
            enclosing: vec!["Reader".to_owned()],
            symbols: vec![symbol],
            detail: String::new(),
        };
        let meta = DocMeta {
            key,
            language: "rust".to_owned(),
            skipped: 0,
            blob_bytes: 10,
            degradations: Vec::new(),
        };
        Doc { meta, rows: vec![row.clone(), row], vectors: vec![-128, 127, 0, 1] }
    }

    #[test]
    fn a_record_has_everything_that_a_segment_is_made_of() {
        let doc = doc();
        let bodies = vec![vec![("pars".to_owned(), 2), ("x".to_owned(), 1)], vec![("x".to_owned(), 3)]];
        let record = Record::new(&doc, &bodies);
        let bytes = record.encode(&doc.vectors).unwrap();
        let (read, vectors) = Record::decode(&bytes, 2).unwrap();
        assert_eq!((&read, &vectors), (&record, &doc.vectors));
        let mut builder = SegmentBuilder::new(2);
        read.add_to(&mut builder, &vectors, &mut TermTable::default()).unwrap();
        assert_eq!((builder.data.rows.clone(), builder.data.docs.clone()), (doc.rows, vec![doc.meta]));
        assert_eq!(builder.data.vectors, doc.vectors);
    }

    #[test]
    fn damaged_records_are_none() {
        let doc = doc();
        let bytes = Record::new(&doc, &[Vec::new(), Vec::new()]).encode(&doc.vectors).unwrap();
        assert!(Record::decode(&bytes, 3).is_none(), "vectors of another length");
        for n in 0..bytes.len() {
            assert!(Record::decode(&bytes[..n], 2).is_none(), "cut at {n}");
        }
        for n in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[n] ^= 0x55;
            // Any answer is good, as long as there is one.
            let _ = Record::decode(&damaged, 2);
        }
    }
}
