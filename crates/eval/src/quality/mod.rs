//! The search-quality loop: finds the files that the search misses, judges the files that it returns, and
//! changes the ranking weights only if no area loses by the change.
//!
//! Each iteration takes fresh issues from a pool ([`issue`], [`area`], [`learnt_areas`], [`sample`]),
//! searches ([`search`]), evaluates ([`evaluate`]: [`explorer`], [`judge`], [`verdict`], [`figures`]) and
//! learns ([`learn`], [`guard`], [`learner`], [`trial`]). Iteration 0 is the baseline. Every step leaves an
//! [`artefact`]; a step whose artefact is there is not done again, so a stopped loop continues after its last
//! finished step. [`report`] renders the whole.
//!
//! The method is that of "Codebase Search Optimization: Validation-Driven Development"; docs/quality-loop.md
//! lists its numbers and the differences of this loop.

pub mod area;
pub mod artefact;
mod checkout;
pub mod config;
mod evaluate;
pub mod explorer;
mod external;
mod figures;
mod folder;
pub mod guard;
pub mod issue;
mod judge;
mod learn;
mod learner;
mod learnt_areas;
mod report;
mod run;
mod sample;
mod search;
mod subject;
mod trial;
mod verdict;

pub use config::Config;
pub use run::{Loop, Summary};

/// Version of the JSON objects that external commands read.
const PROTOCOL: u32 = 1;
