//! Error messages: what failed, why, and how to fix it.

use codeweaver_testkit::{FILES, TestRepo, skip};

#[test]
fn not_a_repository() {
    let dir = TestRepo::empty_dir();
    for args in [&["init"][..], &["index"], &["search", "x"], &["status"], &["doctor"]] {
        dir.codeweaver(args)
            .fails(2)
            .is_an_error("is not in a git repository", "git init, or name a repository with --project");
    }
    dir.codeweaver(["-p", "/nonexistent", "status"])
        .fails(2)
        .is_an_error("is not a directory", "check the path");
    dir.codeweaver(["config", "--show"]).success().says(&["search.limit"]);
}

#[test]
fn every_command_accepts_another_project() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let dir = TestRepo::empty_dir();
    let root = repo.root().to_str().unwrap();
    for args in [
        &["status", "-p", root][..],
        &["-p", root, "status"],
        &["search", "parse", "--project", root],
        &["verify", "-p", root],
    ] {
        dir.codeweaver(args).success();
    }
}

#[test]
fn unborn_branch_and_detached_head_are_no_errors() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.git(["checkout", "-q", "--orphan", "empty"]).git(["rm", "-rqf", "."]);
    repo.codeweaver(["index"]).success().says(&["No files discovered in"]);
    let status = repo.status();
    assert_eq!(
        (&status["head"]["commit"], &status["current"]),
        (&serde_json::Value::Null, &true.into()),
        "{status:#}"
    );
    repo.codeweaver(["search", "parse_header"]).fails(1);
    repo.git(["checkout", "-q", "--detach", "main"]);
    repo.codeweaver(["index"]).success();
    assert_eq!(repo.status()["head"]["reference"], serde_json::Value::Null);
    repo.codeweaver(["status"]).success().says(&["(detached)"]);
    assert_eq!(repo.found(&["--no-tests", "parse_header"])[0], "src/parse.rs");
}

#[test]
fn unknown_revisions_name_a_near_one() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    for args in
        [&["search", "--rev", "mian", "x"][..], &["index", "mian"], &["read", "--rev", "mian", "README.md"]]
    {
        let run = repo.codeweaver(args);
        run.fails(2).is_an_error("'mian' does not name a commit or tree", "git rev-parse");
        assert!(run.stderr().contains("main"), "{}", run.explain());
    }
}

#[test]
fn settings_are_checked_with_line_and_suggestion() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["config", "get", "serch.limit"])
        .fails(2)
        .is_an_error("settings are not valid", "search.limit");
    repo.codeweaver(["config", "set", "search.limit", "0"]).fails(2);
    repo.codeweaver(["config", "set", "model.path", "/x"])
        .fails(2)
        .is_an_error("cannot be set for a repository", "--user");
    assert!(!repo.path("codeweaver.toml").exists());
    repo.codeweaver(["config", "set", "search.limit", "3"]).success();
    assert_eq!(repo.codeweaver(["config", "get", "search.limit"]).success().stdout(), "3\n");
    repo.codeweaver(["config"]).success().says(&["search.limit = 3", "codeweaver.toml:"]);
    repo.write("codeweaver.toml", "[search]\nlimit = 3\n\n[serch]\nlimit = 4\n");
    let run = repo.codeweaver(["status"]);
    run.fails(2).is_an_error("settings are not valid", "search");
    assert!(run.stderr().contains("codeweaver.toml:4"), "{}", run.explain());
}

#[test]
fn a_read_only_directory() {
    let repo = TestRepo::with_files(FILES);
    use std::os::unix::fs::PermissionsExt as _;
    let set = |mode| std::fs::set_permissions(repo.root(), std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    let is_enforced = std::fs::write(repo.path("probe"), "").is_err();
    if is_enforced {
        repo.codeweaver(["init"]).fails(2).is_an_error("cannot create", "permissions");
    } else {
        skip("a user who may not write everywhere (not root)");
    }
    set(0o755);
}

#[test]
fn a_store_that_cannot_be_created_is_an_error() {
    // Permissions do not stop root; a file in the way does.
    let repo = TestRepo::with_files(FILES);
    repo.write(".git/info/exclude", ".codeweaver\n").write(".codeweaver", "a file\n");
    repo.codeweaver(["init"]).fails(2).is_an_error("must not be used", "git codeweaver init");
}

#[test]
fn settings_of_a_model_that_is_not_here_leave_the_words() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.codeweaver(["config", "set", "--user", "model.name", "bge-small-en-v1.5"]).success();
    let run = repo.codeweaver(["search", "parse_header"]);
    run.success().says(&["using sparse search only", "src/parse.rs"]);
    let run = repo.codeweaver(["index"]);
    run.fails(2);
    assert!(run.stderr().contains("fix:"), "{}", run.explain());
    repo.codeweaver(["config", "unset", "--user", "model.name"]).success();
    repo.codeweaver(["search", "parse_header"]).success();
}

