//! The semantic step: a syntax tree → atoms to pack, and symbols.

mod walk;

pub(crate) use walk::{Walked, parse, walk};
