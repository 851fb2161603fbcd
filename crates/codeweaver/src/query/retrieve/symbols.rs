//! Symbol retrieval: chunks that define what the query names.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use codeweaver_store::postings::{Field, Postings};
use codeweaver_text::{one_edit_away, stem};

use super::name_forms::{NameForms, is_declaration};
use super::top_k;
use crate::query::parse::names::QueryName;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

/// Minimum length of a name that is completed or corrected.
const MIN_FUZZY_BYTES: usize = 4;
/// Maximum number of names that contain a part of a name.
const MAX_CONTAINING: usize = 1000;
/// Maximum number of rows that define a name of one letter.
const MAX_LETTERS: usize = 200;
/// Maximum number of names that a prefix is completed to.
const MAX_COMPLETIONS: usize = 200;

/// The rows that define a name of the query.
#[derive(Debug, Default)]
pub struct Definitions {
    /// The fit of the best definition of each row, 0–1.
    pub fits: FxHashMap<RowId, f32>,
    /// Rows with a definition that has a name as it is written, in its case and with its qualifier.
    pub declaring: FxHashSet<RowId>,
}

/// Returns the rows that define one of `names`. A fit is 1 for the name as written, less for another naming
/// style, another qualifier or a part of the name.
///
/// With `fuzzy`, names are also completed, and corrected by one edit. A single name that is defined nowhere
/// always is; if that finds nothing either, names of which it is an inner part are found.
pub fn find(view: &View, scope: &Scope, names: &[QueryName], fuzzy: bool) -> Definitions {
    let postings = view.postings();
    let mut search = Search { view, scope, found: Definitions::default() };

    for wanted in names {
        let Some(name) = NameForms::new(wanted) else { continue };
        let mut best = search.add_all(&postings, &name, std::slice::from_ref(&name.term), false);

        // Corrections of a name among others would find more by chance than by intent.
        let is_only = names.len() == 1 && wanted.certainty == 1.0;
        if is_only && name.is_letter() {
            search.add_letter(&name);
        }
        if name.normalised.len() < MIN_FUZZY_BYTES || !(fuzzy || (is_only && best == 0.0)) {
            continue;
        }

        let terms = search.similar_terms(&postings, &name.normalised, fuzzy);
        best = best.max(search.add_all(&postings, &name, &terms, true));
        if best == 0.0 {
            search.add_all(&postings, &name, name.longest_part().as_slice(), true);
        }
    }

    search.found
}

/// A search among the symbols of the rows in scope.
struct Search<'a> {
    view: &'a View,
    scope: &'a Scope,
    found: Definitions,
}

