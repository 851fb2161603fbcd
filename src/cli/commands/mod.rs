//! One file per command: parses arguments, calls the library, prints the result.

pub(super) mod agent;
pub(super) mod ask;
pub(super) mod ask_server;
pub(super) mod catalogue;
pub(super) mod chunks;
pub(super) mod completions;
pub(super) mod config;
#[cfg(unix)]
pub(super) mod daemon;
pub(super) mod deinit;
pub(super) mod docs;
pub(super) mod doctor;
pub(super) mod duplicates;
pub(super) mod eval;
pub(super) mod gc;
pub(super) mod graph;
pub(super) mod hook;
pub(super) mod index;
pub(super) mod init;
pub(super) mod man;
pub(super) mod mcp;
pub(super) mod model;
pub(super) mod org;
pub(super) mod outline;
pub(super) mod read;
pub(super) mod search;
pub(super) mod serve;
pub(super) mod similar;
pub(super) mod status;
pub(super) mod tool;
pub(super) mod verify;
