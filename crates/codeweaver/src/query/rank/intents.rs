//! Factors of the intent of a query on the score of a file: by everything that its best chunk has, by its
//! path and by its role.

use rustc_hash::FxHashMap;

use codeweaver_chunk::{LanguageId, SemanticClass};
use codeweaver_index::policy::PathFlags;
use codeweaver_text::stem;

use super::context::Context;
use super::marks;
use super::roles::Roles;
use crate::query::parse::profile::Profile;
use crate::query::path_facts::PathFacts;
use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};

/// The factors of an intent; all are 1 if the query has none that acts.
pub struct IntentFactors<'a> {
    view: &'a View,
    profile: Option<&'static Profile>,
    /// The number of different marks of the profile in each candidate, at most [`marks::ENOUGH`]. `None`
    /// without marks.
    marks: Option<FxHashMap<RowId, u8>>,
    /// Words of file names, stemmed.
    path_words: Vec<String>,
}

impl<'a> IntentFactors<'a> {
    pub fn new(context: &Context<'a>, candidates: &[Candidate]) -> IntentFactors<'a> {
        let profile = context.query.acting_intent().map(|intent| intent.profile());
        let marks = profile.filter(|profile| profile.covered_marks_gain > 0.0 && !profile.marks.is_empty());

        IntentFactors {
            view: context.view,
            profile,
            marks: marks.map(|profile| marks::count(context.view, candidates, &marks::terms(profile.marks))),
            path_words: profile
                .map_or(&[][..], |profile| profile.path_words)
                .iter()
                .map(|word| stem(word))
                .collect(),
        }
    }

    /// Returns the factor of a file whose best chunk is `best`.
    pub fn factor(&self, best: &Candidate, facts: &PathFacts, roles: &Roles, language: &str) -> f32 {
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
            let share = f32::from(n) / f32::from(marks::ENOUGH);
            factor *= 1.0 + profile.covered_marks_gain * share * best.coverage * best.coverage;
        }

        factor *= 1.0 + profile.path_gain * self.path_fit(facts);
        if profile.settings != 1.0 && facts.is_hidden {
            factor *= profile.settings;
        }
        if roles.flags.contains(PathFlags::TEST) {
            factor *= profile.tests;
        }

        // Tests may be in the file that they test, so the class of a chunk counts as a role.
        if roles.is_asked || has_class { factor } else { factor * profile.others }
    }

    /// Returns 1 if the name of the file has one of the words, else 0.
    fn path_fit(&self, facts: &PathFacts) -> f32 {
        let mut name_words = facts.parts().filter(|(_, _, names_the_file)| *names_the_file);
        let fits = name_words.any(|(part, ..)| self.path_words.iter().any(|word| word == part));
        f32::from(u8::from(fits))
    }

    /// Returns whether the chunk itself or a definition in it is of one of `classes`.
    fn has_class(&self, id: RowId, classes: &[SemanticClass]) -> bool {
        let (segment, row) = self.view.row(id);
        let is_one = |class: u8| SemanticClass::from_u8(class).is_some_and(|class| classes.contains(&class));
        is_one(row.class) || segment.symbols_of(row).any(|symbol| is_one(symbol.class))
    }
}
