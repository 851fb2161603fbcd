//! Files that say the same as a better one (requirement R3): they are named with it instead of being shown beside it.
//!
//! Copies with small changes (a vendored version, a second dialect, generated siblings) rank side by side for every question, and
//! each costs a reader the room of another answer. Files with the very same bytes are one result already, at several paths.

use super::RankedFile;
use crate::query::view::{RowId, View};
use crate::sys::DotKernel;

/// Files that are compared with each other; nobody reads further.
const LOOKED_AT: usize = 40;
/// Cosine of two chunks that count as the same, if what they define has the same names: siblings that somebody may want to tell
/// apart are as near (`FromJson`, `ToJson`).
const SAME: f64 = 0.985;
/// Share of the tokens of the longer one that the shorter one has at least.
const SAME_LENGTH: f32 = 0.95;

/// A file that was folded into a better one: its entry and its best chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearDuplicate {
    pub entry: u32,
    pub id: RowId,
}

/// Folds each of the first files into the best one whose shown chunk is nearly the same. What the question mentions by name
/// stays where it is.
pub fn fold(view: &View, files: Vec<RankedFile>) -> Vec<RankedFile> {
    let mut kept: Vec<(RankedFile, DotKernel, f64)> = Vec::with_capacity(LOOKED_AT);
    let mut files = files.into_iter();
    for file in files.by_ref().take(LOOKED_AT) {
        let vector = vector_of(view, &file);
        let length = length_of(&DotKernel::new(vector), vector);
        let is_same = |(other, kernel, other_length): &(RankedFile, DotKernel, f64)| {
            let cosine = f64::from(kernel.dot(vector)) / (length * other_length).max(f64::MIN_POSITIVE);
            cosine >= SAME && same_outside(view, other, &file)
        };
        let original = kept.iter_mut().find(|known| file.explanation.mention == 0.0 && is_same(known));
        match original {
            Some((original, ..)) => {
                original.near_duplicates.push(NearDuplicate { entry: file.entry, id: file.chunks[0].id });
            }
            None => kept.push((file, DotKernel::new(vector), length)),
        }
    }
    kept.into_iter().map(|(file, ..)| file).chain(files).collect()
}

fn vector_of<'a>(view: &'a View, file: &RankedFile) -> &'a [i8] {
    let id = file.chunks[0].id;
    view.reader.segments[id.segment as usize].vector(id.row)
}

fn length_of(kernel: &DotKernel, vector: &[i8]) -> f64 {
    f64::from(kernel.dot(vector)).sqrt()
}

/// The same title, which names what is defined, and nearly the same length.
fn same_outside(view: &View, a: &RankedFile, b: &RankedFile) -> bool {
    let outside = |file: &RankedFile| {
        let id = file.chunks[0].id;
        let segment = &view.reader.segments[id.segment as usize];
        let row = &segment.rows()[id.row as usize];
        (segment.string(row.title), row.token_count as f32)
    };
    let ((title, n), (other_title, m)) = (outside(a), outside(b));
    title == other_title && n.min(m) >= SAME_LENGTH * n.max(m)
}
