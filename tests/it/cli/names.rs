//! File names of any bytes: a path that was printed can be given back.

#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

/// Names, and the form in which they are printed.
const NAMES: &[(&[u8], &str)] = &[
    (b"src/odd\xff.py", r#""src/odd\377.py""#),
    (b"src/tab\tbed.py", r#""src/tab\tbed.py""#),
    (b"src/new\nline.py", r#""src/new\nline.py""#),
    (b"src/\"quoted\".py", r#""src/\"quoted\".py""#),
    (b"\"top\".py", r#""\"top\".py""#),
    (b"src/back\\slash.py", r#""src/back\\slash.py""#),
    (b"src/co:12.py", "src/co:12.py"),
    (b"src/ha#sh:3.py", "src/ha#sh:3.py"),
    (b"src/-dash.py", "src/-dash.py"),
    (b"src/hid\xe2\x80\xaeden.py", r#""src/hid\342\200\256den.py""#),
];

/// Names of functions, one for each file.
const MARKERS: &[&str] =
    &["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett"];

/// A repository in which each file defines its marker.
fn indexed() -> TestRepo {
    let repo = TestRepo::init();
    std::fs::create_dir(repo.path("src")).unwrap();
    for (n, (name, _)) in NAMES.iter().enumerate() {
        let marker = MARKERS[n];
        let head = format!("def {marker}():\n    return of_{marker}()\n");
        let text = format!("{head}\n\ndef of_{marker}():\n    return {n}\n");
        std::fs::write(repo.root().join(OsStr::from_bytes(name)), text).unwrap();
    }
    repo.commit("names");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn every_printed_path_can_be_given_back() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    for (n, (_, printed)) in NAMES.iter().enumerate() {
        let marker = MARKERS[n];
        let table = repo.codeweaver(["search", "-l", "1", marker]).success().stdout();
        let line = table.lines().find(|line| line.starts_with("1. ")).unwrap_or_else(|| panic!("{table}"));
        let place = line[3..].split(" (relevance").next().unwrap();
        assert!(place.starts_with(&format!("{printed}:1-")), "{table}");
        let found = repo.codeweaver(["search", "-o", "json", "-l", "1", marker]).success().json();
        let path = found["matches"][0]["file"]["path"].as_str().unwrap().to_owned();
        // Both forms, of terminals and of JSON.
        for path in [*printed, &path] {
            let read = repo.codeweaver(["read", "-o", "json", &format!("{path}:1-2")]);
            assert!(read.success().stdout().contains(marker), "{path}");
            assert_eq!(read.json()["path"].as_str(), found["matches"][0]["file"]["path"].as_str());
            repo.codeweaver(["read", path]).success().says(&[marker]);
            repo.codeweaver(["read", "--rev", "HEAD", path]).success().says(&[marker]);
            let outline = repo.codeweaver(["outline", path]);
            outline.success().says(&[&format!("{printed} (python, 2 definitions)")]);
            repo.codeweaver(["chunks", path]).success().says(&[marker]);
            repo.codeweaver(["similar", "--min-score", "0", &format!("{path}:1")]).success();
            let graph =
                repo.codeweaver(["graph", "callees", "--json", &format!("{path}:1")]).success().json();
            let (root, edge) = (graph["roots"][0].as_str().unwrap(), &graph["edges"][0]);
            assert_eq!(edge["dstSymbolId"], format!("{printed}:5#of_{marker}"), "{graph:#}");
            let again = repo.codeweaver(["graph", "callees", root]);
            again.success().says(&[&format!("{printed}:1-2"), &format!("{printed}:5-6")]);
            for (tool, arguments) in [
                ("read_file", json!({ "file": path })),
                ("file_outline", json!({ "file": path })),
                ("call_graph", json!({ "symbol": format!("{path}:1"), "direction": "callees" })),
                ("call_graph", json!({ "symbol": root, "direction": "callees" })),
            ] {
                let text = client.text(tool, arguments);
                assert!(text.contains(marker) && text.contains(printed), "{tool} {path}: {text}");
            }
        }
    }
}

#[test]
fn a_name_can_be_given_as_raw_bytes() {
    let repo = indexed();
    for command in ["read", "outline", "chunks"] {
        let run = repo.codeweaver([OsStr::new(command), OsStr::from_bytes(b"src/odd\xff.py")]);
        run.success().says(&["alpha"]);
    }
}

#[test]
fn a_name_with_a_leading_dash_is_no_option() {
    let repo = TestRepo::with_files(&[("-o.py", "def dashed():\n    return 1\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let table = repo.codeweaver(["search", "-l", "1", "dashed"]).success().stdout();
    assert!(table.contains("1. ./-o.py:1-2 "), "{table}");
    repo.codeweaver(["read", "./-o.py:1-2"]).success().says(&["dashed"]);
    repo.codeweaver(["outline", "./-o.py"]).success().says(&["dashed"]);
}
