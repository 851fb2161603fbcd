//! Compaction: bounds the number of segments and entry files while commits add small ones.
//!
//! Only adjacent files are merged, by concatenation. Doc and entry ids stay, so no snapshot changes and
//! readers are not affected. Files at the end are merged while each is at most twice as large as everything
//! behind it, so the amortised work per commit is logarithmic.

use std::ops::Range;

use codeweaver_store::layout::write_content_addressed;
use codeweaver_store::lock::Lock;
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::state::{EntriesRef, SegmentRef, State};
use codeweaver_store::{StoreReader, entries, shard};

use super::build::{SEAL_ROWS, write_segment};
use super::codebase::Codebase;
use super::error::IndexError;
use super::publish::{read_state, write_state};

/// Number of small files that may exist before a merge.
const SLACK: usize = 6;
/// One more file is allowed per this many rows or entries.
const ROWS_PER_FILE: usize = 32 * 1024;

/// Merges those files of `reader`'s state that are due for it.
pub fn compact(codebase: &Codebase, reader: &StoreReader) -> Result<(), IndexError> {
    let rows: Vec<usize> = reader.state.segments.iter().map(size).collect();
    let paths: Vec<usize> = reader.state.entries.iter().map(|e| e.n_entries as usize).collect();

    // Segments that were sealed at full size are not merged, since that would cost as much time and memory as
    // indexing them.
    let segments = tail_to_merge(&rows, SEAL_ROWS);
    let entries = tail_to_merge(&paths, usize::MAX);

    if segments.is_none() && entries.is_none() {
        return Ok(());
    }

    // Before the lock is taken, since merging takes long.
    let segments = segments.map(|range| merge_segments(codebase, reader, range)).transpose()?;
    let entries = entries.map(|range| merge_entries(codebase, reader, range)).transpose()?;

    let lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let store = codebase.store();
    let mut state = read_state(&store)?;

    let mut changed = false;
    if let Some((range, merged)) = segments {
        changed |= replace_segments(&mut state, &reader.state, range, merged);
    }
    if let Some((range, merged)) = entries {
        changed |= replace_entries(&mut state, &reader.state, range, merged);
    }

    if !changed {
        return Ok(());
    }

    write_state(&store, &mut state)?;
    drop(lock);

    // A file that cannot be removed now is removed by a later sweep; the merge is complete either way.
    if let Err(e) = super::gc::sweep(codebase) {
        tracing::warn!(component = "indexer", operation = "sweep", error = %e, "old files could not be removed");
    }
    Ok(())
}

/// Returns the number of leading segments that are never merged, whatever is added behind them.
pub fn n_settled(segments: &[SegmentRef]) -> usize {
    let sizes: Vec<usize> = segments.iter().map(size).collect();
    settled(&sizes)
}

/// The rows and docs of a segment, which a merge reads.
fn size(segment: &SegmentRef) -> usize {
    segment.n_rows as usize + segment.n_docs as usize
}

/// As [`n_settled`], for segments of `sizes`: a merge takes all segments from its first to the end, at most
/// [`SEAL_ROWS`] in all, of which the first is at most two thirds.
fn settled(sizes: &[usize]) -> usize {
    let mut n = sizes.len();
    let mut behind = 0;

    while n > 0 && behind + sizes[n - 1] <= SEAL_ROWS && sizes[n - 1] <= SEAL_ROWS / 3 * 2 {
        n -= 1;
        behind += sizes[n];
    }

    n
}

/// The range of files at the end that should become one, with at most `most` rows or entries in all.
fn tail_to_merge(sizes: &[usize], most: usize) -> Option<Range<usize>> {
    let total: usize = sizes.iter().sum();
    if sizes.len() <= SLACK + total / ROWS_PER_FILE {
        return None;
    }

    let mut start = sizes.len() - 1;
    let mut merged = sizes[start];
    while start > 0 && sizes[start - 1] <= 2 * merged.max(1) && merged + sizes[start - 1] <= most {
        start -= 1;
        merged += sizes[start];
    }

    (sizes.len() - start >= 2).then_some(start..sizes.len())
}

