//! Writers that die or fail at any of their steps: afterwards the old or the new state answers, everything
//! that it names is intact, and the next update gives the same result as an undisturbed one.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use codeweaver_index::repair;

use crate::support::sandbox::{Query, Sandbox, ask, assert_sound, command_in, hybrid, open, respond};

const FAULT: &str = "CODEWEAVER_FAULT";
/// Maximum number of steps of a writer; more would make the tests too slow.
const MOST_STEPS: u32 = 400;

/// Runs the program in `root` with an injected fault.
fn program(root: &Path, words: &[&str], fault: &str) -> Output {
    command_in(root, codeweaver_testkit::program()).args(words).env(FAULT, fault).output().unwrap()
}

fn queries() -> [Query; 2] {
    [hybrid("alpha function"), Query { committed: true, ..hybrid("second_version") }]
}

fn answers(root: &Path) -> Vec<Value> {
    queries().iter().map(|query| ask(root, query)).collect()
}

/// Answers of a fresh index for a clean working tree. They do not depend on the snapshot below the overlay.
fn fresh_answers(sandbox: &Sandbox) -> Vec<Value> {
    let fresh = sandbox.copy();
    fresh.index();
    answers(fresh.root())
}

fn files(version: &str) -> Vec<(String, String)> {
    let file = |i: usize| {
        (
            format!("src/file_{i}.py"),
            format!(
                "def alpha_{i}():\n    return '{version}_version'\n\n\ndef beta_{i}():\n    return {i}\n"
            ),
        )
    };
    (0..3).map(file).collect()
}

/// A repository whose index is one commit behind.
fn behind() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files("first") {
        sandbox.write(&path, text);
    }
    sandbox.commit("first");
    sandbox.index();
    for (path, text) in files("second").into_iter().take(2) {
        sandbox.write(&path, text);
    }
    sandbox.write("new.md", "# Second_version\n\nText about the alpha function.\n");
    sandbox.commit("second");
    sandbox
}

/// The repository in which a run of `name` begins.
fn scene(name: &str) -> Sandbox {
    match name {
        "first index" => {
            let sandbox = behind();
            std::fs::remove_dir_all(sandbox.root().join(".codeweaver")).unwrap();
            std::fs::remove_file(sandbox.root().join(".git/codeweaver-nonce")).unwrap();
            sandbox
        }
        "update" => behind(),
        "update that compacts" => {
            let sandbox = Sandbox::new();
            for i in 0..7 {
                sandbox.write(&format!("f{i}.py"), format!("def alpha_{i}():\n    return {i}\n"));
                sandbox.commit("one more");
                sandbox.index();
            }
            sandbox.write("last.py", "def alpha_last():\n    return 'second_version'\n");
            sandbox.commit("last");
            sandbox
        }
        "switch back" => {
            let sandbox = behind();
            sandbox.index();
            sandbox.git(["switch", "-q", "--detach", "HEAD~1"]);
            sandbox
        }
        "reindex" => behind(),
        "gc" => {
            let sandbox = behind();
            sandbox.index();
            let then = std::time::SystemTime::now() - Duration::from_secs(3 * 3600);
            codeweaver_index::publish::change_state(&open(sandbox.root()), |state| {
                let kept = state.heads["main"].snapshot.clone();
                state.snapshots.retain(|key, _| *key == kept);
            })
            .unwrap();
            for dir in open(sandbox.root()).store().content_dirs() {
                for file in std::fs::read_dir(dir).unwrap().flatten() {
                    let file = std::fs::File::options().append(true).open(file.path()).unwrap();
                    file.set_modified(then).unwrap();
                }
            }
            sandbox
        }
        "repair" => {
            let sandbox = behind();
            let reader = crate::support::sandbox::reader(sandbox.root());
            let path = reader.layout.segment(&reader.state.segments[0].name);
            std::fs::write(path, b"nothing").unwrap();
            sandbox
        }
        other => unreachable!("{other}"),
    }
}

fn words(name: &str) -> &'static [&'static str] {
    match name {
        "reindex" => &["index", "--quiet", "--reindex"],
        "gc" => &["gc", "--json"],
        _ => &["index", "--quiet"],
    }
}

/// Asserts that answers are right and that everything named by the state is intact.
fn check_after(name: &str, sandbox: &Sandbox, fault: &str, wanted: &[Value]) {
    if name != "repair" {
        let findings = repair::verify(&open(sandbox.root())).unwrap();
        assert!(findings.is_empty(), "{name}, {fault}: {findings:?}");
    }
    for (query, wanted) in queries().iter().zip(wanted) {
        match respond(sandbox.root(), query) {
            // Old and new snapshot give the same answer for HEAD: an overlay covers the difference.
            Ok(response) => {
                assert_eq!(&crate::support::sandbox::comparable(&response), wanted, "{name}, {fault}")
            }
            Err(e) if name == "first index" || name == "repair" => {
                let text = e.to_string();
                assert!(!text.is_empty() && !text.contains("panic"), "{name}, {fault}: {text}");
            }
            Err(e) => panic!("{name}, {fault}: {e}"),
        }
    }
}

fn check_next_update(name: &str, sandbox: &Sandbox, fault: &str, wanted: &[Value]) {
    let next = program(sandbox.root(), &["index", "--quiet"], "");
    assert!(next.status.success(), "{name}, after {fault}: {}", String::from_utf8_lossy(&next.stderr));
    assert_sound(sandbox.root());
    assert_eq!(answers(sandbox.root()), wanted, "{name}, {fault}, next update");
}

