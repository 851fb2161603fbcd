//! `catalogue`: many repositories, indexed and searched as one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};

use codeweaver_git::NameError;
use codeweaver_index::catalogue::{
    AddOptions, Catalogue, CatalogueError, Listed, ListedState, SyncReport, Which,
};
use codeweaver_index::progress::{Counters, Progress};
use codeweaver_index::{Codebase, IndexError};
use codeweaver_org::push::PushReport;
use codeweaver_store::time;

use crate::cli::commands::org;
use crate::cli::context::Context;
use crate::cli::downloads;
use crate::cli::error::CliError;
use crate::cli::estimate;
use crate::cli::events::event;
use crate::cli::progress::{self, Style};
use crate::cli::render::{self, plural, safe, shown_path};
use crate::cli::{exit, width};

const EXAMPLES: &str = "\
Examples:
  git codeweaver catalogue init ~/all.git              create a catalogue
  cd ~/all.git
  git codeweaver catalogue add /srv/git --recursive    add all repositories below a directory, and index them
  git codeweaver catalogue list                        show how the members are
  git codeweaver catalogue sync --every 60             look for new commits every minute
  git codeweaver catalogue sync --every 60 --push      and push them to the organisation's index
  git codeweaver search --catalogue ~/all.git \"retry with backoff\"
  git codeweaver search --catalogue ~/all.git --repos 'payments/*' \"retry with backoff\"

The commands work on the catalogue of the current directory, or on the one that --catalogue names.";

/// Index and search many repositories as one
///
/// A catalogue is a bare repository with the trees of its members, and none of their objects.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CatalogueArgs {
    #[command(subcommand)]
    command: CatalogueCommand,
}

