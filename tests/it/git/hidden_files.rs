//! Files that git is told not to look at, or does not check out: search, reading and lists agree on them.

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

fn searched(repo: &TestRepo, query: &str) -> (Value, Value) {
    let found: Value = repo.codeweaver(["search", "--json", query]).success().json();
    let first = &found["matches"][0];
    (first["file"]["path"].clone(), first["state"].clone())
}

fn read(repo: &TestRepo, path: &str) -> Value {
    repo.codeweaver(["read", "-o", "json", path]).success().json()
}

#[test]
fn what_is_shown_of_a_sparse_checkout_can_be_read() {
    let repo = TestRepo::with_files(&[
        ("in/a.rs", "pub fn inside_one() {}\n"),
        ("out/b.rs", "/// Outside.\npub fn outside_two() {}\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    for index in ["--no-sparse-index", "--sparse-index"] {
        repo.git(["sparse-checkout", "set", "--cone", index, "in"]);
        assert!(!repo.path("out").exists());
        assert_eq!(searched(&repo, "outside_two"), (json!("out/b.rs"), json!("committed")), "{index}");
        let text = read(&repo, "out/b.rs:2");
        assert_eq!(
            (&text["text"], &text["rev"], &text["state"]),
            (&json!("pub fn outside_two() {}\n"), &json!("HEAD"), &json!("committed")),
            "{index}"
        );
        repo.codeweaver(["outline", "out/b.rs"]).success().says(&["outside_two"]);
        let lines = repo
            .codeweaver(["search", "--vimgrep", "--mode", "regex", "fn \\w+(one|two)"])
            .success()
            .stdout();
        assert!(lines.contains("in/a.rs:1:5:") && lines.contains("HEAD:out/b.rs:2:5:"), "{index}: {lines}");
        repo.codeweaver(["chunks", "out/b.rs"]).success().says(&["outside_two"]);
    }
    repo.codeweaver(["read", "out/none.rs"]).fails(2);
}

#[test]
fn edits_that_git_hides_are_searched_and_read_alike() {
    let repo = TestRepo::with_files(&[
        ("a.rs", "pub fn committed_a() {}\n"),
        ("b.rs", "pub fn committed_b() {}\n"),
        ("table.csv", "name,committed_value\n"),
        (".gitattributes", "*.csv filter=lfs\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.git(["update-index", "--skip-worktree", "a.rs"]).git(["update-index", "--assume-unchanged", "b.rs"]);
    repo.write("a.rs", "pub fn hidden_a() {}\n").write("b.rs", "pub fn hidden_b() {}\n");
    for (name, path) in [("hidden_a", "a.rs"), ("hidden_b", "b.rs")] {
        assert_eq!(searched(&repo, name), (json!(path), json!("dirty")));
        assert_eq!(read(&repo, path)["text"], format!("pub fn {name}() {{}}\n"));
    }
    repo.codeweaver(["search", "--mode", "exact", "committed_a"]).fails(1);

    repo.git(["replace", "HEAD:a.rs", "HEAD:b.rs"]);
    let found: Value = repo.codeweaver(["search", "--json", "hidden_a"]).success().json();
    let warning = "1 object that `git replace` replaces is shown as committed";
    assert!(found["warnings"].as_array().unwrap().contains(&json!(warning)), "{found:#}");
    repo.git(["replace", "-d", repo.git_text(["rev-parse", "HEAD:a.rs"]).trim()]);

    // A driver that is not configured is none: git adds the file as it is.
    repo.write("table.csv", "name,edited_value\n");
    let lines: Value =
        repo.codeweaver(["search", "--json", "--mode", "exact", "edited_value"]).success().json();
    assert_eq!(
        (&lines["files"][0]["path"], &lines["warnings"]),
        (&json!("table.csv"), &json!([])),
        "{lines:#}"
    );
}

#[test]
fn worktrees_of_a_submodule_share_its_store() {
    let inner = TestRepo::with_files(&[("lib.rs", "pub fn inner_one() {}\n")]);
    let outer = TestRepo::with_files(&[("main.rs", "fn main() {}\n")]);
    let url = inner.root().to_str().unwrap();
    outer.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    let sub = outer.at("lib");
    sub.codeweaver(["init", "--no-hooks"]).success();
    sub.git(["worktree", "add", "-q", "--detach", "../../lib-side"]);

    let side = outer.at("../lib-side");
    let found = side.codeweaver(["search", "--json", "inner_one"]);
    assert_eq!(found.success().json()["matches"][0]["file"]["path"], "lib.rs");
    assert!(!found.stderr().contains("damaged"), "{}", found.explain());
    assert!(!side.path(".codeweaver").exists());
    let updated: Value = side.codeweaver(["index", "--json"]).success().json();
    assert_eq!(updated["embedded_chunks"], 0, "{updated:#}");
}
