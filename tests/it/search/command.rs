//! `search`: output formats, filters, exit codes.

use codeweaver_testkit::{FILES, TestRepo};

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn json_is_exactly_one_response() {
    let repo = indexed();
    let text = repo.codeweaver(["search", "-o", "json", "call again after a pause"]).success().stdout();
    let response: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (key, is_of_type) in [
        ("status", serde_json::Value::is_string as fn(&serde_json::Value) -> bool),
        ("matches", serde_json::Value::is_array),
        ("summary", serde_json::Value::is_string),
        ("query_intent", serde_json::Value::is_object),
        ("candidates", serde_json::Value::is_u64),
        ("total_matches", serde_json::Value::is_u64),
        ("total_results", serde_json::Value::is_u64),
        ("token_count", serde_json::Value::is_u64),
        ("execution_time_ms", serde_json::Value::is_u64),
        ("search_strategy", serde_json::Value::is_array),
        ("languages_found", serde_json::Value::is_array),
        ("warnings", serde_json::Value::is_array),
        ("index", serde_json::Value::is_object),
    ] {
        assert!(is_of_type(&response[key]), "{key}: {}", response[key]);
    }
    let found = &response["matches"][0];
    assert_eq!(found["file"]["path"], "src/retry.py", "{response:#}");
    assert_eq!(found["file"]["language"], "python");
    assert_eq!(found["span"], serde_json::json!([1, 11]));
    assert!((0.0..=1.0).contains(&found["relevance_score"].as_f64().unwrap()));
    assert!(
        ["SEMANTIC", "SYNTACTIC", "KEYWORD", "FILE_PATTERN"].contains(&found["match_type"].as_str().unwrap())
    );
    assert_eq!(found["state"], "committed");
    assert_eq!(found["rev"], "HEAD");
    assert_eq!(found["blob"], repo.git_text(["rev-parse", "HEAD:src/retry.py"]).trim());
    assert!(found["related_symbols"].is_array() && found["relations"].is_array());
    assert!(found["more_in_file"].is_array());
    let index = &response["index"];
    assert_eq!(index["commit"], repo.git_text(["rev-parse", "HEAD"]).trim());
    assert_eq!(index["tree"], repo.git_text(["rev-parse", "HEAD^{tree}"]).trim());
    assert_eq!((&index["freshness"], &index["dirty_files"]), (&"fresh".into(), &0.into()));
    assert_eq!(response["total_results"], response["matches"].as_array().unwrap().len());
}

#[test]
fn the_search_table_has_its_documented_format() {
    let repo = indexed();
    let text = repo.codeweaver(["search", "-l", "1", "parse_header"]).success().stdout();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    assert!(
        head.starts_with("Found 1 match (")
            && head.contains(" candidates processed in ")
            && head.ends_with(" ms)"),
        "{text}"
    );
    assert_eq!(lines.next(), Some(""));
    let first = lines.next().unwrap();
    assert!(first.starts_with("1. src/parse.rs:2-5 (relevance: "), "{text}");
    assert!(first.ends_with(", type: function)"), "{text}");
    assert_eq!(lines.next().unwrap().trim(), "pub fn parse_header(line: &str) -> Option<(&str, &str)>");
    assert_eq!(lines.next().unwrap().trim(), "Splits a header line into its name and value.");
    assert!(!text.contains('\x1b'), "plain when piped");
}

#[test]
fn markdown_has_a_fence_per_match() {
    let repo = indexed();
    let text = repo.codeweaver(["search", "-o", "markdown", "-l", "2", "parse_header"]).success().stdout();
    assert!(text.starts_with("# Search: parse_header\n"), "{text}");
    assert!(text.contains("## 1. `src/parse.rs:2-5`") && text.contains("```rust\n"), "{text}");
    assert_eq!(text.matches("```").count() % 2, 0, "{text}");
}

