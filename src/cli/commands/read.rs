//! `read`: prints lines of files and definitions, from the working tree or any revision.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use serde_json::json;

use codeweaver::query::symbol_lookup::{NameFit, SymbolRequest};
use codeweaver::query::symbol_scan::FoundSymbol;
use codeweaver::query::{FileText, Filters, Location, Searcher, ViewRequest};
use codeweaver_chunk::syntax::syntax_of_lines;
use codeweaver_git::Prefix;
use codeweaver_text::Highlighter;

use super::search::run_query;
use crate::cli::args::{Format, OutputArgs, place};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::for_agent::{self, AgentTextArgs, Wish};
use crate::cli::places::Places;
use crate::cli::{highlight, render, results};

/// Print files, ranges of their lines, or definitions, from the working tree or any revision
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver read src/lib.rs:10-40
  git codeweaver read src/lib.rs:10-40 src/main.rs:5-9 Cart.total
  git codeweaver read src/lib.rs:10:5             a place as compilers print it; FILE#L3-L5 as well
  git codeweaver read --rev v1.2 src/lib.rs

Exit codes: 0 all were printed, 1 some are not there, 2 error, or none is there.")]
pub struct ReadArgs {
    /// Files, optionally with a range of lines, or names of definitions
    #[arg(value_name = "FILE[:FROM-TO]|NAME", required = true, value_parser = place())]
    places: Vec<String>,
    /// Branch, tag, commit or tree to read instead of the working tree
    #[arg(long)]
    rev: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    agent: AgentTextArgs,
}

pub fn run(args: ReadArgs, context: &Context) -> Result<ExitCode, CliError> {
    if args.agent.wish(args.output.is_given(), context) != Wish::None {
        return for_agent(&args, context);
    }

    let searcher = context.searcher()?;
    let reading = Reading { searcher: &searcher, args: &args, context };

    let (mut texts, mut errors) = (Vec::new(), Vec::new());
    for place in &args.places {
        match reading.text(place) {
            Ok(text) => texts.push(text),
            Err(error) => errors.push(error),
        }
    }

    // The error of the only place is that of the command.
    if texts.is_empty()
        && let Some(error) = errors.pop()
    {
        return Err(error);
    }
    reading.print(&texts)?;
    errors.iter().for_each(|error| context.warn(&format!("{}: {}", error.what, error.why)));
    Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::NEGATIVE) })
}

/// Prints what the tool `read_code` says.
fn for_agent(args: &ReadArgs, context: &Context) -> Result<ExitCode, CliError> {
    let prefix = Prefix::new(&context.repo()?, &context.dir);
    let places: Vec<String> = args.places.iter().map(|place| for_agent::from_root(&prefix, place)).collect();
    let arguments = json!({ "places": places, "rev": args.rev });
    for_agent::call("read_code", arguments.as_object().cloned().unwrap_or_default(), context)
}

/// A command that reads places.
struct Reading<'a> {
    searcher: &'a Searcher,
    args: &'a ReadArgs,
    context: &'a Context,
}

impl Reading<'_> {
    /// The text of a file, or of the first definition if it is the name of one.
    fn text(&self, place: &str) -> Result<FileText, CliError> {
        let Reading { searcher, args, context } = *self;
        let Location { file, lines } = Location::parse(place);
        let rev = args.rev.as_deref();
        let format = args.output.format();

        let found = context
            .file(&searcher.codebase, file, rev)
            .and_then(|path| run_query(searcher, context, format, |_| searcher.read(&path, lines, rev)));
        if let Ok(text) = found {
            return Ok(text);
        }

        let symbol = if lines.is_none() { self.definition(place) } else { None };
        let Some(symbol) = symbol else {
            let path = context.file(&searcher.codebase, file, rev)?;
            return run_query(searcher, context, format, |_| searcher.read_or_suggest(&path, lines, rev));
        };
        run_query(searcher, context, format, |_| searcher.read(&symbol.path, Some(symbol.lines), rev))
    }

    /// The first definition of `name`; `None` if there is none, or no index that knows it.
    fn definition(&self, name: &str) -> Option<FoundSymbol> {
        let settings = &self.searcher.codebase.settings;
        let request = SymbolRequest {
            symbol: name.to_owned(),
            filters: Filters { include_tests: true, ..Filters::default() },
            view: ViewRequest { revision: self.args.rev.clone(), ..ViewRequest::new(settings) },
        };
        let view = self.searcher.symbol_view(&request, &|_, _| false).ok()?;
        let found = self.searcher.find_symbols(&view, &request).ok()?;
        found.symbols.into_iter().next().filter(|_| found.fit != NameFit::Part)
    }

    /// Prints the texts; several have a line with their places before them, and are a list in JSON.
    fn print(&self, texts: &[FileText]) -> Result<(), CliError> {
        let Reading { searcher, args, context } = *self;
        let places = Places::new(context, &searcher.codebase, args.rev.as_deref());
        let is_several = args.places.len() > 1;
        let mut out = context.out();

        match args.output.format() {
            Format::Table => {
                for (i, text) in texts.iter().enumerate() {
                    if is_several {
                        let gap = if i > 0 { "\n" } else { "" };
                        writeln!(out, "{gap}{}", context.paint.title(place_of(text, &places)))?;
                    }
                    let width = text.span.1.to_string().len();
                    let lines: Vec<&str> = text.text.lines().collect();
                    let is_coloured = context.paint.is_on();
                    let syntax =
                        if is_coloured { syntax_of_lines(&lines, &text.language) } else { Vec::new() };
                    for (i, (number, line)) in (text.span.0..).zip(lines).enumerate() {
                        let syntax = syntax.get(i).map_or(&[][..], Vec::as_slice);
                        let number = context.paint.dim(format!("{number:>width$} │"));
                        let nothing = Highlighter::default();
                        let line = highlight::code(&nothing, line, syntax, usize::MAX, context.paint);
                        writeln!(out, "{number} {line}")?;
                    }
                }
            }
            Format::Markdown => {
                for (i, text) in texts.iter().enumerate() {
                    let body = render::safe_lines(&text.text);
                    let fence = results::fence(&body);
                    let gap = if i > 0 { "\n" } else { "" };
                    let place = place_of(text, &places).replace('`', "'");
                    writeln!(out, "{gap}`{place}`\n\n{fence}{}\n{body}\n{fence}", text.language)?;

                    if let Some(note) = text.note() {
                        writeln!(out, "\n{note}")?;
                    }
                }
            }
            Format::Json if is_several => writeln!(out, "{}", render::json(&texts, true)?)?,
            Format::Json => {
                for text in texts {
                    writeln!(out, "{}", render::json(text, true)?)?;
                }
            }
        }

        out.flush()?;
        if args.output.format() != Format::Json {
            texts.iter().filter_map(FileText::note).for_each(|note| context.warn(&note));
        }
        Ok(())
    }
}

fn place_of(text: &FileText, places: &Places) -> String {
    format!("{}:{}-{}", places.path(&text.path), text.span.0, text.span.1)
}
