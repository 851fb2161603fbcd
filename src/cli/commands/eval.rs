//! `eval`: how good the ranking is on labelled questions (requirements EV1, R10).

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, render};
use crate::eval::metric::DEPTH;
use crate::eval::mine::{self, MineOptions, Mined};
use crate::eval::report::Threshold;
use crate::eval::table::table;
use crate::eval::{Report, Runner, Suite, ablate, foreign};
use crate::query::rank::{WEIGHTS, Weights};
use clap::{Args, Subcommand};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measure the ranking on labelled questions
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 good, 1 below a threshold or nothing mined, 2 error.\nForms of a suite and what the figures mean: docs/evaluation.md"
)]
pub struct EvalArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Ask every question of a suite and score the answers
    Run(RunArgs),
    /// Two earlier runs side by side
    Compare(CompareArgs),
    /// Make a suite out of the repository's own history: what commits say, and the files they changed
    Mine(MineArgs),
    /// What each weight of the ranking is worth: the suite again without it, or with other values
    Ablate(AblateArgs),
    /// Whether relevance tells the suite's questions from questions about something else
    Foreign(SuiteArgs),
}

#[derive(Debug, Args)]
struct SuiteArgs {
    /// A .yml, .json or .jsonl file with questions, or a folder with repos*.json and annotations/
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
    /// Depth of NDCG, precision, recall and MRR
    #[arg(long, value_name = "N", default_value_t = DEPTH as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// Exit with 1 if an overall figure is lower: ndcg, precision, recall, mrr, hit@1, hit@3 or hit@5; may be repeated
    #[arg(long = "min", value_name = "NAME=VALUE")]
    thresholds: Vec<Threshold>,
    /// The same as --min ndcg=VALUE
    #[arg(long, value_name = "0..1", value_parser = |value: &str| format!("ndcg={value}").parse::<Threshold>())]
    min_ndcg: Option<Threshold>,
    /// Rank with another value of a weight (`ablate` lists them); may be repeated
    #[arg(long = "weight", value_name = "NAME=VALUE", value_parser = name_and_value)]
    weights: Vec<(String, f32)>,
}

#[derive(Debug, Args)]
struct CompareArgs {
    /// The earlier run (its --json output)
    baseline: PathBuf,
    /// The later run
    run: PathBuf,
    /// Exit with 1 if an overall figure of the later run is lower; may be repeated
    #[arg(long = "min", value_name = "NAME=VALUE")]
    thresholds: Vec<Threshold>,
}

#[derive(Debug, Args)]
struct MineArgs {
    /// Where to begin; its ancestors are read, newest first
    #[arg(default_value = "HEAD")]
    rev: String,
    /// Most questions
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Leave out commits that change more code files
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_files: u16,
    /// Leave the names of the changed files in the questions
    #[arg(long)]
    keep_paths: bool,
    /// Write the suite here (a .jsonl file) instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
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
        What::Compare(args) => compare(&args, context),
        What::Mine(args) => run_mine(&args, context),
        What::Ablate(args) => run_ablation(&args, context),
        What::Foreign(args) => run_foreign(&args, context),
    }
}

fn run_suite(args: &RunArgs, context: &Context) -> Result<ExitCode, CliError> {
    let baseline = args.compare.as_deref().map(Report::read).transpose()?;
    let report = open(&args.suite, context)?.run(&weights_with(&args.weights)?, usize::from(args.k));
    let mut out = context.out();
    if args.suite.json {
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        writeln!(out, "{}", render::safe_lines(&table(&report, baseline.as_ref())))?;
    }
    out.flush()?;
    let thresholds: Vec<Threshold> = args.thresholds.iter().chain(&args.min_ndcg).cloned().collect();
    Ok(judged(&report, &thresholds, context))
}

fn compare(args: &CompareArgs, context: &Context) -> Result<ExitCode, CliError> {
    let [baseline, report] = [&args.baseline, &args.run].map(|path| Report::read(path));
    let (baseline, report) = (baseline?, report?);
    let mut out = context.out();
    writeln!(out, "{}", render::safe_lines(&table(&report, Some(&baseline))))?;
    out.flush()?;
    Ok(judged(&report, &args.thresholds, context))
}

/// Says which thresholds were missed.
fn judged(report: &Report, thresholds: &[Threshold], context: &Context) -> ExitCode {
    let missed = report.missed(thresholds);
    for (threshold, reached) in &missed {
        context.warn(&format!("{} is {reached:.4}, wanted is at least {}", threshold.name, threshold.least));
    }
    ExitCode::from(if missed.is_empty() { 0 } else { exit::NEGATIVE })
}

fn run_mine(args: &MineArgs, context: &Context) -> Result<ExitCode, CliError> {
    if let Some(path) =
        args.output.as_ref().filter(|path| path.extension().is_none_or(|name| name != "jsonl"))
    {
        return Err(CliError::new(
            format!("{} cannot be written", path.display()),
            "a mined suite is JSON lines, and `eval run` tells forms by the name",
            "name it *.jsonl",
        ));
    }
    let options = MineOptions {
        rev: args.rev.clone(),
        limit: args.limit,
        max_files: usize::from(args.max_files),
        keep_paths: args.keep_paths,
    };
    let mined = mine::mine(&context.codebase()?, &options)?;
    let mut lines = String::new();
    for question in &mined.questions {
        lines.push_str(&render::json(question, false)?);
        lines.push('\n');
    }
    match &args.output {
        Some(path) => std::fs::write(path, lines).map_err(|e| {
            CliError::new(
                format!("{} cannot be written", path.display()),
                e.to_string(),
                "name another place with --output",
            )
        })?,
        None => {
            let mut out = context.out();
            out.write_all(lines.as_bytes())?;
            out.flush()?;
        }
    }
    context.note(&mined_summary(&mined, args.output.as_deref()));
    Ok(ExitCode::from(if mined.questions.is_empty() { exit::NEGATIVE } else { 0 }))
}

/// How many commits became questions, and why the others did not.
fn mined_summary(mined: &Mined, output: Option<&Path>) -> String {
    let mut text = format!(
        "{} out of {}",
        render::plural(mined.questions.len() as u64, "question"),
        render::plural(mined.n_commits as u64, "commit"),
    );
    let left_out: Vec<String> =
        mined.left_out.iter().map(|(reason, n)| format!("{} ({n})", reason.name())).collect();
    if !left_out.is_empty() {
        text.push_str(&format!("; left out: {}", left_out.join(", ")));
    }
    if let Some(path) = output.filter(|_| !mined.questions.is_empty()) {
        text.push_str(&format!("\nask them with: git codeweaver eval run {}", path.display()));
    }
    text
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
