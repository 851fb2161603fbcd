//! `eval`: measures the ranking on labelled queries.

mod quality;
mod tune;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use codeweaver::query::Searcher;
use codeweaver::query::rank::{WEIGHTS, Weights, own_weights};
use codeweaver_eval::metric::DEPTH;
use codeweaver_eval::mine::{self, MineOptions, Mined};
use codeweaver_eval::report::Threshold;
use codeweaver_eval::table::table;
use codeweaver_eval::{Report, Runner, Suite, ablate, foreign};
use codeweaver_xref::{CallSite, Xref};

use super::search::run_query;
use crate::cli::args::Format;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, render};

/// Measure the ranking on labelled queries
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 good, 1 below a threshold or nothing mined, 2 error.\nSuite formats and metrics are described in docs/evaluation.md."
)]
pub struct EvalArgs {
    #[command(subcommand)]
    command: EvalCommand,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Run every query of a suite and score the results
    Run(RunArgs),
    /// Compare two earlier runs
    Compare(CompareArgs),
    /// Create a suite from the history of this repository: commit messages and the files they changed
    Mine(MineArgs),
    /// Measure what each ranking weight contributes, by running the suite without it or with other values
    Ablate(AblateArgs),
    /// Learn ranking weights of your own from a suite; written only if nothing gets worse
    Tune(tune::TuneArgs),
    /// Find out what the search misses, in iterations over issues that two explorers look for as well
    Loop(quality::LoopArgs),
    /// Measure how well relevance separates the queries of the suite from foreign ones
    Foreign(SuiteArgs),
    /// Print every call site of this repository with its grade and the definitions it is resolved to, as JSON
    /// lines
    Calls(CallsArgs),
}

#[derive(Debug, Args)]
struct SuiteArgs {
    /// A .yml, .json or .jsonl file with queries, or a directory with repos*.json and annotations/
    suite: PathBuf,
    /// Directory that contains the repositories of the suite, by name [default: this repository]
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Search whole repositories, not only the folder that the suite names (benchmark_root)
    #[arg(long)]
    whole: bool,
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    suite: SuiteArgs,
    /// Show the differences from an earlier run (a file with its --json output)
    #[arg(long, value_name = "BASELINE")]
    compare: Option<PathBuf>,
    /// Number of results considered by NDCG, precision, recall and MRR
    #[arg(long, value_name = "N", default_value_t = DEPTH as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// Exit with 1 if an overall metric is lower: ndcg, precision, recall, mrr, hit@1, hit@3 or hit@5; can be
    /// repeated
    #[arg(long = "min", value_name = "NAME=VALUE")]
    thresholds: Vec<Threshold>,
    /// Same as --min ndcg=VALUE
    #[arg(long, value_name = "0..1", value_parser = |value: &str| format!("ndcg={value}").parse::<Threshold>())]
    min_ndcg: Option<Threshold>,
    /// Rank with the weights in this file, as `eval tune` writes them [default: the built-in ones]
    #[arg(long = "weights", value_name = "FILE")]
    weights_file: Option<PathBuf>,
    /// Change a ranking weight (`ablate` lists them); can be repeated
    #[arg(long = "weight", value_name = "NAME=VALUE", value_parser = name_and_value)]
    weights: Vec<(String, f32)>,
}

#[derive(Debug, Args)]
struct CompareArgs {
    /// Earlier run (a file with its --json output)
    baseline: PathBuf,
    /// Later run
    run: PathBuf,
    /// Exit with 1 if an overall metric of the later run is lower; can be repeated
    #[arg(long = "min", value_name = "NAME=VALUE")]
    thresholds: Vec<Threshold>,
}

#[derive(Debug, Args)]
struct MineArgs {
    /// Revision to start from; its ancestors are read, newest first
    #[arg(default_value = "HEAD")]
    rev: String,
    /// Maximum number of queries
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Skip commits that change more than N code files
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_files: u16,
    /// Keep the names of the changed files in the queries
    #[arg(long)]
    keep_paths: bool,
    /// Write the suite to this .jsonl file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CallsArgs {
    /// Only files whose path from the root of the repository begins with one of these
    #[arg(value_name = "PATH")]
    prefixes: Vec<String>,
}

