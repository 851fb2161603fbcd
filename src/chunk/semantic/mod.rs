//! The semantic step: a text → its syntax tree (`parse`) → atoms to pack, and symbols (`walk`).

mod item_macros;
mod parse;
mod walk;

pub(crate) use parse::parse;
pub(super) use walk::{WalkInput, Walked, walk};
