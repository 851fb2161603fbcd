//! `verify`: re-hashes what is stored, and rebuilds what is bad (requirement S6).

use crate::cli::context::{Context, shown_path};
use crate::cli::error::CliError;
use crate::cli::progress::{self, Style};
use crate::cli::{exit, render};
use crate::index::{Target, UpdateOptions, repair, updater};
use clap::Args;
use std::io::Write as _;
use std::process::ExitCode;

/// Check every stored byte against its hash, and rebuild what is bad
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 good (or repaired), 1 findings, 2 error.")]
pub struct VerifyArgs {
    /// Remove what is damaged and build it anew from git
    #[arg(long)]
    repair: bool,
    /// One JSON object on stdout
    #[arg(long)]
    json: bool,
}

pub fn run(args: VerifyArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    codebase.check_trust()?;
    let findings = repair::verify(&codebase)?;
    let mut repaired = false;
    if args.repair && !findings.is_empty() {
        let lease = updater::lease(&codebase)?;
        repair::repair(&codebase, &findings)?;
        drop(lease);
        let target = Target::head(&codebase)?;
        let style = if args.json { Style::Quiet } else { Style::choose(context, false, false) };
        progress::watch(context, &codebase, style, |progress| {
            updater::run(&codebase, &target, UpdateOptions::default(), progress)
        })?;
        repaired = repair::verify(&codebase)?.is_empty();
    }
    let mut out = context.out();
    if args.json {
        let report = serde_json::json!({ "good": findings.is_empty() || repaired, "repaired": repaired, "findings": findings });
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        for finding in &findings {
            let path = shown_path(&finding.path);
            writeln!(out, "{} {path}: {}", context.paint.error("damaged:"), render::safe(&finding.what))?;
        }
        match (findings.is_empty(), repaired) {
            (true, _) => {
                writeln!(out, "{} every stored file is what its name says", context.paint.good("good:"))?
            }
            (_, true) => {
                writeln!(out, "{} what was damaged has been built anew", context.paint.good("repaired:"))?
            }
            (_, false) => writeln!(out, "Repair it with `git codeweaver verify --repair`")?,
        }
    }
    out.flush()?;
    Ok(ExitCode::from(if findings.is_empty() || repaired { 0 } else { exit::NEGATIVE }))
}
