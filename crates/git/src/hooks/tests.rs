//! Installation against real git in temporary repositories, with a program that records its calls.

#![allow(clippy::unwrap_used)] // helpers outside of test functions

mod beside_others;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use codeweaver_testkit::{Run, skip};

use super::command::Git;
use super::install::{inspect_with, install_with, uninstall_with};
use super::survey::survey_with;
use super::*;

/// A repository with a directory name that would break careless quoting, and the git that the library runs in
/// it.
struct TestRepo {
    repo: codeweaver_testkit::TestRepo,
    root: PathBuf,
    git: Git,
}

impl TestRepo {
    fn new() -> TestRepo {
        TestRepo::with_args(&["init", "-q", "-b", "main"])
    }

    fn with_args(init: &[&str]) -> TestRepo {
        let base = codeweaver_testkit::TestRepo::empty_dir();
        let root = base.beside("it's a \"repo\" $HOME");
        fs::create_dir(&root).unwrap();
        let bin = base.beside("bin dir's");
        fs::create_dir(&bin).unwrap();
        let config = base.beside(".gitconfig");
        // Maintenance in the background would change files between two listings.
        fs::write(&config, "[maintenance]\n\tauto = false\n[gc]\n\tauto = 0\n").unwrap();
        let path = format!("{}:/usr/bin:/bin:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let repo = base
            .at(root.to_str().unwrap())
            .env("PATH", &path)
            .env("GIT_CONFIG_GLOBAL", config.to_str().unwrap())
            .env("GIT_TEMPLATE_DIR", "")
            .env("CALLS", base.beside("calls").to_str().unwrap())
            .env("CODEWEAVER_HOOKS", "background");
        // Another git than the one on the path can be tried by naming it.
        let program = std::env::var_os("CODEWEAVER_TEST_GIT").map_or("git".into(), PathBuf::from);
        let set = repo.command(&program);
        let set = set.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let repo = TestRepo { git: Git { program, envs: set.collect() }, repo, root };
        repo.git(init);
        repo
    }

    fn base(&self) -> PathBuf {
        self.root.parent().unwrap().to_path_buf()
    }

    fn binary(&self) -> PathBuf {
        self.base().join("bin dir's/git-codeweaver")
    }

    /// Installs a program that appends its arguments, directory and mode of running to `calls`.
    fn with_binary(self) -> TestRepo {
        let script = "#!/bin/sh\nprintf '%s | %s | %s\\n' \"$*\" \"$PWD\" \"${GIT_INDEX_FILE-none}\" >>\"$CALLS\"\n\
                      echo noise; echo noise >&2; exit 9\n";
        write_executable(&self.binary(), script);
        self
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.repo.command(&self.git.program);
        command.args(args).current_dir(dir);
        command
    }

    fn try_git_in(&self, dir: &Path, args: &[&str]) -> Output {
        self.command(dir, args).output().unwrap()
    }

    /// Both streams of git, which must succeed.
    fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let run = Run::new(&mut self.command(dir, args));
        run.success().stdout() + &run.stderr()
    }

    fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root, args)
    }

    /// Adds one file and commits it; returns all that git printed.
    fn commit(&self, name: &str) -> String {
        self.commit_in(&self.root, name)
    }

    fn commit_in(&self, dir: &Path, name: &str) -> String {
        fs::write(dir.join(name), name).unwrap();
        self.git_in(dir, &["add", name]);
        self.git_in(dir, &["commit", "-q", "-m", name])
    }

    fn site(&self) -> HookSite {
        let git_dir = self.root.join(".git");
        HookSite { common_dir: git_dir.clone(), git_dir, work_dir: Some(self.root.clone()) }
    }

    fn version(&self) -> GitVersion {
        GitVersion::detect_with(&self.git).unwrap()
    }

    fn install(&self) -> InstallReport {
        install_with(&self.git, &self.site(), &InstallOptions::new(self.binary())).unwrap()
    }

    /// Lets git ignore `pattern`.
    fn ignore(&self, pattern: &str) {
        fs::create_dir_all(self.root.join(".git/info")).unwrap();
        fs::write(self.root.join(".git/info/exclude"), pattern).unwrap();
    }

    /// Installs as for an older git, whichever is there.
    fn install_files(&self) -> InstallReport {
        let (site, mut survey) = (self.site(), survey_with(&self.git, &self.site()).unwrap());
        survey.version = GitVersion { major: 2, minor: 53 };
        let plan = plan(&site, &survey, &InstallOptions::new(self.binary())).unwrap();
        for change in &plan.changes {
            super::install::apply(&self.git, &site, change).unwrap();
        }
        plan.report
    }

    fn uninstall(&self) -> UninstallReport {
        uninstall_with(&self.git, &self.site(), false).unwrap()
    }

    fn states(&self) -> Vec<EventState> {
        inspect_with(&self.git, &self.site()).unwrap().events.into_iter().map(|(_, state)| state).collect()
    }

    fn hook(&self, name: &str) -> PathBuf {
        self.root.join(".git/hooks").join(name)
    }

    /// The recorded calls (arguments only), once there are `n` and no more follow; the record is emptied.
    fn calls(&self, n: usize) -> Vec<String> {
        self.full_calls(n).iter().map(|line| line.split(" | ").next().unwrap().to_owned()).collect()
    }

    fn full_calls(&self, n: usize) -> Vec<String> {
        let path = self.base().join("calls");
        let read = || fs::read_to_string(&path).unwrap_or_default();
        let started = Instant::now();
        while read().lines().count() < n && started.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(120)); // a call too many would come now
        let lines = read().lines().map(str::to_owned).collect();
        let _ = fs::remove_file(&path);
        lines
    }
}

