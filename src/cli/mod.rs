//! The command line: what was typed → the library → text for a person or JSON for a program.
//!
//! * [`args`]: what can be typed; [`verbs`]: one small file per verb.
//! * [`context`]: the repository, the terminal and the streams of this invocation.
//! * [`render`]: text that is safe to print: colour, links, numbers, escapes.
//! * [`results`]: how matches look.
//! * [`progress`], [`checkpoint`]: what an indexing run shows and records while it works.
//! * [`chunk_stats`]: how well a tree is chunked.
//! * [`setup`]: the MCP server in the configuration of its clients.
//! * [`error`]: the one place where library errors become three lines and an exit code.

pub mod args;
pub mod checkpoint;
pub mod chunk_stats;
pub mod context;
pub mod error;
pub mod logging;
pub mod progress;
pub mod render;
pub mod results;
pub mod setup;
pub mod verbs;

use args::{Cli, Verb};
use clap::{CommandFactory, FromArgMatches};
use context::Context;
use error::CliError;
use std::process::ExitCode;

/// Exit codes beyond success; the whole table is in `docs/cli.md` (requirement U9).
pub mod exit {
    /// Nothing found, refused, or findings.
    pub const NEGATIVE: u8 = 1;
    /// An error, or no index to answer from.
    pub const ERROR: u8 = 2;
    /// Ended by SIGINT or SIGTERM, with everything done so far kept.
    pub const INTERRUPTED: u8 = 130;
}

/// Parses the command line, runs the verb and reports its error.
pub fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let operation = matches.subcommand_name().unwrap_or_default();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    // Before anything starts a thread or opens a file.
    if cli.verb.is_detached() {
        crate::git::detach::become_session_leader();
    }
    if let Ok(program) = std::env::current_exe() {
        crate::index::child::set_program(program);
    }
    let context = Context::new(&cli.global);
    // The server starts its own logging: it also logs to its client.
    if !matches!(&cli.verb, Verb::Mcp(args) if args.serves()) {
        logging::start(&context);
    }
    let started = std::time::Instant::now();
    let result = run(cli.verb, &context);
    let duration_ms = started.elapsed().as_millis() as u64;
    let error = result.as_ref().err().map(|e| format!("{}: {}", e.what, e.why));
    tracing::info!(component = "cli", operation, duration_ms, error, "done");
    match result {
        Ok(code) => code,
        Err(error) => error.report(&context),
    }
}

fn run(verb: Verb, context: &Context) -> Result<ExitCode, CliError> {
    match verb {
        Verb::Init(args) => verbs::init::run(args, context),
        Verb::Deinit(args) => verbs::deinit::run(args, context),
        Verb::Index(args) => verbs::index::run(args, context),
        Verb::Search(args) => verbs::search::run(args, context),
        Verb::Status(args) => verbs::status::run(args, context),
        Verb::Similar(args) => verbs::similar::run(args, context),
        Verb::Outline(args) => verbs::outline::run(args, context),
        Verb::Graph(args) => verbs::graph::run(args, context),
        Verb::Read(args) => verbs::read::run(args, context),
        Verb::Doctor(args) => verbs::doctor::run(args, context),
        Verb::Config(args) => verbs::config::run(args, context),
        Verb::Chunks(args) => verbs::chunks::run(args, context),
        Verb::Verify(args) => verbs::verify::run(args, context),
        Verb::Mcp(args) => verbs::mcp::run(args, context),
        Verb::Eval(args) => verbs::eval::run(args, context),
        Verb::Gc(args) => verbs::gc::run(args, context),
        Verb::Hook(args) => verbs::hook::run(args, context),
        Verb::Completions(args) => verbs::completions::run(args, context),
        Verb::Man(args) => verbs::completions::run_man(args, context),
    }
}