#[derive(Debug, Args)]
struct AblateArgs {
    #[command(flatten)]
    suite: SuiteArgs,
    /// Try these values of one weight, instead of ablating all weights; can be repeated
    #[arg(long = "weight", value_name = "NAME=VALUE,VALUE", value_parser = name_and_values)]
    weights: Vec<(String, Vec<f32>)>,
    /// Change the baseline value of a weight; can be repeated
    #[arg(long = "from", value_name = "NAME=VALUE", value_parser = name_and_value)]
    from: Vec<(String, f32)>,
}

pub fn run(args: EvalArgs, context: &Context) -> Result<ExitCode, CliError> {
    match args.command {
        EvalCommand::Run(args) => run_suite(&args, context),
        EvalCommand::Compare(args) => compare(&args, context),
        EvalCommand::Mine(args) => run_mine(&args, context),
        EvalCommand::Ablate(args) => run_ablation(&args, context),
        EvalCommand::Tune(args) => tune::run(&args, context),
        EvalCommand::Loop(args) => quality::run(&args, context),
        EvalCommand::Foreign(args) => run_foreign(&args, context),
        EvalCommand::Calls(args) => run_calls(&args, context),
    }
}

fn run_suite(args: &RunArgs, context: &Context) -> Result<ExitCode, CliError> {
    // An unusable baseline is reported before the run, which may take minutes.
    let baseline = args.compare.as_deref().map(Report::read).transpose()?;
    let base = match &args.weights_file {
        Some(path) => own_weights::read(path).map_err(|why| {
            CliError::new(
                format!("{} cannot be used", path.display()),
                why,
                "name a file that `git codeweaver eval tune` has written",
            )
        })?,
        None => WEIGHTS.clone(),
    };

    let weights = with_changes(base, &args.weights)?;
    let report = open(&args.suite, context)?.run(&weights, usize::from(args.k));

    let mut out = context.out();
    if args.suite.json {
        writeln!(out, "{}", render::json(&report, true)?)?;
    } else {
        writeln!(out, "{}", render::safe_lines(&table(&report, baseline.as_ref())))?;
    }
    out.flush()?;

    let thresholds: Vec<Threshold> = args.thresholds.iter().chain(&args.min_ndcg).cloned().collect();
    Ok(check_thresholds(&report, &thresholds, context))
}

fn compare(args: &CompareArgs, context: &Context) -> Result<ExitCode, CliError> {
    let [baseline, report] = [&args.baseline, &args.run].map(|path| Report::read(path));
    let (baseline, report) = (baseline?, report?);

    let mut out = context.out();
    writeln!(out, "{}", render::safe_lines(&table(&report, Some(&baseline))))?;
    out.flush()?;
    Ok(check_thresholds(&report, &args.thresholds, context))
}

/// Prints a warning for each threshold that was missed. Returns the exit code.
fn check_thresholds(report: &Report, thresholds: &[Threshold], context: &Context) -> ExitCode {
    let missed = report.missed(thresholds);
    for (threshold, value) in &missed {
        context.warn(&format!("{} is {value:.4}, below the minimum of {}", threshold.name, threshold.least));
    }
    ExitCode::from(if missed.is_empty() { 0 } else { exit::NEGATIVE })
}

