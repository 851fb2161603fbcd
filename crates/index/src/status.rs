//! The status of an index: its content, how current it is, and what is running. Reads only and takes no lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeweaver_embed as embed;
use codeweaver_git::hooks::{self, Event, EventState, HookSite, Method, Scope};
use codeweaver_git::{self as git, Head, Oid};
use codeweaver_store::chunking::Chunking;
use codeweaver_store::reader::OpenFiles;
use codeweaver_store::snapshot::{Snapshot, Totals};
use codeweaver_store::state::{RunRecord, State};
use codeweaver_store::{StoreError, StoreReader, time};

use super::arrivals;
use super::catalogue::{self, Behind};
use super::checkpoint::Checkpoint;
use super::codebase::Codebase;
use super::error::IndexError;
use super::lifecycle::Lifecycle;
use crate::policy::{SkipReason, skip_reason};

/// Commits are counted up to this number; a larger lag is reported without a count.
const MAX_LAG: usize = 1000;

/// The content of `status`.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct StatusReport {
    /// `not_indexed`, `indexing`, `indexed`, `index_failed`, `requires_reindex`, or `unreadable` if this user
    /// may not read the store, or if it is in a stash.
    pub state: &'static str,
    /// The reason, for states that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that leads to an index, where there is none that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'static str>,
    /// Whether `init` was run in this repository.
    pub initialised: bool,
    /// Whether the index answers for exactly the tree of HEAD under the present settings, with all files
    /// whose blobs are in this clone.
    pub current: bool,
    /// Number of files whose blobs have arrived in this clone since. The next update indexes them.
    pub arrived_files: usize,
    /// Members of a catalogue with a newer commit, which the next query reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members_behind: Vec<String>,
    /// Whether the index was built with other settings for what is indexed and how it is chunked.
    pub settings_changed: bool,
    /// Root of this worktree.
    pub codebase: PathBuf,
    pub worktree: String,
    pub store: PathBuf,
    pub head: Place,
    /// The place that the index answers for; absent before the first snapshot.
    pub indexed: Option<Place>,
    pub lag: Lag,
    pub files: u64,
    pub chunks: u64,
    /// Files and chunks by language, the largest number of files first.
    pub languages: Vec<LanguageCount>,
    /// Skipped paths by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// The skipped paths, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_files: Option<Vec<SkippedFile>>,
    pub size_bytes: Sizes,
    /// The run in progress, or the one that was interrupted.
    pub progress: Option<RunProgress>,
    pub last_run: Option<LastRun>,
    /// The reason why the last run failed.
    pub last_failure: Option<String>,
    pub hooks: HooksInfo,
    pub model: ModelInfo,
    /// The holder of the work lease, for example `PID 4711, started 2026-11-21T10:00:00Z`.
    pub lock_holder: Option<String>,
    /// Whether an update was requested that has not begun.
    pub update_wanted: bool,
    pub warnings: Vec<String>,
}

/// A commit with its tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Place {
    pub commit: Option<String>,
    pub tree: Option<String>,
    /// For example `refs/heads/main`; absent if HEAD is detached.
    pub reference: Option<String>,
}

/// The distance of the index from HEAD.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Lag {
    pub behind: bool,
    /// Commits of HEAD that the indexed commit does not contain, where that is cheap to count.
    pub commits: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct LanguageCount {
    pub language: String,
    pub files: u64,
    pub chunks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct SkippedFile {
    pub path: String,
    pub reason: &'static str,
}

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Sizes {
    pub shards: u64,
    pub segments: u64,
    pub entries: u64,
    pub snapshots: u64,
    pub graphs: u64,
    /// State, locks, caches and records.
    pub other: u64,
    /// Stores of other models.
    pub other_models: u64,
    pub total: u64,
}

/// Progress of a run, also of an interrupted one.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct RunProgress {
    pub is_running: bool,
    pub files_processed: u64,
    pub files_total: u64,
    pub chunks_created: u64,
    /// A file that is being read.
    #[serde(skip)]
    pub current_file: Option<String>,
    /// Files that were left out because of an error, and the error that ended the run.
    pub errors: u64,
    pub elapsed_seconds: u64,
    pub eta_seconds: Option<u64>,
    pub last_update: String,
}

#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct LastRun {
    pub finished_at: String,
    /// The same in seconds since 1970.
    #[serde(skip)]
    pub finished_seconds: u64,
    pub duration_ms: u64,
    pub files_changed: u64,
    pub chunks_created: u64,
    pub embedded_chunks: u64,
    /// Times, numbers and sizes of the chunks, if any were made.
    #[serde(skip_serializing_if = "Chunking::is_empty")]
    pub chunking: Chunking,
}

