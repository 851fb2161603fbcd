//! A call sees every change since the previous call.

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo, wait_until};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The best match of a query, and the freshness of the answer.
fn best(client: &mut McpClient, query: &str) -> (Value, String) {
    let answer = client.ask("find_code", json!({ "query": query, "max_results": 1 }));
    let decision = answer["index"]["freshness"].as_str().unwrap().to_owned();
    (answer["matches"][0].clone(), decision)
}

#[test]
fn edits_commits_checkouts_and_stashes_are_visible_in_the_next_call() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let (found, decision) = best(&mut client, "parse_header");
    assert_eq!((&found["file"]["path"], &found["state"]), (&json!("src/parse.rs"), &json!("committed")));
    assert_eq!(decision, "fresh");
    assert_eq!(found["blob"].as_str().unwrap(), repo.git_text(["rev-parse", "HEAD:src/parse.rs"]).trim());

    // An edit, above what was found: the lines shown are those of the new text.
    let text = repo.read("src/parse.rs");
    repo.write("src/parse.rs", format!("// one more line\n{text}"));
    let (found, decision) = best(&mut client, "parse_header");
    assert_eq!((&found["state"], decision.as_str()), (&json!("dirty"), "overlaid"));
    assert!(found["content"]["text"].as_str().unwrap().contains("pub fn parse_header"));
    let read = client.ask("read_file", json!({ "file": "src/parse.rs", "start_line": 1, "end_line": 1 }));
    assert_eq!((&read["text"], &read["state"]), (&json!("// one more line\n"), &json!("dirty")));
    assert_eq!((&read["freshness"], &read["total_lines"]), (&json!("overlaid"), &json!(6)));
    assert_eq!(read["blob"], found["blob"]);

    // Staged, then stashed, then back.
    repo.git(["add", "src/parse.rs"]);
    assert_eq!(best(&mut client, "parse_header").0["state"], "staged");
    let read = client.ask("read_file", json!({ "file": "src/parse.rs" }));
    assert_eq!(read["state"], "staged");
    repo.git(["stash", "-q"]);
    assert_eq!(best(&mut client, "parse_header").0["state"], "committed");
    let stashed =
        client.ask("read_file", json!({ "file": "src/parse.rs", "rev": "stash@{0}", "end_line": 1 }));
    assert_eq!(stashed["text"], "// one more line\n");
    repo.git(["stash", "pop", "-q"]);
    repo.commit("second");
    let (found, decision) = best(&mut client, "parse_header");
    assert_eq!(found["state"], "committed");
    assert!(["overlaid", "synced", "fresh"].contains(&decision.as_str()), "{decision}");
    assert_eq!(found["blob"].as_str().unwrap(), repo.git_text(["rev-parse", "HEAD:src/parse.rs"]).trim());

    // An untracked file, a deleted one, another branch.
    repo.write("src/zebra.rs", "/// Feeds the zebra.\npub fn feed_zebra() {}\n");
    assert_eq!(best(&mut client, "feed_zebra").0["state"], "untracked");
    assert_eq!(client.ask("read_file", json!({ "file": "src/zebra.rs" }))["state"], "untracked");
    assert_eq!(
        client.ask("file_outline", json!({ "file": "src/zebra.rs" }))["symbols"][0]["name"],
        "feed_zebra"
    );
    repo.remove("src/zebra.rs");
    let gone = client.found(json!({ "query": "feed_zebra" }));
    assert!(!gone.contains(&"src/zebra.rs".to_owned()), "{gone:?}");
    repo.git(["switch", "-q", "-c", "branch", "HEAD~1"]);
    repo.write("src/okapi.rs", "/// Feeds the okapi.\npub fn feed_okapi() {}\n").commit("okapi");
    assert_eq!(best(&mut client, "feed_okapi").0["state"], "committed");
    repo.git(["switch", "-q", "main"]);
    let on_main = client.found(json!({ "query": "feed_okapi" }));
    assert!(!on_main.contains(&"src/okapi.rs".to_owned()), "{on_main:?}");
    // Without a checkout.
    let on_branch =
        client.ask("find_code", json!({ "query": "feed_okapi", "rev": "branch", "max_results": 1 }));
    assert_eq!(on_branch["matches"][0]["file"]["path"], "src/okapi.rs");
    assert_eq!(
        (&on_branch["matches"][0]["rev"], &on_branch["index"]["rev"]),
        (&json!("branch"), &json!("branch"))
    );
}

#[test]
fn a_large_commit_without_hooks_is_indexed_by_another_process() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    assert_eq!(best(&mut client, "parse_header").1, "fresh");
    // More than fits into an overlay.
    for i in 0..260 {
        repo.write(
            &format!("many/file_{i}.rs"),
            format!("/// Number {i}.\npub fn animal_number_{i}() -> u32 {{ {i} }}\n"),
        );
    }
    repo.commit("many");
    let (found, decision) = best(&mut client, "animal_number_77");
    // If the machine is too busy for the time budget, the answer says that it shows the old tree.
    assert!(decision == "synced" || decision == "stale", "{decision}");
    if decision == "synced" {
        assert_eq!(found["file"]["path"], "many/file_77.rs");
    }
    repo.wait_until_current();
    let (found, decision) = best(&mut client, "animal_number_77");
    assert_eq!((&found["file"]["path"], decision.as_str()), (&json!("many/file_77.rs"), "fresh"));
}

#[test]
fn an_index_that_was_deleted_is_built_again() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    assert_eq!(best(&mut client, "parse_header").1, "fresh");
    std::fs::remove_dir_all(repo.path(".codeweaver")).unwrap();
    wait_until("it is built again", || {
        let result = client.call("find_code", json!({ "query": "parse_header" }));
        let status = &result["structuredContent"]["status"];
        assert!(status == "ok" || status == "not_ready", "{result:#}");
        status == "ok"
    });
}

#[test]
fn linked_worktrees_answer_for_themselves() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = repo.at("../linked");
    linked.write("src/tapir.rs", "/// Feeds the tapir.\npub fn feed_tapir() {}\n").commit("tapir");
    let mut client = McpClient::start(&repo);
    let path = linked.root().to_str().unwrap();
    client.ask("manage_index", json!({ "action": "create", "path": path }));
    assert_eq!(client.found(json!({ "query": "feed_tapir", "path": path }))[0], "src/tapir.rs");
    let here = client.found(json!({ "query": "feed_tapir" }));
    assert!(!here.contains(&"src/tapir.rs".to_owned()), "never another worktree's files: {here:?}");
    // Also by the path of a file alone.
    let file = linked.path("src/tapir.rs");
    let outline = client.ask("file_outline", json!({ "file": file.to_str().unwrap() }));
    assert_eq!((&outline["path"], &outline["codebaseRoot"]), (&json!("src/tapir.rs"), &json!(path)));
}
