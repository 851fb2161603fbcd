//! `tool`: one call of a tool of the MCP server, with the text that agents get.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Command};

use codeweaver_config::did_you_mean;
use codeweaver_mcp::one_call;
use codeweaver_mcp::tools::{self, ToolSpec};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::for_agent;

/// Call a tool of the MCP server once, and print what an agent would read
///
/// The command is for agents that work in a shell: the answers are those of the server, made for few
/// tokens. Each argument is NAME=VALUE, several of one name are a list, and a word without a name is what
/// the tool is about: a query, a name, a place. Exit codes: 0 found, 1 nothing found or no index to answer
/// from, 2 refused. Without a tool, all are listed.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  git codeweaver tool find_code 'where are sessions refreshed' 'who signs cookies'
  git codeweaver tool read_code src/session.rs:10-60 Cart.total src/lib.rs
  git codeweaver tool find_symbol open_session
  git codeweaver tool call_graph open_session direction=callers
  git codeweaver tool changes main..HEAD show=files"
)]
pub struct ToolArgs {
    /// Name of the tool
    tool: Option<String>,
    /// Values, and NAME=VALUE; `git codeweaver tool TOOL --help` has the names
    #[arg(allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Print help; of a tool, its arguments
    #[arg(short, long)]
    help: bool,
}

impl ToolArgs {
    /// Returns whether the call only reads.
    #[cfg(unix)]
    pub fn is_reader(&self) -> bool {
        self.tool.as_deref() != Some("manage_index")
    }
}

/// Runs the command; `commands` makes the definition of all commands, which contains its usage.
pub fn run(args: ToolArgs, commands: fn() -> Command, context: &Context) -> Result<ExitCode, CliError> {
    let Some(name) = args.tool else {
        return if args.help { print_usage(commands(), context) } else { list(context) };
    };
    let spec = tools::by_name(&name).ok_or_else(|| {
        let near = did_you_mean(&name, tools::all().map(|spec| spec.name));
        let fix = near.unwrap_or_else(|| "`git codeweaver tool` lists them".to_owned());
        CliError::new(format!("no tool is called {name:?}"), "its name is wrong", fix)
    })?;
    // Values may begin with a hyphen, so the flag may be among them.
    if args.help || args.arguments.iter().any(|word| word == "--help" || word == "-h") {
        return describe(spec, context);
    }

    let said = one_call::call(spec, &args.arguments, context.session());
    for_agent::print(&name, &said, context)
}

/// Prints a line for each tool.
fn list(context: &Context) -> Result<ExitCode, CliError> {
    let mut out = context.out();
    for spec in tools::all() {
        let description = spec.description();
        let first = description.split_once(". ").map_or(description, |(first, _)| first);
        writeln!(out, "{:13} {}", spec.name, first.trim_end_matches('.'))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what a tool does, and its arguments.
fn describe(spec: &ToolSpec, context: &Context) -> Result<ExitCode, CliError> {
    let mut out = context.out();
    writeln!(out, "{}\n\nUsage: git codeweaver tool {}", spec.description(), one_call::usage(spec))?;

    for argument in spec.arguments() {
        let description = [argument.description.as_str(), &format!("({})", argument.kind)];
        writeln!(
            out,
            "{}",
            format!("  {:15} {}", argument.name, description.join(" ").trim_start()).trim_end()
        )?;
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the usage of this command.
fn print_usage(mut commands: Command, context: &Context) -> Result<ExitCode, CliError> {
    commands.build();
    let mut out = context.out();
    if let Some(command) = commands.find_subcommand_mut("tool") {
        write!(out, "{}", command.render_long_help())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
