//! Values of settings: parsing from a file or plain text, validation by the kind of a key, and formatting.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toml_edit::InlineTable;

use super::error::{did_you_mean, excerpt};
use super::settings::{CustomDelimiter, GateMode, Granularity, HnswMode, HooksMode};
use super::toml;
use super::tree::{Entry, Node, get};

/// Kind and range of the values of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyKind {
    Bool,
    /// Both bounds are inclusive.
    Integer {
        min: i64,
        max: i64,
    },
    /// Both bounds are inclusive.
    Number {
        min: f32,
        max: f32,
    },
    Text,
    /// Relative paths in a file are relative to the directory of that file; `~/` is the home directory.
    Path,
    Choice(&'static [&'static str]),
    List,
    /// Maps text to text.
    Table,
    /// Maps a language name to a list of delimiters.
    Delimiters,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Integer { min, max } => return write!(f, "an integer from {min} to {max}"),
            Self::Number { min, max } => return write!(f, "a number from {min} to {max}"),
            Self::Choice(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                return write!(f, "one of {}", names.join(", "));
            }
            Self::Bool => "true or false",
            Self::Text => "text",
            Self::Path => "a path",
            Self::List => "a list of texts",
            Self::Table => "a table of texts",
            Self::Delimiters => "a table of lists of delimiters",
        };

        f.write_str(name)
    }
}

/// A validated value of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Unset,
    Bool(bool),
    Integer(i64),
    Number(f32),
    Text(String),
    List(Vec<String>),
    Table(BTreeMap<String, String>),
    Delimiters(BTreeMap<String, Vec<CustomDelimiter>>),
}

/// The reason why a value is invalid, with a suggestion if there is a likely intended value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueError {
    pub message: String,
    pub suggestion: Option<String>,
}

impl ValueError {
    fn new(message: String) -> Self {
        Self { message, suggestion: None }
    }
}

const MAX_TEXT_BYTES: usize = 4096;
const MAX_LIST_ENTRIES: usize = 10_000;
const MAX_DELIMITER_BYTES: usize = 256;
const MAX_DELIMITERS: usize = 1000;
const DELIMITER_KEYS: &[&str] =
    &["starts", "ends", "kind", "priority", "inclusive", "take_whole_lines", "nestable"];
const DEFAULT_DELIMITER_PRIORITY: u8 = 50;

impl KeyKind {
    /// Validates a value of a file.
    pub(super) fn check_node(&self, node: &Node) -> Result<Value, ValueError> {
        let mismatch = || ValueError::new(format!("expected {self}, found {}", node.describe()));

        match self {
            Self::Bool => node.as_bool().map(Value::Bool).ok_or_else(mismatch),
            Self::Integer { .. } => self.check_integer(node.as_integer().ok_or_else(mismatch)?),
            Self::Number { .. } => self.check_number(node.as_number().ok_or_else(mismatch)?),
            Self::Text | Self::Path | Self::Choice(_) => {
                self.check_text(node.as_text().ok_or_else(mismatch)?)
            }
            Self::List => texts(node, MAX_LIST_ENTRIES, MAX_TEXT_BYTES).map(Value::List),
            Self::Table => table(node.as_table().ok_or_else(mismatch)?).map(Value::Table),

            Self::Delimiters => {
                let mut languages = BTreeMap::new();
                for Entry { key, value, .. } in node.as_table().ok_or_else(mismatch)? {
                    languages.insert(bounded(key, 64)?.to_ascii_lowercase(), delimiters(value)?);
                }
                Ok(Value::Delimiters(languages))
            }
        }
    }

