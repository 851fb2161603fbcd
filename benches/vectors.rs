//! Binary quantisation and HNSW compared with the exact scan: recall@10 and time.
//!
//! Corpus: see `corpus.rs`, preferably a large one:
//! `CODEWEAVER_BENCH_REPO=/path/to/linux cargo bench --bench vectors`; or
//! `cargo bench --bench vectors -- DIR` for an indexed repository, in place. HNSW graphs are built for every
//! segment of at least 24 k rows. Queries are CODEWEAVER_BENCH_RUNS = 200 first sentences of documentation,
//! spread over the repository: similar to real queries, and not vectors of the index.

mod common;

use codeweaver::embed::Embedder;
use codeweaver::index::{Codebase, hnsw};
use codeweaver::query::retrieve::dense::DenseSearch;
use codeweaver::query::view::View;
use codeweaver::query::view::scope::Scope;
use codeweaver::query::{Ann, Filters, Searcher, Tuning, ViewRequest, WorktreeMode};
use codeweaver::store::StoreReader;
use codeweaver::sys::DotKernel;
use common::{Result, Samples, corpora, mib, row, setting};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers of rows to retrieve: what ranking asks for, and the k of recall@10.
const KEEPS: [usize; 2] = [300, 10];

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
    let hnsw = [("index.hnsw".to_owned(), "always".to_owned())];
    let codebase = Codebase::open(dir, &hnsw)?;
    let started = Instant::now();
    let mut n_graphs = hnsw::build_missing(&codebase)?;
    // In a large repository a background process may be building graphs as well.
    while graph_is_missing(&codebase)? {
        std::thread::sleep(Duration::from_millis(500));
        n_graphs += hnsw::build_missing(&codebase)?;
    }
    row(
        name,
        "HNSW graphs built",
        format!("{n_graphs} in {:.0} s, one core", started.elapsed().as_secs_f64()),
    );

    let searcher = Searcher::new(Codebase::open(dir, &[])?);
    let committed = ViewRequest { worktree: WorktreeMode::Exclude, ..ViewRequest::default() };
    let view = searcher.view(&committed, &|_, _| false)?;
    let scope = view.scope(&Filters { include_tests: true, ..Filters::default() });
    let embedder = searcher.embedder().ok_or("no model")?;
    let graphs = view.reader.layout.graph("");
    let of_graphs = graphs.parent().map(common::process::disk_use).unwrap_or_default();
    row(name, "rows, segments", format!("{}, {}", scope.n_rows, view.reader.segments.len()));
    row(name, "HNSW graphs on disk", mib(of_graphs));
    let queries = queries(&view, embedder, setting("CODEWEAVER_BENCH_RUNS", 200))?;
    for keep in KEEPS {
        compare(name, &view, &scope, &queries, keep);
    }
    Ok(())
}

fn graph_is_missing(codebase: &Codebase) -> Result<bool> {
    let reader = StoreReader::open(&codebase.store())?.ok_or("no index")?;
    Ok(!hnsw::missing(codebase, &reader.state).is_empty())
}

fn compare(name: &str, view: &View, scope: &Scope, queries: &[Vec<i8>], keep: usize) {
    let mut exact_times = Samples::default();
    let others = [(Ann::Signs, "binary quantisation"), (Ann::Hnsw, "HNSW")];
    let mut found = others.map(|_| (Samples::default(), 0));
    let mut wanted = 0;
    for (i, query) in queries.iter().enumerate() {
        let kernel = &DotKernel::new(query);
        let search = DenseSearch {
            view,
            scope,
            vector: query,
            kernel,
            k: keep,
            tuning: Tuning::default(),
            is_over: &|| false,
        };
        let timed = |ann, samples: &mut Samples| {
            let started = Instant::now();
            let mut rows = search.nearest(ann).rows;
            // The first round maps the files.
            if i > 0 {
                samples.push(started.elapsed());
            }
            rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            rows.truncate(10);
            rows
        };
        let exact = timed(Ann::Exact, &mut exact_times);
        // Equal vectors are common in code: every row as near as the tenth counts as found.
        let tenth = exact.last().map_or(0.0, |row| row.0);
        wanted += exact.len();
        for ((ann, _), (times, hits)) in others.iter().zip(&mut found) {
            *hits += timed(*ann, times).iter().filter(|row| row.0 >= tenth).count();
        }
    }
    row(name, &format!("exact scan, all cores, {keep} kept"), exact_times);
    for ((_, what), (times, hits)) in others.iter().zip(found) {
        let recall = hits as f64 / wanted as f64;
        row(name, &format!("recall@10, {what}, {keep} kept"), format!("{recall:.4}"));
        row(name, &format!("{what}, all cores, {keep} kept"), times);
    }
}

/// Vectors of `n` first sentences of documentation, of symbols spread evenly over the rows.
fn queries(view: &View, embedder: &dyn Embedder, n: usize) -> Result<Vec<Vec<i8>>> {
    let mut sentences: Vec<&str> = Vec::new();
    for segment in &view.reader.segments {
        let symbols = segment.rows().iter().flat_map(|row| segment.symbols_of(row));
        sentences.extend(
            symbols.map(|symbol| segment.string(symbol.doc)).filter(|doc| doc.split(' ').count() > 4),
        );
    }
    let step = (sentences.len() / n).max(1);
    sentences.iter().step_by(step).take(n).map(|sentence| Ok(embedder.embed_query(sentence)?)).collect()
}
