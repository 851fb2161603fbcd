//! The program without a command: the state that it finds, and the next sensible step.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use codeweaver_index::updater;
use codeweaver_testkit::{FILES, Run, TestRepo, Tool, copy_program, program, skip};

use crate::support::sandbox::open;

/// The greeting in `repo`, which is short and no error.
#[track_caller]
fn greeting(repo: &TestRepo) -> String {
    let run = repo.codeweaver([] as [&str; 0]);
    run.success();
    assert_eq!(run.stderr(), "", "{}", run.explain());
    checked(run.stdout())
}

#[track_caller]
fn checked(text: String) -> String {
    assert!(text.lines().count() <= 8, "{text}");
    assert!(text.ends_with("\n\n`git codeweaver -h` lists all commands.\n"), "{text}");
    text
}

/// The rows of a greeting from that of the next step on, without purposes.
fn next(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|row| !row.starts_with("Next"));
    let steps = rows.take_while(|row| !row.is_empty()).map(|row| row.trim_start_matches("Next").trim());
    steps.map(|step| step.split("  ").next().unwrap_or_default()).collect()
}

const SEARCH: &str = "git codeweaver search \"your query\"";

#[test]
fn the_next_step_follows_from_the_state() {
    let dir = TestRepo::empty_dir();
    let text = greeting(&dir);
    assert!(text.contains(&format!("{} is not in a git repository", dir.root().display())), "{text}");
    assert_eq!(next(&text), ["cd DIRECTORY", "git init"]);

    let repo = TestRepo::with_files(FILES);
    let text = greeting(&repo);
    assert!(text.contains("\nState     not indexed; run `git codeweaver init`\n"), "{text}");
    assert_eq!(next(&text), ["git codeweaver init"]);

    repo.codeweaver(["init", "--no-index"]).success();
    assert_eq!(next(&greeting(&repo)), ["git codeweaver index"]);

    repo.codeweaver(["index"]).success();
    let text = greeting(&repo);
    assert!(text.contains("\nState     indexed, current\nNext"), "{text}");
    assert_eq!(next(&text), [SEARCH]);

    repo.codeweaver(["deinit", "--keep-index"]).success();
    let text = greeting(&repo);
    assert!(text.contains("\nHooks     not installed ("), "{text}");
    assert_eq!(next(&text), ["git codeweaver init", SEARCH]);

    repo.codeweaver(["init"]).success();
    repo.codeweaver(["config", "set", "chunker.target_tokens", "300"]).success();
    assert_eq!(next(&greeting(&repo)), ["git codeweaver index", SEARCH]);

    repo.write("codeweaver.toml", "[serch]\n");
    let text = greeting(&repo);
    assert!(text.contains("State     the settings are not valid"), "{text}");
}

#[test]
fn a_running_index_is_reported_with_its_progress() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-index"]).success();
    let codebase = open(repo.root());
    let _run = updater::lease(&codebase).unwrap();

    let text = greeting(&repo);
    assert!(text.contains("\nState     indexing\n"), "{text}");
    assert_eq!(next(&text), ["git codeweaver status"]);
}

#[test]
fn a_catalogue_without_members_asks_for_some() {
    let dir = TestRepo::empty_dir();
    dir.codeweaver(["catalogue", "init", "all.git"]).success();
    assert_eq!(next(&greeting(&dir.at("all.git"))), ["git codeweaver catalogue add --recursive DIR"]);
}

#[test]
fn the_greeting_is_about_the_named_project_and_equal_on_a_terminal() {
    let repo = TestRepo::with_files(FILES);
    let dir = TestRepo::empty_dir();
    let named = dir.codeweaver(["--project", repo.root().to_str().unwrap()]).success().stdout();
    assert_eq!(named, greeting(&repo));
    dir.codeweaver(["--project", "."]).fails(2).is_an_error("is not in a git repository", "git init");

    let Some(script) = Tool::SCRIPT.find() else { return };
    let line = format!("'{}' --color never --no-pager", program().display());
    let mut script = repo.command(script);
    script.args(["-qec", &line, "/dev/null"]).env("COLUMNS", "120").stdin(Stdio::null());
    let shown = Run::new(&mut script).success().stdout();
    assert_eq!(shown.replace("\r\n", "\n"), greeting(&repo));
}

#[test]
fn help_is_that_of_all_commands() {
    let dir = TestRepo::empty_dir();
    let help = dir.codeweaver(["-h"]).success().stdout();
    assert!(help.contains("\nUsage: git codeweaver [OPTIONS] <COMMAND>\n"), "{help}");
    dir.codeweaver(["nosuch"]).fails(2).is_an_error("there is no command 'nosuch'", "shows the usage");
    dir.codeweaver(["graph"]).fails(2);
}

/// Nothing is advised that this user cannot do.
#[test]
fn the_owner_of_a_repository_is_asked_where_nothing_can_be_written() {
    let repo = TestRepo::with_files(FILES)
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    let above = repo.root().parent().unwrap().to_owned();
    let other_program = above.join("git-codeweaver");
    copy_program(&other_program);
    if chown(&other_program, Some(65534), Some(65534)).is_err() {
        skip("the right to become another user (root)");
        return;
    }
    std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o755)).unwrap();

    let other = || {
        let run = Run::new(repo.command(&other_program).uid(65534).gid(65534));
        checked(run.success().stdout())
    };
    let text = other();
    assert!(text.contains(". cannot be written by this user"), "{text}");
    assert_eq!(next(&text), ["ask the owner to run `git codeweaver init`"]);

    // What there is can be searched.
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut chmod = repo.command("chmod");
    Run::new(chmod.args(["-R", "a+rX", ".codeweaver", ".git"])).success();
    let text = other();
    assert!(text.contains(".codeweaver cannot be written by this user"), "{text}");
    assert_eq!(next(&text), [SEARCH]);
}
