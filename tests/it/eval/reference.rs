//! The reference suite: queries with expected answers, over `fixtures/shop` and over this repository itself.
//!
//! The shares of queries answered within the first three and five matches are checked on both. Over the
//! fixture, which only changes on purpose, the rankings themselves are a reviewed file: a change of the
//! ranking shows in its diff.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use codeweaver_testkit::TestRepo;

use crate::support::fixtures::{copy, fixture, here};

/// Environment variable that rewrites the rankings instead of comparing them.
const UPDATE: &str = "CODEWEAVER_UPDATE_GOLDEN";
/// Minimum shares of queries with an expected answer within the first three and five matches.
const SHARES: [&str; 4] = ["--min", "hit@3=0.70", "--min", "hit@5=0.80"];
const INTENTS: [&str; 7] = ["understand", "implement", "debug", "optimize", "test", "configure", "document"];
/// Minimum number of queries of all suites together.
const MIN_QUERIES: usize = 45;

pub fn suite(name: &str) -> PathBuf {
    here("tests/reference").join(name).join("reference_queries.yml")
}

/// This repository without its fixtures, suites and models.
fn this_repository() -> TestRepo {
    let repo = TestRepo::init();
    for part in ["src", "tests/it", "benches", "docs", "training/src", "README.md", "Cargo.toml", ".ci"] {
        copy(&repo, &here(part), part);
    }
    for member in std::fs::read_dir(here("crates")).unwrap().flatten() {
        let source = format!("crates/{}/src", member.file_name().to_str().unwrap());
        copy(&repo, &here(&source), &source);
    }
    copy(&repo, &here("crates/git/hooks"), "crates/git/hooks");
    repo.commit("source");
    repo
}

/// Runs a suite and returns its JSON report; fails unless the shares are reached.
fn run(repo: &TestRepo, name: &str) -> Value {
    let path = suite(name);
    let args = ["eval", "run", path.to_str().unwrap(), "--json"];
    let run = repo.codeweaver(args.iter().chain(&SHARES));
    let report = run.json();
    let missed: Vec<&str> = queries(&report)
        .iter()
        .filter(|asked| asked["expectation_met"] == false)
        .map(|asked| asked["query"].as_str().unwrap())
        .collect();
    assert_eq!(run.code(), 0, "hit@3, hit@5: {}; missed: {missed:#?}", report["overall"]);
    report
}

fn queries(report: &Value) -> &[Value] {
    report["questions"].as_array().unwrap()
}

/// The first five paths of every query, with the first right answer marked.
fn rankings(report: &Value) -> String {
    let mut out = String::from(
        "The first five results of every query of reference_queries.yml over fixtures/shop.\n\
         `+` answered as expected, `-` not; `*` the first right answer.\n",
    );
    for asked in queries(report) {
        let mark = if asked["expectation_met"] == true { '+' } else { '-' };
        let query = asked["query"].as_str().unwrap().trim();
        let _ =
            write!(out, "\n{mark} [{}] {}\n", asked["intent"].as_str().unwrap(), query.replace('\n', "\n  "));
        for (i, path) in asked["results"].as_array().unwrap().iter().take(5).enumerate() {
            let right = if asked["rank"] == i + 1 { "  *" } else { "" };
            let _ = writeln!(out, "    {}. {}{right}", i + 1, path.as_str().unwrap());
        }
    }
    let share = |name: &str| report["overall"][name].as_f64().unwrap() * 100.0;
    let _ = write!(
        out,
        "\n{} queries: {:.0} % within three, {:.0} % within five\n",
        queries(report).len(),
        share("hit_at_3"),
        share("hit_at_5")
    );
    out
}

#[test]
fn rankings_of_the_shop_fixture_equal_the_reviewed_file() {
    let report = run(&fixture("shop"), "shop");
    let now = rankings(&report);
    let golden = here("tests/reference/shop/rankings.txt");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&golden, &now).unwrap();
        return;
    }
    let reviewed = std::fs::read_to_string(&golden).unwrap_or_default();
    let differs = now.lines().zip(reviewed.lines()).position(|(now, reviewed)| now != reviewed);
    let differs =
        differs.or_else(|| (now.lines().count() != reviewed.lines().count()).then(|| now.lines().count()));
    if let Some(line) = differs {
        panic!(
            "the rankings differ from tests/reference/shop/rankings.txt from line {} on.\nIf the change is meant, write the file \
             anew and review its diff:\n  {UPDATE}=1 cargo test --test it reference\n\nnow:\n{now}",
            line + 1
        );
    }
}

#[test]
fn queries_about_this_repository_reach_the_minimum_shares() {
    run(&this_repository(), "repository");
}

#[test]
fn the_suites_have_every_intent() {
    let all = ["shop", "repository"].map(|name| std::fs::read_to_string(suite(name)).unwrap());
    let lines: Vec<&str> = all.iter().flat_map(|text| text.lines()).collect();
    let n = lines.iter().filter(|line| line.starts_with("- query:")).count();
    assert!(n >= MIN_QUERIES, "{n}");
    for intent in INTENTS {
        let wanted = format!("  intent: {intent}");
        for text in &all {
            assert!(text.lines().any(|line| line == wanted), "{intent}");
        }
    }
}

/// A file that moves takes its expectations with it.
#[test]
fn every_file_that_is_expected_exists() {
    for (name, root) in [("shop", "fixtures/shop"), ("repository", ".")] {
        let text = std::fs::read_to_string(suite(name)).unwrap();
        let expected = text.lines().filter(|line| line.contains("expected_top_") || line.contains("{file: "));
        let quoted = expected.flat_map(|line| line.split('"').skip(1).step_by(2));
        let paths: Vec<&str> =
            quoted.filter(|text| text.contains('.') && !text.contains(['(', ' '])).collect();
        assert!(paths.len() > 20, "{name}: {paths:?}");
        for path in paths {
            assert!(here(root).join(path).is_file(), "{name} expects {path}, which does not exist");
        }
    }
}
