//! Loads settings from all sources, with their origins, and lists all problems.

mod assignment;
mod compatible;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeweaver_text::LineIndex;

use super::error::{ConfigError, Problem, did_you_mean, excerpt};
use super::files::{self, Untrusted};
use super::keys::{KeySpec, keys};
use super::loaded::Loaded;
use super::origin::Origin;
use super::settings::Settings;
use super::sources::{ASK_KEY_VARIABLE, COMPATIBLE, ENVIRONMENT_PREFIX, Sources};
use super::tree::{Entry, Position};
use super::value::{KeyKind, Value, ValueError};
use super::{toml, yaml};
use compatible::Compatible;
use walk::FileWalk;

pub(super) use assignment::check_assignment;

const MAX_PROBLEMS: usize = 20;

impl Settings {
    /// Loads all sources, from lowest to highest precedence: defaults, environment, file of the compatible
    /// program, user file, repository file, named file, overrides.
    ///
    /// # Errors
    /// All problems found (at most 20), each with its file and line. A repository file that is not a regular
    /// file or is too large is ignored with a warning, and so are keys in it that only the user may set.
    pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
        let mut loader = Loader::new(sources);
        loader.environment(sources);

        // A file that was named replaces those that are found.
        if sources.named_file.is_none() {
            if let Some((path, text)) = found_file(sources.compatible_file.as_deref())? {
                loader.compatible_file(&path, &text);
            }
            if let Some((path, text)) = found_file(sources.user_file.as_deref())? {
                loader.file(&path, &text, Trust::User);
            }
        }

        if let Some(file) = &sources.repository_file
            && let Some(path) = files::present(file)?
        {
            match files::read_repository_file(&path)? {
                Untrusted::Bytes(text) => loader.file(&path, &text, Trust::Repository),
                Untrusted::Refused { reason } => {
                    loader.warnings.push(format!("{} is ignored: {reason}", path.display()));
                }
                Untrusted::Absent => {}
            }
        }

        if let Some(path) = &sources.named_file {
            let text = files::read_user_file(path)?.ok_or_else(|| ConfigError::Read {
                path: path.clone(),
                source: std::io::ErrorKind::NotFound.into(),
            })?;
            loader.file(path, &text, Trust::User);
        }

        loader.overrides(sources);
        loader.finish()
    }
}

/// Reads the settings of `file`, with the path at which they are; `None` if there are none.
fn found_file(file: Option<&Path>) -> Result<Option<(PathBuf, Vec<u8>)>, ConfigError> {
    let Some(file) = file else { return Ok(None) };
    let Some(path) = files::present(file)? else { return Ok(None) };
    let text = files::read_user_file(&path)?;
    Ok(text.map(|text| (path, text)))
}

/// The rights of a settings file.
#[derive(Clone, Copy, PartialEq)]
enum Trust {
    User,
    Repository,
}

/// The settings read so far, with their origins and problems.
struct Loader {
    settings: Settings,
    origins: BTreeMap<String, Origin>,
    warnings: Vec<String>,
    problems: Vec<Problem>,
    home: Option<PathBuf>,
    /// Values of the compatible program that depend on other settings.
    compatible: Compatible,
}

impl Loader {
    fn new(sources: &Sources) -> Self {
        let home = sources.environment.iter().find(|(name, _)| name == "HOME");

        Self {
            settings: Settings::default(),
            origins: keys().iter().map(|spec| (spec.path.to_owned(), Origin::Default)).collect(),
            warnings: Vec::new(),
            problems: Vec::new(),
            home: home.map(|(_, home)| PathBuf::from(home)),
            compatible: Compatible::default(),
        }
    }

    /// Loads the variables of the environment. Those with the prefix override their compatible spellings.
    fn environment(&mut self, sources: &Sources) {
        for (name, text) in &sources.environment {
            let Some((_, own)) = COMPATIBLE.iter().find(|(compatible, _)| compatible == name) else {
                continue;
            };
            let Some(spec) = key_of_variable(own) else { continue };
            let origin = Origin::Environment(name.clone());
            self.put_plain(spec, text, &origin);
        }
        self.compatible.read_environment(sources);

        for (name, text) in &sources.environment {
            let Some(rest) = name.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            let origin = Origin::Environment(excerpt(name));

            match key_of_variable(name) {
                Some(spec) => self.put_plain(spec, text, &origin),
                // The key of the API has the prefix of a section, but is no setting.
                None if name == ASK_KEY_VARIABLE => {}
                // Other variables of the program share the prefix. Only names that start with a section are
                // rejected.
                None if begins_with_section(rest) => {
                    self.problem(&origin, "there is no such setting".to_owned(), similar_variable(name));
                }
                None => {}
            }
        }
    }

    /// Sets a key to a value that is given as text.
    fn put_plain(&mut self, spec: &KeySpec, text: &str, origin: &Origin) {
        match spec.kind.check_plain(text) {
            Ok(value) => self.put(spec, value, origin),
            Err(error) => self.value_error(spec.path, error, origin),
        }
    }

    /// Loads the settings of the command line.
    fn overrides(&mut self, sources: &Sources) {
        for (path, text) in &sources.overrides {
            match check_assignment(path, text) {
                Ok((spec, value)) => self.put(spec, value, &Origin::CommandLine),
                Err(error) => self.problem(&Origin::CommandLine, error.message, error.suggestion),
            }
        }
    }

