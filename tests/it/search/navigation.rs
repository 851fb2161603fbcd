//! `similar`, `outline`, `read`, `chunks`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo, outlast_clock_tick};

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    let twin = FILES[0].1.replace("parse_header", "parse_field");
    repo.write("src/twin.rs", twin).commit("twin");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn similar_finds_the_twin_and_not_itself() {
    let repo = indexed();
    let response = repo.codeweaver(["similar", "-o", "json", "src/parse.rs:2"]).success().json();
    assert_eq!(response["matches"][0]["file"]["path"], "src/twin.rs", "{response:#}");
    let paths: Vec<_> = response["matches"].as_array().unwrap().iter().map(|m| &m["file"]["path"]).collect();
    assert!(!paths.contains(&&"src/parse.rs".into()));
    repo.codeweaver(["similar", "src/parse.rs"]).fails(2).is_an_error("names no line", "FILE:LINE");
    repo.codeweaver(["similar", "src/nothing.rs:1"])
        .fails(2)
        .is_an_error("there is no such file or line", "status --files");
}

#[test]
fn similar_finds_files_changed_after_a_clean_status() {
    let repo = indexed();
    outlast_clock_tick();
    repo.codeweaver(["index", "-q"]).success();
    repo.write("src/new.rs", FILES[0].1.replace("parse_header", "parse_trailer"));
    let response = repo.codeweaver(["similar", "-o", "json", "src/new.rs:2"]).success().json();
    let paths: Vec<_> = response["matches"].as_array().unwrap().iter().map(|m| &m["file"]["path"]).collect();
    assert!(paths[..2].contains(&&"src/parse.rs".into()), "{response:#}");
}

