//! A table of all known ways to answer from a wrong state.
//!
//! Each row sets a state in a repository whose index is older and that has no hooks, and lists what must and
//! must not be found. Matches are checked against git: the blob against `git rev-parse`, `ls-files -s` or
//! `hash-object`, text and lines against `git cat-file`, commit and revision against HEAD. Every row runs
//! before and after an update, because an answer must not depend on the state of the index.

mod commits;
mod files;

use serde_json::Value;

use codeweaver_testkit::TestRepo;

struct Row {
    name: &'static str,
    /// Makes the state and returns what is to be seen, in the repository to be asked (it may be another
    /// worktree or clone).
    make: fn(&TestRepo) -> Vec<Seen>,
}

/// What a search for a word must show.
#[derive(Debug, Clone)]
enum Seen {
    /// In the file at this path, in this state, in the working tree of the directory (`.` for the repository
    /// itself).
    At(&'static str, &'static str, &'static str, &'static str),
    /// In the blob of this revision and path.
    In(&'static str, &'static str, &'static str),
    /// In no text at all, in the directory.
    Nowhere(&'static str, &'static str),
}
use Seen::{At, In, Nowhere};

const HERE: &str = ".";

/// A repository with two commits, of which the index has the first.
fn repository() -> TestRepo {
    // Results must not depend on time.
    let repo = TestRepo::init().env("CODEWEAVER_OVERLAY_BUDGET_MS", "10000");
    for name in ["alpha", "beta", "gamma"] {
        repo.write(&format!("src/{name}.rs"), function(&format!("{name}_original"), 3));
    }
    repo.write("docs/guide.md", "# Guide\n\nHow the guide_original is used.\n").commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A function of this name behind `n` lines of comment.
fn function(name: &str, n: usize) -> String {
    format!(
        "{}/// Does {name}.\npub fn {name}(value: u32) -> u32 {{\n    value + {n}\n}}\n",
        "// padding\n".repeat(n)
    )
}

/// Commits on the current branch with plumbing: HEAD moves, git's index and files stay.
fn plumbed(repo: &TestRepo, path: &str, word: &str) {
    repo.write("../blob", function(word, 1));
    let blob = repo.git_text(["hash-object", "-w", "../blob"]);
    let with = |args: &[&str]| {
        let out = repo
            .command("git")
            .args(args)
            .env("GIT_INDEX_FILE", repo.path("../other-index"))
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    with(&["read-tree", "HEAD"]);
    with(&["update-index", "--add", "--cacheinfo", &format!("100644,{},{path}", blob.trim())]);
    let tree = with(&["write-tree"]);
    let commit = repo.git_text(["commit-tree", &tree, "-p", "HEAD", "-m", "plumbing"]);
    repo.git(["update-ref", "refs/heads/main", commit.trim()]);
}

#[test]
fn nothing_is_answered_from_the_wrong_state() {
    let rows: Vec<&Row> = commits::ROWS.iter().chain(files::ROWS).collect();
    let failures = std::sync::Mutex::new(Vec::new());
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let result = std::panic::catch_unwind(|| check(row));
                    let what = match result {
                        Ok(found) => found,
                        Err(panic) => vec![panic.downcast_ref::<String>().cloned().unwrap_or_default()],
                    };
                    let what = what.into_iter().map(|what| format!("{}: {what}", row.name));
                    failures.lock().unwrap().extend(what);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

/// The faults of a row.
fn check(row: &Row) -> Vec<String> {
    let repo = repository();
    let seen = (row.make)(&repo);
    let mut wrong = Vec::new();
    let mut dirs: Vec<&str> = Vec::new();
    for when in ["behind", "current"] {
        for expected in &seen {
            let dir = match expected {
                At(dir, ..) | Nowhere(dir, _) => dir,
                In(..) => HERE,
            };
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
            if let Err(what) = is_seen(&repo.at(dir), expected) {
                wrong.push(format!("{when}, {expected:?}: {what}"));
            }
        }
        for dir in &dirs {
            repo.at(dir).codeweaver(["index", "-q"]).success();
        }
    }
    wrong
}

fn is_seen(repo: &TestRepo, expected: &Seen) -> Result<(), String> {
    let (word, rev) = match expected {
        At(_, word, ..) | Nowhere(_, word) => (*word, None),
        In(rev, word, _) => (*word, Some(*rev)),
    };
    let mut args = vec!["search", "-o", "json", "--min-score", "0"];
    args.extend(rev.iter().flat_map(|rev| ["--rev", rev]));
    args.push(word);
    let run = repo.codeweaver(args);
    if !matches!(run.code(), 0 | 1) {
        return Err(run.explain());
    }
    let answer = run.json();
    let matches = answer["matches"].as_array().cloned().unwrap_or_default();
    for found in &matches {
        is_of_git(repo, found, rev)?;
    }
    let head = repo.command("git").args(["rev-parse", "-q", "--verify", "HEAD"]).output().unwrap();
    let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    if rev.is_none() && answer["index"]["head"].as_str().unwrap_or_default() != head {
        return Err(format!("HEAD is {head}, the answer says {}", answer["index"]));
    }
    let with_word: Vec<&Value> = matches
        .iter()
        .filter(|m| m["content"]["text"].as_str().is_some_and(|text| text.contains(word)))
        .collect();
    let told = || {
        matches.iter().map(|m| format!("{} {}", m["file"]["path"], m["state"])).collect::<Vec<_>>().join(", ")
    };
    match expected {
        Nowhere(..) if with_word.is_empty() => Ok(()),
        Nowhere(..) => Err(format!("it is found in {}", told())),
        At(_, _, path, state) => match with_word.iter().find(|m| m["file"]["path"] == *path) {
            Some(found) if found["state"] == *state => Ok(()),
            Some(found) => Err(format!("its state is {}", found["state"])),
            None => Err(format!("it is not found; what is: {}", told())),
        },
        In(_, _, path) => match with_word.iter().any(|m| m["file"]["path"] == *path) {
            true => Ok(()),
            false => Err(format!("it is not found; what is: {}", told())),
        },
    }
}

/// Checks blob, revision, text and lines of a match against git.
fn is_of_git(repo: &TestRepo, found: &Value, rev: Option<&str>) -> Result<(), String> {
    let (path, state) = (found["file"]["path"].as_str().unwrap(), found["state"].as_str().unwrap());
    let blob = found["blob"].as_str().unwrap();
    let wanted = match state {
        "committed" => repo.git_text(["rev-parse", &format!("{}:{path}", rev.unwrap_or("HEAD"))]),
        "staged" => {
            let listed = repo.git_text(["ls-files", "-s", "--", path]);
            listed.split(' ').nth(1).unwrap_or_default().to_owned()
        }
        // With -w, so that uncommitted content can be read with `cat-file`.
        _ => repo.git_text(["hash-object", "-w", "--", path]),
    };
    if blob != wanted.trim() {
        return Err(format!("{path} is {state} with blob {blob}, git says {}", wanted.trim()));
    }
    if found["rev"] != rev.unwrap_or("HEAD") {
        return Err(format!("{path}: rev is {}", found["rev"]));
    }
    let bytes = repo.command("git").args(["cat-file", "blob", blob]).output().unwrap().stdout;
    let all = String::from_utf8_lossy(&bytes).into_owned();
    let (first, last) =
        (found["span"][0].as_u64().unwrap() as usize, found["span"][1].as_u64().unwrap() as usize);
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    let Some(span) = first.checked_sub(1).and_then(|first| lines.get(first..last)) else {
        return Err(format!("{path} has {} lines, the span is {first}-{last}", lines.len()));
    };
    let text = found["content"]["text"].as_str().unwrap();
    if text.is_empty() || !span.concat().contains(text) {
        return Err(format!("lines {first}-{last} of {path} in git are not {text:?}"));
    }
    Ok(())
}

/// A long-lived searcher: every query compares HEAD again.
#[test]
fn a_long_lived_process_sees_what_another_tool_commits() {
    let repo = repository();
    let searcher = codeweaver::query::Searcher::new(crate::support::sandbox::open(repo.root()));
    let first = |text: &'static str| -> Option<(String, String)> {
        let query =
            crate::support::sandbox::Query { committed: true, ..crate::support::sandbox::hybrid(text) };
        let response = crate::support::sandbox::search(&searcher, &query).unwrap();
        let found = response.matches.into_iter().find(|found| found.content.text.contains(text))?;
        Some((found.file.path, found.blob))
    };
    assert_eq!(first("alpha_original").unwrap().0, "src/alpha.rs");
    for (i, word) in ["plumbed_first", "plumbed_second", "plumbed_third"].into_iter().enumerate() {
        let path = format!("src/plumbed_{i}.rs");
        plumbed(&repo, &path, word);
        let blob = repo.git_text(["rev-parse", &format!("HEAD:{path}")]).trim().to_owned();
        assert_eq!(first(word), Some((path, blob)));
        if i == 1 {
            repo.codeweaver(["index", "-q"]).success();
        }
    }
    repo.git(["update-ref", "refs/heads/main", "HEAD~2"]);
    assert_eq!(first("plumbed_third"), None);
    assert!(first("plumbed_first").is_some());
}
