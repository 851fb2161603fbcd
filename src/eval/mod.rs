//! How good the ranking is, measured on labelled questions (requirements EV1, R10).
//!
//! * [`suite`]: labelled questions and the repositories they are asked of.
//! * [`metric`]: NDCG, recall, MRR and hit rates of one answer.
//! * [`run`]: indexes what a suite names and asks everything, in one process.
//! * [`report`]: means by repository, category and language; comparison with an earlier run.
//! * [`ablate`]: what each weight of the ranking is worth; [`foreign`]: whether relevance knows what is not there.
//!
//! Nothing here knows a repository, a path or a question: suites are data.

pub mod ablate;
pub mod error;
pub mod foreign;
pub mod metric;
pub mod report;
pub mod run;
pub mod suite;

pub use error::EvalError;
pub use report::Report;
pub use run::Runner;
pub use suite::Suite;