impl From<&RunRecord> for LastRun {
    fn from(run: &RunRecord) -> LastRun {
        LastRun {
            finished_at: time::rfc3339(run.finished_at),
            finished_seconds: run.finished_at,
            duration_ms: run.duration_ms,
            files_changed: run.files_changed,
            chunks_created: run.chunks_created,
            embedded_chunks: run.embedded_chunks,
            chunking: run.chunking.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct HooksInfo {
    pub installed: bool,
    /// `configuration`, `global_configuration`, or the directory of the hook files.
    pub method: Option<String>,
    pub events: BTreeMap<&'static str, String>,
    pub binary: Option<PathBuf>,
    pub binary_found: bool,
    pub mode: &'static str,
    /// The reason why the hooks cannot be inspected.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct ModelInfo {
    pub name: String,
    /// Fingerprint of the vector space.
    pub vector_space: String,
}

/// Collects the report. A damaged store is a warning and not an error, since users run `status` when
/// something is wrong.
pub fn status(codebase: &Codebase, with_files: bool) -> Result<StatusReport, IndexError> {
    let mut warnings = codebase.loaded.warnings.clone();
    warnings.extend(codebase.model_problem.as_ref().map(|problem| format!("{problem}; {}", problem.fix())));
    let files = OpenFiles::default();
    let Opened { state, reader, unreadable } = open(codebase, &files, &mut warnings);

    let lifecycle = codebase.lifecycle(reader.as_ref());
    let own = state.as_ref().and_then(|state| codebase.head_in(state));
    let snapshot = match (&reader, own) {
        (Some(reader), Some(head)) => reader.snapshot(&head.snapshot).unwrap_or_else(|e| {
            warnings.push(e.to_string());
            None
        }),
        _ => None,
    };

    let totals = snapshot.as_ref().map(|snapshot| snapshot.totals.clone()).unwrap_or_default();
    let head = codebase.repo.head()?;

    let indexed = snapshot.as_ref().map(|_| Place {
        commit: own.and_then(|own| own.commit.clone()),
        tree: (!totals.tree_oid.is_empty()).then(|| totals.tree_oid.clone()),
        reference: own.and_then(|own| own.reference.clone()),
    });

    let is_of_head = lifecycle == Lifecycle::Indexed && is_of(&totals, codebase, &head);
    let arrived_files = match (&reader, &snapshot) {
        (Some(reader), Some(snapshot)) if is_of_head => arrivals::count(codebase, reader, snapshot),
        _ => 0,
    };
    warnings.extend(snapshot.as_ref().and_then(|snapshot| missing_warning(snapshot, arrived_files)));
    let settings_changed = snapshot.is_some() && totals.settings != codebase.settings_fingerprint;

    let lag = lag(codebase, &head, indexed.as_ref().filter(|_| totals.complete));
    let Behind { moved, unchecked } = catalogue::behind(&codebase.repo)?;
    if !unchecked.is_empty() {
        warnings.push(format!("{} repositories were not looked at in time for new commits", unchecked.len()));
    }

    let lock_holder = codebase.lease_holder();
    Ok(StatusReport {
        state: if unreadable.is_some() { "unreadable" } else { lifecycle.name() },
        fix: unreadable.as_ref().map(|_| "git codeweaver doctor").or_else(|| codebase.remedy(&lifecycle)),
        reason: unreadable.or_else(|| lifecycle.reason()),
        initialised: codebase.layout.was_initialised(),
        current: is_of_head && arrived_files == 0 && moved.is_empty() && unchecked.is_empty(),
        arrived_files,
        settings_changed,
        codebase: codebase.root(),
        worktree: codebase.worktree_key.clone(),
        store: codebase.layout.root().to_path_buf(),
        lag: Lag { behind: lag.behind || !moved.is_empty(), ..lag },
        members_behind: moved,
        head: Place {
            commit: head.commit.map(|oid| oid.to_string()),
            tree: head.tree.map(|oid| oid.to_string()),
            reference: head.reference,
        },
        indexed,
        files: totals.n_paths,
        chunks: totals.n_rows,
        languages: reader.as_ref().zip(snapshot.as_ref()).map(|(r, s)| languages(r, s)).unwrap_or_default(),
        skipped: skipped_counts(&totals),
        skipped_files: match (with_files, &reader, &snapshot) {
            (true, Some(reader), Some(snapshot)) => Some(skipped_files(reader, snapshot)),
            (true, ..) => Some(Vec::new()),
            _ => None,
        },
        size_bytes: sizes(codebase),
        progress: progress(codebase, lock_holder.is_some()),
        last_run: own.and_then(|own| own.last_run.as_ref()).map(LastRun::from),
        last_failure: own.and_then(|own| own.failure.clone()),
        hooks: hooks_info(codebase),
        model: ModelInfo {
            name: embed::name_of(&codebase.settings.model),
            vector_space: codebase.vector_space.clone(),
        },
        update_wanted: codebase.layout.update_requests().join(&codebase.worktree_key).exists(),
        lock_holder,
        warnings,
    })
}

/// The store, as far as this user can read it.
#[derive(Default)]
struct Opened {
    state: Option<State>,
    /// `None` if the store is missing or damaged.
    reader: Option<StoreReader>,
    /// The error, if this user may not read the store, or if it is in a stash.
    unreadable: Option<String>,
}

/// Opens the store, or only its state if something else is damaged. Adds a warning for everything that is
/// wrong.
fn open(codebase: &Codebase, files: &OpenFiles, warnings: &mut Vec<String>) -> Opened {
    let store = codebase.store();
    let opened = codebase.check_trust().and_then(|_| Ok(StoreReader::open_permitted(&store, files)?));

    match opened {
        Ok(reader) => {
            let denied = reader.as_ref().and_then(|reader| reader.denied.as_ref());
            warnings.extend(denied.map(|denied| format!("{denied}; an older index answers")));
            let state = reader.as_ref().map(|reader| (*reader.state).clone());
            Opened { state, reader, unreadable: None }
        }
        Err(IndexError::Store(e)) if e.is_denied() || matches!(e, StoreError::Stashed { .. }) => {
            Opened { unreadable: Some(e.to_string()), ..Opened::default() }
        }
        Err(e) => {
            warnings.push(e.to_string());
            Opened { state: State::read(&store.state()).ok().flatten(), ..Opened::default() }
        }
    }
}

/// Number of skipped paths by the name of the reason.
fn skipped_counts(totals: &Totals) -> BTreeMap<&'static str, u64> {
    let counts = totals.skipped.iter();
    counts.filter_map(|(number, count)| Some((skip_reason(*number)?.name(), *count))).collect()
}

/// The warning about the blobs that `snapshot` lacks, of which `n_arrived` are local by now; `None` if it
/// lacks none.
fn missing_warning(snapshot: &Snapshot, n_arrived: usize) -> Option<String> {
    let n_missing = arrivals::n_missing(snapshot);
    let arrived = match n_arrived {
        0 => String::new(),
        n => format!("; {n} of them have arrived since and are indexed by the next search or hook"),
    };
    let files = if n_missing == 1 { "1 file is" } else { &format!("{n_missing} files are") };

    (n_missing > 0).then(|| {
        format!("{files} not indexed, because their contents are not in this partial clone{arrived}")
    })
}

/// Returns whether a snapshot with these totals answers for exactly the tree of `head`.
fn is_of(totals: &Totals, codebase: &Codebase, head: &Head) -> bool {
    let tree = head.tree.map(|oid| oid.to_string()).unwrap_or_default();
    totals.complete && totals.tree_oid == tree && totals.settings == codebase.settings_fingerprint
}

fn lag(codebase: &Codebase, head: &Head, indexed: Option<&Place>) -> Lag {
    let tree = head.tree.map(|oid| oid.to_string());
    if indexed.is_some_and(|complete| complete.tree == tree) {
        return Lag { behind: false, commits: Some(0) };
    }

    let indexed = indexed.and_then(|place| Oid::from_hex(place.commit.as_deref()?.as_bytes()).ok());
    let commits =
        head.commit.zip(indexed).and_then(|(head, indexed)| commits_between(codebase, indexed, head));
    Lag { behind: true, commits }
}

/// Number of commits reachable from `head` and not from `base`; `None` if there are too many or some are not
/// in this clone.
fn commits_between(codebase: &Codebase, base: Oid, head: Oid) -> Option<u64> {
    let repo = codebase.repo.local();
    let walk = repo.rev_walk([head]).with_hidden([base]).all().ok()?;
    let commits: Result<Vec<_>, _> = walk.take(MAX_LAG + 1).collect();
    let n = commits.ok()?.len();
    (n <= MAX_LAG).then_some(n as u64)
}

/// The languages of the indexed files of `snapshot`, most frequent first.
pub fn languages(reader: &StoreReader, snapshot: &Snapshot) -> Vec<LanguageCount> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();

    for (_, record, _) in reader.live_entries(&snapshot.entries) {
        let Some((segment, ordinal)) = reader.locate_doc(record.doc) else { continue };
        let segment = &reader.segments[segment];
        let Some(doc) = segment.docs().get(ordinal as usize).filter(|doc| doc.n_rows > 0) else { continue };

        let count = counts.entry(segment.language(doc.language)).or_default();
        count.0 += 1;
        count.1 += u64::from(doc.n_rows);
    }

    let mut rows: Vec<LanguageCount> = counts
        .into_iter()
        .map(|(language, (files, chunks))| LanguageCount { language: language.to_owned(), files, chunks })
        .collect();
    rows.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.language.cmp(&b.language)));
    rows
}

