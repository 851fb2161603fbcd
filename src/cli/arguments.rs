//! Arguments of this process as they are meant.

use std::ffi::{OsStr, OsString};

use codeweaver::query::Intent;

/// Modes of a search that looks for lines, which have no intent.
const LINE_MODES: [&str; 2] = ["exact", "regex"];

/// The arguments of this process, in which an `-i` of `search` that is not followed by an intent ignores the
/// case of letters, as that of `git grep` does.
pub fn typed() -> Vec<OsString> {
    with_ignored_case(std::env::args_os().collect())
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
        let is_intent = !finds_lines && next.is_some_and(|next| Intent::by_name(next).is_some());
        if arguments[at] == "-i" && !is_intent {
            arguments[at] = OsStr::new("--ignore-case").to_owned();
        }
    }
    arguments
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
}
