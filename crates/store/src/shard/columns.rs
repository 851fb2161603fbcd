//! Values of one column of a shard, written and read.

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

/// Values of a column for some rows.
pub enum Values {
    Flags(Vec<bool>),
    Numbers(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<ByteArray>),
    Hashes(Vec<FixedLenByteArray>),
    /// Values of the elements of a list.
    Elements(Box<Values>, Levels),
}

/// Definition and repetition levels of the elements of a list, as Parquet defines them: a row without elements
/// has one level.
#[derive(Default)]
pub struct Levels {
    pub definition: Vec<i16>,
    pub repetition: Vec<i16>,
}

impl Values {
    /// Parquet has unsigned integers as a note beside signed ones of the same bits.
    pub fn numbers(values: impl Iterator<Item = u32>) -> Values {
        Values::Numbers(values.map(|value| value as i32).collect())
    }

    pub fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> Values {
        Values::Texts(in_one_buffer(values.map(AsBytes)))
    }

    /// Values of the length that the schema has for the column.
    pub fn hashes(values: impl Iterator<Item = impl AsRef<[u8]>>) -> Values {
        Values::Hashes(in_one_buffer(values).into_iter().map(FixedLenByteArray::from).collect())
    }

    /// Writes the values to the end of `column`.
    pub fn write(&self, column: &mut ColumnWriter) -> Result<(), ParquetError> {
        match self {
            // Both levels are those of the list, which is the only one around its elements.
            Values::Elements(values, levels) => {
                values.write_levels(column, Some(&levels.definition), Some(&levels.repetition))
            }
            values => values.write_levels(column, None, None),
        }
    }

    fn write_levels(
        &self,
        column: &mut ColumnWriter,
        definition: Option<&[i16]>,
        repetition: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        use ColumnWriter as Writer;

        match (self, column) {
            (Values::Flags(values), Writer::BoolColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Values::Numbers(values), Writer::Int32ColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Values::Longs(values), Writer::Int64ColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Values::Floats(values), Writer::FloatColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Values::Texts(values), Writer::ByteArrayColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Values::Hashes(values), Writer::FixedLenByteArrayColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            _ => Err(ParquetError::General("values are not of the type of their column".to_owned())),
        }
        .map(|_| ())
    }
}

/// A text as bytes.
struct AsBytes<T>(T);

impl<T: AsRef<str>> AsRef<[u8]> for AsBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().as_bytes()
    }
}

/// Copies `values` one after the other into a buffer that they share: one allocation instead of one for each.
fn in_one_buffer(values: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<ByteArray> {
    let mut bytes = Vec::new();
    let mut ranges = Vec::new();
    for value in values {
        let start = bytes.len();
        bytes.extend_from_slice(value.as_ref());
        ranges.push(start..bytes.len());
    }

    let bytes = Bytes::from(bytes);
    ranges.into_iter().map(|range| ByteArray::from(bytes.slice(range))).collect()
}

/// The columns of a row group. A column that is missing, of another type or too short is an error that says so.
pub struct Columns<'g> {
    group: &'g dyn RowGroupReader,
}

