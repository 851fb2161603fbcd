//! A run as a table for a terminal, alone or against an earlier one.

use super::metric::Scores;
use super::report::{Asked, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Questions that are named in a comparison, of each sort.
const MOST_NAMED: usize = 10;

/// The table of `report`; with the difference in NDCG to `baseline`, if there is one, and the questions that changed.
pub fn table(report: &Report, baseline: Option<&Report>) -> String {
    let mut out = String::new();
    let heads = |k: usize| {
        [format!("NDCG@{k}"), format!("P@{k}"), format!("rec@{k}"), format!("MRR@{k}")]
            .into_iter()
            .chain(["hit@1", "hit@3", "hit@5"].map(str::to_owned))
    };
    let heads: String = heads(report.k).map(|head| format!(" {head:>7}")).collect();
    let _ = writeln!(out, "{:24}{heads}{}", "", if baseline.is_some() { "   ΔNDCG" } else { "" });
    let mut row = |name: &str, scores: &Scores, before: Option<&Scores>| {
        let values: String = scores.values().iter().map(|value| format!(" {value:7.3}")).collect();
        let change = before.map_or(String::new(), |before| format!("  {:+.3}", scores.ndcg - before.ndcg));
        let _ = writeln!(out, "{name:24}{values}{change}");
    };
    let aside =
        |name: &str| report.questions.iter().any(|asked| asked.repository == name && asked.kept_aside);
    let has_several = report.by_repository.len() > 1;
    if has_several {
        for (name, scores) in &report.by_repository {
            let mark = if aside(name) { "*" } else { "" };
            row(&format!("{name}{mark}"), scores, baseline.and_then(|b| b.by_repository.get(name)));
        }
    }
    type Group = fn(&Report) -> &BTreeMap<String, Scores>;
    let groups: [(&str, Group); 3] = [
        ("category", |report| &report.by_category),
        ("intent", |report| &report.by_intent),
        ("language", |report| &report.by_language),
    ];
    for (kind, group) in groups {
        // Intents that are all the categories there are, and languages of which each repository has one, say nothing new.
        let is_new = match kind {
            "category" => true,
            "intent" => report.by_intent != report.by_category,
            _ => group(report).len() > 1 && !is_by_repository(report),
        };
        for (name, scores) in group(report).iter().filter(|_| is_new) {
            row(&format!("[{name}]"), scores, baseline.and_then(|b| group(b).get(name)));
        }
    }
    if has_several {
        row("tuned on", &report.tuned, baseline.map(|b| &b.tuned));
        row("kept aside (*)", &report.kept_aside, baseline.map(|b| &b.kept_aside));
    }
    row("overall", &report.overall, baseline.map(|b| &b.overall));
    let _ = writeln!(
        out,
        "{} questions, model {}, ranking took {:.1} ms (median), {:.1} ms (95 %)",
        report.questions.len(),
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

/// Whether each repository's questions have one language, and no two repositories the same.
fn is_by_repository(report: &Report) -> bool {
    let pairs: BTreeSet<(&str, &str)> =
        report.questions.iter().map(|asked| (asked.repository.as_str(), asked.language.as_str())).collect();
    pairs.len() == report.by_repository.len() && report.by_language.len() == report.by_repository.len()
}

/// What the reference form expected, and the questions that did not get it.
fn expectations(out: &mut String, report: &Report) {
    let (met, all) = report.expectations();
    if all == 0 {
        return;
    }
    let _ = writeln!(out, "{met} of {all} questions got what they expect.");
    for asked in report.questions.iter().filter(|asked| asked.expectation_met == Some(false)) {
        let first = asked.results.first().map_or("nothing", String::as_str);
        let _ = writeln!(out, "  missed ({}): {}; first was {first}", rank(asked), one_line(&asked.query));
    }
}

/// The questions whose NDCG changed most, in both directions.
fn changes(out: &mut String, report: &Report, baseline: &Report) {
    if report.k != baseline.k {
        let _ = writeln!(out, "The baseline was measured to depth {}, this run to {}.", baseline.k, report.k);
    }
    let key = |asked: &Asked| (asked.repository.clone(), asked.query.clone());
    let before: BTreeMap<(String, String), &Asked> =
        baseline.questions.iter().map(|asked| (key(asked), asked)).collect();
    let mut both: Vec<(f64, &Asked, &Asked)> = report
        .questions
        .iter()
        .filter_map(|now| before.get(&key(now)).map(|then| (now.scores.ndcg - then.scores.ndcg, *then, now)))
        .collect();
    let n_new = report.questions.len() - both.len();
    both.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lost = both.iter().take_while(|(change, ..)| *change < 0.0);
    let won = both.iter().rev().take_while(|(change, ..)| *change > 0.0);
    let (n_lost, n_won) = (lost.clone().count(), won.clone().count());
    let _ = writeln!(out, "Against the baseline {n_won} questions gained, {n_lost} lost, {n_new} are new.");
    for (sign, list) in [("lost", lost.collect::<Vec<_>>()), ("gained", won.collect())] {
        for (change, then, now) in list.into_iter().take(MOST_NAMED) {
            let query = one_line(&now.query);
            let name = if now.repository.is_empty() { "" } else { &format!("{}: ", now.repository) };
            let _ = writeln!(out, "  {sign} {change:+.3} ({} → {}): {name}{query}", rank(then), rank(now));
        }
    }
}

fn rank(asked: &Asked) -> String {
    asked.rank.map_or("not found".to_owned(), |rank| format!("rank {rank}"))
}

/// The beginning of a question, on one line.
fn one_line(query: &str) -> String {
    const MOST: usize = 80;
    let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= MOST {
        return words;
    }
    words.chars().take(MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::report::tests::{asked, report};

    #[test]
    fn a_table_has_every_group_once() {
        let table = table(&report(), None);
        for part in ["b*", "[x]", "[y]", "[debug]", "kept aside (*)", "NDCG@10", "1 of 1 questions got"] {
            assert_eq!(table.matches(part).count(), 1, "{part} in\n{table}");
        }
        assert!(!table.contains("[c]"), "all questions are about one language:\n{table}");
    }

    #[test]
    fn a_comparison_names_what_changed() {
        let before = report();
        let mut questions = before.questions.clone();
        questions[0].scores.ndcg = 0.5;
        questions[0].rank = Some(4);
        questions.push(asked("b", "x", 0.9, true));
        let table = table(&Report::new("m".to_owned(), 10, questions), Some(&before));
        for part in
            ["0 questions gained, 1 lost, 1 are new", "lost -0.500 (rank 1 → rank 4): a: a x 1", "-0.167"]
        {
            assert!(table.contains(part), "{part} in\n{table}");
        }
    }
}
