//! The quality of the ranking at several recalls of the vector search: what it loses with the rows that an
//! HNSW graph misses.
//!
//! `cargo bench --bench recall -- SUITE REPOS [NAME]`, as for `git codeweaver eval run`; NAME is that of the
//! repository if the suite is one file. The whole of each repository is searched, by the exact scan and by
//! its graph with lists of candidates of several sizes. A graph that is missing is built. For each size, the
//! bench prints the recall of the best 10 and 300 rows, the mean NDCG@10, the share of queries whose first
//! file is a labelled one, and the number of queries whose first file and whose first ten files are those of
//! the exact scan. Queries of one word count everywhere but in the recalls.
//!
//! Each size is written into the file of the graph, and the former recalls are written back at the end, but
//! not after an interruption. Use the repositories for nothing else meanwhile.

mod common;

use std::path::Path;
use std::sync::Arc;

use codeweaver::query::Ann;
use codeweaver::query::rank::WEIGHTS;
use codeweaver::query::retrieve::dense::DenseSearch;
use codeweaver::query::{Filters, Tuning};
use codeweaver_base::sys::DotKernel;
use codeweaver_eval::metric::{Scores, best_rank, score};
use codeweaver_eval::{OpenRepository, Runner, Suite};
use codeweaver_index::hnsw;
use codeweaver_store::hnsw::{HnswIndex, Layers as _, QueryKind, Recall, Recalls};
use codeweaver_store::layout::write_atomically;

use common::{Result, row};

/// Number of files that are scored, and of rows that the vectors of hybrid retrieval contribute.
const FILES: usize = 10;
const ROWS: usize = 300;
/// Sizes of the candidate list.
const LISTS: [u32; 7] = [300, 350, 400, 600, 1200, 2400, 4800];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let [suite, repos, name @ ..] = args.as_slice() else {
        return Err("usage: cargo bench --bench recall -- SUITE REPOS [NAME]".into());
    };
    let mut suite = Suite::load(Path::new(suite), name.first().map_or("", |name| name))?;
    suite.widen();

    let always = [("index.hnsw".to_owned(), "always".to_owned())];
    let runner = Runner::open(suite, Path::new(repos), &always)?;
    for opened in runner.repositories() {
        hnsw::build_missing(&opened.searcher.codebase)?;
    }
    let graphs: Vec<Graph<'_>> = runner.repositories().iter().map(Graph::open).collect::<Result<_>>()?;

    let exact = answers(&runner, Ann::Exact);
    report("exact scan", &exact, &exact, &graphs)?;
    for list in LISTS {
        graphs.iter().try_for_each(|graph| graph.set_list(list))?;
        report(&format!("list of {list}"), &answers(&runner, Ann::Hnsw), &exact, &graphs)?;
    }
    Ok(())
}

/// The graph of a repository. The recalls that its file had are written again when it is dropped.
struct Graph<'r> {
    opened: &'r OpenRepository,
    before: Arc<HnswIndex>,
    n_segments: usize,
}

