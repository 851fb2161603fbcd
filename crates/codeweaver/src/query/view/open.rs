//! Opening of a view: the revision is resolved, the working tree is compared, and the differences are laid
//! over the nearest snapshot.
//!
//! Nothing is written. Differences that are too large for an overlay are left to the updater, for which
//! [`ViewSource::open_or_update`] waits.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codeweaver_embed::Embedder;
use codeweaver_git::worktree::{StatusEngine, WorktreeChanges, WorktreeStatus};
use codeweaver_git::{BString, GitError, Oid, quoting};
use codeweaver_index::catalogue::Behind;
use codeweaver_index::overlay::{OverlaidFiles, Overlay, OverlayContext};
use codeweaver_index::policy::Policy;
use codeweaver_index::{Codebase, IndexError, Lifecycle, Target, arrivals};
use codeweaver_store::reader::{Moment, OpenFiles};
use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::state::Head;
use codeweaver_store::{StoreLayout, StoreReader};

use super::blob_cache::BlobCache;
use super::freshness::{self, RequestUpdate};
use super::limits::LimitedSnapshots;
use super::members::MembersCache;
use super::warnings::{newer_members, replaced_warning, tracked_warning};
use super::{Freshness, View, short};
use crate::query::cancel::Cancel;
use crate::query::error::QueryError;
use crate::query::members;
use crate::query::request::{RepoSet, ViewRequest, WorktreeMode};

/// Maximum number of times that the state is read again because a snapshot that it names was collected
/// meanwhile.
const MAX_RETRIES: usize = 3;
/// Time that a request for a named revision waits for the updater. It cannot be answered from another tree.
const REVISION_TIMEOUT: Duration = Duration::from_secs(3600);

/// A [`ViewRequest`] with its revision resolved.
#[derive(Clone)]
pub struct ViewTarget {
    /// The revision as typed, or `HEAD`.
    pub spec: String,
    pub target: Target,
    pub worktree: WorktreeInput,
    /// Files that are shown as they are on disk, whatever the status run reports. Without effect if the
    /// working tree is excluded.
    pub files: BTreeSet<BString>,
    /// The members of a catalogue that the tree of `target` has an older commit of.
    pub behind: Behind,
    /// Sentences for the user on this revision as a whole.
    pub warnings: Vec<String>,
    pub cancel: Cancel,
}

/// The source of the overlay of the working tree.
#[derive(Clone, Default)]
pub enum WorktreeInput {
    /// The view has no overlay of the working tree.
    #[default]
    Exclude,
    /// A status run that takes at most this time.
    Run(Duration),
    /// The status of a run that has just ended.
    Known(WorktreeStatus),
}

/// State that the views of one codebase share, kept by a long-lived process.
#[derive(Default)]
pub struct ViewCache {
    files: OpenFiles,
    worktree: StatusEngine,
    limited: LimitedSnapshots,
    members: MembersCache,
    blobs: Arc<BlobCache>,
}

impl ViewCache {
    /// See [`OpenFiles::now`].
    pub fn now(&self) -> Moment {
        self.files.now()
    }

    /// See [`OpenFiles::may_have_changed_since`].
    pub fn may_have_changed_since(&self, then: &Moment, store: &StoreLayout) -> bool {
        self.files.may_have_changed_since(then, store)
    }

    /// Forgets everything that was read from the files of `store`.
    pub fn distrust(&self, store: &StoreLayout) {
        self.files.distrust(store);
    }
}

/// Result of [`ViewSource::open`].
pub enum Opened {
    View(Box<View>),
    /// The tree is not indexed, and the difference is too large for an overlay. Holds a view of another tree,
    /// if there is one.
    Behind(Option<Box<View>>),
}

/// The snapshot that a view starts from.
enum Base {
    /// The one of a first index that is being built, with its head.
    Growing(Box<Head>, Snapshot),
    /// The one of the wanted tree.
    Exact(Snapshot),
    /// The one of another tree.
    Nearest(Snapshot),
}

/// A codebase with everything that its views are opened with.
#[derive(Clone, Copy)]
pub struct ViewSource<'a> {
    pub codebase: &'a Codebase,
    /// Embeds changed files. Without it they are found by their words only.
    pub embedder: Option<&'a dyn Embedder>,
    pub cache: &'a ViewCache,
}

