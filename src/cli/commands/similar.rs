//! `similar`: code like the code at a line (requirement R8).

use super::search::{Format, OutputArgs, ScopeArgs, answer, catch_up, refuse};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, render, results};
use crate::query::similar::SimilarRequest;
use crate::query::{Cancel, Filters, Searcher};
use clap::Args;
use std::io::Write as _;
use std::process::ExitCode;

/// Find code like the code at a line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver similar src/auth.rs:120            what resembles the function at line 120
  git codeweaver similar --lang go pkg/api.go:30    only in Go

Exit codes: 0 found, 1 nothing found, 2 error or not indexed.")]
pub struct SimilarArgs {
    /// File and line
    #[arg(value_name = "FILE:LINE")]
    place: String,
    /// Most matches to show (default 10)
    #[arg(short, long)]
    limit: Option<usize>,
    /// Leave out matches of a lower similarity, 0 to 1
    #[arg(long, value_name = "SCORE")]
    min_score: Option<f32>,
    /// Most tokens of the whole answer (default 10000)
    #[arg(long, value_name = "TOKENS")]
    token_limit: Option<u32>,
    /// Locations and names only
    #[arg(long)]
    locations: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

pub fn run(args: SimilarArgs, context: &Context) -> Result<ExitCode, CliError> {
    let Some((file, line)) =
        args.place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)))
    else {
        return Err(CliError::new(
            format!("'{}' names no line", args.place),
            "what is compared with is the code at a line of a file",
            "git codeweaver similar FILE:LINE",
        ));
    };
    let codebase = context.codebase()?;
    let search = codebase.settings.search.clone();
    let request = SimilarRequest {
        cancel: Cancel::default(),
        path: context.repository_path(&codebase, file),
        line,
        rev: args.scope.rev.clone(),
        filters: Filters {
            languages: args.scope.lang.clone(),
            paths: args.scope.path.clone(),
            exclude_paths: args.scope.exclude.clone(),
            kinds: args.scope.kind.clone(),
            include_tests: args.scope.tests().unwrap_or(search.include_tests),
        },
        offset: 0,
        limit: args.limit.unwrap_or(search.limit as usize),
        token_limit: args.token_limit.unwrap_or(search.token_limit),
        min_score: args.min_score.unwrap_or(search.min_score),
        without_content: args.locations,
    };
    let searcher = Searcher::new(codebase);
    let response = match answer(&searcher, context, |updater| searcher.similar(&request, updater)) {
        Ok(response) => response,
        Err(error) => return Err(refuse(error, &searcher.codebase, args.output.format(), context)?),
    };
    let query = format!("similar to {}:{}", request.path, request.line);
    let shown = results::Shown {
        response: &response,
        root: &searcher.codebase.root(),
        query: &query,
        words: "",
        paint: context.paint,
    };
    let mut out = context.out();
    match args.output.format() {
        Format::Table => results::table(&mut out, &shown)?,
        Format::Markdown => results::markdown(&mut out, &shown)?,
        Format::Json => writeln!(out, "{}", render::json(&response, true)?)?,
    }
    out.flush()?;
    if args.output.format() != Format::Json {
        response.warnings.iter().for_each(|warning| context.warn(warning));
    }
    catch_up(&searcher.codebase);
    Ok(ExitCode::from(if response.matches.is_empty() { exit::NEGATIVE } else { 0 }))
}
