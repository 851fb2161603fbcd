//! Words: the terms of a long text that are searched for, with their weights.

use rustc_hash::FxHashMap;

use codeweaver_text::{self as text, QueryTerm, TermKind};

use crate::query::parse::ParsedQuery;
use crate::query::parse::report::Report;
use crate::query::report::relevance::AbsentTerms;
use crate::query::retrieve::lexical;
use crate::query::view::View;

/// Maximum number of terms. Each costs one lookup in the index.
const MAX_TERMS: usize = 64;
/// Maximum number of different terms that are considered.
const MAX_CONSIDERED: usize = 1500;
/// Weight of an identifier of the title or in a code span, as against 1 of a word of the title.
const NAMES: f32 = 0.8;
/// Weight of a word of the prose or of a message.
const PROSE: f32 = 0.45;
/// Weight of a word of a code block.
const CODE: f32 = 0.05;
/// Factor for the repetition of a word.
const AGAIN: f32 = 0.1;

/// Returns the terms of the title, and those of the text that weigh most by place, frequency, and rarity in
/// `view`; and the share of the terms outside of code blocks that `view` lacks.
pub fn weighted(view: &View, report: &Report, title: &ParsedQuery) -> (Vec<QueryTerm>, AbsentTerms) {
    let mut terms = title.terms.clone();
    let known: Vec<String> = terms.iter().map(|term| term.term.clone()).collect();

    let mut more = Vec::new();
    let mut n_outside_code = 0;
    let mut count: FxHashMap<String, usize> = FxHashMap::default();

    let names = report.names.join(" ");
    let messages: Vec<&str> = report.messages.iter().map(|message| message.text.as_str()).collect();
    let messages = messages.join("\n");
    for (text, weight) in [
        (names.as_str(), NAMES),
        (messages.as_str(), PROSE),
        (report.prose.as_str(), PROSE),
        (report.code.as_str(), CODE),
    ] {
        // Code comes last, so the terms before it are those outside of code.
        n_outside_code = more.len();
        add_terms(text, weight, &known, &mut count, &mut more);
    }

    let idf = lexical::idf_of(view, &more);
    let title_idf = lexical::idf_of(view, &terms);
    let outside_code = more.iter().zip(&idf).take(n_outside_code);
    let absent = absent_terms(terms.iter().zip(&title_idf).chain(outside_code));

    let value = |at: usize| more[at].weight * idf[at];
    let mut order: Vec<usize> = (0..more.len()).filter(|&at| idf[at] > 0.0).collect();
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    order.truncate(MAX_TERMS.saturating_sub(terms.len()));

    // The order of the terms is that of the text again, in which they are scored.
    order.sort_unstable();
    terms.extend(order.into_iter().map(|at| more[at].clone()));

    (terms, absent)
}

/// Returns the share of `terms`, each with its idf, that is absent.
fn absent_terms<'t>(terms: impl Iterator<Item = (&'t QueryTerm, &'t f32)>) -> AbsentTerms {
    let (mut words, mut names) = (Share::default(), Share::default());
    for (term, &idf) in terms {
        if term.is_identifier {
            names.add(idf == 0.0);
        } else if term.term.chars().all(char::is_alphabetic) {
            words.add(idf == 0.0);
        }
    }

    AbsentTerms { words: words.value().unwrap_or_default(), names: names.value() }
}

/// Counts absent terms among all.
#[derive(Default)]
struct Share {
    n_absent: usize,
    n_all: usize,
}

impl Share {
    fn add(&mut self, is_absent: bool) {
        self.n_absent += usize::from(is_absent);
        self.n_all += 1;
    }

    /// Returns the share of absent terms, 0–1; `None` if nothing was counted.
    fn value(&self) -> Option<f32> {
        (self.n_all > 0).then(|| self.n_absent as f32 / self.n_all as f32)
    }
}

/// Adds the terms of `text` that are not `known`, in order. A term that was added before gets heavier.
fn add_terms(
    text: &str,
    weight: f32,
    known: &[String],
    position: &mut FxHashMap<String, usize>,
    terms: &mut Vec<QueryTerm>,
) {
    text::visit_terms(text, |term, kind| {
        if known.iter().any(|it| it == term) {
            return;
        }

        let factor = match kind {
            TermKind::Word | TermKind::Whole | TermKind::Pair => 1.0,
            TermKind::Part => 0.7,
            TermKind::Number | TermKind::Prefix | TermKind::Character => 0.3,
        };

        let has_room = terms.len() < MAX_CONSIDERED;
        match position.get(term).and_then(|&at| terms.get_mut(at)) {
            Some(known) => known.weight = (known.weight + AGAIN * weight * factor).min(0.95),
            None if has_room && !text::is_stop_word(term) => {
                position.insert(term.to_owned(), terms.len());
                let is_identifier = kind == TermKind::Whole;
                terms.push(QueryTerm { term: term.to_owned(), weight: weight * factor, is_identifier });
            }
            None => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(term: &str, is_identifier: bool) -> QueryTerm {
        QueryTerm { term: term.to_owned(), weight: 1.0, is_identifier }
    }

    #[test]
    fn words_and_names_are_counted_apart() {
        let terms = [
            (term("lock", false), 1.0),
            (term("queue", false), 0.0),
            (term("очередь", false), 0.0),
            (term("404", false), 0.0),
            (term("lock_queue", true), 0.0),
        ];
        let absent = |n: usize| absent_terms(terms[..n].iter().map(|(term, idf)| (term, idf)));
        assert_eq!(absent(5), AbsentTerms { words: 2.0 / 3.0, names: Some(1.0) });
        assert_eq!(absent(2), AbsentTerms { words: 0.5, names: None });
        assert_eq!(absent(0), AbsentTerms::default());
    }
}
