//! Quick check whether the head of a member is where it was: some dozen system calls on short paths. `probe`
//! takes twice as many, on long ones.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::{Member, Oid};

/// Maximum number of bytes of a reference that is read; a longer one is left to `probe`.
const MAX_BYTES: usize = 512;
/// Number of references that are followed: `HEAD` and the branch that it names.
const MAX_STEPS: usize = 2;

/// Returns whether `member` certainly points to `known`. False for whatever needs a closer look: a symbolic
/// link anywhere in its path, a packed reference, a file of another type.
pub fn points_to(member: &Member, known: Oid) -> bool {
    let mut name = member.reference.clone();
    if name != "HEAD" && !is_plain(&name) {
        return false;
    }

    let Some(git_dir) = open_without_links(&member.path) else { return false };
    let is_repository = type_of(&git_dir, "objects") == Some(FileType::Directory)
        && type_of(&git_dir, "HEAD") == Some(FileType::RegularFile)
        && type_of(&git_dir, "reftable").is_none()
        && matches!(type_of(&git_dir, "packed-refs"), None | Some(FileType::RegularFile));
    if !is_repository {
        return false;
    }

    for _ in 0..MAX_STEPS {
        let Some(text) = read(&git_dir, &name) else { return false };
        match text.strip_prefix("ref: ") {
            Some(next) if is_plain(next.trim()) => name = next.trim().to_owned(),
            Some(_) => return false,
            None => return Oid::from_hex(text.trim().as_bytes()).is_ok_and(|id| id == known),
        }
    }
    false
}

/// Opens the directory at `path`, of which no part is a symbolic link.
fn open_without_links(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}

/// The type of what `dir` has under `name`; `None` if there is nothing.
fn type_of(dir: &OwnedFd, name: &str) -> Option<FileType> {
    let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(found.st_mode))
}

/// Reads the reference called `name`, without waiting for a pipe and without following a link.
fn read(dir: &OwnedFd, name: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::empty()).ok()?;
    if FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode) != FileType::RegularFile {
        return None;
    }

    let mut bytes = [0; MAX_BYTES];
    let n = rustix::io::read(&file, &mut bytes).ok()?;
    (n < MAX_BYTES).then(|| String::from_utf8(bytes[..n].to_vec()).ok()).flatten()
}

/// Returns whether the name of a reference leads to no other place than one below `refs`.
fn is_plain(name: &str) -> bool {
    name.starts_with("refs/") && !name.contains("..") && !name.contains('\0')
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use codeweaver_base::real_path;
    use codeweaver_testkit::TestRepo;

    use super::*;
    use crate::MemberState;

    fn member(path: PathBuf, reference: &str) -> Member {
        Member {
            name: "a".to_owned(),
            path,
            reference: reference.to_owned(),
            commit: None,
            tree: None,
            updated: 0,
            state: MemberState::Indexed,
            error: String::new(),
        }
    }

    #[test]
    fn a_head_is_known_by_its_own_file_alone() {
        let repo = TestRepo::init();
        repo.write("a", "a").commit("first");
        let git_dir = real_path::canonicalize(repo.root()).unwrap().join(".git");
        let id = |spec: &str| Oid::from_hex(repo.git_text(["rev-parse", spec]).trim().as_bytes()).unwrap();
        let first = id("HEAD");
        let looks =
            |first| ["HEAD", "refs/heads/main"].map(|name| points_to(&member(git_dir.clone(), name), first));
        assert_eq!(looks(first), [true, true]);

        repo.write("a", "b").commit("second");
        assert_eq!((looks(first), looks(id("HEAD"))), ([false; 2], [true; 2]));

        // A packed reference, and one outside of the repository.
        repo.git(["pack-refs", "--all"]);
        assert_eq!(looks(id("HEAD")), [false, false]);
        assert!(!points_to(&member(git_dir, "../.git/HEAD"), id("HEAD")));
    }

    #[test]
    fn what_may_be_no_repository_is_left_to_a_closer_look() {
        let repo = TestRepo::init();
        repo.write("a", "a").commit("first");
        let git_dir = real_path::canonicalize(repo.root()).unwrap().join(".git");
        let id = Oid::from_hex(repo.git_text(["rev-parse", "HEAD"]).trim().as_bytes()).unwrap();
        let main = || points_to(&member(git_dir.clone(), "refs/heads/main"), id);
        assert!(main());

        let link = git_dir.with_file_name("link");
        std::os::unix::fs::symlink(&git_dir, &link).unwrap();
        assert!(!points_to(&member(link, "HEAD"), id), "a link");

        for directory in ["reftable", "packed-refs"] {
            std::fs::create_dir(git_dir.join(directory)).unwrap();
            assert!(!main(), "{directory}");
            std::fs::remove_dir(git_dir.join(directory)).unwrap();
        }
        for gone in ["HEAD", "objects"] {
            std::fs::rename(git_dir.join(gone), git_dir.join("gone")).unwrap();
            assert!(!main(), "{gone}");
            std::fs::rename(git_dir.join("gone"), git_dir.join(gone)).unwrap();
        }
        assert!(main());
    }
}
