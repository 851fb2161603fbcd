use std::path::PathBuf;

use codeweaver_testkit::outlast_clock_tick;

use super::*;
use crate::BString;
use crate::testing::{OpenRepo as _, TestRepo};
#[cfg(target_os = "linux")]
use crate::worktree::fsmonitor::MAX_TOUCHED_FILES;

const AMPLE: Duration = Duration::from_secs(60);

fn engine() -> StatusEngine {
    StatusEngine::with_tuning(Tuning::SMALL)
}

/// The changes as a one-shot process finds them, with thresholds at which all code paths are taken.
fn changes(repo: &Repo, cache: &Path, budget: Duration) -> WorktreeChanges {
    let tree = repo.head().unwrap().tree;
    Arc::unwrap_or_clone(engine().status(repo, tree.as_ref(), cache, budget).unwrap().changes)
}

/// Which cached inputs changed.
fn revalidate(repo: &Repo, cache_file: &Path, cache: &StatusCache) -> Touched {
    let deadline = Instant::now() + AMPLE;
    let context = StatusContext::new(repo, None, cache_file, deadline, Tuning::SMALL).unwrap();
    cache.revalidate(&context).touched
}

fn cache(repo: &TestRepo) -> PathBuf {
    repo.root().parent().unwrap().join("stat-cache")
}

/// A repository with tracked files in ignored directories, which are not walked.
fn with_tracked_ignored_files() -> TestRepo {
    let files = [
        (".gitignore", "*.ignored\n/out/\n"),
        ("d0/f0", "0\n"),
        ("d1/sub/f1", "1\n"),
        ("out/kept", "2\n"),
        ("out/deep/er/kept", "3\n"),
    ];
    let repo = TestRepo::with_files(&files[..3]);
    for (path, text) in &files[3..] {
        repo.write(path, text).git(["add", "-f", path]);
    }
    repo.git(["commit", "-qm", "kept"]);
    repo
}

/// The changes as found without any cache.
fn uncached_changes(repo: &Repo) -> WorktreeChanges {
    changes(repo, Path::new("/nonexistent/dir/cache"), AMPLE)
}

/// Runs of a long-lived engine never differ from runs without any cache.
#[test]
fn incremental_runs_miss_nothing() {
    let mut n_incremental = 0;
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let repo = with_tracked_ignored_files();
        let engine = engine();
        let cache = cache(&repo);
        for step in 0..40 {
            let edits: Vec<String> = (0..random.usize(0..4)).map(|_| edit(&repo, &mut random)).collect();
            let open = repo.open();
            let tree = open.head().unwrap().tree;
            let found = engine.status(&open, tree.as_ref(), &cache, AMPLE).unwrap();
            n_incremental += usize::from(found.is_incremental);
            assert_eq!(*found.changes, uncached_changes(&open), "seed {seed}, step {step}: {edits:?}");
        }
    }
    if cfg!(target_os = "linux") {
        assert!(n_incremental > 120, "{n_incremental} of 480 runs were incremental");
    }
}

/// Runs that start from the status cache never differ from runs without any cache.
#[test]
fn the_status_cache_misses_nothing() {
    let (mut n_unchanged, mut n_touched) = (0, 0);
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let repo = with_tracked_ignored_files();
        let cache = cache(&repo);
        for step in 0..30 {
            let mut edits: Vec<String> = (0..random.usize(0..3)).map(|_| edit(&repo, &mut random)).collect();
            let known = random.choice(["d0/f0", "d1/sub/f1", "out/kept", "out/deep/er/kept"]).unwrap();
            if random.bool() && repo.root().join(known).exists() {
                edits = vec![format!("{known} written")];
                repo.write(known, format!("{}\n", random.u8(0..5)));
            }
            // Mostly long enough for the stat data not to be racy.
            if random.u8(0..4) > 0 {
                std::thread::sleep(Duration::from_millis(30));
            }
            let open = repo.open();
            if let Some(cached) = StatusCache::load(&open, &cache)
                .filter(|cached| inputs::are_current(&cached.run.inputs, &open))
                && let Touched::Files(touched) = revalidate(&open, &cache, &cached)
            {
                n_unchanged += usize::from(touched.is_empty());
                n_touched += usize::from(!touched.is_empty());
            }
            let found = changes(&open, &cache, AMPLE);
            assert_eq!(found, uncached_changes(&open), "seed {seed}, step {step}: {edits:?}");
        }
    }
    if cfg!(target_os = "linux") {
        let enough = n_unchanged > 30 && n_touched > 8;
        assert!(enough, "of 180 runs {n_unchanged} had unchanged inputs, {n_touched} touched files");
    }
}

