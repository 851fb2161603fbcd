//! Ranked files as matches.

pub mod content;
