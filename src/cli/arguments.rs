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

fn with_ignored_case(mut arguments: Vec<OsString>) -> Vec<OsString> {
    // After `--`, everything is the query.
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let Some(command) = arguments[..end].iter().position(|argument| argument == "search") else {
        return arguments;
    };

    let finds_lines = arguments[command..end].iter().any(is_line_mode);

    for at in command..end {
        let next = arguments.get(at + 1).and_then(|next| next.to_str());
        let is_intent = !finds_lines && next.is_some_and(|next| Intent::by_name(next).is_some());
        if arguments[at] == "-i" && !is_intent {
            arguments[at] = OsStr::new("--ignore-case").to_owned();
        }
    }
    arguments
}

/// Returns whether an argument is the value of `--mode` for a search that looks for lines. Both names occur
/// in queries too, where they do no harm: then a query has an `-i` that its words explain.
fn is_line_mode(argument: &OsString) -> bool {
    let Some(argument) = argument.to_str() else { return false };
    LINE_MODES.contains(&argument.strip_prefix("--mode=").unwrap_or(argument))
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
            ("cw search -- -i session", "cw search -- -i session"),
            ("cw ask -i session", "cw ask -i session"),
            ("cw complete bash 2 -- cw search -i", "cw complete bash 2 -- cw search -i"),
        ] {
            assert_eq!(meant(typed), expected);
        }
    }
}
