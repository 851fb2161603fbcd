//! Counts the terms of many texts. Every different word is taken apart and stemmed once.
//!
//! Words of code repeat, and a look-up of a word costs much less than its terms. The postings of a chunk and
//! the vector of the built-in model are made from the same counts.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::terms::{Run, TermKind, visit_run, visit_runs};

/// Maximum length of words in the table. Longer words, mostly text in scripts without spaces, are taken apart
/// each time.
const MAX_KEPT_BYTES: usize = 64;

/// The use of a term in a model that has a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermUse {
    /// A word, which is cut into pieces if it is no entry of the vocabulary.
    Word = 0,
    /// A number or character, which counts only if it is an entry of the vocabulary.
    Entry = 1,
    /// A term made of parts that are terms too.
    Derived = 2,
}

impl TermKind {
    /// Returns the use of a term of this kind.
    pub fn usage(self) -> TermUse {
        match self {
            TermKind::Word | TermKind::Part => TermUse::Word,
            TermKind::Number | TermKind::Character | TermKind::Pair => TermUse::Entry,
            TermKind::Whole | TermKind::Prefix => TermUse::Derived,
        }
    }
}

/// A term of a text with its number of occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermCount {
    /// The number of the term in the table.
    pub term: u32,
    /// The number of occurrences for each [`TermUse`].
    pub uses: [u32; 3],
}

impl TermCount {
    /// Returns the number of occurrences in any use.
    pub fn total(&self) -> u32 {
        self.uses.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// The terms of several texts.
#[derive(Debug, Default)]
pub struct TermCounts {
    counts: Vec<TermCount>,
    /// The end of each text in `counts`.
    ends: Vec<usize>,
}

impl TermCounts {
    pub fn clear(&mut self) {
        self.counts.clear();
        self.ends.clear();
    }

    /// Adds the terms of a text.
    pub fn push(&mut self, table: &mut TermTable, text: &str) {
        table.count(text, &mut self.counts);
        self.ends.push(self.counts.len());
    }

    /// Adds a text by its different terms, numbered in a table, with their numbers of occurrences.
    pub fn push_counted(&mut self, terms: impl Iterator<Item = (u32, u32)>) {
        self.counts.extend(terms.map(|(term, n)| TermCount { term, uses: [n, 0, 0] }));
        self.ends.push(self.counts.len());
    }

    /// Returns the terms of the last text.
    pub fn last(&self) -> &[TermCount] {
        self.ends.len().checked_sub(1).map_or(&[], |last| self.get(last))
    }

    /// Returns the terms of the text with this index; none if there are fewer texts.
    pub fn get(&self, text: usize) -> &[TermCount] {
        let start = text.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        let range = start.zip(self.ends.get(text)).map_or(0..0, |(&start, &end)| start..end);
        &self.counts[range]
    }
}

/// Words with their terms. Each different term has a number.
pub struct TermTable {
    /// See [`Self::id`].
    id: u64,
    /// The range of a word in `occurrences`; `None` for a word that is dropped as encoded data.
    words: FxHashMap<Box<str>, Option<(u32, u32)>>,
    /// The number and use of each term of each word.
    occurrences: Vec<(u32, TermUse)>,
    numbers: FxHashMap<Box<str>, u32>,
    terms: Vec<Box<str>>,
    /// The counts of the text that is being counted, by term; all zero otherwise.
    uses: Vec<[u32; 3]>,
}

impl Default for TermTable {
    fn default() -> TermTable {
        TermTable {
            id: next_id(),
            words: FxHashMap::default(),
            occurrences: Vec::new(),
            numbers: FxHashMap::default(),
            terms: Vec::new(),
            uses: Vec::new(),
        }
    }
}

/// Returns a number that no other table of the process has.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl TermTable {
    /// Returns the identity of the numbers of this table. A table that was emptied has another one.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Empties the table if it has more than `max_words` words, so that it does not grow with the repository.
    /// Numbers given before are then invalid.
    pub fn trim(&mut self, max_words: usize) {
        if self.words.len() > max_words {
            *self = TermTable::default();
        }
    }

    /// Returns the spelling of a term.
    pub fn term(&self, number: u32) -> &str {
        &self.terms[number as usize]
    }

    /// Returns the number of a term, which is added to the table if it is new.
    pub fn number(&mut self, term: &str) -> u32 {
        if let Some(&number) = self.numbers.get(term) {
            return number;
        }

        let number = self.terms.len() as u32;
        self.numbers.insert(term.into(), number);
        self.terms.push(term.into());
        self.uses.push([0; 3]);
        number
    }

    /// Appends the different terms of `text` to `out`, in order of their first occurrence. They are the terms
    /// of [`super::visit_terms`].
    pub fn count(&mut self, text: &str, out: &mut Vec<TermCount>) {
        let first = out.len();
        visit_runs(text, |run, classes| match self.words.get(run) {
            Some(None) => Run::Encoded,
            Some(&Some((start, end))) => {
                for &(term, usage) in &self.occurrences[start as usize..end as usize] {
                    add(&mut self.uses, term, usage, out);
                }
                Run::Text
            }
            None => self.count_new(run, classes, out),
        });

        // Taking the counts resets them, at the cost of this text's terms only.
        for count in &mut out[first..] {
            count.uses = std::mem::take(&mut self.uses[count.term as usize]);
        }
    }

    /// Counts a word that is not in the table yet, and adds it.
    fn count_new(&mut self, run: &str, classes: u8, out: &mut Vec<TermCount>) -> Run {
        let start = self.occurrences.len();
        let kind = visit_run(run, classes, &mut |term: &str, kind: TermKind| {
            let number = self.number(term);
            self.occurrences.push((number, kind.usage()));
        });

        for &(term, usage) in &self.occurrences[start..] {
            add(&mut self.uses, term, usage, out);
        }

        if run.len() > MAX_KEPT_BYTES {
            self.occurrences.truncate(start);
        } else {
            let range = (start as u32, self.occurrences.len() as u32);
            self.words.insert(run.into(), (kind == Run::Text).then_some(range));
        }

        kind
    }
}

/// Counts one occurrence of a term, and appends the term to `out` at the first.
#[inline]
fn add(uses: &mut [[u32; 3]], term: u32, usage: TermUse, out: &mut Vec<TermCount>) {
    let uses = &mut uses[term as usize];
    if *uses == [0; 3] {
        out.push(TermCount { term, uses: [0; 3] });
    }
    uses[usage as usize] += 1;
}

#[cfg(test)]
mod tests {
    use super::super::visit_terms;
    use super::*;
    use std::collections::BTreeMap;

