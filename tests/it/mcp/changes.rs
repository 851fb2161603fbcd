//! `changes` over the protocol: uncommitted files, commits, files, symbols and differences of two revisions,
//! and the history of a definition.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

const FIRST: &str =
    "/// Adds.\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\npub fn stay() {}\n\npub fn gone() {}\n";

/// Three commits; the second is tagged `v1`.
fn history() -> TestRepo {
    let repo =
        TestRepo::with_files(&[("src/lib.rs", FIRST), ("Cargo.lock", "one\n"), ("README.md", "# Sample\n")]);
    repo.write("README.md", "# Sample\n\nMore.\n").commit("explain more").git(["tag", "v1"]);
    let second = FIRST.replace("a + b", "a.wrapping_add(b)").replace("pub fn gone() {}", "pub fn fresh() {}");
    repo.write("src/lib.rs", second).write("Cargo.lock", "two\n").write("src/new.rs", "pub fn here() {}\n");
    repo.commit("wrap around\n\nSums are modulo 2^32.");
    repo
}

fn names(answer: &Value, list: &str, field: &str) -> Vec<String> {
    let items = answer[list].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_arguments_it_shows_uncommitted_files_and_the_last_commits() {
    // The repository is not indexed: git answers.
    let repo = history();
    let mut client = McpClient::start(&repo);
    let clean = client.text("changes", json!({}));
    assert!(clean.starts_with("uncommitted: 0 files\n"), "{clean}");
    assert!(clean.contains(" wrap around\n"), "{clean}");
    repo.write("src/new.rs", "pub fn here() {\n    other();\n}\n").write("notes.txt", "x\n");
    repo.git(["mv", "README.md", "MANUAL.md"]).remove("Cargo.lock");
    let text = client.text("changes", json!({}));
    for line in [
        "M src/new.rs +3 -1: ~here\n",
        "? notes.txt +1\n",
        "R README.md => MANUAL.md\n",
        "D Cargo.lock -1 (lock_file)\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    let answer = client.ask("changes", json!({}));
    assert_eq!(answer["to"]["uncommitted"], true);
    let file = answer["files"].as_array().unwrap().iter().find(|file| file["file"] == "notes.txt").unwrap();
    assert_eq!((&file["state"], &file["change"]), (&json!("untracked"), &json!("added")));
    let diff = client.text("changes", json!({ "show": "diff", "paths": ["src"] }));
    assert!(diff.contains("-pub fn here() {}\n+pub fn here() {\n+    other();\n+}\n"), "{diff}");
    assert!(!diff.contains("notes.txt"), "{diff}");
}

#[test]
fn two_revisions_are_compared_by_commits_files_and_symbols() {
    let repo = history();
    let mut client = McpClient::start(&repo);
    for range in
        [json!({ "from": "v1", "to": "HEAD" }), json!({ "from": "v1..HEAD" }), json!({ "from": "v1...HEAD" })]
    {
        let text = client.text("changes", range.clone());
        assert!(text.contains("1 commit, 3 files +4 -3"), "{text}");
        assert!(text.contains("+fresh") && text.contains("-gone") && text.contains("~add"), "{text}");
        assert!(!text.contains("stay"), "{text}");
        let answer = client.ask("changes", range);
        assert_eq!(names(&answer, "files", "file"), ["src/lib.rs", "src/new.rs", "Cargo.lock"]);
        assert_eq!(names(&answer, "commits", "subject"), ["wrap around"]);
        assert_eq!(answer["files"][2]["skipped"], "lock_file");
    }
    // Up to the working tree, with what is not committed.
    repo.write("src/new.rs", "pub fn elsewhere() {}\n");
    let text = client.text("changes", json!({ "from": "v1", "show": "files" }));
    assert!(text.contains("new.rs +1: +elsewhere\n"), "{text}");
    assert!(text.contains("1 commit, 3 files") && text.contains(" wrap around\n"), "{text}");
    // One commit by itself, with its message.
    let one = client.text("changes", json!({ "to": "HEAD", "show": "diff", "paths": ["src/lib.rs"] }));
    assert!(one.contains("Sums are modulo 2^32."), "{one}");
    assert!(one.contains("@@ -2 +2 @@ add\n pub fn add(a: u32, b: u32) -> u32 {\n"), "{one}");
    assert!(one.contains("-    a + b\n+    a.wrapping_add(b)\n"), "{one}");
    let lock = client.text("changes", json!({ "to": "HEAD", "show": "diff", "paths": ["Cargo.lock"] }));
    assert!(lock.contains("M Cargo.lock +1 -1 (lock_file)") && !lock.contains("-one"), "{lock}");
}

#[test]
fn the_history_of_a_file_is_followed_through_its_renames() {
    let repo = history();
    std::fs::create_dir(repo.path("lib")).unwrap();
    repo.git(["mv", "src/new.rs", "lib/newer.rs"]);
    repo.commit("rename").write("lib/newer.rs", "pub fn here() {}\n\npub fn there() {}\n").commit("there");
    let mut client = McpClient::start(&repo);
    let of_file = client.ask("changes", json!({ "paths": ["lib/newer.rs"], "show": "commits" }));
    assert_eq!(names(&of_file, "commits", "subject"), ["there", "rename", "wrap around"]);
    assert_eq!(of_file["commits"][1]["moved_from"], "src/new.rs", "{of_file:#}");
    let text = client.text("changes", json!({ "paths": ["lib/newer.rs"], "show": "commits" }));
    assert!(text.contains("rename [moved src/new.rs => lib/newer.rs]"), "{text}");
}

#[test]
fn the_history_of_a_whole_name_leaves_out_names_that_end_with_it() {
    let two = "def render():\n    return 1\n\n\nclass Shape:\n    def render(self):\n        return 2\n";
    let repo = TestRepo::with_files(&[("a.py", two)]);
    repo.write("a.py", two.replace("return 2", "return 3")).commit("the shape");
    repo.write("a.py", two.replace("return 1", "return 4").replace("return 2", "return 3"))
        .commit("the function");
    let mut client = McpClient::start(&repo);
    let subjects = |client: &mut McpClient, symbol: &str| {
        let answer = client.ask("changes", json!({ "symbol": symbol, "paths": ["a.py"] }));
        names(&answer, "commits", "subject")
    };
    assert_eq!(subjects(&mut client, "render"), ["the function", "first"]);
    assert_eq!(subjects(&mut client, "Shape.render"), ["the shape", "first"]);
}

#[test]
fn the_history_of_a_definition_is_followed_into_the_file_it_came_from() {
    let repo = history();
    let moved = repo
        .read("src/lib.rs")
        .replace("/// Adds.\npub fn add(a: u32, b: u32) -> u32 {\n    a.wrapping_add(b)\n}\n\n", "");
    repo.write("src/lib.rs", moved);
    repo.write("src/sum.rs", "/// Adds.\npub fn add(a: u32, b: u32) -> u32 {\n    a.wrapping_add(b)\n}\n");
    repo.commit("move add")
        .write("src/sum.rs", "pub fn add(a: u64) -> u64 {\n    a\n}\n")
        .commit("one argument");
    repo.write("README.md", "nothing about it\n").commit("unrelated");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let answer = client.ask("changes", json!({ "symbol": "add" }));
    assert_eq!(names(&answer, "commits", "subject"), ["one argument", "move add", "wrap around", "first"]);
    let events: Vec<&str> = answer["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| commit["symbol"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["signature", "body", "body", "added"]);
    assert_eq!(answer["commits"][1]["moved_from"], "src/lib.rs");
    let text = client.text("changes", json!({ "symbol": "add" }));
    assert!(text.contains("move add [body, moved src/{lib.rs => sum.rs}]"), "{text}");
    // A file and words of the message restrict as well.
    let of_file = client.ask("changes", json!({ "paths": ["README.md"], "show": "commits" }));
    assert_eq!(names(&of_file, "commits", "subject"), ["unrelated", "explain more", "first"]);
    let by_words = client.ask("changes", json!({ "message": "MODULO 2" }));
    assert_eq!(names(&by_words, "commits", "subject"), ["wrap around"]);
    let unknown = client.call_plainly("changes", json!({ "symbol": "never_was" }));
    let message = unknown["content"][0]["text"].as_str().unwrap();
    assert!(unknown["isError"] == true && message.contains("in the index of"), "{message}");
}

#[test]
fn a_file_that_moved_into_the_paths_is_renamed_and_not_added() {
    let text: String = (0..30).map(|i| format!("value_{i} = {i}\n")).collect();
    let repo = TestRepo::with_files(&[("old/a.py", &text), ("old/b.py", "x = 1\n")]);
    repo.git(["tag", "v1"]);
    std::fs::create_dir(repo.path("new")).unwrap();
    repo.git(["mv", "old/a.py", "new/a.py"]);
    repo.commit("move");
    let mut client = McpClient::start(&repo);
    for paths in ["new", "old"] {
        let text =
            client.text("changes", json!({ "from": "v1", "to": "HEAD", "paths": [paths], "show": "files" }));
        assert!(
            text.contains("1 file +0 -0\n") && text.contains("\nR {old => new}/a.py\n"),
            "{paths}: {text}"
        );
    }
}

#[test]
fn long_answers_go_on_where_they_stopped() {
    let repo = TestRepo::init();
    for i in 0..40 {
        repo.write(&format!("src/file_{i:02}.rs"), format!("pub fn function_{i}() {{\n    work({i});\n}}\n"));
        repo.commit(&format!("commit number {i}"));
    }
    let mut client = McpClient::start(&repo);
    let first = repo.git_text(["rev-list", "--max-parents=0", "HEAD"]);
    for (arguments, list, n) in [
        (json!({ "show": "commits" }), "commits", 40),
        (json!({ "from": first.trim(), "to": "HEAD", "show": "files" }), "files", 39),
        (json!({ "from": first.trim(), "to": "HEAD", "show": "diff" }), "files", 39),
    ] {
        for format in ["text", "json"] {
            let (mut seen, mut cursor, mut text) = (0, Value::Null, String::new());
            for _ in 0..60 {
                let mut next = arguments.clone();
                next["token_limit"] = json!(400);
                next["cursor"] = cursor.clone();
                next["format"] = json!(format);
                let result = client.call_plainly("changes", next);
                let page = result["content"][0]["text"].as_str().unwrap();
                assert!(tokens::count(page) <= 400, "{page}");
                text.push_str(page);
                let in_text = page.split("cursor \"").nth(1).and_then(|rest| rest.split('"').next());
                let found = result["structuredContent"]["next_cursor"].as_str().or(in_text);
                if format == "json" {
                    seen += result["structuredContent"][list].as_array().unwrap().len();
                    assert!(tokens::count(&result["structuredContent"].to_string()) <= 400);
                }
                let Some(found) = found else { break };
                cursor = json!(found);
            }
            if format == "json" {
                assert_eq!(seen, n, "{arguments}");
            } else {
                for i in 1..40 {
                    let name = if list == "commits" {
                        format!("commit number {i}\n")
                    } else {
                        format!("file_{i:02}.rs")
                    };
                    assert_eq!(text.matches(&name).count(), 1, "{name} in {text}");
                }
            }
        }
    }
}

#[test]
fn repositories_without_history_and_bad_arguments_are_answered_plainly() {
    let unborn = TestRepo::init();
    let mut client = McpClient::start(&unborn);
    let text = client.text("changes", json!({}));
    assert!(text.contains("0 files") && text.contains("no commit yet"), "{text}");
    unborn.write("a.rs", "fn a() {}\n");
    assert!(client.text("changes", json!({})).contains("? a.rs +1: +a\n"));

    let repo = history();
    let mut client = McpClient::start(&repo);
    let result = client.call_plainly("changes", json!({ "from": "v2" }));
    let message = result["content"][0]["text"].as_str().unwrap();
    assert!(result["isError"] == true && message.contains("did you mean 'v1'?"), "{message}");
    assert!(client.refused("changes", json!({ "show": "stat" })).contains("one of commits, files, diff"));
    assert!(client.refused("changes", json!({ "paths": ["../x"] })).contains("`paths`"));
    let nothing = client.text("changes", json!({ "from": "v1", "paths": ["src/lib.sr"] }));
    assert!(nothing.contains("0 files") && nothing.contains("src/lib.rs"), "{nothing}");

    // A linked worktree, a bare and a shallow clone.
    let linked = TestRepo::empty_dir();
    let place = linked.path("linked");
    repo.git(["worktree", "add", "-q", place.to_str().unwrap(), "v1"]);
    let mut client = McpClient::start(&linked.at("linked"));
    assert!(client.text("changes", json!({})).contains("explain more"));
    let url = format!("file://{}", repo.root().display());
    let bare = TestRepo::empty_dir();
    bare.git(["clone", "-q", "--bare", &url, "."]);
    let mut client = McpClient::start(&bare);
    assert!(client.text("changes", json!({})).contains("wrap around"));
    assert!(client.text("changes", json!({ "show": "files" })).contains("~add"), "the last commit");
    let shallow = TestRepo::empty_dir();
    shallow.git(["clone", "-q", "--depth=1", &url, "."]);
    let mut client = McpClient::start(&shallow);
    let text = client.text("changes", json!({ "show": "commits" }));
    assert!(text.contains("wrap around") && text.contains("shallow"), "{text}");
}
