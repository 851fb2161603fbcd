//! Definitions with similar vectors, whatever their tokens.

use codeweaver_base::sys::DotKernel;
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_index::hnsw::construct;
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;

use super::Class;
use super::definitions::Definitions;
use super::stars::Similar;
use super::texts::Text;
use crate::query::QueryError;
use crate::query::retrieve::parallel;

/// Number of texts up to which every pair is compared. For more, a graph finds the neighbours of each.
const MAX_ALL_PAIRS: usize = 32 * 1024;
/// Minimum number of texts for which threads are used.
const MIN_PARALLEL: usize = 256;
/// Number of neighbours of a text that a graph is asked for.
const N_NEIGHBOURS: usize = 64;
/// Maximum number of bytes of a definition that are embedded; chunks have the same limit.
const MAX_BYTES: usize = 16 << 10;

/// Returns the pairs of `texts` whose vectors have at least `min_cosine`, the lesser text first.
///
/// A model that takes microseconds embeds the definitions themselves; of any other, the vectors of the chunks
/// that they begin in are compared.
///
/// # Errors
/// Those of reading blobs and of the model.
pub fn similar(
    definitions: &Definitions<'_>,
    texts: &[Text],
    embedder: &dyn Embedder,
    min_cosine: f32,
) -> Result<Vec<Similar>, QueryError> {
    let vectors = vectors(definitions, texts, embedder)?;
    let rows = RowVectors::new([vectors.as_slice()].into_iter(), embedder.dim());
    let scale = embedder.scale() * embedder.scale();
    let min_product = (min_cosine * scale) as i32;

    let graph = (texts.len() > MAX_ALL_PAIRS).then(|| {
        let mut graph = construct::empty();
        construct::extend(&mut graph, &rows);
        graph
    });
    let found = parallel::map_with(
        texts.len(),
        texts.len() >= MIN_PARALLEL,
        || (),
        |(), row| {
            let kernel = &DotKernel::new(rows.at(row as u32));
            match &graph {
                Some(layers) => HnswSearch { layers, rows: &rows, kernel }.nearest(N_NEIGHBOURS, &|_| true),
                None => exact(&rows, row as u32 + 1, kernel, min_product),
            }
        },
    );

    let mut pairs: Vec<Similar> = Vec::new();
    for (row, others) in (0u32..).zip(found) {
        let near = others.into_iter().filter(|&(product, other)| product >= min_product && other != row);
        pairs.extend(near.map(|(product, other)| Similar {
            one: row.min(other),
            two: row.max(other),
            class: Class::Semantic,
            similarity: (product as f32 / scale).clamp(0.0, 0.999),
        }));
    }

    pairs.retain(|pair| texts[pair.one as usize].is_callable == texts[pair.two as usize].is_callable);
    pairs.sort_by_key(|pair| (pair.one, pair.two));
    pairs.dedup_by_key(|pair| (pair.one, pair.two));
    Ok(pairs)
}

/// The rows from `first` on whose product is at least `min_product`.
fn exact(rows: &RowVectors<'_>, first: u32, kernel: &DotKernel, min_product: i32) -> Vec<(i32, u32)> {
    let products = (first..rows.n_rows()).map(|other| (kernel.dot(rows.at(other)), other));
    products.filter(|(product, _)| *product >= min_product).collect()
}

/// The vectors of `texts`, row-major.
fn vectors(
    definitions: &Definitions<'_>,
    texts: &[Text],
    embedder: &dyn Embedder,
) -> Result<Vec<i8>, QueryError> {
    let dim = embedder.dim();
    if embedder.cost() != EmbedCost::Table {
        let chunks = texts.iter().flat_map(|text| definitions.chunk_vector(text.first()));
        return Ok(chunks.copied().collect());
    }

    let wanted: Vec<usize> = texts.iter().map(Text::first).collect();
    let embedded = definitions.map(&wanted, |at, text| {
        let mut vector = Vec::with_capacity(dim);
        embedder.embed_documents(&[&input(definitions, at, text)], &mut vector).map(|()| vector)
    })?;

    // A text that cannot be read again is similar to none.
    let mut vectors = vec![0; texts.len() * dim];
    let mut rows = wanted.iter().zip(vectors.chunks_exact_mut(dim));
    for (at, vector) in embedded {
        let row = rows.find(|(wanted, _)| **wanted == at).map(|(_, row)| row);
        if let Some(row) = row {
            row.copy_from_slice(&vector?);
        }
    }
    Ok(vectors)
}

/// The model input of a definition, as that of a chunk with this definition alone.
fn input(definitions: &Definitions<'_>, at: usize, text: &str) -> String {
    let (segment, symbol) = definitions.record(at);
    let kind = definitions.list[at].kind().name();
    let (name, doc) = (definitions.qualified_name(at), segment.text(symbol.doc));
    let own = &text[..text.floor_char_boundary(MAX_BYTES)];

    match doc.is_empty() || own.contains(&doc) {
        true => format!("{kind} {name}\n{own}"),
        false => format!("{kind} {name}\n{doc}\n{own}"),
    }
}
