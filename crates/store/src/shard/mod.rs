//! Shards: immutable Parquet files of chunks and vectors, named by the BLAKE3 hash of their bytes.
//!
//! One row per chunk, in (doc, position) order. The columns are those of [`schema`] and are documented for
//! users in `docs/storage.md`. The columns `vector` and `input_hash` are REQUIRED FixedSizeBinary, PLAIN,
//! uncompressed, in one row group and one page, so that their values are contiguous bytes that are mapped in
//! place. Docs without chunks are in the footer under [`DOCS_KEY`], since the fact that a blob has nothing to
//! index must not be lost.

mod symbols;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Float32Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::compute_leaves;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use codeweaver_base::regular_file;
use codeweaver_chunk::SemanticClass;
use codeweaver_chunk::classes::Importance;
use codeweaver_git::Oid;

use super::error::StoreError;
use super::rows::{DegradationMeta, DocKey, DocMeta, RowMeta};

/// Maximum number of rows of a shard: the vectors stay below the 2³¹ limit of a Parquet page at every
/// supported dimension.
pub const MAX_ROWS: usize = 128 * 1024;

/// Number of rows that are encoded at once.
const BATCH_ROWS: usize = 512;
/// Size at which a page ends, except those of the vectors and input hashes.
const PAGE_BYTES: usize = 1 << 20;

/// Compression level of zstd.
const LEVEL: i32 = 3;

/// Footer key of the doc table: JSON list of
/// `[oid, variant, language, n_rows, skipped, blob_bytes, degradations]`.
pub const DOCS_KEY: &str = "codeweaver.docs";
/// Footer key of the schema version.
pub const SCHEMA_KEY: &str = "codeweaver.schema";
/// Version of the columns and of the footer. A shard of another version is not read.
pub const SCHEMA_VERSION: u32 = 1;

/// Columns of positions, which grow within a doc.
const POSITIONS: [&str; 4] = ["start_byte", "end_byte", "start_line", "end_line"];

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

/// The columns of a shard for hashes of `oid_len` bytes and vectors of `dim` components.
pub fn schema(oid_len: i32, dim: i32) -> Schema {
    let utf8 = |name: &str| Field::new(name, DataType::Utf8, false);
    let number = |name: &str| Field::new(name, DataType::UInt32, false);
    let score = |name: &str| Field::new(name, DataType::Float32, false);

    Schema::new(vec![
        number("doc"),
        Field::new("blob_oid", DataType::FixedSizeBinary(oid_len), false),
        utf8("blob_language"),
        Field::new("variant", DataType::UInt64, false),
        Field::new("chunk_id", DataType::FixedSizeBinary(16), false),
        Field::new("input_hash", DataType::FixedSizeBinary(16), false),
        number("start_byte"),
        number("end_byte"),
        number("start_line"),
        number("end_line"),
        utf8("language"),
        number("source"),
        number("class"),
        utf8("category"),
        score("importance_discovery"),
        score("importance_comprehension"),
        score("importance_modification"),
        score("importance_debugging"),
        score("importance_documentation"),
        Field::new("container", DataType::Boolean, false),
        number("token_count"),
        utf8("title"),
        utf8("enclosing"),
        symbols::field(),
        utf8("detail"),
        Field::new("vector", DataType::FixedSizeBinary(dim), false),
    ])
}