fn write_executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn outcomes(report: &InstallReport) -> Vec<Outcome> {
    report.events.iter().map(|(_, outcome)| outcome.clone()).collect()
}

/// Runs the everyday commands and compares the calls; the same for both ways of installing.
fn assert_everyday_commands_call_once(repo: &TestRepo) {
    let oid = |rev: &str| repo.git(&["rev-parse", rev]).trim().to_owned();
    assert_eq!(repo.commit("a"), "", "git prints nothing more");
    let calls = repo.full_calls(1);
    assert_eq!(calls, [format!("hook post-commit | {} | none", repo.root.display())]);

    repo.git(&["checkout", "-q", "-b", "side"]);
    assert_eq!(repo.calls(1), [format!("hook post-checkout {0} {0} 1", oid("HEAD"))]);
    repo.commit("b");
    repo.git(&["checkout", "-q", "main"]);
    assert_eq!(repo.calls(2).len(), 2);

    fs::write(repo.root.join("a"), "changed").unwrap();
    repo.git(&["checkout", "-q", "--", "a"]);
    assert_eq!(repo.calls(0), [""; 0], "single files");

    repo.commit("c");
    repo.calls(1);
    repo.git(&["merge", "-q", "side", "-m", "m"]);
    assert_eq!(repo.calls(1), ["hook post-merge 0"]);
    repo.git(&["commit", "-q", "--amend", "-m", "n"]);
    let mut calls = repo.calls(2);
    calls.sort();
    assert_eq!(calls, ["hook post-commit", "hook post-rewrite amend"]);

    repo.git(&["config", "core.untouched", "1"]);
    let mut off = repo.command(&repo.root, &["commit", "-q", "--allow-empty", "-m", "off"]);
    assert!(off.env("CODEWEAVER_HOOKS", "off").status().unwrap().success());
    assert_eq!(repo.calls(0), [""; 0], "switched off");

    let mut foreground = repo.command(&repo.root, &["commit", "-q", "--allow-empty", "-m", "fg"]);
    assert!(foreground.env("CODEWEAVER_HOOKS", "foreground").output().unwrap().status.success());
    assert!(repo.base().join("calls").exists(), "git has waited for it");
    repo.calls(1);

    fs::remove_file(repo.binary()).unwrap();
    assert_eq!(repo.commit("d"), "", "a missing program is silent");
    repo.git(&["checkout", "-q", "side"]);
    assert_eq!(repo.calls(0), [""; 0]);
}

#[test]
fn everyday_commands_call_the_program_once() {
    let repo = TestRepo::new().with_binary();
    let report = repo.install();
    assert_eq!(outcomes(&report), vec![Outcome::Created; 4]);
    assert_eq!(repo.states(), [EventState::Current; 4]);
    assert_everyday_commands_call_once(&repo);
}

#[test]
fn hook_files_do_the_same_with_any_git() {
    let repo = TestRepo::new().with_binary();
    assert_eq!(outcomes(&repo.install_files()), vec![Outcome::Created; 4]);
    assert_everyday_commands_call_once(&repo);
}

