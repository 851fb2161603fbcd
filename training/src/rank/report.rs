//! What learning gains, by suite, language and category.

use std::collections::BTreeMap;
use std::fmt::Write;

use codeweaver::eval::metric::Scores;

use super::features::{Asked, Linear};

/// NDCG@10 before and after: means over repositories of the mean over their questions.
pub fn table(asked: &[Asked], before: &Linear, after: &BTreeMap<(usize, String), Linear>) -> String {
    let mut out = format!("{:24} {:>8} {:>8} {:>8}\n", "NDCG@10", "before", "learned", "change");
    let mut row = |name: &str, takes: &dyn Fn(&Asked) -> bool| {
        let before = mean(asked, takes, &|_| *before);
        let after = mean(asked, takes, &|asked| after[&asked.repository]);
        let _ = writeln!(out, "{name:24} {before:8.4} {after:8.4} {:+8.4}", after - before);
    };
    let of = |key: &dyn Fn(&Asked) -> String| {
        asked.iter().map(key).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    for language in of(&|asked| asked.language.clone()) {
        row(&language, &|asked| asked.language == language);
    }
    for category in of(&|asked| asked.category.clone()) {
        row(&format!("[{category}]"), &|asked| asked.category == category);
    }
    for suite in of(&|asked| asked.repository.0.to_string()) {
        row(&format!("suite {suite}"), &|asked| asked.repository.0.to_string() == suite);
    }
    row("all", &|_| true);
    out
}

fn mean(asked: &[Asked], takes: &dyn Fn(&Asked) -> bool, weights: &dyn Fn(&Asked) -> Linear) -> f64 {
    let mut of: BTreeMap<&(usize, String), Vec<Scores>> = BTreeMap::new();
    for asked in asked.iter().filter(|asked| takes(asked)) {
        of.entry(&asked.repository).or_default().push(asked.scores(&weights(asked)));
    }
    Scores::mean(of.into_values().map(Scores::mean)).ndcg
}

#[cfg(test)]
mod tests {
    use super::super::features::tests::question;
    use super::*;

    #[test]
    fn each_repository_counts_once_and_with_its_own_weights() {
        let mut start = [0.0; super::super::features::NAMES.len()];
        start[0] = 1.0;
        let mut better = start;
        better[1] = 1.0;
        let asked = [
            question("a", [0.2, 1.0], [0.6, 0.0]),
            question("a", [0.2, 1.0], [0.6, 0.0]),
            question("b", [0.2, 1.0], [0.6, 0.0]),
        ];
        let after = [((0, "a".to_owned()), better), ((0, "b".to_owned()), start)].into();
        let table = table(&asked, &start, &after);
        let second = 1.0 / 3f64.log2();
        assert!(
            table.contains(&format!("all                      {second:8.4} {:8.4}", (1.0 + second) / 2.0)),
            "{table}"
        );
    }
}
