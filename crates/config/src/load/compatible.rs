//! Loads the settings file of the program with the compatible variables, `~/.md-qa/config.yaml`.
//!
//! Only values that have a counterpart here are read, all of them about `ask`; the others belong to that
//! program. The key of the API counts only for the address in the same file, so that it is sent nowhere else.

use std::path::{Path, PathBuf};

use super::super::keys::find;
use super::super::origin::Origin;
use super::super::settings::ApiKey;
use super::super::sources::{COMPATIBLE_MODEL, Sources};
use super::super::tree::{Entry, Node};
use super::super::value::Value;
use super::Loader;

/// Section and name of each value, with the key that it sets.
const COUNTERPARTS: [(&str, &str, &str); 6] = [
    ("api", "base_url", BASE_URL),
    ("api", "llm_model", "ask.llm_model"),
    ("server", "port", "ask.port"),
    ("server", "directories", "ask.directories"),
    ("server", "reload_interval", "ask.reload_interval"),
    ("server", "index_name", "ask.index_name"),
];
const BASE_URL: &str = "ask.api_base_url";
const MODEL: &str = "model.name";

/// Values that count only beside other settings, and are therefore applied last.
#[derive(Debug, Default)]
pub(super) struct Compatible {
    /// Name of an embedding model.
    model: Option<(String, Origin)>,
    /// Key of the API, and its file.
    key: Option<(String, PathBuf)>,
}

impl Compatible {
    /// Reads [`COMPATIBLE_MODEL`].
    pub fn read_environment(&mut self, sources: &Sources) {
        let named = sources.environment.iter().find(|(name, _)| name == COMPATIBLE_MODEL);
        let named = named.filter(|(_, model)| !model.trim().is_empty());
        self.model = named.map(|(name, model)| (model.clone(), Origin::Environment(name.clone())));
    }
}

impl Loader {
    /// Loads the content of the file of the compatible program.
    pub(super) fn compatible_file(&mut self, path: &Path, bytes: &[u8]) {
        let Some(tables) = self.parse(path, bytes) else { return };

        for (section, name, key) in COUNTERPARTS {
            let Some(entry) = value(&tables, section, name) else { continue };
            let Some((spec, _)) = find(key) else { continue };
            let origin = Origin::in_file(path, entry.at);
            match spec.kind.check_node(&entry.value) {
                Ok(value) => self.put(spec, value, &origin),
                Err(error) => self.value_error(&format!("{section}.{name}"), error, &origin),
            }
        }

        // The file overrides the variable.
        if let Some(entry) = value(&tables, "api", "embedding_model")
            && let Some(model) = entry.value.as_text()
        {
            self.compatible.model = Some((model.to_owned(), Origin::in_file(path, entry.at)));
        }

        let key = value(&tables, "api", "api_key").and_then(|entry| entry.value.as_text());
        let key = key.filter(|key| !key.trim().is_empty());
        self.compatible.key = key.map(|key| (key.to_owned(), path.to_owned()));
    }

    /// Applies the values that depend on other settings, once all sources are loaded.
    pub(super) fn apply_compatible(&mut self) {
        let Compatible { model, key } = std::mem::take(&mut self.compatible);

        // A model on this machine has another name.
        if let Some((model, origin)) = model
            && self.origins.get(MODEL) == Some(&Origin::Default)
            && let Some((spec, _)) = find(MODEL)
        {
            if self.settings.model.is_api() {
                self.put(spec, Value::Text(model), &origin);
            } else if let Origin::Environment(name) = origin {
                let without = "counts beside an embedding API only, and `model.api_base_url` names none";
                self.warnings.push(format!("{name} is ignored: it {without}"));
            }
        }

        // Another source may have named another address.
        if let Some((key, file)) = key
            && matches!(self.origins.get(BASE_URL), Some(Origin::File { path, .. }) if *path == file)
        {
            self.settings.ask.api_key = Some(ApiKey::new(key));
        }
    }
}

/// The entry `name` of the table `section`; `None` if it is missing or empty.
fn value<'a>(tables: &'a [Entry], section: &str, name: &str) -> Option<&'a Entry> {
    let table = tables.iter().find(|entry| entry.key == section)?.value.as_table()?;
    table.iter().find(|entry| entry.key == name && entry.value != Node::Nothing)
}
