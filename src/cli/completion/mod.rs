//! Completion in shells: the scripts, and the candidates for a word of the command line.
//!
//! The scripts call the program (`git-codeweaver complete`), so they stay valid when commands and options
//! change, and revisions and settings are completed as well. The protocol between them is fixed here, because
//! the scripts of `clap_complete`'s own engine are valid for one of its versions only and do not know `git
//! codeweaver`, which the completion of git passes on.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use codeweaver::query::Intent;
use codeweaver_chunk::{SemanticClass, SymbolKind, language};
use codeweaver_config as config;

/// Name of the program.
pub const PROGRAM: &str = "git-codeweaver";

/// The completion script of a shell for `command`, the program.
pub fn script(shell: Shell, command: Command) -> Vec<u8> {
    match shell {
        Shell::Bash => include_bytes!("git-codeweaver.bash").to_vec(),
        Shell::Zsh => include_bytes!("_git-codeweaver").to_vec(),
        Shell::Fish => include_bytes!("git-codeweaver.fish").to_vec(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut command.bin_name(PROGRAM), PROGRAM, &mut script);
            script
        }
    }
}

/// The candidates for the word at `index` of a command line whose first word is `command`, the program. Each
/// has its value and, after a tab, the first line of its help.
///
/// Options are omitted unless the word begins with `-` or nothing else fits.
pub fn candidates(
    command: Command,
    words: Vec<OsString>,
    index: usize,
    current_dir: Option<&Path>,
) -> Vec<String> {
    let mut words = words;
    words.resize(index + 1, OsString::new()); // shells may leave out an empty word at the end

    let is_option = words[index].as_encoded_bytes().starts_with(b"-");

    let mut command = with_values(command);
    let mut found =
        clap_complete::engine::complete(&mut command, words, index, current_dir).unwrap_or_default();

    // Options would bury the names and paths that are meant.
    if !is_option && found.iter().any(|candidate| !starts_with_dash(candidate)) {
        found.retain(|candidate| !starts_with_dash(candidate));
    }

    found.iter().filter_map(line_of).collect()
}

/// The line of a candidate; `None` if its value cannot be printed on one.
fn line_of(candidate: &CompletionCandidate) -> Option<String> {
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let value = candidate.get_value().to_str()?;
    let first_line = help.lines().next().unwrap_or_default();
    (!value.chars().any(char::is_control)).then(|| format!("{value}\t{first_line}"))
}

fn starts_with_dash(candidate: &CompletionCandidate) -> bool {
    candidate.get_value().as_encoded_bytes().starts_with(b"-")
}

/// The command with completions for the values of its arguments, which are recognised by their names.
fn with_values(command: Command) -> Command {
    command.mut_args(with_value).mut_subcommands(with_values)
}

fn with_value(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "rev" => arg.add(ArgValueCompleter::new(revisions)),
        "key" => named(arg, || config::keys().iter().map(|spec| spec.path)),
        "lang" => named(arg, || language::all().map(|language| language.name())),
        "intent" => named(arg, Intent::names),
        "kind" => named(arg, || {
            let classes = (0..).map_while(SemanticClass::from_u8).map(SemanticClass::name);
            SymbolKind::ALL.into_iter().map(SymbolKind::name).chain(classes)
        }),

        "project" | "repos" => arg.value_hint(ValueHint::DirPath),
        "path" | "exclude" | "file" | "location" | "places" | "file_or_rev" => {
            arg.value_hint(ValueHint::AnyPath)
        }
        _ => arg,
    }
}

/// Completes `arg` with the names that begin with the current word, in their order.
fn named<I: Iterator<Item = &'static str> + 'static>(arg: Arg, names: fn() -> I) -> Arg {
    arg.add(ArgValueCompleter::new(move |current: &OsStr| {
        let current = current.to_string_lossy();
        names().filter(|name| name.starts_with(&*current)).map(CompletionCandidate::new).collect()
    }))
}

/// Branches, tags and remote branches, as git lists them; the directory is that of the shell.
fn revisions(current: &OsStr) -> Vec<CompletionCandidate> {
    let listed = std::process::Command::new("git")
        .args(["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();

    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();

    let current = current.to_string_lossy();
    let names = std::iter::once("HEAD").chain(text.lines());
    names.filter(|name| name.starts_with(&*current)).map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::command_line::Cli;

    /// The values for the last of `words`.
    fn values(words: &[&str]) -> Vec<String> {
        let words: Vec<OsString> =
            std::iter::once(PROGRAM).chain(words.iter().copied()).map(OsString::from).collect();
        let index = words.len() - 1;
        let found = candidates(Cli::command(), words, index, Some(Path::new(env!("CARGO_MANIFEST_DIR"))));
        found.iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn commands_options_and_fixed_values_are_completed() {
        assert_eq!(values(&["sea"]), ["search"]);
        assert_eq!(values(&["help", "sea"]), ["search"]);
        assert_eq!(values(&["search", "--mo"]), ["--mode"]);
        assert_eq!(values(&["search", "--mode", "s"]), ["semantic", "symbol"]);
        assert_eq!(values(&["search", "--mode=key"]), ["--mode=keyword"]);
        assert_eq!(values(&["search", "--kind", "cons"]), ["constructor", "constant"]);
        assert_eq!(values(&["search", "--lang", "elix"]), ["elixir"]);
        assert_eq!(values(&["search", "-i", "deb"]), ["debug"]);
        assert_eq!(values(&["completions", "z"]), ["zsh"]);
        assert_eq!(values(&["config", "get", "search.li"]), ["search.limit"]);
        assert_eq!(values(&["mcp", "--install", "curs"]), ["cursor"]);
        assert!(
            values(&[""]).contains(&"search".to_owned()) && !values(&[""]).contains(&"complete".to_owned())
        );
        assert!(values(&["search", ""]).contains(&"--lang".to_owned()), "nothing else fits");
    }

    #[test]
    fn paths_are_completed_where_files_are_taken() {
        for command in ["outline", "read", "similar", "chunks"] {
            assert_eq!(values(&[command, "src/main"]), ["src/main.rs"], "{command}");
        }
        assert_eq!(values(&["search", "--path", "src/cl"]), ["src/cli/"]);
        assert_eq!(values(&["search", "-p", "fixt"]), ["fixtures/"]);
    }

    #[test]
    fn every_argument_of_the_table_exists() {
        fn ids(command: &Command) -> Vec<String> {
            let own = command.get_arguments().map(|arg| arg.get_id().to_string());
            own.chain(command.get_subcommands().flat_map(ids)).collect()
        }
        let ids = ids(&Cli::command());
        for id in [
            "rev",
            "key",
            "lang",
            "intent",
            "kind",
            "project",
            "repos",
            "path",
            "exclude",
            "file",
            "location",
            "places",
            "file_or_rev",
        ] {
            assert!(ids.iter().any(|found| found == id), "{id}");
        }
    }
}
