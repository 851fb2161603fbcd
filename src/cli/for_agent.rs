//! The text of the MCP tools in place of the printed form, for agents that work in a shell.
//!
//! Paths in it are relative to the root of the repository, as in all answers of the tools.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};

use codeweaver::query::Location;
use codeweaver_git::Prefix;
use codeweaver_mcp::one_call::{self, Outcome, Said};
use codeweaver_mcp::tools;

use super::context::Context;
use super::error::CliError;
use super::exit;

/// Option of the commands that answer as a tool does.
#[derive(Debug, Clone, Copy, Args)]
pub struct AgentTextArgs {
    /// Print what the MCP tool says, in few tokens; the default in the shell of an agent, unless a format is
    /// given
    #[arg(long, conflicts_with_all = ["output_format", "json"])]
    for_agent: bool,
}

/// The reason for the text of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// It was asked for; options that the tool does not have are errors.
    Explicit,
    /// An agent runs the command; with options that the tool does not have, the printed form is better.
    Agent,
    None,
}

impl AgentTextArgs {
    /// Returns whether the option is given.
    pub fn is_explicit(self) -> bool {
        self.for_agent
    }

    /// The wish for the text; `has_format` is true if another format is given.
    pub fn wish(self, has_format: bool, context: &Context) -> Wish {
        match (self.for_agent, has_format) {
            (true, _) => Wish::Explicit,
            (false, false) if context.surroundings.is_shell_of_agent() => Wish::Agent,
            _ => Wish::None,
        }
    }
}

/// The error of options that the tool does not have, named by `option`.
pub fn refused(option: &str) -> CliError {
    CliError::new(
        format!("{option} is not possible with --for-agent"),
        "the tool of agents has no such argument",
        "omit one of them",
    )
}

/// Calls the tool `name` and prints its text.
pub fn call(name: &str, arguments: Map<String, Value>, context: &Context) -> Result<ExitCode, CliError> {
    let spec = tools::by_name(name).ok_or_else(|| {
        CliError::new(format!("there is no tool {name}"), "this is an internal error", "please report this")
    })?;
    print(name, &one_call::call_with(spec, arguments, context.session()), context)
}

/// Prints the answer of the tool `name`.
pub fn print(name: &str, said: &Said, context: &Context) -> Result<ExitCode, CliError> {
    let text = said.text.trim_end_matches('\n');

    if said.outcome == Outcome::Failed {
        let (what, why) = text.split_once(": ").unwrap_or(("failed", text));
        let what = format!("{name} has no answer: {}", what.replace('_', " "));
        return Err(CliError::new(
            what,
            why,
            format!("`git codeweaver tool {name} --help` has its arguments"),
        ));
    }

    let mut out = context.out();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(if said.outcome == Outcome::Answered { ExitCode::SUCCESS } else { ExitCode::from(exit::NEGATIVE) })
}

/// A place as typed, relative to the root of the repository if it begins with a path that is there.
pub fn from_root(prefix: &Prefix, typed: &str) -> String {
    let file = Location::parse(typed).file;
    match prefix.file(file) {
        Ok(path) if prefix.on_disk(&path).is_some_and(|path| path.exists()) => {
            // Directories are named without a slash by git.
            format!("{path}{}", &typed[file.len()..])
        }
        _ => typed.to_owned(),
    }
}
