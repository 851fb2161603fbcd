//! Strings of a segment: names, which searches compare by the million, and texts, which answers show.
//!
//! Names are UTF-8, one after the other, and read in place. Texts are longer and repeat the names, so they
//! are compressed in blocks:
//!
//! | section | content |
//! |---:|---|
//! | 7 | names |
//! | 17 | blocks of texts, each an LZ4 block |
//! | 18 | for each block, and for the end of the last, its offset in all texts and in section 17, u32 each |
//!
//! Equal strings are stored once. Declarations repeat strings often: registers of a family of devices,
//! overridden methods.

use std::hash::BuildHasher;
use std::sync::Mutex;

use bytemuck::{Pod, Zeroable};
use rustc_hash::{FxBuildHasher, FxHashMap};

use codeweaver_base::sync;

/// Length at which a block of texts ends; the text that reaches it is the last one.
const BLOCK: usize = 4 * 1024;
/// The largest ratio of LZ4. A block that claims a larger one is damaged.
const MAX_RATIO: usize = 255;

/// A range of the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct NameRef {
    pub(super) offset: u32,
    pub(super) len: u32,
}

/// A range of the texts, as they were before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TextRef {
    pub(super) offset: u32,
    pub(super) len: u32,
}

impl TextRef {
    pub const EMPTY: TextRef = TextRef { offset: 0, len: 0 };
}

/// Names under construction.
#[derive(Default)]
pub struct NamesBuilder {
    strings: Distinct,
}

impl NamesBuilder {
    /// Adds a name.
    pub fn put(&mut self, name: &str) -> NameRef {
        let (offset, len) = self.strings.put(name);
        NameRef { offset, len }
    }

    /// As [`Self::put`], for a name that is probably part of the one at `whole`.
    pub fn put_within(&mut self, whole: NameRef, name: &str) -> NameRef {
        let bytes = self.strings.at(whole.offset, whole.len);
        match memchr::memmem::rfind(bytes, name.as_bytes()) {
            Some(at) => NameRef { offset: whole.offset + at as u32, len: name.len() as u32 },
            None => self.put(name),
        }
    }

    /// Encodes section 7.
    pub fn finish(self) -> Vec<u8> {
        self.strings.bytes
    }
}

/// Texts under construction.
#[derive(Default)]
pub struct TextsBuilder {
    strings: Distinct,
    /// Offsets at which a block begins.
    starts: Vec<u32>,
}

impl TextsBuilder {
    /// Adds a text.
    pub fn put(&mut self, text: &str) -> TextRef {
        let end = self.strings.bytes.len();
        let (offset, len) = self.strings.put(text);
        let is_new = offset as usize == end && len > 0;
        if is_new && self.starts.last().is_none_or(|&start| end - start as usize >= BLOCK) {
            self.starts.push(offset);
        }
        TextRef { offset, len }
    }

    /// Encodes sections 17 and 18.
    pub fn finish(self) -> [Vec<u8>; 2] {
        let bytes = &self.strings.bytes;
        let ends = self.starts.iter().skip(1).copied().chain([bytes.len() as u32]);
        let (mut blocks, mut index) = (Vec::new(), Vec::<[u32; 2]>::with_capacity(self.starts.len() + 1));

        for (&start, end) in self.starts.iter().zip(ends) {
            index.push([start, blocks.len() as u32]);
            blocks.extend(lz4_flex::block::compress(&bytes[start as usize..end as usize]));
        }
        index.push([bytes.len() as u32, blocks.len() as u32]);
        [blocks, bytemuck::cast_slice(&index).to_vec()]
    }
}

/// Bytes in which every string occurs once.
#[derive(Default)]
struct Distinct {
    bytes: Vec<u8>,
    /// Offset and length by hash. A string whose hash belongs to another string is stored again.
    known: FxHashMap<u64, (u32, u32)>,
}

impl Distinct {
    /// Returns offset and length of `text`, which is appended if it is new.
    fn put(&mut self, text: &str) -> (u32, u32) {
        if text.is_empty() {
            return (0, 0);
        }

        let place = (self.bytes.len() as u32, text.len() as u32);
        let known = *self.known.entry(FxBuildHasher.hash_one(text)).or_insert(place);
        if known.0 != place.0 && self.at(known.0, known.1) == text.as_bytes() {
            return known;
        }

        self.bytes.extend_from_slice(text.as_bytes());
        place
    }

    fn at(&self, offset: u32, len: u32) -> &[u8] {
        &self.bytes[offset as usize..][..len as usize]
    }
}

/// The bytes of the name at `place`; empty if it is damaged.
pub fn name_bytes(names: &[u8], place: NameRef) -> &[u8] {
    let bytes = names.get(place.offset as usize..).and_then(|rest| rest.get(..place.len as usize));
    bytes.unwrap_or_default()
}

