use std::time::Instant;

use super::context::{StatusContext, Tuning};
use super::stat::{FileStat, StatCache};
use super::*;
use crate::testing::{OpenRepo as _, Run, TestRepo};
use crate::{Mode, hash_blob};

const AMPLE: Duration = Duration::from_secs(60);

/// As [`super::worktree_changes`], with thresholds at which all code paths are taken.
fn worktree_changes(
    repo: &Repo,
    head_tree: Option<&Oid>,
    cache_file: &Path,
    budget: Duration,
) -> Result<WorktreeChanges, GitError> {
    let status = StatusEngine::with_tuning(Tuning::SMALL).status(repo, head_tree, cache_file, budget)?;
    Ok(Arc::unwrap_or_clone(status.changes))
}

fn changes_within(repo: &TestRepo, budget: Duration) -> WorktreeChanges {
    let open = repo.open();
    let tree = open.head().unwrap().tree;
    let cache = repo.root().parent().unwrap().join("stat-cache");
    let found = worktree_changes(&open, tree.as_ref(), &cache, budget).unwrap();
    if budget == AMPLE {
        assert_eq!(incremental_changes(repo), found, "with an engine that was used before");
        let cache = repo.root().parent().unwrap().join("default-stat-cache");
        let default = super::worktree_changes(&open, tree.as_ref(), &cache, budget).unwrap();
        assert_eq!(default, found, "with default thresholds");
    }
    found
}

thread_local! {
    /// An engine for each repository of this test, so that each step of each test is also checked
    /// incrementally.
    static ENGINES: std::cell::RefCell<Vec<(std::path::PathBuf, StatusEngine)>> = Default::default();
}

fn incremental_changes(repo: &TestRepo) -> WorktreeChanges {
    ENGINES.with_borrow_mut(|engines| {
        if !engines.iter().any(|(root, _)| root == repo.root()) {
            engines.push((repo.root().to_owned(), StatusEngine::with_tuning(Tuning::SMALL)));
        }
        let engine = &engines.iter().find(|(root, _)| root == repo.root()).unwrap().1;
        let open = repo.open();
        let tree = open.head().unwrap().tree;
        let cache = repo.root().parent().unwrap().join("stat-cache");
        (*engine.status(&open, tree.as_ref(), &cache, AMPLE).unwrap().changes).clone()
    })
}

/// One line per change: state, `!` if conflicted, path. Checks each oid against git.
fn changes(repo: &TestRepo) -> Vec<String> {
    let found = changes_within(repo, AMPLE);
    // Each test also runs with a warm cache.
    assert_eq!(found, changes_within(repo, AMPLE));
    assert_eq!(found.unchecked, 0);
    for change in &found.changes {
        let Some(blob) = &change.bytes else { continue };
        let path = change.path.to_string();
        if blob.mode != Mode::Symlink {
            assert_eq!(blob.oid.to_string(), stored_by_git(repo, &path), "{path}");
        }
        let bytes = read_worktree_file(&repo.open(), change.path.as_ref()).unwrap().unwrap();
        assert_eq!((hash_blob(&bytes, blob.oid.kind()), bytes.len() as u64), (blob.oid, blob.size), "{path}");
    }
    found.changes.iter().map(line).collect()
}

/// The oracle: what `git add` would store for this file.
fn stored_by_git(repo: &TestRepo, path: &str) -> String {
    let index = repo.root().join(".git/oracle-index");
    let _ = std::fs::remove_file(&index);
    if std::fs::copy(repo.root().join(".git/index"), &index).is_ok() {
        // Older than all files, so that git trusts none of its entries.
        repo.set_mtime(".git/oracle-index", 1);
    }
    let (add, show) = (["add", "-f", "--", path], format!(":{path}"));
    with_index(repo, &index, &add);
    with_index(repo, &index, &["rev-parse", &show]).trim().to_owned()
}

