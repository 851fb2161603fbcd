//! The score of one answer: an ordered list of places against the labelled targets.
//!
//! A result covers a target if their paths match and, for a target with lines, they share a line; a target may also name a
//! symbol, a text or a least relevance that the result must have. Paths match if they are equal or one is the tail of the
//! other at a folder boundary. A target's rank is that of the first result that covers it; targets with the same rank give
//! one gain.

/// A file, or a part of it, that answers a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Target {
    pub path: String,
    /// 1-based, inclusive; the whole file if `None`.
    pub lines: Option<(u32, u32)>,
    /// A symbol that the shown chunks define.
    pub symbol: Option<String>,
    /// A text that is in the shown chunk.
    pub contains: Option<String>,
    /// Least relevance, 0–1.
    pub min_score: Option<f32>,
}

/// A place that was returned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    pub path: String,
    /// 1-based, inclusive.
    pub lines: (u32, u32),
    /// Names that the shown chunks of the file define.
    pub symbols: Vec<String>,
    /// Of the best chunk; empty unless the question asks for a text.
    pub text: String,
    /// 0–1.
    pub relevance: f32,
}

/// Figures of one answer, or means of several; all 0–1. NDCG, precision, recall and MRR are those of the first `k` places.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scores {
    pub ndcg: f64,
    /// Places that cover a target, as a share of `k`.
    pub precision: f64,
    /// Targets that were found, as a share of all.
    pub recall: f64,
    /// One over the best rank.
    pub mrr: f64,
    pub hit_at_1: f64,
    pub hit_at_3: f64,
    pub hit_at_5: f64,
}

/// Results that count unless another `k` is asked for.
pub const DEPTH: usize = 10;

/// Names of the figures, as thresholds and tables use them.
pub const NAMES: [&str; 7] = ["ndcg", "precision", "recall", "mrr", "hit@1", "hit@3", "hit@5"];

impl Target {
    pub fn file(path: impl Into<String>) -> Target {
        Target { path: path.into(), ..Target::default() }
    }

    pub fn is_covered_by(&self, place: &Place) -> bool {
        let shares_line =
            self.lines.is_none_or(|(first, last)| place.lines.0 <= last && first <= place.lines.1);
        let has = |symbol: &String| place.symbols.iter().any(|name| name == symbol);
        shares_line
            && paths_match(&self.path, &place.path)
            && self.symbol.as_ref().is_none_or(has)
            && self.contains.as_ref().is_none_or(|text| place.text.contains(text.as_str()))
            && self.min_score.is_none_or(|min| place.relevance >= min)
    }
}

fn paths_match(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    long.strip_suffix(short).is_some_and(|head| head.is_empty() || head.ends_with('/'))
}

/// The best rank, from 1, at which one of `targets` is covered.
pub fn best_rank(results: &[Place], targets: &[Target]) -> Option<usize> {
    results.iter().position(|place| targets.iter().any(|target| target.is_covered_by(place))).map(|i| i + 1)
}

/// Scores `results`, best first, against `targets`, to depth `k` (≥ 1). Without targets everything is 0.
pub fn score(results: &[Place], targets: &[Target], k: usize) -> Scores {
    let Some(best) = best_rank(results, targets) else { return Scores::default() };
    let first = &results[..results.len().min(k)];
    let rank = |target: &Target| first.iter().position(|place| target.is_covered_by(place)).map(|i| i + 1);
    let found: Vec<usize> = targets.iter().filter_map(rank).collect();
    let mut ranks = found.clone();
    ranks.sort_unstable();
    ranks.dedup();
    let gain = |rank: usize| 1.0 / (rank as f64 + 1.0).log2();
    let ideal: f64 = (1..=targets.len().min(k)).map(gain).sum();
    let covering = first.iter().filter(|place| targets.iter().any(|target| target.is_covered_by(place)));
    let within = |depth: usize| f64::from(u8::from(best <= depth));
    Scores {
        ndcg: ranks.iter().map(|&rank| gain(rank)).sum::<f64>() / ideal,
        precision: covering.count() as f64 / k as f64,
        recall: found.len() as f64 / targets.len() as f64,
        mrr: within(k) / best as f64,
        hit_at_1: within(1),
        hit_at_3: within(3),
        hit_at_5: within(5),
    }
}

