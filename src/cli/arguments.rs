//! Arguments of this process as they are meant.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use codeweaver::query::Intent;

use super::command_line::Cli;

/// Modes of a search that looks for lines, which have no intent.
const LINE_MODES: [&str; 2] = ["exact", "regex"];

/// Global options that name a directory.
const DIRECTORY_OPTIONS: [&str; 3] = ["--catalogue", "--project", "-p"];

/// The arguments of this process, in which an `-i` of `search` that is not followed by an intent and a query
/// ignores the case of letters, as that of `git grep` does, and in which the repository of `tool` stands
/// before the values for the tool, which may begin with a hyphen too.
pub fn typed() -> Vec<OsString> {
    let typed = with_ignored_case(std::env::args_os().collect());
    with_directory_first(typed, &|value| Path::new(value).is_dir())
}

/// Moves a directory option from the values for a tool to the front. An option whose value is no directory is
/// a value itself.
fn with_directory_first(
    mut arguments: Vec<OsString>,
    is_directory: &dyn Fn(&OsStr) -> bool,
) -> Vec<OsString> {
    let mut at = 1;
    while let Some(option) =
        arguments.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-'))
    {
        let has_value = DIRECTORY_OPTIONS.contains(&option) || option == "--color";
        at += if has_value { 2 } else { 1 };
    }
    if arguments.get(at).is_none_or(|command| command != "tool") {
        return arguments;
    }

    let mut next = at + 1;
    while next < arguments.len() && arguments[next] != "--" {
        let n_moved = directory_option(&arguments[next..], is_directory);
        arguments[at..next + n_moved].rotate_right(n_moved);
        at += n_moved;
        next += n_moved.max(1);
    }
    arguments
}

/// The number of words, none, one or two, of a directory option at the front of `arguments`.
fn directory_option(arguments: &[OsString], is_directory: &dyn Fn(&OsStr) -> bool) -> usize {
    let Some(option) = arguments.first().and_then(|word| word.to_str()) else { return 0 };

    if DIRECTORY_OPTIONS.contains(&option) {
        return if arguments.get(1).is_some_and(|value| is_directory(value)) { 2 } else { 0 };
    }
    let value = option.split_once('=').filter(|(name, _)| DIRECTORY_OPTIONS.contains(name));
    usize::from(value.is_some_and(|(_, value)| is_directory(OsStr::new(value))))
}

/// The arguments with the long form of an `-i` that ignores the case of letters.
pub fn with_ignored_case(mut arguments: Vec<OsString>) -> Vec<OsString> {
    // After `--`, everything is the query.
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let Some(command) = arguments[..end].iter().position(|argument| argument == "search") else {
        return arguments;
    };

    let finds_lines = (command..end).any(|at| is_line_mode(&arguments[at], arguments.get(at + 1)));

    for at in command..end {
        let next = arguments.get(at + 1).and_then(|next| next.to_str());
        let names_intent = next.is_some_and(|next| Intent::by_name(next).is_some());
        // Without another word, the intent would be one of no query.
        let is_intent = names_intent && !finds_lines && has_query(&arguments, command + 1, at..at + 2);
        if arguments[at] == "-i" && !is_intent {
            arguments[at] = OsStr::new("--ignore-case").to_owned();
        }
    }
    arguments
}

/// Returns whether a word from `first` on belongs to the query of `search`: none of the words at `except`, no
/// option and no value of one.
fn has_query(arguments: &[OsString], first: usize, except: Range<usize>) -> bool {
    let commands = Cli::command();
    let search = commands.find_subcommand("search");
    let options: Vec<&Arg> =
        search.into_iter().flat_map(Command::get_arguments).chain(commands.get_arguments()).collect();

    let mut at = first;
    while at < arguments.len() {
        match arguments[at].to_str() {
            _ if except.contains(&at) => {}
            // All that follows is the query.
            Some("--") => return at + 1 < arguments.len(),
            Some(word) if word.len() > 1 && word.starts_with('-') => {
                let has_value = options
                    .iter()
                    .any(|option| is_called(option, word) && option.get_action().takes_values());
                at += usize::from(has_value);
            }
            _ => return true,
        }
        at += 1;
    }
    false
}