/// The skipped files, sorted by reason, then path.
fn skipped_files(reader: &StoreReader, snapshot: &Snapshot) -> Vec<SkippedFile> {
    let mut files = Vec::new();
    for (_, record, path) in reader.live_entries(&snapshot.entries) {
        // A path is skipped by its entry, or by the doc of its blob.
        let reason = skip_reason(record.skipped).or_else(|| doc_reason(reader, record.doc));
        if let Some(reason) = reason {
            files.push(SkippedFile { path: git::quoting::text(path), reason: reason.name() });
        }
    }

    files.sort_by(|a, b| (a.reason, &a.path).cmp(&(b.reason, &b.path)));
    files
}

fn doc_reason(reader: &StoreReader, doc: u32) -> Option<SkipReason> {
    let (segment, ordinal) = reader.locate_doc(doc)?;
    skip_reason(reader.segments[segment].docs().get(ordinal as usize)?.skipped)
}

fn sizes(codebase: &Codebase) -> Sizes {
    let store = codebase.store();
    let [shards, segments, entries, snapshots, graphs] = store.content_dirs().map(|dir| bytes_below(&dir));
    let others = codebase.layout.stores().into_iter().filter(|other| *other != store);
    let other_models = others.map(|other| bytes_below(other.root())).sum();

    let total = bytes_below(codebase.layout.root());
    let other = total.saturating_sub(shards + segments + entries + snapshots + graphs + other_models);
    Sizes { shards, segments, entries, snapshots, graphs, other, other_models, total }
}

