//! Files in UTF-16, UTF-32 and legacy encodings: indexed, searched, shown and read as text.

use serde_json::json;

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

const TEXT: &str =
    "# ünïcode\r\ndef first():\r\n    return 1\r\n\r\n\r\ndef unmistakable_marker():\r\n    return 2\r\n";

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    ["\u{feff}", text].concat().encode_utf16().flat_map(unit).collect()
}

fn skipped(repo: &TestRepo, reason: &str) -> u64 {
    repo.status()["skipped"][reason].as_u64().unwrap_or(0)
}

#[test]
fn marked_encodings_are_indexed_with_their_lines() {
    let utf32: Vec<u8> =
        ["\u{feff}", TEXT].concat().chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    for bytes in [utf16(TEXT, u16::to_le_bytes), utf16(TEXT, u16::to_be_bytes), utf32] {
        let repo = TestRepo::init();
        repo.write("wide.py", &bytes).write("plain.py", "x = 1\n").commit("wide");
        repo.codeweaver(["init", "--no-hooks"]).success();
        let found = repo.codeweaver(["search", "-o", "json", "unmistakable_marker"]).success().json();
        let best = &found["matches"][0];
        assert_eq!(best["file"], json!({ "path": "wide.py", "language": "python" }), "{found:#}");
        assert!(best["content"]["text"].as_str().unwrap().contains("def unmistakable_marker"), "{found:#}");
        assert_eq!(best["blob"], repo.git_text(["rev-parse", "HEAD:wide.py"]).trim());
        let outline = repo.codeweaver(["outline", "-o", "json", "wide.py"]).success().json();
        assert_eq!(outline["symbols"][1]["span"], json!([6, 7]), "{outline:#}");
        let read = repo.codeweaver(["read", "-o", "json", "wide.py:6-7"]).success().json();
        assert_eq!(read["text"], "def unmistakable_marker():\r\n    return 2\r\n");
        repo.codeweaver(["graph", "definitions", "unmistakable_marker"]).success().says(&["wide.py:6-7"]);
        repo.codeweaver(["chunks", "wide.py"]).success().says(&["unmistakable_marker"]);
        repo.codeweaver(["verify"]).success();
        let mut client = McpClient::start(&repo);
        let file = client.ask("read_file", json!({ "file": "wide.py", "start_line": 2, "end_line": 2 }));
        assert_eq!(file["text"], "def first():\r\n");
        for args in
            [&["--mode", "exact", "ünïcode"][..], &["--mode", "regex", "^def unm.*er"], &["\"# ünïcode\""]]
        {
            let lines = repo.codeweaver([&["search", "-o", "json"], args].concat()).success().json();
            let file = lines.pointer("/files/0").or(lines.pointer("/matches/0/file")).unwrap();
            assert_eq!(file["path"], "wide.py", "{args:?}: {lines:#}");
        }
        let lines = client.ask("find_text", json!({ "pattern": "ünïcode" }));
        assert_eq!(lines["files"][0]["path"], "wide.py", "{lines:#}");
        assert!(lines["files"][0]["encoding"].as_str().unwrap().starts_with("UTF-"), "{lines:#}");
        assert_eq!(skipped(&repo, "binary"), 0);
    }
}

