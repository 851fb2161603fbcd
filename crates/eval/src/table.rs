//! Renders reports as tables for a terminal, alone or compared with a baseline.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::metric::Scores;
use super::report::{QueryResult, Report};

/// Maximum number of gained and of lost queries named in a comparison.
const MAX_NAMED: usize = 10;

/// Renders `report` as a table. With a `baseline`, the table has the difference in NDCG and the queries that
/// changed.
pub fn table(report: &Report, baseline: Option<&Report>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail: the results of `writeln!` are ignored below.
    head(&mut out, report.k, baseline.is_some());

    let has_several = report.by_repository.len() > 1;
    if has_several {
        for (name, scores) in &report.by_repository {
            let is_held_out = report.queries.iter().any(|query| query.repository == *name && query.held_out);
            let mark = if is_held_out { "*" } else { "" };
            let before = baseline.and_then(|b| b.by_repository.get(name));
            row(&mut out, &format!("{name}{mark}"), scores, before);
        }
    }
    groups(&mut out, report, baseline);
    if has_several {
        row(&mut out, "tuned on", &report.tuned, baseline.map(|b| &b.tuned));
        row(&mut out, "held out (*)", &report.held_out, baseline.map(|b| &b.held_out));
    }
    row(&mut out, "overall", &report.overall, baseline.map(|b| &b.overall));

    let _ = writeln!(
        out,
        "{} queries, model {}, ranking took {:.1} ms (median), {:.1} ms (95 %)",
        report.queries.len(),
        report.model,
        report.micros_p50 as f64 / 1000.0,
        report.micros_p95 as f64 / 1000.0
    );
    expectations(&mut out, report);
    if let Some(baseline) = baseline {
        changes(&mut out, report, baseline);
    }
    out
}

/// Appends the names of the columns.
fn head(out: &mut String, k: usize, has_baseline: bool) {
    let at_k = [format!("NDCG@{k}"), format!("P@{k}"), format!("rec@{k}"), format!("MRR@{k}")];
    let all = at_k.into_iter().chain(["hit@1", "hit@3", "hit@5"].map(str::to_owned));
    let heads: String = all.map(|head| format!(" {head:>7}")).collect();
    let _ = writeln!(out, "{:24}{heads}{}", "", if has_baseline { "   ΔNDCG" } else { "" });
}

/// Appends a row of metrics, with the change of NDCG since `before`.
fn row(out: &mut String, name: &str, scores: &Scores, before: Option<&Scores>) {
    let values: String = scores.values().iter().map(|value| format!(" {value:7.3}")).collect();
    let change = before.map_or(String::new(), |before| format!("  {:+.3}", scores.ndcg - before.ndcg));
    let _ = writeln!(out, "{name:24}{values}{change}");
}

/// Appends a row for each category, intent and language.
fn groups(out: &mut String, report: &Report, baseline: Option<&Report>) {
    type Group = fn(&Report) -> &BTreeMap<String, Scores>;
    let groups: [(&str, Group); 3] = [
        ("category", |report| &report.by_category),
        ("intent", |report| &report.by_intent),
        ("language", |report| &report.by_language),
    ];

    for (kind, group) in groups {
        // Intents that equal the categories, and languages that equal the repositories, would repeat rows.
        let is_new = match kind {
            "category" => true,
            "intent" => report.by_intent != report.by_category,
            _ => group(report).len() > 1 && !is_by_repository(report),
        };
        for (name, scores) in group(report).iter().filter(|_| is_new) {
            row(out, &format!("[{name}]"), scores, baseline.and_then(|b| group(b).get(name)));
        }
    }
}

/// Returns whether each repository has queries of exactly one language, and no two repositories share a
/// language.
fn is_by_repository(report: &Report) -> bool {
    let pairs: BTreeSet<(&str, &str)> =
        report.queries.iter().map(|result| (result.repository.as_str(), result.language.as_str())).collect();
    pairs.len() == report.by_repository.len() && report.by_language.len() == report.by_repository.len()
}

/// Appends the number of queries whose expectations are met, and names the others.
fn expectations(out: &mut String, report: &Report) {
    let (met, all) = report.expectations();
    if all == 0 {
        return;
    }

    let _ = writeln!(out, "{met} of {all} queries meet their expectations.");
    for result in report.queries.iter().filter(|result| result.expectation_met == Some(false)) {
        let first = result.results.first().map_or("nothing", String::as_str);
        let _ = writeln!(out, "  missed ({}): {}; first was {first}", rank(result), one_line(&result.query));
    }
}

/// Appends the queries whose NDCG changed most, in both directions.
fn changes(out: &mut String, report: &Report, baseline: &Report) {
    if report.k != baseline.k {
        let _ = writeln!(out, "The baseline was measured to depth {}, this run to {}.", baseline.k, report.k);
    }

    // Queries have no ids, so reports are matched by repository and text.
    let before: BTreeMap<(&str, &str), &QueryResult> =
        baseline.queries.iter().map(|result| (key(result), result)).collect();
    let mut both: Vec<(f64, &QueryResult, &QueryResult)> = report
        .queries
        .iter()
        .filter_map(|now| before.get(&key(now)).map(|then| (now.scores.ndcg - then.scores.ndcg, *then, now)))
        .collect();
    let n_new = report.queries.len() - both.len();
    both.sort_by(|a, b| a.0.total_cmp(&b.0));

    let lost = both.iter().take_while(|(change, ..)| *change < 0.0);
    let won = both.iter().rev().take_while(|(change, ..)| *change > 0.0);
    let (n_lost, n_won) = (lost.clone().count(), won.clone().count());
    let _ = writeln!(out, "Against the baseline {n_won} queries gained, {n_lost} lost, {n_new} are new.");

    for (sign, list) in [("lost", lost.collect::<Vec<_>>()), ("gained", won.collect())] {
        for (change, then, now) in list.into_iter().take(MAX_NAMED) {
            let query = one_line(&now.query);
            let name = if now.repository.is_empty() { "" } else { &format!("{}: ", now.repository) };
            let _ = writeln!(out, "  {sign} {change:+.3} ({} → {}): {name}{query}", rank(then), rank(now));
        }
    }
}

/// Returns the repository and text of a query, by which two reports are matched.
fn key(result: &QueryResult) -> (&str, &str) {
    (&result.repository, &result.query)
}

fn rank(result: &QueryResult) -> String {
    result.rank.map_or("not found".to_owned(), |rank| format!("rank {rank}"))
}

/// Returns the beginning of a query, on one line.
fn one_line(query: &str) -> String {
    const MAX_CHARS: usize = 80;
    let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= MAX_CHARS {
        return words;
    }

    words.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{report, result};

    #[test]
    fn a_table_has_each_group_once() {
        let table = table(&report(), None);
        for part in ["b*", "[x]", "[y]", "[debug]", "held out (*)", "NDCG@10", "1 of 1 queries meet"] {
            assert_eq!(table.matches(part).count(), 1, "{part} in\n{table}");
        }
        assert!(!table.contains("[c]"), "all queries are of one language:\n{table}");
    }

    #[test]
    fn a_comparison_names_what_changed() {
        let before = report();
        let mut queries = before.queries.clone();
        queries[0].scores.ndcg = 0.5;
        queries[0].rank = Some(4);
        queries.push(result("b", "x", 0.9, true));
        let table = table(&Report::new("m".to_owned(), 10, queries), Some(&before));
        for part in
            ["0 queries gained, 1 lost, 1 are new", "lost -0.500 (rank 1 → rank 4): a: a x 1", "-0.167"]
        {
            assert!(table.contains(part), "{part} in\n{table}");
        }
    }
}
