//! Shards: immutable Parquet files of chunks and vectors, named by the BLAKE3 hash of their bytes.
//!
//! One row per chunk, in (doc, position) order. The columns are those of [`schema`] and are documented for
//! users in `docs/storage.md`. The values of `vector` and `input_hash` are contiguous bytes that are mapped in
//! place. Docs without chunks are in the footer under [`DOCS_KEY`], since the fact that a blob has nothing to
//! index must not be lost.
//!
//! * this file: a shard as a whole, and its footer;
//! * [`schema`]: the columns and their encodings;
//! * [`columns`]: values of one column, written and read;
//! * [`symbols`]: the columns of the definitions of each chunk.
//!
//! The columns are written through the interface of `parquet` itself. Its interface of Arrow would bring seven
//! crates, which take longer to compile than the rest of it.

mod columns;
mod schema;
mod symbols;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use codeweaver_base::regular_file;
use codeweaver_chunk::SemanticClass;
use codeweaver_chunk::classes::Importance;
use codeweaver_git::Oid;

use super::error::StoreError;
use super::rows::{DegradationMeta, DocKey, DocMeta, RowMeta};

use columns::{Columns, Values};

/// Maximum number of rows of a shard: the vectors stay below the 2³¹ limit of a Parquet page at every
/// supported dimension.
pub const MAX_ROWS: usize = 128 * 1024;

/// Number of rows that are encoded at once.
const BATCH_ROWS: usize = 512;
/// Footer key of the doc table: JSON list of
/// `[oid, variant, language, n_rows, skipped, blob_bytes, degradations]`.
pub const DOCS_KEY: &str = "codeweaver.docs";
/// Footer key of the schema version.
pub const SCHEMA_KEY: &str = "codeweaver.schema";
/// Version of the columns and of the footer. A shard of another version is not read.
pub const SCHEMA_VERSION: u32 = 1;

/// The content of a shard in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardData {
    pub docs: Vec<DocMeta>,
    /// Number of rows of each doc, parallel to `docs`.
    pub n_rows: Vec<u32>,
    pub rows: Vec<RowMeta>,
    /// Row-major `[rows.len(), dim]`.
    pub vectors: Vec<i8>,
    pub dim: usize,
}

/// A shard that is ready to be written.
pub struct EncodedShard {
    pub bytes: Vec<u8>,
    pub offsets: Offsets,
}

/// The offsets in a shard of the columns that are read in place. The values of a column have no
/// gaps between them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offsets {
    pub vectors: u64,
    pub input_hashes: u64,
}

/// Encodes `data`. Equal data gives equal bytes for one version of the Parquet writer.
pub fn encode(data: &ShardData, path: &Path) -> Result<EncodedShard, StoreError> {
    let (bytes, groups) =
        write(data).map_err(|source| StoreError::Parquet { path: path.to_path_buf(), source })?;

    let input_hashes: Vec<u8> = data.rows.iter().flat_map(|row| row.input_hash).collect();
    let vectors = checked_offset(&bytes, &groups, "vector", bytemuck::cast_slice(&data.vectors), path)?;
    let input_hashes = checked_offset(&bytes, &groups, "input_hash", &input_hashes, path)?;
    Ok(EncodedShard { bytes, offsets: Offsets { vectors, input_hashes } })
}