#[test]
fn changed_settings_are_taken_up() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.codeweaver(["config", "set", "policy.exclude", "src/**"]).success();
    repo.codeweaver(["index"]).success();
    let status = repo.codeweaver(["status", "--files", "--json"]).success().json();
    assert_eq!(status["skipped"]["excluded"], 2, "{status:#}");
    let paths: Vec<_> =
        status["skipped_files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["src/parse.rs", "src/retry.py"]);
    assert!(!repo.found(&["parse_header"]).contains(&"src/parse.rs".to_owned()));
}

#[test]
fn every_command_with_json_reports_its_error_as_json() {
    let repo = TestRepo::with_files(FILES);
    let check = |args: &[&str]| {
        let run = repo.codeweaver(args);
        run.fails(2);
        let lines = run.stdout();
        let told: serde_json::Value =
            serde_json::from_str(&lines).unwrap_or_else(|e| panic!("{e}: {}", run.explain()));
        if told["status"] == "not_indexed" {
            assert!(!told["hints"]["fix"].as_str().unwrap().is_empty(), "{told:#}");
        } else {
            assert_eq!((&told["event"], &told["exit_code"]), (&"error".into(), &2.into()), "{told:#}");
            for part in ["what", "why", "fix"] {
                assert!(
                    run.stderr().contains(told[part].as_str().unwrap().lines().next().unwrap()),
                    "{told:#}"
                );
            }
        }
    };
    for args in [
        &["search", "--json", "x"][..],
        &["similar", "--json", "src/parse.rs:1"],
        &["graph", "callers", "--json", "x"],
        &["outline", "-o", "json", "src/parse.rs"],
        &["verify", "--json"],
        &["gc", "--json"],
    ] {
        check(args);
    }
    repo.codeweaver(["init", "--no-hooks"]).success();
    for args in [
        &["index", "nosuch", "--json"][..],
        &["index", "--background", "--json", "nosuch"],
        &["search", "--json", "--rev", "nosuch", "x"],
        &["search", "-o", "json", "--kind", "nosuch", "x"],
        &["search", "--json", " "],
        &["similar", "--json", "nosuch"],
        &["similar", "--json", "nosuch:1"],
        &["graph", "callers", "--depth", "9", "--json", "x"],
        &["outline", "--json", "nosuch"],
        &["read", "--json", "nosuch"],
        &["chunks", "--json", "nosuch"],
        &["chunks", "--stats", "--json", "nosuch"],
        &["eval", "run", "--json", "nosuch.json"],
        &["-p", "/nonexistent", "status", "--json"],
    ] {
        check(args);
    }
    repo.write("codeweaver.toml", "serch = 1\n");
    for args in [&["status", "--json"][..], &["config", "--json"], &["verify", "--json"]] {
        check(args);
    }
    // A table has no object beside it.
    let run = repo.codeweaver(["status"]);
    assert_eq!(run.fails(2).stdout(), "");
}

#[test]
fn unknown_languages_and_kinds_are_errors() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    for args in [&["search", "x"][..], &["similar", "src/parse.rs:2"]] {
        let with = |more: &[&str]| repo.codeweaver([args, more].concat());
        with(&["--kind", "functoin"]).fails(2).is_an_error("no kind 'functoin'", "did you mean `function`?");
        with(&["--kind", "xyzzy"]).fails(2).is_an_error("no kind 'xyzzy'", "DEFINITION_TYPE");
        with(&["--lang", "pyhton"]).fails(2).is_an_error("no language 'pyhton'", "did you mean `python`?");
        // A language that this repository does not have is a question like any other.
        with(&["--lang", "cobol"]).fails(1);
    }
    let mut client = crate::support::mcp_client::McpClient::start(&repo);
    for (tool, arguments) in [
        ("find_code", serde_json::json!({ "query": "x", "focus_languages": ["pyhton"] })),
        (
            "find_similar",
            serde_json::json!({ "file": "src/parse.rs", "line": 2, "focus_languages": ["pyhton"] }),
        ),
    ] {
        let refused = client.refused(tool, arguments);
        assert!(refused.contains("did you mean `python`?"), "{refused}");
    }
}

#[test]
fn verify_without_an_index_is_not_good() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["verify"]).fails(2).is_an_error("not indexed", "git codeweaver init");
    repo.codeweaver(["init", "--no-hooks", "--no-index"]).success();
    repo.codeweaver(["verify"]).fails(2).is_an_error("not indexed", "git codeweaver index");
    repo.codeweaver(["index"]).success();
    repo.codeweaver(["verify"]).success().says(&["good:"]);
}

#[test]
fn what_cannot_be_read_is_counted() {
    let repo = TestRepo::with_files(FILES);
    let oid = repo.git_text(["rev-parse", "HEAD:src/parse.rs"]);
    let object = repo.path(&format!(".git/objects/{}/{}", &oid[..2], oid[2..].trim()));
    let bytes = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, b"damaged").unwrap();
    // A damaged blob costs the files that have it and no others.
    repo.codeweaver(["init", "--no-hooks"]).success().says(&["1 file left out because of errors"]);
    // So does a blob that is not there.
    std::fs::remove_file(&object).unwrap();
    let run = repo.codeweaver(["index", "--reindex", "--json"]);
    assert_eq!(run.success().json()["errors"], 1, "{}", run.explain());
    std::fs::write(&object, bytes).unwrap();
}
