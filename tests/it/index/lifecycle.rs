//! States of a codebase and their transitions, loss and replacement of the store, garbage collection.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use codeweaver_index::progress::{Meter, Progress, Silent};
use codeweaver_index::{Codebase, IndexError, Lifecycle, Target, UpdateOptions, publish, updater};
use codeweaver_store::state::Phase;
use codeweaver_store::{StoreError, StoreReader};

use crate::support::sandbox::{
    Query, Sandbox, ask, assert_sound, collect, git_in, hybrid, index, open, reader, respond, try_index,
};

fn sample() -> Sandbox {
    Sandbox::with(&[("a.py", "def alpha():\n    return 1\n"), ("b.md", "# Beta\n\nText of beta.\n")])
}

fn lifecycle(codebase: &Codebase) -> Lifecycle {
    codebase.lifecycle(StoreReader::open(&codebase.store()).unwrap().as_ref())
}

fn lifecycle_at(root: &Path) -> Lifecycle {
    lifecycle(&open(root))
}

fn in_other_space(root: &Path) -> Codebase {
    // A different fingerprint, without a model to open.
    let mut codebase = open(root);
    codebase.vector_space = "another model".to_owned();
    codebase
}

#[test]
fn states_follow_each_other_as_the_table_says() {
    let sandbox = sample();
    let root = sandbox.root();
    assert_eq!(lifecycle_at(root), Lifecycle::NotIndexed);
    {
        let _lease = updater::lease(&open(root)).unwrap();
        assert_eq!(lifecycle_at(root), Lifecycle::Indexing);
    }
    // The lease alone leaves nothing behind.
    assert_eq!(lifecycle_at(root), Lifecycle::NotIndexed);

    // Stopped before the end: not indexed, whatever is on disk.
    let stopped = Meter::default();
    stopped.stop.store(true, Ordering::Relaxed);
    let codebase = open(root);
    let target = Target::head(&codebase).unwrap();
    let result = updater::run(&codebase, &target, UpdateOptions::default(), &stopped);
    assert!(matches!(result, Err(IndexError::Interrupted { .. })), "{result:?}");
    assert_eq!(lifecycle_at(root), Lifecycle::Interrupted { n_chunks: 0 });
    {
        let _lease = updater::lease(&codebase).unwrap();
        assert_eq!(lifecycle_at(root), Lifecycle::Indexing);
    }

    sandbox.index();
    assert_eq!(lifecycle_at(root), Lifecycle::Indexed);
    {
        // An incremental update leaves the state as it is.
        let _lease = updater::lease(&codebase).unwrap();
        assert_eq!(lifecycle_at(root), Lifecycle::Indexed);
    }

    // The marker is the only proof.
    let set = |change: &dyn Fn(&mut codeweaver_store::state::Head)| {
        publish::change_state(&codebase, |state| change(state.heads.get_mut("main").unwrap())).unwrap();
    };
    set(&|head| head.marker = None);
    assert_eq!(lifecycle_at(root), Lifecycle::NotIndexed);
    sandbox.index();
    assert_eq!(lifecycle_at(root), Lifecycle::Indexed);
    set(&|head| head.marker.as_mut().unwrap().kind = "another".to_owned());
    assert_eq!(lifecycle_at(root), Lifecycle::NotIndexed);
    sandbox.index();
    set(&|head| head.marker.as_mut().unwrap().worktree_id = Some("of another worktree".to_owned()));
    assert_eq!(lifecycle_at(root), Lifecycle::NotIndexed);
    sandbox.index();
    // Its path proves nothing: the same directory can be anywhere.
    set(&|head| head.marker.as_mut().unwrap().codebase_path = "/elsewhere".to_owned());
    assert_eq!(lifecycle_at(root), Lifecycle::Indexed);
    sandbox.index();
    assert_eq!(lifecycle_at(root), Lifecycle::Indexed);

    // While indexing, a marker counts as absent.
    set(&|head| head.phase = Phase::Indexing);
    assert_eq!(lifecycle_at(root), Lifecycle::Interrupted { n_chunks: 0 });
    sandbox.index();

    set(&|head| (head.phase, head.failure) = (Phase::IndexFailed, Some("no disk".to_owned())));
    assert_eq!(lifecycle_at(root), Lifecycle::IndexFailed("no disk".to_owned()));
    {
        let _lease = updater::lease(&codebase).unwrap();
        assert_eq!(lifecycle_at(root), Lifecycle::Indexing);
    }
    sandbox.index();
    assert_eq!(lifecycle_at(root), Lifecycle::Indexed);
    assert_eq!(reader(root).state.heads["main"].failure, None);
}

