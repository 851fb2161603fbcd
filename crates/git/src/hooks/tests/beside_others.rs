//! Hooks beside those of other people and programs: what is chained, what gets advice, and what is not touched.

use super::*;

#[test]
fn an_existing_hook_runs_as_before() {
    let repo = TestRepo::new().with_binary();
    repo.commit("a");
    // Shell options, arguments, initial exit status, background jobs and exit code are as without our block.
    let hook = "#!/bin/sh -eu\necho \"args $# status $? [$*]\" >&2\nsleep 0 & wait\nexit 7\n";
    write_executable(&repo.hook("post-checkout"), hook);
    let without = repo.try_git_in(&repo.root, &["checkout", "-q", "-b", "one"]);
    let report = repo.install_files();
    assert_eq!(report.events[1], (Event::PostCheckout, Outcome::Chained));
    let with = repo.try_git_in(&repo.root, &["checkout", "-q", "-b", "two"]);
    assert_eq!(with, without);
    assert!(String::from_utf8_lossy(&with.stderr).contains("args 3 status 0 ["));
    assert!(!with.status.success(), "git checkout reports that its hook failed, as before");
    assert_eq!(repo.calls(1).len(), 1);
    assert_eq!(fs::metadata(repo.hook("post-checkout")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_chained_hook_that_waits_does_not_wait_for_us() {
    let repo = TestRepo::new();
    write_executable(&repo.binary(), "#!/bin/sh\nsleep 30\n");
    write_executable(&repo.hook("post-commit"), "#!/bin/sh\nwait\n");
    repo.install_files();
    let started = Instant::now();
    repo.commit("a"); // reads both streams to their end, as a graphical client does
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn hooks_that_must_not_be_changed_get_advice() {
    let repo = TestRepo::new();
    write_executable(&repo.hook("post-commit"), "#!/usr/bin/env python3\nprint('x')\n");
    write_executable(&repo.root.join("tracked.sh"), "#!/bin/sh\n");
    std::os::unix::fs::symlink(repo.root.join("tracked.sh"), repo.hook("post-checkout")).unwrap();
    fs::create_dir(repo.hook("post-merge")).unwrap();
    fs::write(repo.hook("post-rewrite"), "#!/bin/sh\n").unwrap();
    let before = listing(&repo.root);
    let report = repo.install_files();
    let reasons = [Reason::NotShell, Reason::Link, Reason::NotAFile, Reason::NotExecutable];
    assert_eq!(outcomes(&report), reasons.map(Outcome::Advised));
    assert_eq!(listing(&repo.root), before);
    assert_eq!(report.advice.len(), 4);
    assert_eq!(report.advice[0].file, Path::new(".git/hooks/post-commit"));
    assert!(report.advice[0].text.contains("git-codeweaver hook post-commit"));
    assert!(report.advice[0].text.starts_with("import subprocess, sys\nsubprocess.run([\"sh\", "));
}

#[test]
fn advice_for_a_hook_in_another_language_is_in_it() {
    let repo = TestRepo::new().with_binary();
    let hook = repo.hook("post-commit");
    for (hook_text, expected) in [
        ("#!/usr/bin/python3.11 -u\n", "*sys.argv[1:]"),
        ("#!/usr/bin/env ruby\n", "*ARGV"),
        ("#!/usr/bin/env -S node --no-warnings\n", "process.argv.slice(2)"),
        ("#!/opt/own/interpreter\n", "#!/bin/sh\n# first rename your hook"),
        ("#!/usr/bin/env perl\n", "@ARGV"),
    ] {
        write_executable(&hook, hook_text);
        let advice = repo.install_files().advice.remove(0);
        assert!(advice.text.contains(expected), "{hook_text}: {}", advice.text);
    }

    // Perl comes with git.
    let advice = repo.install_files().advice.remove(0);
    write_executable(&hook, &format!("#!/usr/bin/env perl\n{}", advice.text));
    repo.commit("a");
    assert_eq!(repo.calls(1), ["hook post-commit"]);
}

#[test]
fn the_advised_line_works_and_is_silent_without_the_program() {
    let repo = TestRepo::new().with_binary();
    let script = format!("#!/bin/sh -e\n{}", super::manager::plain_line(Event::PostCommit));
    write_executable(&repo.hook("post-commit"), &script);
    repo.commit("a");
    assert_eq!(repo.calls(1), ["hook post-commit"]);
    fs::remove_file(repo.binary()).unwrap();
    assert_eq!(repo.commit("b"), "");
    if !repo.version().has_configured_hooks() {
        assert_eq!(repo.states()[0], EventState::Current);
    }
}

#[test]
fn an_ignored_hooks_directory_in_the_worktree_is_used() {
    let repo = TestRepo::new().with_binary();
    repo.ignore("/my hooks/\n");
    repo.git(&["config", "core.hooksPath", "my hooks"]);
    let report = repo.install_files();
    assert_eq!(outcomes(&report), vec![Outcome::Created; 4]);
    assert_eq!(report.method, Method::Files(repo.root.join("my hooks")));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.commit("a");
    assert_eq!(repo.calls(1), ["hook post-commit"]);
    assert_eq!(repo.git(&["config", "core.hooksPath"]).trim(), "my hooks");
    repo.uninstall();
    assert!(!repo.root.join("my hooks").exists());
}

#[test]
fn hooks_that_git_tracks_or_may_track_are_not_written() {
    // Tracked although ignored, tracked, not yet added, and reached through a link in the git directory.
    for case in ["ignored", "tracked", "new", "linked"] {
        let repo = TestRepo::new().with_binary();
        let dir = repo.root.join("my hooks");
        match case {
            "linked" => std::os::unix::fs::symlink("../my hooks", repo.root.join(".git/hooks")).unwrap(),
            _ => drop(repo.git(&["config", "core.hooksPath", "my hooks"])),
        }
        if case != "new" {
            write_executable(&dir.join("post-commit"), "#!/bin/sh\necho mine >&2\n");
            repo.git(&["add", "my hooks"]);
            repo.git(&["commit", "-q", "-m", "hooks"]);
        }
        if case == "ignored" {
            repo.ignore("/my hooks/\n");
        }
        let before = listing(&repo.root);
        let report = repo.install_files();
        assert_eq!(outcomes(&report), vec![Outcome::Advised(Reason::InWorktree); 4], "{case}");
        assert_eq!(repo.uninstall(), UninstallReport::default(), "{case}");
        assert_eq!(listing(&repo.root), before, "{case}");

        // What is advised works, and then counts as installed, for `deinit` too.
        for advice in &report.advice {
            let file = repo.root.join(&advice.file);
            let text = fs::read_to_string(&file).unwrap_or_default() + &advice.text;
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            if let Some(then) = &advice.then {
                let status = Command::new("/bin/sh").args(["-c", then]).current_dir(&repo.root).status();
                assert!(status.unwrap().success(), "{then}");
            }
        }
        repo.commit("a");
        assert_eq!(repo.calls(1), ["hook post-commit"], "{case}");
        if !repo.version().has_configured_hooks() {
            assert_eq!(repo.states(), [EventState::Current; 4], "{case}");
        }
        let again = repo.install_files();
        assert_eq!((outcomes(&again), again.advice), (vec![Outcome::Unchanged; 4], vec![]), "{case}");
        assert!(!repo.uninstall().kept.is_empty(), "{case}");
    }
}

/// A foreign block in a tracked hook.
#[test]
fn a_block_in_a_tracked_hook_stays_as_it_is() {
    let repo = TestRepo::new().with_binary();
    repo.git(&["config", "core.hooksPath", "hooks"]);
    for event in Event::OF_WORKTREES {
        write_executable(&repo.root.join("hooks").join(event.name()), event.template());
    }
    repo.git(&["add", "hooks"]);
    let before = listing(&repo.root);
    assert_eq!(outcomes(&repo.install_files()), vec![Outcome::Unchanged; 4]);
    let kept = repo.uninstall().kept;
    assert_eq!(kept, Event::OF_WORKTREES.map(|event| repo.root.join("hooks").join(event.name())));
    // Configured hooks do not need it, and leave it as well.
    let mut survey = survey_with(&repo.git, &repo.site()).unwrap();
    survey.version = GitVersion::CONFIGURED_HOOKS;
    let planned = plan(&repo.site(), &survey, &InstallOptions::new(repo.binary())).unwrap();
    assert!(!planned.changes.iter().any(|change| matches!(change, Change::WriteFile { .. })));
    assert_eq!(listing(&repo.root), before);
}

#[test]
fn a_shared_hooks_directory_is_never_written() {
    let repo = TestRepo::new().with_binary();
    let shared = repo.base().join("shared");
    fs::create_dir(&shared).unwrap();
    let absolute = shared.to_str().unwrap();
    for is_link in [true, false] {
        if is_link {
            // Reached through a link inside the git directory: the resolved path counts.
            std::os::unix::fs::symlink(&shared, repo.root.join(".git/hooks")).unwrap();
        } else {
            repo.git(&["config", "--global", "core.hooksPath", absolute]);
        }
        let report = repo.install_files();
        assert_eq!(outcomes(&report), vec![Outcome::Advised(Reason::SharedDir); 4]);
        assert_eq!(listing(&shared), []);
        assert_eq!(report.advice.len(), 4);
    }
}

#[test]
fn a_push_to_a_bare_repository_calls_the_program() {
    let repo = TestRepo::new().with_binary();
    repo.commit("a");
    let bare = repo.base().join("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let site = HookSite { git_dir: bare.clone(), common_dir: bare.clone(), work_dir: None };
    // A hook of the user reads the standard input that git passes.
    write_executable(&bare.join("hooks/post-receive"), "#!/bin/sh\nread old new name\necho \"got $name\"\n");
    install_with(&repo.git, &site, &InstallOptions::new(repo.binary())).unwrap();
    repo.commit("b");
    let printed = repo.git(&["push", bare.to_str().unwrap(), "main"]);
    assert!(printed.contains("remote: got refs/heads/main"), "{printed}");
    // Git does not name the event of a configured hook, which is called as after a commit.
    let event = if repo.version().has_configured_hooks() { "post-commit" } else { "post-receive" };
    let calls = repo.full_calls(1);
    assert_eq!(calls, [format!("hook {event} | {} | none", bare.display())]);
    uninstall_with(&repo.git, &site, false).unwrap();
}

#[test]
fn managers_get_advice_in_their_own_format() {
    let repo = TestRepo::new();
    let survey = |repo: &TestRepo| {
        let mut survey = survey_with(&repo.git, &repo.site()).unwrap();
        survey.version = GitVersion { major: 2, minor: 53 };
        plan(&repo.site(), &survey, &InstallOptions::new(repo.binary())).unwrap()
    };
    // lefthook: its generated hooks are not changed, hooks of other events are installed.
    fs::write(repo.root.join("lefthook.yml"), "post-merge:\n").unwrap();
    write_executable(&repo.hook("post-merge"), "#!/bin/sh\ncall_lefthook run \"post-merge\" \"$@\"\n");
    let planned = survey(&repo);
    assert_eq!(
        outcomes(&planned.report)[1..3],
        [Outcome::Created, Outcome::Advised(Reason::Managed(Manager::Lefthook))]
    );
    let [needed, optional] = planned.report.advice.as_slice() else { panic!("{:?}", planned.report.advice) };
    assert!(
        !needed.optional && needed.text.starts_with("post-merge:\n") && !needed.text.contains("post-commit")
    );
    assert!(optional.optional && optional.text.starts_with("post-commit:\n"));
    // The entry makes the hook count as installed.
    fs::write(repo.root.join("lefthook.yml"), &needed.text).unwrap();
    assert_eq!(outcomes(&survey(&repo).report)[2], Outcome::Native(Manager::Lefthook));

    // husky regenerates its directory, so nothing is installed there.
    let repo = TestRepo::new();
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    fs::create_dir_all(repo.root.join(".husky/_")).unwrap();
    let planned = survey(&repo);
    assert_eq!(planned.changes, []);
    assert_eq!(planned.report.advice.len(), 4);
    assert_eq!(planned.report.advice[0].file, repo.root.join(".husky/post-commit"));
    assert!(planned.report.advice.iter().all(|advice| !advice.optional));
}

#[test]
fn a_hook_that_a_manager_has_renamed_is_found() {
    let repo = TestRepo::new().with_binary();
    repo.install_files();
    for (event, suffix) in [("post-commit", "legacy"), ("post-merge", "old")] {
        let moved = repo.hook(event).with_extension(suffix);
        fs::rename(repo.hook(event), moved).unwrap();
        write_executable(&repo.hook(event), "#!/bin/sh\n# File generated by pre-commit: x\n");
    }
    let mut survey = survey_with(&repo.git, &repo.site()).unwrap();
    survey.version = GitVersion { major: 2, minor: 53 };
    let report = plan(&repo.site(), &survey, &InstallOptions::new(repo.binary())).unwrap().report;
    assert_eq!(report.events[0].1, Outcome::Native(Manager::PreCommit), "pre-commit runs it");
    assert_eq!(report.events[2].1, Outcome::Advised(Reason::Managed(Manager::PreCommit)));
    assert_eq!(repo.states()[0], EventState::Native(Manager::PreCommit));
    assert_eq!(repo.uninstall().removed.len(), 4);
    let mut left: Vec<_> =
        fs::read_dir(repo.root.join(".git/hooks")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["post-commit", "post-merge"], "those are not ours");
}

#[test]
fn disabled_hook_files_stay_disabled() {
    let repo = TestRepo::new();
    repo.git(&["config", "core.hooksPath", "/dev/null"]);
    let report = repo.install_files();
    assert_eq!(outcomes(&report), vec![Outcome::Advised(Reason::NoDirectory); 4]);
    assert_eq!(report.advice, []);
    repo.uninstall();
}
