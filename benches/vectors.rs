//! Binary quantisation and HNSW compared with the exact scan, as the number of rows grows: time and recall,
//! for 300 rows retrieved, as ranking asks for, and for 10.
//!
//! Corpus: see `corpus.rs`, preferably a large one:
//! `CODEWEAVER_BENCH_REPO=/path/to/linux cargo bench --bench vectors`; or
//! `cargo bench --bench vectors -- DIR` for an indexed repository, in place. Sizes are 10,000 rows and up by
//! powers of √10, the leading rows of the index, and all rows. Queries are CODEWEAVER_BENCH_RUNS = 200 first
//! sentences of documentation, spread over the repository, and subjects of commits: real questions, and not
//! vectors of the index.
//!
//! CODEWEAVER_BENCH_ROWS = 10000000 appends synthetic rows up to that number (see `vectors/synthetic.rs`):
//! segments like those of the index, but in memory, of which a row of 256 dimensions takes 360 bytes.
//!
//! HNSW is one graph over these rows, built on all cores and extended from size to size, and searched on one
//! core without a scan of anything else. Its lists of candidates are tried in turn, up to the least at which
//! both the best 300 and the best 10 rows are found with the recall at which graphs are used. Graphs are
//! built for sizes up to CODEWEAVER_BENCH_GRAPH_ROWS, by default the rows of the index, since building one
//! takes minutes from half a million rows on, and 350 bytes of memory a row while it is encoded for its size.
//!
//! CODEWEAVER_BENCH_STORED = 1 measures the graph of the store in place of these, over the rows that it
//! covers, which takes a minute for a million rows. `CODEWEAVER_INDEX_HNSW=always git codeweaver index` builds
//! it and waits; by default it is built in the background, and of large stores only.
//!
//! CODEWEAVER_BENCH_JSON = FILE also writes the figures as JSON lines, which `python3 benches/vectors FILE`
//! makes tables and a plot of.

mod common;
#[path = "vectors/figures.rs"]
mod figures;
#[path = "vectors/synthetic.rs"]
mod synthetic;

use std::path::{Path, PathBuf};
use std::time::Instant;

use codeweaver::query::retrieve::dense::DenseSearch;
use codeweaver::query::view::scope::Scope;
use codeweaver::query::view::{RowId, View};
use codeweaver::query::{Ann, Searcher, Tuning, ViewRequest, WorktreeMode};
use codeweaver_base::sys::DotKernel;
use codeweaver_index::Codebase;
use codeweaver_index::hnsw::{certify, construct, questions};
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswData, Layers, QueryKind};
use codeweaver_store::live::LiveRows;

use common::{Result, Samples, corpora, row, setting};
use figures::{Figure, Figures};

/// Number of rows to retrieve: what ranking asks for, and what a list of matches shows.
const KEEP: usize = 300;
const KEEP_FEW: usize = 10;
/// The least number of rows that is measured.
const FIRST_SIZE: f64 = 10_000.0;
/// Sizes of the candidate list of HNSW.
const EFS: [usize; 11] = [50, 100, 300, 400, 600, 800, 1200, 2400, 4800, 9600, 19_200];

fn main() -> Result<()> {
    let dirs: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    let mut figures = Figures::open()?;
    if dirs.is_empty() {
        corpora().iter().try_for_each(|corpus| {
            let scratch = corpus.make()?;
            scratch.codeweaver.run(["init", "--no-hooks"])?;
            measure(&scratch.name, &scratch.dir, &mut figures)
        })
    } else {
        dirs.iter().try_for_each(|dir| measure(&dir.display().to_string(), dir, &mut figures))
    }
}

