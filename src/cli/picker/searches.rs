//! Searches in a thread of their own; a newer query cancels the one that runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use codeweaver::query::grep::{GrepRequest, Page};
use codeweaver::query::response::Freshness;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{Cancel, QueryError, Request, Searcher, TypedQuery};
use codeweaver::service::{Caller, Patience, Progress, Requests, follow_up};
use codeweaver_index::{Codebase, background};
use codeweaver_text::Highlighter;

use super::item::Item;
use crate::cli::context::{Context, PATIENCE};
use crate::cli::error::CliError;
use crate::cli::scope::ScopeArgs;

/// Maximum number of results.
const LIMIT: usize = 50;
/// Maximum number of tokens of all results, so that each has its text.
const TOKENS: u32 = 100_000;
/// Number of lines before and after one that matches.
const CONTEXT_LINES: usize = 8;

/// The results of a query, best first.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub items: Vec<Item>,
    /// The revision that was searched, if it is not the working tree.
    pub rev: Option<String>,
    /// A sentence about the results as a whole.
    pub summary: String,
}

/// An answer, or why there is none, for the query with this number.
pub type Answered = (u64, Result<Answer, String>);

/// The thread that searches.
pub struct Searches {
    /// Number of the newest query.
    newest: Arc<AtomicU64>,
    queries: Sender<(u64, String)>,
    pub answers: Receiver<Answered>,
}

impl Searches {
    /// Starts the thread. It ends when this is dropped.
    pub fn start(codebase: Codebase, scope: ScopeArgs, context: Context) -> Searches {
        let newest = Arc::new(AtomicU64::new(0));
        let (queries, asked) = channel::<(u64, String)>();
        let (answer, answers) = channel();

        let is_newest = newest.clone();
        std::thread::spawn(move || {
            let searcher = Searcher::new(codebase);
            let source = Source { searcher: &searcher, scope: &scope, context: &context };

            while let Ok((number, query)) = asked.recv() {
                let newest = is_newest.clone();
                if newest.load(Ordering::Relaxed) != number {
                    continue;
                }

                let cancel = Cancel::when(move || newest.load(Ordering::Relaxed) != number);
                let answered = source.answer(&query, cancel);
                // The answer to an earlier query is not shown.
                if is_newest.load(Ordering::Relaxed) == number && answer.send((number, answered)).is_err() {
                    return;
                }
            }
        });

        Searches { newest, queries, answers }
    }

    /// Gives the query before up. Returns a number that no answer has.
    pub fn cancel(&self) -> u64 {
        self.newest.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Asks `query` in place of the one before. Returns its number.
    pub fn ask(&self, query: &str) -> u64 {
        let number = self.cancel();
        // The thread ends only with its receiver, which lives as long as this.
        let _ = self.queries.send((number, query.to_owned()));
        number
    }
}

/// The repository and the filters of all queries.
struct Source<'a> {
    searcher: &'a Searcher,
    scope: &'a ScopeArgs,
    context: &'a Context,
}

impl Source<'_> {
    fn answer(&self, typed: &str, cancel: Cancel) -> Result<Answer, String> {
        self.run(typed, cancel).map_err(|error| format!("{}: {}", error.what, error.why))
    }

    fn run(&self, typed: &str, cancel: Cancel) -> Result<Answer, CliError> {
        let Source { searcher, scope, context } = *self;
        let settings = &searcher.codebase.settings;

        let mut query = TypedQuery::parse(typed);
        query.conditions.extend(scope.conditions());
        let mut resolved = scope.resolve(&query, searcher, context, settings.search.include_tests)?;
        resolved.view.cancel = cancel;

        let highlighter = Highlighter::new(&query.text);
        let rev = resolved.view.revision.clone();
        let started = Instant::now();

        if let Some(pattern) = query.pattern() {
            let mut request = GrepRequest::new(pattern, settings);
            (request.filters, request.view, request.context) =
                (resolved.filters, resolved.view, CONTEXT_LINES);
            let found = self.ask(|_| searcher.grep(&request))?;

            let lines = found.answer(Page { limit: LIMIT, ..Page::default() })?;
            background::update_if_due(&searcher.codebase, found.info.needs_update);
            let items = lines.files.iter().flat_map(|file| Item::from_lines(file, &highlighter)).collect();
            return Ok(Answer { items, rev, summary: timed(&lines.summary, started) });
        }

        let mut request = Request::new(&query.text, settings);
        (request.filters, request.view) = (resolved.filters, resolved.view);
        (request.limit, request.token_limit, request.texts) = (LIMIT, TOKENS, LIMIT);
        request.check()?;

        let response = self.ask(|update| searcher.search(&request, update))?;
        follow_up(&searcher.codebase, &response.index);
        let items: Vec<Item> =
            response.matches.iter().map(|found| Item::from_match(found, &highlighter)).collect();

        let state =
            if response.index.freshness == Freshness::Stale { ", the index is being updated" } else { "" };
        let summary = match response.warnings.first() {
            Some(warning) => warning.clone(),
            None if items.is_empty() => response.summary.clone(),
            None => timed(&format!("{} results{state}", items.len()), started),
        };
        Ok(Answer { items, rev, summary })
    }

    fn ask<T>(&self, query: impl Fn(RequestUpdate<'_>) -> Result<T, QueryError>) -> Result<T, CliError> {
        Requests::new(&self.searcher.codebase, &Quiet).run(query).map_err(CliError::from)
    }
}

/// Waits for repairs without a word, since the screen is in use.
struct Quiet;

impl Caller for Quiet {
    fn patience(&self, _: &Codebase) -> Patience {
        PATIENCE
    }

    fn tell(&self, _: &Codebase, _: Progress<'_>) {}
}

fn timed(summary: &str, started: Instant) -> String {
    format!("{summary}, {} ms", started.elapsed().as_millis())
}