#[test]
fn a_rebase_calls_once_when_it_ends() {
    let repo = TestRepo::new().with_binary();
    repo.commit("base");
    repo.git(&["branch", "old"]);
    repo.commit("new");
    repo.git(&["checkout", "-q", "-b", "topic", "old"]);
    for name in ["x", "y", "z"] {
        repo.commit(name);
    }
    repo.install();
    repo.git(&["rebase", "-q", "main"]);
    assert_eq!(repo.calls(1), ["hook post-rewrite rebase"]);

    repo.git(&["rebase", "-q", "--apply", "--force-rebase", "old"]);
    let calls = repo.calls(2);
    assert!(calls.len() <= 2 && calls.contains(&"hook post-rewrite rebase".to_owned()), "{calls:?}");

    // Only moves forward, so nothing is rewritten and post-rewrite stays silent.
    repo.git(&["checkout", "-q", "-b", "behind", "old"]);
    repo.calls(1);
    repo.git(&["rebase", "-q", "main"]);
    let calls = repo.calls(1);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0].starts_with("hook post-checkout "), "{calls:?}");
}

#[test]
fn a_sequence_of_picks_and_a_bisect_call_once() {
    let repo = TestRepo::new().with_binary();
    repo.commit("base");
    repo.git(&["checkout", "-q", "-b", "side"]);
    for name in ["p", "q", "r", "s", "t", "u"] {
        repo.commit(name);
    }
    repo.git(&["checkout", "-q", "main"]);
    repo.install();
    repo.git(&["cherry-pick", "side~5..side"]);
    assert_eq!(repo.calls(1), ["hook post-commit"]);
    repo.git(&["revert", "--no-edit", "HEAD", "HEAD~1"]);
    assert_eq!(repo.calls(1), ["hook post-commit"]);
    repo.git(&["cherry-pick", "side~5"]);
    assert_eq!(repo.calls(1), ["hook post-commit"], "a single one");

    repo.git(&["bisect", "start", "side", "side~6"]);
    repo.git(&["bisect", "good"]);
    assert_eq!(repo.calls(0), [""; 0]);
    repo.git(&["bisect", "reset"]);
    let calls = repo.calls(1);
    assert!(calls.len() == 1 && calls[0].starts_with("hook post-checkout "), "{calls:?}");
}