/// Returns `data` as a Parquet file, with the metadata of its row groups.
fn write(data: &ShardData) -> Result<(Vec<u8>, Vec<RowGroupMetaData>), ParquetError> {
    let oid_len = data.docs.first().map_or(20, |doc| doc.key.blob_oid.as_slice().len());
    let columns = Arc::new(schema::columns(oid_len, data.dim)?);
    let properties = Arc::new(schema::properties(&[
        (SCHEMA_KEY, SCHEMA_VERSION.to_string()),
        (DOCS_KEY, docs_json(data)),
    ]));

    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, columns, properties)?;

    if !data.rows.is_empty() {
        let doc_of_rows = doc_of_rows(data);
        let mut paths = writer.schema_descr().columns().iter().map(|column| column.path().string());
        let paths: Vec<String> = paths.by_ref().collect();
        let mut group = writer.next_row_group()?;

        // One column after the other and a batch at a time, so that only a batch is in memory unencoded.
        for path in &paths {
            let Some(mut column) = group.next_column()? else { break };
            for start in (0..data.rows.len()).step_by(BATCH_ROWS) {
                let batch = start..data.rows.len().min(start + BATCH_ROWS);
                values(data, path, &doc_of_rows[batch.clone()], batch)?.write(column.untyped())?;
            }
            column.close()?;
        }
        group.close()?;
    }

    let metadata = writer.close()?;
    Ok((bytes, metadata.row_groups().to_vec()))
}

/// As [`offset_of`] in the only row group; 0 in a shard without rows.
fn checked_offset(
    bytes: &[u8],
    groups: &[RowGroupMetaData],
    name: &str,
    values: &[u8],
    path: &Path,
) -> Result<u64, StoreError> {
    let group = match groups {
        [] => return Ok(0),
        [group] => group,
        _ => return Err(StoreError::damaged(path, "the writer made more than one row group")),
    };

    offset_of(bytes, group, name, values)
        .ok_or_else(|| StoreError::damaged(path, format!("the writer did not keep `{name}` contiguous")))
}

/// The offset in `bytes` of the `values` of a column, which are the end of its only page. `None` if they are
/// not there: a writer that splits the page would break search in place, and no shard is better than wrong
/// vectors.
fn offset_of(bytes: &[u8], group: &RowGroupMetaData, name: &str, values: &[u8]) -> Option<u64> {
    let column = group.columns().iter().find(|column| column.column_path().string() == name)?;
    let (start, len) = column.byte_range();
    let at = (start + len).checked_sub(values.len() as u64)?;
    bytes.get(at as usize..)?.starts_with(values).then_some(at)
}

/// Reads a whole shard.
pub fn read(path: &Path) -> Result<ShardData, StoreError> {
    guarded(path, || decode(path))
}

/// Reads the docs of a shard and the number of rows of each, which are in its footer.
pub fn read_docs(path: &Path) -> Result<(Vec<DocMeta>, Vec<u32>), StoreError> {
    guarded(path, || open(path).map(|(data, _)| (data.docs, data.n_rows)))
}

/// Runs `read` and turns a panic into an error, since the library trusts some numbers of a damaged footer. No
/// state survives the attempt.
fn guarded<T>(
    path: &Path,
    read: impl FnOnce() -> Result<T, StoreError> + std::panic::UnwindSafe,
) -> Result<T, StoreError> {
    std::panic::catch_unwind(read)
        .unwrap_or_else(|_| Err(StoreError::damaged(path, "its columns are not what its footer says")))
}

/// Opens a shard. Returns its docs, and a reader of its rows.
fn open(path: &Path) -> Result<(ShardData, SerializedFileReader<File>), StoreError> {
    let file = regular_file::open(path).map_err(StoreError::io("open", path))?;
    let reader = SerializedFileReader::new(file)
        .map_err(|source| StoreError::Parquet { path: path.to_path_buf(), source })?;

    check_schema(path, footer_value(&reader, SCHEMA_KEY).as_deref())?;
    let docs_json = footer_value(&reader, DOCS_KEY)
        .ok_or_else(|| StoreError::damaged(path, "its footer has no doc table"))?;

    let mut data = ShardData::default();
    parse_docs(&docs_json, &mut data).map_err(|what| StoreError::damaged(path, what))?;
    Ok((data, reader))
}

/// Checks the schema version in the footer of the shard at `path`.
fn check_schema(path: &Path, version: Option<&str>) -> Result<(), StoreError> {
    let found = version.and_then(|version| version.parse().ok());

    match found.ok_or_else(|| StoreError::damaged(path, "its footer has no schema version"))? {
        SCHEMA_VERSION => Ok(()),
        found => Err(StoreError::Version { path: path.to_path_buf(), found, expected: SCHEMA_VERSION }),
    }
}

