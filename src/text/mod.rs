//! Terms of code and prose: one function for the lexical index, the query and the built-in model.
//!
//! A term is a lower-case, lightly stemmed word or identifier of at most [`MAX_TERM_BYTES`] bytes. Index and query agree
//! because both call [`visit_terms`]; changing what it yields is a new [`TERMS_VERSION`].
//!
//! * [`terms`]: text → terms.
//! * [`stem`]: the suffix rules.
//! * [`entropy`]: what looks like a key or a hash and never becomes a term.
//! * [`affinity`]: how near two terms are.
//! * [`lines`]: where the lines of a text start.
//! * [`mentions`]: paths and lines in a question, such as a stack trace has.
//! * [`query`]: a question → weighted terms and the identifiers in it.

mod affinity;
mod entropy;
mod lines;
mod mentions;
mod query;
mod stem;
mod terms;

pub use affinity::affinity;
pub(crate) use lines::LineIndex;
pub use mentions::{Mention, mentions};
pub use query::{QueryTerm, identifiers, query_terms};
pub use stem::stem;
pub use terms::{TermKind, for_each_term, path_terms, visit_path_terms, visit_terms};

/// Raised whenever the same text would yield other terms; part of every fingerprint that depends on terms.
pub const TERMS_VERSION: u32 = 1;

/// No term is longer; a longer identifier is found by its parts.
pub const MAX_TERM_BYTES: usize = 64;
