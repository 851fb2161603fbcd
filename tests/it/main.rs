//! The program as its users meet it: real repositories, the real binary, real hooks.
//!
//! One binary with a module per topic, so that it is linked once. [`harness`] makes repositories that see nothing of the
//! machine they are on.

#![cfg(unix)]

mod errors;
mod freshness;
mod harness;
mod hooks;
mod index;
mod init;
mod navigation;
mod search;
mod terminal;
