//! `search`: finds code by meaning, name or words, and lines by text or regular expression.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use codeweaver::query::grep::{GrepRequest, Page, Pattern};
use codeweaver::query::parse::report;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{
    Ann, Filters, Intent, Mode, QueryError, Request, Resolved, Resolver, Response, Searcher, TypedQuery,
    ViewRequest,
};
use codeweaver::service::{Requests, follow_up};
use codeweaver_git::Prefix;
use codeweaver_index::{Codebase, background};
use codeweaver_mcp::envelope::Envelope;
use codeweaver_text as text;

use crate::cli::args::{Format, OutputArgs};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::for_agent::{self, AgentTextArgs, Wish};
use crate::cli::grep::{self, GrepArgs};
use crate::cli::lines::{LineArgs, LineForm};
use crate::cli::org_search::OrgPlace;
use crate::cli::output::Output;
use crate::cli::places::Places;
use crate::cli::scope::ScopeArgs;
use crate::cli::{exit, hints, once, picker, render, results};

/// Name of the note of the credentials that a search has named.
const NAMED_CREDENTIALS: &str = "named-credentials";
/// Maximum number of bytes of a query from standard input; the rest is ignored.
const MAX_STDIN_BYTES: u64 = 16 << 20;

const EXAMPLES: &str = "\
Examples:
  git codeweaver search \"where are expired tokens refreshed\"
  git codeweaver search parse_header                    find the definition of a name
  git codeweaver search -i debug \"connection reset\"     understand, implement, debug, test, …
  git codeweaver search \"pagination lang:python path:src/api -mock\"
  git codeweaver search \"config lookup rev:v1.2\"        search any revision without a checkout
  git codeweaver search --mode regex 'TODO|FIXME'       all lines that match, as git grep
  git codeweaver search - < issue.md                     an issue report or stack trace
  git codeweaver search -o json -l 3 \"retry\" | jq -r '.matches[].file.path'

A query may have the conditions lang: path: -path: kind: repo: rev: state: and -word (without it).
The queries '\"text\"' and '/regex/' list all lines with it.
Uncommitted and untracked files are searched too; each match shows the state of its file.
Exit codes: 0 matches found, 1 no match, 2 error or not indexed.";

