//! `evaluate`: mean reciprocal rank of models on held-out repositories, compared with BM25 and a transformer.
//!
//! * [`sets`]: queries with relevance labels. [`held_out`]: the raw pairs. [`systems`]: the systems compared.
//! * [`dense`], [`bm25`]: scores. [`unshared`]: queries that share no word with their answer.
//! * [`sample`]: the report during training.

mod bm25;
mod dense;
mod held_out;
mod sample;
mod sets;
mod systems;
mod unshared;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::dataset::{Dataset, held_out_folder};
use crate::pair::PairKind;
use held_out::HeldOut;
use systems::{System, Task};

pub use sample::Sample;
pub use systems::transformer;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long)]
    dataset: PathBuf,
    /// Rows or a checkpoint of `train`; measured as f32 and as int8, at every length of --dims.
    #[arg(long)]
    model: Vec<PathBuf>,
    /// Vector lengths to measure.
    #[arg(long, value_delimiter = ',', default_value = "64,128,256")]
    dims: Vec<usize>,
    #[arg(long, default_value_t = 0.4)]
    path_weight: f32,
    /// Also measure BM25.
    #[arg(long)]
    bm25: bool,
    /// Directory of a transformer to compare with (feature `onnx`).
    #[arg(long)]
    transformer: Option<PathBuf>,
    /// Shared library of ONNX Runtime, for the transformer.
    #[arg(long)]
    ort_library: Option<PathBuf>,
    /// Maximum number of queries, and of codes in the pool, for a kind and language.
    #[arg(long, default_value_t = 1_000)]
    limit: usize,
    /// Minimum number of queries of a set that is reported.
    #[arg(long, default_value_t = 50)]
    min: usize,
    /// Measure documentation queries that share no word with their code, among all code of their repository.
    #[arg(long)]
    no_shared_words: bool,
    /// Also write the report as JSON to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    let data = Dataset::read(&args.dataset)?;
    let held_out = HeldOut::read(&held_out_folder(&args.dataset))?;
    let systems = System::all(args, &data.vocabulary)?;
    let report = if args.no_shared_words {
        unshared::report(&held_out, &systems)?
    } else {
        by_kind_and_language(args, &held_out, &systems)?
    };
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn by_kind_and_language(args: &Args, held_out: &HeldOut, systems: &[System]) -> Result<serde_json::Value> {
    let mut rows = Vec::new();
    let header: Vec<String> = systems.iter().flat_map(System::columns).collect();
    println!("{:<8}{:<12}{:>8}  {}", "kind", "language", "queries", header.join("  "));
    let mut by_kind: BTreeMap<PairKind, Mean> = BTreeMap::new();
    let mut all = Mean::default();
    for (kind, language, set) in held_out.sets(&sample::KINDS, args.limit) {
        if set.queries.len() < args.min {
            continue;
        }
        let task = Task {
            queries: set.queries.iter().map(|&number| &*held_out.pair(number).text).collect(),
            codes: set.pool.iter().map(|&number| &*held_out.pair(number).code).collect(),
            paths: set.pool.iter().map(|&number| &*held_out.pair(number).path).collect(),
        };
        let mut values = Vec::new();
        for system in systems {
            for scores in system.scores(&task)? {
                values.push(set.mean_reciprocal_rank(&scores));
            }
        }
        println!("{:<8}{language:<12}{:>8}  {}", kind.name(), set.queries.len(), figures(&header, &values));
        by_kind.entry(kind).or_default().add(&values, set.queries.len());
        all.add(&values, set.queries.len());
        rows.push(serde_json::json!({
            "kind": kind.name(), "language": language, "queries": set.queries.len(), "mrr": values,
        }));
    }
    for (name, mean) in by_kind.iter().map(|(kind, mean)| (kind.name(), mean)).chain([("all", &all)]) {
        println!("{name:<8}{:<12}{:>8}  {}", "macro", mean.n, figures(&header, &mean.of_sets()));
        println!("{name:<8}{:<12}{:>8}  {}", "micro", mean.n, figures(&header, &mean.of_queries()));
        rows.push(serde_json::json!({
            "kind": name, "queries": mean.n, "macro": mean.of_sets(), "micro": mean.of_queries(),
        }));
    }
    Ok(serde_json::json!({ "columns": header, "rows": rows }))
}

fn figures(header: &[String], values: &[f64]) -> String {
    let cells = header.iter().zip(values);
    cells.map(|(name, value)| format!("{value:>width$.4}", width = name.len())).collect::<Vec<_>>().join("  ")
}

/// Accumulates means over sets and over queries.
#[derive(Default)]
struct Mean {
    sets: usize,
    n: usize,
    sums: Vec<(f64, f64)>,
}

impl Mean {
    fn add(&mut self, values: &[f64], n: usize) {
        self.sets += 1;
        self.n += n;
        self.sums.resize(values.len(), (0.0, 0.0));
        for (sum, value) in self.sums.iter_mut().zip(values) {
            sum.0 += value;
            sum.1 += value * n as f64;
        }
    }

    fn of_sets(&self) -> Vec<f64> {
        self.sums.iter().map(|(sum, _)| sum / self.sets.max(1) as f64).collect()
    }

    fn of_queries(&self) -> Vec<f64> {
        self.sums.iter().map(|(_, sum)| sum / self.n.max(1) as f64).collect()
    }
}
