//! How good the ranking is, measured on labelled questions (requirements EV1, R10).
//!
//! * [`suite`]: labelled questions and the repositories they are asked of; [`suite_file`]: the files they are written in.
//! * [`mine`]: a suite out of a repository's own history.
//! * [`metric`]: NDCG, precision, recall, MRR and hit rates of one answer.
//! * [`runner`]: indexes what a suite names and asks everything, in one process.
//! * [`report`]: means by repository, category, language and intent; [`table`]: shown, and compared with an earlier run.
//! * [`ablate`]: what each weight of the ranking is worth; [`foreign`]: whether relevance knows what is not there.
//!
//! Nothing here knows a repository, a path or a question: suites are data.

pub mod ablate;
pub mod error;
pub mod foreign;
pub mod metric;
pub mod mine;
pub mod report;
pub mod runner;
pub mod suite;
pub mod suite_file;
pub mod table;

pub use error::EvalError;
pub use report::Report;
pub use runner::Runner;
pub use suite::Suite;
