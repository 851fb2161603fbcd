//! Graphs over the vectors of this workspace's own sources, in the order of paths.
//!
//! Random vectors hide what these show: files of a directory follow each other and are near to each other,
//! and many chunks are nearly equal.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rayon::ThreadPoolBuilder;

use codeweaver_base::sys::DotKernel;
use codeweaver_chunk::{LanguageId, chunk_blob};
use codeweaver_config::{ChunkerSettings, ModelSettings};
use codeweaver_embed as embed;
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswData, NONE, QueryKind};

use super::{construct, questions};

/// Rows of a graph, which takes about a second to build without optimisation.
const N_ROWS: usize = 3000;
/// One row in this many is searched for.
const STEP: usize = 3;
const EF: usize = 64;
const EF_OF_QUESTIONS: usize = 24;
const K: usize = 10;

/// Vectors in the order of paths, and questions made of the documentation there.
struct Sources {
    vectors: Vec<i8>,
    questions: Vec<Vec<i8>>,
    dim: usize,
}

impl Sources {
    /// The first rows of the sources of this workspace; `None`, with a message, for a crate outside of it.
    fn from_workspace() -> Option<&'static Sources> {
        static SOURCES: OnceLock<Option<Sources>> = OnceLock::new();
        SOURCES.get_or_init(Sources::read).as_ref()
    }

    fn read() -> Option<Sources> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
        if !crates.join("index/src/hnsw").is_dir() {
            eprintln!("skipped: {} is not the workspace", crates.display());
            return None;
        }

        let model = embed::open(&ModelSettings::default()).unwrap();
        let dim = model.dim();
        let (mut vectors, mut questions, mut input) = (Vec::new(), Vec::new(), String::new());
        for path in rust_files(&crates) {
            let text = std::fs::read_to_string(path).unwrap();
            let rust = LanguageId::by_name("rust").unwrap();
            let docs = text.lines().filter_map(|line| line.trim_start().strip_prefix("/// "));
            let docs = docs.filter(|doc| doc.split_whitespace().count() >= 6);
            questions.extend(docs.map(|doc| model.embed_query(doc).unwrap()));
            for chunk in chunk_blob(text.as_bytes(), rust, &ChunkerSettings::default()).chunks {
                let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
                embed::document_input(&chunk, &text[range], &mut input);
                model.embed_documents(&[&input], &mut vectors).unwrap();
            }
            if vectors.len() >= N_ROWS * dim {
                break;
            }
        }

        vectors.truncate(N_ROWS * dim);
        Some(Sources { vectors, questions, dim })
    }

    /// The first `n_rows` rows.
    fn rows(&self, n_rows: usize) -> RowVectors<'_> {
        RowVectors::new([&self.vectors[..n_rows * self.dim]].into_iter(), self.dim)
    }

    fn n_rows(&self) -> usize {
        self.vectors.len() / self.dim
    }
}

/// The Rust files below `dir`, ascending.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut children: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    children.sort();

    let mut files = Vec::new();
    for child in children {
        if child.is_dir() {
            files.extend(rust_files(&child));
        } else if child.extension().is_some_and(|extension| extension == "rs") {
            files.push(child);
        }
    }
    files
}

fn n_without_inbound_link(graph: &HnswData) -> usize {
    let mut has_one = vec![false; graph.header.n_rows as usize];
    for &neighbour in graph.level0.iter().filter(|&&neighbour| neighbour != NONE) {
        has_one[neighbour as usize] = true;
    }
    has_one.iter().filter(|has_one| !**has_one).count()
}

/// Share of the best rows that searches for stored rows find. Those as near as the last of the best count.
fn recall_of_stored_rows(graph: &HnswData, rows: &RowVectors<'_>) -> f64 {
    let (mut n_found, mut n_expected) = (0, 0);
    for query in (0..rows.n_rows()).step_by(STEP) {
        let kernel = &DotKernel::new(rows.at(query));
        let mut exact: Vec<i32> = (0..rows.n_rows()).map(|row| kernel.dot(rows.at(row))).collect();
        let last = *exact.select_nth_unstable_by(K - 1, |a, b| b.cmp(a)).1;

        let found = HnswSearch { layers: graph, rows, kernel }.nearest(EF, &|_| true);
        n_found += found.iter().take(K).filter(|(dot, _)| *dot >= last).count();
        n_expected += K;
    }
    n_found as f64 / n_expected as f64
}

fn built(sources: &Sources, n_threads: usize) -> HnswData {
    let pool = ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
    let mut graph = construct::empty();
    pool.install(|| construct::extend(&mut graph, &sources.rows(sources.n_rows())));
    graph
}

#[test]
fn every_row_has_a_link_to_it_and_finds_its_neighbours_on_any_number_of_threads() {
    let Some(sources) = Sources::from_workspace() else { return };
    let graph = built(sources, 1);
    assert!(n_without_inbound_link(&graph) * 500 <= sources.n_rows());
    let recall = recall_of_stored_rows(&graph, &sources.rows(sources.n_rows()));
    assert!(recall >= 0.99, "recall {recall}");

    assert!(graph.encode() == built(sources, 4).encode(), "the graph depends on the number of threads");
}

#[test]
fn questions_are_found_with_shorter_lists_from_the_rows_of_samples() {
    let Some(sources) = Sources::from_workspace() else { return };
    let rows = sources.rows(sources.n_rows());
    let mut graph = built(sources, 2);
    let (asked, samples): (Vec<_>, Vec<_>) = (0..).zip(&sources.questions).partition(|(at, _)| at % 8 == 0);
    let vectors = |list: Vec<(usize, &Vec<i8>)>| -> Vec<Vec<i8>> {
        list.into_iter().map(|(_, vector)| vector.clone()).collect()
    };
    let (asked, samples) = (vectors(asked), vectors(samples));
    questions::set_entry_points(&mut graph, &rows, &samples);

    let n_found = |kind: QueryKind| -> usize {
        let of_question = |question: &Vec<i8>| {
            let kernel = &DotKernel::new(question);
            let mut exact: Vec<i32> = (0..rows.n_rows()).map(|row| kernel.dot(rows.at(row))).collect();
            let last = *exact.select_nth_unstable_by(K - 1, |a, b| b.cmp(a)).1;
            let found =
                HnswSearch { layers: &graph, rows: &rows, kernel }
                    .nearest_to(kind, EF_OF_QUESTIONS, &|_| true);
            found.iter().take(K).filter(|(dot, _)| *dot >= last).count()
        };
        asked.iter().map(of_question).sum()
    };
    let (with, without) = (n_found(QueryKind::Question), n_found(QueryKind::Row));
    assert!(with * 100 >= asked.len() * K * 95, "{with} of {} found", asked.len() * K);
    assert!(with > without, "{with} found with samples, {without} without");
}

#[test]
fn an_extended_graph_is_about_as_good() {
    let Some(sources) = Sources::from_workspace() else { return };
    let mut graph = construct::empty();
    for n_rows in [sources.n_rows() / 2, sources.n_rows()] {
        construct::extend(&mut graph, &sources.rows(n_rows));
    }
    assert!(n_without_inbound_link(&graph) * 500 <= sources.n_rows());
    let recall = recall_of_stored_rows(&graph, &sources.rows(sources.n_rows()));
    assert!(recall >= 0.98, "recall {recall}");
}
