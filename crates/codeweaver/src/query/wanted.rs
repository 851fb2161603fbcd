//! Wanted: the candidates that a part of a query needs of an engine.

use codeweaver_text::one_edit_away;

use super::engine::Wanted;
use super::model::QueryModel;
use super::part::QueryPart;
use super::rank::Weights;
use super::request::{Mode, Request};
use super::retrieve::name_forms::NameForms;

/// Minimum length of a name that is completed or corrected.
const MIN_FUZZY_BYTES: usize = 4;
/// Maximum number of corrections of a name.
const MAX_CORRECTIONS: usize = 400;

/// The candidates that retrieval for `part` needs.
pub fn of_part(part: &QueryPart, request: &Request, model: &QueryModel, weights: &Weights) -> Wanted {
    let (vector, _) = model.vector(request.mode, &part.embedded);
    let query = &part.query;

    let mut wanted = Wanted {
        terms: if request.mode == Mode::Semantic { Vec::new() } else { query.terms.clone() },
        fields: weights.bm25().fields,
        vector: vector.map(|vector| vector.components),
        mentions: query.mentions.clone(),
        is_verbatim: matches!(request.mode, Mode::Hybrid | Mode::Keyword) && !query.is_report,
        ..Wanted::default()
    };

    let is_only = query.names.len() == 1 && query.names[0].certainty == 1.0;
    for name in &query.names {
        let Some(forms) = NameForms::new(name) else { continue };
        wanted.names.push(forms.term.clone());

        if forms.normalised.len() >= MIN_FUZZY_BYTES && (is_only || request.mode == Mode::Symbol) {
            wanted.names.extend(forms.longest_part());
            wanted.names.extend(
                one_edit_away(&forms.normalised)
                    .iter()
                    .take(MAX_CORRECTIONS)
                    .map(|word| codeweaver_text::stem(word)),
            );
            wanted.prefixes.push(forms.normalised.clone());
        }
    }

    wanted.names.sort_unstable();
    wanted.names.dedup();
    wanted
}
