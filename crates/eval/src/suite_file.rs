//! Parses suite files (JSON, JSON lines, YAML). Errors name the line.

use std::path::Path;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer,
};

use codeweaver::query::Intent;

use super::error::EvalError;
use super::labelled::{Expectation, LabelledQuery};
use super::metric::Label;

/// The format of a suite file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteFormat {
    Json,
    JsonLines,
    Yaml,
}

impl SuiteFormat {
    /// Returns the format of the file at `path` by its extension; `None` if the extension is unknown.
    pub fn from_path(path: &Path) -> Option<SuiteFormat> {
        match path.extension()?.to_str()? {
            "json" => Some(SuiteFormat::Json),
            "jsonl" => Some(SuiteFormat::JsonLines),
            "yml" | "yaml" => Some(SuiteFormat::Yaml),
            _ => None,
        }
    }
}

/// Reads the list in the file at `path`, in the format of its extension.
pub fn read_list<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, EvalError> {
    let format = SuiteFormat::from_path(path).ok_or_else(|| {
        EvalError::format(path, "its format is unknown: the name must end in .json, .jsonl, .yml or .yaml")
    })?;
    let text = std::fs::read_to_string(path).map_err(EvalError::read(path))?;

    match format {
        SuiteFormat::Json => serde_json::from_str(&text)
            .map_err(|e| EvalError::format_at(path, e.line() as u64, without_place(&e.to_string()))),
        SuiteFormat::JsonLines => json_lines(path, &text),
        SuiteFormat::Yaml => serde_saphyr::from_str(&text).map_err(|e| {
            let place = e.location().map(|location| location.line());
            // The snippet has several lines, and an error has one.
            let why = without_place(&e.without_snippet().to_string());
            EvalError::Format { path: path.to_path_buf(), line: place, why }
        }),
    }
}

/// Parses one value a line. Blank lines are skipped, but count in the line number of an error.
fn json_lines<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<T>, EvalError> {
    let mut values = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value = serde_json::from_str(line)
            .map_err(|e| EvalError::format_at(path, i as u64 + 1, without_place(&e.to_string())))?;
        values.push(value);
    }

    Ok(values)
}

/// Returns the message of a parser without line and column, which [`EvalError::Format`] has of its own.
fn without_place(message: &str) -> String {
    let message = message.lines().next().unwrap_or("").trim();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

/// An entry of a `repos*` file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    pub name: String,
    #[serde(default)]
    pub language: String,
    /// The URL to clone it from. Not read.
    #[serde(default, rename = "url")]
    _url: Option<String>,
    #[serde(default)]
    pub revision: Option<String>,
    #[serde(default)]
    pub benchmark_root: Option<String>,
}

/// An entry of a suite file, with the keys of both forms.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    query: String,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default, deserialize_with = "intent")]
    intent: Option<Intent>,
    #[serde(default)]
    rev: Option<String>,
    #[serde(default)]
    relevant: WrittenLabels,
    #[serde(default)]
    secondary: WrittenLabels,
    #[serde(default)]
    expected_top_3: WrittenLabels,
    #[serde(default)]
    expected_top_5: WrittenLabels,
    #[serde(default)]
    expected_excluded: Vec<String>,
    /// The commit that a mined query was made from. Not read, as are the keys below, which are notes of the
    /// authors of the development set.
    #[serde(default, rename = "commit")]
    _commit: Option<String>,
    #[serde(default, rename = "note")]
    _note: Option<String>,
    #[serde(default, rename = "seed")]
    _seed: serde::de::IgnoredAny,
    #[serde(default, rename = "related")]
    _related: serde::de::IgnoredAny,
}

/// A list of labels.
#[derive(Debug, Default)]
struct WrittenLabels(Vec<Label>);

/// A path, or a path with further conditions.
struct WrittenLabel(Label);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelFields {
    #[serde(alias = "file")]
    path: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
    symbol: Option<String>,
    contains: Option<String>,
    min_score: Option<f32>,
}

// Not derived: for a derived list, the parsers report only that they expected a sequence.
impl<'de> Deserialize<'de> for WrittenLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenLabels, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = WrittenLabels;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a list of paths")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WrittenLabels, A::Error> {
                let mut labels = Vec::new();
                while let Some(WrittenLabel(label)) = list.next_element()? {
                    labels.push(label);
                }
                Ok(WrittenLabels(labels))
            }
        }

        deserializer.deserialize_any(List)
    }
}

impl<'de> Deserialize<'de> for WrittenLabel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenLabel, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = WrittenLabel;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a path, or `file` with `symbol`, `contains`, `min_score` or lines")
            }

            fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<WrittenLabel, E> {
                Ok(WrittenLabel(Label::file(path)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenLabel, A::Error> {
                let fields = LabelFields::deserialize(MapAccessDeserializer::new(map))?;
                fields.label().map(WrittenLabel).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl LabelFields {
    /// Checks the fields; the error says what is wrong with them.
    fn label(self) -> Result<Label, &'static str> {
        let lines = match (self.start_line, self.end_line) {
            (Some(first), last) if first >= 1 && last.is_none_or(|last| last >= first) => {
                Some((first, last.unwrap_or(first)))
            }
            (None, None) => None,
            _ => return Err("`start_line` must be at least 1 and `end_line` not before it"),
        };

        if self.min_score.is_some_and(|min| !(0.0..=1.0).contains(&min)) {
            return Err("`min_score` must be between 0 and 1");
        }

        let LabelFields { path, symbol, contains, min_score, .. } = self;
        Ok(Label { path, lines, symbol, contains, min_score })
    }
}

/// Deserializes the name of an intent. Unlike in a request, an unknown name is an error.
fn intent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Intent>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };

    match Intent::by_name(&name) {
        Some(intent) => Ok(Some(intent)),
        None => {
            let known = Intent::names().collect::<Vec<_>>().join(", ");
            Err(D::Error::custom(format!("`{name}` is not an intent; known are {known}")))
        }
    }
}

impl<'de> Deserialize<'de> for LabelledQuery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LabelledQuery, D::Error> {
        Written::deserialize(deserializer)?.labelled().map_err(D::Error::custom)
    }
}

impl Written {
    /// Checks the entry and merges the labels of all keys; the error says what is wrong with it.
    fn labelled(self) -> Result<LabelledQuery, String> {
        if self.query.trim().is_empty() {
            return Err("`query` is empty".to_owned());
        }

        let expected: Vec<Expectation> = [(3, self.expected_top_3), (5, self.expected_top_5)]
            .into_iter()
            .filter(|(_, labels)| !labels.0.is_empty())
            .map(|(depth, labels)| Expectation { depth, labels: labels.0 })
            .collect();

        // A label counts once, even if several keys list it.
        let mut all: Vec<Label> = Vec::new();
        let labelled = self.relevant.0.into_iter().chain(self.secondary.0);
        for label in labelled.chain(expected.iter().flat_map(|expected| expected.labels.clone())) {
            if !all.contains(&label) {
                all.push(label);
            }
        }

        if all.is_empty() {
            return Err(format!(
                "the query \"{}\" has no label: give `relevant`, `expected_top_3` or `expected_top_5`",
                self.query
            ));
        }

        Ok(LabelledQuery {
            // Entries of the reference form have an intent and no category.
            category: self.category.unwrap_or_else(|| self.intent.map_or("", Intent::name).to_owned()),
            query: self.query,
            language: self.language,
            intent: self.intent,
            rev: self.rev,
            labels: all,
            expected,
            excluded: self.expected_excluded,
        })
    }
}
