//! Indexing: keeps the index of the served repository at HEAD, and reports how runs end.
//!
//! Hooks index commits at once, and queries compare HEAD themselves. This thread does the rest: the first
//! index, pushes to a repository without hooks, and updates that no query has triggered. Each run is a
//! process of its own, so killing the server loses nothing and a failed run does not end the server.

use std::io::Read as _;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codeweaver::query::view::Freshness;
use codeweaver::query::view::freshness;
use codeweaver_index::{Codebase, Lifecycle, background};
use codeweaver_store::state::State;

use super::app::App;
use super::repositories;
use super::{Event, Options};

/// Time between two checks of HEAD.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time between two checks whether the server is stopping.
const TICK: Duration = Duration::from_millis(50);
/// Time before a run that has failed is tried again.
const PAUSE: Duration = Duration::from_secs(60);

/// Follows HEAD until the server stops.
pub fn follow(app: &App, options: &Options, tell: &(dyn Fn(Event<'_>) + Sync)) {
    let mut follower = Follower {
        app,
        tell,
        interval: options.interval,
        run: None,
        last_run: None,
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
    run: Option<Child>,
    /// Time at which the last counted run ended.
    last_run: Option<u64>,
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
        if !self.app.is_catalogue || !is_due {
            return;
        }
        self.synced_at = Some(Instant::now());
        if let Err(error) = repositories::sync(codebase, &[]) {
            (self.tell)(Event::Warning(&format!("the repositories cannot be looked at: {error}")));
        }
    }

    fn start(&mut self, codebase: &Codebase, reindex: bool) {
        match background::start_run(codebase, reindex) {
            Ok(child) => {
                self.run = Some(child);
                (self.tell)(Event::Indexing);
            }
            Err(error) => self.failed(&error.to_string()),
        }
    }

    /// Reports how the run that was started has ended.
    fn reap(&mut self) {
        let Some(child) = &mut self.run else { return };
        let status = match child.try_wait() {
            Ok(None) => return,
            Ok(Some(status)) => Ok(status.success()),
            Err(error) => Err(error.to_string()),
        };

        let mut message = String::new();
        if let Some(stderr) = &mut child.stderr {
            // The run has ended, so this does not wait.
            let _ = stderr.read_to_string(&mut message);
        }

        self.run = None;
        match status {
            Ok(true) => {
                self.retry_at = None;
                (self.tell)(Event::Indexed);
            }
            Ok(false) => self.failed(message.trim()),
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, why: &str) {
        self.retry_at = Some(Instant::now() + PAUSE);
        self.app.metrics.index_failed();
        (self.tell)(Event::Warning(&format!("indexing has failed: {why}")));
    }

    /// Counts a run that has ended since the last check, in any process.
    fn count(&mut self, codebase: &Codebase, state: Option<&State>) {
        let Some(run) = state.and_then(|state| codebase.head_in(state)?.last_run.clone()) else { return };
        let before = self.last_run.replace(run.finished_at);
        // The first run that is seen may have ended before the server was started.
        if before.is_some_and(|before| before != run.finished_at) {
            self.app.metrics.indexed(run.chunks_created);
        }
    }
}
