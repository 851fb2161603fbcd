//! Reading the sections of a segment: the docs whose words have a needle.

use std::cell::RefCell;
use std::ops::Range;

use memchr::{memchr, memrchr};
use zstd::bulk::Decompressor;

use super::doc_set::DocSet;
use super::format::{FILTER, MAX_BLOCK, for_each_gap};
use super::needle::{Needle, NeedleSearch};
use crate::varint;

/// Number of words with a text above which the text selects nothing.
const MAX_HITS: usize = 1 << 16;

/// The words of a segment, borrowed from its mapping.
pub struct Words<'a> {
    text: &'a [u8],
    lists: &'a [u8],
    blocks: &'a [[u32; 2]],
    pub(super) unknown: &'a [u32],
    filters: &'a [[u8; FILTER]],
    n_docs: u32,
    /// Returns whether a doc may be seen; `None` if all may.
    is_shown: Option<&'a dyn Fn(u32) -> bool>,
}

thread_local! {
    /// Making a decompressor takes longer than decompressing some blocks.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses into `out` and returns the length. `None` if the bytes are damaged or do not fit.
fn decompress(compressed: &[u8], out: &mut [u8]) -> Option<usize> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        if decompressor.is_none() {
            *decompressor = Decompressor::new().ok();
        }
        decompressor.as_mut()?.decompress_to_buffer(compressed, out).ok()
    })
}

impl<'a> Words<'a> {
    /// The words of `n_docs` docs in these sections; `None` if they are damaged.
    pub fn new(
        text: &'a [u8],
        lists: &'a [u8],
        blocks: &'a [[u32; 2]],
        unknown: &'a [u32],
        filters: &'a [[u8; FILTER]],
        n_docs: u32,
    ) -> Option<Words<'a>> {
        let is_in_order = blocks.is_sorted_by(|a, b| a[0] < b[0] && a[1] < b[1]);
        let fits = blocks.last().is_none_or(|&[at, list]| {
            (at as usize) < text.len() && (list as usize) < lists.len() && blocks[0] == [0, 0]
        });