/// Pattern files apply although git does not check them, or they are in a nested repository.
#[test]
fn the_status_cache_covers_all_pattern_files() {
    type Scene = (&'static [&'static [&'static str]], &'static str, &'static str);
    let scenes: [Scene; 4] = [
        (&[&["update-index", "--skip-worktree", ".gitignore"]], ".gitignore", "/out/\n*.new\n"),
        (&[&["update-index", "--assume-unchanged", ".gitignore"]], ".gitignore", "/out/\n*.new\n"),
        (&[&["init", "-q", "d0"]], "d0/.gitattributes", "* filter=x\n"),
        (&[], "out/.gitattributes", "* filter=x\n"),
    ];
    for (commands, path, text) in scenes {
        let repo = with_tracked_ignored_files();
        repo.write("d0/f0", "modified\n").write("out/kept", "modified\n").write("a.new", "untracked\n");
        repo.write("d0/.gitattributes", "* -text\n").write("out/.gitattributes", "* -text\n");
        for command in commands {
            repo.git(*command);
        }
        for round in 0..3 {
            outlast_clock_tick();
            let open = repo.open();
            let found = changes(&open, &cache(&repo), AMPLE);
            assert_eq!(found, uncached_changes(&open), "{path}, round {round}");
            // Written in place, so no directory changes.
            if round == 1 {
                repo.write(path, text);
            }
        }
    }
}

/// A directory that became a link does not make each run scan everything.
#[test]
#[cfg(target_os = "linux")]
fn the_status_cache_is_used_beside_a_linked_directory() {
    let repo = with_tracked_ignored_files();
    std::fs::rename(repo.root().join("d1"), repo.root().parent().unwrap().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", repo.root().join("d1")).unwrap();
    outlast_clock_tick();
    let open = repo.open();
    let found = changes(&open, &cache(&repo), AMPLE);
    assert_eq!(found, uncached_changes(&open));
    // The file behind the link exists, but is cached as absent: it alone is checked again.
    let cached = StatusCache::load(&open, &cache(&repo)).unwrap();
    let touched = revalidate(&open, &cache(&repo), &cached);
    assert!(matches!(touched, Touched::Files(files) if files.iter().eq(["d1/sub/f1"])));
}

#[test]
#[cfg(target_os = "linux")]
fn a_forged_status_cache_does_no_harm() {
    let repo = with_tracked_ignored_files();
    std::fs::remove_file(repo.root().join("d0/f0")).unwrap();
    outlast_clock_tick();
    let open = repo.open();
    changes(&open, &cache(&repo), AMPLE);
    let path = PathBuf::from(format!("{}-seen", cache(&repo).display()));
    let good = std::fs::read(&path).unwrap();
    let content = &good[..good.len() - 16];
    for at in 8..content.len() {
        // With a valid checksum, as in a file that was made on purpose.
        let mut bad = content.to_vec();
        bad[at] = !bad[at];
        bad.extend_from_slice(&blake3::hash(&bad).as_bytes()[..16]);
        std::fs::write(&path, &bad).unwrap();
        repo.write("d1/sub/f1", format!("{at}\n"));
        changes(&open, &cache(&repo), AMPLE);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_damaged_status_cache_is_ignored() {
    let repo = with_tracked_ignored_files();
    repo.write("untracked", "u\n").write("d0/f0", "changed\n");
    outlast_clock_tick();
    let open = repo.open();
    let expected = uncached_changes(&open);
    changes(&open, &cache(&repo), AMPLE);
    let path = PathBuf::from(format!("{}-seen", cache(&repo).display()));
    let good = std::fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        assert!(StatusCache::load(&open, &cache(&repo)).is_none(), "{at}");
        std::fs::write(&path, &good[..at]).unwrap();
        assert!(StatusCache::load(&open, &cache(&repo)).is_none(), "{at}");
    }
    std::fs::write(&path, &good).unwrap();
    assert_eq!(changes(&open, &cache(&repo), AMPLE), expected);
    // Without a time budget the result is the cached one, with its paths counted as unchecked.
    let late = changes(&open, &cache(&repo), Duration::ZERO);
    assert_eq!(late.changes, expected.changes);
    assert!(late.unchecked > 5, "{late:?}");
    // The cache of another configuration is not used.
    repo.git(["config", "core.autocrlf", "true"]);
    assert!(StatusCache::load(&repo.open(), &cache(&repo)).is_none());
}

/// Tries one random action of a user, an editor or git. Returns its description.
fn edit(repo: &TestRepo, random: &mut fastrand::Rng) -> String {
    let root = repo.root();
    let path = |random: &mut fastrand::Rng| {
        let dirs = ["", "d0/", "d1/sub/", "d2/", "out/", "out/deep/er/", "d0/new/", "nested/", "nested/sub/"];
        let dir = random.choice(dirs).unwrap();
        format!("{dir}f{}{}", random.u8(0..4), random.choice(["", "", ".ignored"]).unwrap())
    };
    let (one, other) = (path(random), path(random));
    let (at, to) = (root.join(&one), root.join(&other));
    let aside = root.join(format!("{one}~"));
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).and_then(|()| std::fs::write(path, text))
    };
    let text = format!("{}\n", random.u8(0..3));
    let done = match random.u8(0..27) {
        0..6 => write(&at, &text),
        6..8 => std::fs::remove_file(&at),
        // The way editors save.
        8..10 => write(&aside, &text).and_then(|()| std::fs::rename(&aside, &at)),
        10 => std::fs::rename(&at, &to),
        11 => std::fs::hard_link(&at, &to),
        12 => std::os::unix::fs::symlink("f0", &to),
        13 => std::fs::remove_dir_all(root.join(random.choice(["d0", "d1", "d2", "d0/new"]).unwrap())),
        14 => std::fs::rename(root.join("d0"), root.join("d3")),
        15 => std::fs::rename(root.join("d3"), root.join("d0")),
        16 => write(&root.join(random.choice(["d0/.gitignore", "d2/.gitignore"]).unwrap()), "f3\n"),
        17 => write(&root.join(".gitattributes"), random.choice(["* text=auto\n", "*.x text\n"]).unwrap()),
        18 => write(&at, "with returns\r\n"),
        19 => std::fs::File::open(&at).and_then(|file| file.set_modified(std::time::SystemTime::now())),
        20 => std::os::unix::fs::symlink("d1", root.join("linked")),
        21 => std::fs::rename(root.join("out/deep"), root.join("out/moved")),
        22 => std::fs::rename(root.join("out/moved"), root.join("out/deep")),
        23 => std::fs::create_dir_all(root.join("nested/.git")),
        24 => std::fs::remove_dir(root.join("nested/.git")),
        25 => {
            repo.try_git(["add", "-A"]);
            Ok(())
        }
        _ => {
            repo.try_git(["commit", "-qam", "next"]);
            Ok(())
        }
    };
    format!("{one}, {other}: {done:?}")
}

/// Writes under another name produce no event.
#[test]
#[cfg(target_os = "linux")]
fn a_file_with_two_hard_links_is_checked_in_each_run() {
    let repo = TestRepo::with_files(&[("a.txt", "aaa\n")]);
    let outside = repo.root().parent().unwrap().join("outside");
    std::fs::hard_link(repo.root().join("a.txt"), &outside).unwrap();
    let engine = engine();
    let run = || {
        let open = repo.open();
        let tree = open.head().unwrap().tree;
        let found = engine.status(&open, tree.as_ref(), &cache(&repo), AMPLE).unwrap();
        (
            found.changes.changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(),
            found.is_incremental,
        )
    };
    // As long as the stat data of the index is racy, the index is read in each run. No look at it tells until
    // when.
    let is_incremental = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        run().1
    });
    assert!(is_incremental);
    std::fs::write(&outside, "other\n").unwrap();
    assert_eq!(run(), (vec!["a.txt".to_owned()], true));
}