/// Stdout of git with another file as its index.
fn with_index(repo: &TestRepo, index: &Path, args: &[&str]) -> String {
    let run = Run::new(repo.command("git").args(args).env("GIT_INDEX_FILE", index));
    run.success().stdout()
}

fn line(change: &WorktreeChange) -> String {
    let state = format!("{:?}", change.state).to_lowercase();
    let conflicted = if change.conflicted { "!" } else { "" };
    let gone = if change.bytes.is_none() { " gone" } else { "" };
    format!("{state}{conflicted} {}{gone}", change.path)
}

fn three_files() -> TestRepo {
    let repo = TestRepo::with_files(&[("a.txt", "aaa\n"), ("b.txt", "bbb\n"), ("dir/c.txt", "ccc\n")]);
    // Old enough for the index not to be racy.
    for path in ["a.txt", "b.txt", "dir/c.txt"] {
        repo.set_mtime(path, 1_700_000_000);
    }
    repo.git(["update-index", "--refresh", "-q"]);
    repo
}

#[test]
fn a_clean_tree_has_no_changes() {
    let repo = three_files();
    assert_eq!(changes(&repo), [""; 0]);
    assert_eq!(changes_within(&repo, AMPLE).checked, 3);
}

#[test]
fn every_kind_of_change_is_found() {
    let repo = three_files();
    repo.write("a.txt", "dirty\n");
    repo.write("b.txt", "staged\n").git(["add", "b.txt"]);
    repo.write("new/staged.txt", "new\n").git(["add", "new/staged.txt"]);
    repo.write("new/untracked.txt", "new\n");
    repo.remove("dir/c.txt");
    assert_eq!(
        changes(&repo),
        [
            "dirty a.txt",
            "staged b.txt",
            "dirty dir/c.txt gone",
            "staged new/staged.txt",
            "untracked new/untracked.txt"
        ]
    );
    repo.write("b.txt", "staged, then dirty\n");
    repo.git(["rm", "-q", "--cached", "dir/c.txt"]);
    assert_eq!(
        changes(&repo),
        [
            "dirty a.txt",
            "dirty b.txt",
            "staged dir/c.txt gone",
            "staged new/staged.txt",
            "untracked new/untracked.txt"
        ]
    );
}

#[cfg(unix)]
#[test]
fn content_as_committed_is_no_change() {
    let repo = three_files();
    repo.write("a.txt", "staged\n").git(["add", "a.txt"]).write("a.txt", "aaa\n");
    repo.git(["rm", "-q", "--cached", "b.txt"]);
    repo.executable("dir/c.txt");
    repo.git(["add", "dir/c.txt"]);
    assert_eq!(changes(&repo), [""; 0]);
    repo.write("b.txt", "out of the index, and changed\n");
    assert_eq!(changes(&repo), ["untracked b.txt"]);
}

#[test]
fn without_commits_everything_is_new() {
    let repo = TestRepo::init();
    repo.write("a.txt", "a\n").write("b.txt", "b\n").git(["add", "a.txt"]);
    assert_eq!(changes(&repo), ["staged a.txt", "untracked b.txt"]);
}

#[test]
fn the_index_of_another_commit_is_compared_with_the_wanted_tree() {
    let repo = three_files();
    let first = repo.oid("HEAD^{tree}");
    repo.write("a.txt", "second\n").write("dir/sub/d.txt", "d\n").commit("second");
    let cache = repo.root().parent().unwrap().join("cache");
    let found = worktree_changes(&repo.open(), Some(&first), &cache, AMPLE).unwrap();
    assert_eq!(found.changes.iter().map(line).collect::<Vec<_>>(), ["staged a.txt", "staged dir/sub/d.txt"]);
}

