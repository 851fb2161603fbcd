//! Conversion of errors of the argument parser into the form of all other errors.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::command_line::Cli;
use super::error::CliError;

/// Converts an error of the argument parser.
///
/// # Errors
/// Help and versions, which are not errors, are returned as they are.
pub fn error_of(error: clap::Error) -> Result<CliError, clap::Error> {
    let what = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::DisplayVersion => return Err(error),
        kind => kind,
    };

    let part = |kind| error.get(kind).map(text).filter(|text| !text.is_empty());
    let rendered = error.render().to_string();
    let command = usage(&error).map_or_else(typed_command, |usage| command_of(&usage));
    let help = format!("{command} -h");

    let argument = part(ContextKind::InvalidArg).unwrap_or_default();
    let value = part(ContextKind::InvalidValue).unwrap_or_default();

    let suggestion =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
            .into_iter()
            .find_map(part)
            .map(|names| {
                let names = names.replace(", ", "` or `");
                format!("did you mean `{names}`? `{help}` shows what there is")
            });
    let fix = suggestion.unwrap_or_else(|| format!("`{help}` shows the usage"));

    Ok(match what {
        ErrorKind::UnknownArgument if of_grep(&command, &argument).is_some() => CliError::new(
            format!("unexpected argument '{argument}'"),
            format!("`{command}` does not have it"),
            of_grep(&command, &argument).unwrap_or_default(),
        ),
        ErrorKind::UnknownArgument => CliError::new(
            format!("unexpected argument '{argument}'"),
            format!("`{command}` does not have it"),
            // A query may begin with a dash.
            match part(ContextKind::Suggested).filter(|tip| tip.contains("-- ")) {
                Some(_) if argument.starts_with('-') => format!("{fix}; after `--`, it is a plain text"),
                _ => fix,
            },
        ),

        ErrorKind::InvalidSubcommand => {
            let typed = part(ContextKind::InvalidSubcommand).unwrap_or_default();
            let meant = meant_command(&command, &typed);
            CliError::new(
                format!("there is no command '{typed}'"),
                format!("`{command}` does not have it"),
                meant.map_or_else(
                    || format!("`{help}` shows the usage"),
                    |meant| format!("{meant} `{help}` shows what there is"),
                ),
            )
        }
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => CliError::new(
            match argument.is_empty() {
                true => "a command is missing".to_owned(),
                false => format!("an argument is missing: {argument}"),
            },
            format!("`{command}` does not run without it"),
            usage(&error).unwrap_or(fix),
        ),

        ErrorKind::InvalidValue if value.is_empty() => {
            CliError::new(format!("{argument} has no value"), "the option takes one", fix)
        }
        ErrorKind::InvalidValue => CliError::new(
            format!("'{value}' is not a value of {argument}"),
            match part(ContextKind::ValidValue) {
                Some(values) => format!("the values are {values}"),
                None => "the option does not take it".to_owned(),
            },
            fix,
        ),
        ErrorKind::ValueValidation => CliError::new(
            format!("'{value}' is not a value of {argument}"),
            std::error::Error::source(&error).map_or_else(|| "it is not valid".to_owned(), reason),
            match argument.starts_with("--limit") && command.ends_with(" search") {
                true => format!("write `--limit 3`, or --files-with-matches for paths only; {fix}"),
                false => fix,
            },
        ),

        ErrorKind::ArgumentConflict => {
            let other = part(ContextKind::PriorArg).unwrap_or_default();
            match other == argument {
                true => CliError::new(format!("{argument} is given twice"), "it has one value", fix),
                false => CliError::new(
                    format!("{argument} cannot be used with {other}"),
                    "they exclude each other",
                    format!("leave one of them out; `{help}` shows the usage"),
                ),
            }
        }

        _ => {
            let first = rendered.lines().next().unwrap_or_default();
            let what = first.strip_prefix("error: ").unwrap_or(first);
            CliError::new(what, format!("`{command}` does not take it"), fix)
        }
    })
}

/// The reason why a value cannot be used, in words about the value instead of its parser.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    use std::num::IntErrorKind::{Empty, InvalidDigit, NegOverflow, PosOverflow};

    if let Some(error) = error.downcast_ref::<std::num::ParseIntError>() {
        return match error.kind() {
            Empty | InvalidDigit => "it takes a whole number",
            PosOverflow => "the number is too large",
            NegOverflow => "the number is too small",
            _ => "it takes a number",
        }
        .to_owned();
    }
    match error.is::<std::num::ParseFloatError>() {
        true => "it takes a number".to_owned(),
        false => error.to_string(),
    }
}

/// Options of `git grep` and ripgrep that `search` calls otherwise, with advice.
const OPTIONS_OF_GREP: [(&str, &str); 9] = [
    ("-n", "leave it out: lines always have their numbers"),
    ("-r", "leave it out: all directories are searched"),
    ("-w", "write `--word`, with `--mode exact` or `--mode regex`"),
    ("-c", "write `--count`, with `--mode exact` or `--mode regex`"),
    ("-A", "write `-C N` for lines before and after, with `--mode exact` or `--mode regex`"),
    ("-B", "write `-C N` for lines before and after, with `--mode exact` or `--mode regex`"),
    ("-F", "write `--mode exact`"),
    ("-E", "write `--mode regex`"),
    ("-e", "write `--mode regex` before the expression"),
];

/// Advice for an option of `git grep` that `command` does not have.
fn of_grep(command: &str, argument: &str) -> Option<String> {
    let known = OPTIONS_OF_GREP.iter().find(|(option, _)| *option == argument);
    let (_, advice) = known.filter(|_| command.ends_with(" search"))?;
    Some(format!("{advice}; after `--`, it is a plain text"))
}

/// Words for which other tools have a command, and the command that does it here.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("find", "search"),
    ("grep", "search"),
    ("query", "search"),
    ("update", "index"),
    ("reindex", "index"),
    ("build", "index"),
    ("sync", "index"),
    ("callers", "graph"),
    ("references", "graph"),
    ("cat", "read"),
    ("show", "read"),
    ("info", "status"),
    ("setup", "init"),
    ("uninstall", "deinit"),
];

/// ``did you mean `search`?`` for a command that `parent` does not have; `None` if it is like none.
fn meant_command(parent: &str, typed: &str) -> Option<String> {
    let commands = Cli::command();
    let mut at = &commands;
    for word in parent.split(' ').skip(2) {
        at = at.find_subcommand(word)?;
    }

    let names: Vec<&str> =
        at.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    let other = OTHER_NAMES.iter().find(|(other, name)| *other == typed && names.contains(name));
    match other {
        Some((_, name)) => Some(format!("did you mean `{name}`?")),
        None => codeweaver_config::did_you_mean(typed, names.into_iter()),
    }
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(values) => values.join(", "),
        ContextValue::StyledStrs(values) => {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The usage that an error contains: `git codeweaver search [OPTIONS] <QUERY>...`.
fn usage(error: &clap::Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let usage = usage.trim().strip_prefix("Usage:").unwrap_or(&usage).trim().to_owned();
    usage.lines().next().map(str::to_owned)
}

/// The command of this process, if its arguments name one. Errors of values contain no usage.
fn typed_command() -> String {
    let commands = Cli::command();
    let typed = std::env::args_os().skip(1).find_map(|arg| commands.find_subcommand(arg));
    typed.map_or_else(|| "git codeweaver".to_owned(), |found| format!("git codeweaver {}", found.get_name()))
}

/// The words of a usage before its first argument.
fn command_of(usage: &str) -> String {
    let words = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-']));
    words.collect::<Vec<_>>().join(" ")
}
