//! A stretch of text found without a syntax tree.

use std::ops::Range;

use super::DelimiterMatch;

/// A byte range of the blob with the delimiters that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub byte_range: Range<u32>,
    pub delimiter: Option<DelimiterMatch>,
}
