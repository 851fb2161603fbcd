//! Construction of HNSW for large segments, after the index is usable and off the critical path.
//!
//! `hnsw_rs` inserts serially, which is deterministic; the result is frozen into a flat file
//! ([`crate::store::hnsw`]). The library prints and may exit on errors, so this runs in a child process. The
//! recall of every graph is measured before it is written, and the planner relies on that figure alone.

use super::codebase::Codebase;
use super::error::IndexError;
use crate::config::HnswMode;
use crate::store::hnsw::{HnswData, HnswHeader, HnswIndex, HnswLimits};
use crate::store::layout::write_atomically;
use crate::store::live::LiveRows;
use crate::store::lock::Lock;
use crate::store::segment::Segment;
use crate::store::state::State;
use crate::store::{StoreError, StoreReader, shard};
use crate::sys::DotKernel;
use hnsw_rs::prelude::{Distance, Hnsw};

/// Number of rows in all below which no HNSW is built or searched by default. At 1,138,989 rows the
/// binary-quantised scan takes half the time and finds more (`docs/performance.md`). Above that size nothing
/// was measured.
pub const MIN_ROWS: u64 = 16_000_000;
/// Segments with fewer rows are always scanned.
const MIN_SEGMENT_ROWS: u32 = 24 * 1024;
/// As [`MIN_SEGMENT_ROWS`] with `index.hnsw = "always"`, which exists for tests and experiments.
const MIN_SEGMENT_ROWS_ALWAYS: u32 = 64;

/// Neighbours per row (twice as many on level 0), and the candidate list while building.
const M: usize = 12;
const EF_CONSTRUCTION: usize = 64;
/// Sizes of the candidate list, tried in order until the recall is sufficient.
const EFS: [u32; 4] = [96, 192, 384, 768];
/// Minimum recall of a usable graph.
pub const MIN_RECALL: f32 = 0.98;
const SAMPLE: u32 = 200;

/// Names of segments that should have an HNSW and have none.
pub fn missing(codebase: &Codebase, state: &State) -> Vec<String> {
    let total: u64 = state.segments.iter().map(|segment| u64::from(segment.n_rows)).sum();
    let least = match codebase.settings.index.hnsw {
        HnswMode::Never => return Vec::new(),
        HnswMode::Auto if total < MIN_ROWS => return Vec::new(),
        HnswMode::Auto => MIN_SEGMENT_ROWS,
        HnswMode::Always => MIN_SEGMENT_ROWS_ALWAYS,
    };
    let wanted = state.segments.iter().filter(|segment| segment.n_rows >= least);
    wanted.map(|segment| segment.name.clone()).filter(|name| !codebase.store().graph(name).exists()).collect()
}

/// Builds what is missing and returns the number of graphs built. Does nothing if another process builds.
pub fn build_missing(codebase: &Codebase) -> Result<usize, IndexError> {
    let _lock = match Lock::try_acquire(&codebase.layout.graph_lock()) {
        Ok(lock) => lock,
        Err(StoreError::Locked { .. }) => return Ok(0),
        Err(e) => return Err(e.into()),
    };
    let Some(reader) = StoreReader::open(&codebase.store())? else { return Ok(0) };
    let mut n_built = 0;
    for name in missing(codebase, &reader.state) {
        let Some(i) = reader.state.segments.iter().position(|segment| segment.name == name) else { continue };
        let graph = build(&reader.segments[i])?;
        write_atomically(&reader.layout.graph(&name), &graph.encode())?;
        n_built += 1;
    }
    Ok(n_built)
}

/// Distance of int8 unit vectors, 1 − cosine. Never negative, which `hnsw_rs` asserts.
#[derive(Clone, Copy, Default)]
struct Angular {
    unit: f32,
}

impl Distance<i8> for Angular {
    fn eval(&self, a: &[i8], b: &[i8]) -> f32 {
        let dot: i32 = a.iter().zip(b).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
        (1.0 - dot as f32 * self.unit).max(0.0)
    }
}

fn build(segment: &Segment) -> Result<HnswData, IndexError> {
    let n_rows = segment.n_rows();
    debug_assert!(n_rows as usize <= shard::MAX_ROWS);
    let longest = (0..n_rows).map(|row| norm(segment.vector(row))).max().unwrap_or(1).max(1);
    let hnsw = Hnsw::<i8, Angular>::new(
        M,
        n_rows as usize,
        16,
        EF_CONSTRUCTION,
        Angular { unit: 1.0 / longest as f32 },
    );
    for row in 0..n_rows {
        hnsw.insert_slice((segment.vector(row), row as usize));
    }
    let mut data = freeze(&hnsw, n_rows);
    measure(&mut data, segment)?;
    Ok(data)
}

fn norm(vector: &[i8]) -> i32 {
    vector.iter().map(|&x| i32::from(x) * i32::from(x)).sum()
}

fn freeze(hnsw: &Hnsw<'_, i8, Angular>, n_rows: u32) -> HnswData {
    let mut level0 = vec![Vec::new(); n_rows as usize];
    let mut upper: Vec<Vec<(u32, Vec<u32>)>> = Vec::new();
    let mut entry = (0u8, 0u32);
    for point in hnsw.get_point_indexation() {
        let row = point.get_origin_id() as u32;
        let top = point.get_point_id().0;
        if top > entry.0 {
            entry = (top, row);
        }
        let neighbours = point.get_neighborhood_id();
        let ids = |level: usize| -> Vec<u32> {
            neighbours[level].iter().map(|n| n.get_origin_id() as u32).collect()
        };
        level0[row as usize] = ids(0);
        for level in 1..=usize::from(top) {
            if upper.len() < level {
                upper.resize_with(level, Vec::new);
            }
            upper[level - 1].push((row, ids(level)));
        }
    }
    upper.iter_mut().for_each(|level| level.sort_unstable());
    let width = level0.iter().map(Vec::len).max().unwrap_or(0) as u32;
    let header = HnswHeader { n_rows, width, entry: entry.1, ef: EFS[0], recall: 0.0, zero: 0 };
    HnswData { header, level0, upper }
}

/// Finds the smallest candidate list at which the graph agrees with the exact scan, and writes list size and
/// recall into the header.
fn measure(data: &mut HnswData, segment: &Segment) -> Result<(), IndexError> {
    let graph = HnswIndex::in_memory(data)?;
    let n_rows = data.header.n_rows;
    let mut all = LiveRows::empty(n_rows);
    all.insert(0, n_rows);
    all.seal();
    let vectors = segment.vectors();
    let samples: Vec<u32> = (0..SAMPLE.min(n_rows))
        .map(|i| (u64::from(i) * u64::from(n_rows) / u64::from(SAMPLE.min(n_rows))) as u32)
        .collect();
    for ef in EFS {
        let (mut hits, mut wanted) = (0usize, 0usize);
        for &row in &samples {
            let kernel = DotKernel::new(segment.vector(row));
            let mut exact: Vec<i32> = (0..n_rows).map(|r| kernel.dot(segment.vector(r))).collect();
            let keep = 10.min(exact.len());
            exact.sort_unstable_by(|a, b| b.cmp(a));
            let found = graph.search(vectors, &kernel, &all, HnswLimits { keep, ef: ef as usize });
            // Equal vectors are common in code: every row with the product of the tenth-best counts as found.
            hits += found.iter().filter(|(dot, _)| *dot >= exact[keep - 1]).count();
            wanted += keep;
        }
        data.header.ef = ef;
        data.header.recall = if wanted == 0 { 1.0 } else { hits as f32 / wanted as f32 };
        if data.header.recall >= MIN_RECALL {
            break;
        }
    }
    Ok(())
}
