//! `eval tune`: learned weights are written only if every guard holds, are used by searches, and can be
//! undone.

use std::fmt::Write as _;

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

/// Number of queries of [`suite`].
const N: usize = 40;

/// A repository in which the path says what a file is about, and the text of other files says it more often.
fn repo() -> TestRepo {
    let repo = TestRepo::with_files(&[("README.md", "# Sample\n")]);
    for i in 0..N {
        let word = word(i);
        repo.write(&format!("src/zone/{word}/handler.py"), "def run(value):\n    return value\n");
        let mentions: String = (0..4).fold(String::new(), |mut text, n| {
            let _ = writeln!(
                text,
                "def {word}_{n}(value):\n    \"\"\"Of {word}.\"\"\"\n    return value + {n}\n"
            );
            text
        });
        repo.write(&format!("src/misc/part{i}.py"), mentions);
    }
    repo.commit("sample");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A word of its own for each number.
fn word(i: usize) -> String {
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    format!("qu{}{}x{}", letter(i), letter(i * 7 + 3), letter(i / 26 + 11))
}

/// Queries whose answers are the files of one directory. `odd` is the category of a few that are answered by
/// the other directory.
fn suite(repo: &TestRepo, n_odd: usize) -> String {
    let lines = (0..N).map(|i| {
        let is_odd = i < n_odd;
        let path =
            if is_odd { format!("src/misc/part{i}.py") } else { format!("src/zone/{}/handler.py", word(i)) };
        let category = if is_odd { "odd" } else { "plain" };
        json!({ "query": format!("{} handling", word(i)), "category": category, "relevant": [path] })
            .to_string()
    });
    beside(repo, "suite.jsonl", &lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a file that no search finds.
fn beside(repo: &TestRepo, name: &str, text: &str) -> String {
    let path = repo.beside(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn guard<'a>(proposal: &'a Value, name: &str) -> &'a Value {
    proposal["guards"].as_array().unwrap().iter().find(|guard| guard["name"] == name).unwrap()
}

#[test]
fn a_preference_of_the_suite_is_learned_written_used_and_undone() {
    let repo = repo();
    let suite = suite(&repo, 0);
    let first = |repo: &TestRepo| {
        let answer = repo
            .codeweaver(["search", "--json", "--min-score", "0", &format!("{} handling", word(1))])
            .json();
        (answer["matches"][0]["file"]["path"].as_str().unwrap_or_default().to_owned(), answer)
    };
    assert_eq!(first(&repo).0, "src/misc/part1.py", "the built-in weights prefer the text");
    let weights = repo.root().join(".codeweaver/weights.json");

    let dry = repo.codeweaver(["eval", "tune", &suite, "--dry-run", "--json"]).success().json();
    assert!(dry["gain"]["low"].as_f64().unwrap() > 0.2, "{dry:#}");
    assert!(!weights.exists(), "a dry run writes nothing");

    let run = repo.codeweaver(["eval", "tune", &suite]);
    run.success().says(&["NDCG@10, cross-validated", "holds  gain: +", "eval tune --undo"]);
    let written = std::fs::read(&weights).unwrap();
    let (path, answer) = first(&repo);
    assert_eq!(path, format!("src/zone/{}/handler.py", word(1)));
    assert!(answer["search_strategy"].as_array().unwrap().contains(&json!("own_weights")), "{answer:#}");
    repo.codeweaver(["status"]).success().says(&["weights.json"]);

    let again = beside(&repo, "again.json", "{}");
    repo.codeweaver(["eval", "tune", &suite, "-o", &again]).success();
    assert_eq!(std::fs::read(&again).unwrap(), written, "the same suite, the same weights");

    repo.codeweaver(["eval", "tune", "--undo"]).success().says(&["the built-in weights are in use"]);
    assert!(!weights.exists());
    assert_eq!(first(&repo).0, "src/misc/part1.py");
}

#[test]
fn a_category_that_gets_worse_refuses_the_weights() {
    let repo = repo();
    let suite = suite(&repo, 8);
    let run = repo.codeweaver(["eval", "tune", &suite, "--json"]);
    run.fails(1);
    let proposal = run.json();
    assert_eq!(guard(&proposal, "category odd")["holds"], false, "{proposal:#}");
    assert_eq!(guard(&proposal, "gain")["holds"], true, "all together gain: {proposal:#}");
    assert!(!repo.root().join(".codeweaver/weights.json").exists());
}

#[test]
fn too_few_queries_are_refused() {
    let repo = repo();
    let few = beside(&repo, "few.jsonl", r#"{"query": "one", "relevant": ["README.md"]}"#);
    let run = repo.codeweaver(["eval", "tune", &few]);
    run.fails(2).says(&["too few queries", "eval mine --limit"]);
}

#[test]
fn weights_that_cannot_be_used_are_told_and_the_built_in_ones_answer() {
    let repo = repo();
    let query = ["search", "--json", "handler of a zone"];
    let before = repo.codeweaver(query).json()["matches"].clone();
    std::fs::write(repo.root().join(".codeweaver/weights.json"), "{\"path\": 2}").unwrap();
    let answer = repo.codeweaver(query).json();
    assert_eq!(answer["matches"], before);
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("missing field") && warnings.contains("eval tune --undo"), "{warnings}");
    // A file that the settings name has to be there.
    std::fs::remove_file(repo.root().join(".codeweaver/weights.json")).unwrap();
    let named = repo.env("CODEWEAVER_SEARCH_WEIGHTS", "/nonexistent/w.json");
    let warnings = named.codeweaver(query).json()["warnings"].to_string();
    assert!(warnings.contains("/nonexistent/w.json"), "{warnings}");
}
