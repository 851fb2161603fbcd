//! `mcp`: serves coding agents over stdin and stdout, or registers the server with MCP clients.

use std::process::ExitCode;

use clap::Args;

use codeweaver_mcp::{self as mcp, Options, log};

use crate::cli::client_setup::{self, SetupArgs};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::logging;
use crate::cli::org_search::OrgPlace;

/// Serve coding agents over stdin and stdout (Model Context Protocol)
///
/// The agent starts this command. It serves any repository by its path; --project sets the repository of
/// calls that name none. It ends when its input does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver mcp --install claude-code cursor
  git codeweaver mcp --install vscode --scope project --dry-run
  git codeweaver mcp --print zed
  git codeweaver mcp --uninstall cursor")]
pub struct McpArgs {
    #[command(flatten)]
    setup: SetupArgs,
    /// Answer searches from the index of an organisation at this URL (see `org`)
    #[arg(long, value_name = "URL")]
    org: Option<String>,
}

impl McpArgs {
    /// Returns true if the server is started; logs then also go to its client.
    pub fn serves(&self) -> bool {
        !self.setup.is_requested()
    }
}

pub fn run(args: McpArgs, context: &Context) -> Result<ExitCode, CliError> {
    if !args.serves() {
        return client_setup::run(&args.setup, context);
    }

    let cannot_start = |error: std::io::Error| {
        CliError::new(
            "the server cannot start",
            error.to_string(),
            "stdin and stdout must be open, and the system must allow new threads",
        )
    };
    // Must happen before any thread is started, since the process may be replaced.
    leave_git_environment().map_err(cannot_start)?;
    let (layer, records) = log::channel();
    logging::start_with_protocol(context, layer);

    let org = args.org.as_deref().map(|url| OrgPlace::open(url, context)).transpose()?;
    let dir = org.as_ref().map_or_else(|| context.dir.clone(), |org| org.dir.clone());
    let engine = org.as_ref().map(|org| org.engine.clone());
    mcp::serve(Options { dir, debug: context.debug, records, engine }).map_err(cannot_start)?;

    Ok(ExitCode::SUCCESS)
}

/// Environment variables that bind git to one repository.
const PINNING_VARIABLES: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// Re-executes this program without [`PINNING_VARIABLES`] if any is set. The server and its child processes
/// work on many repositories.
#[cfg(unix)]
fn leave_git_environment() -> std::io::Result<()> {
    use std::os::unix::process::CommandExt as _;
    if PINNING_VARIABLES.iter().all(|name| std::env::var_os(name).is_none()) {
        return Ok(());
    }

    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1));
    PINNING_VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });

    Err(command.exec())
}

#[cfg(not(unix))]
fn leave_git_environment() -> std::io::Result<()> {
    match PINNING_VARIABLES.iter().find(|name| std::env::var_os(name).is_some()) {
        Some(name) => Err(std::io::Error::other(format!("{name} binds git to one repository; unset it"))),
        None => Ok(()),
    }
}