#[test]
fn a_linked_worktree_calls_from_its_own_root() {
    let repo = TestRepo::new().with_binary();
    repo.commit("a");
    repo.install();
    let linked = repo.base().join("linked tree");
    repo.git(&["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
    let calls = repo.full_calls(1);
    assert!(calls.len() == 1 && calls[0].starts_with("hook post-checkout 0000"), "{calls:?}");
    assert!(calls[0].ends_with(&format!(" 1 | {} | none", linked.display())), "{calls:?}");

    repo.commit_in(&linked, "b");
    assert_eq!(repo.full_calls(1), [format!("hook post-commit | {} | none", linked.display())]);

    // Installing from the linked worktree finds the hooks of the repository.
    let git_dir = PathBuf::from(repo.git_in(&linked, &["rev-parse", "--absolute-git-dir"]).trim());
    let site = HookSite { git_dir, common_dir: repo.root.join(".git"), work_dir: Some(linked.clone()) };
    let report = install_with(&repo.git, &site, &InstallOptions::new(repo.binary())).unwrap();
    assert_eq!(outcomes(&report), vec![Outcome::Unchanged; 4]);

    // A rebase in the linked worktree is detected there, not in the main one.
    repo.git_in(&linked, &["rebase", "-q", "--force-rebase", "HEAD~1"]);
    assert_eq!(repo.calls(1), ["hook post-rewrite rebase"]);
}

#[test]
fn a_bare_repository_and_its_worktrees_are_served() {
    let repo = TestRepo::new().with_binary();
    repo.commit("a");
    let bare = repo.base().join("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let site = HookSite { git_dir: bare.clone(), common_dir: bare.clone(), work_dir: None };
    let before = listing(&bare);
    let report = install_with(&repo.git, &site, &InstallOptions::new(repo.binary())).unwrap();
    assert_eq!(outcomes(&report), vec![Outcome::Created; 5]);
    let linked = repo.base().join("of bare");
    repo.git_in(&bare, &["worktree", "add", "-q", "-b", "w", linked.to_str().unwrap()]);
    assert_eq!(repo.calls(1).len(), 1);
    repo.git_in(&bare, &["worktree", "remove", linked.to_str().unwrap()]);
    uninstall_with(&repo.git, &site, false).unwrap();
    let ours = |files: Vec<(PathBuf, Vec<u8>)>| -> Vec<_> {
        files
            .into_iter()
            .filter(|(path, _)| path.ends_with("config") || path.starts_with(bare.join("hooks")))
            .collect()
    };
    assert_eq!(ours(listing(&bare)), ours(before));
}

/// All files below `dir` with their bytes.
fn listing(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files.push((entry.path(), Vec::new()));
            files.extend(listing(&entry.path()));
        } else {
            files.push((entry.path(), fs::read(entry.path()).unwrap_or_default()));
        }
    }
    files.sort();
    files
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_gives_back_every_byte() {
    for files_only in [false, true] {
        let repo = TestRepo::new().with_binary();
        repo.commit("a");
        write_executable(&repo.hook("post-commit"), "#!/bin/bash\necho mine >&2\nexit 4\n");
        fs::write(repo.hook("post-merge"), "#!/bin/sh\necho off\n").unwrap();
        let before = listing(&repo.root.join(".git"));
        let install = || if files_only { repo.install_files() } else { repo.install() };
        install();
        let once = listing(&repo.root.join(".git"));
        assert_ne!(before, once);
        let unchanged = |outcome: &Outcome| {
            matches!(outcome, Outcome::Unchanged | Outcome::Advised(Reason::NotExecutable))
        };
        assert!(outcomes(&install()).iter().all(unchanged));
        assert_eq!(listing(&repo.root.join(".git")), once);
        repo.uninstall();
        assert_eq!(listing(&repo.root.join(".git")), before);
        assert_eq!(repo.uninstall(), UninstallReport::default());
    }
}

#[test]
fn temporary_files_of_killed_processes_are_removed() {
    let repo = TestRepo::new();
    let rest = repo.root.join(".git/hooks/.codeweaver-hook-a1B2c3");
    for install in [true, false] {
        repo.install_files();
        fs::write(&rest, "#!/bin/sh\n").unwrap();
        if install {
            repo.install();
        } else {
            repo.uninstall();
        }
        assert!(!rest.exists(), "install: {install}");
    }
    assert!(!repo.root.join(".git/hooks").exists());
}

#[test]
fn a_created_hook_directory_is_removed() {
    let repo = TestRepo::new();
    assert!(!repo.root.join(".git/hooks").exists(), "no template");
    repo.install_files();
    assert!(repo.hook("post-rewrite").exists());
    repo.uninstall();
    assert!(!repo.root.join(".git/hooks").exists());
}

#[test]
fn configuration_needs_no_hook_file_and_replaces_older_blocks() {
    let repo = TestRepo::new().with_binary();
    write_executable(&repo.hook("post-commit"), "#!/bin/sh\nexit 1\n");
    repo.install_files();
    let mut survey = survey_with(&repo.git, &repo.site()).unwrap();
    survey.version = GitVersion::CONFIGURED_HOOKS;
    let options = InstallOptions::new(repo.binary());
    let planned = plan(&repo.site(), &survey, &options).unwrap();
    for change in &planned.changes {
        super::install::apply(&repo.git, &repo.site(), change).unwrap();
    }
    assert_eq!(fs::read_to_string(repo.hook("post-commit")).unwrap(), "#!/bin/sh\nexit 1\n");
    assert!(!repo.hook("post-merge").exists());
    assert_eq!(planned.report.method, Method::Configuration(Scope::Local));
    let position = |change: &dyn Fn(&Change) -> bool| planned.changes.iter().position(change).unwrap();
    let command =
        position(&|change| matches!(change, Change::SetConfig { key, .. } if key.ends_with(".command")));
    let event = position(&|change| matches!(change, Change::AddConfig { .. }));
    assert!(command < event, "git refuses an event whose hook has no command");
    let events = repo.git(&["config", "--local", "--get-all", "hook.codeweaver.event"]);
    assert_eq!(events.lines().collect::<Vec<_>>(), Event::OF_WORKTREES.map(Event::name));

    // Values that the user set under our name stay.
    repo.git(&["config", "hook.codeweaver.enabled", "false"]);
    if repo.version().has_configured_hooks() {
        assert_eq!(repo.states(), [EventState::SwitchedOff; 4]);
    } else {
        skip("git 2.54 or later");
    }
    repo.git(&["config", "hook.other.event", "post-commit"]);
    repo.uninstall();
    let left = repo.git(&["config", "--local", "--get-regexp", "^hook\\."]);
    assert_eq!(left, "hook.codeweaver.enabled false\nhook.other.event post-commit\n");
}

#[test]
fn the_configured_command_derives_the_event_from_its_arguments() {
    let repo = TestRepo::new().with_binary();
    let rendering = super::script::Rendering::new(Some(&repo.binary()), HookMode::Foreground).unwrap();
    // Git appends the arguments to the line.
    let line = format!("{} \"$@\"", rendering.command());
    let table: [(&[&str], &str); 5] = [
        (&[], "hook post-commit"),
        (&["a", "b", "1"], "hook post-checkout a b 1"),
        (&["0"], "hook post-merge 0"),
        (&["amend"], "hook post-rewrite amend"),
        (&["rebase"], "hook post-rewrite rebase"),
    ];
    for (args, expected) in table {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &line, &line]).args(args).current_dir(&repo.root);
        command.envs(repo.git.envs.iter().map(|(name, value)| (name, value))).env_remove("CODEWEAVER_HOOKS");
        assert!(command.output().unwrap().status.success());
        assert_eq!(repo.calls(1), [expected]);
    }
}