fn decode(path: &Path) -> Result<ShardData, StoreError> {
    let (mut data, reader) = open(path)?;

    for n in 0..reader.num_row_groups() {
        let group = reader
            .get_row_group(n)
            .map_err(|source| StoreError::Parquet { path: path.to_path_buf(), source })?;
        append_rows(&Columns::new(&*group), &mut data).map_err(|what| StoreError::damaged(path, what))?;
    }

    if data.n_rows.iter().map(|&n| n as usize).sum::<usize>() != data.rows.len() {
        return Err(StoreError::damaged(path, "its doc table does not fit its rows"));
    }

    Ok(data)
}

/// The doc table of the footer.
fn docs_json(data: &ShardData) -> String {
    let rows = data.docs.iter().zip(&data.n_rows).map(|(doc, n_rows)| {
        let DocMeta { key, language, skipped, blob_bytes, degradations } = doc;
        (key.blob_oid.to_string(), key.variant, language, n_rows, skipped, blob_bytes, degradations)
    });
    serde_json::to_string(&rows.collect::<Vec<_>>()).unwrap_or_default()
}

/// An entry of the doc table, which is a list in JSON.
#[derive(serde::Deserialize)]
struct DocRecord {
    oid: String,
    variant: u64,
    language: String,
    n_rows: u32,
    skipped: u8,
    blob_bytes: u32,
    degradations: Vec<DegradationMeta>,
}

/// Parses the doc table of the footer into `data`.
fn parse_docs(json: &str, data: &mut ShardData) -> Result<(), String> {
    let docs: Vec<DocRecord> =
        serde_json::from_str(json).map_err(|e| format!("its doc table cannot be read ({e})"))?;
    for DocRecord { oid, variant, language, n_rows, skipped, blob_bytes, degradations } in docs {
        let blob_oid = Oid::from_hex(oid.as_bytes()).map_err(|_| format!("`{oid}` is no object id"))?;
        let key = DocKey { blob_oid, variant };
        data.docs.push(DocMeta { key, language, skipped, blob_bytes, degradations });
        data.n_rows.push(n_rows);
    }
    Ok(())
}

fn footer_value(reader: &SerializedFileReader<File>, key: &str) -> Option<String> {
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.clone()
}

/// The ordinal of the doc of each row.
fn doc_of_rows(data: &ShardData) -> Vec<u32> {
    let docs = data.n_rows.iter().enumerate();
    docs.flat_map(|(ordinal, &n_rows)| std::iter::repeat_n(ordinal as u32, n_rows as usize)).collect()
}

