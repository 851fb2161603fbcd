//! The column `symbols` of a shard: the definitions of each chunk, a list of structs.
//!
//! Every field is a column of its own, so that similar values are compressed together. Two fields leave out
//! what the name gives: `qualified_name` is null if it equals the name, and `signature` is a
//! [pattern](signature::pattern).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ListArray, StringArray, StructArray, UInt8Array, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};

use super::POSITIONS;
use crate::rows::{RowMeta, SymbolMeta};
use crate::signature;

/// Name of the column.
pub const COLUMN: &str = "symbols";

/// Fields of texts, few of which repeat as a whole.
const TEXTS: [&str; 4] = ["name", "qualified_name", "signature", "doc"];

/// The column as a field of the schema.
pub fn field() -> Field {
    let element = Field::new("element", DataType::Struct(fields()), false);
    Field::new_list(COLUMN, element, false)
}

fn fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8, name == "qualified_name");
    let names = ["name", "qualified_name"].map(text);
    let kinds = ["kind", "class", "nesting"].map(|name| Field::new(name, DataType::UInt8, false));
    let excerpts = ["signature", "doc"].map(text);
    let positions = POSITIONS.map(|name| Field::new(name, DataType::UInt32, false));
    names.into_iter().chain(kinds).chain(excerpts).chain(positions).collect()
}

/// Paths of the Parquet columns of texts.
pub fn texts() -> impl Iterator<Item = String> {
    TEXTS.into_iter().map(path)
}

/// Paths of the Parquet columns of names, which often have a common prefix with the one before.
pub fn names() -> impl Iterator<Item = String> {
    TEXTS[..2].iter().copied().map(path)
}

/// Paths of the Parquet columns of positions.
pub fn positions() -> impl Iterator<Item = String> {
    POSITIONS.into_iter().map(path)
}

fn path(field: &str) -> String {
    format!("{COLUMN}.list.element.{field}")
}

/// Encodes the definitions of `rows`.
pub fn encode(rows: &[RowMeta]) -> Result<ArrayRef, ArrowError> {
    let symbols = || rows.iter().flat_map(|row| &row.symbols);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(symbols().map(|it| &it.name))),
        Arc::new(StringArray::from_iter(
            symbols().map(|it| (it.qualified_name != it.name).then_some(&it.qualified_name)),
        )),
        small(rows, |it| it.kind),
        small(rows, |it| it.class),
        small(rows, |it| it.nesting),
        Arc::new(StringArray::from_iter_values(
            symbols().map(|it| signature::pattern(&it.signature, &it.name)),
        )),
        Arc::new(StringArray::from_iter_values(symbols().map(|it| &it.doc))),
        position(rows, |it| it.byte_range.start),
        position(rows, |it| it.byte_range.end),
        position(rows, |it| it.lines.0),
        position(rows, |it| it.lines.1),
    ];

    let n_symbols = symbols().count();
    let structs = StructArray::try_new_with_length(fields(), columns, None, n_symbols)?;
    let ends = OffsetBuffer::from_lengths(rows.iter().map(|row| row.symbols.len()));

    let DataType::List(element) = field().data_type().clone() else {
        return Err(ArrowError::SchemaError(format!("column `{COLUMN}` is no list")));
    };

    Ok(Arc::new(ListArray::try_new(element, ends, Arc::new(structs), None)?))
}

fn small(rows: &[RowMeta], value: fn(&SymbolMeta) -> u8) -> ArrayRef {
    Arc::new(UInt8Array::from_iter_values(rows.iter().flat_map(|row| &row.symbols).map(value)))
}

fn position(rows: &[RowMeta], value: fn(&SymbolMeta) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(rows.iter().flat_map(|row| &row.symbols).map(value)))
}

/// Decodes the definitions of each row of `column`.
pub fn decode(column: &ArrayRef) -> Result<Vec<Vec<SymbolMeta>>, String> {
    let list = column.as_list_opt::<i32>().ok_or_else(|| other_type(COLUMN))?;
    let structs = list.values().as_struct_opt().ok_or_else(|| other_type(COLUMN))?;
    let columns = Columns::open(structs)?;

    let rows = list.value_offsets().windows(2);
    Ok(rows.map(|ends| (ends[0] as usize..ends[1] as usize).map(|i| columns.symbol(i)).collect()).collect())
}

/// The fields of the definitions of all rows.
struct Columns<'a> {
    name: &'a StringArray,
    qualified: &'a StringArray,
    patterns: &'a StringArray,
    doc: &'a StringArray,
    kind: &'a UInt8Array,
    class: &'a UInt8Array,
    nesting: &'a UInt8Array,
    start_byte: &'a UInt32Array,
    end_byte: &'a UInt32Array,
    start_line: &'a UInt32Array,
    end_line: &'a UInt32Array,
}

impl<'a> Columns<'a> {
    fn open(structs: &'a StructArray) -> Result<Columns<'a>, String> {
        let [name, qualified, patterns, doc] = TEXTS.map(|field| text_column(structs, field));
        let [start_byte, end_byte, start_line, end_line] =
            POSITIONS.map(|field| position_column(structs, field));

        Ok(Columns {
            name: name?,
            qualified: qualified?,
            patterns: patterns?,
            doc: doc?,
            kind: small_column(structs, "kind")?,
            class: small_column(structs, "class")?,
            nesting: small_column(structs, "nesting")?,
            start_byte: start_byte?,
            end_byte: end_byte?,
            start_line: start_line?,
            end_line: end_line?,
        })
    }

    /// The definition with number `i` of all.
    fn symbol(&self, i: usize) -> SymbolMeta {
        let name = self.name.value(i);
        let qualified_name = if self.qualified.is_null(i) { name } else { self.qualified.value(i) };

        SymbolMeta {
            name: name.to_owned(),
            qualified_name: qualified_name.to_owned(),
            kind: self.kind.value(i),
            class: self.class.value(i),
            nesting: self.nesting.value(i),
            signature: signature::of_pattern(self.patterns.value(i), name),
            doc: self.doc.value(i).to_owned(),
            byte_range: self.start_byte.value(i)..self.end_byte.value(i),
            lines: (self.start_line.value(i), self.end_line.value(i)),
        }
    }
}

fn column_of<'a>(structs: &'a StructArray, name: &str) -> Result<&'a ArrayRef, String> {
    structs.column_by_name(name).ok_or_else(|| format!("{COLUMN} have no `{name}`"))
}

fn text_column<'a>(structs: &'a StructArray, name: &str) -> Result<&'a StringArray, String> {
    column_of(structs, name)?.as_string_opt::<i32>().ok_or_else(|| other_type(name))
}

fn small_column<'a>(structs: &'a StructArray, name: &str) -> Result<&'a UInt8Array, String> {
    column_of(structs, name)?.as_primitive_opt::<UInt8Type>().ok_or_else(|| other_type(name))
}

fn position_column<'a>(structs: &'a StructArray, name: &str) -> Result<&'a UInt32Array, String> {
    column_of(structs, name)?.as_primitive_opt::<UInt32Type>().ok_or_else(|| other_type(name))
}

fn other_type(name: &str) -> String {
    format!("column `{name}` has another type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::tests::sample;

    #[test]
    fn symbols_survive_a_round_trip() {
        let mut rows = sample(9, 8, 3).rows;
        let first = &mut rows[0].symbols[0];
        first.qualified_name = first.name.clone();
        rows[1].symbols.clear();
        let decoded = decode(&encode(&rows).unwrap()).unwrap();
        assert_eq!(decoded, rows.iter().map(|row| row.symbols.clone()).collect::<Vec<_>>());
    }
}
