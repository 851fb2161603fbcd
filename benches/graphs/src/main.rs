//! Our graphs beside those of `hnsw_rs`, over the same rows: time to build, and time of a search at equal
//! recall.
//!
//! `cargo run --release --package codeweaver-bench-graphs -- DIR` for an indexed repository, in place.
//! CODEWEAVER_BENCH_ROWS = 100000 leading rows of the index, CODEWEAVER_BENCH_RUNS = 200 questions (see
//! `benches/vectors.rs`). CODEWEAVER_BENCH_SERIAL = 0 leaves out the serial builds of `hnsw_rs`, which are
//! the deterministic ones and take longest: in the order of the index, and in a random one.
//!
//! The second line of our graph is that with sample questions, at whose rows the search for a question
//! begins.
//!
//! All graphs have at most 28 links a row on level 0 and a list of 200 candidates while they are built: ours
//! and the parallel ones on all cores. Those of `hnsw_rs` are copied into our form, so that the same code
//! searches all of them, on one core. All times are by the clock, so nothing else should run.
//!
//! CODEWEAVER_BENCH_VECTORS = FOLDER also writes the rows and the questions, which `python3
//! benches/graphs/graphs.py FOLDER` builds graphs of with hnswlib and usearch. It prints the same table.

#[path = "../../common/mod.rs"]
mod common;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hnsw_rs::prelude::{Distance, Hnsw};

use codeweaver::query::{Searcher, ViewRequest, WorktreeMode};
use codeweaver_base::sys;
use codeweaver_index::Codebase;
use codeweaver_index::build::SEAL_ROWS;
use codeweaver_index::hnsw::{construct, questions};
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{EntryPoints, HnswData, HnswHeader, NONE};

use common::{Result, row, setting};
use table::Table;

/// Links of a row above level 0, half of those on it, and size of the candidate list of construction.
const M: usize = 14;
const EF_CONSTRUCTION: usize = 200;
const MAX_LAYERS: usize = 16;

fn main() -> Result<()> {
    let dirs = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    for dir in dirs {
        compare(&Vectors::read(Path::new(&dir))?)?;
    }
    Ok(())
}

/// The rows to build graphs of, and the questions to search them for.
struct Vectors {
    name: String,
    /// Row-major.
    rows: Vec<i8>,
    dim: usize,
    questions: Vec<Vec<i8>>,
    /// Questions at whose rows searches of our graph begin.
    samples: Vec<Vec<i8>>,
}

impl Vectors {
    /// Reads the leading rows of the index of `dir`, in its order.
    fn read(dir: &Path) -> Result<Vectors> {
        let searcher = Searcher::new(Codebase::open(dir, &[])?);
        let committed = ViewRequest { worktree: WorktreeMode::Exclude, ..ViewRequest::default() };
        let view = searcher.view(&committed, &|_, _| false)?;
        let segments = &view.reader.segments;

        let embedder = searcher.embedder().ok_or("no model")?;
        let repo = Codebase::open(dir, &[])?.repo;
        let questions::Questions { asked: mut questions, samples } =
            questions::read(&repo, segments, embedder)?;
        questions.truncate(setting("CODEWEAVER_BENCH_RUNS", 200));

        let all = RowVectors::from_segments(segments);
        let n_rows = u32::try_from(setting("CODEWEAVER_BENCH_ROWS", 100_000))?.min(all.n_rows());
        if n_rows == 0 || questions.is_empty() {
            return Err(
                "the repository has no rows, or neither documentation nor commits to ask about".into()
            );
        }

        let rows = (0..n_rows).flat_map(|row| all.at(row)).copied().collect();
        Ok(Vectors { name: dir.display().to_string(), rows, dim: all.at(0).len(), questions, samples })
    }

    /// The first `n_rows` rows.
    fn leading(&self, n_rows: usize) -> RowVectors<'_> {
        RowVectors::new([&self.rows[..n_rows * self.dim]].into_iter(), self.dim)
    }

    fn n_rows(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// Writes `rows.i8`, `questions.i8` and `shape.json` into `folder`.
    fn write(&self, folder: &Path) -> Result<()> {
        let shape = serde_json::json!({ "dim": self.dim, "name": self.name });
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("rows.i8"), bytes_of(&self.rows))?;
        std::fs::write(folder.join("questions.i8"), bytes_of(&self.questions.concat()))?;
        std::fs::write(folder.join("shape.json"), shape.to_string())?;
        Ok(())
    }
}

fn bytes_of(vectors: &[i8]) -> Vec<u8> {
    vectors.iter().map(|&x| x.cast_unsigned()).collect()
}

