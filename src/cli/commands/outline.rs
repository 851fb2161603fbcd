//! `outline`: the definitions of a file.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use codeweaver::query::Location;
use codeweaver::query::outline::{Outline, OutlineSymbol};
use codeweaver::service::follow_up;

use super::search::run_query;
use crate::cli::args::{Format, OutputArgs, place};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::places::Places;
use crate::cli::render::{self, Paint, safe};
use crate::cli::width;

/// List the definitions of a file: names, kinds, signatures, lines
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver outline src/lib.rs
  git codeweaver outline src/lib.rs:40              what is around this line
  git codeweaver outline --rev v1.2 src/lib.rs      as of another revision
  git codeweaver outline -o json src/lib.rs")]
pub struct OutlineArgs {
    /// Path of the file; with lines, only the definitions there
    #[arg(value_name = "FILE[:FROM-TO]", value_parser = place())]
    file: String,
    /// Branch, tag, commit or tree to read instead of the working tree
    #[arg(long)]
    rev: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: OutlineArgs, context: &Context) -> Result<ExitCode, CliError> {
    let searcher = context.searcher()?;
    let codebase = &searcher.codebase;
    // A file may have a name like `PATH:18`.
    let is_name = context.dir.join(&args.file).exists();
    let Location { file, lines } = Location::parse(&args.file);
    let (file, lines) = if is_name { (args.file.as_str(), None) } else { (file, lines) };
    let path = context.file(codebase, file, args.rev.as_deref())?;
    let places = Places::new(context, codebase, args.rev.as_deref());

    let mut outline = run_query(&searcher, context, args.output.format(), |updater| {
        searcher.outline(&path, args.rev.as_deref(), updater)
    })?;

    lines.into_iter().for_each(|lines| outline.keep_lines(lines));

    let mut out = context.out();
    match args.output.format() {
        Format::Table => table(&mut out, &outline, &places, context)?,
        Format::Markdown => markdown(&mut out, &outline, &places)?,
        Format::Json => writeln!(out, "{}", render::json(&outline, true)?)?,
    }

    out.flush()?;
    drop(out);

    follow_up(&searcher.codebase, &outline.index);
    Ok(ExitCode::SUCCESS)
}

/// Writes a line for each definition, indented by nesting.
fn table(
    out: &mut impl Write,
    outline: &Outline,
    places: &Places,
    context: &Context,
) -> Result<(), CliError> {
    let paint = context.paint;
    let n = render::plural(outline.symbols.len() as u64, "definition");
    writeln!(out, "{} ({}, {n})", paint.title(places.path(&outline.path)), outline.language)?;

    if let Some(why) = outline.why_incomplete() {
        writeln!(out, "{}", paint.dim(why))?;
    }

    let width = outline.symbols.iter().map(|s| s.span.1.to_string().len() * 2 + 1).max().unwrap_or(0);

    for symbol in &outline.symbols {
        let span = format!("{}-{}", symbol.span.0, symbol.span.1);
        let place = places.link(&outline.path, symbol.span.0, &paint.dim(format!("{span:>width$}")));
        let indent = "  ".repeat(symbol.nesting.into());
        let columns = context.screen.columns_after(width + indent.len() + 2);
        writeln!(out, "{place}  {indent}{}", label(symbol, columns, paint))?;
    }

    Ok(())
}

/// Returns the signature of a symbol in at most `columns`, or kind and name if it has none.
fn label(symbol: &OutlineSymbol, columns: usize, paint: Paint) -> String {
    if symbol.signature.is_empty() {
        format!("{} {}", symbol.kind, paint.bold(safe(&symbol.name)))
    } else {
        width::fit_words(&safe(&width::excerpt(&symbol.signature)), columns).into_owned()
    }
}

fn markdown(out: &mut impl Write, outline: &Outline, places: &Places) -> Result<(), CliError> {
    writeln!(out, "# `{}`\n", places.path(&outline.path).replace('`', "'"))?;

    if let Some(why) = outline.why_incomplete() {
        writeln!(out, "{why}\n")?;
    }

    for symbol in &outline.symbols {
        let indent = "  ".repeat(symbol.nesting.into());
        let label = label(symbol, usize::MAX, Paint::off()).replace('`', "'");
        writeln!(out, "{indent}- `{label}` (lines {}-{})", symbol.span.0, symbol.span.1)?;
        if !symbol.doc.is_empty() {
            writeln!(out, "{indent}  {}", safe(&symbol.doc))?;
        }
    }
    Ok(())
}
