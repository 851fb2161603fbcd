//! `eval tune`: learns ranking weights from a suite and writes them if every guard holds.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use codeweaver::query::rank::{WEIGHTS, own_weights};
use codeweaver_eval::tune::{self, Options, Proposal, table, weights_file};

use super::SuiteArgs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, render};

#[derive(Debug, Args)]
#[command(after_help = "\
Learning starts from the built-in weights. A gain is measured by cross-validation: over repositories, or over blocks of \
neighbouring queries of a single one.\n\
Exit codes: 0 written (or would be), 1 a guard does not hold and nothing is written, 2 error.")]
pub struct TuneArgs {
    #[command(flatten)]
    suite: Option<SuiteArgs>,
    /// Write the weights to this file, for example to commit it and name it by `search.weights`
    /// [default: the file that `search.weights` names, or weights.json of the index]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Measure and print, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Put the weights before the last `tune` in place again
    #[arg(long, conflicts_with_all = ["suite", "repos", "whole", "json", "dry_run", "seed"])]
    undo: bool,
    /// Seed of the samples of which the interval of the gain is made
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub fn run(args: &TuneArgs, context: &Context) -> Result<ExitCode, CliError> {
    if args.undo {
        return undo(&target(args, context)?, context);
    }

    let Some(suite) = &args.suite else {
        return Err(CliError::new(
            "there is no suite to learn from",
            "`eval tune` needs labelled queries",
            "make some: git codeweaver eval mine --limit 300 -o mined.jsonl, then git codeweaver eval tune mined.jsonl",
        ));
    };

    // An unclear target is an error before the measurement.
    let path = if args.dry_run { None } else { Some(target(args, context)?) };
    let runner = super::open(suite, context)?;
    let options = Options { seed: args.seed, ..Options::default() };
    let proposal = tune::propose(&[&runner], &WEIGHTS, &options)?;
    print(&proposal, suite.json, context)?;

    if !proposal.holds() {
        context.note("a guard does not hold, so no weights are written");
        return Ok(ExitCode::from(exit::NEGATIVE));
    }

    match path {
        Some(path) => {
            weights_file::write(&path, &proposal.weights)?;
            context.note(&format!(
                "the weights are in {}; `git codeweaver eval tune --undo` takes them back",
                path.display()
            ));
        }
        None => context.note("every guard holds; without --dry-run the weights are written"),
    }

    Ok(ExitCode::SUCCESS)
}

fn print(proposal: &Proposal, is_json: bool, context: &Context) -> Result<(), CliError> {
    let mut out = context.out();
    match is_json {
        true => writeln!(out, "{}", render::json(proposal, true)?)?,
        false => writeln!(out, "{}", render::safe_lines(&table::table(proposal)))?,
    }
    Ok(out.flush()?)
}

/// The file to which the weights are written.
fn target(args: &TuneArgs, context: &Context) -> Result<PathBuf, CliError> {
    match &args.output {
        Some(path) => Ok(path.clone()),
        None if args.suite.as_ref().is_some_and(|suite| suite.repos.is_some()) => Err(CliError::new(
            "it is not clear whose weights these are",
            "with --repos, the suite is about other repositories than this one",
            "name a file with --output, or use --dry-run",
        )),
        None => Ok(own_weights::path_of(&context.codebase()?).0),
    }
}

/// Restores the weights before the last `tune`.
fn undo(path: &Path, context: &Context) -> Result<ExitCode, CliError> {
    let text = match weights_file::undo(path)? {
        weights_file::Undone::Restored(backup) => {
            format!("{} is again as it was in {}", path.display(), backup.display())
        }
        weights_file::Undone::Removed => {
            format!("{} is removed; the built-in weights are in use", path.display())
        }
        weights_file::Undone::Nothing => {
            context.note(&format!("there is no {}; the built-in weights are in use", path.display()));
            return Ok(ExitCode::from(exit::NEGATIVE));
        }
    };

    context.note(&text);
    Ok(ExitCode::SUCCESS)
}
