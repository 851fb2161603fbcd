//! `doctor` in repositories where something else is wrong.

use serde_json::Value;

use codeweaver_testkit::{FILES, TestRepo};

/// The checks by name: verdict, what and fix.
fn checks(repo: &TestRepo) -> Vec<(String, [String; 3])> {
    let report = repo.codeweaver(["doctor", "--json"]).fails(1).json();
    assert_eq!(report["good"], false);
    let text = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap().iter();
    checks
        .map(|check| (text(check, "name"), ["verdict", "what", "fix"].map(|field| text(check, field))))
        .collect()
}

#[test]
fn invalid_settings_are_one_finding_among_the_others() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    let sound = repo.codeweaver(["doctor", "--json"]).success().json();
    for (file, text, said) in [
        ("codeweaver.toml", "search.limit = \"many\"\nmodell = 1\n", "search.limit"),
        ("codeweaver.toml", "[search\n", "codeweaver.toml:1"),
        ("../home/.config/codeweaver/config.toml", "search.limit = -1\n", "search.limit"),
    ] {
        repo.write(file, text);
        let found = checks(&repo);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let all: Vec<&str> =
            sound["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
        assert_eq!(names, all, "every check is there");
        let failed: Vec<_> = found.iter().filter(|(_, check)| check[0] == "fail").collect();
        let [(name, [_, what, fix])] = failed.as_slice() else { panic!("{failed:?}") };
        assert!(name == "settings" && what.contains(said) && !fix.is_empty(), "{failed:?}");
        let index = &found.iter().find(|(name, _)| name == "index").unwrap().1;
        assert!(
            index[1].contains("every file opens; whether it fits the settings is not checked"),
            "{index:?}"
        );
        repo.remove(file);
    }
    repo.codeweaver(["doctor"]).success();
}

#[test]
fn a_missing_model_is_one_finding_among_the_others() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init"]).success();
    repo.codeweaver(["config", "set", "--user", "model.path", "/no/such/model"]);
    let found = checks(&repo);
    let failed: Vec<&str> =
        found.iter().filter(|(_, check)| check[0] == "fail").map(|(name, _)| name.as_str()).collect();
    assert_eq!(failed, ["model"], "{found:?}");
    assert!(found.iter().any(|(name, check)| name == "settings" && check[0] == "ok"), "{found:?}");
    assert!(
        found.iter().any(|(name, check)| name == "index" && check[1].contains("not checked")),
        "{found:?}"
    );
}

#[test]
fn a_hook_that_is_not_ours_to_write_has_a_fix_that_helps() {
    let repo = TestRepo::with_files(FILES);
    let hook = ".git/hooks/post-commit";
    repo.write(hook, "#!/usr/bin/env python3\nprint('mine')\n").executable(hook);
    repo.codeweaver(["init"]).success();
    if repo.status()["hooks"]["method"] == "configuration" {
        return;
    }

    // Two lines of Python are needed, so the command that prints them is named.
    repo.codeweaver(["doctor"]).says(&["not installed: post-commit", "`git codeweaver init --print-hooks`"]);
    repo.codeweaver(["init", "--print-hooks"]).success().says(&["hook post-commit"]);
}
