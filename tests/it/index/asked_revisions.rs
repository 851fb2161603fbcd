//! Revisions that are asked about again are indexed; `gc --force` frees them.

use serde_json::Value;

use codeweaver_testkit::{TestRepo, wait_for};

const QUERY: [&str; 6] = ["search", "--json", "--committed", "--rev", "HEAD~1", "pause between retries"];

fn repo() -> TestRepo {
    let repo = TestRepo::init();
    repo.write("old.py", "def pause(n):\n    \"\"\"The pause between retries.\"\"\"\n    return 2 ** n\n")
        .commit("one");
    repo.remove("old.py").write("new.py", "def wait(n):\n    return n\n").commit("two");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn ask(repo: &TestRepo) -> Value {
    let answer = repo.codeweaver(QUERY).success().json();
    assert_eq!(answer["matches"][0]["file"]["path"], "old.py", "{answer:#}");
    answer
}

/// Asks until the answer has this freshness.
fn ask_until(repo: &TestRepo, freshness: &str) -> Value {
    wait_for(&format!("the answer is {freshness}"), || {
        let answer = ask(repo);
        if answer["index"]["freshness"] == freshness { Ok(answer) } else { Err(answer) }
    })
}

#[test]
fn a_revision_that_is_asked_about_again_is_indexed_and_freed() {
    let repo = repo();
    let noted = repo.path(".codeweaver/cache/asked-revisions");
    let tree = repo.git_text(["rev-parse", "HEAD~1^{tree}"]).trim().to_owned();
    let first = ask(&repo);
    assert_eq!(first["index"]["freshness"], "overlaid");
    assert_eq!(std::fs::read_to_string(&noted).unwrap().trim(), tree);

    let stored = ask_until(&repo, "fresh");
    assert_eq!(stored["matches"], first["matches"], "the answer does not depend on what is stored");

    let usual = repo.codeweaver(["gc", "--json"]).success().json();
    assert_eq!(usual["snapshots_dropped"], 0, "it was used lately");
    assert_eq!(ask(&repo)["index"]["freshness"], "fresh");

    let forced = repo.codeweaver(["gc", "--force", "--json"]).success().json();
    assert_eq!(forced["snapshots_dropped"], 1, "{forced:#}");
    assert!(forced["rows_after"].as_u64() < forced["rows_before"].as_u64(), "{forced:#}");
    let freed = ask(&repo);
    assert_eq!((&freed["index"]["freshness"], &freed["matches"]), (&"overlaid".into(), &first["matches"]));
    repo.codeweaver(["verify"]).success();
}
