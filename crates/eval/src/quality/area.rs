//! Areas: the parts of a product that figures are kept for. A table of keywords decides the area of an issue.
//!
//! The confidence of an area is its share of all keywords in the text, times n / (n + 1/2) for its n
//! keywords. If it is below [`MIN_CONFIDENCE`], or two areas share the most keywords, the area is
//! [`UNCERTAIN`]. In a table with weights, such as a [learnt](super::learnt_areas) one, the share is that of
//! e to the sum of the weights, which is the probability of the area if terms are independent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use codeweaver_text as text;

/// The area of an issue that the table does not decide.
pub const UNCERTAIN: &str = "uncertain";
/// Least confidence of an area.
pub const MIN_CONFIDENCE: f64 = 0.5;
/// The built-in table, for software of any kind.
pub const BUILT_IN: &str = include_str!("data/areas.txt");
/// Endings that the last word of a keyword may have in a text.
const ENDINGS: [&str; 7] = ["", "s", "es", "ed", "d", "ing", "er"];

/// Keywords by area, in the order of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Areas(Vec<(String, Vec<Keyword>)>);

/// A keyword of an area.
#[derive(Debug, Clone, PartialEq)]
struct Keyword {
    words: Vec<String>,
    /// Weight of a single term; `None` in a table without weights.
    weight: Option<f64>,
}

/// The area of an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Classification {
    pub area: String,
    /// 0–1; 0 without keywords.
    pub confidence: f64,
}

impl Areas {
    /// Parses a table: lines `NAME: WORD, TWO WORDS` or `NAME: TERM=WEIGHT, TERM=WEIGHT`, with `#` before
    /// comments.
    ///
    /// # Errors
    /// The number of the wrong line (1-based) and what is wrong.
    pub fn parse(text: &str) -> Result<Areas, (u64, String)> {
        let mut areas: Vec<(String, Vec<Keyword>)> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }

            let number = i as u64 + 1;
            let (name, keywords) =
                line.split_once(':').ok_or_else(|| (number, "expected NAME: WORD, WORD".to_owned()))?;
            let name = name.trim().to_lowercase();
            let keywords: Vec<Keyword> =
                keywords.split(',').map(Keyword::parse).filter(|keyword| !keyword.words.is_empty()).collect();
            if name.is_empty() || keywords.is_empty() {
                return Err((number, "an area needs a name and at least one word".to_owned()));
            }
            if name == UNCERTAIN || areas.iter().any(|(known, _)| *known == name) {
                return Err((number, format!("the area `{name}` exists already")));
            }
            areas.push((name, keywords));
        }

        match areas.is_empty() {
            true => Err((1, "the table has no area".to_owned())),
            false => Ok(Areas(areas)),
        }
    }

    /// Returns the names in the order of the table, without [`UNCERTAIN`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Decides the area of `text`. A keyword counts once, regardless of its number of occurrences.
    pub fn classify(&self, text: &str) -> Classification {
        if self.0.iter().flat_map(|(_, keywords)| keywords).any(|keyword| keyword.weight.is_some()) {
            return self.classify_by_weights(text);
        }

        let words = words(text);
        let mut counts = Vec::new();
        for (_, keywords) in &self.0 {
            counts.push(keywords.iter().filter(|keyword| occurs(&keyword.words, &words)).count());
        }

        let total: usize = counts.iter().sum();
        let most = counts.iter().copied().max().unwrap_or(0);
        let confidence = confidence(most, total);

        // A tie decides nothing.
        let mut leading = counts.iter().zip(&self.0).filter(|(n, _)| **n == most);
        match (leading.next(), leading.next()) {
            (Some((_, (name, _))), None) if confidence >= MIN_CONFIDENCE => {
                Classification { area: name.clone(), confidence }
            }
            _ => Classification { area: UNCERTAIN.to_owned(), confidence },
        }
    }

    /// Decides the area of `text` by the weights of its terms.
    fn classify_by_weights(&self, text: &str) -> Classification {
        let terms = terms_of(text);
        let mut sums = Vec::new();
        for (_, keywords) in &self.0 {
            let found = keywords.iter().filter(|keyword| keyword.words.iter().all(|it| terms.contains(it)));
            let weights: Vec<f64> = found.filter_map(|keyword| keyword.weight).collect();
            sums.push((weights.iter().sum::<f64>(), weights.len()));
        }

        let best = (0..sums.len()).max_by(|&a, &b| sums[a].0.total_cmp(&sums[b].0).then(b.cmp(&a)));
        let Some(best) = best else { return Classification { area: UNCERTAIN.to_owned(), confidence: 0.0 } };
        let all: f64 = sums.iter().map(|(sum, _)| sum.exp()).sum();
        let n = sums[best].1 as f64;
        let confidence = sums[best].0.exp() / all * (n / (n + 0.5));

        let is_certain = confidence >= MIN_CONFIDENCE;
        let area = if is_certain { self.0[best].0.as_str() } else { UNCERTAIN };
        Classification { area: area.to_owned(), confidence }
    }
}

