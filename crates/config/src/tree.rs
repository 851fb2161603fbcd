//! A settings file as a tree of values with their positions, which is the same for every format.

use codeweaver_text::LineIndex;

use super::error::excerpt;

/// A place in a file, counted from 1. The column is in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub const START: Position = Position { line: 1, column: 1 };

    /// Returns the position of a byte offset of `text`.
    pub fn at(text: &str, lines: &LineIndex, offset: usize) -> Position {
        let line = lines.editor_line(offset);
        let before = text.get(lines.start(line - 1)..offset);
        Position { line, column: before.map_or(0, |before| before.chars().count()) + 1 }
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// The null of YAML, or a value that is nested deeper than any setting.
    Nothing,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value. Within a table, keys are unique.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub key: String,
    /// Position of the key.
    pub at: Position,
    pub value: Node,
}

/// The reason why a file is not a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub at: Position,
    pub message: String,
}

impl Node {
    pub fn as_bool(&self) -> Option<bool> {
        if let Node::Bool(bool) = self { Some(*bool) } else { None }
    }

    pub fn as_integer(&self) -> Option<i64> {
        if let Node::Integer(integer) = self { Some(*integer) } else { None }
    }

    /// Returns the value of a number or an integer.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Node::Number(number) => Some(*number),
            Node::Integer(integer) => Some(*integer as f64),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Node::Text(text) = self { Some(text) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        if let Node::List(list) = self { Some(list) } else { None }
    }

    pub fn as_table(&self) -> Option<&[Entry]> {
        if let Node::Table(table) = self { Some(table) } else { None }
    }

    /// Returns the description of the value in an error.
    pub fn describe(&self) -> String {
        let name = match self {
            Node::Bool(bool) => return bool.to_string(),
            Node::Integer(integer) => return format!("the integer {integer}"),
            Node::Number(number) => return format!("the number {number}"),
            Node::Text(text) => return format!("the text \"{}\"", excerpt(text)),
            Node::Nothing => "nothing",
            Node::Date => "a date",
            Node::List(list) if list.iter().any(|node| node.as_table().is_some()) => "a list of tables",
            Node::List(_) => "a list",
            Node::Table(_) => "a table",
        };

        name.to_owned()
    }
}

/// Returns the value of `key` in a table.
pub(super) fn get<'a>(table: &'a [Entry], key: &str) -> Option<&'a Node> {
    table.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

/// Reduces the message of a parser to one line with escaped control characters, since it may quote the file.
pub(super) fn parser_message(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().flat_map(char::escape_debug).take(200).collect()
}
