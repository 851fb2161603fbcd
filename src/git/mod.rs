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
mod object_names;
mod operation;
mod pathspec;
pub mod quoting;
mod repo;
mod revision;
mod sharing;
mod store_dir;
mod tree;

pub use gix::bstr::{BStr, BString, ByteSlice, ByteVec};

/// The name of a git object.
pub type Oid = gix::ObjectId;

pub use blobs::{BlobReader, hash_blob};
pub use display::DisplaySettings;
pub use error::GitError;
pub use object_names::object_names;
pub use operation::Operation;
pub use pathspec::{Pathspec, PathspecError, Prefix};
pub use repo::Repo;
pub use revision::{Head, Revision};
pub use sharing::directory_mode;
pub use store_dir::{STORE_DIR, tracked_store};
pub use tree::{Mode, TreeChange, TreeFile, diff_trees, entry_at, walk_tree};
