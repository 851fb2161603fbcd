//! Marks: words of code that does what an intent asks for, and their numbers in chunks.

use rustc_hash::FxHashMap;

use codeweaver_store::postings::Field;
use codeweaver_text::{QueryTerm, stem};

use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};

/// Number of different marks from which more add nothing.
pub const ENOUGH: u8 = 3;

/// Returns the terms of `words`.
pub fn terms(words: &[&str]) -> Vec<QueryTerm> {
    words.iter().map(|word| QueryTerm { term: stem(word), weight: 1.0, is_identifier: false }).collect()
}

/// Counts the different `marks` in each of `candidates` that has any, up to [`ENOUGH`].
pub fn count(view: &View, candidates: &[Candidate], marks: &[QueryTerm]) -> FxHashMap<RowId, u8> {
    let mut ids: Vec<RowId> = candidates.iter().map(|candidate| candidate.id).collect();
    ids.sort_unstable_by_key(|id| (id.segment, id.row));
    ids.dedup();

    let mut counts: FxHashMap<RowId, u8> = FxHashMap::default();
    for segment_ids in ids.chunk_by(|a, b| a.segment == b.segment) {
        let Some(postings) = view.reader.segments[segment_ids[0].segment as usize].postings() else {
            continue;
        };

        let rows: Vec<u32> = segment_ids.iter().map(|id| id.row).collect();
        for list in marks.iter().filter_map(|mark| postings.get(Field::Body, &mark.term)) {
            list.for_each_of(&rows, |at| {
                let count = counts.entry(segment_ids[at]).or_default();
                *count = (*count + 1).min(ENOUGH);
            });
        }
    }

    counts
}