impl Keyword {
    /// Parses `TWO WORDS` or `TERM=WEIGHT`.
    fn parse(text: &str) -> Keyword {
        let weighted = text.rsplit_once('=').and_then(|(term, weight)| {
            let weight: f64 = weight.trim().parse().ok()?;
            Some(Keyword {
                words: vec![term.trim().to_owned()],
                weight: weight.is_finite().then_some(weight),
            })
        });
        weighted.unwrap_or_else(|| Keyword { words: words(text), weight: None })
    }
}

/// Returns the confidence of an area that has `n` of `total` keywords.
fn confidence(n: usize, total: usize) -> f64 {
    if total == 0 {
        return 0.0;
    }

    let n = n as f64;
    n / total as f64 * (n / (n + 0.5))
}

/// Splits `text` into words in lower case; a hyphen within a word is part of it.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    let words = words.map(|word| word.trim_matches('-').to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the terms of a text, without stop words.
pub(super) fn terms_of(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    text::for_each_term(text, &mut |term| {
        if term.len() > 2 && !text::is_stop_word(term) {
            terms.insert(term.to_owned());
        }
    });
    terms
}

/// Returns whether the words of `keyword` occur in sequence; the last one may have an ending.
fn occurs(keyword: &[String], words: &[String]) -> bool {
    let Some((last, first)) = keyword.split_last() else { return false };
    words
        .windows(keyword.len())
        .any(|window| window[..first.len()] == *first && is_last_word(&window[first.len()], last))
}

/// Returns whether `word` is `keyword`, with or without an ending.
fn is_last_word(word: &str, keyword: &str) -> bool {
    word.strip_prefix(keyword).is_some_and(|rest| ENDINGS.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of document 003, "Product Area Classification".
    const DOCUMENT: &str = "\
        communities: pins, members, community feed, posts, groups\n\
        scheduling: calendar, schedule, publish, queue, optimal times\n\
        analytics: metrics, insights, reports, performance, engagement\n\
        integrations: connect, disconnect, oauth, permissions, third-party\n\
        onboarding: setup, getting started, first time, trial\n";

    #[test]
    fn issues_fall_into_the_areas_of_their_words() {
        let areas = Areas::parse(DOCUMENT).unwrap();
        let of = |text: &str| areas.classify(text);
        let one = of("My pins are gone");
        assert_eq!((one.area.as_str(), one.confidence), ("communities", 1.0 / 1.5));
        let many = of("Pins, members and the Community Feed are missing after publishing");
        assert_eq!((many.area.as_str(), many.confidence), ("communities", 0.75 * (3.0 / 3.5)));
        assert_eq!(of("third-party OAuth fails the first time").area, "integrations");
        assert_eq!(of("scheduled twice").area, "scheduling", "an ending");
    }

    #[test]
    fn conflicting_or_missing_signals_are_uncertain() {
        let areas = Areas::parse(DOCUMENT).unwrap();
        let conflict = areas.classify("pins and calendar");
        assert_eq!((conflict.area.as_str(), conflict.confidence), (UNCERTAIN, 0.5 * (1.0 / 1.5)));
        assert_eq!(
            areas.classify("it is broken"),
            Classification { area: UNCERTAIN.to_owned(), confidence: 0.0 }
        );
        assert_eq!(areas.classify("pinstripe").area, UNCERTAIN, "a word of its own");
    }

    #[test]
    fn the_built_in_table_is_valid_and_wrong_lines_are_named() {
        assert!(Areas::parse(BUILT_IN).unwrap().names().count() >= 10);
        let error = |text| Areas::parse(text).unwrap_err();
        assert_eq!(error("# x\n\na b").0, 3);
        assert_eq!(error("a: b\nA: c").0, 2);
        assert_eq!(error("uncertain: b").0, 1);
        assert_eq!(error("a: ,").0, 1);
        assert_eq!(error("").1, "the table has no area");
    }
}
