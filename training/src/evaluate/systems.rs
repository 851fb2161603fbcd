//! Systems that are compared: trained rows, the product's embedders, BM25.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use codeweaver_config::ModelSettings;
use codeweaver_embed::{self as embed, Embedder, TableModel, Vocabulary, bag_of, bag_of_path};

use super::Args;
use super::bm25::Bm25;
use super::dense::{Matrix, scores, scores_with_paths};
use crate::train::rows::{self, Rows, length};

/// A system that scores codes for queries, in one or several variants (columns).
pub enum System {
    Rows {
        rows: Rows,
        vocabulary: Vec<u8>,
        dims: Vec<usize>,
        path_weight: f32,
    },
    /// Rows in the product's file format.
    Table {
        name: String,
        bytes: Vec<u8>,
        path_weight: f32,
    },
    Embedder {
        name: &'static str,
        model: Arc<dyn Embedder>,
    },
    Bm25,
}

/// Queries and the pool of codes.
pub struct Task<'a> {
    pub queries: Vec<&'a str>,
    pub codes: Vec<&'a str>,
    /// Path of each code; empty if it has none.
    pub paths: Vec<&'a str>,
}

impl System {
    /// Opens all systems that the arguments name, in column order.
    pub fn all(args: &Args, entries: &[String]) -> Result<Vec<System>> {
        let mut out = Vec::new();
        let path_weight = args.path_weight;
        for path in &args.model {
            let rows = rows::read(path)?;
            ensure!(
                rows.n() == entries.len() && args.dims.iter().all(|&dim| dim <= rows.dim),
                "{} has {} rows of {}, the vocabulary {} entries",
                path.display(),
                rows.n(),
                rows.dim,
                entries.len()
            );
            let mut tables = Vec::new();
            for &dim in args.dims.iter().filter(|dim| **dim % 16 == 0) {
                let bytes = crate::export::table(entries, &rows, dim)?;
                tables.push(System::Table { name: format!("int8-{dim}"), bytes, path_weight });
            }
            let vocabulary = Vocabulary::encode(entries)?;
            out.push(System::Rows { rows, vocabulary, dims: args.dims.clone(), path_weight });
            out.extend(tables);
        }
        if args.bm25 {
            out.push(System::Bm25);
        }
        if let Some(folder) = &args.transformer {
            out.push(System::Embedder {
                name: "transformer",
                model: transformer(folder, args.ort_library.as_deref())?,
            });
        }
        Ok(out)
    }

    /// Returns the names of the scores that [`System::scores`] returns.
    pub fn columns(&self) -> Vec<String> {
        match self {
            System::Rows { dims, .. } => {
                let dims = dims.iter().map(|dim| format!("f32-{dim}"));
                dims.chain(["f32+path".to_owned()]).collect()
            }
            System::Table { name, .. } => vec![name.clone(), format!("{name}+path")],
            System::Embedder { name, .. } => vec![(*name).to_owned()],
            System::Bm25 => vec!["bm25".to_owned()],
        }
    }

    /// Returns for each column the scores of every query (rows) with every code.
    pub fn scores(&self, task: &Task) -> Result<Vec<Vec<f32>>> {
        match self {
            System::Rows { rows, vocabulary, dims, path_weight } => {
                Ok(of_rows(rows, &Vocabulary::new(vocabulary)?, dims, *path_weight, task))
            }
            System::Table { bytes, path_weight, .. } => {
                of_embedder(&TableModel::new("trained", bytes)?, *path_weight, task)
            }
            System::Embedder { model, .. } => of_embedder(&**model, 0.0, task),
            System::Bm25 => {
                let index = Bm25::new(task.codes.iter().copied());
                Ok(vec![task.queries.iter().flat_map(|query| index.scores(query)).collect()])
            }
        }
    }
}

/// Opens the transformer in a directory, as the product does.
pub fn transformer(folder: &Path, ort_library: Option<&Path>) -> Result<Arc<dyn Embedder>> {
    let settings = ModelSettings {
        path: Some(folder.to_owned()),
        ort_library: ort_library.map(Path::to_owned),
        ..ModelSettings::default()
    };
    embed::open(&settings).map_err(|error| anyhow::anyhow!("{error}\n{}", error.fix()))
}

fn of_rows(rows: &Rows, vocabulary: &Vocabulary, dims: &[usize], mu: f32, task: &Task) -> Vec<Vec<f32>> {
    let mut bag = Vec::new();
    let mut add = |is_path: bool, text: &str, out: &mut [f32]| {
        if is_path {
            bag_of_path(text, vocabulary, &mut bag)
        } else {
            bag_of(text, vocabulary, &mut bag)
        }
        for &(id, count) in &bag {
            rows.add(id as u16, (count as f32).sqrt(), out);
        }
        let norm = length(out);
        if norm > 0.0 {
            out.iter_mut().for_each(|x| *x /= norm);
        }
    };
    let queries = Matrix::from_fn(rows.dim, task.queries.len(), |i, out| add(false, task.queries[i], out));
    let codes = Matrix::from_fn(rows.dim, task.codes.len(), |i, out| add(false, task.codes[i], out));
    let paths = Matrix::from_fn(rows.dim, task.paths.len(), |i, out| add(true, task.paths[i], out));
    let mut out: Vec<Vec<f32>> =
        dims.iter().map(|&dim| scores(&queries.shortened(dim), &codes.shortened(dim))).collect();
    out.push(scores_with_paths(&queries, &codes, &paths, mu));
    out
}

fn of_embedder(model: &dyn Embedder, mu: f32, task: &Task) -> Result<Vec<Vec<f32>>> {
    let (dim, scale) = (model.dim(), model.scale());
    let real = |vectors: &[i8]| vectors.iter().map(|&x| f32::from(x) / scale).collect::<Vec<f32>>();
    let mut queries = Vec::new();
    for query in &task.queries {
        queries.extend(model.embed_query(query)?);
    }
    let mut codes = Vec::new();
    for some in task.codes.chunks(32) {
        model.embed_documents(some, &mut codes).context("embedding documents")?;
    }
    let (queries, codes) = (Matrix { dim, data: real(&queries) }, Matrix { dim, data: real(&codes) });
    let mut out = vec![scores(&queries, &codes)];
    if model.embed_path("a").is_some() {
        let mut paths = Vec::new();
        for path in &task.paths {
            paths.extend(model.embed_path(path).filter(|_| !path.is_empty()).unwrap_or_else(|| vec![0; dim]));
        }
        out.push(scores_with_paths(&queries, &codes, &Matrix { dim, data: real(&paths) }, mu));
    }
    Ok(out)
}