#[cfg(unix)]
#[test]
fn ignored_files_and_nested_repositories_are_left_out() {
    let repo = TestRepo::with_files(&[
        (".gitignore", "*.log\n/out/\n"),
        ("sub/.gitignore", "!keep.log\n"),
        ("out2", "x\n"),
    ]);
    std::fs::create_dir_all(repo.root().join(".git/info")).unwrap();
    std::fs::write(repo.root().join(".git/info/exclude"), "private\n").unwrap();
    for path in [
        "a.log",
        "out/x.rs",
        "sub/keep.log",
        "sub/b.log",
        "private",
        "x/private/y",
        ".codeweaver/state",
        ".Codeweaver/x",
        "seen.rs",
        "out3/y",
    ] {
        repo.write(path, "x\n");
    }
    repo.git(["init", "-q", "nested"]).write("nested/file.rs", "x\n");
    repo.symlink("loop", ".");
    let expected: Vec<String> = repo
        .git_text(["ls-files", "--others", "--exclude-standard"])
        .lines()
        .filter(|path| !path.to_lowercase().starts_with(".codeweaver/") && *path != "nested/")
        .map(|path| format!("untracked {path}"))
        .collect();
    assert_eq!(changes(&repo), expected);
    assert_eq!(
        expected,
        ["untracked loop", "untracked out3/y", "untracked seen.rs", "untracked sub/keep.log"]
    );
}

#[test]
fn an_edit_in_the_same_second_with_the_same_size_is_found() {
    for round in 0..20 {
        let repo = TestRepo::with_files(&[("a.txt", "aaa\n")]);
        repo.write("a.txt", "bbb\n");
        assert_eq!(changes(&repo), ["dirty a.txt"], "{round}");
        repo.write("a.txt", "ccc\n");
        let oid = changes_within(&repo, AMPLE).changes[0].bytes.clone().unwrap().oid;
        assert_eq!(oid, hash_blob(b"ccc\n", oid.kind()), "{round}");
        repo.write("a.txt", "aaa\n");
        assert_eq!(changes(&repo), [""; 0], "{round}");
    }
}

#[test]
fn a_change_with_an_unchanged_mtime_is_found_by_other_stat_fields() {
    let repo = three_files();
    repo.write("a.txt", "AAA\n");
    repo.set_mtime("a.txt", 1_700_000_000);
    // Not checked against git, which compares whole seconds and may miss this change.
    assert_eq!(changes_within(&repo, AMPLE).changes.iter().map(line).collect::<Vec<_>>(), ["dirty a.txt"]);
}

#[test]
fn touched_files_are_hashed_once() {
    let repo = three_files();
    repo.set_mtime("a.txt", 1_600_000_000);
    repo.write("new.txt", "new\n");
    repo.set_mtime("new.txt", 1_600_000_000);
    assert_eq!(changes(&repo), ["untracked new.txt"]);
    let cache = repo.root().parent().unwrap().join("stat-cache");
    let loaded = StatCache::load(&cache);
    for path in ["a.txt", "new.txt"] {
        let meta = std::fs::symlink_metadata(repo.root().join(path)).unwrap();
        assert!(loaded.get(path.into(), &FileStat::from_metadata(&meta)).is_some(), "{path}");
    }
    // A run without new entries does not write the cache file.
    let before = std::fs::metadata(&cache).unwrap().modified().unwrap();
    assert_eq!(changes(&repo), ["untracked new.txt"]);
    assert_eq!(std::fs::metadata(&cache).unwrap().modified().unwrap(), before);
    std::fs::write(&cache, "rubbish").unwrap();
    assert_eq!(changes(&repo), ["untracked new.txt"]);
}

