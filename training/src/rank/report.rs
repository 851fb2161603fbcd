//! Gain of learning by language, category and suite.

use std::collections::BTreeMap;
use std::fmt::Write;

use codeweaver::eval::metric::Scores;

use super::features::{Linear, RankedQuery};

/// Table of NDCG@10 before and after: means over repositories of the mean over their queries.
pub fn table(queries: &[RankedQuery], before: &Linear, after: &BTreeMap<(usize, String), Linear>) -> String {
    let mut out = format!("{:24} {:>8} {:>8} {:>8}\n", "NDCG@10", "before", "learned", "change");
    let mut row = |name: &str, takes: &dyn Fn(&RankedQuery) -> bool| {
        let before = mean(queries, takes, &|_| *before);
        let after = mean(queries, takes, &|query| after[&query.repository]);
        let _ = writeln!(out, "{name:24} {before:8.4} {after:8.4} {:+8.4}", after - before);
    };
    let of = |key: &dyn Fn(&RankedQuery) -> String| {
        queries.iter().map(key).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    for language in of(&|query| query.language.clone()) {
        row(&language, &|query| query.language == language);
    }
    for category in of(&|query| query.category.clone()) {
        row(&format!("[{category}]"), &|query| query.category == category);
    }
    for suite in of(&|query| query.repository.0.to_string()) {
        row(&format!("suite {suite}"), &|query| query.repository.0.to_string() == suite);
    }
    row("all", &|_| true);
    out
}

fn mean(
    queries: &[RankedQuery],
    takes: &dyn Fn(&RankedQuery) -> bool,
    weights: &dyn Fn(&RankedQuery) -> Linear,
) -> f64 {
    let mut of: BTreeMap<&(usize, String), Vec<Scores>> = BTreeMap::new();
    for query in queries.iter().filter(|query| takes(query)) {
        of.entry(&query.repository).or_default().push(query.scores(&weights(query)));
    }
    Scores::mean(of.into_values().map(Scores::mean)).ndcg
}

#[cfg(test)]
mod tests {
    use super::super::features::tests::query;
    use super::*;

    #[test]
    fn each_repository_counts_once_and_with_its_own_weights() {
        let mut start = [0.0; super::super::features::NAMES.len()];
        start[0] = 1.0;
        let mut better = start;
        better[1] = 1.0;
        let queries = [
            query("a", [0.2, 1.0], [0.6, 0.0]),
            query("a", [0.2, 1.0], [0.6, 0.0]),
            query("b", [0.2, 1.0], [0.6, 0.0]),
        ];
        let after = [((0, "a".to_owned()), better), ((0, "b".to_owned()), start)].into();
        let table = table(&queries, &start, &after);
        let second = 1.0 / 3f64.log2();
        assert!(
            table.contains(&format!("all                      {second:8.4} {:8.4}", (1.0 + second) / 2.0)),
            "{table}"
        );
    }
}
