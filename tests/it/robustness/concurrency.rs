//! Concurrent processes: readers never block and never see a partial write; writers of several worktrees,
//! compaction and garbage collection run at once; no update request is lost.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use codeweaver::query::QueryError;
use codeweaver_index::progress::Silent;
use codeweaver_index::{IndexError, Target, repair, updater};
use codeweaver_store::StoreError;

use crate::support::sandbox::{
    Sandbox, ask, assert_sound, collect, hybrid, index, open, reader, search, searcher, try_index,
};

/// Sets a flag when dropped, so that the other threads end also if this one panics.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn sample(n_files: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for i in 0..n_files {
        sandbox.write(
            &format!("file_{i}.py"),
            format!("def alpha_{i}():\n    \"\"\"Alpha.\"\"\"\n    return {i}\n"),
        );
    }
    sandbox.commit("first");
    sandbox.index();
    sandbox
}

fn worktree(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.beside(name);
    sandbox.git(["worktree", "add", "-q", path.to_str().unwrap(), "-b", name]);
    path
}

fn commit_in(root: &Path, text: &str) {
    std::fs::write(root.join("changed.py"), text).unwrap();
    for args in [&["add", "-A"][..], &["commit", "-q", "-m", "change"]] {
        crate::support::sandbox::git_in(root, args).success();
    }
}

#[test]
fn two_worktrees_update_at_once() {
    let sandbox = sample(10);
    let roots = [sandbox.root().to_path_buf(), worktree(&sandbox, "left"), worktree(&sandbox, "right")];
    std::thread::scope(|scope| {
        for (n, root) in roots.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..6 {
                    // Some blobs are new in all worktrees at once: duplicates may stay, none may be lost.
                    let marker = if round % 2 == 0 { n } else { 9 };
                    commit_in(root, &format!("def omega_{marker}_{round}():\n    return 1\n"));
                    index(root);
                }
            });
        }
    });
    for root in &roots {
        assert_sound(root);
        let answer = ask(root, &hybrid("omega_9_5"));
        assert_eq!(answer["matches"][0]["file"]["path"], "changed.py", "{}", root.display());
        assert!(index(root).known);
    }
    let fresh = sandbox.copy();
    let _ = std::fs::remove_dir_all(fresh.root().join(".git/worktrees"));
    fresh.index();
    assert_eq!(sandbox.ask(&hybrid("alpha")), fresh.ask(&hybrid("alpha")));
}

/// Readers search in a loop while the index is replaced, merged and collected.
#[test]
fn readers_are_unaffected_by_updates_compaction_and_collection() {
    let sandbox = sample(12);
    let done = AtomicBool::new(false);
    let n_answers = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let _stop = SetAtEnd(&done);
        for kept in [true, false] {
            let (sandbox, done, n_answers) = (&sandbox, &done, &n_answers);
            scope.spawn(move || {
                // A server keeps its searcher, a command makes a new one.
                let server = searcher(open(sandbox.root()));
                while !done.load(Ordering::Relaxed) {
                    let command;
                    let searcher = if kept {
                        &server
                    } else {
                        command = searcher(open(sandbox.root()));
                        &command
                    };
                    match search(
                        searcher,
                        &crate::support::sandbox::Query { committed: true, ..hybrid("alpha_3") },
                    ) {
                        Ok(response) => {
                            assert_eq!(response.matches[0].file.path, "file_3.py");
                            assert!(response.matches[0].content.text.contains("def alpha_3"), "{response:?}");
                            n_answers.fetch_add(1, Ordering::Relaxed);
                        }
                        // Without a grace period, a reader may lose the race for a file several times in a
                        // row.
                        Err(QueryError::Store(e)) if e.is_not_found() => {}
                        Err(e) => panic!("a reader fails: {e}"),
                    }
                }
            });
        }
        let (root, stop) = (sandbox.root(), &done);
        scope.spawn(move || {
            let codebase = open(root);
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(repair::verify(&codebase).unwrap(), [], "what was collected is no damage");
            }
        });

        for round in 0..24 {
            sandbox.write("other.py", format!("def other_{round}():\n    return {round}\n"));
            sandbox.commit("round");
            sandbox.index();
            if round % 3 == 2 {
                collect(sandbox.root());
            }
        }
    });
    assert!(n_answers.load(Ordering::Relaxed) > 10);
    assert_sound(sandbox.root());
}

