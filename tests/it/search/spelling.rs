//! Queries with typing errors, and in British spelling about American names.

use codeweaver_testkit::TestRepo;

const TOKENS: &str = "def tokenize_source(text):
    \"\"\"Splits the source into tokens, one at a time.\"\"\"
    return text.split()
";
const PHYSICS: &str = "def detect_collision(first, second):
    \"\"\"Whether the boxes of two bodies overlap.\"\"\"
    return first.box.overlaps(second.box)
";
const LAUNCHER: &str = "def launch(command):
    \"\"\"Starts the command and waits for its end.\"\"\"
    return run(command)
";

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/tokens.py", TOKENS),
        ("src/physics.py", PHYSICS),
        ("src/mod_launcher.py", LAUNCHER),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn words_are_found_in_the_spelling_of_the_index() {
    let repo = indexed();
    for (query, path, note) in [
        ("tokenise the source", "src/tokens.py", "`tokenise` is searched for as `tokenize`"),
        ("detect a colliison", "src/physics.py", "`colliison` is searched for as `collision`"),
        ("detect a collission", "src/physics.py", "`collission` is searched for as `collision`"),
        ("start a comand", "src/mod_launcher.py", "`comand` is searched for as `command`"),
    ] {
        let answer = repo.codeweaver(["search", "-o", "json", query]).success().json();
        assert_eq!(answer["matches"][0]["file"]["path"], path, "{query}: {answer:#}");
        assert!(answer["warnings"].to_string().contains(note), "{query}: {}", answer["warnings"]);
        assert_eq!(answer["status"], "ok", "{query}: a note is no fault");
        assert!(answer["search_strategy"].to_string().contains("respelt_words"), "{query}");
    }
}

#[test]
fn words_that_are_indexed_names_and_other_words_are_left_as_they_are() {
    let repo = indexed();
    for query in
        ["detect_colliison", "collusion detective agency", "orchestra rehearsal", "detect a collision"]
    {
        let run = repo.codeweaver(["search", "-o", "json", query]);
        assert!(!run.stdout().contains("respelt_words"), "{query}: {}", run.explain());
    }
}

#[test]
fn a_name_that_only_a_path_has_is_not_absent() {
    let repo = indexed();
    let answer = repo.codeweaver(["search", "-o", "json", "mod_launcher"]).success().json();
    assert_eq!(answer["matches"][0]["file"]["path"], "src/mod_launcher.py", "{answer:#}");
    assert_eq!(answer["absent_words"], serde_json::Value::Null, "{answer:#}");
}

#[test]
fn what_the_relevance_follows_from_is_explained() {
    let repo = indexed();
    let none = repo.codeweaver(["search", "-o", "json", "detect a collision"]).success().json();
    let explained =
        repo.codeweaver(["search", "-o", "json", "--explain", "detect a collision"]).success().json();
    let evidence = &explained["matches"][0]["evidence"];
    assert!(evidence["cosine"].as_f64().is_some_and(|cosine| cosine > 0.0), "{evidence:#}");
    assert_eq!(evidence["absent"], 0.0, "{evidence:#}");
    assert!(none["matches"][0]["evidence"].is_null(), "{none:#}");
}