/// Search code by meaning, name or words
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SearchArgs {
    /// Words or a name to search for, or a text of several lines such as an issue report or a stack trace;
    /// `-` reads it from standard input. Without it, on a terminal, results are shown while you type
    query: Vec<String>,
    /// Task the results are for: understand, implement, debug, optimize, test, configure, document or review
    /// [default: derived from the query]; before another word, -i is --ignore-case
    #[arg(short, long, visible_alias = "task")]
    intent: Option<String>,
    /// Maximum number of matches [default: 10; of lines with --mode exact or regex: all]
    #[arg(short, long)]
    limit: Option<usize>,
    /// Leave out the N best matches: `--offset 10` shows those after the first ten
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Kind of evidence to use
    #[arg(long, value_enum, default_value_t = ModeArg::Hybrid)]
    mode: ModeArg,
    /// Algorithm of the vector search
    #[arg(long, value_enum, default_value_t = AnnArg::Auto)]
    ann: AnnArg,
    /// Minimum relevance of a match, from 0 to 1
    #[arg(long, value_name = "SCORE")]
    min_score: Option<f32>,
    /// Maximum number of tokens in the response [default: 10000]
    #[arg(long, value_name = "TOKENS")]
    token_limit: Option<u32>,
    /// Print only locations and names
    #[arg(long)]
    locations: bool,
    /// Print the features behind the score of each match
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    agent: AgentTextArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    grep: GrepArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Search the repositories of an organisation, in the index at this URL (see `org`)
    #[arg(long, value_name = "URL", help_heading = "Filters")]
    org: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    Hybrid,
    Semantic,
    Keyword,
    Symbol,
    // All lines with this text, as `git grep --fixed-strings`
    Exact,
    // All lines that match this regular expression, as ripgrep
    Regex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnnArg {
    Auto,
    Exact,
    Hnsw,
}

pub fn run(args: SearchArgs, context: &Context) -> Result<ExitCode, CliError> {
    if args.is_for_picker() && picker::is_possible(&context.surroundings) {
        return picker::run(args.scope, context);
    }

    match (args.agent.wish(args.output.is_given(), context), args.beyond_tool()) {
        (Wish::Explicit, Some(option)) => return Err(for_agent::refused(option)),
        (Wish::Explicit | Wish::Agent, None) => return for_agent(&args, context),
        _ => {}
    }

    if let Some(url) = &args.org {
        return run_org(&args, url, context);
    }

    let searcher = &context.searcher()?;
    let include_tests = searcher.codebase.settings.search.include_tests;
    let mut query = typed_query(&args.query, is_pattern(args.mode))?;
    query.conditions.extend(args.scope.conditions());
    let pattern = pattern_of(&args, &query)?;

    let resolved = args.scope.resolve(&query, searcher, context, include_tests)?;
    match pattern {
        Some(pattern) => run_grep(&args, pattern, resolved, searcher, context),
        None => run_search(&args, &query, resolved, searcher, context),
    }
}

impl SearchArgs {
    /// Returns whether the arguments say all: there is nothing to read from stdin, no picker, and no engine.
    #[cfg(unix)]
    pub fn is_closed(&self) -> bool {
        !self.query.is_empty() && self.query != ["-"] && self.org.is_none()
    }

    /// Returns whether there is no query, and no option that the picker would ignore: it has only filters.
    fn is_for_picker(&self) -> bool {
        let sets_search = self.intent.is_some()
            || self.mode != ModeArg::Hybrid
            || self.ann != AnnArg::Auto
            || self.min_score.is_some()
            || self.org.is_some();
        let sets_answer = self.limit.is_some()
            || self.offset > 0
            || self.token_limit.is_some()
            || self.locations
            || self.explain
            || self.lines.form().is_some()
            || self.grep.used().is_some()
            || self.output.is_given()
            || self.agent.is_explicit();

        self.query.is_empty() && !sets_search && !sets_answer
    }

    /// The first option that the tools of agents do not have.
    fn beyond_tool(&self) -> Option<&'static str> {
        let is_other_mode = matches!(self.mode, ModeArg::Semantic | ModeArg::Keyword | ModeArg::Symbol);
        let scope = &self.scope;
        let used = [
            (is_other_mode, "--mode"),
            (self.ann != AnnArg::Auto, "--ann"),
            (self.min_score.is_some(), "--min-score"),
            (self.offset > 0, "--offset"),
            (self.explain, "--explain"),
            (self.lines.form().is_some(), "a form of lines"),
            (!scope.repos.is_empty(), "--repos"),
            (!scope.exclude.is_empty(), "--exclude"),
            (!scope.kind.is_empty(), "--kind"),
            (scope.committed, "--committed"),
            (self.org.is_some(), "--org"),
        ];

        used.into_iter().find_map(|(is_used, name)| is_used.then_some(name)).or(self.grep.used())
    }
}

