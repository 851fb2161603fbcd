//! `index`: updates the index to HEAD or another revision.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use codeweaver_index::{Codebase, Target, UpdateOptions, UpdateReport, background, updater};
use codeweaver_store::lock;

use crate::cli::checkpoint::{self, Unfinished};
use crate::cli::context::Context;
use crate::cli::downloads;
use crate::cli::error::CliError;
use crate::cli::estimate;
use crate::cli::events::event;
use crate::cli::progress::{self, Style};
use crate::cli::render;

const EXAMPLES: &str = "\
Examples:
  git codeweaver index                 update the index to HEAD
  git codeweaver index v1.2            also index v1.2, which makes `search --rev v1.2` instant
  git codeweaver index --reindex       rebuild the whole index
  git codeweaver index --json          print one event per line; \"done\" has all counters

Exit codes: 0 done, 1 refused because another run is active, 2 error,
130 interrupted (finished work is kept).";

/// Update the index to HEAD or another revision
///
/// Only new blobs are read and embedded. The hooks do the same after every commit and checkout.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct IndexArgs {
    /// Branch, tag, commit or tree to index instead of HEAD
    rev: Option<String>,
    /// Discard the stored index and rebuild it
    #[arg(long)]
    reindex: bool,
    /// Continue an interrupted first index without asking
    #[arg(long, conflicts_with = "reindex")]
    resume: bool,
    /// Return at once; `status` shows the progress
    #[arg(long)]
    background: bool,
    /// Count what would be embedded, and embed nothing
    #[arg(long, conflicts_with = "background")]
    dry_run: bool,
    /// Index a tree of more than 500,000 files
    #[arg(long)]
    allow_huge: bool,
    /// Print only warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON event per line to stdout
    #[arg(long)]
    json: bool,
    #[arg(long, hide = true)]
    pub detached: bool,
}

pub fn run(args: IndexArgs, context: &Context) -> Result<ExitCode, CliError> {
    // Downloads and consent are matters of the foreground.
    if !args.background && !args.detached {
        downloads::get_configured(context)?;
        estimate::ask_consent(context)?;
    }

    let codebase = context.codebase()?;
    let target = match &args.rev {
        None => Target::head(&codebase)?,
        Some(spec) => {
            let revision = codebase.repo.resolve(spec)?;
            Target { tree: Some(revision.tree), commit: revision.commit, reference: None, is_head: false }
        }
    };

    if args.background {
        return in_background(&args, &codebase, context);
    }

    let mut options = UpdateOptions { reindex: args.reindex, allow_huge: args.allow_huge };
    if args.dry_run {
        return dry_run(&args, &codebase, &target, options, context);
    }

    if target.is_head && !args.reindex {
        options.reindex = confirm_reindex(&args, &codebase, context)?;
    }

    let style = Style::choose(context, args.quiet, args.json);
    if !matches!(style, Style::Quiet | Style::Json) {
        estimate::announce(&codebase, &target, options, context)?;
    }

    let report = index(context, &codebase, &target, options, style)?;

    if style == Style::Json {
        event(&done(&report)?);
    } else if style != Style::Quiet {
        print(context, &codebase, &report)?;
    }

    Ok(ExitCode::SUCCESS)
}

