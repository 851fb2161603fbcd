//! `eval`: how good the ranking is on labelled questions (requirement EV1).

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, render};
use crate::eval::{Report, Runner, Suite, ablate, foreign};
use crate::query::rank::{WEIGHTS, Weights};
use clap::{Args, Subcommand};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure the ranking on labelled questions
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 good, 1 below --min-ndcg, 2 error.")]
pub struct EvalArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Ask every question of a suite and score the answers
    Run(RunArgs),
    /// What each weight of the ranking is worth: the suite again without it, or with other values
    Ablate(AblateArgs),
    /// Whether relevance tells the suite's questions from questions about something else
    Foreign(SuiteArgs),
}

#[derive(Debug, Args)]
struct SuiteArgs {
    /// A folder with repos*.json and annotations/, or a .jsonl or .json file
    suite: PathBuf,
    /// Where the suite's repositories are, one folder each by name [default: this repository]
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// One JSON object on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    suite: SuiteArgs,
    /// Show the difference to an earlier run (the file of its --json output)
    #[arg(long, value_name = "BASELINE")]
    compare: Option<PathBuf>,
    /// Exit with 1 if the overall NDCG@10 is lower
    #[arg(long, value_name = "0..1")]
    min_ndcg: Option<f64>,
    /// Rank with another value of a weight (`ablate` lists them); may be repeated
    #[arg(long = "weight", value_name = "NAME=VALUE", value_parser = name_and_value)]
    weights: Vec<(String, f32)>,
}

#[derive(Debug, Args)]
struct AblateArgs {
    #[command(flatten)]
    suite: SuiteArgs,
    /// Only this weight, with these values; may be repeated
    #[arg(long = "weight", value_name = "NAME=VALUE,VALUE", value_parser = name_and_values)]
    weights: Vec<(String, Vec<f32>)>,
    /// Start from another value of a weight; may be repeated
    #[arg(long = "from", value_name = "NAME=VALUE", value_parser = name_and_value)]
    from: Vec<(String, f32)>,
}

pub fn run(args: EvalArgs, context: &Context) -> Result<ExitCode, CliError> {
    match args.what {
        What::Run(args) => run_suite(&args, context),
        What::Ablate(args) => run_ablation(&args, context),
        What::Foreign(args) => run_foreign(&args, context),
    }
}

fn run_suite(args: &RunArgs, context: &Context) -> Result<ExitCode, CliError> {
    let baseline = args.compare.as_deref().map(Report::read).transpose()?;
    let report = open(&args.suite, context)?.run(&weights_with(&args.weights)?);
    let mut out = context.out();
    if args.suite.json {
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        writeln!(out, "{}", render::safe_lines(&report.table(baseline.as_ref())))?;
    }
    out.flush()?;
    let is_low = args.min_ndcg.is_some_and(|min| report.overall.ndcg_at_10 < min);
    Ok(ExitCode::from(if is_low { exit::NEGATIVE } else { 0 }))
}

fn run_ablation(args: &AblateArgs, context: &Context) -> Result<ExitCode, CliError> {
    let runner = open(&args.suite, context)?;
    let base = weights_with(&args.from)?;
    let mut changes = Vec::new();
    for (name, values) in &args.weights {
        changes.extend(ablate::sweep(&runner, &base, name, values)?);
    }
    if args.weights.is_empty() {
        changes = ablate::leave_out(&runner, &base)?;
    }
    let mut out = context.out();
    if args.suite.json {
        writeln!(out, "{}", render::json(&changes, true)?)?;
    } else {
        writeln!(
            out,
            "{:24} {:>7} {:>8} {:>8} {:>10}",
            "NDCG@10", "value", "overall", "tuned", "kept aside"
        )?;
        for change in &changes {
            let ablate::Change { weight, value, overall, tuned, kept_aside } = change;
            writeln!(out, "{weight:24} {value:7.2} {overall:8.4} {tuned:8.4} {kept_aside:10.4}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The weights in use with some of them changed.
fn weights_with(changes: &[(String, f32)]) -> Result<Weights, CliError> {
    let mut weights = WEIGHTS.clone();
    for (name, value) in changes {
        weights = ablate::with(&weights, name, *value)?;
    }
    Ok(weights)
}

/// `NAME=VALUE`.
fn name_and_value(wanted: &str) -> Result<(String, f32), String> {
    let (name, value) = wanted.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), number(value)?))
}

/// `NAME=VALUE,VALUE`.
fn name_and_values(wanted: &str) -> Result<(String, Vec<f32>), String> {
    let (name, values) = wanted.split_once('=').ok_or("expected NAME=VALUE,VALUE")?;
    Ok((name.to_owned(), values.split(',').map(number).collect::<Result<_, _>>()?))
}

fn number(text: &str) -> Result<f32, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a number"))
}

fn run_foreign(args: &SuiteArgs, context: &Context) -> Result<ExitCode, CliError> {
    let found = foreign::separation(&open(args, context)?, &WEIGHTS);
    let mut out = context.out();
    if args.json {
        writeln!(out, "{}", render::json(&found, true)?)?;
    } else {
        writeln!(out, "A real question scores above a foreign one with a chance of {:.4}.", found.auc)?;
        writeln!(
            out,
            "{:>9} {:>14} {:>11} {:>16}",
            "min_score", "real answered", "right kept", "foreign refused"
        )?;
        for t in &found.thresholds {
            let foreign::Threshold { min_score, real_answered, right_kept, foreign_refused } = t;
            writeln!(out, "{min_score:9.2} {real_answered:14.3} {right_kept:11.3} {foreign_refused:16.3}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn open(args: &SuiteArgs, context: &Context) -> Result<Runner, CliError> {
    let repos = match &args.repos {
        Some(repos) => repos.clone(),
        None => context.codebase()?.root(),
    };
    let runner = Runner::open(Suite::load(&args.suite, "")?, &repos, &[])?;
    for warning in &runner.warnings {
        context.warn(warning);
    }
    Ok(runner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_that_is_no_number_is_refused() {
        assert_eq!(name_and_values("path=1,2.5"), Ok(("path".to_owned(), vec![1.0, 2.5])));
        assert_eq!(name_and_value("path=2"), Ok(("path".to_owned(), 2.0)));
        for wrong in ["path", "path=", "path=1,x", "path=1,"] {
            assert!(name_and_values(wrong).is_err(), "{wrong}");
        }
        assert!(name_and_value("path=1,2").is_err());
    }
}
