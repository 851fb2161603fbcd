//! The language table: names, extensions, file names, interpreters, delimiter family.

/// Index into the language table. Stored by name, never by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LanguageId(pub u16);

impl LanguageId {
    /// The name used in output, filters and storage, for example `rust`.
    pub fn name(self) -> &'static str {
        "text"
    }
}

impl serde::Serialize for LanguageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
