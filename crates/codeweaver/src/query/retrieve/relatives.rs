//! Relatives: whether the view has another word of the family of one that it lacks.

use codeweaver_store::postings::FIELDS;
use codeweaver_text::affinity;

use crate::query::view::View;

/// Length of the common beginning that words of one family have at least.
const PREFIX_BYTES: usize = 4;
/// Minimum affinity of two words of one family; that of an abbreviation is lower.
const MIN_AFFINITY: f32 = 0.9;

/// Returns whether a live row has a word of the family of the stemmed `term` (`valid` for `validation`), or
/// `term` itself.
pub fn has_relative(view: &View, term: &str) -> bool {
    let Some(prefix) = term.get(..PREFIX_BYTES) else { return false };

    view.reader.segments.iter().zip(view.live()).any(|(segment, live)| {
        let Some(postings) = segment.postings().filter(|_| live.n_live() > 0) else { return false };
        FIELDS.iter().any(|&field| {
            let found = postings.terms_where(field, prefix, 1, |other, list| {
                affinity(term, other) >= MIN_AFFINITY && list.df_live(live) > 0
            });
            !found.is_empty()
        })
    })
}
