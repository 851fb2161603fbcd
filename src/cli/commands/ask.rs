//! `ask`: answers a question from the documents of the repository.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use codeweaver::ask;
use codeweaver::ask::answer::{Answer, NOTHING_FOUND, Quote};
use codeweaver::ask::api::{Api, NAMES, key_of_environment};
use codeweaver::ask::collection::{self, Collections};
use codeweaver::query::Searcher;
use codeweaver::service::follow_up;
use codeweaver_config::{AskSettings, Settings, Sources};
use codeweaver_git::GitError;
use codeweaver_index::Codebase;
use codeweaver_index::progress::Silent;

use super::ask_server::Connection;
use super::docs::absolute;
use super::search::run_query;
use crate::cli::args::Format;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::places::Places;
use crate::cli::prompt::Prompt;
use crate::cli::render::{self, Paint, safe, safe_lines, shown_path};
use crate::cli::width;

const EXAMPLES: &str = "\
Examples:
  git codeweaver ask \"how do I turn hooks off\"
  git codeweaver ask --dir ~/notes \"when is the rent due\"
  git codeweaver ask --json \"what is the default port\" | jq -r '.answer[].text'

The answer is quoted from Markdown and other documents with headings, with its places; nothing is made up.
Exit codes: 0 answered, 1 no relevant information found, 2 error or not indexed.";

/// Answer a question from the documentation, with its sources
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AskArgs {
    /// The question, in plain language
    #[arg(required_unless_present = "interactive")]
    question: Vec<String>,
    /// Ask further questions, one a line, until `quit` or Ctrl+C
    #[arg(long)]
    interactive: bool,
    /// Ask this server (see `serve`) instead of this process [default outside of a repository:
    /// ws://localhost:8765]
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["dir", "extractive"]
    )]
    server: Option<String>,
    /// Answer from the documents in this directory instead of the repository; can be repeated
    #[arg(long, value_name = "DIR", conflicts_with = "index")]
    dir: Vec<PathBuf>,
    /// Answer from the documents of this collection (see `docs`)
    #[arg(long, value_name = "NAME")]
    index: Option<String>,
    /// Quote the documents, also if a language model is configured
    #[arg(long)]
    extractive: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: AskArgs, context: &Context) -> Result<ExitCode, CliError> {
    let question = args.question.join(" ");
    if question.trim().is_empty() && !args.interactive {
        return Err(CliError::new(
            "there is no question",
            "the text is empty",
            "git codeweaver ask \"how do I …\", or --interactive",
        ));
    }

    let default = if args.server.is_none() { default_server(&args, context)? } else { None };
    if let Some(url) = args.server.as_ref().or(default.as_ref()) {
        let connection = Connection::open(url, args.index.as_deref(), context);
        let mut connection = connection.map_err(|error| match default.is_some() {
            true => nothing_to_ask(url, error),
            false => error,
        })?;
        return conversation(&args, &question, context, &mut |question| connection.ask(question, args.json));
    }

    let local = Local::open(&args, context)?;
    conversation(&args, &question, context, &mut |question| local.ask(question))
}

/// The server that is asked where there is nothing else to ask: outside of a repository, if no documents are
/// named. It is that of `serve --ask` on this machine.
fn default_server(args: &AskArgs, context: &Context) -> Result<Option<String>, CliError> {
    // A directory that is named must be in a repository, as for other commands.
    let names_documents = args.index.is_some() || !args.dir.is_empty() || context.is_explicit;
    if names_documents || args.extractive || !is_outside(context) {
        return Ok(None);
    }

    let settings = Settings::load(&Sources::discover(None))?.settings;
    Ok(Some(format!("ws://localhost:{}", settings.ask.port)))
}

/// Returns whether the current directory is in no repository.
fn is_outside(context: &Context) -> bool {
    matches!(context.repo(), Err(GitError::NotARepository { .. }))
}

/// The error of a default server that cannot be reached.
fn nothing_to_ask(url: &str, error: CliError) -> CliError {
    CliError::new(
        format!("there is no repository here, and no server at {}", safe(url)),
        error.why,
        "ask about a directory with --dir DIR, or start `git codeweaver serve --ask --dir DIR`",
    )
}