    /// Validates the text of an environment variable or command-line argument. Lists are separated by commas
    /// or written as in TOML; tables are written as inline tables of TOML.
    pub(super) fn check_plain(&self, text: &str) -> Result<Value, ValueError> {
        let mismatch = || ValueError::new(format!("expected {self}, found \"{}\"", excerpt(text)));
        let trimmed = text.trim();

        match self {
            Self::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Ok(Value::Bool(true)),
                "false" | "no" | "off" | "0" => Ok(Value::Bool(false)),
                _ => Err(mismatch()),
            },
            Self::Integer { .. } => {
                self.check_integer(trimmed.replace('_', "").parse().map_err(|_| mismatch())?)
            }
            Self::Number { .. } => self.check_number(trimmed.parse().map_err(|_| mismatch())?),
            Self::Text | Self::Path | Self::Choice(_) => self.check_text(trimmed),

            Self::List if !trimmed.starts_with('[') => {
                let list: Vec<String> = trimmed
                    .split(',')
                    .map(str::trim)
                    .filter(|entry| !entry.is_empty())
                    .map(str::to_owned)
                    .collect();
                Ok(Value::List(list))
            }

            Self::List | Self::Table | Self::Delimiters => {
                // The parser of TOML checks quoting and nesting.
                let node = toml::parse_value(trimmed).map_err(|error| {
                    ValueError::new(format!("expected {self} as in TOML: {}", error.message))
                })?;
                self.check_node(&node)
            }
        }
    }

    fn check_integer(&self, integer: i64) -> Result<Value, ValueError> {
        match self {
            Self::Integer { min, max } if (*min..=*max).contains(&integer) => Ok(Value::Integer(integer)),
            _ => Err(ValueError::new(format!("expected {self}, found {integer}"))),
        }
    }

    fn check_number(&self, number: f64) -> Result<Value, ValueError> {
        match self {
            Self::Number { min, max } if (f64::from(*min)..=f64::from(*max)).contains(&number) => {
                Ok(Value::Number(number as f32))
            }
            _ => Err(ValueError::new(format!("expected {self}, found {number}"))),
        }
    }

    /// Validates a text, which must not be empty.
    fn check_text(&self, text: &str) -> Result<Value, ValueError> {
        let text = bounded(text, MAX_TEXT_BYTES)?;

        match self {
            Self::Choice(names) if !names.contains(&text) => Err(ValueError {
                message: format!("expected {self}, found \"{}\"", excerpt(text)),
                suggestion: did_you_mean(text, names.iter().copied()),
            }),
            _ if text.is_empty() || text.contains('\0') => {
                Err(ValueError::new(format!("expected {self}, found \"{}\"", excerpt(text))))
            }
            _ => Ok(Value::Text(text.to_owned())),
        }
    }
}

/// Returns `text`, or an error if it is longer than `limit` bytes.
fn bounded(text: &str, limit: usize) -> Result<&str, ValueError> {
    if text.len() > limit {
        return Err(ValueError::new(format!(
            "the text has {} bytes; at most {limit} are allowed",
            text.len()
        )));
    }
    Ok(text)
}

/// Validates a key of a table of strings. Removes the leading dot of file extensions.
pub(super) fn table_key(key: &str) -> Result<String, ValueError> {
    let key = bounded(key, 128)?.trim_start_matches('.');
    if key.is_empty() || key.contains(|c: char| c.is_control() || c == '/') {
        return Err(ValueError::new(format!("`{}` cannot be a key here", excerpt(key))));
    }
    Ok(key.to_owned())
}

/// Validates the entries of a table of texts.
fn table(entries: &[Entry]) -> Result<BTreeMap<String, String>, ValueError> {
    if entries.len() > MAX_LIST_ENTRIES {
        return Err(ValueError::new(format!("more than {MAX_LIST_ENTRIES} entries")));
    }

    let mut table = BTreeMap::new();
    for Entry { key, value, .. } in entries {
        let text = value.as_text().ok_or_else(|| {
            let (key, found) = (excerpt(key), value.describe());
            ValueError::new(format!("expected text for `{key}`, found {found}"))
        })?;
        table.insert(table_key(key)?, bounded(text, MAX_TEXT_BYTES)?.to_owned());
    }
    Ok(table)
}

/// Validates a list of texts of at most `max_bytes` each.
fn texts(node: &Node, max_entries: usize, max_bytes: usize) -> Result<Vec<String>, ValueError> {
    let list = node
        .as_list()
        .ok_or_else(|| ValueError::new(format!("expected {}, found {}", KeyKind::List, node.describe())))?;

    if list.len() > max_entries {
        return Err(ValueError::new(format!(
            "the list has {} entries; at most {max_entries} are allowed",
            list.len()
        )));
    }

    let mut texts = Vec::with_capacity(list.len());
    for entry in list {
        let text = entry.as_text().ok_or_else(|| {
            ValueError::new(format!("expected {}, found {} in it", KeyKind::List, entry.describe()))
        })?;
        texts.push(bounded(text, max_bytes)?.to_owned());
    }
    Ok(texts)
}

