//! The semantic step: from a text to its syntax tree (`parse`), and from that to atoms and symbols (`walk`).

mod bodies;
mod class_macros;
mod conditions;
mod elements;
mod item_macros;
mod parse;
mod unknown_syntax;
mod walk;

pub(super) use parse::parse_definitions;
pub use parse::{parse, parse_only};
pub(super) use walk::{WalkInput, Walked, walk};

/// Overwrites a part of a text with blanks. Line ends are kept.
fn blank(text: &mut [u8]) {
    text.iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
}
