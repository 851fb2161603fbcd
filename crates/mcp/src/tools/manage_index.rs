//! `manage_index`: shows the state of the index, and builds, updates or deletes it.
//!
//! Indexing runs in separate processes. A call waits for a run for a limited time and reports its progress;
//! after that the run continues, and the answer contains its progress. Cancelling the call ends the run that
//! it started; finished work is kept. A run of another process, such as a hook's, is waited for likewise and
//! never disturbed.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::view::Freshness;
use codeweaver::query::view::freshness;
use codeweaver::service::Caller as _;
use codeweaver::service::gate::{self, IndexingProgress};
use codeweaver::service::trust::Purpose;
use codeweaver::service::{ErrorKind, ServiceError};
use codeweaver_git::GitError;
use codeweaver_index::status::{self, LanguageCount, Place, StatusReport};
use codeweaver_index::{Codebase, IndexError, Lifecycle, background, checkpoint, clear};
use codeweaver_store::state::State;
use codeweaver_store::{StoreError, StoreReader, exclude};

use super::{Answer, Call, CallError, Tool};
use crate::target::CallTarget;

pub struct ManageIndex;

/// Default of `wait_seconds`: clients commonly abandon a call after a minute.
const DEFAULT_WAIT_SECONDS: u64 = 40;
/// Interval at which a run is checked.
const POLL: Duration = Duration::from_millis(20);
/// Minimum time to wait for a run to start, even if `wait_seconds` is shorter.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);
/// Number of bytes kept of the error output of a run, which is three lines.
const MAX_STDERR_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Status,
    Create,
    Reindex,
    Sync,
    Clear,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    action: Action,
    path: Option<String>,
    /// `create` anew.
    force: Option<bool>,
    /// Default 40; a run continues afterwards.
    #[schemars(range(max = 3600))]
    wait_seconds: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: super::OkStatus,
    action: Action,
    /// The action that was taken, or the state of the index, in a sentence.
    message: String,
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    index: Summary,
}

/// State of the index.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    /// `not_indexed`, `indexing`, `indexed`, `index_failed` or `requires_reindex`.
    state: &'static str,
    /// Why, where the state needs a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Absent while there is nothing that could be fresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    freshness: Option<Freshness>,
    head: Place,
    /// The indexed state of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed: Option<Place>,
    files: u64,
    chunks: u64,
    languages: Vec<LanguageCount>,
    /// Left-out files by reason.
    skipped: BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    indexing: Option<IndexingProgress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<String>,
    hooks_installed: bool,
    model: String,
    warnings: Vec<String>,
}

impl Tool for ManageIndex {
    const NAME: &'static str = "manage_index";
    const DESCRIPTION: &'static str = "State of the index, or build (create, reindex), update (sync) or delete (clear) it. \
        Use it when another tool returns not_indexed (create), requires_reindex (reindex) or not_ready (status). \
        Not needed after commits or edits: the index follows by itself.";
    const READ_ONLY: bool = false;
    const WAITS: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let purpose = if arguments.action == Action::Status { Purpose::Read } else { Purpose::Manage };
        let target = call.find(arguments.path.as_deref(), None, purpose)?;
        let codebase = target.codebase();
        let wait = Duration::from_secs(arguments.wait_seconds.unwrap_or(DEFAULT_WAIT_SECONDS));
        let force = arguments.force.unwrap_or(false);

        let action = arguments.action;
        check_shared(action, force, call)?;
        let run = Run { target: &target, call, deadline: Instant::now() + wait };
        let was_damaged = action == Action::Create && is_damaged(codebase);

        let mut lifecycle = lifecycle_of(codebase)?;
        if lifecycle == Lifecycle::Indexing && action != Action::Status {
            run.wait_for_other()?;
            lifecycle = lifecycle_of(codebase)?;
        }