fn run_mine(args: &MineArgs, context: &Context) -> Result<ExitCode, CliError> {
    if let Some(path) =
        args.output.as_ref().filter(|path| path.extension().is_none_or(|name| name != "jsonl"))
    {
        return Err(CliError::new(
            format!("{} cannot be written", path.display()),
            "a mined suite is in JSON lines, and `eval run` detects formats by file extension",
            "use a file name that ends in .jsonl",
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
    for query in &mined.queries {
        lines.push_str(&render::json(query, false)?);
        lines.push('\n');
    }

    match &args.output {
        Some(path) => std::fs::write(path, lines).map_err(|e| {
            CliError::new(
                format!("{} cannot be written", path.display()),
                e.to_string(),
                "use another path with --output",
            )
        })?,
        None => {
            let mut out = context.out();
            out.write_all(lines.as_bytes())?;
            out.flush()?;
        }
    }

    context.note(&mined_summary(&mined, args.output.as_deref()));
    Ok(ExitCode::from(if mined.queries.is_empty() { exit::NEGATIVE } else { 0 }))
}

/// Formats the number of mined queries and the reasons for which commits were skipped.
fn mined_summary(mined: &Mined, output: Option<&Path>) -> String {
    let mut text = format!(
        "{} from {}",
        render::plural(mined.queries.len() as u64, "query"),
        render::plural(mined.n_commits as u64, "commit"),
    );

    let skipped: Vec<String> =
        mined.skipped.iter().map(|(reason, n)| format!("{} ({n})", reason.name())).collect();
    if !skipped.is_empty() {
        text.push_str(&format!("; skipped: {}", skipped.join(", ")));
    }

    if let Some(path) = output.filter(|_| !mined.queries.is_empty()) {
        text.push_str(&format!("\nrun them with: git codeweaver eval run {}", path.display()));
    }

    text
}

fn run_ablation(args: &AblateArgs, context: &Context) -> Result<ExitCode, CliError> {
    let runner = open(&args.suite, context)?;
    let base = with_changes(WEIGHTS.clone(), &args.from)?;

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
        writeln!(out, "{:24} {:>7} {:>8} {:>8} {:>10}", "NDCG@10", "value", "overall", "tuned", "held out")?;
        for change in &changes {
            let ablate::Change { weight, value, overall, tuned, held_out } = change;
            writeln!(out, "{weight:24} {value:7.2} {overall:8.4} {tuned:8.4} {held_out:10.4}")?;
        }
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns `weights` with `changes` applied.
fn with_changes(mut weights: Weights, changes: &[(String, f32)]) -> Result<Weights, CliError> {
    for (name, value) in changes {
        weights = ablate::with(&weights, name, *value)?;
    }
    Ok(weights)
}

/// Parses `NAME=VALUE`.
fn name_and_value(text: &str) -> Result<(String, f32), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;

    Ok((name.to_owned(), number(value)?))
}

/// Parses `NAME=VALUE,VALUE`.
fn name_and_values(text: &str) -> Result<(String, Vec<f32>), String> {
    let (name, values) = text.split_once('=').ok_or("expected NAME=VALUE,VALUE")?;

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
        writeln!(out, "A query of the suite scores above a foreign one with probability {:.4}.", found.auc)?;
        writeln!(
            out,
            "{:>9} {:>14} {:>11} {:>16}",
            "min_score", "suite answered", "right kept", "foreign rejected"
        )?;
        for t in &found.thresholds {
            let foreign::Threshold { min_score, real_answered, right_kept, foreign_refused } = t;
            writeln!(out, "{min_score:9.2} {real_answered:14.3} {right_kept:11.3} {foreign_refused:16.3}")?;
        }
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn run_calls(args: &CallsArgs, context: &Context) -> Result<ExitCode, CliError> {
    let searcher = Searcher::new(context.codebase()?);

    let lines = run_query(&searcher, context, Format::Json, |updater| {
        let mut lines = Vec::new();
        Xref::new(&searcher).call_sites(&args.prefixes, updater, &mut |site: CallSite| {
            lines.push(render::json(&site, false));
        })?;
        Ok(lines)
    })?;

    let is_empty = lines.is_empty();
    let mut out = context.out();
    for line in lines {
        writeln!(out, "{}", line?)?;
    }

    out.flush()?;
    Ok(ExitCode::from(if is_empty { exit::NEGATIVE } else { 0 }))
}

fn open(args: &SuiteArgs, context: &Context) -> Result<Runner, CliError> {
    let repos = match &args.repos {
        Some(repos) => repos.clone(),
        None => context.codebase()?.root(),
    };

    let mut suite = Suite::load(&args.suite, "")?;
    if args.whole {
        suite.widen();
    }

    let runner = Runner::open(suite, &repos, &[])?;
    for warning in &runner.warnings {
        context.warn(warning);
    }

    Ok(runner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_that_is_not_a_number_is_rejected() {
        assert_eq!(name_and_values("path=1,2.5"), Ok(("path".to_owned(), vec![1.0, 2.5])));
        assert_eq!(name_and_value("path=2"), Ok(("path".to_owned(), 2.0)));
        for wrong in ["path", "path=", "path=1,x", "path=1,"] {
            assert!(name_and_values(wrong).is_err(), "{wrong}");
        }
        assert!(name_and_value("path=1,2").is_err());
    }
}
