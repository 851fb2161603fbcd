//! Hook managers as installed by their users: husky and lefthook from npm, pre-commit from PyPI. `.ci/run`
//! installs them.

use codeweaver_git::hooks::GitVersion;
use codeweaver_testkit::{FILES, Run, TestRepo, Tool, program};

/// A repository whose commands find the manager.
fn with_tool(manager: Tool) -> Option<TestRepo> {
    let manager = manager.find()?;
    let path = format!(
        "{}:{}:{}",
        program().parent().unwrap().display(),
        manager.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    Some(TestRepo::with_files(FILES).env("PATH", &path))
}

fn run(repo: &TestRepo, program: &str, args: &[&str]) {
    Run::new(repo.command(program).args(args)).success();
}

/// Everyday commands bring the index to HEAD, and the user's own hook has run at each commit.
fn index_follows(repo: &TestRepo, what: &str) {
    let commits = |repo: &TestRepo| repo.read("../ran").lines().count();
    let before = commits(repo);
    repo.write("src/hooked.rs", "pub fn found_by_the_hook() {}\n").commit("hooked");
    assert_eq!(repo.wait_until_current()["hooks"]["installed"], true, "{what}");
    assert_eq!(repo.found(&["found_by_the_hook"])[0], "src/hooked.rs", "{what}");
    repo.git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    repo.wait_until_current();
    repo.write("src/side.rs", "pub fn on_the_side() {}\n").commit("side").git(["rebase", "-q", "main"]);
    repo.wait_until_current();
    repo.git(["checkout", "-q", "main"]).git(["merge", "-q", "side"]);
    repo.wait_until_current();
    assert_eq!(repo.found(&["on_the_side"])[0], "src/side.rs", "{what}");
    assert!(
        commits(repo) >= before + 2,
        "{what}: the user's own hook has run {} times",
        commits(repo) - before
    );
}

/// The lines that `init --print-hooks` gives for `file`, without their indentation.
fn advised(said: &str, file: &str) -> String {
    let mut lines = Vec::new();
    let mut is_ours = false;
    for line in said.lines() {
        if line.starts_with("  For the whole team") {
            is_ours = line.ends_with(&format!("{file}:"));
        } else if is_ours && let Some(text) = line.strip_prefix("      ") {
            lines.push(text);
        } else {
            is_ours = false;
        }
    }
    assert!(!lines.is_empty(), "no advice for {file} in\n{said}");
    lines.join("\n") + "\n"
}

/// Whether git runs hooks from its configuration. Managers then neither conflict nor need an entry.
fn is_configured(repo: &TestRepo) -> bool {
    let is_configured = GitVersion::detect().unwrap().has_configured_hooks();
    assert_eq!(repo.status()["hooks"]["method"] == "configuration", is_configured);
    is_configured
}

fn append(repo: &TestRepo, path: &str, text: &str) {
    let old = repo.read(path);
    repo.write(path, old + text);
}

#[test]
fn husky() {
    let Some(repo) = with_tool(Tool::HUSKY) else { return };
    repo.write("package.json", "{}\n");
    run(&repo, "husky", &[]);
    repo.write(".husky/post-commit", "echo mine >>../ran\n").commit("husky");
    repo.codeweaver(["init"]).success();
    let said = repo.codeweaver(["init", "--print-hooks"]).success().stdout();
    assert_eq!(
        repo.git_text(["config", "core.hooksPath"]).trim(),
        ".husky/_",
        "husky's own setting is left alone"
    );
    if is_configured(&repo) {
        return index_follows(&repo, "husky beside configured hooks");
    }
    for event in ["post-commit", "post-checkout", "post-merge", "post-rewrite"] {
        let file = format!(".husky/{event}");
        append(&repo, &file, &advised(&said, &file));
    }
    repo.commit("entries");
    index_follows(&repo, "husky");
    assert_eq!(repo.status()["hooks"]["events"]["post-commit"], "called by husky");
}

#[test]
fn lefthook() {
    let Some(repo) = with_tool(Tool::LEFTHOOK) else { return };
    let own = "post-commit:\n  commands:\n    mine:\n      run: echo mine >>../ran\n";
    repo.write("lefthook.yml", format!("output: false\n{own}")).commit("lefthook");
    run(&repo, "lefthook", &["install"]);
    repo.codeweaver(["init"]).success();
    let said = repo.codeweaver(["init", "--print-hooks"]).success().stdout();
    if is_configured(&repo) {
        return index_follows(&repo, "lefthook beside configured hooks");
    }
    // The event that the file has already gets one more command.
    let ours = advised(&said, "lefthook.yml");
    let (entry, others) = ours.split_once("post-checkout:").unwrap();
    let command = entry.split_once("  commands:\n").unwrap().1;
    repo.write("lefthook.yml", format!("output: false\n{own}{command}post-checkout:{others}"))
        .commit("entries");
    run(&repo, "lefthook", &["install"]);
    index_follows(&repo, "lefthook");
    assert_eq!(repo.status()["hooks"]["events"]["post-commit"], "called by lefthook");
}

/// A hook manager for other events: neither disturbs the other.
#[test]
fn lefthook_beside_hook_files() {
    let Some(repo) = with_tool(Tool::LEFTHOOK) else { return };
    repo.write(
        "lefthook.yml",
        "output: false\npre-commit:\n  commands:\n    mine:\n      run: echo mine >>../ran\n",
    );
    repo.commit("lefthook");
    run(&repo, "lefthook", &["install"]);
    repo.codeweaver(["init"]).success();
    index_follows(&repo, "lefthook beside hook files");
}

const PRE_COMMIT: &str = "repos:\n  - repo: local\n    hooks:\n      - id: mine\n        name: mine\n        language: system\n        \
                          entry: sh -c \"echo mine >>../ran\"\n        stages: [post-commit]\n        always_run: true\n        \
                          pass_filenames: false\n";

#[test]
fn pre_commit() {
    let Some(repo) = with_tool(Tool::PRE_COMMIT) else { return };
    repo.write(".pre-commit-config.yaml", PRE_COMMIT).commit("pre-commit");
    run(&repo, "pre-commit", &["install", "-t", "post-commit"]);
    repo.codeweaver(["init"]).success();
    let said = repo.codeweaver(["init", "--print-hooks"]).success().stdout();
    if is_configured(&repo) {
        return index_follows(&repo, "pre-commit beside configured hooks");
    }
    append(&repo, ".pre-commit-config.yaml", &advised(&said, ".pre-commit-config.yaml"));
    repo.commit("entries");
    let all =
        ["install", "-t", "post-commit", "-t", "post-checkout", "-t", "post-merge", "-t", "post-rewrite"];
    run(&repo, "pre-commit", &all);
    index_follows(&repo, "pre-commit");
    assert_eq!(repo.status()["hooks"]["events"]["post-commit"], "called by pre-commit");
}

/// pre-commit renames an existing hook and calls it, so a hook that was installed first keeps working.
#[test]
fn pre_commit_after_init() {
    let Some(repo) = with_tool(Tool::PRE_COMMIT) else { return };
    repo.codeweaver(["init"]).success();
    repo.write(".pre-commit-config.yaml", PRE_COMMIT).commit("pre-commit");
    run(&repo, "pre-commit", &["install", "-t", "post-commit"]);
    assert!(is_configured(&repo) || repo.path(".git/hooks/post-commit.legacy").exists());
    index_follows(&repo, "pre-commit after init");
}
