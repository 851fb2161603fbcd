//! Loaded settings with the origin of every key.

use std::collections::BTreeMap;

use super::keys::{keys, toml_text};
use super::origin::Origin;
use super::settings::Settings;
use super::value::Value;

/// Settings with the origin of every key.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub settings: Settings,
    /// Origin of each key, and of each entry of a table (`policy.file_extensions.inc`).
    pub origins: BTreeMap<String, Origin>,
    /// Ignored files and keys with the reason, one line each.
    pub warnings: Vec<String>,
}

/// One line of `config --show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    pub key: String,
    /// The value as in TOML, or `unset`.
    pub value: String,
    pub origin: Origin,
}

impl Loaded {
    /// Returns every key with its value and origin, in the order of the key table. A non-empty table has one
    /// row for each entry.
    pub fn rows(&self) -> Vec<SettingRow> {
        let origin = |key: &str| self.origins.get(key).cloned().unwrap_or(Origin::Default);

        let mut rows = Vec::new();
        for spec in keys() {
            let value = (spec.read)(&self.settings);
            // Each entry of a table has an origin of its own.
            let entries: Vec<(String, Value)> = match &value {
                Value::Table(table) => {
                    table.iter().map(|(entry, text)| (entry.clone(), Value::Text(text.clone()))).collect()
                }
                _ => Vec::new(),
            };

            if entries.is_empty() {
                rows.push(SettingRow {
                    key: spec.path.to_owned(),
                    value: toml_text(&value),
                    origin: origin(spec.path),
                });
            }

            for (entry, value) in entries {
                let key = format!("{}.{entry}", spec.path);
                rows.push(SettingRow { value: toml_text(&value), origin: origin(&key), key });
            }
        }

        rows
    }
}
