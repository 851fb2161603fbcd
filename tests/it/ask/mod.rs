//! `ask`, its server, its collections, and what may go wrong in them.

mod answers;
pub mod api;
mod collections;
mod faults;
mod interactive;
mod server;
