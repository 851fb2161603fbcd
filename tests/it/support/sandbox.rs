//! Repositories that are indexed and searched through the library in the test process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver::query::{Ann, Mode, Request, Response, Searcher, Tuning, WorktreeMode};
use codeweaver_git::Prefix;
use codeweaver_index::{Codebase, Target, UpdateOptions, UpdateReport, gc, repair, updater};
use codeweaver_store::StoreReader;
use codeweaver_testkit::{Run, TestRepo, command, program};

/// A [`TestRepo`] in memory that the library indexes and searches in this process.
pub struct Sandbox {
    repo: TestRepo,
}

impl std::ops::Deref for Sandbox {
    type Target = TestRepo;

    fn deref(&self) -> &TestRepo {
        &self.repo
    }
}

impl Sandbox {
    /// An empty repository on the unborn branch `main`, without hooks.
    pub fn new() -> Sandbox {
        codeweaver_index::program::set_program(program().to_path_buf());
        // As the program does: tests truncate files of the index that this process has mapped.
        codeweaver_base::sys::bus_error::install_handler();
        let repo = TestRepo::empty_dir_in_memory();
        repo.git(["init", "-q", "-b", "main", "--template="]);
        // As `init` of the program does: the store is no untracked directory.
        repo.write(".git/info/exclude", "/.codeweaver/\n");
        Sandbox { repo }
    }

    /// A repository with one commit of these files.
    pub fn with(files: &[(&str, &str)]) -> Sandbox {
        let sandbox = Sandbox::new();
        for (path, text) in files {
            sandbox.write(path, text);
        }
        sandbox.commit("first");
        sandbox
    }

    /// Commits all files, also if nothing has changed.
    #[track_caller]
    pub fn commit(&self, message: &str) {
        self.git(["add", "-A"]).git(["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub fn index(&self) -> UpdateReport {
        index(self.root())
    }

    pub fn ask(&self, query: &Query) -> Value {
        ask(self.root(), query)
    }

    /// A copy of this repository and its working tree, without an index.
    pub fn copy(&self) -> Sandbox {
        let copy = self.copy_with_index();
        copy.remove(".codeweaver").remove(".git/codeweaver-nonce");
        copy
    }

    /// A copy of this repository, its working tree and its index. All its stat data is that of new files.
    pub fn copy_with_index(&self) -> Sandbox {
        let repo = TestRepo::empty_dir_in_memory();
        Run::new(Command::new("cp").arg("-a").arg(self.path(".")).arg(repo.root())).success();
        Sandbox { repo }
    }

    pub fn keep(self) -> PathBuf {
        self.repo.keep()
    }
}

/// Runs git in any directory below the temporary directory of a [`TestRepo`].
pub fn git_in(dir: &Path, args: &[&str]) -> Run {
    Run::new(command_in(dir, "git").args(args))
}

/// A command in any directory beside a [`TestRepo`], in its environment.
pub fn command_in(dir: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    command(program, dir, &dir.with_file_name("home"))
}

pub fn open(root: &Path) -> Codebase {
    Codebase::open(root, &[]).unwrap()
}

/// A searcher that uses threads and leaves rows out as it would on a large index.
pub fn searcher(codebase: Codebase) -> Searcher {
    Searcher::new(codebase).with_tuning(Tuning::for_small_indexes())
}

/// Brings the index of the worktree at `root` to its HEAD.
pub fn index(root: &Path) -> UpdateReport {
    try_index(root).unwrap_or_else(|e| panic!("update of {}: {e}", root.display()))
}

pub fn try_index(root: &Path) -> Result<UpdateReport, codeweaver_index::IndexError> {
    let codebase = Codebase::open(root, &[])?;
    let target = Target::head(&codebase)?;
    updater::run(&codebase, &target, UpdateOptions::default(), &codeweaver_index::progress::Silent)
}

/// A search request as its differences from the defaults.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub text: &'static str,
    pub mode: Mode,
    pub ann: Ann,
    pub languages: &'static [&'static str],
    pub paths: &'static [&'static str],
    pub no_tests: bool,
    pub rev: Option<String>,
    pub committed: bool,
}

pub const fn hybrid(text: &'static str) -> Query {
    Query {
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

/// Searches, and returns all parts of the answer that depend only on the state of the repository.
pub fn ask(root: &Path, query: &Query) -> Value {
    let response = respond(root, query).unwrap_or_else(|e| panic!("{query:?} in {}: {e}", root.display()));
    comparable(&response)
}

pub fn respond(root: &Path, query: &Query) -> Result<Response, codeweaver::query::QueryError> {
    search(&searcher(Codebase::open(root, &[])?), query)
}

pub fn search(searcher: &Searcher, query: &Query) -> Result<Response, codeweaver::query::QueryError> {
    let mut request = Request::new(query.text, &searcher.codebase.settings);
    request.mode = query.mode;
    request.ann = query.ann;
    request.limit = 40;
    request.token_limit = 1_000_000;
    // Results must not depend on time.
    request.view.timeout = Duration::from_secs(600);
    request.view.budget = Duration::from_secs(600);
    request.explain = true;
    request.view.worktree = if query.committed { WorktreeMode::Exclude } else { WorktreeMode::Include };
    request.view.revision.clone_from(&query.rev);
    request.filters.languages = query.languages.iter().map(|&name| name.to_owned()).collect();
    let root = Prefix::root(&searcher.codebase.repo);
    query.paths.iter().for_each(|path| request.filters.add_path(root.pathspec(path).unwrap()));
    request.filters.include_tests = !query.no_tests;
    searcher.search(&request, &|_, _| false)
}

pub fn comparable(response: &Response) -> Value {
    json!({
        "status": response.status,
        "matches": response.matches,
        "summary": response.summary,
        "intent": response.query_intent,
        "candidates": response.candidates,
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

/// Asserts that `verify` finds nothing.
pub fn assert_sound(root: &Path) {
    let findings = repair::verify(&open(root)).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
}

/// Collects garbage without a grace period for readers.
pub fn collect(root: &Path) -> gc::GcReport {
    let codebase = open(root);
    let _lease = updater::lease(&codebase).unwrap();
    gc::collect(&codebase, gc::Keep { grace: Duration::ZERO, ..gc::Keep::USUAL }).unwrap()
}

pub fn reader(root: &Path) -> StoreReader {
    StoreReader::open(&open(root).store()).unwrap().expect("there is an index")
}