/// Encodes `data`. Equal data gives equal bytes for one version of the Parquet writer.
pub fn encode(data: &ShardData, path: &Path) -> Result<EncodedShard, StoreError> {
    let failed = |source| StoreError::Parquet { path: path.to_path_buf(), source };

    let oid_len = data.docs.first().map_or(20, |doc| doc.key.blob_oid.as_slice().len()) as i32;
    let schema = Arc::new(schema(oid_len, data.dim as i32));
    let mut bytes = Vec::new();
    let properties = properties(docs_json(data));
    let writer = ArrowWriter::try_new(&mut bytes, schema.clone(), Some(properties)).map_err(failed)?;
    let (mut writer, groups) = writer.into_serialized_writer().map_err(failed)?;

    if !data.rows.is_empty() {
        let columns = groups.create_column_writers(0).map_err(failed)?;
        let mut group = writer.next_row_group().map_err(failed)?;
        let doc_of_rows = doc_of_rows(data);

        // One column after the other and a batch at a time, so that only a batch is in memory unencoded.
        let mut columns = columns.into_iter();
        for field in schema.fields() {
            let mut leaves: Vec<_> = columns.by_ref().take(n_leaves(field)).collect();
            for start in (0..data.rows.len()).step_by(BATCH_ROWS) {
                let batch = start..data.rows.len().min(start + BATCH_ROWS);
                let array = array(data, field, &doc_of_rows[batch.clone()], batch)
                    .map_err(|e| failed(ParquetError::General(e.to_string())))?;
                for (column, leaf) in leaves.iter_mut().zip(compute_leaves(field, &array).map_err(failed)?) {
                    column.write(&leaf).map_err(failed)?;
                }
            }

            for column in leaves {
                column.close().and_then(|chunk| chunk.append_to_row_group(&mut group)).map_err(failed)?;
            }
        }
        group.close().map_err(failed)?;
    }

    let metadata = writer.close().map_err(failed)?;
    let input_hashes: Vec<u8> = data.rows.iter().flat_map(|row| row.input_hash).collect();

    let groups = metadata.row_groups();
    let vectors = checked_offset(&bytes, groups, "vector", bytemuck::cast_slice(&data.vectors), path)?;
    let input_hashes = checked_offset(&bytes, groups, "input_hash", &input_hashes, path)?;
    Ok(EncodedShard { bytes, offsets: Offsets { vectors, input_hashes } })
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

/// Number of Parquet columns that `field` takes.
fn n_leaves(field: &Field) -> usize {
    match field.data_type() {
        DataType::List(element) => n_leaves(element),
        DataType::Struct(fields) => fields.iter().map(|field| n_leaves(field)).sum(),
        _ => 1,
    }
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
fn open(path: &Path) -> Result<(ShardData, ParquetRecordBatchReaderBuilder<File>), StoreError> {
    let file = regular_file::open(path).map_err(StoreError::io("open", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|source| StoreError::Parquet { path: path.to_path_buf(), source })?;

    check_schema(path, footer_value(&builder, SCHEMA_KEY).as_deref())?;
    let docs_json = footer_value(&builder, DOCS_KEY)
        .ok_or_else(|| StoreError::damaged(path, "its footer has no doc table"))?;

    let mut data = ShardData::default();
    parse_docs(&docs_json, &mut data).map_err(|what| StoreError::damaged(path, what))?;
    Ok((data, builder))
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
    let failed = |source| StoreError::Parquet { path: path.to_path_buf(), source };
    let (mut data, builder) = open(path)?;
    let reader = builder.with_batch_size(MAX_ROWS).build().map_err(failed)?;

    for batch in reader {
        let batch = batch.map_err(|e| failed(ParquetError::General(e.to_string())))?;
        append_batch(&batch, &mut data).map_err(|what| StoreError::damaged(path, what))?;
    }

    if data.n_rows.iter().map(|&n| n as usize).sum::<usize>() != data.rows.len() {
        return Err(StoreError::damaged(path, "its doc table does not fit its rows"));
    }

    Ok(data)
}

/// The encoding of each column.
fn properties(docs_json: String) -> WriterProperties {
    let level = ZstdLevel::try_new(LEVEL).expect("the level is one that zstd has");
    let mut builder = WriterProperties::builder()
        // The default contains the crate's version, which would change every hash on an upgrade.
        .set_created_by("codeweaver 1".to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(MAX_ROWS * 2))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(MAX_ROWS * 2)
        .set_write_batch_size(MAX_ROWS * 2)
        .set_key_value_metadata(Some(vec![
            KeyValue::new(SCHEMA_KEY.to_owned(), SCHEMA_VERSION.to_string()),
            KeyValue::new(DOCS_KEY.to_owned(), docs_json),
        ]));

    // Texts rarely repeat as a whole, so a dictionary would only be in the way.
    for distinct in symbols::texts().chain(["detail".to_owned()]) {
        builder = builder.set_column_dictionary_enabled(column_path(&distinct), false);
    }
    for prefixed in symbols::names() {
        builder = builder.set_column_encoding(column_path(&prefixed), Encoding::DELTA_BYTE_ARRAY);
    }
    for growing in symbols::positions().chain(POSITIONS.map(str::to_owned)) {
        let path = column_path(&growing);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }

    for incompressible in ["chunk_id", "input_hash", "vector"].map(ColumnPath::from) {
        builder = builder
            .set_column_dictionary_enabled(incompressible.clone(), false)
            .set_column_encoding(incompressible.clone(), Encoding::PLAIN)
            .set_column_compression(incompressible, Compression::UNCOMPRESSED);
    }

    // One page, so that the values are contiguous.
    for in_place in ["input_hash", "vector"].map(ColumnPath::from) {
        builder = builder.set_column_data_page_size_limit(in_place, usize::MAX / 2);
    }

    builder.build()
}

fn column_path(name: &str) -> ColumnPath {
    ColumnPath::new(name.split('.').map(str::to_owned).collect())
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

fn footer_value<T>(
    builder: &parquet::arrow::arrow_reader::ArrowReaderBuilder<T>,
    key: &str,
) -> Option<String> {
    let pairs = builder.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.clone()
}

/// The ordinal of the doc of each row.
fn doc_of_rows(data: &ShardData) -> Vec<u32> {
    let docs = data.n_rows.iter().enumerate();
    docs.flat_map(|(ordinal, &n_rows)| std::iter::repeat_n(ordinal as u32, n_rows as usize)).collect()
}

/// The values of a column of [`schema`] for a batch of rows, whose docs have the ordinals `docs`.
fn array(data: &ShardData, field: &Field, docs: &[u32], batch: Range<usize>) -> Result<ArrayRef, ArrowError> {
    let rows = &data.rows[batch.clone()];
    let row_docs = || docs.iter().map(|&ordinal| &data.docs[ordinal as usize]);

    match field.name().as_str() {
        "doc" => Ok(Arc::new(UInt32Array::from_iter_values(docs.iter().copied()))),
        "blob_oid" => fixed(field, rows.len(), row_docs().map(|doc| doc.key.blob_oid.as_slice())),
        "blob_language" => strings(rows.len(), row_docs().map(|doc| &doc.language)),
        "variant" => Ok(Arc::new(UInt64Array::from_iter_values(row_docs().map(|doc| doc.key.variant)))),
        "chunk_id" => fixed(field, rows.len(), rows.iter().map(|row| &row.chunk_id[..])),
        "input_hash" => fixed(field, rows.len(), rows.iter().map(|row| &row.input_hash[..])),
        "start_byte" => numbers(rows, |row| row.byte_range.start),
        "end_byte" => numbers(rows, |row| row.byte_range.end),
        "start_line" => numbers(rows, |row| row.lines.0),
        "end_line" => numbers(rows, |row| row.lines.1),
        "language" => strings(rows.len(), rows.iter().map(|row| &row.language)),
        "source" => numbers(rows, |row| u32::from(row.source)),
        "class" => numbers(rows, |row| u32::from(row.class)),
        // The class determines these. They are written for other readers of the file, and not read here.
        "category" => strings(rows.len(), rows.iter().map(|row| class_of(row).category())),
        "importance_discovery" => scores(rows, |importance| importance.discovery),
        "importance_comprehension" => scores(rows, |importance| importance.comprehension),
        "importance_modification" => scores(rows, |importance| importance.modification),
        "importance_debugging" => scores(rows, |importance| importance.debugging),
        "importance_documentation" => scores(rows, |importance| importance.documentation),
        "container" => {
            let values: Vec<bool> = rows.iter().map(|row| row.is_container).collect();
            Ok(Arc::new(BooleanArray::from(values)))
        }
        "token_count" => numbers(rows, |row| row.token_count),
        "title" => strings(rows.len(), rows.iter().map(|row| &row.title)),
        "enclosing" => strings(
            rows.len(),
            rows.iter().map(|row| serde_json::to_string(&row.enclosing).unwrap_or_else(|_| "[]".to_owned())),
        ),
        symbols::COLUMN => symbols::encode(rows),
        "detail" => strings(rows.len(), rows.iter().map(|row| &row.detail)),
        "vector" => {
            let vectors = &data.vectors[batch.start * data.dim..batch.end * data.dim];
            let vectors = vectors.chunks_exact(data.dim.max(1)).map(bytemuck::cast_slice);
            fixed(field, rows.len(), vectors)
        }
        other => Err(ArrowError::SchemaError(format!("column `{other}` has no values"))),
    }
}

fn class_of(row: &RowMeta) -> SemanticClass {
    SemanticClass::from_u8(row.class).unwrap_or(SemanticClass::Unknown)
}

fn numbers(rows: &[RowMeta], value: fn(&RowMeta) -> u32) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(UInt32Array::from_iter_values(rows.iter().map(value))))
}

fn scores(rows: &[RowMeta], score: fn(Importance) -> f32) -> Result<ArrayRef, ArrowError> {
    let values = rows.iter().map(|row| score(class_of(row).importance()));
    Ok(Arc::new(Float32Array::from_iter_values(values)))
}

fn strings(n: usize, values: impl Iterator<Item = impl AsRef<str>>) -> Result<ArrayRef, ArrowError> {
    let mut column = StringBuilder::with_capacity(n, 0);
    values.for_each(|value| column.append_value(value));
    Ok(Arc::new(column.finish()))
}

/// A column of values of equal length, which `field` gives.
fn fixed<'v>(
    field: &Field,
    n: usize,
    mut values: impl Iterator<Item = &'v [u8]>,
) -> Result<ArrayRef, ArrowError> {
    let DataType::FixedSizeBinary(len) = field.data_type() else {
        return Err(ArrowError::SchemaError(format!("column `{}` has no fixed length", field.name())));
    };

    let mut column = FixedSizeBinaryBuilder::with_capacity(n, *len);
    values.try_for_each(|value| column.append_value(value))?;
    Ok(Arc::new(column.finish()))
}

/// Appends the rows of `batch` and their vectors to `data`.
fn append_batch(batch: &RecordBatch, data: &mut ShardData) -> Result<(), String> {
    // The variants are read from the doc table; the column only has to be there.
    column(batch, "variant")?.as_primitive_opt::<UInt64Type>().ok_or("column `variant` has another type")?;
    let chunk_id = binary_column(batch, "chunk_id")?;
    let input_hash = binary_column(batch, "input_hash")?;
    let vector = binary_column(batch, "vector")?;
    let start_byte = number_column(batch, "start_byte")?;
    let end_byte = number_column(batch, "end_byte")?;
    let start_line = number_column(batch, "start_line")?;
    let end_line = number_column(batch, "end_line")?;
    let source = number_column(batch, "source")?;
    let class = number_column(batch, "class")?;
    let token_count = number_column(batch, "token_count")?;
    let container = column(batch, "container")?.as_boolean_opt();
    let container = container.ok_or("column `container` has another type")?;
    let language = string_column(batch, "language")?;
    let title = string_column(batch, "title")?;
    let detail = string_column(batch, "detail")?;
    let enclosing = string_column(batch, "enclosing")?;
    let symbols = symbols::decode(column(batch, symbols::COLUMN)?)?;

    data.dim = vector.value_length() as usize;

    for (i, symbols) in symbols.into_iter().enumerate() {
        data.rows.push(RowMeta {
            chunk_id: hash_of(chunk_id.value(i))?,
            input_hash: hash_of(input_hash.value(i))?,
            byte_range: start_byte.value(i)..end_byte.value(i),
            lines: (start_line.value(i), end_line.value(i)),
            language: language.value(i).to_owned(),
            source: source.value(i) as u8,
            class: class.value(i) as u8,
            is_container: container.value(i),
            token_count: token_count.value(i),
            title: title.value(i).to_owned(),
            enclosing: serde_json::from_str(enclosing.value(i))
                .map_err(|e| format!("enclosing of row {i}: {e}"))?,
            symbols,
            detail: detail.value(i).to_owned(),
        });
        data.vectors.extend_from_slice(bytemuck::cast_slice(vector.value(i)));
    }

    Ok(())
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, String> {
    batch.column_by_name(name).ok_or_else(|| format!("column `{name}` is missing"))
}

fn number_column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b UInt32Array, String> {
    let numbers = column(batch, name)?.as_primitive_opt::<UInt32Type>();
    numbers.ok_or_else(|| format!("column `{name}` has another type"))
}

fn string_column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b StringArray, String> {
    let strings = column(batch, name)?.as_string_opt::<i32>();
    strings.ok_or_else(|| format!("column `{name}` has another type"))
}

fn binary_column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b FixedSizeBinaryArray, String> {
    let values = column(batch, name)?.as_fixed_size_binary_opt();
    values.ok_or_else(|| format!("column `{name}` has another type"))
}

fn hash_of(bytes: &[u8]) -> Result<[u8; 16], String> {
    <[u8; 16]>::try_from(bytes).map_err(|_| "a hash is not 16 bytes long".to_owned())
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

    #[test]
    fn a_shard_survives_a_round_trip() {
        for (n_docs, dim) in [(0, 256), (1, 256), (4, 384), (900, 64)] {
            let data = sample(n_docs, dim, 9);
            let file = tempfile::NamedTempFile::new().unwrap();
            let encoded = encode(&data, file.path()).unwrap();
            std::fs::write(file.path(), &encoded.bytes).unwrap();
            let back = read(file.path()).unwrap();
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
