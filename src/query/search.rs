//! The search itself: view → candidates → ranking → answer.

use super::answer::content::{self, Budget};
use super::cancel::Cancel;
use super::error::{QueryError, guarded};
use super::parse::intent;
use super::path_facts::PathMemory;
use super::rank::near_duplicates;
use super::rank::{self, Context, RankedFile, WEIGHTS, Weights};
use super::request::{Mode, Request};
use super::response::{IndexInfo, Match, Response, Status};
use super::retrieve::symbols;
use super::retrieve::{self, Question};
use super::view::freshness;
use super::view::scope::{canonical_language, passes_path};
use super::view::{Freshness, MatchState, Opened, View, ViewMemory, Wanted, Worktree};
use crate::embed::{self, Embedder};
use crate::git::{self, ByteSlice, GitError};
use crate::index::plan::skip_reason;
use crate::index::{Codebase, Target};
use crate::text;
use crate::worktree::WorktreeStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What answers questions about one codebase; kept by a long-lived server, made anew by a command.
pub struct Searcher {
    pub codebase: Codebase,
    embedder: Option<Arc<dyn Embedder>>,
    /// Why there is no embedder.
    embedder_failure: Option<String>,
    memory: ViewMemory,
    pub(super) paths: PathMemory,
}

/// Asks whoever may write to index a target; returns once it is done or given up. Readers never write themselves (S4).
pub type AskUpdater<'a> = &'a dyn Fn(&Target, Duration) -> bool;

impl Searcher {
    pub fn new(codebase: Codebase) -> Searcher {
        let (embedder, embedder_failure) = match embed::open(&codebase.settings.model) {
            Ok(embedder) => (Some(embedder), None),
            Err(e) => (None, Some(e.to_string())),
        };
        let paths = PathMemory::new(embedder.clone());
        Searcher { codebase, embedder, embedder_failure, memory: ViewMemory::default(), paths }
    }

    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Answers `request`.
    pub fn search(&self, request: &Request, updater: AskUpdater<'_>) -> Result<Response, QueryError> {
        guarded(&self.codebase, || self.search_unguarded(request, updater))
    }

    fn search_unguarded(&self, request: &Request, updater: AskUpdater<'_>) -> Result<Response, QueryError> {
        request.check()?;
        let started = Instant::now();
        let answer = |view: &View, deadline| self.answer(request, view, deadline);
        let (view, answer) = self.verified(request, updater, answer)?;
        Ok(self.respond(request, &view, answer, started))
    }

    /// What `answer` makes of the view of `request` until the time that it is given. Files that are about to be shown are always verified (G8).
    pub(super) fn verified(
        &self,
        request: &Request,
        updater: AskUpdater<'_>,
        answer: impl Fn(&View, Instant) -> Result<Answer, QueryError>,
    ) -> Result<(View, Answer), QueryError> {
        let patience = Duration::from_millis(request.timeout_ms);
        let deadline = Instant::now() + patience;
        let wanted = self.wanted(request.rev.as_deref(), request.committed, request.overlay_budget_ms)?;
        let wanted = Wanted { cancel: request.cancel.clone(), ..wanted };
        let open = |worktree| {
            let wanted = Wanted { worktree, ..wanted.clone() };
            self.open(&wanted, request.timeout_ms, updater)
        };
        let (view, first) = match self.presuming_clean(&wanted, |view| answer(view, deadline))? {
            Presumed::Rightly(view, first) => (*view, first),
            Presumed::Wrongly(compared) => {
                // What was answered in vain is not to be paid for by the asker.
                let deadline = Instant::now() + patience;
                let view = open(Worktree::Compared(compared))?;
                let first = answer(&view, deadline)?;
                (view, first)
            }
            Presumed::Nothing => {
                let view = open(wanted.worktree.clone())?;
                let first = answer(&view, deadline)?;
                (view, first)
            }
        };
        let Some(compared) = view.compared.as_ref().filter(|it| it.is_incremental || view.unchecked > 0)
        else {
            return Ok((view, first));
        };
        if !self.shown_files_changed(compared, &first.matches)? {
            return Ok((view, first));
        }
        // Look again, at everything and without a budget.
        self.memory.worktree.invalidate();
        let view = open(Worktree::Within(Duration::from_millis(u64::from(u32::MAX))))?;
        let second = answer(&view, Instant::now() + patience)?;
        Ok((view, second))
    }

