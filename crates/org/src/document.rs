//! The documents of a file and of its rows, as they are sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use codeweaver_store::postings::N_FIELDS;
use codeweaver_store::rows::RowMeta;
use codeweaver_text as text;

use super::error::OrgError;
use super::local::LocalFile;
use super::org::Org;
use super::record::{Counts, Doc, Record, compressed};
use super::schema::{LENGTH_FIELDS, TERM_FIELDS, TEST_FLAG};

/// Maximum number of times that one term of a field is written. BM25 saturates far below.
const MAX_FREQUENCY: u32 = 255;

/// A file with its rows, as documents.
pub struct Document<'a> {
    pub org: &'a Org,
    pub name: &'a str,
    pub id: &'a str,
    pub file: &'a LocalFile,
    pub doc: &'a Doc,
    pub bodies: &'a [Counts],
}

impl Document<'_> {
    /// The document of a row.
    pub fn row(&self, row: usize) -> Value {
        let meta = &self.doc.rows[row];
        let dim = self.doc.vectors.len() / self.doc.rows.len().max(1);
        let mut source = self.places(false);
        source["language"] = meta.language.as_str().into();
        source["vector"] = json!(&self.doc.vectors[row * dim..][..dim]);

        for (field, words) in TERM_FIELDS.iter().zip(self.terms(row)) {
            source[*field] = joined(&words).into();
        }
        source
    }

    /// The document of the file.
    pub fn file(&self, text: &[u8]) -> Result<Value, OrgError> {
        let mut source = self.places(true);
        let mut lengths = [0u64; N_FIELDS];
        let mut all: Counts = Vec::new();
        for row in 0..self.doc.rows.len() {
            for (field, words) in self.terms(row).into_iter().enumerate() {
                // A record of the local index has 16 bits for it.
                let n: u64 = words.iter().map(|(_, n)| u64::from(*n)).sum();
                lengths[field] += n.min(u64::from(u16::MAX));
                all.extend(words);
            }
        }

        source["language"] = self.doc.meta.language.as_str().into();
        source["terms"] = joined(&merged(all)).into();
        source["rows"] = self.doc.rows.len().into();
        for (field, n) in LENGTH_FIELDS.iter().zip(lengths) {
            source[*field] = n.into();
        }

        let record = Record::new(self.doc, self.bodies).encode(&self.doc.vectors);
        let unwritable = |error: std::io::Error| OrgError::Local {
            what: format!("{} is not pushed", self.id),
            why: error.to_string(),
        };
        source["data"] = STANDARD.encode(record.map_err(unwritable)?).into();
        if self.org.meta.texts {
            source["text"] = STANDARD.encode(compressed(text).map_err(unwritable)?).into();
        }
        Ok(source)
    }

    /// The fields about places.
    fn places(&self, words: bool) -> Value {
        let at = self.file.to_json(self.name, words);
        let paths: Vec<&str> = self.file.places.iter().map(|place| place.path.as_str()).collect();
        let is_test = self.file.places.iter().all(|place| place.flags & TEST_FLAG != 0);

        let mut source = json!({
            "file": self.id, "repo": [self.name], "path": paths, "at": at, "test": is_test,
        });
        if words {
            let terms = at.as_array().into_iter().flatten().filter_map(|place| place["t"].as_str());
            source["path_terms"] = terms.collect::<Vec<_>>().join(" ").into();
        }
        source
    }

    /// The terms of a row by field.
    fn terms(&self, row: usize) -> [Counts; N_FIELDS] {
        let RowMeta { symbols, enclosing, .. } = &self.doc.rows[row];
        [
            self.bodies.get(row).cloned().unwrap_or_default(),
            counted(symbols.iter().map(|symbol| symbol.name.as_str())),
            counted(symbols.iter().map(|symbol| symbol.doc.as_str())),
            counted(enclosing.iter().map(String::as_str)),
        ]
    }
}

/// The terms of some texts.
fn counted<'t>(texts: impl Iterator<Item = &'t str>) -> Counts {
    let mut counts = Counts::new();
    texts.for_each(|text| text::visit_terms(text, |term, _| counts.push((term.to_owned(), 1))));
    merged(counts)
}

/// Adds up the counts of equal terms.
fn merged(mut counts: Counts) -> Counts {
    counts.sort();
    counts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
    counts
}

/// Terms as a text, each as often as it occurs.
fn joined(counts: &[(String, u32)]) -> String {
    let mut out = String::new();
    for (term, n) in counts {
        for _ in 0..(*n).min(MAX_FREQUENCY) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(term);
        }
    }
    out
}
