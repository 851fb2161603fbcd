//! What a query names and the index lacks is said: names with the nearest that exist, languages, files and
//! directories.

use serde_json::Value;

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

fn repo() -> TestRepo {
    let repo = TestRepo::with_files(&[
        (
            "src/render.py",
            "def render_template(name):\n    \"\"\"Renders the template of a page.\"\"\"\n    return name\n",
        ),
        (
            "src/page.py",
            "def render_template_string(text):\n    \"\"\"Renders a page from text.\"\"\"\n    return text\n",
        ),
        (
            "src/session.py",
            "class Session:\n    \"\"\"The session of a user.\"\"\"\n\n    def load(self):\n        return {}\n",
        ),
        ("src/bundle.js", &format!("/* x */\n{}function zapWidgetAll(){{}}", "var a=1;".repeat(2_000))),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn a_name_in_a_file_that_is_left_out_is_not_nowhere() {
    let repo = repo();
    let note = "`zapWidgetAll` is only in 1 file that the index leaves out: src/bundle.js";
    for query in ["zapWidgetAll", "zapwidgetall", "where does zapWidgetAll render the template of a page"] {
        let answer: Value = repo.codeweaver(["search", "--json", query]).json();
        let note = note.replace("zapWidgetAll", if query == "zapwidgetall" { query } else { "zapWidgetAll" });
        assert!(answer["warnings"].to_string().contains(&note), "{query}: {answer:#}");
        assert!(answer["absent_words"].is_null(), "{query}: {answer:#}");
        assert!(!answer["summary"].to_string().contains("nowhere"), "{query}: {answer:#}");
    }
}

#[test]
fn a_name_that_is_nowhere_is_told_with_the_nearest_names() {
    let repo = repo();
    let alone = repo.codeweaver(["search", "rendr_templte_strng"]);
    alone
        .fails(1)
        .says(&["nowhere in it: rendr_templte_strng", "the nearest names to rendr_templte_strng are"]);
    assert!(alone.stdout().contains("render_template_string"), "{}", alone.explain());

    let answer =
        repo.codeweaver(["search", "--json", "how does render_templat_strin render the template of a page"]);
    let answer = answer.success().json();
    assert!(!answer["matches"].as_array().unwrap().is_empty());
    let warnings = answer["warnings"].to_string();
    assert!(
        warnings.contains(
            "`render_templat_strin` is nowhere in what is indexed; the nearest names are render_template"
        ),
        "{warnings}"
    );
    assert_eq!(answer["status"], "ok", "the answer is complete");

    let none = repo.codeweaver(["search", "nonexistent_function_xyz"]);
    none.fails(1);
    assert!(!none.stdout().contains("nearest names"), "{}", none.explain());
}

#[test]
fn languages_files_and_directories_that_are_missing_are_told_with_results() {
    let repo = repo();
    for (query, note) in [
        ("session of a user in kotlin", "no indexed file is written in kotlin"),
        ("session of a user in src/missing/user.py", "no indexed file is at src/missing/user.py"),
        ("session of a user below lib/auth/", "no indexed file is below lib/auth/"),
        ("session of a user under lib/auth", "no indexed file is below lib/auth/"),
        ("load the session of a user in Go", "no indexed file is written in go"),
        ("C# session of a user", "no indexed file is written in csharp"),
    ] {
        let answer = repo.codeweaver(["search", "--json", query]).success().json();
        assert!(!answer["matches"].as_array().unwrap().is_empty(), "{query}");
        assert!(answer["warnings"].to_string().contains(note), "{query}: {}", answer["warnings"]);
    }
    for query in [
        "session of a user in python",
        "session of a user in src/session.py",
        "session in src/",
        "load basic session of self",
        "clean processing of a user session",
    ] {
        let answer = repo.codeweaver(["search", "--json", query]).success().json();
        assert_eq!(answer["warnings"].to_string(), "[]", "{query}");
    }
}

#[test]
fn a_misspelt_path_is_told_with_the_nearest() {
    let repo = repo();
    let said = "(did you mean src/render.py?)";
    for args in [
        &["read", "src/rendr.py"][..],
        &["read", "src/rendr.py:3-5"],
        &["read", "--rev", "HEAD", "src/rendr.py"],
        &["outline", "src/rendr.py"],
        &["outline", "src/rendr.py:3"],
    ] {
        repo.codeweaver(args).fails(2).says(&[said]);
    }

    let mut client = McpClient::start(&repo);
    let text = client.text("read_code", serde_json::json!({ "places": ["src/rendr.py", "src/session.py"] }));
    assert!(text.contains(said), "{text}");
    let outline = client.call_plainly("file_outline", serde_json::json!({ "file": "src/rendr.py" }));
    assert!(outline["content"].to_string().contains(said), "{outline:#}");

    // What is there is not suggested in place of itself.
    assert!(!repo.codeweaver(["read", "src/render.py:99999"]).stderr().contains("did you mean"));
    assert!(!repo.codeweaver(["read", "NoSuchName"]).stderr().contains("did you mean"));
}

#[test]
fn a_submodule_is_named_where_something_is_not_found() {
    let inner = TestRepo::with_files(&[("src/session.py", "def open_session():\n    pass\n")]);
    let repo = TestRepo::with_files(&[("app.py", "def run():\n    return 1\n")]);
    let url = inner.root().to_str().unwrap();
    repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]).commit("sub");
    repo.codeweaver(["init", "--no-hooks"]).success();

    let note = "1 submodule (sub) is not part of this index; search it with `git -C sub codeweaver search`";
    for args in [
        &["search", "open_session"][..],
        &["search", "\"open_session\""],
        &["search", "--mode", "regex", "open_s.*"],
        &["graph", "callers", "open_session"],
    ] {
        repo.codeweaver(args).fails(1).says(&[note]);
    }
    let answer: Value = repo.codeweaver(["search", "--json", "how does open_session run"]).json();
    assert!(answer["warnings"].to_string().contains(note), "{answer:#}");

    let mut client = McpClient::start(&repo);
    for (tool, arguments) in [
        ("find_code", serde_json::json!({ "query": "open_session" })),
        ("find_text", serde_json::json!({ "pattern": "open_session" })),
        ("find_symbol", serde_json::json!({ "symbol": "open_session" })),
        ("call_graph", serde_json::json!({ "symbol": "open_session" })),
    ] {
        let text = client.text(tool, arguments);
        assert_eq!(text.matches(note).count(), 1, "{tool}: {text}");
    }

    // What is found needs no such note.
    assert!(!repo.codeweaver(["search", "run"]).success().stdout().contains("submodule"));
    repo.codeweaver(["search", "\"def run\""]).success();
}