/// Asks the question, and with `--interactive` further questions, until `quit`, Ctrl+C or the end of the
/// input. In a conversation an error is printed and does not end it.
fn conversation(
    args: &AskArgs,
    question: &str,
    context: &Context,
    ask: &mut dyn FnMut(&str) -> Result<ExitCode, CliError>,
) -> Result<ExitCode, CliError> {
    if !args.interactive {
        return ask(question);
    }
    if !question.trim().is_empty() {
        report_only(ask(question), context);
    }

    let mut prompt = Prompt::new(context);
    while let Some(line) = prompt.line() {
        match line.trim() {
            "quit" | "exit" => break,
            "" => {}
            question => report_only(ask(question), context),
        }
    }

    Ok(ExitCode::SUCCESS)
}

/// Prints the error of `result`, if it has one.
fn report_only(result: Result<ExitCode, CliError>, context: &Context) {
    if let Err(error) = result {
        error.report(&context.streams, context.err_paint, false);
    }
}

/// Answers in this process.
struct Local<'a> {
    searcher: Searcher,
    is_collection: bool,
    api: Option<Api>,
    places: Shown,
    json: bool,
    context: &'a Context,
}

impl<'a> Local<'a> {
    fn open(args: &AskArgs, context: &'a Context) -> Result<Local<'a>, CliError> {
        let (codebase, is_collection) = match collection(args, context)? {
            Some(codebase) => (codebase, true),
            None => (context.codebase()?, false),
        };

        let places = match is_collection {
            true => Shown::OnDisk,
            false => Shown::InRepository(Places::new(context, &codebase, None)),
        };

        let api = if args.extractive { None } else { api(&codebase.settings.ask)? };
        Ok(Local { searcher: Searcher::new(codebase), is_collection, api, places, json: args.json, context })
    }

    fn ask(&self, question: &str) -> Result<ExitCode, CliError> {
        let Local { searcher, context, places, .. } = self;
        let format = if self.json { Format::Json } else { Format::Table };

        let request = ask::request(question, searcher);
        let max_passages = if self.api.is_some() { ask::GIVEN_PASSAGES } else { ask::SHOWN_PASSAGES };
        let mut answer = run_query(searcher, context, format, |updater| {
            ask::extractive(searcher, question, &request, max_passages, updater)
        })?;
        if self.is_collection {
            answer = answer.with_paths(collection::disk_path);
        }

        let mut out = context.out();
        if let Some(api) = &self.api {
            let mut has_begun = false;
            // Only a stream of text is shown while it arrives; JSON needs the whole answer.
            ask::generate(&mut answer, api, &mut |chunk: &str| {
                has_begun |= !self.json;
                self.json || write!(out, "{}", safe_lines(chunk)).and_then(|()| out.flush()).is_ok()
            });
            if has_begun {
                writeln!(out)?;
            }
        }

        if self.json {
            writeln!(out, "{}", render::json(&answer, true)?)?;
        } else {
            write(&mut out, &answer, places, context)?;
            out.flush()?;
            answer.warnings.iter().chain(&answer.failure).for_each(|warning| context.warn(warning));
        }
        out.flush()?;

        // After the answer, which does not wait for the update.
        follow_up(&searcher.codebase, &answer.index);
        Ok(ExitCode::from(if answer.is_answered() { 0 } else { exit::NEGATIVE }))
    }
}

/// The codebase of the directories or of the collection that the arguments name, after an update; `None` if
/// they name none.
fn collection(args: &AskArgs, context: &Context) -> Result<Option<Codebase>, CliError> {
    let (collection, directories) = match (&args.index, args.dir.as_slice()) {
        (None, []) => return Ok(None),
        (Some(name), _) => (Collections::from_user()?.named(name)?, None),
        (None, directories) => {
            let directories = absolute(directories);
            (Collections::from_user()?.of_directories(&directories)?, Some(directories))
        }
    };

    let report = collection.update(directories.as_deref(), &Silent)?;
    report.skipped.iter().for_each(|skipped| context.warn(&format!("{skipped}; it is left out")));

    if report.files == 0 {
        context.warn("no indexed content: there is no document to answer from");
    }

    Ok(Some(collection.codebase()?))
}

/// The form in which paths are printed.
enum Shown {
    InRepository(Places),
    /// Paths are absolute.
    OnDisk,
}

impl Shown {
    fn path(&self, path: &str) -> String {
        match self {
            Shown::InRepository(places) => places.path(path),
            Shown::OnDisk => shown_path(Path::new(path)),
        }
    }

