//! Languages of the candidates: code in a language that the repository hardly uses for what is asked (a
//! bundled script, a build file) is a less likely answer than code in its main language.

use super::context::share;
use crate::chunk::LanguageId;
use crate::query::retrieve::Candidates;
use crate::query::view::View;
use rustc_hash::FxHashMap;

/// Languages that are used side by side for the same thing.
const GROUPS: &[&[&str]] = &[
    &["c", "cpp", "objective_c", "objective_cpp"],
    &["javascript", "typescript", "tsx", "vue", "svelte"],
    &["java", "kotlin"],
];

/// How many of the candidates are written in each group of programming languages.
pub struct LanguageShares {
    counts: FxHashMap<String, f32>,
    max: f32,
}

impl LanguageShares {
    pub fn new(view: &View, candidates: &Candidates) -> LanguageShares {
        let mut counts: FxHashMap<String, f32> = FxHashMap::default();
        for candidate in &candidates.list {
            let (segment, row) = view.row(candidate.id);
            let Some(record) = segment.docs().get(row.doc as usize) else { continue };
            let language = segment.language(record.language);
            if is_code(language) {
                *counts.entry(group(language).to_owned()).or_default() += 1.0;
            }
        }
        let max = counts.values().copied().fold(0.0, f32::max);
        LanguageShares { counts, max }
    }

    /// Candidates in the group of `language` as a share of those in the most frequent group, 0–1. 1 for prose
    /// and data, which have priors of their own.
    pub fn share(&self, language: &str) -> f32 {
        if !is_code(language) {
            return 1.0;
        }
        share(self.counts.get(group(language)).copied().unwrap_or(0.0), self.max)
    }
}

fn group(language: &str) -> &str {
    GROUPS.iter().find(|names| names.contains(&language)).map_or(language, |names| names[0])
}

fn is_code(language: &str) -> bool {
    LanguageId::by_name(language).is_some_and(|language| !language.is_prose() && !language.is_data())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_name_languages_of_the_table() {
        for name in GROUPS.iter().flat_map(|names| names.iter()) {
            assert_eq!(LanguageId::by_name(name).map(LanguageId::name), Some(*name));
            assert!(is_code(name), "{name}");
        }
    }

    #[test]
    fn shares_are_relative_to_the_most_frequent_group() {
        let counts = [("c".to_owned(), 80.0), ("perl".to_owned(), 4.0)].into_iter().collect();
        let shares = LanguageShares { counts, max: 80.0 };
        for (language, expected) in [("cpp", 1.0), ("perl", 0.05), ("ruby", 0.0), ("markdown", 1.0)] {
            assert_eq!(shares.share(language), expected, "{language}");
        }
    }
}
