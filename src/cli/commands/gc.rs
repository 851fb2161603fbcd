//! `gc`: drops what nothing reaches any more (requirement S6).

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, bytes, count, plural};
use crate::index::gc::{self, GRACE};
use crate::index::updater;
use clap::Args;
use std::io::Write as _;
use std::process::ExitCode;

/// Drop what no worktree and no recent snapshot uses any more
#[derive(Debug, Args)]
#[command(
    after_help = "What is old is decided by age and use, never by HEAD: going back to an old branch still embeds nothing."
)]
pub struct GcArgs {
    /// One JSON object on stdout
    #[arg(long)]
    json: bool,
}

pub fn run(args: GcArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    codebase.check_trust()?;
    if !codebase.layout.root().exists() {
        return Err(crate::index::IndexError::NotInitialised.into());
    }
    let lease = updater::lease(&codebase)?;
    let report = gc::collect(&codebase, GRACE)?;
    drop(lease);
    let mut out = context.out();
    if args.json {
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        let dropped = report.rows_before.saturating_sub(report.rows_after);
        writeln!(out, "Removed {} ({})", plural(report.files_removed, "file"), bytes(report.bytes_removed))?;
        writeln!(out, "Chunks: {} kept, {} dropped", count(report.rows_after), count(dropped))?;
        if report.heads_dropped > 0 {
            writeln!(out, "Forgot {} that no longer exist", plural(report.heads_dropped, "worktree"))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
