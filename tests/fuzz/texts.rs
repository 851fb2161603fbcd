//! Texts from people and other programs: settings, hooks, rules, suites, leases.

mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeweaver_config::{self as config, Origin, REPOSITORY_FILE_NAME, Settings, Sources, keys};
use codeweaver_eval::Suite;
use codeweaver_git::hooks::{
    Change, Event, GitVersion, HookCall, HookFile, HookSite, HookSurvey, HooksDirLocation, InstallOptions,
    Outcome, SurveyedFile, plan,
};
use codeweaver_git::{BStr, Mode, Repo};
use codeweaver_index::policy::{PathDecision, Policy, governs};
use codeweaver_store::lock;

use super::mutate::{Material, mutate};
use super::{Case, Pool, Target, behaviour, size_class};

pub use settings::Config;

/// Takes a case from the pool and changes its bytes.
fn changed(pool: &Pool, tokens: &[&[u8]], max_len: usize, rng: &mut fastrand::Rng) -> Case {
    let Case { head, mut bytes } = pool.any(rng).clone();
    let other = pool.any(rng).bytes.clone();
    mutate(&mut bytes, &Material { tokens, other: &other, max_len }, rng);
    Case { head, bytes }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("the folder can be written");
}

/// Behaviour of a message: its letters.
fn message(text: &str) -> u64 {
    assert!(!text.is_empty(), "an error without a message");
    behaviour(text.chars().filter(|c| c.is_ascii_alphabetic()).take(120).collect::<String>())
}

/// Files of other processes in `locks/` and `cache/`: lease holders and the stat cache.
pub struct Lease {
    pool: Pool,
    lock: PathBuf,
    cache: PathBuf,
    repo: Repo,
}

impl Lease {
    pub fn new(dir: &Path) -> Lease {
        let root = repository(dir);
        write(&root.join("a.txt"), b"changed\n");
        let cache = dir.join("stat");
        let repo = Repo::discover(&root).expect("git made a repository");
        let _ = codeweaver_git::worktree::worktree_changes(&repo, None, &cache, Duration::from_secs(60));
        let stat = std::fs::read(&cache).unwrap_or_default();
        let lease = b"PID 4711, started 2026-11-21T10:00:00Z".to_vec();
        let pool = Pool::new(vec![Case::new("lease", lease), Case::new("stat", stat)]);
        Lease { pool, lock: dir.join("lock"), cache, repo }
    }
}

impl Target for Lease {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        let mut case = changed(&self.pool, &[b"PID ", b"\n", b"\x1b[2J", b", started "], 4_096, rng);
        if case.head == "stat" && case.bytes.len() > 16 && rng.u8(..10) > 0 {
            let body = case.bytes.len() - 16;
            let checksum = blake3::hash(&case.bytes[..body]);
            case.bytes[body..].copy_from_slice(&checksum.as_bytes()[..16]);
        }
        case
    }

    fn run(&mut self, case: &Case) -> u64 {
        if case.head == "lease" {
            write(&self.lock, &case.bytes);
            assert_eq!(lock::holder(&self.lock), None, "no process holds it");
            let held = lock::Lock::acquire(&self.lock).expect("a free lock is taken");
            let holder = lock::holder(&self.lock).expect("it is held");
            assert!(!holder.is_empty() && holder.len() <= 600, "a holder of {} bytes", holder.len());
            assert!(!holder.contains(|c: char| c.is_control()), "a holder that moves the cursor: {holder:?}");
            drop(held);
            return behaviour((size_class(holder.len()), holder.is_ascii()));
        }
        write(&self.cache, &case.bytes);
        let changes = codeweaver_git::worktree::worktree_changes(
            &self.repo,
            None,
            &self.cache,
            Duration::from_secs(60),
        );
        behaviour(changes.map(|changes| changes.changes.len()).map_err(|error| message(&error.to_string())))
    }

    fn keep(&mut self, case: &Case) {
        self.pool.keep(case);
    }
}

/// Arguments and input of hooks, files in the git directory, and existing hooks.
pub struct Hook {
    pool: Pool,
    git_dir: PathBuf,
}

