//! Hooks end to end: git, the installed scripts and the program.

use codeweaver_testkit::{FILES, TestRepo};

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
    assert!(
        repo.read(".git/hooks/post-commit").contains("mode=background")
            || repo.status()["hooks"]["method"] == "configuration"
    );
    repo.codeweaver(["config", "set", "--user", "hooks.mode", "foreground"])
        .success()
        .says(&["hooks of this repository were updated"]);
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
fn a_deleted_store_is_rebuilt_by_the_next_commit() {
    let repo = with_hooks().env("CODEWEAVER_HOOKS", "foreground");
    std::fs::remove_dir_all(repo.path(".codeweaver")).unwrap();
    repo.write("src/a.rs", "pub fn after_the_loss() {}\n").commit("next");
    assert_eq!(repo.status()["current"], true);
    assert_eq!(repo.found(&["after_the_loss"])[0], "src/a.rs");
}

/// A rebase of a hundred commits causes one update at its end, and possibly one for the checkout at its
/// beginning.
#[test]
fn a_rebase_of_a_hundred_commits_is_at_most_two_updates() {
    let repo = with_hooks();
    repo.git(["checkout", "-q", "-b", "side"]);
    for i in 0..100 {
        repo.write("src/series.rs", format!("pub fn step_{i}() {{}}\n").repeat(i % 3 + 1));
        repo.git(["add", "-A"]).git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "step"]);
    }
    repo.git(["checkout", "-q", "main"]).write("src/base.rs", "pub fn new_base() {}\n").commit("base");
    repo.git(["checkout", "-q", "side"]);
    repo.wait_until_current();
    let generation = || crate::support::sandbox::reader(repo.root()).state.generation;
    let before = generation();
    repo.git(["rebase", "-q", "main"]);
    repo.wait_until_current();
    let n_updates = generation() - before;
    assert!((1..=2).contains(&n_updates), "{n_updates} publications");
    assert_eq!(repo.git_text(["rev-list", "--count", "main..side"]).trim(), "100");
    assert_eq!(repo.found(&["new_base"])[0], "src/base.rs");
    assert_eq!(repo.found(&["step_99"])[0], "src/series.rs");
}

#[test]
fn hooks_follow_core_hooks_path_and_keep_what_is_there() {
    let repo = TestRepo::with_files(FILES);
    repo.write("tools/hooks/post-commit", "#!/bin/sh\necho mine >>../ran\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(repo.path("tools/hooks/post-commit"), mode).unwrap();
    repo.write(".git/info/exclude", "/tools/hooks/\n").git(["config", "core.hooksPath", "tools/hooks"]);
    repo.write("src/b.rs", "pub fn before() {}\n").commit("hooks");
    repo.codeweaver(["init"]).success();
    repo.write("src/a.rs", "pub fn by_hooks_path() {}\n").commit("next");
    repo.wait_until_current();
    assert_eq!(repo.read("../ran").lines().count(), 2, "the user's hook has run at both commits");
    assert_eq!(repo.git_text(["config", "core.hooksPath"]).trim(), "tools/hooks");
    repo.codeweaver(["deinit"]).success();
    assert_eq!(repo.read("tools/hooks/post-commit"), "#!/bin/sh\necho mine >>../ran\n");
}

#[test]
fn submodules_and_bare_repositories_have_hooks_of_their_own() {
    let repo = with_hooks();
    let module = repo.path("../module");
    std::fs::create_dir_all(&module).unwrap();
    repo.at("../module")
        .git(["init", "-q", "-b", "main"])
        .write("sub.rs", "pub fn sub() {}\n")
        .commit("first");
    repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        module.to_str().unwrap(),
        "sub",
    ]);
    repo.commit("submodule");
    let sub = repo.at("sub");
    sub.codeweaver(["init"]).success();
    sub.write("sub.rs", "pub fn committed_in_sub() {}\n").commit("second");
    let status = sub.wait_until_current();
    assert_eq!(status["codebase"], sub.root().to_str().unwrap());
    assert_eq!(sub.found(&["committed_in_sub"])[0], "sub.rs");
    repo.commit("bump");
    repo.wait_until_current();

    // A bare repository answers for HEAD; worktrees of it have hooks, since they share its hook directory.
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.at("../bare.git");
    bare.codeweaver(["init"]).success();
    assert_eq!(bare.found(&["--no-tests", "parse_header"])[0], "src/parse.rs");
    bare.git(["worktree", "add", "-q", "../from-bare", "-b", "work"]);
    let tree = bare.at("../from-bare");
    tree.wait_until_current();
    tree.write("src/w.rs", "pub fn written_in_the_worktree() {}\n").commit("work");
    tree.wait_until_current();
    assert_eq!(tree.found(&["written_in_the_worktree"])[0], "src/w.rs");
    assert!(!bare.found(&["written_in_the_worktree"]).contains(&"src/w.rs".to_owned()));
}

/// A bare repository has no checkouts; it is updated by pushes.
#[test]
fn a_push_updates_a_bare_repository() {
    let repo = TestRepo::with_files(FILES);
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.at("../bare.git");
    bare.codeweaver(["init"]).success().says(&["post-receive"]);
    assert_eq!(bare.status()["hooks"]["installed"], true);
    bare.codeweaver(["doctor"]).says(&["ok    hooks", "-receive"]);
    repo.write("src/pushed.rs", "pub fn found_after_the_push() {}\n").commit("pushed");
    let run = repo.run_git(["push", "-q", "../bare.git", "main"]);
    assert_eq!(run.success().stdout() + &run.stderr(), "");
    let status = bare.wait_until_current();
    assert_eq!(status["indexed"]["commit"], repo.git_text(["rev-parse", "HEAD"]).trim());
    assert_eq!(bare.found(&["found_after_the_push"])[0], "src/pushed.rs");

    // In the foreground, the push ends with a current index.
    let repo = repo.env("CODEWEAVER_HOOKS", "foreground");
    repo.write("src/next.rs", "pub fn next_push() {}\n").commit("next").git([
        "push",
        "-q",
        "../bare.git",
        "main",
    ]);
    assert_eq!(bare.status()["current"], true);
    bare.codeweaver(["deinit"]).success();
    assert!(!bare.path("hooks/post-receive").exists() && !bare.path(".codeweaver").exists());
}