/// Returns whether `word` is the name of `option`, with its hyphens.
fn is_called(option: &Arg, word: &str) -> bool {
    let long = option.get_long_and_visible_aliases().unwrap_or_default();
    let short = option.get_short_and_visible_aliases().unwrap_or_default();

    word.strip_prefix("--").is_some_and(|name| long.contains(&name))
        || word.strip_prefix('-').is_some_and(|name| short.iter().any(|letter| name == letter.to_string()))
}

/// Returns whether `argument`, with the `next` one, is the option for a search that looks for lines. The
/// names of these modes are words of queries and values of other options (`--ann exact`) too.
fn is_line_mode(argument: &OsString, next: Option<&OsString>) -> bool {
    let mode = match argument.to_str() {
        Some("--mode") => next.and_then(|next| next.to_str()),
        Some(argument) => argument.strip_prefix("--mode="),
        None => None,
    };
    mode.is_some_and(|mode| LINE_MODES.contains(&mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(typed: &str) -> String {
        let arguments = typed.split(' ').map(OsString::from).collect();
        let meant = with_ignored_case(arguments);
        meant.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_before_an_intent_the_option_means_one() {
        for (typed, expected) in [
            ("cw search -i debug reset", "cw search -i debug reset"),
            ("cw search -i session cookie", "cw search --ignore-case session cookie"),
            ("cw search session -i", "cw search session --ignore-case"),
            ("cw search -i -l 3 session", "cw search --ignore-case -l 3 session"),
            ("cw search --mode exact -i test", "cw search --mode exact --ignore-case test"),
            ("cw search --mode=regex -i test", "cw search --mode=regex --ignore-case test"),
            ("cw search -i test", "cw search --ignore-case test"),
            ("cw search -i test --lang rust", "cw search --ignore-case test --lang rust"),
            ("cw search -l 3 -i test", "cw search -l 3 --ignore-case test"),
            ("cw search -i test --no-tests", "cw search --ignore-case test --no-tests"),
            ("cw search reset -i test", "cw search reset -i test"),
            ("cw search -i test -l 3 reset", "cw search -i test -l 3 reset"),
            ("cw search -i test -- reset", "cw search -i test -- reset"),
            ("cw search --ann exact -i test reset", "cw search --ann exact -i test reset"),
            ("cw search --ann exact -i reset", "cw search --ann exact --ignore-case reset"),
            ("cw search exact -i debug", "cw search exact -i debug"),
            ("cw search -- -i session", "cw search -- -i session"),
            ("cw ask -i session", "cw ask -i session"),
            ("cw complete bash 2 -- cw search -i", "cw complete bash 2 -- cw search -i"),
        ] {
            assert_eq!(meant(typed), expected);
        }
    }

    #[test]
    fn the_directory_of_a_tool_is_no_value() {
        let ordered = |typed: &str| {
            let arguments = typed.split(' ').map(OsString::from).collect();
            let ordered = with_directory_first(arguments, &|value| value == "dir");
            ordered.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };

        for (typed, expected) in [
            ("cw tool find_symbol A --catalogue dir", "cw --catalogue dir tool find_symbol A"),
            ("cw tool find_symbol -p dir A x=1", "cw -p dir tool find_symbol A x=1"),
            ("cw --debug tool find_symbol --project=dir A", "cw --debug --project=dir tool find_symbol A"),
            ("cw --catalogue dir tool find_symbol A", "cw --catalogue dir tool find_symbol A"),
            ("cw tool find_text --catalogue", "cw tool find_text --catalogue"),
            ("cw tool find_text -- --catalogue dir", "cw tool find_text -- --catalogue dir"),
            ("cw tool find_text -p none", "cw tool find_text -p none"),
            ("cw search tool x --project dir", "cw search tool x --project dir"),
        ] {
            assert_eq!(ordered(typed), expected);
        }
    }
}
