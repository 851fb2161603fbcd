//! Clocks that jump: ages decide what is collected and what messages say, never what is answered.
//!
//! `faketime` gives processes other times. Files and records get other times directly.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use codeweaver_testkit::{FILES, TestRepo, Tool};

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn at(repo: &TestRepo, time: &str, args: &[&str]) {
    let output = repo.command("faketime").args([time, "git-codeweaver"]).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains("panicked"),
        "{time} {args:?}: {}: {said}",
        output.status
    );
}

#[test]
fn the_clock_of_each_process_may_be_another() {
    if Tool::FAKETIME.find().is_none() {
        return;
    }
    let repo = TestRepo::with_files(FILES);
    let times = [
        "2001-01-01 00:00:00",
        "2037-12-31 00:00:00",
        "+40 days",
        "1971-01-01 00:00:00",
        "-3 hours",
        "+3 hours",
        "+0 days",
    ];
    at(&repo, times[0], &["init", "--no-hooks"]);
    for (i, time) in times.iter().enumerate() {
        let word = format!("written_in_round_{i}");
        repo.write(&format!("src/f{i}.rs"), format!("pub fn {word}() {{}}\n")).commit("round");
        at(&repo, time, &["index", "--quiet"]);
        assert_eq!(repo.status()["current"], true, "{time}");
        let later = times[(i + 3) % times.len()];
        at(&repo, later, &["gc"]);
        at(&repo, later, &["status"]);
        at(&repo, later, &["verify"]);
        repo.codeweaver(["verify"]).success();
        assert_eq!(repo.found(&[&word])[0], format!("src/f{i}.rs"), "{time}, collected at {later}");
        // An edit right after a query, at any time: no stat cache may hide it.
        let word = format!("edited_in_round_{i}");
        repo.write(&format!("src/f{i}.rs"), format!("pub fn {word}_() {{}}\n"));
        at(&repo, time, &["search", &word]);
        assert_eq!(repo.found(&[&word])[0], format!("src/f{i}.rs"), "{time}");
        repo.git(["checkout", "-q", "--", "src"]);
    }
}

fn set_times(dir: &Path, seconds: u64) {
    for child in std::fs::read_dir(dir).unwrap().flatten() {
        let path = child.path();
        if child.file_type().unwrap().is_dir() {
            if child.file_name() != ".git" {
                set_times(&path, seconds);
            }
        } else {
            let file = std::fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
    }
}

#[test]
fn files_may_be_of_any_time() {
    let repo = indexed();
    for (i, seconds) in [1, 4_000_000_000, 951_782_399, 9_000_000_000].into_iter().enumerate() {
        set_times(repo.root(), seconds);
        assert_eq!(repo.found(&["--no-tests", "parse_header"])[0], "src/parse.rs", "{seconds}");
        repo.write(&format!("src/f{i}.rs"), format!("pub fn of_time_{i}() {{}}\n")).commit("next");
        set_times(repo.root(), seconds);
        repo.codeweaver(["index", "-q"]).success();
        repo.codeweaver(["gc"]).success();
        repo.codeweaver(["verify"]).success();
        assert_eq!(repo.found(&[&format!("of_time_{i}")])[0], format!("src/f{i}.rs"));
    }
}

/// Times in records are for messages only, and no time is too large to be printed.
#[test]
fn records_may_contain_any_time() {
    let repo = indexed();
    let codebase = crate::support::sandbox::open(repo.root());
    for time in [0, u64::MAX, u64::MAX / 2, 253_402_300_800] {
        codeweaver_index::publish::change_state(&codebase, |state| {
            state.snapshots.values_mut().for_each(|snapshot| snapshot.used_at = time);
            for head in state.heads.values_mut() {
                head.marker.as_mut().unwrap().completed_at = time;
                head.last_run.as_mut().unwrap().finished_at = time;
            }
        })
        .unwrap();
        let record = format!(
            "{{\"session_id\":\"1-{time}\",\"project_path\":\"x\",\"start_time\":{time},\"last_checkpoint\":{time},\
             \"files_processed\":1,\"files_total\":{time},\"chunks_created\":1,\"errors\":0,\"settings_hash\":\"x\"}}"
        );
        std::fs::write(codebase.store().checkpoint("main"), record).unwrap();
        std::fs::write(repo.path(".codeweaver/locks/work-main.lock"), format!("PID 1, started {time}"))
            .unwrap();
        for words in [&["status"][..], &["status", "--json"], &["index", "-q"], &["gc"], &["doctor"]] {
            let run = repo.codeweaver(words);
            assert!(!run.stderr().contains("panicked") && run.code() < 3, "{time}: {}", run.explain());
        }
        assert_eq!(repo.found(&["--no-tests", "parse_header"])[0], "src/parse.rs");
        let lifecycle = crate::support::sandbox::reader(repo.root()).state.heads["main"].phase;
        assert_eq!(lifecycle, codeweaver_store::state::Phase::Indexed);
    }
}

/// A collection whose clock is years ahead removes nothing that a running update is about to name: finished
/// files are either found missing before publication or not missing at all.
#[test]
fn a_collection_in_the_future_loses_nothing_that_is_named() {
    let sandbox = crate::support::sandbox::Sandbox::with(&[("a.py", "def alpha():\n    return 1\n")]);
    sandbox.index();
    for round in 0..6 {
        sandbox.write("b.py", format!("def beta_{round}():\n    return {round}\n"));
        sandbox.commit("next");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| crate::support::sandbox::try_index(sandbox.root()));
            // Every file is old to this process: it removes all that no state names.
            use codeweaver_index::gc;
            let codebase = crate::support::sandbox::open(sandbox.root());
            for _ in 0..4 {
                let _ = gc::collect(&codebase, gc::Keep { grace: Duration::ZERO, ..gc::Keep::USUAL });
            }
            match writer.join().unwrap() {
                Ok(_) => {}
                Err(e) => assert!(e.to_string().contains("No such file"), "{e}"),
            }
        });
        crate::support::sandbox::assert_sound(sandbox.root());
        sandbox.index();
        crate::support::sandbox::assert_sound(sandbox.root());
        let found = sandbox.ask(&crate::support::sandbox::hybrid("beta"));
        assert_eq!(found["matches"][0]["file"]["path"], "b.py");
    }
}
