//! Postings: term → list of (row, frequency), in blocks of 128, searched in place.
//!
//! A term key is one field byte and the term. The dictionary is an `fst` map from key to the offset of its
//! list:
//!
//! ```text
//! varint of 2 · df,
//! then 12 bytes per full block of 128: last_row u32, payload offset u32, row bits u8, tf bits u8, zero u16,
//! then the payloads (bit-packed row gaps, then tf − 1), then the tail × (df mod 128):
//! varint of 2 · row gap + (1 if tf > 1), and tf as a varint if it is more than 1
//! ```
//!
//! The list of a term that occurs in one row, as two thirds do, is the tail alone. Its first varint is
//! shifted left by one and has a 1 as lowest bit.
//!
//! Block headers make document frequencies over live rows cheap: a block whose whole row range is live counts
//! without being decoded, a dead one is skipped, and only mixed blocks are decoded. Search libraries count
//! deleted rows in document frequencies. Here dead rows belong to other branches and must not influence
//! scores, which is why this is our own code.

use bitpacking::{BitPacker, BitPacker4x};
use rustc_hash::FxHashMap;

use super::container::read_u32;
use super::varint;

/// Maximum number of postings that are decoded at once.
pub const BLOCK: usize = BitPacker4x::BLOCK_LEN;
const BLOCK_HEADER: usize = 12;

/// The part of a chunk in which a term occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Field {
    Body = 0,
    Symbol = 1,
    Doc = 2,
    Enclosing = 3,
    /// Only in entry files: the terms of paths.
    Path = 4,
}

/// Fields of a chunk, in storage order.
pub const N_FIELDS: usize = 4;
pub const FIELDS: [Field; N_FIELDS] = [Field::Body, Field::Symbol, Field::Doc, Field::Enclosing];

/// Postings under construction. Rows are added in ascending order.
#[derive(Default)]
pub struct PostingsBuilder {
    ids: FxHashMap<Box<[u8]>, u32>,
    lists: Vec<GrowingList>,
    key: Vec<u8>,
}

/// The list of one term under construction.
#[derive(Default)]
struct GrowingList {
    df: u32,
    last_row: u32,
    /// (row gap, tf) varints; the first gap is the row itself.
    bytes: Vec<u8>,
}

impl GrowingList {
    fn push(&mut self, row: u32, tf: u32) {
        debug_assert!(self.df == 0 || row > self.last_row);
        let gap = if self.df == 0 { row } else { row - self.last_row };
        varint::put(&mut self.bytes, gap);
        varint::put(&mut self.bytes, tf);
        self.df += 1;
        self.last_row = row;
    }
}

impl PostingsBuilder {
    /// The id of a term for [`Self::add`].
    pub fn id(&mut self, field: Field, term: &str) -> u32 {
        self.key.clear();
        self.key.push(field as u8);
        self.key.extend_from_slice(term.as_bytes());

        let key = std::mem::take(&mut self.key);
        let id = self.id_of_key(&key);
        self.key = key;
        id
    }

    /// As [`Self::id`], for a whole key.
    fn id_of_key(&mut self, key: &[u8]) -> u32 {
        if let Some(&id) = self.ids.get(key) {
            return id;
        }

        let id = self.lists.len() as u32;
        self.ids.insert(key.into(), id);
        self.lists.push(GrowingList::default());
        id
    }

    /// Adds every list of `postings` with rows renamed by `rename`, which preserves order and returns `None`
    /// for rows to drop.
    pub fn extend(&mut self, postings: &Postings<'_>, rename: impl Fn(u32) -> Option<u32>) {
        let mut stream = postings.stream();
        while let Some((key, list)) = stream.next_list() {
            let id = self.id_of_key(&key);
            let target = &mut self.lists[id as usize];
            list.for_each(|row, tf| {
                if let Some(row) = rename(row).filter(|&row| target.df == 0 || row > target.last_row) {
                    target.push(row, tf);
                }
            });
        }
    }