/// Prints what the tool `find_code` says, or `find_text` for a pattern.
fn for_agent(args: &SearchArgs, context: &Context) -> Result<ExitCode, CliError> {
    let prefix = Prefix::new(&context.repo()?, &context.dir);
    let typed = typed_text(&args.query)?;
    let query = TypedQuery::parse(&typed);
    let pattern = match args.mode {
        ModeArg::Exact => Some(Pattern::exact(&typed)),
        ModeArg::Regex => Some(Pattern::regex(&typed)),
        // Only `find_code` reads conditions.
        _ => query.pattern().filter(|_| query.conditions.is_empty()),
    };

    let paths: Vec<String> = args.scope.path.iter().map(|path| for_agent::from_root(&prefix, path)).collect();
    let mut arguments = json!({
        "rev": args.scope.rev, "max_results": args.limit, "token_limit": args.token_limit,
        "include_tests": args.scope.include_tests(),
    });
    if !paths.is_empty() {
        arguments["paths"] = json!(paths);
    }
    if !args.scope.lang.is_empty() {
        arguments["focus_languages"] = json!(args.scope.lang);
    }

    let tool = match pattern {
        Some(pattern) => {
            arguments["pattern"] = json!(pattern.text);
            arguments["regex"] = json!(pattern.is_regex);
            arguments["ignore_case"] = json!(args.grep.ignore_case.then_some(true));
            "find_text"
        }
        None => {
            arguments["query"] = json!(typed);
            arguments["intent"] = json!(args.intent);
            arguments["locations_only"] = json!(args.locations.then_some(true));
            "find_code"
        }
    };
    for_agent::call(tool, arguments.as_object().cloned().unwrap_or_default(), context)
}

/// Prints the code that answers `query`.
fn run_search(
    args: &SearchArgs,
    query: &TypedQuery,
    resolved: Resolved,
    searcher: &Searcher,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let mut notes = resolved.notes.clone();
    let request = request(args, &query.text, resolved, searcher, &mut notes)?;

    let format = args.output.format();
    let mut response = run_query(searcher, context, format, |updater| searcher.search(&request, updater))?;
    response.warnings.extend(notes);

    let places = Places::new(context, &searcher.codebase, request.view.revision.as_deref());
    let heading = report::heading(&request.query);
    let output = Output::new(context, &response, places, &heading, &heading);
    results::print(context, &output.after(request.offset), format, args.lines.form())?;
    finish(&searcher.codebase, &response, format, context);

    let is_table = format == Format::Table && args.lines.form().is_none();
    if response.is_nothing_found() && is_table && request.offset == 0 {
        hints::print(context, searcher, &request, &query.conditions)?;
    }

    Ok(ExitCode::from(if response.is_nothing_found() { exit::NEGATIVE } else { 0 }))
}

/// Prints the code of an organisation that answers the query.
fn run_org(args: &SearchArgs, url: &str, context: &Context) -> Result<ExitCode, CliError> {
    let mut query = typed_query(&args.query, is_pattern(args.mode))?;
    query.conditions.extend(args.scope.conditions());
    let org = OrgPlace::open(url, context)?;
    let searcher = &Searcher::new(org.codebase).of_engine(org.engine);

    let pattern = pattern_of(args, &query)?;
    let include_tests = searcher.codebase.settings.search.include_tests;
    let include_tests = args.scope.include_tests().unwrap_or(include_tests);
    // Paths begin with the names of repositories.
    let resolver = Resolver { searcher, prefix: &Prefix::root(&searcher.codebase.repo) };
    let filters = Filters { include_tests, ..Filters::default() };
    let resolved = resolver.resolve(&query, filters, ViewRequest::new(&searcher.codebase.settings))?;
    if let Some(pattern) = pattern {
        return run_grep(args, pattern, resolved, searcher, context);
    }
    let mut notes = resolved.notes.clone();
    let request = request(args, &query.text, resolved, searcher, &mut notes)?;

    let mut response = searcher.search(&request, &codeweaver::never_update)?;
    response.warnings.extend(notes);

    let places = Places::new(context, &searcher.codebase, None);
    let heading = report::heading(&request.query);
    let output = Output::new(context, &response, places, &heading, &heading);
    let format = args.output.format();
    results::print(context, &output.after(request.offset), format, args.lines.form())?;
    if format != Format::Json {
        let further = response.warnings.iter().filter(|warning| **warning != response.summary);
        further.for_each(|warning| context.warn(warning));
    }

    Ok(ExitCode::from(if response.is_nothing_found() { exit::NEGATIVE } else { 0 }))
}

