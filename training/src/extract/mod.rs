//! `extract`: makes pairs of a text and the code that it describes, from public repositories with full
//! history.
//!
//! For each repository, it checks whether it may be used ([`exclusion`], [`licence`]), makes pairs of its
//! files ([`head`]) and of its history ([`commits`]), and chooses among the pairs ([`filter`]). The output is
//! `<owner>+<name>.pairs` with a report beside it. Repositories with output are skipped, so that an
//! interrupted run resumes.

mod commits;
mod exclusion;
pub mod filter;
mod head;
mod licence;
mod markdown;
pub mod overlap;
mod prose;
mod report;
pub mod sample;
mod source;
mod subject;
pub mod summary;
mod syntax;
mod words;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use codeweaver_git::{ByteSlice as _, Mode, Repo, walk_tree};

use crate::pair::{Pair, PairWriter};
use commits::Limits;
use exclusion::Exclusion;
use filter::{Collector, Dropped};
use head::Files;
use report::{Outcome, Report};

/// Stack size of a worker thread, for the recursion over deeply nested syntax trees.
const STACK_BYTES: usize = 64 << 20;
/// Maximum number of pairs of the head tree, and of the history.
const HEAD_CAP: usize = 12_000;
const COMMIT_CAP: usize = 12_000;
/// The same for repositories whose main language is rare in the data.
const RARE_CAP: usize = 20_000;
const RARE: &[&str] =
    &["cpp", "bash", "scala", "lua", "zig", "typescript", "tsx", "haskell", "swift", "elixir"];

#[derive(clap::Args)]
pub struct Options {
    /// Directory of mirrors, each `<owner>+<name>/repo`.
    #[arg(long)]
    mirrors: PathBuf,
    /// File with one owner/name for each line; `#` starts a comment.
    #[arg(long)]
    repositories: PathBuf,
    /// File with the hashes of excluded repositories.
    #[arg(long)]
    excluded: PathBuf,
    #[arg(long)]
    out: PathBuf,
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Time limit for the history of a repository, and for its files, in seconds each.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Maximum number of files of a repository's history to chunk.
    #[arg(long, default_value_t = 1_500)]
    chunked: usize,
}

/// Processes all repositories of the list. A failure is reported and does not stop the run.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let exclusion = Exclusion::read(&options.excluded)?;
    let list = std::fs::read_to_string(&options.repositories)
        .with_context(|| format!("cannot read {}", options.repositories.display()))?;
    let repositories: Vec<&str> = list
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| line.contains('/'))
        .collect();
    std::fs::create_dir_all(&options.out)?;
    // Panics are reported as failures of their repository.
    std::panic::set_hook(Box::new(|_| {}));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for n in 0..options.jobs.max(1) {
            std::thread::Builder::new().name(format!("extract-{n}")).stack_size(STACK_BYTES).spawn_scoped(
                scope,
                || {
                    while let Some(repository) = repositories.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(error) = process(repository, options, &exclusion) {
                            eprintln!("{repository}: {error:#}");
                        }
                    }
                },
            )?;
        }
        Ok(())
    })
}

/// Processes one repository, unless it is done or has no mirror. Error: the output cannot be written.
fn process(repository: &str, options: &Options, exclusion: &Exclusion) -> anyhow::Result<()> {
    let stem = repository.replace('/', "+");
    let report_path = options.out.join(format!("{stem}.json"));
    let pairs_path = options.out.join(format!("{stem}.pairs"));
    if report::is_done(&report_path) {
        return Ok(());
    }
    let mut report = Report::new(repository);
    let started = Instant::now();
    let mut pairs = Vec::new();
    if exclusion.refuses(repository) {
        report.outcome = Outcome::Refused { reason: "on the list of excluded repositories".into() };
    } else {
        let git_dir = options.mirrors.join(&stem).join("repo");
        if !git_dir.join("HEAD").exists() {
            return Ok(());
        }
        let work = catch_unwind(AssertUnwindSafe(|| extract(&git_dir, options, &mut report, &mut pairs)));
        match work {
            Ok(Ok(outcome)) => report.outcome = outcome,
            Ok(Err(error)) => report.outcome = Outcome::Failed { reason: format!("{error:#}") },
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                report.outcome =
                    Outcome::Failed { reason: format!("panic: {}", message.unwrap_or_default()) };
            }
        }
    }
    if report.outcome == Outcome::Used {
        let temporary = options.out.join(format!("{stem}.pairs.tmp"));
        let mut writer = PairWriter::create(&temporary)?;
        pairs.iter().try_for_each(|pair| writer.write(pair))?;
        writer.finish()?;
        std::fs::rename(&temporary, &pairs_path)?;
        report.count(&pairs);
        report.bytes = std::fs::metadata(&pairs_path)?.len();
    }
    report.seconds = started.elapsed().as_secs_f64();
    report.write(&report_path)?;
    println!("{}", report.line());
    Ok(())
}