#[test]
fn filters_narrow_and_tests_can_be_left_out() {
    let repo = indexed();
    assert!(repo.found(&["parse_header"]).contains(&"tests/parse_test.rs".to_owned()));
    assert!(!repo.found(&["--no-tests", "parse_header"]).contains(&"tests/parse_test.rs".to_owned()));
    assert!(repo.found(&["--lang", "python", "parse"]).iter().all(|path| path.ends_with(".py")));
    assert!(repo.found(&["--path", "src", "parse header"]).iter().all(|path| path.starts_with("src/")));
    assert!(repo.found(&["--exclude", "src", "parse header"]).iter().all(|path| !path.starts_with("src/")));
    assert_eq!(repo.found(&["-l", "1", "parse header"]).len(), 1);
    for mode in ["hybrid", "semantic", "keyword", "symbol"] {
        assert_eq!(repo.found(&["--mode", mode, "--no-tests", "parse_header"])[0], "src/parse.rs", "{mode}");
    }
}

/// The list for people names the method of the vector search and the intent, as the JSON does.
#[test]
fn explain_names_what_found_the_candidates() {
    let repo = indexed();
    let found_by = |ann: &str| {
        let run =
            repo.codeweaver(["search", "--explain", "--ann", ann, "--intent", "debug", "parse the header"]);
        let text = run.success().stdout();
        assert!(text.contains("\nintent: debug (given as debug)\n"), "{text}");
        let line = text.lines().find(|line| line.starts_with("found by: ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{text}"))
    };
    assert!(found_by("exact").contains("dense_exact"), "{}", found_by("exact"));
    let plain = repo.codeweaver(["search", "parse the header"]).success().stdout();
    assert!(!plain.contains("found by"), "{plain}");

    let markdown = |more: &[&str]| {
        let args = [&["search", "-o", "markdown", "--intent", "debug", "parse the header"], more].concat();
        repo.codeweaver(args).success().stdout()
    };
    let explained = markdown(&["--explain"]);
    assert!(
        explained.contains("\nfound by: ") && explained.contains("\nintent: debug (given"),
        "{explained}"
    );
    assert!(!markdown(&[]).contains("found by"));
}

/// Each task of agents is an intent, which the answer names; the task `test` brings tests.
#[test]
fn a_task_is_an_intent_of_the_answer() {
    let repo = indexed();
    for (task, intent) in [
        ("DEBUG", Some("debug")),
        ("DEFAULT", None),
        ("DOCUMENT", Some("document")),
        ("IMPLEMENT", Some("implement")),
        ("LOCAL_EDIT", Some("implement")),
        ("REFACTOR", Some("implement")),
        ("REVIEW", Some("review")),
        ("SEARCH", Some("understand")),
        ("TEST", Some("test")),
    ] {
        let run = repo.codeweaver(["search", "-o", "json", "--task", task, "parse header"]);
        let answer = run.success().json();
        assert_eq!(answer["query_intent"]["type"].as_str(), intent, "{task}: {answer:#}");
        assert!(answer["warnings"].as_array().unwrap().is_empty(), "{task}: {answer:#}");
        // A task with the name of its intent is given as that.
        let reasoning = answer["query_intent"]["reasoning"].as_str().unwrap();
        let name = task.to_lowercase();
        let is_named = intent.is_none() || reasoning.ends_with(&name);
        assert!(
            is_named && (intent == Some(&*name) || reasoning.contains("task") == intent.is_some()),
            "{reasoning}"
        );
    }

    let unknown = repo.codeweaver(["search", "--intent", "ponder", "parse header"]);
    unknown.success().says(&["unknown intent 'ponder'", "search, refactor, local_edit"]);
    repo.codeweaver(["search", "--help"]).success().says(&["--task"]);

    let first = |args: &[&str]| repo.found(args).first().cloned();
    assert_eq!(first(&["parse header"]).as_deref(), Some("src/parse.rs"));
    assert_eq!(first(&["--task", "TEST", "parse header"]).as_deref(), Some("tests/parse_test.rs"));
}

