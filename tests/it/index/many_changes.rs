//! More changed files than a search indexes itself: what is shown is as on disk, what is missing is said, and
//! the updater indexes the rest.

use serde_json::{Value, json};

use codeweaver_index::updater;
use codeweaver_testkit::{TestRepo, wait_for};

use crate::support::mcp_client::McpClient;
use crate::support::sandbox::open;

fn module(i: usize) -> String {
    format!("/// Number {i}.\npub fn function_of_module_{i}() -> usize {{\n    {i}\n}}\n")
}

/// A repository of `n` indexed files.
fn indexed(n: usize) -> TestRepo {
    let repo = TestRepo::init();
    for i in 0..n {
        repo.write(&format!("src/m{i}.rs"), module(i));
    }
    repo.commit("first").codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// Moves the lines of every file, and adds untracked ones.
fn change(repo: &TestRepo, n: usize, n_untracked: usize) {
    for i in 0..n {
        repo.write(&format!("src/m{i}.rs"), format!("// moved\n// by two lines\n{}", module(i)));
    }
    for i in 0..n_untracked {
        repo.write(&format!("new/n{i}.rs"), format!("pub fn untracked_function_{i}() {{}}\n"));
    }
}

/// Asserts that every match is that of the file on disk, lines included.
#[track_caller]
fn shows_the_disk(repo: &TestRepo, response: &Value) {
    for found in response["matches"].as_array().unwrap() {
        let path = found["file"]["path"].as_str().unwrap();
        let on_disk = repo.read(path);
        let line = |at: usize| found["span"][at].as_u64().unwrap() as usize;
        let lines: Vec<&str> = on_disk.lines().skip(line(0) - 1).take(line(1) + 1 - line(0)).collect();
        let text = found["content"]["text"].as_str().unwrap().trim_end();
        // Agents get the text of the best match alone.
        if !text.is_empty() || found == &response["matches"][0] {
            assert_eq!(text, lines.join("\n"), "{found:#}");
        }
        assert_eq!(found["blob"], repo.git_text(["hash-object", path]).trim(), "{found:#}");
    }
}

#[track_caller]
fn search(repo: &TestRepo, query: &str) -> Value {
    let response = repo.codeweaver(["search", "-o", "json", "-l", "5", query]).json();
    shows_the_disk(repo, &response);
    response
}

fn best(response: &Value) -> (&str, &str) {
    let found = &response["matches"][0];
    (found["file"]["path"].as_str().unwrap_or_default(), found["state"].as_str().unwrap_or_default())
}

/// Searches until no changed file is pending or unchecked, and returns that response.
#[track_caller]
fn wait_until_complete(repo: &TestRepo, query: &str) -> Value {
    wait_for("all changed files are indexed", || {
        let response = search(repo, query);
        let index = &response["index"];
        let is_complete = (&index["pending_files"], &index["unchecked_files"]) == (&json!(0), &json!(0));
        if is_complete { Ok(response) } else { Err(index.clone()) }
    })
}

/// Few bytes, so that few files suffice; all the time that a busy machine needs.
fn with_small_budget(repo: TestRepo) -> TestRepo {
    repo.env("CODEWEAVER_OVERLAY_MAX_BYTES", "65536").env("CODEWEAVER_OVERLAY_BUDGET_MS", "60000")
}

#[test]
fn what_is_shown_of_500_changed_files_is_on_disk_and_the_rest_is_said() {
    let repo = with_small_budget(indexed(500));
    change(&repo, 500, 100);
    // No updater can run.
    let lease = updater::lease(&open(repo.root())).unwrap();
    for i in [0, 250, 499] {
        let response = search(&repo, &format!("function_of_module_{i}"));
        assert_eq!(best(&response), (format!("src/m{i}.rs").as_str(), "dirty"), "{response:#}");
        let index = &response["index"];
        assert!(index["pending_files"].as_u64().unwrap() > 50, "{index:#}");
        assert_eq!((&index["dirty_files"], &response["status"]), (&json!(600), &json!("degraded")));
        assert!(response["warnings"][0].as_str().unwrap().contains("are being indexed"), "{response:#}");
    }
    repo.codeweaver(["search", "function_of_module_499"])
        .success()
        .says(&["src/m499.rs", "are being indexed"]);
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_code", json!({ "query": "function_of_module_499", "max_results": 5 }));
    assert_eq!(best(&answer), ("src/m499.rs", "dirty"), "{answer:#}");
    assert!(answer["index"]["pending_files"].as_u64().unwrap() > 50, "{answer:#}");
    shows_the_disk(&repo, &answer);

    // Files that are named are shown as they are, too.
    let outline = repo.codeweaver(["outline", "-o", "json", "src/m480.rs"]).success().json();
    assert_eq!(
        (&outline["state"], &outline["symbols"][0]["span"][1]),
        (&json!("dirty"), &json!(6)),
        "{outline:#}"
    );
    let graph =
        repo.codeweaver(["graph", "definitions", "-o", "json", "function_of_module_480"]).success().json();
    assert_eq!(
        (&graph["nodes"][0]["state"], &graph["nodes"][0]["span"][1]),
        (&json!("dirty"), &json!(6)),
        "{graph:#}"
    );
    assert!(graph["pendingFiles"].as_u64().unwrap() > 50, "{graph:#}");
    let similar = repo.codeweaver(["similar", "-o", "json", "src/m481.rs:6"]).success().json();
    shows_the_disk(&repo, &similar);
    repo.codeweaver(["outline", "new/n99.rs"]).success().says(&["untracked_function_99"]);
    drop((lease, client));

    // The next search starts the updater, after which nothing is missing and committing costs nothing.
    let response = wait_until_complete(&repo, "untracked_function_99");
    assert_eq!(
        (best(&response), &response["status"]),
        (("new/n99.rs", "untracked"), &json!("ok")),
        "{response:#}"
    );
    for i in [0, 250, 499] {
        let response = search(&repo, &format!("function_of_module_{i}"));
        assert_eq!((best(&response).1, &response["status"]), ("dirty", &json!("ok")), "{response:#}");
    }
    repo.codeweaver(["verify"]).success();
    repo.commit("all of it");
    let done = repo.codeweaver(["index", "--json"]).success().json();
    assert_eq!((&done["files_changed"], &done["embedded_chunks"]), (&json!(600), &json!(0)), "{done}");
    repo.codeweaver(["verify"]).success();
}

#[test]
fn five_thousand_changed_files_are_found_a_moment_later() {
    let repo = indexed(4000);
    change(&repo, 4000, 1000);
    let response = search(&repo, "function_of_module_3999");
    assert_ne!(best(&response).1, "committed", "{response:#}");
    let response = wait_until_complete(&repo, "untracked_function_999");
    assert_eq!(best(&response), ("new/n999.rs", "untracked"), "{response:#}");
    assert_eq!((&response["index"]["dirty_files"], &response["status"]), (&json!(5000), &json!("ok")));
    let response = search(&repo, "function_of_module_3999");
    assert_eq!(best(&response), ("src/m3999.rs", "dirty"), "{response:#}");
}

#[test]
fn changed_files_that_were_indexed_and_then_changed_again_are_found_as_they_are() {
    let repo = with_small_budget(indexed(60));
    change(&repo, 60, 0);
    wait_until_complete(&repo, "function_of_module_59");
    let _lease = updater::lease(&open(repo.root())).unwrap();
    repo.write("src/m59.rs", "pub fn written_later() {}\n").remove("src/m58.rs");
    let response = search(&repo, "written_later");
    assert_eq!(
        (best(&response), &response["status"]),
        (("src/m59.rs", "dirty"), &json!("ok")),
        "{response:#}"
    );
    let paths = repo.found(&["function_of_module_58"]);
    assert!(!paths.contains(&"src/m58.rs".to_owned()), "{paths:?}");
    // Without the overlay nothing of this is seen.
    let response = repo.codeweaver(["search", "-o", "json", "--committed", "function_of_module_58"]).json();
    assert_eq!(best(&response), ("src/m58.rs", "committed"), "{response:#}");
}

/// HEAD differs too much from the index for an overlay, and no updater can run: an older tree answers.
#[test]
fn an_answer_from_an_older_tree_shows_the_files_of_the_working_tree() {
    let repo = indexed(300).env("CODEWEAVER_SEARCH_TIMEOUT_MS", "200");
    change(&repo, 300, 0);
    repo.commit("moved lines");
    repo.write("src/m7.rs", format!("// dirty, too\n{}", module(7)));
    let _lease = updater::lease(&open(repo.root())).unwrap();
    let response = search(&repo, "function_of_module_299");
    assert_eq!(
        (best(&response), &response["index"]["freshness"]),
        (("src/m299.rs", "committed"), &json!("stale")),
        "{response:#}"
    );
    assert_eq!(best(&search(&repo, "function_of_module_7")), ("src/m7.rs", "dirty"));
}
