//! Tokeniser for code and prose, shared by the lexical index, queries and the built-in model.
//!
//! A term is a lower-case, lightly stemmed word or identifier of at most [`MAX_TERM_BYTES`] bytes. Index and
//! query agree because both call [`visit_terms`].
//!
//! Tokeniser, stemmer and entropy test are kept in this repository instead of taken from a crate because
//! terms are persisted in segments: the same text must yield the same terms until [`TERMS_VERSION`] changes.
//!
//! * [`terms`]: from text to terms.
//! * [`term_table`]: the terms of many texts, counted.
//! * `stem`: the suffix rules.
//! * [`entropy`]: keeps keys and hashes out of the terms.
//! * `affinity`: similarity of two terms.
//! * `brackets`: the end of a group in brackets.
//! * `edits`: words one edit apart.
//! * `encoding`: UTF-16, UTF-32 and legacy encodings as UTF-8.
//! * `highlight`: the words of a query in a line.
//! * [`lines`]: the starts of the lines of a text.
//! * `mentions`: paths and lines in a query, as in stack traces.
//! * `numbers`: counts, sizes and times for readers.
//! * `printable`: text without characters that act on a terminal.
//! * [`query`]: from a query to weighted terms, and the identifiers in it.
//! * `translation`: queries in other languages in English words.
//! * `window`: the lines of a text with most words of a query.

mod affinity;
mod brackets;
mod edits;
mod encoding;
mod entropy;
mod highlight;
mod lines;
mod mentions;
mod numbers;
mod printable;
mod query;
mod stem;
mod term_table;
mod terms;
mod translation;
mod window;

pub use affinity::affinity;
pub use brackets::group_len;
pub use edits::{is_one_edit_apart, one_edit_away};
pub use encoding::{Decoded, VERSION as ENCODING_VERSION, decode, decode_owned, into_utf8, to_utf8};
pub use highlight::Highlighter;
pub use lines::LineIndex;
pub use mentions::{Mention, mentions};
pub use numbers::{ago, bytes, count, duration, plural};
pub use printable::{is_unprintable, safe, safe_json, safe_text, visible};
pub use query::{QueryTerm, as_written, identifiers, is_stop_word, query_terms};
pub use stem::stem;
pub use term_table::{TermCount, TermCounts, TermTable, TermUse};
pub use terms::{TermKind, for_each_term, path_terms, visit_path_terms, visit_terms};
pub use translation::{Translation, translate};
pub use window::densest_window;

/// Version of the tokeniser. Increased whenever the same text yields other terms; part of every fingerprint
/// that depends on terms.
pub const TERMS_VERSION: u32 = 1;

/// Maximum length of a term. The whole of a longer identifier is not indexed, only its parts.
pub const MAX_TERM_BYTES: usize = 64;