/// Returns whether a mode searches lines.
fn is_pattern(mode: ModeArg) -> bool {
    matches!(mode, ModeArg::Exact | ModeArg::Regex)
}

/// The pattern of the lines that `query` is about; `None` if it is about code. A query that is quoted as a
/// whole or written as /regex/ searches lines, too.
///
/// # Errors
/// An option is given that is about lines, and there is no pattern.
fn pattern_of(args: &SearchArgs, query: &TypedQuery) -> Result<Option<Pattern>, CliError> {
    let pattern = match args.mode {
        ModeArg::Exact => Some(Pattern::exact(&query.text)),
        ModeArg::Regex => Some(Pattern::regex(&query.text)),
        ModeArg::Hybrid => query.pattern(),
        ModeArg::Semantic | ModeArg::Keyword | ModeArg::Symbol => None,
    };

    match args.grep.used().filter(|_| pattern.is_none()) {
        Some(option) => Err(CliError::new(
            format!("{option} is not possible here"),
            "it is about the lines that have a text or match a regular expression",
            "add `--mode exact` or `--mode regex`, or quote the text: '\"exact text\"'",
        )),
        None => Ok(pattern),
    }
}

/// Prints all lines that match `pattern`.
fn run_grep(
    args: &SearchArgs,
    pattern: Pattern,
    resolved: Resolved,
    searcher: &Searcher,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let pattern = Pattern {
        ignore_case: pattern.ignore_case || args.grep.ignore_case,
        word: args.grep.word,
        ..pattern
    };
    let mut request = GrepRequest::new(pattern, &searcher.codebase.settings);
    request.context = args.grep.context;
    request.filters = resolved.filters;
    request.view = ViewRequest { budget: ViewRequest::UNLIMITED, ..resolved.view };

    let format = args.output.format();
    let mut found = run_query(searcher, context, format, |_| searcher.grep(&request))?;
    found.info.warnings.extend(resolved.notes);

    let form = match args.lines.form() {
        Some(line) => grep::Form::Line(line),
        None if args.grep.count => grep::Form::Count,
        None => grep::Form::Format(format),
    };

    let page = Page { offset: args.offset, limit: args.limit.unwrap_or(usize::MAX), ..Page::default() };
    let output = grep::Output {
        found: &found,
        pattern: &request.pattern.text,
        places: Places::new(context, &searcher.codebase, request.view.revision.as_deref()),
        page,
        paint: context.paint,
        is_displayed: context.surroundings.is_displayed(),
    };

    grep::print(context, &output, form)?;

    if format != Format::Json {
        // Without a line, the reason may be a file that is not searched; else it is named once.
        let credentials = found.credentials_warning();
        let is_known = |_: &String| {
            let is_news = once::is_news(&searcher.codebase, NAMED_CREDENTIALS, &found.info.secret_paths);
            found.n_files() > 0 && !is_news
        };
        let known = credentials.filter(is_known);

        let warnings = found.warnings();
        let news = warnings.iter().filter(|&warning| Some(warning) != known.as_ref());
        news.for_each(|warning| context.warn(warning));
    }
    background::update_if_due(&searcher.codebase, found.info.needs_update);
    Ok(ExitCode::from(if found.n_files() == 0 { exit::NEGATIVE } else { 0 }))
}

/// The query in the arguments, or in standard input if that is `-`.
fn typed_query(arguments: &[String], is_pattern: bool) -> Result<TypedQuery, CliError> {
    let is_text = is_pattern || arguments == ["-"];
    Ok(match is_text {
        true if is_pattern => TypedQuery::verbatim(&typed_text(arguments)?),
        true => TypedQuery::parse(&typed_text(arguments)?),
        false => TypedQuery::from_arguments(arguments),
    })
}

