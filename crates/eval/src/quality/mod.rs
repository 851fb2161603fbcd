//! The search-quality loop: finds out what the search misses, judges what it returns, and keeps other weights
//! only if no area loses by them.
//!
//! Each iteration takes fresh issues from a pool ([`issue`], [`area`], [`sample`]), searches ([`search`]),
//! evaluates ([`evaluate`]: [`explorer`], [`judge`], [`figures`]) and learns ([`learn`], [`guard`],
//! [`learner`], [`trial`]). Iteration 0 is the baseline. Every step leaves an [`artefact`]; a step whose
//! artefact is there is not done again, so a loop that was stopped continues where it was. [`report`] renders
//! the whole.
//!
//! The method is that of "Codebase Search Optimization: Validation-Driven Development"; docs/quality-loop.md
//! names its numbers, and where this loop differs.

pub mod area;
pub mod artefact;
mod checkout;
pub mod config;
mod evaluate;
pub mod explorer;
pub mod external;
pub mod figures;
mod folder;
pub mod guard;
pub mod issue;
pub mod judge;
mod learn;
pub mod learner;
pub mod report;
mod run;
mod sample;
mod search;
mod subject;
pub mod trial;

pub use config::Config;
pub use run::{Loop, Summary};

/// Version of the objects that external commands are told.
const PROTOCOL: u32 = 1;
