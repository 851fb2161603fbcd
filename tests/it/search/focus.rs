//! The focus of a match: which definition, section or key of a chunk answers the query.

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

const CODEC: &str = r#""""Encoding and decoding of frames."""
import struct

MAGIC = 0x1F


def encode_frame(payload):
    """Prefixes the payload with its length."""
    return struct.pack(">I", len(payload)) + payload


# Removes the length prefix, whose size was
# checked by the transport, and returns the payload.
def decode_frame(data):
    (size,) = struct.unpack(">I", data[:4])
    return data[4:4 + size]


class Checksum:
    """A running sum of bytes."""

    def __init__(self):
        self.total = 0

    def update(self, data):
        """Adds bytes to the sum."""
        self.total = (self.total + sum(data)) % 65521

    def finish(self):
        """The final value, in hexadecimal."""
        return f"{self.total:08x}"
"#;
const GUIDE: &str = "# Guide\n\nHow to use it.\n\n## Installation\n\nRun the installer as administrator.\n\n\
    ## Configuration\n\nProxy servers are set with an environment variable.\n";
const SETTINGS: &str = "name = \"sample\"\n\n[server]\nport = 8080\nhost = \"localhost\"\n\n\
    [cache]\ndirectory = \"/var/cache\"\nmax_entries = 1000\n";

fn indexed() -> TestRepo {
    let files = [("src/codec.py", CODEC), ("docs/guide.md", GUIDE), ("settings.toml", SETTINGS)];
    let repo = TestRepo::with_files(&files);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The first match of a search.
fn best(repo: &TestRepo, args: &[&str]) -> Value {
    let args = [&["search", "-o", "json", "--min-score", "0", "-l", "1"], args].concat();
    let response = repo.codeweaver(args).success().json();
    response["matches"][0].clone()
}

/// Symbol and lines of the focus of the best match.
fn focus(repo: &TestRepo, args: &[&str]) -> (String, u64, u64) {
    let focus = &best(repo, args)["focus"];
    let line = |name: &str| focus[name].as_u64().unwrap();
    (focus["symbol"].as_str().unwrap_or_default().to_owned(), line("start_line"), line("end_line"))
}

fn at(symbol: &str, start: u64, end: u64) -> (String, u64, u64) {
    (symbol.to_owned(), start, end)
}

#[test]
fn a_match_names_the_definition_that_the_query_names() {
    let repo = indexed();
    let found = best(&repo, &["decode_frame"]);
    assert_eq!(found["span"], json!([1, 31]), "one chunk holds all definitions: {found:#}");
    assert_eq!(
        found["focus"],
        json!({
            "start_line": 14,
            "end_line": 16,
            "symbol": "decode_frame",
            "kind": "function",
            "signature": "def decode_frame(data)",
        })
    );
    assert_eq!(found["content"]["signature"], "def decode_frame(data)");
    assert_eq!(found["content"]["class"], "DEFINITION_CALLABLE");
    assert_eq!(focus(&repo, &["Checksum"]), at("Checksum", 19, 31));
    assert_eq!(focus(&repo, &["Checksum.update"]), at("Checksum.update", 25, 27));
    assert_eq!(focus(&repo, &["where is encode_frame called"]), at("encode_frame", 7, 9));
    assert_eq!(focus(&repo, &["Checksumx"]), at("Checksum", 19, 31), "a misspelt name");
    assert_eq!(focus(&repo, &["src/codec.py:16"]), at("decode_frame", 14, 16), "a line");
}

#[test]
fn a_description_is_answered_by_the_definition_with_most_of_its_words() {
    let repo = indexed();
    assert_eq!(focus(&repo, &["prefix the payload with its length"]), at("encode_frame", 7, 9));
    assert_eq!(focus(&repo, &["final value in hexadecimal"]), at("Checksum.finish", 29, 31));
    // The comment above a definition belongs to it.
    assert_eq!(focus(&repo, &["size checked by the transport"]), at("decode_frame", 14, 16));
    assert_eq!(focus(&repo, &["--mode", "semantic", "updating a checksum"]), at("Checksum.update", 25, 27));
    assert_eq!(focus(&repo, &["--kind", "class", "updating a checksum"]), at("Checksum", 19, 31));
}

#[test]
fn the_chunk_is_the_focus_if_no_definition_stands_out() {
    let repo = indexed();
    for query in ["import struct", "zebra"] {
        let found = best(&repo, &["--path", "src", query]);
        assert_eq!(found["focus"], json!({ "start_line": 1, "end_line": 31 }), "{query}");
    }
    repo.codeweaver(["search", "-l", "1", "--min-score", "0", "--path", "src", "zebra"])
        .success()
        .says(&["src/codec.py:1-31", "variable MAGIC, encode_frame, decode_frame (+1)"]);
}

#[test]
fn sections_and_keys_are_named() {
    let repo = indexed();
    assert_eq!(focus(&repo, &["proxy environment variable"]), at("Guide > Configuration", 9, 11));
    assert_eq!(focus(&repo, &["maximum entries of the cache"]), at("cache.max_entries", 9, 9));
    assert_eq!(focus(&repo, &["server port"]), at("server.port", 4, 4));
    repo.codeweaver(["search", "-l", "1", "server port"])
        .success()
        .says(&["settings.toml:4-4", "server.port"]);
}

#[test]
fn a_part_of_a_long_definition_is_named_after_it() {
    let repo = indexed();
    let body: String = (0..400).map(|i| format!("    value_{i} = compute_{i}(value)\n")).collect();
    let text = format!("def enormous(value):\n{body}    launch_the_rocket(value)\n    return value\n");
    repo.write("src/long.py", &text).commit("long");
    let found = best(&repo, &["launch the rocket"]);
    assert!(found["span"][0].as_u64().unwrap() > 1, "{found:#}");
    let focus = &found["focus"];
    assert_eq!((&focus["symbol"], &focus["start_line"]), (&json!("enormous"), &json!(1)), "{found:#}");
    assert_eq!((&focus["end_line"], &found["more_in_file"]), (&json!(403), &json!([])), "{found:#}");
    // The beginning is not in the chunk that an agent is shown.
    let text = McpClient::start(&repo).text("find_code", json!({ "query": "launch the rocket" }));
    assert!(text.contains("src/long.py:1-403 function enormous\n1\tdef enormous(value)\n…\n"), "{text}");
    assert!(text.contains("\n402\t    launch_the_rocket(value)\n"), "{text}");
}

#[test]
fn uncommitted_lines_move_the_focus() {
    let repo = indexed();
    repo.write(
        "src/codec.py",
        format!("# one\n# two\n{CODEC}\n\ndef uncommitted_helper():\n    return None\n"),
    );
    assert_eq!(focus(&repo, &["decode_frame"]), at("decode_frame", 16, 18));
    assert_eq!(focus(&repo, &["uncommitted_helper"]), at("uncommitted_helper", 36, 37));
    assert_eq!(focus(&repo, &["--committed", "decode_frame"]), at("decode_frame", 14, 16));
}

#[test]
fn tables_markdown_and_headings_for_agents_name_the_focus() {
    let repo = indexed();
    let table = repo.codeweaver(["search", "-l", "1", "Checksum.finish"]).success().stdout();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[2].starts_with("1. src/codec.py:29-31 (relevance: "), "{table}");
    assert_eq!(lines[3].trim(), "def finish(self)");
    assert!(lines.iter().any(|line| line.trim() == "29 │     def finish(self):"), "{table}");
    repo.codeweaver(["search", "-l", "1", "-o", "markdown", "Checksum.finish"])
        .success()
        .says(&["## 1. `src/codec.py:29-31`"]);
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": "Checksum.finish", "max_results": 1 }));
    assert!(text.contains("src/codec.py:29-31 method Checksum.finish\n"), "{text}");
    assert!(text.contains("    def finish(self):\n") && !text.contains("def encode_frame"), "{text}");
    let arguments = json!({ "query": "Checksum.finish", "max_results": 1, "locations_only": true });
    let text = client.text("find_code", arguments);
    assert!(text.contains("src/codec.py:29-31 method Checksum.finish\n"), "{text}");
    assert!(!text.contains("def finish"), "{text}");
}

