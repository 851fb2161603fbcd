//! `serve`: answers questions over WebSocket.

use super::docs::absolute;
use crate::ask::serve::{self, ServeError, ServeEvent, ServeOptions};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  git codeweaver serve --ask                       the documents of this repository
  git codeweaver serve --ask --dir ~/notes --port 9000
  git codeweaver ask --server ws://localhost:8765 \"how do I turn hooks off\"

The server listens on this machine only. docs/ask.md describes the protocol.";

/// Answer questions over WebSocket, from an index in memory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Answer questions about documents, as `ask`
    #[arg(long, required = true)]
    ask: bool,
    /// Serve the documents in this directory instead of the repository; can be repeated
    #[arg(long, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// Serve this collection as well (see `docs`); can be repeated
    #[arg(long, value_name = "NAME")]
    index: Vec<String>,
    /// File with the settings of the section `qa`, instead of the user's configuration
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Build the indexes again before they are served
    #[arg(long)]
    reindex: bool,
    /// Port to listen on [default: 8765]
    #[arg(long)]
    port: Option<u16>,
    /// Name of the index that queries without a name ask [default: default]
    #[arg(long, value_name = "NAME")]
    index_name: Option<String>,
    /// Seconds between two looks for changed documents [default: 300]
    #[arg(long, value_name = "SECONDS")]
    reload_interval: Option<u64>,
}

pub fn run(args: ServeArgs, context: &Context) -> Result<ExitCode, CliError> {
    let mut overrides = Vec::new();
    let mut add = |key: &str, value: Option<String>| {
        overrides.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("qa.port", args.port.map(|port| port.to_string()));
    add("qa.index_name", args.index_name);
    add("qa.reload_interval", args.reload_interval.map(|seconds| seconds.to_string()));
    let options = ServeOptions {
        repository: context.dir.clone(),
        directories: absolute(&args.dir),
        collections: args.index,
        config: args.config,
        reindex: args.reindex,
        overrides,
    };
    serve::run(&options, &|event| match event {
        ServeEvent::Listening(address) => {
            context.note(&format!("Listening on ws://{address}, loading the index"))
        }
        ServeEvent::Ready { n_documents } => {
            let documents = render::plural(n_documents as u64, "document");
            context.note(&format!("Ready: {documents}"));
        }
        ServeEvent::Warning(message) => context.warn(message),
        ServeEvent::Configured => context.note("The configuration was read again"),
    })?;
    Ok(ExitCode::SUCCESS)
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Running { port } => CliError::new(
                format!("Server already running on port {port}"),
                "another process listens on it",
                "git codeweaver serve --ask --port PORT",
            ),
            ServeError::Listen { address, source } => CliError::new(
                format!("cannot listen on {address}"),
                source.to_string(),
                "choose another port with --port",
            ),
            ServeError::Config(error) => error.into(),
            ServeError::Api(error) => CliError::new(
                "the language model cannot be asked",
                error.to_string(),
                error.fix(&crate::ask::api::NAMES),
            ),
            ServeError::Index(error) => error.into(),
            ServeError::Collection(error) => error.into(),
            ServeError::Query(error) => error.into(),
        }
    }
}
