//! The column `symbols` of a shard: the definitions of each chunk, a list of structs.
//!
//! Every field is a column of its own, so that like is compressed with like. Two fields leave out what the
//! name says: `qualified_name` is null if it is the name, and `signature` is a [pattern](signature::pattern).

use super::POSITIONS;
use crate::rows::{RowMeta, SymbolMeta};
use crate::signature;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ListArray, StringArray, StructArray, UInt8Array, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use std::sync::Arc;

/// The column.
pub const COLUMN: &str = "symbols";

/// Fields of texts, of which few repeat as a whole.
const TEXTS: [&str; 4] = ["name", "qualified_name", "signature", "doc"];

pub fn field() -> Field {
    let element = Field::new("element", DataType::Struct(fields()), false);
    Field::new_list(COLUMN, element, false)
}

fn fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8, name == "qualified_name");
    let small = |name: &str| Field::new(name, DataType::UInt8, false);
    let position = |name: &str| Field::new(name, DataType::UInt32, false);
    let names = ["name", "qualified_name"].map(text);
    let kinds = ["kind", "class", "nesting"].map(small);
    let excerpts = ["signature", "doc"].map(text);
    names.into_iter().chain(kinds).chain(excerpts).chain(POSITIONS.map(position)).collect()
}

/// Paths of the Parquet columns of texts.
pub fn texts() -> impl Iterator<Item = String> {
    TEXTS.into_iter().map(path)
}

/// Paths of the Parquet columns of names, which begin like the one before.
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

pub fn encode(rows: &[RowMeta]) -> Result<ArrayRef, ArrowError> {
    let symbols = || rows.iter().flat_map(|row| &row.symbols);
    let small =
        |of: fn(&SymbolMeta) -> u8| -> ArrayRef { Arc::new(UInt8Array::from_iter_values(symbols().map(of))) };
    let position = |of: fn(&SymbolMeta) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(symbols().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(symbols().map(|it| &it.name))),
        Arc::new(StringArray::from_iter(
            symbols().map(|it| (it.qualified_name != it.name).then_some(&it.qualified_name)),
        )),
        small(|it| it.kind),
        small(|it| it.class),
        small(|it| it.nesting),
        Arc::new(StringArray::from_iter_values(
            symbols().map(|it| signature::pattern(&it.signature, &it.name)),
        )),
        Arc::new(StringArray::from_iter_values(symbols().map(|it| &it.doc))),
        position(|it| it.byte_range.start),
        position(|it| it.byte_range.end),
        position(|it| it.lines.0),
        position(|it| it.lines.1),
    ];
    let n_symbols = symbols().count();
    let structs = StructArray::try_new_with_length(fields(), columns, None, n_symbols)?;
    let ends = OffsetBuffer::from_lengths(rows.iter().map(|row| row.symbols.len()));
    let DataType::List(element) = field().data_type().clone() else {
        return Err(ArrowError::SchemaError(format!("column `{COLUMN}` is no list")));
    };
    Ok(Arc::new(ListArray::try_new(element, ends, Arc::new(structs), None)?))
}

/// The definitions of each row of `column`. Shards of schema 2 have them as JSON.
pub fn decode(column: &ArrayRef) -> Result<Vec<Vec<SymbolMeta>>, String> {
    let other_type = |name: &str| format!("column `{name}` has another type");
    if let Some(json) = column.as_string_opt::<i32>() {
        let parse = |text: Option<&str>| serde_json::from_str(text.unwrap_or_default());
        return json.iter().map(parse).collect::<Result<_, _>>().map_err(|e| format!("{COLUMN}: {e}"));
    }
    let list = column.as_list_opt::<i32>().ok_or_else(|| other_type(COLUMN))?;
    let structs = list.values().as_struct_opt().ok_or_else(|| other_type(COLUMN))?;
    let of = |name: &str| structs.column_by_name(name).ok_or_else(|| format!("{COLUMN} have no `{name}`"));
    let text = |name: &str| of(name)?.as_string_opt::<i32>().ok_or_else(|| other_type(name));
    let small = |name: &str| of(name)?.as_primitive_opt::<UInt8Type>().ok_or_else(|| other_type(name));
    let position = |name: &str| of(name)?.as_primitive_opt::<UInt32Type>().ok_or_else(|| other_type(name));
    let [name, qualified, patterns, doc] = TEXTS.map(text);
    let (name, qualified, patterns, doc) = (name?, qualified?, patterns?, doc?);
    let (kind, class, nesting) = (small("kind")?, small("class")?, small("nesting")?);
    let [start_byte, end_byte, start_line, end_line] = POSITIONS.map(position);
    let (start_byte, end_byte, start_line, end_line) = (start_byte?, end_byte?, start_line?, end_line?);
    let symbol = |i: usize| {
        let own = name.value(i);
        SymbolMeta {
            name: own.to_owned(),
            qualified_name: if qualified.is_null(i) { own } else { qualified.value(i) }.to_owned(),
            kind: kind.value(i),
            class: class.value(i),
            nesting: nesting.value(i),
            signature: signature::of_pattern(patterns.value(i), own),
            doc: doc.value(i).to_owned(),
            byte_range: start_byte.value(i)..end_byte.value(i),
            lines: (start_line.value(i), end_line.value(i)),
        }
    };
    let rows = list.value_offsets().windows(2);
    Ok(rows.map(|ends| (ends[0] as usize..ends[1] as usize).map(symbol).collect()).collect())
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

    #[test]
    fn symbols_of_schema_2_are_read() {
        let rows = sample(9, 8, 3).rows;
        let json = rows.iter().map(|row| serde_json::to_string(&row.symbols).unwrap());
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(json));
        let decoded = decode(&column).unwrap();
        assert_eq!(decoded, rows.iter().map(|row| row.symbols.clone()).collect::<Vec<_>>());
        let damaged: ArrayRef = Arc::new(StringArray::from_iter_values(["[{\"name\":"]));
        assert!(decode(&damaged).is_err());
    }
}
