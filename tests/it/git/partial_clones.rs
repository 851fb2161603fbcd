//! Clones without some of their blobs: what is missing is named, what arrives is indexed by the next query or
//! hook, and nothing is ever fetched.

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

/// Files beside those of [`FILES`]: too many for an overlay.
const N_FILLERS: usize = 230;

/// A repository that serves partial clones, with a directory `many` and a policy file in `lib`.
fn origin() -> TestRepo {
    let origin = TestRepo::with_files(FILES);
    origin.write("README.md", "# Parts\n\nThe root directory of the clones.\n");
    origin
        .write("lib/.codeweaverignore", "hidden.py\n")
        .write("lib/hidden.py", "def hidden_away():\n    pass\n");
    origin.write("lib/shown.py", "def shown_plainly():\n    pass\n");
    for i in 0..N_FILLERS {
        origin.write(&format!("many/filler_{i}.py"), format!("def filler_{i}():\n    return {i}\n"));
    }
    origin.commit("parts").git(["config", "uploadpack.allowFilter", "true"]);
    origin.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    // Each access of a client leaves a line.
    origin.write(
        ".git/serve",
        format!("#!/bin/sh\necho x >> '{}'\nexec git-upload-pack \"$@\"\n", log(&origin)),
    );
    origin.executable(".git/serve");
    origin
}

fn log(origin: &TestRepo) -> String {
    origin.path(".git/accesses").to_str().unwrap().to_owned()
}

fn n_accesses(origin: &TestRepo) -> usize {
    origin.read(".git/accesses").lines().count()
}

fn clone(origin: &TestRepo, options: &[&str]) -> TestRepo {
    let clone = TestRepo::empty_dir();
    let serve = format!("remote.origin.uploadpack={}", origin.path(".git/serve").display());
    let url = format!("file://{}", origin.root().display());
    let args: Vec<&str> =
        [&["clone", "-q", "-c", &serve, "--filter=blob:none"], options, &[&url, "."]].concat();
    clone.git(args);
    clone
}

fn search(repo: &TestRepo, args: &[&str]) -> Value {
    repo.codeweaver([&["search", "-o", "json"], args].concat()).json()
}

fn best(answer: &Value) -> &Value {
    &answer["matches"][0]["file"]["path"]
}

fn warnings(answer: &Value) -> String {
    answer["warnings"].to_string()
}

#[test]
fn files_that_a_sparse_checkout_adds_are_found_and_nothing_is_fetched() {
    let origin = origin();
    let repo = clone(&origin, &["--sparse"]);
    let cloned = n_accesses(&origin);
    repo.codeweaver(["init", "--no-hooks"]).success().says(&["not in this clone", "never fetched"]);

    // The answers name what they lack, and deny nothing.
    let status = repo.status();
    let missing = status["skipped"]["not_local"].as_u64().unwrap();
    assert!(missing > N_FILLERS as u64, "{status:#}");
    repo.codeweaver(["status"]).success().says(&["as far as the files are in this clone"]);
    let answer = search(&repo, &["parse_header"]);
    assert_eq!(answer["status"], "degraded", "{answer:#}");
    assert!(
        warnings(&answer).contains(&format!("{missing} files are not part of this answer")),
        "{answer:#}"
    );
    repo.codeweaver(["search", "parse_header"]).says(&["are not part of this answer"]);
    let graph = repo.codeweaver(["graph", "definitions", "parse_header", "--json"]).json();
    assert_eq!((&graph["status"], &graph["coverage"]["complete"]), (&json!("not_found"), &json!(false)));
    assert!(warnings(&graph).contains("not in this clone"), "{graph:#}");
    repo.codeweaver(["outline", "src/parse.rs"]).fails(2).says(&["not_local"]);
    assert_eq!(n_accesses(&origin), cloned);
    // Nothing that this request is about is missing.
    let answer = search(&repo, &["--path", "*.md", "root directory of the clones"]);
    assert_eq!((best(&answer), &answer["status"]), (&json!("README.md"), &json!("ok")), "{answer:#}");

    repo.git(["sparse-checkout", "add", "src"]);
    let fetched = n_accesses(&origin);
    assert!(fetched > cloned);
    let status = repo.status();
    assert_eq!(status["current"], false, "{status:#}");
    assert!(status["arrived_files"].as_u64().unwrap() > 0, "{status:#}");
    repo.codeweaver(["status"]).success().says(&["have arrived"]);
    let outline = repo.codeweaver(["outline", "src/parse.rs", "--json"]).success().json();
    assert_eq!(outline["symbols"][0]["name"], "parse_header", "{outline:#}");
    let graph = repo.codeweaver(["graph", "definitions", "parse_header", "--json"]).success().json();
    assert_eq!(graph["status"], "ok", "{graph:#}");
    let answer = search(&repo, &["parse_header"]);
    assert_eq!(best(&answer), "src/parse.rs", "{answer:#}");
    let within = search(&repo, &["--path", "src", "parse_header"]);
    assert_eq!((best(&within), &within["status"]), (&json!("src/parse.rs"), &json!("ok")), "{within:#}");

    // The query has requested an update; it keeps what is still missing apart.
    let status = repo.wait_until_current();
    assert!(status["skipped"]["not_local"].as_u64().unwrap() >= N_FILLERS as u64, "{status:#}");
    assert_eq!(status["arrived_files"], 0);
    assert_eq!(search(&repo, &["parse_header"])["index"]["freshness"], "fresh");
    repo.codeweaver(["verify"]).success();
    assert_eq!(n_accesses(&origin), fetched);
}