    fn link(&self, path: &str, line: u32, text: &str, paint: Paint) -> String {
        match self {
            Shown::InRepository(places) => places.link(path, line, text),
            Shown::OnDisk => paint.link(Path::new(path), line, text),
        }
    }
}

/// The API that the settings name, with the key from the environment.
fn api(settings: &AskSettings) -> Result<Option<Api>, CliError> {
    Api::open(settings, key_of_environment()).map_err(|error| {
        CliError::new(
            "the language model cannot be asked",
            error.to_string(),
            format!("{}; or --extractive", error.fix(&NAMES)),
        )
    })
}

/// Writes the short answer, the passages around it and the sources.
fn write(out: &mut impl Write, answer: &Answer, places: &Shown, context: &Context) -> Result<(), CliError> {
    let paint = context.paint;
    if !answer.is_answered() {
        if answer.generated.is_some() {
            return Ok(());
        }

        let (files, absent) = (answer.index.files, answer.absent_words.join(", "));
        let absent =
            if absent.is_empty() { String::new() } else { format!("; nowhere in it: {}", safe(&absent)) };
        writeln!(
            out,
            "{NOTHING_FOUND} (searched the documents among {}{absent})",
            render::plural(files, "file")
        )?;
        return Ok(());
    }

    if answer.generated.is_some() {
        writeln!(out, "\n{}", paint.bold("Sources"))?;
        return sources(out, answer, places);
    }

    for quote in &answer.answer {
        let text = folded(&quote.text, 0, context);
        // A fence must be on a line of its own.
        let separator = if text.ends_with("```") { "\n" } else { " " };
        let number = paint.dim(format!("[{}]", quote.source));
        writeln!(out, "{text}{separator}{number}\n")?;
    }

    writeln!(out, "{}", paint.bold("Passages"))?;

    for quote in &answer.passages {
        let linked = places.link(&quote.path, quote.lines.0, &paint.title(place(quote, places)), paint);
        let headings = if quote.headings.is_empty() {
            String::new()
        } else {
            format!("  {}", paint.dim(safe(&quote.headings.join(" > "))))
        };
        writeln!(out, "\n[{}] {linked}{headings}", quote.source)?;
        for line in folded(&quote.text, 2, context).lines() {
            writeln!(out, "  {line}")?;
        }
    }

    writeln!(out, "\n{}", paint.bold("Sources"))?;
    sources(out, answer, places)?;
    writeln!(
        out,
        "\n{}",
        paint.dim("Quoted from the documents, word for word; no language model was used.")
    )?;
    Ok(())
}

/// A quotation as people read it. On a terminal, its prose is folded to the width that is left of each line
/// after `used` columns; code is not.
fn folded(text: &str, used: usize, context: &Context) -> String {
    let columns = context.screen.columns_after(used);
    let mut lines = Vec::new();
    let mut is_fenced = false;

    for line in safe_lines(&ask::readable(text)).lines() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_fenced ^= is_fence;
        match is_fence || is_fenced || line.starts_with([' ', '\t', '|']) {
            true => lines.push(line.to_owned()),
            false => lines.extend(width::folded(line, columns)),
        }
    }
    lines.join("\n")
}

/// Writes the files of the passages; a generated answer lists only the files that it cites.
fn sources(out: &mut impl Write, answer: &Answer, places: &Shown) -> Result<(), CliError> {
    let cited = answer.generated.as_ref().map(|generated| &generated.cited).filter(|cited| !cited.is_empty());
    for source in answer.sources.iter().filter(|it| cited.is_none_or(|cited| cited.contains(&it.number))) {
        writeln!(out, "[{}] {}", source.number, places.path(&source.path))?;
    }
    Ok(())
}

/// The place of a quotation as `path:first-last`, relative to the current directory.
fn place(quote: &Quote, places: &Shown) -> String {
    let lines = quote.place();
    let lines = lines.strip_prefix(&quote.path).unwrap_or_default();
    format!("{}{lines}", places.path(&quote.path))
}