/// Parses the delimiters of a language, a list of tables.
fn delimiters(node: &Node) -> Result<Vec<CustomDelimiter>, ValueError> {
    let list = node.as_list();
    let tables: Option<Vec<&[Entry]>> = list.and_then(|list| list.iter().map(Node::as_table).collect());
    let tables = tables.ok_or_else(|| {
        ValueError::new(format!("expected a list of delimiter tables, found {}", node.describe()))
    })?;

    if tables.len() > MAX_DELIMITERS {
        return Err(ValueError::new(format!("more than {MAX_DELIMITERS} delimiters for one language")));
    }
    tables.into_iter().map(delimiter).collect()
}

/// Validates a table that describes a delimiter.
fn delimiter(table: &[Entry]) -> Result<CustomDelimiter, ValueError> {
    for Entry { key, .. } in table {
        if !DELIMITER_KEYS.contains(&key.as_str()) {
            return Err(ValueError {
                message: format!("unknown key `{}` in a delimiter", excerpt(key)),
                suggestion: did_you_mean(key, DELIMITER_KEYS.iter().copied()),
            });
        }
    }

    let starts = list_field(table, "starts")?;
    let ends = list_field(table, "ends")?;
    if starts.is_empty() || starts.iter().chain(&ends).any(String::is_empty) {
        return Err(ValueError::new(
            "a delimiter needs `starts`, and none of its texts may be empty".to_owned(),
        ));
    }

    let kind = match get(table, "kind") {
        Some(node) => match node.as_text() {
            Some(kind) if !kind.is_empty() => bounded(kind, 64)?.to_owned(),
            _ => return Err(field_mismatch("text", "kind", node)),
        },
        None => "generic".to_owned(),
    };
    let priority = match get(table, "priority") {
        Some(node) => node
            .as_integer()
            .and_then(|integer| u8::try_from(integer).ok())
            .ok_or_else(|| field_mismatch("an integer from 0 to 255", "priority", node))?,
        None => DEFAULT_DELIMITER_PRIORITY,
    };

    Ok(CustomDelimiter {
        starts,
        ends,
        kind,
        priority,
        inclusive: flag_field(table, "inclusive")?,
        take_whole_lines: flag_field(table, "take_whole_lines")?,
        nestable: flag_field(table, "nestable")?,
    })
}

/// Returns the texts of an optional field of a delimiter.
fn list_field(table: &[Entry], key: &str) -> Result<Vec<String>, ValueError> {
    match get(table, key) {
        Some(node) => texts(node, MAX_DELIMITERS, MAX_DELIMITER_BYTES),
        None => Ok(Vec::new()),
    }
}

/// Returns the value of an optional flag of a delimiter, false by default.
fn flag_field(table: &[Entry], key: &str) -> Result<bool, ValueError> {
    match get(table, key) {
        Some(node) => node.as_bool().ok_or_else(|| field_mismatch("true or false", key, node)),
        None => Ok(false),
    }
}

fn field_mismatch(expected: &str, key: &str, node: &Node) -> ValueError {
    ValueError::new(format!("expected {expected} for `{key}`, found {}", node.describe()))
}

impl Value {
    /// Returns the TOML form of the value; `None` if it is unset.
    pub(super) fn to_toml(&self) -> Option<toml_edit::Value> {
        let value = match self {
            Self::Unset => return None,
            Self::Bool(boolean) => (*boolean).into(),
            Self::Integer(integer) => (*integer).into(),
            // Formats as f32, since widening to f64 would add digits.
            Self::Number(number) => number.to_string().parse::<f64>().unwrap_or(f64::from(*number)).into(),
            Self::Text(text) => text.as_str().into(),
            Self::List(list) => list.iter().map(String::as_str).collect::<toml_edit::Array>().into(),
            Self::Table(table) => {
                table.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect::<InlineTable>().into()
            }
            Self::Delimiters(languages) => languages
                .iter()
                .map(|(language, list)| {
                    let tables: toml_edit::Array = list.iter().map(delimiter_toml).collect();
                    (language.as_str(), toml_edit::Value::from(tables))
                })
                .collect::<InlineTable>()
                .into(),
        };

        Some(value)
    }

    /// Returns the JSON form of the value; null if it is unset.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Unset => serde_json::Value::Null,
            Self::Bool(boolean) => (*boolean).into(),
            Self::Integer(integer) => (*integer).into(),
            // As for TOML: widening to f64 would add digits.
            Self::Number(number) => number.to_string().parse::<f64>().unwrap_or(f64::from(*number)).into(),
            Self::Text(text) => text.as_str().into(),