#[test]
fn only_another_vector_space_requires_a_reindex() {
    let sandbox = sample();
    sandbox.index();
    assert!(matches!(lifecycle(&in_other_space(sandbox.root())), Lifecycle::RequiresReindex { .. }));

    // A change of the chunker is no outage: the old complete snapshot answers until the new one is published.
    let overrides = [("chunker.target_tokens".to_owned(), "300".to_owned())];
    let codebase = Codebase::open(sandbox.root(), &overrides).unwrap();
    assert_ne!(codebase.settings_fingerprint, open(sandbox.root()).settings_fingerprint);
    assert_eq!(lifecycle(&codebase), Lifecycle::Indexed);
    let searcher = codeweaver::query::Searcher::new(codebase.clone());
    let response = crate::support::sandbox::search(&searcher, &hybrid("alpha")).unwrap();
    assert_eq!(response.matches[0].file.path, "a.py");
    assert!(!response.warnings.is_empty(), "it says that the index is of other settings");
    let target = Target::head(&codebase).unwrap();
    updater::run(&codebase, &target, UpdateOptions::default(), &Silent).unwrap();
    let response = crate::support::sandbox::search(&searcher, &hybrid("alpha")).unwrap();
    assert!(response.warnings.is_empty(), "{:?}", response.warnings);
}

#[test]
fn another_worktree_never_makes_this_one_indexed() {
    let sandbox = sample();
    sandbox.index();
    let other = sandbox.beside("other");
    sandbox.git(["worktree", "add", "-q", other.to_str().unwrap(), "-b", "other"]);
    assert_eq!(lifecycle_at(&other), Lifecycle::NotIndexed);
    index(&other);
    assert_eq!(lifecycle_at(&other), Lifecycle::Indexed);
    // Another worktree under the same name, elsewhere.
    sandbox.git(["worktree", "remove", other.to_str().unwrap()]);
    let again = sandbox.beside("again").join("other");
    sandbox.git(["worktree", "add", "-q", again.to_str().unwrap(), "other"]);
    assert_eq!(open(&again).worktree_key, "other");
    assert_eq!(lifecycle_at(&again), Lifecycle::NotIndexed);
}

/// A reindex in one worktree makes no other one unindexed: it answers, and its next update is an increment.
#[test]
fn a_reindex_leaves_other_worktrees_indexed() {
    let sandbox = sample();
    sandbox.index();
    let other = sandbox.beside("other");
    sandbox.git(["worktree", "add", "-q", other.to_str().unwrap(), "-b", "other"]);
    std::fs::write(other.join("c.py"), "def gamma():\n    return 3\n").unwrap();
    git_in(&other, &["add", "-A"]).success();
    git_in(&other, &["commit", "-q", "-m", "gamma"]).success();
    index(&other);
    let wanted = ask(&other, &hybrid("gamma"));

    let codebase = open(sandbox.root());
    let target = Target::head(&codebase).unwrap();
    let reindex = UpdateOptions { reindex: true, ..UpdateOptions::default() };
    updater::run(&codebase, &target, reindex, &Silent).unwrap();

    assert_eq!(lifecycle_at(&other), Lifecycle::Indexed);
    assert!(codeweaver::service::gate::check(&open(&other)).unwrap().is_none());
    let found = respond(&other, &hybrid("gamma")).unwrap();
    assert_eq!(found.matches[0].file.path, "c.py");
    assert_eq!(index(&other).blobs_indexed, 1);
    assert_eq!(ask(&other, &hybrid("gamma")), wanted);
    assert_sound(&other);
    assert_sound(sandbox.root());
}

/// The answer of a worktree without an index, which equals that after indexing.
#[test]
fn another_worktree_answers_while_a_failed_first_index_is_retried() {
    let sandbox = sample();
    sandbox.index();
    let wanted = sandbox.ask(&hybrid("alpha"));
    let other = sandbox.beside("other");
    sandbox.git(["worktree", "add", "-q", other.to_str().unwrap(), "-b", "other"]);
    index(&other);
    let codebase = open(&other);
    publish::change_state(&codebase, |state| {
        let head = state.heads.get_mut("other").unwrap();
        (head.phase, head.failure) = (Phase::IndexFailed, Some("no disk".to_owned()));
        (head.marker, head.snapshot) = (None, String::new());
    })
    .unwrap();
    let _lease = updater::lease(&codebase).unwrap();
    assert_eq!(lifecycle_at(&other), Lifecycle::Indexing);
    assert_eq!(ask(&other, &hybrid("alpha")), wanted);
}

