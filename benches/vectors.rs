//! Binary quantisation and HNSW compared with the exact scan, as the number of rows grows: time and
//! recall@10.
//!
//! Corpus: see `corpus.rs`, preferably a large one:
//! `CODEWEAVER_BENCH_REPO=/path/to/linux cargo bench --bench vectors`; or
//! `cargo bench --bench vectors -- DIR` for an indexed repository, in place. Sizes are 10,000 rows and up by
//! powers of √10, the leading rows of the index, and all rows. Queries are CODEWEAVER_BENCH_RUNS = 200 first
//! sentences of documentation, spread over the repository, and subjects of commits: real questions, and not
//! vectors of the index.
//!
//! HNSW is one graph over these rows, built on all cores and extended from size to size, and searched on one
//! core without a scan of anything else. Its list of candidates is the least that is sufficient for the
//! recall at which graphs are used.

mod common;

use codeweaver::index::Codebase;
use codeweaver::index::hnsw::{MIN_RECALL, certify, construct};
use codeweaver::query::retrieve::dense::DenseSearch;
use codeweaver::query::view::View;
use codeweaver::query::view::scope::Scope;
use codeweaver::query::{Ann, Searcher, Tuning, ViewRequest, WorktreeMode};
use codeweaver::store::hnsw::search::HnswSearch;
use codeweaver::store::hnsw::vectors::RowVectors;
use codeweaver::store::live::LiveRows;
use codeweaver::sys::DotKernel;
use common::{Result, Samples, corpora, row, setting};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Number of rows to retrieve: what ranking asks for.
const KEEP: usize = 300;
/// The least number of rows that is measured.
const FIRST_SIZE: f64 = 10_000.0;
/// Sizes of the candidate list of HNSW.
const EFS: [usize; 7] = [100, 300, 600, 1200, 2400, 4800, 9600];

fn main() -> Result<()> {
    let dirs: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    if dirs.is_empty() {
        corpora().iter().try_for_each(|corpus| {
            let scratch = corpus.make()?;
            scratch.codeweaver.run(["init", "--no-hooks"])?;
            measure(&scratch.name, &scratch.dir)
        })
    } else {
        dirs.iter().try_for_each(|dir| measure(&dir.display().to_string(), dir))
    }
}

fn measure(name: &str, dir: &Path) -> Result<()> {
    let searcher = Searcher::new(Codebase::open(dir, &[])?);
    let committed = ViewRequest { worktree: WorktreeMode::Exclude, ..ViewRequest::default() };
    let view = searcher.view(&committed, &|_, _| false)?;
    let embedder = searcher.embedder().ok_or("no model")?;
    let repo = &Codebase::open(dir, &[])?.repo;
    let mut queries = certify::questions(repo, &view.reader.segments, embedder)?;
    queries.truncate(setting("CODEWEAVER_BENCH_RUNS", 200));
    let total: u32 = view.reader.segments.iter().map(|segment| segment.n_rows()).sum();
    row(
        name,
        "rows, segments, queries",
        format!("{total}, {}, {}", view.reader.segments.len(), queries.len()),
    );
    let sizes = (0..).map(|i| (FIRST_SIZE * 10f64.powf(f64::from(i) / 2.0)) as u32);
    let sizes: Vec<u32> = sizes.take_while(|&size| size < total).chain([total]).collect();
    let mut graph = construct::empty();
    for size in sizes {
        let wanted = scans(name, &view, &queries, size);
        let rows = leading_rows(&view, size);
        let started = Instant::now();
        construct::extend(&mut graph, &rows);
        let built = format!("{:.0} s on all cores, extended", started.elapsed().as_secs_f64());
        row(name, &format!("{size} rows, HNSW, build"), built);
        let bytes = graph.encode().len() as f64 / f64::from(size);
        row(name, &format!("{size} rows, HNSW, on disk"), format!("{bytes:.0} bytes a row"));
        for ef in EFS {
            let (mut times, mut hits) = (Samples::default(), 0);
            for (query, tenth) in queries.iter().zip(&wanted) {
                let started = Instant::now();
                let kernel = DotKernel::new(query);
                let search = HnswSearch { layers: &graph, rows: &rows, kernel: &kernel };
                let found = search.nearest(ef, &|_| true);
                times.push(started.elapsed());
                hits += found.iter().take(10).filter(|found| found.0 as f32 >= *tenth).count();
            }
            let recall = hits as f64 / (10 * queries.len()) as f64;
            row(name, &format!("{size} rows, HNSW, ef {ef}"), format!("recall@10 {recall:.4}, {times}"));
            if recall >= f64::from(MIN_RECALL) {
                break;
            }
        }
    }
    Ok(())
}

/// Measures both scans of the leading `size` rows and returns the tenth-best product of each query.
fn scans(name: &str, view: &View, queries: &[Vec<i8>], size: u32) -> Vec<f32> {
    let mut left = size;
    let rows = view.reader.segments.iter().map(|segment| leading(segment.n_rows(), &mut left)).collect();
    let (absent_languages, absent_paths) = (Vec::new(), Vec::new());
    let scope = Scope { rows, n_rows: u64::from(size), absent_languages, absent_paths };
    let run = |ann| -> (Samples, Vec<Vec<f32>>) {
        let mut times = Samples::default();
        let found = queries.iter().enumerate().map(|(i, query)| {
            let started = Instant::now();
            let scores = nearest(view, &scope, query, ann);
            // The first round maps the files.
            if i > 0 {
                times.push(started.elapsed());
            }
            scores
        });
        let found = found.collect();
        (times, found)
    };
    let (times, exact) = run(Ann::Exact);
    row(name, &format!("{size} rows, exact scan"), times);
    let (times, estimated) = run(Ann::Signs);
    // Equal vectors are common in code: every row as near as the last counts as found.
    let recall = |k: usize| {
        let hits = exact.iter().zip(&estimated).map(|(exact, found)| {
            found.iter().take(k).filter(|score| **score >= exact[k.min(exact.len()) - 1]).count()
        });
        hits.sum::<usize>() as f64 / (k * queries.len()) as f64
    };
    let recalls = format!("recall@10 {:.4}, recall@{KEEP} {:.4}", recall(10), recall(KEEP));
    row(name, &format!("{size} rows, binary quantisation"), format!("{recalls}, {times}"));
    exact.iter().map(|scores| scores[9]).collect()
}

/// The best products, best first.
fn nearest(view: &View, scope: &Scope, query: &[i8], ann: Ann) -> Vec<f32> {
    let kernel = &DotKernel::new(query);
    let tuning = Tuning::default();
    let search = DenseSearch { view, scope, vector: query, kernel, k: KEEP, tuning, is_over: &|| false };
    let mut scores: Vec<f32> = search.nearest(ann).rows.into_iter().map(|row| row.0).collect();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores.truncate(KEEP);
    scores
}

/// The first `left` rows of a segment, which are then no longer left.
fn leading(n_rows: u32, left: &mut u32) -> LiveRows {
    let n = n_rows.min(*left);
    *left -= n;
    let mut rows = LiveRows::empty(n_rows);
    rows.insert(0, n);
    rows.seal();
    rows
}

fn leading_rows(view: &View, size: u32) -> RowVectors<'_> {
    let mut left = size;
    let parts = view.reader.segments.iter().map(|segment| {
        let n = segment.n_rows().min(left);
        left -= n;
        &segment.vectors()[..n as usize * segment.dim()]
    });
    let dim = view.reader.segments.iter().map(|segment| segment.dim()).max().unwrap_or(1);
    RowVectors::new(parts.collect::<Vec<_>>().into_iter(), dim)
}
