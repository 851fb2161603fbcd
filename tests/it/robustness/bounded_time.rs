//! Time: whatever a repository holds, each request is answered within its budget, or refused with the reason.
//!
//! `CODEWEAVER_TIME_SCALE` is the size of the repositories; the long form is 10.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, Run, TestRepo};

use crate::support::mcp_client::McpClient;
use crate::support::server::Server;

/// Budget of a request to the server, and of a call of a tool, with a margin for busy machines.
const PATIENCE: Duration = Duration::from_secs(45);

/// The factor of the sizes.
fn scale() -> usize {
    std::env::var("CODEWEAVER_TIME_SCALE").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Runs every request once: `file` is a file of the repository, which defines `name`, and `word` is in it.
fn request_everything(repo: &TestRepo, file: &str, name: &str, word: &str) {
    let line: [&[&str]; 8] = [
        &["search", word],
        &["search", "--mode", "exact", word],
        &["search", "--mode", "exact", "--rev", "HEAD", word],
        &["search", "--mode", "regex", &format!("{word}.*")],
        &["graph", "references", name],
        &["graph", "callers", name],
        &["status", "--files"],
        &["index"],
    ];
    for args in line {
        let run = timed(&args, || repo.codeweaver(args));
        assert!([0, 1, 2].contains(&run.code()), "{}", run.explain());
        assert!(run.code() != 2 || run.stderr().contains("why: "), "{}", run.explain());
    }

    let mut client = McpClient::start(repo);
    for (tool, arguments) in [
        ("find_code", json!({ "query": word })),
        ("find_text", json!({ "pattern": word })),
        ("find_text", json!({ "pattern": word, "rev": "HEAD" })),
        ("find_symbol", json!({ "symbol": name })),
        ("find_symbol", json!({ "symbol": "*" })),
        ("ask_docs", json!({ "question": format!("what is {word}?") })),
        ("find_similar", json!({ "file": file, "line": 1 })),
        ("find_similar", json!({})),
        ("file_outline", json!({ "file": file })),
        ("call_graph", json!({ "symbol": name, "direction": "callers" })),
        ("call_graph", json!({ "symbol": name, "direction": "callees" })),
        ("call_graph", json!({ "symbol": name, "direction": "references" })),
        ("read_code", json!({ "file": file })),
        ("read_code", json!({ "places": [name, file] })),
        ("list_files", json!({})),
        ("list_files", json!({ "rev": "HEAD", "depth": 3 })),
        ("changes", json!({})),
        ("changes", json!({ "show": "diff" })),
        ("changes", json!({ "from": "HEAD~1" })),
        ("changes", json!({ "from": "HEAD~1", "show": "diff" })),
        ("changes", json!({ "paths": [file] })),
        ("changes", json!({ "symbol": name })),
        ("manage_index", json!({ "action": "status" })),
    ] {
        let result = timed(&(tool, &arguments), || client.call_plainly(tool, arguments.clone()));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(!text.is_empty(), "{tool} {arguments}");
    }

    let server = Server::start(repo, &[]);
    for path in [
        format!("api/search?q={word}"),
        format!("api/search?q={word}&mode=exact"),
        format!("api/search?q={word}&mode=exact&rev=HEAD&stream=1"),
        format!("api/search?q={word}&mode=symbol"),
        format!("api/similar?path={file}&line=1"),
        format!("api/file?path={file}"),
        format!("api/outline?path={file}"),
        format!("api/graph?symbol={name}"),
        format!("api/ask?q={word}"),
        format!("api/history?path={file}"),
        "api/files".to_owned(),
        "api/files?rev=HEAD".to_owned(),
        "api/history".to_owned(),
        "api/status".to_owned(),
        "files".to_owned(),
        "files?path=src&rev=HEAD".to_owned(),
        "status".to_owned(),
        "skipped".to_owned(),
        format!("search?q={word}"),
        format!("symbol?symbol={name}"),
        format!("file?path={file}"),
    ] {
        let answer = timed(&path, || server.get(&path));
        let is_refusal_of_api = path.starts_with("api/") && answer.status >= 400;
        let why = is_refusal_of_api.then(|| answer.json()["why"].clone());
        assert!(why.is_none_or(|why| why != Value::Null && why != ""), "{path}: {answer:#?}");
    }
}

/// The outcome of `work`, called `what`, which ends in time.
fn timed<T>(what: &dyn std::fmt::Debug, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    let took = started.elapsed();
    eprintln!("{:6} ms {what:?}", took.as_millis());
    assert!(took < PATIENCE, "{what:?} took {took:?}");
    done
}

/// Commits the tree that `lines` list, in the form of `git ls-tree`, as `directory` beside the present files.
fn commit_tree(repo: &TestRepo, directory: &str, tree: &str) {
    repo.write(
        ".git/root",
        repo.git_text(["ls-tree", "HEAD"]) + &format!("040000 tree {tree}\t{directory}\n"),
    );
    let script = "git commit-tree -p HEAD -m odd $(git mktree < .git/root)";
    let commit = Run::new(repo.command("sh").args(["-c", script])).success().stdout();
    repo.git(["update-ref", "HEAD", commit.trim()]);
}

/// The oid of the tree with these entries.
fn tree(repo: &TestRepo, lines: &str) -> String {
    repo.write(".git/lines", lines);
    Run::new(repo.command("sh").args(["-c", "git mktree < .git/lines"])).success().stdout().trim().to_owned()
}

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A million files, and more than can be counted, of seven trees and one blob.
#[test]
fn a_tree_that_repeats_its_directories_is_refused() {
    for levels in [5, 40] {
        let repo = indexed();
        let blob = repo.git_text(["rev-parse", "HEAD:src/parse.rs"]);
        let entries = |kind: &str, oid: &str| -> String {
            (0..10).map(|n| format!("{kind} {}\tn{n}.rs\n", oid.trim())).collect()
        };
        let mut bush = tree(&repo, &entries("100644 blob", &blob));
        for _ in 0..levels {
            bush = tree(&repo, &entries("040000 tree", &bush));
        }
        commit_tree(&repo, "bush", &bush);

        if levels == 40 {
            request_everything(&repo, "src/parse.rs", "parse_header", "header");
        }
        let refused = repo.codeweaver(["search", "--mode", "exact", "header"]);
        refused.is_an_error("has the same directories in too many places", "REV:dir");
        let leaf = format!("bush/{}n0.rs", "n0.rs/".repeat(levels));
        assert!(
            repo.codeweaver(["read", "--rev", "HEAD", &leaf]).success().stdout().contains("parse_header")
        );
    }
}

#[test]
fn a_directory_of_many_files_is_bounded() {
    let repo = indexed();
    let blob = repo.git_text(["rev-parse", "HEAD:src/parse.rs"]);
    let mut lines = String::new();
    for n in 0..10_000 * scale() {
        let _ = writeln!(lines, "100644 blob {}\tf{n:06}.rs", blob.trim());
    }
    let wide = tree(&repo, &lines);
    // None of them is in the working tree, so that all are deleted.
    commit_tree(&repo, "wide", &wide);
    request_everything(&repo, "wide/f000001.rs", "parse_header", "header");
}

#[test]
fn a_deeply_nested_file_is_bounded() {
    let depth = 2_000 * scale();
    let repo = indexed();
    let mut text = "def deep_method(x)\n".to_owned();
    (0..depth).for_each(|n| text.push_str(&format!("if x{n}\n deep_method(x{n})\n")));
    text.push_str(&"end\n".repeat(depth + 1));
    repo.write("src/deep.rb", &text).commit("deep");
    repo.write("src/dirty.rb", text.replace("deep_method", "dirty_method"));

    let mut page = "<div>\n".repeat(9_000 * scale());
    page.push_str("header");
    repo.write("page.html", page);
    request_everything(&repo, "src/deep.rb", "deep_method", "header");
}
