//! The columns `symbols` of a shard: the definitions of each chunk, a list of structs.
//!
//! Every field is a column of its own, so that similar values are compressed together. Two fields leave out
//! what the name gives: `qualified_name` is null if it equals the name, and `signature` is a
//! [pattern](signature::pattern).

use super::columns::{Columns, Levels, Values};
use crate::rows::{RowMeta, SymbolMeta};
use crate::signature;

/// Path of the fields in Parquet, up to the name of each.
const ELEMENT: &str = "symbols.list.element.";

/// Fields of texts, few of which repeat as a whole.
const TEXTS: [&str; 4] = ["name", "qualified_name", "signature", "doc"];

/// Fields of positions, which grow within a doc; also the names of the columns of the chunks' own.
pub const POSITIONS: [&str; 4] = ["start_byte", "end_byte", "start_line", "end_line"];

/// Definition levels of a row without definitions, of a definition whose optional field is null, and of one
/// whose field has a value. A required field has a value at the second.
const EMPTY: i16 = 0;
const ELEMENT_LEVEL: i16 = 1;
const OPTIONAL_LEVEL: i16 = 2;

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
    format!("{ELEMENT}{field}")
}

/// The values of the column at `path` for `rows`; `None` if it is no column of definitions.
pub fn values(path: &str, rows: &[RowMeta]) -> Option<Values> {
    let symbols = || rows.iter().flat_map(|row| &row.symbols);
    let numbers = |value: fn(&SymbolMeta) -> u32| Values::numbers(symbols().map(value));

    let field = path.strip_prefix(ELEMENT)?;
    let values = match field {
        "name" => Values::texts(symbols().map(|it| &it.name)),
        "qualified_name" => Values::texts(symbols().filter_map(own_qualified_name)),
        "kind" => numbers(|it| u32::from(it.kind)),
        "class" => numbers(|it| u32::from(it.class)),
        "nesting" => numbers(|it| u32::from(it.nesting)),
        "signature" => Values::texts(symbols().map(|it| signature::pattern(&it.signature, &it.name))),
        "doc" => Values::texts(symbols().map(|it| &it.doc)),
        "start_byte" => numbers(|it| it.byte_range.start),
        "end_byte" => numbers(|it| it.byte_range.end),
        "start_line" => numbers(|it| it.lines.0),
        "end_line" => numbers(|it| it.lines.1),
        _ => return None,
    };

    let level: fn(&SymbolMeta) -> i16 = match field {
        "qualified_name" => |it| own_qualified_name(it).map_or(ELEMENT_LEVEL, |_| OPTIONAL_LEVEL),
        _ => |_| ELEMENT_LEVEL,
    };
    Some(Values::Elements(Box::new(values), levels(rows, level)))
}

/// The qualified name unless it is the name.
fn own_qualified_name(symbol: &SymbolMeta) -> Option<&String> {
    (symbol.qualified_name != symbol.name).then_some(&symbol.qualified_name)
}

/// Levels of the definitions of `rows`, of which each has the definition level `level`.
fn levels(rows: &[RowMeta], level: fn(&SymbolMeta) -> i16) -> Levels {
    let mut levels = Levels::default();
    for row in rows {
        if row.symbols.is_empty() {
            levels.definition.push(EMPTY);
            levels.repetition.push(0);
        }

        for (n, symbol) in row.symbols.iter().enumerate() {
            levels.definition.push(level(symbol));
            levels.repetition.push(i16::from(n > 0));
        }
    }
    levels
}

/// Reads the definitions of each row.
pub fn read(columns: &Columns) -> Result<Vec<Vec<SymbolMeta>>, String> {
    let (names, levels) = columns.element_texts(&path("name"))?;
    let mut fields = Fields::read(columns, names)?;

    let mut rows: Vec<Vec<SymbolMeta>> = Vec::with_capacity(columns.n_rows());
    for (&definition, &repetition) in levels.definition.iter().zip(&levels.repetition) {
        // A repetition of 0 begins a row, with a definition or as the only level of one without any.
        if repetition == 0 {
            rows.push(Vec::new());
        }
        if definition != EMPTY {
            let row = rows.last_mut().ok_or("the first definition is in no row")?;
            row.push(fields.next().ok_or("a column of definitions is too short")?);
        }
    }
    Ok(rows)
}

/// The fields of the definitions of all rows, in order.
struct Fields {
    names: std::vec::IntoIter<String>,
    /// `None` where it is the name.
    qualified: std::vec::IntoIter<Option<String>>,
    patterns: std::vec::IntoIter<String>,
    docs: std::vec::IntoIter<String>,
    kinds: std::vec::IntoIter<u32>,
    classes: std::vec::IntoIter<u32>,
    nestings: std::vec::IntoIter<u32>,
    positions: [std::vec::IntoIter<u32>; 4],
}

impl Fields {
    fn read(columns: &Columns, names: Vec<String>) -> Result<Fields, String> {
        let text = |field| Ok::<_, String>(columns.element_texts(&path(field))?.0.into_iter());
        let number = |field| Ok::<_, String>(columns.element_numbers(&path(field))?.0.into_iter());
        let [start_byte, end_byte, start_line, end_line] = POSITIONS.map(number);

        Ok(Fields {
            names: names.into_iter(),
            qualified: qualified_names(columns)?.into_iter(),
            patterns: text("signature")?,
            docs: text("doc")?,
            kinds: number("kind")?,
            classes: number("class")?,
            nestings: number("nesting")?,
            positions: [start_byte?, end_byte?, start_line?, end_line?],
        })
    }
}

impl Iterator for Fields {
    type Item = SymbolMeta;

    fn next(&mut self) -> Option<SymbolMeta> {
        let name = self.names.next()?;
        let [start_byte, end_byte, start_line, end_line] = &mut self.positions;

        Some(SymbolMeta {
            qualified_name: self.qualified.next()?.unwrap_or_else(|| name.clone()),
            kind: self.kinds.next()? as u8,
            class: self.classes.next()? as u8,
            nesting: self.nestings.next()? as u8,
            signature: signature::of_pattern(&self.patterns.next()?, &name),
            doc: self.docs.next()?,
            byte_range: start_byte.next()?..end_byte.next()?,
            lines: (start_line.next()?, end_line.next()?),
            name,
        })
    }
}

/// The qualified name of each definition; `None` where it is the name.
fn qualified_names(columns: &Columns) -> Result<Vec<Option<String>>, String> {
    let (own, levels) = columns.element_texts(&path("qualified_name"))?;
    let mut own = own.into_iter();

    let of_level = |level: i16| if level == OPTIONAL_LEVEL { own.next() } else { None };
    Ok(levels.definition.into_iter().filter(|&level| level != EMPTY).map(of_level).collect())
}

#[cfg(test)]
mod tests {
    use crate::shard::tests::{round_trip, sample};

    #[test]
    fn symbols_survive_a_round_trip() {
        let mut data = sample(9, 8, 3);
        let first = &mut data.rows[0].symbols[0];
        first.qualified_name = first.name.clone();
        let second = first.clone();
        data.rows[0].symbols.push(second);
        data.rows[1].symbols.clear();

        assert_eq!(round_trip(&data).rows, data.rows);
    }
}
