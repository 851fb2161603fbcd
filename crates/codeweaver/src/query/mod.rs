//! Query: from a request to ranked matches, with the freshness of the searched state.
//!
//! The modules in the order in which a request passes through them:
//!
//! * [`request`]: the query with its filters and limits.
//! * [`parse`]: everything derived from the text of the query.
//! * [`view`]: the snapshot with its overlays that answers.
//! * `translated`: a query in another language than English, in English words.
//! * `spelling`: a query in the spelling of the index.
//! * [`retrieve`]: candidates from lexical, dense, symbol and path evidence.
//! * [`rank`]: the order of the files with candidates.
//! * `verbatim`: files that contain a short query as it is written; they come before all others.
//! * [`report`]: the search for a long query by its parts, each of which is retrieved and ranked.
//! * [`answer`]: the texts of the best files, within the budget.
//! * [`response`]: everything that is returned.
//! * [`search`]: the sequence of these stages; `verify` compares the shown files with the disk.
//!
//! Other requests are [`similar`], [`grep`], [`outline`] and [`read`]; [`locate`] resolves their paths, and
//! `definitions` finds the definitions at their lines. Retrieval and ranking share [`path_facts`].
//! [`changes`] and [`listing`] are answered from git, [`symbol_lookup`] from the names of all definitions,
//! which [`symbol_scan`] reads.

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
