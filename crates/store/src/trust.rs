//! Memo of the trust check of a store: the stat data of everything that the check reads.
//!
//! The check lists six directories and reads two files, and one request makes it several times. A symbolic
//! link cannot appear in a directory, nor another nonce in its file, without a change of their stat data. A
//! check that found the store to be ours therefore holds as long as the stat data is the same.

use std::path::PathBuf;
use std::sync::Mutex;

use codeweaver_base::sync;
use codeweaver_git::worktree::stat::{FileStat, Time};

/// The last check that found the store to be ours.
#[derive(Debug, Default)]
pub struct TrustMemo(Mutex<Option<Inputs>>);

/// Files and directories with their stat data; `None` for a path that does not exist.
#[derive(Debug)]
pub struct Inputs {
    stats: Vec<(PathBuf, Option<FileStat>)>,
    /// The time before the stat data was taken.
    observed: Time,
}

impl Inputs {
    /// Takes the stat data of `paths`. The caller reads the paths afterwards.
    pub fn observe(paths: Vec<PathBuf>) -> Inputs {
        let observed = Time::now();
        let stats = paths.into_iter().map(|path| (stat(&path), path)).map(|(stat, path)| (path, stat));
        Inputs { stats: stats.collect(), observed }
    }

    fn are_unchanged(&self) -> bool {
        self.stats.iter().all(|(path, then)| stat(path) == *then)
    }

    /// Returns whether something could have changed since and have the same stat data.
    fn are_racy(&self) -> bool {
        let mut present = self.stats.iter().filter_map(|(_, stat)| stat.as_ref());
        present.any(|stat| stat.mtime.max(stat.ctime).is_racy(self.observed))
    }
}

impl TrustMemo {
    /// Returns whether the inputs of the last check are unchanged.
    pub fn holds(&self) -> bool {
        sync::lock(&self.0).as_ref().is_some_and(Inputs::are_unchanged)
    }

    /// Remembers a check of `inputs` that found the store to be ours.
    pub fn keep(&self, inputs: Inputs) {
        *sync::lock(&self.0) = (!inputs.are_racy()).then_some(inputs);
    }
}

fn stat(path: &std::path::Path) -> Option<FileStat> {
    std::fs::symlink_metadata(path).ok().map(|meta| FileStat::from_metadata(&meta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_memo_holds_until_something_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (file, absent) = (dir.path().join("nonce"), dir.path().join("absent"));
        std::fs::write(&file, "1").unwrap();
        let paths = vec![dir.path().to_owned(), file.clone(), absent.clone()];
        let memo = TrustMemo::default();
        assert!(!memo.holds());
        memo.keep(Inputs::observe(paths.clone()));
        assert!(!memo.holds(), "what was written just now may change again within the tick");
        let settled = || {
            std::thread::sleep(Duration::from_millis(60));
            memo.keep(Inputs::observe(paths.clone()));
            assert!(memo.holds());
        };
        settled();
        std::fs::write(&file, "2").unwrap();
        assert!(!memo.holds());
        settled();
        std::fs::write(dir.path().join("other"), "").unwrap();
        assert!(!memo.holds());
    }
}