impl<'a> ViewSource<'a> {
    /// Resolves the revision of `request`. HEAD of a catalogue has the members in `repos`, `None` for all, as
    /// they are.
    pub fn resolve(&self, request: &ViewRequest, repos: Option<&RepoSet>) -> Result<ViewTarget, QueryError> {
        let cancel = request.cancel.clone();
        let mut warnings: Vec<String> = replaced_warning(&self.codebase.repo)?.into_iter().collect();

        match request.revision.as_deref() {
            None => {
                let worktree = match request.worktree {
                    WorktreeMode::Include => WorktreeInput::Run(request.budget),
                    WorktreeMode::Exclude => WorktreeInput::Exclude,
                };
                let behind = members::follow(&self.codebase.repo, repos)?;
                let target = Target::head(self.codebase)?;
                warnings.extend(tracked_warning(&self.codebase.repo, target.tree.as_ref()));
                let files = request.files.iter().map(|path| quoting::bytes(path)).collect();
                let spec = "HEAD".to_owned();
                Ok(ViewTarget { spec, target, worktree, files, behind, warnings, cancel })
            }

            Some(spec) => {
                let revision = self.codebase.repo.resolve(spec)?;
                let target = Target {
                    tree: Some(revision.tree),
                    commit: revision.commit,
                    reference: None,
                    is_head: false,
                };
                // A named revision is shown as committed.
                let (worktree, files, behind) = Default::default();
                let spec = spec.to_owned();
                Ok(ViewTarget { spec, target, worktree, files, behind, warnings, cancel })
            }
        }
    }

    /// Opens the view of `request`, as [`Self::open_or_update`] does.
    pub fn view(&self, request: &ViewRequest, update: RequestUpdate<'_>) -> Result<View, QueryError> {
        self.open_or_update(&self.resolve(request, None)?, request.timeout, update)
    }

    /// Opens the view of `wanted`. If its tree is not indexed, requests an update and waits: at most
    /// `timeout` for HEAD, after which the view of an older tree is returned, and up to an hour for a named
    /// revision.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] if a named revision could not be indexed; [`QueryError::Gated`] if there is
    /// no index.
    pub fn open_or_update(
        &self,
        wanted: &ViewTarget,
        timeout: Duration,
        update: RequestUpdate<'_>,
    ) -> Result<View, QueryError> {
        wanted.cancel.check()?;
        let is_head = wanted.target.is_head;
        let outdated = match self.open(wanted)? {
            Opened::View(view) => return Ok(*view),
            Opened::Behind(outdated) => outdated,
        };

        let timeout = if is_head { timeout } else { REVISION_TIMEOUT };
        let freshness = freshness::sync(self.codebase, &wanted.target, timeout, update)?;
        wanted.cancel.check()?;

        if freshness == Freshness::Synced
            && let Opened::View(mut view) = self.open(wanted)?
        {
            if view.freshness == Freshness::Fresh {
                view.freshness = Freshness::Synced;
            }
            return Ok(*view);
        }

        // An older tree answers for HEAD, but not for a revision that was asked for by name.
        match outdated.filter(|_| is_head) {
            Some(mut view) => {
                if freshness == Freshness::SkippedIndexing {
                    view.freshness = freshness;
                }
                Ok(*view)
            }
            None => Err(QueryError::NotFound { what: format!("{} could not be indexed", wanted.spec) }),
        }
    }

    /// Opens the view of `wanted` from what is indexed. Never waits for the updater.
    pub fn open(&self, wanted: &ViewTarget) -> Result<Opened, QueryError> {
        let mut attempt = 0;
        loop {
            match self.try_open(wanted) {
                // The snapshot was collected after the state that names it was read. By now there is a newer
                // state.
                Err(QueryError::Store(e)) if e.is_not_found() && attempt < MAX_RETRIES => attempt += 1,
                Err(QueryError::Store(e)) => return Err(e.or_damage().into()),
                result => return result,
            }
        }
    }