    /// Adds a posting. `row` is larger than every row added to this term before.
    pub fn add(&mut self, id: u32, row: u32, tf: u32) {
        self.lists[id as usize].push(row, tf);
    }

    /// Appends `other`, whose rows begin at `row_base` here. All rows here are below `row_base`.
    pub fn append(&mut self, other: PostingsBuilder, row_base: u32) {
        for (key, other_id) in other.ids {
            let theirs = &other.lists[other_id as usize];
            let id = self.id_of_key(&key);
            let ours = &mut self.lists[id as usize];
            let mut at = 0;
            let (Some(first), Some(tf)) =
                (varint::get(&theirs.bytes, &mut at), varint::get(&theirs.bytes, &mut at))
            else {
                continue;
            };

            // Only the first gap depends on the row base, so the rest is copied as it is.
            ours.push(row_base + first, tf);
            ours.bytes.extend_from_slice(&theirs.bytes[at..]);
            ours.df += theirs.df - 1;
            ours.last_row = row_base + theirs.last_row;
        }
    }

    /// The dictionary and the lists, as two sections.
    pub fn finish(self) -> (Vec<u8>, Vec<u8>) {
        let mut keys: Vec<(Box<[u8]>, u32)> = self.ids.into_iter().collect();
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0));

        let mut writer = PostingsWriter::default();
        let (mut rows, mut tfs) = (Vec::new(), Vec::new());
        for (key, id) in keys {
            let list = &self.lists[id as usize];
            rows.clear();
            tfs.clear();

            let (mut at, mut row) = (0, 0);
            while let (Some(gap), Some(tf)) =
                (varint::get(&list.bytes, &mut at), varint::get(&list.bytes, &mut at))
            {
                row += gap;
                rows.push(row);
                tfs.push(tf);
            }
            writer.add(&key, &rows, &tfs);
        }

        writer.finish()
    }
}

/// Writes finished lists in key order.
pub struct PostingsWriter {
    fst: fst::MapBuilder<Vec<u8>>,
    lists: Vec<u8>,
}

impl Default for PostingsWriter {
    fn default() -> Self {
        PostingsWriter { fst: fst::MapBuilder::memory(), lists: Vec::new() }
    }
}

impl PostingsWriter {
    /// Adds a list; keys come in ascending order, `rows` ascending, `tfs` ≥ 1.
    pub fn add(&mut self, key: &[u8], rows: &[u32], tfs: &[u32]) {
        if rows.is_empty() {
            return;
        }

        self.fst
            .insert(key, self.lists.len() as u64)
            .expect("keys come in ascending order, by the contract of `add`");
        // Two thirds of the terms, so they have a form of their own.
        if let (&[row], &[tf]) = (rows, tfs) {
            return put_posting(&mut self.lists, row, tf, |head| head << 1 | 1);
        }

        varint::put(&mut self.lists, (rows.len() as u32) << 1);
        let packer = BitPacker4x::new();
        let n_blocks = rows.len() / BLOCK;
        let headers_at = self.lists.len();
        self.lists.resize(headers_at + n_blocks * BLOCK_HEADER, 0);
        let payload_at = self.lists.len();

        let mut packed = [0u8; BLOCK * 4];
        let mut previous = 0;

        for block in 0..n_blocks {
            let rows = &rows[block * BLOCK..(block + 1) * BLOCK];
            let tfs: Vec<u32> = tfs[block * BLOCK..(block + 1) * BLOCK].iter().map(|tf| tf - 1).collect();

            let offset = (self.lists.len() - payload_at) as u32;

            let row_bits = packer.num_bits_sorted(previous, rows);
            let n = packer.compress_sorted(previous, rows, &mut packed, row_bits);
            self.lists.extend_from_slice(&packed[..n]);

            let tf_bits = packer.num_bits(&tfs);
            let n = packer.compress(&tfs, &mut packed, tf_bits);
            self.lists.extend_from_slice(&packed[..n]);

            let header = &mut self.lists[headers_at + block * BLOCK_HEADER..][..BLOCK_HEADER];
            header[..4].copy_from_slice(&rows[BLOCK - 1].to_le_bytes());
            header[4..8].copy_from_slice(&offset.to_le_bytes());
            header[8] = row_bits;
            header[9] = tf_bits;
            previous = rows[BLOCK - 1];
        }

        for (&row, &tf) in rows.iter().zip(tfs).skip(n_blocks * BLOCK) {
            put_posting(&mut self.lists, row - previous, tf, |head| head);
            previous = row;
        }
    }

