//! The store and the commands of git that add, stash, clean and remove files: none of them commits it, and it
//! keeps none of them from working.

use serde_json::Value;

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

const EXCLUDE: &str = ".git/info/exclude";
const IGNORE: &str = ".codeweaver/.gitignore";

/// A repository with an index, and with hooks that git waits for.
fn indexed() -> TestRepo {
    let files = [("src/a.rs", "pub fn alpha_one() {}\n"), (".gitignore", "*.log\n")];
    let repo = TestRepo::with_files(&files).env("CODEWEAVER_HOOKS", "foreground");
    repo.codeweaver(["init"]).success();
    repo
}

fn first(repo: &TestRepo, query: &str) -> Value {
    let found: Value = repo.codeweaver(["search", "--json", query]).success().json();
    found["matches"][0]["file"]["path"].clone()
}

fn has_store(repo: &TestRepo) -> bool {
    repo.path(".codeweaver/nonce").exists()
}

fn ignored(repo: &TestRepo) -> Value {
    let report: Value = repo.codeweaver(["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "ignored").unwrap_or_else(|| panic!("{report:#}")).clone()
}

#[test]
fn git_never_adds_the_store() {
    let repo = indexed();
    assert_eq!(repo.read(IGNORE), "*\n");

    // Another program writes the file anew. The next command mends it.
    repo.write(EXCLUDE, "*.tmp\n").write("src/b.rs", "pub fn beta_two() {}\n");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "?? src/b.rs\n");
    repo.git(["add", "-A"]);
    assert_eq!(repo.git_text(["ls-files"]), ".gitignore\nsrc/a.rs\nsrc/b.rs\n");
    repo.git(["commit", "-qm", "b"]);
    assert_eq!(first(&repo, "beta_two"), "src/b.rs");
    assert_eq!(repo.read(EXCLUDE), "*.tmp\n/.codeweaver/\n");

    std::fs::remove_file(repo.path(IGNORE)).unwrap();
    assert_eq!(ignored(&repo)["verdict"], "warn");
    assert_eq!((ignored(&repo)["verdict"].clone(), repo.read(IGNORE)), (Value::from("ok"), "*\n".to_owned()));

    repo.git(["commit", "-q", "--allow-empty", "-m", "hooks still run"]);
    let archive = repo.git_text(["archive", "--format=tar", "HEAD"]);
    assert!(archive.contains("src/b.rs") && !archive.contains("codeweaver"), "{archive}");
}

#[test]
fn a_store_that_git_tracks_is_reported_by_every_command() {
    let repo = indexed();
    assert_eq!(ignored(&repo)["verdict"], "ok");
    let fix = "git rm -r --cached .codeweaver && git commit";
    let warned = |args: &[&str]| {
        let answer: Value = repo.codeweaver(args).json();
        assert!(answer["warnings"].to_string().contains(fix), "{args:?}: {answer:#}");
    };

    // First in git's index only, which a search does not read, then in HEAD.
    repo.git(["add", "-f", ".codeweaver/nonce"]);
    assert_eq!(ignored(&repo)["verdict"], "fail");
    repo.write("src/b.rs", "pub fn beta_two() {}\n").git(["add", "-A"]);
    repo.git(["commit", "-qm", "all"]);
    for args in [&["search", "--json", "alpha_one"][..], &["graph", "--json", "callers", "alpha_one"]] {
        warned(args);
    }
    repo.codeweaver(["search", "\"alpha_one\""]).success().says(&[fix]);

    let found = ignored(&repo);
    assert_eq!((&found["verdict"], &found["fix"]), (&Value::from("fail"), &Value::from(fix)), "{found:#}");
    let mut client = McpClient::start(&repo);
    assert!(client.text("find_code", serde_json::json!({ "query": "alpha_one" })).contains(fix));
    assert!(client.text("list_files", serde_json::json!({})).contains(fix));

    repo.git(["rm", "-rq", "--cached", ".codeweaver"]);
    repo.git(["commit", "-qm", "without"]);
    assert_eq!(ignored(&repo)["verdict"], "ok");
    let clean: Value = repo.codeweaver(["search", "--json", "beta_two"]).success().json();
    assert!(!clean["warnings"].to_string().contains("tracks"), "{clean:#}");
}

#[test]
fn git_removes_files_around_the_store() {
    let repo = indexed();
    repo.write("src/a.rs", "pub fn alpha_new() {}\n").write("new.txt", "untracked\n");
    repo.git(["stash", "-q", "-u"]);
    assert!(has_store(&repo));
    assert_eq!(first(&repo, "alpha_one"), "src/a.rs");
    repo.git(["stash", "pop", "-q"]);
    assert_eq!(first(&repo, "alpha_new"), "src/a.rs");
    repo.git(["clean", "-fdq"]).git(["checkout", "-q", "."]);
    assert!(has_store(&repo), "without -x, ignored files stay");

    repo.git(["worktree", "add", "-q", "--detach", "../side"]);
    assert_eq!(first(&repo.at("../side"), "alpha_one"), "src/a.rs");
    repo.at("../side").wait_until_current();
    repo.git(["worktree", "remove", "../side"]);
    assert_eq!(first(&repo, "alpha_one"), "src/a.rs");

    repo.git(["rm", "-rq", "."]);
    assert!(has_store(&repo));
    repo.codeweaver(["search", "--json", "alpha_one"]);
    repo.git(["reset", "-q", "--hard"]);

    repo.git(["clean", "-fdxq"]);
    assert!(!has_store(&repo));
    assert_eq!(first(&repo, "alpha_one"), "src/a.rs");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "");
}

#[test]
fn a_stash_of_all_files_is_brought_back_whole() {
    let repo = indexed();
    repo.write("src/a.rs", "pub fn alpha_edited() {}\n").write("build.log", "ignored\n");
    repo.git(["stash", "-q", "--all"]);
    assert!(!has_store(&repo));

    repo.codeweaver(["search", "alpha_one"]).is_an_error("is in the stash", "git stash pop");
    repo.codeweaver(["index"]).is_an_error("is in the stash", "git stash pop");
    let status: Value = repo.codeweaver(["status", "--json"]).success().json();
    assert_eq!(status["state"], "unreadable", "{status:#}");
    repo.codeweaver(["search", "--mode", "exact", "alpha_one"]);
    repo.codeweaver(["read", "src/a.rs"]).success();
    // The hooks run.
    repo.write("src/c.rs", "pub fn gamma_three() {}\n").commit("c");
    assert!(!repo.path(".codeweaver").exists());

    repo.git(["stash", "pop", "-q"]);
    assert_eq!(repo.read("src/a.rs"), "pub fn alpha_edited() {}\n");
    assert_eq!(repo.read("build.log"), "ignored\n");
    assert_eq!(
        (first(&repo, "alpha_edited"), first(&repo, "gamma_three")),
        ("src/a.rs".into(), "src/c.rs".into())
    );

    // A stash that is not wanted any more is no obstacle.
    repo.wait_until_current();
    repo.git(["stash", "-q", "--all"]);
    repo.codeweaver(["deinit"]).success();
    repo.codeweaver(["init"]).success();
    assert_eq!(first(&repo, "alpha_one"), "src/a.rs");
}
