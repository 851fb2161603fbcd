//! Words: for every word of the indexed blobs, the docs that have it. With them, grep reads only files that
//! can match.
//!
//! A word is a maximal run of ASCII letters, digits, `_` and bytes from 0x80 of a blob as git has it. A text
//! in a blob thus consists of words, or parts of words, and the characters between them; without such
//! characters it is a part of one word. Words are stored and not sequences of characters (n-grams), since a
//! file has fewer different words, and a search of all words for a part of a word takes milliseconds.
//!
//! | section | content |
//! |---:|---|
//! | 12 | the words in byte order, in blocks |
//! | 13 | their lists of docs, in blocks of the same words |
//! | 14 | for each block its offsets in sections 12 and 13, u32 each |
//! | 15 | docs whose words are not stored, u32, ascending: every pattern may match them |
//! | 16 | a filter for each block |
//!
//! A block of words is its first word, a line break, and compressed by zstd all its words, each followed by a
//! line break. A block of lists is their length before compression as varint, and the lists compressed by
//! zstd. A block is decompressed and searched for a text only if all trigrams (three bytes in a row in lower
//! case, line breaks included) of the text are in its filter, which is a Bloom filter with one hash.
//!
//! A list is the varint of `doc << 1 | 1` if there is one doc, otherwise that of `length << 1` and the gaps
//! between the docs as varints, `length` bytes in all. A length of zero means a bitmap of all docs.

mod builder;
mod doc_set;
mod format;
mod needle;
mod reader;

#[cfg(test)]
mod tests;

pub use builder::WordsBuilder;
pub use doc_set::DocSet;
pub use format::{FILTER, is_word_byte};
pub use needle::Needle;
pub use reader::Words;
