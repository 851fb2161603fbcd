//! Repositories and worktrees whose directories move or are copied: the command line, the MCP server and
//! `status` agree, and nothing is indexed again.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, Run, TestRepo};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The repository, or worktree of it, that is now at `to`.
fn moved(repo: &TestRepo, from: &Path, to: &Path) -> TestRepo {
    std::fs::rename(from, to).unwrap();
    repo.at(to.to_str().unwrap())
}

/// The state file, which every publication replaces.
fn state_files(repo: &TestRepo) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let stores = std::fs::read_dir(repo.path(".codeweaver/v1")).unwrap();
    stores
        .map(|store| store.unwrap().path().join("state"))
        .map(|p| (p.clone(), std::fs::read(p).unwrap()))
        .collect()
}

#[track_caller]
fn is_indexed_everywhere(repo: &TestRepo) {
    let status = repo.status();
    assert_eq!((&status["state"], &status["current"]), (&json!("indexed"), &json!(true)), "{status:#}");
    let said = repo.codeweaver(["status"]).success().stdout();
    assert!(!said.contains("not indexed"), "{said}");
    assert_eq!(repo.found(&["parse_header"])[0], "src/parse.rs");
    assert!(repo.codeweaver(["doctor", "--json"]).stdout().contains("every file opens"));
    let mut client = McpClient::start(repo);
    let answer = client.ask("find_code", json!({ "query": "parse_header" }));
    assert_eq!(answer["matches"][0]["file"]["path"], "src/parse.rs", "{answer:#}");
    assert_eq!(answer["status"], "ok", "{answer:#}");
    assert_eq!(client.ask("manage_index", json!({ "action": "status" }))["index"]["state"], "indexed");
}

/// Asserts that an update has nothing to read.
#[track_caller]
fn costs_nothing(repo: &TestRepo) {
    let done: Value = repo.codeweaver(["index", "--json"]).success().json();
    let cost = (&done["known"], &done["blobs_indexed"], &done["embedded_chunks"], &done["bytes_read"]);
    assert_eq!(cost, (&json!(true), &json!(0), &json!(0), &json!(0)), "{done}");
}

#[test]
fn a_moved_repository_is_indexed_there_and_back() {
    let repo = indexed();
    let before = state_files(&repo);
    let (here, there) = (repo.root().to_owned(), repo.beside("elsewhere"));
    let away = moved(&repo, &here, &there);
    is_indexed_everywhere(&away);
    let back = moved(&repo, &there, &here);
    is_indexed_everywhere(&back);
    assert_eq!(state_files(&back), before, "no update was needed");
    let away = moved(&repo, &here, &there);
    costs_nothing(&away);
    is_indexed_everywhere(&away);
    // The index that was updated there is also the one of the old place.
    let back = moved(&repo, &there, &here);
    is_indexed_everywhere(&back);
    costs_nothing(&back);
    back.codeweaver(["gc"]).success();
    is_indexed_everywhere(&back);
}

#[test]
fn collection_in_a_moved_repository_keeps_its_index() {
    let repo = indexed();
    let away = moved(&repo, repo.root(), &repo.beside("elsewhere"));
    away.codeweaver(["gc"]).success();
    is_indexed_everywhere(&away);
    costs_nothing(&away);
}

#[test]
fn a_copy_and_its_original_have_an_index_each() {
    let repo = indexed();
    let copy = repo.beside("copy");
    Run::new(Command::new("cp").arg("-r").args([repo.root(), &copy])).success();
    let copy = repo.at(copy.to_str().unwrap());
    is_indexed_everywhere(&copy);
    costs_nothing(&copy);
    // What happens in one of them does not show in the other.
    copy.write("src/copied.rs", "pub fn only_in_the_copy() {}\n").commit("copy");
    copy.codeweaver(["index"]).success();
    repo.write("src/original.rs", "pub fn only_in_the_original() {}\n").commit("original");
    repo.codeweaver(["index"]).success();
    assert_eq!(copy.found(&["only_in_the_copy"])[0], "src/copied.rs");
    assert_eq!(repo.found(&["only_in_the_original"])[0], "src/original.rs");
    assert!(!repo.found(&["only_in_the_copy"]).contains(&"src/copied.rs".to_owned()));
    assert!(!copy.found(&["only_in_the_original"]).contains(&"src/original.rs".to_owned()));
    is_indexed_everywhere(&repo);
    is_indexed_everywhere(&copy);
    copy.codeweaver(["deinit"]).success();
    is_indexed_everywhere(&repo);
    costs_nothing(&repo);
}

#[test]
fn a_linked_worktree_is_indexed_wherever_git_moves_it() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.at("../side");
    side.codeweaver(["index"]).success();
    repo.git(["worktree", "move", "../side", "../side-2"]);
    let side = repo.at("../side-2");
    is_indexed_everywhere(&side);
    costs_nothing(&side);
    // With the repository, after which git has to be told.
    let away = moved(&repo, repo.root(), &repo.beside("elsewhere"));
    away.git(["worktree", "repair", "../side-2"]);
    is_indexed_everywhere(&away.at("../side-2"));
    is_indexed_everywhere(&away);
    away.codeweaver(["gc"]).success();
    is_indexed_everywhere(&away.at("../side-2"));
}

#[test]
fn a_new_worktree_does_not_inherit_the_index_of_a_removed_one_at_its_place() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.at("../side");
    side.codeweaver(["index"]).success();
    repo.git(["worktree", "remove", "../side"]).git(["worktree", "add", "-q", "../side", "side"]);
    let status = side.status();
    assert_eq!((&status["state"], &status["indexed"]), (&json!("not_indexed"), &Value::Null), "{status:#}");
    side.codeweaver(["index"]).success();
    is_indexed_everywhere(&side);
}

#[test]
fn deinit_leaves_nothing_in_the_git_directories_of_worktrees() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "-b", "side", "../side"]);
    repo.at("../side").codeweaver(["index"]).success();
    assert!(repo.path(".git/worktrees/side/codeweaver-nonce").is_file());
    repo.codeweaver(["deinit"]).success();
    let left = codeweaver_testkit::listing(&repo.path(".git"));
    assert!(!left.contains("codeweaver"), "{left}");
}