        let message = match (action, &lifecycle) {
            (Action::Status, _) => None,
            // A run begins with a repair, so an ordinary one is enough.
            (Action::Create, Lifecycle::Indexed) if !force && was_damaged => {
                if is_damaged(codebase) {
                    run.build(false)?;
                }
                Some("it was damaged and has been repaired".to_owned())
            }
            (Action::Create, Lifecycle::Indexed) if !force => {
                Some("it is indexed already; `sync` brings it to HEAD, `force` builds it anew".to_owned())
            }
            (Action::Create, Lifecycle::Indexed) | (Action::Reindex, _) => Some(run.build(true)?),
            (Action::Create, _) => Some(run.build(false)?),
            (Action::Sync, Lifecycle::Indexed) => Some(run.build(false)?),
            (Action::Sync, _) => return Err(call.lifecycle_error(&target, &lifecycle)),
            (Action::Clear, _) => Some(clear_index(&target, call)?),
        };

        let report = status::status(codebase, false).map_err(|error| CallError::new(error, codebase))?;

        let index = summary(codebase, &report)?;
        let message = message.unwrap_or_else(|| state_message(&index, report.settings_changed));
        let output =
            Output { status: super::OkStatus::Ok, action, message, codebase_root: codebase.root(), index };
        let text = text_of(&output);
        Ok(Answer { structured: output, text })
    }
}

/// Formats an answer of a few lines: the state, and details only where they are unusual or asked for.
fn text_of(output: &Output) -> String {
    let Output { message, codebase_root, index, .. } = output;
    let mut text = message.clone();
    if output.action != Action::Status && index.state == "indexed" {
        text.push_str(&format!(": {} files, {} chunks", index.files, index.chunks));
    }

    let oid =
        |place: &Place| place.commit.as_deref().unwrap_or_default().chars().take(12).collect::<String>();
    let head = oid(&index.head);
    match &index.indexed {
        Some(indexed) if oid(indexed) == head => text.push_str(&format!(" at {head}")),
        Some(indexed) => text.push_str(&format!(" at {}, HEAD is {head}", oid(indexed))),
        None => {}
    }

    text.push_str(&format!(" ({})\n", codebase_root.display()));

    if output.action == Action::Status {
        let languages = index.languages.iter().map(|it| format!("{} {}", it.language, it.files));
        let languages: Vec<String> = languages.collect();
        if !languages.is_empty() {
            text.push_str(&format!("languages: {}\n", languages.join(", ")));
        }
        let skipped: Vec<String> = index.skipped.iter().map(|(why, n)| format!("{why} {n}")).collect();
        if !skipped.is_empty() {
            text.push_str(&format!("skipped: {}\n", skipped.join(", ")));
        }
        let hooks = if index.hooks_installed { "" } else { "; no hooks" };
        text.push_str(&format!("state: {}; model: {}{hooks}\n", index.state, index.model));
    }

    if let Some(progress) = &index.indexing {
        text.push_str(&format!("progress: {}\n", serde_json::to_string(progress).unwrap_or_default()));
    }

    for (label, what) in [("reason", &index.reason), ("last failure", &index.last_failure)] {
        if let Some(what) = what {
            text.push_str(&format!("{label}: {what}\n"));
        }
    }

    for warning in &index.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}

/// Parameters of an indexing run.
struct Run<'a> {
    target: &'a CallTarget,
    call: &'a Call,
    /// End of the time that the call waits.
    deadline: Instant,
}