/// Integrity does not depend on locks: on a network drive that grants a lock to several processes, a writer
/// may lose its work to another one, but the remaining state is complete and answers stay correct.
#[test]
fn without_locks_writers_lose_work_but_not_integrity() {
    let sandbox = sample(6);
    let roots = [sandbox.root().to_path_buf(), worktree(&sandbox, "left"), worktree(&sandbox, "right")];
    for round in 0..12 {
        for (n, root) in roots.iter().enumerate() {
            commit_in(root, &format!("def omega_{n}_{round}():\n    return {round}\n"));
        }
        let writers = roots.iter().chain(&roots).map(|root| {
            let words: &[&str] = if round % 4 == 3 { &["gc"] } else { &["index", "--quiet"] };
            crate::support::sandbox::command_in(root, codeweaver_testkit::program())
                .args(words)
                .env("CODEWEAVER_FAULT", "nolock")
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        });
        let writers: Vec<_> = writers.collect();
        for writer in writers {
            let said = writer.wait_with_output().unwrap().stderr;
            let said = String::from_utf8_lossy(&said);
            assert!(!said.contains("panicked"), "{said}");
        }
        for (n, root) in roots.iter().enumerate() {
            assert_sound(root);
            let text = ["omega_0", "omega_1", "omega_2"][n];
            let answer = ask(root, &hybrid(text));
            let best = &answer["matches"][0];
            assert_eq!(best["file"]["path"], "changed.py", "{answer:#}");
            assert!(best["content"]["text"].as_str().unwrap().contains(&format!("{text}_{round}")));
        }
    }
    roots.iter().for_each(|root| drop(index(root)));
    assert_sound(sandbox.root());
}

/// `CODEWEAVER_UPDATE_REQUEST_ROUNDS` sets the number of rounds.
#[test]
fn no_update_request_is_lost() {
    let sandbox = sample(2);
    let mut rng = fastrand::Rng::with_seed(3);
    let rounds = std::env::var("CODEWEAVER_UPDATE_REQUEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    for round in 0..rounds.unwrap_or(30) {
        commit_in(sandbox.root(), &format!("def omega_{round}():\n    return 1\n"));
        let delays: Vec<u64> = (0..3).map(|_| rng.u64(0..4)).collect();
        let root = sandbox.root();
        std::thread::scope(|scope| {
            for delay in delays {
                scope.spawn(move || {
                    let codebase = open(root);
                    // Requests that overlap in another way in each round.
                    std::thread::sleep(Duration::from_millis(delay));
                    updater::request_update(&codebase).unwrap();
                    updater::serve_requests(&codebase, &Silent).unwrap();
                });
            }
            scope.spawn(move || {
                // The `index` command, in between.
                match try_index(root) {
                    Ok(_) | Err(IndexError::Store(StoreError::Locked { .. })) => {}
                    Err(e) => panic!("{e}"),
                }
            });
            // A last commit, noted while the others may be at work.
            std::thread::sleep(Duration::from_millis(2));
            commit_in(root, &format!("def omega_{round}():\n    return 2\n"));
            let codebase = open(root);
            updater::request_update(&codebase).unwrap();
            updater::serve_requests(&codebase, &Silent).unwrap();
        });
        let codebase = open(root);
        assert!(!codebase.layout.update_requests().join("main").exists(), "round {round}");
        let tree = Target::head(&codebase).unwrap().tree.unwrap().to_string();
        let head = reader(root).state.heads["main"].clone();
        assert_eq!(head.snapshot, codebase.snapshot_key(&tree), "round {round}");
    }
}

#[test]
fn a_second_run_is_refused_and_a_dead_holder_is_not_waited_for() {
    let sandbox = sample(1);
    let codebase = open(sandbox.root());
    {
        let _lease = updater::lease(&codebase).unwrap();
        let error = try_index(sandbox.root()).unwrap_err().to_string();
        assert!(error.contains("already in progress (PID "), "{error}");
        // A hook writes its update request and ends.
        updater::request_update(&codebase).unwrap();
        assert_eq!(updater::serve_requests(&codebase, &Silent).unwrap(), None);
    }
    std::fs::write(codebase.layout.work_lock("main"), "PID 1, started 2020-01-01T00:00:00Z").unwrap();
    sandbox.index();
    assert!(!codebase.layout.update_requests().join("main").exists());
}

/// Reading the holder of a lease must not look like holding it, neither to other readers nor to an updater.
#[test]
fn reading_the_holder_of_a_lease_does_not_hold_it() {
    let sandbox = sample(1);
    let codebase = open(sandbox.root());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = SetAtEnd(&done);
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let path = codebase.layout.work_lock("probe");
                    let _ = codeweaver_store::lock::holder(&path);
                    std::thread::yield_now();
                }
            });
        }
        for _ in 0..300 {
            let lock = codeweaver_store::lock::Lock::try_acquire(&codebase.layout.work_lock("probe"));
            assert!(lock.is_ok(), "{:?}", lock.err());
        }
    });
}
