//! The `.pairs` files of a directory.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

/// All `.pairs` files in `folder`, sorted by name. Error: there is none.
pub fn pair_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "pairs") {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), "{} has no .pairs files", folder.display());
    files.sort();
    Ok(files)
}

/// Repository name `owner+name` of a `.pairs` file.
pub fn repository_name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs `work` on every file on `threads` threads and returns the results in the order of the files. Stops at
/// the first error.
pub fn for_each_file<T: Send>(
    files: &[PathBuf],
    threads: usize,
    work: impl Fn(usize, &Path) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(files.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(index) else { break };
                    let result = work(index, path);
                    if result.is_err() {
                        next.store(files.len(), Ordering::Relaxed);
                    }
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
