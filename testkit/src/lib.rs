//! Test harness shared by unit tests, integration tests, fuzz targets and benches.
//!
//! - [`TestRepo`]: a git repository in a temporary directory that does not depend on the settings of the
//!   machine.
//! - [`Run`]: a finished process with assertions; a failure prints command, directory, status and both
//!   streams.
//! - [`ServerProcess`]: a running server, ended when dropped.
//! - [`run_and_kill`]: a process that is killed at a given moment.
//! - [`program`]: the `git-codeweaver` executable under test; [`copy_program`] copies it.
//! - [`command`]: the environment of all of these, for processes that a test starts itself.
//! - [`documented_commands`]: the commands that the pages of the documentation state.
//! - [`http`]: a server on this machine with the answers of a test.
//! - [`wait_until`] and its like: waits for what other processes do.
//! - [`Tool`] and [`skip`]: skip tests whose external program is missing.
//!
//! The crate uses git and the command line of `git-codeweaver`, and none of its library types.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod documented;
mod environment;
pub mod http;
mod kill;
mod place;
mod program;
mod repo;
mod run;
mod server;
mod tools;
mod wait;

pub use documented::{DocumentedCommand, documented_commands};
pub use environment::command;
pub use kill::run_and_kill;
pub use program::{copy_program, program};
pub use repo::{FILES, TestRepo, listing};
pub use run::Run;
pub use server::ServerProcess;
pub use tools::{Tool, skip};
pub use wait::{comes_true, outlast_clock_tick, wait_for, wait_longer_for, wait_until};