#[test]
fn a_clone_that_is_checked_out_after_init_is_indexed_by_the_next_query() {
    let origin = origin();
    let repo = clone(&origin, &["--no-checkout"]);
    repo.codeweaver(["init", "--no-hooks"]).success().says(&["Nothing to index yet", "never fetched"]);
    repo.git(["checkout", "-q"]);
    let fetched = n_accesses(&origin);
    // Far too many blobs for an overlay.
    let answer = search(&repo, &["filler_17"]);
    assert_eq!((best(&answer), &answer["status"]), (&json!("many/filler_17.py"), &json!("ok")), "{answer:#}");
    assert_eq!(answer["index"]["freshness"], "synced", "{answer:#}");
    let status = repo.status();
    assert_eq!(
        (&status["current"], &status["skipped"]["not_local"]),
        (&json!(true), &Value::Null),
        "{status:#}"
    );
    // The policy file has arrived with the files that it hides.
    assert_eq!(best(&search(&repo, &["shown_plainly"])), "lib/shown.py");
    assert_eq!(status["skipped"]["ignored"], 1, "{status:#}");
    assert_eq!(n_accesses(&origin), fetched);
    repo.codeweaver(["verify"]).success();
}

#[test]
fn a_hook_indexes_what_a_checkout_has_fetched() {
    let origin = origin();
    let repo = clone(&origin, &["--no-checkout"]);
    repo.codeweaver(["init"]).success();
    assert_eq!(repo.status()["files"], 0);
    repo.git(["checkout", "-q"]);
    let fetched = n_accesses(&origin);
    repo.wait_until_current();
    assert_eq!(best(&search(&repo, &["parse_header"])), "src/parse.rs");
    assert_eq!(n_accesses(&origin), fetched);
}