#[test]
fn a_reindex_answers_from_the_old_snapshot_until_it_is_done() {
    let sandbox = sample();
    sandbox.index();
    let wanted = sandbox.ask(&hybrid("alpha"));
    let codebase = open(sandbox.root());
    let stopped = Meter::default();
    stopped.stop.store(true, Ordering::Relaxed);
    let target = Target::head(&codebase).unwrap();
    let reindex = UpdateOptions { reindex: true, ..UpdateOptions::default() };
    let result = updater::run(&codebase, &target, reindex, &stopped);
    assert!(matches!(result, Err(IndexError::Interrupted { .. })), "{result:?}");
    assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::Indexed);
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    publish::change_state(&codebase, |state| state.heads.get_mut("main").unwrap().phase = Phase::Indexing)
        .unwrap();
    {
        let _lease = updater::lease(&codebase).unwrap();
        assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::Indexing);
        assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    }
    let report = updater::run(&codebase, &target, reindex, &Silent).unwrap();
    assert!(report.embedded_chunks > 0);
    assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::Indexed);
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    assert_sound(sandbox.root());
}

/// Lets one thread stop in the middle of its files while the others go on to their end.
#[derive(Default)]
struct StopsOne {
    stopped: std::sync::Mutex<Option<(std::thread::ThreadId, u32)>>,
}

impl codeweaver_index::Progress for StopsOne {
    fn add(&self, _: &codeweaver_index::Counters) {
        let id = std::thread::current().id();
        let mut stopped = self.stopped.lock().unwrap();
        let (who, n_files) = stopped.get_or_insert((id, 0));
        *n_files += u32::from(*who == id);
    }

    fn stopped(&self) -> bool {
        let id = std::thread::current().id();
        matches!(*self.stopped.lock().unwrap(), Some((who, n)) if who == id && n >= 5)
    }
}

fn many_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("codeweaver.toml", "[index]\nthreads = 2\n");
    for i in 0..240 {
        sandbox.write(&format!("f{i:03}.py"), format!("def alpha_{i}():\n    return {i}\n"));
    }
    sandbox.commit("first");
    sandbox
}

/// The checkpoint of a stopped run names files correctly, whichever thread stopped first.
#[test]
fn a_stopped_first_index_names_files_correctly() {
    let sandbox = many_files();
    let codebase = open(sandbox.root());
    let target = Target::head(&codebase).unwrap();
    let result = updater::run(&codebase, &target, UpdateOptions::default(), &StopsOne::default());
    assert!(matches!(result, Err(IndexError::Interrupted { .. })), "{result:?}");
    let reader = reader(sandbox.root());
    let snapshot = reader.snapshot(&reader.state.heads["main"].snapshot).unwrap().unwrap();
    let mut n_files = 0;
    for (_, record, path) in reader.live_entries(&snapshot.entries) {
        let Some((segment, ordinal)) = reader.locate_doc(record.doc) else { continue };
        let blob = reader.segments[segment].blob_oid(&reader.segments[segment].docs()[ordinal as usize]);
        let path = String::from_utf8_lossy(path).into_owned();
        assert_eq!(
            blob.to_string(),
            sandbox.git_text(["rev-parse", &format!("HEAD:{path}")]).trim(),
            "{path}"
        );
        n_files += 1;
    }
    assert!(n_files >= 5, "{n_files}");
    assert_sound(sandbox.root());
}

/// Renumbers the store whenever a run begins, as a reindex of another worktree does, as often as is left.
struct Renumbers<'a> {
    codebase: &'a Codebase,
    left: AtomicUsize,
}

impl Progress for Renumbers<'_> {
    fn begin(&self, _n_files: u64, _n_bytes: u64) {
        let count_down = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count_down).is_ok() {
            publish::change_state(self.codebase, |state| state.epoch += 1).unwrap();
        }
    }
}

