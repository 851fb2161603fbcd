//! Path retrieval: rows of files by their paths.

use crate::query::parse::mentions;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};
use crate::store::entries::NO_DOC;
use crate::text::{Mention, QueryTerm};
use rustc_hash::FxHashMap;

use super::top_k::first;

/// Maximum number of files that are found by path, and by mentions.
const MAX_FILES: usize = 64;
/// Maximum number of rows of such a file.
const MAX_ROWS_PER_FILE: usize = 40;

/// Result of [`by_terms`].
#[derive(Default)]
pub struct PathMatches {
    pub rows: Vec<RowId>,
    /// Share of all paths that have each term, 0–1.
    pub term_shares: Vec<f32>,
}

/// Rows of the files whose paths have the largest weight of terms; ties by path.
pub fn by_terms(view: &View, scope: &Scope, terms: &[QueryTerm]) -> PathMatches {
    let mut n_paths = vec![0u32; terms.len()];
    let mut hits: FxHashMap<u32, f32> = FxHashMap::default();
    for (reference, entries) in view.reader.state.entries.iter().zip(&view.reader.entries) {
        for (term, n) in terms.iter().zip(&mut n_paths) {
            let Some(list) = entries.list(&term.term) else { continue };
            list.for_each(|local, _| {
                let id = reference.entry_base + local;
                let is_indexed =
                    entries.records().get(local as usize).is_some_and(|record| record.doc != NO_DOC);
                if is_indexed && view.snapshot.entries.contains(id) {
                    *n += 1;
                    *hits.entry(id).or_default() += term.weight;
                }
            });
        }
    }
    let files: Vec<(f32, &[u8], u32)> = hits
        .into_iter()
        .filter_map(|(id, score)| view.reader.entry(id).map(|(record, path)| (score, path, record.doc)))
        .collect();
    let files = first(files, MAX_FILES, |a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let n_all = view.snapshot.totals.n_paths.max(1) as f32;
    PathMatches {
        rows: files.into_iter().flat_map(|(_, _, doc)| first_rows(view, scope, doc)).collect(),
        term_shares: n_paths.into_iter().map(|n| (n as f32 / n_all).min(1.0)).collect(),
    }
}

/// Share of all paths that have `term`, 0–1. Unlike [`PathMatches::term_shares`], it counts paths that are
/// skipped.
pub fn share_with(view: &View, term: &str) -> f32 {
    let n = view.reader.state.entries.iter().zip(&view.reader.entries).map(|(reference, entries)| {
        let mut n = 0u32;
        if let Some(list) = entries.list(term) {
            list.for_each(|local, _| {
                n += u32::from(view.snapshot.entries.contains(reference.entry_base + local));
            });
        }
        n
    });
    let share = n.sum::<u32>() as f32 / view.snapshot.totals.n_paths.max(1) as f32;
    share.min(1.0)
}

/// Rows of the files that `mentions` name best, ties by path, with those at the lines that they name.
pub fn by_mentions(view: &View, scope: &Scope, mentions: &[Mention]) -> Vec<RowId> {
    if mentions.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let entries = view.reader.live_entries(&view.snapshot.entries);
    let named = entries
        .map(|(_, record, path)| (mentions::best_fit(mentions, path), path, record.doc))
        .filter(|(fit, ..)| *fit > 0.0);
    let named = first(named.collect(), MAX_FILES, |a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    for (_, _, doc) in named {
        found.extend(first_rows(view, scope, doc));
        let Some((s, ordinal)) = view.reader.locate_doc(doc) else { continue };
        let segment = &view.reader.segments[s];
        let has_line = |row: &u32| {
            let record = &segment.rows()[*row as usize];
            mentions
                .iter()
                .filter_map(|mention| mention.line)
                .any(|line| (record.start_line..=record.end_line).contains(&line))
        };
        let rows = segment.doc_rows(ordinal).filter(|row| scope.rows[s].contains(*row) && has_line(row));
        found.extend(rows.map(|row| RowId { segment: s as u32, row }));
    }
    found
}

/// The first rows of a doc that are in scope.
fn first_rows(view: &View, scope: &Scope, doc: u32) -> Vec<RowId> {
    let Some((s, ordinal)) = view.reader.locate_doc(doc) else { return Vec::new() };
    let rows = view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));
    rows.take(MAX_ROWS_PER_FILE).map(|row| RowId { segment: s as u32, row }).collect()
}
