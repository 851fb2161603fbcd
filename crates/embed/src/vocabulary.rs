//! Stems of words → ids. The bytes are a hash table that is used in place, without parsing.
//!
//! A word of the vocabulary is one id. Any other word is split into pieces, the longest possible first: the
//! piece at the beginning of the word is an ordinary entry, later pieces are entries with a leading `##`.
//! Characters without a piece are left out.
//!
//! Layout, integers little-endian: a header of 32 bytes (magic, entries, slots, bytes of text, longest probe,
//! longest entry without and with `##`), the slots (tag and id of 16 bits each, 0 if empty), the ends of the
//! entries in the text, the text. The bytes are not trusted: damaged ones give wrong ids below
//! [`Vocabulary::len`], but no panic.

use codeweaver_text::MAX_TERM_BYTES;

/// Ids have 16 bits.
const MAX_ENTRIES: usize = 1 << 16;
const MAGIC: [u8; 8] = *b"cw-voc01";
const HEADER_BYTES: usize = 32;
/// Prefix of entries that continue a word.
const CONTINUATION: &str = "##";

/// A view over bytes from [`Vocabulary::encode`].
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    slots: &'a [u8],
    ends: &'a [u8],
    text: &'a [u8],
    n: u32,
    /// Slots − 1; the number of slots is a power of two.
    mask: u32,
    max_probe: u32,
    /// Bytes of the longest entry that begins a word, and of the longest that continues one (without `##`).
    longest: [usize; 2],
}