/// The values of the column at `path` of the [`schema`] for a batch of rows, whose docs have the ordinals
/// `docs`.
fn values(data: &ShardData, path: &str, docs: &[u32], batch: Range<usize>) -> Result<Values, ParquetError> {
    let rows = &data.rows[batch.clone()];
    let row_docs = || docs.iter().map(|&ordinal| &data.docs[ordinal as usize]);
    let numbers = |value: fn(&RowMeta) -> u32| Values::numbers(rows.iter().map(value));
    let scores = |score: fn(Importance) -> f32| {
        Values::Floats(rows.iter().map(|row| score(class_of(row).importance())).collect())
    };

    Ok(match path {
        "doc" => Values::numbers(docs.iter().copied()),
        "blob_oid" => Values::hashes(row_docs().map(|doc| doc.key.blob_oid.as_slice())),
        "blob_language" => Values::texts(row_docs().map(|doc| &doc.language)),
        "variant" => Values::Longs(row_docs().map(|doc| doc.key.variant as i64).collect()),
        "chunk_id" => Values::hashes(rows.iter().map(|row| &row.chunk_id)),
        "input_hash" => Values::hashes(rows.iter().map(|row| &row.input_hash)),
        "start_byte" => numbers(|row| row.byte_range.start),
        "end_byte" => numbers(|row| row.byte_range.end),
        "start_line" => numbers(|row| row.lines.0),
        "end_line" => numbers(|row| row.lines.1),
        "language" => Values::texts(rows.iter().map(|row| &row.language)),
        "source" => numbers(|row| u32::from(row.source)),
        "class" => numbers(|row| u32::from(row.class)),
        // The class determines these. They are written for other readers of the file, and not read here.
        "category" => Values::texts(rows.iter().map(|row| class_of(row).category())),
        "importance_discovery" => scores(|importance| importance.discovery),
        "importance_comprehension" => scores(|importance| importance.comprehension),
        "importance_modification" => scores(|importance| importance.modification),
        "importance_debugging" => scores(|importance| importance.debugging),
        "importance_documentation" => scores(|importance| importance.documentation),
        "container" => Values::Flags(rows.iter().map(|row| row.is_container).collect()),
        "token_count" => numbers(|row| row.token_count),
        "title" => Values::texts(rows.iter().map(|row| &row.title)),
        "enclosing" => Values::texts(rows.iter().map(enclosing_json)),
        "detail" => Values::texts(rows.iter().map(|row| &row.detail)),
        "vector" => {
            let vectors = &data.vectors[batch.start * data.dim..batch.end * data.dim];
            Values::hashes(vectors.chunks_exact(data.dim.max(1)).map(bytemuck::cast_slice::<i8, u8>))
        }
        _ => symbols::values(path, rows)
            .ok_or_else(|| ParquetError::General(format!("column `{path}` has no values")))?,
    })
}

fn class_of(row: &RowMeta) -> SemanticClass {
    SemanticClass::from_u8(row.class).unwrap_or(SemanticClass::Unknown)
}

fn enclosing_json(row: &RowMeta) -> String {
    serde_json::to_string(&row.enclosing).unwrap_or_else(|_| "[]".to_owned())
}

