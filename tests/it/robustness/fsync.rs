//! A file system that refuses to flush, or is interrupted whenever it does: answers stay as they are, and
//! work that needs the disk ends with an error.

use std::process::Command;

use serde_json::Value;

use codeweaver_testkit::{Run, TestRepo, Tool, program, skip};

/// The program with every `fsync` of it and its children ending in `error`; `None` without the means.
fn with_failing_fsync(repo: &TestRepo, error: &str) -> Option<Command> {
    let mut command = repo.command(Tool::STRACE.find()?);
    command.args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-e"]);
    command.arg(format!("inject=fsync,fdatasync:error={error}"));
    command.arg("-o").arg(calls(repo)).arg(program());
    Some(command)
}

fn calls(repo: &TestRepo) -> std::path::PathBuf {
    repo.beside("calls")
}

/// Returns whether the calls of the last process were seen.
fn is_traced(repo: &TestRepo) -> bool {
    let is_traced = std::fs::read_to_string(calls(repo)).is_ok_and(|calls| calls.contains("fsync("));
    if !is_traced {
        skip("the right to trace a process");
    }
    is_traced
}

/// A repository whose index is one commit behind, with a file that is not committed.
fn behind() -> TestRepo {
    let repo = TestRepo::init();
    for n in 0..20 {
        repo.write(&format!("src/f{n}.py"), format!("def alpha_{n}():\n    return {n}\n"));
    }
    repo.commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    for n in 0..5 {
        repo.write(&format!("src/f{n}.py"), format!("def alpha_{n}():\n    return beta_{n}()\n"));
    }
    repo.commit("second");
    repo.write("src/new.py", "def alpha_new():\n    return alpha_1()\n");
    repo
}

/// The answer without its time. Commits have fixed dates, so two such repositories give the same.
fn answer(run: &Run) -> Value {
    let mut answer = run.success().json();
    answer["execution_time_ms"].take();
    answer
}

#[test]
fn a_failed_fsync_changes_no_answer() {
    for mode in [&["alpha"][..], &["--mode", "exact", "alpha"]] {
        let args = [&["search", "-o", "json"], mode].concat();
        let wanted = answer(&behind().codeweaver(&args));
        for error in ["EACCES", "EIO"] {
            let repo = behind();
            let Some(mut command) = with_failing_fsync(&repo, error) else { return };
            let run = Run::new(command.args(&args));
            if !is_traced(&repo) {
                return;
            }
            assert_eq!(answer(&run), wanted, "{mode:?} {error}: {}", run.stderr());
        }
    }
}

#[test]
fn an_fsync_that_is_interrupted_for_ever_ends_with_an_error() {
    let repo = behind();
    let Some(mut command) = with_failing_fsync(&repo, "EINTR") else { return };
    let run = Run::new(command.args(["index"]));
    if !is_traced(&repo) {
        return;
    }
    assert!(![0, 101].contains(&run.code()), "{}", run.explain());
    assert!(
        run.stderr().contains("interrupted") || run.stderr().contains("Interrupted"),
        "{}",
        run.explain()
    );
    assert!(
        run.stderr().contains("run it again") && !run.stderr().contains("permissions"),
        "{}",
        run.explain()
    );

    repo.codeweaver(["index"]).success();
    repo.codeweaver(["verify"]).success();
    assert_eq!(repo.status()["state"], "indexed");
}
