//! What the intent of a query changes: factors on the score of a file, by everything that its best chunk has,
//! by its path and by its role.

use super::context::Context;
use super::roles::Roles;
use crate::chunk::{LanguageId, SemanticClass};
use crate::query::parse::intent::Profile;
use crate::query::path_facts::PathFacts;
use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};
use crate::store::postings::Field;
use crate::text::stem;
use rustc_hash::FxHashMap;

/// Number of different marks from which on more add nothing.
const ENOUGH_MARKS: u8 = 3;

/// The factors of an intent; all are 1 if the query has none that acts.
pub struct IntentFactors<'a> {
    view: &'a View,
    profile: Option<&'static Profile>,
    /// The number of different marks of the profile in each candidate, at most [`ENOUGH_MARKS`]. `None`
    /// without marks.
    marks: Option<FxHashMap<RowId, u8>>,
    /// Words of file names, stemmed.
    path_words: Vec<String>,
}

impl<'a> IntentFactors<'a> {
    pub fn new(context: &Context<'a>, candidates: &[Candidate]) -> IntentFactors<'a> {
        let profile = context.query.acting_intent().map(|intent| intent.profile());
        let marks = profile.filter(|profile| profile.mark_gain > 0.0 && !profile.marks.is_empty());
        IntentFactors {
            view: context.view,
            profile,
            marks: marks.map(|profile| count_marks(context.view, candidates, profile.marks)),
            path_words: profile
                .map_or(&[][..], |profile| profile.path_words)
                .iter()
                .map(|word| stem(word))
                .collect(),
        }
    }

    /// The factor of a file whose best chunk is `best`.
    pub fn of(&self, best: &Candidate, facts: &PathFacts, roles: &Roles, language: &str) -> f32 {
        let Some(profile) = self.profile else { return 1.0 };
        let mut factor = 1.0;
        // The keys of a data file are definitions by class alone.
        let is_data = LanguageId::by_name(language).is_some_and(LanguageId::is_data);
        let has_class = !is_data && self.has_class(best.id, profile.classes);
        if has_class {
            factor *= profile.class_factor;
        }
        if let Some(marks) = &self.marks {
            let n = marks.get(&best.id).copied().unwrap_or(0);
            let share = f32::from(n) / f32::from(ENOUGH_MARKS);
            factor *= 1.0 + profile.mark_gain * share * best.coverage * best.coverage;
        }
        if facts.parts().any(|(part, _, names)| names && self.path_words.iter().any(|word| word == part)) {
            factor *= 1.0 + profile.path_gain;
        }
        // Tests may be in the file that they test.
        if roles.is_asked || has_class { factor } else { factor * profile.others }
    }

    /// Whether the chunk itself or a definition in it is of one of `classes`.
    fn has_class(&self, id: RowId, classes: &[SemanticClass]) -> bool {
        let (segment, row) = self.view.row(id);
        let is_one = |class: u8| SemanticClass::from_u8(class).is_some_and(|class| classes.contains(&class));
        is_one(row.class) || segment.symbols_of(row).any(|symbol| is_one(symbol.class))
    }
}

/// The number of different `words` that each of `candidates` has, if it has any.
fn count_marks(view: &View, candidates: &[Candidate], words: &[&str]) -> FxHashMap<RowId, u8> {
    let terms: Vec<String> = words.iter().map(|word| stem(word)).collect();
    let mut ids: Vec<RowId> = candidates.iter().map(|candidate| candidate.id).collect();
    ids.sort_unstable_by_key(|id| (id.segment, id.row));
    ids.dedup();
    let mut counts: FxHashMap<RowId, u8> = FxHashMap::default();
    for of_segment in ids.chunk_by(|a, b| a.segment == b.segment) {
        let Some(postings) = view.reader.segments[of_segment[0].segment as usize].postings() else {
            continue;
        };
        let rows: Vec<u32> = of_segment.iter().map(|id| id.row).collect();
        for list in terms.iter().filter_map(|term| postings.get(Field::Body, term)) {
            list.for_each_of(&rows, |at| {
                let count = counts.entry(of_segment[at]).or_default();
                *count = (*count + 1).min(ENOUGH_MARKS);
            });
        }
    }
    counts
}