/// Appends the rows of a row group and their vectors to `data`.
fn append_rows(columns: &Columns, data: &mut ShardData) -> Result<(), String> {
    let chunk_id = columns.hashes("chunk_id")?;
    let input_hash = columns.hashes("input_hash")?;
    let start_byte = columns.numbers("start_byte")?;
    let end_byte = columns.numbers("end_byte")?;
    let start_line = columns.numbers("start_line")?;
    let end_line = columns.numbers("end_line")?;
    let source = columns.numbers("source")?;
    let class = columns.numbers("class")?;
    let token_count = columns.numbers("token_count")?;
    let container = columns.flags("container")?;
    let mut language = columns.texts("language")?.into_iter();
    let mut title = columns.texts("title")?.into_iter();
    let mut detail = columns.texts("detail")?.into_iter();
    let enclosing = columns.texts("enclosing")?;
    let mut symbols = symbols::read(columns)?.into_iter();
    let next = |texts: &mut std::vec::IntoIter<String>| texts.next().unwrap_or_default();
    for i in 0..columns.n_rows() {
        data.rows.push(RowMeta {
            chunk_id: chunk_id[i],
            input_hash: input_hash[i],
            byte_range: start_byte[i]..end_byte[i],
            lines: (start_line[i], end_line[i]),
            language: next(&mut language),
            source: source[i] as u8,
            class: class[i] as u8,
            is_container: container[i],
            token_count: token_count[i],
            title: next(&mut title),
            enclosing: serde_json::from_str(&enclosing[i])
                .map_err(|e| format!("enclosing of row {i}: {e}"))?,
            symbols: symbols.next().unwrap_or_default(),
            detail: next(&mut detail),
        });
    }

    data.dim = columns.append_vectors("vector", &mut data.vectors)?;
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::rows::SymbolMeta;

    /// `n_docs` docs with random rows; every seventh has none.
    pub fn sample(n_docs: usize, dim: usize, seed: u64) -> ShardData {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut data = ShardData { dim, ..ShardData::default() };

        for i in 0..n_docs {
            let mut oid = [0u8; 20];
            rng.fill(&mut oid);
            let key = DocKey { blob_oid: Oid::from_bytes_or_panic(&oid), variant: rng.u64(..) };

            let n_rows = if i % 7 == 3 { 0 } else { rng.u32(1..5) };
            data.docs.push(DocMeta {
                key,
                language: "rust".into(),
                skipped: u8::from(n_rows == 0),
                blob_bytes: 100,
                degradations: vec![DegradationMeta {
                    reason: "oversized_node".into(),
                    byte_range: 7..i as u32 + 7,
                }],
            });
            data.n_rows.push(n_rows);

            for r in 0..n_rows {
                let byte_range = r * 10..r * 10 + 9;
                data.rows.push(RowMeta {
                    chunk_id: super::super::rows::chunk_id(&key, &byte_range),
                    input_hash: [r as u8; 16],
                    lines: (r + 1, r + 2),
                    language: "rust".into(),
                    source: 0,
                    class: 1,
                    is_container: r == 0,
                    token_count: 9,
                    title: format!("fn f{r}"),
                    enclosing: vec!["Parser".into()],
                    symbols: vec![SymbolMeta {
                        name: format!("f{r}"),
                        qualified_name: format!("Parser::f{r}"),
                        kind: 1,
                        class: 0,
                        nesting: 1,
                        signature: format!("fn f{r}()"),
                        doc: String::new(),
                        byte_range: byte_range.clone(),
                        lines: (r + 1, r + 2),
                    }],
                    detail: String::new(),
                    byte_range,
                });
                data.vectors.extend((0..dim).map(|_| rng.i8(-127..=127)));
            }
        }

        data
    }

    /// Returns what is read of the shard that is written of `data`.
    pub fn round_trip(data: &ShardData) -> ShardData {
        let file = tempfile::NamedTempFile::new().unwrap();
        let encoded = encode(data, file.path()).unwrap();
        std::fs::write(file.path(), &encoded.bytes).unwrap();
        read(file.path()).unwrap()
    }

    #[test]
    fn a_shard_survives_a_round_trip() {
        for (n_docs, dim) in [(0, 256), (1, 256), (4, 384), (900, 64)] {
            let data = sample(n_docs, dim, 9);
            let back = round_trip(&data);
            assert_eq!(back.docs, data.docs);
            assert_eq!(back.rows, data.rows);
            assert_eq!(back.vectors, data.vectors);
        }
    }

    #[test]
    fn a_shard_of_another_schema_is_refused() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let mut bytes = encode(&sample(4, 64, 9), &path).unwrap().bytes;
        let key = bytes.windows(SCHEMA_KEY.len()).rposition(|it| it == SCHEMA_KEY.as_bytes()).unwrap();
        // Behind the key: type and length of the value, and its only digit.
        let value = key + SCHEMA_KEY.len() + 2;

        bytes[value] = b'9';
        std::fs::write(&path, &bytes).unwrap();
        let refused =
            |e: StoreError| matches!(e, StoreError::Version { found: 9, expected: SCHEMA_VERSION, .. });
        assert!(read(&path).is_err_and(refused) && read_docs(&path).is_err_and(refused));

        bytes[value] = b'x';
        std::fs::write(&path, &bytes).unwrap();
        assert!(read(&path).is_err_and(|e| matches!(e, StoreError::Damaged { .. })));
    }

    #[test]
    fn equal_data_gives_equal_bytes() {
        let data = sample(300, 256, 4);
        let path = Path::new("x.parquet");
        assert_eq!(encode(&data, path).unwrap().bytes, encode(&data, path).unwrap().bytes);
    }

    #[test]
    fn a_full_shard_keeps_its_vectors_in_one_page() {
        let mut data = sample(1, 256, 5);
        data.rows = std::iter::repeat_n(data.rows[0].clone(), MAX_ROWS).collect();
        data.n_rows = vec![MAX_ROWS as u32];
        data.vectors = (0..MAX_ROWS * 256).map(|i| (i * 31 % 251) as u8 as i8).collect();
        encode(&data, Path::new("x.parquet")).unwrap();
    }
}
