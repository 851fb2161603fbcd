//! Terminal output: control sequences from content and names are escaped.

use codeweaver_testkit::TestRepo;

const EVIL: &str = "/// Retitles \x1b]0;owned\x07 the \u{9b}31mwindow \u{202e}backwards.\npub fn evil_function() { /* \x1b[2J */ }\n";

fn indexed() -> TestRepo {
    let repo =
        TestRepo::with_files(&[("src/evil.rs", EVIL), ("src/\x1b[31mred.rs", "pub fn evil_name() {}\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn control_sequences_in_content_and_names_are_escaped() {
    let repo = indexed();
    for args in [
        &["search", "evil_function"][..],
        &["search", "evil_name"],
        &["search", "-o", "markdown", "evil_function"],
        &["search", "-o", "json", "evil_function"],
        &["similar", "src/evil.rs:2"],
        &["outline", "src/evil.rs"],
        &["outline", "-o", "json", "src/evil.rs"],
        &["read", "src/evil.rs"],
        &["read", "-o", "markdown", "src/evil.rs"],
        &["chunks", "src/evil.rs"],
        &["chunks", "--stats", "--sample"],
        &["status", "--files"],
        &["search", "--rev", "\x1b[31mevil", "x"],
        &["outline", "no\x1b[31msuch"],
        &["config", "get", "a\x1b[31mb"],
    ] {
        let run = repo.codeweaver(args);
        for text in [run.stdout(), run.stderr()] {
            let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(is_bad), "{}", run.explain());
        }
    }
    let run = repo.codeweaver(["search", "-o", "json", "evil_function"]);
    assert!(
        run.json()["matches"][0]["content"]["text"].as_str().unwrap().contains("\x1b]0;owned\x07"),
        "JSON is lossless"
    );
}

#[test]
fn colours_and_links_come_from_the_program_only() {
    let repo = indexed();
    let text =
        repo.codeweaver(["search", "--color", "always", "-l", "1", "evil_function"]).success().stdout();
    assert!(text.contains("\x1b]8;;file:///") && text.contains("src/evil.rs#L2\x1b\\"), "{text:?}");
    assert!(!text.contains("\x1b]0;") && !text.contains("\x1b[2J") && !text.contains('\u{9b}'), "{text:?}");
    let text = repo.codeweaver(["search", "--color", "never", "evil_function"]).success().stdout();
    assert!(!text.contains('\x1b'));
}

#[test]
fn logs_are_json_with_documented_fields() {
    let repo = indexed().env("CODEWEAVER_LOG", "info").env("CODEWEAVER_LOG_FORMAT", "json");
    let run = repo.codeweaver(["search", "--rev", "nonsense", "x"]);
    let records: Vec<serde_json::Value> =
        run.stderr().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last = records.last().unwrap_or_else(|| panic!("{}", run.explain()));
    assert_eq!(
        (&last["level"], &last["component"], &last["operation"]),
        (&"info".into(), &"cli".into(), &"search".into())
    );
    assert_eq!(last["codebase_root"], repo.root().to_str().unwrap());
    assert!(last["duration_ms"].is_u64() && last["error"].as_str().unwrap().contains("nonsense"), "{last}");
    assert_eq!(last["request_id"].as_str().unwrap().len(), 36);
    assert!(last["timestamp"].as_str().unwrap().ends_with('Z'));
}
