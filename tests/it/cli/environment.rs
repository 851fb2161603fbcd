//! Which repository a command works on: `--project` takes precedence over the variables that git sets in
//! hooks.

use codeweaver_testkit::{FILES, TestRepo};

fn indexed(word: &str) -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/own.rs", format!("pub fn {word}() {{}}\n")).commit("own");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn project_means_that_directory_whatever_git_has_set() {
    let (here, there) = (indexed("lives_here"), indexed("lives_there"));
    let git_dir = here.path(".git");
    let here = here
        .env("GIT_DIR", git_dir.to_str().unwrap())
        .env("GIT_WORK_TREE", git_dir.parent().unwrap().to_str().unwrap())
        .env("GIT_INDEX_FILE", git_dir.join("index").to_str().unwrap())
        .env("GIT_PREFIX", "src/");
    let project = there.root().to_str().unwrap();
    let status = here.codeweaver(["-p", project, "status", "--json"]).success().json();
    assert_eq!(status["codebase"], project);
    let answer = here.codeweaver(["-p", project, "search", "-o", "json", "lives_there"]).success().json();
    assert_eq!(answer["matches"][0]["file"]["path"], "src/own.rs");
    assert!(answer["matches"][0]["content"]["text"].as_str().unwrap().contains("lives_there"));

    // The background update that a search requests is that of the other repository, too.
    for i in 0..210 {
        there.write(&format!("src/many/f{i}.rs"), format!("pub fn many_{i}() {{}}\n"));
    }
    there.commit("more than is done in memory");
    let answer = here.codeweaver(["-p", project, "search", "-o", "json", "many_7"]).success().json();
    assert_eq!(answer["matches"][0]["file"]["path"], "src/many/f7.rs", "{}", answer["index"]);
    assert_eq!(there.wait_until_current()["indexed"]["commit"], there.git_text(["rev-parse", "HEAD"]).trim());
    // A dirty file is one of the named repository.
    there.write("src/own.rs", "pub fn changed_there() {}\n");
    let answer = here.codeweaver(["-p", project, "search", "-o", "json", "changed_there"]).success().json();
    assert_eq!(
        (&answer["matches"][0]["state"], &answer["index"]["dirty_files"]),
        (&"dirty".into(), &1.into())
    );
}

#[test]
fn without_project_the_repository_is_the_one_that_git_has_set() {
    let (here, there) = (indexed("lives_here"), indexed("lives_there"));
    let git_dir = there.path(".git");
    let root = there.root().to_str().unwrap().to_owned();
    let here = here.env("GIT_DIR", git_dir.to_str().unwrap()).env("GIT_WORK_TREE", &root);
    let answer = here.codeweaver(["search", "-o", "json", "lives_there"]).success().json();
    assert!(answer["matches"][0]["content"]["text"].as_str().unwrap().contains("lives_there"));
    assert_eq!(here.codeweaver(["status", "--json"]).success().json()["codebase"], root);
}

/// A hook of one repository that updates another: git has set GIT_DIR and GIT_INDEX_FILE.
#[test]
fn a_hook_may_update_another_repository() {
    let (here, there) = (indexed("lives_here"), indexed("lives_there"));
    there.write("src/later.rs", "pub fn came_later() {}\n").commit("later");
    let hook = here.path(".git/hooks/post-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\ngit-codeweaver -p '{}' index --quiet >&2\n", there.root().display());
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    here.write("src/a.rs", "pub fn a() {}\n").git(["add", "-A"]).git(["commit", "-q", "-m", "x", "src/a.rs"]);
    assert_eq!(there.status()["current"], true);
    assert_eq!(here.status()["current"], false, "its own hooks are not installed");
}

#[test]
fn hooks_of_linked_worktrees_update_their_own_index() {
    let repo = TestRepo::with_files(FILES).env("CODEWEAVER_HOOKS", "foreground");
    repo.codeweaver(["init"]).success();
    repo.git(["worktree", "add", "-q", "../side", "-b", "side"]);
    let side = repo.at("../side");
    assert_eq!(side.status()["current"], true, "post-checkout of `git worktree add`");
    side.write("src/side.rs", "pub fn only_on_the_side() {}\n");
    // A partial commit: git runs the hook with a temporary index.
    side.git(["add", "-A"]).git(["commit", "-q", "-m", "side", "src/side.rs"]);
    let status = side.status();
    assert_eq!((&status["current"], &status["worktree"]), (&true.into(), &"side".into()), "{status:#}");
    assert_eq!(side.found(&["only_on_the_side"])[0], "src/side.rs");
    assert!(!repo.found(&["only_on_the_side"]).contains(&"src/side.rs".to_owned()));
    assert_eq!(repo.status()["current"], true);
    // From a folder below, and with a relative path to the git directory.
    side.git(["-C", "src", "commit", "-q", "--allow-empty", "-m", "below"]);
    assert_eq!(side.status()["current"], true);
}
