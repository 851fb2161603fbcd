//! `mcp --install`, `--print` and `--uninstall`: registration of the server with MCP clients.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};

use codeweaver_base::real_path;
use codeweaver_mcp::clients::places::Environment;
use codeweaver_mcp::clients::plan::{Command, Plan, Planner, Step};
use codeweaver_mcp::clients::receipt::Receipts;
use codeweaver_mcp::clients::table::{self, CLIENTS, Client};
use codeweaver_mcp::clients::{Scope, diff, plan};

use super::context::Context;
use super::error::CliError;
use super::render::{self, shown_path};

/// Options that register the server with clients instead of starting it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Client setup")]
#[command(group(ArgGroup::new("setup").args(["install", "print", "uninstall"])))]
#[command(group(ArgGroup::new("change").args(["install", "uninstall"])))]
pub struct SetupArgs {
    /// Add the server to the configuration of clients
    #[arg(long, value_name = "CLIENT", num_args = 1.., value_delimiter = ',', value_parser = client_parser())]
    pub install: Vec<&'static Client>,
    /// Print what to add to the configuration of a client
    #[arg(long, value_name = "CLIENT", value_parser = client_parser(), hide_possible_values = true)]
    pub print: Option<&'static Client>,
    /// Remove the server from the configuration of clients; everything else in the files is kept
    #[arg(long, value_name = "CLIENT", num_args = 1.., value_delimiter = ',', value_parser = client_parser(), hide_possible_values = true)]
    pub uninstall: Vec<&'static Client>,
    /// Print the changes as a diff without writing them
    #[arg(long, requires = "change")]
    pub dry_run: bool,
    /// Configuration to change
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t, requires = "setup")]
    pub scope: ScopeArg,
    /// Register the full path of this program, for clients that do not have your PATH
    #[arg(long, requires = "setup", conflicts_with = "uninstall")]
    pub absolute_path: bool,
}

/// Values of `--scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ScopeArg {
    /// Your own configuration, for all repositories
    #[default]
    User,
    /// A file of this repository, for everyone who works on it
    Project,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Scope {
        match scope {
            ScopeArg::User => Scope::User,
            ScopeArg::Project => Scope::Project,
        }
    }
}

impl SetupArgs {
    /// Returns true if any of `--install`, `--print` and `--uninstall` is given.
    pub fn is_requested(&self) -> bool {
        self.print.is_some() || !self.install.is_empty() || !self.uninstall.is_empty()
    }
}

fn client_parser() -> impl TypedValueParser<Value = &'static Client> {
    let values = CLIENTS.iter().map(|client| PossibleValue::new(client.id).aliases(client.aliases));
    PossibleValuesParser::new(values)
        .try_map(|name| table::find(&name).ok_or_else(|| format!("unknown client {name}")))
}

