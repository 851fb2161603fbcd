//! `index`: brings the index to HEAD or another revision now.

use crate::cli::checkpoint::{self, Left};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::progress::{self, Style};
use crate::cli::render;
use crate::index::{Codebase, Target, UpdateOptions, UpdateReport, child, updater};
use crate::store::lock;
use clap::Args;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  git codeweaver index                 bring the index to HEAD now
  git codeweaver index v1.2            index another revision too, so that `search --rev v1.2` is instant
  git codeweaver index --reindex       build everything anew
  git codeweaver index --json          one event a line, the last is \"done\" with all counters

Exit codes: 0 done, 1 refused because another run is at it, 2 error, 130 interrupted (what is done is kept).";

/// Bring the index to HEAD, or to another revision, now
///
/// Only blobs that were never seen are read and embedded. The hooks do this by themselves after every commit and
/// checkout.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct IndexArgs {
    /// Branch, tag, commit or tree to index instead of HEAD
    rev: Option<String>,
    /// Forget what is stored and build it anew
    #[arg(long)]
    reindex: bool,
    /// Continue an interrupted first index without asking
    #[arg(long, conflicts_with = "reindex")]
    resume: bool,
    /// Return at once; `status` shows how far it is
    #[arg(long)]
    background: bool,
    /// Index a tree of more than 500,000 files
    #[arg(long)]
    allow_huge: bool,
    /// Say nothing unless something is wrong
    #[arg(short, long)]
    quiet: bool,
    /// One JSON event a line on stdout
    #[arg(long)]
    json: bool,
    #[arg(long, hide = true)]
    pub detached: bool,
}