/// Prints the estimate of a run with the same arguments.
fn dry_run(
    args: &IndexArgs,
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let estimate = estimate::estimate(codebase, target, options)?;

    if args.json {
        event(&estimate);
    } else {
        let mut out = context.out();
        writeln!(out, "{}", estimate::text(&estimate, &codebase.settings.model))?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the indexer with a progress display. Shared with `init`.
pub fn index(
    context: &Context,
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    style: Style,
) -> Result<UpdateReport, CliError> {
    let result =
        progress::run(context, codebase, style, |progress| updater::run(codebase, target, options, progress));

    if result.is_ok() {
        background::build_graphs(codebase);
    }
    Ok(result?)
}

/// Prints a summary of a run.
pub fn print(context: &Context, codebase: &Codebase, report: &UpdateReport) -> Result<(), CliError> {
    let mut out = context.out();
    let totals =
        format!("{}, {}", render::plural(report.files, "file"), render::plural(report.chunks, "chunk"));

    let n_missing = report.skipped.get("not_local").copied().unwrap_or(0);
    if report.files == 0 && n_missing > 0 {
        writeln!(out, "{} {totals}", context.paint.warning("Nothing to index yet:"))?;
    } else if report.files == 0 {
        writeln!(
            out,
            "No files discovered in {}: {totals}",
            render::safe(&codebase.root().to_string_lossy())
        )?;
    } else if report.known {
        writeln!(out, "{} {totals}", context.paint.good("Up to date:"))?;
    } else {
        let time = render::duration(Duration::from_millis(report.duration_ms));
        let work = format!(
            "new: {}, {}",
            render::plural(report.blobs_indexed, "blob"),
            render::plural(report.embedded_chunks, "chunk")
        );
        let work = match report.errors {
            0 => work,
            n => format!("{work}, {} left out because of errors", render::plural(n, "file")),
        };
        writeln!(out, "{} {totals} in {time} ({work})", context.paint.good("Indexed:"))?;
    }

    if let Some(note) = submodules(report.skipped.get("submodule").copied()) {
        writeln!(out, "Submodules: {note}")?;
    }

    out.flush()?;

    if n_missing > 0 {
        let (files, them) = (render::plural(n_missing, "file"), if n_missing == 1 { "it" } else { "them" });
        context.warn(&format!(
            "{files} could not be indexed: the contents are not in this clone, and are never fetched; once git \
             has fetched {them}, the next search or hook indexes {them}"
        ));
    }

    warn_about_extensions(context, report);
    Ok(())
}

/// The note about the submodules of a repository and how to index them; `None` if there are none.
pub fn submodules(n: Option<u64>) -> Option<String> {
    let n = n.filter(|n| *n > 0)?;

    let (are, them) = if n == 1 { ("1 is", "it") } else { (&*format!("{} are", render::count(n)), "them") };
    Some(format!(
        "{are} not part of this index; `git submodule foreach git codeweaver init` indexes {them}, \
         `git -C PATH codeweaver search` searches there"
    ))
}

/// Warns if every file has an unknown extension, and shows how to set their languages.
fn warn_about_extensions(context: &Context, report: &UpdateReport) {
    let n_unknown: u64 = report.unknown_extensions.values().sum();
    if n_unknown == 0 || n_unknown < report.files {
        return;
    }

    context.warn("no file has a known extension; all files were indexed as plain text");
    let mut rows: Vec<(&String, &u64)> = report.unknown_extensions.iter().collect();
    rows.sort_by_key(|(extension, n)| (std::cmp::Reverse(**n), (*extension).clone()));

    context.note("  extension     files");
    for (extension, n) in rows.iter().take(20) {
        context.note(&format!("  {:<12} {:>6}", render::safe(extension), render::count(**n)));
    }
    context.note("  set their language: git codeweaver config set policy.file_extensions.EXT LANGUAGE");
}

/// The last event of a run, with all counters of the report.
fn done(report: &UpdateReport) -> Result<serde_json::Value, CliError> {
    let mut event = serde_json::json!({ "event": "done" });
    if let (Some(event), serde_json::Value::Object(fields)) =
        (event.as_object_mut(), serde_json::to_value(report)?)
    {
        event.extend(fields);
    }
    Ok(event)
}

/// Decides whether an interrupted first index is rebuilt (true) or resumed (false). Prompts if interactive,
/// otherwise prints the decision.
fn confirm_reindex(args: &IndexArgs, codebase: &Codebase, context: &Context) -> Result<bool, CliError> {
    let is_running = lock::holder(&codebase.layout.work_lock(&codebase.worktree_key)).is_some();
    // The checkpoint of a running index is not that of an interrupted one.
    let unfinished = if is_running { Unfinished::None } else { checkpoint::unfinished(codebase) };
    let is_prompted = context.is_interactive && !args.resume && !args.quiet && !args.json;

    if let Unfinished::Resumable { n_chunks } = unfinished
        && is_prompted
        && prompt_for_reindex(n_chunks)?
    {
        return Ok(true);
    }
    announce(&unfinished, Style::choose(context, args.quiet, args.json), context);
    Ok(false)
}

/// Announces how a run continues an interrupted one. Nothing is discarded: stored chunks are reused for every
/// blob whose settings still match.
pub fn announce(unfinished: &Unfinished, style: Style, context: &Context) {
    let message = match unfinished {
        Unfinished::None => return,
        Unfinished::Stale => "Checkpoint stale, reindexing from scratch".to_owned(),
        Unfinished::OtherSettings => "Configuration changed, reindexing from scratch".to_owned(),
        Unfinished::Resumable { n_chunks } => {
            format!("Resuming indexing from checkpoint at {n_chunks} chunks")
        }
    };

    match style {
        Style::Quiet => {}
        Style::Json => event(&serde_json::json!({ "event": "message", "message": message })),
        Style::Bar | Style::Lines => context.note(&message),
    }
}

fn prompt_for_reindex(n_chunks: u64) -> Result<bool, CliError> {
    loop {
        eprint!("Incomplete index found. Resume from {n_chunks} chunks or reindex? [Resume/reindex] ");
        let mut answer = String::new();
        let n_read = std::io::stdin().read_line(&mut answer)?;

        match answer.trim().to_ascii_lowercase().as_str() {
            "" | "resume" | "r" | "y" | "yes" => return Ok(false),
            "reindex" => return Ok(true),
            // The end of the input counts as the default answer.
            _ if n_read == 0 => return Ok(false),
            _ => eprintln!("Please answer `resume` or `reindex`."),
        }
    }
}

/// Starts a detached process that indexes, and returns.
fn in_background(args: &IndexArgs, codebase: &Codebase, context: &Context) -> Result<ExitCode, CliError> {
    codebase.layout.create().map_err(CliError::from)?;

    let lease = lock::holder(&codebase.layout.work_lock(&codebase.worktree_key));
    if let Some(holder) = lease {
        return Err(codeweaver_store::StoreError::Locked { holder }.into());
    }

    // The detached process has no terminal, so it must not ask whether to resume.
    let mut child_args = vec!["index".into(), "--quiet".into(), "--detached".into(), "--resume".into()];
    if args.reindex {
        child_args.pop();
        child_args.push("--reindex".into());
    }
    if args.allow_huge {
        child_args.push("--allow-huge".into());
    }
    child_args.extend(args.rev.as_ref().map(Into::into));

    let pid = background::spawn(codebase, &child_args).map_err(|e| {
        let fix = "check that the program has not been moved or removed";
        CliError::new("the indexer could not be started", e.to_string(), fix)
    })?;

    if args.json {
        event(&serde_json::json!({ "event": "background", "pid": pid }));
    } else if !args.quiet {
        context.note(&format!(
            "Indexing in the background (PID {pid}); `git codeweaver status` shows the progress"
        ));
    }

    Ok(ExitCode::SUCCESS)
}