#[test]
fn a_global_installation_needs_a_newer_git() {
    let repo = TestRepo::new();
    let mut survey = survey_with(&repo.git, &repo.site()).unwrap();
    let options = InstallOptions { global: true, ..InstallOptions::new(repo.binary()) };
    survey.version = GitVersion { major: 2, minor: 53 };
    let error = plan(&repo.site(), &survey, &options).unwrap_err();
    assert!(matches!(error, HookError::GlobalNeedsNewerGit { .. }), "{error}");
    survey.version = GitVersion { major: 2, minor: 54 };
    let planned = plan(&repo.site(), &survey, &options).unwrap();
    for change in &planned.changes {
        super::install::apply(&repo.git, &repo.site(), change).unwrap();
    }
    assert!(repo.git(&["config", "--global", "hook.codeweaver.command"]).contains("git-codeweaver"));
    assert_eq!(uninstall_with(&repo.git, &repo.site(), false).unwrap(), UninstallReport::default());
    assert_eq!(uninstall_with(&repo.git, &repo.site(), true).unwrap().scopes, [Scope::Global]);
}

#[test]
fn states_are_current_outdated_foreign_and_missing() {
    let repo = TestRepo::new().with_binary();
    let status = || {
        let mut status = inspect_with(&repo.git, &repo.site()).unwrap();
        (status.events.drain(..).map(|(_, state)| state).collect::<Vec<_>>(), status)
    };
    assert_eq!(status().0, [EventState::Missing; 4]);
    repo.install_files();
    let (states, found) = status();
    assert_eq!(states, [EventState::Current; 4]);
    assert_eq!(found.recorded_binary.as_deref(), Some(repo.binary().as_path()));
    assert!(found.binary_found);
    let text = fs::read_to_string(repo.hook("post-merge")).unwrap();
    fs::write(repo.hook("post-merge"), text.replace("exit 0\n) || :", ") || :")).unwrap();
    write_executable(&repo.hook("post-rewrite"), "#!/bin/sh\n");
    fs::remove_file(repo.hook("post-checkout")).unwrap();
    let expected = [EventState::Current, EventState::Missing, EventState::Outdated, EventState::Foreign];
    assert_eq!(status().0, expected);
    let report = repo.install_files();
    assert_eq!(outcomes(&report), [Outcome::Unchanged, Outcome::Created, Outcome::Updated, Outcome::Chained]);
    assert_eq!(status().0, [EventState::Current; 4]);
}

#[test]
fn an_unwritable_directory_is_an_error_that_names_it() {
    let repo = TestRepo::new();
    fs::write(repo.root.join(".git/in the way"), "a file").unwrap();
    repo.git(&["config", "core.hooksPath", repo.root.join(".git/in the way/hooks").to_str().unwrap()]);
    let mut survey = survey_with(&repo.git, &repo.site()).unwrap();
    survey.version = GitVersion { major: 2, minor: 53 };
    let planned = plan(&repo.site(), &survey, &InstallOptions::new(repo.binary())).unwrap();
    let error = super::install::apply(&repo.git, &repo.site(), &planned.changes[0]).unwrap_err();
    assert!(matches!(error, HookError::Write { .. }), "{error}");
    assert!(error.fix().contains("permissions"));
}

/// Prints what the hooks add to `git commit`, on an otherwise idle machine.
///
/// Run the test program itself with `overhead_of_a_commit --ignored --nocapture`: cargo sets a library path
/// that every process started here has to search, which doubles the figure.
#[test]
#[ignore = "a measurement"]
fn overhead_of_a_commit() {
    let repo = TestRepo::new();
    write_executable(&repo.binary(), "#!/bin/sh\n");
    let median = |n: usize| {
        let mut times: Vec<Duration> = (0..n)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(20)); // the last one's worker has ended
                let mut commit = repo.command(&repo.root, &["commit", "-q", "--allow-empty", "-m", "x"]);
                let started = Instant::now();
                assert!(commit.status().unwrap().success());
                started.elapsed()
            })
            .collect();
        times.sort();
        times[n / 2]
    };
    for round in 0..3 {
        let without = median(40);
        repo.install();
        let with = median(40);
        repo.uninstall();
        println!("round {round}: without {without:?}, with {with:?}");
    }
}
