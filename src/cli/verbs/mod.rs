//! One file per verb: parse → call the library → render.

pub mod deinit;
pub mod hook;
pub mod index;
pub mod init;
pub mod search;
pub mod status;
