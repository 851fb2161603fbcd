//! Query: from a request to ranked matches, with the freshness of what was searched.
//!
//! The modules in the order in which a request passes through them:
//!
//! * [`request`]: the query with its filters and limits.
//! * [`parse`]: what is derived from the text of the query.
//! * [`view`]: the snapshot with its overlays that answers.
//! * `translated`: a query in another language than English in its words.
//! * `spelling`: a query in the spelling of the index.
//! * [`retrieve`]: candidates from lexical, dense, symbol and path evidence.
//! * [`rank`]: the order of the files that contain them.
//! * `verbatim`: files that have a short query as it is written, before all others.
//! * [`report`]: the search for a long query by its parts, with these two stages for each.
//! * [`answer`]: their text, within the budget.
//! * [`response`]: everything that is returned.
//! * [`search`]: the sequence of these stages, for which `verify` compares the shown files with the disk.
//!
//! Other requests are [`similar`], [`grep`], [`outline`] and [`read`]; [`locate`] resolves their paths, and
//! `definitions` what is at their lines. [`path_facts`] are shared by retrieval and ranking. [`changes`] and
//! [`listing`] are answered from git, [`symbol_lookup`] by [`symbol_scan`] from the names of all definitions.

#[doc(hidden)]
pub mod answer;
mod cancel;
#[doc(hidden)]
pub mod changes;
mod definitions;
pub mod error;
pub mod grep;
#[doc(hidden)]
pub mod listing;
#[doc(hidden)]
pub mod locate;
mod names;
pub mod outline;
#[doc(hidden)]
pub mod parse;
#[doc(hidden)]
pub mod passages;
#[doc(hidden)]
pub mod path_facts;
#[doc(hidden)]
pub mod rank;
pub mod read;
#[doc(hidden)]
pub mod report;
pub mod request;
mod rerank;
pub mod response;
#[doc(hidden)]
pub mod retrieve;
pub mod search;
pub mod similar;
mod spelling;
#[doc(hidden)]
pub mod symbol_lookup;
#[doc(hidden)]
pub mod symbol_scan;
#[cfg(test)]
mod tests;
mod translated;
mod verbatim;
mod verify;
#[doc(hidden)]
pub mod view;

pub use cancel::Cancel;
pub use error::QueryError;
pub use grep::GrepRequest;
pub use outline::Outline;
pub use parse::intent::Intent;
pub use read::FileText;
pub use request::{Ann, Filters, Mode, Request, ViewRequest, WorktreeMode};
pub use response::{Match, Response};
pub use retrieve::Tuning;
pub use search::Searcher;
pub use similar::SimilarRequest;
