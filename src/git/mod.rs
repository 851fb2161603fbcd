//! git

pub mod detach;
pub mod hooks;
