//! Queries: cold (a new process), warm (in a running process), and with uncommitted changes.
//!
//! Run with `cargo bench --bench search`; corpus: see `corpus.rs`. Ten queries in words and by name in turn,
//! CODEWEAVER_BENCH_RUNS = 50 of each kind. `git grep` and, if installed, ripgrep run on the same tree: they
//! search for one word and do not rank, so they show the cost of reading every file, not of the same service.

mod common;

use std::time::Instant;

use codeweaver::query::{Request, Searcher, ViewRequest, WorktreeMode};
use codeweaver_index::Codebase;

use common::{Corpus, QUERIES, Result, Samples, Scratch, corpora, row, setting};

fn main() -> Result<()> {
    corpora().iter().try_for_each(measure)
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    scratch.codeweaver.run(["init", "--no-hooks"])?;
    let runs = setting("CODEWEAVER_BENCH_RUNS", 50);
    cold(&scratch, runs, "cold query, whole process")?;
    warm(&scratch, runs)?;
    others(&scratch, runs / 5 + 1)?;
    let files = scratch.source_files()?;
    let mut n_dirty = 0;
    for wanted in [10, 200] {
        while n_dirty < wanted.min(files.len()) {
            scratch.edit(&files[n_dirty], n_dirty)?;
            n_dirty += 1;
        }
        cold(&scratch, runs / 2, &format!("cold query, {n_dirty} uncommitted files"))?;
    }
    Ok(())
}

fn cold(scratch: &Scratch, runs: usize, what: &str) -> Result<()> {
    let mut next = QUERIES.iter().cycle();
    let cpu = common::process::children_cpu();
    let samples = Samples::new(runs, || scratch.codeweaver.time(["search", next.next().unwrap_or(&"")]))?;
    let cpu = (common::process::children_cpu() - cpu) / (runs as u32 + 1);
    row(&scratch.name, what, format!("{samples}, CPU {} ms each", common::ms(cpu)));
    Ok(())
}

fn warm(scratch: &Scratch, runs: usize) -> Result<()> {
    let codebase = Codebase::open(&scratch.dir, &[])?;
    let settings = codebase.settings.clone();
    let searcher = Searcher::new(codebase);
    let (mut all, mut committed, mut view) = (Samples::default(), Samples::default(), Samples::default());
    for (i, query) in QUERIES.iter().cycle().take(runs + QUERIES.len()).enumerate() {
        let mut request = Request::new(query, &settings);
        let timed = |request: &Request| -> Result<_> {
            let started = Instant::now();
            let response = searcher.search(request, &|_, _| false)?;
            assert!(response.index.chunks > 0, "the index is empty");
            Ok(started.elapsed())
        };
        let with_worktree = timed(&request)?;
        request.view.worktree = WorktreeMode::Exclude;
        let without = timed(&request)?;
        let started = Instant::now();
        searcher.view(&ViewRequest::default(), &|_, _| false)?;
        // The first round fills caches.
        if i >= QUERIES.len() {
            all.push(with_worktree);
            committed.push(without);
            view.push(started.elapsed());
        }
    }
    row(&scratch.name, "warm query, in process, working tree compared", &all);
    row(&scratch.name, "warm query, in process, --committed", &committed);
    row(&scratch.name, "no-change check: HEAD and the stat data of every file", &view);
    Ok(())
}

fn others(scratch: &Scratch, runs: usize) -> Result<()> {
    let grep = Samples::new(runs, || scratch.git.time(["grep", "-n", "-w", "configuration"]))?;
    row(&scratch.name, "git grep -n -w, one word", grep);
    let ripgrep = common::Program::new("rg", &scratch.dir, &scratch.home);
    match Samples::new(runs, || ripgrep.time(["-n", "-w", "configuration", "."])) {
        Ok(samples) => row(&scratch.name, "rg -n -w, one word", samples),
        Err(_) => row(&scratch.name, "rg -n -w, one word", "not installed"),
    }
    row(
        &scratch.name,
        "git --version (process start)",
        Samples::new(runs, || scratch.git.time(["--version"]))?,
    );
    Ok(())
}