const HOOK_TOKENS: &[&[u8]] = &[
    b"\0",
    b"post-commit",
    b"post-checkout",
    b"post-merge",
    b"post-rewrite",
    b"rebase",
    b"amend",
    b"0",
    b"1",
    b"-",
    b"--",
    b"--help",
    b"sync",
    b"probe",
    b"graphs",
    b"\n",
    b"ref: refs/heads/",
    b"pick a\n",
    b"#!/bin/sh\n",
    b"#!/usr/bin/env bash\n",
    b"exit 0\n",
    b"exec x\n",
    b"# >>> codeweaver",
    b"# <<< codeweaver",
    b"<<EOF\n",
    b"EOF\n",
    b"\\\n",
    b"\r\n",
    b"call_lefthook",
    b"husky.sh",
];

impl Hook {
    pub fn new(dir: &Path) -> Hook {
        let git_dir = dir.join(".git");
        std::fs::create_dir_all(git_dir.join("sequencer")).expect("the folder can be written");
        let zeros = "0".repeat(40);
        let mut seeds = vec![
            Case::new("args", "post-commit"),
            Case::new("args", format!("post-checkout\0{zeros}\0{zeros}\x001")),
            Case::new("args", "post-merge\x000"),
            Case::new("args", "post-rewrite\0rebase"),
            Case::new("sequencer/todo", "pick a # x\npick b # y\n"),
            Case::new("BISECT_START", "main\n"),
            Case::new("HEAD", "ref: refs/heads/main\n"),
            Case::new("file", "#!/bin/sh\necho hello\n"),
            Case::new("file", "#!/bin/bash\nset -e\nif true; then\n  exit 0\nfi\n"),
            Case::new("file", "\x7fELF\0\0"),
        ];
        // A hook that holds our block already.
        let installed = install(&git_dir, b"#!/bin/sh\necho hello\n");
        seeds.extend(installed.into_iter().map(|(_, bytes)| Case::new("file", bytes)));
        Hook { pool: Pool::new(seeds), git_dir }
    }
}

fn hook_survey(git_dir: &Path, bytes: &[u8]) -> HookSurvey {
    let hooks_dir = git_dir.join("hooks");
    let file = |event: Event| SurveyedFile {
        event,
        path: hooks_dir.join(event.name()),
        file: HookFile::Regular { bytes: bytes.to_vec(), executable: true },
    };
    HookSurvey {
        version: GitVersion { major: 2, minor: 39 },
        files: Event::ALL.map(file).into(),
        hooks_dir,
        hooks_dir_exists: true,
        location: HooksDirLocation::Repository,
        set_aside: Vec::new(),
        configured: Vec::new(),
        managers: Vec::new(),
    }
}

/// The hook files that an installation writes.
fn install(git_dir: &Path, bytes: &[u8]) -> Vec<(PathBuf, Vec<u8>)> {
    let site = HookSite {
        git_dir: git_dir.to_owned(),
        common_dir: git_dir.to_owned(),
        work_dir: git_dir.parent().map(Path::to_owned),
    };
    let options = InstallOptions::new("/usr/bin/git-codeweaver");
    let Ok(plan) = plan(&site, &hook_survey(git_dir, bytes), &options) else { return Vec::new() };
    for (event, outcome) in &plan.report.events {
        assert!(event.name().starts_with("post-") && *outcome != Outcome::Created, "there is a file already");
    }
    let written = |change| match change {
        Change::WriteFile { path, bytes } => Some((path, bytes.into())),
        _ => None,
    };
    plan.changes.into_iter().filter_map(written).collect()
}

impl Target for Hook {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        changed(&self.pool, HOOK_TOKENS, 4_000, rng)
    }

    fn run(&mut self, case: &Case) -> u64 {
        match case.head.as_str() {
            "args" => {
                let args: Vec<OsString> = case.bytes.split(|&byte| byte == 0).map(argument).collect();
                let Some(call) = HookCall::parse(&args) else { return 0 };
                assert!(call.args.len() <= 3, "git passes three arguments at most");
                behaviour((call.event, call.args.len(), call.moves_head(&self.git_dir)))
            }
            "file" => {
                let once = install(&self.git_dir, &case.bytes);
                for (path, bytes) in &once {
                    let lines =
                        |text: &[u8]| text.split(|&b| b == b'\n').filter(|line| !line.is_empty()).count();
                    assert!(bytes.len() < case.bytes.len() + 8_000 && lines(bytes) > 0, "{}", path.display());
                    // Installing again changes nothing more.
                    let again = install(&self.git_dir, bytes);
                    assert!(
                        again.iter().all(|(again_path, _)| again_path != path),
                        "a second installation changes {}",
                        path.display()
                    );
                }
                behaviour((once.len(), size_class(once.iter().map(|(_, bytes)| bytes.len()).sum())))
            }
            name => {
                write(&self.git_dir.join(name), &case.bytes);
                if name != "HEAD" {
                    write(&self.git_dir.join("BISECT_LOG"), b"");
                }
                let call = |event| HookCall { event, args: Vec::new() }.moves_head(&self.git_dir);
                let moves = Event::ALL.map(call);
                let _ = std::fs::remove_file(self.git_dir.join(name));
                let _ = std::fs::remove_file(self.git_dir.join("BISECT_LOG"));
                behaviour((name, moves))
            }
        }
    }

    fn keep(&mut self, case: &Case) {
        self.pool.keep(case);
    }
}

