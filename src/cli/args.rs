//! The argument parser: global options and the list of commands.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand, ValueEnum};

use codeweaver_git::quoting;

use super::commands;

const ABOUT: &str = "Search code by meaning, from an index that lives in your git repository";

const LONG_ABOUT: &str = "\
Search code by meaning, from an index that lives in your git repository.

The index is built from git's own objects and kept current by hooks on every commit and checkout. \
Nothing leaves the machine: the default model is part of this program.";

const EXAMPLES: &str = "\
Examples:
  git codeweaver init                              set up this repository and build the first index
  git codeweaver search \"where are tokens refreshed\"
  git codeweaver search -l 3 --lang rust --no-tests \"retry with backoff\"
  git codeweaver search --rev v1.2 \"config file lookup\"
  git codeweaver status                            show what is indexed and how current it is

`git codeweaver help COMMAND` or `git codeweaver COMMAND -h` shows the help of a command. \
(`git codeweaver --help` makes git open a manual page, which `git codeweaver man --install` installs.)";

#[derive(Debug, Parser)]
#[command(
    name = "git-codeweaver",
    bin_name = "git codeweaver",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = EXAMPLES,
    max_term_width = 100,
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Directory inside the repository [default: the current directory]
    #[arg(short, long, global = true, value_name = "PATH")]
    pub project: Option<PathBuf>,
    /// Catalogue of repositories to work on, see `git codeweaver catalogue`
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "project")]
    pub catalogue: Option<PathBuf>,
    /// When to use colours and hyperlinks; auto: only on a terminal
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto, hide_default_value = true)]
    pub color: ColorWhen,
    /// Do not page long output (in git's configuration: pager.codeweaver)
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Write debug messages to stderr (CODEWEAVER_LOG selects more finely)
    #[arg(long, global = true)]
    pub debug: bool,
}

/// Parser of arguments that are or begin with a path: raw bytes that are not UTF-8 are quoted, as they would
/// be printed.
pub fn place() -> impl clap::builder::TypedValueParser<Value = String> {
    clap::builder::OsStringValueParser::new().map(|typed| match typed.into_string() {
        Ok(text) => text,
        Err(typed) => {
            let bytes = typed.as_encoded_bytes();
            let (path, lines) = bytes.split_at(quoting::lines_at(bytes).unwrap_or(bytes.len()));
            quoting::text(path) + &String::from_utf8_lossy(lines)
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Init(commands::init::InitArgs),
    Deinit(commands::deinit::DeinitArgs),
    Index(commands::index::IndexArgs),
    Search(commands::search::SearchArgs),
    Ask(commands::ask::AskArgs),
    Docs(commands::docs::DocsArgs),
    Catalogue(commands::catalogue::CatalogueArgs),
    Serve(commands::serve::ServeArgs),
    Similar(commands::similar::SimilarArgs),
    Outline(commands::outline::OutlineArgs),
    Graph(commands::graph::GraphArgs),
    Read(commands::read::ReadArgs),
    Status(commands::status::StatusArgs),
    Doctor(commands::doctor::DoctorArgs),
    Config(commands::config::ConfigArgs),
    Chunks(commands::chunks::ChunksArgs),
    Verify(commands::verify::VerifyArgs),
    Mcp(commands::mcp::McpArgs),
    Model(commands::model::ModelArgs),
    Eval(commands::eval::EvalArgs),
    Gc(commands::gc::GcArgs),
    Hook(commands::hook::HookArgs),
    Completions(commands::completions::CompletionsArgs),
    #[command(hide = true)]
    Complete(commands::completions::CompleteArgs),
    Man(commands::man::ManArgs),
}

impl Command {
    /// Whether its output is for a person to read.
    pub fn displays(&self) -> bool {
        !matches!(self, Command::Hook(_) | Command::Mcp(_))
    }

    /// True if the process leaves the session of its parent.
    pub fn is_detached(&self) -> bool {
        match self {
            Command::Index(args) => args.detached,
            Command::Hook(_) => commands::hook::is_detached(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