    /// Answers from the commit alone while the working tree is compared, if it was clean when it was compared last: both take
    /// about as long.
    fn presuming_clean(
        &self,
        wanted: &Wanted,
        answer: impl Fn(&View) -> Result<Answer, QueryError>,
    ) -> Result<Presumed, QueryError> {
        let Worktree::Within(budget) = wanted.worktree else { return Ok(Presumed::Nothing) };
        let (codebase, target) = (&self.codebase, &wanted.target);
        codebase.check_trust()?;
        if !self.memory.was_clean(codebase, target) || !codebase.knows(target) {
            return Ok(Presumed::Nothing);
        }
        let committed = Wanted { worktree: Worktree::LeftOut, ..wanted.clone() };
        let from_commit = || -> Result<Option<(Answer, Box<View>)>, QueryError> {
            match View::open(codebase, self.embedder(), &self.memory, &committed)? {
                Opened::View(view) => Ok(Some((answer(&view)?, view))),
                Opened::Behind(_) => Ok(None),
            }
        };
        std::thread::scope(|scope| {
            let comparing = scope.spawn(|| self.memory.compare(codebase, target, budget));
            let answered = from_commit();
            let compared = comparing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            if !compared.changes.changes.is_empty() || !compared.changes.filtered.is_empty() {
                // Also if the commit alone has no answer.
                return Ok(Presumed::Wrongly(compared));
            }
            match answered? {
                Some((first, view)) if view.freshness == Freshness::Fresh => {
                    Ok(Presumed::Rightly(Box::new(view.with_clean_worktree(compared)), first))
                }
                _ => Ok(Presumed::Wrongly(compared)),
            }
        })
    }

    /// The view that questions about `rev` (HEAD and the working tree if `None`) are answered from.
    pub fn view(
        &self,
        rev: Option<&str>,
        committed: bool,
        budget_ms: u64,
        timeout_ms: u64,
        updater: AskUpdater<'_>,
    ) -> Result<View, QueryError> {
        self.view_while(rev, committed, budget_ms, timeout_ms, updater, &Cancel::default())
    }

    /// As [`Self::view`], while somebody waits.
    pub(crate) fn view_while(
        &self,
        rev: Option<&str>,
        committed: bool,
        budget_ms: u64,
        timeout_ms: u64,
        updater: AskUpdater<'_>,
        cancel: &Cancel,
    ) -> Result<View, QueryError> {
        let wanted = Wanted { cancel: cancel.clone(), ..self.wanted(rev, committed, budget_ms)? };
        self.open(&wanted, timeout_ms, updater)
    }

    fn open(&self, wanted: &Wanted, timeout_ms: u64, updater: AskUpdater<'_>) -> Result<View, QueryError> {
        wanted.cancel.check()?;
        let is_head = wanted.target.is_head;
        let open = || View::open(&self.codebase, self.embedder(), &self.memory, wanted);
        match open()? {
            Opened::View(view) => Ok(*view),
            Opened::Behind(meanwhile) => {
                // A named revision is worth waiting for; HEAD is answered from what there is when time is up.
                let patience =
                    if is_head { Duration::from_millis(timeout_ms) } else { Duration::from_secs(3600) };
                let decision = freshness::sync(&self.codebase, &wanted.target, patience, updater)?;
                wanted.cancel.check()?;
                if decision == Freshness::Synced
                    && let Opened::View(mut view) = open()?
                {
                    if view.freshness == Freshness::Fresh {
                        view.freshness = Freshness::Synced;
                    }
                    return Ok(*view);
                }
                match meanwhile.filter(|_| is_head) {
                    Some(mut view) => {
                        if decision == Freshness::SkippedIndexing {
                            view.freshness = decision;
                        }
                        Ok(*view)
                    }
                    None => {
                        Err(QueryError::NotFound { what: format!("{} could not be indexed", wanted.spec) })
                    }
                }
            }
        }
    }

    fn wanted(&self, rev: Option<&str>, committed: bool, budget_ms: u64) -> Result<Wanted, QueryError> {
        let cancel = Cancel::default();
        match rev {
            None => {
                let target = Target::head(&self.codebase)?;
                let budget = Duration::from_millis(budget_ms);
                let worktree = if committed { Worktree::LeftOut } else { Worktree::Within(budget) };
                Ok(Wanted { spec: "HEAD".to_owned(), target, worktree, cancel })
            }
            Some(spec) => {
                let revision = self.codebase.repo.resolve(spec)?;
                let target = Target {
                    tree: Some(revision.tree),
                    commit: revision.commit,
                    reference: None,
                    is_head: false,
                };
                Ok(Wanted { spec: spec.to_owned(), target, worktree: Worktree::LeftOut, cancel })
            }
        }
    }