impl Graph<'_> {
    fn open(opened: &OpenRepository) -> Result<Graph<'_>> {
        let (n_segments, before) =
            opened.view.reader.graph().ok_or_else(|| format!("{}: no graph", opened.repository.name))?;
        Ok(Graph { opened, before, n_segments })
    }

    /// Has questions searched with a list of `list` rows.
    fn set_list(&self, list: u32) -> Result<()> {
        let any = Recall { ef: list, share: 1.0 };
        self.write(Recalls { few: any, many: any })
    }

    fn write(&self, questions: Recalls) -> Result<()> {
        let mut graph = self.before.to_data();
        graph.header.questions = questions;
        let segments = &self.opened.view.reader.state.segments[..self.n_segments];
        Ok(write_atomically(&self.opened.searcher.codebase.store().graph(segments), &graph.encode())?)
    }

    /// For each query, the numbers of the best 10 and 300 rows that are found by `ann`, and of all of these.
    fn hits(&self, ann: Ann) -> Result<Vec<[(usize, usize); 2]>> {
        let embedder = self.opened.searcher.embedder().ok_or("no model")?;
        let queries = self.opened.repository.queries.iter();
        let queries = queries.filter(|labelled| labelled.query.contains(' '));

        let mut hits = Vec::new();
        for labelled in queries {
            let vector = embedder.embed_query(&labelled.query)?;
            let (exact, found) = (self.nearest(&vector, Ann::Exact), self.nearest(&vector, ann));
            hits.push([10, ROWS].map(|n| n_found(&exact, &found, n)));
        }
        Ok(hits)
    }

    /// The dot products of the best rows, best first.
    fn nearest(&self, vector: &[i8], ann: Ann) -> Vec<f32> {
        let view = &self.opened.view;
        let search = DenseSearch {
            view,
            scope: &view.scope(&Filters { include_tests: true, ..Filters::default() }),
            vector,
            kernel: &DotKernel::new(vector),
            kind: QueryKind::Question,
            k: ROWS,
            tuning: Tuning::default(),
            is_over: &|| false,
        };

        let mut products: Vec<f32> =
            search.nearest(ann).rows.into_iter().map(|(product, _)| product).collect();
        products.sort_unstable_by(|a, b| b.total_cmp(a));
        products
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.write(self.before.header().questions) {
            eprintln!("{}: the recalls of the graph were not restored: {error}", self.opened.repository.name);
        }
    }
}

/// The number of the best `n` rows that were found, and of these rows. Every row as near as the last counts.
fn n_found(exact: &[f32], found: &[f32], n: usize) -> (usize, usize) {
    let exact = &exact[..n.min(exact.len())];
    let Some(last) = exact.last() else { return (0, 0) };
    (found.iter().take(exact.len()).filter(|product| *product >= last).count(), exact.len())
}

/// The answer to one query.
struct Answer {
    paths: Vec<String>,
    scores: Scores,
    is_first_right: bool,
}

/// The answers to all queries of the suite, with vectors searched by `ann`.
fn answers(runner: &Runner, ann: Ann) -> Vec<Answer> {
    let mut answers = Vec::new();
    for opened in runner.repositories() {
        for labelled in &opened.repository.queries {
            let mut request = opened.request(&labelled.query);
            (request.intent, request.ann) = (labelled.intent, ann);
            let files = opened.rank(&request, &WEIGHTS);
            let with_text = labelled.labels.iter().any(|label| label.contains.is_some());
            let hits: Vec<_> = files.iter().take(FILES).map(|file| opened.hit(file, with_text)).collect();

            answers.push(Answer {
                scores: score(&hits, &labelled.labels, FILES),
                is_first_right: best_rank(&hits, &labelled.labels) == Some(1),
                paths: hits.into_iter().map(|hit| hit.path).collect(),
            });
        }
    }
    answers
}

/// Prints the line of one method.
fn report(method: &str, answers: &[Answer], exact: &[Answer], graphs: &[Graph<'_>]) -> Result<()> {
    let ann = if method.starts_with("list") { Ann::Hnsw } else { Ann::Exact };
    let hits: Vec<[(usize, usize); 2]> =
        graphs.iter().map(|graph| graph.hits(ann)).collect::<Result<Vec<_>>>()?.concat();
    let recall = |at: usize| {
        let (found, all) = hits.iter().fold((0, 0), |sum, hit| (sum.0 + hit[at].0, sum.1 + hit[at].1));
        found as f64 / all as f64
    };

    let n = answers.len() as f64;
    let ndcg = answers.iter().map(|answer| answer.scores.ndcg).sum::<f64>() / n;
    let first = answers.iter().filter(|answer| answer.is_first_right).count();
    let pairs = || answers.iter().zip(exact);
    let same_first = pairs().filter(|(one, two)| one.paths.first() == two.paths.first()).count();
    let same_ten = pairs().filter(|(one, two)| one.paths == two.paths).count();

    let value = format!(
        "recall@10 {:.4}, recall@300 {:.4}, NDCG@10 {ndcg:.4}, first right {:.1} %, same first {same_first}, \
         same ten {same_ten} of {}",
        recall(0),
        recall(1),
        100.0 * first as f64 / n,
        answers.len()
    );
    row("suite", method, value);
    Ok(())
}