/// The name at `place`; empty if it is damaged.
pub fn name(names: &[u8], place: NameRef) -> &str {
    std::str::from_utf8(name_bytes(names, place)).unwrap_or_default()
}

/// The texts of a segment, borrowed from its mapping.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    blocks: &'a [u8],
    index: &'a [[u32; 2]],
    recent: &'a RecentBlock,
}

/// The block that was read last. It often serves again, since the texts of a chunk are neighbours.
#[derive(Default)]
pub struct RecentBlock(Mutex<(Option<usize>, Vec<u8>)>);

impl<'a> Texts<'a> {
    /// The texts of sections 17 and 18.
    pub fn new(blocks: &'a [u8], index: &'a [[u32; 2]], recent: &'a RecentBlock) -> Texts<'a> {
        Texts { blocks, index, recent }
    }

    /// The text at `place`; empty if it is damaged.
    pub fn get(&self, place: TextRef) -> String {
        if place.len == 0 {
            return String::new();
        }
        self.read(place).unwrap_or_default()
    }

    fn read(&self, place: TextRef) -> Option<String> {
        let number = self.index.partition_point(|&[start, _]| start <= place.offset).checked_sub(1)?;
        let &[[start, from], [end, to]] = self.index.get(number..number + 2)?.first_chunk()?;

        let mut recent = sync::lock(&self.recent.0);
        let (read, block) = &mut *recent;

        if *read != Some(number) {
            let compressed = self.blocks.get(from as usize..to as usize)?;
            let len = end.checked_sub(start)? as usize;
            if len > compressed.len().saturating_mul(MAX_RATIO) {
                return None;
            }

            // Until the block is complete, it must not count as read.
            *read = None;
            block.resize(len, 0);
            lz4_flex::block::decompress_into(compressed, block).ok().filter(|n| *n == len)?;
            *read = Some(number);
        }

        let bytes = block.get((place.offset - start) as usize..)?.get(..place.len as usize)?;
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::read_u32;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn index(bytes: &[u8]) -> Vec<[u32; 2]> {
        bytes.chunks_exact(8).map(|pair| [read_u32(pair, 0), read_u32(pair, 4)]).collect()
    }

    /// A text of several blocks. As a pattern it would be generated character by character, for seconds.
    fn long_text() -> impl Strategy<Value = String> {
        (3000..=9000usize).prop_map(|n| "x".repeat(n))
    }

    proptest! {
        #[test]
        fn texts_are_read_again_in_any_order(
            texts in vec(prop_oneof!["(fn |struct )?[a-cé]{0,30}", long_text()], 0..60),
            order in vec(any::<prop::sample::Index>(), 0..60),
            damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut builder = TextsBuilder::default();
            let places: Vec<TextRef> = texts.iter().map(|text| builder.put(text)).collect();
            let [mut blocks, sections] = builder.finish();
            let recent = RecentBlock::default();
            let index = index(&sections);

            for at in order.iter().filter(|_| !texts.is_empty()).map(|order| order.index(texts.len())) {
                prop_assert_eq!(&Texts::new(&blocks, &index, &recent).get(places[at]), &texts[at]);
            }

            if !blocks.is_empty() {
                let n = blocks.len();
                damage.into_iter().for_each(|(at, byte)| blocks[at.index(n)] = byte);
            }
            let recent = RecentBlock::default();
            for &place in &places {
                prop_assert!(Texts::new(&blocks, &index, &recent).get(place).len() <= place.len as usize);
            }
            prop_assert_eq!(Texts::new(&blocks, &[], &recent).get(TextRef { offset: 0, len: 1 }), "");
        }

        #[test]
        fn damaged_indexes_do_not_panic(
            pairs in vec(any::<[u32; 2]>(), 0..4), offset in any::<u32>(), len in any::<u32>(),
        ) {
            let recent = RecentBlock::default();
            let blocks = lz4_flex::block::compress(&[b'x'; 5000]);
            let text = Texts::new(&blocks, &pairs, &recent).get(TextRef { offset, len });
            prop_assert!(text.len() <= 5000);
        }
    }

    #[test]
    fn equal_strings_are_stored_once_and_parts_of_names_not_at_all() {
        let mut names = NamesBuilder::default();
        let whole = names.put("Parser::parse");
        assert_eq!(names.put("Parser::parse"), whole);
        let part = names.put_within(whole, "parse");
        let other = names.put_within(whole, "lexer");

        let names = names.finish();
        assert_eq!(names, b"Parser::parselexer");
        assert_eq!(
            [whole, part, other].map(|place| name(&names, place)),
            ["Parser::parse", "parse", "lexer"]
        );
        assert_eq!(name(&names, NameRef { offset: 4, len: 99 }), "");

        let mut texts = TextsBuilder::default();
        assert_eq!(texts.put("fn parse()"), texts.put("fn parse()"));
        assert_eq!(texts.put(""), TextRef::EMPTY);
    }
}
