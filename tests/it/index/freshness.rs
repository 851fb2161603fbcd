//! Search sees the working tree as it is, and commits that no hook has reported.

use codeweaver_testkit::{FILES, TestRepo};

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn an_edit_is_found_without_a_commit() {
    let repo = indexed();
    repo.write("src/parse.rs", format!("{}\npub fn unsaved_thought() {{}}\n", FILES[0].1));
    let response = repo.codeweaver(["search", "-o", "json", "unsaved_thought"]).success().json();
    let found = &response["matches"][0];
    assert_eq!(
        (&found["file"]["path"], &found["state"]),
        (&"src/parse.rs".into(), &"dirty".into()),
        "{response:#}"
    );
    assert_eq!(found["blob"], repo.git_text(["hash-object", "src/parse.rs"]).trim());
    assert_eq!(
        (&response["index"]["freshness"], &response["index"]["dirty_files"]),
        (&"overlaid".into(), &1.into())
    );
    let committed =
        repo.codeweaver(["search", "-o", "json", "--committed", "--mode", "symbol", "unsaved_thought"]);
    assert_ne!(committed.json()["matches"][0]["state"], "dirty");
    repo.codeweaver(["search", "unsaved_thought"]).success().says(&[", dirty)"]);
}

#[test]
fn a_staged_edit_is_marked_staged() {
    let repo = indexed();
    repo.write("src/parse.rs", "pub fn staged_thought() {}\n").git(["add", "-A"]);
    let response = repo.codeweaver(["search", "-o", "json", "staged_thought"]).success().json();
    assert_eq!(response["matches"][0]["state"], "staged", "{response:#}");
}

#[test]
fn a_deleted_file_is_not_found() {
    let repo = indexed();
    repo.remove("src/parse.rs");
    assert!(!repo.found(&["parse_header"]).contains(&"src/parse.rs".to_owned()));
    assert_eq!(repo.found(&["--committed", "--no-tests", "parse_header"])[0], "src/parse.rs");
}

#[test]
fn an_untracked_file_is_found_unless_it_is_ignored() {
    let repo = indexed();
    repo.write("src/fresh.rs", "pub fn brand_new_idea() {}\n")
        .write(".git/info/exclude", "/.codeweaver/\nignored.rs\n");
    repo.write("src/ignored.rs", "pub fn brand_new_idea() {}\n");
    let response = repo.codeweaver(["search", "-o", "json", "brand_new_idea"]).success().json();
    let found = &response["matches"][0];
    assert_eq!((&found["file"]["path"], &found["state"]), (&"src/fresh.rs".into(), &"untracked".into()));
    assert!(!repo.found(&["brand_new_idea"]).contains(&"src/ignored.rs".to_owned()));
}

#[test]
fn committing_another_file_does_not_hide_an_edit() {
    let repo = indexed();
    repo.write("src/parse.rs", "pub fn still_dirty() {}\n")
        .write("src/b.rs", "pub fn committed_beside() {}\n");
    repo.git(["add", "src/b.rs"]).git(["commit", "-q", "-m", "only b"]);
    repo.codeweaver(["index"]).success();
    assert_eq!(repo.found(&["still_dirty"])[0], "src/parse.rs");
    assert_eq!(repo.found(&["committed_beside"])[0], "src/b.rs");
}

#[test]
fn a_commit_without_hooks_is_found_and_indexed_later() {
    let repo = indexed();
    repo.write("src/late.rs", "pub fn arrived_late() {}\n").commit("late");
    assert_eq!(repo.status()["lag"], serde_json::json!({ "behind": true, "commits": 1 }));
    let response = repo.codeweaver(["search", "-o", "json", "arrived_late"]).success().json();
    assert_eq!(response["matches"][0]["file"]["path"], "src/late.rs");
    assert_eq!(response["matches"][0]["state"], "committed");
    // The search has requested it.
    repo.wait_until_current();
}

#[test]
fn a_checkout_of_an_old_commit_is_answered_for_that_commit() {
    let repo = indexed();
    repo.git(["checkout", "-q", "-b", "side"])
        .git(["rm", "-q", "src/parse.rs"])
        .git(["commit", "-q", "-m", "gone"]);
    assert!(!repo.found(&["parse_header"]).contains(&"src/parse.rs".to_owned()));
    repo.git(["checkout", "-q", "main"]);
    assert_eq!(repo.found(&["--no-tests", "parse_header"])[0], "src/parse.rs");
}

#[test]
fn a_damaged_segment_is_repaired_by_the_next_query() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let segments = format!("{}/.codeweaver/v1", repo.root().display());
    let listing = std::process::Command::new("find").args([&segments, "-name", "*.seg"]).output().unwrap();
    let path = String::from_utf8(listing.stdout).unwrap().trim().to_owned();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "cut").unwrap();
    let run = repo.codeweaver(["search", "parse_header"]);
    run.success().says(&["it is being repaired", "src/parse.rs"]);
    repo.codeweaver(["verify"]).success();
}

#[test]
fn a_dirty_file_over_the_limit_is_left_out_as_too_large() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("src/parse.rs", "// filler words\n".repeat(80_000));
    let answer =
        repo.codeweaver(["search", "-o", "json", "--min-score", "0", "parse_header"]).success().json();
    assert_eq!(answer["index"]["skipped"]["too_large"], 1, "{}", answer["index"]);
    let paths: Vec<_> =
        answer["matches"].as_array().unwrap().iter().map(|m| m["file"]["path"].clone()).collect();
    assert!(!paths.contains(&"src/parse.rs".into()), "{paths:?}");
}
