//! Evidence: the terms, names and places in a query by which the definition that answers it is recognised.

use std::ops::Range;

use rustc_hash::FxHashMap;

use codeweaver_text::{self as text, Mention, QueryTerm};

use crate::query::parse::ParsedQuery;
use crate::query::parse::names::QueryName;
use crate::query::parse::verbs::{self, Relation};
use crate::query::rank::intent_fit;
use crate::query::retrieve::name_forms::NameForms;
use crate::query::retrieve::{QueryVector, lexical};
use crate::query::view::{RowId, View};

/// Minimum weight of a name. The terms of a misspelt name are in no chunk and have no weight.
const MIN_NAME_WEIGHT: f32 = 1.0;

/// The terms, names and places that a query asks for, with their weights.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The number of each term in [`Self::weights`].
    numbers: FxHashMap<String, usize>,
    /// The first bytes of the words of each term; empty if they are not known.
    beginnings: Vec<Vec<u8>>,
    /// For each byte, whether it is the first of one of `beginnings`, in either case.
    is_first: Vec<bool>,
    /// The weight of each term: how much it says about the query, and how rare it is.
    weights: Vec<f32>,
    /// The terms that are in the table of [`verbs`], with their numbers.
    verbs: Vec<(String, usize)>,
    vector: Option<QueryVector>,
    /// Names that the definition may have, with the sum of the weights of their terms.
    names: Vec<(QueryName, f32)>,
    is_single_name: bool,
    /// Files and lines of files that the query names.
    pub mentions: Vec<Mention>,
    /// For chunks whose answering definition is known, the bytes of that definition.
    known: FxHashMap<RowId, Range<u32>>,
    /// Kinds and classes of symbols that are wanted; all if empty.
    pub kinds: Vec<String>,
}

impl Evidence {
    /// The evidence of `query`. `idf` is the inverse document frequency of each of its terms; if it is
    /// empty, that of all live rows of `view` is used.
    pub fn new(view: &View, query: &ParsedQuery, idf: &[f32], kinds: &[String]) -> Evidence {
        let counted;
        let idf = if idf.len() == query.terms.len() {
            idf
        } else {
            counted = lexical::idf_of(view, &query.terms);
            &counted
        };

        let mut evidence = Evidence::of_terms(&query.terms, idf);
        evidence.weigh_absent_verbs();
        for name in &query.names {
            let terms = text::query_terms(&name.name);
            let weight: f32 = terms.iter().filter_map(|term| evidence.weight_of(&term.term)).sum();
            evidence.names.push((name.clone(), weight.max(MIN_NAME_WEIGHT)));
        }

        evidence.is_single_name = query.is_single_word();
        evidence.mentions.clone_from(&query.mentions);
        evidence.kinds = kinds.to_vec();
        evidence
    }

    /// The evidence of `terms` alone.
    pub fn of_terms(terms: &[QueryTerm], idf: &[f32]) -> Evidence {
        let beginnings = beginnings_of(terms);
        // Most bytes of a line begin no term, and this table rejects them at once.
        let mut is_first = vec![false; 256];
        for first in beginnings.iter().filter_map(|beginning| beginning.first()) {
            for byte in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
                is_first[usize::from(byte)] = true;
            }
        }