#[test]
fn locations_have_no_text_and_explain_has_a_sum() {
    let repo = indexed();
    let found = repo
        .codeweaver(["search", "-o", "json", "--locations", "--explain", "parse_header"])
        .success()
        .json();
    assert_eq!(found["matches"][0]["content"]["text"], "");
    assert!(found["matches"][0]["explanation"]["score"].is_number());
}

#[test]
fn an_empty_result_reports_what_was_searched_and_what_to_try() {
    let repo = indexed();
    let run = repo.codeweaver(["search", "--min-score", "1", "haskell monad transformer"]);
    run.fails(1).says(&[
        "No results found (searched ",
        "chunks across 4 files)",
        "Languages in this index: ",
        "--intent",
        "status",
        "config --show",
    ]);
    run.says(&["no indexed file is written in haskell"]);
    let json = repo.codeweaver(["search", "-o", "json", "--min-score", "1", "zzz"]);
    assert_eq!(json.fails(1).json()["total_results"], 0);
}

#[test]
fn any_revision_can_be_searched() {
    let repo = indexed();
    repo.git(["tag", "v1"]).git(["rm", "-q", "src/parse.rs"]).git(["commit", "-q", "-m", "gone"]);
    repo.git(["checkout", "-q", "-b", "side", "v1"])
        .write("side.rs", "pub fn only_on_side() {}\n")
        .commit("side");
    repo.git(["checkout", "-q", "main"]);
    assert!(!repo.found(&["parse_header"]).contains(&"src/parse.rs".to_owned()));
    let response = repo.codeweaver(["search", "-o", "json", "--rev", "v1", "parse_header"]).success().json();
    assert_eq!(response["matches"][0]["file"]["path"], "src/parse.rs");
    assert_eq!(response["matches"][0]["rev"], "v1");
    assert_eq!(repo.found(&["--rev", "side", "only_on_side"])[0], "side.rs");
    assert_eq!(repo.found(&["--rev", "HEAD~1:src", "parse_header"])[0], "parse.rs");
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let repo = indexed();
    for (args, code) in [
        (&["search", "parse_header"][..], 0),
        (&["search", "--min-score", "1", "zzz"], 1),
        (&["search", "--limit", "0", "x"], 2),
        (&["search", "--min-score", "2", "x"], 2),
        (&["search", "--token-limit", "0", "x"], 2),
        (&["search", ""], 2),
        (&["search", "--ann", "signs", "x"], 2),
        (&["search", "--task", "DEBUG", "parse_header"], 0),
        (&["search", "x lang:pyhton"], 2),
        (&["search", "lang:rust"], 2),
        (&["search", "--rev", "nonsense", "x"], 2),
        (&["search", "--mode", "nonsense", "x"], 2),
        (&["search"], 2),
        (&["nonsense"], 2),
        (&[], 0),
        (&["--help"], 0),
        (&["-h"], 0),
        (&["--version"], 0),
        (&["search", "-h"], 0),
        (&["status"], 0),
        (&["doctor"], 0),
        (&["verify"], 0),
        (&["config", "--show"], 0),
        (&["config", "get", "search.limit"], 0),
        (&["completions", "bash"], 0),
        (&["man"], 0),
        (&["hook", "post-commit"], 0),
        (&["hook", "no-such-event", "x"], 0),
        (&["hook"], 0),
    ] {
        let run = repo.codeweaver(args);
        assert_eq!(run.code(), code, "{}", run.explain());
    }
    let run = repo.codeweaver(["search", "--intent", "dance", "parse_header"]);
    run.success().says(&["unknown intent 'dance' is ignored", "src/parse.rs"]);
    // As in `git grep`, it is no intent before a word that is none.
    let run = repo.codeweaver(["search", "-i", "PARSE_HEADER"]);
    run.success().says(&["src/parse.rs"]);
    assert_eq!(run.stderr(), "");
    repo.codeweaver(["search", "--mode", "exact", "-i", "PARSE_HEADER"]).success().says(&["src/parse.rs"]);
}