fn compare(vectors: &Vectors) -> Result<()> {
    row(&vectors.name, "rows, questions", format!("{}, {}", vectors.n_rows(), vectors.questions.len()));
    if let Some(folder) = std::env::var_os("CODEWEAVER_BENCH_VECTORS").map(PathBuf::from) {
        vectors.write(&folder)?;
    }

    let rows = vectors.leading(vectors.n_rows());
    let table = Table::new(&rows, &vectors.questions);
    let (mut graph, built) = ours(vectors);
    table.add("ours", built, &graph);
    let started = Instant::now();
    questions::set_entry_points(&mut graph, &rows, &vectors.samples);
    table.add("ours, from sample questions", built + started.elapsed(), &graph);

    for (name, build) in [
        ("hnsw_rs, parallel", Build::Parallel),
        ("hnsw_rs, serial", Build::Serial),
        ("hnsw_rs, serial, shuffled", Build::Shuffled),
    ] {
        if build == Build::Parallel || setting("CODEWEAVER_BENCH_SERIAL", 1) != 0 {
            let (graph, built) = theirs(&rows, build);
            table.add(name, built, &graph);
        }
    }
    Ok(())
}

/// Our graph, extended segment by segment as in an index, and the time that took.
fn ours(vectors: &Vectors) -> (HnswData, Duration) {
    let started = Instant::now();
    let mut graph = construct::empty();
    for n_rows in (SEAL_ROWS..vectors.n_rows()).step_by(SEAL_ROWS).chain([vectors.n_rows()]) {
        construct::extend(&mut graph, &vectors.leading(n_rows));
    }
    (graph, started.elapsed())
}

/// The order in which `hnsw_rs` inserts rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    Parallel,
    Serial,
    /// One after the other, in a random order.
    Shuffled,
}

/// The graph of `hnsw_rs`, and the time to build it without the copying.
fn theirs(rows: &RowVectors<'_>, build: Build) -> (HnswData, Duration) {
    let n_rows = rows.n_rows();
    let longest = (0..n_rows).map(|row| sys::dot(rows.at(row), rows.at(row))).max().unwrap_or(1).max(1);
    let distance = Angular { unit: 1.0 / longest as f32 };

    let started = Instant::now();
    let mut hnsw = Hnsw::<i8, Angular>::new(M, n_rows as usize, MAX_LAYERS, EF_CONSTRUCTION, distance);
    // As in ours, a row fills its links with candidates that are not diverse.
    hnsw.set_keeping_pruned(true);
    let mut all: Vec<(&[i8], usize)> = (0..n_rows).map(|row| (rows.at(row), row as usize)).collect();
    if build == Build::Shuffled {
        fastrand::Rng::with_seed(9).shuffle(&mut all);
    }
    if build == Build::Parallel {
        hnsw.parallel_insert_slice(&all);
    } else {
        all.into_iter().for_each(|row| hnsw.insert_slice(row));
    }
    let built = started.elapsed();

    (copied(&hnsw, n_rows), built)
}

/// Distance of int8 vectors that falls as their product grows. Never negative, which `hnsw_rs` asserts.
#[derive(Clone, Copy, Default)]
struct Angular {
    unit: f32,
}

impl Distance<i8> for Angular {
    fn eval(&self, a: &[i8], b: &[i8]) -> f32 {
        (1.0 - sys::dot(a, b) as f32 * self.unit).max(0.0)
    }
}

fn copied(hnsw: &Hnsw<'_, i8, Angular>, n_rows: u32) -> HnswData {
    let mut level0: Vec<Vec<u32>> = vec![Vec::new(); n_rows as usize];
    let mut upper: Vec<BTreeMap<u32, Vec<u32>>> = Vec::new();
    let mut entry = (0, 0);

    for point in hnsw.get_point_indexation() {
        let (row, top) = (point.get_origin_id() as u32, usize::from(point.get_point_id().0));
        let mut levels = point.get_neighborhood_id().into_iter().map(|neighbours| {
            neighbours.iter().map(|neighbour| neighbour.get_origin_id() as u32).collect::<Vec<u32>>()
        });

        entry = entry.max((top, row));
        upper.resize_with(upper.len().max(top), BTreeMap::new);
        level0[row as usize] = levels.next().unwrap_or_default();
        for (level, neighbours) in upper[..top].iter_mut().zip(levels) {
            level.insert(row, neighbours);
        }
    }

    let width = level0.iter().map(Vec::len).max().unwrap_or(0);
    level0.iter_mut().for_each(|neighbours| neighbours.resize(width, NONE));
    let header = HnswHeader { n_rows, width: width as u32, entry: entry.1, ..HnswHeader::default() };
    HnswData { header, level0: level0.concat(), upper, entry_points: EntryPoints::default() }
}