        Evidence {
            numbers: terms.iter().enumerate().map(|(i, term)| (term.term.clone(), i)).collect(),
            verbs: verbs_of(terms),
            beginnings,
            is_first,
            weights: terms.iter().zip(idf).map(|(term, idf)| term.weight * idf).collect(),
            ..Evidence::default()
        }
    }

    /// The degree to which `name` has the terms of the query, 0–1.
    pub fn name_fit(&self, name: &str) -> f32 {
        let all = self.weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        intent_fit::name_fit(name, |term| self.weight_of(term).map(|weight| weight / all))
    }

    /// Returns this evidence with the `known` answering definitions of some chunks, limited to `kinds`.
    pub fn with_known(self, known: FxHashMap<RowId, Range<u32>>, kinds: &[String]) -> Evidence {
        Evidence { known, kinds: kinds.to_vec(), ..self }
    }

    /// Sets the bytes of the definition that answers in the chunk `id`; none if the chunk as a whole does.
    pub fn set_known(&mut self, id: RowId, definition: Range<u32>) {
        self.known.insert(id, definition);
    }

    /// Gives verbs that occur nowhere the weight of the rarest term: other words for the same deed stand for
    /// them.
    fn weigh_absent_verbs(&mut self) {
        let most = self.weights.iter().copied().fold(0.0, f32::max);
        for (_, number) in &self.verbs {
            if self.weights[*number] == 0.0 {
                self.weights[*number] = most;
            }
        }
    }

    /// Returns this evidence with the `vector` of the query, if it has one.
    pub fn with_vector(self, vector: Option<QueryVector>) -> Evidence {
        Evidence { vector, ..self }
    }

    /// The vector of the query.
    pub fn vector(&self) -> Option<&QueryVector> {
        self.vector.as_ref()
    }

    /// Whether the query is a single name and nothing else.
    pub fn is_single_name(&self) -> bool {
        self.is_single_name && self.names.len() == 1
    }

    /// Number of terms.
    pub fn n_terms(&self) -> usize {
        self.weights.len()
    }

    /// The weight of each term, by number.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The bytes of the definition in a chunk that is known to answer.
    pub fn known_in(&self, id: RowId) -> Option<&Range<u32>> {
        self.known.get(&id)
    }

    /// The number of `term`, if the query has it.
    pub fn number_of(&self, term: &str) -> Option<usize> {
        self.numbers.get(term).copied()
    }

    /// Returns false if `line` has no term of the query. Costs less than cutting it into terms.
    pub fn may_occur_in(&self, line: &[u8]) -> bool {
        if self.beginnings.is_empty() {
            return true;
        }

        line.iter().enumerate().any(|(at, &byte)| {
            let is_first = self.is_first.get(usize::from(byte)) == Some(&true);
            is_first && may_begin_word(line, at) && self.begins_like_term(&line[at..])
        })
    }

    /// Returns whether `text` begins with one of `beginnings`, in either case.
    fn begins_like_term(&self, text: &[u8]) -> bool {
        self.beginnings.iter().any(|beginning| {
            text.get(..beginning.len()).is_some_and(|part| part.eq_ignore_ascii_case(beginning))
        })
    }

    /// Returns whether `line` has one of the terms.
    pub fn has_term_in(&self, line: &[u8]) -> bool {
        let mut has_term = false;
        text::visit_terms(&String::from_utf8_lossy(line), |term, _| {
            has_term |= self.number_of(term).is_some()
        });
        has_term
    }

    /// The sum of the weights of the terms that `lines` have.
    pub fn weight_in(&self, lines: [&[u8]; 2]) -> f32 {
        let mut has = vec![false; self.n_terms()];
        for line in lines.into_iter().filter(|line| self.may_occur_in(line)) {
            text::visit_terms(&String::from_utf8_lossy(line), |term, _| {
                if let Some(number) = self.number_of(term) {
                    has[number] = true;
                }
            });
        }

        self.weights.iter().zip(has).filter(|(_, has)| *has).map(|(weight, _)| weight).sum()
    }

    /// Whether the term with this number is in the table of [`verbs`].
    pub fn is_verb(&self, number: usize) -> bool {
        self.verbs.iter().any(|(_, verb)| *verb == number)
    }

    /// The terms to which `word`, which is none of them, relates, by number.
    pub fn relations_to(&self, word: &str) -> impl Iterator<Item = (usize, Relation)> {
        let verbs = self.verbs.iter();
        verbs.filter_map(move |(verb, number)| Some((*number, verbs::relation(word, verb)?)))
    }

    fn weight_of(&self, term: &str) -> Option<f32> {
        self.number_of(term).map(|number| self.weights[number])
    }

    /// The names in the form in which definitions are compared with them, with their weights.
    pub fn names(&self) -> Vec<(NameForms<'_>, f32)> {
        self.names.iter().filter_map(|(name, weight)| Some((NameForms::new(name)?, *weight))).collect()
    }
}

/// The terms that are in the table of [`verbs`], with their numbers.
fn verbs_of(terms: &[QueryTerm]) -> Vec<(String, usize)> {
    let verbs = terms.iter().enumerate().filter(|(_, term)| verbs::is_known(&term.term));
    verbs.map(|(number, term)| (term.term.clone(), number)).collect()
}

/// Returns whether a word may begin at `at`: it begins after something else than a letter, or with a capital.
fn may_begin_word(line: &[u8], at: usize) -> bool {
    at == 0 || line[at].is_ascii_uppercase() || !line[at - 1].is_ascii_alphabetic()
}

/// The first bytes of the words of each of `terms`. Empty if one of the terms has none.
fn beginnings_of(terms: &[QueryTerm]) -> Vec<Vec<u8>> {
    terms.iter().map(beginning_of).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The first two or three bytes of a term, which stemming does not change. `None` if they are not ASCII,
/// since their upper case has other bytes.
fn beginning_of(term: &QueryTerm) -> Option<Vec<u8>> {
    let bytes = term.term.as_bytes();
    let len = bytes.len().saturating_sub(1).clamp(2, 3);
    bytes.get(..len).filter(|beginning| beginning.is_ascii()).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_term_is_never_left_out() {
        for (query, line) in [
            ("try", "it TRIES again"),
            ("parsing headers", "fn parse_header() {}"),
            ("parse_header", "let x = ParseHeader::new();"),
            ("ids", "user IDs"),
            ("server", "a HTTPServer"),
            ("encode", "base64encode"),
            ("größe", "die Größe"),
            ("Ändern", "ändern"),
        ] {
            let terms = text::query_terms(query);
            let evidence = Evidence::of_terms(&terms, &vec![1.0; terms.len()]);
            let mut has_term = false;
            text::visit_terms(line, |term, _| has_term |= evidence.number_of(term).is_some());
            assert!(has_term && evidence.may_occur_in(line.as_bytes()), "{query}: {line}");
        }
        let terms = text::query_terms("parse headers");
        let evidence = Evidence::of_terms(&terms, &[1.0, 1.0]);
        assert!(!evidence.may_occur_in(b"return None;") && !evidence.may_occur_in(b"compare(other);"));
    }
}
