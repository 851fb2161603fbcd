//! `overlap`: contamination, the share of training code that occurs in the repositories of evaluation sets.
//!
//! A window is six consecutive lines without white space. The share of a repository is that of its distinct
//! windows that also occur in an evaluated repository. Licence texts do not count. A share of a few per cent
//! indicates a fork or a bundled copy.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use codeweaver_chunk::language::{self, Nature};
use codeweaver_git::{ByteSlice as _, Mode, Repo, walk_tree};

use super::filter::{speaks_of_licence, stable_hash};
use super::{source, syntax};
use crate::pair::PairReader;

const LINES: usize = 6;
/// Minimum number of letters in a window; others are mostly brackets.
const MIN_LETTERS: usize = 60;
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Repositories above this share are listed.
const SUSPICIOUS: f64 = 0.02;

#[derive(clap::Args)]
pub struct Options {
    /// Directory of `.pairs` files.
    #[arg(long)]
    pairs: PathBuf,
    /// List of evaluated repositories: JSON objects with `url` and `revision`.
    #[arg(long)]
    against: Vec<PathBuf>,
    /// Directory of their mirrors.
    #[arg(long)]
    mirrors: PathBuf,
    /// Write the result as JSON to this file.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Evaluated {
    url: String,
    revision: String,
    /// Directory that the queries are about; absent: the whole repository.
    benchmark_root: Option<String>,
}

#[derive(Serialize)]
struct Share {
    repository: String,
    windows: usize,
    shared: usize,
    /// Number of the shared windows that are in the directory that the queries are about.
    shared_asked: usize,
    /// The evaluated repository with the largest overlap.
    most_with: String,
}

impl Share {
    fn share(&self) -> f64 {
        self.shared as f64 / self.windows.max(1) as f64
    }
}

/// Windows of the evaluated repositories, each with the index of a repository that contains it and whether
/// queries are about it.
#[derive(Default)]
struct Windows {
    names: Vec<String>,
    of: FxHashMap<u64, (u16, bool)>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut windows = Windows::default();
    for list in &options.against {
        let text = std::fs::read(list).with_context(|| format!("cannot read {}", list.display()))?;
        let evaluated: Vec<Evaluated> = serde_json::from_slice(&text)?;
        for repository in evaluated {
            windows.add_repository(&options.mirrors, &repository)?;
        }
    }
    anyhow::ensure!(!windows.of.is_empty(), "no code to compare with");
    println!("{} windows of {} evaluated repositories", windows.of.len(), windows.names.len());
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&options.pairs)?.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pairs"));
    paths.sort();
    let mut shares = paths.iter().map(|path| share(path, &windows)).collect::<anyhow::Result<Vec<_>>>()?;
    shares.sort_by(|a, b| b.share().total_cmp(&a.share()));
    let total: usize = shares.iter().map(|share| share.windows).sum();
    let shared: usize = shares.iter().map(|share| share.shared).sum();
    let asked: usize = shares.iter().map(|share| share.shared_asked).sum();
    for share in shares.iter().filter(|share| share.shared > 0) {
        println!(
            "{:.4} % {} ({} of {}, {} asked about; {})",
            share.share() * 100.0,
            share.repository,
            share.shared,
            share.windows,
            share.shared_asked,
            share.most_with
        );
    }
    println!(
        "all: {:.4} % ({shared} of {total} windows, {} repositories); {asked} windows in folders that are asked about",
        shared as f64 * 100.0 / total.max(1) as f64,
        shares.len()
    );
    let suspicious: Vec<&str> = shares
        .iter()
        .filter(|share| share.share() > SUSPICIOUS)
        .map(|share| share.repository.as_str())
        .collect();
    println!(
        "forks or copies (over {} %): {}",
        SUSPICIOUS * 100.0,
        if suspicious.is_empty() { "none".into() } else { suspicious.join(" ") }
    );
    if let Some(out) = &options.out {
        let result = serde_json::json!({ "windows": total, "shared": shared, "shared_asked": asked, "suspicious": suspicious, "repositories": shares });
        std::fs::write(out, serde_json::to_vec_pretty(&result)?)?;
    }
    Ok(())
}