#[test]
fn converted_bytes_are_what_git_would_commit() {
    let repo = TestRepo::init();
    repo.write(".gitattributes", "*.txt text\n*.crlf text eol=crlf\n*.raw -text\n*.u16 text working-tree-encoding=UTF-16LE\n*.id ident\n");
    let utf16: Vec<u8> = "wide\r\nlines\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    repo.write("seed", "x\n").commit("attributes");
    repo.write("a.txt", "one\r\ntwo\r\n").write("b.crlf", "one\r\n").write("c.raw", "one\r\n");
    repo.write("d.u16", utf16).write("e.id", "$Id: 0123456789 $\n");
    // `changes` compares each oid with what `git add` stores.
    assert_eq!(changes(&repo).len(), 5);
    let open = repo.open();
    let read = |path: &str| read_worktree_file(&open, path.into()).unwrap().unwrap();
    assert_eq!(read("a.txt"), b"one\ntwo\n");
    assert_eq!(read("c.raw"), b"one\r\n");
    assert_eq!(read("d.u16"), b"wide\nlines\n");
    assert_eq!(read("e.id"), b"$Id$\n");
    repo.commit("all");
    assert_eq!(changes(&repo), [""; 0]);
    for path in ["a.txt", "b.crlf", "c.raw", "d.u16", "e.id"] {
        repo.remove(path);
    }
    repo.git(["checkout", "-q", "."]);
    assert_eq!(changes(&repo), [""; 0], "as checked out");
    for path in ["a.txt", "b.crlf", "c.raw", "d.u16", "e.id"] {
        assert_eq!(read(path), repo.git_bytes(["cat-file", "blob", &format!("HEAD:{path}")]), "{path}");
    }
}

#[test]
fn autocrlf_does_not_convert_files_committed_with_carriage_returns() {
    let repo = TestRepo::with_files(&[("crlf.c", "a\r\nb\r\n"), ("lf.c", "a\nb\n")]);
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write("crlf.c", "a\r\nb\r\nc\r\n").write("lf.c", "a\r\nb\r\nc\r\n").write("new.c", "x\r\n");
    assert_eq!(changes(&repo), ["dirty crlf.c", "dirty lf.c", "untracked new.c"]);
    repo.write("lf.c", "a\r\nb\r\n").write("crlf.c", "a\r\nb\r\n");
    assert_eq!(changes(&repo), ["untracked new.c"]);
}

#[test]
fn filter_drivers_are_never_run_and_their_files_never_read() {
    let repo = TestRepo::with_files(&[("a.secret", "committed\n"), ("b.txt", "b\n"), ("c.lfs", "pointer\n")]);
    let mark = repo.root().parent().unwrap().join("ran");
    let command = format!("touch {}; cat", mark.display());
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.fsmonitor",
        "diff.evil.textconv",
    ] {
        repo.git(["config", key, &command]);
    }
    repo.write(".gitattributes", "*.secret filter=evil diff=evil\n*.lfs filter=lfs\n*.txt -filter\n");
    repo.write("a.secret", "plain text\n")
        .write("new.secret", "plain text\n")
        .write("b.txt", "B\n")
        .write("c.lfs", "media\n");
    let found = changes_within(&repo, AMPLE);
    assert_eq!(
        found.changes.iter().map(line).collect::<Vec<_>>(),
        // For git, a driver that is not configured is none.
        ["untracked .gitattributes", "dirty b.txt", "dirty c.lfs"]
    );
    assert_eq!(found.filtered, ["a.secret", "new.secret"]);
    assert_eq!(read_worktree_file(&repo.open(), "a.secret".into()).unwrap().unwrap(), b"committed\n");
    assert_eq!(read_worktree_file(&repo.open(), "new.secret".into()).unwrap(), None);
    assert!(!mark.exists());
}

#[test]
fn conflicts_show_the_bytes_on_disk() {
    let repo = three_files();
    repo.git(["checkout", "-qb", "side"]).write("a.txt", "side\n").commit("side");
    repo.git(["rm", "-q", "b.txt"]).git(["commit", "-qm", "gone"]);
    repo.git(["checkout", "-q", "main"]).write("a.txt", "main\n").write("b.txt", "main\n").commit("main");
    repo.try_git(["merge", "side"]);
    assert_eq!(changes(&repo), ["dirty! a.txt"], "b.txt is as committed");
    repo.write("b.txt", "resolving\n");
    repo.remove("a.txt");
    assert_eq!(changes(&repo), ["dirty! a.txt gone", "dirty! b.txt"]);
}

