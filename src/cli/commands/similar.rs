//! `similar`: finds code similar to the code at a line.

use std::process::ExitCode;

use clap::Args;

use codeweaver::query::similar::SimilarRequest;
use codeweaver::query::{Location, TypedQuery};

use super::search::{finish, run_query};
use crate::cli::args::{Format, OutputArgs, place};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::lines::{LineArgs, LineForm};
use crate::cli::output::Output;
use crate::cli::places::Places;
use crate::cli::scope::ScopeArgs;
use crate::cli::{exit, results};

/// Find code similar to the code at a line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver similar src/auth.rs:120            code similar to the function at line 120
  git codeweaver similar --lang go pkg/api.go:30    similar code in Go only

Exit codes: 0 matches found, 1 no match, 2 error or not indexed.")]
pub struct SimilarArgs {
    /// File and line of the code to compare with
    #[arg(value_name = "FILE:LINE", value_parser = place())]
    location: String,
    /// Maximum number of matches [default: 10]
    #[arg(short, long)]
    limit: Option<usize>,
    /// Leave out the N best matches: `--offset 10` shows those after the first ten
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Minimum similarity of a match, from 0 to 1
    #[arg(long, value_name = "SCORE")]
    min_score: Option<f32>,
    /// Maximum number of tokens in the response [default: 10000]
    #[arg(long, value_name = "TOKENS")]
    token_limit: Option<u32>,
    /// Print only locations and names
    #[arg(long)]
    locations: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

pub fn run(args: SimilarArgs, context: &Context) -> Result<ExitCode, CliError> {
    let location = Location::parse(&args.location);
    let (file, Some(line)) = (location.file, location.line()) else {
        return Err(CliError::new(
            format!("'{}' names no line", args.location),
            "the search starts from the code at a line of a file",
            "git codeweaver similar FILE:LINE",
        ));
    };

    let searcher = context.searcher()?;
    let search = searcher.codebase.settings.search.clone();

    let query = TypedQuery::from_conditions(args.scope.conditions());
    let resolved = args.scope.resolve(&query, &searcher, context, search.include_tests)?;

    let request = SimilarRequest {
        path: context.file(&searcher.codebase, file, args.scope.rev.as_deref())?,
        line,
        view: resolved.view,
        filters: resolved.filters,
        offset: args.offset,
        limit: args.limit.unwrap_or(search.limit as usize),
        token_limit: args.token_limit.unwrap_or(args.lines.token_limit(search.token_limit)),
        min_score: args.min_score.unwrap_or(search.min_score),
        without_content: args.locations || args.lines.form() == Some(LineForm::Path),
        texts: usize::MAX,
        related: args.output.format() == Format::Json,
    };

    let format = args.output.format();
    let response = run_query(&searcher, context, format, |updater| searcher.similar(&request, updater))?;

    let places = Places::new(context, &searcher.codebase, args.scope.rev.as_deref());
    let query = format!("similar to {}:{}", places.path(&request.path), request.line);
    let output = Output::new(context, &response, places, &query, "").after(request.offset);
    results::print(context, &output, format, args.lines.form())?;

    finish(&searcher.codebase, &response, format, context);
    Ok(ExitCode::from(if response.is_nothing_found() { exit::NEGATIVE } else { 0 }))
}
