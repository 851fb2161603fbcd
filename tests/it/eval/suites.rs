//! `eval`: suites in every format, comparison, thresholds, suites mined from history, foreign queries.

use std::path::Path;

use serde_json::Value;

use codeweaver_testkit::TestRepo;

use crate::eval::reference;
use crate::support::fixtures::fixture;

const READER: &str = "/// Reads lines of a log and skips blank ones.\npub fn read_log(text: &str) -> Vec<&str> {\n    text.lines().filter(|line| !line.is_empty()).collect()\n}\n";
const WRITER: &str = "/// Writes a table of prices.\npub fn write_prices(prices: &[u32]) -> String {\n    format!(\"{prices:?}\")\n}\n";
const SUITE: &str = "- query: skip blank lines of a log\n  intent: debug\n  relevant: [src/reader.rs]\n- query: table of prices\n  category: prose\n  relevant:\n    - {file: src/writer.rs, symbol: write_prices, contains: format!}\n";

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(&[("src/reader.rs", READER), ("src/writer.rs", WRITER)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn json_of(repo: &TestRepo, args: &[&str]) -> Value {
    repo.codeweaver([&["eval", "run"], args, &["--json"]].concat()).success().json()
}

#[test]
fn yaml_json_and_lines_of_json_give_the_same_figures() {
    let repo = TestRepo::with_files(&[("src/reader.rs", READER), ("src/writer.rs", WRITER)]);
    repo.write("s.yml", SUITE);
    let json = r#"[{"query":"skip blank lines of a log","intent":"debug","relevant":["src/reader.rs"]},
        {"query":"table of prices","category":"prose","relevant":[{"path":"src/writer.rs","symbol":"write_prices","contains":"format!"}]}]"#;
    repo.write("s.json", json);
    let lines: Vec<String> =
        serde_json::from_str::<Vec<Value>>(json).unwrap().iter().map(Value::to_string).collect();
    repo.write("s.jsonl", lines.join("\n"));
    let figures = ["s.yml", "s.json", "s.jsonl"].map(|suite| {
        let report = json_of(&repo, &[suite]);
        let parts = ["overall", "by_category", "by_intent"];
        assert_eq!(report["overall"]["hit_at_1"], 1.0, "{report:#}");
        parts.map(|part| report[part].clone())
    });
    assert_eq!(figures[0], figures[1]);
    assert_eq!(figures[0], figures[2]);
    assert!(figures[0][1]["prose"].is_object() && figures[0][2]["debug"].is_object(), "{figures:?}");
    let untracked = repo.git_text(["status", "--porcelain", "--", ".codeweaver"]);
    assert_eq!(untracked, "", "who only measures has no store among the untracked files");
    let at_one = json_of(&repo, &["s.yml", "--k", "1"]);
    assert_eq!((&at_one["k"], &at_one["overall"]["precision"]), (&Value::from(1), &Value::from(1.0)));
}

#[test]
fn a_store_of_another_version_is_repaired_first() {
    let repo = indexed();
    repo.write("s.yml", SUITE);
    let before = json_of(&repo, &["s.yml"]);
    let segments = Path::new(&repo.root()).join(".codeweaver/v1");
    let listing = std::process::Command::new("find").arg(segments).args(["-name", "*.seg"]).output().unwrap();
    let path = String::from_utf8(listing.stdout).unwrap().trim().to_owned();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"CWSEG\0\0\0\xff\0\0\0").unwrap();
    assert_eq!(json_of(&repo, &["s.yml"])["overall"], before["overall"]);
    repo.codeweaver(["verify"]).success();
}

#[test]
fn a_suite_of_folders_can_be_run_on_whole_repositories() {
    let clones = TestRepo::with_files(&[("README.md", "Suites and clones.\n")]);
    let project = TestRepo::with_files(&[("src/reader.rs", READER), ("tools/writer.rs", WRITER)]);
    std::fs::rename(project.path(""), clones.path("project")).unwrap();
    let list = r#"[{"name":"project","language":"rust","url":"u","revision":"HEAD","benchmark_root":"src"}]"#;
    clones.write("suite/repos.json", list);
    let queries = r#"[{"query":"table of prices","category":"semantic","relevant":["tools/writer.rs"]}]"#;
    clones.write("suite/annotations/project.json", queries);
    let hits = |args: &[&str]| {
        json_of(&clones, &[&["suite", "--repos", "."], args].concat())["overall"]["hit_at_1"].clone()
    };
    assert_eq!(hits(&[]), 0.0, "the file is outside of the folder");
    assert_eq!(hits(&["--whole"]), 1.0);
}