#[test]
fn sparse_files_are_as_committed_and_marked_ones_as_on_disk() {
    let repo = TestRepo::with_files(&[
        ("in/a.txt", "a\n"),
        ("out/b.txt", "b\n"),
        ("out/deep/c.txt", "c\n"),
        ("top.txt", "t\n"),
    ]);
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        repo.git(["sparse-checkout", "set", "--cone", sparse_index, "in"]);
        assert!(!repo.root().join("out").exists());
        assert_eq!(changes(&repo), [""; 0], "{sparse_index}");
        repo.write("in/a.txt", "changed\n");
        assert_eq!(changes(&repo), ["dirty in/a.txt"], "{sparse_index}");
        repo.git(["add", "in/a.txt"]);
        assert_eq!(changes(&repo), ["staged in/a.txt"], "{sparse_index}");
        repo.git(["reset", "-q", "--hard"]);
    }
    repo.git(["sparse-checkout", "disable"]);
    for mark in ["assume-unchanged", "skip-worktree"] {
        repo.git(["update-index", &format!("--{mark}"), "top.txt"]);
        assert_eq!(changes(&repo), [""; 0], "{mark}");
        repo.write("top.txt", "git hides it\n");
        assert_eq!(repo.git_text(["status", "--porcelain"]), "", "{mark}");
        // `git add` would leave the file out, so this is not compared with what it stores.
        let found = changes_within(&repo, AMPLE).changes;
        assert_eq!(found.iter().map(line).collect::<Vec<_>>(), ["dirty top.txt"], "{mark}");
        let hash = repo.git_text(["hash-object", "top.txt"]);
        assert_eq!(found[0].bytes.as_ref().unwrap().oid.to_string(), hash.trim(), "{mark}");
        repo.remove("top.txt");
        assert_eq!(changes(&repo), [""; 0], "{mark}: as committed where it does not exist");
        repo.write("top.txt", "t\n").git(["update-index", &format!("--no-{mark}"), "top.txt"]);
    }
}

#[test]
fn files_intended_to_be_added_are_dirty() {
    let repo = three_files();
    repo.write("new.txt", "new\n").write("empty.txt", "").git(["add", "-N", "new.txt", "empty.txt"]);
    assert_eq!(changes(&repo), ["dirty empty.txt", "dirty new.txt"]);
}

#[cfg(unix)]
#[test]
fn types_of_files_can_change() {
    let repo = three_files();
    repo.symlink("link", "a.txt");
    repo.write("file-then-dir", "x\n").commit("link");
    repo.remove("a.txt");
    repo.symlink("a.txt", "aaa\n");
    repo.remove("link");
    repo.write("link", "a.txt");
    repo.remove("file-then-dir");
    repo.write("file-then-dir/x", "x\n");
    repo.remove("b.txt");
    assert_eq!(
        changes(&repo),
        [
            "dirty a.txt",
            "dirty b.txt gone",
            "dirty file-then-dir gone",
            "untracked file-then-dir/x",
            "dirty link"
        ]
    );
    let found = changes_within(&repo, AMPLE);
    assert_eq!(found.changes[0].bytes.as_ref().unwrap().mode, Mode::Symlink);
}

