//! The functions of the files that a search found, and how much each has to do with a task.

use std::collections::HashSet;

use codeweaver::query::outline::OutlineSymbol;
use codeweaver::query::{Match, Outline};
use codeweaver_text as text;

/// Kinds of definitions that are functions.
const FUNCTION_KINDS: [&str; 4] = ["function", "method", "constructor", "macro"];

/// Weights of the evidence that a task is about a function, fitted by logistic regression to the tasks of
/// `benches/density.py` that are not kept aside.
const BASE: f32 = -9.6;
/// Weights of the place of its file among those found: first, second, and all others.
const PLACE: [f32; 3] = [0.9, 0.1, -0.9];
/// Relevance of its file.
const RELEVANCE: f32 = 1.0;
/// It is the definition of its file that answers best, and this in the best file.
const FOCUS: f32 = 1.0;
const BEST_FOCUS: f32 = 0.8;
/// Its relevance as a share of that of its file, if it is a further definition that answers.
const FURTHER: f32 = 0.7;
/// The task has its name, written as in code.
const NAMED: f32 = 2.0;
/// Its terms are those of the task, as a share of the function with most of them.
const TERMS: f32 = 3.5;
/// Logarithm of its number of lines.
const LENGTH: f32 = 0.6;

/// Saturation of the number of times that a function has a term, and the weight of its length in this (BM25).
const SATURATION: f32 = 1.2;
const LENGTH_SHARE: f32 = 0.75;

/// A function of the codebase.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    pub path: String,
    /// First and last line, 1-based, inclusive.
    pub lines: (u32, u32),
    pub kind: &'static str,
    /// Qualified.
    pub name: String,
    /// Its lines; `None` if they were not read.
    pub text: Option<String>,
    /// Probability that the task is about it.
    pub score: f32,
}

/// A file that the search found.
pub(super) struct FoundFile<'a> {
    pub found: &'a Match,
    /// Its place among all, from 0.
    pub place: usize,
    pub outline: &'a Outline,
    pub text: &'a str,
}

/// The parts of a task that functions are compared with.
pub(super) struct Task {
    pub terms: Vec<String>,
    /// Names that are written as in code, without qualifiers.
    names: HashSet<String>,
}

/// A function with what is known before all are compared.
struct Candidate {
    function: Function,
    /// Sum of the evidence but for its terms.
    evidence: f32,
    /// Number of times that it has each term of the task.
    counts: Vec<u32>,
    n_terms: u32,
}

impl Task {
    pub(super) fn new(task: &str) -> Task {
        let terms = text::query_terms(task).into_iter().map(|term| term.term).collect();
        let names = text::identifiers(task)
            .iter()
            .filter_map(|name| name.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();

        Task { terms, names }
    }

    /// The functions of `files` with their scores, best first.
    pub(super) fn functions(&self, files: &[FoundFile<'_>]) -> Vec<Function> {
        let candidates: Vec<Candidate> = files.iter().flat_map(|file| self.candidates(file)).collect();
        let fits = term_fits(&candidates, self.terms.len());
        let most = fits.iter().copied().fold(f32::MIN_POSITIVE, f32::max);

        let scored = candidates.into_iter().zip(fits).map(|(candidate, fit)| Function {
            score: logistic(candidate.evidence + TERMS * fit / most),
            ..candidate.function
        });
        let mut functions: Vec<Function> = scored.collect();
        sort(&mut functions);
        functions
    }

    fn candidates(&self, file: &FoundFile<'_>) -> Vec<Candidate> {
        let lines: Vec<&str> = file.text.lines().collect();
        let functions = file.outline.symbols.iter().filter(|symbol| is_function(symbol.kind));

        functions
            .filter_map(|symbol| {
                let (first, last) = symbol.span;
                // Of a very long file, the end is not read.
                let text = lines.get(first.checked_sub(1)? as usize..last as usize)?.join("\n");
                let (counts, n_terms) = self.count(&text);
                let function = Function {
                    path: file.found.file.path.clone(),
                    lines: symbol.span,
                    kind: symbol.kind,
                    name: symbol.qualified_name.clone(),
                    text: Some(text),
                    score: 0.0,
                };
                Some(Candidate { function, evidence: self.evidence(file, symbol), counts, n_terms })
            })
            .collect()
    }

    fn evidence(&self, file: &FoundFile<'_>, symbol: &OutlineSymbol) -> f32 {
        let FoundFile { found, place, .. } = *file;
        let (first, last) = symbol.span;
        let mut sum = BASE + PLACE[place.min(PLACE.len() - 1)] + RELEVANCE * found.relevance_score;

        let focus = &found.focus;
        let is_focus = focus.symbol == symbol.qualified_name && (first..=last).contains(&focus.start_line);
        if is_focus {
            sum += FOCUS + if place == 0 { BEST_FOCUS } else { 0.0 };
        }

        let further = found.more_in_file.iter().find(|further| {
            further.symbol == symbol.qualified_name && (first..=last).contains(&further.line)
        });
        if let Some(further) = further {
            sum +=
                FURTHER * (further.relevance_score / found.relevance_score.max(f32::MIN_POSITIVE)).min(1.0);
        }

        if self.names.contains(&symbol.name) {
            sum += NAMED;
        }
        sum + LENGTH * ((last - first + 2) as f32).ln()
    }

    /// Number of times that `text` has each term of the task, and its number of terms.
    fn count(&self, text: &str) -> (Vec<u32>, u32) {
        let (mut counts, mut n_terms) = (vec![0; self.terms.len()], 0);
        text::for_each_term(text, &mut |term| {
            n_terms += 1;
            if let Some(at) = self.terms.iter().position(|known| known == term) {
                counts[at] += 1;
            }
        });
        (counts, n_terms)
    }
}

/// Sorts by score; equal ones by their place.
pub(super) fn sort(functions: &mut [Function]) {
    functions.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.path, a.lines).cmp(&(&b.path, b.lines)))
    });
}