        let is_whole = is_in_order && fits && filters.len() == blocks.len();
        is_whole.then_some(Words { text, lists, blocks, unknown, filters, n_docs, is_shown: None })
    }

    /// The same words for a reader who may see only the docs that `is_shown`. Other docs are not found, and
    /// the time of a search does not tell which words they have: every block that is searched is read, with
    /// its lists, whatever is found. That is the block of a whole word, or else all blocks.
    pub fn limited_to(self, is_shown: &'a dyn Fn(u32) -> bool) -> Words<'a> {
        Words { is_shown: Some(is_shown), ..self }
    }

    /// The docs whose words are not stored.
    pub fn unknown(&self) -> DocSet {
        let mut docs = DocSet::empty(self.n_docs);
        self.unknown.iter().for_each(|&doc| docs.insert(doc));
        docs
    }

    /// The docs with a word that has `needle`, without those whose words are not stored. `None` if there are
    /// too many such words of docs that may be seen to be worth the effort, or the words are damaged.
    pub fn docs_with(&self, needle: &Needle) -> Option<DocSet> {
        self.docs_with_word(needle, |_| true)
    }

    /// The docs as [`Words::docs_with`] returns them, with such a word that `is_wanted`.
    pub fn docs_with_word(&self, needle: &Needle, is_wanted: impl Fn(&[u8]) -> bool) -> Option<DocSet> {
        let search = NeedleSearch::new(needle)?;
        let numbers = match &search.whole_word {
            Some(word) => self.block_with(word),
            None => 0..self.blocks.len(),
        };

        let mut docs = DocSet::empty(self.n_docs);
        let mut n_hits = 0;
        let (mut block, mut lists) = (Vec::new(), Vec::new());

        let is_limited = self.is_shown.is_some();
        let is_read = |number: &usize| is_limited || search.may_be_in(&self.filters[*number]);
        for number in numbers.filter(is_read) {
            self.read(number, &mut block)?;
            if is_limited {
                self.read_lists(number, &mut lists)?;
            }

            let mut has_lists = is_limited;
            let (mut from, mut counted, mut list) = (0, 1, 0);
            while let Some(found) = search.find(&block, from) {
                // The line break after this word. The next word begins with it.
                let inside = found.end.saturating_sub(1).max(found.start + 1);
                let end = memchr(b'\n', &block[inside..]).map_or(block.len(), |newline| inside + newline);
                // A match that begins with a line break belongs to the word behind it.
                let start = found.start + usize::from(needle.is_start);
                let word = memrchr(b'\n', &block[..start]).map_or(0, |newline| newline + 1);
                if !is_wanted(&block[word..end]) {
                    from = end;
                    continue;
                }

                // Without limits, lists are read only if the block has a match.
                if !has_lists {
                    self.read_lists(number, &mut lists)?;
                    has_lists = true;
                }

                // Lists lie in the order of the words, so those of words without a match are skipped.
                let skipped = memchr::memchr_iter(b'\n', &block[counted..start]).count();
                (0..skipped).for_each(|_| self.list(&lists, &mut list, |_| {}));

                let mut is_hit = false;
                self.list(&lists, &mut list.clone(), |doc| {
                    if self.is_shown.is_none_or(|is_shown| is_shown(doc)) {
                        docs.insert(doc);
                        is_hit = true;
                    }
                });
                n_hits += usize::from(is_hit);
                if n_hits > MAX_HITS {
                    return None;
                }
                counted = start;
                from = end;
            }
        }

        Some(docs)
    }

    /// The number of the block that may have `word`; an empty range if `word` comes before all words.
    fn block_with(&self, word: &[u8]) -> Range<usize> {
        let after = self.blocks.partition_point(|&[at, _]| self.first_word(at) <= word);
        after.saturating_sub(1)..after
    }

    fn first_word(&self, at: u32) -> &'a [u8] {
        let rest = self.text.get(at as usize..).unwrap_or_default();
        &rest[..memchr(b'\n', rest).unwrap_or(rest.len())]
    }

    /// Reads the words of a block, with a line break before and after each. `None` if it is damaged.
    fn read(&self, number: usize, block: &mut Vec<u8>) -> Option<()> {
        let [start, _] = *self.blocks.get(number)?;
        let end = self.blocks.get(number + 1).map_or(self.text.len(), |&[next, _]| next as usize);
        let compressed = self.text.get(start as usize + self.first_word(start).len() + 1..end)?;

        // One byte more than the largest block, for the line break in front.
        block.resize(MAX_BLOCK + 1, 0);
        block[0] = b'\n';
        let len = decompress(compressed, &mut block[1..])?;
        block.truncate(len + 1);

        block.ends_with(b"\n").then_some(())
    }

    /// Reads the lists of a block. `None` if they are damaged.
    fn read_lists(&self, number: usize, lists: &mut Vec<u8>) -> Option<()> {
        let mut at = self.blocks.get(number)?[1] as usize;
        let end = self.blocks.get(number + 1).map_or(self.lists.len(), |next| next[1] as usize);
        let len = varint::get(self.lists, &mut at)? as usize;

        // No list is longer than a bitmap of all docs, and a word takes at least two bytes of a block.
        if len > MAX_BLOCK / 2 * (self.n_docs.div_ceil(8) as usize + varint::MAX_LEN) {
            return None;
        }

        lists.resize(len, 0);
        let n = decompress(self.lists.get(at..end)?, lists)?;
        (n == len).then_some(())
    }

    /// Calls `visit` with the docs of the list at `at` in `lists`, and moves `at` behind it.
    fn list(&self, lists: &[u8], at: &mut usize, mut visit: impl FnMut(u32)) {
        let Some(head) = varint::get(lists, at) else { return };
        if head & 1 == 1 {
            return visit(head >> 1);
        }

        let is_bitmap = head == 0;
        let len = if is_bitmap { self.n_docs.div_ceil(8) } else { head >> 1 } as usize;
        let bytes = lists.get(*at..).unwrap_or_default();
        let bytes = &bytes[..len.min(bytes.len())];
        *at += len;

        if !is_bitmap {
            return for_each_gap(bytes, visit);
        }

        for (position, &byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            (0..8).filter(|bit| byte >> bit & 1 == 1).for_each(|bit| visit(position as u32 * 8 + bit));
        }
    }

    /// Calls `visit` with every word and its docs, in byte order. Returns false if a block is damaged; later
    /// blocks are then not read.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u8], &[u32])) -> bool {
        let (mut block, mut lists, mut docs) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..self.blocks.len() {
            if self.read(number, &mut block).is_none() || self.read_lists(number, &mut lists).is_none() {
                return false;
            }

            let mut list = 0;
            for word in block.split(|&byte| byte == b'\n').filter(|word| !word.is_empty()) {
                docs.clear();
                self.list(&lists, &mut list, |doc| docs.push(doc));
                visit(word, &docs);
            }
        }

        true
    }
}
