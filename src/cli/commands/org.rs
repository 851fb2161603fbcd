//! `org`: the repositories of an organisation on a search engine that it runs.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};

use codeweaver::query::conditions::codebase_name;
use codeweaver_embed::dim_of;
use codeweaver_index::progress::Silent;
use codeweaver_index::{Codebase, Target, UpdateOptions, updater};
use codeweaver_org::local::Local;
use codeweaver_org::manage::{OrgStatus, Repository, RepositoryState};
use codeweaver_org::push::{self, PushOptions, PushReport};
use codeweaver_org::schema::{Layout, Meta};
use codeweaver_org::{Address, Org};
use codeweaver_store::time;
use codeweaver_text as text;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::events::event;
use crate::cli::render::{self, bytes, count, plural, safe};

const EXAMPLES: &str = "\
Examples:
  git codeweaver org init https://search.example:9200/code    create an index on the engine
  git codeweaver config set --user org.url https://search.example:9200/code
  git codeweaver org push --name payments/api      push HEAD of this repository
  git codeweaver org push --name payments/api v2   push the tag v2 of it, as payments/api@v2
  git codeweaver org push --catalogue ~/all.git    push all members of a catalogue
  git codeweaver org status                        show the repositories and the engine
  git codeweaver search --org https://search.example:9200/code \"retry with backoff\"

The key of the engine is in CODEWEAVER_ORG_KEY: USER:PASSWORD, or an API key.
Nothing is sent to an engine that neither the command nor your own settings name.";

/// Search the repositories of an organisation on a search engine that it runs
///
/// The engine is OpenSearch with its k-NN plug-in.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct OrgArgs {
    #[command(subcommand)]
    command: OrgCommand,
}

#[derive(Debug, Subcommand)]
enum OrgCommand {
    /// Create an index on an engine
    Init(InitArgs),
    /// Push HEAD or other revisions of this repository, or all members of this catalogue
    Push(PushArgs),
    /// Show the repositories and the state of the engine
    Status(StatusArgs),
    /// Remove a repository
    Remove(RemoveArgs),
    /// Delete what no repository has
    Gc(GcArgs),
    /// Copy the index into one with other numbers of shards, while it is searched
    Reindex(ReindexArgs),
}

/// The engine of a command.
#[derive(Debug, Args)]
struct EngineArgs {
    /// Engine and index, as https://HOST:PORT/NAME [default: the setting org.url]
    #[arg(long = "org", value_name = "URL")]
    url: Option<String>,
}

#[derive(Debug, Args)]
struct LayoutArgs {
    /// Number of parts that are searched in parallel
    #[arg(long, value_name = "N", default_value_t = 1)]
    shards: u32,
    /// Number of copies of each part on other nodes
    #[arg(long, value_name = "N", default_value_t = 1)]
    replicas: u32,
}

#[derive(Debug, Args)]
struct InitArgs {
    /// Engine and index, as https://HOST:PORT/NAME
    url: String,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Keep the texts of files too, for readers without clones
    #[arg(long)]
    texts: bool,
}

#[derive(Debug, Args)]
struct PushArgs {
    /// Branches, tags and commits to push, each as NAME@REV [default: HEAD, as NAME]
    #[arg(value_name = "REV")]
    revisions: Vec<String>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Name of the repository [default: that of its directory]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Compare everything, even if nothing seems to have changed
    #[arg(long)]
    all: bool,
    /// Seconds without a sign of life after which another push counts as dead
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    take_over: u64,
    /// Print only warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object for each repository
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RemoveArgs {
    /// Name of the repository
    name: String,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, Args)]
struct GcArgs {
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, Args)]
struct ReindexArgs {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Seconds without a sign of life after which another copy counts as dead, at least 5
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 15,
        value_parser = clap::value_parser!(u64).range(5..)
    )]
    take_over: u64,
}

impl LayoutArgs {
    fn layout(&self) -> Layout {
        Layout { shards: self.shards.max(1), replicas: self.replicas }
    }
}

pub fn run(args: OrgArgs, context: &Context) -> Result<ExitCode, CliError> {
    match args.command {
        OrgCommand::Init(args) => init(&args, context),
        OrgCommand::Push(args) => push(&args, context),
        OrgCommand::Status(args) => status(&args, context),
        OrgCommand::Remove(args) => remove(&args, context),
        OrgCommand::Gc(args) => gc(&args, context),
        OrgCommand::Reindex(args) => reindex(&args, context),
    }
}

/// The engine that `url` names, or else the setting of the user.
pub fn address(url: Option<&str>, codebase: &Codebase) -> Result<Address, CliError> {
    let url = url.or(codebase.settings.org.url.as_deref());
    let Some(url) = url else {
        return Err(CliError::new(
            "no engine is named",
            "neither --org nor the setting org.url names one",
            "git codeweaver config set --user org.url https://HOST:PORT/NAME",
        ));
    };
    Ok(Address::from_environment(url)?)
}

fn open(engine: &EngineArgs, codebase: &Codebase) -> Result<Org, CliError> {
    Ok(Org::open(address(engine.url.as_deref(), codebase)?)?)
}

