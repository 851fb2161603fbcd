//! The language table: names, extensions, file names, interpreters, delimiter family.

use gix::bstr::{BStr, ByteSlice};

/// Index into the language table. Stored by name, never by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LanguageId(pub u16);

pub const TEXT: LanguageId = LanguageId(0);
const TABLE: &[(&str, &[&str])] = &[
    ("text", &["txt"]),
    ("rust", &["rs"]),
    ("python", &["py", "pyi"]),
    ("javascript", &["js"]),
    ("typescript", &["ts"]),
    ("go", &["go"]),
    ("java", &["java"]),
    ("markdown", &["md"]),
    ("cpp", &["cpp"]),
    ("c", &["c", "h"]),
];

impl LanguageId {
    /// The name used in output, filters and storage, for example `rust`.
    pub fn name(self) -> &'static str {
        TABLE.get(usize::from(self.0)).map_or("text", |row| row.0)
    }

    pub fn by_name(name: &str) -> Option<LanguageId> {
        let name = if name == "C++" { "cpp".into() } else { name.to_ascii_lowercase() };
        TABLE.iter().position(|row| row.0 == name).map(|at| LanguageId(at as u16))
    }
}

pub fn by_path(path: &BStr) -> Option<LanguageId> {
    let extension = &path[path.rfind_byte(b'.')? + 1..];
    TABLE.iter().position(|row| row.1.iter().any(|e| e.as_bytes() == &extension[..])).map(|at| LanguageId(at as u16))
}

pub fn by_first_line(bytes: &[u8]) -> Option<LanguageId> {
    bytes.starts_with(b"#!/usr/bin/env python").then_some(LanguageId(2))
}

impl serde::Serialize for LanguageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