/// What is cached of the last run after files were touched, and what a run then finds.
fn touched_again(repo: &TestRepo, cache: &Path) -> (Option<Vec<BString>>, WorktreeChanges) {
    let open = repo.open();
    let touched =
        StatusCache::load(&open, cache).and_then(|cached| match revalidate(&open, cache, &cached) {
            Touched::Files(files) => Some(files.into_iter().collect()),
            Touched::Unknown => None,
        });
    (touched, changes(&open, cache, AMPLE))
}

/// More files with several hard links than a monitored run checks each time.
#[test]
#[cfg(target_os = "linux")]
fn a_working_tree_of_hard_links_is_compared_once() {
    let repo = TestRepo::with_files(&[("a.txt", "aaa\n")]);
    let outside = repo.root().parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    for i in 0..=MAX_TOUCHED_FILES {
        let name = format!("{i}.txt");
        repo.write(&name, &name);
        std::fs::hard_link(repo.root().join(&name), outside.join(&name)).unwrap();
    }
    repo.git(["add", "-A"]).git(["commit", "-qm", "links"]);
    let cache = cache(&repo);
    outlast_clock_tick();
    assert!(touched_again(&repo, &cache).1.is_clean());
    assert_eq!(touched_again(&repo, &cache).0, Some(Vec::new()));
    std::fs::write(outside.join("7.txt"), "other\n").unwrap();
    let (touched, found) = touched_again(&repo, &cache);
    assert_eq!(touched, Some(vec!["7.txt".into()]));
    assert_eq!(found, uncached_changes(&repo.open()));
    assert_eq!(found.changes.len(), 1);
}

