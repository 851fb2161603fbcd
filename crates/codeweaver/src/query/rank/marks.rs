//! Marks: words of code that does what an intent asks for, in chunks.

use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};
use codeweaver_store::postings::Field;
use codeweaver_text::{QueryTerm, stem};
use rustc_hash::FxHashMap;

/// Number of different marks from which on more add nothing.
pub const ENOUGH: u8 = 3;
/// The terms of `words`.
pub fn terms(words: &[&str]) -> Vec<QueryTerm> {
    let term = |word: &&str| QueryTerm { term: stem(word), weight: 1.0, is_identifier: false };
    words.iter().map(term).collect()
}

/// The number of different `marks` that each of `candidates` has, at most [`ENOUGH`], if it has any.
pub fn count(view: &View, candidates: &[Candidate], marks: &[QueryTerm]) -> FxHashMap<RowId, u8> {
    let mut ids: Vec<RowId> = candidates.iter().map(|candidate| candidate.id).collect();
    ids.sort_unstable_by_key(|id| (id.segment, id.row));
    ids.dedup();
    let mut counts: FxHashMap<RowId, u8> = FxHashMap::default();
    for of_segment in ids.chunk_by(|a, b| a.segment == b.segment) {
        let Some(postings) = view.reader.segments[of_segment[0].segment as usize].postings() else {
            continue;
        };
        let rows: Vec<u32> = of_segment.iter().map(|id| id.row).collect();
        for list in marks.iter().filter_map(|mark| postings.get(Field::Body, &mark.term)) {
            list.for_each_of(&rows, |at| {
                let count = counts.entry(of_segment[at]).or_default();
                *count = (*count + 1).min(ENOUGH);
            });
        }
    }
    counts
}