#[cfg(unix)]
#[test]
fn nothing_is_read_through_a_linked_directory() {
    let repo = three_files();
    let outside = repo.root().parent().unwrap().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("c.txt"), "secret\n").unwrap();
    repo.remove("dir");
    repo.symlink("dir", "../outside");
    assert_eq!(changes(&repo), ["untracked dir", "dirty dir/c.txt gone"]);
    // The same for paths with conflict stages, which take another code path.
    let conflict = three_files();
    conflict.git(["checkout", "-qb", "side"]).write("dir/c.txt", "side\n").commit("side");
    conflict.git(["checkout", "-q", "main"]).write("dir/c.txt", "main\n").commit("main");
    conflict.try_git(["merge", "side"]);
    std::fs::rename(conflict.root().join("dir"), conflict.root().parent().unwrap().join("outside")).unwrap();
    conflict.symlink("dir", "../outside");
    assert_eq!(changes(&conflict), ["untracked dir", "dirty! dir/c.txt gone"]);
    let open = repo.open();
    for path in [
        "dir/c.txt",
        "../outside/c.txt",
        "/etc/passwd",
        "a/../../x",
        ".git/config",
        "a\0b",
        "",
        "./a.txt",
        "a.txt/",
    ] {
        let read = read_worktree_file(&open, path.into());
        assert!(matches!(read, Err(GitError::PathEscapes { .. })), "{path}: {read:?}");
    }
    for path in ["none.txt", "none/none.txt", "a.txt/x"] {
        assert_eq!(read_worktree_file(&open, path.into()).unwrap(), None, "{path}");
    }
    assert_eq!(read_worktree_file(&open, "a.txt".into()).unwrap().unwrap(), b"aaa\n");
}

#[test]
fn submodules_are_as_committed() {
    let inner = three_files();
    let repo = three_files();
    repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner.root().to_str().unwrap(),
        "lib",
    ]);
    repo.commit("submodule");
    repo.write("lib/a.txt", "changed inside\n").write("lib/new.txt", "new inside\n");
    assert_eq!(changes(&repo), [""; 0]);
}

#[test]
fn linked_worktrees_have_changes_of_their_own() {
    let repo = three_files();
    repo.git(["worktree", "add", "-q", "-b", "side", "../side"]);
    std::fs::write(repo.root().parent().unwrap().join("side/a.txt"), "side\n").unwrap();
    assert_eq!(changes(&repo), [""; 0]);
    let side = repo.open_at("../side");
    let cache = repo.root().parent().unwrap().join("side-cache");
    let found = worktree_changes(&side, side.head().unwrap().tree.as_ref(), &cache, AMPLE).unwrap();
    assert_eq!(found.changes.iter().map(line).collect::<Vec<_>>(), ["dirty a.txt"]);
}

#[test]
fn a_bare_repository_has_no_working_tree() {
    let repo = three_files();
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.open_at("../bare.git");
    let found = worktree_changes(&bare, None, Path::new("none"), AMPLE);
    assert!(matches!(found, Err(GitError::Bare { .. })));
    assert!(matches!(read_worktree_file(&bare, "a.txt".into()), Err(GitError::Bare { .. })));
}

#[test]
fn an_empty_budget_is_reported_and_loses_nothing() {
    let repo = three_files();
    repo.write("a.txt", "dirty\n").write("new.txt", "new\n");
    let found = changes_within(&repo, Duration::ZERO);
    assert!(found.unchecked >= 4, "{found:?}");
    assert_eq!(found.changes, []);
    assert_eq!(changes(&repo), ["dirty a.txt", "untracked new.txt"]);
}

#[test]
fn no_cache_directory_is_no_error_and_the_index_is_never_written() {
    let repo = three_files();
    repo.write("a.txt", "dirty\n");
    let before = repo.read_bytes(".git/index");
    let open = repo.open();
    let tree = open.head().unwrap().tree;
    let found = worktree_changes(&open, tree.as_ref(), Path::new("/nonexistent/dir/cache"), AMPLE).unwrap();
    assert_eq!(found.changes.len(), 1);
    assert_eq!(repo.read_bytes(".git/index"), before);
}

