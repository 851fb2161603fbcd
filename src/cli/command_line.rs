//! The command line as a whole: global options and the list of commands.

use clap::{Parser, Subcommand};

use super::args::GlobalArgs;
use super::commands;

pub const ABOUT: &str = "Search code by meaning, from an index that lives in your git repository";

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
    // A command is optional, so that the program greets without one, but every use of it has one.
    override_usage = "git codeweaver [OPTIONS] <COMMAND>",
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
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
    Org(commands::org::OrgArgs),
    #[command(alias = "server")]
    Serve(commands::serve::ServeArgs),
    Similar(commands::similar::SimilarArgs),
    Duplicates(commands::duplicates::DuplicatesArgs),
    Outline(commands::outline::OutlineArgs),
    Graph(commands::graph::GraphArgs),
    Read(commands::read::ReadArgs),
    Status(commands::status::StatusArgs),
    Doctor(commands::doctor::DoctorArgs),
    Config(commands::config::ConfigArgs),
    Chunks(commands::chunks::ChunksArgs),
    Verify(commands::verify::VerifyArgs),
    Mcp(commands::mcp::McpArgs),
    Tool(commands::tool::ToolArgs),
    Agent(commands::agent::AgentArgs),
    Model(commands::model::ModelArgs),
    Eval(commands::eval::EvalArgs),
    Gc(commands::gc::GcArgs),
    #[cfg(unix)]
    Daemon(commands::daemon::DaemonArgs),
    Hook(commands::hook::HookArgs),
    Completions(commands::completions::CompletionsArgs),
    #[command(hide = true)]
    Complete(commands::completions::CompleteArgs),
    Man(commands::man::ManArgs),
}

impl Command {
    /// Whether its output is for a person to read.
    pub fn displays(&self) -> bool {
        match self {
            Command::Hook(_) | Command::Mcp(_) => false,
            Command::Agent(args) => !args.is_hook(),
            _ => true,
        }
    }

    /// Whether a daemon runs it: it reads, and depends on nothing but arguments, repository and surroundings.
    #[cfg(unix)]
    pub fn is_resident(&self) -> bool {
        match self {
            Command::Search(args) => args.is_closed(),
            Command::Tool(args) => args.is_reader(),
            Command::Similar(_) | Command::Outline(_) | Command::Graph(_) | Command::Read(_) => true,
            _ => false,
        }
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
    use std::path::Path;

    use clap::CommandFactory;
    use clap::error::{ContextKind, ErrorKind};
    use codeweaver_testkit::{DocumentedCommand, documented_commands};

    use super::*;
    use crate::cli::arguments;

    #[test]
    fn clap_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn commands_of_the_documentation_are_valid() {
        let documented = documented_commands(Path::new(env!("CARGO_MANIFEST_DIR")));
        assert!(documented.len() > 200, "only {} were found", documented.len());
        let problems: Vec<String> = documented.iter().filter_map(problem).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn what_is_no_command_is_a_problem_of_its_page() {
        let problem_of = |args: &str, in_block| {
            let args = args.split(' ').map(str::to_owned).collect();
            problem(&DocumentedCommand { page: "docs/page.md".into(), line: 7, args, in_block })
        };
        for typed in ["search --nosuch x", "nosuch", "status x", "search --mode nosuch x"] {
            let problem = problem_of(typed, true).unwrap();
            assert!(problem.starts_with(&format!("docs/page.md:7: git codeweaver {typed}: ")), "{problem}");
            assert!(problem_of(typed, false).is_some(), "{typed}");
        }
        assert!(problem_of("read", true).is_some());
        assert_eq!(problem_of("read", false), None);
        assert_eq!(problem_of("search -i debug -l 3 session", true), None);
    }

    /// What is wrong with a command of a page. Sentences may leave out arguments or have placeholders.
    fn problem(command: &DocumentedCommand) -> Option<String> {
        let is_placeholder = |arg: &String| !arg.is_empty() && arg.chars().all(|c| c.is_ascii_uppercase());
        if !command.in_block && command.args.first().is_some_and(is_placeholder) {
            return None;
        }

        let is_left_out = |arg: &String| !command.in_block && (arg == "…" || is_placeholder(arg));
        let args = command.args.iter().filter(|&arg| !is_left_out(arg)).cloned();
        let typed = std::iter::once("git-codeweaver".to_owned()).chain(args).map(Into::into).collect();
        let error = Cli::command().try_get_matches_from(arguments::with_ignored_case(typed)).err()?;
        // An option without a value is an invalid value.
        let has_value =
            error.get(ContextKind::InvalidValue).is_some_and(|value| !value.to_string().is_empty());
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
            ErrorKind::InvalidValue if !command.in_block && !has_value => None,
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                if !command.in_block =>
            {
                None
            }
            _ => {
                let error = error.to_string();
                Some(format!("{}: {}", command.explain(), error.lines().next().unwrap_or_default()))
            }
        }
    }
}