    fn answer(&self, request: &Request, view: &View, deadline: Instant) -> Result<Answer, QueryError> {
        let found = self.rank(request, view, &WEIGHTS, deadline);
        request.cancel.check()?;
        self.to_answer(request, view, found)
    }

    /// Ranks the files of `view` for `request`, without limits and texts. Evaluation comes in here, with other weights.
    pub fn rank(&self, request: &Request, view: &View, weights: &Weights, deadline: Instant) -> Found {
        let terms = text::query_terms(&request.query);
        let identifiers = text::identifiers(&request.query);
        let names = symbols::wanted(&request.query, &identifiers, request.mode);
        let mentions = text::mentions(&request.query);
        let focus: Vec<String> = terms.iter().map(|term| term.term.clone()).collect();
        let query_intent = intent::detect(&request.query, request.intent, &focus);
        let scope = view.scope(&request.filters);
        let mut warnings = Vec::new();
        let vector = match (&self.embedder, request.mode) {
            (_, Mode::Keyword | Mode::Symbol) => None,
            (Some(embedder), _) => Some(embedder.embed_query(&request.query)),
            (None, _) => None,
        };
        let failure = match &vector {
            Some(Err(e)) => Some(e.to_string()),
            None if matches!(request.mode, Mode::Hybrid | Mode::Semantic) => self.embedder_failure.clone(),
            _ => None,
        };
        if let Some(failure) = failure {
            warnings.push("Dense embedding service unavailable, using sparse search only".to_owned());
            tracing::warn!(component = "query", operation = "embed", error = %failure, "the dense side is unavailable");
        }
        let vector = vector.and_then(Result::ok);
        let is_over = || Instant::now() > deadline || request.cancel.is_cancelled();
        let question = Question {
            terms: &terms,
            names: &names,
            mentions: &mentions,
            vector: vector.as_deref(),
            scale: self.embedder().map_or(1.0, Embedder::scale),
            paths: &self.paths,
            mode: if vector.is_none() && request.mode == Mode::Semantic {
                Mode::Keyword
            } else {
                request.mode
            },
            ann: request.ann,
            weights,
            is_over: &is_over,
        };
        let found = retrieve::retrieve(view, &scope, &question);
        let passes = |path: &[u8], flags| passes_path(&request.filters, path, flags);
        let context = Context {
            view,
            terms: &terms,
            names: &names,
            mentions: &mentions,
            query: &request.query,
            intent: &query_intent,
            task: request.task,
            weights,
            paths: &self.paths,
            passes: &passes,
        };
        let files: Vec<RankedFile> = if request.cancel.is_cancelled() {
            Vec::new()
        } else if weights.whole_files == 0.0 {
            rank::chunks(&context, &found)
        } else {
            near_duplicates::fold(view, rank::rank(&context, &found))
        };
        if found.timed_out || Instant::now() > deadline {
            warnings.push(format!(
                "the time budget of {} ms was used up, results may be incomplete",
                request.timeout_ms
            ));
        }
        Found {
            files,
            n_candidates: found.list.len(),
            strategies: found.strategies,
            warnings,
            absent_languages: scope.absent_languages.clone(),
            ..Found::new(query_intent)
        }
    }

    /// Fetches the text of what was found, within the budget.
    pub(super) fn to_answer(
        &self,
        request: &Request,
        view: &View,
        found: Found,
    ) -> Result<Answer, QueryError> {
        let budget = Budget {
            offset: request.offset,
            n_matches: request.limit,
            tokens: request.token_limit,
            min_score: request.min_score,
            explain: request.explain,
            without_content: request.without_content,
            cancel: request.cancel.clone(),
        };
        let (matches, token_count) = content::matches(&self.codebase, view, &found.files, &budget)?;
        Ok(Answer { matches, token_count, found })
    }

