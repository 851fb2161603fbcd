//! Real repositories end to end: init, search, commit, search, with invariants that must hold on any of them.
//!
//! Run with `cargo bench --bench real_repositories -- DIR…`, where each DIR is a repository or a directory of
//! repositories; default: CODEWEAVER_BENCH_REPO. Clones are measured; DIR is not changed. Prints a Markdown
//! table row for each repository, then the violated invariants:
//!
//! * no process ends by a panic or a signal, or writes more than a few lines to stderr;
//! * the text shown is that of the span: `content.text` equals those lines of `blob`, as `git cat-file`
//!   prints it;
//! * a committed edit is found immediately;
//! * a store that holds several revisions answers about each of them as one that holds nothing else. Compared
//!   are CODEWEAVER_BENCH_REVISIONS (4) commits, evenly from the last 400.

mod common;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use common::{Corpus, Cost, QUERIES, Result, Samples, Scratch, mib, ms};

/// Maximum number of lines on stderr.
const MAX_STDERR_LINES: usize = 3;

fn main() -> Result<()> {
    let args: Vec<PathBuf> =
        std::env::args_os().skip(1).filter(|arg| !is_option(arg)).map(PathBuf::from).collect();
    let mut found: Vec<Corpus> =
        args.iter().flat_map(|path| repositories(path)).map(Corpus::clone_of).collect();
    if found.is_empty() {
        found = common::corpora();
    }
    println!(
        "| repository | files | chunks | source | first index, wall | CPU | peak memory | index | index : source | cold search p50 | commit → index |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let mut complaints = Vec::new();
    for corpus in &found {
        if let Err(e) = measure(corpus, &mut complaints) {
            complaints.push(format!("{}: {e}", corpus.name()));
        }
    }
    println!("\n{} repositories, {} complaints", found.len(), complaints.len());
    complaints.iter().for_each(|complaint| println!("* {complaint}"));
    if complaints.is_empty() { Ok(()) } else { Err("see the complaints above".into()) }
}

/// Whether the argument is an option: `cargo bench` passes `--bench`.
fn is_option(arg: &OsStr) -> bool {
    arg.to_string_lossy().starts_with("--")
}

/// `path` if it is a repository, else the repositories directly below it.
fn repositories(path: &Path) -> Vec<PathBuf> {
    let is_repository = |path: &Path| path.join(".git").exists() || path.join("HEAD").is_file();
    let children = |path: &Path| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(path).into_iter().flatten().flatten().map(|child| child.path()).collect();
        all.sort();
        all
    };
    if is_repository(path) {
        return vec![path.to_owned()];
    }
    children(path).into_iter().filter(|child| child.is_dir() && is_repository(child)).collect()
}