    /// The status of the working tree against `target` that is expected before the tree is compared; `None`
    /// if nothing is known, or if a comparison takes no time.
    pub fn expected_status(&self, target: &Target) -> Option<WorktreeStatus> {
        let codebase = self.codebase;
        codebase.repo.work_dir()?;
        self.cache.worktree.expected(&codebase.repo, target.tree.as_ref(), &codebase.stat_cache())
    }

    /// The status of the working tree against `target`, within `budget`.
    pub fn status(&self, target: &Target, budget: Duration) -> Result<WorktreeStatus, GitError> {
        let codebase = self.codebase;
        let tree = target.tree.as_ref();
        self.cache.worktree.status(&codebase.repo, tree, &codebase.stat_cache(), budget)
    }

    /// The store as it is; `None` if there is none.
    pub fn store(&self) -> Result<Option<StoreReader>, QueryError> {
        Ok(StoreReader::open_permitted(&self.codebase.store(), &self.cache.files)?)
    }

    /// See [`StatusEngine::scan_after`].
    pub fn scan_after(&self, age: Duration) {
        self.cache.worktree.scan_after(age);
    }

    /// Makes the next status run stat every path again.
    pub fn invalidate_status(&self) {
        self.cache.worktree.invalidate();
    }

    /// Opens the view of `wanted` once. Fails if a snapshot that the state names was collected meanwhile.
    fn try_open(&self, wanted: &ViewTarget) -> Result<Opened, QueryError> {
        let codebase = self.codebase;
        codebase.check_trust()?;
        let budget = match &wanted.worktree {
            WorktreeInput::Run(budget) if codebase.repo.work_dir().is_some() => *budget,
            WorktreeInput::Known(status) => {
                let status = status.clone();
                return self.open_with_status(wanted, || Ok(Some(status)));
            }
            WorktreeInput::Exclude | WorktreeInput::Run(_) => {
                return self.open_with_status(wanted, || Ok(None));
            }
        };

        let run = || self.status(&wanted.target, budget).map(Some);
        if self.cache.worktree.is_monitored() || !codebase.has_snapshot(&wanted.target) {
            return self.open_with_status(wanted, run);
        }

        // A status run takes longer than opening the index and shares no state with it, so both run at once.
        std::thread::scope(|scope| {
            let running = scope.spawn(run);
            self.open_with_status(wanted, || {
                running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    /// Opens the view of `wanted` with the overlay of the changes that `status` returns. `None` leaves the
    /// working tree out.
    fn open_with_status(
        &self,
        wanted: &ViewTarget,
        status: impl FnOnce() -> Result<Option<WorktreeStatus>, GitError>,
    ) -> Result<Opened, QueryError> {
        let codebase = self.codebase;
        let reader = StoreReader::open_permitted(&codebase.store(), &self.cache.files)?;
        let lifecycle = codebase.lifecycle(reader.as_ref());
        let Some(reader) = reader else { return Err(QueryError::Gated(lifecycle)) };

        let (base, has_arrivals) = match self.base(&reader, &lifecycle, &wanted.target)? {
            Base::Growing(head, snapshot) => return self.growing(reader, &head, snapshot, wanted),
            Base::Exact(snapshot) => {
                let has_arrivals = arrivals::count(codebase, &reader, &snapshot) > 0;
                (snapshot, Some(has_arrivals))
            }
            Base::Nearest(snapshot) => (snapshot, None),
        };
        let is_exact = has_arrivals == Some(false);
        let has_arrivals = has_arrivals == Some(true);

        let policy = self.policy(wanted)?;
        let is_shown_exactly = is_exact || self.shows_same(&base, wanted)?;
        let mut builder = Builder::new(self, &policy, reader, base, wanted);
        if !is_shown_exactly && !builder.add_tree()? {
            let view = builder.finish_behind(has_arrivals)?;
            return Ok(Opened::Behind(Some(Box::new(view))));
        }

        if let Some(status) = status()? {
            builder.add_worktree(Some(status))?;
        }
        let mut view = builder.finish();
        view.needs_update |= has_arrivals && wanted.target.is_head;
        view.is_revision_overlaid = !is_shown_exactly && !wanted.target.is_head;
        // The index that answers is being replaced.
        if lifecycle == Lifecycle::Indexing {
            view.freshness = Freshness::SkippedIndexing;
        }
        Ok(Opened::View(Box::new(view)))
    }

    /// The snapshot that requests about `target` are answered from.
    ///
    /// # Errors
    /// [`QueryError::Gated`] if the index refuses every request.
    fn base(&self, reader: &StoreReader, lifecycle: &Lifecycle, target: &Target) -> Result<Base, QueryError> {
        let codebase = self.codebase;

        // While a complete index is being replaced, its snapshot answers; only a first index answers as it
        // grows.
        if let Some(head) = codebase.head_in(&reader.state)
            && head.marker.is_none()
            && *lifecycle == Lifecycle::Indexing
            && let Some(snapshot) = self.snapshot(reader, &head.snapshot)?
        {
            return Ok(Base::Growing(Box::new(head.clone()), snapshot));
        }
        if matches!(lifecycle, Lifecycle::RequiresReindex { .. } | Lifecycle::IndexFailed(_)) {
            return Err(QueryError::Gated(lifecycle.clone()));
        }

        if let Some(snapshot) = self.snapshot(reader, &codebase.snapshot_key(&target.tree_oid()))? {
            return Ok(Base::Exact(snapshot));
        }
        match self.nearest_snapshot(reader)? {
            Some(snapshot) => Ok(Base::Nearest(snapshot)),
            None if *lifecycle == Lifecycle::Indexed => Err(QueryError::Gated(Lifecycle::NotIndexed)),
            None => Err(QueryError::Gated(lifecycle.clone())),
        }
    }

    /// Checks that the index answers requests about HEAD.
    ///
    /// # Errors
    /// As those requests: [`QueryError::Gated`] if there is no index that answers.
    pub fn check(&self) -> Result<(), QueryError> {
        self.codebase.check_trust()?;
        let reader = self.store()?;
        let lifecycle = self.codebase.lifecycle(reader.as_ref());
        let Some(reader) = reader else { return Err(QueryError::Gated(lifecycle)) };
        self.base(&reader, &lifecycle, &Target::head(self.codebase)?).map(drop)
    }

    /// The view of the snapshot that grows while a first index is being built.
    fn growing(
        &self,
        reader: StoreReader,
        head: &Head,
        snapshot: Snapshot,
        wanted: &ViewTarget,
    ) -> Result<Opened, QueryError> {
        let policy = self.policy(wanted)?;
        let mut builder = Builder::new(self, &policy, reader, snapshot, wanted);
        builder.add_worktree(None)?;

        let mut view = builder.finish();
        view.freshness = Freshness::SkippedIndexing;
        // The numbers are those of all members.
        view.coverage = head.progress.filter(|_| !self.codebase.repo.is_limited());
        view.warnings.push("Results may be incomplete, indexing in progress".to_owned());
        Ok(Opened::View(Box::new(view)))
    }

    /// The snapshot with `key`, as far as the codebase may be seen; `None` if the state does not name it.
    pub fn snapshot(&self, reader: &StoreReader, key: &str) -> Result<Option<Snapshot>, QueryError> {
        let Some(whole) = reader.snapshot(key)? else { return Ok(None) };
        self.cache.limited.limit(whole, reader, &self.codebase.repo).map(Some)
    }

    /// The complete snapshot that an overlay starts from: that of this worktree if it has one, else that of
    /// another.
    fn nearest_snapshot(&self, reader: &StoreReader) -> Result<Option<Snapshot>, QueryError> {
        let own = self.codebase.head_in(&reader.state);
        let others = reader
            .state
            .heads
            .iter()
            .filter(|(key, _)| **key != self.codebase.worktree_key)
            .map(|(_, head)| head);

        for head in own.into_iter().chain(others).filter(|head| head.marker.is_some()) {
            if let Some(snapshot) = self.snapshot(reader, &head.snapshot)? {
                return Ok(Some(snapshot));
            }
        }
        Ok(None)
    }

    /// Returns whether the tree of `base` differs from that of `wanted` only in members of a catalogue that
    /// may not be seen.
    fn shows_same(&self, base: &Snapshot, wanted: &ViewTarget) -> Result<bool, QueryError> {
        let repo = &self.codebase.repo;
        let is_current = base.totals.settings == self.codebase.settings_fingerprint;
        let (true, true, Some(tree), Ok(base)) = (
            repo.is_limited(),
            is_current,
            wanted.target.tree,
            Oid::from_hex(base.totals.tree_oid.as_bytes()),
        ) else {
            return Ok(false);
        };

        Ok(repo.shown_tree(&base)? == repo.shown_tree(&tree)?)
    }

    /// The policy of the tree of `wanted`.
    pub fn policy(&self, wanted: &ViewTarget) -> Result<Policy, QueryError> {
        let codebase = self.codebase;
        let policy = Policy::for_tree(&codebase.repo, wanted.target.tree.as_ref(), &codebase.settings.policy);
        Ok(policy.map_err(IndexError::from)?)
    }
}

/// A sentence for the user that names the first of `places` and says `what` is true of them all; `None` if
/// there are none.
fn unreadable_warning(places: &[BString], what: &str) -> Option<String> {
    /// Maximum number of places that are named.
    const MAX_NAMED: usize = 5;

    let names: Vec<String> = places.iter().take(MAX_NAMED).map(name_of).collect();
    let others = match places.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (!places.is_empty()).then(|| format!("{}{others} {what}", names.join(", ")))
}

/// A path as it is typed in a shell; the root is `./`.
fn name_of(place: &BString) -> String {
    if place.is_empty() { "./".to_owned() } else { quoting::argument(&quoting::text(place)).into_owned() }
}

/// A view under construction.
struct Builder<'a> {
    source: &'a ViewSource<'a>,
    wanted: &'a ViewTarget,
    overlay: Overlay<'a>,
    status: Option<WorktreeStatus>,
    warnings: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(
        source: &'a ViewSource<'a>,
        policy: &'a Policy,
        reader: StoreReader,
        snapshot: Snapshot,
        wanted: &'a ViewTarget,
    ) -> Builder<'a> {
        let context = OverlayContext {
            codebase: source.codebase,
            policy,
            embedder: source.embedder,
            files: &source.cache.files,
            progress: &wanted.cancel,
        };

        let denied = reader.denied.as_ref().map(|denied| {
            format!("{denied}; an older index answers, and `git codeweaver doctor` names the command that mends this")
        });

        let overlay = Overlay::new(context, reader, snapshot);
        let warnings = wanted.warnings.iter().cloned().chain(denied).collect();
        Builder { source, wanted, overlay, status: None, warnings }
    }

    /// Lays the difference to the wanted tree over the snapshot. Returns false if it is too large.
    fn add_tree(&mut self) -> Result<bool, QueryError> {
        let added = self.overlay.add_tree(&self.wanted.target);
        self.wanted.cancel.check()?;
        Ok(added?)
    }

    /// Lays the changes of the working tree, and the wanted files as they are on disk, over the tree. Without
    /// a status, only the wanted files.
    fn add_worktree(&mut self, status: Option<WorktreeStatus>) -> Result<(), QueryError> {
        if matches!(self.wanted.worktree, WorktreeInput::Exclude) || self.source.codebase.repo.is_bare() {
            return Ok(());
        }
        self.wanted.cancel.check()?;

        let n_filtered = status.as_ref().map_or(0, |status| status.changes.filtered.len());
        if n_filtered > 0 {
            self.warnings
                .push(format!("{n_filtered} changed files have a filter driver and are shown as committed"));
        }

        let cannot_be_read = "cannot be read: what is committed there is shown, and may be outdated";
        if let Some(WorktreeChanges { unreadable, unlisted, .. }) = status.as_ref().map(|it| &*it.changes) {
            self.warnings.extend(unreadable_warning(unreadable, cannot_be_read));
            let cannot_be_listed = "cannot be listed: untracked files there are not shown";
            self.warnings.extend(unreadable_warning(unlisted, cannot_be_listed));
        }

        let added = self.overlay.add_worktree(status.as_ref(), &self.wanted.files, &self.wanted.target);
        self.warnings.extend(unreadable_warning(&self.overlay.worktree.unreadable, cannot_be_read));
        // If the request was cancelled, that is the error to report.
        self.wanted.cancel.check()?;
        added?;
        self.warnings.extend(pending_warning(&self.overlay.worktree));
        self.status = status;
        Ok(())
    }

    /// The view of another tree, because the difference to the wanted one is too large. `has_arrivals` says
    /// that the wanted tree is indexed without files that have arrived in this clone since.
    fn finish_behind(mut self, has_arrivals: bool) -> Result<View, QueryError> {
        self.add_worktree(None)?;
        let (source, wanted) = (self.source, self.wanted);
        let mut view = self.finish();
        view.freshness = Freshness::Stale;
        view.needs_update |= has_arrivals && wanted.target.is_head;
        view.behind.moved.extend(newer_members(&view, &source.codebase.repo, &wanted.target));

        let has_tree = view.tree_oid == wanted.target.tree_oid();
        view.warnings.push(match (has_arrivals, has_tree) {
            (true, _) => "files that have arrived in this clone are not indexed yet".to_owned(),
            (false, true) => {
                format!(
                    "{} is indexed with other settings, the present ones are not applied yet",
                    wanted.spec
                )
            }
            (false, false) => {
                format!(
                    "the index is of tree {}, {} is not indexed yet",
                    short(&view.shown_tree),
                    wanted.spec
                )
            }
        });
        Ok(view)
    }

    /// The view of everything that was laid over the snapshot.
    fn finish(self) -> View {
        let Builder { source, wanted, overlay, status, warnings } = self;
        let codebase = source.codebase;
        let Overlay { reader, snapshot, is_applied, worktree, files, .. } = overlay;

        let head = codebase.repo.head().ok();
        let n_unchecked = status.as_ref().map_or(0, |status| status.changes.unchecked);
        let head_tree = head.as_ref().and_then(|head| head.tree).map(|oid| oid.to_string());

        let shown_tree = Oid::from_hex(snapshot.totals.tree_oid.as_bytes());
        let catalogue = shown_tree.as_ref().ok().and_then(|tree| codebase.repo.members_of(tree).ok());
        let shown_tree = shown_tree.ok().and_then(|tree| codebase.repo.shown_tree(&tree).ok());
        // The commits of a catalogue are those of all its members.
        let seen = |commit: Option<Oid>| {
            commit.filter(|_| !codebase.repo.is_limited()).map(|commit| commit.to_string())
        };

        View {
            catalogue: catalogue.unwrap_or_default(),
            whole: None,
            members: source.cache.members.get(&reader, &snapshot.entries),
            blobs: source.cache.blobs.clone(),
            freshness: match is_applied || !worktree.pending.is_empty() {
                _ if !wanted.behind.moved.is_empty() => Freshness::Stale,
                true => Freshness::Overlaid,
                false => Freshness::Fresh,
            },
            behind: wanted.behind.clone(),
            tree_oid: snapshot.totals.tree_oid.clone(),
            shown_tree: shown_tree.map(|tree| tree.to_string()).unwrap_or_default(),
            spec: wanted.spec.clone(),
            is_limited: codebase.repo.is_limited(),
            commit: seen(wanted.target.commit),
            head_commit: seen(head.and_then(|head| head.commit)),
            // The updater could not read it either.
            needs_update: reader.denied.is_none()
                && (!worktree.pending.is_empty()
                    || freshness::is_comparison_due(codebase, n_unchecked)
                    || !freshness::is_current(codebase, Some(&*reader.state), head_tree.as_deref())),
            is_revision_overlaid: false,
            n_dirty: status.as_ref().map_or(0, |status| status.changes.changes.len()),
            n_unchecked,
            status,
            warnings,
            coverage: None,
            files: Mutex::new(files),
            worktree,
            reader,
            snapshot,
        }
    }
}

/// A sentence for the user on changed files that are left to the updater; `None` if there are none.
fn pending_warning(worktree: &OverlaidFiles) -> Option<String> {
    let (files, they) = match worktree.pending.len() {
        0 => return None,
        1 => ("1 changed file is not searched as it is".to_owned(), "it is"),
        n => (format!("{n} changed files are not searched as they are"), "they are"),
    };
    Some(format!("{files} on disk yet; {they} being indexed, search again in a moment"))
}
