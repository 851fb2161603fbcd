//! Near-duplicates: files whose best chunk says almost the same as that of a better-ranked file.
//!
//! Copies with small changes (a vendored version, a second dialect, generated siblings) rank side by side for
//! every query and take the places of other results. They are listed with the better file instead. Files with
//! equal bytes are one result at several paths already.

use super::ranked_file::{NearDuplicate, RankedFile};
use crate::query::view::View;
use codeweaver_base::sys::DotKernel;

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
    let mut kept: Vec<(RankedFile, DotKernel, f64)> = Vec::with_capacity(MAX_FILES);
    let mut files = files.into_iter();
    for file in files.by_ref().take(MAX_FILES) {
        let vector = vector_of(view, &file);
        let norm = norm(&DotKernel::new(vector), vector);
        let is_near = |(other, kernel, other_norm): &(RankedFile, DotKernel, f64)| {
            let cosine = f64::from(kernel.dot(vector)) / (norm * other_norm).max(f64::MIN_POSITIVE);
            cosine >= MIN_COSINE && has_same_title_and_length(view, other, &file)
        };
        let original = kept.iter_mut().find(|other| file.explanation.mention == 0.0 && is_near(other));
        match original {
            Some((original, ..)) => {
                original.near_duplicates.push(NearDuplicate { entry: file.entry, id: file.chunks[0].id });
            }
            None => kept.push((file, DotKernel::new(vector), norm)),
        }
    }
    kept.into_iter().map(|(file, ..)| file).chain(files).collect()
}

fn vector_of<'a>(view: &'a View, file: &RankedFile) -> &'a [i8] {
    let id = file.chunks[0].id;
    view.reader.segments[id.segment as usize].vector(id.row)
}

fn norm(kernel: &DotKernel, vector: &[i8]) -> f64 {
    f64::from(kernel.dot(vector)).sqrt()
}

/// Whether the best chunks have the same title, which names what they define, and nearly the same length.
fn has_same_title_and_length(view: &View, a: &RankedFile, b: &RankedFile) -> bool {
    let ((segment, row), (other_segment, other_row)) = (view.row(a.chunks[0].id), view.row(b.chunks[0].id));
    let (n, m) = (row.token_count as f32, other_row.token_count as f32);
    n.min(m) >= MIN_LENGTH_SHARE * n.max(m) && segment.text(row.title) == other_segment.text(other_row.title)
}