#[test]
fn a_file_that_stays_edited_is_compared_once() {
    let repo = with_tracked_ignored_files();
    let cache = cache(&repo);
    outlast_clock_tick();
    assert!(touched_again(&repo, &cache).1.is_clean());
    repo.write("d0/f0", "edited\n");
    outlast_clock_tick();
    let (touched, found) = touched_again(&repo, &cache);
    assert_eq!(touched, Some(vec!["d0/f0".into()]));
    assert_eq!(found, uncached_changes(&repo.open()));
    // The next process starts from what that run has left.
    assert_eq!(touched_again(&repo, &cache), (Some(Vec::new()), found.clone()));
    let open = repo.open();
    let tree = open.head().unwrap().tree;
    let expected = engine().expected(&open, tree.as_ref(), &cache).unwrap();
    assert!(expected.changes.agrees_with(&found));
    assert!(engine().expected(&open, None, &cache).is_none(), "another tree");
    for (text, n_changes) in [("edited again\n", 1), ("0\n", 0)] {
        repo.write("d0/f0", text);
        assert!(engine().expected(&open, tree.as_ref(), &cache).is_none());
        outlast_clock_tick();
        let (touched, found) = touched_again(&repo, &cache);
        assert_eq!(touched, Some(vec!["d0/f0".into()]));
        assert_eq!((found.changes.len(), &found), (n_changes, &uncached_changes(&repo.open())));
    }
    // A new status cache makes the difference to the old one void.
    repo.write("d0/new", "new\n");
    outlast_clock_tick();
    assert_eq!(touched_again(&repo, &cache), (None, uncached_changes(&repo.open())));
    assert_eq!(touched_again(&repo, &cache).0, Some(Vec::new()));
}