/// The reason why bytes or entries are not a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VocabularyError {
    #[error("not a vocabulary: {0}")]
    Damaged(&'static str),
    #[error("{0} entries, at most 65536 are possible")]
    TooMany(usize),
    #[error("entry {id} (`{entry}`): {why}")]
    Entry { id: usize, entry: String, why: &'static str },
}

impl<'a> Vocabulary<'a> {
    /// Opens a vocabulary. Checks its header against its length, in constant time.
    pub fn new(bytes: &'a [u8]) -> Result<Vocabulary<'a>, VocabularyError> {
        let damaged = VocabularyError::Damaged;
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(damaged("too short"))?;
        if header[..8] != MAGIC {
            return Err(damaged("wrong magic number"));
        }

        let field = |index: usize| u32_at(header, 2 + index).unwrap_or(0);
        let (n, slots, text, max_probe) = (field(0), field(1), field(2), field(3));
        let longest = [field(4), field(5)].map(|bytes| (bytes as usize).min(MAX_TERM_BYTES));
        if n as usize > MAX_ENTRIES || !slots.is_power_of_two() || max_probe > slots {
            return Err(damaged("its sizes contradict each other"));
        }

        let parts = split_at(rest, u64::from(slots) * 4).and_then(|(slots, rest)| {
            let (ends, rest) = split_at(rest, u64::from(n) * 4)?;
            (rest.len() == text as usize).then_some((slots, ends, rest))
        });
        let (slot_bytes, ends, text) = parts.ok_or(damaged("its length does not match its header"))?;
        Ok(Vocabulary { slots: slot_bytes, ends, text, n, mask: slots - 1, max_probe, longest })
    }

    /// Encodes the bytes for [`Vocabulary::new`], in which entry `i` has the id `i`. Frequent entries should
    /// come first, for locality.
    ///
    /// At most 65,536 distinct entries of 1 to 64 bytes each (without a leading `##`). Equal entries give
    /// equal bytes.
    pub fn encode(entries: &[String]) -> Result<Vec<u8>, VocabularyError> {
        if entries.len() > MAX_ENTRIES {
            return Err(VocabularyError::TooMany(entries.len()));
        }

        let n_slots = (entries.len() * 2).next_power_of_two().max(16);
        let mut slots = vec![0u32; n_slots];
        let (mut ends, mut text) = (Vec::with_capacity(entries.len()), String::new());
        let (mut max_probe, mut longest) = (0, [0usize; 2]);

        for (id, entry) in entries.iter().enumerate() {
            let refused = |why| VocabularyError::Entry { id, entry: entry.clone(), why };

            let (continues, piece) = match entry.strip_prefix(CONTINUATION) {
                Some(piece) => (true, piece),
                None => (false, entry.as_str()),
            };
            if piece.is_empty() || piece.len() > MAX_TERM_BYTES {
                return Err(refused("it must have 1 to 64 bytes"));
            }
            longest[usize::from(continues)] = longest[usize::from(continues)].max(piece.len());

            let probes = insert(&mut slots, entries, id).ok_or_else(|| refused("it occurs twice"))?;
            max_probe = max_probe.max(probes);
            text.push_str(entry);
            ends.push(text.len() as u32);
        }

        let sizes = [entries.len(), n_slots, text.len(), max_probe, longest[0], longest[1]];
        let mut out = MAGIC.to_vec();
        let numbers = sizes.iter().map(|&size| size as u32).chain(slots).chain(ends);
        out.extend(numbers.flat_map(u32::to_le_bytes));
        out.extend_from_slice(text.as_bytes());
        Ok(out)
    }

    /// Number of entries. Every id is less than it.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the entry with this id as it was given to [`Vocabulary::encode`].
    pub fn entry(&self, id: u32) -> Option<&'a str> {
        std::str::from_utf8(self.spelling(id)?).ok()
    }

    /// Returns the id of an entry that is exactly this word.
    pub fn id(&self, word: &str) -> Option<u32> {
        self.find(word.bytes().fold(WORD, step), false, word.as_bytes())
    }

    /// Calls `visit` with the id of a term, or with those of its pieces in order. Reads at most
    /// [`MAX_TERM_BYTES`] of the term.
    pub fn ids(&self, term: &str, visit: &mut impl FnMut(u32)) {
        let term = &term[..term.floor_char_boundary(MAX_TERM_BYTES)];
        match self.id(term) {
            Some(id) => visit(id),
            None => self.pieces(term, visit),
        }
    }

    /// Calls `visit` with the ids of the pieces of a term, the longest possible first.
    fn pieces(&self, term: &str, visit: &mut impl FnMut(u32)) {
        let bytes = term.as_bytes();
        let mut states = [0; MAX_TERM_BYTES];
        let mut at = 0;

        while at < bytes.len() {
            let continues = at > 0;
            let end = bytes.len().min(at + self.longest[usize::from(continues)]);

            // The hashes of all prefixes in one pass.
            let mut state = if continues { LATER } else { WORD };
            for (to, &byte) in states.iter_mut().zip(&bytes[at..end]) {
                state = step(state, byte);
                *to = state;
            }

            let longest = (at + 1..=end)
                .rev()
                .filter(|&end| term.is_char_boundary(end))
                .find_map(|end| Some((self.find(states[end - at - 1], continues, &bytes[at..end])?, end)));

            match longest {
                Some((id, end)) => {
                    visit(id);
                    at = end;
                }
                // No entry begins with this character.
                None => at = term.ceil_char_boundary(at + 1),
            }
        }
    }

    /// Returns the id of an entry. `state` is the hash of its spelling, with `##` if it `continues` a word.
    #[inline]
    fn find(&self, state: u64, continues: bool, piece: &[u8]) -> Option<u32> {
        let (mut slot, tag) = place(state);
        for _ in 0..self.max_probe {
            let found = u32_at(self.slots, (slot & self.mask) as usize)?;
            if found == 0 {
                return None;
            }

            if found >> 16 == tag {
                let id = found & 0xffff;
                let spelling = self.spelling(id)?;
                let found_piece =
                    if continues { spelling.strip_prefix(CONTINUATION.as_bytes()) } else { Some(spelling) };
                if found_piece == Some(piece) {
                    return Some(id);
                }
            }

            slot = slot.wrapping_add(1);
        }
        None
    }

    /// Returns the bytes of an entry.
    #[inline]
    fn spelling(&self, id: u32) -> Option<&'a [u8]> {
        let end = u32_at(self.ends, id as usize)?;
        let start = if id == 0 { 0 } else { u32_at(self.ends, id as usize - 1)? };
        self.text.get(start as usize..end as usize)
    }
}

/// Inserts the entry `id` into a table of slots. Returns the number of slots that were looked at; `None` if
/// the table has an equal entry.
fn insert(slots: &mut [u32], entries: &[String], id: usize) -> Option<usize> {
    let (mut slot, tag) = place(entries[id].bytes().fold(WORD, step));
    let mut n_probes = 1;

    loop {
        let at = slot as usize & (slots.len() - 1);
        let other = slots[at];
        if other == 0 {
            slots[at] = tag << 16 | id as u32;
            return Some(n_probes);
        }
        if other >> 16 == tag && entries[(other & 0xffff) as usize] == entries[id] {
            return None;
        }

        // The table has free slots: it is twice as large as the number of entries.
        slot = slot.wrapping_add(1);
        n_probes += 1;
    }
}

fn split_at(bytes: &[u8], position: u64) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(position).ok()?)
}

/// One byte of FNV-1a. The hashes of all prefixes of a word are computed in one pass.
#[inline]
const fn step(state: u64, byte: u8) -> u64 {
    (state ^ byte as u64).wrapping_mul(0x100_0000_01b3)
}

/// State before the first byte of an entry, and after the `##` of one that continues a word.
const WORD: u64 = 0xcbf2_9ce4_8422_2325;
const LATER: u64 = step(step(WORD, b'#'), b'#');

