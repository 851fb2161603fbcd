//! An index whose model cannot be used any more answers by words, says so, and is not updated.

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

use crate::model::model2vec;
use crate::support::mcp_client::McpClient;

const WARNING: &str = "Dense embedding service unavailable, using sparse search only";

/// A repository that was indexed with a model, the folder of which is gone.
fn without_model() -> TestRepo {
    let (_, repo) = model2vec::repositories();
    repo.codeweaver(["init", "--no-hooks"]).success();
    let folder = repo.root().with_file_name("tiny-static");
    std::fs::rename(&folder, folder.with_file_name("elsewhere")).unwrap();
    repo
}

fn search(repo: &TestRepo, query: &str) -> Value {
    repo.codeweaver(["search", "-o", "json", query]).success().json()
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["matches"].as_array().unwrap().iter().filter_map(|found| found["file"]["path"].as_str()).collect()
}

#[test]
fn a_search_without_its_model_is_answered_by_words() {
    let repo = without_model();
    let answer = search(&repo, "evict the oldest");
    assert_eq!(answer["warnings"][0], WARNING, "{answer:#}");
    assert!(answer["warnings"][1].as_str().unwrap().contains("not complete on this machine"), "{answer:#}");
    assert_eq!(paths(&answer)[0], "cache/old.py", "{answer:#}");
    assert!(!answer["search_strategy"].to_string().contains("dense"), "{answer:#}");
    repo.codeweaver(["search", "evict the oldest"]).success().says(&[WARNING, "cache/old.py"]);
    repo.codeweaver(["status"]).success().says(&["not complete on this machine"]);
}

#[test]
fn changes_are_found_by_words_and_not_published() {
    let repo = without_model();
    repo.write("net/committed.py", "def connect_turbine():\n    pass\n").commit("turbine");
    repo.write("net/edited.py", "def connect_windmill():\n    pass\n");
    for (query, path) in [("turbine", "net/committed.py"), ("windmill", "net/edited.py")] {
        assert_eq!(paths(&search(&repo, query))[0], path);
    }
    repo.codeweaver(["index"]).fails(2).says(&["not complete on this machine", "fix:"]);
    repo.codeweaver(["doctor"]).fails(1).says(&["FAIL  model"]);
    // With the model again, the vectors of what has changed are there too.
    let folder = repo.root().with_file_name("elsewhere");
    std::fs::rename(&folder, folder.with_file_name("tiny-static")).unwrap();
    let answer = repo.codeweaver(["search", "--mode", "semantic", "-o", "json", "retrieve"]).success().json();
    assert_eq!((paths(&answer)[0], &answer["warnings"]), ("net/get.py", &json!([])), "{answer:#}");
}

#[test]
fn agents_are_told_that_the_model_is_missing() {
    let repo = without_model();
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_code", json!({ "query": "evict the oldest" }));
    assert!(answer["warnings"].to_string().contains(WARNING), "{answer:#}");
    assert_eq!(answer["matches"][0]["file"]["path"], "cache/old.py", "{answer:#}");
}

#[test]
fn a_model_that_is_missing_from_the_start_is_an_error() {
    let (_, repo) = model2vec::repositories();
    let folder = repo.root().with_file_name("tiny-static");
    std::fs::remove_dir_all(folder).unwrap();
    repo.codeweaver(["init", "--no-hooks"]).fails(2).says(&["not complete on this machine"]);
    repo.codeweaver(["search", "evict"]).fails(2).says(&["not complete on this machine"]);
}
