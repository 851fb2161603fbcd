//! `gc`: removes stored data that no snapshot needs.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use codeweaver_index::gc::{self, Keep};
use codeweaver_index::updater;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, bytes, count, plural};

/// Remove stored data that no worktree and no recent snapshot uses
#[derive(Debug, Args)]
#[command(after_help = "\
Data is removed by age and use, not by HEAD: after switching back to an old branch, nothing has to be embedded. Kept are
the trees of HEAD of all worktrees, and of the 64 branches and revisions that were indexed or checked out last, for 30
days. With --force, a query that runs at the same time may fail once.")]
pub struct GcArgs {
    /// Remove it whatever its age, with the trees that no worktree has checked out and the indexes of other
    /// models
    #[arg(long)]
    force: bool,
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

pub fn run(args: GcArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    codebase.check_trust()?;
    if !codebase.layout.root().exists() {
        return Err(codeweaver_index::IndexError::NotInitialised.into());
    }

    if args.force {
        // Data that a run of another worktree has written and not yet published is young, and no state names
        // it.
        updater::refuse_while_indexing(&codebase)?;
    }

    let lease = updater::lease(&codebase)?;
    let report = gc::collect(&codebase, if args.force { Keep::NOTHING } else { Keep::USUAL })?;
    drop(lease);

    let mut out = context.out();
    if args.json {
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        let dropped = report.rows_before.saturating_sub(report.rows_after);
        writeln!(out, "Removed {} ({})", plural(report.files_removed, "file"), bytes(report.bytes_removed))?;
        writeln!(out, "Chunks: {} kept, {} dropped", count(report.rows_after), count(dropped))?;
        if report.snapshots_dropped > 0 {
            writeln!(out, "Dropped the index of {}", plural(report.snapshots_dropped, "other tree"))?;
        }
        if report.heads_dropped > 0 {
            writeln!(out, "Dropped the state of {}", plural(report.heads_dropped, "removed worktree"))?;
        }
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