impl<'g> Columns<'g> {
    pub fn new(group: &'g dyn RowGroupReader) -> Columns<'g> {
        Columns { group }
    }

    pub fn n_rows(&self) -> usize {
        self.group.metadata().num_rows().try_into().unwrap_or_default()
    }

    pub fn flags(&self, path: &str) -> Result<Vec<bool>, String> {
        match self.reader(path)? {
            ColumnReader::BoolColumnReader(reader) => self.one_for_each_row(path, reader),
            _ => Err(other_type(path)),
        }
    }

    pub fn numbers(&self, path: &str) -> Result<Vec<u32>, String> {
        match self.reader(path)? {
            ColumnReader::Int32ColumnReader(reader) => self.one_for_each_row(path, reader).map(unsigned),
            _ => Err(other_type(path)),
        }
    }

    pub fn texts(&self, path: &str) -> Result<Vec<String>, String> {
        match self.reader(path)? {
            ColumnReader::ByteArrayColumnReader(reader) => {
                texts_of(path, &self.one_for_each_row(path, reader)?)
            }
            _ => Err(other_type(path)),
        }
    }

    pub fn hashes(&self, path: &str) -> Result<Vec<[u8; 16]>, String> {
        let values = self.fixed(path)?;
        let hash_of = |value: &FixedLenByteArray| <[u8; 16]>::try_from(value.data());
        values.iter().map(hash_of).collect::<Result<_, _>>().map_err(|_| other_type(path))
    }

    /// Appends the vectors of the column at `path` to `vectors`. Returns the number of their components.
    pub fn append_vectors(&self, path: &str, vectors: &mut Vec<i8>) -> Result<usize, String> {
        let values = self.fixed(path)?;
        for value in &values {
            vectors.extend_from_slice(bytemuck::cast_slice(value.data()));
        }
        Ok(values.first().map_or(0, |value| value.len()))
    }

    /// Numbers of the elements of a list.
    pub fn element_numbers(&self, path: &str) -> Result<(Vec<u32>, Levels), String> {
        match self.reader(path)? {
            ColumnReader::Int32ColumnReader(reader) => {
                let (values, levels) = self.records(path, reader)?;
                Ok((unsigned(values), levels))
            }
            _ => Err(other_type(path)),
        }
    }

    /// Texts of the elements of a list.
    pub fn element_texts(&self, path: &str) -> Result<(Vec<String>, Levels), String> {
        match self.reader(path)? {
            ColumnReader::ByteArrayColumnReader(reader) => {
                let (values, levels) = self.records(path, reader)?;
                Ok((texts_of(path, &values)?, levels))
            }
            _ => Err(other_type(path)),
        }
    }

    fn fixed(&self, path: &str) -> Result<Vec<FixedLenByteArray>, String> {
        match self.reader(path)? {
            ColumnReader::FixedLenByteArrayColumnReader(reader) => self.one_for_each_row(path, reader),
            _ => Err(other_type(path)),
        }
    }

    fn reader(&self, path: &str) -> Result<ColumnReader, String> {
        let columns = self.group.metadata().columns();
        let n = columns.iter().position(|column| column.column_path().string() == path);
        let n = n.ok_or_else(|| format!("column `{path}` is missing"))?;
        self.group.get_column_reader(n).map_err(|e| format!("column `{path}`: {e}"))
    }

    /// Reads a column that is not in a list and has no nulls.
    fn one_for_each_row<T: DataType>(
        &self,
        path: &str,
        reader: ColumnReaderImpl<T>,
    ) -> Result<Vec<T::T>, String> {
        let (values, _) = self.records(path, reader)?;
        // A damaged schema may have made the column optional, and nulls have no value.
        if values.len() == self.n_rows() { Ok(values) } else { Err(other_type(path)) }
    }

    fn records<T: DataType>(
        &self,
        path: &str,
        mut reader: ColumnReaderImpl<T>,
    ) -> Result<(Vec<T::T>, Levels), String> {
        let (mut values, mut levels) = (Vec::new(), Levels::default());
        let Levels { definition, repetition } = &mut levels;

        // Levels are only asked for in lists; other columns leave them empty.
        let (n_records, ..) = reader
            .read_records(self.n_rows(), Some(definition), Some(repetition), &mut values)
            .map_err(|e| format!("column `{path}`: {e}"))?;
        if n_records != self.n_rows() {
            return Err(format!("column `{path}` has {n_records} of {} rows", self.n_rows()));
        }

        Ok((values, levels))
    }
}

fn unsigned(values: Vec<i32>) -> Vec<u32> {
    values.into_iter().map(|value| value as u32).collect()
}

fn texts_of(path: &str, values: &[ByteArray]) -> Result<Vec<String>, String> {
    let text_of = |value: &ByteArray| value.as_utf8().map(str::to_owned);
    values.iter().map(text_of).collect::<Result<_, _>>().map_err(|e| format!("column `{path}`: {e}"))
}

fn other_type(path: &str) -> String {
    format!("column `{path}` has another type")
}