    /// The dictionary and the lists, as two sections.
    pub fn finish(self) -> (Vec<u8>, Vec<u8>) {
        let fst = self.fst.into_inner().expect("writing an fst to memory does not fail");
        (fst, self.lists)
    }
}

/// Appends a posting of a tail; `mark` changes its first number.
fn put_posting(out: &mut Vec<u8>, gap: u32, tf: u32, mark: impl Fn(u32) -> u32) {
    // Most terms occur once in few chunks, so that case is the smallest.
    varint::put(out, mark(gap << 1 | u32::from(tf > 1)));
    if tf > 1 {
        varint::put(out, tf);
    }
}

/// The lists of one file, borrowed from its mapping.
pub struct Postings<'a> {
    fst: fst::Map<&'a [u8]>,
    lists: &'a [u8],
}

impl<'a> Postings<'a> {
    /// `None` if the dictionary is damaged.
    pub fn new(fst: &'a [u8], lists: &'a [u8]) -> Option<Postings<'a>> {
        Some(Postings { fst: fst::Map::new(fst).ok()?, lists })
    }

    /// The list of `term` in `field`.
    pub fn get(&self, field: Field, term: &str) -> Option<PostingList<'a>> {
        let mut key = Vec::with_capacity(term.len() + 1);
        key.push(field as u8);
        key.extend_from_slice(term.as_bytes());
        self.list_at(self.fst.get(&key)?)
    }

    /// Every key with its list, in key order.
    pub fn stream(&self) -> PostingStream<'_, 'a> {
        PostingStream { inner: self.fst.stream(), postings: self }
    }

    /// The first `limit` terms of `field` that begin with `prefix` and that `is_wanted`, in order.
    pub fn terms_where(
        &self,
        field: Field,
        prefix: &str,
        limit: usize,
        mut is_wanted: impl FnMut(&str, &PostingList<'a>) -> bool,
    ) -> Vec<String> {
        use fst::{IntoStreamer, Streamer};

        let mut from = vec![field as u8];
        from.extend_from_slice(prefix.as_bytes());
        let mut stream = self.fst.range().ge(&from).into_stream();
        let mut terms = Vec::new();

        while let Some((key, offset)) = stream.next() {
            // Keys with the prefix follow each other, so any other key ends them.
            if !key.starts_with(&from) || terms.len() == limit {
                break;
            }
            let term = String::from_utf8_lossy(&key[1..]);
            if self.list_at(offset).is_some_and(|list| is_wanted(&term, &list)) {
                terms.push(term.into_owned());
            }
        }

        terms
    }

    /// The list that begins at `offset`; `None` if it is damaged.
    fn list_at(&self, offset: u64) -> Option<PostingList<'a>> {
        let start = usize::try_from(offset).ok()?;
        let mut at = start;
        let head = varint::get(self.lists, &mut at)?;
        if head & 1 == 1 {
            return Some(PostingList { df: 1, bytes: self.lists, headers_at: start, payload_at: start });
        }

        let df = head >> 1;
        let n_blocks = df as usize / BLOCK;
        let payload_at = at.checked_add(n_blocks.checked_mul(BLOCK_HEADER)?)?;
        if payload_at > self.lists.len() {
            return None;
        }

        Some(PostingList { df, bytes: self.lists, headers_at: at, payload_at })
    }
}

