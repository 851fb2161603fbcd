//! Commits of one file: the time that hooks add to `git commit`, and the time until the new content is
//! indexed.
//!
//! Run with `cargo bench --bench commit`; corpus: see `corpus.rs`. Two equal repositories, one with hooks and
//! one without, are measured in turn, so that both are exposed to the same noise. CODEWEAVER_BENCH_RUNS = 20
//! commits each.

mod common;

use std::time::{Duration, Instant};

use common::{Corpus, Result, Samples, Scratch, corpora, row, setting};

/// Time limit for the index to become current; beyond it the bench fails.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    corpora().iter().try_for_each(measure)
}

fn measure(corpus: &Corpus) -> Result<()> {
    let (hooked, plain) = (corpus.make()?, corpus.make()?);
    hooked.codeweaver.run(["init"])?;
    plain.codeweaver.run(["init", "--no-hooks"])?;
    let files = hooked.source_files()?;
    let (mut with, mut without) = (Samples::default(), Samples::default());
    let (mut after, mut by_hand, mut by_search) =
        (Samples::default(), Samples::default(), Samples::default());
    for i in 0..setting("CODEWEAVER_BENCH_RUNS", 20) {
        let file = &files[i * 7919 % files.len()];
        without.push(commit(&plain, file, i)?);
        // Without hooks: the same update as a process of its own, or as a part of the next query.
        let symbol = format!("benchmark_edit_{i}");
        if i % 2 == 0 {
            by_hand.push(plain.codeweaver.time(["index", "-q"])?);
        } else {
            by_search.push(plain.codeweaver.time(["search", "-l", "1", &symbol])?);
            plain.codeweaver.run(["index", "-q"]).ok();
        }
        with.push(commit(&hooked, file, i)?);
        after.push(until_indexed(&hooked)?);
    }
    let name = hooked.name.as_str();
    row(name, "git commit without hooks", &without);
    row(name, "git commit with hooks", &with);
    row(name, "from the end of git commit to a current index", &after);
    row(name, "without hooks: git codeweaver index, whole process", &by_hand);
    row(name, "without hooks: search that finds the commit", &by_search);
    Ok(())
}

fn commit(scratch: &Scratch, file: &str, i: usize) -> Result<Duration> {
    scratch.edit(file, i)?;
    scratch.git.run(["add", file])?;
    scratch.git.time(["commit", "-q", "-m", "edit"])
}

/// Waits until the state names HEAD's commit; polls every half millisecond.
fn until_indexed(scratch: &Scratch) -> Result<Duration> {
    let started = Instant::now();
    let head = scratch.git.text(["rev-parse", "HEAD"])?;
    let looked_up = started.elapsed();
    while started.elapsed() < TIMEOUT {
        for space in std::fs::read_dir(scratch.store().join("v1"))?.flatten() {
            let state = std::fs::read_to_string(space.path().join("state")).unwrap_or_default();
            if state.contains(&format!("\"commit\":\"{}\"", head.trim())) {
                // If the state was current before `rev-parse` returned, this is an upper bound.
                return Ok(started.elapsed().max(looked_up));
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Err("the index did not become current in time".into())
}
