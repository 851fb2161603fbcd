//! Texts: BM25 of the query over the definitions of a file.

use codeweaver_store::records::RowRecord;
use codeweaver_text::{self as text, TermKind};

use super::Definition;
use crate::query::answer::evidence::Evidence;
use crate::query::definitions::{end_of_line, is_part, start_with_comment};
use crate::query::parse::verbs::Relation;

/// Parameters of BM25. Definitions are of very different lengths, and a long one is no worse an answer.
const K1: f32 = 2.0;
const B: f32 = 0.3;
/// Influence of the rarity of a term among the definitions on its weight, 0–1.
const RARITY: f32 = 0.3;

/// Counts of the terms of the query in several texts.
pub(super) struct Texts<'a> {
    evidence: &'a Evidence,
    /// Occurrences of each term of the query, by text.
    counts: Vec<f32>,
    /// The greatest weight of each term in a name or documentation, by text.
    bonuses: Vec<f32>,
    /// Number of bytes of each text.
    lengths: Vec<f32>,
    marks: Option<&'a Evidence>,
    /// For each text, the greatest weight of the terms of the query on a line with a mark and the line after
    /// it.
    marked: Vec<f32>,
    /// The deed of the name of each text.
    deeds: Vec<Deed>,
}

/// The deed that the name of a text states, compared with the verbs of the query.
#[derive(Debug, Clone, Copy, Default)]
struct Deed {
    is_asked: bool,
    is_opposite: bool,
}