    /// Loads the content of a file.
    fn file(&mut self, path: &Path, bytes: &[u8], trust: Trust) {
        if let Some(table) = self.parse(path, bytes) {
            FileWalk { loader: self, path, trust, is_yaml: files::is_yaml(path) }.table(&table, "");
        }
    }

    /// The tables of a file; `None` after a problem.
    fn parse(&mut self, path: &Path, bytes: &[u8]) -> Option<Vec<Entry>> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = &bytes[..error.valid_up_to()];
                let at = Position::at(&String::from_utf8_lossy(valid), &LineIndex::new(valid), valid.len());
                let origin = Origin::in_file(path, at);
                self.problem(&origin, "the file is not UTF-8".to_owned(), None);
                return None;
            }
        };

        // Both formats become the same tree.
        match if files::is_yaml(path) { yaml::parse(text) } else { toml::parse(text) } {
            Ok(table) => Some(table),
            Err(error) => {
                self.problem(&Origin::in_file(path, error.at), error.message, None);
                None
            }
        }
    }

    /// Sets a validated value and its origin.
    fn put(&mut self, spec: &KeySpec, value: Value, origin: &Origin) {
        let entries: Vec<String> = match &value {
            Value::Table(table) => table.keys().cloned().collect(),
            Value::Delimiters(languages) => languages.keys().cloned().collect(),
            _ => Vec::new(),
        };

        let value = match (spec.kind, value) {
            (KeyKind::Path, Value::Text(text)) => Value::Text(self.resolve_path(&text, origin)),
            (_, value) => value,
        };

        // The kind fits by the table, but a number may be too large for `usize`.
        if !(spec.assign)(&mut self.settings, value) {
            return self.problem(
                origin,
                format!("`{}` cannot hold this value on this machine", spec.path),
                None,
            );
        }

        self.origins.insert(spec.path.to_owned(), origin.clone());
        for entry in entries {
            self.origins.insert(format!("{}.{entry}", spec.path), origin.clone());
        }
    }

    /// Resolves `~/` and paths that are relative to the directory of a file.
    fn resolve_path(&self, text: &str, origin: &Origin) -> String {
        let path = match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        let path = match origin {
            Origin::File { path: file, .. } => file.parent().map_or(path.clone(), |dir| dir.join(&path)),
            _ => path,
        };
        path.to_string_lossy().into_owned()
    }

    fn value_error(&mut self, key: &str, error: ValueError, origin: &Origin) {
        self.problem(origin, format!("`{key}`: {}", error.message), error.suggestion);
    }

    fn problem(&mut self, origin: &Origin, message: String, suggestion: Option<String>) {
        // More problems would hide the first ones.
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { origin: origin.exact(), message, suggestion });
        }
    }

    /// Validates constraints between keys.
    fn check_constraints(&mut self) {
        let chunker = &self.settings.chunker;
        let pairs = [
            ("chunker.target_tokens", chunker.target_tokens, "chunker.token_limit", chunker.token_limit + 1),
            (
                "chunker.simple_overlap",
                chunker.simple_overlap,
                "chunker.token_limit",
                chunker.token_limit / 2,
            ),
            (
                "chunker.markdown.overlap",
                chunker.markdown.overlap,
                "chunker.markdown.chunk_size",
                chunker.markdown.chunk_size,
            ),
        ];

        for (small, value, large, bound) in pairs {
            if value >= bound {
                // The problem is reported at a key that was set.
                let origin = match (&self.origins[small], &self.origins[large]) {
                    (Origin::Default, other) => other.clone(),
                    (origin, _) => origin.clone(),
                };
                let message =
                    format!("`{small}` is {value}, but `{large}` only leaves room for less than {bound}");
                self.problem(&origin, message, Some(format!("lower `{small}` or raise `{large}`")));
            }
        }
    }

    /// Returns the settings, or all problems.
    fn finish(mut self) -> Result<Loaded, ConfigError> {
        self.apply_compatible();
        // Constraints between values are checked only if each value is valid.
        if self.problems.is_empty() {
            self.check_constraints();
        }
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid(self.problems));
        }
        Ok(Loaded { settings: self.settings, origins: self.origins, warnings: self.warnings })
    }
}

/// Returns the key that a variable with the prefix sets.
fn key_of_variable(name: &str) -> Option<&'static KeySpec> {
    keys().iter().find(|spec| spec.environment_name() == name)
}

/// Returns whether the rest of the name of a variable begins with a section of the settings.
fn begins_with_section(name: &str) -> bool {
    sections().any(|section| {
        name.strip_prefix(&section.to_ascii_uppercase()).is_some_and(|rest| rest.starts_with('_'))
    })
}

/// Suggests the name of a variable for an unknown one.
fn similar_variable(name: &str) -> Option<String> {
    let names: Vec<String> = keys().iter().map(|spec| spec.environment_name().to_ascii_lowercase()).collect();

    // Names are compared in lower case, and shown in upper case.
    let suggestion = did_you_mean(name, names.iter().map(String::as_str))?;
    let upper = suggestion.replacen("codeweaver_", "CODEWEAVER_", 1).to_ascii_uppercase();
    Some(upper.replacen("DID YOU MEAN", "did you mean", 1))
}

fn sections() -> impl Iterator<Item = &'static str> {
    keys().iter().filter_map(|spec| spec.path.split('.').next())
}