fn measure(corpus: &Corpus, complaints: &mut Vec<String>) -> Result<()> {
    let scratch = corpus.make()?;
    let mut complain = |what: String| complaints.push(format!("{}: {what}", scratch.name));
    scratch.codeweaver.run(["init", "--no-hooks", "--no-index"])?;
    let (output, cost) = scratch.codeweaver.measure(["index", "--json"])?;
    let lines = String::from_utf8_lossy(&output.stderr).lines().count();
    if lines > MAX_STDERR_LINES {
        complain(format!("the first index wrote {lines} lines to stderr"));
    }
    let done: serde_json::Value =
        serde_json::from_str(String::from_utf8(output.stdout)?.lines().last().unwrap_or("{}"))?;
    let mut cold = Samples::default();
    for query in QUERIES {
        let started = Instant::now();
        let output =
            scratch.codeweaver.command(["search", "-l", "20", "--output-format", "json", query]).output()?;
        cold.push(started.elapsed());
        if !matches!(output.status.code(), Some(0 | 1)) {
            complain(format!(
                "search \"{query}\" ended with {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ));
            continue;
        }
        check_spans(&scratch, query, &output.stdout, &mut complain)?;
    }
    compare_revisions(corpus, &scratch, &mut complain)?;
    let commit = edit_and_find(&scratch, &mut complain)?;
    print_row(&scratch, &done, &cost, &cold, commit);
    Ok(())
}

/// Checks that the text of each match equals the lines of its span in its blob.
fn check_spans(
    scratch: &Scratch,
    query: &str,
    stdout: &[u8],
    complain: &mut impl FnMut(String),
) -> Result<()> {
    let response: serde_json::Value = serde_json::from_slice(stdout)?;
    for found in response["matches"].as_array().into_iter().flatten() {
        let path = found["file"]["path"].as_str().unwrap_or_default();
        let blob = found["blob"].as_str().unwrap_or_default();
        let (first, last) = (
            found["span"][0].as_u64().unwrap_or(0) as usize,
            found["span"][1].as_u64().unwrap_or(0) as usize,
        );
        let bytes = scratch.git.run(["cat-file", "blob", blob])?.stdout;
        let whole = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = whole.lines().collect();
        if first == 0 || last < first || last > lines.len() {
            complain(format!("\"{query}\": {path}:{first}-{last} is not in a blob of {} lines", lines.len()));
            continue;
        }
        let shown = found["content"]["text"].as_str().unwrap_or_default();
        let is_elided = found["content"]["elided"].as_bool().unwrap_or(false);
        let expected = lines[first - 1..last].join("\n");
        // A chunk may start or end within a line; its text is then contained in the lines.
        if !is_elided && !expected.replace('\r', "").contains(shown.replace('\r', "").trim_end_matches('\n'))
        {
            complain(format!("\"{query}\": {path}:{first}-{last} does not show these lines"));
        }
    }
    Ok(())
}

/// Compares answers about earlier revisions, which are all in the store of `scratch`, with those of a store
/// for each.
fn compare_revisions(corpus: &Corpus, scratch: &Scratch, complain: &mut impl FnMut(String)) -> Result<()> {
    let history = scratch.git.text(["log", "--first-parent", "-n", "400", "--format=%H"])?;
    let history: Vec<&str> = history.lines().collect();
    let n = common::setting("CODEWEAVER_BENCH_REVISIONS", 4);
    let revisions: Vec<&str> =
        (1..=n).filter_map(|i| history.get(i * history.len() / (n + 1))).copied().collect();
    for revision in &revisions {
        scratch.codeweaver.run(["index", "-q", revision])?;
    }
    for revision in revisions {
        let alone = corpus.make()?;
        alone.codeweaver.run(["init", "--no-hooks", "--no-index"])?;
        alone.codeweaver.run(["index", "-q", revision])?;
        for query in QUERIES {
            let answer = |of: &Scratch| -> Result<serde_json::Value> {
                let args = ["search", "--rev", revision, "--min-score", "0", "-o", "json", query];
                let output = of.codeweaver.command(args).output()?;
                let response: serde_json::Value = serde_json::from_slice(&output.stdout)?;
                Ok(response["matches"].clone())
            };
            if answer(scratch)? != answer(&alone)? {
                complain(format!("\"{query}\" at {revision} depends on what else is in the store"));
            }
        }
    }
    Ok(())
}

/// Commits five new definitions and searches for them; returns the times of the updates.
fn edit_and_find(scratch: &Scratch, complain: &mut impl FnMut(String)) -> Result<Samples> {
    let mut samples = Samples::default();
    let Some(file) = scratch.source_files()?.into_iter().next() else { return Ok(samples) };
    let mut found_in = String::new();
    for i in 0..5 {
        scratch.edit(&file, i)?;
        scratch.git.run(["commit", "-q", "-m", "edit", "--", &file])?;
        samples.push(scratch.codeweaver.time(["index", "-q"])?);
        let output = scratch
            .codeweaver
            .command(["search", "-l", "5", "--locations", &format!("benchmark_edit_{i}")])
            .output()?;
        found_in = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    let name = file.rsplit('/').next().unwrap_or(&file);
    if !found_in.contains(name) {
        complain(format!("an edit of {file} was committed and is not found"));
    }
    Ok(samples)
}

fn print_row(scratch: &Scratch, done: &serde_json::Value, cost: &Cost, cold: &Samples, commit: Samples) {
    let number = |key: &str| done[key].as_u64().unwrap_or(0);
    let (source, index) = (number("bytes_read"), common::process::disk_use(&scratch.store()));
    println!(
        "| {} | {} | {} | {} | {:.2} s | {:.2} s | {} | {} | {:.2} | {} ms | {} ms |",
        scratch.name,
        number("files"),
        number("chunks"),
        mib(source),
        cost.wall.as_secs_f64(),
        cost.cpu.as_secs_f64(),
        mib(cost.peak_rss),
        mib(index),
        index as f64 / source.max(1) as f64,
        ms(cold.median()),
        ms(commit.median()),
    );
}