#[test]
fn uncommitted_files_and_unmarked_ones_are_decoded() {
    let repo = TestRepo::with_files(&[("plain.py", "x = 1\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("wide.py", utf16(TEXT, u16::to_le_bytes));
    repo.write("unmarked.py", &utf16("def other_marker():\n    pass\n", u16::to_le_bytes)[2..]);
    let found = repo.codeweaver(["search", "-o", "json", "unmistakable_marker"]).success().json();
    assert_eq!(
        (&found["matches"][0]["file"]["path"], &found["matches"][0]["state"]),
        (&json!("wide.py"), &json!("untracked"))
    );
    assert_eq!(repo.found(&["other_marker"])[0], "unmarked.py");
    let lines = repo.codeweaver(["search", "-o", "json", "--mode", "exact", "def other"]).success().json();
    assert_eq!(lines["files"][0]["encoding"], "UTF-16LE", "{lines:#}");
    repo.commit("all");
    repo.codeweaver(["index"]).success();
    assert_eq!(repo.found(&["unmistakable_marker"])[0], "wide.py");
    assert_eq!(repo.found(&["other_marker"])[0], "unmarked.py");
    assert_eq!(skipped(&repo, "binary"), 0);
}

#[test]
fn legacy_encodings_are_decoded_and_named() {
    let repo = TestRepo::with_files(&[("plain.py", "x = 1\n")]);
    let german = "# Größe der Datei in Bytes, für später\ndef groesse():\n    return 'Überlauf'\n";
    let latin: Vec<u8> = german.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    repo.write("latin.py", &latin).commit("latin");
    repo.codeweaver(["init", "--no-hooks"]).success();

    let found = repo.codeweaver(["search", "-o", "json", "Überlauf"]).success().json();
    assert_eq!(found["matches"][0]["file"]["path"], "latin.py", "{found:#}");
    assert!(
        found["matches"][0]["content"]["text"].as_str().unwrap().contains("Größe der Datei"),
        "{found:#}"
    );
    let lines = repo.codeweaver(["search", "-o", "json", "--mode", "exact", "Größe"]).success().json();
    let file = &lines["files"][0];
    assert_eq!((&file["path"], &file["encoding"]), (&json!("latin.py"), &json!("windows-1252")), "{lines:#}");
    let read = repo.codeweaver(["read", "-o", "json", "latin.py"]).success().json();
    assert_eq!((&read["text"], &read["encoding"]), (&json!(german), &json!("windows-1252")));

    // Uncommitted, and declared in the attributes.
    repo.write("new.py", latin.repeat(2));
    assert_eq!(
        repo.codeweaver(["search", "--mode", "exact", "Größe"]).success().stdout().matches("new.py").count(),
        1
    );
    repo.write(".gitattributes", "declared.txt working-tree-encoding=ISO-8859-15\n")
        .write("declared.txt", b"\xa4\n");
    repo.commit("declared");
    repo.codeweaver(["search", "--mode", "exact", "€"]).success().says(&["declared.txt"]);
}

#[test]
fn a_declared_encoding_gives_the_same_chunks() {
    let chunks = |attributes: &str| {
        let repo = TestRepo::with_files(&[(".gitattributes", attributes)]);
        repo.write("wide.py", utf16(TEXT, u16::to_le_bytes)).commit("wide");
        let listed = repo.codeweaver(["chunks", "--json", "wide.py"]).success().json();
        repo.codeweaver(["init", "--no-hooks"]).success();
        assert_eq!(repo.found(&["unmistakable_marker"])[0], "wide.py");
        let mut chunks = listed["chunked"]["chunks"].clone();
        for chunk in chunks.as_array_mut().unwrap() {
            // Identities follow from the blob and the time.
            for name in ["chunk_id", "parent_id", "timestamp"] {
                chunk.as_object_mut().unwrap().remove(name);
            }
        }
        chunks
    };
    assert_eq!(chunks("wide.py working-tree-encoding=UTF-16 -text\n"), chunks("# none\n"));
}

#[test]
fn the_size_limit_applies_to_both_forms() {
    let repo = TestRepo::init();
    // 1,200 bytes in UTF-16, and 1,800 in UTF-8; then the other way round.
    let (wide, narrow) = ("漢".repeat(29) + "\n", "a".repeat(29) + "\n");
    repo.write("grows.txt", utf16(&wide.repeat(20), u16::to_le_bytes));
    repo.write("shrinks.txt", utf16(&narrow.repeat(20), u16::to_le_bytes));
    repo.write("codeweaver.toml", "[policy]\nmax_blob_bytes = 1500\n").commit("sizes");
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(skipped(&repo, "too_large"), 1, "{:#}", repo.status());
}
