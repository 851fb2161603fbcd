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

use std::cell::RefCell;
use std::ops::Range;

use memchr::{memchr, memmem};
use regex::bytes::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;
use zstd::bulk::{Compressor, Decompressor};

use super::varint;

/// Length at which a block ends; the word that reaches it is the last one.
const BLOCK: usize = 4 * 1024;
/// Longer words are stored as parts of this length.
const MAX_WORD: usize = 255;
/// Length of the overlap of parts, so that any text of this length is within one of them.
const OVERLAP: usize = 127;
/// Maximum length of a block.
const MAX_BLOCK: usize = BLOCK + MAX_WORD + 1;
/// Number of bytes in the filter of a block, which has some 1,000 different trigrams.
pub const FILTER: usize = 128;
/// Number of words with a text above which the text selects nothing.
const MAX_HITS: usize = 1 << 16;
/// Letters beyond ASCII that equal an ASCII letter if case is ignored: long s and the sign of Kelvin.
const FOLDED_TO_ASCII: [&str; 2] = ["\u{17f}", "\u{212a}"];
/// Compression level of zstd.
const LEVEL: i32 = 3;

/// Words and their docs under construction.
#[derive(Default)]
pub struct WordsBuilder {
    ids: FxHashMap<Box<[u8]>, u32>,
    lists: Vec<List>,
    n_docs: u32,
    /// Docs whose words are not stored.
    unknown: Vec<u32>,
}

/// The docs of a word, ascending: the first, then gaps as varints.
#[derive(Default)]
struct List {
    n: u32,
    first: u32,
    last: u32,
    gaps: Vec<u8>,
}

impl List {
    /// Adds `doc`, which is not below the last.
    fn push(&mut self, doc: u32) {
        if self.n == 0 {
            self.first = doc;
        } else if self.last == doc {
            return;
        } else {
            varint::put(&mut self.gaps, doc - self.last);
        }
        self.last = doc;
        self.n += 1;
    }
}

impl WordsBuilder {
    /// Adds the next doc, whose words are unknown until [`Self::set_last`].
    pub fn push_unknown(&mut self) {
        self.unknown.push(self.n_docs);
        self.n_docs += 1;
    }

    /// Adds the words of the last doc, which has these bytes.
    pub fn set_last(&mut self, bytes: &[u8]) {
        if self.unknown.last().is_some_and(|&doc| doc + 1 == self.n_docs) {
            self.unknown.pop();
        }

        let doc = self.n_docs.saturating_sub(1);
        for_each_word(bytes, |word| {
            let id = self.id(word);
            self.lists[id].push(doc);
        });
    }

    /// Number of different words.
    pub fn n_words(&self) -> usize {
        self.lists.len()
    }

    /// Appends the docs of `other`.
    pub fn append(&mut self, other: WordsBuilder) {
        let base = self.n_docs;
        for (word, id) in other.ids {
            let theirs = &other.lists[id as usize];
            let id = self.id(&word);
            let ours = &mut self.lists[id];
            ours.push(base + theirs.first);
            // Only the first doc depends on the base; the gaps are the same.
            ours.gaps.extend_from_slice(&theirs.gaps);
            ours.n += theirs.n - 1;
            ours.last = base + theirs.last;
        }

        self.unknown.extend(other.unknown.iter().map(|doc| base + doc));
        self.n_docs += other.n_docs;
    }

    /// Appends `n_docs` docs of a finished segment, except those that `keep` drops.
    pub fn extend(&mut self, words: Option<&Words<'_>>, n_docs: u32, keep: impl Fn(u32) -> bool) {
        let mut renamed = vec![u32::MAX; n_docs as usize];
        for (doc, renamed) in renamed.iter_mut().enumerate().filter(|(doc, _)| keep(*doc as u32)) {
            *renamed = self.n_docs;
            self.n_docs += 1;
            if words.is_none_or(|words| words.unknown.binary_search(&(doc as u32)).is_ok()) {
                self.unknown.push(*renamed);
            }
        }

        let Some(words) = words else { return };
        let is_complete = words.for_each(|word, docs| {
            let docs =
                docs.iter().filter_map(|&doc| renamed.get(doc as usize)).filter(|&&doc| doc != u32::MAX);

            let mut id = None;
            for &doc in docs {
                let id = *id.get_or_insert_with(|| self.id(word));
                self.lists[id].push(doc);
            }
        });

        if !is_complete {
            // Better too many docs to read than one that is missed.
            self.unknown.extend(renamed.into_iter().filter(|&doc| doc != u32::MAX));
            self.unknown.sort_unstable();
            self.unknown.dedup();
        }
    }

