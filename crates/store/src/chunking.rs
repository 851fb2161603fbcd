//! Figures about chunking in one run: times, numbers and sizes of chunks by the step of the chain that made
//! them.

use std::collections::BTreeMap;

use codeweaver_chunk::ChunkedBlob;

/// Upper bounds of the classes of sizes, in tokens; larger chunks are in a class of their own.
pub const SIZES: [u32; 7] = [50, 100, 200, 400, 800, 1600, 4000];

/// Figures of one run.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub struct Chunking {
    /// Figures by the step of the chain: `semantic`, `delimiter`, `generic`, `text` or `markdown`.
    pub steps: BTreeMap<String, Step>,
    /// Numbers of chunks by size: up to 50, 100, 200, 400, 800, 1600 and 4000 tokens, and larger.
    pub sizes: Vec<Size>,
}

/// Figures of one step.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub struct Step {
    pub chunks: u64,
    /// Microseconds of all threads together, of the files that have most of their chunks from this step.
    pub micros: u64,
}

/// Chunks of one class of sizes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub struct Size {
    pub chunks: u64,
    /// Their tokens together.
    pub tokens: u64,
}

impl Chunking {
    /// The figures of a single file that took `micros`.
    pub fn of_blob(blob: &ChunkedBlob, micros: u64) -> Chunking {
        let mut figures = Chunking { steps: BTreeMap::new(), sizes: vec![Size::default(); SIZES.len() + 1] };
        for chunk in &blob.chunks {
            figures.steps.entry(chunk.source.name().to_owned()).or_default().chunks += 1;

            let class = SIZES.partition_point(|&most| most < chunk.token_count);
            figures.sizes[class].chunks += 1;
            figures.sizes[class].tokens += u64::from(chunk.token_count);
        }

        // A part that another step cut takes a small share of the time.
        if let Some(main) = figures.steps.values_mut().max_by_key(|step| step.chunks) {
            main.micros = micros;
        }
        figures
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds the figures of `other`.
    pub fn add(&mut self, other: &Chunking) {
        for (name, step) in &other.steps {
            let own = self.steps.entry(name.clone()).or_default();
            own.chunks += step.chunks;
            own.micros += step.micros;
        }

        self.sizes.resize(self.sizes.len().max(other.sizes.len()), Size::default());
        for (own, size) in self.sizes.iter_mut().zip(&other.sizes) {
            own.chunks += size.chunks;
            own.tokens += size.tokens;
        }
    }
}
