//! Hostile repositories and damaged indexes: a call may fail, the server stays alive and answers the next
//! one.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

/// One call of every tool that reads the index.
fn calls() -> [(&'static str, Value); 6] {
    [
        ("find_code", json!({ "query": "parse a header" })),
        ("find_similar", json!({ "file": "src/parse.rs", "line": 3 })),
        ("file_outline", json!({ "file": "src/parse.rs" })),
        ("call_graph", json!({ "symbol": "parse_header" })),
        ("call_graph", json!({ "symbol": "src/parse.rs:3", "direction": "references" })),
        ("read_file", json!({ "file": "src/parse.rs", "rev": "HEAD" })),
    ]
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for child in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = child.path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Makes every call, asserts that each is answered, and returns the number of internal errors.
fn all_answered(client: &mut McpClient, when: &str) -> usize {
    let mut n_broken = 0;
    for (tool, arguments) in calls() {
        let response = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let is_answer = response["result"].is_object() || response["error"]["code"].is_i64();
        assert!(is_answer, "{tool} {when}: {response:#}");
        n_broken += usize::from(response.to_string().contains("broke off"));
    }
    n_broken
}

#[test]
fn a_damaged_index_fails_calls_but_not_the_server() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let right = client.ask("file_outline", json!({ "file": "src/parse.rs" }));
    let mut rng = fastrand::Rng::with_seed(0x0b57_ac1e);
    let mut n_broken = 0;
    let is_data = |path: &PathBuf| {
        let in_store = path
            .components()
            .any(|part| ["segments", "entries", "snapshots"].iter().any(|d| part.as_os_str() == *d));
        in_store && path.metadata().is_ok_and(|metadata| metadata.len() > 16)
    };
    let files: Vec<PathBuf> = files_below(&repo.path(".codeweaver")).into_iter().filter(is_data).collect();
    assert!(!files.is_empty(), "{:?}", files_below(&repo.path(".codeweaver")));
    for round in 0..60 {
        // In place: the server has it mapped, so this is what it sees.
        let path = rng.choice(&files).unwrap();
        let before = std::fs::read(path).unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        for _ in 0..rng.usize(1..8) {
            let at = rng.usize(..before.len() - 8);
            let number: [u8; 8] = if rng.bool() { [0xff; 8] } else { rng.u64(..).to_le_bytes() };
            file.write_all_at(&number[..rng.usize(1..=8)], at as u64).unwrap();
        }
        n_broken += all_answered(&mut client, &format!("in round {round} with {}", path.display()));
        file.write_all_at(&before, 0).unwrap();
    }
    eprintln!("{n_broken} calls broke off");
    // It is whole again, in this session and in a new one, whatever was rebuilt meanwhile.
    for client in [&mut client, &mut McpClient::start(&repo)] {
        let again = client.ask("file_outline", json!({ "file": "src/parse.rs" }));
        assert_eq!(again["symbols"], right["symbols"]);
        assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
    }
    assert_eq!(client.close(), 0);
}

#[test]
fn hostile_files_of_the_working_tree_do_no_harm() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let deep = |open: &str, close: &str, n: usize| format!("{}{}", open.repeat(n), close.repeat(n));
    for (path, text) in [
        ("deep.py", format!("def parse_header():\n    return {}\n", deep("(", ")", 50_000))),
        ("deep.js", format!("function parse_header() {{ return {} }}", deep("[", "]", 50_000))),
        ("deep.json", deep("{\"a\":", "}", 50_000)),
        ("deep.rs", format!("fn parse_header() {{ {} }}", deep("{", "}", 20_000))),
        ("deep.cpp", deep("namespace a { ", "}", 20_000)),
        ("calls.rs", format!("fn parse_header() {{ {}1{} }}", "f(".repeat(20_000), ")".repeat(20_000))),
        ("members.js", format!("parse_header{}", ".a()".repeat(50_000))),
        ("bytes.py", "def parse_header():\n    \u{feff}\u{202e}\u{0}x = 1\n".repeat(50)),
        ("import.py", "from import_ import *\nfrom . import *\n".repeat(2000) + "parse_header()\n"),
        (
            "loop.py",
            "class A(B): pass\nclass B(A):\n    def parse_header(self):\n        super().parse_header()\n"
                .to_owned(),
        ),
    ] {
        repo.write(path, &text);
        all_answered(&mut client, path);
        for (tool, arguments) in [
            ("file_outline", json!({ "file": path })),
            ("find_similar", json!({ "file": path, "line": 1 })),
            ("call_graph", json!({ "symbol": format!("{path}:1"), "direction": "both", "depth": 3 })),
            ("read_file", json!({ "file": path, "token_limit": 300 })),
        ] {
            let response = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
            assert!(response["result"].is_object(), "{tool} of {path}: {response:#}");
        }
        repo.remove(path);
    }
    assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
    assert_eq!(client.close(), 0);
}