impl Run<'_> {
    /// Indexes HEAD and waits for the run. Returns a message.
    fn build(&self, reindex: bool) -> Result<String, CallError> {
        let codebase = self.target.codebase();
        let root = Some(codebase.root());
        codebase.check_trust().map_err(|error| CallError::new(error, codebase))?;
        // The store must not appear as untracked files in `git status`.
        exclude::add_exclude(codebase.repo.common_dir())
            .map_err(|error| CallError::new(GitError::from(error), codebase))?;

        loop {
            let mut child = background::start_run(codebase, reindex)
                .map_err(|error| CallError::failed(error, root.clone()))?;

            self.call.step(0.0, "reading the tree");
            match self.wait_for_exit(&mut child, reindex) {
                Some(0) => {
                    self.call.step(100.0, "done");
                    return Ok("indexed".to_owned());
                }
                // The run was refused: another run, for example of a hook, holds the work lease.
                Some(1) => self.wait_for_other()?,
                Some(_) => return Err(CallError::failed(failure_message(&mut child), root)),
                None => {
                    // A thread waits for the process, so that it does not become a zombie.
                    let _ = std::thread::Builder::new().name("reap".into()).spawn(move || child.wait());
                    return Err(not_ready(self.target, self.call));
                }
            }
        }
    }

    /// Waits until no other process indexes the codebase; `not_ready` if one still does at the deadline.
    fn wait_for_other(&self) -> Result<(), CallError> {
        loop {
            if self.call.is_stopped() || Instant::now() >= self.deadline {
                return Err(not_ready(self.target, self.call));
            }
            std::thread::sleep(POLL);
            if self.target.codebase().lease_holder().is_none() {
                return Ok(());
            }
        }
    }

    /// Waits for `child` to exit. Returns its exit code, or `None` if it continues in the background. A
    /// cancelled call ends its run.
    fn wait_for_exit(&self, child: &mut Child, reindex: bool) -> Option<i32> {
        let started = Instant::now();
        let mut last_report = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status.code().unwrap_or(-1)),
                Ok(None) if self.is_over(started, reindex) => break,
                Ok(None) => std::thread::sleep(POLL),
                Err(_) => return Some(-1),
            }

            if last_report.elapsed() >= REPORT_INTERVAL {
                last_report = Instant::now();
                self.report_progress();
            }
        }

        // Only a cancelled call ends its run; after a timeout or a session the run continues.
        if self.call.is_cancelled() {
            end(child);
        }
        None
    }

    /// Returns whether a call stops to wait for a run. A run that is not visible yet is waited for longer.
    fn is_over(&self, started: Instant, reindex: bool) -> bool {
        self.call.is_stopped()
            || Instant::now() >= self.deadline
                && (self.has_started(reindex) || started.elapsed() >= START_TIMEOUT)
    }

    /// Returns true if the run is visible to other processes, so that the next call does not see the state
    /// before it.
    fn has_started(&self, reindex: bool) -> bool {
        let codebase = self.target.codebase();
        match lifecycle_of(codebase) {
            Ok(Lifecycle::Indexed) => !reindex && codebase.lease_holder().is_some(),
            Ok(lifecycle) => lifecycle == Lifecycle::Indexing,
            Err(_) => true,
        }
    }

    fn report_progress(&self) {
        if let Some(record) = checkpoint::running(self.target.codebase()) {
            let share = record.files_processed as f64 / record.files_total.max(1) as f64;
            let message = format!(
                "{} of {} files, {} chunks",
                record.files_processed, record.files_total, record.chunks_created
            );
            // 100 percent is reported at the end only.
            self.call.step((share * 990.0).round().clamp(5.0, 990.0) / 10.0, message);
        }
    }
}

/// Asks a run to stop. It keeps finished work.
#[cfg(unix)]
fn end(child: &mut Child) {
    let _ =
        rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::TERM);
}

/// Ends a run. A killed one leaves finished work too, if less of it.
#[cfg(not(unix))]
fn end(child: &mut Child) {
    // It may have ended in the meantime.
    let _ = child.kill();
}

fn failure_message(child: &mut Child) -> String {
    let mut stderr_text = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(MAX_STDERR_BYTES).read_to_string(&mut stderr_text);
    }

    let lines: Vec<&str> = stderr_text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "the indexer ended unexpectedly".to_owned() } else { lines.join("; ") }
}

