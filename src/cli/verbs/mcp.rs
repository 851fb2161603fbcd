//! `mcp`: registration of the MCP server with its clients.

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::setup::{self, SetupArgs};
use clap::Args;
use std::process::ExitCode;

/// Register the MCP server with coding agents
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  git codeweaver mcp --install claude-code cursor     in your own configuration of both
  git codeweaver mcp --install vscode --scope project --dry-run
  git codeweaver mcp --print zed
  git codeweaver mcp --uninstall cursor"
)]
pub struct McpArgs {
    #[command(flatten)]
    setup: SetupArgs,
}

pub fn run(args: McpArgs, context: &Context) -> Result<ExitCode, CliError> {
    setup::run(&args.setup, context)
}