    /// Whether a file that was not compared with the disk just now differs from what is about to be shown.
    fn shown_files_changed(&self, compared: &WorktreeStatus, matches: &[Match]) -> Result<bool, QueryError> {
        let repo = &self.codebase.repo;
        let mut files = None;
        for found in matches.iter().filter(|found| found.state == MatchState::Committed) {
            let path = found.file.path.as_bytes().as_bstr();
            let unmodified = compared.unmodified_blob(repo, path).map(|oid| oid.to_string());
            // What is known to differ is shown as committed for a reason, which another look does not remove.
            if unmodified.as_deref() == Some(found.blob.as_str()) || compared.is_changed(path) {
                continue;
            }
            let files = match &mut files {
                Some(files) => files,
                None => files.insert(compared.reader(repo)?),
            };
            let bytes = match files.read(path) {
                Err(GitError::PathEscapes { .. }) => return Ok(true),
                // Another look would not make it readable.
                Err(GitError::Io { .. }) => continue,
                bytes => bytes?,
            };
            let oid = bytes.map(|bytes| git::hash_blob(&bytes, self.codebase.repo.object_hash()).to_string());
            if oid.as_deref() != Some(found.blob.as_str()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn respond(
        &self,
        request: &Request,
        view: &View,
        answer: Answer,
        started: Instant,
    ) -> Response {
        let mut warnings = view.warnings.clone();
        let found = answer.found;
        warnings.extend(found.warnings);
        let not_local = skip_count(view, "not_local");
        let incomplete =
            view.freshness == Freshness::SkippedIndexing || (answer.matches.is_empty() && not_local > 0);
        let degraded = incomplete || !warnings.is_empty();
        let mut languages: Vec<String> =
            answer.matches.iter().map(|found| found.file.language.clone()).collect();
        languages.sort();
        languages.dedup();
        Response {
            status: if degraded { Status::Degraded } else { Status::Ok },
            summary: summary(request, view, &answer.matches, &found.absent_languages),
            query_intent: found.intent,
            total_matches: found.n_candidates,
            total_results: answer.matches.len(),
            n_ranked: found.files.iter().filter(|file| file.relevance >= request.min_score).count(),
            token_count: answer.token_count,
            execution_time_ms: started.elapsed().as_millis() as u64,
            search_strategy: found.strategies,
            languages_found: languages,
            warning: (view.freshness == Freshness::SkippedIndexing).then_some("indexing_in_progress"),
            warnings,
            index: self.index_info(view),
            matches: answer.matches,
        }
    }

    /// What a view shows, for the proof that goes with every answer.
    pub fn index_info(&self, view: &View) -> IndexInfo {
        let totals = &view.snapshot.totals;
        IndexInfo {
            commit: view.commit.clone(),
            tree: view.tree_oid.clone(),
            rev: view.spec.clone(),
            head: view.head_commit.clone(),
            freshness: view.freshness,
            dirty_files: view.n_dirty,
            unchecked_files: view.unchecked,
            is_behind: view.is_behind,
            files: totals.n_paths,
            chunks: totals.n_rows,
            skipped: totals
                .skipped
                .iter()
                .filter_map(|(n, count)| Some((skip_reason(*n)?.name(), *count)))
                .collect(),
            coverage: view.coverage,
            model: self.embedder().map_or("none", Embedder::name).to_owned(),
        }
    }
}

/// What was found, before any text is fetched.
pub struct Found {
    pub files: Vec<RankedFile>,
    pub intent: intent::QueryIntent,
    pub n_candidates: usize,
    pub strategies: Vec<&'static str>,
    pub warnings: Vec<String>,
    pub absent_languages: Vec<String>,
}

impl Found {
    pub fn new(intent: intent::QueryIntent) -> Found {
        Found {
            files: Vec::new(),
            intent,
            n_candidates: 0,
            strategies: Vec::new(),
            warnings: Vec::new(),
            absent_languages: Vec::new(),
        }
    }
}

/// What came of presuming that the working tree is clean.
enum Presumed {
    Rightly(Box<View>, Answer),
    /// It is not: this is what it was compared to.
    Wrongly(WorktreeStatus),
    /// There was no reason to.
    Nothing,
}

/// What was found, with what is shown of it.
pub(super) struct Answer {
    matches: Vec<Match>,
    token_count: u32,
    found: Found,
}

fn skip_count(view: &View, reason: &str) -> u64 {
    let skipped = &view.snapshot.totals.skipped;
    skipped
        .iter()
        .filter(|(n, _)| skip_reason(**n).is_some_and(|r| r.name() == reason))
        .map(|(_, count)| *count)
        .sum()
}

/// At most 1,000 characters for a reader in a hurry, or what to do if nothing was found (R7).
fn summary(request: &Request, view: &View, matches: &[Match], absent: &[String]) -> String {
    let totals = &view.snapshot.totals;
    let mut text = if matches.is_empty() {
        let mut text =
            format!("No results found (searched {} chunks across {} files)", totals.n_rows, totals.n_paths);
        for name in absent {
            text.push_str(&format!("; there is no {} here", canonical_language(name)));
        }
        text
    } else {
        let best: Vec<String> = matches
            .iter()
            .take(3)
            .map(|found| {
                format!("{}:{}-{} ({})", found.file.path, found.span.0, found.span.1, found.content.title)
            })
            .collect();
        format!("{} matches for \"{}\"; best: {}", matches.len(), request.query, best.join(", "))
    };
    if text.len() > 1000 {
        let cut = (0..=1000).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(cut);
    }
    text
}