pub(super) fn is_function(kind: &str) -> bool {
    FUNCTION_KINDS.contains(&kind)
}

/// The fit of each candidate to the terms of the task: BM25 among the candidates.
fn term_fits(candidates: &[Candidate], n_terms: usize) -> Vec<f32> {
    let n = candidates.len() as f32;
    let mean = candidates.iter().map(|it| it.n_terms as f32).sum::<f32>() / n.max(1.0);

    let rarity: Vec<f32> = (0..n_terms)
        .map(|term| {
            let having = candidates.iter().filter(|it| it.counts[term] > 0).count() as f32;
            (1.0 + (n - having + 0.5) / (having + 0.5)).ln()
        })
        .collect();

    candidates.iter().map(|candidate| candidate.term_fit(&rarity, mean)).collect()
}

impl Candidate {
    /// `rarity` is that of each term of the task, `mean` the mean number of terms of all candidates.
    fn term_fit(&self, rarity: &[f32], mean: f32) -> f32 {
        let length = 1.0 - LENGTH_SHARE + LENGTH_SHARE * self.n_terms as f32 / mean.max(1.0);
        let of_term = |(&count, rarity): (&u32, &f32)| {
            let count = count as f32;
            rarity * count * (SATURATION + 1.0) / (count + SATURATION * length)
        };
        self.counts.iter().zip(rarity).filter(|(count, _)| **count > 0).map(of_term).sum()
    }
}

fn logistic(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, task: &Task, text: &str) -> Candidate {
        let (counts, n_terms) = task.count(text);
        let function = Function {
            path: "a.rs".to_owned(),
            lines: (1, 2),
            kind: "function",
            name: name.to_owned(),
            text: None,
            score: 0.0,
        };
        Candidate { function, evidence: 0.0, counts, n_terms }
    }

    #[test]
    fn rare_terms_count_more_than_those_of_all_functions() {
        let task = Task::new("the parser drops the deadline");
        let all = ["parser.read()", "parser.write()", "parser.deadline()"];
        let candidates: Vec<Candidate> = all.iter().map(|text| candidate(text, &task, text)).collect();
        let fits = term_fits(&candidates, task.terms.len());
        assert!(fits[2] > 2.0 * fits[0] && fits[0] > 0.0, "{fits:?}");
    }

    #[test]
    fn names_of_a_task_are_those_written_as_in_code_without_qualifiers() {
        let task = Task::new("`Cart::total` calls apply_discount(), which fails");
        let mut names: Vec<&str> = task.names.iter().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["apply_discount", "total"]);
    }
}