/// A stand-in for `git fsmonitor--daemon` in `repo`, which answers with these paths until the next are set.
struct FakeMonitor(Arc<Mutex<Vec<u8>>>);

impl FakeMonitor {
    fn start(repo: &TestRepo) -> FakeMonitor {
        use std::io::{Read as _, Write as _};
        let socket = repo.root().join(".git/fsmonitor--daemon.ipc");
        let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        let answer = Arc::new(Mutex::new(Vec::new()));
        let shared = answer.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut question = Vec::new();
                let mut byte = [0];
                while !question.ends_with(b"0000") {
                    client.read_exact(&mut byte).unwrap();
                    question.push(byte[0]);
                }
                // As the daemon does: everything, to those who have no token of its own.
                let is_known = question[4..].starts_with(b"builtin:test:");
                let paths = if is_known { sync::lock(&shared).clone() } else { b"/\0".to_vec() };
                let message = [b"builtin:test:1\0".as_slice(), &paths].concat();
                let packet = format!("{:04x}", message.len() + 4);
                client.write_all(&[packet.as_bytes(), &message, b"0000"].concat()).unwrap();
            }
        });
        let config = repo.root().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap() + "[core]\n\tfsmonitor = true\n";
        std::fs::write(config, text).unwrap();
        FakeMonitor(answer)
    }

    fn report(&self, paths: &[&str]) {
        *sync::lock(&self.0) = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
    }
}

#[test]
fn the_answer_of_gits_fsmonitor_is_used() {
    let repo = with_tracked_ignored_files();
    let cache = cache(&repo);
    let monitor = FakeMonitor::start(&repo);
    outlast_clock_tick();
    assert!(touched_again(&repo, &cache).1.is_clean());
    // What it does not report is not looked at.
    std::fs::write(repo.root().join("d0/f0"), "edited\n").unwrap();
    outlast_clock_tick();
    let (touched, found) = touched_again(&repo, &cache);
    assert_eq!((touched, found.is_clean()), (Some(Vec::new()), true));
    // What it reports is, also beside the store and files that are gone again.
    monitor.report(&["d0/f0", ".codeweaver/cache/stat", "d0/gone"]);
    let (touched, found) = touched_again(&repo, &cache);
    assert_eq!(touched, Some(vec!["d0/f0".into()]));
    assert_eq!(found.changes.len(), 1);
    assert_eq!(touched_again(&repo, &cache), (Some(Vec::new()), found));
    // For everything else, all paths are looked at.
    std::fs::write(repo.root().join("d1/sub/f1"), "edited\n").unwrap();
    std::fs::write(repo.root().join("d0/new"), "new\n").unwrap();
    outlast_clock_tick();
    for report in [&["/"][..], &["d0/"], &["d0/new"], &[".gitignore"], &[".git/x"]] {
        monitor.report(report);
        let open = repo.open();
        let cached = StatusCache::load(&open, &cache).unwrap();
        assert!(matches!(revalidate(&open, &cache, &cached), Touched::Unknown), "{report:?}");
    }
    monitor.report(&["d0/new"]);
    let found = touched_again(&repo, &cache).1;
    assert_eq!((found.changes.len(), &found), (3, &uncached_changes(&repo.open())));
}

#[test]
fn without_an_answer_of_gits_fsmonitor_all_files_are_looked_at() {
    let repo = with_tracked_ignored_files();
    let cache = cache(&repo);
    let monitor = FakeMonitor::start(&repo);
    outlast_clock_tick();
    assert!(touched_again(&repo, &cache).1.is_clean());
    std::fs::remove_file(repo.root().join(".git/fsmonitor--daemon.ipc")).unwrap();
    monitor.report(&[]);
    std::fs::write(repo.root().join("d0/f0"), "edited\n").unwrap();
    outlast_clock_tick();
    let (touched, found) = touched_again(&repo, &cache);
    assert_eq!((touched, found.changes.len()), (Some(vec!["d0/f0".into()]), 1));
}
