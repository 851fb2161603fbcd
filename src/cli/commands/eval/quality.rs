//! `eval loop`: the search-quality loop.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use codeweaver::query::rank::{Weights, own_weights};
use codeweaver_base::real_path;
use codeweaver_eval::EvalError;
use codeweaver_eval::mine::{self, MineOptions};
use codeweaver_eval::quality::artefact::Outcome;
use codeweaver_eval::quality::config::{BASELINE, BATCH};
use codeweaver_eval::quality::explorer::Explorer;
use codeweaver_eval::quality::guard::Thresholds;
use codeweaver_eval::quality::issue::{self, Issue};
use codeweaver_eval::quality::{Config, Loop, Summary, area};
use codeweaver_eval::tune::weights_file;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, progress, render};

/// Name of the folder in the index directory.
const FOLDER: &str = "quality";

#[derive(Debug, Args)]
#[command(after_help = "\
External commands are run by the shell, get one JSON object on stdin and answer with one on stdout; \
docs/quality-loop.md describes them. They do not get variables that look like keys, unless --pass-env names them.\n\
Exit codes: 0 converged, 1 not converged, 2 error. --resume continues a loop that was stopped.")]
pub struct LoopArgs {
    /// Issues: a .jsonl, .json or .yml file, or `mine` for the history of this repository
    #[arg(long, value_name = "FILE|mine", required_unless_present = "resume")]
    issues: Option<String>,
    /// Number of issues to mine
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Directory that contains the repositories of the issues, by name [default: this repository]
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Directory of the artefacts and the report [default: quality in the index directory]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Continue a loop that was stopped, with the settings that it began with
    #[arg(long, conflicts_with_all = ["issues", "limit", "repos", "explorer_a", "explorer_b", "judge", "learner", "areas",
        "baseline", "batch", "min_iterations", "max_iterations", "precision", "recall", "gestalt", "results", "seed",
        "pass_env", "timeout"])]
    resume: bool,
    /// First explorer: `history`, `grep`, or a command [default: history for mined issues, else grep]
    #[arg(long, value_name = "EXPLORER")]
    explorer_a: Option<String>,
    /// Second explorer, the cheaper one
    #[arg(long, value_name = "EXPLORER", default_value = "grep")]
    explorer_b: String,
    /// `labels`, or a command that judges files which only the search found
    #[arg(long, value_name = "JUDGE", default_value = "labels")]
    judge: String,
    /// `tune`, `none`, or a command that proposes ranking weights
    #[arg(long, value_name = "LEARNER", default_value = "tune")]
    learner: String,
    /// Table of areas: lines NAME: WORD, WORD; `built-in` for areas of software of any kind [default: learnt
    /// from the folders, labels and terms]
    #[arg(long, value_name = "FILE|built-in")]
    areas: Option<PathBuf>,
    /// Number of issues of the baseline, 30 to 40
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(in_range(&BASELINE)))]
    baseline: u16,
    /// Number of issues of an iteration, 15 to 20
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(in_range(&BATCH)))]
    batch: u16,
    /// Least number of iterations after the baseline
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    min_iterations: u16,
    /// Greatest number of iterations after the baseline
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    max_iterations: u16,
    /// Precision to reach
    #[arg(long, value_name = "SHARE", default_value_t = Thresholds::default().precision, value_parser = share)]
    precision: f64,
    /// Recall to reach
    #[arg(long, value_name = "SHARE", default_value_t = Thresholds::default().recall, value_parser = share)]
    recall: f64,
    /// Overall quality to reach, 1 to 5
    #[arg(long, value_name = "SCORE", default_value_t = Thresholds::default().gestalt, value_parser = score)]
    gestalt: f64,
    /// Number of files that the search returns for an issue
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    results: u16,
    /// Seed of the choice of issues
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Give external commands this variable although it looks like a key; can be repeated
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Time limit of one external command, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Search this repository with the weights that the loop arrives at; `eval tune --undo` takes them back
    #[arg(long, conflicts_with = "repos")]
    write: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

fn in_range(range: &std::ops::RangeInclusive<usize>) -> std::ops::RangeInclusive<i64> {
    *range.start() as i64..=*range.end() as i64
}

fn share(text: &str) -> Result<f64, String> {
    between(text, 0.0, 1.0)
}

fn score(text: &str) -> Result<f64, String> {
    between(text, 1.0, 5.0)
}

fn between(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;

    match (least..=most).contains(&value) {
        true => Ok(value),
        false => Err(format!("{value} is not between {least} and {most}")),
    }
}

pub fn run(args: &LoopArgs, context: &Context) -> Result<ExitCode, CliError> {
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None => context.codebase()?.layout.root().join(FOLDER),
    };
    let quality_loop = match args.resume {
        true => Loop::resume(&folder)?,
        false => begin(args, &folder, context)?,
    };

    // Refused before the loop, which may take hours.
    if args.write {
        check_whose_weights(&quality_loop, context)?;
    }

    if !quality_loop.config().judge.is_external() {
        context.note(
            "the judge `labels` gives no gestalt, so this loop measures and learns, but does not converge; \
             --judge COMMAND names one that does",
        );
    }

    let summary = progress::until_stopped(&quality_loop.stop(), || {
        quality_loop.run(&|line: &str| context.note(&render::safe(line)))
    })?;
    print(&summary, args.json, quality_loop.folder(), context)?;

    match (summary.kept_changes > 0, args.write) {
        (true, true) => use_weights(&quality_loop.weights()?, context)?,
        (true, false) => context.note("to search with the weights that were found, add --resume --write"),
        (false, true) => context.note("no change was kept, so no weights are written"),
        (false, false) => {}
    }

    Ok(match summary.outcome {
        Outcome::Converged => ExitCode::SUCCESS,
        _ => ExitCode::from(exit::NEGATIVE),
    })
}