/// The sum of the lengths of all files below `dir`. Links are not followed.
fn bytes_below(dir: &Path) -> u64 {
    let children = std::fs::read_dir(dir).into_iter().flatten().flatten();
    children
        .map(|child| match child.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&child.path()),
            Ok(metadata) if metadata.is_file() => metadata.len(),
            _ => 0,
        })
        .sum()
}

fn progress(codebase: &Codebase, is_running: bool) -> Option<RunProgress> {
    let record = Checkpoint::read(codebase)?;
    let elapsed = record.last_checkpoint.saturating_sub(record.start_time);
    let eta = record.seconds_left().filter(|_| is_running);

    Some(RunProgress {
        is_running,
        files_processed: record.files_processed,
        files_total: record.files_total,
        chunks_created: record.chunks_created,
        current_file: record.current_file,
        errors: record.errors,
        elapsed_seconds: elapsed,
        eta_seconds: eta,
        last_update: time::rfc3339(record.last_checkpoint),
    })
}

fn hooks_info(codebase: &Codebase) -> HooksInfo {
    let mode = codebase.settings.hooks.mode.name();

    match hooks::inspect(&hook_site(codebase)) {
        Ok(status) => HooksInfo {
            installed: status.is_installed(),
            method: Some(match &status.method {
                Method::Configuration(Scope::Local) => "configuration".to_owned(),
                Method::Configuration(Scope::Global) => "global_configuration".to_owned(),
                Method::Files(dir) => dir.to_string_lossy().into_owned(),
            }),
            events: status.events.iter().map(|(event, state)| (event.name(), state_name(*state))).collect(),
            binary: status.recorded_binary,
            binary_found: status.binary_found,
            mode,
            problem: None,
        },
        Err(e) => HooksInfo {
            installed: false,
            method: None,
            events: Event::for_site(&hook_site(codebase))
                .iter()
                .map(|event| (event.name(), "unknown".to_owned()))
                .collect(),
            binary: None,
            binary_found: false,
            mode,
            problem: Some(e.to_string()),
        },
    }
}

/// The directories in which git looks for the hooks of this codebase.
pub fn hook_site(codebase: &Codebase) -> HookSite {
    HookSite {
        git_dir: codebase.repo.git_dir().to_path_buf(),
        common_dir: codebase.repo.common_dir().to_path_buf(),
        work_dir: codebase.repo.work_dir().map(ToOwned::to_owned),
    }
}

fn state_name(state: EventState) -> String {
    match state {
        EventState::Current => "current".to_owned(),
        EventState::Outdated => "outdated".to_owned(),
        EventState::Native(manager) => format!("called by {}", manager.name()),
        EventState::SwitchedOff => "switched off".to_owned(),
        EventState::Foreign => "another hook, without us".to_owned(),
        EventState::Missing => "missing".to_owned(),
    }
}
