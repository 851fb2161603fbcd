//! First index: time, memory and size from a fresh clone to a complete index, in one process.
//!
//! Run with `cargo bench --bench first_index`; corpus: see `corpus.rs`. The fastest of CODEWEAVER_BENCH_RUNS
//! = 3 runs is printed, and two lower bounds for any first index: the time of `git cat-file --batch` over all
//! blobs of the same tree, and that of parsing the indexed files once, by the same program and as many
//! threads. Each run of the index is followed by one of parsing alone, so that both meet the same machine.

mod common;

use std::time::{Duration, Instant};

use common::{Corpus, Cost, Result, Scratch, corpora, mib, ms, row, setting};

fn main() -> Result<()> {
    corpora().iter().try_for_each(measure)
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    let name = scratch.name.as_str();
    scratch.codeweaver.run(["init", "--no-hooks", "--no-index"])?;
    let mut best: Option<(serde_json::Value, Cost)> = None;
    let mut parse_only: Option<(serde_json::Value, Cost)> = None;
    for _ in 0..setting("CODEWEAVER_BENCH_RUNS", 3) {
        let (output, cost) = scratch.codeweaver.measure(["index", "--reindex", "--json"])?;
        let last = String::from_utf8(output.stdout)?.lines().last().map(str::to_owned).unwrap_or_default();
        let done: serde_json::Value = serde_json::from_str(&last)?;
        if best.as_ref().is_none_or(|(_, best)| cost.wall < best.wall) {
            best = Some((done, cost));
        }
        // The next run must not reuse this index, and it must not count towards the size.
        std::fs::remove_dir_all(scratch.store().join("v1"))?;
        let (output, cost) = scratch.codeweaver.measure(["chunks", "--stats", "--parse-only", "--json"])?;
        if parse_only.as_ref().is_none_or(|(_, best)| cost.wall < best.wall) {
            parse_only = Some((serde_json::from_slice(&output.stdout)?, cost));
        }
    }
    let Some((done, cost)) = best else { return Ok(()) };
    let number = |key: &str| done[key].as_u64().unwrap_or(0);
    let seconds = cost.wall.as_secs_f64();
    let rate = |n: u64| format!("{n} ({:.0} a second)", n as f64 / seconds);
    row(name, "files", rate(number("files")));
    row(name, "chunks", rate(number("chunks")));
    row(
        name,
        "bytes of source",
        format!("{} ({:.1} MB/s)", mib(number("bytes_read")), number("bytes_read") as f64 / 1e6 / seconds),
    );
    row(name, "first index, wall", format!("{} ms", ms(cost.wall)));
    row(name, "first index, CPU", format!("{} ms", ms(cost.cpu)));
    row(name, "peak memory", mib(cost.peak_rss));
    if let Some((parsed, alone)) = parse_only {
        let share = |whole: Duration, part: Duration| whole.as_secs_f64() / part.as_secs_f64();
        row(
            name,
            "parsing alone, files",
            format!("{} ({})", parsed["files"], mib(parsed["bytes"].as_u64().unwrap_or(0))),
        );
        row(name, "parsing alone, wall", format!("{} ms", ms(alone.wall)));
        row(name, "parsing alone, CPU", format!("{} ms", ms(alone.cpu)));
        let ratio =
            format!("{:.2} wall, {:.2} CPU", share(cost.wall, alone.wall), share(cost.cpu, alone.cpu));
        row(name, "first index : parsing alone", ratio);
    }
    scratch.codeweaver.run(["index", "-q"])?;
    sizes(&scratch, number("chunks"))?;
    let started = Instant::now();
    read_all_blobs(&scratch)?;
    row(name, "git cat-file, all blobs", format!("{} ms", ms(started.elapsed())));
    Ok(())
}

/// Prints the size of the index, and its ratio to vectors and metadata (the size of the shards).
fn sizes(scratch: &Scratch, n_chunks: u64) -> Result<()> {
    let all = common::process::disk_use(&scratch.store());
    let mut shards = 0;
    for space in std::fs::read_dir(scratch.store().join("v1"))?.flatten() {
        shards += common::process::disk_use(&space.path().join("shards"));
    }
    row(&scratch.name, "index on disk", format!("{} ({} bytes a chunk)", mib(all), all / n_chunks.max(1)));
    row(&scratch.name, "index : vectors and metadata", format!("{:.2}", all as f64 / shards.max(1) as f64));
    Ok(())
}

fn read_all_blobs(scratch: &Scratch) -> Result<()> {
    let listing = scratch.git.text(["ls-tree", "-r", "--format=%(objectname)", "HEAD"])?;
    let list = tempfile::NamedTempFile::new()?;
    std::fs::write(list.path(), listing)?;
    let mut command = scratch.git.command(["cat-file", "--batch"]);
    command.stdin(std::fs::File::open(list.path())?).stdout(std::process::Stdio::null()).status()?;
    Ok(())
}
