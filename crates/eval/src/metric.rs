//! Scores of one ranked list against the labels of a query.
//!
//! A hit covers a label if their paths match and, for a label with lines, they share a line; a label may also
//! require a symbol, a text or a minimum relevance. Paths match if they are equal or one is a suffix of the
//! other at a folder boundary. The rank of a label is that of the first hit that covers it; labels of the
//! same rank count as one gain.

/// A file, or a span of it, that answers a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Label {
    pub path: String,
    /// 1-based, inclusive; the whole file if `None`.
    pub lines: Option<(u32, u32)>,
    /// A symbol that the shown chunks must define.
    pub symbol: Option<String>,
    /// A text that the best chunk must contain.
    pub contains: Option<String>,
    /// Minimum relevance, 0–1.
    pub min_score: Option<f32>,
}

/// A returned file, with the span of its best chunk.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hit {
    pub path: String,
    /// 1-based, inclusive.
    pub lines: (u32, u32),
    /// Names that the shown chunks of the file define.
    pub symbols: Vec<String>,
    /// Text of the best chunk; empty unless a label requires a text.
    pub text: String,
    /// 0–1.
    pub relevance: f32,
}

/// Metrics of one query, or means over several; all 0–1. NDCG, precision, recall and MRR are computed over
/// the first `k` hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scores {
    pub ndcg: f64,
    /// Hits that cover a label, divided by `k`.
    pub precision: f64,
    /// Labels found, divided by all labels.
    pub recall: f64,
    /// The reciprocal of the best rank.
    pub mrr: f64,
    pub hit_at_1: f64,
    pub hit_at_3: f64,
    pub hit_at_5: f64,
}

/// Default `k`.
pub const DEPTH: usize = 10;

/// Names of the metrics, as used in thresholds and tables.
pub const NAMES: [&str; 7] = ["ndcg", "precision", "recall", "mrr", "hit@1", "hit@3", "hit@5"];

impl Label {
    pub fn file(path: impl Into<String>) -> Label {
        Label { path: path.into(), ..Label::default() }
    }

    pub fn is_covered_by(&self, hit: &Hit) -> bool {
        let shares_line = self.lines.is_none_or(|(first, last)| hit.lines.0 <= last && first <= hit.lines.1);

        shares_line
            && paths_match(&self.path, &hit.path)
            && self.symbol.as_ref().is_none_or(|symbol| hit.symbols.contains(symbol))
            && self.contains.as_ref().is_none_or(|text| hit.text.contains(text.as_str()))
            && self.min_score.is_none_or(|min| hit.relevance >= min)
    }
}

/// Returns whether the paths are equal, or one is a suffix of the other at a folder boundary.
fn paths_match(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    long.strip_suffix(short).is_some_and(|head| head.is_empty() || head.ends_with('/'))
}

/// Returns the best rank, 1-based, at which one of `labels` is covered.
pub fn best_rank(results: &[Hit], labels: &[Label]) -> Option<usize> {
    results.iter().position(|hit| labels.iter().any(|label| label.is_covered_by(hit))).map(|i| i + 1)
}

/// Scores `results`, best first, against `labels`, to depth `k` (≥ 1). Without labels all metrics are 0.
pub fn score(results: &[Hit], labels: &[Label], k: usize) -> Scores {
    let Some(best) = best_rank(results, labels) else { return Scores::default() };
    let first = &results[..results.len().min(k)];
    let found: Vec<usize> =
        labels.iter().filter_map(|label| best_rank(first, std::slice::from_ref(label))).collect();

    // One file that covers several labels is one gain: otherwise its rank would count several times.
    let mut ranks = found.clone();
    ranks.sort_unstable();
    ranks.dedup();

    let ideal: f64 = (1..=labels.len().min(k)).map(gain).sum();
    let covering = first.iter().filter(|hit| labels.iter().any(|label| label.is_covered_by(hit)));
    // `best` may be beyond `k`: hit@3 and hit@5 have a depth of their own.
    let within = |depth: usize| f64::from(u8::from(best <= depth));

    Scores {
        ndcg: ranks.iter().map(|&rank| gain(rank)).sum::<f64>() / ideal,
        precision: covering.count() as f64 / k as f64,
        recall: found.len() as f64 / labels.len() as f64,
        mrr: within(k) / best as f64,
        hit_at_1: within(1),
        hit_at_3: within(3),
        hit_at_5: within(5),
    }
}

/// Returns the discounted gain of a label found at `rank`, 1-based.
fn gain(rank: usize) -> f64 {
    1.0 / (rank as f64 + 1.0).log2()
}

