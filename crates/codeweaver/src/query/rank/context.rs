//! Inputs of ranking.

use super::weights::Weights;
use crate::query::parse::ParsedQuery;
use crate::query::path_facts::PathCache;
use crate::query::request::Filters;
use crate::query::view::View;

/// The inputs of ranking besides the candidates.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub view: &'a View,
    pub query: &'a ParsedQuery,
    pub weights: &'a Weights,
    pub paths: &'a PathCache,
    /// A blob is shown only at paths that pass these filters.
    pub filters: &'a Filters,
}

/// Returns `value` as a share of `max`, 0–1.
pub fn share(value: f32, max: f32) -> f32 {
    if max > 0.0 { (value / max).clamp(0.0, 1.0) } else { 0.0 }
}

/// Returns ln(1 + tokens) / 10 of a whole file.
pub fn size_of(view: &View, doc: u32) -> f32 {
    let Some((s, ordinal)) = view.reader.locate_doc(doc) else { return 0.0 };
    let segment = &view.reader.segments[s];
    let rows = segment.doc_rows(ordinal);
    let rows = segment.rows().get(rows.start as usize..rows.end as usize).unwrap_or(&[]);

    let tokens: u64 = rows.iter().map(|row| u64::from(row.token_count)).sum();
    libm::logf(1.0 + tokens as f32) / 10.0
}