impl Search<'_> {
    /// Returns the terms of symbols in scope that begin with `name` or differ by one edit; if `fuzzy`, those
    /// that contain it as well. Limits hold for all segments together, so that the result does not depend on
    /// them.
    fn similar_terms(&self, postings: &[Option<Postings<'_>>], name: &str, fuzzy: bool) -> Vec<String> {
        let mut terms: BTreeSet<String> = self.terms_with(postings, name, name, MAX_COMPLETIONS).collect();
        terms.extend(misspellings(name));
        if fuzzy {
            terms.extend(self.terms_with(postings, name, "", MAX_CONTAINING));
        }
        terms.into_iter().collect()
    }

    /// Returns the first `limit` terms of symbols in scope that begin with `prefix` and contain `name`.
    fn terms_with(
        &self,
        postings: &[Option<Postings<'_>>],
        name: &str,
        prefix: &str,
        limit: usize,
    ) -> impl Iterator<Item = String> {
        let mut terms = BTreeSet::new();
        for (s, postings) in postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            terms.extend(postings.terms_where(Field::Symbol, prefix, limit, |term, list| {
                let mut is_in_scope = false;
                if term.contains(name) {
                    list.for_each(|row, _| is_in_scope |= self.scope.rows[s].contains(row));
                }
                is_in_scope
            }));
        }

        terms.into_iter().take(limit)
    }

    /// Adds the rows of all segments as [`Self::add`] does, and returns the best fit.
    fn add_all(
        &mut self,
        postings: &[Option<Postings<'_>>],
        name: &NameForms<'_>,
        terms: &[String],
        fuzzy: bool,
    ) -> f32 {
        let mut best = 0.0f32;
        for (s, postings) in postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            best = best.max(self.add(s, postings, name, terms, fuzzy));
        }

        best
    }

    /// Adds the best rows that define `name`, a single letter. No term stands for a letter, so all
    /// definitions are read.
    fn add_letter(&mut self, name: &NameForms<'_>) {
        let Search { view, scope, .. } = *self;

        let mut rows = Vec::new();
        for (s, live) in scope.rows.iter().enumerate() {
            for row in live.runs().flatten() {
                let id = RowId { segment: s as u32, row };
                let (fit, declares) = fit_of(view, id, name, false);
                if fit > 0.0 {
                    rows.push((fit, id, declares));
                }
            }
        }

        // Many files have a variable or a field of one letter.
        let best = top_k::best_rows(view, rows.iter().map(|&(fit, id, _)| (fit, id)), MAX_LETTERS);
        for (fit, id) in best {
            self.found.fits.insert(id, fit);
        }
        let declaring = rows.iter().filter(|(_, id, declares)| *declares && self.found.fits.contains_key(id));
        let declaring: Vec<RowId> = declaring.map(|(_, id, _)| *id).collect();
        self.found.declaring.extend(declaring);
    }

    /// Adds the rows of segment `s` that have one of `terms` as a symbol term and a symbol that fits `name`.
    /// Returns the best fit.
    fn add(
        &mut self,
        s: usize,
        postings: &Postings<'_>,
        name: &NameForms<'_>,
        terms: &[String],
        fuzzy: bool,
    ) -> f32 {
        let mut best = 0.0f32;

        for term in terms {
            let Some(list) = postings.get(Field::Symbol, term) else { continue };
            list.for_each(|row, _| {
                if !self.scope.rows[s].contains(row) {
                    return;
                }

                let id = RowId { segment: s as u32, row };
                let (fit, declares) = fit_of(self.view, id, name, fuzzy);
                if fit > 0.0 {
                    let slot = self.found.fits.entry(id).or_default();
                    *slot = slot.max(fit);
                    best = best.max(fit);
                }
                if declares {
                    self.found.declaring.insert(id);
                }
            });
        }

        best
    }
}

/// Returns the fit of the best definition of a row to `name`, and whether one declares it. Different names
/// may share a term, so the names themselves are compared.
fn fit_of(view: &View, id: RowId, name: &NameForms<'_>, fuzzy: bool) -> (f32, bool) {
    let segment = &view.reader.segments[id.segment as usize];
    let Some(record) = segment.rows().get(id.row as usize) else { return (0.0, false) };

    let (mut best, mut declares) = (0.0f32, false);
    for symbol in segment.symbols_of(record) {
        let (own, qualified) = (segment.name(symbol.name), segment.name(symbol.qualified_name));
        let mut fit = name.fit(own, qualified, symbol.kind, fuzzy);
        if fit == 0.0 {
            continue;
        }

        let mut has_qualifier = name.has_qualifier(qualified);
        // A module is often named by its file alone.
        if !has_qualifier && has_place(view, id, name, qualified) {
            has_qualifier = true;
            fit = fit.max(name.fit_without_qualifier(own, symbol.kind));
        }
        best = best.max(fit);
        declares |= has_qualifier && name.is_name(own) && is_declaration(symbol.kind, symbol.nesting);
    }
    (best, declares)
}

/// Returns whether a path of the row's file has the qualifier of `name`, and `qualified` has none.
fn has_place(view: &View, id: RowId, name: &NameForms<'_>, qualified: &str) -> bool {
    view.entries_of(view.doc_of(id)).any(|entry| name.has_place(qualified, view.entry(entry).0))
}

/// Returns the index terms of all words one edit away from `word`, sorted.
fn misspellings(word: &str) -> Vec<String> {
    let mut terms: Vec<String> = one_edit_away(word).iter().map(|word| stem(word)).collect();
    terms.sort();
    terms.dedup();
    terms
}

#[cfg(test)]
mod tests {
    use codeweaver_text::is_one_edit_apart;

    use super::*;

    #[test]
    fn the_edit_test_agrees_with_the_list_of_misspellings() {
        for (a, b, expected) in [
            ("parser", "parsr", true),
            ("parser", "praser", true),
            ("parser", "parserx", true),
            ("parser", "harser", true),
            ("parser", "parser", false),
            ("parser", "pasrre", false),
            ("parser", "lexer", false),
        ] {
            assert_eq!(is_one_edit_apart(a, b), expected, "{a} {b}");

            if expected {
                assert!(misspellings(b).contains(&stem(a)), "{a} {b}");
            }
        }
    }
}