/// After random edits the changed paths are those that git finds.
#[test]
fn random_edits_agree_with_git() {
    let mut random = fastrand::Rng::with_seed(11);
    let repo = TestRepo::with_files(&[(".gitignore", "*.ignored\n")]);
    for _ in 0..40 {
        for _ in 0..random.usize(1..5) {
            let path = format!(
                "d{}/f{}{}",
                random.u8(0..3),
                random.u8(0..4),
                random.choice(["", ".ignored"]).unwrap()
            );
            match random.u8(0..7) {
                0..3 => drop(repo.write(&path, format!("{}\n", random.u8(0..3)))),
                3 => drop(repo.remove(&path)),
                4 => drop(repo.try_git(["add", "-A", "d0"])),
                5 => drop(repo.try_git(["rm", "-q", "--cached", &path])),
                _ => drop(repo.try_git(["commit", "-qam", "random"])),
            }
        }
        let mut expected: Vec<String> = Vec::new();
        // Against HEAD, ignoring the index: the difference that a commit of the whole working tree would
        // make.
        let index = repo.root().join(".git/oracle-index");
        let _ = std::fs::remove_file(&index);
        with_index(&repo, &index, &["read-tree", "HEAD"]);
        with_index(&repo, &index, &["add", "-A", "."]);
        let tree = with_index(&repo, &index, &["diff-index", "--cached", "--name-only", "HEAD"]);
        expected.extend(tree.lines().map(str::to_owned));
        let found: Vec<String> =
            changes_within(&repo, AMPLE).changes.iter().map(|c| c.path.to_string()).collect();
        // Ignored files that are in the index are changes for us; the oracle does not add them.
        let found: Vec<String> = found.into_iter().filter(|path| !path.ends_with(".ignored")).collect();
        assert_eq!(found, expected);
    }
}

/// Measures a given repository:
/// `CODEWEAVER_BENCH_REPO=dir cargo test --release -p codeweaver-git git_times -- --ignored --nocapture`.
#[test]
#[ignore = "measures, asserts nothing"]
fn git_times() {
    use crate::{Repo, diff_trees, walk_tree};
    let Some(dir) = std::env::var_os("CODEWEAVER_BENCH_REPO") else { return };
    let timed = |what: &str, run: &mut dyn FnMut() -> usize| {
        let mut times: Vec<_> = (0..5)
            .map(|_| {
                let start = Instant::now();
                let n = run();
                (start.elapsed(), n)
            })
            .collect();
        let first = times[0].0;
        times.sort_unstable();
        println!("{what:32} first {first:10.2?}  best {:10.2?}  n {}", times[0].0, times[0].1);
    };
    let open = Repo::discover(Path::new(&dir)).unwrap();
    timed("discover", &mut || usize::from(Repo::discover(Path::new(&dir)).unwrap().is_bare()));
    let head = open.head().unwrap().tree.unwrap();
    timed("head", &mut || usize::from(open.head().unwrap().commit.is_some()));
    timed("walk", &mut || walk_tree(&open, &head).unwrap().len());
    if let Ok(before) = open.resolve("HEAD~1") {
        timed("diff HEAD~1", &mut || diff_trees(&open, Some(&before.tree), &head).unwrap().len());
    }
    let temp = tempfile::tempdir().unwrap();
    let cache = temp.path().join("cache");
    let index = open.read_index().unwrap();
    timed("read index", &mut || open.read_index().unwrap().entries().len());
    let deadline = Instant::now() + 10 * AMPLE;
    let context = StatusContext::new(&open, Some(&head), &cache, deadline, Tuning::default()).unwrap();
    timed("lstat tracked", &mut || tracked::scan(&context, &index).checked);
    let walk = |cache_file: &Path| {
        let context = StatusContext { cache_file, ..context };
        untracked::scan(&context, &index, None).unwrap().paths.len()
    };
    timed("walk untracked, all directories read", &mut || walk(Path::new("/nonexistent/dir/cache")));
    timed("walk untracked, directories cached", &mut || walk(&cache));
    timed("index against head", &mut || index::diff_head(&open, &index, Some(&head)).unwrap().changed.len());
    timed("worktree changes", &mut || {
        worktree_changes(&open, Some(&head), &cache, AMPLE).unwrap().changes.len()
    });
}