impl Scores {
    /// Returns the mean of `all`; zeros if it is empty.
    pub fn mean(all: impl IntoIterator<Item = Scores>) -> Scores {
        let mut sum = [0.0; NAMES.len()];
        let mut n = 0.0;
        for one in all {
            sum.iter_mut().zip(one.values()).for_each(|(sum, value)| *sum += value);
            n += 1.0;
        }

        Scores::from_values(sum.map(|value| if n == 0.0 { 0.0 } else { value / n }))
    }

    /// Returns the metrics in the order of [`NAMES`].
    pub fn values(&self) -> [f64; NAMES.len()] {
        let Scores { ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5 } = *self;
        [ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5]
    }

    fn from_values(values: [f64; NAMES.len()]) -> Scores {
        let [ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5] = values;
        Scores { ndcg, precision, recall, mrr, hit_at_1, hit_at_3, hit_at_5 }
    }

    /// Returns the metric called `name`, one of [`NAMES`].
    pub fn get(&self, name: &str) -> Option<f64> {
        NAMES.iter().position(|known| *known == name).map(|i| self.values()[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(path: &str, lines: (u32, u32)) -> Hit {
        Hit { path: path.to_owned(), lines, ..Hit::default() }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn path_suffixes_match_at_folder_boundaries_only() {
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
        let results = [hit("x", (1, 9)), hit("a", (1, 9)), hit("a", (10, 20)), hit("b", (1, 5))];
        let scores = score(&results, &[Label::file("a"), Label::file("b")], DEPTH);
        let gain = |rank: f64| 1.0 / (rank + 1.0).log2();
        assert!(close(scores.ndcg, (gain(2.0) + gain(4.0)) / (gain(1.0) + gain(2.0))));
        assert_eq!((scores.recall, scores.mrr, scores.precision), (1.0, 0.5, 0.3));
        assert_eq!((scores.hit_at_1, scores.hit_at_3, scores.hit_at_5), (0.0, 1.0, 1.0));
        // Two labels covered by one hit are one gain; lines must be shared.
        let lines = |first, last| Label { lines: Some((first, last)), ..Label::file("a") };
        let scores = score(&results, &[lines(1, 2), lines(5, 6)], DEPTH);
        assert!(close(scores.ndcg, gain(2.0) / (gain(1.0) + gain(2.0))));
        assert_eq!(score(&results, &[lines(21, 30)], DEPTH), Scores::default());
        assert_eq!(score(&results, &[], DEPTH), Scores::default());
    }

    #[test]
    fn hits_beyond_k_do_not_count() {
        let results: Vec<Hit> = (0..11).map(|i| hit(&format!("f{i}"), (1, 1))).collect();
        assert_eq!(score(&results, &[Label::file("f10")], DEPTH), Scores::default());
        assert_eq!(score(&results, &[Label::file("f9")], DEPTH).mrr, 0.1);
        let two = score(&results, &[Label::file("f1"), Label::file("f2")], 2);
        assert_eq!((two.recall, two.precision, two.mrr), (0.5, 0.5, 0.5));
        let third = score(&results, &[Label::file("f2")], 2);
        assert_eq!((third.ndcg, third.mrr, third.hit_at_3), (0.0, 0.0, 1.0), "hit@3 has a depth of its own");
    }

    #[test]
    fn a_label_may_require_more_than_a_path() {
        let shown = Hit {
            symbols: vec!["Reader".to_owned()],
            text: "struct Reader;".to_owned(),
            relevance: 0.6,
            ..hit("a.rs", (1, 1))
        };
        let symbol = |name: &str| Label { symbol: Some(name.to_owned()), ..Label::file("a.rs") };
        let text = |text: &str| Label { contains: Some(text.to_owned()), ..Label::file("a.rs") };
        let least = |min| Label { min_score: Some(min), ..Label::file("a.rs") };
        for (label, expected) in [
            (symbol("Reader"), true),
            (symbol("Read"), false),
            (text("struct Rea"), true),
            (text("enum"), false),
            (least(0.6), true),
            (least(0.7), false),
        ] {
            assert_eq!(label.is_covered_by(&shown), expected, "{label:?}");
        }
    }

    #[test]
    fn metrics_have_names() {
        let scores = Scores { mrr: 0.25, hit_at_5: 1.0, ..Scores::default() };
        assert_eq!(
            (scores.get("mrr"), scores.get("hit@5"), scores.get("hits")),
            (Some(0.25), Some(1.0), None)
        );
        assert_eq!(Scores::mean([scores, Scores::default()]).mrr, 0.125);
        assert_eq!(Scores::mean([]), Scores::default());
    }
}