#[derive(Debug, Subcommand)]
enum CatalogueCommand {
    /// Create an empty catalogue
    Init {
        /// Directory to create, for example `all.git`
        dir: PathBuf,
    },
    /// Add repositories and index them
    Add(AddArgs),
    /// Remove members
    Remove {
        /// Names or paths of members
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// List the members with their state
    List {
        /// Output format
        #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Table)]
        output_format: ListFormat,
    },
    /// Look for new commits of the members and index them
    Sync(SyncArgs),
}

#[derive(Debug, Args)]
struct AddArgs {
    /// Repositories, or with --recursive directories with repositories
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Add all repositories below the paths, under their relative paths
    #[arg(short, long)]
    recursive: bool,
    /// Name of the only repository, or with --recursive what all names begin with
    #[arg(long)]
    name: Option<String>,
    /// Also add this branch or tag of each repository, as `NAME@REV`; can be repeated
    #[arg(long, value_name = "REV")]
    branch: Vec<String>,
    /// Do not index them; `catalogue sync` does
    #[arg(long)]
    no_sync: bool,
    /// Print only warnings and errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Args)]
struct SyncArgs {
    /// Names or paths of the members to look at [default: all]
    names: Vec<String>,
    /// Repeat after so many seconds, until interrupted
    #[arg(long, value_name = "SECONDS")]
    every: Option<u64>,
    /// Push the members to the index of an organisation, at the setting org.url or --org (see `org`)
    #[arg(long)]
    push: bool,
    /// Engine and index that --push sends to, as https://HOST:PORT/NAME
    #[arg(long = "org", value_name = "URL", requires = "push")]
    url: Option<String>,
    /// Print only warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    Table,
    Json,
}

pub fn run(args: CatalogueArgs, context: &Context) -> Result<ExitCode, CliError> {
    match args.command {
        CatalogueCommand::Init { dir } => init(&dir, context),
        CatalogueCommand::Add(args) => add(args, context),
        CatalogueCommand::Remove { names } => remove(&names, context),
        CatalogueCommand::List { output_format } => list(output_format, context),
        CatalogueCommand::Sync(args) => sync(args, context),
    }
}

/// Opens the catalogue in the directory of the command.
fn open(context: &Context) -> Result<Catalogue, CliError> {
    if !context.dir.is_dir() {
        return Err(CliError::no_such_directory(&context.dir));
    }

    Ok(Catalogue::from_repo(context.repo()?)?)
}

fn init(dir: &Path, context: &Context) -> Result<ExitCode, CliError> {
    let catalogue = Catalogue::create(dir)?;
    let git_dir = catalogue.git_dir().to_string_lossy();

    let mut out = context.out();
    writeln!(out, "{} {}", context.paint.good("Catalogue:"), safe(&git_dir))?;

    let dir = shell_word(&git_dir);
    writeln!(out, "Add repositories:  git codeweaver catalogue add --catalogue {dir} --recursive PATH")?;
    writeln!(out, "To index a push at once, add this line to the hook `post-receive` of a member:")?;
    writeln!(out, "  git codeweaver catalogue sync --catalogue {dir} --quiet \"$PWD\" >/dev/null 2>&1 &")?;

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Quotes `text` as one word of a shell.
fn shell_word(text: &str) -> String {
    format!("'{}'", safe(text).replace('\'', "'\\''"))
}

fn add(args: AddArgs, context: &Context) -> Result<ExitCode, CliError> {
    let catalogue = open(context)?;
    let AddArgs { paths, recursive, name, branch: branches, no_sync, quiet } = args;

    if name.is_some() && !recursive && paths.len() > 1 {
        return Err(CliError::new(
            "--name is not possible here",
            "several repositories cannot have one name",
            "add them one by one, or use --recursive, where the name is that of their group",
        ));
    }

    let report = catalogue.add(&AddOptions { paths, recursive, name, branches })?;

    if !quiet {
        let mut out = context.out();
        let known = match report.known.len() {
            0 => String::new(),
            n => format!(", {} known already", plural(n as u64, "member")),
        };
        writeln!(out, "Added {}{known}", plural(report.added.len() as u64, "member"))?;
        out.flush()?;
    }

    for refused in &report.refused {
        context.warn(&format!("{} is not added: {}", shown_path(&refused.path), refused.reason));
    }

    if !no_sync && !report.added.is_empty() {
        let which = Which::Named(report.added);
        let synced = sync_once(&catalogue, &which, Style::choose(context, quiet, false), context)?;
        print(context, &synced, quiet)?;
    }

    Ok(ExitCode::from(if report.refused.is_empty() { 0 } else { exit::NEGATIVE }))
}

fn remove(names: &[String], context: &Context) -> Result<ExitCode, CliError> {
    let catalogue = open(context)?;
    let removed = catalogue.remove(names)?;

    // No member is looked at; only the removed ones leave the index.
    let style = Style::choose(context, true, false);
    sync_once(&catalogue, &Which::Named(Vec::new()), style, context)?;

    let mut out = context.out();
    writeln!(out, "Removed {}", plural(removed.len() as u64, "member"))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn sync(args: SyncArgs, context: &Context) -> Result<ExitCode, CliError> {
    let catalogue = open(context)?;
    let which = if args.names.is_empty() { Which::All } else { Which::Named(args.names.clone()) };

    if let Some(seconds) = args.every {
        return sync_every(&catalogue, &which, Duration::from_secs(seconds.max(1)), &args, context);
    }

    let style = Style::choose(context, args.quiet || args.json, false);
    let report = sync_once(&catalogue, &which, style, context)?;
    if args.json {
        let mut out = context.out();
        writeln!(out, "{}", render::json(&report, true)?)?;
        out.flush()?;
    } else {
        print(context, &report, args.quiet)?;
    }

    if args.push {
        push(&catalogue.codebase()?, &args, context)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Pushes the members to the index of an organisation. Members without a change are not reported.
fn push(codebase: &Codebase, args: &SyncArgs, context: &Context) -> Result<(), CliError> {
    // Without --every, the report of the run is the only object.
    let is_json = args.json && args.every.is_some();
    let told = |report: &PushReport| {
        let is_quiet = args.quiet || args.json || report.sent_bytes == 0;
        org::tell(report, (is_json, is_quiet), context);
    };
    org::push_members(codebase, args.url.as_deref(), &told)
}

/// Looks for new commits once and indexes them, with a display of the progress.
fn sync_once(
    catalogue: &Catalogue,
    which: &Which,
    style: Style,
    context: &Context,
) -> Result<SyncReport, CliError> {
    downloads::get_configured(context)?;
    estimate::ask_consent(context)?;

    let mut report = catalogue.refresh(which)?;
    let codebase = catalogue.codebase()?;
    // A run without new commits is too short for a display.
    let style = if report.committed { style } else { Style::Quiet };

    progress::run(context, &codebase, style, |progress| {
        match catalogue.update(&codebase, &mut report, progress) {
            Err(CatalogueError::Index(error)) => Err(error),
            other => Ok(other),
        }
    })??;

    Ok(report)
}

/// Repeats the run until a signal arrives. A failed run is reported and tried again.
fn sync_every(
    catalogue: &Catalogue,
    which: &Which,
    pause: Duration,
    args: &SyncArgs,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let stop = Stop::on_signals()?;
    let mut known_problems = Vec::new();
    // Also what an earlier process has indexed and not pushed.
    let mut push_is_due = args.push;

    while !stop.stopped() {
        let started = Instant::now();
        match catalogue.sync(which, &stop) {
            Ok(report) => {
                push_is_due |= args.push && report.committed;
                match report.committed {
                    true if args.json => event(&report),
                    true if !args.quiet => context.note(&changed(&report)),
                    _ => {}
                }

                // Problems that persist are reported once.
                if report.problems != known_problems {
                    report.problems.iter().for_each(|problem| warn(context, problem));
                }
                known_problems = report.problems;
            }
            Err(CatalogueError::Index(IndexError::Interrupted { .. })) => break,
            Err(error) => {
                let error = CliError::from(error);
                context.warn(&format!("{}: {}", error.what, error.why));
            }
        }

        if push_is_due && !stop.stopped() {
            match catalogue.codebase().map_err(CliError::from).and_then(|it| push(&it, args, context)) {
                Ok(()) => push_is_due = false,
                Err(error) => context.warn(&format!("{}: {}", error.what, error.why)),
            }
        }

        while !stop.stopped() && started.elapsed() < pause {
            // Short naps, so that a signal ends the pause.
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    Ok(ExitCode::SUCCESS)
}

/// A flag that SIGINT and SIGTERM set.
#[derive(Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn on_signals() -> std::io::Result<Stop> {
        let stop = Stop::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, stop.0.clone())?;
        }
        Ok(stop)
    }
}

impl Progress for Stop {
    fn begin(&self, _: u64, _: u64) {}

    fn add(&self, _: &Counters) {}

    fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn print(context: &Context, report: &SyncReport, quiet: bool) -> Result<(), CliError> {
    if !quiet {
        let mut out = context.out();
        writeln!(out, "{}", changed(report))?;
        out.flush()?;
    }
    report.problems.iter().for_each(|problem| warn(context, problem));
    Ok(())
}

/// Describes the result of a run on one line.
fn changed(report: &SyncReport) -> String {
    let members = plural(report.members as u64, "member");
    let index = match &report.update {
        None => "another process is indexing".to_owned(),
        Some(update) if update.known => format!("{} up to date", plural(update.files, "file")),
        Some(update) => {
            let time = render::duration(Duration::from_millis(update.duration_ms));
            let files = plural(update.files, "file");
            format!("{files}, {} embedded in {time}", plural(update.embedded_chunks, "chunk"))
        }
    };

    format!("{members}, {} changed; {index}", render::count(report.changed.len() as u64))
}

fn warn(context: &Context, problem: &codeweaver_index::catalogue::Problem) {
    let codeweaver_index::catalogue::Problem { name, path, state, error } = problem;
    let path = shown_path(path);
    context.warn(&format!("{name} is not searched ({}): {path}: {error}", state.name()));
}

fn list(format: ListFormat, context: &Context) -> Result<ExitCode, CliError> {
    let catalogue = open(context)?;
    let listed = catalogue.list()?;

    let mut out = context.out();
    if format == ListFormat::Json {
        writeln!(out, "{}", render::json(&listed, true)?)?;
    } else if listed.is_empty() {
        writeln!(out, "No members; git codeweaver catalogue add PATH")?;
    } else {
        table(&mut out, &listed, context)?;
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn table(out: &mut impl std::io::Write, listed: &[Listed], context: &Context) -> Result<(), CliError> {
    let names: Vec<String> = listed.iter().map(|it| safe(&it.name).into_owned()).collect();
    let wide = names.iter().map(|name| width::measure(name)).max().unwrap_or(0).max("NAME".len());
    let heading = format!(
        "{:<wide$}  {:<10}  {:<8}  {:>7}  {:<14}  PATH",
        "NAME", "STATE", "COMMIT", "FILES", "CHANGED"
    );

    writeln!(out, "{}", context.paint.bold(heading))?;

    for (name, it) in names.iter().zip(listed) {
        let pad = " ".repeat(wide - width::measure(name));
        let state = format!("{:<10}", it.state.name());
        let state = match it.state {
            ListedState::Current => context.paint.good(state),
            _ => context.paint.warning(state),
        };

        let commit = it.commit.as_deref().and_then(|commit| commit.get(..8)).unwrap_or("-");
        let updated = match it.updated {
            0 => "never".to_owned(),
            seconds => render::ago(seconds, time::now()),
        };

        // A member is shown by its working tree.
        let path = shown_path(it.path.parent().filter(|_| it.path.ends_with(".git")).unwrap_or(&it.path));
        let error = if it.error.is_empty() { String::new() } else { format!("  ({})", safe(&it.error)) };
        let files = render::count(it.files);
        writeln!(out, "{name}{pad}  {state}  {commit:<8}  {files:>7}  {updated:<14}  {path}{error}")?;
    }

    Ok(())
}

impl From<CatalogueError> for CliError {
    fn from(error: CatalogueError) -> CliError {
        let what = error.to_string();
        let (why, fix) = match error {
            CatalogueError::Git(error) => return error.into(),
            CatalogueError::Index(error) => return error.into(),

            CatalogueError::IsACatalogue { .. } => (
                "it has no objects of its own, so its files cannot be read through another catalogue"
                    .to_owned(),
                "add its members instead".to_owned(),
            ),
            CatalogueError::NotEmpty { .. } => {
                ("a catalogue is created in a new directory".to_owned(), "name another directory".to_owned())
            }
            CatalogueError::NothingFound { .. } => (
                "symbolic links are not followed, and nothing is looked for within a repository".to_owned(),
                "check the path".to_owned(),
            ),
            CatalogueError::NotARepository { within: Some(within), .. } => (
                format!("it is in the repository {}", within.display()),
                format!("git codeweaver catalogue add {}", within.display()),
            ),
            CatalogueError::NotARepository { within: None, .. } => (
                "a member is the top of a repository, bare or not".to_owned(),
                "add --recursive to add the repositories below it".to_owned(),
            ),

            CatalogueError::Name(NameError::Taken { .. }) => (
                "every member has a directory of its own in the catalogue".to_owned(),
                "choose another name with --name, or remove the other member".to_owned(),
            ),
            CatalogueError::Name(NameError::Invalid { .. }) => (
                "a name is a directory that git would check out".to_owned(),
                "choose another name with --name".to_owned(),
            ),

            CatalogueError::NoMember { similar: Some(similar), .. } => (
                "members are named as `catalogue list` shows them".to_owned(),
                format!("did you mean {similar}?"),
            ),
            CatalogueError::NoMember { similar: None, .. } => (
                "members are named as `catalogue list` shows them, or by their path".to_owned(),
                "git codeweaver catalogue list".to_owned(),
            ),

            CatalogueError::NoReference { path, .. } => (
                "--branch takes branches and tags".to_owned(),
                format!("git -C {} for-each-ref", path.display()),
            ),
            CatalogueError::Io { source, .. } => {
                (source.to_string(), "check the path and its permissions".to_owned())
            }
        };

        CliError::new(what, why, fix)
    }
}
