//! Settings files as their users meet them.

use codeweaver_testkit::{FILES, TestRepo};

#[test]
fn yaml_settings_are_read_as_toml_is() {
    let repo = TestRepo::with_files(FILES);
    let config = |args: &[&str]| repo.codeweaver([&["config"], args].concat());
    repo.write("codeweaver.yaml", "# ours\nsearch:\n  limit: 3\nmodel:\n  path: /evil\n");
    assert_eq!(config(&["get", "search.limit"]).success().stdout(), "3\n");
    let shown = config(&["--show"]);
    shown.success().says(&[
        "search.limit = 3",
        "codeweaver.yaml:3",
        "`model.path` is ignored",
        "model.path = unset",
    ]);
    repo.codeweaver(["doctor"]).says(&["codeweaver.yaml:5: `model.path` is ignored"]);
    repo.write("codeweaver.yaml", "search:\n  limit: 3\n  limti: 4\n");
    for args in [&["status"][..], &["search", "x"], &["config", "--show"]] {
        repo.codeweaver(args).fails(2).is_an_error("settings are not valid", "did you mean `limit`?");
    }
    repo.codeweaver(["status"]).says(&["codeweaver.yaml:3:3: unknown key `search.limti`"]);
}

#[test]
fn yaml_settings_are_not_edited() {
    let repo = TestRepo::with_files(FILES);
    let config = |args: &[&str]| repo.codeweaver([&["config"], args].concat());
    let text = "search:\n  limit: 3 # three\n";
    repo.write("codeweaver.yml", text);
    let refused = config(&["set", "policy.exclude", "vendor/**,dist/**"]);
    refused.fails(2).is_an_error("codeweaver.yml is not edited", "write there");
    refused.says(&["policy:\n", "exclude: [\"vendor/**\",\"dist/**\"]"]);
    config(&["unset", "search.limit"]).fails(2).is_an_error("is not edited", "remove `search.limit` there");
    config(&["unset", "search.min_score"]).success();
    assert_eq!(repo.read("codeweaver.yml"), text);
    assert!(!repo.path("codeweaver.toml").exists());
    // The file of the user is another one.
    config(&["set", "--user", "search.timeout_ms", "900"]).success();
    assert_eq!(config(&["get", "search.timeout_ms"]).success().stdout(), "900\n");
}

#[test]
fn two_settings_files_of_a_kind_are_an_error() {
    let repo = TestRepo::with_files(FILES);
    repo.write("codeweaver.yaml", "search: { limit: 3 }\n").write("codeweaver.toml", "search.limit = 4\n");
    for args in [&["status"][..], &["search", "x"], &["config", "set", "search.limit", "5"]] {
        let run = repo.codeweaver(args);
        run.fails(2).is_an_error("settings cannot be read", "and remove it");
        run.says(&["codeweaver.toml and ", "codeweaver.yaml are there"]);
    }
    assert_eq!(repo.read("codeweaver.toml"), "search.limit = 4\n");
}

#[test]
fn unset_leaves_the_file_as_it_was_before_set() {
    let repo = TestRepo::with_files(FILES);
    let before = "# ours\n[index]\nthreads = 2\n";
    repo.write("codeweaver.toml", before);
    for key in ["search.limit", "chunker.markdown.overlap", "policy.file_extensions.inc"] {
        let value = if key.ends_with("inc") { "php" } else { "20" };
        repo.codeweaver(["config", "set", key, value]).success();
        assert_ne!(repo.read("codeweaver.toml"), before);
        repo.codeweaver(["config", "unset", key]).success();
        assert_eq!(repo.read("codeweaver.toml"), before, "{key}");
    }
}

#[test]
fn changed_settings_are_not_told_as_commits_behind() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(repo.status()["settings_changed"], false);
    repo.codeweaver(["config", "set", "policy.exclude", "src/**"]).success();
    let status = repo.status();
    assert_eq!(
        (&status["current"], &status["settings_changed"]),
        (&false.into(), &true.into()),
        "{status:#}"
    );
    assert_eq!(status["lag"], serde_json::json!({ "behind": false, "commits": 0 }));
    let run = repo.codeweaver(["status"]);
    run.success().says(&["indexed with other settings; `git codeweaver index` applies"]);
    assert!(!run.stdout().contains("behind"), "{}", run.explain());
    let mut client = crate::support::mcp_client::McpClient::start(&repo);
    let told = client.ask("manage_index", serde_json::json!({ "action": "status" }));
    assert!(told["message"].as_str().unwrap().starts_with("indexed with other settings"), "{told:#}");
    // Both at once.
    repo.write("more.rs", "pub fn more() {}\n").commit("more");
    repo.codeweaver(["status"]).says(&["behind HEAD and with other settings", "1 commit behind"]);
    repo.codeweaver(["index", "--quiet"]).success();
    let status = repo.status();
    assert_eq!(
        (&status["current"], &status["settings_changed"]),
        (&true.into(), &false.into()),
        "{status:#}"
    );
}

#[test]
fn a_language_in_settings_that_no_file_has_is_a_warning() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver([
        "config",
        "set",
        "chunker.force_delimiter_for_languages",
        "rust,Python,quenya,markdown",
    ])
    .success();
    let run = repo.codeweaver(["status"]);
    run.success().says(&[
        "no effect for 'Python': the language is called `python`",
        "'quenya': there is no such",
        "'markdown': documents are always split at their headings",
    ]);
    assert!(!run.stderr().contains("'rust'"), "{}", run.explain());
}

#[test]
fn custom_delimiters_make_a_language_known() {
    let story = |name: &str| format!("saga {name}\n  told once\n  told twice\nselah\n\n");
    let text = ["olwe", "elwe"].map(story).concat().repeat(200);
    let repo = TestRepo::with_files(&[("a.qya", text.as_str()), ("b.rs", "fn main() {}\n")]);
    let delimiters = "[[chunker.custom_delimiters.quenya]]\nstarts = [\"saga\"]\nends = [\"selah\"]\nkind = \"function\"\n";
    repo.write("codeweaver.toml", delimiters);
    repo.codeweaver(["status"]).success().says(&["config set policy.file_extensions.EXT quenya"]);

    repo.codeweaver(["config", "set", "policy.file_extensions.qya", "quenya"]).success();
    let status = repo.codeweaver(["status"]);
    assert!(!status.stderr().contains("quenya"), "{}", status.explain());

    let listed = repo.codeweaver(["chunks", "--json", "a.qya"]).success().json();
    assert_eq!(listed["language"], "quenya");
    let chunks = listed["chunked"]["chunks"].as_array().unwrap();
    assert!(chunks.len() > 1, "{listed:#}");
    for chunk in chunks {
        assert_eq!(chunk["source"], "delimiter", "{chunk:#}");
        let start = chunk["byte_range"]["start"].as_u64().unwrap() as usize;
        assert!(text[start..].starts_with("saga"), "{chunk:#}");
    }

    repo.codeweaver(["init", "--no-hooks"]).success();
    let found = repo.codeweaver(["search", "-o", "json", "--lang", "quenya", "told twice"]).success().json();
    assert_eq!(found["matches"][0]["file"]["language"], "quenya", "{found:#}");

    let wrong = delimiters.replace("quenya", "\"a/b\"");
    repo.write("codeweaver.toml", wrong);
    repo.codeweaver(["status"]).says(&["this cannot be the name of a language"]);
}