#[test]
fn a_mistake_in_a_suite_is_named_with_its_line() {
    let repo = indexed();
    repo.write("s.yml", "- query: q\n  expected_top3: [src/reader.rs]\n");
    let run = repo.codeweaver(["eval", "run", "s.yml"]);
    assert_eq!(run.code(), 2);
    let shown = run.stderr();
    assert!(
        shown.contains("s.yml:2") && shown.contains("expected_top3") && shown.contains("fix:"),
        "{shown}"
    );
}

#[test]
fn thresholds_and_comparison_show_what_was_lost() {
    let repo = indexed();
    repo.write("s.yml", SUITE);
    let before = json_of(&repo, &["s.yml"]);
    repo.write("before.json", before.to_string());
    assert_eq!(repo.codeweaver(["eval", "run", "s.yml", "--min", "hit@1=1", "--min-ndcg", "0.9"]).code(), 0);

    repo.write("s.yml", SUITE.replace("src/reader.rs", "src/nowhere.rs"));
    let low = repo.codeweaver(["eval", "run", "s.yml", "--min", "hit@1=0.9", "--compare", "before.json"]);
    assert_eq!(low.code(), 1);
    assert!(low.stderr().contains("hit@1 is 0.5000, below the minimum of 0.9"), "{}", low.stderr());
    let table = low.stdout();
    for part in ["-0.500", "1 lost", "rank 1 → not found", "skip blank lines of a log"] {
        assert!(table.contains(part), "{part}:\n{table}");
    }
    repo.write("after.json", json_of(&repo, &["s.yml"]).to_string());
    let compared = repo.codeweaver(["eval", "compare", "before.json", "after.json"]).success().stdout();
    assert!(compared.contains("1 lost"), "{compared}");
    let wrong = repo.codeweaver(["eval", "run", "s.yml", "--min", "luck=1"]);
    assert!(wrong.code() == 2 && wrong.stderr().contains("hit@5"), "{}", wrong.stderr());
}

#[test]
fn a_match_on_an_excluded_path_fails_the_query() {
    let repo = indexed();
    let of = |excluded: &str| {
        repo.write(
            "s.yml",
            format!(
                "- query: skip blank lines of a log\n  expected_top_3: [src/reader.rs]\n  expected_excluded: ['{excluded}']\n"
            ),
        );
        json_of(&repo, &["s.yml"])
    };
    let fine = of("tests/*");
    assert_eq!(
        (&fine["questions"][0]["expectation_met"], &fine["overall"]["hit_at_3"]),
        (&true.into(), &1.0.into())
    );
    let shown = of("src/re*");
    assert_eq!(
        (&shown["questions"][0]["expectation_met"], &shown["overall"]["hit_at_3"]),
        (&false.into(), &0.0.into())
    );
}

/// A history with one commit of every kind that mining leaves out, and two that become queries.
fn with_history() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/reader.rs", READER),
        ("src/writer.rs", WRITER),
        ("notes.md", "Notes\n"),
    ]);
    let change = |path: &str, message: &str| {
        repo.write(path, format!("{}// {message}\n", repo.read(path)));
        repo.commit(message);
    };
    change(
        "src/reader.rs",
        "Skip blank lines of a log while reading (#12)\n\nCloses #12\nSigned-off-by: A <a@example.com>",
    );
    change("src/writer.rs", "fix(writer): src/writer.rs prints a table of prices twice");
    change("notes.md", "Explain how the notes are kept in order");
    change("src/writer.rs", "Bump the version of everything here");
    change("src/writer.rs", "oops again");
    change("src/reader.rs", "skip blank lines of a log while reading");
    repo.git(["revert", "--no-edit", "HEAD"]);
    for i in 0..7 {
        repo.write(&format!("src/new{i}.rs"), format!("pub fn new{i}() {{}}\n"));
    }
    change("src/reader.rs", "Add seven new modules at once today");
    repo.git(["commit", "--allow-empty", "-q", "-m", "Nothing was changed by this commit"]);
    repo
}