    fn visited(text: &str) -> BTreeMap<String, [u32; 3]> {
        let mut counts = BTreeMap::<String, [u32; 3]>::new();
        visit_terms(text, |term, kind| {
            counts.entry(term.to_owned()).or_default()[kind.usage() as usize] += 1
        });
        counts
    }

    fn counted(table: &mut TermTable, text: &str) -> BTreeMap<String, [u32; 3]> {
        let mut counts = vec![TermCount { term: u32::MAX, uses: [7; 3] }];
        table.count(text, &mut counts);
        let n = counts.len() - 1;
        let counts: BTreeMap<_, _> =
            counts[1..].iter().map(|count| (table.term(count.term).to_owned(), count.uses)).collect();
        assert_eq!(counts.len(), n, "a term is counted once");
        counts
    }

    #[test]
    fn counts_equal_the_visited_terms_however_full_the_table_is() {
        let mut random = fastrand::Rng::with_seed(5);
        let words = [
            "parseHeader",
            "parse",
            "header",
            "utf8",
            "UTF8",
            "0xFF",
            "42",
            "日本語",
            "größe",
            "fileName",
            "filename",
            "4eC39HqLyjWDarjtT1zdp7dc",
            "+abc",
            "/def",
            "=",
            " ",
            "\n",
            "_",
            "x",
            "данные_json",
        ];
        let mut table = TermTable::default();
        for round in 0..2_000 {
            let text: String = (0..random.usize(0..30)).map(|_| *random.choice(&words).unwrap()).collect();
            assert_eq!(counted(&mut table, &text), visited(&text), "{text}");
            if round % 500 == 0 {
                table.trim(0);
            }
        }
    }

    #[test]
    fn a_table_that_was_emptied_has_another_id() {
        let mut table = TermTable::default();
        table.count("some words", &mut Vec::new());
        let id = table.id();
        table.trim(2);
        assert_eq!(table.id(), id);
        table.trim(1);
        assert_ne!(table.id(), id);
    }

    #[test]
    fn long_words_are_counted_and_not_kept() {
        let mut table = TermTable::default();
        let text = "日本語".repeat(40);
        assert_eq!(counted(&mut table, &text), visited(&text));
        assert!(table.words.is_empty() && table.occurrences.is_empty());
    }
}
