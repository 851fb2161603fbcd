//! Repository, trees, blobs and the working tree: everything the index reads from git.
//!
//! In: a directory, a revision, a tree. Out: files of trees with their blob oids, changes between two trees, bytes of
//! blobs, and how the working tree differs from a commit. Next in the flow: [`crate::policy`].
//!
//! Nothing here runs a program, follows a link out of the working tree or talks to a remote: filter drivers, hooks and
//! file system monitors named by a repository's configuration are ignored, objects a partial clone lacks are reported as
//! not local, replace refs are not applied (requirements G6, X4, X5).

mod blobs;
mod error;
mod exclude;
mod repo;
mod tree;

pub use gix::bstr::{BStr, BString, ByteSlice, ByteVec};

/// The name of a git object.
pub type Oid = gix::ObjectId;

pub use blobs::{BlobReader, hash_blob};
pub use error::GitError;
pub use exclude::{ExcludeError, STORE_DIR, exclude_from_info, remove_exclude, tracked_codeweaver_dir};
pub use repo::{Head, Operation, Repo, Revision};
pub use tree::{Mode, TreeChange, TreeFile, diff_trees, entry_at, walk_tree};
