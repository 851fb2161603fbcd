//! Updates to trees with known blobs: branch switch and return, new worktree, nothing to do.
//!
//! Run with `cargo bench --bench switch`; corpus: see `corpus.rs`. The other branch changes 1,000 files, or
//! all if there are fewer. Both branches are indexed; then each switch is timed with and without an existing
//! snapshot of the target. CODEWEAVER_BENCH_RUNS = 10.

mod common;

use std::time::Instant;

use common::process::disk_use;
use common::{Corpus, Result, Samples, Scratch, corpora, ms, row, setting};

const CHANGED: usize = 1000;

fn main() -> Result<()> {
    corpora().iter().try_for_each(measure)
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    let name = scratch.name.as_str();
    scratch.codeweaver.run(["init", "--no-hooks"])?;
    let main = scratch.git.text(["branch", "--show-current"])?.trim().to_owned();
    let n_changed = other_branch(&scratch)?;
    scratch.codeweaver.run(["index", "-q"])?;
    let runs = setting("CODEWEAVER_BENCH_RUNS", 10);
    let (mut back, mut combined, mut embedded) = (Samples::default(), Samples::default(), 0);
    for i in 0..runs {
        // To a tree with a snapshot.
        for branch in [main.as_str(), "other"] {
            scratch.git.run(["switch", "-q", branch])?;
            back.push(timed(|| scratch.codeweaver.run(["index", "-q"]))?);
        }
        // To a new tree of known blobs: the main branch with one file moved.
        let path = mixed_tree(&scratch, i)?;
        let started = Instant::now();
        let output = scratch.codeweaver.run(["index", "--json"])?;
        combined.push(started.elapsed());
        embedded += embedded_chunks(&output.stdout)?;
        scratch.git.run(["reset", "-q", "--hard", "HEAD~1"])?;
        drop(path);
    }
    row(name, &format!("switch, {n_changed} files differ, tree indexed before"), &back);
    row(name, &format!("switch, {n_changed} files differ, new tree of known blobs"), &combined);
    row(name, "embedded in all of these", embedded);
    scratch.codeweaver.run(["index", "-q"])?;
    row(
        name,
        "nothing to do: git codeweaver index",
        Samples::new(runs, || scratch.codeweaver.run(["index", "-q"]))?,
    );
    row(
        name,
        "nothing to do: git status",
        Samples::new(runs, || scratch.git.run(["status", "--porcelain"]))?,
    );
    worktree(&scratch, &main)
}

fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<std::time::Duration> {
    let started = Instant::now();
    run()?;
    Ok(started.elapsed())
}

fn embedded_chunks(stdout: &[u8]) -> Result<u64> {
    let text = String::from_utf8_lossy(stdout);
    let done: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or("{}"))?;
    Ok(done["embedded_chunks"].as_u64().unwrap_or(u64::MAX))
}

/// Creates and checks out branch `other` with up to 1,000 changed files; returns their number.
fn other_branch(scratch: &Scratch) -> Result<usize> {
    scratch.git.run(["switch", "-q", "-c", "other"])?;
    let files = scratch.source_files()?;
    let step = (files.len() / CHANGED).max(1);
    let chosen: Vec<&String> = files.iter().step_by(step).take(CHANGED).collect();
    for (i, file) in chosen.iter().enumerate() {
        scratch.edit(file, i)?;
    }
    scratch.git.run(["commit", "-q", "-a", "-m", "other"])?;
    Ok(chosen.len())
}

/// Commits the main branch's tree with one file moved: a new tree of known blobs.
fn mixed_tree(scratch: &Scratch, i: usize) -> Result<String> {
    let main = scratch.git.text(["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
    let main = main.lines().find(|name| *name != "other").unwrap_or("main").to_owned();
    scratch.git.run(["read-tree", "--reset", "-u", &main])?;
    let files = scratch.source_files()?;
    let file = &files[i % files.len()];
    let moved = format!("moved_{i}_{}", file.rsplit('/').next().unwrap_or(file));
    scratch.git.run(["mv", file, &moved])?;
    scratch.git.run(["commit", "-q", "-m", "mixed"])?;
    Ok(moved)
}

fn worktree(scratch: &Scratch, main: &str) -> Result<()> {
    let dir = scratch.home.join("second");
    let before = vector_bytes(scratch)?;
    scratch.git.run(["worktree", "add", "-q", "--detach", &dir.to_string_lossy(), main])?;
    let program = common::Program::codeweaver(&dir, &scratch.home);
    let first = timed(|| program.run(["index", "-q"]))?;
    row(&scratch.name, "new worktree: git codeweaver index", format!("{} ms", ms(first)));
    row(&scratch.name, "new worktree: bytes of vectors", vector_bytes(scratch)?.abs_diff(before));
    Ok(())
}

fn vector_bytes(scratch: &Scratch) -> Result<u64> {
    let spaces = std::fs::read_dir(scratch.store().join("v1"))?.flatten();
    Ok(spaces.map(|space| disk_use(&space.path().join("shards"))).sum())
}