/// The text of the arguments, or standard input if they are `-`.
fn typed_text(arguments: &[String]) -> Result<String, CliError> {
    if arguments != ["-"] {
        return Ok(arguments.join(" "));
    }

    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_STDIN_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&text::into_utf8(bytes)).trim_end().to_owned())
}

/// The request of the arguments, for a search that ranks. What is ignored is added to `notes`.
fn request(
    args: &SearchArgs,
    query: &str,
    resolved: Resolved,
    searcher: &Searcher,
    notes: &mut Vec<String>,
) -> Result<Request, CliError> {
    let mut request = Request::new(query, &searcher.codebase.settings);
    (request.filters, request.view) = (resolved.filters, resolved.view);
    request.intent = Intent::named(args.intent.as_deref(), notes);
    request.task = args.intent.as_deref().and_then(Intent::task_named);

    request.mode = match args.mode {
        ModeArg::Semantic => Mode::Semantic,
        ModeArg::Keyword => Mode::Keyword,
        ModeArg::Symbol => Mode::Symbol,
        ModeArg::Hybrid | ModeArg::Exact | ModeArg::Regex => Mode::Hybrid,
    };
    request.ann = match args.ann {
        AnnArg::Auto => Ann::Auto,
        AnnArg::Exact => Ann::Exact,
        AnnArg::Hnsw => Ann::Hnsw,
    };

    request.limit = args.limit.unwrap_or(request.limit);
    request.min_score = args.min_score.unwrap_or(request.min_score);
    request.offset = args.offset;
    request.token_limit = args.token_limit.unwrap_or(args.lines.token_limit(request.token_limit));

    request.explain = args.explain;
    // Only JSON has a place for related code and identities.
    request.related = args.output.format() == Format::Json;
    request.identities = request.related;
    request.without_content = args.locations || args.lines.form() == Some(LineForm::Path);

    request.check().map_err(|e| match e {
        QueryError::Parameter { name: "query", .. } => nothing_to_search_for(),
        other => other.into(),
    })?;

    Ok(request)
}

fn nothing_to_search_for() -> CliError {
    CliError::new(
        "there is nothing to search for",
        "the query is empty",
        "git codeweaver search \"your query\"",
    )
}

/// Runs `query`, which may start the updater. If the index is deleted, damaged or outdated, it is rebuilt and
/// `query` is run again.
///
/// # Errors
/// The error of the query. With JSON output, a closed gate is also printed to stdout, as the status
/// envelope of the MCP server with the command that fixes the cause.
pub fn run_query<T>(
    searcher: &Searcher,
    context: &Context,
    format: Format,
    query: impl Fn(RequestUpdate<'_>) -> Result<T, QueryError>,
) -> Result<T, CliError> {
    let codebase = &searcher.codebase;
    let mut error = match Requests::new(codebase, context).run(query) {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };

    let gate = error.gate.take().filter(|_| format == Format::Json);
    let error = CliError::from(error);
    let Some(gate) = gate else { return Err(error) };

    let envelope = Envelope::new(*gate, codebase, &context.dir, context.debug);
    let mut envelope = serde_json::to_value(envelope)?;
    envelope["hints"]["fix"] = error.fix.as_str().into();

    let mut out = context.out();
    writeln!(out, "{}", render::json(&envelope, true)?)?;
    out.flush()?;
    Err(error.reported_in_json())
}

/// Prints the warnings of a response unless the format is JSON, and starts what is due after it.
pub fn finish(codebase: &Codebase, response: &Response, format: Format, context: &Context) {
    if format != Format::Json {
        // The output contains the summary of a response without matches, which is also a warning.
        let further = response.warnings.iter().filter(|warning| **warning != response.summary);
        further.for_each(|warning| context.warn(warning));

        if let n @ 1.. = response.index.late_files {
            let paths = render::plural(n as u64, "path");
            context.warn(&format!(
                "{paths} could not be compared with the disk within overlay.budget_ms; they are searched as committed"
            ));
        }
    }

    follow_up(codebase, &response.index);
}
