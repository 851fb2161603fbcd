//! The command line: parses arguments, calls the library, and prints text or JSON.
//!
//! * [`arguments`]: the arguments as they are meant; [`command_line`]: their parser; [`commands`]: one small
//!   file per command; [`args`]: arguments of several commands.
//! * [`context`]: repository, terminal and output streams of this invocation.
//! * [`screen`], [`pager`]: the terminal that output is displayed on, and the pager of long output.
//! * [`render`]: text that is safe to print: colours, links, numbers, escapes.
//! * [`width`], [`highlight`]: text that fits the terminal, and the words of a query in it.
//! * [`places`]: paths relative to the current directory, with links.
//! * [`results`]: the printed form of matches, with the parameters in [`output`]; [`lines`]: one line for
//!   each, for editors; [`mod@grep`]: the lines that match a pattern; [`hints`]: advice where nothing
//!   matches.
//! * [`progress`], [`checkpoint`], [`events`]: progress display, record and JSON events of an indexing run.
//! * [`downloads`]: downloads of models; [`estimate`]: the cost of an index.
//! * [`prompt`]: lines that a user types; [`once`]: warnings that are not repeated.
//! * [`org_search`]: the engine of an organisation, for searches.
//! * [`chunk_stats`]: chunking statistics of a tree; [`for_agent`]: the text of the MCP tools.
//! * [`greeting`]: what is printed without a command.
//! * [`client_setup`]: registration of the MCP server with its clients; [`agent_files`]: files that tell
//!   agents about this program.
//! * [`completion`]: completion in shells; [`user_files`]: the directories of scripts and manual pages.
//! * [`resident`]: the daemon, as a client and as a server; [`surroundings`], [`streams`], [`stdout`]: what a
//!   command sees of the process that was called, which may be a client.
//! * [`error`]: conversion of library errors into three lines and an exit code; [`usage`]: conversion of
//!   errors of the argument parser.

mod agent_files;
mod args;
mod arguments;
mod checkpoint;
mod chunk_stats;
mod client_setup;
mod command_line;
mod commands;
mod completion;
mod context;
mod downloads;
mod error;
mod estimate;
mod events;
mod for_agent;
mod further;
mod greeting;
mod grep;
mod highlight;
mod hints;
mod lines;
mod logging;
mod once;
mod org_search;
mod output;
mod pager;
mod picker;
mod places;
mod progress;
mod prompt;
mod render;
mod resident;
mod results;
mod scope;
mod screen;
mod stdout;
mod streams;
mod surroundings;
mod usage;
mod user_files;
mod width;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::{ColorWhen, Format};
use command_line::{Cli, Command};
use commands::duplicates::ReportFormat;
use context::{Context, Invocation};
use error::CliError;

/// Exit codes other than success. The table of all commands is in `docs/cli.md`.
pub mod exit {
    /// No match, a refused request, or reported problems.
    pub const NEGATIVE: u8 = 1;
    /// An error, or no usable index.
    pub const ERROR: u8 = 2;
    /// Ended by SIGINT or SIGTERM; finished work is kept.
    pub const INTERRUPTED: u8 = 130;
}

/// Has a daemon run the command, or parses the command line, runs the command and reports its error.
pub fn main() -> ExitCode {
    let arguments = arguments::typed();
    #[cfg(unix)]
    if let Some(code) = resident::client::run(&arguments) {
        return code;
    }

    let call = Invocation::of_process();
    let matches = match Cli::command().try_get_matches_from(arguments).map_err(usage::error_of) {
        Ok(matches) => matches,
        Err(Ok(error)) => {
            let paint = Context::err_paint(ColorWhen::Auto, &call.surroundings);
            return error.report(&call.streams, paint, false);
        }
        Err(Err(help)) => help.exit(),
    };

    let operation = matches.subcommand_name().unwrap_or_default();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());

    // This must happen before any thread is started or file is opened.
    if cli.command.as_ref().is_some_and(Command::is_detached) {
        codeweaver_base::process::become_session_leader();
    }
    #[cfg(unix)]
    if matches!(&cli.command, Some(Command::Daemon(args)) if args.is_detached()) {
        codeweaver_base::process::leave_session();
    }
    if let Ok(program) = std::env::current_exe() {
        codeweaver_index::program::set_program(program);
    }

    let context = Context::new(&cli.global, cli.command.as_ref().is_none_or(Command::displays), call);
    // The server sets up logging itself, because it also logs to its client.
    if !matches!(&cli.command, Some(Command::Mcp(args)) if args.serves()) {
        logging::start(&context);
    }

    #[cfg(unix)]
    let may_start_daemon = cli.command.as_ref().is_some_and(Command::is_resident);
    let started = std::time::Instant::now();
    let result = match cli.command {
        Some(command) => run(command, &context),
        None => greeting::run(&context),
    };
    let duration_ms = started.elapsed().as_millis() as u64;
    let error = result.as_ref().err().map(|e| format!("{}: {}", e.what, e.why));
    tracing::info!(component = "cli", operation, duration_ms, error, "done");

    let code = result.unwrap_or_else(|error| report(&error, &matches, &context));
    #[cfg(unix)]
    if may_start_daemon && !resident::client::is_off() {
        resident::auto::start();
    }
    code
}

