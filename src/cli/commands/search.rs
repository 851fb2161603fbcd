//! `search`: code by meaning, name or words (requirement U1).

use crate::chunk::classes::TaskProfile;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::{exit, render, results};
use crate::index::gate::Gate;
use crate::index::{Codebase, Lifecycle, Target, child};
use crate::query::search::AskUpdater;
use crate::query::{Ann, Intent, Mode, QueryError, Request, Response, Searcher};
use crate::store::StoreError;
use crate::store::state::State;
use clap::{Args, ValueEnum};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

/// How long a search waits for an index that somebody deleted.
const REBUILD_PATIENCE: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Examples:
  git codeweaver search \"where are expired tokens refreshed\"
  git codeweaver search parse_header                    a name finds its definition
  git codeweaver search -i debug \"connection reset\"     understand, implement, debug, test, …
  git codeweaver search --lang python --path src/api \"pagination\"
  git codeweaver search --rev v1.2 \"config lookup\"      any revision, without checking it out
  git codeweaver search -o json -l 3 \"retry\" | jq -r '.matches[].file.path'

Uncommitted and untracked files are searched too; each match says the state of its file.
Exit codes: 0 found, 1 nothing found, 2 error or not indexed.";

/// Search code by meaning, name or words
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SearchArgs {
    /// What to look for, in plain words or as a name
    #[arg(required = true)]
    query: Vec<String>,
    /// What for: understand, implement, debug, optimize, test, configure or document (default: from the words)
    #[arg(short, long)]
    intent: Option<String>,
    /// Rank for an agent's task: DEBUG, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW, SEARCH or TEST
    #[arg(long)]
    task: Option<String>,
    /// Most matches to show (default 10)
    #[arg(short, long)]
    limit: Option<usize>,
    /// Which evidence to use
    #[arg(long, value_enum, default_value_t = ModeArg::Hybrid)]
    mode: ModeArg,
    /// How vectors are searched
    #[arg(long, value_enum, default_value_t = AnnArg::Auto)]
    ann: AnnArg,
    /// Leave out matches of a lower relevance, 0 to 1
    #[arg(long, value_name = "SCORE")]
    min_score: Option<f32>,
    /// Most tokens of the whole answer (default 10000)
    #[arg(long, value_name = "TOKENS")]
    token_limit: Option<u32>,
    /// Locations and names only
    #[arg(long)]
    locations: bool,
    /// Say for each match how its score came about
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// What may be found; shared by `search` and `similar`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where to look")]
pub struct ScopeArgs {
    /// Only this language (repeatable)
    #[arg(long, value_name = "LANGUAGE")]
    pub lang: Vec<String>,
    /// Only files under this folder or matching this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub path: Vec<String>,
    /// No files under this folder or matching this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Only symbols of this kind (function, class, …) or class (DEFINITION_TYPE, …) (repeatable)
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Search tests as well (the default; undoes the setting `search.include_tests = false`)
    #[arg(long, overrides_with = "no_tests")]
    pub include_tests: bool,
    /// Leave tests out
    #[arg(long, overrides_with = "include_tests")]
    pub no_tests: bool,
    /// Branch, tag, commit or tree instead of HEAD and the working tree
    #[arg(long)]
    pub rev: Option<String>,
    /// What is committed only, without changes in the working tree
    #[arg(long)]
    pub committed: bool,
}

impl ScopeArgs {
    /// Whether tests are searched, if it was said.
    pub fn tests(&self) -> Option<bool> {
        match (self.include_tests, self.no_tests) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    Hybrid,
    Semantic,
    Keyword,
    Symbol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnnArg {
    Auto,
    Exact,
    Signs,
    Hnsw,
}

/// How the answer is written; shared by all commands that answer.
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputArgs {
    /// How the answer is written
    #[arg(short, long, visible_alias = "format", value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    output_format: Format,
    /// The same as `-o json`
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
}

impl OutputArgs {
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.output_format }
    }
}

/// Forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Markdown,
}

pub fn run(args: SearchArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let request = request(&args, &codebase, context)?;
    let searcher = Searcher::new(codebase);
    let result = answer(&searcher, context, |updater| searcher.search(&request, updater));
    let response = match result {
        Ok(response) => response,
        Err(error) => return Err(refuse(error, &searcher.codebase, args.output.format(), context)?),
    };
    let shown = results::Shown {
        response: &response,
        root: &searcher.codebase.root(),
        query: &request.query,
        words: &request.query,
        paint: context.paint,
    };
    let mut out = context.out();
    match args.output.format() {
        Format::Table => results::table(&mut out, &shown)?,
        Format::Markdown => results::markdown(&mut out, &shown)?,
        Format::Json => writeln!(out, "{}", render::json(&response, true)?)?,
    }
    out.flush()?;
    drop(out);
    finish(&searcher.codebase, &response, args.output.format(), context);
    if response.matches.is_empty() && args.output.format() == Format::Table {
        results::hints(context, &searcher, &request)?;
    }
    Ok(ExitCode::from(if response.matches.is_empty() { exit::NEGATIVE } else { 0 }))
}

