//! A thousand commits of one file each: size of the index, and cost of an update as commits accumulate.
//!
//! Run with `cargo bench --bench growth`; corpus: the synthetic repository of 2,000 files, or
//! CODEWEAVER_BENCH_REPO. CODEWEAVER_BENCH_COMMITS = 1000. Every commit is followed by
//! `git codeweaver index`, timed as a whole process; each line is the median of the commits since the
//! previous line.

mod common;

use std::path::Path;

use common::process::disk_use;
use common::{Corpus, Result, Samples, corpora, mib, row, setting};

fn main() -> Result<()> {
    let all = corpora();
    let synthetic = |corpus: &Corpus| matches!(corpus, Corpus::Synthetic { .. });
    if all.iter().all(synthetic) { measure(&Corpus::MIDDLE) } else { all.iter().try_for_each(measure) }
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    scratch.codeweaver.run(["init", "--no-hooks"])?;
    let files = scratch.source_files()?;
    let n_commits = setting("CODEWEAVER_BENCH_COMMITS", 1000);
    let mut samples = Samples::default();
    for i in 1..=n_commits {
        let file = &files[i * 7919 % files.len()];
        scratch.edit(file, i)?;
        scratch.git.run(["commit", "-q", "-m", "edit", "--", file])?;
        samples.push(scratch.codeweaver.time(["index", "-q"])?);
        if [1, 10, 50, 100, 250, 500, 1000].contains(&i) || i == n_commits {
            report(&scratch.name, &scratch.store(), i, &std::mem::take(&mut samples))?;
        }
    }
    let mut next = common::QUERIES.iter().cycle();
    row(
        &scratch.name,
        "cold query afterwards",
        Samples::new(20, || scratch.codeweaver.time(["search", next.next().unwrap_or(&"")]))?,
    );
    Ok(())
}

fn report(name: &str, store: &Path, n_commits: usize, samples: &Samples) -> Result<()> {
    for space in std::fs::read_dir(store.join("v1"))?.flatten() {
        let text = std::fs::read_to_string(space.path().join("state"))?;
        let state: serde_json::Value =
            serde_json::from_str(text.split_once('\n').map_or("", |(_, json)| json))?;
        let count = |key: &str| state[key].as_array().map_or(0, Vec::len);
        let n_snapshots = state["snapshots"].as_object().map_or(0, serde_json::Map::len);
        let (n_segments, n_entries) = (count("segments"), count("entries"));
        let on_disk = mib(disk_use(&space.path()));
        let detail = format!(
            "{samples}; {n_segments} segments, {n_entries} entry files, {n_snapshots} snapshots, {on_disk} on disk"
        );
        row(name, &format!("index after commit {n_commits}"), detail);
    }
    Ok(())
}
