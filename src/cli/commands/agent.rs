//! `agent`: tells agents about this program, and answers their hooks.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use codeweaver_mcp::agents::advice;
use codeweaver_mcp::agents::plan::State;
use codeweaver_mcp::agents::product::{self, PRODUCTS, Product};

use crate::cli::agent_files::{AgentFiles, Consent};
use crate::cli::client_setup::project_root;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::shown_path;

/// Maximum size of an event: a tool may have printed much.
const MAX_EVENT_BYTES: u64 = 8 << 20;

const EXAMPLES: &str = "\
Examples:
  git codeweaver agent install                       for the products that are used in this repository
  git codeweaver agent install claude-code --dry-run print the changes as a diff
  git codeweaver agent install gemini --global       in your own files, for all repositories
  git codeweaver agent uninstall";

/// Tell coding agents to search with this program
///
/// Adds a skill, a rule or a section of instructions to the files that a product reads, and for Claude Code a
/// hook that adds definitions and callers to what its own search finds. Every change is shown before it is
/// written, and can be undone exactly. `git codeweaver mcp --install` adds the MCP server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AgentArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the changes, and write them
    Install(ChangeArgs),
    /// Remove what `install` wrote; everything else in the files is kept
    Uninstall(ChangeArgs),
    /// List the files of all products, and whether they have it
    Status,
    /// Answer an event of an agent (run by hooks)
    ///
    /// Reads the event as JSON on stdin. Never fails, and prints nothing if there is nothing to add.
    Hook {
        /// Time for an answer
        #[arg(long, value_name = "MS", default_value_t = 50)]
        budget_ms: u64,
    },
}

#[derive(Debug, Args)]
struct ChangeArgs {
    /// Products; without any, those that are used here
    #[arg(value_name = "PRODUCT", value_parser = product_parser())]
    products: Vec<&'static Product>,
    /// Change your own files, for all repositories, instead of those of this repository
    #[arg(long)]
    global: bool,
    /// Print the changes as a diff without writing them
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

impl AgentArgs {
    /// Returns true if a hook is answered, for no person to read.
    pub fn is_hook(&self) -> bool {
        matches!(self.action, Action::Hook { .. })
    }
}

impl ChangeArgs {
    fn files(&self, context: &Context) -> Result<AgentFiles, CliError> {
        let root = if self.global { None } else { Some(project_root(context)?) };
        Ok(AgentFiles::new(root))
    }

    /// Returns whether `product` has a file of this scope.
    fn has_file_of(&self, product: &Product) -> bool {
        !self.global || product.files.iter().all(|file| file.user.is_some())
    }

    fn consent(&self) -> Consent {
        match (self.dry_run, self.yes) {
            (true, _) => Consent::DryRun,
            (_, true) => Consent::Given,
            _ => Consent::Ask,
        }
    }
}

fn product_parser() -> impl TypedValueParser<Value = &'static Product> {
    let values = PRODUCTS.iter().map(|product| PossibleValue::new(product.id));
    PossibleValuesParser::new(values)
        .try_map(|name| product::find(&name).ok_or_else(|| format!("unknown product {name}")))
}

pub fn run(args: AgentArgs, context: &Context) -> Result<ExitCode, CliError> {
    match args.action {
        Action::Install(args) => install(&args, context)?,
        Action::Uninstall(args) => uninstall(&args, context)?,
        Action::Status => status(context)?,
        // An agent must not be disturbed, so this cannot fail.
        Action::Hook { budget_ms } => hook(budget_ms),
    }
    Ok(ExitCode::SUCCESS)
}

fn install(args: &ChangeArgs, context: &Context) -> Result<(), CliError> {
    let mut files = args.files(context)?;
    let products: Vec<&'static Product> = match args.products.is_empty() {
        true => files.used().into_iter().filter(|product| args.has_file_of(product)).collect(),
        false => args.products.clone(),
    };

    if products.is_empty() {
        let names: Vec<&str> = PRODUCTS.iter().map(|product| product.id).collect();
        return Err(CliError::new(
            "no product is found",
            "neither this repository nor the PATH has a trace of one",
            format!("name one: {}", names.join(", ")),
        ));
    }
    files.install(&products, args.consent(), context)
}

fn uninstall(args: &ChangeArgs, context: &Context) -> Result<(), CliError> {
    let mut files = args.files(context)?;
    let all: Vec<&'static Product> = PRODUCTS.iter().filter(|product| args.has_file_of(product)).collect();
    let products = if args.products.is_empty() { all } else { args.products.clone() };
    files.uninstall(&products, args.consent(), context)
}

/// Prints a line for each file of the repository and of the user.
fn status(context: &Context) -> Result<(), CliError> {
    let mut out = context.out();

    for root in [project_root(context).ok(), None] {
        let files = AgentFiles::new(root);
        for product in &PRODUCTS {
            // A product may have no file of this scope.
            for (file, state) in files.states(product).unwrap_or_default() {
                let (state, why) = match &state {
                    State::Installed => ("installed", String::new()),
                    State::Differs => ("differs", String::new()),
                    State::Absent => ("-", String::new()),
                    State::Unreadable(why) => ("error", format!("  {why}")),
                };
                writeln!(out, "{:<15} {state:<10} {}{why}", product.name, shown_path(&file))?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// Answers an event. Any error is silence, since an agent must not be disturbed.
fn hook(budget_ms: u64) {
    let mut event = String::new();
    let read = std::io::stdin().take(MAX_EVENT_BYTES).read_to_string(&mut event);

    if read.is_ok()
        && let Some(answer) = advice::answer(&event, Duration::from_millis(budget_ms))
    {
        let _ = writeln!(std::io::stdout(), "{answer}");
    }
}
