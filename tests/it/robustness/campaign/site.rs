//! A repository with two linked worktrees that share one store, and the answers of a fresh index for each
//! commit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;

use codeweaver::query::QueryError;
use codeweaver::query::view::Freshness;
use codeweaver_index::{Codebase, Target, repair};

use crate::support::sandbox::{Query, Sandbox, command_in, comparable, git_in, hybrid, index, respond};

/// Answers to the two queries at one commit.
pub type Answers = Arc<Vec<Value>>;

pub struct Site {
    pub sandbox: Sandbox,
    /// The main worktree first.
    pub worktrees: Vec<PathBuf>,
    fresh: HashMap<String, Answers>,
    n_commits: u32,
}

const FILES: usize = 24;

impl Site {
    /// Three worktrees on branches of their own; nothing is indexed. `graphs`: segments get vector graphs.
    pub fn new(graphs: bool) -> Site {
        let sandbox = Sandbox::new();
        if graphs {
            sandbox.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n");
        }
        for i in 0..FILES {
            sandbox.write(&format!("src/file_{i}.py"), text(i, 0));
        }
        sandbox.commit("first");
        sandbox.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let mut worktrees = vec![sandbox.root().to_path_buf()];
        for name in ["left", "right"] {
            let path = sandbox.beside(name);
            sandbox.git(["worktree", "add", "-q", path.to_str().unwrap(), "-b", name]);
            worktrees.push(path);
        }
        Site { sandbox, worktrees, fresh: HashMap::new(), n_commits: 0 }
    }

    pub fn store_dir(&self) -> PathBuf {
        self.sandbox.root().join(".codeweaver")
    }

    pub fn command(&self, dir: &Path, words: &[&str]) -> Command {
        let mut command = command_in(dir, codeweaver_testkit::program());
        command.args(words);
        command
    }

    /// A commit in worktree `w` that changes some files, adds one and renames one.
    pub fn commit(&mut self, w: usize, rng: &mut fastrand::Rng) {
        self.n_commits += 1;
        let (root, n) = (&self.worktrees[w], self.n_commits);
        for _ in 0..rng.usize(1..10) {
            let i = rng.usize(..FILES);
            std::fs::write(root.join(format!("src/file_{i}.py")), text(i, n)).unwrap();
        }
        std::fs::write(root.join(format!("src/new_{}.py", n % 7)), text(n as usize + 100, n)).unwrap();
        for args in [&["add", "-A"][..], &["commit", "-q", "--allow-empty", "-m", "change"]] {
            git_in(root, args).success();
        }
    }

    /// Goes to an earlier commit of this worktree, or back to its branch.
    pub fn switch(&self, w: usize, rng: &mut fastrand::Rng) {
        let root = &self.worktrees[w];
        let branch = ["main", "left", "right"][w];
        let back = rng.usize(0..4);
        let to = format!("{branch}~{back}");
        if back == 0 || git_in(root, &["checkout", "-q", "--detach", &to]).code() != 0 {
            git_in(root, &["checkout", "-q", branch]).success();
        }
    }

    fn head(&self, w: usize) -> String {
        git_in(&self.worktrees[w], &["rev-parse", "HEAD"]).success().stdout().trim().to_owned()
    }

    /// Answers of a fresh index for the current state of worktree `w`.
    pub fn wanted(&mut self, w: usize) -> Answers {
        let commit = self.head(w);
        if let Some(known) = self.fresh.get(&commit) {
            return known.clone();
        }
        let fresh = Sandbox::new();
        let source = self.sandbox.root().to_str().unwrap().to_owned();
        fresh.git(["fetch", "-q", "--depth=1", &format!("file://{source}"), &commit]);
        fresh.git(["checkout", "-q", "--detach", &commit]);
        index(fresh.root());
        let answers: Answers = Arc::new(
            queries().iter().map(|query| comparable(&respond(fresh.root(), query).unwrap())).collect(),
        );
        self.fresh.insert(commit, answers.clone());
        answers
    }

    /// Searches worktree `w`; `Err` describes a wrong answer.
    pub fn ask(&self, w: usize, wanted: &Answers) -> Result<Asked, String> {
        ask(&self.worktrees[w], wanted)
    }

    /// What `verify` finds.
    pub fn verify(&self) -> Result<(), String> {
        let codebase = Codebase::open(self.sandbox.root(), &[]).map_err(|e| e.to_string())?;
        match repair::verify(&codebase) {
            Ok(findings) if findings.is_empty() => Ok(()),
            Ok(findings) => Err(format!("verify finds {findings:?}")),
            Err(e) => Err(format!("verify fails: {e}")),
        }
    }