    fn id(&mut self, word: &[u8]) -> usize {
        if let Some(&id) = self.ids.get(word) {
            return id as usize;
        }

        let id = self.lists.len();
        self.ids.insert(word.into(), id as u32);
        self.lists.push(List::default());
        id
    }

    /// Encodes the five sections.
    pub fn finish(self) -> [Vec<u8>; 5] {
        let mut words: Vec<(Box<[u8]>, u32)> = self.ids.into_iter().collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0));

        let mut blocks = Blocks::new();
        // In the form that a reader decompresses to: a line break before the first word.
        let (mut block, mut lists) = (b"\n".to_vec(), Vec::new());

        for (word, id) in words {
            block.extend_from_slice(&word);
            block.push(b'\n');
            put_list(&mut lists, &self.lists[id as usize], self.n_docs);

            if block.len() > BLOCK {
                blocks.push(&block, &lists);
                block.truncate(1);
                lists.clear();
            }
        }

        if block.len() > 1 {
            blocks.push(&block, &lists);
        }

        let unknown = bytemuck::cast_slice(&self.unknown).to_vec();
        [blocks.words, blocks.lists, bytemuck::cast_slice(&blocks.offsets).to_vec(), unknown, blocks.filters]
    }
}

/// Sections 12, 13, 14 and 16 under construction.
struct Blocks {
    compressor: Compressor<'static>,
    words: Vec<u8>,
    lists: Vec<u8>,
    offsets: Vec<[u32; 2]>,
    filters: Vec<u8>,
}

impl Blocks {
    fn new() -> Blocks {
        Blocks {
            compressor: Compressor::new(LEVEL).expect("the level is one that zstd has"),
            words: Vec::new(),
            lists: Vec::new(),
            offsets: Vec::new(),
            filters: Vec::new(),
        }
    }

    /// Appends a block of words, with a line break before and after each, and their lists.
    fn push(&mut self, block: &[u8], lists: &[u8]) {
        let words = &block[1..];

        self.offsets.push([self.words.len() as u32, self.lists.len() as u32]);
        let first = memchr(b'\n', words).map_or(words.len(), |end| end + 1);
        self.words.extend_from_slice(&words[..first]);

        let compressed = self.compressed(words);
        self.words.extend(compressed);

        varint::put(&mut self.lists, lists.len() as u32);
        let compressed = self.compressed(lists);
        self.lists.extend(compressed);

        let start = self.filters.len();
        self.filters.resize(start + FILTER, 0);
        let filter = &mut self.filters[start..];
        for_each_trigram(block, |bit| filter[bit / 8] |= 1 << (bit % 8));

        // These letters match ASCII letters without their trigrams, so the block may have any text.
        if FOLDED_TO_ASCII.iter().any(|letter| memmem::find(block, letter.as_bytes()).is_some()) {
            filter.fill(u8::MAX);
        }
    }

    fn compressed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.compressor.compress(bytes).expect("compression into a growing buffer does not fail")
    }
}

/// Calls `visit` with the bit of each trigram of words in the filter of a block. Bits may repeat.
fn for_each_trigram(text: &[u8], mut visit: impl FnMut(usize)) {
    for trigram in text.windows(3).filter(|trigram| trigram[1] != b'\n') {
        let [a, b, c] = [trigram[0], trigram[1], trigram[2]].map(|byte| byte.to_ascii_lowercase());
        let number = u32::from_le_bytes([a, b, c, 0]);
        visit(number.wrapping_mul(0x9e37_79b1) as usize >> 16 & (FILTER * 8 - 1));
    }
}

/// Appends the list of a word, as gaps or as a bitmap, whichever is shorter.
fn put_list(out: &mut Vec<u8>, list: &List, n_docs: u32) {
    if list.n == 1 {
        return varint::put(out, list.first << 1 | 1);
    }

    let mut gaps = Vec::with_capacity(list.gaps.len() + 5);
    varint::put(&mut gaps, list.first);
    gaps.extend_from_slice(&list.gaps);

    let bitmap_len = n_docs.div_ceil(8) as usize;
    if gaps.len() <= bitmap_len {
        varint::put(out, (gaps.len() as u32) << 1);
        out.extend_from_slice(&gaps);
        return;
    }

    varint::put(out, 0);
    let start = out.len();
    out.resize(start + bitmap_len, 0);
    for_each_gap(&gaps, |doc| out[start + (doc / 8) as usize] |= 1 << (doc % 8));
}

