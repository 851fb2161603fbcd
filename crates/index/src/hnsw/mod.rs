//! HNSW graphs of large stores, built after the index is usable and off the critical path.
//!
//! * this file: the choice of the segments that need a graph, and its building in steps;
//! * [`construct`]: insertion of rows;
//! * `connect`: links to rows that a search could not reach;
//! * [`questions`]: questions that the repository asks, and the rows at which a search for one begins;
//! * [`certify`]: recall for real questions, on which the planner relies.
//!
//! A graph is over the leading segments of the state, from the first on. Those of full size are never merged,
//! so it stays valid while commits add segments, which are scanned, until they are many. It is then extended
//! and not built anew. A child process builds, at a lower priority. Once a minute it writes what it has, so a
//! build that is interrupted is resumed by the next.
//!
//! The graph is extended by one segment at a time, so that its links depend on the segments alone: not on the
//! number of threads, on interruptions, or on how often it was extended. The segments depend on the history
//! of the store, though, and the samples and recalls also on the commits that there were. So where a graph is
//! searched, other rows may be found than in a fresh index of the same state, within the recall demanded.

pub mod certify;
mod connect;
pub mod construct;
pub mod questions;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use codeweaver_config::HnswMode;
use codeweaver_embed as embed;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswIndex, Layers as _};
use codeweaver_store::layout::{StoreLayout, write_atomically};
use codeweaver_store::lock::Lock;
use codeweaver_store::state::{SegmentRef, State};
use codeweaver_store::{StoreError, StoreReader};

use super::codebase::Codebase;
use super::compact::n_settled;
use super::error::IndexError;

pub use certify::is_sufficient;

/// Number of rows in all below which no graph is built by default. A graph that is there is searched whatever
/// its size.
///
/// From about here on, a search of a graph for a question takes less time on one core than binary quantisation
/// on two, and the exact scan for similar code more than 8 ms (`docs/research/2026-11-hnsw.md`).
pub const MIN_ROWS: u64 = 512 * 1024;
/// A graph is extended when this share of the rows that it could have is missing.
const MAX_MISSING_SHARE: f64 = 1.0 / 8.0;
/// Interval at which a build writes its unfinished graph.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// The leading segments that should have a graph and have none; empty if nothing is to be done.
pub fn missing<'s>(codebase: &Codebase, state: &'s State) -> &'s [SegmentRef] {
    let total: u64 = state.segments.iter().map(|segment| u64::from(segment.n_rows)).sum();
    let n = match codebase.settings.index.hnsw {
        HnswMode::Never => return &[],
        HnswMode::Auto if total < MIN_ROWS => return &[],
        // A graph over a segment that is merged away is lost.
        HnswMode::Auto => n_settled(&state.segments),
        HnswMode::Always => state.segments.len(),
    };

    let wanted = &state.segments[..n];
    let n_missing = rows_of(wanted) - n_covered_rows(&codebase.store(), wanted);
    if n_missing as f64 > rows_of(wanted) as f64 * MAX_MISSING_SHARE { wanted } else { &[] }
}

/// Number of rows that the largest graph over leading segments covers; 0 if it is unfinished or does not open,
/// as one of another version.
fn n_covered_rows(store: &StoreLayout, segments: &[SegmentRef]) -> u64 {
    let Some(n) = store.largest_graph(segments) else { return 0 };

    let covered = &segments[..n];
    let n_rows = covered.iter().map(|segment| segment.n_rows).sum();
    match HnswIndex::open(&store.graph(covered), n_rows) {
        Ok(graph) if certify::is_measured(graph.header()) => rows_of(covered),
        _ => 0,
    }
}

fn rows_of(segments: &[SegmentRef]) -> u64 {
    segments.iter().map(|segment| u64::from(segment.n_rows)).sum()
}

/// Builds or extends the graph that is missing. Returns whether there is a new one. Does nothing if another
/// process builds.
pub fn build_missing(codebase: &Codebase) -> Result<bool, IndexError> {
    let _lock = match Lock::try_acquire(&codebase.layout.graph_lock()) {
        Ok(lock) => lock,
        Err(StoreError::Locked { .. }) => return Ok(false),
        Err(e) => return Err(e.into()),
    };

    let store = codebase.store();
    let Some(reader) = StoreReader::open(&store)? else { return Ok(false) };
    let wanted = missing(codebase, &reader.state);
    if wanted.is_empty() {
        return Ok(false);
    }

    let embedder = embed::open(&codebase.settings.model)?;
    let questions = questions::read(&codebase.repo, &reader.segments[..wanted.len()], &*embedder)?;

    let (mut n_covered, mut graph) = match reader.graph() {
        Some((n, graph)) if n <= wanted.len() => (n, graph.to_data()),
        _ => (0, construct::empty()),
    };
    // The last file of an interrupted build, which each further one replaces.
    let mut unfinished = (n_covered > 0 && !certify::is_measured(&graph.header)).then_some(n_covered);

    loop {
        let started = Instant::now();
        while n_covered < wanted.len() && started.elapsed() < CHECKPOINT_EVERY {
            n_covered += 1;
            construct::extend(&mut graph, &RowVectors::from_segments(&reader.segments[..n_covered]));
        }

        let is_complete = n_covered == wanted.len();
        if is_complete {
            let rows = RowVectors::from_segments(&reader.segments[..n_covered]);
            questions::set_entry_points(&mut graph, &rows, &questions.samples);
            certify::measure(&mut graph, &rows, &questions.asked);
        } else {
            // Measuring takes half as long as the building since the last file.
            certify::forget(&mut graph);
        }

        // An interrupted build is resumed from the last file, which no search uses.
        write_atomically(&store.graph(&wanted[..n_covered]), &graph.encode())?;
        if let Some(replaced) = unfinished.replace(n_covered).filter(|replaced| *replaced < n_covered) {
            // One that a reader of Windows holds is left to `gc`.
            let _ = std::fs::remove_file(store.graph(&wanted[..replaced]));
        }
        if is_complete {
            return Ok(true);
        }
    }
}