#[test]
fn others_may_renumber_the_store_several_times_during_a_run() {
    let sandbox = sample();
    sandbox.index();
    let wanted = sandbox.ask(&hybrid("alpha"));
    let codebase = open(sandbox.root());
    let target = Target::head(&codebase).unwrap();
    let reindex = UpdateOptions { reindex: true, ..UpdateOptions::default() };

    let others = Renumbers { codebase: &codebase, left: AtomicUsize::new(4) };
    updater::run(&codebase, &target, reindex, &others).unwrap();
    assert_eq!(others.left.load(Ordering::Relaxed), 0);
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    assert_sound(sandbox.root());

    let others = Renumbers { codebase: &codebase, left: AtomicUsize::new(usize::MAX) };
    let given_up = updater::run(&codebase, &target, reindex, &others);
    assert!(matches!(given_up, Err(IndexError::EpochChanged)), "{given_up:?}");
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
}

#[test]
fn an_interrupted_reindex_resumes() {
    let sandbox = many_files();
    sandbox.index();
    let wanted = sandbox.ask(&hybrid("alpha"));
    let codebase = open(sandbox.root());
    let target = Target::head(&codebase).unwrap();
    let reindex = UpdateOptions { reindex: true, ..UpdateOptions::default() };
    let stopped = updater::run(&codebase, &target, reindex, &StopsOne::default());
    assert!(matches!(stopped, Err(IndexError::Interrupted { .. })), "{stopped:?}");
    let epoch = reader(sandbox.root()).state.epoch;
    let kept = codeweaver_index::checkpoint::unfinished(&codebase).expect("sealed work is noted");
    assert!(kept >= 5, "{kept}");
    // Until it is done the old index answers, and collection leaves the sealed work alone.
    assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::Indexed);
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    collect(sandbox.root());
    assert_eq!(codeweaver_index::checkpoint::unfinished(&codebase), Some(kept));

    let report = updater::run(&codebase, &target, UpdateOptions::default(), &Silent).unwrap();
    assert!(report.blobs_indexed > 0 && report.blobs_indexed <= 241 - kept, "{report:?}, kept {kept}");
    assert!(reader(sandbox.root()).state.epoch > epoch, "the store was replaced");
    assert_eq!(codeweaver_index::checkpoint::unfinished(&codebase), None);
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    assert_sound(sandbox.root());
    let fresh = sandbox.copy();
    fresh.index();
    assert_eq!(fresh.ask(&hybrid("alpha")), wanted);
}

#[test]
fn a_checkpoint_of_a_reindex_expires_by_a_new_reindex_damage_or_age() {
    let sandbox = many_files();
    sandbox.index();
    let wanted = sandbox.ask(&hybrid("alpha"));
    let codebase = open(sandbox.root());
    let target = Target::head(&codebase).unwrap();
    let reindex = UpdateOptions { reindex: true, ..UpdateOptions::default() };
    let interrupt = || {
        let stopped = updater::run(&codebase, &target, reindex, &StopsOne::default());
        assert!(matches!(stopped, Err(IndexError::Interrupted { .. })), "{stopped:?}");
    };
    interrupt();
    let report = updater::run(&codebase, &target, reindex, &Silent).unwrap();
    assert_eq!(report.blobs_indexed, 241, "--reindex begins anew");

    interrupt();
    let rebuild = reader(sandbox.root()).state.rebuilding["main"].clone();
    let shard = codebase.store().shard(&rebuild.segments[0].name);
    let is_named = reader(sandbox.root()).state.segments.iter().any(|s| s.name == rebuild.segments[0].name);
    if !is_named {
        std::fs::write(&shard, b"damaged").unwrap();
        let report = updater::run(&codebase, &target, UpdateOptions::default(), &Silent).unwrap();
        assert!(report.known, "{report:?}");
        assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    }

    interrupt();
    publish::change_state(&codebase, |state| state.rebuilding.get_mut("main").unwrap().updated_at = 1)
        .unwrap();
    assert_eq!(codeweaver_index::checkpoint::unfinished(&codebase), None);
    assert!(updater::run(&codebase, &target, UpdateOptions::default(), &Silent).unwrap().known);
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    assert_sound(sandbox.root());
}