    /// Whether the index shows HEAD of worktree `w`.
    pub fn is_current(&self, w: usize) -> bool {
        let Ok(codebase) = Codebase::open(&self.worktrees[w], &[]) else { return false };
        let (Ok(target), Ok(Some(reader))) =
            (Target::head(&codebase), codeweaver_store::StoreReader::open(&codebase.store()))
        else {
            return false;
        };
        let tree = target.tree.map(|oid| oid.to_string()).unwrap_or_default();
        reader
            .state
            .heads
            .get(&codebase.worktree_key)
            .is_some_and(|h| h.snapshot == codebase.snapshot_key(&tree))
    }

    /// True if some worktree has a complete index, from which all can be answered.
    pub fn is_indexed(&self) -> bool {
        let Ok(codebase) = Codebase::open(self.sandbox.root(), &[]) else { return false };
        let reader = codeweaver_store::StoreReader::open(&codebase.store());
        codebase.check_trust().is_ok()
            && matches!(reader, Ok(Some(reader)) if reader.state.heads.values().any(|head| head.marker.is_some()))
    }

    /// Every file below `.codeweaver/` with its category.
    pub fn files(&self) -> Vec<(String, PathBuf)> {
        let root = self.store_dir();
        let mut files = Vec::new();
        collect(&root, &root, &mut files);
        files.sort();
        files
    }
}

/// Outcome of a search that is not wrong in itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Right,
    /// A partial first index, marked as incomplete.
    Incomplete,
    /// A different answer in which every text is in the file that it is attributed to.
    Honest(String),
    /// Refused: no index, damage, not ours.
    Refused(String),
}

pub fn ask(root: &Path, wanted: &Answers) -> Result<Asked, String> {
    for (query, wanted) in queries().iter().zip(wanted.iter()) {
        match respond(root, query) {
            // An answer without a warning claims to be complete, as that of the index which a reindex
            // replaces.
            Ok(response)
                if response.index.freshness == Freshness::SkippedIndexing
                    && !response.warnings.is_empty() =>
            {
                return Ok(Asked::Incomplete);
            }
            Ok(response) => {
                let ours = comparable(&response);
                if ours != *wanted {
                    let what =
                        format!("{:?} in {}: {}", query.text, root.display(), difference(&ours, wanted));
                    return if is_honest(root, &response) { Ok(Asked::Honest(what)) } else { Err(what) };
                }
            }
            Err(QueryError::Gated(state)) => return Ok(Asked::Refused(format!("{state:?}"))),
            Err(e) => return Ok(Asked::Refused(e.to_string())),
        }
    }
    Ok(Asked::Right)
}

fn queries() -> [Query; 2] {
    [hybrid("alpha function"), Query { committed: true, ..hybrid("version_of_beta") }]
}

/// Files are mapped and not hashed before a search, so a flipped bit may change a score. It never shows text
/// that does not exist.
fn is_honest(root: &Path, response: &codeweaver::query::Response) -> bool {
    response.matches.iter().all(|found| {
        let text = std::fs::read_to_string(root.join(&found.file.path)).unwrap_or_default();
        text.contains(&found.content.text) || found.content.text.starts_with("(this blob is not in")
    })
}

fn difference(ours: &Value, wanted: &Value) -> String {
    let lines = |value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (ours, wanted) = (lines(ours), lines(wanted));
    let differing = ours.lines().zip(wanted.lines()).filter(|(a, b)| a != b).take(8);
    differing.map(|(a, b)| format!("\n  ours  {}\n  fresh {}", a.trim(), b.trim())).collect()
}

fn collect(root: &Path, dir: &Path, files: &mut Vec<(String, PathBuf)>) {
    for child in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = child.path();
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(root, &path, files);
            continue;
        }
        let name = child.file_name().to_string_lossy().into_owned();
        let folder = path.parent().filter(|parent| *parent != root).and_then(Path::file_name);
        let folder = folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let kind = match folder.as_str() {
            "shards" | "segments" | "entries" | "snapshots" | "graphs" | "locks" | "wanted" => folder,
            "cache" => format!("cache/{}", name.split('-').next().unwrap_or_default()),
            _ => name.split('-').next().unwrap_or_default().to_owned(),
        };
        if !name.starts_with(".tmp-") {
            files.push((kind, path));
        }
    }
}

fn text(i: usize, version: u32) -> String {
    let functions = (0..4).map(|j| {
        format!(
            "def alpha_{i}_{j}(value):\n    \"\"\"Alpha function number {j}.\"\"\"\n    version_of_beta = {version}\n    \
             return value * {i} + version_of_beta\n\n\n"
        )
    });
    functions.collect()
}