impl<'a> Texts<'a> {
    /// Makes empty counts for `n` texts.
    pub(super) fn new(n: usize, evidence: &'a Evidence, marks: Option<&'a Evidence>) -> Texts<'a> {
        let empty = vec![0.0; n * evidence.n_terms()];
        let (lengths, marked) = (vec![0.0; n], vec![0.0; n]);
        let deeds = vec![Deed::default(); n];
        Texts { evidence, counts: empty.clone(), bonuses: empty, lengths, marks, marked, deeds }
    }

    /// The greatest share of the weight of the query beside a mark of text `i`, 0–1.
    pub(super) fn marked_share(&self, i: usize) -> f32 {
        let all: f32 = self.evidence.weights().iter().sum();
        self.marked[i] / all.max(f32::MIN_POSITIVE)
    }

    /// Adds the text of the chunk `row`. Each part goes to the innermost around it of the definitions at
    /// `numbers`, and the remainder to the text `rest`. Fields and the like also count for their type, since
    /// they describe it.
    pub(super) fn add_chunk(
        &mut self,
        row: &RowRecord,
        text: &[u8],
        definitions: &[Definition<'_>],
        numbers: &[usize],
        rest: usize,
    ) {
        let offset = |byte: u32| byte.min(row.end_byte).saturating_sub(row.start_byte) as usize;
        let end = |i: usize| offset(definitions[i].record.end_byte);

        // The definitions around `at`, each with the text that its own text belongs to as well.
        let mut around: Vec<(usize, Option<usize>)> = Vec::new();
        let mut at = 0;

        for &i in numbers {
            let definition = &definitions[i];
            let start = offset(definition.record.start_byte);
            while let Some(&(inner, also)) = around.last().filter(|(inner, _)| end(*inner) <= start) {
                self.add(inner, also, text, at, end(inner));
                at = at.max(end(inner));
                around.pop();
            }

            // The first line of the outer definition stays with it: a comment there is not about the inner
            // one.
            let &(outer, also) = around.last().unwrap_or(&(rest, None));
            let head = definitions.get(outer).filter(|outer| outer.record.start_byte >= row.start_byte);
            let head_end = head.map_or(0, |outer| end_of_line(text, offset(outer.record.start_byte)));
            let start = start_with_comment(text, at.max(head_end), start);
            self.add(outer, also, text, at, start);
            at = at.max(start);

            let is_part = outer != rest && is_part(&definition.record, &definitions[outer].record);
            around.push((i, is_part.then_some(outer)));
        }

        while let Some((inner, also)) = around.pop() {
            self.add(inner, also, text, at, end(inner));
            at = at.max(end(inner));
        }
        self.add(rest, None, text, at, text.len());
    }

    /// Adds `start..end` of `text` to the text `i`, and to the text `also` if there is one.
    fn add(&mut self, i: usize, also: Option<usize>, text: &[u8], start: usize, end: usize) {
        let Some(part) = text.get(start..end).filter(|part| !part.is_empty()) else { return };

        for i in std::iter::once(i).chain(also) {
            self.lengths[i] += part.len() as f32;
        }
        if let Some(marks) = self.marks {
            self.add_marks(marks, i, part);
        }

        let n_terms = self.evidence.n_terms();
        // Most lines have no term of the query, and cutting a line into terms is the costly part.
        for line in part.split(|&byte| byte == b'\n').filter(|line| self.evidence.may_occur_in(line)) {
            text::visit_terms(&String::from_utf8_lossy(line), |term, _| {
                let Some(number) = self.evidence.number_of(term) else { return };
                for i in std::iter::once(i).chain(also) {
                    self.counts[i * n_terms + number] += 1.0;
                }
            });
        }
    }

    /// Adds the marks of `part` of text `i`.
    fn add_marks(&mut self, marks: &Evidence, i: usize, part: &[u8]) {
        // Most lines have no term of the query, so these are looked for first.
        let lines = part.split(|&byte| byte == b'\n');
        let mut lines = lines.map(|line| (line, self.evidence.may_occur_in(line))).peekable();

        let mut marked = self.marked[i];
        while let Some((line, is_found)) = lines.next() {
            let (next, is_next_found) = lines.peek().copied().unwrap_or_default();
            if (is_found || is_next_found) && marks.may_occur_in(line) && marks.has_term_in(line) {
                marked = marked.max(self.evidence.weight_in([line, next]));
            }
        }
        self.marked[i] = marked;
    }

    /// Raises the bonus of each term of the query in `name`, a description of text `i`, to `weight`.
    pub(super) fn add_bonus(&mut self, i: usize, name: &str, weight: f32) {
        let n_terms = self.evidence.n_terms();
        text::visit_terms(name, |term, _| {
            if let Some(number) = self.evidence.number_of(term) {
                let bonus = &mut self.bonuses[i * n_terms + number];
                *bonus = bonus.max(weight);
            }
        });
    }

    /// As [`Self::add_bonus`], for the name of text `i`: a word that does the same as a word of the query
    /// raises the bonus of that to `same`, and one that does the opposite is noted.
    pub(super) fn add_name(&mut self, i: usize, name: &str, weight: f32, same: f32) {
        let n_terms = self.evidence.n_terms();

        text::visit_terms(name, |term, kind| {
            if let Some(number) = self.evidence.number_of(term) {
                let bonus = &mut self.bonuses[i * n_terms + number];
                *bonus = bonus.max(weight);
                self.deeds[i].is_asked |= self.evidence.is_verb(number);
                return;
            }
            if !matches!(kind, TermKind::Word | TermKind::Part) {
                return;
            }
            for (number, relation) in self.evidence.relations_to(term) {
                match relation {
                    Relation::Same => {
                        let bonus = &mut self.bonuses[i * n_terms + number];
                        *bonus = bonus.max(same);
                        self.deeds[i].is_asked = true;
                    }
                    Relation::Opposite => self.deeds[i].is_opposite = true,
                }
            }
        });
    }

    /// Returns whether the name of text `i` does the opposite of what the query asks for, and nothing of it.
    pub(super) fn is_opposite(&self, i: usize) -> bool {
        self.deeds[i].is_opposite && !self.deeds[i].is_asked
    }

    /// The weight of each term among the first `n` texts: less if most of them have it, since such a term
    /// does not tell them apart.
    pub(super) fn weights_among(&self, n: usize) -> Vec<f32> {
        let n_terms = self.evidence.n_terms();
        let most = libm::logf((n as f32 + 1.0) / 0.5);

        let mut weights = Vec::with_capacity(n_terms);
        for (number, weight) in self.evidence.weights().iter().enumerate() {
            let has =
                |i: &usize| self.counts[i * n_terms + number] + self.bonuses[i * n_terms + number] > 0.0;
            let n_with = (0..n).filter(has).count() as f32;
            let rarity = libm::logf((n as f32 + 1.0) / (n_with + 0.5)) / most;
            weights.push(weight * (1.0 - RARITY + RARITY * rarity));
        }
        weights
    }

    /// Returns whether the query has several terms and text `i` has a bonus of `weight` for each.
    pub(super) fn has_all(&self, i: usize, weight: f32) -> bool {
        let n_terms = self.evidence.n_terms();
        n_terms > 1 && self.bonuses[i * n_terms..(i + 1) * n_terms].iter().all(|bonus| *bonus >= weight)
    }

    /// The mean number of bytes of these texts, at least 1.
    pub(super) fn mean_length(&self) -> f32 {
        (self.lengths.iter().sum::<f32>() / self.lengths.len() as f32).max(1.0)
    }

    /// BM25 of text `i` among these texts, whose `mean` length is given, with these `weights` of the terms.
    pub(super) fn score(&self, i: usize, mean: f32, weights: &[f32]) -> f32 {
        let n_terms = self.evidence.n_terms();
        let norm = 1.0 - B + B * self.lengths[i] / mean;
        let of_text = i * n_terms..(i + 1) * n_terms;
        let counts = self.counts[of_text.clone()].iter().zip(&self.bonuses[of_text]);

        let terms = weights.iter().zip(counts);
        terms
            .map(|(weight, (count, bonus))| {
                let tf = count / norm + bonus;
                weight * tf / (tf + K1)
            })
            .sum()
    }
}
