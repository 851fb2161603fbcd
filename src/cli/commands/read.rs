//! `read`: prints lines of a file, from the working tree or any revision.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use codeweaver::query::{Location, Searcher};

use super::search::run_query;
use crate::cli::args::{Format, OutputArgs, place};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::places::Places;
use crate::cli::{render, results};

/// Print a file or a range of its lines, from the working tree or any revision
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver read src/lib.rs:10-40
  git codeweaver read src/lib.rs:10:5             a place as compilers print it; FILE#L3-L5 as well
  git codeweaver read --rev v1.2 src/lib.rs")]
pub struct ReadArgs {
    /// File, optionally with a range of lines
    #[arg(value_name = "FILE[:FROM-TO]", value_parser = place())]
    location: String,
    /// Branch, tag, commit or tree to read instead of the working tree
    #[arg(long)]
    rev: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: ReadArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let Location { file, lines } = Location::parse(&args.location);
    let path = context.file(&codebase, file, args.rev.as_deref())?;
    let places = Places::new(context, &codebase, args.rev.as_deref());

    let searcher = Searcher::new(codebase);
    let text = run_query(&searcher, context, args.output.format(), |_| {
        searcher.read(&path, lines, args.rev.as_deref())
    })?;

    let mut out = context.out();
    match args.output.format() {
        Format::Table => {
            let width = text.span.1.to_string().len();
            for (number, line) in (text.span.0..).zip(text.text.lines()) {
                writeln!(out, "{} {}", context.paint.dim(format!("{number:>width$} │")), render::safe(line))?;
            }
        }
        Format::Markdown => {
            let body = render::safe_lines(&text.text);
            let fence = results::fence(&body);
            let place =
                format!("{}:{}-{}", places.path(&text.path), text.span.0, text.span.1).replace('`', "'");
            writeln!(out, "`{place}`\n\n{fence}{}\n{body}\n{fence}", text.language)?;

            if let Some(note) = text.note() {
                writeln!(out, "\n{note}")?;
            }
        }
        Format::Json => writeln!(out, "{}", render::json(&text, true)?)?,
    }

    out.flush()?;
    if args.output.format() != Format::Json {
        text.note().iter().for_each(|note| context.warn(note));
    }
    Ok(ExitCode::SUCCESS)
}