/// Runs the command of a client of the daemon, if its repository `is_served`.
///
/// # Errors
/// The reason for which the client is to run it itself.
#[cfg(unix)]
fn run_resident(
    arguments: &[std::ffi::OsString],
    call: Invocation,
    is_served: &dyn Fn(&Context) -> bool,
) -> Result<ExitCode, &'static str> {
    /// The parser, which takes longer to build than most commands to parse.
    static PARSER: std::sync::LazyLock<clap::Command> = std::sync::LazyLock::new(Cli::command);

    let matches = PARSER.clone().try_get_matches_from(arguments).map_err(|_| "it is not understood")?;
    let cli = Cli::from_arg_matches(&matches).map_err(|_| "it is not understood")?;
    let command = cli.command.filter(Command::is_resident).ok_or("the command is not served")?;
    // Messages for debugging are those of one process.
    if cli.global.debug || cli.global.catalogue.is_some() {
        return Err("the command is not served");
    }

    let context = Context::new(&cli.global, command.displays(), call);
    if !is_served(&context) {
        return Err("the repository is another one");
    }
    let result = run(command, &context);
    Ok(result.unwrap_or_else(|error| report(&error, &matches, &context)))
}

/// Prints an error of a command.
fn report(error: &CliError, matches: &ArgMatches, context: &Context) -> ExitCode {
    error.report(&context.streams, context.err_paint, asks_for_json(matches))
}

/// Returns whether the arguments of the command ask for JSON.
fn asks_for_json(matches: &ArgMatches) -> bool {
    let flag = matches.try_get_one::<bool>("json").ok().flatten();
    let format = matches.try_get_one::<Format>("output_format").ok().flatten();

    let report = matches.try_get_one::<ReportFormat>("output_format").ok().flatten();

    flag == Some(&true)
        || format == Some(&Format::Json)
        || report == Some(&ReportFormat::Json)
        || matches.subcommand().is_some_and(|(_, inner)| asks_for_json(inner))
}

/// Runs the function of a command.
fn run(command: Command, context: &Context) -> Result<ExitCode, CliError> {
    match command {
        Command::Init(args) => commands::init::run(args, context),
        Command::Deinit(args) => commands::deinit::run(args, context),
        Command::Index(args) => commands::index::run(args, context),

        Command::Search(args) => commands::search::run(args, context),
        Command::Catalogue(args) => commands::catalogue::run(args, context),
        Command::Org(args) => commands::org::run(args, context),
        Command::Serve(args) => commands::serve::run(args, context),
        Command::Docs(args) => commands::docs::run(args, context),
        Command::Ask(args) => commands::ask::run(args, context),

        Command::Status(args) => commands::status::run(args, context),
        Command::Similar(args) => commands::similar::run(args, context),
        Command::Duplicates(args) => commands::duplicates::run(args, context),
        Command::Outline(args) => commands::outline::run(args, context),
        Command::Graph(args) => commands::graph::run(args, context),
        Command::Read(args) => commands::read::run(args, context),
        Command::Doctor(args) => commands::doctor::run(args, context),
        Command::Config(args) => commands::config::run(args, context),

        Command::Chunks(args) => commands::chunks::run(args, context),
        Command::Verify(args) => commands::verify::run(args, context),
        Command::Mcp(args) => commands::mcp::run(args, context),
        Command::Tool(args) => commands::tool::run(args, Cli::command, context),
        Command::Agent(args) => commands::agent::run(args, context),
        Command::Model(args) => commands::model::run(args, context),
        Command::Eval(args) => commands::eval::run(args, context),
        Command::Gc(args) => commands::gc::run(args, context),
        #[cfg(unix)]
        Command::Daemon(args) => commands::daemon::run(args, context, run_resident),

        Command::Hook(args) => commands::hook::run(args, context),
        Command::Completions(args) => commands::completions::run(args, Cli::command(), context),
        Command::Complete(args) => commands::completions::complete(args, Cli::command(), context),
        Command::Man(args) => commands::man::run(args, Cli::command(), context),
    }
}
