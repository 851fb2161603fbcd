//! Indexing: keeps the index of the served repository at HEAD, and reports how runs end.
//!
//! Hooks index commits at once, and queries compare HEAD themselves. This thread does the rest: the first
//! index, pushes to a repository without hooks, and updates that no query has triggered. Each run is a
//! process of its own, so killing the server loses nothing and a failed run does not end the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codeweaver::query::view::Freshness;
use codeweaver::query::view::freshness;
use codeweaver_index::{Codebase, Lifecycle, background};
use codeweaver_store::state::State;

use super::app::{App, Task};
use super::child::{Ended, Run};
use super::repositories;
use super::{Event, Options};

/// Time between two checks of HEAD.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time between two checks whether the server is stopping.
const TICK: Duration = Duration::from_millis(50);
/// Times before a run that has failed is tried again: after its first failure, and at most. Each time is
/// twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];

/// Follows HEAD until the server stops.
pub fn follow(app: &App, options: &Options, tell: &(dyn Fn(Event<'_>) + Sync)) {
    let mut follower = Follower {
        app,
        tell,
        interval: options.interval,
        run: None,
        sync: None,
        last_run: None,
        n_failures: 0,
        retry_at: None,
        synced_at: None,
        reindex: options.reindex,
        is_lost: false,
        token_problem: None,
    };

    while !app.is_ending() {
        let next = Instant::now() + INTERVAL;
        follower.check_tokens();
        follower.check();
        while Instant::now() < next && !app.is_ending() {
            std::thread::sleep(TICK);
        }
    }
}

struct Follower<'a> {
    app: &'a App,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
    interval: Duration,
    /// The run that builds the first index, or one that was requested.
    run: Option<Run>,
    /// The sync of the members of the catalogue.
    sync: Option<Run>,
    /// Time at which the last counted run ended.
    last_run: Option<u64>,
    /// Number of runs that have failed since one succeeded.
    n_failures: u32,
    retry_at: Option<Instant>,
    /// Time of the last check of the members of the catalogue.
    synced_at: Option<Instant>,
    reindex: bool,
    /// Whether the repository could not be opened at the last check.
    is_lost: bool,
    /// The last reported problem with the file of tokens.
    token_problem: Option<Arc<str>>,
}

impl Follower<'_> {
    /// Reports that the file of tokens has become bad, or good again.
    fn check_tokens(&mut self) {
        let problem = self.app.tokens.as_ref().and_then(|tokens| tokens.problem());
        if problem == self.token_problem {
            return;
        }

        let message = match &problem {
            Some(problem) => format!("{problem}; only the tokens that are still in it are valid"),
            None => "the tokens can be read again".to_owned(),
        };
        (self.tell)(Event::Warning(&message));
        self.token_problem = problem;
    }

    /// Compares the index with HEAD, and starts a run or an update if one is due.
    fn check(&mut self) {
        let searcher = match self.app.searcher() {
            Ok(searcher) => {
                if std::mem::take(&mut self.is_lost) {
                    (self.tell)(Event::Warning("the repository can be opened again"));
                }
                searcher
            }
            Err(error) => {
                // Reported once, and not with every check.
                if !std::mem::replace(&mut self.is_lost, true) {
                    (self.tell)(Event::Warning(&format!("the repository cannot be opened: {error}")));
                }
                return;
            }
        };

        let codebase = &searcher.codebase;
        self.reap();
        let state = State::read(&codebase.store().state()).ok().flatten();
        self.count(codebase, state.as_ref());

        if self.run.is_some() {
            return;
        }

        if std::mem::take(&mut self.reindex) {
            self.start(codebase, true);
            return;
        }

        match codebase.lifecycle_in(state.as_ref()) {
            Lifecycle::Indexed => {
                // Another process may have built it.
                (self.retry_at, self.n_failures) = (None, 0);
                self.app.ended(Task::Index, None);
                self.sync(codebase);
                let is_behind = matches!(freshness::decide(codebase), Ok(Freshness::Stale));
                background::update_if_due(codebase, is_behind);
            }
            Lifecycle::Indexing => {}
            Lifecycle::NotIndexed
            | Lifecycle::Interrupted { .. }
            | Lifecycle::IndexFailed(_)
            | Lifecycle::RequiresReindex { .. } => {
                // Another process may be indexing already, and a run that has failed is not repeated at once.
                if codebase.lease_holder().is_none() && self.retry_at.is_none_or(|at| Instant::now() >= at) {
                    self.start(codebase, false);
                }
            }
        }
    }

    /// Starts a sync of the members of a catalogue when it is due.
    fn sync(&mut self, codebase: &Codebase) {
        let is_due = self.synced_at.is_none_or(|at| at.elapsed() >= self.interval);
        if !self.app.is_catalogue || !is_due || self.sync.is_some() {
            return;
        }

        self.synced_at = Some(Instant::now());
        match repositories::start_sync(codebase) {
            Ok(child) => self.sync = Some(Run::new(child)),
            Err(error) => self.failed(Task::Sync, error.to_string()),
        }
    }

    fn start(&mut self, codebase: &Codebase, reindex: bool) {
        match background::start_run(codebase, reindex) {
            Ok(child) => {
                self.run = Some(Run::new(child));
                (self.tell)(Event::Indexing);
            }
            Err(error) => self.index_failed(error.to_string()),
        }
    }

    /// Reports how the processes that were started have ended.
    fn reap(&mut self) {
        match self.sync.as_mut().and_then(Run::poll) {
            None => {}
            Some(ended) => {
                self.sync = None;
                match ended {
                    Ended::Done => self.app.ended(Task::Sync, None),
                    Ended::Failed(why) => self.failed(Task::Sync, why),
                }
            }
        }

        match self.run.as_mut().and_then(Run::poll) {
            None => {}
            Some(Ended::Done) => {
                (self.run, self.retry_at, self.n_failures) = (None, None, 0);
                self.app.ended(Task::Index, None);
                (self.tell)(Event::Indexed);
            }
            Some(Ended::Failed(why)) => {
                self.run = None;
                self.index_failed(why);
            }
        }
    }

    /// Notes that a run has failed, and when the next one is due.
    fn index_failed(&mut self, why: String) {
        let [first, longest] = PAUSES;
        let pause = first.saturating_mul(1 << self.n_failures.min(16)).min(longest);
        self.n_failures += 1;
        self.retry_at = Some(Instant::now() + pause);
        self.app.metrics.index_failed();
        self.failed(Task::Index, why);
    }

    /// Reports a failure, once if it repeats itself.
    fn failed(&self, task: Task, why: String) {
        let text = format!("{}: {why}", task.failure());
        let is_new = !self.app.problem().is_some_and(|known| known.contains(&text));
        self.app.ended(task, Some(why));
        if is_new {
            (self.tell)(Event::Warning(&text));
        }
    }

    /// Counts a run that has ended since the last check, in any process.
    fn count(&mut self, codebase: &Codebase, state: Option<&State>) {
        let Some(run) = state.and_then(|state| codebase.head_in(state)?.last_run.clone()) else { return };
        let before = self.last_run.replace(run.finished_at);
        // The first run that is seen may have ended before the server was started.
        if before.is_some_and(|before| before != run.finished_at) {
            self.app.metrics.indexed(&run);
        }
    }
}
