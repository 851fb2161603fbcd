//! Reads TOML as a tree of settings.

use toml_edit::{Item, TableLike, Value};

use codeweaver_text::LineIndex;

use super::tree::{Entry, Node, Position, SyntaxError, parser_message};

/// Maximum nesting that is read, more than any setting has.
const MAX_DEPTH: usize = 16;

/// Returns the tables of a file.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, SyntaxError> {
    let places = Places { text, lines: LineIndex::new(text.as_bytes()) };
    match toml_edit::Document::parse(text) {
        Ok(document) => Ok(places.table(document.as_table(), 0)),
        Err(error) => {
            let at = places.position(error.span().map_or(0, |span| span.start));
            Err(SyntaxError { at, message: parser_message(error.message()) })
        }
    }
}

/// Returns the value of an assignment, as written after `=`.
pub(super) fn parse_value(text: &str) -> Result<Node, SyntaxError> {
    // Several assignments are no value. The parser rejects a line break within one.
    let mut entries = parse(&format!("value = {text}"))?;
    match (entries.pop(), entries.is_empty()) {
        (Some(entry), true) => Ok(entry.value),
        _ => Err(SyntaxError { at: Position::START, message: "expected one value".to_owned() }),
    }
}

/// A text whose nodes are given positions.
struct Places<'a> {
    text: &'a str,
    lines: LineIndex,
}

impl Places<'_> {
    fn position(&self, offset: usize) -> Position {
        Position::at(self.text, &self.lines, offset)
    }

    fn table(&self, table: &dyn TableLike, depth: usize) -> Vec<Entry> {
        let mut entries = Vec::new();

        for (name, item) in table.iter() {
            let span = table.get_key_value(name).and_then(|(key, _)| key.span()).or_else(|| item.span());
            let at = self.position(span.map_or(0, |span| span.start));
            entries.push(Entry { key: name.to_owned(), at, value: self.item(item, depth + 1) });
        }

        entries
    }

    fn item(&self, item: &Item, depth: usize) -> Node {
        match item {
            _ if depth > MAX_DEPTH => Node::Nothing,
            Item::None => Node::Nothing,
            Item::Value(value) => self.value(value, depth),
            Item::Table(table) => Node::Table(self.table(table, depth)),
            Item::ArrayOfTables(tables) => {
                Node::List(tables.iter().map(|table| Node::Table(self.table(table, depth + 1))).collect())
            }
        }
    }

    fn value(&self, value: &Value, depth: usize) -> Node {
        match value {
            _ if depth > MAX_DEPTH => Node::Nothing,
            Value::String(text) => Node::Text(text.value().clone()),
            Value::Integer(integer) => Node::Integer(*integer.value()),
            Value::Float(number) => Node::Number(*number.value()),
            Value::Boolean(bool) => Node::Bool(*bool.value()),
            Value::Datetime(_) => Node::Date,

            Value::Array(array) => {
                Node::List(array.iter().map(|value| self.value(value, depth + 1)).collect())
            }
            Value::InlineTable(table) => Node::Table(self.table(table, depth)),
        }
    }
}
