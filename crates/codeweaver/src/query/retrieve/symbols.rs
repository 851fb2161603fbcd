//! Symbol retrieval: chunks that define what the query names.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use codeweaver_chunk::SymbolKind;
use codeweaver_store::postings::{Field, Postings};
use codeweaver_text::{is_one_edit_apart, one_edit_away, stem};

use crate::query::parse::names::{QueryName, last_segment, normalised, segments};
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

/// Minimum length of a name that is completed or corrected.
const MIN_FUZZY_BYTES: usize = 4;
/// Maximum number of names that contain a part of a name.
const MAX_CONTAINING: usize = 1000;
/// Maximum number of names that a prefix is completed to.
const MAX_COMPLETIONS: usize = 200;

/// Returns the rows that define one of `names`, with the fit of the best definition, 0–1: 1 for the name as
/// written, less for another naming style, another qualifier or a part of the name.
///
/// With `fuzzy`, names are also completed, and corrected by one edit. A single name that is defined nowhere
/// always is.
pub fn find(view: &View, scope: &Scope, names: &[QueryName], fuzzy: bool) -> FxHashMap<RowId, f32> {
    let segments = view.reader.segments.iter();
    let postings: Vec<_> = segments.map(|segment| segment.postings()).collect();
    let mut search = Search { view, scope, found: FxHashMap::default() };

    for wanted in names {
        let Some(name) = NameForms::new(wanted) else { continue };

        let mut best = 0.0f32;
        for (s, postings) in postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            best = best.max(search.add(s, postings, &name, std::slice::from_ref(&name.term), false));
        }

        // Corrections of a name among others would find more by chance than by intent.
        let is_only = names.len() == 1 && wanted.certainty == 1.0;
        if name.normalised.len() < MIN_FUZZY_BYTES || !(fuzzy || (is_only && best == 0.0)) {
            continue;
        }

        let terms = search.similar_terms(&postings, &name.normalised, fuzzy);
        for (s, postings) in postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            search.add(s, postings, &name, &terms, true);
        }
    }

    search.found
}

/// A search among the symbols of the rows in scope.
struct Search<'a> {
    view: &'a View,
    scope: &'a Scope,
    found: FxHashMap<RowId, f32>,
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
        let segment = &self.view.reader.segments[s];
        let mut best = 0.0f32;

        for term in terms {
            let Some(list) = postings.get(Field::Symbol, term) else { continue };
            list.for_each(|row, _| {
                if !self.scope.rows[s].contains(row) {
                    return;
                }
                let Some(record) = segment.rows().get(row as usize) else { return };

                // Different names may share a term, so the names themselves are compared.
                let fits = segment.symbols_of(record).map(|symbol| {
                    let qualified = segment.name(symbol.qualified_name);
                    name.fit(segment.name(symbol.name), qualified, symbol.kind, fuzzy)
                });
                let fit = fits.fold(0.0, f32::max);

                if fit > 0.0 {
                    let slot = self.found.entry(RowId { segment: s as u32, row }).or_default();
                    *slot = slot.max(fit);
                    best = best.max(fit);
                }
            });
        }

        best
    }
}

/// A name in the forms in which it is compared.
pub struct NameForms<'a> {
    segments: Vec<&'a str>,
    last: &'a str,
    /// `last`, [`normalised`].
    normalised: String,
    /// The index term of `last` as a whole.
    term: String,
    certainty: f32,
}

impl<'a> NameForms<'a> {
    /// `None` if the name has no letters and digits.
    pub fn new(wanted: &'a QueryName) -> Option<NameForms<'a>> {
        let segments: Vec<&str> = segments(&wanted.name).collect();
        let last = *segments.last()?;

        let normalised = normalised(last);
        let term = stem(&normalised);

        (!normalised.is_empty()).then_some(NameForms {
            segments,
            last,
            normalised,
            term,
            certainty: wanted.certainty,
        })
    }

    /// Returns the fit of a definition called `name`, 0–1. If `fuzzy`, a part of the name and one edit fit as
    /// well.
    pub fn fit(&self, name: &str, qualified: &str, kind: u8, fuzzy: bool) -> f32 {
        let last = last_segment(name);
        let fit = if last == self.last {
            self.qualifier_fit(qualified)
        } else {
            let other = normalised(last);
            match () {
                () if other == self.normalised => 0.8 * self.qualifier_fit(qualified),
                () if !fuzzy => 0.0,
                () if other.starts_with(&self.normalised) => {
                    0.4 + 0.3 * self.normalised.len() as f32 / other.len() as f32
                }
                () if is_one_edit_apart(&other, &self.normalised) => 0.5,
                () if other.contains(&self.normalised) => {
                    0.3 + 0.3 * self.normalised.len() as f32 / other.len() as f32
                }
                () => 0.0,
            }
        };

        fit * kind_factor(kind) * self.certainty
    }

    /// Returns 1 if the qualifiers agree (`Parser.next` and `Parser::next`) or the name has none, else 0.6.
    fn qualifier_fit(&self, qualified: &str) -> f32 {
        if self.segments.len() == 1 {
            return 1.0;
        }

        let wanted = self.segments.iter().rev().skip(1);
        let theirs: Vec<&str> = segments(qualified).collect();
        let theirs = theirs.iter().rev().skip(1);
        let n_equal = wanted.zip(theirs).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();

        if n_equal > 0 { 1.0 } else { 0.6 }
    }
}

/// Returns the factor for the kind of a symbol. Members, keys and `impl` blocks often have a name that is
/// defined elsewhere.
fn kind_factor(kind: u8) -> f32 {
    use SymbolKind as K;
    match SymbolKind::from_u8(kind) {
        Some(K::Field | K::Property | K::Variable | K::EnumMember | K::Key | K::Heading | K::Selector) => 0.7,
        Some(K::Impl | K::Namespace | K::Other) => 0.5,
        _ => 1.0,
    }
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
    use super::*;

    fn fit(wanted: &str, name: &str, qualified: &str, fuzzy: bool) -> f32 {
        let wanted = QueryName { name: wanted.to_owned(), certainty: 1.0 };
        NameForms::new(&wanted).unwrap().fit(name, qualified, SymbolKind::Function as u8, fuzzy)
    }

    #[test]
    fn exact_names_fit_better_than_similar_ones() {
        for separator in ["::", ".", "#", "->"] {
            let wanted = format!("Parser{separator}next");
            assert_eq!(fit(&wanted, "next", "Parser::next", false), 1.0, "{separator}");
            assert!(fit(&wanted, "next", "Lexer::next", false) < 1.0);
        }
        let exact = fit("next_token", "next_token", "next_token", false);
        let other_style = fit("next_token", "nextToken", "nextToken", false);
        let longer = fit("next_tok", "nextToken", "nextToken", true);
        let misspelt = fit("next_tokne", "nextToken", "nextToken", true);
        let inner = fit("token", "nextTokenKind", "nextTokenKind", true);
        assert!(
            exact > other_style
                && other_style > longer
                && longer > misspelt
                && misspelt > inner
                && inner > 0.0
        );
        assert_eq!(fit("next_tok", "nextToken", "nextToken", false), 0.0);
        assert_eq!(fit("next", "Parser", "Parser", true), 0.0);
    }

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
