//! Git as the program meets it: hooks, worktrees, revisions, clones, users.

mod conformance;
mod hidden_files;
mod hook_managers;
mod hooks;
mod moved;
mod other_users;
mod partial_clones;
mod store_directory;
pub mod unreadable;