/// Attributes, ignore rules and globs, and paths to ask them about.
pub struct Rules {
    pool: Pool,
    repo: Repo,
}

const RULE_TOKENS: &[&[u8]] = &[
    b"*",
    b"**",
    b"**/",
    b"/**",
    b"?",
    b"[",
    b"]",
    b"[!a]",
    b"[a-z]",
    b"[[:alpha:]]",
    b"\\",
    b"!",
    b"/",
    b"#",
    b" ",
    b"\t",
    b"\n",
    b"\"",
    b"a*",
    b"*a*",
    b"[attr]",
    b"binary",
    b"-text",
    b"text=auto",
    b"eol=crlf",
    b"filter=lfs",
    b"linguist-generated",
    b"-linguist-vendored",
    b"linguist-language=C++",
    b"linguist-documentation",
    b"codeweaver=off",
    b"codeweaver=docs",
    b"ident",
    b"working-tree-encoding=UTF-16",
    b"src",
    b".rs",
    b"\0",
    b"src/a.rs",
    b"..",
    b"//",
    b".codeweaver/x",
    b".git/config",
    b"a/b/c/d/e.f",
];

impl Rules {
    pub fn new(dir: &Path) -> Rules {
        let repo = Repo::discover(&repository(dir)).expect("git made a repository");
        let seeds = vec![
            Case::new(
                ".gitattributes",
                "*.rs text\n*.min.js -text linguist-generated\n/vendor/** linguist-vendored\n\0src/a.rs\0vendor/x/y.c",
            ),
            Case::new(
                ".gitattributes",
                "[attr]gen linguist-generated=true\ngen.* gen\n\"quoted \\\"name\" binary\n*.lfs filter=lfs diff=lfs\n\0gen.c\0a.lfs",
            ),
            Case::new(
                "src/.gitattributes",
                "*.c linguist-language=C++ codeweaver=docs\n!x linguist-documentation\n\0src/deep/a.c",
            ),
            Case::new(
                ".codeweaverignore",
                "target/\n*.log\n!keep.log\n/docs/**/*.txt\n\\#x\nfoo\\ \n[a-c]*\n\0docs/a/b.txt\0keep.log",
            ),
            Case::new("src/.codeweaverignore", "**/gen*\n!gen_keep\n*a*b*c*\n\0src/x/gen1\0src/aXbXc"),
            Case::new("include", "src/**,*.md\0src/a.rs"),
            Case::new("exclude", "**/a*b*c*d*e,!x,[z-a]\0aaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ];
        Rules { pool: Pool::new(seeds), repo }
    }
}

impl Target for Rules {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        changed(&self.pool, RULE_TOKENS, 2_000, rng)
    }

    fn run(&mut self, case: &Case) -> u64 {
        let mut parts = case.bytes.split(|&byte| byte == 0);
        let rules = parts.next().unwrap_or_default();
        let mut settings = codeweaver_config::PolicySettings::default();
        let globs = || String::from_utf8_lossy(rules).split(',').map(str::to_owned).collect();
        match case.head.as_str() {
            "include" => settings.include = globs(),
            "exclude" => settings.exclude = globs(),
            _ => {}
        }
        let mut policy = match Policy::for_tree(&self.repo, None, &settings) {
            Ok(policy) => policy,
            Err(error) => return message(&error.to_string()),
        };
        if !matches!(case.head.as_str(), "include" | "exclude") {
            policy.replace_file(BStr::new(&case.head), Some(rules.to_vec()));
        }
        let fixed: [&[u8]; 5] = [
            b"src/a.rs",
            b"src/deep/er/b_test.c",
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            b".codeweaver/v1/state",
            b"x.min.js",
        ];
        let mut decisions = Vec::new();
        for path in parts.take(6).chain(fixed) {
            let path = BStr::new(path);
            governs(path);
            let decision = policy.decide_path(path, Mode::File);
            assert_eq!(decision, policy.decide_path(path, Mode::File), "two answers about {path:?}");
            assert!(
                matches!(policy.decide_path(path, Mode::Symlink), PathDecision::Skip(_)),
                "a link is indexed: {path:?}"
            );
            if path.starts_with(b".codeweaver/") {
                assert!(matches!(decision, PathDecision::Skip(_)), "the store indexes itself: {path:?}");
            }
            decisions.push(match decision {
                PathDecision::Index { language, flags, .. } => {
                    (language.map_or(0, |language| language.0), flags.0)
                }
                PathDecision::Skip(reason) => (u16::MAX, reason as u8),
            });
        }
        behaviour(decisions)
    }

    fn keep(&mut self, case: &Case) {
        self.pool.keep(case);
    }
}

/// Evaluation suites.
pub struct SuiteFile {
    pool: Pool,
    dir: PathBuf,
}

const SUITE_TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"4294967296",
    b"\\ud800",
    b"\\u0000",
    b"\n",
    b"\"query\"",
    b"\"relevant\"",
    b"\"secondary\"",
    b"\"start_line\"",
    b"\"expected_top_3\"",
    b"\"../../x\"",
    b"\"/etc/passwd\"",
];

