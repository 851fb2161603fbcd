//! `mcp`: serves coding agents over standard input and output, or registers the server with their clients.

use crate::cli::client_setup::{self, SetupArgs};
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
#[command(after_help = "\
Examples:
  git codeweaver mcp --install claude-code cursor     in your own configuration of both
  git codeweaver mcp --install vscode --scope project --dry-run
  git codeweaver mcp --print zed
  git codeweaver mcp --uninstall cursor")]
pub struct McpArgs {
    #[command(flatten)]
    setup: SetupArgs,
}

impl McpArgs {
    /// True if it serves: then logs go to the client, too.
    pub fn serves(&self) -> bool {
        !self.setup.is_wanted()
    }
}

pub fn run(args: McpArgs, context: &Context) -> Result<ExitCode, CliError> {
    if !args.serves() {
        return client_setup::run(&args.setup, context);
    }
    let served = leave_git_environment().and_then(|()| {
        let (layer, records) = log::channel();
        logging::start_with_protocol(context, layer);
        mcp::serve(Options { dir: context.dir.clone(), debug: context.debug, records })
    });
    served.map_err(|error| {
        CliError::new(
            "the server cannot start",
            error.to_string(),
            "standard input and output must be open, and threads available",
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Variables by which git pins a process to one repository.
const PINNING_VARIABLES: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// Starts this program anew without those variables if there are any: a server answers for many repositories, and so do
/// the processes that it starts.
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
        Some(name) => Err(std::io::Error::other(format!("{name} pins git to one repository; unset it"))),
        None => Ok(()),
    }
}