/// Prints or changes the configuration of clients. Nothing is written unless every file can be edited.
///
/// # Errors
/// A file cannot be read, edited safely or written; the home directory is unknown; there is no repository for
/// `--scope project`.
pub fn run(args: &SetupArgs, context: &Context) -> Result<ExitCode, CliError> {
    let environment = Environment::from_process();
    let command = Command::find(&environment, args.absolute_path)?;

    if let Some(client) = args.print {
        return print(client, args.scope.into(), &command, &environment, context);
    }

    let root = match Scope::from(args.scope) {
        Scope::User => None,
        Scope::Project => Some(project_root(context)?),
    };

    let mut receipts = Receipts::load(&environment);
    let planner =
        Planner { environment: &environment, receipts: &receipts, root: root.as_deref(), command: &command };

    // All changes are planned before the first is made, so that an error leaves every file as it was.
    let mut plans = Vec::new();
    for client in distinct(&args.install) {
        plans.push((client, planner.install(client)?));
    }
    for client in distinct(&args.uninstall) {
        plans.extend(planner.uninstall(client)?.into_iter().map(|step| (client, step)));
    }

    if root.is_some() && command.is_absolute() && !args.install.is_empty() {
        context.warn(&format!(
            "{} is a path of this machine, written to a file that others share",
            command.as_str()
        ));
    }

    for (client, step) in plans {
        match step {
            Step::Keep { file } => print_step(context, "Up to date:", client, &file)?,
            Step::Absent { file } => print_step(context, "Not found:", client, &file)?,
            Step::Change(plan) if args.dry_run => print_diff(context, &plan)?,
            Step::Change(plan) => apply(context, client, *plan, &mut receipts)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn distinct(clients: &[&'static Client]) -> Vec<&'static Client> {
    let mut distinct: Vec<&'static Client> = Vec::new();
    for client in clients {
        if !distinct.iter().any(|other| other.id == client.id) {
            distinct.push(client);
        }
    }
    distinct
}

/// The root of the working tree of the repository.
pub fn project_root(context: &Context) -> Result<PathBuf, CliError> {
    let repo = context.repo()?;
    let root = repo.work_dir().ok_or_else(|| {
        CliError::new(
            "there is no project to configure",
            "a bare repository has no working tree",
            "omit --scope project, or use --project PATH",
        )
    })?;
    Ok(real_path::canonicalize(root)?)
}

/// Prints the entry of a client, and on stderr the file that it belongs to.
fn print(
    client: &'static Client,
    scope: Scope,
    command: &Command,
    environment: &Environment,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let file = match scope {
        Scope::User => client.user.first().and_then(|place| environment.find(place)),
        Scope::Project => Some(PathBuf::from(plan::project_file(client)?)),
    };

    if let Some(file) = file {
        context.note(&format!("{} reads this from {}", client.name, shown_path(&file)));
    }

    let mut out = context.out();
    write!(out, "{}", command.snippet(client)?)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a planned change with its receipt.
fn apply(
    context: &Context,
    client: &'static Client,
    plan: Plan,
    receipts: &mut Receipts,
) -> Result<(), CliError> {
    let label = if plan.receipt.is_some() { "Installed:" } else { "Removed:" };
    write_plan(context, client.id, &plan, receipts)?;

    print_step(context, label, client, &plan.file)?;
    if plan.receipt.is_some() {
        context.note(&format!("Next:      {}", client.next));
    }
    Ok(())
}

/// Writes a planned change, and its receipt under the name `id`.
pub fn write_plan(context: &Context, id: &str, plan: &Plan, receipts: &mut Receipts) -> Result<(), CliError> {
    let earlier = receipts.find(id, &plan.target).cloned();

    // The receipt is written first: without the edit it is harmless, and without it the edit could not be
    // undone exactly.
    if let Err(error) = receipts.set(id, &plan.target, plan.receipt.clone()) {
        context.warn(&format!("{error}; the entry can still be removed later, but white space may differ"));
    }

    if let Err(error) = plan.write() {
        // The edit was not made, so the earlier receipt is still valid.
        let _ = receipts.set(id, &plan.target, earlier);
        return Err(error.into());
    }
    Ok(())
}

fn print_step(context: &Context, label: &str, client: &Client, file: &Path) -> Result<(), CliError> {
    let mut out = context.out();
    let label = context.paint.good(format!("{label:<11}"));
    writeln!(out, "{label} {:<14}  {}", client.name, shown_path(file))?;
    out.flush()?;
    Ok(())
}

/// Prints a planned change as a diff.
pub fn print_diff(context: &Context, plan: &Plan) -> Result<(), CliError> {
    let mut out = context.out();

    for line in diff::unified(&shown_path(&plan.file), plan.before.as_deref(), plan.after.as_deref()).lines()
    {
        // Tabs are kept: they are harmless, and a diff that will be applied needs them.
        let safe: Vec<_> = line.split('\t').map(render::safe).collect();
        let safe = safe.join("\t");

        let painted = match line.as_bytes().first() {
            Some(b'+') => context.paint.good(safe),
            Some(b'-') => context.paint.error(safe),
            Some(b'@') => context.paint.title(safe),
            _ => safe,
        };
        writeln!(out, "{painted}")?;
    }

    out.flush()?;
    Ok(())
}