/// Refuses to take the index away from the other clients of a server.
fn check_shared(action: Action, force: bool, call: &Call) -> Result<(), CallError> {
    let takes_away = matches!(action, Action::Clear | Action::Reindex) || (action == Action::Create && force);
    if !takes_away || !call.codebases.is_confined() {
        return Ok(());
    }

    let what = "clients of a server may not delete or rebuild its index".to_owned();
    let why = "others are answered from it".to_owned();
    let fix = "run `git codeweaver index --reindex` on the machine of the server";
    Err(CallError::from_service(ServiceError::new(ErrorKind::NotAllowed, what, why, fix), None))
}

fn clear_index(target: &CallTarget, call: &Call) -> Result<String, CallError> {
    let codebase = target.codebase();
    match clear::clear(codebase) {
        Ok(true) => Ok("the index is deleted".to_owned()),
        Ok(false) => Ok("there was no index".to_owned()),
        Err(IndexError::Store(StoreError::Locked { .. })) => Err(not_ready(target, call)),
        Err(error) => Err(CallError::new(error, codebase)),
    }
}

fn lifecycle_of(codebase: &Codebase) -> Result<Lifecycle, CallError> {
    let state = codebase
        .check_trust()
        .and_then(|_| Ok(State::read_permitted(&codebase.store())?.0))
        .or_else(|error| match error {
            // The next run rebuilds it.
            IndexError::Store(error) if error.is_repairable() => Ok(None),
            error => Err(CallError::new(error, codebase)),
        })?;
    Ok(codebase.lifecycle_in(state.as_ref()))
}

fn is_damaged(codebase: &Codebase) -> bool {
    StoreReader::open(&codebase.store()).is_err_and(|error| error.is_repairable())
}

fn not_ready(target: &CallTarget, call: &Call) -> CallError {
    if call.is_stopped() { CallError::Stopped } else { call.lifecycle_error(target, &Lifecycle::Indexing) }
}

fn summary(codebase: &Codebase, report: &StatusReport) -> Result<Summary, CallError> {
    let gate = gate::check(codebase).ok().flatten();

    let has_index = report.indexed.is_some() || report.state == "indexing";
    let freshness = match has_index.then(|| freshness::decide(codebase)).transpose() {
        // Blobs that were missing from the clone have arrived since the index was built.
        Ok(Some(Freshness::Fresh)) if report.arrived_files > 0 || !report.members_behind.is_empty() => {
            Ok(Some(Freshness::Stale))
        }
        freshness => freshness,
    };

    Ok(Summary {
        state: report.state,
        reason: report.reason.clone(),
        freshness: freshness.map_err(|error| CallError::new(error, codebase))?,
        head: report.head.clone(),
        indexed: report.indexed.clone(),
        files: report.files,
        chunks: report.chunks,
        languages: report.languages.iter().take(12).cloned().collect(),
        skipped: report.skipped.clone(),
        indexing: gate.and_then(|gate| gate.indexing),
        last_failure: report.last_failure.clone(),
        hooks_installed: report.hooks.installed,
        model: report.model.name.clone(),
        warnings: report.warnings.clone(),
    })
}

fn state_message(index: &Summary, settings_changed: bool) -> String {
    let content = format!("{} files, {} chunks", index.files, index.chunks);

    match (index.state, index.freshness) {
        ("indexed", Some(Freshness::Fresh)) => format!("indexed and current: {content}"),
        ("indexed", _) if settings_changed => {
            format!("indexed with other settings than the present ones: {content}; sync applies them")
        }
        ("indexed", _) => format!("indexed, behind HEAD: {content}; questions see HEAD all the same"),
        ("indexing", _) => format!("being indexed, {content} so far"),
        ("requires_reindex", _) => "the index does not fit the settings; call reindex".to_owned(),
        ("index_failed", _) => "the last attempt to index failed; call create".to_owned(),
        _ => match &index.reason {
            Some(reason) => format!("not indexed: {reason}; call create, which continues"),
            None => "not indexed; call create".to_owned(),
        },
    }
}
