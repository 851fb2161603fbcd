//! `serve`: a search page, an API, MCP over HTTP, health and metrics; or questions over WebSocket.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use codeweaver::ask::serve as questions;
use codeweaver_config::CONFIG_FILE_VARIABLE;
use codeweaver_serve::{self as serve, Event, Options, PORT, ServeError, TokenError, Tokens};

use super::docs::absolute;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::org_search::OrgPlace;
use crate::cli::render;

const EXAMPLES: &str = "\
Examples:
  git codeweaver serve                             the page of this repository: http://127.0.0.1:9328/
  git codeweaver serve --catalogue ~/all.git       the pages of many repositories, see `git codeweaver catalogue`
  git codeweaver serve --org https://search.example:9200/code
  git codeweaver serve -p ~/src/shop -c shop.toml --debug
  git codeweaver serve --host 0.0.0.0 --token-file ~/token --allow-host code.example
  curl 'localhost:9328/api/search?q=retry+with+backoff'
  git codeweaver serve --ask                       questions about the documents of this repository
  git codeweaver serve --ask --dir ~/notes --port 9000
  git codeweaver ask --server ws://localhost:8765 \"how do I turn hooks off\"

Unless told otherwise, the server listens on this machine only. docs/serve.md describes the page, the API, health
and metrics, docs/ask.md the protocol of questions.";

/// Serve a search page, an API and MCP over HTTP (also `server`)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Address to listen on; one that other machines reach needs --token-file [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "ask")]
    host: Option<IpAddr>,
    /// Port to listen on, 0 for any free one [default: 9328; with --ask: 8765]
    #[arg(long)]
    port: Option<u16>,
    /// Name under which the server is reached, besides its address and localhost; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "ask")]
    allow_host: Vec<String>,
    /// File with the tokens that clients must present, one a line; globs of repositories after a token limit
    /// it to these
    #[arg(long, value_name = "FILE", conflicts_with = "ask")]
    token_file: Option<PathBuf>,
    /// Answer searches from the index of an organisation at this URL (see `org`)
    #[arg(long, value_name = "URL", conflicts_with = "ask")]
    org: Option<String>,
    /// Seconds between two looks at the repositories of a catalogue
    #[arg(long, value_name = "SECONDS", default_value_t = 30, conflicts_with = "ask")]
    every: u64,
    /// Build the index anew before it is served
    #[arg(long)]
    reindex: bool,
    /// Settings file to read instead of your own; it overrides that of the repository
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Answer questions about documents over WebSocket instead, as `ask`
    #[arg(long)]
    ask: bool,
    #[command(flatten)]
    questions: QuestionArgs,
}

/// Options of `--ask`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Questions about documents")]
struct QuestionArgs {
    /// Serve the documents in this directory instead of the repository; can be repeated
    #[arg(long, value_name = "DIR", requires = "ask")]
    dir: Vec<PathBuf>,
    /// Serve this collection as well (see `docs`); can be repeated
    #[arg(long, value_name = "NAME", requires = "ask")]
    index: Vec<String>,
    /// Name of the index that queries without a name ask [default: default]
    #[arg(long, value_name = "NAME", requires = "ask")]
    index_name: Option<String>,
    /// Seconds between two looks for changed documents [default: 300]
    #[arg(long, value_name = "SECONDS", requires = "ask")]
    reload_interval: Option<u64>,
}

pub fn run(args: ServeArgs, context: &Context) -> Result<ExitCode, CliError> {
    if args.ask {
        return answer_questions(args, context);
    }
    if let Some(file) = &args.config {
        read_settings_from(file)?;
    }

    let org = args.org.as_deref().map(|url| OrgPlace::open(url, context)).transpose()?;
    if org.is_none() {
        // Reports a wrong directory, and warns about its settings, before the server starts.
        drop(context.codebase()?);
    }

    let options = Options {
        repository: org.as_ref().map_or_else(|| context.dir.clone(), |org| org.dir.clone()),
        engine: org.as_ref().map(|org| org.engine.clone()),
        host: args.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        port: args.port.unwrap_or(PORT),
        names: args.allow_host,
        tokens: args.token_file.as_deref().map(Tokens::read).transpose()?.map(Arc::new),
        interval: Duration::from_secs(args.every),
        reindex: args.reindex,
    };

    serve::run(&options, &|event| match event {
        Event::Listening(url) => context.note(&format!("Serving {url}")),
        Event::Indexing => context.note("Indexing; answers are incomplete until it is done"),
        Event::Indexed => context.note("The index is complete"),
        Event::Warning(message) => context.warn(message),
        Event::Stopping => context.note("Stopping"),
    })?;

    Ok(ExitCode::SUCCESS)
}

