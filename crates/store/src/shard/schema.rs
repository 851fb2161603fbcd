//! The columns of a shard and their encodings.

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};

use super::MAX_ROWS;
use super::symbols::{self, POSITIONS};

/// Size at which a page ends, except those of the vectors and input hashes.
const PAGE_BYTES: usize = 1 << 20;

/// Compression level of zstd.
const LEVEL: i32 = 3;

/// The columns. `OID_LEN` and `DIM` stand for numbers.
const COLUMNS: &str = "message chunks {
    REQUIRED INT32 doc (INTEGER(32,false));
    REQUIRED FIXED_LEN_BYTE_ARRAY(OID_LEN) blob_oid;
    REQUIRED BYTE_ARRAY blob_language (STRING);
    REQUIRED INT64 variant (INTEGER(64,false));
    REQUIRED FIXED_LEN_BYTE_ARRAY(16) chunk_id;
    REQUIRED FIXED_LEN_BYTE_ARRAY(16) input_hash;
    REQUIRED INT32 start_byte (INTEGER(32,false));
    REQUIRED INT32 end_byte (INTEGER(32,false));
    REQUIRED INT32 start_line (INTEGER(32,false));
    REQUIRED INT32 end_line (INTEGER(32,false));
    REQUIRED BYTE_ARRAY language (STRING);
    REQUIRED INT32 source (INTEGER(32,false));
    REQUIRED INT32 class (INTEGER(32,false));
    REQUIRED BYTE_ARRAY category (STRING);
    REQUIRED FLOAT importance_discovery;
    REQUIRED FLOAT importance_comprehension;
    REQUIRED FLOAT importance_modification;
    REQUIRED FLOAT importance_debugging;
    REQUIRED FLOAT importance_documentation;
    REQUIRED BOOLEAN container;
    REQUIRED INT32 token_count (INTEGER(32,false));
    REQUIRED BYTE_ARRAY title (STRING);
    REQUIRED BYTE_ARRAY enclosing (STRING);
    REQUIRED GROUP symbols (LIST) {
        REPEATED GROUP list {
            REQUIRED GROUP element {
                REQUIRED BYTE_ARRAY name (STRING);
                OPTIONAL BYTE_ARRAY qualified_name (STRING);
                REQUIRED INT32 kind (INTEGER(8,false));
                REQUIRED INT32 class (INTEGER(8,false));
                REQUIRED INT32 nesting (INTEGER(8,false));
                REQUIRED BYTE_ARRAY signature (STRING);
                REQUIRED BYTE_ARRAY doc (STRING);
                REQUIRED INT32 start_byte (INTEGER(32,false));
                REQUIRED INT32 end_byte (INTEGER(32,false));
                REQUIRED INT32 start_line (INTEGER(32,false));
                REQUIRED INT32 end_line (INTEGER(32,false));
            }
        }
    }
    REQUIRED BYTE_ARRAY detail (STRING);
    REQUIRED FIXED_LEN_BYTE_ARRAY(DIM) vector;
}";

/// The columns of a shard for hashes of `oid_len` bytes and vectors of `dim` components.
pub fn columns(oid_len: usize, dim: usize) -> Result<Type, ParquetError> {
    let columns = COLUMNS.replace("OID_LEN", &oid_len.to_string()).replace("DIM", &dim.to_string());
    parse_message_type(&columns)
}

/// The encoding of each column, with the values of the `footer`.
pub fn properties(footer: &[(&str, String)]) -> WriterProperties {
    let level = ZstdLevel::try_new(LEVEL).expect("the level is one that zstd has");
    let footer = footer.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));

    let builder = WriterProperties::builder()
        // The default contains the crate's version, which would change every hash on an upgrade.
        .set_created_by("codeweaver 1".to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(MAX_ROWS * 2))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(MAX_ROWS * 2)
        .set_write_batch_size(MAX_ROWS * 2)
        .set_key_value_metadata(Some(footer.collect()));

    in_place(incompressible(texts_and_positions(builder))).build()
}

/// Texts rarely repeat as a whole, so a dictionary would only be in the way.
fn texts_and_positions(mut builder: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
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
    builder
}

fn incompressible(mut builder: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
    for path in ["chunk_id", "input_hash", "vector"].map(ColumnPath::from) {
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path.clone(), Encoding::PLAIN)
            .set_column_compression(path, Compression::UNCOMPRESSED);
    }
    builder
}

/// One page for each, so that the values are contiguous.
fn in_place(builder: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
    ["input_hash", "vector"]
        .map(ColumnPath::from)
        .into_iter()
        .fold(builder, |builder, path| builder.set_column_data_page_size_limit(path, usize::MAX / 2))
}

fn column_path(name: &str) -> ColumnPath {
    ColumnPath::new(name.split('.').map(str::to_owned).collect())
}
