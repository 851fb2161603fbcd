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
use super::schema::{LENGTH_FIELDS, TERM_FIELDS, TEST_FLAG, row_id};
use super::words;

/// Maximum number of times that one term of a field is written. BM25 saturates far below.
const MAX_FREQUENCY: u32 = 255;

/// A file with its rows, to be made documents of.
pub struct Document<'a> {
    pub org: &'a Org,
    pub name: &'a str,
    pub id: &'a str,
    pub file: &'a LocalFile,
    pub doc: &'a Doc,
    pub bodies: &'a [Counts],
}

/// The documents of a file in JSON.
pub struct Sources {
    /// The name and the document of each row.
    pub rows: Vec<(String, String)>,
    /// The document of the file.
    pub file: String,
}

impl Document<'_> {
    /// The documents of the file, whose bytes are `text`, in UTF-8 if they were in another encoding.
    ///
    /// # Errors
    /// [`OrgError::Local`] if the content cannot be compressed.
    pub fn sources(&self, text: &[u8]) -> Result<Sources, OrgError> {
        let Document { doc, .. } = self;
        let dim = doc.vectors.len() / doc.rows.len().max(1);
        let common = self.places(false);
        let mut rows = Vec::with_capacity(doc.rows.len());
        let mut lengths = [0u64; N_FIELDS];
        let mut all: Counts = Vec::new();

        for (at, row) in doc.rows.iter().enumerate() {
            let terms = self.terms(at);
            let mut object = Object::with(&common);
            object.put("language", &row.language.as_str().into());
            object.put_numbers("vector", &doc.vectors[at * dim..][..dim]);
            for (field, words) in TERM_FIELDS.iter().zip(&terms) {
                object.put_terms(field, words);
            }
            rows.push((row_id(&row.chunk_id), object.finish()));

            for (field, words) in terms.into_iter().enumerate() {
                // A record of the local index has 16 bits for it.
                let n: u64 = words.iter().map(|(_, n)| u64::from(*n)).sum();
                lengths[field] += n.min(u64::from(u16::MAX));
                all.extend(words);
            }
        }

        let mut object = Object::with(&self.places(true));
        object.put("language", &doc.meta.language.as_str().into());
        object.put("rows", &doc.rows.len().into());
        for (field, n) in LENGTH_FIELDS.iter().zip(lengths) {
            object.put(field, &n.into());
        }
        object.put_terms("terms", &merged(all));
        object.put_words("words", &words::of_text(&String::from_utf8_lossy(text)));
        self.put_content(&mut object, text)?;
        Ok(Sources { rows, file: object.finish() })
    }

    /// Adds what the file is read from.
    fn put_content(&self, object: &mut Object, text: &[u8]) -> Result<(), OrgError> {
        let unwritable = |error: std::io::Error| OrgError::Local {
            what: format!("{} is not pushed", self.id),
            why: error.to_string(),
        };

        let record = Record::new(self.doc, self.bodies).encode(&self.doc.vectors);
        object.put_bytes("data", &record.map_err(unwritable)?);
        if self.org.meta.texts {
            object.put_bytes("text", &compressed(text).map_err(unwritable)?);
        }
        Ok(())
    }

    /// The fields about places.
    fn places(&self, words: bool) -> Value {
        let at = self.file.to_json(self.name, words);
        let paths: Vec<&str> = self.file.places.iter().map(|place| place.path.as_str()).collect();
        let is_test = self.file.places.iter().all(|place| place.flags & TEST_FLAG != 0);

        let mut source = json!({
            "file": self.id, "repo": [self.name], "path": paths, "at": at, "test": is_test,
            "place": self.file.shown_places(self.name),
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

/// An object of JSON under construction. A first push writes thousands a second, most of it numbers and
/// words, which need no tree of values.
struct Object(String);

impl Object {
    /// Begins with the fields of `object`, which has at least one.
    fn with(object: &Value) -> Object {
        let mut text = object.to_string();
        text.pop();
        Object(text)
    }

    fn name(&mut self, field: &str) {
        self.0.push_str(",\"");
        self.0.push_str(field);
        self.0.push_str("\":");
    }

    fn put(&mut self, field: &str, value: &Value) {
        self.name(field);
        self.0.push_str(&value.to_string());
    }

    /// Adds a list of words, which need no escapes.
    fn put_words(&mut self, field: &str, words: &[&str]) {
        self.name(field);
        self.0.push('[');
        for (at, word) in words.iter().enumerate() {
            self.0.push_str(if at > 0 { ",\"" } else { "\"" });
            self.0.push_str(word);
            self.0.push('"');
        }
        self.0.push(']');
    }

    /// Adds base64, which needs no escapes.
    fn put_bytes(&mut self, field: &str, bytes: &[u8]) {
        self.name(field);
        self.0.push('"');
        STANDARD.encode_string(bytes, &mut self.0);
        self.0.push('"');
    }

    /// Adds terms as a text, each as often as it occurs.
    fn put_terms(&mut self, field: &str, counts: &[(String, u32)]) {
        self.name(field);
        self.0.push('"');
        let start = self.0.len();

        for (term, n) in counts {
            // Terms are letters and digits; anything else would end the string.
            let is_plain = term.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
            for _ in 0..(*n).min(MAX_FREQUENCY) {
                if self.0.len() > start {
                    self.0.push(' ');
                }
                match is_plain {
                    true => self.0.push_str(term),
                    false => self.0.push_str(&escaped(term)),
                }
            }
        }
        self.0.push('"');
    }

    fn put_numbers(&mut self, field: &str, numbers: &[i8]) {
        self.name(field);
        self.0.push('[');
        for (at, number) in numbers.iter().enumerate() {
            if at > 0 {
                self.0.push(',');
            }
            push_number(&mut self.0, *number);
        }
        self.0.push(']');
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A text as between the quotes of a string.
fn escaped(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn push_number(out: &mut String, number: i8) {
    if number < 0 {
        out.push('-');
    }

    let n = number.unsigned_abs();
    if n >= 100 {
        out.push('1');
    }
    if n >= 10 {
        out.push(char::from(b'0' + n / 10 % 10));
    }
    out.push(char::from(b'0' + n % 10));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_json_whatever_its_terms_are() {
        let mut object = Object::with(&json!({ "file": "a\"b" }));
        object.put_numbers("vector", &[-128, -100, -10, -9, 0, 7, 10, 99, 100, 127]);
        object.put_terms("body", &[("a\\b\"".to_owned(), 2), ("é".to_owned(), 1)]);
        object.put_terms("doc", &[]);
        object.put_words("words", &["a", "b"]);
        object.put_bytes("data", &[0, 1]);

        let expected = json!({
            "file": "a\"b", "vector": [-128, -100, -10, -9, 0, 7, 10, 99, 100, 127],
            "body": "a\\b\" a\\b\" é", "doc": "", "words": ["a", "b"], "data": "AAE=",
        });
        assert_eq!(serde_json::from_str::<Value>(&object.finish()).unwrap(), expected);
    }
}
