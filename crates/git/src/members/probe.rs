//! Looks up the commit that the branch or tag of a member points to now.
//!
//! Nothing of the member's configuration is read. The types of its files are checked before they are opened,
//! so that a pipe in place of a reference does not block the look-up.

use std::path::Path;

use gix::objs::{CommitRefIter, Find as _, Kind, TagRefIter};
use gix::odb::store::init::Options;
use gix::refs::{Target, file};

use codeweaver_base::real_path;

use super::MemberState;
use crate::error::one_line;
use crate::limits::MAX_DECODED_BYTES;
use crate::{Member, Oid};

/// Maximum number of symbolic references and tags on the way to a commit.
const MAX_STEPS: usize = 16;

/// The result of [`probe`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It still points to the commit that is known.
    Unchanged,
    /// It points to this commit.
    Commit {
        /// The commit.
        commit: Oid,
        /// Its tree.
        tree: Oid,
    },
    /// There is no commit, with the reason.
    Nothing(MemberState, String),
}

/// Finds the commit that `member` points to. The object store is read only if it is not the known commit.
pub fn probe(member: &Member) -> Found {
    let git_dir = &member.path;
    let known = known_commit(member);

    #[cfg(target_os = "linux")]
    if known.is_some_and(|known| super::quick::points_to(member, known)) {
        return Found::Unchanged;
    }

    match real_path::canonicalize(git_dir) {
        Ok(real) if real == *git_dir => {}
        Ok(real) => {
            let reason = format!("its path leads to {} now; add that path if it is meant", real.display());
            return Found::Nothing(MemberState::Missing, reason);
        }
        Err(error) => return Found::Nothing(MemberState::Missing, error.to_string()),
    }

    if !git_dir.join("HEAD").exists() || !git_dir.join("objects").is_dir() {
        return Found::Nothing(MemberState::Missing, "there is no git repository".to_owned());
    }

    let unreadable = |reason: String| Found::Nothing(MemberState::Unreadable, reason);
    if git_dir.join("reftable").exists() {
        return unreadable("the reftable reference format is not supported".to_owned());
    }

    let id = match follow(git_dir, &member.reference) {
        Ok(Some(id)) => id,
        Ok(None) if member.reference == "HEAD" => {
            return Found::Nothing(MemberState::Empty, "its branch has no commit yet".to_owned());
        }
        Ok(None) => {
            return Found::Nothing(MemberState::NoRef, format!("it has no {}", member.reference));
        }
        Err(reason) => return unreadable(reason),
    };

    // The usual case costs no look at the object store.
    if known == Some(id) {
        return Found::Unchanged;
    }

    match peel(git_dir, id) {
        Ok((_, tree)) if tree.is_empty_tree() => {
            Found::Nothing(MemberState::Empty, "its commit has no files".to_owned())
        }
        Ok((commit, tree)) => Found::Commit { commit, tree },
        Err(reason) => unreadable(reason),
    }
}

/// The commit of `member` that the catalogue has, if it has its tree.
fn known_commit(member: &Member) -> Option<Oid> {
    let is_known = member.state == MemberState::Indexed && member.tree.is_some();
    let commit = member.commit.as_ref().filter(|_| is_known)?;
    Oid::from_hex(commit.as_bytes()).ok()
}

/// Finds the full name of the branch or tag that `short` names in the repository with this git directory;
/// `None` if it has none.
pub fn find_reference(git_dir: &Path, short: &str) -> Option<String> {
    let store = file::Store::at(git_dir.to_owned(), gix::hash::Kind::Sha1);

    let names = match short.starts_with("refs/") {
        true => vec![short.to_owned()],
        false => vec![format!("refs/heads/{short}"), format!("refs/tags/{short}")],
    };

    names.into_iter().find(|name| matches!(store.try_find(name.as_str()), Ok(Some(_))))
}

/// Returns the object that a reference points to, unpeeled; `None` if there is none.
fn follow(git_dir: &Path, reference: &str) -> Result<Option<Oid>, String> {
    check_is_file(&git_dir.join("packed-refs"))?;
    let store = file::Store::at(git_dir.to_owned(), gix::hash::Kind::Sha1);

    let mut name = reference.to_owned();

    for _ in 0..MAX_STEPS {
        check_is_file(&git_dir.join(&name))?;
        let found = store.try_find(name.as_str()).map_err(|error| format!("{name}: {}", one_line(&error)))?;
        match found.map(|found| found.target) {
            None => return Ok(None),
            Some(Target::Object(id)) => return Ok(Some(id)),
            Some(Target::Symbolic(next)) => name = next.as_bstr().to_string(),
        }
    }

    Err(format!("{reference} is a cycle of symbolic references"))
}

/// Refuses a path that exists and is neither a file nor a directory. A directory in place of a reference
/// counts as no reference.
fn check_is_file(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() || found.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is not a file", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Returns the commit that `id` is or tags, and its tree.
fn peel(git_dir: &Path, id: Oid) -> Result<(Oid, Oid), String> {
    check_is_file(&git_dir.join("objects/info/alternates"))?;
    let options = Options { alloc_limit_bytes: Some(MAX_DECODED_BYTES), ..Options::default() };
    let objects = gix::odb::at_opts(git_dir.join("objects"), id.kind(), None, options);
    let objects = objects.map_err(|error| one_line(&error))?;

    let mut buffer = Vec::new();
    let mut id = id;

    for _ in 0..MAX_STEPS {
        let found = objects.try_find(&id, &mut buffer).map_err(|error| one_line(&error))?;
        let found = found.ok_or_else(|| format!("object {id} is missing"))?;

        match found.kind {
            Kind::Commit => {
                let tree = CommitRefIter::from_bytes(found.data, id.kind()).tree_id();
                return Ok((id, tree.map_err(|error| one_line(&error))?));
            }
            Kind::Tag => {
                let target = TagRefIter::from_bytes(found.data, id.kind()).target_id();
                id = target.map_err(|error| one_line(&error))?;
            }
            kind => return Err(format!("object {id} is a {kind}, not a commit")),
        }
    }

    Err("too many tags in a row".to_owned())
}