/// Refuses to write weights that were learned on other repositories.
fn check_whose_weights(quality_loop: &Loop, context: &Context) -> Result<(), CliError> {
    let (searched, root) = (&quality_loop.config().repos, context.codebase()?.root());

    let is_same = match (real_path::canonicalize(searched), real_path::canonicalize(&root)) {
        (Ok(searched), Ok(root)) => searched == root,
        _ => false,
    };
    if is_same {
        return Ok(());
    }

    Err(CliError::new(
        "it is not clear whose weights these are",
        format!("the loop is about repositories in {}", searched.display()),
        format!(
            "leave --write out, and name {} by `search.weights`",
            quality_loop.folder().join("weights.json").display()
        ),
    ))
}

/// Writes the weights that the loop has learned as those of this repository.
fn use_weights(weights: &Weights, context: &Context) -> Result<(), CliError> {
    let (path, _) = own_weights::path_of(&context.codebase()?);
    weights_file::write(&path, weights)?;

    context.note(&format!(
        "the weights are in {}; `git codeweaver eval tune --undo` takes them back",
        path.display()
    ));
    Ok(())
}

/// Begins a loop with the settings of the arguments.
fn begin(args: &LoopArgs, folder: &Path, context: &Context) -> Result<Loop, CliError> {
    if args.max_iterations < args.min_iterations {
        return Err(CliError::new(
            format!("the loop cannot end within {} iterations", args.max_iterations),
            format!("at least {} are run", args.min_iterations),
            "raise --max-iterations, or lower --min-iterations",
        ));
    }

    let repos = match &args.repos {
        Some(repos) => repos.clone(),
        None => context.codebase()?.root(),
    };
    // A loop may be resumed in another directory.
    let repos = std::path::absolute(&repos)?;

    let pool = pool(args, context)?;
    let is_mined = pool.iter().all(|issue| issue.commit.is_some());
    let first =
        args.explorer_a.clone().unwrap_or_else(|| if is_mined { "history" } else { "grep" }.to_owned());

    let areas = match &args.areas {
        Some(path) if path == Path::new("built-in") => area::BUILT_IN.to_owned(),
        Some(path) => {
            std::fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.clone(), source })?
        }
        // The loop learns them.
        None => String::new(),
    };

    let config = Config {
        repos,
        results: usize::from(args.results),
        baseline: usize::from(args.baseline),
        batch: usize::from(args.batch),
        min_iterations: usize::from(args.min_iterations),
        max_iterations: usize::from(args.max_iterations),
        thresholds: Thresholds { precision: args.precision, recall: args.recall, gestalt: args.gestalt },
        seed: args.seed,
        explorers: [Explorer::from(first), Explorer::from(args.explorer_b.clone())],
        judge: args.judge.clone().into(),
        learner: args.learner.clone().into(),
        areas,
        pass_env: args.pass_env.clone(),
        timeout_seconds: args.timeout,
    };

    Ok(Loop::begin(folder, config, pool)?)
}

fn pool(args: &LoopArgs, context: &Context) -> Result<Vec<Issue>, CliError> {
    match args.issues.as_deref() {
        Some("mine") => {
            let options =
                MineOptions { rev: "HEAD".to_owned(), limit: args.limit, max_files: 5, keep_paths: false };
            Ok(issue::mined_pool(mine::mine(&context.codebase()?, &options)?.queries))
        }
        Some(file) => Ok(issue::read_pool(Path::new(file))?),
        None => Ok(Vec::new()),
    }
}

fn issues(n: usize) -> String {
    render::plural(n as u64, "issue")
}

fn print(summary: &Summary, is_json: bool, folder: &Path, context: &Context) -> Result<(), CliError> {
    let mut out = context.out();
    if is_json {
        writeln!(out, "{}", render::json(summary, true)?)?;
        return Ok(out.flush()?);
    }

    let figure = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));

    writeln!(out, "{:22} {:>9} {:>9} {:>9}", "", "precision", "recall", "gestalt")?;
    for (name, figures) in [("baseline", &summary.baseline), ("last iteration", &summary.figures)] {
        let scores = &figures.aggregate.scores;
        let [precision, recall, gestalt] = [scores.precision, scores.recall, scores.gestalt].map(figure);
        writeln!(out, "{name:22} {precision:>9} {recall:>9} {gestalt:>9}")?;
    }

    for (area, means) in &summary.figures.by_product_area {
        let [precision, recall, gestalt] =
            [means.scores.precision, means.scores.recall, means.scores.gestalt].map(figure);
        let name = render::safe(area);
        writeln!(out, "  {name:20} {precision:>9} {recall:>9} {gestalt:>9}  {}", issues(means.count))?;
    }

    let Summary { kept_changes, rolled_back, .. } = summary;
    writeln!(out, "changes kept: {kept_changes}, taken back: {rolled_back}")?;
    let outcome = match summary.outcome {
        Outcome::Converged => "converged",
        Outcome::PoolExhausted => "not converged; the pool has no issues left for another iteration",
        Outcome::MaxIterations | Outcome::Continue => "not converged",
    };
    writeln!(out, "{outcome} after {}", render::plural(summary.iterations as u64, "iteration"))?;

    for reason in &summary.open_criteria {
        writeln!(out, "  {}", render::safe(reason))?;
    }

    out.flush()?;
    context.note(&format!("the report is in {}", folder.join("report.html").display()));
    Ok(())
}
