//! `graph`: callers, callees and references.

mod absence;
pub mod command;
mod languages;
mod precision;
