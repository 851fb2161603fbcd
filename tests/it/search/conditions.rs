//! Conditions in queries: words that results must not have, states of files, and text that looks like a
//! condition.

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

/// Two functions about the same, of which one mentions a mock.
fn indexed() -> TestRepo {
    let repo = TestRepo::init();
    repo.write("src/send.rs", "/// Sends a letter to a person.\npub fn send_letter(to: &str) {}\n")
        .write("src/mock.rs", "/// Sends a letter to a mock.\npub fn send_letter_mocked(to: &str) {}\n")
        .write("src/flags.rs", "/// Reads the flags `--letter` and `-mock`.\npub fn flags() {}\n")
        .commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn search(repo: &TestRepo, query: &str) -> Value {
    repo.codeweaver(["search", "--json", "--", query]).json()
}

fn paths(answer: &Value) -> Vec<&str> {
    let files = answer["matches"].as_array().or(answer["files"].as_array());
    let files = files.unwrap_or_else(|| panic!("no answer: {answer:#}"));
    files.iter().map(|found| found["file"]["path"].as_str().or(found["path"].as_str()).unwrap()).collect()
}

#[test]
fn code_and_lines_with_an_excluded_word_are_left_out() {
    let repo = indexed();

    let all = search(&repo, "send a letter");
    assert!(paths(&all).contains(&"src/send.rs") && paths(&all).contains(&"src/mock.rs"), "{all:#}");

    let without = search(&repo, "send a letter -mock");
    assert!(paths(&without).contains(&"src/send.rs"), "{without:#}");
    assert!(!paths(&without).contains(&"src/mock.rs") && !paths(&without).contains(&"src/flags.rs"));
    assert_eq!(without["warnings"], json!(["code with \"mock\" is left out (-mock)"]));
    assert_eq!(without["status"], "ok");

    // A text of several words, and another case.
    let without = search(&repo, "send a letter -\"TO A PERSON\"");
    assert!(!paths(&without).contains(&"src/send.rs") && paths(&without).contains(&"src/mock.rs"));

    // Lines: the other lines of a file stay.
    let lines = search(&repo, "\"letter\" -mock");
    // `send_letter_mocked` is another word.
    assert_eq!(lines["total_lines"], 3, "{lines:#}");
    let lines = search(&repo, "/fn send\\w+/ -send_letter_mocked");
    assert_eq!(paths(&lines), ["src/send.rs"], "{lines:#}");
}

#[test]
fn options_of_programs_are_words_of_the_query() {
    let repo = indexed();
    for query in ["flags --letter", "flags -x", "-mock"] {
        let found = search(&repo, query);
        assert!(paths(&found).contains(&"src/flags.rs"), "{query}: {found:#}");
        assert_eq!(found["warnings"], json!([]), "{query}");
    }
}

#[test]
fn an_expression_selects_code_where_lines_are_not_listed() {
    let repo = indexed();
    let run = repo.codeweaver(["search", "--json", "--mode", "keyword", "/fn send_letter\\(/"]);
    assert_eq!(paths(&run.json()), ["src/send.rs"]);
}

#[test]
fn what_is_no_condition_is_told() {
    let repo = indexed();
    let found = search(&repo, "send a letter state:lost -lang:go");
    assert_eq!(
        found["warnings"],
        json!([
            "'state:lost' is ignored: there is no such condition",
            "'-lang:go' is ignored: there is no such condition"
        ])
    );

    // In a text of several lines and in a pattern, everything is text.
    let run = repo.codeweaver(["search", "--mode", "exact", "lang:rust"]);
    assert_eq!(run.code(), 1);
}

#[test]
fn a_state_without_files_finds_nothing_and_says_so() {
    let repo = indexed();
    let found = search(&repo, "send a letter state:dirty");
    assert_eq!((&found["matches"], &found["warnings"]), (&json!([]), &json!(["no file is dirty"])));

    repo.write("src/send.rs", "/// Sends a letter at once.\npub fn send_letter(to: &str) {}\n");
    assert_eq!(paths(&search(&repo, "send a letter state:dirty")), ["src/send.rs"]);
    // With a path, both must hold.
    assert_eq!(search(&repo, "send a letter state:dirty path:src/mock.rs")["matches"], json!([]));
}
