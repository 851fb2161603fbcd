//! Exact text: time of `search --mode exact` against `git grep` on the same tree, and the room of the words.
//!
//! Run with `cargo bench --bench exact`; corpus: see `corpus.rs`. Patterns are parts of lines of evenly
//! chosen files. Both programs search the commit, in turns, in new processes; ratios are of one pattern each,
//! since the wall times of both depend on the load. CODEWEAVER_BENCH_RUNS = 20 patterns.

mod common;

use std::time::Instant;

use common::process::disk_use;
use common::{Corpus, Result, Samples, Scratch, corpora, ms, row, setting};

/// Patterns with more matching lines are not selective.
const MAX_LINES: usize = 50;

fn main() -> Result<()> {
    corpora().iter().try_for_each(measure)
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    let name = scratch.name.as_str();
    scratch.codeweaver.run(["init", "--no-hooks"])?;
    let (mut ours, mut gits, mut worktree, mut ratios) =
        (Samples::default(), Samples::default(), Samples::default(), Vec::new());
    for pattern in patterns(&scratch, setting("CODEWEAVER_BENCH_RUNS", 20))? {
        let own: &[&str] = &["search", "--mode", "exact", "--vimgrep"];
        let started = Instant::now();
        scratch.codeweaver.run([own, &["--committed", "--", &pattern]].concat())?;
        let of_ours = started.elapsed();
        let started = Instant::now();
        scratch.git.run(["grep", "-n", "-F", "-e", &pattern, "HEAD"])?;
        let of_git = started.elapsed();
        ours.push(of_ours);
        gits.push(of_git);
        ratios.push(of_git.as_secs_f64() / of_ours.as_secs_f64());
        let started = Instant::now();
        scratch.codeweaver.run([own, &["--", &pattern]].concat())?;
        worktree.push(started.elapsed());
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share) as usize];
    row(name, "exact text in the commit, new process", &ours);
    row(name, "exact text in the working tree, new process", &worktree);
    row(name, "git grep -n -F … HEAD", &gits);
    let ratio = format!("{:.1} (p10 {:.1}, p90 {:.1})", at(0.5), at(0.1), at(0.9));
    row(name, "git grep / ours, median of the ratios", ratio);
    let unselective =
        Samples::new(3, || scratch.codeweaver.run(["search", "--mode", "exact", "--count", "e"]))?;
    row(name, "a letter that most lines have", format!("{} ms", ms(unselective.min())));
    row(name, "store", common::mib(disk_use(&scratch.store())));
    Ok(())
}

/// Parts of lines that few lines have.
fn patterns(scratch: &Scratch, n: usize) -> Result<Vec<String>> {
    let files = scratch.source_files()?;
    let step = (files.len() / n).max(1);
    let mut patterns = Vec::new();
    for file in files.iter().step_by(step) {
        let Ok(text) = std::fs::read_to_string(scratch.dir.join(file)) else { continue };
        let lines = text.lines().skip(text.lines().count() / 3);
        let candidates = lines.map(|line| line.trim().chars().take(24).collect::<String>());
        for pattern in
            candidates.filter(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 10).take(3)
        {
            let found = scratch.git.text(["grep", "-F", "-e", &pattern, "HEAD"])?;
            if found.lines().count() <= MAX_LINES {
                patterns.push(pattern);
                break;
            }
        }
        if patterns.len() == n {
            break;
        }
    }
    Ok(patterns)
}
