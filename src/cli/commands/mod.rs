//! One file per command: parses arguments, calls the library, prints the result.

pub mod ask;
mod ask_server;
pub mod catalogue;
pub mod chunks;
pub mod completions;
pub mod config;
pub mod deinit;
pub mod docs;
pub mod doctor;
pub mod eval;
pub mod gc;
pub mod graph;
pub mod hook;
pub mod index;
pub mod init;
pub mod man;
pub mod mcp;
pub mod model;
pub mod outline;
pub mod read;
pub mod search;
pub mod serve;
pub mod similar;
pub mod status;
pub mod verify;
