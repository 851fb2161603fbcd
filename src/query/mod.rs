//! A question → ranked matches, with the proof of their freshness.
//!
//! * [`request`], [`intent`]: what is asked, and to what end.
//! * [`view`]: which snapshot answers, with the working tree laid over it, and its [`members`]; [`freshness`]: how current it is.
//! * [`filter`], [`candidates`]: which chunks come into question, by several kinds of evidence ([`dense`] with [`binary_quantisation`], [`lexical`],
//!   [`definitions`], paths).
//! * [`rank`]: their order; all weights in one table, no I/O.
//! * [`near_duplicates`]: what says the same is shown once; [`path_facts`], [`paths`], [`evidence`]: parts of the order.
//! * [`content`], [`response`]: their text within the token budget, and the answer.
//! * [`search`]: all of it in sequence, as long as somebody waits ([`Cancel`]).
//! * [`similar`], [`outline`], [`read`]: the other questions; [`locate`]: paths as people write them.

mod binary_quantisation;
mod cancel;
pub mod candidates;
pub mod content;
pub mod definitions;
pub mod dense;
pub mod error;
pub mod evidence;
pub mod filter;
pub mod freshness;
pub mod intent;
pub mod lexical;
pub mod locate;
mod members;
pub mod near_duplicates;
pub mod outline;
mod parallel;
pub mod path_facts;
pub mod paths;
pub mod rank;
pub mod read;
pub mod relevance;
pub mod request;
pub mod response;
pub mod search;
pub mod similar;
#[cfg(test)]
mod tests;
mod top_k;
pub mod view;
pub mod weights;

pub use cancel::Cancel;
pub use error::QueryError;
pub use intent::Intent;
pub use outline::Outline;
pub use read::FileText;
pub use request::{Ann, Filters, Mode, Request};
pub use response::{Match, Response};
pub use search::Searcher;
pub use similar::SimilarRequest;