impl SuiteFile {
    pub fn new(dir: &Path) -> SuiteFile {
        let query = r#"{"query":"q","category":"symbol","relevant":["a.c",{"path":"b.c","start_line":3,"end_line":9}],"secondary":["a.c"]}"#;
        let seeds = vec![
            Case::new("s.jsonl", format!("{query}\n\n{query}\n")),
            Case::new("s.json", format!("[{query}]")),
            Case::new(
                "s.json",
                r#"[{"query":"q","intent":"debug","expected_top_3":[{"file":"a","symbol":"s","min_score":0.1}],"expected_excluded":["t"]}]"#,
            ),
            Case::new(
                "folder/repos.json",
                r#"[{"name":"n","language":"c","url":"u","revision":"abc","benchmark_root":null}]"#,
            ),
            Case::new("folder/annotations/n.json", format!("[{query}]")),
        ];
        std::fs::create_dir_all(dir.join("folder/annotations")).expect("the folder can be written");
        seeds.iter().rev().for_each(|case: &Case| write(&dir.join(&case.head), &case.bytes));
        SuiteFile { pool: Pool::new(seeds), dir: dir.to_owned() }
    }
}

impl Target for SuiteFile {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        changed(&self.pool, SUITE_TOKENS, 4_000, rng)
    }

    fn run(&mut self, case: &Case) -> u64 {
        let path = self.dir.join(&case.head);
        let sound = case.head.starts_with("folder/").then(|| std::fs::read(&path).ok());
        write(&path, &case.bytes);
        let whole = if sound.is_some() { self.dir.join("folder") } else { path.clone() };
        let result = match Suite::load(&whole, "here") {
            Ok(suite) => {
                let n = suite.n_queries();
                let kept = suite.repositories.iter().filter(|repository| repository.is_held_out()).count();
                assert!(n <= case.bytes.len().max(1_000), "{n} queries");
                // A name is part of a path below the folder.
                behaviour((size_class(n), kept))
            }
            Err(error) => message(&error.to_string()),
        };
        if let Some(Some(sound)) = sound {
            write(&path, &sound);
        }
        result
    }

    fn keep(&mut self, case: &Case) {
        self.pool.keep(case);
    }
}

/// A repository with one commit.
fn repository(dir: &Path) -> PathBuf {
    let root = dir.join("repo");
    if root.join(".git").exists() {
        return root;
    }
    std::fs::create_dir_all(root.join("src")).expect("the folder can be written");
    for (name, text) in [("a.txt", "a\n"), ("src/a.rs", "fn a() {}\n"), ("b.md", "# b\n")] {
        write(&root.join(name), text.as_bytes());
    }
    for args in
        [&["init", "-q", "-b", "main", "--template="][..], &["add", "-A"], &["commit", "-q", "-m", "first"]]
    {
        codeweaver_testkit::Run::new(codeweaver_testkit::command("git", &root, dir).args(args)).success();
    }
    root
}

/// An argument with these bytes, as far as the system has such arguments.
fn argument(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    #[cfg(not(unix))]
    String::from_utf8_lossy(bytes).into_owned().into()
}
