//! Entry of the crate: a request, answered from the current view.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use codeweaver::query::locate;
use codeweaver::query::submodules;
use codeweaver::query::symbol_lookup;
use codeweaver::query::view::View;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{Cancel, Filters, QueryError, Searcher, ViewRequest, WorktreeMode};
use codeweaver_git::quoting;
use codeweaver_store::StoreError;

use super::call_sites::{self, CallSite};
use super::candidates::CandidateFilter;
use super::definitions::Definitions;
use super::modules::Paths;
use super::request::CallGraphRequest;
use super::resolver::Resolver;
use super::response::{CallGraphResponse, CallGraphStatus, NEAR_NAMES};
use super::sources::{Limits, PARSER_STACK, Sources};
use super::symbol_spec::parse_location;
use super::walk;

/// Maximum number of times that an answer is repeated with changed files that it showed as committed.
const MAX_ROUNDS: usize = 3;
/// Maximum number of symbols without a definition for which the nearest names are looked up.
const MAX_MISSPELT: usize = 3;
/// The time limit of work that has none.
const UNLIMITED: Duration = Duration::from_secs(7 * 24 * 3600);

/// The cross-references of a codebase, answered from the views that its searches use.
pub struct Xref<'a> {
    searcher: &'a Searcher,
}

impl<'a> Xref<'a> {
    pub fn new(searcher: &'a Searcher) -> Xref<'a> {
        Xref { searcher }
    }

    /// Answers `request` from the current view of the worktree, or of `request.rev`.
    ///
    /// Parses the files that may hold call sites; `request` limits their number, their bytes and the time.
    pub fn query(
        &self,
        request: &CallGraphRequest,
        updater: RequestUpdate<'_>,
    ) -> Result<CallGraphResponse, QueryError> {
        self.searcher.guarded(|| self.query_unguarded(request, updater))
    }

    fn query_unguarded(
        &self,
        request: &CallGraphRequest,
        updater: RequestUpdate<'_>,
    ) -> Result<CallGraphResponse, QueryError> {
        request.check()?;
        let started = Instant::now();
        let codebase = &self.searcher.codebase;

        let defaults = ViewRequest::new(&codebase.settings);
        let located = request.symbols.iter().filter_map(|symbol| parse_location(symbol));
        let paths = located.filter_map(|(path, ..)| locate::clean(path).ok());
        let mut wanted = ViewRequest {
            revision: request.rev.clone(),
            worktree: if request.committed { WorktreeMode::Exclude } else { defaults.worktree },
            budget: ViewRequest::UNLIMITED,
            cancel: request.cancel.clone(),
            files: paths.map(|path| quoting::text(&path)).collect(),
            ..defaults
        };

        let mut round = 0;
        loop {
            let view = self.searcher.view(&wanted, updater)?;
            let response = self.answer(&view, &wanted, request, started)?;

            // Lines of a committed version are never shown for a file that has changed.
            let pending = response.files().filter(|path| view.is_pending(quoting::bytes(path).as_ref()));
            let pending: BTreeSet<String> = pending.map(str::to_owned).collect();

            round += 1;
            if pending.is_empty() || round > MAX_ROUNDS {
                return Ok(with_near_names(response, &view, request));
            }
            wanted.files.extend(pending);
        }
    }

    fn answer(
        &self,
        view: &View,
        asked: &ViewRequest,
        request: &CallGraphRequest,
        started: Instant,
    ) -> Result<CallGraphResponse, QueryError> {
        self.on_large_stack(|| walk::answer(self.searcher, (view, asked), request, started))
    }

    /// Every call site of the current view in the files whose path begins with one of `prefixes`, ordered by
    /// path and position, without limits.
    pub fn call_sites(
        &self,
        prefixes: &[String],
        updater: RequestUpdate<'_>,
        visit: &mut (dyn FnMut(CallSite) + Send),
    ) -> Result<(), QueryError> {
        let codebase = &self.searcher.codebase;
        let wanted = ViewRequest { budget: ViewRequest::UNLIMITED, ..ViewRequest::new(&codebase.settings) };
        let view = self.searcher.view(&wanted, updater)?;

        let cancel = Cancel::default();
        let deadline = Instant::now() + UNLIMITED;
        let limits = Limits { files: usize::MAX, bytes: u64::MAX, deadline, cancel: &cancel };

        self.on_large_stack(|| {
            let (defs, paths) = (Definitions::new(&view), Paths::new(&view));
            let sources = Sources::new(codebase, &view, limits);
            let filter = CandidateFilter { defs: &defs, sources: &sources };
            let resolver = Resolver::new(filter, &paths);
            call_sites::each((&defs, &sources, &paths, &resolver), prefixes, visit);
            Ok(())
        })
    }

    /// Runs `work` on a thread of its own: parsers recurse, and the stack of the calling thread may be small.
    fn on_large_stack<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, QueryError> + Send,
    ) -> Result<T, QueryError> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("xref".to_owned()).stack_size(PARSER_STACK);

            let thread = thread.spawn_scoped(scope, work).map_err(|source| {
                let path = self.searcher.codebase.root();
                StoreError::Io { action: "start a thread for", path, source }
            })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// `response`, with the nearest names that are defined if the symbols have no definition, the submodules that
/// may define them, and the places that are behind the end of their files.
fn with_near_names(
    mut response: CallGraphResponse,
    view: &View,
    request: &CallGraphRequest,
) -> CallGraphResponse {
    if response.status != CallGraphStatus::NotFound {
        return response;
    }

    response.warnings.extend(submodules::note(view));
    let places = request.symbols.iter().filter_map(|symbol| parse_location(symbol));
    response.warnings.extend(places.filter_map(|(path, line, _)| beyond_end(view, path, line)));

    let filters = Filters { include_tests: true, ..Filters::default() };
    for symbol in request.symbols.iter().filter(|symbol| parse_location(symbol).is_none()).take(MAX_MISSPELT)
    {
        let near = symbol_lookup::nearest(view, symbol, &filters);
        if !near.is_empty() {
            let near = near.join(", ");
            response.warnings.push(format!("{NEAR_NAMES}: the nearest names to {symbol} are {near}"));
        }
    }
    response
}

/// The warning about a place behind the end of its file; `None` if the file has the line, or is not indexed.
fn beyond_end(view: &View, path: &str, line: u32) -> Option<String> {
    let file = locate::file(view, path).ok()?;
    let error = locate::beyond_end(view, &file, line)?;
    Some(format!("CALL_GRAPH_NOT_FOUND: {error}"))
}
