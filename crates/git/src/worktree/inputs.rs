//! Files that determine a status result in addition to the content of the working tree: git's index, ignore
//! files and attribute files.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::stat::{FileStat, Time};
use crate::{BStr, BString, ByteSlice as _, Repo};

/// Attribute file of the whole machine.
pub(super) const SYSTEM_ATTRIBUTES: &str = "/etc/gitattributes";

/// Names of per-directory files whose patterns apply to other files of the working tree.
pub(super) const PATTERN_FILES: [&str; 2] = [".gitignore", ".gitattributes"];

/// Returns whether `name` is the name of an ignore or attribute file.
pub(super) fn is_pattern_file(name: &[u8]) -> bool {
    PATTERN_FILES.iter().any(|pattern_file| name.eq_ignore_ascii_case(pattern_file.as_bytes()))
}

/// Pipes, sockets and devices in place of pattern files, which cannot be read without waiting for ever.
pub(super) struct Pipes {
    root: PathBuf,
    /// Name of the pattern file.
    name: &'static str,
    /// Whether there is one in a directory or above it; by the directory with its slash.
    seen: FxHashMap<BString, bool>,
}

impl Pipes {
    /// Those in place of the pattern files `name` in the working tree at `root`.
    pub fn new(root: &Path, name: &'static str) -> Pipes {
        Pipes { root: root.to_owned(), name, seen: FxHashMap::default() }
    }

    /// Returns whether there is one in a directory above `path`. Then no pattern applies to `path`.
    pub fn are_above(&mut self, path: &BStr) -> bool {
        let n = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let directory = path[..n].as_bstr();
        if let Some(&is_there) = self.seen.get(directory) {
            return is_there;
        }

        let file = self.root.join(directory.to_path_lossy()).join(self.name);
        let is_pipe = |meta: std::fs::Metadata| !(meta.is_file() || meta.is_symlink() || meta.is_dir());
        let is_there = n > 0 && self.are_above(path[..n - 1].as_bstr())
            || std::fs::symlink_metadata(file).is_ok_and(is_pipe);
        self.seen.insert(directory.to_owned(), is_there);
        is_there
    }
}

/// An input file outside of the working tree, with its stat data from before it was read.
pub(super) struct InputFile {
    pub path: PathBuf,
    /// `None` if the file did not exist.
    pub stat: Option<FileStat>,
    /// Time at which the stat data was taken.
    pub observed: Time,
}

impl InputFile {
    /// Observes git's index and the files outside of the working tree that decide what is ignored and how
    /// files are converted.
    pub fn all(repo: &Repo) -> Vec<InputFile> {
        input_paths(repo).into_iter().map(InputFile::observe).collect()
    }

    fn observe(path: PathBuf) -> InputFile {
        let observed = Time::now();
        let stat = stat(&path);
        InputFile { path, stat, observed }
    }

    /// Returns whether the file is unchanged since it was observed. Racy stat data counts as changed.
    pub fn is_unchanged(&self) -> bool {
        let stat = stat(&self.path);
        stat == self.stat && !stat.is_some_and(|stat| stat.mtime.max(stat.ctime).is_racy(self.observed))
    }
}

/// Returns whether `inputs` are the input files of `repo`, all unchanged.
pub(super) fn are_current(inputs: &[InputFile], repo: &Repo) -> bool {
    let paths = input_paths(repo);
    inputs.len() == paths.len()
        && inputs.iter().zip(paths).all(|(input, path)| input.path == path && input.is_unchanged())
}

fn stat(path: &Path) -> Option<FileStat> {
    std::fs::metadata(path).ok().map(|meta| FileStat::from_metadata(&meta))
}

/// Paths of the input files of `repo`, which may not exist.
fn input_paths(repo: &Repo) -> Vec<PathBuf> {
    let info = repo.common_dir().join("info");
    let mut paths = vec![repo.local().index_path(), info.join("exclude"), info.join("attributes")];

    paths.push(SYSTEM_ATTRIBUTES.into());
    paths.extend(user_config_file(repo, "core.excludesFile", "ignore"));
    paths.extend(user_config_file(repo, "core.attributesFile", "attributes"));

    paths
}

/// Returns the file that the configuration `key` names, or the file `name` in git's directory of the user's
/// configuration.
pub(super) fn user_config_file(repo: &Repo, key: &'static str, name: &str) -> Option<PathBuf> {
    let configured = repo.local().config_snapshot().trusted_path(key).ok().flatten();
    configured.or_else(|| Some(user_config_directory()?.join("git").join(name)))
}

/// `$XDG_CONFIG_HOME`, or else `~/.config`.
fn user_config_directory() -> Option<PathBuf> {
    directory_variable("XDG_CONFIG_HOME").or_else(|| codeweaver_base::home().map(|home| home.join(".config")))
}

fn directory_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
