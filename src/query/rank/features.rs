//! What a file has beyond its best chunk: all its good chunks together, and its second best.

use super::{ChunkScore, Context, share};
use rustc_hash::FxHashMap;

/// Signals of a file, each 0–1.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileEvidence {
    /// Sum over its chunks among the best of all, as a share of the best file's.
    pub sum: f32,
    /// Its second best chunk, as a share of the best of all.
    pub second: f32,
}

/// Evidence of every doc among `scored`, which are in an order that does not depend on how the store is segmented.
pub fn of_files(context: &Context<'_>, scored: &[ChunkScore]) -> FxHashMap<u32, FileEvidence> {
    let mut order: Vec<(f32, usize)> = scored.iter().map(likeness).zip(0..).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let best = order.first().map_or(0.0, |(likeness, _)| *likeness);
    let mut files: FxHashMap<u32, (u32, FileEvidence)> = FxHashMap::default();
    for (place, &(likeness, i)) in order.iter().enumerate() {
        let (n_chunks, file) = files.entry(scored[i].candidate.doc).or_default();
        if place < context.weights.sum_over as usize {
            file.sum += likeness;
        }
        *n_chunks += 1;
        if *n_chunks == 2 {
            file.second = share(likeness, best);
        }
    }
    let max = files.values().map(|(_, file)| file.sum).fold(0.0, f32::max);
    let as_share = |file: FileEvidence| FileEvidence { sum: share(file.sum, max), ..file };
    files.into_iter().map(|(doc, (_, file))| (doc, as_share(file))).collect()
}

fn likeness(chunk: &ChunkScore) -> f32 {
    chunk.explanation.lexical + chunk.explanation.dense
}
