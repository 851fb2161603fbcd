//! What a file has beyond its best chunk: all its good chunks together, its second best, and its nearness to what the best
//! chunks of all have in common.

use super::rank::{ChunkScore, Context, share};
use super::view::View;
use crate::mem::DotKernel;
use rustc_hash::FxHashMap;

/// Chunks that are taken for good answers when others are compared with them: pseudo-relevance feedback, after J. Rocchio,
/// "Relevance feedback in information retrieval", 1971.
const FEEDBACK_CHUNKS: usize = 6;

/// Signals of a file, each 0–1.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileEvidence {
    /// Sum over its chunks among the best of all, as a share of the best file's.
    pub sum: f32,
    /// Its second best chunk, as a share of the best of all.
    pub second: f32,
    /// How near its nearest chunk is to the middle of the best chunks of all, from the mean of the candidates to the nearest.
    pub feedback: f32,
}

/// Evidence of every doc among `scored`, which are in an order that does not depend on how the store is segmented.
pub fn of_files(context: &Context<'_>, scored: &[ChunkScore]) -> FxHashMap<u32, FileEvidence> {
    let mut order: Vec<usize> = (0..scored.len()).collect();
    let likeness = |i: usize| scored[i].explanation.lexical + scored[i].explanation.dense;
    order.sort_by(|&a, &b| likeness(b).total_cmp(&likeness(a)).then(a.cmp(&b)));
    let mut files: FxHashMap<u32, FileEvidence> =
        scored.iter().map(|chunk| (chunk.candidate.doc, FileEvidence::default())).collect();
    add_chunks(context, scored, &order, &likeness, &mut files);
    let is_dense = scored.iter().any(|chunk| chunk.candidate.cosine != 0.0);
    if is_dense && context.weights.feedback > 0.0 {
        add_feedback(context.view, scored, &order, &mut files);
    }
    files
}

/// Sums and second best chunks.
fn add_chunks(
    context: &Context<'_>,
    scored: &[ChunkScore],
    order: &[usize],
    likeness: &dyn Fn(usize) -> f32,
    files: &mut FxHashMap<u32, FileEvidence>,
) {
    let mut n_seen: FxHashMap<u32, u32> = FxHashMap::default();
    let best = order.first().map_or(0.0, |&i| likeness(i));
    for (place, &i) in order.iter().enumerate() {
        let doc = scored[i].candidate.doc;
        let Some(file) = files.get_mut(&doc) else { continue };
        if place < context.weights.sum_over as usize {
            file.sum += likeness(i);
        }
        let n = n_seen.entry(doc).or_default();
        *n += 1;
        if *n == 2 {
            file.second = share(likeness(i), best);
        }
    }
    let max = files.values().map(|file| file.sum).fold(0.0, f32::max);
    files.values_mut().for_each(|file| file.sum = share(file.sum, max));
}

/// Nearness to the sum of the best chunks, in whole numbers, so that it is the same in every order.
fn add_feedback(
    view: &View,
    scored: &[ChunkScore],
    order: &[usize],
    files: &mut FxHashMap<u32, FileEvidence>,
) {
    let vector = |i: usize| {
        let id = scored[i].candidate.id;
        view.reader.segments[id.segment as usize].vector(id.row)
    };
    // A product with a sum is the sum of the products, each of which takes nanoseconds.
    let best: Vec<DotKernel> =
        order.iter().take(FEEDBACK_CHUNKS).map(|&i| DotKernel::new(vector(i))).collect();
    let dot = |i: usize| best.iter().map(|kernel| i64::from(kernel.dot(vector(i)))).sum::<i64>();
    let dots: Vec<i64> = (0..scored.len()).map(dot).collect();
    let mean = (dots.iter().sum::<i64>() as f64 / dots.len().max(1) as f64) as f32;
    let nearest = dots.iter().copied().max().unwrap_or(0) as f32;
    for (chunk, dot) in scored.iter().zip(dots) {
        if let Some(file) = files.get_mut(&chunk.candidate.doc) {
            file.feedback = file.feedback.max(share(dot as f32 - mean, nearest - mean));
        }
    }
}
