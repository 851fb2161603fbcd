//! The docs of a view that have a name, by the words of its segments.

use codeweaver_store::words::{DocSet, Needle, is_word_byte};

use super::{RowId, View};

/// Lengths in bytes of a part of a name that is looked for: most docs have a shorter one, and a longer one
/// may lie in several parts of a stored word.
const PART: std::ops::RangeInclusive<usize> = 3..=100;

/// The docs that have a name.
pub struct NameDocs {
    /// For each segment its docs; `None` if all may have the name.
    docs: Vec<Option<DocSet>>,
}

impl NameDocs {
    /// Finds the docs of `view` that have the longest part of `name` between ASCII signs, by their words:
    /// `is_in` returns whether a word, with any characters beyond ASCII around it, has the part. All docs may
    /// have it if the part is too short or too long, or if `view` is limited: the time must not tell of
    /// others.
    pub fn new(view: &View, name: &str, is_in: impl Fn(&[u8], &str) -> bool) -> NameDocs {
        let parts = name.split(|c: char| c.is_ascii() && !is_word_byte(c as u8));
        let part = parts.max_by_key(|part| part.len()).filter(|part| PART.contains(&part.len()));
        let Some(part) = part.filter(|_| !view.is_limited) else {
            return NameDocs { docs: vec![None; view.reader.segments.len()] };
        };

        let needle = Needle { text: part.to_owned(), is_start: false, is_end: false, ignore_case: false };
        let docs = view.reader.segments.iter().zip(view.live()).map(|(segment, live)| {
            let words = segment.words().filter(|_| live.n_live() > 0)?;
            let mut docs = words.docs_with_word(&needle, |word| is_in(word, part))?;
            docs.unite(&words.unknown());
            Some(docs)
        });
        NameDocs { docs: docs.collect() }
    }

    /// Returns whether the doc of a row may have the name.
    pub fn may_have(&self, view: &View, id: RowId) -> bool {
        let docs = self.docs.get(id.segment as usize).and_then(Option::as_ref);
        docs.is_none_or(|docs| docs.contains(view.row(id).1.doc))
    }
}
