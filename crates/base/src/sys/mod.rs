//! Memory maps, SIMD kernels and handles behind safe functions. The only module with `unsafe` code.

#![allow(unsafe_code)]

pub mod bus_error;
mod mmap;
mod simd;
#[cfg(windows)]
mod streams;

pub use bus_error::n_failed_reads;
pub use mmap::Mapped;
pub use simd::{DotKernel, SIGN_BLOCK, SignKernel, add_rows, dot, prefetch};
#[cfg(windows)]
pub use streams::keep_streams_from_children;