fn request(args: &SearchArgs, codebase: &Codebase, context: &Context) -> Result<Request, CliError> {
    let mut request = Request::new(&args.query.join(" "), &codebase.settings);
    request.intent = args.intent.as_deref().and_then(Intent::by_name);
    if let Some(name) = args.intent.as_deref().filter(|_| request.intent.is_none()) {
        let known: Vec<&str> = Intent::names().collect();
        context
            .warn(&format!("the intent '{name}' is not known and not used; there are {}", known.join(", ")));
    }
    request.task = args.task.as_deref().map(task).transpose()?;
    request.mode = match args.mode {
        ModeArg::Hybrid => Mode::Hybrid,
        ModeArg::Semantic => Mode::Semantic,
        ModeArg::Keyword => Mode::Keyword,
        ModeArg::Symbol => Mode::Symbol,
    };
    request.ann = match args.ann {
        AnnArg::Auto => Ann::Auto,
        AnnArg::Exact => Ann::Exact,
        AnnArg::Signs => Ann::Signs,
        AnnArg::Hnsw => Ann::Hnsw,
    };
    request.limit = args.limit.unwrap_or(request.limit);
    request.min_score = args.min_score.unwrap_or(request.min_score);
    request.token_limit = args.token_limit.unwrap_or(request.token_limit);
    request.explain = args.explain;
    request.without_content = args.locations;
    request.filters.languages.clone_from(&args.scope.lang);
    request.filters.paths.clone_from(&args.scope.path);
    request.filters.exclude_paths.clone_from(&args.scope.exclude);
    request.filters.kinds.clone_from(&args.scope.kind);
    request.filters.include_tests = args.scope.tests().unwrap_or(request.filters.include_tests);
    request.rev.clone_from(&args.scope.rev);
    request.committed |= args.scope.committed;
    request.check().map_err(|e| match e {
        QueryError::Parameter { name: "query", .. } => CliError::new(
            "there is nothing to search for",
            "the query is empty",
            "git codeweaver search \"what you look for\"",
        ),
        other => other.into(),
    })?;
    Ok(request)
}

fn task(name: &str) -> Result<TaskProfile, CliError> {
    TaskProfile::by_name(name).ok_or_else(|| {
        CliError::new(
            format!("the task '{name}' is not known"),
            "a task picks the weights of appendix B of the documentation",
            "one of DEBUG, DEFAULT, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW, SEARCH, TEST",
        )
    })
}

/// Asks, with the updater at hand. An index that was set up and has been deleted is made again first.
pub fn answer<T>(
    searcher: &Searcher,
    context: &Context,
    ask: impl Fn(AskUpdater<'_>) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let codebase = &searcher.codebase;
    let updater = |target: &Target, patience: Duration| child::update(codebase, target, patience);
    match ask(&updater) {
        Err(QueryError::Gated(Lifecycle::NotIndexed)) if was_deleted(codebase) => {
            context.warn("the index of this repository is gone; it is being built again");
            rebuild(codebase).and_then(|()| ask(&updater))
        }
        Err(QueryError::Store(e @ (StoreError::Version { .. } | StoreError::Damaged { .. }))) => {
            context.warn(&format!("{e}; it is being repaired"));
            rebuild(codebase).and_then(|()| ask(&updater))
        }
        result => result,
    }
}

/// Has the updater make the index whole, which costs what is missing.
fn rebuild(codebase: &Codebase) -> Result<(), QueryError> {
    let head = Target::head(codebase)?;
    if child::update(codebase, &head, REBUILD_PATIENCE) {
        Ok(())
    } else {
        Err(QueryError::Gated(Lifecycle::Indexing))
    }
}

fn was_deleted(codebase: &Codebase) -> bool {
    codebase.layout.was_initialised() && !codebase.layout.root().exists()
}

/// The error to end with; a program that asked for JSON gets the gate as JSON, too: the envelope that agents get, with the
/// command that helps.
pub fn refuse(
    error: QueryError,
    codebase: &Codebase,
    format: Format,
    context: &Context,
) -> Result<CliError, CliError> {
    let gate = match &error {
        // What is indexed was replaced while it was read: for a moment there is nothing to answer from.
        QueryError::Gated(Lifecycle::Indexed) => Gate::of(codebase, &Lifecycle::Indexing, None),
        QueryError::Gated(lifecycle) => Gate::of(codebase, lifecycle, None),
        _ => None,
    };
    let error = CliError::from(error);
    if let (Some(gate), Format::Json) = (gate, format) {
        let mut envelope = serde_json::to_value(gate.envelope(codebase, &context.dir, context.debug))?;
        envelope["hints"]["fix"] = error.fix.as_str().into();
        let mut out = context.out();
        writeln!(out, "{}", render::json(&envelope, true)?)?;
        out.flush()?;
    }
    Ok(error)
}

/// Warnings for a person, and an update if HEAD has moved on without the index.
fn finish(codebase: &Codebase, response: &Response, format: Format, context: &Context) {
    if format != Format::Json {
        response.warnings.iter().for_each(|warning| context.warn(warning));
    }
    catch_up(codebase);
}

/// Starts an update in the background if the index is not of HEAD's tree: hooks may be missing.
pub fn catch_up(codebase: &Codebase) {
    let Ok(Some(state)) = State::read(&codebase.store().state()) else { return };
    let Ok(head) = codebase.repo.head() else { return };
    let key = codebase.snapshot_key(&head.tree.map(|oid| oid.to_string()).unwrap_or_default());
    let own = state.heads.get(&codebase.worktree_key);
    if own.is_none_or(|own| own.marker.is_some() && own.snapshot != key) {
        child::update_in_background(codebase);
    }
}
