//! Import of files as commits of a private bare repository, by `git fast-import`.
//!
//! For documents outside of any repository: once their contents are in an object database they are indexed,
//! updated and quoted like those of a repository. The branch moves only when everything is written.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

use super::error::{GitError, one_line};
use super::private_repo::{PrivateRepo, git, io_error};

/// The branch of a private repository.
const BRANCH: &str = "refs/heads/main";

/// Packs the loose objects of the repository in `git_dir` if there are about `limit` of them or more. Unlike
/// `git gc` it follows no references, so the objects that they name may be in other stores. Returns whether
/// it packed.
///
/// # Errors
/// git cannot be run, or the objects cannot be read or written.
pub fn pack_loose(git_dir: &Path, limit: usize) -> Result<bool, GitError> {
    let objects = git_dir.join("objects");
    // As `git gc --auto`: names are hashes, so the number in one directory is representative of all.
    if loose_objects(&objects, "17").len() * 256 < limit {
        return Ok(false);
    }
    let names: Vec<String> =
        (0..=u8::MAX).flat_map(|byte| loose_objects(&objects, &format!("{byte:02x}"))).collect();
    let names = names.concat();

    let mut pack = git();
    pack.arg("--git-dir").arg(git_dir).args(["pack-objects", "--quiet"]).arg(objects.join("pack/pack"));
    let failed = io_error("pack", git_dir);
    let mut child =
        pack.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(&failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(names.as_bytes()).map_err(&failed)?;
    }

    let packed = child.wait_with_output().map_err(&failed)?;

    let mut prune = git();
    prune.arg("--git-dir").arg(git_dir).args(["prune-packed", "--quiet"]);
    let output = if packed.status.success() { prune.output().map_err(&failed)? } else { packed };

    if output.status.success() {
        return Ok(true);
    }

    let reason = one_line(&String::from_utf8_lossy(&output.stderr));
    Err(GitError::Unreadable { path: git_dir.to_owned(), reason })
}

/// Names of the loose objects in one directory of `objects`, each with a line feed, as `git pack-objects`
/// reads them.
fn loose_objects(objects: &Path, fan_out: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(objects.join(fan_out)).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.len() == 38 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            names.push(format!("{fan_out}{name}\n"));
        }
    }
    names
}

/// A commit that is being written. Dropped without [`Self::finish`], it leaves the branch as it was.
pub struct Import<'a> {
    git_dir: &'a Path,
    child: Child,
    input: BufWriter<ChildStdin>,
}

impl<'a> Import<'a> {
    /// Begins a commit on the branch of `repo`. With `anew` it starts without files, otherwise with those of
    /// the commit before.
    pub fn begin(repo: PrivateRepo<'a>, anew: bool) -> Result<Import<'a>, GitError> {
        let git_dir = repo.git_dir;
        let failed = io_error("write", git_dir);
        let mut command = repo.command()?;
        command.arg("--git-dir").arg(git_dir).args(["fast-import", "--quiet", "--done", "--force"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(&failed)?;
        let Some(input) = child.stdin.take() else { return Err(failed(io::ErrorKind::BrokenPipe.into())) };

        let mut import = Import { git_dir, child, input: BufWriter::new(input) };

        let has_branch = git_dir.join(BRANCH).is_file();
        let mut head =
            format!("commit {BRANCH}\ncommitter codeweaver <codeweaver@localhost> 0 +0000\ndata 0\n");

        if has_branch {
            head.push_str(&format!("from {BRANCH}^0\n"));
        }
        if anew {
            head.push_str("deleteall\n");
        }

        import.write(&[head.as_bytes()])?;
        Ok(import)
    }

    /// Adds a file, or replaces it. `path` is relative, with `/` and without `.` and `..`.
    pub fn add(&mut self, path: &[u8], bytes: &[u8]) -> Result<(), GitError> {
        let length = format!("\ndata {}\n", bytes.len());
        self.write(&[b"M 100644 inline ", &quoted(path), length.as_bytes(), bytes, b"\n"])
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &[u8]) -> Result<(), GitError> {
        self.write(&[b"D ", &quoted(path), b"\n"])
    }

    /// Makes the commit current.
    ///
    /// # Errors
    /// git has failed, with the first line of its message.
    pub fn finish(mut self) -> Result<(), GitError> {
        self.write(&[b"\ndone\n"])?;
        let Import { git_dir, child, mut input } = self;
        let flushed = input.flush();

        // git ends at the end of its input, so the pipe is closed before the wait.
        drop(input);
        let output = child.wait_with_output().map_err(io_error("write", git_dir))?;
        if output.status.success() && flushed.is_ok() {
            return Ok(());
        }

        let reason = one_line(&String::from_utf8_lossy(&output.stderr));
        Err(GitError::Unreadable { path: git_dir.to_owned(), reason })
    }

    fn write(&mut self, parts: &[&[u8]]) -> Result<(), GitError> {
        let written = parts.iter().try_for_each(|part| self.input.write_all(part));
        written.map_err(io_error("write", self.git_dir))
    }
}

/// A path in double quotes, as `git fast-import` reads it.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];

    for &byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', byte]),
            b'\n' => quoted.extend(b"\\n"),
            byte => quoted.push(byte),
        }
    }

    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Oid;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn loose_objects_are_packed_although_they_name_what_is_elsewhere() {
        let repo = TestRepo::with_files(&[("a.txt", "one\n")]);
        let absent = "1234567890123456789012345678901234567890";
        let entry = [&b"40000 sub\0"[..], Oid::from_hex(absent.as_bytes()).unwrap().as_slice()].concat();
        let tree = repo.write_object("tree", &entry);
        let git_dir = repo.path(".git");
        let n_loose = || repo.git_text(["count-objects"]);
        assert!(!pack_loose(&git_dir, 1_000_000).unwrap());
        assert!(n_loose().starts_with("4 objects"), "{}", n_loose());
        assert!(pack_loose(&git_dir, 0).unwrap());
        assert!(n_loose().starts_with("0 objects"), "{}", n_loose());
        assert_eq!(repo.git_text(["cat-file", "-t", &tree.to_string()]), "tree\n");
        assert_eq!(repo.git_text(["show", "HEAD:a.txt"]), "one\n");
    }
}