/// Calls `visit` with the docs of a list in the form of gaps.
fn for_each_gap(gaps: &[u8], mut visit: impl FnMut(u32)) {
    let (mut at, mut doc) = (0, 0u32);
    while let Some(gap) = varint::get(gaps, &mut at) {
        doc = doc.wrapping_add(gap);
        visit(doc);
    }
}

/// Calls `visit` with every word of `bytes`. A long word is visited in parts.
fn for_each_word(bytes: &[u8], mut visit: impl FnMut(&[u8])) {
    let mut at = 0;

    while at < bytes.len() {
        let Some(start) = bytes[at..].iter().position(|&byte| is_word_byte(byte)) else { return };
        let start = at + start;
        let len = bytes[start..].iter().position(|&byte| !is_word_byte(byte)).unwrap_or(bytes.len() - start);
        let word = &bytes[start..start + len];
        at = start + len;

        if word.len() <= MAX_WORD {
            visit(word);
            continue;
        }

        let mut from = 0;
        loop {
            let to = word.len().min(from + MAX_WORD);
            visit(&word[from..to]);
            if to == word.len() {
                break;
            }
            // A text across the end of this part is whole in the next.
            from = to - OVERLAP;
        }
    }
}

/// Returns whether a byte is part of a word.
pub fn is_word_byte(byte: u8) -> bool {
    IS_WORD_BYTE[usize::from(byte)]
}

static IS_WORD_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

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

/// A set of docs of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocSet {
    bits: Vec<u64>,
}

impl DocSet {
    fn empty(n_docs: u32) -> DocSet {
        DocSet { bits: vec![0; n_docs.div_ceil(64) as usize] }
    }

    fn insert(&mut self, doc: u32) {
        if let Some(bits) = self.bits.get_mut((doc / 64) as usize) {
            *bits |= 1 << (doc % 64);
        }
    }

    /// Number of docs.
    pub fn len(&self) -> u32 {
        self.bits.iter().map(|bits| bits.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|bits| *bits == 0)
    }

    /// The docs, ascending. Damage may add some that the segment does not have.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let words = (0u32..).zip(&self.bits).filter(|(_, bits)| **bits != 0);
        words.flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }

    pub fn contains(&self, doc: u32) -> bool {
        self.bits.get((doc / 64) as usize).is_some_and(|bits| bits >> (doc % 64) & 1 == 1)
    }

    /// Keeps only docs that are in `other` too.
    pub fn intersect(&mut self, other: &DocSet) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits &= other);
    }

    /// Adds the docs of `other`.
    pub fn unite(&mut self, other: &DocSet) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits |= other);
    }
}

