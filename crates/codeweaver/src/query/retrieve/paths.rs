//! Path retrieval: rows of files by their paths.

use roaring::RoaringBitmap;

use codeweaver_store::entries::{EntryRecord, NO_DOC};
use codeweaver_store::records::RowRecord;
use codeweaver_text::{Mention, QueryTerm};

use super::top_k::first;
use crate::query::parse::mentions;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

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

/// Returns rows of the files whose paths have the largest weight of terms; ties by path.
pub fn by_terms(view: &View, scope: &Scope, terms: &[QueryTerm]) -> PathMatches {
    let live = LiveEntries::new(view);
    let mut n_paths = vec![0u32; terms.len()];
    let mut best: BestPaths<'_> = BestPaths::default();
    let mut weights: Vec<f32> = Vec::new();

    for (reference, entries) in view.reader.state.entries.iter().zip(&view.reader.entries) {
        let (records, paths) = (entries.records(), entries.paths());
        weights.clear();
        weights.resize(records.len(), 0.0);
        let mut is_found = false;

        for (term, n) in terms.iter().zip(&mut n_paths) {
            let Some(list) = entries.list(&term.term) else { continue };
            // Paths that are not indexed do not count as files that have the term, and have no rows.
            list.for_each(|local, _| {
                if is_indexed(records, local) && live.has(reference.entry_base + local) {
                    *n += 1;
                    weights[local as usize] += term.weight;
                    is_found = true;
                }
            });
        }

        if is_found {
            let found = records.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0);
            found.for_each(|(record, &weight)| best.add(weight, record.doc, || paths.get(record)));
        }
    }

    if let Some(whole) = &view.whole {
        let terms: Vec<&str> = terms.iter().map(|term| term.term.as_str()).collect();
        n_paths = whole.counts(&terms).iter().map(|counts| counts.paths as u32).collect();
    }

    let n_all = view.snapshot.totals.n_paths.max(1) as f32;
    PathMatches {
        rows: best.docs().flat_map(|doc| first_rows(view, scope, doc)).collect(),
        term_shares: n_paths.into_iter().map(|n| (n as f32 / n_all).min(1.0)).collect(),
    }
}

/// The [`MAX_FILES`] best files of many; ties by path. In most queries many paths have the same terms, so a
/// path is read only if its weight does not decide.
#[derive(Default)]
struct BestPaths<'a> {
    /// Best first.
    list: Vec<(f32, &'a [u8], u32)>,
}

impl<'a> BestPaths<'a> {
    fn add(&mut self, weight: f32, doc: u32, path: impl Fn() -> &'a [u8]) {
        if self.list.len() == MAX_FILES {
            let (least, last, _) = self.list[MAX_FILES - 1];
            if weight < least || weight == least && path() >= last {
                return;
            }
            self.list.pop();
        }
        let path = path();

        let at = self.list.partition_point(|(other, other_path, _)| {
            *other > weight || *other == weight && *other_path <= path
        });

        self.list.insert(at, (weight, path, doc));
    }

    fn docs(&self) -> impl Iterator<Item = u32> {
        self.list.iter().map(|(_, _, doc)| *doc)
    }
}

/// The live entries of a view.
struct LiveEntries<'a> {
    entries: &'a RoaringBitmap,
    /// Whether every entry of the store is live, so that none has to be looked up.
    is_all: bool,
}

