//! Evaluation: measures the ranking on suites of labelled queries.
//!
//! * [`suite`]: repositories with their queries; [`labelled`]: a query with its labels; [`suite_file`]: the
//!   file formats.
//! * [`mine`]: makes a suite from the history of a repository.
//! * [`metric`]: NDCG, precision, recall, MRR and hit rates of one query.
//! * [`runner`]: indexes the repositories of a suite and runs its queries, in one process.
//! * [`report`]: means by repository, category, language and intent; [`table`]: renders and compares reports.
//! * [`tune`]: learns the weights from a suite; [`quality`]: the loop that measures what the search misses.
//! * [`ablate`]: the effect of each weight; [`foreign`]: whether relevance separates foreign queries.
//!
//! Suites are data: this module names no repository, path or query of any suite.

pub mod ablate;
pub mod error;
pub mod foreign;
mod labelled;
pub mod metric;
pub mod mine;
pub mod quality;
pub mod report;
mod runner;
mod suite;
mod suite_file;
pub mod table;
pub mod tune;

pub use error::EvalError;
pub use report::Report;
pub use runner::{OpenRepository, Runner};
pub use suite::Suite;