/// Iterates over all lists of a file.
pub struct PostingStream<'s, 'a> {
    inner: fst::map::Stream<'s>,
    postings: &'s Postings<'a>,
}

impl<'a> PostingStream<'_, 'a> {
    /// The next key with its list, in ascending order; a damaged list ends the stream.
    pub fn next_list(&mut self) -> Option<(Vec<u8>, PostingList<'a>)> {
        use fst::Streamer;
        let (key, offset) = self.inner.next()?;
        let key = key.to_vec();
        Some((key, self.postings.list_at(offset)?))
    }
}

/// The postings of one term.
#[derive(Clone, Copy)]
pub struct PostingList<'a> {
    df: u32,
    bytes: &'a [u8],
    /// Offset of the block headers, and of the payload that follows them.
    headers_at: usize,
    payload_at: usize,
}

impl PostingList<'_> {
    /// Number of postings in the list, live or not.
    pub fn df(&self) -> u32 {
        self.df
    }

    /// Calls `visit(row, tf)` in row order. Stops early at damage, which `verify` reports.
    pub fn for_each(&self, mut visit: impl FnMut(u32, u32)) {
        self.for_each_block(|rows, tfs| rows.iter().zip(tfs).for_each(|(&row, &tf)| visit(row, tf)));
    }

    /// As [`Self::for_each`], with the rows and the frequencies of up to 128 postings at a time.
    pub fn for_each_block(&self, mut visit: impl FnMut(&[u32], &[u32])) {
        let mut rows = [0u32; BLOCK];
        let mut tfs = [0u32; BLOCK];
        let mut previous = 0;
        let mut at = self.payload_at;

        for block in 0..self.n_blocks() {
            let Some(end) = self.decode(block, previous, &mut rows, &mut tfs) else { return };
            tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
            visit(&rows, &tfs);
            previous = rows[BLOCK - 1];
            at = end;
        }

        let mut n = 0;
        self.tail(at, previous, |row, tf| {
            (rows[n], tfs[n]) = (row, tf);
            n += 1;
        });

        visit(&rows[..n], &tfs[..n]);
    }

    /// Calls `visit` with the position in `rows`, which ascend, of each row that is in the list. Only blocks
    /// that may have one are decoded.
    pub fn for_each_of(&self, rows: &[u32], mut visit: impl FnMut(usize)) {
        let mut wanted = WantedRows { rows, passed: 0 };
        let (mut list_rows, mut tfs) = ([0u32; BLOCK], [0u32; BLOCK]);
        let Some(mut next) = wanted.next_row() else { return };

        let mut previous = 0;
        for block in 0..self.n_blocks() {
            let last = self.last_row(block);
            // Blocks before the next wanted row are not decoded.
            if next <= last {
                if self.decode(block, previous, &mut list_rows, &mut tfs).is_none() {
                    return;
                }
                for row in list_rows {
                    if let Some(at) = wanted.pass(row) {
                        visit(at);
                    }
                    match wanted.next_row() {
                        Some(row) => next = row,
                        None => return,
                    }
                }
            }
            previous = last;
        }

        if !self.df.is_multiple_of(BLOCK as u32) {
            self.tail(self.payload_end(), previous, |row, _| {
                if let Some(at) = wanted.pass(row) {
                    visit(at);
                }
            });
        }
    }

    /// Number of postings whose row is live.
    pub fn df_live(&self, live: &super::live::LiveRows) -> u32 {
        if live.all() {
            return self.df;
        }

        let mut rows = [0u32; BLOCK];
        let mut tfs = [0u32; BLOCK];
        let (mut count, mut previous, mut first) = (0, 0, 0);

        for block in 0..self.n_blocks() {
            let last = self.last_row(block);
            let end = last.saturating_add(1);
            let n_live = live.count(first, end);
            // Every row of the range is live, so each of the block's postings is.
            if end > first && n_live == end - first {
                count += BLOCK as u32;
            } else if n_live > 0 {
                if self.decode(block, previous, &mut rows, &mut tfs).is_none() {
                    return count;
                }
                count += rows.iter().filter(|&&row| live.contains(row)).count() as u32;
            }
            previous = last;
            first = end;
        }

        if !self.df.is_multiple_of(BLOCK as u32) {
            self.tail(self.payload_end(), previous, |row, _| count += u32::from(live.contains(row)));
        }

        count
    }

    fn n_blocks(&self) -> usize {
        self.df as usize / BLOCK
    }

    fn header(&self, block: usize) -> &[u8] {
        &self.bytes[self.headers_at + block * BLOCK_HEADER..][..BLOCK_HEADER]
    }

    fn last_row(&self, block: usize) -> u32 {
        read_u32(self.header(block), 0)
    }

    /// Start, middle and end of the payload of `block`; `None` if it is outside the file.
    fn payload(&self, block: usize) -> Option<(usize, usize, usize)> {
        let header = self.header(block);
        let start = self.payload_at.checked_add(read_u32(header, 4) as usize)?;
        let (row_bits, tf_bits) = (header[8], header[9]);
        if row_bits > 32 || tf_bits > 32 {
            return None;
        }

        let middle = start.checked_add(BitPacker4x::compressed_block_size(row_bits))?;
        let end = middle.checked_add(BitPacker4x::compressed_block_size(tf_bits))?;
        (end <= self.bytes.len()).then_some((start, middle, end))
    }

    /// The offset of the tail.
    fn payload_end(&self) -> usize {
        match self.n_blocks() {
            0 => self.payload_at,
            n => self.payload(n - 1).map_or(self.bytes.len(), |(_, _, end)| end),
        }
    }

    /// Reads the rows and the frequencies less one of a block. Returns the end of its payload.
    fn decode(&self, block: usize, previous: u32, rows: &mut [u32], tfs: &mut [u32]) -> Option<usize> {
        let (start, middle, end) = self.payload(block)?;
        let (row_bits, tf_bits) = (self.header(block)[8], self.header(block)[9]);

        let packer = BitPacker4x::new();
        packer.decompress_sorted(previous, &self.bytes[start..middle], rows, row_bits);
        packer.decompress(&self.bytes[middle..end], tfs, tf_bits);
        Some(end)
    }

    /// Calls `visit` with the row and frequency of each posting after the last full block.
    fn tail(&self, mut at: usize, mut previous: u32, mut visit: impl FnMut(u32, u32)) {
        for _ in 0..self.df as usize % BLOCK {
            let Some(head) = varint::get(self.bytes, &mut at) else { return };
            let head = if self.df == 1 { head >> 1 } else { head };
            let tf = if head & 1 == 1 { varint::get(self.bytes, &mut at) } else { Some(1) };
            let Some(tf) = tf else { return };

            previous = previous.wrapping_add(head >> 1);
            visit(previous, tf);
        }
    }
}