/// Returns the first slot, and a tag of 16 bits that is not zero.
#[inline]
fn place(state: u64) -> (u32, u32) {
    let mixed = (state ^ (state >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as u32, ((mixed >> 16) as u32 & 0xffff).max(1))
}

/// Returns the number at `index` in an array of little-endian numbers.
#[inline]
fn u32_at(numbers: &[u8], index: usize) -> Option<u32> {
    let bytes = numbers.get(index * 4..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(entries: &[&str]) -> Vec<u8> {
        Vocabulary::encode(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn spelling(vocabulary: &Vocabulary, term: &str) -> String {
        let mut out = Vec::new();
        vocabulary.ids(term, &mut |id| out.push(vocabulary.entry(id).unwrap()));
        out.join(" ")
    }

    #[test]
    fn words_are_one_id_and_others_their_longest_pieces() {
        let entries =
            ["pars", "parser", "http", "serv", "##server", "##serv", "##er", "größe", "##日", "p", "##s"];
        let bytes = encode(&entries);
        let vocabulary = Vocabulary::new(&bytes).unwrap();
        for (term, expected) in [
            ("pars", "pars"),
            ("größe", "größe"),
            ("httpserver", "http ##server"),
            ("httpservers", "http ##server ##s"),
            ("parsers", "parser ##s"),
            ("serverserv", "serv ##er ##serv"),
            ("pxs", "p ##s"),
            ("http日本", "http ##日"),
            ("日", ""),
            ("zqx", ""),
            ("xhttp", ""),
            ("#", ""),
            ("", ""),
        ] {
            assert_eq!(spelling(&vocabulary, term), expected, "{term}");
        }
        assert_eq!((vocabulary.len(), vocabulary.id("http"), vocabulary.id("htt")), (11, Some(2), None));
        assert_eq!(vocabulary.entry(4), Some("##server"));
        assert_eq!(vocabulary.entry(11), None);
    }

    #[test]
    fn a_full_vocabulary_finds_each_of_its_entries() {
        let mut entries: Vec<String> = (0..32_768).map(|n| format!("w{n}")).collect();
        entries.extend((0..32_768).map(|n| format!("##w{n}")));
        let bytes = Vocabulary::encode(&entries).unwrap();
        let vocabulary = Vocabulary::new(&bytes).unwrap();
        for (id, entry) in entries.iter().enumerate() {
            let id = id as u32;
            match entry.strip_prefix("##") {
                None => assert_eq!(vocabulary.id(entry), Some(id)),
                Some(piece) => {
                    assert_eq!(spelling(&vocabulary, &format!("w0{piece}")), format!("w0 {entry}"))
                }
            }
        }
        assert!(vocabulary.max_probe < 64, "{}", vocabulary.max_probe);
        entries.push("one more".to_owned());
        assert_eq!(Vocabulary::encode(&entries), Err(VocabularyError::TooMany(65_537)));
    }

    #[test]
    fn invalid_entries_are_refused() {
        for (entries, why) in [
            (vec!["a", "b", "a"], "twice"),
            (vec![""], "bytes"),
            (vec!["##"], "bytes"),
            (vec!["a", &"x".repeat(65)], "bytes"),
        ] {
            let entries: Vec<String> = entries.into_iter().map(str::to_owned).collect();
            let error = Vocabulary::encode(&entries).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        assert!(Vocabulary::new(&encode(&[])).unwrap().is_empty());
    }

    #[test]
    fn terms_of_any_length_and_script_do_bounded_work() {
        let bytes = encode(&["a", "##a", "##aa", "é"]);
        let vocabulary = Vocabulary::new(&bytes).unwrap();
        let mut n = 0;
        vocabulary.ids(&"a".repeat(1 << 20), &mut |_| n += 1);
        assert_eq!(n, 1 + 31 + 1);
        assert_eq!(spelling(&vocabulary, &"é".repeat(500)), "é");
    }

    #[test]
    fn damaged_bytes_are_refused_or_give_ids_in_range() {
        let entries: Vec<String> = (0..300).flat_map(|n| [format!("w{n}"), format!("##p{n}")]).collect();
        let good = Vocabulary::encode(&entries).unwrap();
        for length in 0..good.len() {
            assert!(Vocabulary::new(&good[..length]).is_err());
        }
        let mut random = fastrand::Rng::with_seed(5);
        let mut opened = 0;
        for _ in 0..4000 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..40) {
                let at = random.usize(8..bytes.len());
                bytes[at] = random.u8(..);
            }
            let end = if random.bool() { HEADER_BYTES } else { 200 };
            bytes[random.usize(8..end)] = random.u8(..);
            let Ok(vocabulary) = Vocabulary::new(&bytes) else { continue };
            opened += 1;
            for term in ["w12", "w299p17", "größe", "p5"] {
                vocabulary.ids(term, &mut |id| assert!((id as usize) < vocabulary.len()));
            }
        }
        assert!(opened > 500, "{opened}");
    }
}
