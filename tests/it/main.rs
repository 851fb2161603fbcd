//! The program as its users meet it: real repositories, the real binary, real hooks.
//!
//! One binary with a room per part of the program and a module per topic, so that it is linked once and
//! `cargo test --test it mcp::` runs one room. The test kit makes repositories that see nothing of the
//! machine they are on.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod ask;
mod cli;
mod eval;
mod git;
mod graph;
mod index;
mod mcp;
mod model;
mod org;
mod robustness;
mod search;
mod serve;
mod smoke;
mod structure;
mod support;
