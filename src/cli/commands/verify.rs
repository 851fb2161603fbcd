//! `verify`: checks stored files against their hashes, and rebuilds damaged ones.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use codeweaver_embed as embed;
use codeweaver_index::recompute::{self, Recomputed};
use codeweaver_index::repair::{self, Finding};
use codeweaver_index::{IndexError, Target, UpdateOptions, updater};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::progress::{self, Style};
use crate::cli::render::shown_path;
use crate::cli::{exit, render};

/// Check every stored file against its hash, and rebuild damaged ones
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 good (or repaired), 1 damage found, 2 error or not indexed.")]
pub struct VerifyArgs {
    /// Remove damaged files and rebuild them from git
    #[arg(long)]
    repair: bool,
    /// Also recompute this percentage of the index from git and compare
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    recompute: Option<f64>,
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "expected a percentage, for example 5 or 5%".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("must be between 0 and 100".to_owned()) }
}

pub fn run(args: VerifyArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    codebase.check_trust()?;
    let findings = repair::verify(&codebase)?;
    if findings.is_empty() && !codebase.store().state().exists() {
        // Without a state nothing was checked, so the index is not good.
        return Err(CliError::from_lifecycle(codebase.lifecycle(None), &codebase));
    }

    // Damaged files are not worth a comparison with git.
    let recomputed = match args.recompute.filter(|_| findings.is_empty()) {
        None => Recomputed::default(),
        Some(percent) => {
            let embedder = embed::open(&codebase.settings.model).map_err(IndexError::from)?;
            recompute::recompute(&codebase, embedder.as_ref(), percent)?
        }
    };

    let findings: Vec<Finding> = findings.into_iter().chain(recomputed.findings.clone()).collect();

    let mut repaired = false;
    if args.repair && !findings.is_empty() {
        let lease = updater::lease(&codebase)?;
        repair::repair(&codebase, &findings)?;

        // The updater takes the lease itself.
        drop(lease);
        let target = Target::head(&codebase)?;
        let style = if args.json { Style::Quiet } else { Style::choose(context, false, false) };
        progress::run(context, &codebase, style, |progress| {
            updater::run(&codebase, &target, UpdateOptions::default(), progress)
        })?;

        repaired = repair::verify(&codebase)?.is_empty();
    }

    let mut out = context.out();
    if args.json {
        let report = serde_json::json!({ "good": findings.is_empty() || repaired, "repaired": repaired, "findings": findings,
            "recomputed": { "docs": recomputed.docs, "chunks": recomputed.chunks, "skipped": recomputed.skipped } });
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        for finding in &findings {
            let path = shown_path(&finding.path);
            writeln!(out, "{} {path}: {}", context.paint.error("damaged:"), render::safe(&finding.what))?;
        }

        if args.recompute.is_some() {
            let (docs, chunks) =
                (render::plural(recomputed.docs, "blob"), render::plural(recomputed.chunks, "chunk"));
            writeln!(out, "Recomputed: {docs}, {chunks} ({} cannot be recomputed here)", recomputed.skipped)?;
        }

        match (findings.is_empty(), repaired) {
            (true, _) => writeln!(out, "{} every stored file matches its hash", context.paint.good("good:"))?,
            (_, true) => {
                writeln!(out, "{} damaged files have been rebuilt", context.paint.good("repaired:"))?
            }
            (_, false) => writeln!(out, "`git codeweaver verify --repair` rebuilds damaged files")?,
        }
    }

    out.flush()?;
    Ok(ExitCode::from(if findings.is_empty() || repaired { 0 } else { exit::NEGATIVE }))
}
