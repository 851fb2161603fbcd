//! config
pub mod chunker;
pub use chunker::*;
