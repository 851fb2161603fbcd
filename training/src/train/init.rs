//! The initial table.

use std::path::Path;

use anyhow::{Result, ensure};

use super::rows::{self, Rows};
use crate::dataset::Dataset;

/// Range that the initial inverse document frequency is clipped to.
const IDF_RANGE: std::ops::RangeInclusive<f32> = 1.0..=8.0;

/// ln(documents / documents with the id) for every id, clipped to [`IDF_RANGE`].
pub fn clipped_idf(data: &Dataset) -> Vec<f32> {
    let (frequencies, n) = data.document_frequencies();
    let idf = |&frequency: &u32| (n.max(1) as f32 / (frequency as f32 + 1.0)).ln();
    frequencies.iter().map(|frequency| idf(frequency).clamp(*IDF_RANGE.start(), *IDF_RANGE.end())).collect()
}

/// Random rows of length `scale` times the clipped idf of the id (in expectation).
pub fn random(data: &Dataset, dim: usize, scale: f32, random: &mut fastrand::Rng) -> Rows {
    let mut rows = Rows::zero(data.vocabulary.len(), dim);
    let deviation = scale / (dim as f32).sqrt();
    for (row, idf) in rows.data.chunks_exact_mut(dim).zip(clipped_idf(data)) {
        row.iter_mut().for_each(|x| *x = normal(random) * deviation * idf);
    }
    rows
}

/// Reads rows from a file and keeps the first `dim` components, multiplied by `scale`.
pub fn read(path: &Path, data: &Dataset, dim: usize, scale: f32) -> Result<Rows> {
    let found = rows::read(path)?;
    ensure!(
        found.n() == data.vocabulary.len() && found.dim >= dim,
        "{} has {} rows of {}, the dataset {} entries and the model {dim} dimensions",
        path.display(),
        found.n(),
        found.dim,
        data.vocabulary.len()
    );
    let data =
        found.data.chunks_exact(found.dim).flat_map(|row| row[..dim].iter().map(|x| x * scale)).collect();
    Ok(Rows { dim, data })
}

/// A normally distributed random number (G. Box and M. Muller, 1958).
fn normal(random: &mut fastrand::Rng) -> f32 {
    let (a, b) = (1.0 - random.f64(), random.f64());
    ((-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
}