pub fn run(args: IndexArgs, context: &Context) -> Result<ExitCode, CliError> {
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
    if target.is_head && !args.reindex {
        options.reindex = ask_about_unfinished(&args, &codebase, context)?;
    }
    let style = Style::choose(context, args.quiet, args.json);
    let report = index(context, &codebase, &target, options, style)?;
    if style == Style::Json {
        progress::event(&done(&report)?);
    } else if style != Style::Quiet {
        print(context, &codebase, &report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Indexes with progress; shared with `init`.
pub fn index(
    context: &Context,
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    style: Style,
) -> Result<UpdateReport, CliError> {
    let result = progress::watch(context, codebase, style, |progress| {
        updater::run(codebase, target, options, progress)
    });
    if result.is_ok() {
        child::build_graphs(codebase);
    }
    result.map_err(|error| {
        let error = CliError::from(error);
        if style == Style::Json {
            progress::event(&serde_json::json!({
                "event": "error", "what": error.what, "why": error.why, "fix": error.fix, "exit_code": error.code,
            }));
        }
        error
    })
}

/// What came of it, for a person.
pub fn print(context: &Context, codebase: &Codebase, report: &UpdateReport) -> Result<(), CliError> {
    let mut out = context.out();
    let totals =
        format!("{}, {}", render::plural(report.files, "file"), render::plural(report.chunks, "chunk"));
    if report.files == 0 {
        writeln!(
            out,
            "No files discovered in {}: {totals}",
            render::safe(&codebase.root().to_string_lossy())
        )?;
    } else if report.known {
        writeln!(out, "{} {totals}", context.paint.good("Up to date:"))?;
    } else {
        let time = render::duration(Duration::from_millis(report.duration_ms));
        let new = format!(
            "{} read, {} embedded",
            render::plural(report.blobs_indexed, "new blob"),
            render::plural(report.embedded_chunks, "chunk")
        );
        writeln!(out, "{} {totals} in {time} ({new})", context.paint.good("Indexed:"))?;
    }
    out.flush()?;
    warn_about_extensions(context, report);
    Ok(())
}

/// Nothing but files of unknown types: the user may want to say what they are (requirement section 16).
fn warn_about_extensions(context: &Context, report: &UpdateReport) {
    let n_unknown: u64 = report.unknown_extensions.values().sum();
    if n_unknown == 0 || n_unknown < report.files {
        return;
    }
    context.warn("no file has a known extension; all were indexed as plain text");
    let mut rows: Vec<(&String, &u64)> = report.unknown_extensions.iter().collect();
    rows.sort_by_key(|(extension, n)| (std::cmp::Reverse(**n), (*extension).clone()));
    context.note("  extension     files");
    for (extension, n) in rows.iter().take(20) {
        context.note(&format!("  {:<12} {:>6}", render::safe(extension), render::count(**n)));
    }
    context.note("  name their language: git codeweaver config set policy.file_extensions.EXT LANGUAGE");
}

fn done(report: &UpdateReport) -> Result<serde_json::Value, CliError> {
    let mut event = serde_json::json!({ "event": "done" });
    if let (Some(event), serde_json::Value::Object(fields)) =
        (event.as_object_mut(), serde_json::to_value(report)?)
    {
        event.extend(fields);
    }
    Ok(event)
}

/// Asks or says what happens with an interrupted first index (requirement L4); true if it is to begin anew.
fn ask_about_unfinished(args: &IndexArgs, codebase: &Codebase, context: &Context) -> Result<bool, CliError> {
    let is_running = lock::holder(&codebase.layout.work_lock(&codebase.worktree_key)).is_some();
    let say = |message: String| {
        match Style::choose(context, args.quiet, args.json) {
            Style::Quiet => {}
            Style::Json => progress::event(&serde_json::json!({ "event": "message", "message": message })),
            Style::Bar | Style::Lines => context.note(&message),
        }
        Ok(false)
    };
    match checkpoint::left(codebase) {
        _ if is_running => Ok(false),
        Left::Nothing => Ok(false),
        // What is stored still counts, blob by blob, where it fits: nothing has to be thrown away.
        Left::Stale => say("Checkpoint stale, reindexing from scratch".to_owned()),
        Left::OtherSettings => say("Configuration changed, reindexing from scratch".to_owned()),
        Left::Resumable { n_chunks } => {
            let is_asked = context.is_interactive && !args.resume && !args.quiet && !args.json;
            if is_asked && wants_reindex(n_chunks)? {
                return Ok(true);
            }
            say(format!("Resuming indexing from checkpoint at {n_chunks} chunks"))
        }
    }
}

fn wants_reindex(n_chunks: u64) -> Result<bool, CliError> {
    loop {
        eprint!("Incomplete index found. Resume from {n_chunks} chunks or reindex? [Resume/reindex] ");
        let mut answer = String::new();
        let n_read = std::io::stdin().read_line(&mut answer)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "" | "resume" | "r" | "y" | "yes" => return Ok(false),
            "reindex" => return Ok(true),
            _ if n_read == 0 => return Ok(false),
            _ => eprintln!("Please answer `resume` or `reindex`."),
        }
    }
}

fn in_background(args: &IndexArgs, codebase: &Codebase, context: &Context) -> Result<ExitCode, CliError> {
    codebase.layout.create().map_err(CliError::from)?;
    let lease = lock::holder(&codebase.layout.work_lock(&codebase.worktree_key));
    if let Some(holder) = lease {
        return Err(crate::store::StoreError::Locked { holder }.into());
    }
    let mut words = vec!["index".into(), "--quiet".into(), "--detached".into(), "--resume".into()];
    if args.reindex {
        words.pop();
        words.push("--reindex".into());
    }
    if args.allow_huge {
        words.push("--allow-huge".into());
    }
    words.extend(args.rev.as_ref().map(Into::into));
    let id = child::spawn(codebase, &words).map_err(|e| {
        let fix = "check that the program still is where it was";
        CliError::new("the indexer could not be started", e.to_string(), fix)
    })?;
    if args.json {
        progress::event(&serde_json::json!({ "event": "background", "pid": id }));
    } else if !args.quiet {
        context.note(&format!(
            "Indexing in the background (PID {id}); `git codeweaver status` shows how far it is"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