/// The words of a segment, borrowed from its mapping.
pub struct Words<'a> {
    text: &'a [u8],
    lists: &'a [u8],
    blocks: &'a [[u32; 2]],
    unknown: &'a [u32],
    filters: &'a [[u8; FILTER]],
    n_docs: u32,
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
        is_whole.then_some(Words { text, lists, blocks, unknown, filters, n_docs })
    }

    /// The docs whose words are not stored.
    pub fn unknown(&self) -> DocSet {
        let mut docs = DocSet::empty(self.n_docs);
        self.unknown.iter().for_each(|&doc| docs.insert(doc));
        docs
    }

    /// The docs with a word that has `needle`, without those whose words are not stored. `None` if there are
    /// too many such words to be worth the effort, or the words are damaged.
    pub fn docs_with(&self, needle: &Needle) -> Option<DocSet> {
        let search = NeedleSearch::new(needle)?;
        let numbers = match &search.whole_word {
            Some(word) => self.block_with(word),
            None => 0..self.blocks.len(),
        };

        let mut docs = DocSet::empty(self.n_docs);
        let mut n_hits = 0;
        let (mut block, mut lists) = (Vec::new(), Vec::new());

        for number in numbers.filter(|&number| search.may_be_in(&self.filters[number])) {
            self.read(number, &mut block)?;

            let (mut from, mut counted, mut list) = (0, 1, 0);
            while let Some(found) = search.find(&block, from) {
                n_hits += 1;
                if n_hits > MAX_HITS {
                    return None;
                }
                // Lists are read only if the block has a match.
                if from == 0 {
                    self.read_lists(number, &mut lists)?;
                }
                // A match that begins with a line break belongs to the word behind it.
                let start = found.start + usize::from(needle.is_start);

                // Lists lie in the order of the words, so those of words without a match are skipped.
                let skipped = memchr::memchr_iter(b'\n', &block[counted..start]).count();
                (0..skipped).for_each(|_| self.list(&lists, &mut list, |_| {}));

                self.list(&lists, &mut list.clone(), |doc| docs.insert(doc));
                counted = start;

                // The line break after this word. The next word begins with it.
                let inside = found.end.saturating_sub(1).max(found.start + 1);
                match memchr(b'\n', &block[inside..]) {
                    Some(newline) => from = inside + newline,
                    None => break,
                }
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
    fn for_each(&self, mut visit: impl FnMut(&[u8], &[u32])) -> bool {
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

/// A prepared search for a needle in the words of blocks.
struct NeedleSearch {
    /// The needle, if it is a whole word.
    whole_word: Option<Vec<u8>>,
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
    fn new(needle: &Needle) -> Option<NeedleSearch> {
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
    fn may_be_in(&self, filter: &[u8; FILTER]) -> bool {
        self.trigrams.iter().all(|bit| filter[bit / 8] >> (bit % 8) & 1 == 1)
    }

    /// The next match in `block` from `from` on, with the line breaks that belong to the needle.
    fn find(&self, block: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.find {
            Find::Exactly(finder) => {
                let at = from + finder.find(block.get(from..)?)?;
                Some(at..at + finder.needle().len())
            }
            Find::InAnyCase(regex) => regex.find_at(block, from).map(|found| found.range()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::read_u32;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The sections as they are mapped.
    struct Sections {
        bytes: [Vec<u8>; 5],
        blocks: Vec<[u32; 2]>,
        unknown: Vec<u32>,
        n_docs: u32,
    }

    impl Sections {
        fn new(bytes: [Vec<u8>; 5], n_docs: u32) -> Sections {
            let all =
                |bytes: &[u8]| -> Vec<u32> { bytes.chunks_exact(4).map(|four| read_u32(four, 0)).collect() };
            let blocks = all(&bytes[2]).chunks_exact(2).map(|two| [two[0], two[1]]).collect();
            let unknown = all(&bytes[3]);
            Sections { bytes, blocks, unknown, n_docs }
        }

        fn words(&self) -> Option<Words<'_>> {
            let [text, lists, _, _, filters] = &self.bytes;
            Words::new(text, lists, &self.blocks, &self.unknown, filters.as_chunks().0, self.n_docs)
        }
    }

    fn found(builder: WordsBuilder, needle: &Needle) -> Vec<u32> {
        let n_docs = builder.n_docs;
        let sections = Sections::new(builder.finish(), n_docs);
        let words = sections.words().unwrap();
        let mut docs = words.docs_with(needle).unwrap();
        docs.unite(&words.unknown());
        (0..n_docs).filter(|&doc| docs.contains(doc)).collect()
    }

    fn built(docs: &[Option<String>]) -> WordsBuilder {
        let mut builder = WordsBuilder::default();
        for doc in docs {
            builder.push_unknown();
            if let Some(text) = doc {
                builder.set_last(text.as_bytes());
            }
        }
        builder
    }

    fn expected(docs: &[Option<String>], needle: &Needle) -> Vec<u32> {
        let has = |text: &str| {
            let is_word = |c: char| !c.is_ascii() || c == '_' || c.is_ascii_alphanumeric();
            text.split(|c| !is_word(c)).any(|word| {
                let fold =
                    |text: &str| if needle.ignore_case { text.to_lowercase() } else { text.to_owned() };
                let (word, wanted) = (fold(word), fold(&needle.text));
                match (needle.is_start, needle.is_end) {
                    (true, true) => word == wanted,
                    (true, false) => word.starts_with(&wanted),
                    (false, true) => word.ends_with(&wanted),
                    (false, false) => word.contains(&wanted),
                }
            })
        };
        let docs = docs.iter().enumerate();
        docs.filter(|(_, doc)| doc.as_ref().is_none_or(|text| has(text))).map(|(at, _)| at as u32).collect()
    }

    fn needle() -> impl Strategy<Value = Needle> {
        ("[a-cA-CékK\u{212a}_]{1,3}", any::<[bool; 3]>()).prop_map(
            |(text, [is_start, is_end, ignore_case])| Needle { text, is_start, is_end, ignore_case },
        )
    }

    proptest! {
        #[test]
        fn the_docs_with_a_word_are_found(
            docs in vec(proptest::option::weighted(0.9, "([a-cA-CékK\u{212a}_]{1,4}[ .\n]){0,40}"), 0..90),
            needle in needle(),
            split in any::<prop::sample::Index>(),
        ) {
            let wanted = expected(&docs, &needle);
            prop_assert_eq!(&found(built(&docs), &needle), &wanted);
            let split = split.index(docs.len() + 1);
            let mut appended = built(&docs[..split]);
            appended.append(built(&docs[split..]));
            prop_assert_eq!(&found(appended, &needle), &wanted);
            // Merged, without every third doc.
            let n_docs = docs.len() as u32;
            let sections = Sections::new(built(&docs).finish(), n_docs);
            let mut merged = built(&docs[..split]);
            merged.extend(sections.words().as_ref(), n_docs, |doc| doc % 3 != 0);
            let kept = docs.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, doc)| doc.clone());
            let all: Vec<Option<String>> = docs[..split].iter().cloned().chain(kept).collect();
            prop_assert_eq!(&found(merged, &needle), &expected(&all, &needle));
        }

        #[test]
        fn damaged_sections_do_not_panic(
            docs in vec(proptest::option::weighted(0.9, "([a-c]{1,4} ){0,40}"), 1..90),
            changes in vec((0usize..5, any::<prop::sample::Index>(), any::<u8>()), 0..6),
            needle in needle(),
        ) {
            let mut sections = built(&docs).finish();
            for (section, at, byte) in changes {
                if !sections[section].is_empty() {
                    let at = at.index(sections[section].len());
                    sections[section][at] = byte;
                }
            }
            let sections = Sections::new(sections, docs.len() as u32);
            if let Some(words) = sections.words() {
                let _ = words.docs_with(&needle);
                let _ = words.for_each(|_, _| {});
            }
        }
    }

    #[test]
    fn the_docs_of_a_set_are_listed_in_order() {
        let mut docs = DocSet::empty(130);
        [129, 0, 64, 63, 5].into_iter().for_each(|doc| docs.insert(doc));
        assert_eq!(docs.iter().collect::<Vec<_>>(), [0, 5, 63, 64, 129]);
        assert_eq!(DocSet::empty(130).iter().next(), None);
    }

    #[test]
    fn words_of_many_blocks_are_found() {
        let docs: Vec<Option<String>> = (0..70)
            .map(|doc| {
                Some((0..100).map(|i| format!("name_{:05}_{doc} ", (i * 7919 + doc) % 10_000)).collect())
            })
            .collect();
        let sections = Sections::new(built(&docs).finish(), 70);
        assert!(sections.blocks.len() > 5, "{} blocks", sections.blocks.len());
        let absent =
            Needle { text: "a_longer_text".to_owned(), is_start: false, is_end: false, ignore_case: false };
        let search = NeedleSearch::new(&absent).unwrap();
        let filters = sections.bytes[4].as_chunks().0;
        assert!(filters.iter().all(|filter| !search.may_be_in(filter)), "no block is read for it");
        for (text, is_start, is_end) in [
            ("name_00000_0", true, true),
            ("name_09999_69", true, true),
            ("name_07919_0", true, true),
            ("aaa", true, true),
            ("zzz", true, true),
            ("name_0123", true, false),
            ("_33", false, true),
            ("79", false, false),
            ("absent", false, false),
        ] {
            for ignore_case in [false, true] {
                let text = if ignore_case { text.to_uppercase() } else { text.to_owned() };
                let needle = Needle { text, is_start, is_end, ignore_case };
                assert_eq!(found(built(&docs), &needle), expected(&docs, &needle), "{needle:?}");
            }
        }
    }

    #[test]
    fn letters_of_ascii_in_another_case_are_found() {
        let docs = ["a\u{212a}bc", "akbc", "\u{17f}hort", "other"].map(|text| Some(text.to_owned()));
        for (text, expected) in [("akbc", [0, 1].as_slice()), ("AKBC", &[0, 1]), ("short", &[2])] {
            let needle = Needle { text: text.to_owned(), is_start: true, is_end: false, ignore_case: true };
            assert_eq!(found(built(&docs), &needle), expected);
        }
    }

    #[test]
    fn parts_of_long_words_are_found() {
        let long: String = (0..1000).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
        let docs = [None, Some(format!("x {long} y")), Some("short".to_owned())];
        for (range, is_start, is_end) in
            [(0..10, true, false), (990..1000, false, true), (300..600, false, false)]
        {
            let needle = Needle { text: long[range].to_owned(), is_start, is_end, ignore_case: false };
            assert_eq!(found(built(&docs), &needle), [0, 1], "{needle:?}");
        }
        let many = "汉字".repeat(40);
        let needle = Needle { text: many.clone(), is_start: true, is_end: true, ignore_case: true };
        assert_eq!(found(built(&[Some(many), Some("short".to_owned())]), &needle), [0]);
        let absent = Needle { text: "shor".to_owned(), is_start: true, is_end: true, ignore_case: false };
        assert_eq!(found(built(&docs), &absent), [0]);
    }
}
