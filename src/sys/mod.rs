//! Memory maps and SIMD kernels behind safe functions. The only module with `unsafe` code.

#![allow(unsafe_code)]

mod mmap;
mod simd;

pub use mmap::Mapped;
pub use simd::{DotKernel, add_rows, hamming_distances, prefetch};
