//! Generated: the answer of a language model, and the check of its citations.
//!
//! The numbers that it cites are compared with those of the sources: a number without a source is reported,
//! and so are sentences without a number.

use serde::Serialize;

/// Text shown instead of an answer if there is none.
pub const NOTHING_FOUND: &str = "No relevant information found";

/// Maximum number of different citations that are counted.
const MAX_CITED: usize = 64;

/// The answer of a language model, with what its citations are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Generated {
    /// As the model gave it.
    pub text: String,
    /// Name of the model.
    pub model: String,
    /// Numbers of the sources that it cites, ascending.
    pub cited: Vec<usize>,
    /// Numbers that it cites and no source has, ascending.
    pub unknown: Vec<usize>,
    /// Number of sentences without a citation.
    pub uncited_sentences: usize,
}

impl Generated {
    /// The answer `text` of `model` with its citations of the sources 1 to `n_sources`.
    pub fn checked(text: String, model: &str, n_sources: usize) -> Generated {
        let numbers = citations(&text);
        let (cited, unknown) = numbers.into_iter().partition(|number| (1..=n_sources).contains(number));
        let uncited_sentences = uncited_sentences(&text);
        Generated { text, model: model.to_owned(), cited, unknown, uncited_sentences }
    }

    /// Returns whether the model says that the passages do not answer the question.
    pub fn says_nothing_found(&self) -> bool {
        self.cited.is_empty() && self.text.trim().trim_matches('"').starts_with(NOTHING_FOUND)
    }

    /// Warnings about the citations, for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.unknown.is_empty() {
            let numbers: Vec<String> = self.unknown.iter().map(|number| format!("[{number}]")).collect();
            warnings.push(format!("the answer cites {}, which was not retrieved", numbers.join(", ")));
        }

        if self.says_nothing_found() {
            return warnings;
        }

        match self.uncited_sentences {
            0 => {}
            1 => warnings.push("1 sentence of the answer has no source".to_owned()),
            n => warnings.push(format!("{n} sentences of the answer have no source")),
        }

        warnings
    }
}

/// The numbers in brackets outside of code, ascending, each once: `[1]`, `[1, 2]`, `[1][2]`.
fn citations(text: &str) -> Vec<usize> {
    let mut numbers: Vec<usize> = Vec::new();

    for (prose, _) in prose_of(text) {
        for part in prose.split('[').skip(1) {
            let Some((inside, _)) = part.split_once(']') else { continue };
            let parsed: Result<Vec<usize>, _> =
                inside.split(',').map(|number| number.trim().parse()).collect();
            numbers.extend(parsed.unwrap_or_default());
        }
    }

    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(MAX_CITED);
    numbers
}

/// The parts of `text` outside of code, with whether code follows.
fn prose_of(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let n_fences = text.matches("```").count();
    text.split("```").enumerate().filter(|(i, _)| i % 2 == 0).map(move |(i, part)| (part, i < n_fences))
}

/// Number of sentences without a citation.
fn uncited_sentences(text: &str) -> usize {
    prose_of(text).flat_map(|(prose, _)| prose.lines()).map(str::trim).filter(|line| is_uncited(line)).count()
}

/// Returns whether a line is a sentence without a citation. A line that announces code or a list is not.
fn is_uncited(line: &str) -> bool {
    let n_words = line.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    n_words >= 4 && !line.ends_with(':') && citations(line).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_compared_with_the_sources() {
        let text =
            "Use `a[3]` so [1]. And so [2, 9].\n\nThis line has no source.\n```\nx[7]\n```\n".to_owned();
        let generated = Generated::checked(text.replace("`a[3]` ", ""), "m", 2);
        assert_eq!((generated.cited.as_slice(), generated.unknown.as_slice()), (&[1, 2][..], &[9][..]));
        assert_eq!(generated.uncited_sentences, 1);
        assert!(generated.warnings()[0].contains("[9], which was not retrieved"));
        let nothing = Generated::checked(format!("{NOTHING_FOUND}."), "m", 2);
        assert!(nothing.says_nothing_found() && nothing.warnings().is_empty());
    }
}