#[test]
fn without_an_index_the_gate_names_the_fix() {
    let repo = TestRepo::with_files(FILES);
    for args in [&["search", "x"][..], &["similar", "src/parse.rs:2"], &["outline", "src/parse.rs"]] {
        repo.codeweaver(args).fails(2).is_an_error("this repository is not indexed", "git codeweaver init");
    }
    let gate = repo.codeweaver(["search", "-o", "json", "x"]).fails(2).json();
    assert_eq!((&gate["status"], &gate["reason"]), (&"not_indexed".into(), &"not_indexed".into()));
    assert!(!repo.path(".codeweaver").exists(), "a reader writes nothing");
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let repo = indexed();
    let script = "git-codeweaver completions bash | head -1 >/dev/null; echo ${PIPESTATUS[0]}";
    let output = repo.command("bash").args(["-c", script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

const ATTEMPTS: &str = "
class Attempts:
    \"\"\"Counts how often something was called again, and says when it is enough.\"\"\"

    def __init__(self, clock, limit, seconds):
        self.clock = clock
        self.limit = limit
        self.deadline = clock.now() + seconds
        self.count = 0

    def is_over(self):
        return self.count >= self.limit or self.clock.now() > self.deadline

    def next_pause(self):
        self.count += 1
        return min(2 ** self.count, self.deadline - self.clock.now())
";

/// A near-duplicate does not displace other matches, is named with the better file, and is found by its path.
#[test]
fn near_copies_are_named_with_the_better_file() {
    let original = format!("{}{ATTEMPTS}", FILES.iter().find(|(path, _)| *path == "src/retry.py").unwrap().1);
    let copy = original.replacen("deadline = clock.now()", "deadline = clock.monotonic()", 1);
    assert_ne!(copy, original);
    let repo = TestRepo::with_files(FILES);
    repo.write("src/retry.py", &original).write("legacy/again.py", &copy).commit("a copy");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let query = ["search", "-o", "json", "--min-score", "0.1", "call again after a pause"];
    let found = repo.codeweaver(query).success().json();
    let paths: Vec<&str> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|found| found["file"]["path"].as_str())
        .collect();
    assert!(paths.len() > 1 && paths[0] == "src/retry.py", "{paths:?}");
    assert!(!paths.contains(&"legacy/again.py"), "{paths:?}");
    let lines = copy.lines().count();
    assert_eq!(
        found["matches"][0]["near_copies"],
        serde_json::json!([{ "path": "legacy/again.py", "span": [1, lines] }])
    );
    let table = repo.codeweaver(["search", "call again after a pause"]).success().stdout();
    assert!(table.contains("nearly the same: legacy/again.py:1"), "{table}");
    let by_path = repo.found(&["call again after a pause in legacy/again.py"]);
    assert_eq!(by_path[0], "legacy/again.py", "{by_path:?}");
    assert!(!by_path.contains(&"src/retry.py".to_owned()), "now that one is the copy: {by_path:?}");
    let similar = repo.codeweaver(["similar", "-o", "json", "src/retry.py:1"]).success().json();
    assert_eq!(similar["matches"][0]["file"]["path"], "legacy/again.py", "{similar:#}");
}

#[test]
fn hnsw_is_refused_without_a_graph_and_searched_with_one() {
    let repo = indexed();
    let query = ["search", "-o", "json", "--ann", "hnsw", "call again after a pause"];
    let refused = repo.codeweaver(query);
    assert!(refused.stderr().contains("this index has no HNSW graph"), "{}", refused.explain());
    repo.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n");
    repo.commit("wants a graph");
    repo.codeweaver(["index"]).success();
    let answer = repo.codeweaver(query).success().json();
    assert!(answer["search_strategy"].to_string().contains("dense_hnsw"), "{answer:#}");
}
