//! Text → bag: the entries of a [`Vocabulary`] in it, with their counts. Training and embedding use the same
//! bags.
//!
//! Joined names, and words with a numbered tail, are left out of the terms of a text, because their parts are
//! terms too. Words and parts that are not entries count by their pieces. Numbers and characters of scripts
//! without spaces count only if they are entries.

use codeweaver_text::{TermCount, TermKind, TermTable, TermUse, visit_path_terms, visit_terms};

use super::vocabulary::Vocabulary;

/// Calls `visit` with the terms of `text` that enter its bag, in order and with repetitions, and with whether
/// the term may be split into pieces. Used to choose the entries of a vocabulary.
pub fn bag_terms(text: &str, mut visit: impl FnMut(&str, bool)) {
    visit_terms(text, |term, kind| with_kind(term, kind, &mut visit));
}

/// As [`bag_terms`], for the folders of a path and the file name without its last extension.
pub fn bag_terms_of_path(path: &str, mut visit: impl FnMut(&str, bool)) {
    visit_path_terms(path, |term, kind| with_kind(term, kind, &mut visit));
}

/// Passes a term on, unless its parts stand for it.
#[inline]
fn with_kind(term: &str, kind: TermKind, visit: &mut impl FnMut(&str, bool)) {
    match kind.usage() {
        TermUse::Word => visit(term, true),
        TermUse::Entry => visit(term, false),
        TermUse::Derived => {}
    }
}

/// Replaces `out` by the distinct ids in `text` with their counts (1 and more), sorted by id.
///
/// The weight of an id in a vector is the square root of its count. Time and memory are linear in the length
/// of `text`.
pub fn bag_of(text: &str, vocabulary: &Vocabulary, out: &mut Vec<(u32, u32)>) {
    out.clear();
    bag_terms(text, |term, may_split| push(term, may_split, vocabulary, out));
    count_up(out);
}

/// As [`bag_of`], for a path: its folders and the file name without its last extension.
pub fn bag_of_path(path: &str, vocabulary: &Vocabulary, out: &mut Vec<(u32, u32)>) {
    out.clear();
    bag_terms_of_path(path, |term, may_split| push(term, may_split, vocabulary, out));
    count_up(out);
}

/// Appends the ids of a term, each counted once.
#[inline]
fn push(term: &str, may_split: bool, vocabulary: &Vocabulary, out: &mut Vec<(u32, u32)>) {
    if may_split {
        vocabulary.ids(term, &mut |id| out.push((id, 1)));
    } else if let Some(id) = vocabulary.id(term) {
        out.push((id, 1));
    }
}

/// The entries of the terms of a [`TermTable`], each looked up once.
pub struct TermEntries<'v> {
    vocabulary: Vocabulary<'v>,
    /// The table that numbers the terms.
    table: u64,
    /// Places by the number of the term; `None` if it was not looked up yet.
    places: Vec<Option<Place>>,
    ids: Vec<u32>,
}

/// The ids of a term, or of its pieces: a range of [`TermEntries::ids`].
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
    /// Whether the term is an entry, and not cut into pieces.
    is_entry: bool,
}

impl<'v> TermEntries<'v> {
    /// Creates an empty cache of look-ups.
    pub fn new(vocabulary: Vocabulary<'v>) -> TermEntries<'v> {
        TermEntries { vocabulary, table: 0, places: Vec::new(), ids: Vec::new() }
    }

    /// As [`bag_of`], for a text with these terms.
    pub fn bag_of<'c>(
        &mut self,
        table: &TermTable,
        counts: impl Iterator<Item = &'c TermCount>,
        out: &mut Vec<(u32, u32)>,
    ) {
        if self.table != table.id() {
            self.table = table.id();
            self.places.clear();
            self.ids.clear();
        }
        out.clear();

        for count in counts {
            let [words, entries, _] = count.uses;
            if words == 0 && entries == 0 {
                continue;
            }

            let place = self.place(table, count.term);
            // A use as entry alone does not count by pieces.
            let n = if place.is_entry { words.saturating_add(entries) } else { words };
            let ids = &self.ids[place.start as usize..place.end as usize];
            out.extend(ids.iter().filter(|_| n > 0).map(|&id| (id, n)));
        }

        count_up(out);
    }