#[test]
fn an_empty_repository_is_a_valid_empty_index() {
    let sandbox = Sandbox::new();
    let report = sandbox.index();
    assert_eq!((report.files, report.chunks), (0, 0));
    assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::Indexed);
    assert_eq!(sandbox.ask(&hybrid("alpha"))["matches"].as_array().unwrap().len(), 0);
    sandbox.write("a.py", "def alpha():\n    return 1\n");
    assert_eq!(sandbox.ask(&hybrid("alpha"))["matches"][0]["state"], "untracked");
    sandbox.commit("first");
    sandbox.index();
    assert_eq!(sandbox.ask(&hybrid("alpha"))["matches"][0]["state"], "committed");
    assert_sound(sandbox.root());
}

#[test]
fn a_deleted_folder_is_rebuilt() {
    let sandbox = sample();
    sandbox.index();
    let wanted = sandbox.ask(&hybrid("alpha"));
    sandbox.git(["clean", "-q", "-fdx"]);
    assert!(!sandbox.root().join(".codeweaver").exists());
    assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::NotIndexed);
    assert!(open(sandbox.root()).layout.was_initialised());
    assert!(respond(sandbox.root(), &hybrid("alpha")).is_err());
    // A hook runs first: its update request must not make the new store look foreign.
    let codebase = open(sandbox.root());
    updater::request_update(&codebase).unwrap();
    updater::serve_requests(&codebase, &Silent).unwrap();
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
    std::fs::remove_dir_all(sandbox.root().join(".codeweaver")).unwrap();
    std::fs::create_dir(sandbox.root().join(".codeweaver")).unwrap();
    std::fs::write(sandbox.root().join(".codeweaver/.tmp-left"), b"x").unwrap();
    sandbox.index();
    assert_eq!(sandbox.ask(&hybrid("alpha")), wanted);
}

/// Deletes the store after the plan is made, and indexes another worktree in its place.
struct FolderReplaced<'a> {
    root: &'a Path,
    other: &'a Path,
}

impl Progress for FolderReplaced<'_> {
    fn begin(&self, _: u64, _: u64) {
        if self.other.exists() && !self.other.join("done").exists() {
            std::fs::remove_dir_all(self.root.join(".codeweaver")).unwrap();
            std::fs::write(self.other.join("done"), "").unwrap();
            index(self.other);
        }
    }
}

/// Ids planned on the old store are invalid in the new one; a snapshot must not mix files of both.
#[test]
fn a_folder_that_is_replaced_during_an_update_is_not_mixed_with_the_old_one() {
    let sandbox = sample();
    let other = sandbox.beside("other");
    sandbox.git(["worktree", "add", "-q", other.to_str().unwrap(), "-b", "other"]);
    for path in ["a.py", "b.py", "c.py"] {
        std::fs::write(other.join(path), format!("def only_in_other():\n    return {path:?}\n")).unwrap();
    }
    for args in [&["add", "-A"][..], &["commit", "-q", "-m", "other"]] {
        git_in(&other, args).success();
    }
    sandbox.index();
    sandbox.write("later.py", "def alpha_later():\n    return 'alpha'\n");
    sandbox.commit("later");
    let codebase = open(sandbox.root());
    let replaced = FolderReplaced { root: sandbox.root(), other: &other };
    updater::run(&codebase, &Target::head(&codebase).unwrap(), UpdateOptions::default(), &replaced).unwrap();
    assert!(other.join("done").exists(), "the folder was never replaced");
    assert_sound(sandbox.root());
    let fresh = sandbox.copy();
    std::fs::remove_dir_all(fresh.root().join(".git/worktrees")).unwrap();
    fresh.index();
    assert_eq!(sandbox.ask(&hybrid("alpha")), fresh.ask(&hybrid("alpha")));
}

#[test]
fn a_folder_that_git_tracks_or_that_is_a_link_is_refused() {
    let sandbox = sample();
    sandbox.write(".codeweaver/nonce", "crafted\n");
    sandbox.git(["add", "-f", ".codeweaver/nonce"]);
    let error = try_index(sandbox.root()).unwrap_err();
    assert!(
        matches!(error, IndexError::Store(StoreError::Untrusted { .. }) | IndexError::Tracked { .. }),
        "{error}"
    );
    sandbox.git(["rm", "-q", "-r", "--cached", ".codeweaver"]);
    std::fs::remove_dir_all(sandbox.root().join(".codeweaver")).unwrap();

    let outside = sandbox.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.root().join(".codeweaver")).unwrap();
    let codebase = open(sandbox.root());
    assert!(matches!(try_index(sandbox.root()), Err(IndexError::Store(StoreError::Untrusted { .. }))));
    assert!(updater::request_update(&codebase).is_err());
    assert!(updater::serve_requests(&codebase, &Silent).is_err());
    assert!(respond(sandbox.root(), &hybrid("alpha")).is_err());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "nothing is written through a link");
}

