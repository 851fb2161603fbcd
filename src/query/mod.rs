//! A question → ranked matches, with the proof of their freshness.
//!
//! * [`request`], [`intent`]: what is asked, and to what end.
//! * [`view`]: which snapshot answers, with the working tree laid over it.
//! * [`filter`], [`candidates`]: which chunks come into question, by several kinds of evidence ([`lexical`],
//!   [`definitions`], the dense side, paths).
//! * [`rank`]: their order; all weights in one table, no I/O.
//! * [`content`], [`response`]: their text within the token budget, and the answer.
//! * [`search`]: all of it in sequence.

pub mod candidates;
pub mod content;
pub mod definitions;
pub mod error;
pub mod filter;
pub mod intent;
pub mod lexical;
pub mod rank;
pub mod request;
pub mod response;
pub mod search;
pub mod view;

pub use error::QueryError;
pub use intent::Intent;
pub use request::{Ann, Filters, Mode, Request};
pub use response::{Match, Response};
pub use search::Searcher;