fn extract(
    git_dir: &Path,
    options: &Options,
    report: &mut Report,
    pairs: &mut Vec<Pair>,
) -> anyhow::Result<Outcome> {
    let repo = Repo::discover(git_dir)?;
    let head = repo.head()?;
    let (Some(commit), Some(tree)) = (head.commit, head.tree) else {
        return Ok(Outcome::Refused { reason: "no commit".into() });
    };
    report.commit = commit.to_string();
    match licence_of(&repo, &tree)? {
        Ok(licence) => report.licence = Some(licence),
        Err(reason) => return Ok(Outcome::Refused { reason }),
    }
    let budget = Duration::from_secs(options.seconds);
    let (files, list, skipped) = Files::list(&repo, &tree)?;
    report.files_skipped = skipped;
    let mut collector = Collector::default();
    report.head_complete =
        head::add_pairs(&repo, &files, list, budget, &mut collector, &mut report.files_skipped)?;
    let (of_head, dropped) = collector.into_pairs(usize::MAX);
    report.dropped = dropped;
    let main_language = most_frequent(of_head.iter().map(|pair| pair.language.as_str()));
    let rare = RARE.contains(&main_language.as_str());
    report.main_language = main_language;

    let mut collector = Collector::default();
    let limits = Limits { budget, max_chunked: options.chunked };
    report.history = commits::add_pairs(git_dir, &repo, &commit, &files, limits, &mut collector)?;
    let (of_history, dropped) = collector.into_pairs(if rare { RARE_CAP } else { COMMIT_CAP });
    merge(&mut report.dropped, dropped);
    let (of_head, capped) = filter::cap(of_head, if rare { RARE_CAP } else { HEAD_CAP });
    merge(&mut report.dropped, [(Dropped::Cap, capped)].into());
    pairs.extend(of_head);
    pairs.extend(of_history);
    Ok(Outcome::Used)
}

fn merge(into: &mut BTreeMap<Dropped, u64>, from: BTreeMap<Dropped, u64>) {
    from.into_iter().for_each(|(reason, count)| *into.entry(reason).or_default() += count);
}

fn most_frequent<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name.to_owned()).unwrap_or_default()
}

/// Decides the licence by the files in the root of the tree.
fn licence_of(repo: &Repo, tree: &codeweaver_git::Oid) -> anyhow::Result<Result<licence::Licence, String>> {
    const MAX_BYTES: u64 = 1 << 20;
    let mut blobs = repo.blobs();
    let (mut files, mut manifests, mut of_packages) = (Vec::new(), Vec::new(), Vec::new());
    for entry in walk_tree(repo, tree)? {
        let path = entry.path.to_str_lossy();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let list = match () {
            () if folder.is_empty() && licence::is_licence_file(name) => &mut files,
            () if folder.is_empty() && licence::is_manifest(name) => &mut manifests,
            () if !folder.contains('/') && licence::is_licence_file(name) => &mut of_packages,
            () => continue,
        };
        let is_file = matches!(entry.mode, Mode::File | Mode::Executable);
        if is_file && blobs.size(&entry.oid)?.is_some_and(|size| size <= MAX_BYTES) {
            let text = blobs.read(&entry.oid)?.unwrap_or_default().to_str_lossy().into_owned();
            list.push((path.into_owned(), text));
        }
    }
    let decided = licence::decide(&files, &manifests);
    Ok(match licence::decide_by_packages(&of_packages) {
        Some(licence) if decided.is_err() && files.is_empty() => Ok(licence),
        _ => decided,
    })
}

#[cfg(test)]
mod tests;
