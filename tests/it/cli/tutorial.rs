//! The tutorial: its commands, one after the other in a shell, print what the page shows.

use std::os::unix::fs::PermissionsExt as _;

use codeweaver_testkit::{Run, TestRepo, copy_program};

use crate::support::fixtures::{copy, here};

const CLONED: &str = "https://github.com/git-codeweaver/git-codeweaver";
/// The program under test is on the path instead.
const NOT_RUN: &str = "cargo install ";

/// A command of the page, and the output below it.
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_console = false;
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), in_console) {
            (Some(info), _) => in_console = info == "console",
            (None, true) => match line.strip_prefix("$ ") {
                Some(command) => {
                    steps.push(Step { line: at + 1, command: command.to_owned(), shown: Vec::new() })
                }
                None => steps.last_mut().unwrap().shown.push(line.to_owned()),
            },
            (None, false) => {}
        }
    }
    steps
}

/// The first line of `shown` that `printed` does not have at its place. A line `…` stands for any number of
/// lines, and `…` in a line for any text.
fn first_difference<'a>(shown: &'a [String], printed: &str) -> Option<&'a str> {
    let mut printed = printed.trim_end().lines();
    let mut may_skip = false;
    for line in shown {
        if line == "…" {
            may_skip = true;
            continue;
        }
        let is_there = match std::mem::take(&mut may_skip) {
            true => printed.any(|other| is_like(line, other)),
            false => printed.next().is_some_and(|other| is_like(line, other)),
        };
        if !is_there {
            return Some(line);
        }
    }
    (!may_skip && printed.next().is_some()).then_some("(the end)")
}

fn is_like(shown: &str, printed: &str) -> bool {
    let Some((start, rest)) = shown.split_once('…') else { return shown == printed };
    let Some(mut left) = printed.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('…').unwrap_or(("", rest));
    for part in middle.split('…') {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(end)
}

/// A directory in which the address of the page leads to a repository with the shop, and a shell finds the
/// program.
fn desk(origin: &TestRepo) -> TestRepo {
    copy(origin, &here("fixtures/shop"), "fixtures/shop");
    origin.commit("first");

    let desk = TestRepo::empty_dir();
    let bin = desk.beside("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o755)).unwrap();
    copy_program(&bin.join("git-codeweaver"));

    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // Not `git config --global`, which would replace /dev/null, the file of other tests.
    let config = desk.beside("gitconfig");
    let there = origin.root().display();
    std::fs::write(&config, format!("[url \"{there}\"]\n\tinsteadOf = {CLONED}\n")).unwrap();
    desk.env("PATH", &path).env("GIT_CONFIG_GLOBAL", config.to_str().unwrap())
}

#[test]
fn every_command_prints_what_the_page_shows() {
    let steps = steps(&std::fs::read_to_string(here("docs/tutorial.md")).unwrap());
    assert!(steps.len() > 20, "{}", steps.len());

    let origin = TestRepo::init();
    let mut desk = desk(&origin);
    for Step { line, command, shown } in steps {
        if command.starts_with(NOT_RUN) {
            continue;
        }
        if let Some(directory) = command.strip_prefix("cd ") {
            desk = desk.at(directory);
            continue;
        }

        let run = Run::new(desk.command("sh").args(["-c", &command]));
        let difference = first_difference(&shown, &run.success().stdout());
        assert_eq!(difference, None, "docs/tutorial.md:{line}\n{}", run.explain());
    }
}

#[test]
fn a_difference_of_output_is_found() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let difference = |text: &str, printed: &str| first_difference(&shown(text), printed).map(str::to_owned);
    assert_eq!(difference("a\nFound … in …\n…\nd", "a\nFound 1 in 2 ms\nb\nc\nd\n"), None);
    assert_eq!(difference("a", "a\nb\n").as_deref(), Some("(the end)"));
    assert_eq!(difference("a\n…", "a\nb\n"), None);
    assert_eq!(difference("a\nc\n…", "a\nb\nc\n").as_deref(), Some("c"));
    assert_eq!(difference("in … ms (…)", "in 1 s (x)").as_deref(), Some("in … ms (…)"));
    assert_eq!(difference("…x.py…", "see x.py: y"), None);
}
