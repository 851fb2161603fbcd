//! A dozen fast end-to-end tests for the build that ships:
//!
//! ```text
//! cargo build --release
//! CODEWEAVER_TEST_BINARY=target/release/git-codeweaver cargo test --test it -- smoke::
//! ```

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use codeweaver_testkit::{FILES, TestRepo, program};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn the_version_is_that_of_the_package() {
    let run = TestRepo::init().codeweaver(["--version"]);
    run.success().says(&[env!("CARGO_PKG_VERSION")]);
}

#[test]
fn init_indexes_all_files() {
    let repo = indexed();
    let status = repo.status();
    assert_eq!((&status["state"], &status["current"]), (&"indexed".into(), &true.into()), "{status:#}");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "", "the store is not an untracked directory");
}

#[test]
fn a_commit_updates_the_index_through_the_hook() {
    let repo = TestRepo::with_files(FILES).env("CODEWEAVER_HOOKS", "foreground");
    repo.codeweaver(["init"]).success();
    repo.write("src/added.rs", "pub fn added_by_a_commit() {}\n").commit("add");
    assert_eq!(repo.status()["current"], true);
    assert_eq!(repo.found(&["added_by_a_commit"])[0], "src/added.rs");
}

#[test]
fn a_search_by_meaning_finds_a_function() {
    let repo = indexed();
    assert_eq!(repo.found(&["--no-tests", "call again until it succeeds"])[0], "src/retry.py");
}

#[test]
fn a_search_by_name_finds_a_definition() {
    let repo = indexed();
    assert_eq!(repo.found(&["--no-tests", "parse_header"])[0], "src/parse.rs");
}

#[test]
fn an_uncommitted_change_is_found() {
    let repo = indexed();
    repo.write("src/parse.rs", format!("{}\npub fn not_committed_yet() {{}}\n", FILES[0].1));
    let answer = repo.codeweaver(["search", "-o", "json", "not_committed_yet"]).success().json();
    let first = &answer["matches"][0];
    assert_eq!((&first["file"]["path"], &first["state"]), (&"src/parse.rs".into(), &"dirty".into()));
}

#[test]
fn an_earlier_revision_is_searched() {
    let repo = indexed();
    repo.git(["rm", "-q", "src/retry.py"]).commit("remove");
    assert!(!repo.found(&["retry_with_backoff"]).contains(&"src/retry.py".to_owned()));
    assert_eq!(repo.found(&["--rev", "HEAD~1", "retry_with_backoff"])[0], "src/retry.py");
}

#[test]
fn a_server_answers_an_mcp_client() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    assert_eq!(client.found(json!({ "query": "parse_header", "include_tests": false }))[0], "src/parse.rs");
    assert_eq!(client.close(), 0);
}

#[test]
fn an_outline_and_similar_code_are_shown() {
    let repo = indexed();
    repo.codeweaver(["outline", "src/parse.rs"]).success().says(&["parse_header"]);
    repo.codeweaver(["similar", "src/parse.rs:2"]).success();
}

#[test]
fn an_update_that_is_killed_loses_nothing() {
    let repo = TestRepo::init();
    for i in 0..300 {
        repo.write(
            &format!("src/f{i}.rs"),
            format!("pub fn function_{i}(x: u32) -> u32 {{\n    x + {i}\n}}\n"),
        );
    }
    repo.commit("many");
    for delay in [5, 20, 60, 120] {
        let mut command = repo.command(program());
        command.args(["init", "--no-hooks"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Killed at any moment, not at one that is waited for.
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.codeweaver(["index", "--quiet"]).success();
    repo.codeweaver(["verify"]).success();
    assert_eq!(repo.found(&["function_299"])[0], "src/f299.rs");
}

#[test]
fn verify_and_gc_find_a_sound_store() {
    let repo = indexed();
    repo.write("src/parse.rs", "pub fn replaced() {}\n").commit("replace");
    repo.codeweaver(["index", "--quiet"]).success();
    repo.codeweaver(["gc"]).success();
    repo.codeweaver(["verify", "--recompute", "100%"]).success().says(&["good:"]);
}

#[test]
fn deinit_removes_the_store_and_the_hooks() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    repo.codeweaver(["deinit"]).success();
    assert!(!repo.path(".codeweaver").exists());
    assert!(!(repo.read(".git/hooks/post-commit") + &repo.read(".git/config")).contains("codeweaver"));
}

#[test]
fn an_error_says_what_why_and_how_to_fix_it() {
    TestRepo::init().codeweaver(["search", "anything"]).fails(2).is_an_error("not indexed", "init");
}