fn every_step(kind: &str, name: &str) {
    let scene = scene(name);
    let wanted = fresh_answers(&scene);
    for n in 1..MOST_STEPS {
        let fault = format!("{kind}:{n}");
        let sandbox = scene.copy_with_index();
        let out = program(sandbox.root(), words(name), &fault);
        if kind == "abort" && out.status.success() {
            // Every step has been the last one in one of the runs.
            assert!(n > 8, "{name} has only {n} steps");
            return;
        }
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(kind == "abort" || !said.contains("panicked"), "{name}, {fault}: {said}");
        if kind != "abort" && !out.status.success() {
            assert!(
                said.contains(".codeweaver") || said.contains("nonce"),
                "{name}, {fault}: {said:?} does not say what failed"
            );
        }
        check_after(name, &sandbox, &fault, &wanted);
        check_next_update(name, &sandbox, &fault, &wanted);
        let is_quiet = kind != "abort" && n > 1 && said.is_empty() && out.status.success();
        if is_quiet && beyond_last_step(&scene, name, n) {
            return;
        }
    }
    panic!("{name}: more than {MOST_STEPS} steps");
}

/// True if a run of `name` in a copy of `scene` has fewer than `n` steps.
fn beyond_last_step(scene: &Sandbox, name: &str, n: u32) -> bool {
    program(scene.copy_with_index().root(), words(name), &format!("abort:{n}")).status.success()
}

#[test]
fn a_first_index_may_die_at_any_step() {
    every_step("abort", "first index");
}

#[test]
fn an_update_may_die_at_any_step() {
    every_step("abort", "update");
}

#[test]
fn a_compaction_may_die_at_any_step() {
    every_step("abort", "update that compacts");
}

#[test]
fn a_switch_back_may_die_at_any_step() {
    every_step("abort", "switch back");
}

#[test]
fn a_reindex_may_die_at_any_step() {
    every_step("abort", "reindex");
}

#[test]
fn a_repair_may_die_at_any_step() {
    every_step("abort", "repair");
}

#[test]
fn a_first_index_may_fail_at_any_step() {
    every_step("io", "first index");
}

#[test]
fn an_update_may_fail_at_any_step() {
    every_step("io", "update");
}

#[test]
fn the_disk_may_be_full_from_any_step_of_an_update() {
    every_step("full", "update");
}

#[test]
fn a_reindex_may_meet_a_full_disk_at_any_step() {
    every_step("full", "reindex");
}

/// The short form of `benches/faults.rs`.
#[test]
fn crowds_of_processes_may_be_killed_at_any_moment() {
    let mut campaign = crate::robustness::campaign::Campaign::new(fastrand::u64(..));
    campaign.run(60, &mut |_| {});
    assert!(campaign.counts.failures.is_empty(), "{}", campaign.counts);
    assert!(campaign.counts.answers_after > 0 && campaign.counts.verified > 0, "{}", campaign.counts);
}

#[test]
fn a_killed_writer_loses_nothing() {
    let sandbox = Sandbox::new();
    let mut rng = fastrand::Rng::with_seed(17);
    for round in 0..25u32 {
        for i in 0..12 {
            sandbox.write(
                &format!("f{i}.py"),
                format!("def alpha_{i}():\n    return 'second_version {round} {}'\n", rng.u8(..4)),
            );
        }
        sandbox.commit("round");
        let mut words = vec!["index", "--quiet"];
        if round % 5 == 4 {
            words.push("--reindex");
        }
        let mut child = sandbox
            .command(codeweaver_testkit::program())
            .args(&words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed at any moment, not at one that is waited for.
        std::thread::sleep(Duration::from_millis(rng.u64(0..120)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(repair::verify(&open(sandbox.root())).unwrap(), [], "round {round}");
        if round % 3 == 0 {
            check_next_update("kill -9", &sandbox, "kill", &fresh_answers(&sandbox));
        }
    }
    check_next_update("kill -9", &sandbox, "kill", &fresh_answers(&sandbox));
}

/// A `deinit` that dies leaves a valid store: it can be removed or used again.
#[test]
fn a_removal_may_die_at_any_step() {
    let scene = behind();
    let wanted = fresh_answers(&scene);
    for n in 1..MOST_STEPS {
        let sandbox = scene.copy_with_index();
        let out = program(sandbox.root(), &["deinit"], &format!("abort:{n}"));
        if out.status.success() {
            assert!(n > 4, "deinit has only {n} steps");
            assert!(!sandbox.root().join(".codeweaver").exists());
            return;
        }
        if n % 2 == 0 {
            let again = program(sandbox.root(), &["deinit"], "");
            assert!(again.status.success(), "step {n}: {}", String::from_utf8_lossy(&again.stderr));
        }
        let init = program(sandbox.root(), &["init", "--no-hooks"], "");
        assert!(init.status.success(), "step {n}: {}", String::from_utf8_lossy(&init.stderr));
        check_next_update("deinit", &sandbox, &format!("abort:{n}"), &wanted);
    }
    panic!("deinit: more than {MOST_STEPS} steps");
}

#[test]
fn a_collection_may_die_at_any_step() {
    every_step("abort", "gc");
}

#[test]
fn a_repair_may_meet_a_full_disk_at_any_step() {
    every_step("full", "repair");
}

/// As on a network drive: a file handle becomes stale, or a rename that took place is reported as failed.
#[test]
fn a_network_drive_may_fail_an_update_at_any_step() {
    every_step("stale", "update");
    every_step("lost", "update");
}