#[test]
fn mined_queries_run_against_the_parent_commit() {
    let repo = with_history();
    let mined = repo.codeweaver(["eval", "mine", "--output", "mined.jsonl"]);
    mined.success();
    let lines: Vec<Value> =
        repo.read("mined.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let queries: Vec<&str> = lines.iter().map(|line| line["query"].as_str().unwrap()).collect();
    assert_eq!(
        queries,
        ["skip blank lines of a log while reading", "writer: prints a table of prices twice"]
    );
    assert_eq!(lines[1]["relevant"], serde_json::json!(["src/writer.rs"]));
    assert_eq!((&lines[1]["category"], &lines[1]["language"]), (&"fix".into(), &"rust".into()));
    for line in &lines {
        let commit = line["commit"].as_str().unwrap();
        assert_eq!(repo.git_text(["rev-parse", &format!("{commit}^")]).trim(), line["rev"].as_str().unwrap());
    }
    let shown = mined.stderr();
    for part in
        ["2 queries from", "reverts (1)", "duplicates", "too many files", "too short", "eval run mined.jsonl"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let again = repo.codeweaver(["eval", "mine"]).success().stdout();
    assert_eq!(again, repo.read("mined.jsonl"), "the same history gives the same suite");
    assert_eq!(repo.codeweaver(["eval", "mine", "--limit", "1"]).success().stdout().lines().count(), 1);
    assert!(
        repo.codeweaver(["eval", "mine", "--keep-paths"]).success().stdout().contains("src/writer.rs prints")
    );
}

#[test]
fn mined_queries_are_answered_from_the_tree_before_the_commit() {
    let repo = TestRepo::with_files(&[("src/reader.rs", READER), ("src/writer.rs", WRITER)]);
    repo.write("src/reader.rs", READER.replace("read_log", "read_journal"));
    repo.commit("Rename the function that skips blank lines");
    // Later the file goes: only the parent's tree still has it.
    repo.git(["rm", "-q", "src/reader.rs"]).git(["commit", "-q", "-m", "wip"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let head = repo.status();
    repo.codeweaver(["eval", "mine", "--output", "mined.jsonl"]).success();
    let report = json_of(&repo, &["mined.jsonl"]);
    assert_eq!(report["questions"][0]["results"][0], "src/reader.rs", "{report:#}");
    assert_eq!(report["by_language"]["rust"]["hit_at_1"], 1.0);
    let after = repo.status();
    assert_eq!(
        (&head["commit"], true),
        (&after["commit"], after["current"] == true),
        "the index stays HEAD's"
    );
}

#[test]
fn a_history_without_queries_reports_the_reason() {
    let repo = TestRepo::with_files(&[("src/reader.rs", READER)]);
    let run = repo.codeweaver(["eval", "mine"]);
    assert_eq!(run.code(), 1);
    assert!(
        run.stderr().contains("0 queries from 1 commit; skipped: merges and roots (1)"),
        "{}",
        run.stderr()
    );
    let named = repo.codeweaver(["eval", "mine", "-o", "suite.yml"]);
    assert!(named.code() == 2 && named.stderr().contains(".jsonl"), "{}", named.stderr());
}

/// The calibration of relevance at the default `search.min_score`. The queries of the reference suite share
/// few words with their answers, which is where relevance is weakest; docs/research/2026-11-evaluation.md has
/// the figures.
#[test]
fn foreign_queries_find_nothing() {
    const AT: f64 = 0.3;
    let repo = fixture("shop");
    let suite = reference::suite("shop");
    let found = repo.codeweaver(["eval", "foreign", suite.to_str().unwrap(), "--json"]).success().json();
    let thresholds = found["thresholds"].as_array().unwrap();
    let is_default = |threshold: &&Value| (threshold["min_score"].as_f64().unwrap() - AT).abs() < 1e-6;
    let at_default = thresholds.iter().find(is_default).unwrap();
    let share = |name: &str| at_default[name].as_f64().unwrap();
    assert!(found["auc"].as_f64().unwrap() >= 0.96, "{found:#}");
    assert!(share("foreign_refused") >= 0.85, "{at_default}");
    assert!(share("right_kept") >= 0.95, "{at_default}");
}