const SESSIONS: &str = r#""""Sessions."""


class SessionStore:
    """Keeps the sessions of users in memory."""

    def __init__(self, limit):
        self.sessions = {}
        self.limit = limit

    def open_session(self, name):
        """Returns an open session of the store."""
        session = self.sessions.get(name)
        session.touch()
        return session

    def close_session(self, name):
        if name not in self.sessions:
            raise KeyError("no such session in the store")
        del self.sessions[name]
"#;
const SESSION_NOTES: &str = "NOTES = ['session store']\n\n\ndef test_notes():\n    assert NOTES\n";

#[test]
fn the_intent_decides_between_the_type_and_the_place_that_raises() {
    let files = [("src/sessions.py", SESSIONS), ("tests/test_notes.py", SESSION_NOTES)];
    let repo = TestRepo::with_files(&files);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let shown = |args: &[&str]| {
        let found = best(&repo, args);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&found["file"]["path"]), text(&found["focus"]["symbol"]))
    };
    let in_file = |symbol: &str| ("src/sessions.py".to_owned(), symbol.to_owned());
    assert_eq!(shown(&["--intent", "understand", "session store"]), in_file("SessionStore"));
    assert_eq!(shown(&["explain the session store"]), in_file("SessionStore"));
    assert_eq!(shown(&["fix the session store"]), in_file("SessionStore.close_session"));
    // A subject that is copied verbatim is not, with an intent that has no messages.
    assert_eq!(shown(&["session store"]).0, "tests/test_notes.py");
}
