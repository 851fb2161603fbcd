//! Needles, and the search for one in the words of a block.

use std::ops::Range;

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

use super::format::{FILTER, OVERLAP, for_each_trigram};

/// A part of a word that every match of a pattern contains.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Needle {
    /// The part, not empty and only bytes of words; UTF-8.
    pub text: String,
    /// Whether the word begins or ends with the text.
    pub is_start: bool,
    pub is_end: bool,
    /// Whether upper and lower case are equal.
    pub ignore_case: bool,
}

/// A prepared search for a needle in the words of blocks.
pub(super) struct NeedleSearch {
    /// The needle, if it is a whole word.
    pub(super) whole_word: Option<Vec<u8>>,
    /// The bits of the needle's trigrams in the filters of blocks.
    trigrams: Vec<usize>,
    find: Find,
}

enum Find {
    Exactly(Box<memmem::Finder<'static>>),
    InAnyCase(Regex),
}

impl NeedleSearch {
    /// Prepares the search; `None` if the text makes no valid expression.
    pub(super) fn new(needle: &Needle) -> Option<NeedleSearch> {
        // A longer text may lie in no part of a word as a whole, so only its beginning is searched for.
        let text = &needle.text.as_bytes()[..needle.text.floor_char_boundary(OVERLAP)];
        let is_end = needle.is_end && text.len() == needle.text.len();

        let mut wanted = Vec::with_capacity(text.len() + 2);
        wanted.extend(needle.is_start.then_some(b'\n'));
        wanted.extend_from_slice(text);
        wanted.extend(is_end.then_some(b'\n'));

        let is_whole = needle.is_start && is_end && !needle.ignore_case;

        // Letters beyond ASCII have other bytes in another case, so only trigrams without them count.
        let mut trigrams = Vec::new();
        for part in wanted.split(|byte| needle.ignore_case && !byte.is_ascii()) {
            for_each_trigram(part, |bit| trigrams.push(bit));
        }

        let find = if needle.ignore_case {
            let pattern = regex::escape(&String::from_utf8_lossy(&wanted));
            Find::InAnyCase(RegexBuilder::new(&pattern).case_insensitive(true).build().ok()?)
        } else {
            Find::Exactly(Box::new(memmem::Finder::new(&wanted).into_owned()))
        };

        Some(NeedleSearch { whole_word: is_whole.then(|| text.to_vec()), trigrams, find })
    }

    /// Returns whether a block with this filter may have the needle.
    pub(super) fn may_be_in(&self, filter: &[u8; FILTER]) -> bool {
        self.trigrams.iter().all(|bit| filter[bit / 8] >> (bit % 8) & 1 == 1)
    }

    /// The next match in `block` from `from` on, with the line breaks that belong to the needle.
    pub(super) fn find(&self, block: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.find {
            Find::Exactly(finder) => {
                let at = from + finder.find(block.get(from..)?)?;
                Some(at..at + finder.needle().len())
            }
            Find::InAnyCase(regex) => regex.find_at(block, from).map(|found| found.range()),
        }
    }
}