    /// Returns the place of a term, which the first call looks up.
    fn place(&mut self, table: &TermTable, term: u32) -> Place {
        if self.places.len() <= term as usize {
            self.places.resize(term as usize + 1, None);
        }
        if let Some(place) = self.places[term as usize] {
            return place;
        }

        let (spelling, start) = (table.term(term), self.ids.len() as u32);
        self.vocabulary.ids(spelling, &mut |id| self.ids.push(id));
        let is_entry = self.vocabulary.id(spelling).is_some();
        let place = Place { start, end: self.ids.len() as u32, is_entry };
        self.places[term as usize] = Some(place);
        place
    }
}

/// Sorts occurrences by id and adds them up.
fn count_up(out: &mut Vec<(u32, u32)>) {
    out.sort_unstable_by_key(|&(id, _)| id);
    out.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        if is_same {
            first.1 = first.1.saturating_add(next.1);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(bytes: &[u8], fill: impl FnOnce(&Vocabulary, &mut Vec<(u32, u32)>)) -> String {
        let vocabulary = Vocabulary::new(bytes).unwrap();
        let mut bag = vec![(7, 7)];
        fill(&vocabulary, &mut bag);
        assert!(bag.is_sorted_by(|a, b| a.0 < b.0), "{bag:?}");
        let entries = bag.iter().map(|(id, n)| format!("{}:{n}", vocabulary.entry(*id).unwrap()));
        entries.collect::<Vec<_>>().join(" ")
    }

    fn vocabulary(entries: &str) -> Vec<u8> {
        Vocabulary::encode(&entries.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_bag_counts_words_parts_pieces_and_known_numbers() {
        let bytes = vocabulary("pars header utf8 utf 42 日 http ##server parsehead ##9 1");
        for (text, expected) in [
            ("parseHeader(header)", "pars:1 header:2"),
            ("parsed parses parse_header", "pars:3 header:1"),
            ("utf8", "utf8:1"),
            ("httpserver 42 19", "42:1 http:1 ##server:1"),
            ("日本語", "日:1"),
            ("", ""),
        ] {
            assert_eq!(spelling(&bytes, |vocabulary, bag| bag_of(text, vocabulary, bag)), expected, "{text}");
        }
    }

    #[test]
    fn the_bag_of_counted_terms_is_that_of_their_text() {
        let bytes = vocabulary("pars header utf8 utf 42 日 http ##server parsehead ##9 1 file filenam 日本");
        let (mut table, mut random) = (TermTable::default(), fastrand::Rng::with_seed(9));
        let vocabulary = Vocabulary::new(&bytes).unwrap();
        let mut entries = TermEntries::new(vocabulary);
        let words =
            ["parseHeader", "parsed", "httpserver", "42", "日本", "fileName", "filename", "utf8", "+", "x9"];
        for round in 0..500 {
            let text: Vec<&str> = (0..random.usize(0..20)).map(|_| *random.choice(&words).unwrap()).collect();
            let (head, body) = text.split_at(random.usize(0..=text.len()));
            let (mut counts, mut bag, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            table.count(&head.join(" "), &mut counts);
            table.count(&body.join(" "), &mut counts);
            entries.bag_of(&table, counts.iter(), &mut bag);
            bag_of(&text.join(" "), &vocabulary, &mut expected);
            assert_eq!(bag, expected, "{text:?}");
            if round % 100 == 0 {
                table.trim(0);
            }
        }
    }

    #[test]
    fn a_path_counts_its_folders_and_the_stem_of_its_file() {
        let bytes = vocabulary("src http rs header pars test");
        let path = |path: &str| spelling(&bytes, |vocabulary, bag| bag_of_path(path, vocabulary, bag));
        assert_eq!(path("src/http/parse_header.rs"), "src:1 http:1 header:1 pars:1");
        assert_eq!(path("http/http.test.rs"), "http:2 test:1");
        assert_eq!(path(""), "");
    }
}
