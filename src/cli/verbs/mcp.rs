//! `mcp`: serves coding agents over standard input and output.

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::logging;
use crate::mcp::{self, Options, log};
use clap::Args;
use std::process::ExitCode;

/// Serve coding agents over stdin and stdout (Model Context Protocol)
///
/// Started by the agent, not by hand. Serves any repository by its path; --project names the one that is meant if a call
/// names none. Ends with its input.
#[derive(Debug, Args)]
pub struct McpArgs {}

pub fn run(_: McpArgs, context: &Context) -> Result<ExitCode, CliError> {
    let (layer, records) = log::channel();
    logging::start_with_protocol(context, layer);
    mcp::serve(Options { dir: context.dir.clone(), debug: context.debug, records }).map_err(|error| {
        CliError::new(
            "the server cannot start",
            error.to_string(),
            "standard input and output must be open, and threads available",
        )
    })?;
    Ok(ExitCode::SUCCESS)
}
