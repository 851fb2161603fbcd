//! `graph`: callers, callees and references.

pub mod command;
mod languages;
mod precision;