impl Scores {
    /// The mean of several; zeros for none.
    pub fn mean(all: impl IntoIterator<Item = Scores>) -> Scores {
        let mut sum = [0.0; NAMES.len()];
        let mut n = 0.0;
        for one in all {
            sum.iter_mut().zip(one.values()).for_each(|(sum, value)| *sum += value);
            n += 1.0;
        }
        Scores::from_values(sum.map(|value| if n == 0.0 { 0.0 } else { value / n }))
    }

    /// The figures in the order of [`NAMES`].
    pub fn values(&self) -> [f64; NAMES.len()] {
        let Scores { ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5 } = *self;
        [ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5]
    }

    fn from_values(values: [f64; NAMES.len()]) -> Scores {
        let [ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5] = values;
        Scores { ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5 }
    }

    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        NAMES.iter().position(|known| *known == name).map(|i| self.values()[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, lines: (u32, u32)) -> Place {
        Place { path: path.to_owned(), lines, ..Place::default() }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn tails_match_at_folder_boundaries_only() {
        for (a, b, expected) in [
            ("src/a.rs", "a.rs", true),
            ("a.rs", "src/a.rs", true),
            ("src/ba.rs", "a.rs", false),
            ("a.rs", "a.rs", true),
            ("x/a.rs", "y/a.rs", false),
        ] {
            assert_eq!(paths_match(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn ndcg_counts_each_rank_once() {
        let results = [place("x", (1, 9)), place("a", (1, 9)), place("a", (10, 20)), place("b", (1, 5))];
        let scores = score(&results, &[Target::file("a"), Target::file("b")], DEPTH);
        let gain = |rank: f64| 1.0 / (rank + 1.0).log2();
        assert!(close(scores.ndcg, (gain(2.0) + gain(4.0)) / (gain(1.0) + gain(2.0))));
        assert_eq!((scores.recall, scores.mrr, scores.precision), (1.0, 0.5, 0.3));
        assert_eq!((scores.hit_at_1, scores.hit_at_3, scores.hit_at_5), (0.0, 1.0, 1.0));
        // Two targets in one result are one gain; lines must be shared.
        let lines = |first, last| Target { lines: Some((first, last)), ..Target::file("a") };
        let scores = score(&results, &[lines(1, 2), lines(5, 6)], DEPTH);
        assert!(close(scores.ndcg, gain(2.0) / (gain(1.0) + gain(2.0))));
        assert_eq!(score(&results, &[lines(21, 30)], DEPTH), Scores::default());
        assert_eq!(score(&results, &[], DEPTH), Scores::default());
    }

    #[test]
    fn what_lies_beyond_k_does_not_count() {
        let results: Vec<Place> = (0..11).map(|i| place(&format!("f{i}"), (1, 1))).collect();
        assert_eq!(score(&results, &[Target::file("f10")], DEPTH), Scores::default());
        assert_eq!(score(&results, &[Target::file("f9")], DEPTH).mrr, 0.1);
        let two = score(&results, &[Target::file("f1"), Target::file("f2")], 2);
        assert_eq!((two.recall, two.precision, two.mrr), (0.5, 0.5, 0.5));
        let third = score(&results, &[Target::file("f2")], 2);
        assert_eq!((third.ndcg, third.mrr, third.hit_at_3), (0.0, 0.0, 1.0), "hit@3 has a depth of its own");
    }

    #[test]
    fn a_target_may_ask_for_more_than_a_path() {
        let shown = Place {
            symbols: vec!["Reader".to_owned()],
            text: "struct Reader;".to_owned(),
            relevance: 0.6,
            ..place("a.rs", (1, 1))
        };
        let symbol = |name: &str| Target { symbol: Some(name.to_owned()), ..Target::file("a.rs") };
        let text = |text: &str| Target { contains: Some(text.to_owned()), ..Target::file("a.rs") };
        let least = |min| Target { min_score: Some(min), ..Target::file("a.rs") };
        for (target, expected) in [
            (symbol("Reader"), true),
            (symbol("Read"), false),
            (text("struct Rea"), true),
            (text("enum"), false),
            (least(0.6), true),
            (least(0.7), false),
        ] {
            assert_eq!(target.is_covered_by(&shown), expected, "{target:?}");
        }
    }

    #[test]
    fn figures_have_names() {
        let scores = Scores { mrr: 0.25, hit_at_5: 1.0, ..Scores::default() };
        assert_eq!(
            (scores.get("mrr"), scores.get("hit@5"), scores.get("hits")),
            (Some(0.25), Some(1.0), None)
        );
        assert_eq!(Scores::mean([scores, Scores::default()]).mrr, 0.125);
        assert_eq!(Scores::mean([]), Scores::default());
    }
}
