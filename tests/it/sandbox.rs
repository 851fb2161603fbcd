//! Real repositories in temporary directories, indexed and asked through the library.

use codeweaver::index::{Codebase, Target, UpdateOptions, UpdateReport, gc, repair, updater};
use codeweaver::query::{Ann, Mode, Request, Response, Searcher};
use codeweaver::store::StoreReader;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// A repository in a directory of its own, gone when dropped.
pub struct Sandbox {
    temp: tempfile::TempDir,
    root: PathBuf,
}

impl Sandbox {
    /// An empty repository on the unborn branch `main`.
    pub fn new() -> Sandbox {
        codeweaver::index::child::set_program(crate::harness::program().to_path_buf());
        let temp = temporary();
        let root = std::fs::canonicalize(temp.path()).unwrap().join("repo");
        std::fs::create_dir(&root).unwrap();
        let sandbox = Sandbox { temp, root };
        sandbox.git(&["init", "-q", "-b", "main", "--template="]);
        sandbox.exclude_store();
        sandbox
    }

    /// A repository with one commit of these files.
    pub fn with(files: &[(&str, &str)]) -> Sandbox {
        let sandbox = Sandbox::new();
        files.iter().for_each(|(path, text)| sandbox.write(path, text));
        sandbox.commit("first");
        sandbox
    }

    /// As `init` of the program does: an ignored folder is no untracked file.
    fn exclude_store(&self) {
        std::fs::create_dir_all(self.root.join(".git/info")).unwrap();
        std::fs::write(self.root.join(".git/info/exclude"), "/.codeweaver/\n").unwrap();
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root.parent().unwrap().join(name)
    }

    pub fn git(&self, args: &[&str]) -> String {
        let out = git_output(&self.root, args);
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    /// Runs git and says whether it succeeded.
    pub fn try_git(&self, args: &[&str]) -> bool {
        git_output(&self.root, args).status.success()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub fn index(&self) -> UpdateReport {
        index(&self.root)
    }

    pub fn ask(&self, question: &Question) -> Value {
        ask(&self.root, question)
    }

    /// This repository as it is now, without an index, elsewhere.
    pub fn copy(&self) -> Sandbox {
        let temp = temporary();
        let root = std::fs::canonicalize(temp.path()).unwrap().join("repo");
        copy_dir(&self.root, &root);
        let _ = std::fs::remove_dir_all(root.join(".codeweaver"));
        let _ = std::fs::remove_file(root.join(".git/codeweaver-nonce"));
        Sandbox { temp, root }
    }

    /// Leaves the repository on disk and says where.
    pub fn keep(self) -> PathBuf {
        let _ = self.temp.keep();
        self.root
    }
}

/// In memory where that is possible: the tests wait for thousands of `fsync`.
fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn copy_dir(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

/// Hermetic git: no configuration but the repository's, fixed author and dates.
pub fn git_output(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "A U Thor")
            .env(format!("GIT_{role}_EMAIL"), "author@example.com")
            .env(format!("GIT_{role}_DATE"), "2026-01-02T03:04:05Z");
    }
    command.output().unwrap()
}

pub fn open(root: &Path) -> Codebase {
    Codebase::open(root, &[]).unwrap()
}

/// Brings the index of the worktree at `root` to its HEAD.
pub fn index(root: &Path) -> UpdateReport {
    try_index(root).unwrap_or_else(|e| panic!("update of {}: {e}", root.display()))
}

pub fn try_index(root: &Path) -> Result<UpdateReport, codeweaver::index::IndexError> {
    let codebase = Codebase::open(root, &[])?;
    let target = Target::head(&codebase)?;
    updater::run(&codebase, &target, UpdateOptions::default(), &codeweaver::index::progress::Silent)
}

/// A question with what differs from the defaults.
#[derive(Debug, Clone, Default)]
pub struct Question {
    pub text: &'static str,
    pub mode: Mode,
    pub ann: Ann,
    pub languages: &'static [&'static str],
    pub paths: &'static [&'static str],
    pub no_tests: bool,
    pub rev: Option<String>,
    pub committed: bool,
}

pub const fn hybrid(text: &'static str) -> Question {
    Question {
        text,
        mode: Mode::Hybrid,
        ann: Ann::Exact,
        languages: &[],
        paths: &[],
        no_tests: false,
        rev: None,
        committed: false,
    }
}

/// Everything of an answer that the state of the repository decides.
pub fn ask(root: &Path, question: &Question) -> Value {
    let response =
        respond(root, question).unwrap_or_else(|e| panic!("{question:?} in {}: {e}", root.display()));
    comparable(&response)
}

pub fn respond(root: &Path, question: &Question) -> Result<Response, codeweaver::query::QueryError> {
    search(&Searcher::new(Codebase::open(root, &[])?), question)
}

pub fn search(searcher: &Searcher, question: &Question) -> Result<Response, codeweaver::query::QueryError> {
    let mut request = Request::new(question.text, &searcher.codebase.settings);
    request.mode = question.mode;
    request.ann = question.ann;
    request.limit = 40;
    request.token_limit = 1_000_000;
    // Time must not decide what a test sees.
    request.timeout_ms = 600_000;
    request.overlay_budget_ms = 600_000;
    request.explain = true;
    request.committed = question.committed;
    request.rev.clone_from(&question.rev);
    request.filters.languages = question.languages.iter().map(|&name| name.to_owned()).collect();
    request.filters.paths = question.paths.iter().map(|&path| path.to_owned()).collect();
    request.filters.include_tests = !question.no_tests;
    searcher.search(&request, &|_, _| false)
}

pub fn comparable(response: &Response) -> Value {
    json!({
        "status": response.status,
        "matches": response.matches,
        "summary": response.summary,
        "intent": response.query_intent,
        "total_matches": response.total_matches,
        "strategy": response.search_strategy,
        "languages": response.languages_found,
        "warnings": response.warnings,
        "commit": response.index.commit,
        "tree": response.index.tree,
        "dirty": response.index.dirty_files,
        "unchecked": response.index.unchecked_files,
        "files": response.index.files,
        "chunks": response.index.chunks,
        "skipped": response.index.skipped,
    })
}

/// Nothing is wrong in the store, totals included.
pub fn assert_sound(root: &Path) {
    let findings = repair::verify(&open(root)).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
}

/// Collects at once, as if every reader had gone long ago.
pub fn collect(root: &Path) -> gc::GcReport {
    let codebase = open(root);
    let _lease = updater::lease(&codebase).unwrap();
    gc::collect(&codebase, Duration::ZERO).unwrap()
}

pub fn reader(root: &Path) -> StoreReader {
    StoreReader::open(&open(root).store()).unwrap().expect("there is an index")
}