fn init(args: &InitArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let meta = Meta::new(&codebase.vector_space, dim_of(&codebase.settings.model)?, args.texts);
    let org = Org::create(Address::from_environment(&args.url)?, meta, args.layout.layout())?;

    let mut out = context.out();
    writeln!(out, "{} {}", context.paint.good("Index:"), safe(&org.address().to_string()))?;
    writeln!(out, "Push repositories:  git codeweaver org push --org {}", safe(&args.url))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn push(args: &PushArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    // An engine of another model is refused before anything is indexed for it.
    let org = open(&args.engine, &codebase)?;
    org.check_space(&codebase.vector_space)?;

    let name = args.name.clone().unwrap_or_else(|| codebase_name(&codebase));
    let options =
        PushOptions { all: args.all, stall: Duration::from_secs(args.take_over), ..PushOptions::default() };
    let told = |report: &PushReport| tell(report, (args.json, args.quiet), context);

    for (target, name) in targets(&args.revisions, &name, &codebase)? {
        // What is pushed is what is indexed.
        updater::run(&codebase, &target, UpdateOptions::default(), &Silent)?;
        let local = Local::open(&codebase, &target, &name)?;
        push::push(&org, &local, &options, &told)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is to be pushed for `revisions` of a repository called `name`, each under a name of its own.
fn targets(revisions: &[String], name: &str, codebase: &Codebase) -> Result<Vec<(Target, String)>, CliError> {
    if revisions.is_empty() {
        return Ok(vec![(Target::head(codebase)?, name.to_owned())]);
    }
    if codebase.repo.is_catalogue() {
        return Err(CliError::new(
            "the revisions are not pushed",
            "the revisions of a catalogue are those of its members",
            "git codeweaver catalogue add PATH --branch REV",
        ));
    }

    let mut targets = Vec::with_capacity(revisions.len());
    for spec in revisions {
        let revision = codebase.repo.resolve(spec)?;
        let reference = Some(spec.clone());
        let target = Target { tree: Some(revision.tree), commit: revision.commit, reference, is_head: false };
        targets.push((target, format!("{name}@{spec}")));
    }
    Ok(targets)
}

/// Pushes the members of a catalogue whose HEAD is indexed to the index at `url`, or else to that of the
/// user's settings.
///
/// # Errors
/// If no index is named, and those of the engine.
pub fn push_members(
    codebase: &Codebase,
    url: Option<&str>,
    told: &dyn Fn(&PushReport),
) -> Result<(), CliError> {
    let org = Org::open(address(url, codebase)?)?;
    let local = Local::open(codebase, &Target::head(codebase)?, &codebase_name(codebase))?;
    push::push(&org, &local, &PushOptions::default(), told)?;
    Ok(())
}

/// Prints what a push did for one repository, in JSON or, unless it shall be quiet, in words.
pub fn tell(report: &PushReport, (json, quiet): (bool, bool), context: &Context) {
    if json {
        event(report);
    } else if !quiet {
        context.note(&line(report));
    }

    if report.missing_blobs > 0 {
        let (name, files) = (safe(&report.name), plural(report.missing_blobs as u64, "file"));
        context.warn(&format!("{name}: {files} are not in this clone and were not pushed"));
    }
}

/// A line on what a push did.
fn line(report: &PushReport) -> String {
    let PushReport { name, files, sent_files, sent_rows, placed_files, removed_files, sent_bytes, .. } =
        report;
    let moved = placed_files + removed_files;
    let resumed = if report.resumed { ", resumed" } else { "" };

    format!(
        "{}: {} files; {} new with {} chunks, {} elsewhere or gone, {} sent{resumed}",
        safe(name),
        count(*files),
        count(*sent_files as u64),
        count(*sent_rows as u64),
        count(moved as u64),
        bytes(*sent_bytes),
    )
}

fn status(args: &StatusArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let org = open(&args.engine, &codebase)?;
    let status = org.status()?;

    let mut out = context.out();
    if args.json {
        writeln!(out, "{}", render::json(&status, true)?)?;
    } else {
        let OrgStatus { health, nodes, rows, files, bytes: size, texts, repositories } = &status;
        let (rows, files, size) = (count(*rows), count(*files), bytes(*size));
        writeln!(
            out,
            "Engine: {} ({}), {}",
            safe(&org.address().to_string()),
            safe(health),
            plural(*nodes, "node")
        )?;
        let texts = if *texts { "texts are kept" } else { "texts are not kept" };
        writeln!(out, "Content: {rows} chunks in {files} files, {size}; {texts}")?;
        writeln!(out, "Repositories: {}", count(repositories.len() as u64))?;
        for repository in repositories {
            writeln!(out, "  {}", safe(&repository_line(repository)))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A line on a repository.
fn repository_line(repository: &Repository) -> String {
    let Repository { name, commit, reference, state, pushed, files, .. } = repository;
    let commit = commit.as_deref().and_then(|commit| commit.get(..12)).unwrap_or("nothing yet");
    let ago = text::ago(*pushed, time::now());
    match state {
        RepositoryState::Complete => {
            format!("{name}: {commit} of {reference}, {} files, pushed {ago}", count(*files))
        }
        RepositoryState::Pushing => format!("{name}: {commit}, a push is running or was interrupted"),
        RepositoryState::Removing => format!("{name}: is being removed"),
    }
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let n_files = open(&args.engine, &codebase)?.remove(&args.name)?;

    let mut out = context.out();
    writeln!(out, "Removed {} ({})", safe(&args.name), plural(n_files as u64, "file"))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn gc(args: &GcArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let (rows, files) = open(&args.engine, &codebase)?.collect()?;

    let mut out = context.out();
    writeln!(out, "Deleted {} in {}", plural(rows, "chunk"), plural(files, "file"))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn reindex(args: &ReindexArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let stall = Duration::from_secs(args.take_over);
    open(&args.engine, &codebase)?.reindex(args.layout.layout(), stall)?;

    let mut out = context.out();
    writeln!(out, "The index is whole again")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
