//! `list_files` over the protocol: folders, sizes, languages, states, and what is not indexed.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

fn sample() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("src/net/client.c", "int main(void) {\n    return 0;\n}\n"),
        ("src/net/client.h", "int main(void);\n"),
        ("docs/guide.md", "# Guide\n"),
        ("Cargo.lock", "[[package]]\n"),
        ("tool", "#!/usr/bin/env python3\nprint(1)\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect()
}

#[test]
fn files_are_listed_by_folder_with_their_lines() {
    let repo = sample();
    let mut client = McpClient::start(&repo);
    let text = client.text("list_files", json!({}));
    for line in [
        "./ Cargo.lock 12B (lock_file), tool 2 (python)\n",
        "docs/ guide.md 1\n",
        "src/ main.rs 3\n",
        "src/net/ client.c 3, client.h 1\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    assert!(text.starts_with("6 files ("), "{text}");
    for (arguments, expected) in [
        (json!({ "paths": ["src"] }), vec!["src/main.rs", "src/net/client.c", "src/net/client.h"]),
        (json!({ "paths": "/src/net" }), vec!["src/net/client.c", "src/net/client.h"]),
        (json!({ "paths": ["*.{c,h}"] }), vec!["src/net/client.c", "src/net/client.h"]),
        (json!({ "paths": ["src", ":!src/net"] }), vec!["src/main.rs"]),
        (json!({ "focus_languages": "c" }), vec!["src/net/client.c", "src/net/client.h"]),
        (json!({ "paths": ["src"], "depth": 1 }), vec!["src/main.rs", "src/net/"]),
        (
            json!({ "sort": "size", "paths": ["src"] }),
            vec!["src/net/client.c", "src/main.rs", "src/net/client.h"],
        ),
    ] {
        let answer = client.ask("list_files", arguments.clone());
        assert_eq!(paths(&answer), expected, "{arguments}");
    }
    let nothing = client.text("list_files", json!({ "paths": ["src/nett"] }));
    assert!(nothing.contains("no file matches \"src/nett\"; there is src/net/"), "{nothing}");
    assert!(
        client
            .refused("list_files", json!({ "focus_languages": ["pyhton"] }))
            .contains("did you mean `python`")
    );
}

#[test]
fn uncommitted_files_are_marked_and_revisions_are_without_them() {
    let repo = sample();
    repo.write("src/main.rs", "fn main() {}\n")
        .write("src/more.rs", "fn more() {}\n")
        .remove("docs/guide.md");
    let mut client = McpClient::start(&repo);
    let text = client.text("list_files", json!({}));
    assert!(text.contains("main.rs 13B (modified), more.rs 13B (untracked)"), "{text}");
    assert!(text.contains("deleted, not committed: docs/guide.md\n"), "{text}");
    let committed = client.ask("list_files", json!({ "rev": "HEAD", "paths": ["src/*.rs", "docs"] }));
    assert_eq!(paths(&committed), ["docs/guide.md", "src/main.rs"]);
    repo.commit("second");
    let changed = client.ask("list_files", json!({ "sort": "changed", "rev": "HEAD" }));
    assert_eq!(paths(&changed)[..2], ["src/main.rs", "src/more.rs"], "{changed:#}");
    assert!(changed["entries"][0]["changed"].is_string(), "{changed:#}");
}

#[test]
fn a_repository_that_is_not_indexed_is_listed_by_git() {
    let repo = TestRepo::with_files(&[("a.rs", "fn a() {}\n")]);
    let mut client = McpClient::start(&repo);
    let text = client.text("list_files", json!({}));
    assert!(text.contains("not indexed: lines are not known") && text.contains("a.rs 10B"), "{text}");
    let unborn = TestRepo::init();
    let mut client = McpClient::start(&unborn);
    assert!(client.text("list_files", json!({})).starts_with("0 files"));
    unborn.write("b.rs", "fn b() {}\n");
    assert!(client.text("list_files", json!({})).contains("b.rs 10B (untracked)"));
}

#[test]
fn many_files_are_summarised_by_folder_and_no_file_is_lost() {
    let repo = TestRepo::init();
    for folder in 0..20 {
        for file in 0..30 {
            repo.write(&format!("src/part_{folder:02}/file_{file:02}.rs"), "fn f() {}\n");
        }
    }
    repo.write("README.md", "# Many\n").commit("many");
    let mut client = McpClient::start(&repo);
    let text = client.text("list_files", json!({ "token_limit": 1000 }));
    assert!(tokens::count(&text) <= 1000, "{text}");
    assert!(text.contains("README.md") && text.contains("part_19/ (30 files"), "{text}");
    assert!(!text.contains("more: cursor"), "everything is summarised: {text}");
    // A page at a time where nothing can be summarised.
    let (mut seen, mut cursor) = (0, Value::Null);
    for _ in 0..40 {
        let arguments = json!({ "sort": "size", "token_limit": 1000, "cursor": cursor, "format": "json", "paths": ["src"] });
        let answer = client.ask("list_files", arguments);
        seen += answer["entries"].as_array().unwrap().len();
        let Some(next) = answer.get("next_cursor") else { break };
        cursor = next.clone();
    }
    assert_eq!(seen, 600);
}
