//! `status`: shows the state of the index and of running updates.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use codeweaver::query::rank::own_weights::OwnWeights;
use codeweaver_git::quoting;
use codeweaver_index::Codebase;
use codeweaver_index::status::{self, Place, StatusReport};
use codeweaver_store::chunking::{self, Chunking};
use codeweaver_store::time;

use super::index::submodules;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, bytes, count, plural, shown_path};
use crate::cli::{resident, width};

/// Skip reason of files whose contents are not in this clone.
const NOT_LOCAL: &str = "not_local";
/// Number of columns of the name of a fact.
const NAME_WIDTH: usize = 9;
/// Number of languages listed before the rest is summed up.
const MAX_LANGUAGES: usize = 8;

/// Show what is indexed, how current it is, and running updates
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver status                show a summary
  git codeweaver status --files        also list every skipped file with the reason
  git codeweaver status --json         print everything as JSON")]
pub struct StatusArgs {
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
    /// List skipped files with the reason
    #[arg(long)]
    files: bool,
}

/// The status in JSON.
#[derive(serde::Serialize)]
struct WithDaemon<'a> {
    #[serde(flatten)]
    report: &'a StatusReport,
    /// The report of a running daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    daemon: Option<serde_json::Value>,
}

pub fn run(args: StatusArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let report = status::status(&codebase, args.files)?;

    let daemon = resident::status(codebase.layout.root());

    let mut out = context.out();
    if args.json {
        writeln!(out, "{}", render::json(&WithDaemon { report: &report, daemon }, true)?)?;
    } else {
        let own = OwnWeights::open(&codebase).get();
        let weights = own.path.map(|path| render::safe(&path.to_string_lossy()).into_owned());
        let members = codebase.repo.is_catalogue().then(|| members(&codebase)).transpose()?;
        write(&mut out, &report, (weights, members), context)?;
        if let Some(daemon) = daemon {
            write_row(&mut out, "Daemon", &format!("process {}, answers searches", daemon["pid"]), context)?;
        }

        // Warnings about settings were printed when the settings were read.
        let known = &codebase.loaded.warnings;
        let warnings = report.warnings.iter().filter(|warning| !known.contains(warning));
        warnings.chain(&own.warning).for_each(|warning| context.warn(warning));
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The number of members of a catalogue, and the number of those that are not searched.
fn members(codebase: &Codebase) -> Result<String, CliError> {
    let members = codebase.repo.members()?;
    let n_missing = members.all().iter().filter(|member| member.state.is_problem()).count();
    let all = plural(members.all().len() as u64, "repository");
    Ok(match n_missing {
        0 => all,
        n => format!("{all}, {n} not searched; git codeweaver catalogue list names them"),
    })
}

/// Writes a row for each fact. `weights` is the file of the user's own weights, if they are in use; `members`
/// is the row of a catalogue.
fn write(
    out: &mut impl Write,
    report: &StatusReport,
    (weights, members): (Option<String>, Option<String>),
    context: &Context,
) -> Result<(), CliError> {
    let mut row = |name: &str, text: String| write_row(out, name, &text, context);

    row("State", state(report, context))?;
    row("Codebase", shown_root(report))?;
    row("HEAD", place(&report.head))?;

    if let Some(indexed) = &report.indexed {
        row("Indexed", format!("{}{}", place(indexed), lag(report, context)))?;
        row("Content", format!("{}, {}", plural(report.files, "file"), plural(report.chunks, "chunk")))?;
    }

    if !report.languages.is_empty() {
        row("Languages", languages(report))?;
    }
    if !report.skipped.is_empty() {
        row("Skipped", skipped(report))?;
    }
    if let Some(note) = submodules(report.skipped.get("submodule").copied()) {
        row("Submodules", note)?;
    }

    if report.size_bytes.total > 0 {
        row("On disk", sizes(report))?;
    }

    if let Some(text) = progress(report) {
        row("Progress", text)?;
    }

    if let Some(run) = &report.last_run {
        let took = render::duration(Duration::from_millis(run.duration_ms));
        let work = format!(
            "{} changed, {} embedded",
            plural(run.files_changed, "file"),
            plural(run.embedded_chunks, "chunk")
        );

        row("Last run", format!("{}, took {took}: {work}", render::ago(run.finished_seconds, time::now())))?;
        if !run.chunking.is_empty() {
            row("Chunking", chunks(&run.chunking))?;
        }
    }

    if let Some(failure) = &report.last_failure {
        row("Failure", context.paint.warning(render::safe(failure)))?;
    }

    match members {
        Some(members) => row("Members", members)?,
        None => row("Hooks", hooks(report, context))?,
    }

    row("Model", render::safe(&report.model.name).into_owned())?;
    if let Some(weights) = weights {
        row("Weights", weights)?;
    }

    if let Some(holder) = &report.lock_holder {
        row("Running", render::safe(holder).into_owned())?;
    }

    if let Some(files) = &report.skipped_files {
        writeln!(out)?;
        for file in files {
            writeln!(out, "{:<14} {}", file.reason, quoting::argument(&file.path))?;
        }
    }
    Ok(())
}

/// Writes a fact after its name. On a terminal, what is too long for a line continues below itself.
pub fn write_row(out: &mut impl Write, name: &str, text: &str, context: &Context) -> std::io::Result<()> {
    let name = format!("{name:<NAME_WIDTH$}");
    let lines = width::folded(text, context.screen.columns_after(NAME_WIDTH + 1));

    for (at, line) in lines.iter().enumerate() {
        match at {
            0 => writeln!(out, "{} {line}", context.paint.bold(&name))?,
            _ => writeln!(out, "{:NAME_WIDTH$} {line}", "")?,
        }
    }
    Ok(())
}

/// The state of the index in words, with the command that helps if there is one.
pub fn state(report: &StatusReport, context: &Context) -> String {
    let paint = context.paint;
    let text = match (report.state, report.current) {
        ("indexed", true) if report.skipped.contains_key(NOT_LOCAL) => {
            paint.warning("indexed, current as far as the files are in this clone")
        }
        ("indexed", true) => paint.good("indexed, current"),
        ("indexed", false) if report.arrived_files > 0 => {
            paint.warning("indexed; files that have arrived in this clone are not indexed yet")
        }
        ("indexed", false) if !report.members_behind.is_empty() => {
            let moved = plural(report.members_behind.len() as u64, "repository");
            paint.warning(format!("indexed; the next search reads new commits of {moved}"))
        }
        ("indexed", false) => paint.warning(match (report.settings_changed, report.lag.behind) {
            (true, false) => "indexed with other settings; `git codeweaver index` applies the present ones",
            (true, true) => "indexed, behind HEAD and with other settings; `git codeweaver index` updates it",
            (false, _) => "indexed, behind HEAD",
        }),
        ("indexing", _) => paint.title("indexing"),
        ("not_indexed", _) => {
            let verb = if report.reason.is_some() { "continue with" } else { "run" };
            paint.warning(format!("not indexed; {verb} `{}`", report.fix.unwrap_or_default()))
        }
        ("requires_reindex", _) => paint.error("requires reindex: `git codeweaver index --reindex`"),
        ("index_failed", _) => paint.error("the last run failed; `git codeweaver index` tries again"),
        ("unreadable", _) => paint.error("cannot be read; `git codeweaver doctor` names the fix"),
        (other, _) => other.to_owned(),
    };

    match &report.reason {
        Some(reason) => format!("{text} ({})", render::safe(reason)),
        None => text,
    }
}

fn shown_root(report: &StatusReport) -> String {
    let root = render::safe(&report.codebase.to_string_lossy()).into_owned();
    if report.worktree == "main" {
        root
    } else {
        format!("{root} (worktree {})", render::safe(&report.worktree))
    }
}

fn place(place: &Place) -> String {
    let commit = place.commit.as_deref().map_or("no commit yet", |oid| oid.get(..12).unwrap_or(oid));
    let name = place.reference.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    match name {
        Some(name) => format!("{commit} ({})", render::safe(name)),
        None if place.commit.is_some() => format!("{commit} (detached)"),
        None => commit.to_owned(),
    }
}

fn lag(report: &StatusReport, context: &Context) -> String {
    let text = match (report.lag.behind, report.lag.commits) {
        (false, _) | (_, Some(0)) => return String::new(),
        (true, Some(n)) => format!("  {} behind", plural(n, "commit")),
        (true, None) => "  behind HEAD".to_owned(),
    };
    context.paint.warning(text)
}

fn languages(report: &StatusReport) -> String {
    let mut parts: Vec<String> = report
        .languages
        .iter()
        .take(MAX_LANGUAGES)
        .map(|l| format!("{} {}", l.language, count(l.files)))
        .collect();

    let rest: u64 = report.languages.iter().skip(MAX_LANGUAGES).map(|l| l.files).sum();
    if rest > 0 {
        parts.push(format!("others {}", count(rest)));
    }
    parts.join(", ")
}

/// The steps of the chain with their chunks and times, and the size of most chunks.
fn chunks(figures: &Chunking) -> String {
    let steps: Vec<String> = figures
        .steps
        .iter()
        .map(|(name, step)| {
            let time = render::duration(Duration::from_micros(step.micros));
            format!("{} by {name} in {time}", plural(step.chunks, "chunk"))
        })
        .collect();

    let most = figures.sizes.iter().enumerate().max_by_key(|(_, size)| size.chunks).map_or(0, |(at, _)| at);
    let least = if most == 0 { 1 } else { chunking::SIZES.get(most - 1).map_or(1, |bound| bound + 1) };
    let sizes = match chunking::SIZES.get(most) {
        Some(bound) => format!("mostly {least}–{bound} tokens"),
        None => format!("mostly over {} tokens", least - 1),
    };
    format!("{}; {sizes}", steps.join(", "))
}

fn skipped(report: &StatusReport) -> String {
    let n: u64 = report.skipped.values().sum();
    let parts: Vec<String> = report
        .skipped
        .iter()
        .map(|(reason, n)| format!("{} {}", reason.replace('_', " "), count(*n)))
        .collect();
    let hint = if report.skipped_files.is_none() { "; --files lists them" } else { "" };
    format!("{}: {}{hint}", plural(n, "file"), parts.join(", "))
}

fn sizes(report: &StatusReport) -> String {
    let sizes = &report.size_bytes;
    let kinds = [
        ("shards", sizes.shards),
        ("search structures", sizes.segments + sizes.graphs),
        ("paths and snapshots", sizes.entries + sizes.snapshots),
        ("other models", sizes.other_models),
    ];
    let parts: Vec<String> =
        kinds.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {}", bytes(*n))).collect();

    let place = format!("{} in {}", bytes(sizes.total), shown_path(&report.store));
    if parts.is_empty() { place } else { format!("{place} ({})", parts.join(", ")) }
}

/// How far a run is, or was when it was interrupted; `None` if there is none.
pub fn progress(report: &StatusReport) -> Option<String> {
    let progress = report.progress.as_ref()?;
    let share = progress.files_processed * 100 / progress.files_total.max(1);

    let done = format!(
        "{share} % ({} of {})",
        count(progress.files_processed),
        plural(progress.files_total, "file")
    );
    let done =
        if progress.errors > 0 { format!("{done}, {}", plural(progress.errors, "error")) } else { done };

    Some(match progress.eta_seconds {
        Some(eta) => format!("{done}, {} left", render::duration(Duration::from_secs(eta))),
        None if progress.is_running => done,
        None => format!("{done} when it was interrupted"),
    })
}

/// Where the hooks are installed, or which are missing.
pub fn hooks(report: &StatusReport, context: &Context) -> String {
    let hooks = &report.hooks;
    if let Some(problem) = &hooks.problem {
        return context.paint.warning(format!("unknown: {}", render::safe(problem)));
    }

    let place = match hooks.method.as_deref() {
        Some("configuration") => "git's configuration of this repository".to_owned(),
        Some("global_configuration") => "your git configuration".to_owned(),
        Some(dir) => shown_path(std::path::Path::new(dir)),
        None => String::new(),
    };

    if hooks.installed && !hooks.binary_found {
        return context
            .paint
            .warning("installed, but the program they run is missing; run `git codeweaver init`");
    }
    if hooks.installed {
        return format!("installed in {place}, {}", hooks.mode);
    }

    let missing: Vec<String> = hooks
        .events
        .iter()
        .filter(|(_, state)| !matches!(state.as_str(), "current" | "outdated"))
        .map(|(event, state)| format!("{event}: {state}"))
        .collect();

    context.paint.warning(format!("not installed ({})", missing.join(", ")))
}