/// Writes a segment with the docs of the segments in `range`.
fn merge_segments(
    codebase: &Codebase,
    reader: &StoreReader,
    range: Range<usize>,
) -> Result<(Range<usize>, SegmentRef), IndexError> {
    let mut builder = SegmentBuilder::default();

    for i in range.clone() {
        let name = &reader.state.segments[i].name;
        let shard = reader.layout.shard(name);
        // A damaged segment must not be sealed again under a name that proves it whole.
        reader.segments[i].verify(name, &shard)?;
        let data = shard::read(&shard)?;
        // Docs keep their places, so that doc ids stay the same.
        builder.append_segment(&reader.segments[i], data, |_| true);
    }

    let merged = write_segment(&codebase.store(), builder)?;
    let doc_base = reader.state.segments[range.start].doc_base;
    Ok((range, SegmentRef { doc_base, ..merged }))
}

/// Writes an entry file with the entries of the files in `range`.
fn merge_entries(
    codebase: &Codebase,
    reader: &StoreReader,
    range: Range<usize>,
) -> Result<(Range<usize>, EntriesRef), IndexError> {
    let references = &reader.state.entries[range.clone()];
    let mut files = references.iter().zip(&reader.entries[range.clone()]);
    files.try_for_each(|(reference, file)| file.verify(&reference.name))?;

    let all: Vec<entries::NewEntry> =
        reader.entries[range.clone()].iter().flat_map(|file| file.to_new()).collect();
    let bytes = entries::encode(&all);
    let name = blake3::hash(&bytes).to_hex().to_string();
    write_content_addressed(&codebase.store().entries(&name), &bytes)?;

    let entry_base = reader.state.entries[range.start].entry_base;
    Ok((range, EntriesRef { name, entry_base, n_entries: all.len() as u32, bytes: bytes.len() as u64 }))
}

/// Replaces the merged files if the state still contains them unchanged; otherwise the merge is discarded.
fn replace_segments(state: &mut State, seen: &State, range: Range<usize>, merged: SegmentRef) -> bool {
    let unchanged =
        state.epoch == seen.epoch && state.segments.get(range.clone()) == seen.segments.get(range.clone());
    if unchanged {
        state.segments.splice(range, [merged]);
    }
    unchanged
}

/// As [`replace_segments`], for entry files.
fn replace_entries(state: &mut State, seen: &State, range: Range<usize>, merged: EntriesRef) -> bool {
    let unchanged =
        state.epoch == seen.epoch && state.entries.get(range.clone()) == seen.entries.get(range.clone());
    if unchanged {
        state.entries.splice(range, [merged]);
    }
    unchanged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_small_additions_keep_few_files_and_little_work() {
        // A first index publishes small segments early, and no merge reaches these.
        let mut sizes: Vec<usize> = [2000].into_iter().chain([48_000; 20]).collect();
        let mut rewritten = 0;
        for _ in 0..1000 {
            sizes.push(12);
            if let Some(range) = tail_to_merge(&sizes, SEAL_ROWS) {
                let merged: usize = sizes[range.clone()].iter().sum();
                rewritten += merged;
                sizes.splice(range, [merged]);
            }
            assert!(sizes.len() <= 21 + 2 * SLACK + 40, "{} files", sizes.len());
            assert_eq!(settled(&sizes), 21);
        }
        assert!(rewritten < 12 * 1000 * 12, "{rewritten} rows rewritten for 12000 added");
    }

    #[test]
    fn settled_segments_are_never_merged() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let mut sizes: Vec<usize> = (0..8).map(|_| random.usize(1..=SEAL_ROWS)).collect();
            for _ in 0..100 {
                let before = settled(&sizes);
                sizes.push(random.usize(1..=SEAL_ROWS / 8));

                if let Some(range) = tail_to_merge(&sizes, SEAL_ROWS) {
                    assert!(range.start >= before, "{before} of {sizes:?} are settled");
                    let merged = sizes[range.clone()].iter().sum();
                    sizes.splice(range, [merged]);
                }
                assert!(settled(&sizes) >= before, "{sizes:?}");
            }
        }
    }
}
