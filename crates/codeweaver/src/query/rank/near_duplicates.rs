//! Near-duplicates: files whose best chunk is almost the same as that of a better-ranked file.
//!
//! Copies with small changes (a vendored version, a second dialect, generated siblings) rank side by side for
//! every query and take the places of other results. They are listed with the better file instead. Files with
//! equal bytes are one result at several paths already.

use codeweaver_base::sys::DotKernel;

use super::ranked_file::{NearDuplicate, RankedFile};
use crate::query::view::View;

/// Number of best files that are compared with each other.
const MAX_FILES: usize = 40;
/// Minimum cosine of two best chunks. Their titles must be equal too, because siblings that differ in meaning
/// can be as near (`FromJson`, `ToJson`).
const MIN_COSINE: f64 = 0.985;
/// Minimum length of the shorter chunk in tokens, as a share of the longer one.
const MIN_LENGTH_SHARE: f32 = 0.95;

/// Moves each of the first files that is a near-duplicate of a better one into that one. Files that the query
/// names stay.
pub fn fold(view: &View, files: Vec<RankedFile>) -> Vec<RankedFile> {
    let mut originals: Vec<(RankedFile, DotKernel, f64)> = Vec::with_capacity(MAX_FILES);
    let mut files = files.into_iter();

    for file in files.by_ref().take(MAX_FILES) {
        let vector = vector_of(view, &file);
        let norm = norm(&DotKernel::new(vector), vector);

        let is_named = file.explanation.mention != 0.0;
        let original = originals.iter_mut().find(|(other, kernel, other_norm)| {
            !is_named
                && f64::from(kernel.dot(vector)) / (norm * other_norm).max(f64::MIN_POSITIVE) >= MIN_COSINE
                && has_same_title_and_length(view, other, &file)
        });
        match original {
            Some((original, ..)) => {
                original.near_duplicates.push(NearDuplicate { entry: file.entry, id: file.chunks[0].id });
            }
            None => originals.push((file, DotKernel::new(vector), norm)),
        }
    }

    originals.into_iter().map(|(file, ..)| file).chain(files).collect()
}

fn vector_of<'a>(view: &'a View, file: &RankedFile) -> &'a [i8] {
    let id = file.chunks[0].id;
    view.reader.segments[id.segment as usize].vector(id.row)
}

fn norm(kernel: &DotKernel, vector: &[i8]) -> f64 {
    f64::from(kernel.dot(vector)).sqrt()
}

/// Returns whether the best chunks have the same title, which has the names that they define, and nearly the
/// same length.
fn has_same_title_and_length(view: &View, a: &RankedFile, b: &RankedFile) -> bool {
    let ((segment, row), (other_segment, other_row)) = (view.row(a.chunks[0].id), view.row(b.chunks[0].id));

    let (n, m) = (row.token_count as f32, other_row.token_count as f32);
    n.min(m) >= MIN_LENGTH_SHARE * n.max(m) && segment.text(row.title) == other_segment.text(other_row.title)
}