#[test]
fn an_outline_says_when_definitions_may_be_missing() {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/deep.c", format!("int a(void) {{ return {}1; }}\n", "(".repeat(2_000)));
    repo.write("notes.txt", "Words.\n").commit("files without a tree");
    repo.codeweaver(["init", "--no-hooks"]).success();
    for (file, complete, said) in [
        ("src/parse.rs", true, "1 definition"),
        ("src/deep.c", false, "definitions may be missing: the file cannot be parsed"),
        ("notes.txt", false, "definitions are not known: there is no grammar for the language"),
    ] {
        repo.codeweaver(["outline", file]).success().says(&[said]);
        let outline = repo.codeweaver(["outline", "-o", "json", file]).success().json();
        assert_eq!(outline["complete"], complete, "{file}: {outline:#}");
    }
}

#[test]
fn an_outline_lists_definitions_of_any_revision() {
    let repo = indexed();
    repo.codeweaver(["outline", "src/parse.rs"]).success().says(&["1 definition", "pub fn parse_header"]);
    let outline = repo.codeweaver(["outline", "-o", "json", "src/retry.py"]).success().json();
    assert_eq!(outline["symbols"][0]["name"], "retry_with_backoff");
    assert_eq!(outline["symbols"][0]["span"], serde_json::json!([4, 11]));
    repo.write("src/parse.rs", "pub fn another() {}\n");
    repo.codeweaver(["outline", "src/parse.rs"]).success().says(&["pub fn another"]);
    repo.codeweaver(["outline", "--rev", "HEAD", "src/parse.rs"]).success().says(&["pub fn parse_header"]);
}

#[test]
fn files_are_named_as_seen_from_the_current_directory() {
    let repo = indexed();
    repo.at("src").codeweaver(["outline", "parse.rs"]).success().says(&["parse.rs (rust"]);
    repo.at("src").codeweaver(["outline", ":/src/parse.rs"]).success().says(&["parse.rs (rust"]);
    let absolute = repo.path("src/parse.rs");
    repo.codeweaver(["outline", absolute.to_str().unwrap()]).success().says(&["src/parse.rs"]);
}

#[test]
fn read_prints_lines_of_the_working_tree_or_a_revision() {
    let repo = indexed();
    let text = repo.codeweaver(["read", "src/parse.rs:2-3"]).success().stdout();
    assert_eq!(text.lines().count(), 2);
    assert!(text.starts_with("2 │ pub fn parse_header"), "{text}");
    for place in ["src/parse.rs#L2-L3", "src/parse.rs#L2-3"] {
        assert_eq!(repo.codeweaver(["read", place]).success().stdout(), text, "{place}");
    }
    let line = repo.codeweaver(["read", "src/parse.rs:2:8"]).success().stdout();
    assert!(line.starts_with("2 │ pub fn parse_header") && line.lines().count() == 1, "{line}");
    repo.codeweaver(["similar", "src/parse.rs:2:8"]).success().says(&["src/twin.rs"]);
    repo.codeweaver(["read", "src/parse.rs:6"]).fails(2).says(&["has no line 6", "it has 5 lines"]);
    repo.write("src/parse.rs", "changed\n");
    assert_eq!(repo.codeweaver(["read", "src/parse.rs"]).success().stdout(), "1 │ changed\n");
    repo.codeweaver(["read", "--rev", "HEAD", "src/parse.rs:2"]).success().says(&["parse_header"]);
    for path in ["../outside", "/etc/passwd", ".git/config/../../../x"] {
        repo.codeweaver(["read", path]).fails(2);
    }
}

#[test]
fn chunks_shows_a_file_and_measures_a_tree() {
    let repo = indexed();
    repo.codeweaver(["chunks", "src/parse.rs"]).success().says(&["parse_header", ", semantic, function"]);
    let report = repo.codeweaver(["chunks", "--stats", "--sample", "3", "--json"]).success().json();
    assert_eq!(report["total"]["files"], FILES.len() + 1, "{report:#}");
    assert_eq!(report["languages"]["rust"]["files"], 3);
    assert!(report["samples"]["rust"].as_array().unwrap().len() <= 3);
    let again = repo.codeweaver(["chunks", "--stats", "--sample", "3", "--json"]).success().json();
    assert_eq!(report, again, "the same on every run");
}

#[test]
fn chunks_shows_the_class_of_a_chunk_with_its_category_and_importance() {
    let repo = TestRepo::with_files(FILES);
    let listed = repo.codeweaver(["chunks", "--json", "src/parse.rs"]).success().json();
    assert_eq!((&listed["path"], &listed["language"]), (&json!("src/parse.rs"), &json!("rust")));
    assert_eq!(listed["chunked"]["degradations"], json!([]), "{listed:#}");
    let chunk = &listed["chunked"]["chunks"][0];
    assert_eq!(
        (&chunk["source"], &chunk["class"], &chunk["category"], &chunk["semantic_context"]),
        (&json!("semantic"), &json!("DEFINITION_CALLABLE"), &json!("definition"), &json!(null)),
        "{listed:#}"
    );
    let importance: BTreeMap<String, f64> = serde_json::from_value(chunk["importance"].clone()).unwrap();
    let expected = [
        ("comprehension", 0.92),
        ("debugging", 0.85),
        ("discovery", 0.95),
        ("documentation", 0.92),
        ("modification", 0.85),
    ];
    assert_eq!(importance, BTreeMap::from(expected.map(|(work, score)| (work.to_owned(), score))));
}

#[test]
fn chunks_have_an_identity_and_a_place_in_the_syntax_tree() {
    let repo = indexed();
    repo.set_mtime("src/parse.rs", 1_700_000_000);
    let listed = repo.codeweaver(["chunks", "--json", "src/parse.rs"]).success().json();
    let chunks = listed["chunked"]["chunks"].as_array().unwrap();
    let blob = repo.run_git(["rev-parse", "HEAD:src/parse.rs"]).stdout().trim().to_owned();
    for chunk in chunks {
        assert_eq!((&chunk["parent_id"], &chunk["timestamp"]), (&json!(blob), &json!(1_700_000_000.0)));
        assert_eq!(chunk["chunk_id"].as_str().map(str::len), Some(32), "{chunk:#}");
    }

    let syntax = &chunks[0]["syntax"];
    assert_eq!((&syntax["kind"], &syntax["parent_kind"]), (&json!("function_item"), &json!("source_file")));
    assert_eq!((&syntax["nesting_level"], &syntax["has_explicit_rule"]), (&json!(1), &json!(true)));
    assert!(syntax["connection_count"].as_u64() > Some(1), "{syntax:#}");

    let found = repo.codeweaver(["search", "-o", "json", "parse_header"]).success().json();
    let best = &found["matches"][0];
    assert_eq!((&best["file"]["path"], &best["blob"]), (&json!("src/parse.rs"), &json!(blob)));
    let identities: Vec<&Value> = chunks.iter().map(|chunk| &chunk["chunk_id"]).collect();
    assert!(identities.contains(&&best["content"]["chunk_id"]), "the same in the index: {found:#}");
}

#[test]
fn chunks_shows_the_definition_that_a_part_belongs_to() {
    let calls: String = (0..1_000).map(|n| format!("    call_{n}(value_{n}, other_{n});\n")).collect();
    let large = format!("fn large() {{\n{calls}}}\n");
    let repo = TestRepo::with_files(&[("large.rs", large.as_str())]);
    let listed = repo.codeweaver(["chunks", "--json", "large.rs"]).success().json();
    assert_eq!(listed["chunked"]["degradations"], json!([]));
    let chunks = listed["chunked"]["chunks"].as_array().unwrap();
    assert!(chunks.len() > 2, "{} chunks", chunks.len());
    for chunk in chunks {
        assert_eq!(chunk["parent_semantic_node"], "function large", "{chunk:#}");
        let context = json!({ "classification": "DEFINITION_CALLABLE", "kind": "function_item" });
        assert_eq!(chunk["semantic_context"], context, "{chunk:#}");
    }
    assert_eq!((&chunks[0]["category"], &chunks[1]["category"]), (&json!("definition"), &json!("operation")));
}

#[test]
fn chunks_shows_why_a_file_is_not_chunked_by_its_syntax() {
    let deep = format!("int a(void) {{ return {}1; }}\n", "(".repeat(2_000));
    let files =
        [("deep.c", deep.as_str()), ("broken.rs", "%% ?? ,, ;; ] ) } @@ $$\n"), ("notes.txt", "Words.\n")];
    let repo = TestRepo::with_files(&files);
    let expected: [(&[&str], &str); 3] = [
        (&["too_deep"], "delimiter"),
        (&["error_share", "no_delimiters"], "text"),
        (&["no_grammar"], "delimiter"),
    ];
    for ((path, text), (reasons, source)) in files.into_iter().zip(expected) {
        let listed = repo.codeweaver(["chunks", "--json", path]).success().json();
        let whole = json!({ "start": 0, "end": text.len() });
        let degradations: Vec<Value> =
            reasons.iter().map(|reason| json!({ "reason": reason, "byte_range": whole })).collect();
        assert_eq!(listed["chunked"]["degradations"], Value::from(degradations), "{listed:#}");
        let chunk = &listed["chunked"]["chunks"][0];
        assert_eq!((&chunk["source"], &chunk["category"]), (&json!(source), &json!("unknown")), "{listed:#}");
        let said = format!("degraded: {} in bytes 0..{}", reasons[0], text.len());
        repo.codeweaver(["chunks", path]).success().says(&[&said]);
    }
    let report = repo.codeweaver(["chunks", "--stats", "--json"]).success().json();
    assert_eq!(report["languages"]["c"]["degradations"]["too_deep"], 1, "{report:#}");
}