fn share(path: &Path, windows: &Windows) -> anyhow::Result<Share> {
    let mut own: FxHashSet<u64> = FxHashSet::default();
    for pair in PairReader::open(path)? {
        let pair = pair.with_context(|| path.display().to_string())?;
        own.extend(windows_of(&pair.code));
    }
    let mut with: Vec<usize> = vec![0; windows.names.len()];
    let mut shared_asked = 0;
    for (name, asked) in own.iter().filter_map(|window| windows.of.get(window)) {
        with[usize::from(*name)] += 1;
        shared_asked += usize::from(*asked);
    }
    let shared = with.iter().sum();
    let most = with.iter().enumerate().max_by_key(|(_, count)| **count).filter(|(_, count)| **count > 0);
    Ok(Share {
        repository: path.file_stem().unwrap_or_default().to_string_lossy().replace('+', "/"),
        windows: own.len(),
        shared,
        shared_asked,
        most_with: most.map(|(at, _)| windows.names[at].clone()).unwrap_or_default(),
    })
}

impl Windows {
    fn add_repository(&mut self, mirrors: &Path, evaluated: &Evaluated) -> anyhow::Result<()> {
        let name = evaluated.url.trim_end_matches('/').trim_end_matches(".git");
        let name: Vec<&str> = name.rsplit('/').take(2).collect();
        let name: String = name.into_iter().rev().collect::<Vec<_>>().join("/");
        let git_dir = mirrors.join(name.replace('/', "+")).join("repo");
        let repo = Repo::discover(&git_dir).with_context(|| format!("no mirror of {name}"))?;
        let revision = repo.resolve(&evaluated.revision)?;
        let index = u16::try_from(self.names.len())?;
        self.names.push(name);
        let mut blobs = repo.blobs();
        for file in walk_tree(&repo, &revision.tree)? {
            let Some(language) = language::by_path(file.path.as_ref()) else { continue };
            let of_use =
                language.nature() == Nature::Code && matches!(file.mode, Mode::File | Mode::Executable);
            if !of_use || blobs.size(&file.oid)?.is_none_or(|size| size > MAX_FILE_BYTES) {
                continue;
            }
            let text = blobs.read(&file.oid)?.unwrap_or_default().to_str_lossy().into_owned();
            // Some kinds of pairs have no comments, the others have all comments except licences.
            let all = syntax::comments(&text, language.name()).into_iter().map(|comment| comment.range);
            let without_comments = syntax::without(&text, 0, all);
            let with_comments = syntax::without(&text, 0, source::legal_comments(&text, language.name()));
            let root = evaluated.benchmark_root.as_deref().unwrap_or_default();
            let is_benchmark = file.path.starts_with(root.as_bytes());
            for window in windows_of(&without_comments).chain(windows_of(&with_comments)) {
                self.of.entry(window).or_insert((index, is_benchmark)).1 |= is_benchmark;
            }
        }
        Ok(())
    }
}

/// Returns the hashes of all windows of a text.
fn windows_of(text: &str) -> impl Iterator<Item = u64> {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty() && !speaks_of_licence(line))
        .collect();
    let letters = |line: &String| line.bytes().filter(u8::is_ascii_alphabetic).count();
    let hashes: Vec<u64> = lines
        .windows(LINES)
        .filter(|window| window.iter().map(letters).sum::<usize>() >= MIN_LETTERS)
        .map(|window| stable_hash(window.iter().map(String::as_str)))
        .collect();
    hashes.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_ignore_white_space_brackets_and_licences() {
        let code: Vec<String> = (0..8).map(|n| format!("let value_of_line = compute_number({n});")).collect();
        let one = code.join("\n");
        let two = format!("// Copyright 2020\n\n{}", code.join("\n\n    "));
        let (one, two): (Vec<u64>, Vec<u64>) = (windows_of(&one).collect(), windows_of(&two).collect());
        assert_eq!(one.len(), 3);
        assert_eq!(one, two);
        assert_eq!(windows_of(&"}\n".repeat(20)).count(), 0);
    }
}