fn measure(name: &str, dir: &Path, figures: &mut Figures) -> Result<()> {
    let searcher = Searcher::new(Codebase::open(dir, &[])?);
    let committed = ViewRequest { worktree: WorktreeMode::Exclude, ..ViewRequest::default() };
    let mut view = searcher.view(&committed, &|_, _| false)?;
    let embedder = searcher.embedder().ok_or("no model")?;
    let repo = &Codebase::open(dir, &[])?.repo;
    let questions = questions::read(repo, &view.reader.segments, embedder)?;
    let mut queries = questions.asked;
    queries.truncate(setting("CODEWEAVER_BENCH_RUNS", 200));
    let indexed: u32 = view.reader.segments.iter().map(|segment| segment.n_rows()).sum();
    if indexed == 0 || queries.is_empty() {
        return Err("the repository has no rows, or neither documentation nor commits to ask about".into());
    }
    row(
        name,
        "rows, segments, queries",
        format!("{indexed}, {}, {}", view.reader.segments.len(), queries.len()),
    );
    let total = u32::try_from(setting("CODEWEAVER_BENCH_ROWS", 0))?.max(indexed);
    if total > indexed {
        row(name, "synthetic rows", synthetic::append(&mut view, total - indexed)?);
    }
    let graph_rows = setting("CODEWEAVER_BENCH_GRAPH_ROWS", indexed as usize);
    let samples = &questions.samples;
    let mut bench = Bench { name, view: &view, queries: &queries, samples, indexed, figures };

    if setting("CODEWEAVER_BENCH_STORED", 0) != 0 {
        let (n, graph) = view.reader.graph().ok_or(
            "the store has no graph: `CODEWEAVER_INDEX_HNSW=always git codeweaver index` builds one and \
             waits for it",
        )?;
        let size = view.reader.segments[..n].iter().map(|segment| segment.n_rows()).sum();
        let exact = bench.scans(size)?;
        return bench.searches(&*graph, size, &exact);
    }

    let mut graph = construct::empty();
    for size in sizes(indexed, total) {
        let exact = bench.scans(size)?;
        if size as usize <= graph_rows {
            bench.hnsw(&mut graph, size, &exact)?;
        }
    }
    Ok(())
}

/// The numbers of rows to measure, ascending.
fn sizes(indexed: u32, total: u32) -> Vec<u32> {
    let powers = (0..).map(|i| (FIRST_SIZE * 10f64.powf(f64::from(i) / 2.0)) as u32);
    let mut sizes: Vec<u32> = powers.take_while(|&size| size < total).chain([indexed, total]).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

struct Bench<'a> {
    name: &'a str,
    view: &'a View,
    queries: &'a [Vec<i8>],
    /// Questions at whose rows searches of a graph begin.
    samples: &'a [Vec<i8>],
    /// Rows that are not synthetic.
    indexed: u32,
    figures: &'a mut Figures,
}

impl Bench<'_> {
    /// Measures both scans of the leading `size` rows and returns the best products of each query.
    fn scans(&mut self, size: u32) -> Result<Vec<Vec<f32>>> {
        let scope = leading_scope(self.view, size);
        let (times, exact) = self.scan(&scope, Ann::Exact, KEEP);
        let (times_of_few, _) = self.scan(&scope, Ann::Exact, KEEP_FEW);
        for (keep, times) in [(KEEP, times), (KEEP_FEW, times_of_few)] {
            self.record(Figure::new(size, "exact scan", keep, 1.0, &times))?;
            row(self.name, &format!("{size} rows, exact scan, {keep} kept"), times);
        }
        for keep in [KEEP, KEEP_FEW] {
            let (times, found) = self.scan(&scope, Ann::Signs, keep);
            let figure = Figure::new(size, "binary quantisation", keep, recall(&exact, &found, keep), &times);
            self.record(figure)?;
            let recalls = recalls(&exact, &found, keep);
            let what = format!("{size} rows, binary quantisation, {keep} kept");
            row(self.name, &what, format!("{recalls}{times}"));
        }
        Ok(exact)
    }

    /// The times of a scan, and for each query the best products.
    fn scan(&self, scope: &Scope, ann: Ann, keep: usize) -> (Samples, Vec<Vec<f32>>) {
        let mut times = Samples::default();
        let found = self.queries.iter().enumerate().map(|(i, query)| {
            let started = Instant::now();
            let nearest = nearest(self.view, scope, query, (ann, keep));
            // The first round maps the files.
            if i > 0 {
                times.push(started.elapsed());
            }
            nearest.into_iter().map(|(product, _)| product).collect()
        });
        let found = found.collect();
        (times, found)
    }

    /// Extends the graph to the leading `size` rows and measures it.
    fn hnsw(&mut self, graph: &mut HnswData, size: u32, exact: &[Vec<f32>]) -> Result<()> {
        let rows = leading_rows(self.view, size);
        let started = Instant::now();
        construct::extend(graph, &rows);
        questions::set_entry_points(graph, &rows, self.samples);
        let built = format!("{:.0} s on all cores, extended", started.elapsed().as_secs_f64());
        row(self.name, &format!("{size} rows, HNSW, build"), built);
        let bytes = graph.encode().len() as f64 / f64::from(size);
        row(self.name, &format!("{size} rows, HNSW, on disk"), format!("{bytes:.0} bytes a row"));
        self.searches(&*graph, size, exact)
    }

    /// Measures a graph over the leading `size` rows, with lists of candidates up to the first that is
    /// sufficient.
    fn searches(&mut self, graph: &impl Layers, size: u32, exact: &[Vec<f32>]) -> Result<()> {
        let rows = leading_rows(self.view, size);

        for ef in EFS {
            let (mut times, mut found) = (Samples::default(), Vec::new());
            for query in self.queries {
                let started = Instant::now();
                let kernel = DotKernel::new(query);
                let search = HnswSearch { layers: graph, rows: &rows, kernel: &kernel };
                let nearest = search.nearest_to(QueryKind::Question, ef, &|_| true);
                times.push(started.elapsed());
                found.push(nearest.into_iter().take(KEEP).map(|(product, _)| product as f32).collect());
            }
            let mut is_sufficient = ef >= KEEP;
            // A list finds at most as many rows as it has room for.
            for keep in [KEEP_FEW, KEEP].into_iter().filter(|&keep| keep <= ef) {
                let recall = recall(exact, &found, keep);
                let figure = Figure { ef: Some(ef), ..Figure::new(size, "HNSW", keep, recall, &times) };
                self.record(figure)?;
                is_sufficient &= recall >= f64::from(certify::min_recall(keep));
            }
            let recalls = recalls(exact, &found, ef);
            row(self.name, &format!("{size} rows, HNSW, ef {ef}"), format!("{recalls}{times}"));
            if is_sufficient {
                break;
            }
        }
        Ok(())
    }

    fn record(&mut self, figure: Figure<'_>) -> Result<()> {
        self.figures.record(self.name, self.indexed, &figure)
    }
}