/// Ascending rows that are looked for in a list.
struct WantedRows<'r> {
    rows: &'r [u32],
    /// Number of rows that the list has passed.
    passed: usize,
}

impl WantedRows<'_> {
    fn next_row(&self) -> Option<u32> {
        self.rows.get(self.passed).copied()
    }

    /// Passes all rows up to `row`. Returns its position if it is one of them.
    fn pass(&mut self, row: u32) -> Option<usize> {
        while self.next_row().is_some_and(|wanted| wanted < row) {
            self.passed += 1;
        }
        if self.next_row() != Some(row) {
            return None;
        }

        self.passed += 1;
        Some(self.passed - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::live::LiveRows;
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ROWS: u32 = 3000;

    /// Rows with their frequencies, for each term. Long lists have packed blocks and a tail.
    type Lists = BTreeMap<String, BTreeMap<u32, u32>>;

    fn lists() -> impl Strategy<Value = Lists> {
        let list = prop_oneof![
            btree_map(0..ROWS, 1u32..3, 1..2),
            btree_map(0..ROWS, 1u32..300, 1..20),
            btree_map(0..ROWS, 1u32..300, 100..400),
            btree_map(0..ROWS, any::<u32>().prop_map(|tf| tf.max(1)), 120..140),
        ];
        btree_map("[a-z0-9_]{1,6}", list, 1..6)
    }

    /// `lists` in two builders of which the second, from row `split`, is appended to the first.
    fn build(lists: &Lists, split: u32) -> (Vec<u8>, Vec<u8>) {
        let (mut left, mut right) = (PostingsBuilder::default(), PostingsBuilder::default());
        for (term, list) in lists {
            for (&row, &tf) in list {
                let (builder, base) = if row < split { (&mut left, 0) } else { (&mut right, split) };
                let id = builder.id(Field::Body, term);
                builder.add(id, row - base, tf);
            }
        }
        left.append(right, split);
        left.finish()
    }

    proptest! {
        #[test]
        fn lists_survive_building_appending_and_reading(lists in lists(), split in 0..ROWS) {
            let (dictionary, bytes) = build(&lists, split);
            let postings = Postings::new(&dictionary, &bytes).unwrap();
            for (term, expected) in &lists {
                prop_assert!(postings.get(Field::Symbol, term).is_none());
                let list = postings.get(Field::Body, term).unwrap();
                let mut found = Vec::new();
                list.for_each(|row, tf| found.push((row, tf)));
                let expected: Vec<(u32, u32)> = expected.iter().map(|(&row, &tf)| (row, tf)).collect();
                prop_assert_eq!(list.df() as usize, expected.len());
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn the_wanted_rows_of_a_list_are_found(
            lists in lists(),
            wanted in prop::collection::btree_set(0..ROWS + 9, 0..60),
        ) {
            let (dictionary, bytes) = build(&lists, 0);
            let postings = Postings::new(&dictionary, &bytes).unwrap();
            let wanted: Vec<u32> = wanted.into_iter().collect();
            for (term, list) in &lists {
                let mut found = Vec::new();
                postings.get(Field::Body, term).unwrap().for_each_of(&wanted, |at| found.push(wanted[at]));
                let expected: Vec<u32> = wanted.iter().copied().filter(|row| list.contains_key(row)).collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn live_frequencies_equal_a_count(
            lists in lists(),
            runs in vec((1u32..400, any::<bool>()), 0..30),
        ) {
            let (dictionary, bytes) = build(&lists, 0);
            let postings = Postings::new(&dictionary, &bytes).unwrap();
            let mut live = LiveRows::empty(ROWS);
            let mut row = 0;
            for (len, is_live) in runs {
                let end = (row + len).min(ROWS);
                if is_live && row < end {
                    live.insert(row, end);
                }
                row = end;
            }
            live.seal();
            for (term, list) in &lists {
                let expected = list.keys().filter(|&&row| live.contains(row)).count() as u32;
                prop_assert_eq!(postings.get(Field::Body, term).unwrap().df_live(&live), expected);
            }
        }

        #[test]
        fn damaged_lists_do_not_panic(
            lists in lists(),
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            len in any::<prop::sample::Index>(),
        ) {
            let (dictionary, mut bytes) = build(&lists, 0);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(len.index(bytes.len() + 1));
            let postings = Postings::new(&dictionary, &bytes).unwrap();
            for term in lists.keys() {
                if let Some(list) = postings.get(Field::Body, term) {
                    list.for_each(|_, _| {});
                    list.for_each_of(&[0, 7, ROWS, u32::MAX], |_| {});
                }
            }
        }
    }
}
