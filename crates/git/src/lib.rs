//! Reading git: repository, revisions, trees, blobs.
//!
//! In: a directory, a revision, a tree. Out: files of trees with their blob oids, differences of two trees,
//! bytes of blobs. The working tree is read by [`crate::worktree`].
//!
//! Nothing here runs a program or contacts a remote. Objects that a partial clone lacks are reported as
//! missing, and replace refs are not applied, so that an oid always names the same bytes.

mod blobs;
mod display;
mod error;
mod history;
pub mod hooks;
pub mod import;
mod limits;
mod line_diff;
mod members;
mod object_names;
mod objects;
mod operation;
mod own_place;
mod pathspec;
mod private_repo;
pub mod quoting;
mod renames;
mod replaced;
mod repo;
mod revision;
mod sharing;
mod stash;
mod store_dir;
#[cfg(test)]
mod testing;
mod tree;
mod walk_bounds;
pub mod worktree;

pub use gix::bstr::{BStr, BString, ByteSlice, ByteVec};

/// The name of a git object.
pub type Oid = gix::ObjectId;

pub use blobs::{BlobReader, SHA1, hash_blob};
pub use display::DisplaySettings;
pub use error::GitError;
pub use history::{Commit, History, RangeSpec};
pub use line_diff::{LineDiff, LineHunk, diff_lines};
pub use members::{
    CATALOGUE_KEY, Found, MEMBERS_FILE, MaySee, Member, MemberState, Members, NameError, check_name,
    find_reference, probe,
};
pub use object_names::object_names;
pub use objects::Objects;
pub use operation::Operation;
pub use pathspec::{Pathspec, PathspecError, Prefix};
pub use private_repo::PrivateRepo;
pub use renames::{RenameSide, find_renames, shown_rename};
pub use repo::Repo;
pub use revision::{Head, Revision};
pub use sharing::directory_mode;
pub use stash::is_store_stashed;
pub use store_dir::{STORE_DIR, committed_store, tracked_store};
pub use tree::{
    Mode, TreeChange, TreeComparer, TreeFile, TreeLookup, diff_trees, entry_at, is_in_tree, walk_directory,
    walk_tree,
};