#[test]
fn every_way_of_creating_the_store_excludes_it_from_git() {
    let sandbox = sample();
    std::fs::remove_dir_all(sandbox.root().join(".git/info")).unwrap();
    sandbox.index();
    assert_eq!(sandbox.git_text(["status", "--porcelain"]), "");
    sandbox.git(["add", "-A"]);
    assert_eq!(sandbox.git_text(["ls-files", ".codeweaver"]), "");
    // A directory in place of the nonce does not prove whose store it is.
    let nonce = sandbox.root().join(".codeweaver/nonce");
    std::fs::remove_file(&nonce).unwrap();
    std::fs::create_dir(&nonce).unwrap();
    let error = try_index(sandbox.root()).unwrap_err();
    assert!(matches!(error, IndexError::Store(StoreError::Untrusted { .. })), "{error}");
}

#[test]
fn several_processes_may_create_the_folder_at_once() {
    for _ in 0..20 {
        let sandbox = sample();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| open(sandbox.root()).layout.create().unwrap());
            }
        });
        open(sandbox.root()).layout.create().unwrap();
    }
}

#[test]
fn a_moved_repository_stays_indexed() {
    let sandbox = sample();
    sandbox.index();
    let moved = sandbox.beside("moved");
    std::fs::rename(sandbox.root(), &moved).unwrap();
    assert_eq!(lifecycle_at(&moved), Lifecycle::Indexed);
    let report = index(&moved);
    assert_eq!(report.embedded_chunks, 0);
    assert_eq!(lifecycle_at(&moved), Lifecycle::Indexed);
}

#[test]
fn collection_changes_no_answer_and_a_kept_branch_embeds_nothing() {
    let sandbox = sample();
    sandbox.index();
    sandbox.git(["switch", "-q", "-c", "branch"]);
    for i in 0..5 {
        sandbox.write(&format!("only_branch_{i}.py"), format!("def omega_{i}():\n    return {i}\n"));
        sandbox.commit("branch");
        sandbox.index();
    }
    let on_branch = sandbox.ask(&hybrid("omega_2"));
    sandbox.git(["switch", "-q", "main"]);
    sandbox.index();
    let on_main = sandbox.ask(&hybrid("alpha"));

    // Everything is reachable from a kept snapshot: nothing is dropped.
    let report = collect(sandbox.root());
    assert_eq!((report.docs_dropped, report.heads_dropped), (0, 0));
    assert_eq!(sandbox.ask(&hybrid("alpha")), on_main);
    sandbox.git(["switch", "-q", "branch"]);
    assert_eq!(sandbox.index().embedded_chunks, 0);
    assert_eq!(sandbox.ask(&hybrid("omega_2")), on_branch);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.index();

    // Dropped snapshots: their docs are removed, ids are renumbered, answers stay the same.
    let codebase = open(sandbox.root());
    publish::change_state(&codebase, |state| {
        let kept = state.heads["main"].snapshot.clone();
        state.snapshots.retain(|key, _| *key == kept);
    })
    .unwrap();
    let before = reader(sandbox.root());
    let report = collect(sandbox.root());
    let after = reader(sandbox.root());
    assert_eq!(report.docs_dropped, 5, "{report:?}");
    assert!(report.rows_after < report.rows_before && report.files_removed > 0, "{report:?}");
    assert!(after.state.epoch > before.state.epoch && after.state.next_doc() < before.state.next_doc());
    assert_sound(sandbox.root());
    assert_eq!(sandbox.ask(&hybrid("alpha")), on_main);
    sandbox.git(["switch", "-q", "branch"]);
    let query = Query { committed: true, ..hybrid("omega_2") };
    assert_eq!(sandbox.ask(&query)["matches"], on_branch["matches"]);
    sandbox.index();
    assert_eq!(sandbox.ask(&hybrid("omega_2")), on_branch);
    // A second collection does nothing.
    assert_eq!(collect(sandbox.root()).docs_dropped, 0);
}

#[test]
fn collection_without_an_index_does_nothing() {
    let sandbox = sample();
    assert_eq!(collect(sandbox.root()).files_removed, 0);
    assert_eq!(lifecycle_at(sandbox.root()), Lifecycle::NotIndexed);
}