impl<'a> LiveEntries<'a> {
    fn new(view: &'a View) -> LiveEntries<'a> {
        let entries = &view.snapshot.entries;
        LiveEntries { entries, is_all: entries.len() == u64::from(view.reader.state.next_entry()) }
    }

    fn has(&self, id: u32) -> bool {
        self.is_all || self.entries.contains(id)
    }
}

/// Returns whether the path of an indexed file has `term`.
pub fn is_in_any(view: &View, term: &str) -> bool {
    if let Some(whole) = &view.whole {
        return whole.counts(&[term])[0].paths > 0;
    }

    let live = LiveEntries::new(view);

    view.reader.state.entries.iter().zip(&view.reader.entries).any(|(reference, entries)| {
        let Some(list) = entries.list(term) else { return false };
        let records = entries.records();
        let mut is_found = false;
        list.for_each(|local, _| {
            is_found |= is_indexed(records, local) && live.has(reference.entry_base + local);
        });
        is_found
    })
}

/// Returns the share of all paths that have `term`, 0–1, as [`PathMatches::term_shares`].
pub fn share_with(view: &View, term: &str) -> f32 {
    let n = match &view.whole {
        Some(whole) => whole.counts(&[term])[0].paths,
        None => n_with(view, term),
    };

    let share = n as f32 / view.snapshot.totals.n_paths.max(1) as f32;
    share.min(1.0)
}

/// Returns whether an entry is that of an indexed file. One that is skipped because of its content has a doc.
fn is_indexed(records: &[EntryRecord], local: u32) -> bool {
    records.get(local as usize).is_some_and(|record| record.doc != NO_DOC && record.skipped == 0)
}

/// Counts the live paths of indexed files that have `term`.
fn n_with(view: &View, term: &str) -> u64 {
    let live = LiveEntries::new(view);
    let mut n = 0u64;
    for (reference, entries) in view.reader.state.entries.iter().zip(&view.reader.entries) {
        let Some(list) = entries.list(term) else { continue };
        let records = entries.records();
        list.for_each(|local, _| {
            n += u64::from(is_indexed(records, local) && live.has(reference.entry_base + local));
        });
    }
    n
}

/// Returns rows of the files that `mentions` name best, ties by path: the first rows, and those at the lines
/// that the mentions name.
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

        for row in segment.doc_rows(ordinal).filter(|row| scope.rows[s].contains(*row)) {
            if has_line_of(&segment.rows()[row as usize], mentions) {
                found.push(RowId { segment: s as u32, row });
            }
        }
    }

    found
}

/// Returns whether the file at exactly `path` has rows in scope.
pub fn has_rows(view: &View, scope: &Scope, path: &str) -> bool {
    let entry = view.reader.find_entry(&view.snapshot.entries, path.as_bytes());
    let doc = entry.and_then(|entry| view.reader.entry(entry)).map(|(record, _)| record.doc);
    doc.is_some_and(|doc| !first_rows(view, scope, doc).is_empty())
}

/// Returns whether a row has a line that one of `mentions` names.
fn has_line_of(row: &RowRecord, mentions: &[Mention]) -> bool {
    let mut lines = mentions.iter().filter_map(|mention| mention.line);
    lines.any(|line| (row.start_line..=row.end_line).contains(&line))
}

/// Returns the first rows of a doc that are in scope.
fn first_rows(view: &View, scope: &Scope, doc: u32) -> Vec<RowId> {
    let Some((s, ordinal)) = view.reader.locate_doc(doc) else { return Vec::new() };
    let rows = view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));
    rows.take(MAX_ROWS_PER_FILE).map(|row| RowId { segment: s as u32, row }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_paths_are_those_of_a_sorted_list() {
        let mut random = fastrand::Rng::with_seed(3);
        for n_weights in [1, 3, 1000] {
            let files: Vec<(f32, String)> = (0..500)
                .map(|i| (1.0 + random.u32(0..n_weights) as f32, format!("{:03}/{i}", random.u32(0..200))))
                .collect();

            let mut best = BestPaths::default();
            for (doc, (weight, path)) in files.iter().enumerate() {
                best.add(*weight, doc as u32, || path.as_bytes());
            }

            let mut sorted: Vec<u32> = (0..500).collect();
            let file = |doc: &u32| &files[*doc as usize];
            sorted.sort_by(|a, b| file(b).0.total_cmp(&file(a).0).then_with(|| file(a).1.cmp(&file(b).1)));
            assert_eq!(best.docs().collect::<Vec<_>>(), sorted[..MAX_FILES]);
        }
    }
}
