//! The score of one answer: an ordered list of places against the labelled targets.
//!
//! A result covers a target if their paths match and, for a target with lines, they share a line. Paths match if they are
//! equal or one is the tail of the other at a folder boundary. A target's rank is that of the first result that covers it;
//! targets with the same rank give one gain.

/// A file, or lines of it, that answers a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub path: String,
    /// 1-based, inclusive; the whole file if `None`.
    pub lines: Option<(u32, u32)>,
}

/// A place that was returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    /// 1-based, inclusive.
    pub lines: (u32, u32),
}

/// Figures of one answer, or means of several; all 0–1.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scores {
    pub ndcg_at_10: f64,
    pub recall_at_10: f64,
    pub mrr_at_10: f64,
    pub hit_at_1: f64,
    pub hit_at_5: f64,
}

/// Results that count.
pub const DEPTH: usize = 10;

impl Target {
    pub fn is_covered_by(&self, place: &Place) -> bool {
        let shares_line =
            self.lines.is_none_or(|(first, last)| place.lines.0 <= last && first <= place.lines.1);
        shares_line && paths_match(&self.path, &place.path)
    }
}

fn paths_match(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    long.strip_suffix(short).is_some_and(|head| head.is_empty() || head.ends_with('/'))
}

/// Scores `results`, best first, against `targets`. Without targets everything is 0.
pub fn score(results: &[Place], targets: &[Target]) -> Scores {
    let results = &results[..results.len().min(DEPTH)];
    let rank = |target: &Target| results.iter().position(|place| target.is_covered_by(place)).map(|i| i + 1);
    let found: Vec<usize> = targets.iter().filter_map(rank).collect();
    let mut ranks = found.clone();
    ranks.sort_unstable();
    ranks.dedup();
    let gain = |rank: usize| 1.0 / (rank as f64 + 1.0).log2();
    let ideal: f64 = (1..=targets.len().min(DEPTH)).map(gain).sum();
    let Some(&best) = ranks.first() else { return Scores::default() };
    Scores {
        ndcg_at_10: ranks.iter().map(|&rank| gain(rank)).sum::<f64>() / ideal,
        recall_at_10: found.len() as f64 / targets.len() as f64,
        mrr_at_10: 1.0 / best as f64,
        hit_at_1: f64::from(u8::from(best == 1)),
        hit_at_5: f64::from(u8::from(best <= 5)),
    }
}

impl Scores {
    /// The mean of several; zeros for none.
    pub fn mean(all: impl IntoIterator<Item = Scores>) -> Scores {
        let mut sum = Scores::default();
        let mut n = 0.0;
        for one in all {
            sum = sum.zip(&one, |a, b| a + b);
            n += 1.0;
        }
        if n == 0.0 { sum } else { sum.zip(&sum, |a, _| a / n) }
    }

    /// These figures combined one by one with others.
    pub fn zip(&self, other: &Scores, with: impl Fn(f64, f64) -> f64) -> Scores {
        Scores {
            ndcg_at_10: with(self.ndcg_at_10, other.ndcg_at_10),
            recall_at_10: with(self.recall_at_10, other.recall_at_10),
            mrr_at_10: with(self.mrr_at_10, other.mrr_at_10),
            hit_at_1: with(self.hit_at_1, other.hit_at_1),
            hit_at_5: with(self.hit_at_5, other.hit_at_5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, lines: (u32, u32)) -> Place {
        Place { path: path.to_owned(), lines }
    }

    fn file(path: &str) -> Target {
        Target { path: path.to_owned(), lines: None }
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
        let scores = score(&results, &[file("a"), file("b")]);
        let gain = |rank: f64| 1.0 / (rank + 1.0).log2();
        assert!((scores.ndcg_at_10 - (gain(2.0) + gain(4.0)) / (gain(1.0) + gain(2.0))).abs() < 1e-12);
        assert_eq!(
            (scores.recall_at_10, scores.mrr_at_10, scores.hit_at_1, scores.hit_at_5),
            (1.0, 0.5, 0.0, 1.0)
        );
        // Two targets in one result are one gain; lines must be shared.
        let lines = |first, last| Target { path: "a".to_owned(), lines: Some((first, last)) };
        let scores = score(&results, &[lines(1, 2), lines(5, 6)]);
        assert!((scores.ndcg_at_10 - gain(2.0) / (gain(1.0) + gain(2.0))).abs() < 1e-12);
        assert_eq!(score(&results, &[lines(21, 30)]), Scores::default());
        assert_eq!(score(&results, &[]), Scores::default());
    }

    #[test]
    fn the_eleventh_result_does_not_count() {
        let results: Vec<Place> = (0..11).map(|i| place(&format!("f{i}"), (1, 1))).collect();
        assert_eq!(score(&results, &[file("f10")]), Scores::default());
        assert_eq!(score(&results, &[file("f9")]).mrr_at_10, 0.1);
    }
}
