//! A line for each graph of the same rows, as `benches/graphs/graphs.py` prints them. Times are by the clock.

use std::fmt;
use std::time::{Duration, Instant};

use codeweaver_base::sys::DotKernel;
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{FEW, HnswData, MANY, NONE, QueryKind};

use crate::common::{Samples, ms};

/// Sizes of the candidate list.
const EFS: [usize; 13] = [64, 100, 200, 300, 400, 600, 800, 1200, 1600, 2400, 4800, 9600, 19_200];
/// Numbers of rows retrieved and recalls at which graphs are compared.
const GOALS: [(usize, f64); 3] = [(FEW, 0.985), (MANY, 0.95), (MANY, 0.985)];
/// Stored rows that are searched for, spread over all, and the size of the list.
const N_STORED: usize = 1000;
const EF_STORED: usize = 64;

/// A query with the products of its best rows, best first.
struct Query {
    kernel: DotKernel,
    exact: Vec<i32>,
}

pub struct Table<'a> {
    rows: &'a RowVectors<'a>,
    questions: Vec<Query>,
    stored: Vec<Query>,
}

impl<'a> Table<'a> {
    /// Scans the rows for all queries and prints the head of the table: of stored rows, the recall of the
    /// best [`FEW`] with a list of [`EF_STORED`]; of questions, the median time with the least list that has
    /// that recall, or the highest recall where none has it.
    pub fn new(rows: &'a RowVectors<'a>, questions: &[Vec<i8>]) -> Table<'a> {
        print!("| graph | built | bytes a row | rows without a link to them | stored rows | ");
        println!("10 at .985 | 300 at .95 | 300 at .985 |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");

        let step = (rows.n_rows() as usize / N_STORED).max(1);
        let stored = (0..rows.n_rows()).step_by(step).map(|row| rows.at(row));
        Table {
            rows,
            questions: questions.iter().map(|question| Query::new(rows, question)).collect(),
            stored: stored.map(|vector| Query::new(rows, vector)).collect(),
        }
    }

    /// Measures a graph and prints its line.
    pub fn add(&self, name: &str, built: Duration, graph: &HnswData) {
        let bytes = graph.encode().len() as f64 / f64::from(self.rows.n_rows());
        let (_, stored) = self.search(graph, QueryKind::Row, &self.stored, EF_STORED);
        let mut goals = GOALS.map(Goal::new);

        for ef in EFS {
            let (times, found) = self.search(graph, QueryKind::Question, &self.questions, ef);
            for goal in &mut goals {
                let recall = recall(&self.questions, &found, goal.keep);
                goal.add(Tried { ef, recall, time: times.median() });
            }
            if goals.iter().all(Goal::is_reached) {
                break;
            }
        }

        println!(
            "| {name} | {:.1} s | {bytes:.0} | {} | {:.4} | {} |",
            built.as_secs_f64(),
            n_without_inbound_link(graph),
            recall(&self.stored, &stored, FEW),
            goals.map(|goal| goal.to_string()).join(" | "),
        );
    }

    /// The times of the searches, and the products found, best first.
    fn search(
        &self,
        graph: &HnswData,
        kind: QueryKind,
        queries: &[Query],
        ef: usize,
    ) -> (Samples, Vec<Vec<i32>>) {
        let mut times = Samples::default();
        let found = queries.iter().map(|query| {
            let started = Instant::now();
            let search = HnswSearch { layers: graph, rows: self.rows, kernel: &query.kernel };
            let nearest = search.nearest_to(kind, ef, &|_| true);
            times.push(started.elapsed());
            nearest.into_iter().take(MANY).map(|(product, _)| product).collect()
        });
        let found = found.collect();
        (times, found)
    }
}

impl Query {
    fn new(rows: &RowVectors<'_>, vector: &[i8]) -> Query {
        let kernel = DotKernel::new(vector);
        let mut exact: Vec<i32> = (0..rows.n_rows()).map(|row| kernel.dot(rows.at(row))).collect();
        exact.sort_unstable_by(|a, b| b.cmp(a));
        exact.truncate(MANY);
        Query { kernel, exact }
    }
}

/// A recall at which graphs are compared.
struct Goal {
    /// Number of rows retrieved.
    keep: usize,
    min_recall: f64,
    /// The least list that has the recall, or that with the highest one until a list has it.
    best: Option<Tried>,
}

/// A size of the candidate list with its recall and the median time of a question.
struct Tried {
    ef: usize,
    recall: f64,
    time: Duration,
}

impl Goal {
    fn new((keep, min_recall): (usize, f64)) -> Goal {
        Goal { keep, min_recall, best: None }
    }

    fn is_reached(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.recall >= self.min_recall)
    }

    /// Notes the result of a list that is larger than those before it.
    fn add(&mut self, tried: Tried) {
        let is_better = self.best.as_ref().is_none_or(|best| tried.recall > best.recall);
        // A list finds at most as many rows as it has room for.
        if is_better && tried.ef >= self.keep && !self.is_reached() {
            self.best = Some(tried);
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Tried { ef, recall, time }) = &self.best else { return Ok(()) };
        let time = ms(*time);

        if self.is_reached() {
            write!(f, "{time} ms, list of {ef}")
        } else {
            write!(f, "not reached ({recall:.3} in {time} ms, list of {ef})")
        }
    }
}

/// Share of the best `keep` rows that were found. Every row as near as the last of them counts.
fn recall(queries: &[Query], found: &[Vec<i32>], keep: usize) -> f64 {
    let (mut n_found, mut n_expected) = (0, 0);
    for (query, found) in queries.iter().zip(found) {
        let exact = &query.exact[..keep.min(query.exact.len())];
        let Some(last) = exact.last() else { continue };
        n_found += found.iter().take(exact.len()).filter(|product| *product >= last).count();
        n_expected += exact.len();
    }
    n_found as f64 / n_expected as f64
}

fn n_without_inbound_link(graph: &HnswData) -> usize {
    let mut has_one = vec![false; graph.header.n_rows as usize];
    for &neighbour in graph.level0.iter().filter(|&&neighbour| neighbour != NONE) {
        has_one[neighbour as usize] = true;
    }
    has_one.iter().filter(|has_one| !**has_one).count()
}