/// Share of the best `keep` rows of each query that were found, of products that are sorted, best first.
///
/// Equal vectors are common in code: every row as near as the last counts as found.
fn recall(exact: &[Vec<f32>], found: &[Vec<f32>], keep: usize) -> f64 {
    let (mut hits, mut wanted) = (0, 0);
    for (exact, found) in exact.iter().zip(found) {
        let exact = &exact[..keep.min(exact.len())];
        let Some(last) = exact.last() else { continue };
        hits += found.iter().take(exact.len()).filter(|product| *product >= last).count();
        wanted += exact.len();
    }
    hits as f64 / wanted as f64
}

/// The recalls of those numbers of rows that at most `keep` retrieved ones can have, as text.
fn recalls(exact: &[Vec<f32>], found: &[Vec<f32>], keep: usize) -> String {
    let keeps = [KEEP_FEW, KEEP].into_iter().filter(|&of| of <= keep);
    keeps.map(|of| format!("recall@{of} {:.4}, ", recall(exact, found, of))).collect()
}

/// The `keep` best rows with their products, best first.
fn nearest(view: &View, scope: &Scope, query: &[i8], (ann, keep): (Ann, usize)) -> Vec<(f32, RowId)> {
    let kernel = &DotKernel::new(query);
    let tuning = Tuning::default();
    let search = DenseSearch {
        view,
        scope,
        vector: query,
        kernel,
        kind: QueryKind::Question,
        k: keep,
        tuning,
        is_over: &|| false,
    };
    let mut rows = search.nearest(ann).rows;
    let best_first = |a: &(f32, RowId), b: &(f32, RowId)| b.0.total_cmp(&a.0);
    // Each segment has found its own best, which are far more.
    if rows.len() > keep {
        rows.select_nth_unstable_by(keep, best_first);
        rows.truncate(keep);
    }
    rows.sort_unstable_by(best_first);
    rows
}

/// The leading `size` rows, or all.
fn leading_scope(view: &View, size: u32) -> Scope {
    let mut left = size;
    let segments = &view.reader.segments;
    let rows: Vec<LiveRows> = segments.iter().map(|segment| leading(segment.n_rows(), &mut left)).collect();
    let n_rows = rows.iter().map(|rows| u64::from(rows.n_live())).sum();
    Scope { rows, n_rows, absent_languages: Vec::new(), absent_paths: Vec::new() }
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
