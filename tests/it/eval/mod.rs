//! `eval`: suites, the reference suites, learned weights, the quality loop.

mod quality_loop;
pub mod reference;
mod suites;
mod tune;