/// Makes `file` the settings file of this process and of those that it starts. For that, the program is
/// executed again with the name of the file in its environment, unless it is there already.
fn read_settings_from(file: &Path) -> Result<(), CliError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    if std::env::var_os(CONFIG_FILE_VARIABLE).is_some_and(|set| set == file) {
        return Ok(());
    }

    execute_again(&file).map_err(|error| {
        CliError::new(
            "the settings file cannot be used",
            error.to_string(),
            format!("set {CONFIG_FILE_VARIABLE} to {} instead of --config", file.display()),
        )
    })
}

#[cfg(unix)]
fn execute_again(file: &Path) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new(std::env::current_exe()?);
    Err(command.args(std::env::args_os().skip(1)).env(CONFIG_FILE_VARIABLE, file).exec())
}

#[cfg(not(unix))]
fn execute_again(_file: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("this system cannot execute a program in the same process"))
}

/// Serves questions about documents.
fn answer_questions(args: ServeArgs, context: &Context) -> Result<ExitCode, CliError> {
    if !context.dir.is_dir() {
        return Err(CliError::no_such_directory(&context.dir));
    }

    let given = [
        ("ask.port", args.port.map(|port| port.to_string())),
        ("ask.index_name", args.questions.index_name),
        ("ask.reload_interval", args.questions.reload_interval.map(|seconds| seconds.to_string())),
    ];
    // Options have precedence over the configuration, so only given ones are passed.
    let overrides = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();

    let options = questions::ServeOptions {
        repository: context.dir.clone(),
        directories: absolute(&args.questions.dir),
        collections: args.questions.index,
        config: args.config,
        reindex: args.reindex,
        overrides,
    };

    questions::run(&options, &|event| match event {
        questions::ServeEvent::Listening(address) => {
            context.note(&format!("Listening on ws://{address}, loading the index"));
        }
        questions::ServeEvent::Ready { n_documents } => {
            let documents = render::plural(n_documents as u64, "document");
            context.note(&format!("Ready: {documents}"));
        }
        questions::ServeEvent::Warning(message) => context.warn(message),
        questions::ServeEvent::Configured => context.note("The configuration was read again"),
    })?;

    Ok(ExitCode::SUCCESS)
}

impl From<questions::ServeError> for CliError {
    fn from(error: questions::ServeError) -> Self {
        use questions::ServeError;

        match error {
            ServeError::Running { port } => running(port, "git codeweaver serve --ask --port PORT"),
            ServeError::Listen { address, source } => CliError::new(
                format!("cannot listen on {address}"),
                source.to_string(),
                "choose another port with --port",
            ),

            ServeError::Config(error) => error.into(),
            ServeError::Api(error) => CliError::new(
                "the language model cannot be asked",
                error.to_string(),
                error.fix(&codeweaver::ask::api::NAMES),
            ),
            ServeError::Index(error) => error.into(),
            ServeError::Collection(error) => error.into(),
            ServeError::Query(error) => error.into(),
        }
    }
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Running { port } => running(port, "git codeweaver serve --port PORT"),
            ServeError::Listen { address, source } => CliError::new(
                format!("cannot listen on {address}"),
                source.to_string(),
                "choose another address with --host, or another port with --port",
            ),

            ServeError::NoToken { .. } => CliError::new(
                "the server does not start without a token",
                error.to_string(),
                "write at least 16 random characters to a file and name it with --token-file",
            ),
            ServeError::Start(source) => {
                CliError::new("the server cannot start", source.to_string(), "try again")
            }
            ServeError::Metrics(source) => CliError::new(
                "internal error",
                source.to_string(),
                "please report this with the command you ran",
            ),
            ServeError::Index(error) => error.into(),
        }
    }
}

impl From<TokenError> for CliError {
    fn from(error: TokenError) -> Self {
        CliError::new(
            "there is no token",
            error.to_string(),
            "write at least 16 random characters to the file: `openssl rand -hex 32 > FILE`",
        )
    }
}

/// The error of a port that is in use.
fn running(port: u16, fix: &str) -> CliError {
    CliError::new(format!("Server already running on port {port}"), "another process listens on it", fix)
}
