//! Hooks end to end (G2, G3, G5): real git, real scripts, the real binary.

use crate::harness::{FILES, TestRepo};

fn with_hooks() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    repo
}

#[test]
fn a_commit_is_indexed_in_the_background() {
    let repo = with_hooks();
    repo.write("src/hooked.rs", "pub fn found_by_the_hook() {}\n").commit("hooked");
    let status = repo.wait_until_current();
    assert_eq!(status["indexed"]["commit"], repo.git_text(["rev-parse", "HEAD"]).trim());
    let response = repo.codeweaver(["search", "-o", "json", "found_by_the_hook"]).success().json();
    assert_eq!(response["matches"][0]["file"]["path"], "src/hooked.rs");
    assert_eq!(response["index"]["freshness"], "fresh");
}

#[test]
fn in_the_foreground_git_waits() {
    let repo = with_hooks().env("CODEWEAVER_HOOKS", "foreground");
    for i in 0..3 {
        repo.write(&format!("src/f{i}.rs"), format!("pub fn number_{i}() {{}}\n")).commit("next");
        assert_eq!(repo.status()["current"], true, "commit {i}");
    }
    repo.git(["checkout", "-q", "HEAD~2"]);
    assert_eq!(repo.status()["current"], true, "checkout");
    repo.git(["checkout", "-q", "main"]).git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    repo.write("side.rs", "pub fn side() {}\n").commit("side").git(["rebase", "-q", "main"]);
    assert_eq!(repo.status()["current"], true, "rebase");
    repo.git(["checkout", "-q", "main"]).git(["merge", "-q", "side"]);
    assert_eq!(repo.status()["current"], true, "merge");
    repo.write("side.rs", "pub fn amended() {}\n").git(["commit", "-q", "-a", "--amend", "-m", "amended"]);
    assert_eq!(repo.status()["current"], true, "amend");
}

#[test]
fn the_mode_is_a_setting_that_reaches_the_scripts() {
    let repo = with_hooks();
    assert!(repo.read(".git/hooks/post-commit").contains("mode=background") || repo.status()["hooks"]["method"] == "configuration");
    repo.codeweaver(["config", "set", "--user", "hooks.mode", "foreground"]).success().says(&["hooks of this repository were updated"]);
    assert_eq!(repo.status()["hooks"]["mode"], "foreground");
    repo.write("src/f.rs", "pub fn foreground() {}\n").commit("next");
    assert_eq!(repo.status()["current"], true);
}

#[test]
fn checking_out_files_does_not_start_anything() {
    let repo = with_hooks();
    let run = repo.codeweaver(["hook", "post-checkout", "a", "b", "0"]);
    assert_eq!(run.success().stdout() + &run.stderr(), "");
    assert_eq!(repo.status()["update_wanted"], false);
}

#[test]
fn a_hook_is_silent_outside_of_set_up_repositories_and_when_things_are_broken() {
    let plain = TestRepo::with_files(FILES);
    let run = plain.codeweaver(["hook", "post-commit"]);
    assert_eq!(run.success().stdout() + &run.stderr(), "");
    assert!(!plain.path(".codeweaver").exists());
    let nothing = TestRepo::empty_dir();
    let run = nothing.codeweaver(["hook", "post-commit"]);
    assert_eq!(run.success().stdout() + &run.stderr(), "");
    let broken = with_hooks();
    broken.write("codeweaver.toml", "search.limit = \"many\"\n");
    let run = broken.codeweaver(["hook", "sync"]);
    assert_eq!(run.success().stdout() + &run.stderr(), "");
    assert!(broken.read(".codeweaver/cache/hook.log").contains("search.limit"));
    broken.remove("codeweaver.toml");
    broken.codeweaver(["doctor"]).says(&["hook log", "search.limit"]);
}

#[test]
fn a_deleted_store_comes_back_with_the_next_commit() {
    let repo = with_hooks().env("CODEWEAVER_HOOKS", "foreground");
    std::fs::remove_dir_all(repo.path(".codeweaver")).unwrap();
    repo.write("src/a.rs", "pub fn after_the_loss() {}\n").commit("next");
    assert_eq!(repo.status()["current"], true);
    assert_eq!(repo.found(&["after_the_loss"])[0], "src/a.rs");
}