            Self::List(list) => list.as_slice().into(),
            Self::Table(table) => serde_json::json!(table),
            Self::Delimiters(languages) => serde_json::json!(languages),
        }
    }

    /// Returns the form printed by `config get`: text unquoted, other values as in TOML, empty if unset.
    pub(super) fn to_plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.to_toml().map(|value| value.to_string().trim().to_owned()).unwrap_or_default(),
        }
    }
}

fn delimiter_toml(delimiter: &CustomDelimiter) -> toml_edit::Value {
    let list = |texts: &[String]| texts.iter().map(String::as_str).collect::<toml_edit::Array>();
    let mut table = InlineTable::new();
    table.insert("starts", list(&delimiter.starts).into());
    table.insert("ends", list(&delimiter.ends).into());
    table.insert("kind", delimiter.kind.as_str().into());
    table.insert("priority", i64::from(delimiter.priority).into());
    table.insert("inclusive", delimiter.inclusive.into());
    table.insert("take_whole_lines", delimiter.take_whole_lines.into());
    table.insert("nestable", delimiter.nestable.into());
    table.into()
}

/// A field of the settings that is accessed by its key.
pub(super) trait Field {
    fn read(&self) -> Value;
    /// Sets the field. Returns false if the kind of the value does not fit. Tables are merged entry by entry.
    fn assign(&mut self, value: Value) -> bool;
}

impl Field for bool {
    fn read(&self) -> Value {
        Value::Bool(*self)
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::Bool(boolean) = value else { return false };
        *self = boolean;
        true
    }
}

macro_rules! integer_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn read(&self) -> Value {
                i64::try_from(*self).map_or(Value::Integer(i64::MAX), Value::Integer)
            }
            fn assign(&mut self, value: Value) -> bool {
                let Value::Integer(integer) = value else { return false };
                let Ok(integer) = <$type>::try_from(integer) else { return false };
                *self = integer;
                true
            }
        }
    )*};
}
integer_fields!(u16, u32, u64, usize);

impl Field for f32 {
    fn read(&self) -> Value {
        Value::Number(*self)
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::Number(number) = value else { return false };
        *self = number;
        true
    }
}

impl Field for String {
    fn read(&self) -> Value {
        Value::Text(self.clone())
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = text;
        true
    }
}

impl Field for PathBuf {
    fn read(&self) -> Value {
        Value::Text(self.to_string_lossy().into_owned())
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = PathBuf::from(text);
        true
    }
}

impl<T: Field + Default> Field for Option<T> {
    fn read(&self) -> Value {
        self.as_ref().map_or(Value::Unset, Field::read)
    }
    fn assign(&mut self, value: Value) -> bool {
        let mut inner = T::default();
        let fits = inner.assign(value);
        if fits {
            *self = Some(inner);
        }
        fits
    }
}

impl Field for Vec<String> {
    fn read(&self) -> Value {
        Value::List(self.clone())
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::List(list) = value else { return false };
        *self = list;
        true
    }
}

impl Field for BTreeMap<String, String> {
    fn read(&self) -> Value {
        Value::Table(self.clone())
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::Table(table) = value else { return false };
        self.extend(table);
        true
    }
}

impl Field for BTreeMap<String, Vec<CustomDelimiter>> {
    fn read(&self) -> Value {
        Value::Delimiters(self.clone())
    }
    fn assign(&mut self, value: Value) -> bool {
        let Value::Delimiters(languages) = value else { return false };
        self.extend(languages);
        true
    }
}

macro_rules! choice_fields {
    ($($type:ident { $($variant:ident = $name:literal),* })*) => {$(
        impl $type {
            /// Names of all variants in settings.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
            /// Returns the name of the variant in settings.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }
        impl Field for $type {
            fn read(&self) -> Value {
                Value::Text(self.name().to_owned())
            }
            fn assign(&mut self, value: Value) -> bool {
                let Value::Text(text) = value else { return false };
                match text.as_str() {
                    $($name => *self = Self::$variant,)*
                    _ => return false,
                }
                true
            }
        }
    )*};
}
choice_fields! {
    Granularity { Packed = "packed", Definition = "definition" }
    HnswMode { Auto = "auto", Always = "always", Never = "never" }
    HooksMode { Background = "background", Foreground = "foreground" }
    GateMode { Strict = "strict", Partial = "partial" }
}
