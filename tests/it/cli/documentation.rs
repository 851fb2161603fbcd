//! The documentation: what its pages state can be run. That the program takes every command of them is
//! tested where its arguments are defined.

use std::path::Path;

use codeweaver_testkit::{DocumentedCommand, Run, TestRepo, documented_commands, program};

use crate::support::fixtures::fixture;

/// Commands that change nothing but their repository and files below the home directory.
const READING: &[&str] = &[
    "ask",
    "chunks",
    "config",
    "doctor",
    "duplicates",
    "graph",
    "help",
    "outline",
    "read",
    "search",
    "similar",
    "status",
    "tool",
    "verify",
];

/// Parts of commands that need a server, another machine or a terminal, and placeholders.
const NOT_HERE: &[&str] = &[
    "--org",
    "--server",
    "--index",
    "--interactive",
    "NAME",
    "FILE",
    "DIR",
    "SUITE",
    "{1}",
    "--catalogue",
    "…",
];

/// A command whose answer is that there is nothing, which is exit code 1.
const EMPTY: &[&str] = &["search", "--explain", "soccer league table"];

/// A repository with the names of the examples, and `~/notes`.
fn example() -> TestRepo {
    let repo = fixture("examples");
    repo.git(["tag", "v1.2"]).git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let notes = repo.beside("home/notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("rent.md"), "# Flat\n\nThe rent is due on the first of the month.\n").unwrap();

    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// Returns whether a command is run here: it is in a block, it only reads, and it needs nothing that is not
/// here. The tutorial has a test of its own.
fn is_run(command: &DocumentedCommand) -> bool {
    let args: Vec<&str> = command.args.iter().map(String::as_str).collect();
    let only_reads = match &args[..] {
        ["init", "--print-hooks"] | ["model" | "agent", "list" | "status"] | ["index", "--dry-run"] => true,
        ["mcp", "--print", ..] | ["mcp" | "agent", .., "--dry-run"] => true,
        [name, ..] => READING.contains(name) && !args.contains(&"--repair"),
        [] => true,
    };
    let is_possible =
        !args.iter().any(|arg| NOT_HERE.iter().any(|part| arg.split('=').any(|word| word == *part)));
    command.in_block && only_reads && is_possible && !command.page.ends_with("tutorial.md")
}

fn run(repo: &TestRepo, command: &DocumentedCommand) -> Run {
    let home = repo.beside("home").display().to_string();
    let args = command.args.iter().map(|arg| match arg.strip_prefix("~/") {
        Some(below) => format!("{home}/{below}"),
        None => arg.clone(),
    });
    let report =
        b"# Wrong header\n\n`parse_header` in src/lib.rs returns nothing for a header without blanks.\n";
    Run::with_input(repo.command(program()).args(args), report)
}

#[test]
fn examples_that_only_read_succeed() {
    let repo = example();
    let all = documented_commands(Path::new(env!("CARGO_MANIFEST_DIR")));
    let commands: Vec<&DocumentedCommand> = all.iter().filter(|command| is_run(command)).collect();
    assert!(commands.len() > 40, "{}", commands.len());

    // Those that change settings come last.
    let (settings, others): (Vec<_>, Vec<_>) =
        commands.iter().partition(|command| command.args.first().is_some_and(|name| name == "config"));
    let mut problems = Vec::new();
    for command in others.into_iter().chain(settings) {
        let run = run(&repo, command);
        if run.code() != i32::from(command.args == EMPTY) {
            problems.push(format!("{}\n{}{}", command.explain(), run.stdout(), run.stderr()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
