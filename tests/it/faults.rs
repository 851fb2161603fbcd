//! A writer may die, or fail, at any of its steps (requirements X1, X2): whatever the step, the old or the new state
//! answers afterwards, nothing named is bad, and the next update is as if nothing had happened.

use crate::sandbox::{Question, Sandbox, ask, assert_sound, hybrid, open, respond};
use codeweaver::index::repair;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const FAULT: &str = "CODEWEAVER_FAULT";
/// A writer with more steps than this would make the tests too slow to be run.
const MOST_STEPS: u32 = 400;

/// Runs the program on `root`, armed with a fault.
fn program(root: &Path, words: &[&str], fault: &str) -> Output {
    Command::new(crate::harness::program())
        .args(words)
        .current_dir(root)
        .env(FAULT, fault)
        .env("HOME", root.parent().unwrap())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn questions() -> [Question; 2] {
    [hybrid("alpha function"), Question { committed: true, ..hybrid("second_version") }]
}

fn answers(root: &Path) -> Vec<Value> {
    questions().iter().map(|question| ask(root, question)).collect()
}

/// What a user asks for while the working tree is clean: the answer is the same, whichever snapshot it is laid over.
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
    files("first").iter().for_each(|(path, text)| sandbox.write(path, text));
    sandbox.commit("first");
    sandbox.index();
    files("second").iter().take(2).for_each(|(path, text)| sandbox.write(path, text));
    sandbox.write("new.md", "# Second_version\n\nText about the alpha function.\n");
    sandbox.commit("second");
    sandbox
}

/// Where a run begins.
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
            sandbox.git(&["switch", "-q", "--detach", "HEAD~1"]);
            sandbox
        }
        "reindex" => behind(),
        "repair" => {
            let sandbox = behind();
            let reader = crate::sandbox::reader(sandbox.root());
            let path = reader.layout.segment(&reader.state.segments[0].name);
            std::fs::write(path, b"nothing").unwrap();
            sandbox
        }
        other => unreachable!("{other}"),
    }
}

fn words(name: &str) -> &'static [&'static str] {
    if name == "reindex" { &["index", "--quiet", "--reindex"] } else { &["index", "--quiet"] }
}

/// After a fault: what answers is right, what the state names is whole.
fn check_after(name: &str, sandbox: &Sandbox, fault: &str, wanted: &[Value]) {
    if name != "repair" {
        let findings = repair::verify(&open(sandbox.root())).unwrap();
        assert!(findings.is_empty(), "{name}, {fault}: {findings:?}");
    }
    for (question, wanted) in questions().iter().zip(wanted) {
        match respond(sandbox.root(), question) {
            // Old or new snapshot: HEAD is answered alike, since the difference is laid over the old one.
            Ok(response) => assert_eq!(&crate::sandbox::comparable(&response), wanted, "{name}, {fault}"),
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
    let wanted = fresh_answers(&scene(name));
    for n in 1..MOST_STEPS {
        let fault = format!("{kind}:{n}");
        let sandbox = scene(name);
        let out = program(sandbox.root(), words(name), &fault);
        if kind == "abort" && out.status.success() {
            // Every step has been the last one once.
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
        if kind != "abort" && n > 1 && said.is_empty() && out.status.success() && beyond_last_step(name, n) {
            return;
        }
    }
    panic!("{name}: more than {MOST_STEPS} steps");
}

/// True if a run of `name` has fewer than `n` steps.
fn beyond_last_step(name: &str, n: u32) -> bool {
    program(scene(name).root(), words(name), &format!("abort:{n}")).status.success()
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
        let mut child = Command::new(crate::harness::program())
            .args(&words)
            .current_dir(sandbox.root())
            .env("HOME", sandbox.root().parent().unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
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

#[test]
fn a_read_only_folder_is_one_clear_error() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = behind();
    let wanted = fresh_answers(&sandbox);
    let root = sandbox.root().join(".codeweaver");
    let set = |mode| set_modes(&root, std::fs::Permissions::from_mode(mode));
    set(0o500);
    let out = program(sandbox.root(), &["index", "--quiet"], "");
    let is_root = std::fs::write(root.join("probe"), b"").is_ok();
    if !is_root {
        assert!(!out.status.success());
        assert!(String::from_utf8_lossy(&out.stderr).contains(".codeweaver"));
        assert_eq!(answers(sandbox.root()), wanted);
    }
    set(0o700);
    check_next_update("read-only", &sandbox, "none", &wanted);
}

fn set_modes(dir: &Path, mode: std::fs::Permissions) {
    std::fs::set_permissions(dir, mode.clone()).unwrap();
    for child in std::fs::read_dir(dir).into_iter().flatten().flatten().filter(|child| child.path().is_dir())
    {
        set_modes(&child.path(), mode.clone());
    }
}
