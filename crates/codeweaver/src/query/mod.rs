//! Query: from a request to ranked matches, with the freshness of the searched state.
//!
//! The modules in the order in which each imports only those before it:
//!
//! * [`response`]: everything that is returned.
//! * [`request`]: the query with its `filters` and limits; `stage`: the stages that act on it by name.
//! * [`parse`]: everything derived from the text of the query.
//! * [`engine`]: an index that is kept elsewhere; `wanted`: the candidates that a query needs of it.
//! * [`view`]: the snapshot with its overlays that answers.
//! * [`retrieve`]: candidates from lexical, dense, symbol and path evidence.
//! * [`rank`]: the order of the files with candidates.
//! * [`answer`]: the texts of the best files, within the budget.
//! * `form`: the form in which the query is searched for: as typed, `translated`, in the `spelling` of the
//!   index, or taken apart as a [`report`].
//! * `raised`: the code that prints a message.
//! * `verbatim`, `rerank`: the stages after ranking.
//! * `pipeline`: the sequence of form, retrieval, ranking and later stages.
//! * [`left_out`]: names of the query that only files have which are not indexed. [`submodules`]:
//!   repositories inside that are not indexed.
//! * `verify`: the comparison of the shown files with the disk.
//! * [`search`]: all requests about one codebase.
//! * [`conditions`]: filters and view of a request from a [`typed`] query, the one language of the
//!   front-ends.
//!
//! `record` is the entry of a search in the log.
//!
//! Other requests are [`similar`], [`grep`], [`outline`], [`read`] and [`passages`]; `location` reads a file
//! with lines as it is typed, [`locate`] resolves paths, and `definitions` finds the definitions at lines.
//! Retrieval and ranking share [`path_facts`]. [`changes`] and [`listing`] are answered from git,
//! [`symbol_lookup`] from the names of all definitions, which [`symbol_scan`] reads.

pub(crate) mod answer;
mod cancel;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod changes;
pub mod conditions;
pub(crate) mod definitions;
#[allow(missing_docs, reason = "fields that say what they are by name")]
pub mod engine;
pub mod error;
mod filters;
mod form;
pub mod grep;
mod intent;
pub mod left_out;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod listing;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod locate;
mod location;
mod members;
mod model;
mod names;
pub mod outline;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod parse;
mod part;
pub(crate) mod passages;
pub(crate) mod path_facts;
mod pipeline;
mod raised;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod rank;
pub mod read;
pub(crate) mod record;
pub(crate) mod report;
pub mod request;
mod rerank;
mod resources;
pub mod response;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod retrieve;
pub mod search;
pub mod similar;
mod spelling;
mod stage;
pub mod submodules;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod symbol_lookup;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod symbol_scan;
#[cfg(test)]
mod tests;
mod translated;
pub mod typed;
mod verbatim;
mod verify;
#[allow(missing_docs, reason = "fields and variants that say what they are by name")]
pub mod view;
mod wanted;

pub use cancel::Cancel;
pub use conditions::{Resolved, Resolver};
pub use engine::Engine;
pub use error::QueryError;
pub use grep::GrepRequest;
pub use intent::Intent;
pub use location::Location;
pub use outline::Outline;
pub use read::FileText;
pub use request::{Ann, Filters, Mode, Request, ViewRequest, WorktreeMode};
pub use response::{Match, Response};
pub use retrieve::Tuning;
pub use search::Searcher;
pub use similar::SimilarRequest;
pub use stage::{Stage, Stages};
pub use typed::{Condition, TypedQuery};
