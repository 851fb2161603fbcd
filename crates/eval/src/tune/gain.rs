//! The gain of weights by language, category and repository.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bootstrap::{Interval, interval};
use super::features::{Linear, RankedQuery};
use crate::metric::Scores;

/// NDCG@10 of a group of queries before and after: means over repositories of the mean over their queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// `language`, `category` or `repository`.
    pub kind: String,
    pub name: String,
    /// Number of queries.
    pub n: usize,
    pub before: f64,
    pub after: f64,
}

impl Group {
    pub fn change(&self) -> f64 {
        self.after - self.before
    }
}

/// The queries with their scores before and after.
pub struct Gains<'a> {
    queries: &'a [RankedQuery],
    scores: Vec<(Scores, Scores)>,
}

type RepositoryKey = (usize, String);

impl Gains<'_> {
    /// Scores every query with the weights `before`, and with its own of `after`, which are cross-validated.
    pub fn new<'a>(queries: &'a [RankedQuery], before: &Linear, after: &[Linear]) -> Gains<'a> {
        let pairs = queries.iter().zip(after);
        let scores = pairs.map(|(query, after)| (query.scores(before), query.scores(after))).collect();
        Gains { queries, scores }
    }

    /// Returns the difference of NDCG@10.
    pub fn ndcg(&self, seed: u64) -> Interval {
        interval(&self.differences(|scores| scores.ndcg), seed)
    }

    /// Returns the difference of the share of first places.
    pub fn first_place(&self) -> f64 {
        let groups = self.differences(|scores| scores.hit_at_1);
        let means = groups.iter().map(|group| group.iter().sum::<f64>() / group.len() as f64);
        means.sum::<f64>() / groups.len().max(1) as f64
    }

    /// Returns the differences of `metric`, grouped by repository.
    fn differences(&self, metric: impl Fn(&Scores) -> f64) -> Vec<Vec<f64>> {
        let mut groups: BTreeMap<&RepositoryKey, Vec<f64>> = BTreeMap::new();
        for (query, (before, after)) in self.queries.iter().zip(&self.scores) {
            groups.entry(&query.repository).or_default().push(metric(after) - metric(before));
        }

        groups.into_values().collect()
    }

    /// Returns the groups of queries by language, by category and by repository, without groups that hold all
    /// queries.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = self.by("language", |query| query.language.clone());
        groups.extend(self.by("category", |query| query.category.clone()));
        groups.extend(self.by("repository", |query| query.repository.1.clone()));
        groups.retain(|group| group.n < self.queries.len());
        groups
    }

    /// Returns all queries as one group.
    pub fn all(&self) -> Group {
        self.group("all", "", |_| true)
    }

    /// Returns one group for each name, sorted; queries whose name is empty belong to none.
    fn by(&self, kind: &str, name: impl Fn(&RankedQuery) -> String) -> Vec<Group> {
        let mut names: Vec<String> = self.queries.iter().map(&name).filter(|name| !name.is_empty()).collect();
        names.sort();
        names.dedup();

        names.iter().map(|wanted| self.group(kind, wanted, |query| name(query) == *wanted)).collect()
    }

    /// Returns the group of the queries that `takes` accepts.
    fn group(&self, kind: &str, name: &str, takes: impl Fn(&RankedQuery) -> bool) -> Group {
        let mut by_repository: BTreeMap<&RepositoryKey, (Vec<Scores>, Vec<Scores>)> = BTreeMap::new();
        let mut n = 0;
        for (query, (before, after)) in self.queries.iter().zip(&self.scores) {
            if takes(query) {
                n += 1;
                let lists = by_repository.entry(&query.repository).or_default();
                lists.0.push(*before);
                lists.1.push(*after);
            }
        }

        let (before, after): (Vec<Scores>, Vec<Scores>) = by_repository
            .into_values()
            .map(|(before, after)| (Scores::mean(before), Scores::mean(after)))
            .unzip();
        Group {
            kind: kind.to_owned(),
            name: name.to_owned(),
            n,
            before: Scores::mean(before).ndcg,
            after: Scores::mean(after).ndcg,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::{NAMES, tests::query};
    use super::*;

    #[test]
    fn each_repository_counts_once_and_each_query_with_its_own_weights() {
        let mut start = [0.0; NAMES.len()];
        start[0] = 1.0;
        let mut better = start;
        better[1] = 1.0;
        let queries = [
            query("a", [0.2, 1.0], [0.6, 0.0]),
            query("a", [0.2, 1.0], [0.6, 0.0]),
            query("b", [0.2, 1.0], [0.6, 0.0]),
        ];
        let gains = Gains::new(&queries, &start, &[better, better, start]);
        let second = 1.0 / 3f64.log2();
        let all = gains.all();
        assert_eq!(all.n, 3);
        assert!(
            (all.before - second).abs() < 1e-9 && (all.after - (1.0 + second) / 2.0).abs() < 1e-9,
            "{all:?}"
        );
        assert!((gains.ndcg(1).mean - all.change()).abs() < 1e-9);
        assert_eq!(gains.first_place(), 0.5);
        let names: Vec<String> =
            gains.groups().iter().map(|group| format!("{} {} {}", group.kind, group.name, group.n)).collect();
        assert_eq!(names, ["repository a 2", "repository b 1"], "the others are of all queries");
    }
}
