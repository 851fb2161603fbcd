//! Helpers that all crates of git-codeweaver share: locks, random ids, atomic file replacement, memory maps
//! and SIMD kernels, child processes.

pub mod descriptors;
pub mod durable;
mod home;
mod io_advice;
pub mod left_over;
pub mod process;
pub mod random;
pub mod real_path;
pub mod regular_file;
pub mod sync;
pub mod sys;

pub use home::home;
pub use io_advice::io_advice;