#[test]
fn a_running_server_finds_what_has_arrived() {
    let origin = origin();
    let repo = clone(&origin, &["--sparse"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_code", json!({ "query": "parse_header" }));
    assert_eq!(answer["status"], "degraded", "{answer:#}");
    assert!(warnings(&answer).contains("not in this clone"), "{answer:#}");
    // Twice: the second time, the server knows an object store with what arrived first.
    for (directory, query, path) in
        [("src", "parse_header", "src/parse.rs"), ("lib", "shown_plainly", "lib/shown.py")]
    {
        repo.git(["sparse-checkout", "add", directory]);
        let fetched = n_accesses(&origin);
        let answer = client.ask("find_code", json!({ "query": query }));
        assert_eq!(answer["matches"][0]["file"]["path"], path, "{answer:#}");
        let outline = client.ask("file_outline", json!({ "file": path }));
        assert_eq!(outline["symbols"][0]["name"], query, "{outline:#}");
        assert_eq!(n_accesses(&origin), fetched);
    }
    assert!(!client.found(json!({ "query": "hidden_away" })).contains(&"lib/hidden.py".to_owned()));
    repo.git(["sparse-checkout", "disable"]);
    let answer = client.ask("find_code", json!({ "query": "filler_17" }));
    assert_eq!(answer["matches"][0]["file"]["path"], "many/filler_17.py", "{answer:#}");
}

#[test]
fn an_old_revision_gets_the_blobs_that_arrive_later() {
    let origin = TestRepo::with_files(FILES);
    origin.write("src/parse.rs", "pub fn rewritten() {}\n").commit("second");
    origin
        .git(["config", "uploadpack.allowFilter", "true"])
        .write(".git/serve", "#!/bin/sh\nexec git-upload-pack \"$@\"\n");
    origin.executable(".git/serve");
    let repo = clone(&origin, &[]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let old = ["--rev", "HEAD~1", "parse_header"];
    let answer = search(&repo, &old);
    assert!(warnings(&answer).contains("1 file is not part of this answer"), "{answer:#}");
    assert_ne!(best(&answer), "src/parse.rs");
    assert_eq!(search(&repo, &["rewritten"])["status"], "ok");
    repo.git(["cat-file", "blob", "HEAD~1:src/parse.rs"]);
    let answer = search(&repo, &old);
    assert_eq!((best(&answer), &answer["status"]), (&json!("src/parse.rs"), &json!("ok")), "{answer:#}");
}

#[test]
fn blobs_of_an_alternate_that_comes_and_goes_are_indexed_once() {
    let origin = origin();
    let repo = clone(&origin, &["--no-checkout"]);
    repo.git(["update-ref", "--no-deref", "HEAD", "HEAD"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let cloned = n_accesses(&origin);
    let committed = ["--committed", "parse_header"];
    assert_eq!(search(&repo, &committed)["matches"], json!([]));
    let mut client = McpClient::start(&repo);
    let asked = json!({ "query": "parse_header", "rev": "HEAD" });
    assert_eq!(client.found(asked.clone()), Vec::<String>::new());

    let objects = origin.path(".git/objects");
    repo.write(".git/objects/info/alternates", format!("{}\n", objects.display()));
    assert_eq!(client.found(asked.clone())[0], "src/parse.rs");
    let answer = search(&repo, &committed);
    assert_eq!((best(&answer), &answer["status"]), (&json!("src/parse.rs"), &json!("ok")), "{answer:#}");

    // The alternate is not mounted: the index still answers, without the text, and knows it again afterwards.
    std::fs::rename(&objects, origin.path(".git/away")).unwrap();
    assert_eq!(best(&search(&repo, &committed)), "src/parse.rs");
    assert_eq!(client.found(asked.clone())[0], "src/parse.rs");
    std::fs::rename(origin.path(".git/away"), &objects).unwrap();
    let answer = client.ask("find_code", asked);
    assert!(answer["matches"][0]["content"]["text"].as_str().unwrap().contains("parse_header"), "{answer:#}");
    assert_eq!(n_accesses(&origin), cloned);
}

#[test]
fn a_refetch_without_filter_completes_the_index() {
    let origin = origin();
    let repo = clone(&origin, &["--sparse"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.git(["fetch", "-q", "--refetch", "--no-filter", "origin"]);
    let answer = search(&repo, &["filler_17"]);
    assert_eq!((best(&answer), &answer["status"]), (&json!("many/filler_17.py"), &json!("ok")), "{answer:#}");
    assert_eq!(repo.wait_until_current()["skipped"]["not_local"], Value::Null);
}

#[test]
fn a_commit_in_a_partial_clone_is_answered_without_waiting_for_the_missing_blobs() {
    let origin = origin();
    let repo = clone(&origin, &["--sparse"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("fresh.py", "def quite_new():\n    pass\n").git(["add", "fresh.py"]);
    repo.git(["commit", "-q", "-m", "fresh"]);
    let answer = search(&repo, &["quite_new"]);
    // The missing files are more than an overlay takes, but only the new one is laid over.
    assert_eq!((best(&answer), &answer["index"]["freshness"]), (&json!("fresh.py"), &json!("overlaid")));
    let report = repo.wait_until_current();
    assert_eq!(report["last_run"]["files_changed"], 1, "{report:#}");
}

#[test]
fn a_clone_with_all_blobs_is_never_degraded() {
    let origin = origin();
    let url = format!("file://{}", origin.root().display());
    for options in [&["--depth=1"][..], &["--sparse"], &["--filter=blob:none"]] {
        let repo = TestRepo::empty_dir();
        repo.git([&["clone", "-q"], options, &[&url, "."]].concat());
        repo.codeweaver(["init", "--no-hooks"]).success();
        // Files outside of the sparse checkout are as committed.
        let answer = search(&repo, &["filler_17"]);
        assert_eq!(
            (best(&answer), &answer["status"]),
            (&json!("many/filler_17.py"), &json!("ok")),
            "{options:?}"
        );
        assert!(!repo.path(".codeweaver/cache/objects").exists());
    }
}
