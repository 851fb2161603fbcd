//! Building the sections of a segment, from blobs and from finished segments.

use memchr::{memchr, memmem};
use rustc_hash::FxHashMap;
use zstd::bulk::Compressor;

use super::format::{BLOCK, FILTER, for_each_gap, for_each_trigram, for_each_word};
use super::reader::Words;
use crate::varint;

/// Letters beyond ASCII that equal an ASCII letter if case is ignored: long s and the sign of Kelvin.
const FOLDED_TO_ASCII: [&str; 2] = ["\u{17f}", "\u{212a}"];
/// Compression level of zstd.
const LEVEL: i32 = 3;

/// Words and their docs under construction.
#[derive(Default)]
pub struct WordsBuilder {
    ids: FxHashMap<Box<[u8]>, u32>,
    lists: Vec<List>,
    pub(super) n_docs: u32,
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
